//! Denoising of pictures with the filter banks that come with the program.

mod error;
mod interrupt;
pub(crate) mod large;
mod range;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::time::Instant;

pub use error::NoisyPictureError;
pub use interrupt::install as install_interrupt;
pub use range::ValueRange;

use imaging::noise::{self, NoiseError};
use imaging::{ErrorBound, Grid};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::apply::ApplyFailure;
use crate::apply::output_paths::pair_files;
use crate::config::TaskKind;
use crate::error::CliError;
use crate::memory::Memory;
use crate::picture::{self, Colour, Depth, Picture, TypedPicture, page_name};
use crate::task::data_warnings::other_unit;

/// Smallest estimate of the noise that can be trusted; see [`noise::estimate`].
const TRUSTED: f64 = 0.01;
/// Largest noise that is probably given in the right unit: more than from black to white.
const MAX_GIVEN: f64 = 1.0;
/// A smaller estimate means that there is no noise: rounding to levels of 16 bits exceeds it.
const NO_NOISE: f64 = 1e-6;

/// Options of [`denoise`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DenoiseOptions {
    /// The standard deviation of the noise, where the range of the picture is 1; `None` to estimate
    /// it in each picture.
    pub noise: Option<f64>,
    /// The distance from the exact minimiser that is certified: the root mean square over all
    /// samples of a picture, where its range is 1; `None` for [`imaging::DENOISING_ERROR`] of the
    /// noise.
    pub accuracy: Option<f64>,
    /// The values of black and white in the file; `None` for those that its samples imply.
    pub range: Option<ValueRange>,
    /// The treatment of colours.
    pub colour: DenoiseColour,
    /// The number of bits per sample of the output; `None` for the samples of the input.
    pub depth: Option<Depth>,
    /// The memory that a picture may take. Larger pictures are denoised by tiles.
    pub memory: Memory,
}

/// The treatment of colours by [`denoise`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum DenoiseColour {
    /// All colours together, which is best.
    #[default]
    #[value(name = "opponent", alias = "coupled", help = None::<&str>)]
    Coupled,
    /// Red, green and blue, each on its own.
    #[value(help = None::<&str>)]
    Channels,
    /// Only the luminance: the result is grey.
    #[value(name = "grey", alias = "luminance", help = None::<&str>)]
    Luminance,
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
    /// The standard deviation of the noise.
    pub noise: f64,
    /// Whether the noise was estimated.
    pub is_estimated: bool,
    /// The certified distance from the exact minimiser: the root mean square over all samples,
    /// before they are rounded to the levels of the file.
    pub error: f64,
    /// The number of iterations.
    pub iterations: u64,
    /// The number of seconds.
    pub seconds: f64,
}

/// An event of [`denoise_observed`].
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
/// not depend on the number of threads.
///
/// # Errors
/// When an option is invalid, or a file cannot be read, denoised or written.
/// [`CliError::SomeNotDenoised`] lists the files that were denoised all the same.
pub fn denoise(
    input: &Path,
    output: &Path,
    options: &DenoiseOptions,
) -> Result<Vec<DenoisedFile>, CliError> {
    denoise_observed(input, output, options, &|_| {})
}

