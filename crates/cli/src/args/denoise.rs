//! The arguments of `bilevel denoise`.

use std::path::PathBuf;

use clap::Args;

use super::learn;
use crate::config::Noise;
use crate::denoise::{DenoiseOptions, ValueRange};
use crate::error::CliError;
use crate::memory::Memory;
use crate::picture::{Colour, Depth};

const EXAMPLES: &str = "\
The filters were learned for noise from 2/255 to 75/255; pictures with other noise are scaled first.
The noise of each pixel must be independent of that of the others: Gaussian noise with the same
standard deviation everywhere or, with --noise poisson, the noise of a camera that counts photons.

Examples:
  bilevel denoise noisy.png clean.png           estimate the noise, and remove it
  bilevel denoise noisy.png clean.png --noise 0.1
  bilevel denoise noisy clean                   all pictures of a folder
  bilevel denoise stack.tif clean.tif           all pages of a TIFF file
  bilevel denoise frames.tif clean.tif --noise poisson     frames of a camera that counts photons
  bilevel denoise cells.tif clean.tif --noise poisson:0.03,0.01
  bilevel denoise head.nii.gz clean.nii.gz --range 0,4000
  bilevel denoise counts.npy clean.npy --range 0,4000
  bilevel denoise noisy.png clean.png --depth 16 --accuracy 1e-4
  bilevel denoise mosaic.tif clean.tif --memory 8GB    a large picture, by tiles";

/// The arguments of `bilevel denoise`.
#[derive(Args, Clone, Debug, PartialEq)]
#[command(after_help = EXAMPLES)]
pub struct DenoiseArgs {
    /// Picture, stack of pictures, or folder of them
    pub input: PathBuf,
    /// Output folder, or file (.png, .tif, .npy, .npz, .nii or .nii.gz; a .png file has only one
    /// page)
    pub output: PathBuf,
    /// Standard deviation of the noise (black is 0, white is 1), or poisson:GAIN,READ for a camera
    /// that counts photons. With poisson alone, gain and read noise are estimated from the pages of
    /// the file, which must show the same scene. Without this option, Gaussian noise is estimated
    /// in each picture
    #[arg(long, value_name = "NOISE", value_parser = str::parse::<Noise>,
        allow_negative_numbers = true)]
    pub noise: Option<Noise>,
    /// Largest distance of a result from the exact minimiser, as a root mean square over all
    /// pixels; it says nothing about the distance from the true picture. Without this option, a
    /// hundredth of the noise
    #[arg(long, value_name = "RMS", value_parser = learn::number, allow_negative_numbers = true)]
    pub accuracy: Option<f64>,
    /// Values of black and white in the file; required for floating-point values that are not
    /// between 0 and 1, and for signed or long integers
    #[arg(long, value_name = "LOW,HIGH", allow_hyphen_values = true)]
    pub range: Option<String>,
    /// How to treat colour pictures: all colours together (opponent), each of red, green and blue
    /// on its own (channels), or only the luminance, which gives a grey picture (grey)
    #[arg(long, value_enum, default_value_t = Colour::default())]
    pub colour: Colour,
    /// Bits per sample of the output; without this option, those of the input
    #[arg(long, value_enum, value_name = "BITS")]
    pub depth: Option<Depth>,
    /// Memory for the computation of one picture; pictures that need more are denoised tile by tile
    #[arg(long, value_name = "SIZE", default_value_t = Memory::default())]
    pub memory: Memory,
}

impl DenoiseArgs {
    /// Returns the options of [`denoise`](crate::denoise::denoise).
    ///
    /// # Errors
    /// When the range is not two increasing numbers.
    pub fn options(&self) -> Result<DenoiseOptions, CliError> {
        let range = self.range.as_deref().map(str::parse::<ValueRange>);
        Ok(DenoiseOptions {
            noise: self.noise.clone(),
            accuracy: self.accuracy,
            range: range.transpose()?,
            colour: self.colour,
            depth: self.depth,
            memory: self.memory,
        })
    }
}
