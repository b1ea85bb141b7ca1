//! Large pictures, denoised by tiles.

use std::ops::Range;
use std::path::Path;
use std::time::Instant;

use imaging::noise::{Anscombe, NoiseError};
use imaging::{ErrorBound, Grid, Region, Tiled, TilesError, Tiling};
use rayon::prelude::*;

use super::page::estimated;
use super::{
    CameraNoise, DenoiseOptions, DenoisedFile, DenoisedPicture, NoisyPictureError, ValueRange,
    interrupt, range, root_mean_square,
};
use crate::config::Noise;
use crate::error::CliError;
use crate::picture::Colour;
use crate::picture::large::{self, LargePicture};

/// The noise is estimated in this many regions along each axis, of this many pixels.
const NUM_PARTS: usize = 4;
const PART: usize = 512;

/// A picture whose values are converted to units in which black is 0 and white is 1 when they are
/// needed.
struct InUnits<'a> {
    picture: &'a LargePicture,
    white: f64,
    range: ValueRange,
    /// The camera whose transform follows.
    camera: Option<&'a Anscombe>,
}

impl InUnits<'_> {
    fn value(&self, number: f32) -> f64 {
        self.range.to_unit(f64::from(number) / self.white)
    }

    /// The value of a number in the picture that is denoised.
    fn data(&self, number: f32) -> f64 {
        let value = self.value(number);
        (self.camera).map_or(value, |camera| camera.transform_value(value))
    }

    fn region(&self, channel: usize, region: &Region, data: &mut Vec<f64>) {
        for row in region.rows.clone() {
            let start = row * self.picture.width;
            let row = &self.picture.channels[channel][start..][region.cols.clone()];
            data.extend(row.iter().map(|number| self.data(*number)));
        }
    }

    /// Returns a picture of regions that are spread evenly, for the estimate of the noise.
    fn parts(&self) -> (Grid, Vec<Vec<f64>>) {
        let LargePicture { width, height, .. } = *self.picture;
        let rows: Vec<usize> = spread(height).flatten().collect();
        let cols: Vec<Range<usize>> = spread(width).collect();
        let plane = |plane: &Vec<f32>| {
            let row = |row: &usize| {
                let row = &plane[row * width..][..width];
                let parts = cols.iter().flat_map(|cols| &row[cols.clone()]);
                parts
                    .map(|number| self.value(*number))
                    .collect::<Vec<f64>>()
            };
            rows.iter().flat_map(row).collect()
        };
        let num_cols = cols.iter().map(Range::len).sum();
        let planes = self.picture.channels.iter().map(plane).collect();
        (Grid::image(rows.len(), num_cols), planes)
    }
}

/// Returns parts of an axis.
fn spread(len: usize) -> impl Iterator<Item = Range<usize>> {
    let num = (len / PART).clamp(1, NUM_PARTS);
    let size = PART.min(len);
    (0..num).map(move |index| {
        let start = (len - size) * index / num.saturating_sub(1).max(1);
        start..start + size
    })
}

/// Calls a function for all numbers below `count`, on all threads.
pub(crate) fn for_each(count: usize, run: &(dyn Fn(usize) + Sync)) {
    (0..count).into_par_iter().with_max_len(1).for_each(run);
}

