//! Circular convolution.

use std::f64::consts::PI;

use num_complex::Complex;

use crate::error::{ModelError, check_values};
use crate::fingerprint::{self, NumberHash};
use crate::grid::{Field, Grid, Shape};
use crate::operator::fourier::{FourierScratch, Transform, from_complex, to_complex};
use crate::operator::{LinearOperator, Spectrum, Weights};

/// Circular convolution with a centred kernel, `$(Ax)_j = \sum_k h_k x_{j - k}$`, computed by
/// Fourier transforms. It models a blur of a periodic signal or picture.
///
/// ```
/// use imaging::{Convolution, Grid, LinearOperator};
/// let blur = Convolution::new(Grid::line(5), &[0.25, 0.5, 0.25], Grid::line(3))?;
/// let mut blurred = [0.0; 5];
/// blur.apply(&[0.0, 0.0, 4.0, 0.0, 0.0], &mut blurred, &mut blur.scratch());
/// for (blurred, expected) in blurred.iter().zip([0.0, 1.0, 2.0, 1.0, 0.0]) {
///     assert!((blurred - expected).abs() < 1e-14);
/// }
/// # Ok::<(), imaging::ModelError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Convolution {
    grid: Grid,
    transform: Transform,
    /// The eigenvalues of `$A$`, divided by `$N$` because the transforms are unscaled.
    response: Vec<Complex<f64>>,
    spectrum: Spectrum,
    /// The eigenvalues of the periodic second differences along columns and along rows of pixels.
    row_laplacian: Vec<f64>,
    col_laplacian: Vec<f64>,
    fingerprint: u64,
}

impl Convolution {
    /// Creates the convolution on `grid` with the real `kernel` on `kernel_grid`. The origin of the
    /// kernel is in its middle, at `(rows / 2, cols / 2)` rounded down. A kernel larger than the
    /// grid wraps around.
    ///
    /// # Errors
    /// If a grid is empty, if the grid of the kernel is complex or has another number of axes, or
    /// if the kernel does not fit its grid or is not finite.
    pub fn new(grid: Grid, kernel: &[f64], kernel_grid: Grid) -> Result<Self, ModelError> {
        let transform = Transform::new(grid)?;
        if kernel_grid.is_empty() {
            return Err(ModelError::EmptyGrid);
        }
        if kernel_grid.field() != Field::Real || kernel_grid.num_axes() != grid.num_axes() {
            return Err(ModelError::WrongGrid {
                name: "kernel_grid",
                needed: match grid.shape() {
                    Shape::Line { .. } => "a real line, like the grid it convolves",
                    _ => "a real image, like the grid it convolves",
                },
            });
        }
        check_values("kernel", kernel, kernel_grid.len())?;

        let (rows, cols) = grid.rows_and_cols();
        let (kernel_rows, kernel_cols) = kernel_grid.rows_and_cols();
        let mut scratch = transform.scratch();
        scratch.samples.fill(Complex::new(0.0, 0.0));
        for (index, &value) in kernel.iter().enumerate() {
            // (at - origin) mod len, in unsigned arithmetic
            let shifted = |at: usize, origin: usize, len: usize| (at + len - origin % len) % len;
            let row = shifted(index / kernel_cols, kernel_rows / 2, rows);
            let col = shifted(index % kernel_cols, kernel_cols / 2, cols);
            scratch.samples[row * cols + col].re += value;
        }
        transform.forward(&mut scratch);

        // The eigenvalues have rounding errors, for which the spectrum is enlarged.
        let mass: f64 = kernel.iter().map(|h| h.abs()).sum();
        let slack = 0.5 * f64::EPSILON * transform.roundings() * mass;
        let moduli = Spectrum::enclosing(scratch.samples.iter().map(|value| value.norm()));
        let scale = transform.unitary_scale().powi(2);
        Ok(Self {
            fingerprint: fingerprint::of_hashes([
                fingerprint::of_grid(grid),
                fingerprint::of_grid(kernel_grid),
                NumberHash::new().add(kernel).finish(),
            ]),
            grid,
            response: scratch.samples.iter().map(|value| value * scale).collect(),
            row_laplacian: laplacian(rows),
            col_laplacian: laplacian(cols),
            transform,
            spectrum: Spectrum {
                min: (moduli.min - slack).max(0.0).powi(2),
                max: (moduli.max + slack).powi(2),
            },
        })
    }

