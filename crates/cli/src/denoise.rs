//! Denoising of pictures with the filter banks that come with the program.

mod error;
mod interrupt;
pub(crate) mod large;
mod page;
mod range;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

pub use error::NoisyPictureError;
pub use interrupt::install as install_interrupt;
pub use range::ValueRange;

use imaging::ErrorBound;
use imaging::noise::Anscombe;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::apply::output_paths::pair_files;
use crate::apply::{ApplyFailure, each_file};
use crate::config::{Noise, TaskKind};
use crate::error::CliError;
use crate::memory::Memory;
use crate::picture::{self, Colour, Depth, SampleType, TypedPicture, page_name};
use crate::task::data_warnings::other_unit;
use page::{Page, denoise_page};

/// Smallest estimate of the noise that can be trusted; see [`noise::estimate`].
const TRUSTED: f64 = 0.01;
/// Largest noise that is probably given in the right unit: more than from black to white.
const MAX_GIVEN: f64 = 1.0;
/// A smaller estimate means that there is no noise: rounding to levels of 16 bits exceeds it.
const NO_NOISE: f64 = 1e-6;

/// Options of [`denoise`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DenoiseOptions {
    /// The noise, where the range of the picture is 1; `None` for Gaussian noise that is estimated
    /// in each picture.
    pub noise: Option<Noise>,
    /// The distance from the exact minimiser that is certified: the root mean square over all
    /// samples of a picture, where its range is 1; `None` for [`imaging::DENOISING_ERROR`] of the
    /// noise. For a camera it is that of the transformed picture.
    pub accuracy: Option<f64>,
    /// The values of black and white in the file; `None` for those that its samples imply.
    pub range: Option<ValueRange>,
    /// The treatment of colours.
    pub colour: Colour,
    /// The number of bits per sample of the output; `None` for the samples of the input.
    pub depth: Option<Depth>,
    /// The memory that a picture may take. Larger pictures are denoised by tiles.
    pub memory: Memory,
}

/// A file that was denoised.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DenoisedFile {
    /// The input file.
    pub input: PathBuf,
    /// The output file.
    pub output: PathBuf,
    /// The pages of the file, or its one picture.
    pub pictures: Vec<DenoisedPicture>,
    /// Warnings about the input.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// A picture that was denoised. Noise and error are in units in which its range is 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DenoisedPicture {
    /// The name of the file or page, such as `cells.tif[3]`.
    pub name: PathBuf,
    /// The number of columns.
    pub width: usize,
    /// The number of rows.
    pub height: usize,
    /// The number of channels, without alpha.
    pub num_channels: usize,
    /// The standard deviation of the noise; for a camera, of the transformed picture.
    pub noise: f64,
    /// Whether the noise was estimated.
    pub is_estimated: bool,
    /// The noise of a camera that counts photons.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub camera: Option<CameraNoise>,
    /// The certified distance from the exact minimiser: the root mean square over all samples,
    /// before they are rounded to the levels of the file. For a camera, it is that of the
    /// transformed picture.
    pub error: f64,
    /// The number of iterations.
    pub iterations: u64,
    /// The number of seconds.
    pub seconds: f64,
}

/// The noise of a camera that counts photons, in units in which the range of the picture is 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CameraNoise {
    /// The value of one photon.
    pub gain: f64,
    /// The standard deviation of the read noise.
    pub read: f64,
    /// The value without light.
    pub black: f64,
}

impl CameraNoise {
    fn of(camera: &Anscombe) -> Self {
        Self {
            gain: camera.gain(),
            read: camera.read(),
            black: camera.black(),
        }
    }
}

/// An event of [`denoise`].
#[derive(Clone, Copy, Debug)]
pub enum DenoiseEvent<'a> {
    /// The input files are known, and there are this many.
    Files(usize),
    /// A file was read, and has this many pages.
    Pages(usize),
    /// A picture of a file with several pages was denoised. The file is not yet written.
    Page(&'a DenoisedPicture),
    /// A file was written, or could not be denoised.
    File(Result<&'a DenoisedFile, &'a ApplyFailure>),
}

