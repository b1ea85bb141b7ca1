//! Conversion between errors of residuals and errors of the objective. No other file converts them.

use thiserror::Error;

/// The accuracy of a residual vector: a bound `$\delta$` with `$\|\tilde r - r\|_2 \le \delta$` for
/// the vector as a whole.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(
    feature = "serde",
    serde(try_from = "Option<f64>", into = "Option<f64>")
)]
pub struct Accuracy(f64);

/// A number that cannot be an accuracy.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[error("the accuracy is {found}, but must be zero or positive")]
pub struct InvalidAccuracy {
    /// The number that was given.
    pub found: f64,
}

/// An interval that contains the exact objective.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(
    feature = "serde",
    serde(from = "(f64, Option<f64>)", into = "(f64, Option<f64>)")
)]
pub struct ObjectiveInterval {
    /// The lower bound on the exact objective.
    pub lower: f64,
    /// The upper bound on the exact objective.
    pub upper: f64,
}

// Infinity is saved as `None`, because formats such as JSON have no number for it.

impl From<Accuracy> for Option<f64> {
    fn from(accuracy: Accuracy) -> Self {
        Some(accuracy.0).filter(|value| value.is_finite())
    }
}

impl TryFrom<Option<f64>> for Accuracy {
    type Error = InvalidAccuracy;

    fn try_from(value: Option<f64>) -> Result<Self, InvalidAccuracy> {
        value.map_or(Ok(Self::ANY), Self::new)
    }
}

impl From<ObjectiveInterval> for (f64, Option<f64>) {
    fn from(interval: ObjectiveInterval) -> Self {
        let upper = Some(interval.upper).filter(|value| value.is_finite());
        (interval.lower, upper)
    }
}

impl From<(f64, Option<f64>)> for ObjectiveInterval {
    fn from((lower, upper): (f64, Option<f64>)) -> Self {
        Self {
            lower,
            upper: upper.unwrap_or(f64::INFINITY),
        }
    }
}

/// Relative inflation that covers the rounding errors of the few operations of each function here.
const SAFETY: f64 = 8.0 * f64::EPSILON;

impl Accuracy {
    /// The accuracy of exact residuals, zero.
    pub const EXACT: Self = Self(0.0);
    /// The accuracy of residuals with an arbitrary error, infinity.
    pub const ANY: Self = Self(f64::INFINITY);

    /// Creates an accuracy from a bound on the Euclidean error of the residual vector.
    ///
    /// # Errors
    /// When `value` is negative or NaN.
    pub fn new(value: f64) -> Result<Self, InvalidAccuracy> {
        if value >= 0.0 {
            Ok(Self(value))
        } else {
            Err(InvalidAccuracy { found: value })
        }
    }

    /// Combines bounds `$\varepsilon_i$` on the errors of parts of the vector to
    /// `$\delta = \sqrt{\sum_i \varepsilon_i^2}$`.
    #[must_use]
    pub fn of_parts(parts: impl IntoIterator<Item = Self>) -> Self {
        let squares: f64 = parts.into_iter().map(|part| part.0 * part.0).sum();
        Self(squares.sqrt() * (1.0 + SAFETY))
    }

    /// The bound on the Euclidean error.
    #[must_use]
    pub const fn value(self) -> f64 {
        self.0
    }

    /// Bounds the error of the objective, given the computed objective `$\tilde f$`:
    /// `$|\tilde f - f| \le 2\sqrt{\tilde f}\,\delta + \delta^2$` (the paper's lemma on inexact
    /// evaluations).
    #[must_use]
    pub fn objective_error(self, objective: f64) -> f64 {
        2.0 * objective.sqrt() * self.0 + self.0 * self.0
    }

    /// Computes the accuracy of the residuals that bounds the error of the objective by `error`:
    /// `$\delta = \sqrt{\tilde f + \delta_f} - \sqrt{\tilde f}$`, without cancellation and rounded
    /// down. The result is zero if `error` or `objective` is NaN.
    #[must_use]
    pub fn for_objective_error(objective: f64, error: f64) -> Self {
        let delta = error / ((objective + error).sqrt() + objective.sqrt()) * (1.0 - SAFETY);
        if delta > 0.0 {
            Self(delta)
        } else {
            Self::EXACT
        }
    }