/// Does the same as [`denoise`], and calls `observe` during the work, from any thread.
///
/// # Errors
/// As [`denoise`].
pub fn denoise_observed(
    input: &Path,
    output: &Path,
    options: &DenoiseOptions,
    observe: &(dyn Fn(DenoiseEvent<'_>) + Sync),
) -> Result<Vec<DenoisedFile>, CliError> {
    options.check()?;
    let files = pair_files(input, output, TaskKind::Denoise)?;
    observe(DenoiseEvent::Files(files.len()));
    let run = |(input, output): &(PathBuf, PathBuf)| {
        let made = denoise_file(input, output, options, observe);
        let made = made.map_err(|error| {
            let input = input.clone();
            ApplyFailure { input, error }
        });
        observe(DenoiseEvent::File(made.as_ref()));
        made
    };
    let outcomes: Vec<_> = files.par_iter().with_max_len(1).map(run).collect();
    let (mut denoised, mut failures) = (Vec::new(), Vec::new());
    for outcome in outcomes {
        match outcome {
            Ok(file) => denoised.push(file),
            Err(failure) => failures.push(failure),
        }
    }
    match failures.pop() {
        None => Ok(denoised),
        // the error of a single file needs no summary
        Some(failure) if files.len() == 1 && !input.is_dir() => Err(failure.error),
        Some(last) => {
            failures.push(last);
            Err(CliError::SomeNotDenoised { denoised, failures })
        }
    }
}

impl DenoiseOptions {
    fn check(&self) -> Result<(), CliError> {
        if let Some(found) = self.noise
            && !(found > 0.0 && found.is_finite())
        {
            return Err(NoisyPictureError::Noise { found }.into());
        }
        match self.accuracy {
            Some(found) if !(found > 0.0 && found.is_finite()) => Err(CliError::Accuracy { found }),
            _ => Ok(()),
        }
    }

    /// Returns the Euclidean target for this many samples. It is rounded down, so that the error as
    /// a root mean square is not larger than requested.
    fn target(&self, num_samples: usize) -> Option<ErrorBound> {
        let root = (num_samples as f64).sqrt();
        let target = self.accuracy? * root * (1.0 - 4e-15);
        ErrorBound::new(target).ok()
    }

    /// Returns a warning if the given noise is more than the range from black to white.
    fn noise_warning(&self) -> Option<String> {
        let noise = self.noise.filter(|noise| *noise > MAX_GIVEN)?;
        Some(format!(
            "--noise is {noise}, but black is 0 and white is 1: divide a noise level in the \
             numbers of the file by their range (here, for 8-bit grey values, {:.3})",
            noise / 255.0
        ))
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
    let colour = match options.colour {
        DenoiseColour::Luminance => Colour::Luminance,
        DenoiseColour::Coupled | DenoiseColour::Channels => Colour::Channels,
    };
    if options.memory.needs_tiles(input)? {
        observe(DenoiseEvent::Pages(1));
        return large::denoise_file(input, output, options);
    }
    let pages = picture::read_typed(input, colour)?;
    picture::check_output(output, &pages)?;
    let num_pages = pages.len();
    observe(DenoiseEvent::Pages(num_pages));
    let prepare = |(index, page): (usize, TypedPicture)| {
        let name = match num_pages {
            1 => input.to_path_buf(),
            _ => page_name(input, index),
        };
        Page::new(name, page, options)
    };
    let pages: Result<Vec<_>, CliError> = (pages.into_par_iter().enumerate())
        .with_max_len(1)
        .map(prepare)
        .collect();
    let pages = pages?;
    let typical = typical_noise(&pages);
    let run = |page: Page| {
        let made = denoise_page(page, typical, output, options)?;
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

/// A picture in units in which black is 0 and white is 1.
struct Page {
    name: PathBuf,
    picture: TypedPicture,
    range: ValueRange,
    /// The noise, if it is given or can be estimated.
    noise: Result<f64, NoisyPictureError>,
}

impl Page {
    fn new(name: PathBuf, page: TypedPicture, options: &DenoiseOptions) -> Result<Self, CliError> {
        let mut picture = page;
        let range = range::of_samples(&name, picture.samples, options.range)?;
        let channels = &mut picture.picture.channels;
        for value in channels.iter_mut().flatten() {
            *value = range.to_unit(*value);
        }
        let grid = Grid::image(picture.picture.height, picture.picture.width);
        let noise = match options.noise {
            Some(noise) => Ok(noise),
            None => estimated(&name, grid, &picture.picture.channels),
        };
        Ok(Self {
            name,
            picture,
            range,
            noise,
        })
    }
}

/// Returns the median of the noise of all pages, if it is known for one of them.
fn typical_noise(pages: &[Page]) -> Option<f64> {
    let noise = pages.iter().filter_map(|page| page.noise.as_ref().ok());
    let mut noise: Vec<f64> = noise.copied().collect();
    noise.sort_by(f64::total_cmp);
    noise.get(noise.len() / 2).copied()
}

/// A picture that was denoised, and is not yet written.
struct DenoisedPage {
    result: TypedPicture,
    about: DenoisedPicture,
    warnings: Vec<String>,
}

/// Denoises a page. If its noise is not known, that of the other pages, which is `typical`, is.
fn denoise_page(
    page: Page,
    typical: Option<f64>,
    output: &Path,
    options: &DenoiseOptions,
) -> Result<DenoisedPage, CliError> {
    let begin = Instant::now();
    let Page {
        name,
        picture: page,
        range,
        noise,
    } = page;
    let TypedPicture {
        picture,
        alpha,
        samples,
        metadata,
    } = page;
    let (width, height) = (picture.width, picture.height);
    let grid = Grid::image(height, width);
    let channels = picture.channels;
    let is_estimated = options.noise.is_none();
    let mut warnings: Vec<String> = options.noise_warning().into_iter().collect();
    let noise = match (noise, typical) {
        (Ok(noise), _) => noise,
        (Err(_), Some(typical)) => {
            warnings.push(format!(
                "the noise of {} cannot be estimated: the median of the other pages, {typical:.3}, \
                 is used",
                name.display()
            ));
            typical
        }
        (Err(error), None) => return Err(error.into()),
    };
    if options.range.is_none() {
        range::check_unit(&name, samples, noise, &channels)?;
    }
    if options.range.is_none()
        && let Some([lowest, highest]) = other_unit(channels.iter().flatten().copied())
    {
        warnings.push(format!(
            "the values of {} lie between {lowest} and {highest}, where black is 0 and white is \
             1: if its own white is darker, name it with --range",
            name.display()
        ));
    }
    if is_estimated && noise < TRUSTED {
        warnings.push(format!(
            "the noise of {} was estimated as {noise:.2e}, but estimates below {TRUSTED} cannot be \
             trusted: give it with --noise",
            name.display()
        ));
    }
    let num_samples = channels.len() * grid.num_samples();
    let target = options.target(num_samples);
    let solved = solve(grid, &channels, noise, target, options.colour);
    let Solved {
        mut channels,
        error,
        iterations,
    } = solved.map_err(|source| {
        let path = name.clone();
        match (source, options.accuracy) {
            (imaging::DenoiseError::Unreached(_), Some(accuracy)) => {
                NoisyPictureError::Rounding { path, accuracy }
            }
            (source, _) => NoisyPictureError::Failed { path, source },
        }
    })?;
    let out = samples.for_output(options.depth, output);
    // integers with a known white stay in their own unit, whatever part of it the picture uses
    if samples.white().is_some() || out.white().is_none() {
        for value in channels.iter_mut().flatten() {
            *value = range.from_unit(*value);
        }
    }
    let num_channels = channels.len();
    let about = DenoisedPicture {
        name,
        width,
        height,
        num_channels,
        noise,
        is_estimated,
        error: root_mean_square(error, num_samples),
        iterations,
        seconds: begin.elapsed().as_secs_f64(),
    };
    let result = TypedPicture {
        picture: Picture {
            width,
            height,
            channels,
        },
        alpha,
        samples: out,
        metadata,
    };
    Ok(DenoisedPage {
        result,
        about,
        warnings,
    })
}

/// Estimates the noise of a picture.
fn estimated(path: &Path, grid: Grid, channels: &[Vec<f64>]) -> Result<f64, NoisyPictureError> {
    let path = || path.to_path_buf();
    let estimated = match channels {
        [red, green, blue] => noise::estimate_colour(grid, [red, green, blue]),
        _ => noise::estimate(grid, &channels[0]),
    };
    match estimated {
        Ok(noise) if noise > NO_NOISE => Ok(noise),
        Ok(_) => Err(NoisyPictureError::NoNoise { path: path() }),
        Err(NoiseError::Clipped) => Err(NoisyPictureError::Clipped { path: path() }),
        Err(_) => {
            let (height, width) = grid.rows_and_cols();
            Err(NoisyPictureError::TooSmall {
                path: path(),
                width,
                height,
            })
        }
    }
}

/// The denoised channels with the certified Euclidean error of all of them together.
struct Solved {
    channels: Vec<Vec<f64>>,
    error: f64,
    iterations: u64,
}

fn solve(
    grid: Grid,
    channels: &[Vec<f64>],
    noise: f64,
    target: Option<ErrorBound>,
    colour: DenoiseColour,
) -> Result<Solved, imaging::DenoiseError> {
    if let ([red, green, blue], DenoiseColour::Coupled) = (channels, colour) {
        let made = imaging::denoise_colour(grid, [red, green, blue], noise, target)?;
        return Ok(Solved {
            channels: made.channels.into(),
            error: made.error.value(),
            iterations: made.solved.iter().map(|solved| solved.iterations).sum(),
        });
    }
    // each channel has the same share of the squared error
    let share = (channels.len() as f64).sqrt();
    let target = target.and_then(|target| ErrorBound::new(target.value() / share).ok());
    let mut solved = Solved {
        channels: Vec::with_capacity(channels.len()),
        error: 0.0,
        iterations: 0,
    };
    for channel in channels {
        let made = imaging::denoise(grid, channel, noise, target)?;
        let error = made.solved.error.value();
        solved.error = match channels.len() {
            1 => error,
            // rounded up
            _ => solved.error.hypot(error) * (1.0 + 1e-15),
        };
        solved.iterations += made.solved.iterations;
        solved.channels.push(made.x);
    }
    Ok(solved)
}
