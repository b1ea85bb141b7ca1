//! Denoising of pictures that are too large to be denoised at once.

use std::sync::Arc;

use lowlevel::{ErrorBound, StronglyConvex, norm};

use super::levels::Levels;
use super::{
    DENOISING_ERROR, DenoiseError, LUMINANCE, check_real, from_opponent, solved_to, start,
    to_opponent,
};
use crate::error::ModelError;
use crate::filters::{FilterBank, FilterRegularizer};
use crate::grid::Grid;
use crate::model::Variational;
use crate::operator::{Identity, Weights};
use crate::tiles::{
    ForEach, LocalModel, Region, RegionData, Tiled, TilesError, Tiling, minimise_by_tiles,
};

/// A large picture in colour that was denoised.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LargeColour {
    /// The red, green and blue samples.
    pub channels: [Vec<f32>; 3],
    /// The certified Euclidean distance of all samples together from the minimiser.
    pub error: ErrorBound,
    /// The number of iterations in all tiles of luminance and chroma.
    pub iterations: u64,
    /// The number of iterations on the whole picture, of luminance and chroma.
    pub sweeps: u64,
}

/// Does the same as [`denoise`](super::denoise()) for large pictures, tile by tile, and certifies
/// the whole picture.
///
/// `data` writes the samples of a region. Besides what it needs, the memory is 8 bytes per pixel,
/// and some megabytes for each thread. `for_each` runs the work; the result does not depend on the
/// number of threads.
///
/// ```
/// use imaging::{Grid, Tiling, Region, denoise_by_tiles, noise, phantom};
///
/// let truth = phantom::dead_leaves(80, 80, imaging::Seed::new(1), 0)?;
/// let noisy = noise::gaussian(&truth, 0.1, imaging::Seed::new(1), 0)?;
/// let region = |region: &Region, data: &mut Vec<f64>| {
///     for row in region.rows.clone() {
///         data.extend(&noisy[80 * row..][region.cols.clone()]);
///     }
/// };
/// let tiling = Tiling { side: 32, overlap: 16 };
/// let for_each = |count: usize, run: &(dyn Fn(usize) + Sync)| (0..count).for_each(run);
/// let made = denoise_by_tiles(Grid::image(80, 80), &region, 0.1, None, tiling, &for_each)?;
/// assert!(made.error.value() <= 0.01 * 0.1 * 80.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`denoise`](super::denoise()), and if `target` is below what single precision can represent.
pub fn denoise_by_tiles(
    grid: Grid,
    data: &RegionData<'_>,
    noise: f64,
    target: Option<ErrorBound>,
    tiling: Tiling,
    for_each: &ForEach<'_>,
) -> Result<Tiled, TilesError<DenoiseError>> {
    check_real(grid).map_err(TilesError::Model)?;
    by_levels(Levels::grey(), grid, data, noise, target, tiling, for_each)
}

/// Does the same as [`denoise_colour`](super::denoise_colour) for large pictures, tile by tile, and
/// certifies the whole picture. `data` writes the red, green or blue samples of a region, which are
/// 0, 1 or 2 in its second argument.
///
/// # Errors
/// As [`denoise_by_tiles`].
pub fn denoise_colour_by_tiles(
    grid: Grid,
    data: &(dyn Fn(&Region, usize, &mut Vec<f64>) + Sync),
    noise: f64,
    target: Option<ErrorBound>,
    tiling: Tiling,
    for_each: &ForEach<'_>,
) -> Result<LargeColour, TilesError<DenoiseError>> {
    check_real(grid).map_err(TilesError::Model)?;
    let opponent = |region: &Region, write: &mut dyn FnMut([f64; 3])| {
        let [mut red, mut green, mut blue] = [const { Vec::new() }; 3];
        data(region, 0, &mut red);
        data(region, 1, &mut green);
        data(region, 2, &mut blue);
        for ((r, g), b) in red.iter().zip(&green).zip(&blue) {
            write(to_opponent([*r, *g, *b]));
        }
    };
    let share = |scale: f64| {
        let target = target.map(|target| target.value() / (2_f64.sqrt() * scale));
        target.and_then(|target| ErrorBound::new(target).ok())
    };
    let luminance = |region: &Region, data: &mut Vec<f64>| {
        opponent(region, &mut |[l, ..]| data.push(l / LUMINANCE));
    };
    let grey = by_levels(
        Levels::grey(),
        grid,
        &luminance,
        noise / LUMINANCE,
        share(LUMINANCE),
        tiling,
        for_each,
    )?;
    let chroma = |region: &Region, data: &mut Vec<f64>| {
        opponent(region, &mut |[_, first, second]| {
            data.extend([first, second])
        });
    };
    let chroma = by_levels(
        Levels::chroma(),
        grid.complex(),
        &chroma,
        noise,
        share(1.0),
        tiling,
        for_each,
    )?;
    let mut channels = [const { Vec::new() }; 3];
    let mut squares = 0.0;
    for channel in &mut channels {
        channel.reserve_exact(grid.len());
    }
    for (l, pair) in grey.x.iter().zip(chroma.x.chunks_exact(2)) {
        let [first, second] = [pair[0], pair[1]].map(f64::from);
        let colours = from_opponent([f64::from(*l) * LUMINANCE, first, second]);
        for (channel, value) in channels.iter_mut().zip(colours) {
            squares += value * value;
            channel.push(single(value));
        }
    }
    let [l, c] = [LUMINANCE * grey.error.value(), chroma.error.value()];
    // The transform is orthogonal up to rounding, and its result is rounded to single precision.
    let rounding = f64::from(f32::EPSILON) * squares.sqrt() + f64::from(f32::MIN_POSITIVE);
    let error = l.hypot(c) * (1.0 + 1e-14) + rounding;
    Ok(LargeColour {
        channels,
        error: ErrorBound::new(error).unwrap_or(ErrorBound::UNKNOWN),
        iterations: grey.iterations + chroma.iterations,
        sweeps: grey.sweeps + chroma.sweeps,
    })
}

