//! The default accuracy rule: certified intervals decide about steps, and evaluations are as
//! accurate as the decisions need (decision record 8, where its constants were measured).

use super::{Rule, Situation, Verdict, is_exact};
use crate::model::pool::Point;
use crate::options::{Dynamic, WarmStart};
use crate::radius::RatioInterval;
use crate::{Accuracy, ObjectiveInterval};

/// The constant `$c$` of the model's accuracy `$c\Delta^2$` for residuals of norm one, from the
/// paper's experiments.
const MODEL_CONSTANT: f64 = 10.0;
/// The share of the needed error that is asked for, so that rounding does not spoil the accuracy.
/// With `kappa_inc = 0.5` the incumbent is sharpened to 0.45 of the predicted decrease, as in the
/// measurements of the rule.
const MARGIN: f64 = 0.9;
/// The largest ratio of requested to present error when a point is sharpened. A smaller improvement
/// is not worth an evaluation. Not tuned.
const SHARPEN_LEAST: f64 = 0.5;
/// The smallest ratio of requested to present error when a point is sharpened. A rougher answer may
/// decide already. Not tuned.
const SHARPEN_MOST: f64 = 0.05;
/// The share of the allowed error for each of two points.
const SHARE: f64 = 0.5;
/// The ratio of the errors of two points below which the more accurate one is not sharpened,
/// because its error decides nothing. Not tuned.
const NEGLIGIBLE: f64 = 0.1;
/// The largest ratio of achieved to requested error that counts as accurate enough. Not tuned.
const ENOUGH: f64 = 1.1;
/// The smallest ratio of requested error to the model's accuracy `$c\Delta^2$` for points of the
/// first model, as in the measurements of the rule.
const FIRST_LEAST: f64 = 0.01;
/// The smallest ratio of requested to present error when a point of the first model is sharpened.
/// Not tuned.
const FIRST_MOST: f64 = 0.1;
/// The error of residuals, relative to their norm, up to which they are at rounding level.
const ROUNDING: f64 = 64.0 * f64::EPSILON;

impl<R> Rule<R> for Dynamic {
    fn start_target(&self, now: &Situation<'_, R>) -> Accuracy {
        self.model_constant
            .and_then(|c| Accuracy::new(c * now.delta * now.delta).ok())
            .unwrap_or(Accuracy::ANY)
    }

    /// The accuracy `$c\Delta^2$`.
    fn model_target(&self, now: &Situation<'_, R>) -> Accuracy {
        let constant = self
            .model_constant
            .unwrap_or_else(|| MODEL_CONSTANT * now.incumbent().square().max(0.0).sqrt());
        Accuracy::new(constant * now.delta * now.delta).unwrap_or(Accuracy::EXACT)
    }

    fn trial_target(&self, now: &Situation<'_, R>, predicted: f64) -> Accuracy {
        let square = (now.incumbent().square() - predicted).max(0.0);
        let first = Accuracy::for_objective_error(square, self.kappa_inc * predicted);
        let model = self.model_target(now);
        if first <= model { first } else { model }
    }

    /// This condition is weaker than the paper's: it allows an error of `kappa_inc`, not
    /// `eta1_prime`, times the predicted decrease. `verdict` asks for the rest.
    fn incumbent_target(&self, now: &Situation<'_, R>, predicted: f64) -> Option<Accuracy> {
        let incumbent = now.incumbent();
        let enough = half_width(incumbent.interval()) <= self.kappa_inc * predicted;
        let error = MARGIN * self.kappa_inc * predicted;
        let target = Accuracy::for_objective_error(incumbent.square(), error);
        let possible = !is_exact(incumbent) && !incumbent.at_floor;
        (possible && !enough && target < incumbent.accuracy).then_some(target)
    }

    /// The residuals must differ from the incumbent's by `signal` times their error.
    fn informative_target(&self, now: &Situation<'_, R>, point: &Point<R>) -> Option<Accuracy> {
        let target = self.model_target(now);
        if point.at_floor || is_exact(point) {
            return None;
        }
        let accuracy = point.accuracy.value();
        if !(accuracy <= ENOUGH * target.value()) {
            return Some(target);
        }
        let enough = now.points.difference(point) / self.signal;
        let least = FIRST_LEAST * target.value();
        if accuracy <= enough || accuracy <= least {
            return None;
        }
        let asked = (MARGIN * enough)
            .clamp(FIRST_MOST * accuracy, SHARPEN_LEAST * accuracy)
            .max(least);
        Some(Accuracy::new(asked).unwrap_or(Accuracy::EXACT))
    }

