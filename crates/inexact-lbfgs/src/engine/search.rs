//! The line search: the shares of the full step that are tried, and the certified decision about
//! each trial point.

use super::point::Point;
use crate::model::Step;

/// The share of the predicted decrease along the gradient that an accepted step must certainly
/// achieve.
const ARMIJO: f64 = 1e-3;
/// A step is too short if the slope at its end is steeper than this share of the first slope.
const CURVATURE: f64 = 0.9;
/// The factor by which a step that is too short grows.
const GROWTH: f64 = 4.0;
/// An interpolated share lies between these shares of the last one.
const INTERPOLATED: [f64; 2] = [0.1, 0.7];
/// The smallest and largest factor of a width that is asked for at once.
const SHRINK: [f64; 2] = [0.01, 0.5];
/// An interval that is sharpened to decide should take this share of the distance to the decision.
const SAFETY: f64 = 0.3;
/// An interval below this share of the other one is not worth narrowing if the other is at its
/// floor.
const NEGLIGIBLE: f64 = 0.01;

/// A line search in progress.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Search<R> {
    pub(super) direction: Vec<f64>,
    /// The decrease that the model predicts for the full step.
    pub(super) predicted: f64,
    /// The share of the full step that is tried. It is above one for a longer step.
    pub(super) share: f64,
    /// The largest share within the bounds.
    longest: f64,
    /// The shortest share that was rejected or failed.
    high: Option<f64>,
    /// The number of rejected trial points.
    pub(super) num_rejected: u32,
    /// The number of trial points that could not be evaluated.
    pub(super) num_failed: u32,
    /// The trial point.
    pub(super) trial: Option<Point<R>>,
    /// A shorter step that is certainly good, while a longer one is tried.
    kept: Option<Kept<R>>,
}

#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct Kept<R> {
    share: f64,
    point: Point<R>,
}

/// The decision about a trial point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Decision {
    /// The step certainly decreases the objective enough.
    Accept,
    /// The step certainly does not decrease the objective enough.
    Reject,
    /// The trial point must be sharpened by this factor.
    SharpenTrial(f64),
    /// The incumbent must be sharpened by this factor.
    SharpenIncumbent(f64),
    /// The intervals do not decide, and cannot be narrowed.
    Undecidable { wanted: f64, achieved: f64 },
}

impl<R> Search<R> {
    pub(super) fn new(step: Step, share: f64, longest: f64) -> Self {
        Self {
            // a finite number, which every format can store
            longest: longest.clamp(1.0, f64::MAX),
            direction: step.direction,
            predicted: step.predicted,
            share,
            high: None,
            num_rejected: 0,
            num_failed: 0,
            trial: None,
            kept: None,
        }
    }

    /// Decides about the trial point, given the slope at the incumbent, which is negative.
    pub(super) fn decide(&self, incumbent: &Point<R>, trial: &Point<R>, slope: f64) -> Decision {
        let required = ARMIJO * self.share * slope;
        let (new, old) = (trial.interval(), incumbent.interval());
        // The second comparisons decide where the sums are rounded to their larger term: an
        // accepted step strictly decreases the objective.
        if new.upper <= old.lower + required && new.upper < old.lower {
            return Decision::Accept;
        }
        if new.lower > old.upper + required || new.lower >= old.upper {
            return Decision::Reject;
        }
        let distance = (trial.value() - incumbent.value() - required).abs();
        let (new, old) = (new.width(), old.width());
        let shrink = |width: f64| {
            let factor = SAFETY * distance / width;
            // NaN takes the smallest factor.
            if factor > SHRINK[0] {
                factor.min(SHRINK[1])
            } else {
                SHRINK[0]
            }
        };
        let can_narrow_new = trial.can_narrow() && (old <= new || new >= NEGLIGIBLE * old);
        let can_narrow_old = incumbent.can_narrow() && (new <= old || old >= NEGLIGIBLE * new);
        if can_narrow_new && (new >= old || !can_narrow_old) {
            Decision::SharpenTrial(shrink(new))
        } else if can_narrow_old {
            Decision::SharpenIncumbent(shrink(old))
        } else {
            Decision::Undecidable {
                wanted: distance,
                achieved: new.max(old),
            }
        }
    }

    /// Whether a longer step must be tried although this one is certainly good, because the
    /// objective still falls nearly as steeply at its end. Full steps are too short where the
    /// objective is not convex: its slope then becomes steeper, which no model here can say.
    pub(super) fn is_too_short(&self, slope: f64, trial_slope: f64) -> bool {
        self.share < self.longest && trial_slope < CURVATURE * slope && self.num_failed == 0
    }

    /// Keeps the trial point as good, and proposes a longer step.
    pub(super) fn extend(&mut self, point: Point<R>) {
        let share = self.share;
        let longer = |high: f64| 0.5 * (share + high);
        self.share = self.high.map_or((GROWTH * share).min(self.longest), longer);
        self.kept = Some(Kept { share, point });
    }

    /// The best of the kept point and a new one that was accepted, with its share.
    pub(super) fn better(&mut self, point: Point<R>) -> (f64, Point<R>) {
        match self.kept.take() {
            Some(kept) if kept.point.value() < point.value() => (kept.share, kept.point),
            _ => (self.share, point),
        }
    }

    /// The point that is good although a longer step was not, with its share.
    pub(super) fn take_kept(&mut self) -> Option<(f64, Point<R>)> {
        self.kept.take().map(|kept| (kept.share, kept.point))
    }

    /// Shortens the step after a rejected trial point, by cubic interpolation of values and slopes.
    pub(super) fn shorten(&mut self, incumbent: f64, slope: f64, trial: f64, trial_slope: f64) {
        let t = self.share;
        self.high = Some(t);
        let mean = slope + trial_slope - 3.0 * (trial - incumbent) / t;
        let root = (mean * mean - slope * trial_slope).sqrt();
        let factor = 1.0 - (trial_slope + root - mean) / (trial_slope - slope + 2.0 * root);
        let factor = if factor.is_finite() { factor } else { 0.5 };
        self.share = t * factor.clamp(INTERPOLATED[0], INTERPOLATED[1]);
    }

    /// Halves the step after a trial point that could not be evaluated.
    pub(super) fn halve(&mut self) {
        self.high = Some(self.share);
        self.share *= 0.5;
    }

    pub(super) fn points(&self) -> impl Iterator<Item = &Point<R>> {
        let kept = self.kept.iter().map(|kept| &kept.point);
        self.trial.iter().chain(kept)
    }

    pub(super) fn points_mut(&mut self) -> impl Iterator<Item = &mut Point<R>> {
        let kept = self.kept.iter_mut().map(|kept| &mut kept.point);
        self.trial.iter_mut().chain(kept)
    }
}
