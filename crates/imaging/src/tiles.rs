//! Large pictures: minimisers by tiles, certified as a whole.
//!
//! Denoising is local: a pixel hardly depends on data that are far away. So the picture is divided
//! into tiles. Each is minimised on a region that overlaps its neighbours, and the results are
//! blended. That alone proves nothing about the picture. But a gradient is local exactly: the
//! gradient of the whole objective `$\Phi$` at a pixel depends on the pixels within the *reach* of
//! the model, so it can be computed region by region, in double precision. Its norm certifies the
//! whole picture, `$\|\tilde x - \hat x\| \le \|\nabla\Phi(\tilde x)\|/\mu$`, seams included. If
//! that is not enough, iterations on the whole picture follow, region by region again.
//!
//! The picture is stored in single precision. The certificate is that of the stored picture.

use std::ops::Range;

use lowlevel::{Curvature, ErrorBound, UNIT_ROUNDOFF, norm};
use thiserror::Error;

use crate::error::ModelError;
use crate::grid::Grid;

/// A rectangle of a picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// The rows.
    pub rows: Range<usize>,
    /// The columns.
    pub cols: Range<usize>,
}

/// How a picture is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tiling {
    /// The number of rows and columns of a tile, without its overlap.
    pub side: usize,
    /// The number of pixels by which the region of a tile is larger on each side.
    pub overlap: usize,
}

impl Default for Tiling {
    /// Tiles of 448 x 448 pixels with an overlap of 16: regions of 480 x 480.
    fn default() -> Self {
        Self {
            side: 448,
            overlap: 16,
        }
    }
}

/// An objective that can be evaluated on any region of a picture.
///
/// The functions get the grid of a region and its data. Away from the borders of the region by more
/// than `reach`, and at borders of the picture, the gradient on a region must be that of the whole
/// objective.
#[expect(
    missing_debug_implementations,
    reason = "functions have no debug output"
)]
pub struct LocalModel<'a, E> {
    /// The constants of the whole objective.
    pub curvature: Curvature,
    /// The gradient at a pixel depends on pixels that are at most this many rows and columns away.
    pub reach: usize,
    /// Minimises the objective on a region to this error. Returns the minimiser, and the number of
    /// iterations.
    pub minimiser: &'a RegionMinimiser<'a, E>,
    /// Computes the gradient at a point, and returns a bound on its rounding error. The arguments
    /// are the grid, the data, the point and the gradient.
    pub gradient: &'a RegionGradient<'a, E>,
}

/// A function that minimises an objective on a region: see [`LocalModel::minimiser`].
pub type RegionMinimiser<'a, E> =
    dyn Fn(Grid, &[f64], ErrorBound) -> Result<(Vec<f64>, u64), E> + Sync + 'a;

/// A function that computes a gradient on a region: see [`LocalModel::gradient`].
pub type RegionGradient<'a, E> =
    dyn Fn(Grid, &[f64], &[f64], &mut [f64]) -> Result<f64, E> + Sync + 'a;

/// A function that writes the data of a region, row by row.
pub type RegionData<'a> = dyn Fn(&Region, &mut Vec<f64>) + Sync + 'a;

/// A function that calls another one for all numbers below the first argument, in any order and on
/// any threads.
pub type ForEach<'a> = dyn Fn(usize, &(dyn Fn(usize) + Sync)) + Sync + 'a;

/// A picture that was minimised by tiles.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Tiled {
    /// The samples, row by row.
    pub x: Vec<f32>,
    /// The certified distance from the minimiser of the whole objective.
    pub error: ErrorBound,
    /// The number of iterations in all tiles.
    pub iterations: u64,
    /// The number of iterations on the whole picture.
    pub sweeps: u64,
}

/// The error of [`minimise_by_tiles`].
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum TilesError<E> {
    /// The grid or the tiling is invalid.
    #[error(transparent)]
    Model(ModelError),
    /// The objective cannot be minimised on a region.
    #[error(transparent)]
    Region(E),
    /// The target is below what single precision can represent.
    #[error(
        "the certified error of the whole picture is {error:.1e}, but {target:.1e} is requested, \
         which single precision cannot reach: request a larger error, or allow more memory"
    )]
    NotReached {
        /// The target.
        target: f64,
        /// The certified error.
        error: f64,
    },
}

