//! Smoothed total variation for every grid and boundary.

use crate::difference::Differences;
use crate::error::{ModelError, check_smoothing};
use crate::fingerprint;
use crate::grid::Grid;
use crate::regularizer::Regularizer;

/// The smoothed total variation `$\operatorname{TV}_\nu(x) = \sum_j \sqrt{\|\widehat\nabla x(j)\|^2 + \nu^2}$`.
///
/// The sum runs over all samples; at each, `$\widehat\nabla x(j)$` holds the difference along every axis, and for complex
/// samples `$\|\cdot\|$` takes the modulus. Its gradient `$\widehat\nabla^T (\widehat\nabla x / \sqrt{\|\widehat\nabla x\|^2
/// + \nu^2})$` has the Lipschitz constant `$\|\partial\|^2/\nu$`.
///
/// ```
/// use imaging::{Differences, Grid, Regularizer, SmoothedTv};
/// let tv = SmoothedTv::new(Grid::line(4), Differences::LINE_OF_PAPER, 1e-9)?;
/// // up by one at the left border, and by two later
/// assert!((tv.value(&[1.0, 1.0, 3.0, 3.0]) - 3.0).abs() < 1e-8);
/// # Ok::<(), imaging::ModelError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct SmoothedTv {
    grid: Grid,
    differences: Differences,
    nu: f64,
}

impl SmoothedTv {
    /// # Errors
    /// When the grid is empty or `nu` is not positive, or so small or large that its square is not a normal number.
    pub fn new(grid: Grid, differences: Differences, nu: f64) -> Result<Self, ModelError> {
        if grid.is_empty() {
            return Err(ModelError::EmptyGrid);
        }
        check_smoothing("nu", nu)?;
        Ok(Self {
            grid,
            differences,
            nu,
        })
    }

    /// Calls `visit` for every sample with its differences, each as (index of the first `f64` of the sample that counts
    /// positively, of the one that counts negatively), `None` for a zero beyond the border.
    fn for_each_sample(&self, mut visit: impl FnMut(&[(Option<usize>, Option<usize>)])) {
        let (rows, cols) = self.grid.rows_and_cols();
        let parts = self.grid.num_parts();
        for row in 0..rows {
            for col in 0..cols {
                let at = |row, col| parts * (row * cols + col);
                let (plus, minus) = self.differences.ends(col, cols);
                let across = (plus.map(|c| at(row, c)), minus.map(|c| at(row, c)));
                let (plus, minus) = self.differences.ends(row, rows);
                let down = (plus.map(|r| at(r, col)), minus.map(|r| at(r, col)));
                visit(&[across, down][..self.grid.num_axes()]);
            }
        }
    }

    /// `$\sqrt{\|\widehat\nabla x(j)\|^2 + \nu^2}$`.
    fn modulus(&self, x: &[f64], ends: &[(Option<usize>, Option<usize>)]) -> f64 {
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

fn difference(x: &[f64], (plus, minus): (Option<usize>, Option<usize>), part: usize) -> f64 {
    let value = |end: Option<usize>| end.map_or(0.0, |end| x[end + part]);
    value(plus) - value(minus)
}

impl Regularizer for SmoothedTv {
    fn dim(&self) -> usize {
        self.grid.len()
    }

    fn value(&self, x: &[f64]) -> f64 {
        let mut sum = 0.0;
        self.for_each_sample(|ends| sum += self.modulus(x, ends));
        sum
    }

    fn add_gradient(&self, weight: f64, x: &[f64], gradient: &mut [f64]) {
        let parts = self.grid.num_parts();
        self.for_each_sample(|ends| {
            let scale = weight / self.modulus(x, ends);
            for &(plus, minus) in ends {
                for part in 0..parts {
                    let flux = scale * difference(x, (plus, minus), part);
                    if let Some(plus) = plus {
                        gradient[plus + part] += flux;
                    }
                    if let Some(minus) = minus {
                        gradient[minus + part] -= flux;
                    }
                }
            }
        });
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
}

/// Rounding error of the gradient of the smoothed total variation, in unit roundoffs, however small `nu` is.
///
/// A difference of two floating-point numbers has a relative error of one `$u$`, so each flux `$\widehat\nabla x/\sqrt{\cdot}$`, a
/// vector no longer than 1, is off by at most `$8u$`: over all `$N$` samples `$8u\sqrt N$`, times `$\|\partial\| \le 2\sqrt a$` for
/// `$a$` axes. Adding up to `$2a$` fluxes to an entry costs `$2a\,u$` times at most `$2a$`, plus what was there, which near a minimiser
/// balances the fluxes. Together less than `$32\,a\sqrt N u$`.
pub(crate) fn tv_gradient_rounding(grid: Grid) -> f64 {
    #[expect(
        clippy::cast_precision_loss,
        reason = "a number of samples is far below 2^53"
    )]
    let (axes, samples) = (grid.num_axes() as f64, grid.num_samples() as f64);
    32.0 * axes * samples.sqrt()
}
