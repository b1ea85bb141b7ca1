//! How accurate evaluations are asked to be, and when a step is decided.
//!
//! Three rules, one for each [`AccuracyControl`]. Conversions between errors of residuals and of the objective are those of
//! [`Accuracy`].

use super::{Engine, State};
use crate::model::pool::Point;
use crate::options::{AccuracyControl, Dynamic, ExperimentRules};
use crate::radius::RatioInterval;
use crate::{Accuracy, ObjectiveInterval};

/// What to do with a step whose trial point was evaluated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Verdict {
    /// The ratio of achieved to predicted decrease, and whether its class is certain.
    Decided { ratio: f64, certified: bool },
    /// Not accurate enough: evaluate the incumbent again,
    SharpenIncumbent(Accuracy),
    /// or the trial point.
    SharpenTrial(Accuracy),
    /// Not accurate enough, and nothing gets more accurate.
    Floor { wanted: Accuracy },
}

/// The share of the wanted accuracy that is asked for, so that rounding does not spoil it.
const MARGIN: f64 = 0.9;
/// At least this much more accurate when a point is evaluated again,
const SHARPEN_LEAST: f64 = 0.5;
/// and at most this much, because the next look may decide.
const SHARPEN_MOST: f64 = 0.05;
/// A bound is met if it is missed by no more than this.
const ENOUGH: f64 = 1.1;
/// An evaluation that came out less than this much better is at its floor.
const AT_FLOOR: f64 = 0.99;

impl<R: Clone> Engine<R> {
    /// For points of the model: `$c\Delta^2$`.
    pub(super) fn model_target(&self) -> Accuracy {
        self.state.model_target_at(self.state.delta)
    }

    /// What the incumbent is asked for before a step with this predicted decrease, if it must be sharpened.
    pub(super) fn incumbent_target(&self, predicted: f64) -> Option<Accuracy> {
        let incumbent = self.state.incumbent();
        let square = incumbent.objective - incumbent.penalty;
        match &self.state.options.accuracy {
            AccuracyControl::Fixed(_) => None,
            AccuracyControl::Experiments(rules) => {
                let error = (rules.eta1_prime * predicted).max(1e-15 * incumbent.objective);
                let needed = Accuracy::for_objective_error(square, error);
                let asked = Accuracy::for_objective_error(square, 0.99 * error);
                let target = self.state.experiment_target(rules, asked);
                let improves = target < incumbent.accuracy && !incumbent.at_floor;
                (incumbent.accuracy > needed && improves).then_some(target)
            }
            AccuracyControl::Dynamic(rules) => {
                let interval = incumbent.interval();
                let uncertain = 0.5 * (interval.upper - interval.lower);
                let exact = incumbent.accuracy == Accuracy::EXACT;
                let enough = uncertain <= rules.kappa_inc * predicted;
                let target =
                    Accuracy::for_objective_error(square, MARGIN * rules.kappa_inc * predicted);
                (!exact && !enough && !incumbent.at_floor && target < incumbent.accuracy)
                    .then_some(target)
            }
        }
    }

    /// What a trial point is asked for first.
    pub(super) fn trial_target(&self, predicted: f64) -> Accuracy {
        let state = &self.state;
        let incumbent = state.incumbent();
        match &state.options.accuracy {
            AccuracyControl::Fixed(accuracy) => *accuracy,
            AccuracyControl::Experiments(rules) => {
                let error = (rules.eta1_prime * predicted).max(1e-15 * incumbent.objective);
                let largest = (state.set.iter())
                    .map(|&slot| state.pool.get(slot).objective - state.pool.get(slot).penalty)
                    .fold(0.0, f64::max);
                state.experiment_target(rules, Accuracy::for_objective_error(largest, error))
            }
            AccuracyControl::Dynamic(rules) => {
                let square = (incumbent.objective - incumbent.penalty - predicted).max(0.0);
                let first = Accuracy::for_objective_error(square, rules.kappa_inc * predicted);
                at_most(first, self.model_target())
            }
        }
    }

