//! Warnings about data that are probably not what the user intended.

use std::collections::HashSet;
use std::path::Path;

use ::page::number::{counted, length, number};
use bilevel::Pair;

use super::{NamedPairs, fingerprint};
use crate::config::{Config, table};
use crate::picture;

/// The largest value below which, and the range above which, a picture is probably in another unit:
/// 12 bits in a file of 16 bits are 0.06, and 8-bit numbers in a file of floating-point numbers are
/// 255.
const MIN_LARGEST: f64 = 0.1;
const MAX_RANGE: f64 = 10.0;

/// Returns the warnings about the data of any task; `num_images` is the number of images without
/// those of `--validation`.
pub(super) fn of_data(
    config: &Config,
    num_images: usize,
    training: &NamedPairs,
    validation: &NamedPairs,
) -> Vec<String> {
    let count = count_warning(config, num_images);
    let equal = equal_warning(config, training, validation);
    let repeated = repeated_warning(training, validation);
    let own = [size_warning(config), count, equal, repeated];
    own.into_iter().flatten().collect()
}

/// Returns the warnings about the data of a task on pictures.
pub(super) fn of_pictures(
    config: &Config,
    num_images: usize,
    training: &NamedPairs,
    validation: &NamedPairs,
) -> Vec<String> {
    let mut warnings = of_data(config, num_images, training, validation);
    warnings.extend(crop_warning(config, training, validation));
    warnings.extend(unit_warning(config, &training.pairs));
    let data = &config.data;
    if data.mask.is_none() {
        let all = training.names.iter().zip(&training.pairs);
        warnings.extend(
            all.filter_map(|(name, pair)| missing_warning(name, pair.data.iter().copied())),
        );
    }
    for folder in [&data.images, &data.noisy, &data.validation] {
        let used = [data.kernel.as_deref(), data.mask.as_deref()];
        let Some(folder) = folder else { continue };
        warnings.extend(ignored_warning(folder, &used));
        let files = picture::list(folder).unwrap_or_default();
        warnings.extend(files.iter().find_map(|file| picture::stack_warning(file)));
    }
    warnings
}

/// Returns a warning if a file of settings has a size, but the images are not built in.
fn size_warning(config: &Config) -> Option<String> {
    let (images, size) = (config.data.source()?, config.data.size);
    let default = table::SIZE.default(config.task, &|_| false);
    let is_default = i64::try_from(size).map(Into::into) == Ok(default.ok()?);
    (!is_default).then(|| {
        format!(
            "{} is {size}, but is for built-in images only, and the images are in {}: leave it \
             out, or use --crop for the middle of each picture",
            table::SIZE,
            images.display()
        )
    })
}

/// Returns a warning if there are fewer images than `--count`.
fn count_warning(config: &Config, num_images: usize) -> Option<String> {
    let (images, count) = (config.data.source()?, config.data.count?);
    (count > num_images).then(|| {
        format!(
            "--count is {count}, but {} has only {}: all of them are used",
            images.display(),
            counted(num_images as u64, "image", "images")
        )
    })
}

/// Returns a warning if the measured images are the clean ones.
fn equal_warning(
    config: &Config,
    training: &NamedPairs,
    validation: &NamedPairs,
) -> Option<String> {
    let noisy = config.data.noisy.as_ref()?;
    let mut all = training.pairs.iter().chain(&validation.pairs);
    all.all(|pair| pair.data == pair.truth).then(|| {
        format!(
            "the images in {} (--noisy) equal the clean ones, so there is nothing to learn: name \
             the measured images, or leave --noisy out to add noise",
            noisy.display()
        )
    })
}

/// The truth of a pair, or its data if there is none.
fn shown(pair: &Pair) -> &[f64] {
    match pair.truth.is_empty() {
        true => &pair.data,
        false => &pair.truth,
    }
}

/// Returns a warning if images are both learned from and held out.
fn repeated_warning(training: &NamedPairs, validation: &NamedPairs) -> Option<String> {
    let hash = |pair: &Pair| fingerprint::of_numbers(shown(pair));
    let known: HashSet<u64> = training.pairs.iter().map(hash).collect();
    let all = validation.names.iter().zip(&validation.pairs);
    let repeated: Vec<&String> = (all.filter(|(_, pair)| known.contains(&hash(pair))))
        .map(|(name, _)| name)
        .collect();
    let first = repeated.first()?;
    Some(format!(
        "{} of {} also learned from (such as {first}), so validation does not show the quality on \
         other images: hold out different ones",
        repeated.len(),
        counted(
            length(&validation.names),
            "held-out image is",
            "held-out images are"
        )
    ))
}

/// Returns a warning if pictures are smaller than the crop.
fn crop_warning(config: &Config, training: &NamedPairs, validation: &NamedPairs) -> Option<String> {
    let crop = config.data.crop?;
    let all = || {
        [training, validation]
            .into_iter()
            .flat_map(|set| set.names.iter().zip(&set.pairs))
    };
    let is_smaller = |pair: &Pair| {
        let (_, rows, cols) = pair.grid.slices_rows_and_cols();
        cols < crop || (pair.grid.num_axes() > 1 && rows < crop)
    };
    let mut smaller = all().filter(|(_, pair)| is_smaller(pair));
    let (name, pair) = smaller.next()?;
    let (_, rows, cols) = pair.grid.slices_rows_and_cols();
    let num_smaller = 1 + smaller.count();
    Some(format!(
        "--crop is {crop}, but {num_smaller} of {} a shorter side, such as {name} ({cols} x {rows} \
         pixels are used): a side that is shorter than {crop} is not cropped",
        counted(all().count() as u64, "picture has", "pictures have")
    ))
}

