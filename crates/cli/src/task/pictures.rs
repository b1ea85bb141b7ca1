//! The pairs of pictures: truth, and measured or simulated data.

use std::path::Path;

use bilevel::{Family, LowerLevel as _, Pair};
use imaging::{Blur, BlurBoundary, Grid, Kernel, KernelShape, LinearOperator, ModelError, Seed};
use imaging::{noise, phantom};

use super::family::{self, LoadedFamily};
use super::{
    DataError, LoadedTask, NamedPairs, data_warnings, fingerprint, noise_level, patches, split,
};
use crate::array;
use crate::blur_check::periodicity_warning;
use crate::config::{Config, Slices};
use crate::error::CliError;
use crate::file::{FileError, Nan};
use crate::picture::{self, Colour, Picture};

/// A picture, and its measured data if there are any.
struct Image {
    name: String,
    axes: Axes,
    truth: Picture,
    noisy: Option<Picture>,
}

/// The axes of an image that is stored as a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Axes {
    /// A signal: an array with one axis, stored as one row.
    Signal,
    Picture,
    /// This many slices, stored one below the other.
    Volume {
        slices: usize,
    },
}

impl Axes {
    /// The axes of a page of a file.
    pub(crate) fn of_page(path: &Path) -> Self {
        match picture::is_signal(path) {
            true => Self::Signal,
            false => Self::Picture,
        }
    }
}

/// Number of noise streams per picture, one for each channel.
const MAX_CHANNELS: usize = 3;

/// Loads the pairs and the family of a task on pictures.
pub(super) fn load(config: &Config) -> Result<LoadedTask, CliError> {
    let data = &config.data;
    let loaded = family::for_pictures(config)?;
    let family = &loaded.family;
    let noisy = data.noisy.as_deref().filter(|_| data.truth.is_none());
    let mut images = match data.source() {
        None => built_in(config, family)?,
        Some(path) => read(config, family, path, noisy, data.count)?,
    };
    let num_images = images.len();
    let num_held_out = patches::num_held_out(config, num_images);
    let mut others = split(&mut images, num_held_out)?;
    let num_training = images.len();
    if let Some(folder) = &data.validation {
        others.extend(read(config, family, folder, None, None)?);
    }
    if let Some(path) = &data.kernel {
        check_kernel(path, images.iter().chain(&others))?;
    }
    let pairs = |images: Vec<Image>, first: usize| {
        let mut pairs = NamedPairs::default();
        for (index, image) in (first..).zip(images) {
            add(config, &loaded, image, index, &mut pairs)?;
        }
        Ok::<NamedPairs, DataError>(pairs)
    };
    let mut training = pairs(images, 0)?;
    let noise_note = noise_level::add(config, family, &mut training)?;
    let more = others.split_off(num_held_out);
    let mut validation = pairs(others, num_training)?;
    let num_held_out = validation.pairs.len();
    validation.append(pairs(more, num_images)?);
    let mut warnings = loaded.warnings.clone();
    if data.noisy.is_some() {
        let all = [&training, &validation];
        let jumps = all
            .iter()
            .flat_map(|pairs| pairs.names.iter().zip(&pairs.pairs));
        let jumps = jumps.filter_map(|(name, pair)| {
            Some((name.clone(), loaded.border_jump(&pair.data, pair.grid)?))
        });
        warnings.extend(periodicity_warning(&jumps.collect::<Vec<_>>()));
    }
    warnings.extend(data_warnings::of_pictures(
        config,
        num_images,
        &training,
        &validation,
    ));
    let note = patches::draw(config, &mut training, &mut validation, num_held_out);
    let notes: Vec<String> = [note, noise_note].into_iter().flatten().collect();
    Ok(LoadedTask {
        fingerprint: fingerprint::of(&training.pairs, &validation.pairs, &loaded.numbers),
        family: loaded.family,
        training,
        validation,
        warnings,
        note: (!notes.is_empty()).then(|| notes.join("\n")),
    })
}

