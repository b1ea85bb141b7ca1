//! Parameters that are learned: their names, their bounds, and the maps from the solver's
//! `$\theta$` to their values.

use std::f64::consts::LN_10;

use crate::error::ProblemError;

/// A parameter that is learned: a single number, or a block of numbers that share their name, map
/// and bounds.
///
/// ```
/// use bilevel::Parameter;
/// let alpha = Parameter::log10("alpha", 0.0, -7.0, 7.0);
/// assert_eq!(alpha.value(-1.0), 0.1);
///
/// let weights = Parameter::log10("weights", -1.0, -4.0, 1.0).with_shape([100, 100]);
/// assert_eq!(weights.num_entries(), 10_000);
/// assert_eq!(weights.entry_name(302), "weights[3, 2]");
/// ```
///
/// Lists of numbers (starts, values, results) are flat: block after block, and each block with its
/// last index fastest.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Parameter {
    /// The name of the parameter.
    pub name: String,
    /// The shape of the block; empty for a single number.
    #[cfg_attr(feature = "serde", serde(default))]
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Vec::is_empty"))]
    pub shape: Vec<usize>,
    /// The map from `$\theta$` to the value of each entry.
    pub map: Map,
    /// The start of `$\theta$`.
    pub start: Starts,
    /// The lower bound of `$\theta$` for each entry.
    pub lower: f64,
    /// The upper bound of `$\theta$` for each entry.
    pub upper: f64,
}

/// The starts of the entries of a [`Parameter`], as `$\theta$`.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(untagged))]
pub enum Starts {
    /// One number for all entries.
    All(f64),
    /// A number for each entry.
    Each(Vec<f64>),
}

impl From<f64> for Starts {
    fn from(start: f64) -> Self {
        Self::All(start)
    }
}

impl From<Vec<f64>> for Starts {
    fn from(starts: Vec<f64>) -> Self {
        Self::Each(starts)
    }
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
    /// Creates a single number with the value `$10^\theta$`; `start`, `lower` and `upper` are
    /// exponents.
    #[must_use]
    pub fn log10(
        name: impl Into<String>,
        start: impl Into<Starts>,
        lower: f64,
        upper: f64,
    ) -> Self {
        Self {
            name: name.into(),
            shape: Vec::new(),
            map: Map::Log10,
            start: start.into(),
            lower,
            upper,
        }
    }

    /// Turns the parameter into a block of this shape.
    #[must_use]
    pub fn with_shape(mut self, shape: impl Into<Vec<usize>>) -> Self {
        self.shape = shape.into();
        self
    }

    /// Returns the number of entries of the block.
    #[must_use]
    pub fn num_entries(&self) -> usize {
        self.shape.iter().product()
    }

    /// Returns the name of the entry with this flat index, such as `taps[3, 2]`; the name of the
    /// parameter if it is a single number.
    #[must_use]
    pub fn entry_name(&self, index: usize) -> String {
        let mut rest = index;
        let mut places: Vec<String> = (self.shape.iter().rev())
            .map(|size| {
                let place = rest % size;
                rest /= size;
                place.to_string()
            })
            .collect();
        places.reverse();
        match places.is_empty() {
            true => self.name.clone(),
            false => format!("{}[{}]", self.name, places.join(", ")),
        }
    }

    /// Returns the value of an entry at `theta`.
    #[must_use]
    pub fn value(&self, theta: f64) -> f64 {
        self.map.value(theta)
    }

    /// Returns the parameter of each entry of all `blocks`.
    pub fn of_entries(blocks: &[Self]) -> impl Iterator<Item = &Self> {
        (blocks.iter()).flat_map(|block| std::iter::repeat_n(block, block.num_entries()))
    }

    /// Returns the starts of all entries of `blocks`.
    #[must_use]
    pub fn starts_of(blocks: &[Self]) -> Vec<f64> {
        let mut starts = Vec::new();
        for block in blocks {
            match &block.start {
                Starts::All(start) => starts.resize(starts.len() + block.num_entries(), *start),
                Starts::Each(each) => starts.extend_from_slice(each),
            }
        }
        starts
    }