    fn is_stale(&self, now: &Situation<'_, R>, point: &Point<R>) -> bool {
        self.stale.is_some_and(|factor| {
            let limit = factor * self.model_target(now).value();
            !(point.accuracy.value() <= limit) && !point.at_floor
        })
    }

    /// Decides about the step as soon as the interval of its ratio allows only one decision.
    ///
    /// The paper's accuracy condition (`MIN_ACCURACY`) is
    /// `$\max(\delta^k, \delta^k_+) \le \eta_1' (m^k(0) - m^k(s^k))$`. Unless the interval decides
    /// earlier, both points are sharpened until the sum of their errors is as small as this
    /// condition makes it.
    fn verdict(&self, now: &Situation<'_, R>, trial: &Point<R>, predicted: f64) -> Verdict {
        let incumbent = now.incumbent();
        let as_computed = (incumbent.objective - trial.objective) / predicted;
        if is_exact(incumbent) && is_exact(trial) {
            return Verdict::Decided {
                ratio: as_computed,
                certified: true,
            };
        }
        let (old, new) = (incumbent.interval(), trial.interval());
        let ratio = RatioInterval {
            lower: (old.lower - new.upper) / predicted,
            upper: (old.upper - new.lower) / predicted,
        };
        if ratio.decides(now.region, self.eta1_prime) {
            let limit = self.model_target(now);
            if trial.accuracy.value() <= ENOUGH * limit.value() || trial.at_floor {
                return Verdict::Decided {
                    ratio: ratio.middle(),
                    certified: true,
                };
            }
            return Verdict::SharpenTrial(limit);
        }
        // The error that would decide about the step if the middle of the interval stayed the same.
        let middle = ratio.middle();
        let to_class = (middle - now.region.eta1)
            .abs()
            .min((middle - now.region.eta2).abs());
        let needed = MARGIN * to_class.max(2.0 * self.eta1_prime) * predicted;
        let incumbent_is_worse = !(half_width(old) <= half_width(new));
        // Below rounding level, intervals of objectives do not get narrower.
        let square = incumbent.square().max(trial.square());
        let rounding = ROUNDING * square.max(0.0).sqrt();
        let at_rounding = |point: &Point<R>| point.accuracy.value() <= rounding;
        let is_final = |point: &Point<R>| point.at_floor || at_rounding(point);
        if !is_final(incumbent) && (incumbent_is_worse || is_final(trial)) {
            Verdict::SharpenIncumbent(sharper(incumbent, needed))
        } else if !is_final(trial) && half_width(new) > NEGLIGIBLE * half_width(old) {
            Verdict::SharpenTrial(sharper(trial, needed))
        } else if at_rounding(incumbent) && at_rounding(trial) {
            Verdict::Decided {
                ratio: as_computed,
                certified: false,
            }
        } else {
            Verdict::Floor {
                wanted: sharper(trial, needed),
            }
        }
    }

    fn is_better(&self, now: &Situation<'_, R>, point: &Point<R>) -> bool {
        let incumbent = now.incumbent();
        if is_exact(point) && is_exact(incumbent) {
            point.objective < incumbent.objective
        } else {
            point.interval().upper < incumbent.interval().lower
        }
    }

    fn warm_start(&self) -> WarmStart {
        self.warm_start
    }

    fn eta1_prime(&self) -> Option<f64> {
        Some(self.eta1_prime)
    }
}

fn half_width(interval: ObjectiveInterval) -> f64 {
    0.5 * (interval.upper - interval.lower)
}

/// The next accuracy to ask a point for, so that the errors of two objectives add up to `needed`.
fn sharper<R>(point: &Point<R>, needed: f64) -> Accuracy {
    let square = point.square().max(0.0);
    let wanted = Accuracy::for_objective_error(square, SHARE * needed).value();
    let now = point.accuracy.value();
    let asked = if now.is_finite() {
        wanted.clamp(SHARPEN_MOST * now, SHARPEN_LEAST * now)
    } else {
        wanted
    };
    Accuracy::new(asked).unwrap_or(Accuracy::EXACT)
}