/// Generates the built-in pictures, which are dead leaves.
fn built_in(config: &Config, family: &Family) -> Result<Vec<Image>, DataError> {
    let data = &config.data;
    // a blur needs pixels beyond the borders
    let (more_rows, more_cols) = match camera_kernel(family) {
        Some(kernel) => kernel.grid().rows_and_cols(),
        None => (1, 1),
    };
    let (height, width) = (data.size + more_rows - 1, data.size + more_cols - 1);
    let one = |index| {
        let seed = Seed::new(data.seed);
        if data.slices == Slices::Volume {
            return built_in_volume(config, seed, index);
        }
        let truth = match data.colour {
            Some(Colour::Opponent) => {
                let values = phantom::dead_leaves_in_colour(height, width, seed, index)?;
                Picture::of_interleaved(width, height, &values)
            }
            _ => {
                let leaves = phantom::dead_leaves(height, width, seed, index)?;
                Picture::new(width, height, vec![leaves])
            }
        };
        Ok(Image {
            name: format!("built-in {}", index + 1),
            axes: Axes::Picture,
            truth: match camera_kernel(family) {
                Some(_) => truth,
                None => cropped(truth, data.crop),
            },
            noisy: None,
        })
    };
    (0..data.count.unwrap_or(1)).map(one).collect()
}

/// Generates a built-in volume, which has a quarter as many slices as rows.
fn built_in_volume(config: &Config, seed: Seed, index: usize) -> Result<Image, DataError> {
    let size = config.data.size;
    let slices = (size / 4).max(1);
    let volume = phantom::dead_leaves_volume([slices, size, size], seed, index)?;
    let slice = |values: &[f64]| {
        cropped(
            Picture::new(size, size, vec![values.to_vec()]),
            config.data.crop,
        )
    };
    let name = format!("built-in {}", index + 1);
    let truth = volume.chunks_exact(size * size).map(slice).collect();
    Ok(Image {
        axes: Axes::Volume { slices },
        truth: picture::stacked(Path::new(&name), truth).expect("slices of the same size"),
        name,
        noisy: None,
    })
}

/// Reads pictures and, if they were measured, their data: at most `count` of them, where each page
/// of a TIFF file is a picture, or each file a volume.
fn read(
    config: &Config,
    family: &Family,
    folder: &Path,
    noisy: Option<&Path>,
    count: Option<usize>,
) -> Result<Vec<Image>, CliError> {
    let (colour, crop) = (
        config.data.colour.unwrap_or(Colour::Luminance),
        config.data.crop,
    );
    let count = count.unwrap_or(usize::MAX);
    let mut images = Vec::new();
    let mut add = |path: &Path, mut pages: Vec<(Picture, Option<Picture>)>| {
        let mut axes = Axes::of_page(path);
        if config.data.slices == Slices::Volume {
            let slices = pages.len();
            axes = Axes::Volume { slices };
            let (truth, noisy): (Vec<_>, Vec<_>) = pages.into_iter().unzip();
            let noisy: Option<Vec<_>> = noisy.into_iter().collect();
            let noisy = noisy
                .map(|noisy| picture::stacked(path, noisy))
                .transpose()?;
            pages = vec![(picture::stacked(path, truth)?, noisy)];
        }
        let num_pages = pages.len();
        for (index, (truth, noisy)) in pages.into_iter().enumerate() {
            let name = Path::new(path.file_name().unwrap_or(path.as_os_str()));
            let name = picture::page_name(name, index, num_pages);
            images.push(Image {
                name: name.to_string_lossy().into_owned(),
                axes,
                truth,
                noisy,
            });
        }
        Ok::<bool, FileError>(images.len() >= count)
    };
    match noisy {
        None => {
            for path in picture::list(folder)? {
                let nan = match config.data.truth {
                    Some(_) => Nan::Missing,
                    None => Nan::Refused,
                };
                let pages = picture::pages_of(&path, colour, nan)?.into_iter();
                let pages = pages.map(|page| match camera_kernel(family) {
                    Some(_) => (page, None),
                    None => (cropped(page, crop), None),
                });
                if add(&path, pages.collect())? {
                    break;
                }
            }
        }
        Some(noisy) => {
            for pair in picture::pairs(folder, noisy)? {
                let pages = picture::read_pairs(&pair.truth, &pair.noisy, colour, crop)?;
                let pages = pages.into_iter().map(|page| (page.truth, Some(page.noisy)));
                if add(&pair.truth, pages.collect())? {
                    break;
                }
            }
        }
    }
    images.truncate(count);
    Ok(images)
}

