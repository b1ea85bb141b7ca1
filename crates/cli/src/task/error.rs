//! Data that do not fit together.

use std::path::PathBuf;

use bilevel::SpecError;
use imaging::noise::NoiseError;
use imaging::phantom::PhantomError;
use thiserror::Error;

/// Files that are sound, but do not fit together or do not suit the task.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DataError {
    /// Nothing is left to learn from.
    #[error(
        "{hold_out} of {num_images} images are held out, which leaves none to learn from: \
         lower --hold-out, or add images"
    )]
    HoldOut {
        /// The number of images held out.
        hold_out: usize,
        /// The number of all images.
        num_images: usize,
    },
    /// A mask does not fit a picture.
    #[error(
        "the mask {} has {} x {} pixels, but {} has {} x {}: make them the same size, or use --crop",
        mask.display(), mask_size[0], mask_size[1], name, size[0], size[1]
    )]
    MaskSize {
        /// The mask.
        mask: PathBuf,
        /// Its width and height.
        mask_size: [usize; 2],
        /// The picture.
        name: String,
        /// Its width and height, cropped.
        size: [usize; 2],
    },
    /// A mask measures nothing.
    #[error("the mask {} is black everywhere: make it white where pixels were measured", mask.display())]
    EmptyMask {
        /// The mask.
        mask: PathBuf,
    },
    /// A kernel is complex.
    #[error("the kernel {} is complex: save its real part", path.display())]
    ComplexKernel {
        /// The file.
        path: PathBuf,
    },
    /// Frequencies are real.
    #[error(
        "{} is real, but frequencies are complex: save the unitary Fourier transform of each signal, frequency zero first",
        path.display()
    )]
    RealFrequencies {
        /// The file.
        path: PathBuf,
    },
    /// There are fewer or more measurements than signals.
    #[error("{} has {num} rows, but {} has {other_num}: give one row for each signal", path.display(), other.display())]
    Rows {
        /// The measurements.
        path: PathBuf,
        /// How many.
        num: usize,
        /// The signals.
        other: PathBuf,
        /// How many.
        other_num: usize,
    },
    /// Signals of different files have different lengths.
    #[error("{} has {len} samples in a row, but {needed} are needed, as in {other}", path.display())]
    Samples {
        /// The file.
        path: PathBuf,
        /// How many.
        len: usize,
        /// How many are needed.
        needed: usize,
        /// Who says so.
        other: String,
    },
    /// An image is too much for its model.
    #[error("{name} cannot be used")]
    Model {
        /// The file.
        name: String,
        /// Why.
        source: SpecError,
    },
    /// Noise cannot be added.
    #[error("cannot add noise to {name}")]
    Noise {
        /// The image.
        name: String,
        /// Why.
        source: NoiseError,
    },
    /// A built-in image cannot be made.
    #[error("cannot make the built-in images: change --size")]
    BuiltIn(#[from] PhantomError),
}