/// Denoises a picture file, or the pictures of a folder.
///
/// All pages of a TIFF file, slices of a NIfTI file or pictures of an array are denoised to those
/// of another one. Samples keep their type, and alpha channels do not change. A page whose noise
/// cannot be estimated, such as a black one, has that of the other pages. In a folder, a bad file
/// does not stop the others. If `input` is a file and `output` a folder, the file name stays the
/// same. Pictures that take more memory than the options allow are denoised by tiles. Results do
/// not depend on the number of threads. `observe` is called during the work, from any thread.
///
/// # Errors
/// When an option is invalid, or a file cannot be read, denoised or written.
/// [`CliError::SomeNotDenoised`] lists the files that were denoised all the same.
pub fn denoise(
    input: &Path,
    output: &Path,
    options: &DenoiseOptions,
    observe: &(dyn Fn(DenoiseEvent<'_>) + Sync),
) -> Result<Vec<DenoisedFile>, CliError> {
    options.check()?;
    let files = pair_files(input, output, TaskKind::Denoise)?;
    observe(DenoiseEvent::Files(files.pairs.len()));
    let run = |input: &Path, output: &Path| denoise_file(input, output, options, observe);
    let (denoised, failures) = each_file(&files, run, |made| observe(DenoiseEvent::File(made)))?;
    match failures.is_empty() {
        true => Ok(denoised),
        false => Err(CliError::SomeNotDenoised { denoised, failures }),
    }
}

impl DenoiseOptions {
    fn check(&self) -> Result<(), CliError> {
        if let Some(found) = self.sigma()
            && !(found > 0.0 && found.is_finite())
        {
            return Err(NoisyPictureError::Noise(found).into());
        }
        match self.accuracy {
            Some(found) if !(found > 0.0 && found.is_finite()) => Err(CliError::Accuracy(found)),
            _ => Ok(()),
        }
    }

    /// Returns the standard deviation of Gaussian noise, if it is given.
    fn sigma(&self) -> Option<f64> {
        self.noise.as_ref()?.sigma()
    }

    /// Returns the Euclidean target for this many samples. It is rounded down, so that the error as
    /// a root mean square is not larger than requested.
    fn target(&self, num_samples: usize) -> Option<ErrorBound> {
        let root = (num_samples as f64).sqrt();
        let target = self.accuracy? * root * (1.0 - 4e-15);
        ErrorBound::new(target).ok()
    }

    /// Checks the noise of a picture, and the values of its channels, in units in which black is 0
    /// and white is 1. Returns warnings about them.
    fn check_picture(
        &self,
        name: &Path,
        samples: SampleType,
        noise: f64,
        channels: &[Vec<f64>],
    ) -> Result<Vec<String>, NoisyPictureError> {
        let mut warnings = Vec::new();
        if let Some(noise) = self.sigma().filter(|noise| *noise > MAX_GIVEN) {
            warnings.push(format!(
                "--noise is {noise}, but black is 0 and white is 1: divide a noise level in the \
                 numbers of the file by their range (here, for 8-bit grey values, {:.3})",
                noise / 255.0
            ));
        }
        if self.range.is_none() {
            range::check_unit(name, samples, noise, channels)?;
            if let Some([lowest, highest]) = other_unit(channels.iter().flatten().copied()) {
                warnings.push(format!(
                    "the values of {} lie between {lowest} and {highest}, where black is 0 and \
                     white is 1: if its own white is darker, name it with --range",
                    name.display()
                ));
            }
        }
        if self.noise.is_none() && noise < TRUSTED {
            warnings.push(format!(
                "the noise of {} was estimated as {noise:.2e}, but estimates below {TRUSTED} \
                 cannot be trusted: give it with --noise",
                name.display()
            ));
        }
        Ok(warnings)
    }
}

/// Returns a Euclidean norm over this many samples as a root mean square, rounded up.
fn root_mean_square(norm: f64, num_samples: usize) -> f64 {
    norm / (num_samples as f64).sqrt() * (1.0 + 1e-15)
}

/// Denoises all pages of a file.
fn denoise_file(
    input: &Path,
    output: &Path,
    options: &DenoiseOptions,
    observe: &(dyn Fn(DenoiseEvent<'_>) + Sync),
) -> Result<DenoisedFile, CliError> {
    if options.memory.needs_tiles(input)? {
        observe(DenoiseEvent::Pages(1));
        return large::denoise_file(input, output, options);
    }
    let pages = picture::read_typed(input, options.colour)?;
    picture::check_output(output, &pages)?;
    let num_pages = pages.len();
    observe(DenoiseEvent::Pages(num_pages));
    let prepare = |(index, page): (usize, TypedPicture)| {
        Page::new(page_name(input, index, num_pages), page, options)
    };
    let pages: Result<Vec<_>, CliError> = (pages.into_par_iter().enumerate())
        .with_max_len(1)
        .map(prepare)
        .collect();
    let pages = pages?;
    let known = page::known_noise(input, &pages, options)?;
    let run = |page: Page| {
        let made = denoise_page(page, &known, output, options)?;
        if num_pages > 1 {
            observe(DenoiseEvent::Page(&made.about));
        }
        Ok(made)
    };
    let made: Result<Vec<_>, CliError> = (pages.into_par_iter().with_max_len(1)).map(run).collect();
    let (mut pages, mut pictures, mut warnings) = (Vec::new(), Vec::new(), Vec::new());
    for page in made? {
        pages.push(page.result);
        pictures.push(page.about);
        // those about other pages hardly differ
        if warnings.is_empty() {
            warnings = page.warnings;
        }
    }
    warnings.extend(picture::stack_warning(input));
    // an interruption waits until the file is complete
    let _writing = interrupt::hold();
    picture::write_typed(output, &pages)?;
    Ok(DenoisedFile {
        input: input.into(),
        output: output.into(),
        pictures,
        warnings,
    })
}
