//! How accurate evaluations are asked to be, and what may be concluded from them: one rule for each
//! [`AccuracyControl`].
//!
//! Conversions between errors of residuals and of the objective are those of [`Accuracy`].

mod dynamic;
mod experiments;
mod fixed;

use super::Interpolation;
use crate::Accuracy;
use crate::model::pool::Point;
use crate::options::{AccuracyControl, TrustRegion, WarmStart};

/// What a rule may look at.
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

/// What to do with a step whose trial point was evaluated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Verdict {
    /// The ratio of achieved to predicted decrease, and whether its class is certain.
    Decided { ratio: f64, certified: bool },
    /// Not accurate enough: the incumbent must be evaluated again with this accuracy.
    SharpenIncumbent(Accuracy),
    /// Not accurate enough: the trial point must be evaluated again with this accuracy.
    SharpenTrial(Accuracy),
    /// Not accurate enough, and nothing gets more accurate.
    Floor { wanted: Accuracy },
}

/// A rule of accuracy. Methods with a default here are written again only by rules that differ from
/// it.
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
    /// it has it, or cannot get it.
    fn incumbent_target(&self, _now: &Situation<'_, R>, _predicted: f64) -> Option<Accuracy> {
        None
    }

    /// Whether the incumbent is sharpened before it is known whether the step is long enough to be
    /// tried.
    fn sharpens_before_length(&self) -> bool {
        false
    }

    /// The accuracy that a new point of the first model needs to say something about the residuals;
    /// `None` if it does.
    fn informative_target(&self, _now: &Situation<'_, R>, _point: &Point<R>) -> Option<Accuracy> {
        None
    }

    /// Whether a point of the set has become too inaccurate for the radius.
    fn is_stale(&self, _now: &Situation<'_, R>, _point: &Point<R>) -> bool {
        false
    }

    /// Whether the step to `trial` can be decided.
    fn verdict(&self, now: &Situation<'_, R>, trial: &Point<R>, predicted: f64) -> Verdict {
        let incumbent = now.incumbent();
        Verdict::Decided {
            ratio: (incumbent.objective - trial.objective) / predicted,
            certified: is_exact(incumbent) && is_exact(trial),
        }
    }

    /// Whether a point is better than the incumbent for certain.
    fn is_better(&self, now: &Situation<'_, R>, point: &Point<R>) -> bool;

    /// Whether a trial point becomes the incumbent.
    fn accepts(&self, now: &Situation<'_, R>, point: &Point<R>, ratio: f64) -> bool {
        ratio >= now.region.eta1 || self.is_better(now, point)
    }

    /// Whether a trial point with some decrease may take the incumbent's place in the set without
    /// being accepted.
    fn may_displace_incumbent(&self, now: &Situation<'_, R>, point: &Point<R>) -> bool {
        self.is_better(now, point)
    }

    /// Whether the last point of a run becomes the incumbent.
    fn accepts_last(&self, now: &Situation<'_, R>, point: &Point<R>) -> bool {
        self.is_better(now, point)
    }

    /// The accuracy that an answer is taken to have.
    fn achieved(&self, _asked: Accuracy, reported: Accuracy) -> Accuracy {
        reported
    }

    /// Where evaluations of new points begin.
    fn warm_start(&self) -> WarmStart {
        WarmStart::default()
    }

    /// `$\eta_1'$` of the paper; `None` if accuracy is not controlled.
    fn eta1_prime(&self) -> Option<f64> {
        None
    }
}

impl AccuracyControl {
    /// The rule that was chosen.
    pub(super) fn rule<R>(&self) -> &dyn Rule<R> {
        match self {
            Self::Dynamic(rule) => rule,
            Self::Fixed(rule) => rule,
            Self::Experiments(rule) => rule,
        }
    }
}

/// An evaluation that came out less than this much better is at its floor. Not tuned.
const AT_FLOOR: f64 = 0.99;

impl<R> Point<R> {
    /// Notes whether more accuracy was asked for than before, without success.
    pub(super) fn note_floor(&mut self, before: Accuracy) {
        let improved = self.accuracy.value() < AT_FLOOR * before.value();
        self.at_floor |= self.asked <= before && !improved;
    }
}

fn is_exact<R>(point: &Point<R>) -> bool {
    point.accuracy == Accuracy::EXACT
}
