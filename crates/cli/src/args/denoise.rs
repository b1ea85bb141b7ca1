//! The arguments of `bilevel denoise`.

use std::path::PathBuf;

use clap::Args;

use super::learn;
use crate::config::Noise;
use crate::denoise::{DenoiseColour, DenoiseOptions, ValueRange};
use crate::error::CliError;
use crate::memory::Memory;
use crate::picture::Depth;

const EXAMPLES: &str = "\
Nothing has to be learned: filter banks for noise from 2/255 to 75/255 come with the program.
Pictures with other noise are scaled first. The noise is assumed to be white: Gaussian, or with
--noise poisson that of a camera, and independent from pixel to pixel.

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
    /// Picture or folder of pictures
    pub input: PathBuf,
    /// Output file (.png, .tif, .npy, .npz, .nii or .nii.gz; a .png file has only one page) or
    /// folder
    pub output: PathBuf,
    /// Standard deviation of the noise, where black is 0 and white is 1; poisson:GAIN,READ for a
    /// camera that counts photons, or poisson to estimate gain and read noise from the pages of a
    /// file, which show one scene; without this option, Gaussian noise is estimated in each picture
    #[arg(long, value_name = "NOISE", value_parser = str::parse::<Noise>,
        allow_negative_numbers = true)]
    pub noise: Option<Noise>,
    /// Largest distance of a result from the exact minimiser (root mean square), not from the true
    /// picture; without this option, a tenth of the noise
    #[arg(long, value_name = "RMS", value_parser = learn::number, allow_negative_numbers = true)]
    pub accuracy: Option<f64>,
    /// Values of black and white in the file; required for floating-point values that are not
    /// between 0 and 1, and for signed or long integers
    #[arg(long, value_name = "LOW,HIGH", allow_hyphen_values = true)]
    pub range: Option<String>,
    /// How to treat colour pictures: all colours together (opponent), red, green and blue each on
    /// its own (channels), or only their luminance, which gives a grey picture (grey)
    #[arg(long, value_enum, default_value_t = DenoiseColour::default())]
    pub colour: DenoiseColour,
    /// Bits per sample of the output; without this option, samples keep their type
    #[arg(long, value_enum, value_name = "BITS")]
    pub depth: Option<Depth>,
    /// Memory for the computation of one picture; pictures that need more are denoised by tiles
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