    /// Multiplies the transform of `x` by the response, or by a function of it.
    fn multiply(
        &self,
        x: &[f64],
        out: &mut [f64],
        scratch: &mut FourierScratch,
        respond: impl Fn(Complex<f64>) -> Complex<f64>,
    ) {
        to_complex(self.grid.field(), x, &mut scratch.samples);
        self.transform.forward(scratch);
        for (sample, &response) in scratch.samples.iter_mut().zip(&self.response) {
            *sample *= respond(response);
        }
        self.transform.inverse(scratch);
        from_complex(self.grid.field(), &scratch.samples, 1.0, out);
    }

    /// Overwrites `out` with `$(w K^*K + a I + b \partial^T\partial)^{-1} r$` for the numbers
    /// `[w, a, b]` and periodic differences, whose `$\partial^T\partial$` has the eigenvalues
    /// `$4\sin^2(\pi k/n)$`, added over the axes.
    pub(super) fn invert(
        &self,
        [data, shift, smoothing]: [f64; 3],
        r: &[f64],
        out: &mut [f64],
        scratch: &mut FourierScratch,
    ) {
        let (_, cols) = self.grid.rows_and_cols();
        let num_samples = self.response.len() as f64;
        to_complex(self.grid.field(), r, &mut scratch.samples);
        self.transform.forward(scratch);
        let rows = (scratch.samples.chunks_exact_mut(cols))
            .zip(self.response.chunks_exact(cols))
            .zip(&self.row_laplacian);
        for ((samples, responses), down) in rows {
            let cols = samples.iter_mut().zip(responses).zip(&self.col_laplacian);
            for ((sample, response), across) in cols {
                // the response has the factor 1/N, and so does a pair of transforms
                let gram = num_samples * num_samples * response.norm_sqr();
                let eigenvalue = data * gram + shift + smoothing * (down + across);
                *sample *= 1.0 / (num_samples * eigenvalue);
            }
        }
        self.transform.inverse(scratch);
        from_complex(self.grid.field(), &scratch.samples, 1.0, out);
    }
}

/// The eigenvalues `$4\sin^2(\pi k/n)$` of periodic second differences.
fn laplacian(len: usize) -> Vec<f64> {
    let sine = |k: usize| (PI * k as f64 / len as f64).sin();
    (0..len).map(|k| 4.0 * sine(k).powi(2)).collect()
}

impl LinearOperator for Convolution {
    type Scratch = FourierScratch;

    fn domain(&self) -> Grid {
        self.grid
    }

    fn codomain(&self) -> Grid {
        self.grid
    }

    fn scratch(&self) -> FourierScratch {
        self.transform.scratch()
    }

    fn apply(&self, x: &[f64], out: &mut [f64], scratch: &mut FourierScratch) {
        self.multiply(x, out, scratch, |response| response);
    }

    fn apply_adjoint(&self, y: &[f64], out: &mut [f64], scratch: &mut FourierScratch) {
        self.multiply(y, out, scratch, |response| response.conj());
    }

    fn gram_spectrum(&self, weights: Weights<'_>) -> Spectrum {
        let weights = weights.range();
        Spectrum {
            min: weights.min * self.spectrum.min,
            max: weights.max * self.spectrum.max,
        }
    }

    fn apply_gram(
        &self,
        x: &[f64],
        _middle: &mut [f64],
        out: &mut [f64],
        scratch: &mut FourierScratch,
    ) {
        // Two responses have a factor 1/N each, and one pair of transforms needs only one.
        let num_samples = self.response.len() as f64;
        self.multiply(x, out, scratch, |response| {
            Complex::new(num_samples * response.norm_sqr(), 0.0)
        });
    }

    /// One pair of Fourier transforms takes the place of two.
    fn gram_cost(&self) -> f64 {
        0.5
    }

    /// The entries are `$\sum_k h_k^2$`, times the mean of the weights.
    fn gram_diagonal(&self, weights: Weights<'_>, out: &mut [f64]) {
        // The response is scaled by 1/N, and the mean of the squared moduli has another 1/N.
        let num_samples = self.response.len() as f64;
        let squares: f64 = self.response.iter().map(Complex::norm_sqr).sum();
        out.fill(weights.mean() * num_samples * squares);
    }

    fn fingerprint(&self) -> Option<u64> {
        Some(self.fingerprint)
    }

    fn roundings(&self) -> f64 {
        // The forward and the inverse transform, and the transform that computed the response.
        3.0 * self.transform.roundings() + 4.0
    }
}