/// Returns a warning if a folder of pictures also holds `.npy` arrays, which are not read. Files
/// that are used as a kernel or mask are not counted.
pub(crate) fn ignored_warning(folder: &Path, used: &[Option<&Path>]) -> Option<String> {
    let ignored = picture::ignored_arrays(folder);
    let is_used = |path: &Path| {
        let mut used = used.iter().flatten();
        used.any(|used| used.canonicalize().ok() == path.canonicalize().ok())
    };
    let ignored: Vec<_> = ignored.into_iter().filter(|path| !is_used(path)).collect();
    let first = ignored.first()?.file_name()?.to_string_lossy();
    let are = if ignored.len() == 1 { "is" } else { "are" };
    Some(format!(
        "{} in {} {are} ignored, such as {first}, because the folder also holds pictures: move \
         arrays to a folder of their own to use them",
        counted(length(&ignored), ".npy file", ".npy files"),
        folder.display()
    ))
}

/// Returns a warning if the noise and the pictures are probably in different units.
fn unit_warning(config: &Config, pairs: &[Pair]) -> Option<String> {
    if let Some(warning) = blind_unit_warning(config, pairs) {
        return Some(warning);
    }
    let noise = config.data.sigma()?;
    let is_unit = |pair: &Pair| match pair.truth.is_empty() {
        // noise as strong as the given one would have spread the data further
        true => {
            let [lowest, highest] = ends(pair.data.iter().copied());
            highest - lowest < noise.min(MAX_RANGE)
        }
        false => pair.truth.iter().all(|value| (0.0..=1.0).contains(value)),
    };
    if noise > 1.0 && pairs.iter().all(is_unit) {
        return Some(format!(
            "--noise is {noise}, but black is 0 and white is 1 in these pictures: divide a noise \
             level of 8-bit grey values by 255 (here {:.3})",
            noise / 255.0
        ));
    }
    if config.data.truth.is_some() {
        return None;
    }
    if table::NOISE.default(config.task, &|_| false) != Ok(noise.into()) {
        return None;
    }
    let values = pairs.iter().flat_map(|pair| pair.truth.iter().copied());
    let [lowest, highest] = other_unit(values)?;
    Some(format!(
        "the values of the pictures lie between {lowest} and {highest}, but the default noise of \
         {noise} is for pictures in which black is 0 and white is 1: scale the pictures, or give \
         --noise in their unit"
    ))
}

/// Returns a warning about samples that are NaN, if there are any.
pub(crate) fn missing_warning(name: &str, values: impl Iterator<Item = f64>) -> Option<String> {
    let [missing, all] = values.fold([0_u64; 2], |[missing, all], value| {
        [missing + u64::from(value.is_nan()), all + 1]
    });
    (missing > 0).then(|| {
        format!(
            "{} of {all} in {name} {} not measured (NaN), and {} filled in",
            counted(missing, "value", "values"),
            if missing == 1 { "was" } else { "were" },
            if missing == 1 { "is" } else { "are" },
        )
    })
}

/// Returns a warning about pictures without truth, or of a camera, that are in another unit than
/// the starts and bounds of parameters, with which learning takes very long.
fn blind_unit_warning(config: &Config, pairs: &[Pair]) -> Option<String> {
    let camera = config.data.camera();
    if config.data.truth.is_none() && camera.is_none() {
        return None;
    }
    let values = |pair: &Pair| match camera {
        Some(camera) => camera.untransform(&pair.data),
        None => pair.data.clone(),
    };
    let all: Vec<f64> = pairs.iter().flat_map(values).collect();
    // dim pictures take no longer than others
    let is_large = all.iter().any(|value| value.abs() > MAX_RANGE);
    let [lowest, highest] = other_unit(all.into_iter()).filter(|_| is_large)?;
    let noise = match (camera, config.data.sigma()) {
        (Some(_), _) => ", and gain, read noise and black level in --noise with them",
        (None, Some(_)) => ", and the number in --noise with them",
        (None, None) => "",
    };
    Some(format!(
        "the values of the pictures lie between {lowest} and {highest}, but the starts and bounds \
         of parameters are for pictures in which black is 0 and white is 1, and learning may take \
         very long: divide the pictures by the value of white, such as \
         `numpy.save(\"unit.npy\", a / a.max())`{noise}"
    ))
}

/// Returns the smallest and the largest value, as text, if they are hardly those of pictures in
/// which black is 0 and white is 1: 12 bits of a camera in a file of 16 bits, or numbers up to 255.
pub(crate) fn other_unit(values: impl Iterator<Item = f64>) -> Option<[String; 2]> {
    let ends = ends(values);
    let range = ends[1] - ends[0];
    let largest = ends[0].abs().max(ends[1].abs());
    // a small range alone is that of a picture with little contrast
    let is_other = (range > 0.0 && largest < MIN_LARGEST) || range > MAX_RANGE;
    is_other.then(|| ends.map(number))
}

/// Returns the smallest and the largest value, without NaN.
fn ends(values: impl Iterator<Item = f64>) -> [f64; 2] {
    let start = [f64::INFINITY, f64::NEG_INFINITY];
    values.fold(start, |[low, high], value| {
        [low.min(value), high.max(value)]
    })
}
