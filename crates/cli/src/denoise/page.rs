//! One picture of a file, or one of its pages.

use std::path::{Path, PathBuf};
use std::time::Instant;

use imaging::noise::{self, Anscombe, NoiseError};
use imaging::{ErrorBound, Grid};

use super::{
    CameraNoise, DenoiseOptions, DenoisedPicture, NO_NOISE, NoisyPictureError, ValueRange, range,
    root_mean_square,
};
use crate::config::Noise;
use crate::error::CliError;
use crate::picture::{Colour, Picture, TypedPicture};

/// A picture in units in which black is 0 and white is 1.
pub(super) struct Page {
    name: PathBuf,
    picture: TypedPicture,
    range: ValueRange,
    /// The standard deviation of Gaussian noise, if it is given or can be estimated; `None` for a
    /// camera.
    noise: Option<Result<f64, NoisyPictureError>>,
}

impl Page {
    pub(super) fn new(
        name: PathBuf,
        page: TypedPicture,
        options: &DenoiseOptions,
    ) -> Result<Self, CliError> {
        let mut picture = page;
        let range = range::of_samples(&name, picture.samples, options.range)?;
        let channels = &mut picture.picture.channels;
        for value in channels.iter_mut().flatten() {
            *value = range.to_unit(*value);
        }
        let grid = Grid::image(picture.picture.height, picture.picture.width);
        let noise = match &options.noise {
            None => Some(estimated(&name, grid, &picture.picture.channels)),
            Some(noise) => noise.sigma().map(Ok),
        };
        Ok(Self {
            name,
            picture,
            range,
            noise,
        })
    }
}

/// The noise that all pages of a file have in common.
pub(super) enum KnownNoise {
    /// Gaussian noise. The number is the median over all pages, if it is known for one of them.
    Gaussian(Option<f64>),
    /// The noise of a camera.
    Camera(Anscombe),
}

/// Returns the noise that the pages of the file `input` have in common. That of a camera is
/// estimated from pages of the same size, which are frames of one scene.
pub(super) fn known_noise(
    input: &Path,
    pages: &[Page],
    options: &DenoiseOptions,
) -> Result<KnownNoise, NoisyPictureError> {
    match &options.noise {
        Some(Noise::Camera(camera)) => Ok(KnownNoise::Camera(camera.clone())),
        Some(Noise::EstimatedCamera) => {
            let pages: Vec<&Picture> = pages.iter().map(|page| &page.picture.picture).collect();
            let camera = camera_of(&pages).map_err(|source| NoisyPictureError::Camera {
                path: input.into(),
                source,
            })?;
            Ok(KnownNoise::Camera(camera))
        }
        Some(Noise::Gaussian(_)) | None => {
            let noise = pages.iter().filter_map(|page| page.noise.as_ref());
            let mut noise: Vec<f64> = noise
                .filter_map(|noise| noise.as_ref().ok().copied())
                .collect();
            noise.sort_by(f64::total_cmp);
            Ok(KnownNoise::Gaussian(noise.get(noise.len() / 2).copied()))
        }
    }
}

/// Estimates the noise of a camera from frames of one scene.
fn camera_of(frames: &[&Picture]) -> Result<Anscombe, NoiseError> {
    let frames: Vec<Vec<f64>> = frames.iter().map(|frame| frame.channels.concat()).collect();
    let frames: Vec<&[f64]> = frames.iter().map(Vec::as_slice).collect();
    Anscombe::estimate(&frames)
}

/// A picture that was denoised, and is not yet written.
pub(super) struct DenoisedPage {
    pub(super) result: TypedPicture,
    pub(super) about: DenoisedPicture,
    pub(super) warnings: Vec<String>,
}

/// Denoises a page. If its noise is not known, the median of the other pages is. A picture of a
/// camera is denoised after its transform, and transformed back.
pub(super) fn denoise_page(
    page: Page,
    known: &KnownNoise,
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
    let mut channels = picture.channels;
    let is_estimated = matches!(options.noise, None | Some(Noise::EstimatedCamera));
    let mut warnings = Vec::new();
    let (typical, camera) = match known {
        KnownNoise::Gaussian(typical) => (*typical, None),
        KnownNoise::Camera(camera) => (Some(camera.noise_at(1.0)), Some(camera)),
    };
    let noise = match (noise, typical) {
        (Some(Ok(noise)), _) | (None, Some(noise)) => noise,
        (Some(Err(_)), Some(typical)) => {
            warnings.push(format!(
                "the noise of {} cannot be estimated: the median of the other pages, {typical:.3}, \
                 is used",
                name.display()
            ));
            typical
        }
        (Some(Err(error)), None) => return Err(error.into()),
        (None, None) => unreachable!("the noise of a camera is known"),
    };
    warnings.extend(options.check_picture(&name, samples, noise, &channels)?);
    let noise = camera.map_or(noise, Anscombe::sigma);
    if let Some(camera) = camera {
        for channel in &mut channels {
            *channel = camera.transform(channel);
        }
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
    if let Some(camera) = camera {
        for channel in &mut channels {
            *channel = camera.inverse(channel);
        }
    }
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
        camera: camera.map(CameraNoise::of),
        error: root_mean_square(error, num_samples),
        iterations,
        seconds: begin.elapsed().as_secs_f64(),
    };
    let result = TypedPicture {
        alpha,
        metadata,
        ..TypedPicture::new(Picture::new(width, height, channels), out)
    };
    Ok(DenoisedPage {
        result,
        about,
        warnings,
    })
}

/// Estimates the noise of a picture.
pub(super) fn estimated(
    path: &Path,
    grid: Grid,
    channels: &[Vec<f64>],
) -> Result<f64, NoisyPictureError> {
    let path = || path.to_path_buf();
    let estimated = match channels {
        [red, green, blue] => noise::estimate_colour(grid, [red, green, blue]),
        _ => noise::estimate(grid, &channels[0]),
    };
    match estimated {
        Ok(noise) if noise > NO_NOISE => Ok(noise),
        Ok(_) => Err(NoisyPictureError::NoNoise(path())),
        Err(NoiseError::Clipped) => Err(NoisyPictureError::Clipped(path())),
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
    colour: Colour,
) -> Result<Solved, imaging::DenoiseError> {
    if let ([red, green, blue], Colour::Opponent) = (channels, colour) {
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
