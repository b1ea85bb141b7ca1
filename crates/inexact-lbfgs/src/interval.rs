//! Intervals that certainly contain a number, and their storage.

/// Two numbers between which the exact objective certainly lies. Infinite ends are allowed.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Interval {
    /// The lower end.
    #[cfg_attr(feature = "serde", serde(with = "stored::lower"))]
    pub lower: f64,
    /// The upper end.
    #[cfg_attr(feature = "serde", serde(with = "stored::upper"))]
    pub upper: f64,
}

impl Interval {
    /// The interval of all numbers, which says nothing.
    pub const UNKNOWN: Self = Self {
        lower: f64::NEG_INFINITY,
        upper: f64::INFINITY,
    };

    /// The interval with these ends.
    #[must_use]
    pub const fn new(lower: f64, upper: f64) -> Self {
        Self { lower, upper }
    }

    /// The interval of a number that is known exactly.
    #[must_use]
    pub const fn exact(value: f64) -> Self {
        Self::new(value, value)
    }

    /// The distance between the ends.
    #[must_use]
    pub fn width(&self) -> f64 {
        self.upper - self.lower
    }

    /// Whether `value` lies in the interval. NaN lies in no interval.
    #[must_use]
    pub fn contains(&self, value: f64) -> bool {
        self.lower <= value && value <= self.upper
    }

    /// The number in the interval that is nearest to `value`. An oracle whose value may leave its
    /// interval, for example by rounding, answers with this number.
    #[must_use]
    pub const fn nearest(&self, value: f64) -> f64 {
        value.max(self.lower).min(self.upper)
    }

    /// The numbers in both intervals; `None` if there are none.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Option<Self> {
        let both = Self::new(self.lower.max(other.lower), self.upper.min(other.upper));
        (both.lower <= both.upper).then_some(both)
    }
}

/// Storage of numbers that may be infinite, which some formats, such as JSON, cannot represent:
/// infinity is stored as `None`.
#[cfg(feature = "serde")]
pub(crate) mod stored {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    fn save<S: Serializer>(x: f64, infinite: f64, to: S) -> Result<S::Ok, S::Error> {
        let finite = x.to_bits() != infinite.to_bits();
        finite.then_some(x).serialize(to)
    }

    fn load<'de, D: Deserializer<'de>>(from: D, infinite: f64) -> Result<f64, D::Error> {
        Ok(Option::deserialize(from)?.unwrap_or(infinite))
    }

    /// A number that may be minus infinity.
    pub(crate) mod lower {
        use super::{Deserializer, Serializer};

        pub(crate) fn serialize<S: Serializer>(x: &f64, to: S) -> Result<S::Ok, S::Error> {
            super::save(*x, f64::NEG_INFINITY, to)
        }

        pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
            super::load(from, f64::NEG_INFINITY)
        }
    }

    /// A number that may be infinity.
    pub(crate) mod upper {
        use super::{Deserializer, Serializer};

        pub(crate) fn serialize<S: Serializer>(x: &f64, to: S) -> Result<S::Ok, S::Error> {
            super::save(*x, f64::INFINITY, to)
        }

        pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
            super::load(from, f64::INFINITY)
        }
    }
}
