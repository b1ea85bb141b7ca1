//! Black and white of a picture in the numbers of its file.

use std::path::Path;
use std::str::FromStr;

use super::error::NoisyPictureError;
use crate::picture::SampleType;

/// Values may lie outside of `[0, 1]` by this multiple of the noise: Gaussian noise exceeds it in
/// one of 10^9 samples.
const DEVIATIONS: f64 = 6.0;
/// Largest noise for which values outside of `[0, 1]` are taken for noise; a choice.
const MAX_NOISE: f64 = 0.5;

/// The values of black and white.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ValueRange {
    low: f64,
    high: f64,
}

impl ValueRange {
    /// The range of pictures in which black is 0 and white is 1.
    const UNIT: Self = Self {
        low: 0.0,
        high: 1.0,
    };

    /// Returns the range from `low` to `high`, if they are finite and `low` is smaller.
    #[must_use]
    pub fn new(low: f64, high: f64) -> Option<Self> {
        let is_range = low < high && (high - low).is_finite();
        is_range.then_some(Self { low, high })
    }

    /// Returns a value in units in which black is 0 and white is 1.
    pub(super) fn to_unit(self, value: f64) -> f64 {
        (value - self.low) / (self.high - self.low)
    }

    /// Does the inverse of [`to_unit`](Self::to_unit).
    #[expect(clippy::wrong_self_convention, reason = "the inverse of `to_unit`")]
    pub(super) fn from_unit(self, value: f64) -> f64 {
        self.low + (self.high - self.low) * value
    }
}

impl FromStr for ValueRange {
    type Err = NoisyPictureError;

    fn from_str(text: &str) -> Result<Self, NoisyPictureError> {
        let ends = text.split_once(',');
        let range = ends.and_then(|(low, high)| {
            let [low, high] = [low, high].map(|end| end.trim().parse().ok());
            Self::new(low?, high?)
        });
        range.ok_or_else(|| NoisyPictureError::Range(text.into()))
    }
}

/// Returns black and white in the units of a picture that was read with
/// [`read_typed`](crate::picture::read_typed). `given` is in the numbers of the file.
pub(super) fn of_samples(
    path: &Path,
    samples: SampleType,
    given: Option<ValueRange>,
) -> Result<ValueRange, NoisyPictureError> {
    match (given, samples.white()) {
        (Some(ValueRange { low, high }), Some(white)) => Ok(ValueRange {
            low: low / white,
            high: high / white,
        }),
        (Some(given), None) => Ok(given),
        (None, _) if samples == SampleType::OtherInteger => {
            Err(NoisyPictureError::NeedsRange(path.into()))
        }
        (None, _) => Ok(ValueRange::UNIT),
    }
}

/// Refuses floating-point samples that lie further outside of `[0, 1]` than noise explains.
pub(super) fn check_unit(
    path: &Path,
    samples: SampleType,
    noise: f64,
    channels: &[Vec<f64>],
) -> Result<(), NoisyPictureError> {
    if samples.white().is_some() {
        return Ok(());
    }
    let values = || channels.iter().flatten().copied();
    let lowest = values().fold(f64::INFINITY, f64::min);
    let highest = values().fold(f64::NEG_INFINITY, f64::max);
    let margin = DEVIATIONS * noise.min(MAX_NOISE);
    if lowest >= -margin && highest <= 1.0 + margin {
        return Ok(());
    }
    Err(NoisyPictureError::OutOfRange {
        path: path.into(),
        lowest,
        highest,
    })
}