    /// Computes the interval that contains the exact objective, given the computed objective
    /// `$\tilde f$`: `$(\sqrt{\tilde f} - \delta)_+^2 \le f \le (\sqrt{\tilde f} + \delta)^2$`.
    /// This is the sharpest form of [`objective_error`](Self::objective_error).
    #[must_use]
    pub fn objective_interval(self, objective: f64) -> ObjectiveInterval {
        let root = objective.sqrt();
        let lower = (root * (1.0 - SAFETY) - self.0).max(0.0);
        let upper = root + self.0;
        ObjectiveInterval {
            lower: lower * lower * (1.0 - SAFETY),
            upper: upper * upper * (1.0 + SAFETY),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn objective(residuals: &[f64]) -> f64 {
        residuals.iter().map(|r| r * r).sum()
    }

    proptest! {
        /// Residuals, and an error of exactly the stated size in any direction.
        #[test]
        fn bounds_hold(
            pairs in proptest::collection::vec((-10.0..10.0_f64, -1.0..1.0_f64), 1..8),
            log_size in -12.0..3.0_f64,
        ) {
            let size = 10_f64.powf(log_size);
            let direction = objective(&pairs.iter().map(|p| p.1).collect::<Vec<_>>()).sqrt();
            prop_assume!(direction > 1e-3);
            let exact: Vec<f64> = pairs.iter().map(|p| p.0).collect();
            let computed: Vec<f64> = pairs.iter().map(|p| p.0 + size * p.1 / direction).collect();
            let (f, f_computed) = (objective(&exact), objective(&computed));
            // the addition above was rounded
            let accuracy = Accuracy::new(size * (1.0 + 1e-12) + 1e-14).unwrap();
            prop_assert!((f - f_computed).abs() <= accuracy.objective_error(f_computed) * (1.0 + 1e-12));
            let interval = accuracy.objective_interval(f_computed);
            prop_assert!(interval.lower <= f && f <= interval.upper, "{interval:?} {f}");
        }

        #[test]
        fn conversions_undo_each_other(log_f in -8.0..8.0_f64, log_error in -12.0..8.0_f64) {
            let (f, error) = (10_f64.powf(log_f), 10_f64.powf(log_error));
            let accuracy = Accuracy::for_objective_error(f, error);
            prop_assert!(accuracy.objective_error(f) <= error);
            prop_assert!(accuracy.objective_error(f) >= error * (1.0 - 1e-12));
        }
    }

    /// The bound is attained by an error along the residuals.
    #[test]
    fn the_interval_is_sharp() {
        let accuracy = Accuracy::new(0.5).unwrap();
        let interval = accuracy.objective_interval(4.0);
        assert!((interval.lower - 2.25).abs() < 1e-13 && (interval.upper - 6.25).abs() < 1e-13);
        assert!((accuracy.objective_error(4.0) - 2.25).abs() < 1e-14);
        let open = Accuracy::new(3.0).unwrap().objective_interval(4.0);
        assert!(open.lower.abs() < f64::MIN_POSITIVE);
    }

    #[test]
    fn parts_combine_like_a_norm() {
        let parts = [3.0, 4.0].map(|part| Accuracy::new(part).unwrap());
        assert!((Accuracy::of_parts(parts).value() - 5.0).abs() < 1e-13);
        assert_eq!(Accuracy::of_parts([]), Accuracy::EXACT);
        assert_eq!(Accuracy::of_parts([Accuracy::ANY]), Accuracy::ANY);
    }

    #[test]
    fn nan_takes_the_bad_branch() {
        assert!(Accuracy::new(f64::NAN).is_err() && Accuracy::new(-0.1).is_err());
        assert_eq!(
            Accuracy::for_objective_error(f64::NAN, 1.0),
            Accuracy::EXACT
        );
        assert_eq!(
            Accuracy::for_objective_error(1.0, f64::NAN),
            Accuracy::EXACT
        );
        assert_eq!(Accuracy::for_objective_error(1.0, -1.0), Accuracy::EXACT);
    }
}
