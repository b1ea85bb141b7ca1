//! Errors of data that do not fit together.

use std::path::PathBuf;

use ::page::number::counted;
use bilevel::SpecError;
use imaging::noise::NoiseError;
use imaging::phantom::PhantomError;
use thiserror::Error;

/// An error of files that are intact, but do not fit together or do not suit the task. A field
/// without a name is the cause, or the name or path of what the message is about.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DataError {
    /// All images are held out.
    #[error(
        "--hold-out is {hold_out}, but there {} in all, so none is left to learn from: lower \
         --hold-out, or add images",
        match num_images { 1 => "is 1 image".to_owned(), _ => format!("are {num_images} images") }
    )]
    HoldOut {
        /// The number of images held out.
        hold_out: usize,
        /// The number of all images.
        num_images: usize,
    },
    /// A mask does not fit a picture.
    #[error(
        "the mask {} has {} x {} pixels, but {} has {} x {}: use pictures and a mask of the same \
         size, or set --crop to the size of the mask",
        mask.display(), mask_size[0], mask_size[1], name, size[0], size[1]
    )]
    MaskSize {
        /// The mask.
        mask: PathBuf,
        /// The width and height of the mask.
        mask_size: [usize; 2],
        /// The picture.
        name: String,
        /// The width and height of the picture after cropping.
        size: [usize; 2],
    },
    /// A mask says that no pixel was measured.
    #[error(
        "the mask {} is black everywhere: make it white where pixels were measured",
        .0.display()
    )]
    EmptyMask(PathBuf),
    /// The name of a kernel cannot be read.
    #[error("{0}")]
    KernelName(#[source] imaging::KernelNameError),
    /// The noise of a picture is not known.
    #[error(
        "the noise of {name} cannot be estimated ({reason}): give it with --noise, or use \
         --criterion gcv"
    )]
    NoiseLevel {
        /// The name of the picture.
        name: String,
        /// The reason.
        reason: String,
    },
    /// There are no frames from which the noise of a camera could be estimated.
    #[error(
        "--noise poisson needs frames of one scene, that is, a file of --noisy with two or more \
         pages of the same size: without such a file, give gain and read noise, such as \
         --noise poisson:0.03,0.01"
    )]
    NoFrames,
    /// The noise of a camera cannot be estimated.
    #[error("{0}; or give gain and read noise, such as --noise poisson:0.03,0.01")]
    Camera(#[source] NoiseError),
    /// A kernel is complex.
    #[error("the kernel {} is complex: save its real part", .0.display())]
    ComplexKernel(PathBuf),
    /// Frequencies are real.
    #[error(
        "{} is real, but frequencies are complex: save the unitary Fourier transform of each \
         signal, frequency zero first",
        .0.display()
    )]
    RealFrequencies(PathBuf),
    /// The numbers of measurements and signals differ.
    #[error(
        "{} has {}, but {} has {other_num}: give one row for each signal",
        path.display(), counted(*num as u64, "row", "rows"), other.display()
    )]
    Rows {
        /// The file of the measurements.
        path: PathBuf,
        /// The number of its rows.
        num: usize,
        /// The file of the signals.
        other: PathBuf,
        /// The number of its rows.
        other_num: usize,
    },
    /// Signals of different files have different lengths.
    #[error(
        "each row of {} has {}, but those of {other} have {needed}: use signals of the same length",
        path.display(), counted(*len as u64, "sample", "samples")
    )]
    Samples {
        /// The file.
        path: PathBuf,
        /// The number of samples in a row.
        len: usize,
        /// The number of samples needed.
        needed: usize,
        /// The file or run with the needed number.
        other: String,
    },
    /// A grey picture among pictures in colour.
    #[error(
        "{0} is grey, but --colour opponent learns from pictures in colour only: leave the grey \
         pictures out, or use --colour grey"
    )]
    Grey(String),
    /// A grey picture for parameters of pictures in colour.
    #[error(
        "{0} is grey, but the run has learned from pictures in colour, whose parameters do not \
         fit: learn with --colour grey for it"
    )]
    GreyInput(String),
    /// Pixels are missing, but the model needs all of them.
    #[error(
        "{0} has pixels that are NaN, that is, were not measured, but a filter bank for \
         denoising needs all pixels: use total variation, which fills them (leave --filters and \
         --model out), or learn with `bilevel learn inpaint --model filters --mask MASK`"
    )]
    Missing(String),
    /// The reconstruction problem of an image cannot be built.
    #[error("{name} cannot be used")]
    Model {
        /// The name of the image or file.
        name: String,
        /// The reason.
        source: SpecError,
    },
    /// Noise cannot be added.
    #[error("cannot add noise to {name}")]
    Noise {
        /// The name of the image.
        name: String,
        /// The reason.
        source: NoiseError,
    },
    /// A built-in image cannot be generated.
    #[error("cannot generate the built-in images: change --size")]
    BuiltIn(#[from] PhantomError),
}
