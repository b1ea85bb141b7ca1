//! The accuracy rule of the paper's experiments as the authors implemented it, for reproduction:
//! every answer is assumed to be as accurate as requested, old points are never sharpened, and a
//! trial point with any decrease may replace the incumbent in the set.
//!
//! The paper bounds the error of each residual. The bound on the error of the vector is `$\sqrt m$`
//! times as large.

use super::{Rule, Situation};
use crate::Accuracy;
use crate::model::pool::Point;
use crate::options::{ExperimentRules, WarmStart};

/// The smallest error of the objective that is asked for, relative to the objective: as in the
/// authors' program.
const LEAST_ERROR: f64 = 1e-15;
/// The share of the allowed error that the incumbent is sharpened to: as in the authors' program.
const SHARPEN_TO: f64 = 0.99;

impl ExperimentRules {
    /// Limits the accuracy `wanted` by that of the model and by the floor.
    fn limited<R>(&self, now: &Situation<'_, R>, wanted: Accuracy) -> Accuracy {
        let root = (now.num_residuals as f64).sqrt();
        let model = root * self.model_constant * now.delta * now.delta;
        let value = wanted.value().min(model).max(root * self.floor);
        Accuracy::new(value).unwrap_or(Accuracy::EXACT)
    }

    /// The error of the objective that the paper's accuracy condition (`MIN_ACCURACY`),
    /// `$\max(\delta^k, \delta^k_+) \le \eta_1' (m^k(0) - m^k(s^k))$`, allows for a step, but at
    /// least [`LEAST_ERROR`].
    fn allowed<R>(&self, now: &Situation<'_, R>, predicted: f64) -> f64 {
        (self.eta1_prime * predicted).max(LEAST_ERROR * now.incumbent().objective)
    }
}

impl<R> Rule<R> for ExperimentRules {
    fn start_target(&self, now: &Situation<'_, R>) -> Accuracy {
        self.limited(now, Accuracy::ANY)
    }

    fn model_target(&self, now: &Situation<'_, R>) -> Accuracy {
        self.limited(now, Accuracy::ANY)
    }

    /// The accuracy is computed from the largest objective of the set.
    fn trial_target(&self, now: &Situation<'_, R>, predicted: f64) -> Accuracy {
        let largest = now.points.iter().map(Point::square).fold(0.0, f64::max);
        let error = self.allowed(now, predicted);
        self.limited(now, Accuracy::for_objective_error(largest, error))
    }

    fn last_target(&self, now: &Situation<'_, R>, _: f64) -> Accuracy {
        self.model_target(now)
    }

    fn incumbent_target(&self, now: &Situation<'_, R>, predicted: f64) -> Option<Accuracy> {
        let incumbent = now.incumbent();
        let error = self.allowed(now, predicted);
        let needed = Accuracy::for_objective_error(incumbent.square(), error);
        let asked = Accuracy::for_objective_error(incumbent.square(), SHARPEN_TO * error);
        let target = self.limited(now, asked);
        let improves = target < incumbent.accuracy && !incumbent.at_floor;
        (incumbent.accuracy > needed && improves).then_some(target)
    }

    fn sharpens_before_length(&self) -> bool {
        true
    }

    fn is_better(&self, _: &Situation<'_, R>, _: &Point<R>) -> bool {
        false
    }

    fn accepts(&self, now: &Situation<'_, R>, point: &Point<R>, ratio: f64) -> bool {
        ratio >= now.region.eta1 && point.objective < now.incumbent().objective
    }

    fn may_displace_incumbent(&self, _: &Situation<'_, R>, _: &Point<R>) -> bool {
        true
    }

    fn accepts_last(&self, now: &Situation<'_, R>, point: &Point<R>) -> bool {
        point.objective < now.incumbent().objective
    }

    fn achieved(&self, asked: Accuracy, _: Accuracy) -> Accuracy {
        asked
    }

    fn warm_start(&self) -> WarmStart {
        self.warm_start
    }

    fn eta1_prime(&self) -> Option<f64> {
        Some(self.eta1_prime)
    }
}
