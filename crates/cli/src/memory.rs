//! The memory that the computation of a picture takes, and its limit.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use ::page::number::significant;
use thiserror::Error;

use crate::picture::large;

/// Memory per sample if a picture is reconstructed at once: its planes, and the state, the metric
/// and the working memory of the solver. For `bilevel denoise`, 197 bytes were measured for a grey
/// picture of 4096 x 4096 pixels, and 111 for one of 2048 x 2048 pixels in colour.
const WHOLE: u64 = 200;
/// Memory per sample if a picture is reconstructed by tiles: its data, the picture and the iterate
/// before, in single precision, and the samples of the file.
const TILED: u64 = 16;
/// The same for each of three colours that are reconstructed together.
const TILED_COLOUR: u64 = 24;
/// Memory of a region of tiles on one thread, and of the results of its tiles.
const REGION: u64 = 1 << 27;

/// The number of bytes that the reconstruction of one picture may take, such as `2GB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory(u64);

impl Default for Memory {
    /// 4 GB.
    fn default() -> Self {
        Self(4_000_000_000)
    }
}

/// A limit of memory that cannot be used.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum MemoryError {
    /// The limit is not a number with a unit.
    #[error("it must be a positive number with the unit GB, MB or kB, such as 2GB or 500MB")]
    Text,
    /// The picture takes more.
    #[error(
        "{} takes about {} GB of memory, but {} GB are allowed: allow more, such as --memory {}",
        path.display(), gigabytes(*needed), gigabytes(*allowed), enough(*needed)
    )]
    TooLittle {
        /// The file.
        path: PathBuf,
        /// The number of bytes that it takes.
        needed: u64,
        /// The number of bytes that are allowed.
        allowed: u64,
    },
}

impl Memory {
    /// Whether the picture in a file must be reconstructed by tiles.
    ///
    /// # Errors
    /// When tiles take more memory than is allowed, too.
    pub(crate) fn needs_tiles(self, path: &Path) -> Result<bool, MemoryError> {
        let Some([width, height, channels]) = large::size(path) else {
            return Ok(false);
        };
        let samples = [width, height, channels].into_iter().map(|n| n as u64);
        let samples = samples.fold(1_u64, u64::saturating_mul);
        if samples.saturating_mul(WHOLE) <= self.0 {
            return Ok(false);
        }
        let per_sample = if channels == 1 { TILED } else { TILED_COLOUR };
        let regions = REGION * rayon::current_num_threads() as u64;
        let by_tiles = samples.saturating_mul(per_sample).saturating_add(regions);
        match by_tiles <= self.0 {
            true => Ok(true),
            false => Err(MemoryError::TooLittle {
                path: path.into(),
                needed: by_tiles.min(samples.saturating_mul(WHOLE)),
                allowed: self.0,
            }),
        }
    }
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}GB", self.0 as f64 / 1e9)
    }
}

impl FromStr for Memory {
    type Err = MemoryError;

    fn from_str(text: &str) -> Result<Self, MemoryError> {
        let units = [("GB", 1e9), ("MB", 1e6), ("kB", 1e3)];
        let bytes = units.into_iter().find_map(|(unit, size)| {
            let number = text.trim().strip_suffix(unit)?.trim();
            let number: f64 = number.parse().ok()?;
            (number > 0.0 && number < 1e9).then_some(number * size)
        });
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a positive number below 2^64"
        )]
        match bytes {
            Some(bytes) => Ok(Self(bytes as u64)),
            None => Err(MemoryError::Text),
        }
    }
}

/// Returns a number of bytes in gigabytes.
fn gigabytes(bytes: u64) -> String {
    significant(bytes as f64 / 1e9, 2)
}

/// Returns a limit in whole units that is at least this number of bytes.
fn enough(bytes: u64) -> String {
    match bytes {
        0..1_000_000_000 => format!("{}MB", bytes.div_ceil(1_000_000)),
        _ => format!("{}GB", bytes.div_ceil(1_000_000_000)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_have_units() {
        assert_eq!("2GB".parse(), Ok(Memory(2_000_000_000)));
        assert_eq!(" 1.5 MB".parse(), Ok(Memory(1_500_000)));
        assert_eq!(Memory::default().to_string(), "4GB");
        assert_eq!(enough(6_900_000_000), "7GB");
        assert_eq!(enough(1_000_001), "2MB");
        for text in ["2", "GB", "-1GB", "0GB", "NaNGB", "1e12GB", "2 TB"] {
            let error = text.parse::<Memory>().unwrap_err();
            assert!(error.to_string().contains("such as 2GB"), "{error}");
        }
    }
}
