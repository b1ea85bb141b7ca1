//! The smoothed total variation for every grid and boundary.

use crate::difference::Differences;
use crate::error::{ModelError, check_not_colour, check_smoothing};
use crate::fingerprint;
use crate::grid::Grid;
use crate::regularizer::strips::{Ends, STRIP, Strip, StripKernel, sweep};
use crate::regularizer::{Regularizer, RegularizerHessian};

/// The smoothed total variation
/// `$\operatorname{TV}_\nu(x) = \sum_j \sqrt{\|\widehat\nabla x(j)\|^2 + \nu^2}$`.
///
/// The sum runs over all samples. `$\widehat\nabla x(j)$` holds the difference of sample `$j$`
/// along every axis, and for complex samples `$\|\cdot\|$` uses the modulus. The gradient
/// `$\widehat\nabla^T(\widehat\nabla x/\sqrt{\|\widehat\nabla x\|^2 + \nu^2})$` has the Lipschitz
/// constant `$\|\partial\|^2/\nu$`.
///
/// ```
/// use imaging::{Differences, Grid, Regularizer, SmoothedTv};
/// let tv = SmoothedTv::new(Grid::line(4), Differences::LINE_OF_PAPER, 1e-9)?;
/// // The signal rises by one at the left border, and by two in the middle.
/// assert!((tv.value(&[1.0, 1.0, 3.0, 3.0]) - 3.0).abs() < 1e-8);
/// # Ok::<(), imaging::ModelError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct SmoothedTv {
    pub(super) grid: Grid,
    pub(super) differences: Differences,
    pub(super) nu: f64,
}

impl SmoothedTv {
    /// Creates the smoothed total variation with the smoothing `nu`.
    ///
    /// # Errors
    /// If the grid is empty or has colours, or if `nu` is not positive or its square is not a
    /// normal number.
    pub fn new(grid: Grid, differences: Differences, nu: f64) -> Result<Self, ModelError> {
        if grid.is_empty() {
            return Err(ModelError::EmptyGrid);
        }
        check_not_colour(grid)?;
        check_smoothing("nu", nu)?;
        Ok(Self {
            grid,
            differences,
            nu,
        })
    }

    pub(crate) const fn grid(&self) -> Grid {
        self.grid
    }

    pub(crate) const fn nu(&self) -> f64 {
        self.nu
    }

    /// The two differences of a sample of a line or picture, across and down. Each is a pair of
    /// indices: that of the first `f64` of the sample with the positive sign, and that of the
    /// sample with the negative sign. `None` stands for a zero beyond the border. On a line only
    /// the first difference is valid.
    pub(super) fn ends(&self, row: usize, col: usize) -> [Ends; 2] {
        let (rows, cols) = self.grid.rows_and_cols();
        let parts = self.grid.num_parts();
        let at = |row, col| parts * (row * cols + col);
        let (plus, minus) = self.differences.ends(col, cols);
        let across = (plus.map(|c| at(row, c)), minus.map(|c| at(row, c)));
        let (plus, minus) = self.differences.ends(row, rows);
        let down = (plus.map(|r| at(r, col)), minus.map(|r| at(r, col)));
        [across, down]
    }

    /// The three differences of a sample of a volume: across, down and to the other slice.
    pub(super) fn volume_ends(&self, [slice, row, col]: [usize; 3]) -> [Ends; 3] {
        let (slices, rows, cols) = self.grid.slices_rows_and_cols();
        let at = [col, row, slice];
        let steps = [1, cols, rows * cols];
        let first = at[0] + at[1] * steps[1] + at[2] * steps[2];
        let along = |axis: usize, len: usize| {
            let start = first - at[axis] * steps[axis];
            let index = |end: usize| self.grid.num_parts() * (start + end * steps[axis]);
            let (plus, minus) = self.differences.ends(at[axis], len);
            (plus.map(index), minus.map(index))
        };
        [along(0, cols), along(1, rows), along(2, slices)]
    }

    /// Returns `$\sqrt{\|\widehat\nabla x(j)\|^2 + \nu^2}$`.
    fn modulus(&self, x: &[f64], ends: &[Ends]) -> f64 {
        let parts = self.grid.num_parts();
        let mut squares = self.nu * self.nu;
        for &pair in ends {
            for part in 0..parts {
                squares += difference(x, pair, part).powi(2);
            }
        }
        squares.sqrt()
    }
}