fn cropped(picture: Picture, crop: Option<usize>) -> Picture {
    match crop {
        None => picture,
        Some(size) => picture.crop_centre(size),
    }
}

/// The grid of an image.
pub(crate) fn grid(axes: Axes, picture: &Picture) -> Grid {
    match axes {
        Axes::Signal => Grid::line(picture.width),
        Axes::Picture => Grid::image(picture.height, picture.width),
        Axes::Volume { slices } => Grid::volume(slices, picture.height / slices, picture.width),
    }
}

/// The kernel of a blur that needs pixels beyond the borders of a picture: such pictures are
/// blurred as a whole, and cropped afterwards, so that the blur is that of a camera.
fn camera_kernel(family: &Family) -> Option<&Kernel> {
    let (kernel, boundary) = family.blur()?;
    (boundary == BlurBoundary::Unknown).then_some(kernel)
}

/// Blurs a picture as a camera does. Returns the truth and the blurred picture, without noise, both
/// cropped to the pixels whose neighbours are all in the picture, and then to their middle.
fn blurred_by_camera(
    picture: &Picture,
    axes: Axes,
    kernel: &Kernel,
    crop: Option<usize>,
    name: &str,
) -> Result<(Picture, Picture), DataError> {
    let grid = grid(axes, picture);
    let refuse = |source: ModelError| DataError::Model {
        name: name.into(),
        source: source.into(),
    };
    let (mut truth, mut data) = (Vec::new(), Vec::new());
    let mut size = [0, 0];
    for plane in &picture.channels {
        let (blurred, window) = imaging::blurred(plane, grid, kernel).map_err(refuse)?;
        let mut inside = vec![0.0; blurred.len()];
        window.crop(plane, &mut inside);
        let (rows, cols) = window.inner().rows_and_cols();
        size = [rows, cols];
        truth.push(inside);
        data.push(blurred);
    }
    let [height, width] = size;
    let picture = |channels| cropped(Picture::new(width, height, channels), crop);
    Ok((picture(truth), picture(data)))
}

/// Adds the pairs of an image: one for each channel, or one with all channels. Those of a camera
/// that counts photons are transformed.
fn add(
    config: &Config,
    loaded: &LoadedFamily,
    image: Image,
    index: usize,
    pairs: &mut NamedPairs,
) -> Result<(), DataError> {
    let family = &loaded.family;
    let Image {
        name,
        axes,
        truth,
        noisy,
    } = image;
    let (truth, clean) = match camera_kernel(family) {
        Some(kernel) if noisy.is_none() => {
            let crop = config.data.crop;
            let (truth, clean) = blurred_by_camera(&truth, axes, kernel, crop, &name)?;
            (truth, Some(clean))
        }
        _ => (truth, None),
    };
    let grid = grid(axes, &truth);
    check_mask(config, loaded, grid, &name)?;
    let num_channels = truth.channels.len();
    let is_whole = config.data.colour == Some(Colour::Opponent);
    if is_whole && (num_channels, axes) != (MAX_CHANNELS, Axes::Picture) {
        return Err(DataError::Grey(name));
    }
    let mut whole = Vec::new();
    for (channel, truth) in truth.channels.into_iter().enumerate() {
        let name = channel_name(&name, num_channels, channel);
        let measured = noisy.as_ref().map(|noisy| noisy.channels[channel].clone());
        // without truth, the measured picture was read in its place
        let (truth, measured) = match config.data.truth {
            Some(_) => (Vec::new(), Some(truth)),
            None => (truth, measured),
        };
        let data = match measured {
            Some(data) => apply_mask(loaded, data),
            None => {
                // Each channel has noise of its own; luminance has that of the image.
                let stream = match config.data.colour.unwrap_or(Colour::Luminance) {
                    Colour::Luminance => index,
                    Colour::Channels | Colour::Opponent => MAX_CHANNELS * index + channel,
                };
                let clean = clean.as_ref().map(|clean| &clean.channels[channel][..]);
                measure(config, loaded, (grid, &truth, clean), stream, &name)?
            }
        };
        let pair = Pair { grid, truth, data };
        if !family.takes_missing() && pair.data.iter().any(|value| value.is_nan()) {
            return Err(DataError::Missing(name));
        }
        let pair = match config.data.camera() {
            Some(camera) => pair.for_camera(camera),
            None => pair,
        };
        match is_whole {
            true => whole.push([pair.truth, pair.data]),
            false => pairs.push(name, pair),
        }
    }
    if is_whole {
        let grid = grid.colour();
        let interleaved = |which: usize| -> Vec<f64> {
            let pixels = 0..grid.num_samples();
            pixels
                .flat_map(|k| whole.iter().map(move |channel| channel[which][k]))
                .collect()
        };
        let (truth, data) = (interleaved(0), interleaved(1));
        pairs.push(name, Pair { grid, truth, data });
    }
    Ok(())
}