/// Denoises the one picture of a file by tiles.
pub(super) fn denoise_file(
    input: &Path,
    output: &Path,
    options: &DenoiseOptions,
) -> Result<DenoisedFile, CliError> {
    let begin = Instant::now();
    let mut picture = large::read(input)?;
    if options.colour == Colour::Luminance {
        to_luminance(&mut picture);
    }
    large::check_output(output, picture.channels.len())?;
    let (width, height) = (picture.width, picture.height);
    let camera = options.noise.as_ref().and_then(Noise::camera);
    let units = InUnits {
        white: picture.samples.white().unwrap_or(1.0),
        range: range::of_samples(input, picture.samples, options.range)?,
        picture: &picture,
        camera,
    };
    let (noise, is_estimated) = match &options.noise {
        Some(Noise::Gaussian(noise)) => (*noise, false),
        Some(Noise::Camera(camera)) => (camera.noise_at(1.0), false),
        Some(Noise::EstimatedCamera) => {
            // such a file has one picture
            let source = NoiseError::Stack;
            let path = input.into();
            return Err(NoisyPictureError::Camera { path, source }.into());
        }
        None => {
            let (grid, planes) = units.parts();
            (estimated(input, grid, &planes)?, true)
        }
    };
    let values = || picture.channels.iter().flatten().map(|n| units.value(*n));
    let ends = [
        values().fold(f64::INFINITY, f64::min),
        values().fold(f64::MIN, f64::max),
    ];
    let warnings = options.check_picture(input, picture.samples, noise, &[ends.to_vec()])?;
    let num_channels = picture.channels.len();
    let num_samples = num_channels * width * height;
    let target = options.target(num_samples);
    let noise = camera.map_or(noise, Anscombe::sigma);
    let solved = solve(&units, noise, target, options.colour);
    let solved = solved.map_err(|source| NoisyPictureError::LargeFailed {
        path: input.into(),
        source,
    })?;
    let samples = picture.samples;
    let out = samples.for_output(options.depth, output);
    let (range, own_white) = (units.range, samples.white());
    let about = DenoisedPicture {
        name: input.into(),
        width,
        height,
        num_channels,
        noise,
        is_estimated,
        camera: camera.map(CameraNoise::of),
        error: root_mean_square(solved.error, num_samples),
        iterations: solved.iterations,
        seconds: begin.elapsed().as_secs_f64(),
    };
    picture.channels = solved.channels;
    picture.samples = out;
    // integers with a known white stay in their own unit, whatever part of it the picture uses
    let keeps_unit = own_white.is_some() || out.white().is_none();
    let white = out.white().unwrap_or(1.0);
    for value in picture.channels.iter_mut().flatten() {
        let unit = f64::from(*value);
        let unit = camera.map_or(unit, |camera| camera.inverse_value(unit));
        let unit = if keeps_unit {
            range.from_unit(unit)
        } else {
            unit
        };
        *value = single(unit * white);
    }
    let _writing = interrupt::hold();
    large::write(output, picture)?;
    Ok(DenoisedFile {
        input: input.into(),
        output: output.into(),
        pictures: vec![about],
        warnings,
    })
}

/// The denoised channels with the certified Euclidean error of all of them together.
struct Solved {
    channels: Vec<Vec<f32>>,
    error: f64,
    iterations: u64,
}

fn solve(
    units: &InUnits<'_>,
    noise: f64,
    target: Option<ErrorBound>,
    colour: Colour,
) -> Result<Solved, TilesError<imaging::DenoiseError>> {
    let grid = Grid::image(units.picture.height, units.picture.width);
    let tiling = Tiling::default();
    let num_channels = units.picture.channels.len();
    if num_channels == 3 && colour == Colour::Opponent {
        let data = |region: &Region, channel: usize, data: &mut Vec<f64>| {
            units.region(channel, region, data);
        };
        let made = imaging::denoise_colour_by_tiles(grid, &data, noise, target, tiling, &for_each)?;
        return Ok(Solved {
            channels: made.channels.into(),
            error: made.error.value(),
            iterations: made.iterations + made.sweeps,
        });
    }
    // each channel has the same share of the squared error
    let share = (num_channels as f64).sqrt();
    let target = target.and_then(|target| ErrorBound::new(target.value() / share).ok());
    let mut solved = Solved {
        channels: Vec::new(),
        error: 0.0,
        iterations: 0,
    };
    for channel in 0..num_channels {
        let data = |region: &Region, data: &mut Vec<f64>| units.region(channel, region, data);
        let Tiled {
            x,
            error,
            iterations,
            sweeps,
            ..
        } = imaging::denoise_by_tiles(grid, &data, noise, target, tiling, &for_each)?;
        solved.channels.push(x);
        // rounded up
        solved.error = solved.error.hypot(error.value()) * (1.0 + 1e-15);
        solved.iterations += iterations + sweeps;
    }
    Ok(solved)
}

/// Replaces three channels by their luminance.
fn to_luminance(picture: &mut LargePicture) {
    if let [red, green, blue] = &picture.channels[..] {
        let pixels = red.iter().zip(green).zip(blue);
        let luminance = pixels.map(|((r, g), b)| {
            single(0.299 * f64::from(*r) + 0.587 * f64::from(*g) + 0.114 * f64::from(*b))
        });
        picture.channels = vec![luminance.collect()];
    }
}

/// Rounds to single precision.
#[expect(clippy::cast_possible_truncation, reason = "rounding is meant")]
fn single(value: f64) -> f32 {
    value as f32
}