    /// Whether the step to `trial` can be decided.
    pub(super) fn verdict(&self, trial: &Point<R>, predicted: f64) -> Verdict {
        let incumbent = self.state.incumbent();
        let AccuracyControl::Dynamic(rules) = &self.state.options.accuracy else {
            let ratio = (incumbent.objective - trial.objective) / predicted;
            let certified =
                incumbent.accuracy == Accuracy::EXACT && trial.accuracy == Accuracy::EXACT;
            return Verdict::Decided { ratio, certified };
        };
        if incumbent.accuracy == Accuracy::EXACT && trial.accuracy == Accuracy::EXACT {
            let ratio = (incumbent.objective - trial.objective) / predicted;
            return Verdict::Decided {
                ratio,
                certified: true,
            };
        }
        let (old, new) = (incumbent.interval(), trial.interval());
        let ratio = RatioInterval {
            lower: (old.lower - new.upper) / predicted,
            upper: (old.upper - new.lower) / predicted,
        };
        let region = &self.state.options.trust_region;
        if ratio.decides(region, rules.eta1_prime) {
            let limit = self.model_target();
            if trial.accuracy.value() <= ENOUGH * limit.value() || trial.at_floor {
                return Verdict::Decided {
                    ratio: ratio.middle(),
                    certified: true,
                };
            }
            return Verdict::SharpenTrial(limit);
        }
        // what would decide, if the middle stays where it is
        let middle = ratio.middle();
        let to_class = (middle - region.eta1)
            .abs()
            .min((middle - region.eta2).abs());
        let needed = MARGIN * to_class.max(2.0 * rules.eta1_prime) * predicted;
        let error = |interval: ObjectiveInterval| 0.5 * (interval.upper - interval.lower);
        let next = |point: &Point<R>, share: f64| {
            let square = (point.objective - point.penalty).max(0.0);
            let wanted = Accuracy::for_objective_error(square, share * needed).value();
            let now = point.accuracy.value();
            let asked = if now.is_finite() {
                wanted.clamp(SHARPEN_MOST * now, SHARPEN_LEAST * now)
            } else {
                wanted
            };
            Accuracy::new(asked).unwrap_or(Accuracy::EXACT)
        };
        let incumbent_is_worse = !(error(old) <= error(new));
        if !incumbent.at_floor && (incumbent_is_worse || trial.at_floor) {
            Verdict::SharpenIncumbent(next(incumbent, 0.5))
        } else if !trial.at_floor && error(new) > 0.1 * error(old) {
            Verdict::SharpenTrial(next(trial, 0.5))
        } else if at_rounding(incumbent) && at_rounding(trial) {
            // as accurate as numbers are: decided as if exact
            Verdict::Decided {
                ratio: (incumbent.objective - trial.objective) / predicted,
                certified: false,
            }
        } else {
            Verdict::Floor {
                wanted: next(trial, 0.5),
            }
        }
    }

    /// Whether a new point of the model tells enough about the residuals; otherwise what to ask for.
    pub(super) fn informative(&self, point: &Point<R>) -> Result<(), Accuracy> {
        let AccuracyControl::Dynamic(rules) = &self.state.options.accuracy else {
            return Ok(());
        };
        let target = self.model_target();
        if point.at_floor || point.accuracy == Accuracy::EXACT {
            return Ok(());
        }
        if !(point.accuracy.value() <= ENOUGH * target.value()) {
            return Err(target);
        }
        let difference = self.state.difference(point);
        let enough = difference / rules.signal;
        let least = 0.01 * target.value();
        let accuracy = point.accuracy.value();
        if accuracy <= enough || accuracy <= least {
            return Ok(());
        }
        let asked = (MARGIN * enough)
            .clamp(0.1 * accuracy, SHARPEN_LEAST * accuracy)
            .max(least);
        Err(Accuracy::new(asked).unwrap_or(Accuracy::EXACT))
    }

    /// Points of the set that have become too inaccurate for the radius.
    pub(super) fn stale(&self) -> Vec<usize> {
        let AccuracyControl::Dynamic(Dynamic {
            stale: Some(factor),
            ..
        }) = &self.state.options.accuracy
        else {
            return Vec::new();
        };
        let limit = factor * self.model_target().value();
        let state = &self.state;
        let is_stale = |slot: &usize| {
            let point = state.pool.get(*slot);
            !(point.accuracy.value() <= limit) && !point.at_floor
        };
        state.set.iter().copied().filter(is_stale).collect()
    }
}

impl<R> State<R> {
    fn model_target_at(&self, delta: f64) -> Accuracy {
        let value = match &self.options.accuracy {
            AccuracyControl::Fixed(accuracy) => return *accuracy,
            AccuracyControl::Experiments(rules) => {
                return self.experiment_target(rules, Accuracy::ANY);
            }
            AccuracyControl::Dynamic(rules) => {
                let constant = rules.model_constant.unwrap_or_else(|| {
                    let square = self.incumbent().objective - self.incumbent().penalty;
                    10.0 * square.max(0.0).sqrt()
                });
                constant * delta * delta
            }
        };
        Accuracy::new(value).unwrap_or(Accuracy::EXACT)
    }

    /// The paper bounds each residual; the vector's bound is `$\sqrt m$` times as large.
    fn experiment_target(&self, rules: &ExperimentRules, wanted: Accuracy) -> Accuracy {
        let root = (self.num_residuals as f64).sqrt();
        let model = root * rules.model_constant * self.delta * self.delta;
        let value = wanted.value().min(model).max(root * rules.floor);
        Accuracy::new(value).unwrap_or(Accuracy::EXACT)
    }

    /// What the start is asked for first.
    pub(super) fn start_target(&self) -> Accuracy {
        match &self.options.accuracy {
            AccuracyControl::Fixed(accuracy) => *accuracy,
            AccuracyControl::Experiments(rules) => self.experiment_target(rules, Accuracy::ANY),
            AccuracyControl::Dynamic(rules) => rules
                .model_constant
                .and_then(|c| Accuracy::new(c * self.delta * self.delta).ok())
                .unwrap_or(Accuracy::ANY),
        }
    }
}

impl<R> Point<R> {
    /// Whether more accuracy was asked for than before, in vain.
    pub(super) fn note_floor(&mut self, before: Accuracy) {
        let improved = self.accuracy.value() < AT_FLOOR * before.value();
        self.at_floor = self.asked <= before && !improved;
    }
}

/// Whether the residuals are accurate to a few units in the last place.
fn at_rounding<R>(point: &Point<R>) -> bool {
    let square = point.objective - point.penalty;
    point.accuracy.value() <= 64.0 * f64::EPSILON * square.max(0.0).sqrt()
}

fn at_most(a: Accuracy, b: Accuracy) -> Accuracy {
    if a <= b { a } else { b }
}
