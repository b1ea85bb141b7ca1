//! The fixed accuracy rule: every evaluation is asked for the same accuracy, and computed
//! objectives are compared without regard to their errors.

use super::{Rule, Situation};
use crate::Accuracy;
use crate::model::pool::Point;

impl<R> Rule<R> for Accuracy {
    fn start_target(&self, _: &Situation<'_, R>) -> Accuracy {
        *self
    }

    fn model_target(&self, _: &Situation<'_, R>) -> Accuracy {
        *self
    }

    fn trial_target(&self, _: &Situation<'_, R>, _: f64) -> Accuracy {
        *self
    }

    fn is_better(&self, now: &Situation<'_, R>, point: &Point<R>) -> bool {
        point.objective < now.incumbent().objective
    }
}