/// Denoises with the bank for this noise, like [`minimise`](super::minimise).
fn by_levels(
    levels: &Levels,
    grid: Grid,
    data: &RegionData<'_>,
    noise: f64,
    target: Option<ErrorBound>,
    tiling: Tiling,
    for_each: &ForEach<'_>,
) -> Result<Tiled, TilesError<DenoiseError>> {
    let out_of_range = |name, found, needed| {
        TilesError::Model(ModelError::OutOfRange {
            name,
            found,
            needed,
        })
    };
    if !(noise > 0.0 && noise.is_finite()) {
        return Err(out_of_range("noise", noise, "positive, such as 0.1"));
    }
    let scale = levels.nearest(noise) / noise;
    // The minimiser is divided by the scale, and rounded to single precision again.
    let target = match target {
        Some(target) => target.value() * scale,
        None => DENOISING_ERROR * noise * scale * (grid.len() as f64).sqrt(),
    };
    let target = ErrorBound::new(target * (1.0 - 1e-6))
        .map_err(|_| out_of_range("the target", target, "finite"))?;
    let bank = levels
        .bank(levels.nearest(noise))
        .map_err(TilesError::Model)?;
    let reach = bank.size() - 1;
    let bank = Arc::new(bank);
    let scaled = |region: &Region, values: &mut Vec<f64>| {
        data(region, values);
        for value in values {
            *value *= scale;
        }
    };
    let any = objective(&bank, Grid::image(1, 1), &[0.0]).map_err(TilesError::Model)?;
    let model = LocalModel {
        curvature: any.curvature(),
        reach,
        minimiser: &|grid, data, target| {
            let start = start(grid, data, scale * noise);
            let made = solved_to(&objective(&bank, grid, data)?, &start, target)?;
            Ok((made.x, made.solved.iterations))
        },
        gradient: &|grid, data, x, gradient| {
            let objective = objective(&bank, grid, data)?;
            objective.gradient(x, gradient, &mut objective.scratch());
            Ok(objective.gradient_rounding(norm(x), norm(gradient)))
        },
    };
    let mut made = minimise_by_tiles(grid, &scaled, &model, target, tiling, for_each)?;
    let is_scaled = (scale - 1.0).abs() > 0.0;
    if is_scaled {
        let mut squares = 0.0;
        for value in &mut made.x {
            *value = single(f64::from(*value) / scale);
            squares += f64::from(*value).powi(2);
        }
        let rounding = f64::from(f32::EPSILON) * squares.sqrt() + f64::from(f32::MIN_POSITIVE);
        let error = made.error.value() / scale * (1.0 + 1e-15) + rounding;
        made.error = ErrorBound::new(error).unwrap_or(ErrorBound::UNKNOWN);
    }
    Ok(made)
}

/// The objective of denoising on a region.
fn objective<'a>(
    bank: &Arc<FilterBank>,
    grid: Grid,
    data: &'a [f64],
) -> Result<Variational<'a, Identity, FilterRegularizer>, ModelError> {
    let filters = FilterRegularizer::new(Arc::clone(bank), grid)?;
    let identity = Identity::new(grid);
    Variational::new(identity, data, Weights::Uniform, filters, 1.0, 0.0)
}

/// Rounds to single precision.
#[expect(clippy::cast_possible_truncation, reason = "rounding is meant")]
fn single(value: f64) -> f32 {
    value as f32
}