/// Returns the name of a channel of a picture.
pub(crate) fn channel_name(name: &str, num_channels: usize, channel: usize) -> String {
    match (num_channels, channel) {
        (1, _) => name.to_owned(),
        (_, 0) => format!("{name} (red)"),
        (_, 1) => format!("{name} (green)"),
        _ => format!("{name} (blue)"),
    }
}

/// Refuses a kernel that has another number of axes than an image.
fn check_kernel<'a>(
    path: &Path,
    mut images: impl Iterator<Item = &'a Image>,
) -> Result<(), FileError> {
    let is_name = KernelShape::is_name(&path.to_string_lossy());
    let is_for_signals = !is_name && picture::is_signal(path);
    if images.all(|image| (image.axes == Axes::Signal) == is_for_signals) {
        return Ok(());
    }
    let needed = match is_for_signals {
        true => "a kernel for pictures: two axes, none of them empty",
        false => "a kernel for signals: one axis, which is not empty",
    };
    Err(FileError::Shape(
        path.into(),
        array::read(path)?.shape,
        needed,
    ))
}

/// Refuses a picture whose size differs from that of the mask.
pub(crate) fn check_mask(
    config: &Config,
    loaded: &LoadedFamily,
    grid: Grid,
    name: &str,
) -> Result<(), DataError> {
    let (Some(of_pictures), Some(mask)) = (&loaded.mask, &config.data.mask) else {
        return Ok(());
    };
    if of_pictures.domain() == grid {
        return Ok(());
    }
    let size = |grid: Grid| {
        let (rows, cols) = grid.rows_and_cols();
        [cols, rows]
    };
    Err(DataError::MaskSize {
        mask: mask.clone(),
        mask_size: size(of_pictures.domain()),
        name: name.into(),
        size: size(grid),
    })
}

/// Replaces data where the mask says that nothing was measured: by zero if the family has this
/// mask, and otherwise by NaN, which says it for each picture.
pub(crate) fn apply_mask(loaded: &LoadedFamily, mut data: Vec<f64>) -> Vec<f64> {
    if let Some(mask) = &loaded.mask {
        let missing = match loaded.family.mask() {
            Some(_) => 0.0,
            None => f64::NAN,
        };
        for (value, measured) in data.iter_mut().zip(mask.measured()) {
            if !measured {
                *value = missing;
            }
        }
    }
    data
}

/// Simulates the data of `truth`, with noise. If `clean` data are known, it only adds noise.
fn measure(
    config: &Config,
    loaded: &LoadedFamily,
    (grid, truth, clean): (Grid, &[f64], Option<&[f64]>),
    stream: usize,
    name: &str,
) -> Result<Vec<f64>, DataError> {
    let seed = Seed::new(config.data.seed);
    let add_noise = |clean: &[f64]| {
        let noisy = match config.data.camera() {
            Some(camera) => noise::poisson(clean, camera, seed, stream),
            None => {
                let sigma = config.data.sigma().unwrap_or_default();
                noise::gaussian(clean, sigma, seed, stream)
            }
        };
        noisy.map_err(|source| DataError::Noise {
            name: name.into(),
            source,
        })
    };
    let noisy = match (clean, loaded.family.blur()) {
        (Some(clean), _) => add_noise(clean)?,
        (None, Some((kernel, boundary))) => {
            let blur = Blur::new(grid, kernel, boundary).map_err(|source| DataError::Model {
                name: name.into(),
                source: source.into(),
            })?;
            let mut blurred = vec![0.0; truth.len()];
            blur.apply(truth, &mut blurred, &mut blur.scratch());
            add_noise(&blurred)?
        }
        (None, None) => add_noise(truth)?,
    };
    Ok(apply_mask(loaded, noisy))
}