/// Largest number of iterations on the whole picture.
const MAX_SWEEPS: u64 = 2000;
/// The share of the target at which tiles are minimised. The rest is for their seams.
const TILE_SHARE: f64 = 0.95;
/// The iterations end if this many in a row do not reduce the error.
const PATIENCE: u64 = 100;

/// Minimises an objective on a large picture by tiles, until the distance of the whole picture from
/// the minimiser is certified to be at most `target`.
///
/// `for_each` runs the work, on one thread or several; the result does not depend on them.
///
/// # Errors
/// If the grid is empty, a tile is smaller than the overlap, a function of the model fails, or the
/// target is below what single precision can represent.
pub fn minimise_by_tiles<E: Send>(
    grid: Grid,
    data: &RegionData<'_>,
    model: &LocalModel<'_, E>,
    target: ErrorBound,
    tiling: Tiling,
    for_each: &ForEach<'_>,
) -> Result<Tiled, TilesError<E>> {
    if grid.is_empty() {
        return Err(TilesError::Model(ModelError::EmptyGrid));
    }
    if tiling.side < tiling.overlap.max(1) {
        return Err(TilesError::Model(ModelError::OutOfRange {
            name: "the side of a tile",
            found: tiling.side as f64,
            needed: "at least the overlap, and positive",
        }));
    }
    let layout = TileLayout::new(grid, tiling);
    let mut solve = Sweeper {
        layout,
        data,
        model,
        for_each,
        x: vec![0.0; grid.len()],
    };
    let iterations = solve.tiles(target)?;
    solve.polish(target, iterations)
}

/// The tiles of a picture.
#[derive(Clone, Copy, Debug)]
struct TileLayout {
    grid: Grid,
    rows: usize,
    cols: usize,
    tiling: Tiling,
}

impl TileLayout {
    fn new(grid: Grid, tiling: Tiling) -> Self {
        let (rows, cols) = grid.rows_and_cols();
        Self {
            grid,
            rows,
            cols,
            tiling,
        }
    }

    /// The number of bands of tiles, and of tiles in each of them.
    fn count(&self) -> [usize; 2] {
        // a last tile that is smaller than the overlap belongs to the one before
        let of_axis = |len: usize| {
            let side = self.tiling.side;
            let whole = len / side;
            whole.max(1) + usize::from(whole > 0 && len % side > self.tiling.overlap)
        };
        [of_axis(self.rows), of_axis(self.cols)]
    }

    /// The pixels of a tile, without overlap.
    fn core(&self, band: usize, index: usize) -> Region {
        let [num_bands, num_tiles] = self.count();
        let side = self.tiling.side;
        let range = |at: usize, count: usize, len: usize| match at + 1 == count {
            true => at * side..len,
            false => at * side..(at + 1) * side,
        };
        Region {
            rows: range(band, num_bands, self.rows),
            cols: range(index, num_tiles, self.cols),
        }
    }

    /// A region that is larger by `margin` on each side, within the picture.
    fn widened(&self, region: &Region, margin: usize) -> Region {
        let widen = |range: &Range<usize>, len: usize| {
            range.start.saturating_sub(margin)..(range.end + margin).min(len)
        };
        Region {
            rows: widen(&region.rows, self.rows),
            cols: widen(&region.cols, self.cols),
        }
    }

    /// The grid of a region.
    fn grid_of(&self, region: &Region) -> Grid {
        let grid = match self.grid.num_axes() {
            1 => Grid::line(region.cols.len()),
            _ => Grid::image(region.rows.len(), region.cols.len()),
        };
        match self.grid.num_parts() {
            1 => grid,
            _ => grid.complex(),
        }
    }

    /// The positions of the numbers of a row of a region in the picture.
    fn row(&self, row: usize, cols: &Range<usize>) -> Range<usize> {
        let parts = self.grid.num_parts();
        let start = row * self.cols;
        (start + cols.start) * parts..(start + cols.end) * parts
    }
}

impl Region {
    /// Returns the weights of the rows or columns `region` of a tile with the pixels `core`, of
    /// `len` in the picture. They rise and fall within half of the overlap on both sides of a seam,
    /// and those of neighbours add up to 1.
    fn weights(core: &Range<usize>, region: &Range<usize>, len: usize, overlap: usize) -> Vec<f64> {
        let half = overlap as f64 / 2.0;
        let rise = |distance: f64| match half > 0.0 {
            true => ((distance + half) / (2.0 * half)).clamp(0.0, 1.0),
            false => f64::from(u8::from(distance > 0.0)),
        };
        let weight = |at: usize| {
            let middle = at as f64 + 0.5;
            let begin = match core.start {
                0 => 1.0,
                start => rise(middle - start as f64),
            };
            let end = match core.end == len {
                true => 1.0,
                false => 1.0 - rise(middle - core.end as f64),
            };
            begin * end
        };
        region.clone().map(weight).collect()
    }
}

