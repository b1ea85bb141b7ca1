//! Pictures, and what is measured of them.

use std::path::Path;

use bilevel::{Family, Pair};
use imaging::{Grid, LinearOperator, Seed, noise, phantom};

use super::family::{self, LoadedFamily};
use super::{DataError, LoadedTask, NamedPairs, fingerprint, split};
use crate::config::Config;
use crate::error::CliError;
use crate::picture::{self, Picture};

/// A picture, and what was measured of it, if it was.
struct Image {
    name: String,
    truth: Picture,
    noisy: Option<Picture>,
}

/// Streams of noise for one picture: one for each channel.
const MAX_CHANNELS: usize = 3;

/// All of it.
pub(super) fn load(config: &Config) -> Result<LoadedTask, CliError> {
    let data = &config.data;
    let LoadedFamily {
        family,
        numbers,
        warnings,
    } = family::for_pictures(config)?;
    let mut images = match &data.images {
        None => built_in(config)?,
        Some(folder) => read(config, folder, data.noisy.as_deref(), data.count)?,
    };
    let mut others = split(&mut images, data.hold_out)?;
    let num_training = images.len();
    if let Some(folder) = &data.validation {
        others.extend(read(config, folder, None, None)?);
    }
    let examples = |images: Vec<Image>, first: usize| {
        let mut examples = NamedPairs::default();
        for (index, image) in (first..).zip(images) {
            add(config, &family, image, index, &mut examples)?;
        }
        Ok::<NamedPairs, DataError>(examples)
    };
    let training = examples(images, 0)?;
    let validation = examples(others, num_training)?;
    Ok(LoadedTask {
        fingerprint: fingerprint::of(&training.pairs, &validation.pairs, &numbers),
        family,
        training,
        validation,
        warnings,
    })
}

/// Dead leaves.
fn built_in(config: &Config) -> Result<Vec<Image>, DataError> {
    let data = &config.data;
    let one = |index| {
        let plane = phantom::dead_leaves(data.size, data.size, Seed::new(data.seed), index)?;
        let truth = Picture {
            width: data.size,
            height: data.size,
            channels: vec![plane],
        };
        Ok(Image {
            name: format!("built-in {}", index + 1),
            truth: cropped(truth, data.crop),
            noisy: None,
        })
    };
    (0..data.count.unwrap_or(1)).map(one).collect()
}

/// Pictures of a folder and, if they were measured, of another.
fn read(
    config: &Config,
    folder: &Path,
    noisy: Option<&Path>,
    count: Option<usize>,
) -> Result<Vec<Image>, CliError> {
    let (colour, crop) = (config.data.colour.unwrap_or_default(), config.data.crop);
    let count = count.unwrap_or(usize::MAX);
    let name = |path: &Path| {
        let name = path.file_name().unwrap_or(path.as_os_str());
        name.to_string_lossy().into_owned()
    };
    let mut images = Vec::new();
    match noisy {
        None => {
            for path in picture::list(folder)?.into_iter().take(count) {
                images.push(Image {
                    name: name(&path),
                    truth: cropped(picture::read(&path, colour)?, crop),
                    noisy: None,
                });
            }
        }
        Some(noisy) => {
            for pair in picture::pairs(folder, noisy)?.into_iter().take(count) {
                let read = picture::read_pair(&pair.truth, &pair.noisy, colour, crop)?;
                images.push(Image {
                    name: name(&pair.truth),
                    truth: read.truth,
                    noisy: Some(read.noisy),
                });
            }
        }
    }
    Ok(images)
}

fn cropped(picture: Picture, crop: Option<usize>) -> Picture {
    match crop {
        None => picture,
        Some(size) => picture.crop_centre(size),
    }
}

/// The pairs of an image, one for each channel.
fn add(
    config: &Config,
    family: &Family,
    image: Image,
    index: usize,
    examples: &mut NamedPairs,
) -> Result<(), DataError> {
    let Image { name, truth, noisy } = image;
    let grid = Grid::image(truth.height, truth.width);
    check_mask(config, family, grid, &name)?;
    let num_channels = truth.channels.len();
    for (channel, truth) in truth.channels.into_iter().enumerate() {
        let name = match (num_channels, channel) {
            (1, _) => name.clone(),
            (_, 0) => format!("{name} (red)"),
            (_, 1) => format!("{name} (green)"),
            _ => format!("{name} (blue)"),
        };
        let measured = noisy.as_ref().map(|noisy| noisy.channels[channel].clone());
        let data = match measured {
            Some(data) => apply_mask(family, data),
            None => {
                // Noise of its own for each channel; without colours, that of the image.
                let stream = match config.data.colour.unwrap_or_default() {
                    picture::Colour::Luminance => index,
                    picture::Colour::Channels => MAX_CHANNELS * index + channel,
                };
                measure(config, family, grid, &truth, stream, &name)?
            }
        };
        examples.push(name, Pair { grid, truth, data });
    }
    Ok(())
}

/// Refuses pictures that have another size than the mask.
pub(crate) fn check_mask(
    config: &Config,
    family: &Family,
    grid: Grid,
    name: &str,
) -> Result<(), DataError> {
    let (Family::Inpainting(model), Some(mask)) = (family, &config.data.mask) else {
        return Ok(());
    };
    if model.mask.domain() == grid {
        return Ok(());
    }
    let size = |grid: Grid| {
        let (rows, cols) = grid.rows_and_cols();
        [cols, rows]
    };
    Err(DataError::MaskSize {
        mask: mask.clone(),
        mask_size: size(model.mask.domain()),
        name: name.into(),
        size: size(grid),
    })
}

/// What a mask leaves of data: zero where nothing was measured.
pub(crate) fn apply_mask(family: &Family, data: Vec<f64>) -> Vec<f64> {
    match family {
        Family::Inpainting(model) => {
            let mut measured = vec![0.0; data.len()];
            model.mask.apply(&data, &mut measured, &mut ());
            measured
        }
        _ => data,
    }
}

/// What would be measured of `truth`, with noise.
fn measure(
    config: &Config,
    family: &Family,
    grid: Grid,
    truth: &[f64],
    stream: usize,
    name: &str,
) -> Result<Vec<f64>, DataError> {
    let sigma = config.data.noise.unwrap_or_default();
    let seed = Seed::new(config.data.seed);
    let add_noise = |clean: &[f64]| {
        noise::gaussian(clean, sigma, seed, stream).map_err(|source| DataError::Noise {
            name: name.into(),
            source,
        })
    };
    match family {
        Family::Deblurring(model) => {
            let blur = model.blur(grid).map_err(|source| DataError::Model {
                name: name.into(),
                source: source.into(),
            })?;
            let mut blurred = vec![0.0; truth.len()];
            blur.apply(truth, &mut blurred, &mut blur.scratch());
            add_noise(&blurred)
        }
        _ => Ok(apply_mask(family, add_noise(truth)?)),
    }
}
