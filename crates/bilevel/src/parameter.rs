//! Parameters that are learned: their names, their bounds, and the maps from the solver's
//! `$\theta$` to their values.

use std::f64::consts::LN_10;

use crate::error::ProblemError;

/// A parameter that is learned.
///
/// ```
/// use bilevel::Parameter;
/// let alpha = Parameter::log10("alpha", 0.0, -7.0, 7.0);
/// assert_eq!(alpha.value(-1.0), 0.1);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Parameter {
    /// The name of the parameter.
    pub name: String,
    /// The map from `$\theta$` to the value of the parameter.
    pub map: Map,
    /// The start of `$\theta$`.
    pub start: f64,
    /// The lower bound of `$\theta$`.
    pub lower: f64,
    /// The upper bound of `$\theta$`.
    pub upper: f64,
}

/// The map from `$\theta$`, which the solver sees, to the value of a parameter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Map {
    /// The value is `$\theta$` itself.
    #[default]
    Identity,
    /// The value is `$10^\theta$`. This is the map for weights, whose magnitude is unknown.
    Log10,
    /// The value is `$\theta/(1-\theta)$` for `$0 \le \theta < 1$`. This is the map of the paper's
    /// sampling weights.
    Odds,
}

impl Map {
    /// Returns the value at `theta`.
    #[must_use]
    pub fn value(self, theta: f64) -> f64 {
        match self {
            Self::Identity => theta,
            Self::Log10 => 10_f64.powf(theta),
            Self::Odds => theta / (1.0 - theta),
        }
    }

    /// Returns the derivative of [`value`](Self::value) at `theta`.
    #[must_use]
    pub fn derivative(self, theta: f64) -> f64 {
        match self {
            Self::Identity => 1.0,
            Self::Log10 => LN_10 * 10_f64.powf(theta),
            Self::Odds => 1.0 / ((1.0 - theta) * (1.0 - theta)),
        }
    }

    /// Returns the `$\theta$` of a value: the inverse of [`value`](Self::value).
    #[must_use]
    pub fn theta(self, value: f64) -> f64 {
        match self {
            Self::Identity => value,
            Self::Log10 => value.log10(),
            Self::Odds => value / (1.0 + value),
        }
    }
}

impl Parameter {
    /// Creates a parameter with the value `$10^\theta$`; `start`, `lower` and `upper` are
    /// exponents.
    #[must_use]
    pub fn log10(name: impl Into<String>, start: f64, lower: f64, upper: f64) -> Self {
        Self {
            name: name.into(),
            map: Map::Log10,
            start,
            lower,
            upper,
        }
    }

    /// Returns the value of the parameter at `theta`.
    #[must_use]
    pub fn value(&self, theta: f64) -> f64 {
        self.map.value(theta)
    }

    pub(crate) fn check(&self) -> Result<(), ProblemError> {
        let invalid = |what, found| ProblemError::Parameter {
            name: self.name.clone(),
            what,
            found,
        };
        for (what, theta) in [
            ("start", self.start),
            ("lower bound", self.lower),
            ("upper bound", self.upper),
        ] {
            if !theta.is_finite() {
                return Err(invalid(what, theta));
            }
        }
        if !(self.lower <= self.upper) {
            return Err(ProblemError::CrossedBounds {
                name: self.name.clone(),
                lower: self.value(self.lower),
                upper: self.value(self.upper),
            });
        }
        for (what, theta) in [("lower bound", self.lower), ("upper bound", self.upper)] {
            let value = self.value(theta);
            if !value.is_finite() || (self.map == Map::Odds && !(value >= 0.0)) {
                return Err(invalid(what, theta));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn derivatives_are_slopes(theta in 0.01..0.98_f64) {
            for map in [Map::Identity, Map::Log10, Map::Odds] {
                let slope = (map.value(theta + 1e-6) - map.value(theta - 1e-6)) / 2e-6;
                let derivative = map.derivative(theta);
                prop_assert!((slope / derivative - 1.0).abs() < 1e-6, "{map:?}");
            }
        }

        #[test]
        fn maps_undo_themselves(theta in 0.001..0.99_f64) {
            for map in [Map::Identity, Map::Log10, Map::Odds] {
                prop_assert!((map.theta(map.value(theta)) - theta).abs() < 1e-12, "{map:?}");
            }
        }
    }

    /// Worked out by hand.
    #[test]
    fn maps_are_the_papers() {
        assert!((Map::Log10.value(-3.0) - 1e-3).abs() < 1e-18);
        assert!((Map::Odds.value(0.75) - 3.0).abs() < 1e-15);
        assert!((Map::Identity.value(0.75) - 0.75).abs() < 1e-15);
    }

    #[test]
    fn bounds_are_checked() {
        let with = |start, lower, upper| Parameter::log10("alpha", start, lower, upper).check();
        assert!(with(0.0, -7.0, 7.0).is_ok());
        assert!(matches!(
            with(0.0, 1.0, -1.0),
            Err(ProblemError::CrossedBounds { .. })
        ));
        for (start, lower, upper) in [
            (f64::NAN, -1.0, 1.0),
            (0.0, f64::NEG_INFINITY, 1.0),
            (0.0, -1.0, f64::NAN),
            (0.0, 0.0, 400.0),
        ] {
            assert!(matches!(
                with(start, lower, upper),
                Err(ProblemError::Parameter { .. })
            ));
        }
        let odds = Parameter {
            map: Map::Odds,
            ..Parameter::log10("s", 0.5, 0.0, 1.0)
        };
        assert!(odds.check().is_err());
    }
}
