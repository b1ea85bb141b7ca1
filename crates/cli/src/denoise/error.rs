//! Errors of noisy pictures and of the options of their denoising.

use std::path::PathBuf;

use ::page::number::number;
use imaging::noise::NoiseError;
use imaging::{DenoiseError, TilesError};
use thiserror::Error;

/// A noisy picture that cannot be denoised, or an invalid option. A field without a name is the
/// file or page, or the value of the option.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum NoisyPictureError {
    /// The given noise is not a positive number.
    #[error("--noise is {0}, but must be positive, such as 0.1 (black is 0 and white is 1)")]
    Noise(f64),
    /// The given range is not an increasing pair of numbers.
    #[error("--range is {0}, but must be two numbers, black and a larger white, such as 0,4095")]
    Range(String),
    /// The type of the samples does not determine white.
    #[error(
        "{} holds integers, and which of them are black and white is not known: name them with \
         --range, such as --range 0,4095",
        .0.display()
    )]
    NeedsRange(PathBuf),
    /// Floating-point samples are too far from `[0, 1]`.
    #[error(
        "the values of {} lie between {} and {}, but without --range, black is 0 and white is 1: \
         name the black and white of the picture, such as --range {}",
        path.display(), number(*lowest), number(*highest), example(*lowest, *highest)
    )]
    OutOfRange {
        /// The file or page.
        path: PathBuf,
        /// The smallest sample.
        lowest: f64,
        /// The largest sample.
        highest: f64,
    },
    /// The picture is too small for an estimate of its noise.
    #[error(
        "{} has {width} x {height} pixels, but the noise can only be estimated in 5 x 5 or more: \
         give it with --noise, such as --noise 0.1",
        path.display()
    )]
    TooSmall {
        /// The file or page.
        path: PathBuf,
        /// The number of columns.
        width: usize,
        /// The number of rows.
        height: usize,
    },
    /// All of the picture has the values at the ends of its range.
    #[error(
        "the noise of {} cannot be estimated, because too many of its pixels have the smallest or \
         the largest value: give the noise with --noise, such as --noise 0.1",
        .0.display()
    )]
    Clipped(PathBuf),
    /// The noise of a camera cannot be estimated.
    #[error(
        "the gain and the read noise of {} cannot be estimated from its pages ({source}); give \
         them, such as --noise poisson:0.03,0.01",
        path.display()
    )]
    Camera {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: NoiseError,
    },
    /// The estimated noise is zero.
    #[error(
        "{} seems to have no noise: if it has some, give it with --noise, such as --noise 0.1",
        .0.display()
    )]
    NoNoise(PathBuf),
    /// The requested accuracy is below the rounding errors of the computation.
    #[error(
        "{} cannot be denoised to --accuracy {accuracy:e}, because of rounding: choose a larger \
         accuracy, such as 1e-6",
        path.display()
    )]
    Rounding {
        /// The file or page.
        path: PathBuf,
        /// The requested accuracy.
        accuracy: f64,
    },
    /// The reconstruction failed.
    #[error("{} cannot be denoised", path.display())]
    Failed {
        /// The file or page.
        path: PathBuf,
        /// The reason.
        source: DenoiseError,
    },
    /// The reconstruction by tiles failed.
    #[error("{} cannot be denoised", path.display())]
    LargeFailed {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: TilesError<DenoiseError>,
    },
}

impl NoisyPictureError {
    /// Returns the exit code; see [`CliError::exit_code`](crate::error::CliError::exit_code).
    pub(crate) const fn exit_code(&self) -> u8 {
        match self {
            Self::Noise { .. } | Self::Range { .. } | Self::Rounding { .. } => 2,
            Self::Failed { .. } | Self::LargeFailed { .. } => 1,
            _ => 3,
        }
    }
}

/// Returns a range for pictures with these smallest and largest samples.
fn example(lowest: f64, highest: f64) -> String {
    if lowest >= 0.0 && (1.0..=256.0).contains(&highest) {
        return "0,255".into();
    }
    let low = if lowest >= 0.0 { 0.0 } else { lowest };
    format!("{},{}", low.floor(), highest.ceil())
}