/// The difference of one part of two samples.
fn difference(x: &[f64], (plus, minus): Ends, part: usize) -> f64 {
    let value = |end: Option<usize>| end.map_or(0.0, |end| x[end + part]);
    value(plus) - value(minus)
}

impl Regularizer for SmoothedTv {
    fn dim(&self) -> usize {
        self.grid.len()
    }

    fn value(&self, x: &[f64]) -> f64 {
        let (slices, rows, cols) = self.grid.slices_rows_and_cols();
        let modulus = |slice, row, col| match self.grid.num_axes() {
            3 => self.modulus(x, &self.volume_ends([slice, row, col])),
            num_axes => self.modulus(x, &self.ends(row, col)[..num_axes]),
        };
        let lines = (0..slices).flat_map(|slice| (0..rows).map(move |row| (slice, row)));
        lines
            .flat_map(|(slice, row)| (0..cols).map(move |col| modulus(slice, row, col)))
            .sum()
    }

    fn add_gradient(&self, weight: f64, x: &[f64], gradient: &mut [f64]) {
        if self.grid.num_axes() == 3 {
            return self.add_volume_gradient(weight, x, gradient);
        }
        sweep(
            self,
            AddGradient {
                tv: self,
                weight,
                x,
                gradient,
            },
        );
    }

    fn lipschitz(&self) -> f64 {
        Differences::norm_squared(self.grid) / self.nu
    }

    fn fingerprint(&self) -> Option<u64> {
        let Differences {
            direction,
            boundary,
        } = self.differences;
        Some(fingerprint::of_hashes([
            fingerprint::of_grid(self.grid),
            direction as u64,
            boundary as u64,
            self.nu.to_bits(),
        ]))
    }

    fn gradient_rounding(&self, _x_norm: f64) -> f64 {
        tv_gradient_rounding(self.grid)
    }

    fn hessian(&self) -> Option<&dyn RegularizerHessian> {
        Some(self)
    }
}

/// Adds `weight` times the gradient at `x` to `gradient`.
struct AddGradient<'a> {
    tv: &'a SmoothedTv,
    weight: f64,
    x: &'a [f64],
    gradient: &'a mut [f64],
}

impl StripKernel for AddGradient<'_> {
    #[inline(always)]
    fn strip<const P: usize>(&mut self, strip: Strip) {
        let len = P * strip.count;
        let mut flux_across = [0.0; STRIP];
        let mut flux_down = [0.0; STRIP];
        strip.subtract(self.x, &mut flux_across[..len], &mut flux_down[..len]);
        let (weight, nu_squared) = (self.weight, self.tv.nu * self.tv.nu);
        let (across_samples, _) = flux_across[..len].as_chunks_mut::<P>();
        let (down_samples, _) = flux_down[..len].as_chunks_mut::<P>();
        for (across, down) in across_samples.iter_mut().zip(down_samples) {
            let mut squares = nu_squared;
            for part in 0..P {
                squares += across[part] * across[part] + down[part] * down[part];
            }
            let scale = weight / squares.sqrt();
            for part in 0..P {
                across[part] *= scale;
                down[part] *= scale;
            }
        }
        strip.add(self.gradient, &flux_across[..len], &flux_down[..len]);
    }
}

/// A bound on the rounding error of the gradient of the smoothed total variation, in unit
/// roundoffs. It does not depend on `nu`.
///
/// The difference of two floating-point numbers has a relative error of one `$u$`, so the sum of
/// squares under the root has one of at most `$5u$`, which the root halves. A root and a division
/// add `$2u$`, and the kernel without them `$5.1u$`. The product with a difference adds `$2u$`. So
/// the error of each flux `$\widehat\nabla x/\sqrt{\cdot}$`, a vector no longer than 1, is at most
/// `$10u$`. Over all `$N$` samples this is `$10u\sqrt N$`, times `$\|\partial\| \le 2\sqrt a$` for
/// `$a$` axes. Adding up to `$2a$` fluxes to an entry adds an error of `$2a\,u$` times their sum,
/// which is at most `$2a$`, plus the previous value of the entry, which near a minimiser balances
/// the fluxes. Together this is less than `$32\,a\sqrt N u$`. For volumes, the flux of a sample
/// itself adds at most `$\sqrt3$` instead of 3, so both sums are at most 4.8.
pub(crate) fn tv_gradient_rounding(grid: Grid) -> f64 {
    let (axes, samples) = (grid.num_axes() as f64, grid.num_samples() as f64);
    32.0 * axes * samples.sqrt()
}