    /// Returns the lower and the upper bounds of all entries of `blocks`.
    #[must_use]
    pub fn bounds_of(blocks: &[Self]) -> (Vec<f64>, Vec<f64>) {
        let bounds = Self::of_entries(blocks).map(|block| (block.lower, block.upper));
        bounds.unzip()
    }

    /// Returns the values of all entries of `blocks` at `theta`.
    #[must_use]
    pub fn values_of(blocks: &[Self], theta: &[f64]) -> Vec<f64> {
        let entries = Self::of_entries(blocks).zip(theta);
        entries.map(|(block, theta)| block.value(*theta)).collect()
    }

    pub(crate) fn check(&self) -> Result<(), ProblemError> {
        let sizes = self.shape.iter().copied();
        let num_entries = sizes.reduce(usize::saturating_mul).unwrap_or(1);
        if num_entries == 0 || num_entries == usize::MAX {
            return Err(ProblemError::Shape {
                name: self.name.clone(),
                shape: self.shape.clone(),
            });
        }
        let starts = match &self.start {
            Starts::All(start) => std::slice::from_ref(start),
            Starts::Each(each) if each.len() == num_entries => each,
            Starts::Each(each) => {
                return Err(ProblemError::NumStarts {
                    name: self.name.clone(),
                    expected: num_entries,
                    found: each.len(),
                });
            }
        };
        let invalid = |name, what, found| ProblemError::Parameter { name, what, found };
        if let Some(index) = starts.iter().position(|start| !start.is_finite()) {
            return Err(invalid(self.entry_name(index), "start", starts[index]));
        }
        let bounds = [("lower bound", self.lower), ("upper bound", self.upper)];
        for (what, theta) in bounds {
            if !theta.is_finite() {
                return Err(invalid(self.name.clone(), what, theta));
            }
        }
        if !(self.lower <= self.upper) {
            return Err(ProblemError::CrossedBounds {
                name: self.name.clone(),
                lower: self.value(self.lower),
                upper: self.value(self.upper),
            });
        }
        for (what, theta) in bounds {
            let value = self.value(theta);
            if !value.is_finite() || (self.map == Map::Odds && !(value >= 0.0)) {
                return Err(invalid(self.name.clone(), what, theta));
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

    /// Worked out by hand: the last index is the fastest.
    #[test]
    fn blocks_are_flat_lists() {
        let taps = Parameter::log10("taps", 0.0, -1.0, 1.0).with_shape([4, 3]);
        assert_eq!(taps.entry_name(0), "taps[0, 0]");
        assert_eq!(taps.entry_name(11), "taps[3, 2]");
        let one = Parameter::log10("alpha", 0.5, -1.0, 1.0);
        assert_eq!(one.entry_name(0), "alpha");
        let each = Parameter::log10("theta", vec![0.1, 0.2], -1.0, 1.0).with_shape([2]);
        let blocks = [one, each.clone(), taps.with_shape([2])];
        assert_eq!(Parameter::starts_of(&blocks), [0.5, 0.1, 0.2, 0.0, 0.0]);
        let names: Vec<&str> = (Parameter::of_entries(&blocks).map(|p| &p.name[..])).collect();
        assert_eq!(names, ["alpha", "theta", "theta", "taps", "taps"]);

        assert!(each.check().is_ok());
        let wrong = |shape: &[usize]| each.clone().with_shape(shape).check().unwrap_err();
        assert!(matches!(wrong(&[3]), ProblemError::NumStarts { .. }));
        assert!(matches!(wrong(&[]), ProblemError::NumStarts { .. }));
        assert!(matches!(wrong(&[2, 0]), ProblemError::Shape { .. }));
        assert!(matches!(
            wrong(&[usize::MAX, 3]),
            ProblemError::Shape { .. }
        ));
        let nan = Parameter::log10("theta", vec![0.1, f64::NAN], -1.0, 1.0).with_shape([2]);
        let message = nan.check().unwrap_err().to_string();
        assert!(message.starts_with("the start of theta[1] is"), "{message}");
    }
}
