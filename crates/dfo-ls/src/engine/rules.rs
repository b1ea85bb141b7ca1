//! Accuracy rules, one for each [`AccuracyControl`]: the accuracy that evaluations are asked for,
//! and the decisions that follow from their results.
//!
//! Conversions between errors of residuals and of the objective are those of [`Accuracy`].

mod dynamic;
mod experiments;
mod fixed;

use super::Interpolation;
use crate::Accuracy;
use crate::model::pool::Point;
use crate::options::{AccuracyControl, TrustRegion, WarmStart};

/// The parts of the engine's state that a rule depends on.
pub(super) struct Situation<'a, R> {
    pub(super) points: &'a Interpolation<R>,
    pub(super) delta: f64,
    pub(super) region: &'a TrustRegion,
    pub(super) num_residuals: usize,
}

impl<'a, R> Situation<'a, R> {
    fn incumbent(&self) -> &'a Point<R> {
        self.points.incumbent()
    }
}

/// The decision about a step whose trial point was evaluated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Verdict {
    /// The ratio of achieved to predicted decrease decides about the step. `certified` tells
    /// whether the decision holds in spite of the errors.
    Decided { ratio: f64, certified: bool },
    /// The step is undecided, and the incumbent must be sharpened to this accuracy.
    SharpenIncumbent(Accuracy),
    /// The step is undecided, and the trial point must be sharpened to this accuracy.
    SharpenTrial(Accuracy),
    /// The step is undecided, and neither point can be sharpened.
    Floor { wanted: Accuracy },
}

/// An accuracy rule.
pub(super) trait Rule<R> {
    /// The accuracy that the start is asked for first.
    fn start_target(&self, now: &Situation<'_, R>) -> Accuracy;

    /// The accuracy that points of the model are asked for.
    fn model_target(&self, now: &Situation<'_, R>) -> Accuracy;

    /// The accuracy that a trial point is asked for first.
    fn trial_target(&self, now: &Situation<'_, R>, predicted: f64) -> Accuracy;

    /// The accuracy that the last point of a run is asked for.
    fn last_target(&self, now: &Situation<'_, R>, predicted: f64) -> Accuracy {
        self.trial_target(now, predicted)
    }

    /// The accuracy that the incumbent needs before a step with this predicted decrease; `None` if
    /// it is accurate enough or cannot be sharpened.
    fn incumbent_target(&self, _now: &Situation<'_, R>, _predicted: f64) -> Option<Accuracy> {
        None
    }

    /// Whether the incumbent is sharpened before the length of the step is checked.
    fn sharpens_before_length(&self) -> bool {
        false
    }

    /// The accuracy at which a new point of the first model tells how the residuals change; `None`
    /// if the point is accurate enough.
    fn informative_target(&self, _now: &Situation<'_, R>, _point: &Point<R>) -> Option<Accuracy> {
        None
    }

    /// Whether a point of the set has become too inaccurate for the radius.
    fn is_stale(&self, _now: &Situation<'_, R>, _point: &Point<R>) -> bool {
        false
    }

    /// Decides about the step to `trial`, or returns the point to sharpen first.
    fn verdict(&self, now: &Situation<'_, R>, trial: &Point<R>, predicted: f64) -> Verdict {
        let incumbent = now.incumbent();
        Verdict::Decided {
            ratio: (incumbent.objective - trial.objective) / predicted,
            certified: is_exact(incumbent) && is_exact(trial),
        }
    }

    /// Whether a point is certainly better than the incumbent.
    fn is_better(&self, now: &Situation<'_, R>, point: &Point<R>) -> bool;

    /// Whether a trial point becomes the incumbent.
    fn accepts(&self, now: &Situation<'_, R>, point: &Point<R>, ratio: f64) -> bool {
        ratio >= now.region.eta1 || self.is_better(now, point)
    }

    /// Whether a trial point that decreases the objective, but is not accepted, may replace the
    /// incumbent in the set.
    fn may_displace_incumbent(&self, now: &Situation<'_, R>, point: &Point<R>) -> bool {
        self.is_better(now, point)
    }

    /// Whether the last point of a run becomes the incumbent.
    fn accepts_last(&self, now: &Situation<'_, R>, point: &Point<R>) -> bool {
        self.is_better(now, point)
    }

    /// The accuracy that the solver assumes for an answer.
    fn achieved(&self, _asked: Accuracy, reported: Accuracy) -> Accuracy {
        reported
    }

    /// The start of evaluations of new points.
    fn warm_start(&self) -> WarmStart {
        WarmStart::default()
    }

    /// The constant `$\eta_1'$` of the paper; `None` if accuracy is not controlled.
    fn eta1_prime(&self) -> Option<f64> {
        None
    }
}

impl AccuracyControl {
    /// The selected rule.
    pub(super) fn rule<R>(&self) -> &dyn Rule<R> {
        match self {
            Self::Dynamic(rule) => rule,
            Self::Fixed(rule) => rule,
            Self::Experiments(rule) => rule,
        }
    }
}

/// The ratio of new to old error from which an evaluation counts as not improved. Not tuned.
const AT_FLOOR: f64 = 0.99;

impl<R> Point<R> {
    /// Notes that the point is at the oracle's floor if more accuracy was asked for without
    /// success.
    pub(super) fn note_floor(&mut self, before: Accuracy) {
        let improved = self.accuracy.value() < AT_FLOOR * before.value();
        self.at_floor |= self.asked <= before && !improved;
    }
}

fn is_exact<R>(point: &Point<R>) -> bool {
    point.accuracy == Accuracy::EXACT
}