/// The picture in work.
struct Sweeper<'a, E> {
    layout: TileLayout,
    data: &'a RegionData<'a>,
    model: &'a LocalModel<'a, E>,
    for_each: &'a ForEach<'a>,
    /// The point at which gradients are computed.
    x: Vec<f32>,
}

impl<E: Send> Sweeper<'_, E> {
    /// Runs a function for all tiles of a band, and returns the results in order.
    fn band<T: Send>(
        &self,
        band: usize,
        run: impl Fn(&Region) -> Result<T, E> + Sync,
    ) -> Result<Vec<T>, TilesError<E>> {
        use std::sync::Mutex;
        let [_, num_tiles] = self.layout.count();
        let results: Vec<Mutex<Option<Result<T, E>>>> =
            (0..num_tiles).map(|_| Mutex::new(None)).collect();
        (self.for_each)(num_tiles, &|index| {
            let made = run(&self.layout.core(band, index));
            *results[index].lock().expect("no other thread has failed") = Some(made);
        });
        let results = results.into_iter().map(|result| {
            let result = result.into_inner().expect("no thread has failed");
            result.expect("each tile was run")
        });
        results
            .collect::<Result<_, E>>()
            .map_err(TilesError::Region)
    }

    /// Minimises all tiles and blends them. Returns the number of iterations.
    fn tiles(&mut self, target: ErrorBound) -> Result<u64, TilesError<E>> {
        let layout = self.layout;
        let Tiling { overlap, .. } = layout.tiling;
        let [num_bands, num_tiles] = layout.count();
        let parts = layout.grid.num_parts();
        let share = TILE_SHARE / (layout.grid.num_samples() as f64).sqrt();
        let mut iterations = 0;
        for band in 0..num_bands {
            let made = self.band(band, |core| {
                let region = layout.widened(core, overlap);
                let grid = layout.grid_of(&region);
                let mut data = Vec::with_capacity(grid.len());
                (self.data)(&region, &mut data);
                // the same error per sample everywhere
                let target = target.value() * share * (grid.num_samples() as f64).sqrt();
                let target = ErrorBound::new(target).unwrap_or(ErrorBound::UNKNOWN);
                (self.model.minimiser)(grid, &data, target)
            })?;
            for (index, (values, count)) in made.into_iter().enumerate().take(num_tiles) {
                iterations += count;
                let core = layout.core(band, index);
                let region = layout.widened(&core, overlap);
                let of_rows = Region::weights(&core.rows, &region.rows, layout.rows, overlap);
                let of_cols = Region::weights(&core.cols, &region.cols, layout.cols, overlap);
                let rows = values.chunks_exact(region.cols.len() * parts);
                for ((row, weight), values) in region.rows.clone().zip(&of_rows).zip(rows) {
                    let x = &mut self.x[layout.row(row, &region.cols)];
                    let samples = x.chunks_exact_mut(parts).zip(values.chunks_exact(parts));
                    for ((x, values), of_col) in samples.zip(&of_cols) {
                        let weight = weight * of_col;
                        for (x, value) in x.iter_mut().zip(values) {
                            *x = single(f64::from(*x) + weight * value);
                        }
                    }
                }
            }
        }
        Ok(iterations)
    }

    /// Iterates on the whole picture until the target is certified: Nesterov's method for strongly
    /// convex functions, whose gradients are at the extrapolated point. Its error is certified.
    fn polish(mut self, target: ErrorBound, iterations: u64) -> Result<Tiled, TilesError<E>> {
        let curvature = self.model.curvature;
        let root = curvature.condition_number().sqrt();
        let (step, momentum) = (1.0 / curvature.lipschitz(), (root - 1.0) / (root + 1.0));
        let mut error = self.sweep(None)?;
        let mut before = Vec::new();
        let (mut least, mut since) = (error.value(), 0);
        for sweeps in 0..MAX_SWEEPS {
            if error.value() <= target.value() {
                return Ok(Tiled {
                    x: self.x,
                    error,
                    iterations,
                    sweeps,
                });
            }
            if since > PATIENCE {
                break;
            }
            if before.is_empty() {
                before.clone_from(&self.x);
            }
            // the error of the point before it moves
            let last = self.sweep(Some((&mut before, step, momentum)))?;
            if last.value() <= target.value() {
                error = self.sweep(None)?;
            }
            since = if last.value() < least { 0 } else { since + 1 };
            least = least.min(last.value());
        }
        Err(TilesError::NotReached {
            target: target.value(),
            error: least,
        })
    }

    /// Computes the gradient of the whole objective, and returns the certified error of the
    /// picture. If there is an iterate, both move by one iteration.
    fn sweep(
        &mut self,
        mut iterate: Option<(&mut Vec<f32>, f64, f64)>,
    ) -> Result<ErrorBound, TilesError<E>> {
        let layout = self.layout;
        let [num_bands, _] = layout.count();
        let parts = layout.grid.num_parts();
        let reach = self.model.reach;
        let (mut squares, mut roundings) = (0.0, 0.0);
        // the next band still needs the old values
        let mut pending: Vec<(Region, Vec<f32>)> = Vec::new();
        for band in 0..num_bands {
            let made = self.band(band, |core| {
                let region = layout.widened(core, reach);
                let grid = layout.grid_of(&region);
                let mut data = Vec::with_capacity(grid.len());
                (self.data)(&region, &mut data);
                let rows = region.rows.clone();
                let x = rows.flat_map(|row| &self.x[layout.row(row, &region.cols)]);
                let x: Vec<f64> = x.map(|value| f64::from(*value)).collect();
                let mut gradient = vec![0.0; x.len()];
                let rounding = (self.model.gradient)(grid, &data, &x, &mut gradient)?;
                // only the tile itself
                let width = region.cols.len() * parts;
                let skipped = (core.cols.start - region.cols.start) * parts;
                let first = core.rows.start - region.rows.start;
                let rows = gradient
                    .chunks_exact(width)
                    .skip(first)
                    .take(core.rows.len());
                let inner = rows.flat_map(|row| &row[skipped..][..core.cols.len() * parts]);
                let inner: Vec<f64> = inner.copied().collect();
                Ok((norm(&inner), rounding, inner))
            })?;
            let mut moved = Vec::new();
            for (index, (norm, rounding, gradient)) in made.into_iter().enumerate() {
                squares += norm * norm;
                roundings += rounding * rounding;
                let Some((before, step, momentum)) = &mut iterate else {
                    continue;
                };
                let core = layout.core(band, index);
                let mut next = Vec::with_capacity(gradient.len());
                let mut gradient = gradient.into_iter();
                for row in core.rows.clone() {
                    let at = layout.row(row, &core.cols);
                    for (x, before) in self.x[at.clone()].iter().zip(&mut before[at]) {
                        let gradient = gradient.next().unwrap_or(0.0);
                        let iterate = f64::from(*x) - *step * gradient;
                        let extrapolated = iterate + *momentum * (iterate - f64::from(*before));
                        *before = single(iterate);
                        next.push(single(extrapolated));
                    }
                }
                moved.push((core, next));
            }
            self.write(std::mem::replace(&mut pending, moved));
        }
        self.write(pending);
        let dim = layout.grid.len() as f64;
        let inflation = 1.0 + (dim + 16.0) * UNIT_ROUNDOFF;
        let underflow = dim * f64::MIN_POSITIVE;
        let error = inflation * (squares.sqrt() + roundings.sqrt() + underflow)
            / self.model.curvature.strong_convexity();
        Ok(ErrorBound::new(error).unwrap_or(ErrorBound::UNKNOWN))
    }

    /// Writes the new values of tiles.
    fn write(&mut self, tiles: Vec<(Region, Vec<f32>)>) {
        let layout = self.layout;
        for (core, values) in tiles {
            let width = core.cols.len() * layout.grid.num_parts();
            for (row, values) in core.rows.clone().zip(values.chunks_exact(width)) {
                self.x[layout.row(row, &core.cols)].copy_from_slice(values);
            }
        }
    }
}

/// Rounds to single precision.
#[expect(clippy::cast_possible_truncation, reason = "rounding is meant")]
fn single(value: f64) -> f32 {
    value as f32
}
