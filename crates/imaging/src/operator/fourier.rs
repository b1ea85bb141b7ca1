//! The discrete Fourier transform.

use std::fmt;
use std::sync::Arc;

use num_complex::Complex;
use rustfft::{Fft, FftPlanner};

use crate::error::{ModelError, check_not_colour, check_not_volume};
use crate::fingerprint;
use crate::grid::{Field, Grid};
use crate::operator::{LinearOperator, Spectrum, Weights};

/// The unitary discrete Fourier transform in 1D or 2D,
/// `$\widehat x_k = N^{-1/2} \sum_j x_j e^{-2\pi i jk/N}$`.
///
/// The data are complex, in the order of the transform, with frequency zero first. The unknown is
/// complex or real; for a real unknown, the adjoint takes the real part.
///
/// ```
/// use imaging::{Fourier, Grid, LinearOperator};
/// let fourier = Fourier::new(Grid::line(4))?;
/// let mut frequencies = [0.0; 8];
/// fourier.apply(&[1.0; 4], &mut frequencies, &mut fourier.scratch());
/// assert_eq!(frequencies, [2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
/// # Ok::<(), imaging::ModelError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Fourier {
    domain: Grid,
    transform: Transform,
}

impl Fourier {
    /// Plans the transform of unknowns on `domain`. Planning costs more than a transform, so plan
    /// once and share the result.
    ///
    /// # Errors
    /// If the grid is empty, has colours or is a volume.
    pub fn new(domain: Grid) -> Result<Self, ModelError> {
        Ok(Self {
            domain,
            transform: Transform::new(domain)?,
        })
    }

    pub(crate) const fn transform(&self) -> &Transform {
        &self.transform
    }
}

/// The working memory of a [`Fourier`] transform.
#[derive(Clone, Debug)]
pub struct FourierScratch {
    pub(crate) samples: Vec<Complex<f64>>,
    transposed: Vec<Complex<f64>>,
    work: Vec<Complex<f64>>,
}

impl LinearOperator for Fourier {
    type Scratch = FourierScratch;

    fn domain(&self) -> Grid {
        self.domain
    }

    fn codomain(&self) -> Grid {
        self.domain.complex()
    }

    fn scratch(&self) -> FourierScratch {
        self.transform.scratch()
    }

    fn apply(&self, x: &[f64], out: &mut [f64], scratch: &mut FourierScratch) {
        to_complex(self.domain.field(), x, &mut scratch.samples);
        self.transform.forward(scratch);
        from_complex(
            Field::Complex,
            &scratch.samples,
            self.transform.unitary_scale(),
            out,
        );
    }

    fn apply_adjoint(&self, y: &[f64], out: &mut [f64], scratch: &mut FourierScratch) {
        to_complex(Field::Complex, y, &mut scratch.samples);
        self.transform.inverse(scratch);
        from_complex(
            self.domain.field(),
            &scratch.samples,
            self.transform.unitary_scale(),
            out,
        );
    }

    fn gram_spectrum(&self, weights: Weights<'_>) -> Spectrum {
        match (weights, self.domain.field()) {
            (Weights::Uniform, _) | (_, Field::Complex) => weights.range(),
            // For a real unknown, the weights of a frequency and its negative are averaged.
            (Weights::Diagonal(weights), Field::Real | Field::Colour) => {
                let (rows, cols) = self.domain.rows_and_cols();
                Spectrum::enclosing((0..rows * cols).map(|index| {
                    let (row, col) = (index / cols, index % cols);
                    let mirrored = (rows - row) % rows * cols + (cols - col) % cols;
                    0.5 * (weights[index] + weights[mirrored])
                }))
            }
        }
    }

    /// All entries of the diagonal of `$F^* S F$` are the mean of the weights.
    fn gram_diagonal(&self, weights: Weights<'_>, out: &mut [f64]) {
        out.fill(weights.mean());
    }

    fn fingerprint(&self) -> Option<u64> {
        Some(fingerprint::of_grid(self.domain))
    }

    fn roundings(&self) -> f64 {
        self.transform.roundings()
    }
}

/// Copies real or interleaved complex samples to complex numbers.
pub(crate) fn to_complex(field: Field, x: &[f64], samples: &mut [Complex<f64>]) {
    match field {
        Field::Real => {
            for (sample, &re) in samples.iter_mut().zip(x) {
                *sample = Complex::new(re, 0.0);
            }
        }
        Field::Complex => {
            let (pairs, _) = x.as_chunks::<2>();
            for (sample, &[re, im]) in samples.iter_mut().zip(pairs) {
                *sample = Complex::new(re, im);
            }
        }
        Field::Colour => unreachable!("transforms refuse grids of colours"),
    }
}

/// Copies complex numbers, times `scale`, to real or interleaved complex samples.
pub(crate) fn from_complex(field: Field, samples: &[Complex<f64>], scale: f64, out: &mut [f64]) {
    match field {
        Field::Real => {
            for (out, sample) in out.iter_mut().zip(samples) {
                *out = scale * sample.re;
            }
        }
        Field::Complex => {
            let (pairs, _) = out.as_chunks_mut::<2>();
            for ([re, im], sample) in pairs.iter_mut().zip(samples) {
                *re = scale * sample.re;
                *im = scale * sample.im;
            }
        }
        Field::Colour => unreachable!("transforms refuse grids of colours"),
    }
}

/// The plans of an unscaled transform and its inverse, in place on [`FourierScratch::samples`].
#[derive(Clone)]
pub(crate) struct Transform {
    rows: usize,
    cols: usize,
    forward: AxisPlans,
    inverse: AxisPlans,
}

/// The plans for both axes of a picture.
#[derive(Clone)]
struct AxisPlans {
    along_rows: Arc<dyn Fft<f64>>,
    along_cols: Arc<dyn Fft<f64>>,
}

impl Transform {
    pub(crate) fn new(grid: Grid) -> Result<Self, ModelError> {
        if grid.is_empty() {
            return Err(ModelError::EmptyGrid);
        }
        check_not_colour(grid)?;
        check_not_volume(grid)?;
        let (rows, cols) = grid.rows_and_cols();
        let mut planner = FftPlanner::new();
        Ok(Self {
            rows,
            cols,
            forward: AxisPlans {
                along_rows: planner.plan_fft_forward(cols),
                along_cols: planner.plan_fft_forward(rows),
            },
            inverse: AxisPlans {
                along_rows: planner.plan_fft_inverse(cols),
                along_cols: planner.plan_fft_inverse(rows),
            },
        })
    }

    pub(crate) fn scratch(&self) -> FourierScratch {
        let zero = Complex::new(0.0, 0.0);
        let num_samples = self.rows * self.cols;
        let plans = [&self.forward, &self.inverse];
        let work = plans
            .iter()
            .flat_map(|plans| [&plans.along_rows, &plans.along_cols])
            .map(|plan| plan.get_inplace_scratch_len())
            .max()
            .unwrap_or(0);
        FourierScratch {
            samples: vec![zero; num_samples],
            transposed: vec![zero; if self.rows > 1 { num_samples } else { 0 }],
            work: vec![zero; work],
        }
    }

    /// The factor `$N^{-1/2}$` that makes the transform unitary.
    pub(crate) fn unitary_scale(&self) -> f64 {
        let num_samples = (self.rows * self.cols) as f64;
        num_samples.sqrt().recip()
    }

    /// Applies the forward transform to the samples of `scratch`.
    pub(crate) fn forward(&self, scratch: &mut FourierScratch) {
        self.run(&self.forward, scratch);
    }

    /// Applies the inverse transform to the samples of `scratch`.
    pub(crate) fn inverse(&self, scratch: &mut FourierScratch) {
        self.run(&self.inverse, scratch);
    }

    /// A bound on the rounding error of a transform, in unit roundoffs.
    ///
    /// For powers of two the relative error is at most `$8 u \log_2 N$` (Higham, *Accuracy and
    /// Stability of Numerical Algorithms*, Theorem 24.2, with accurate twiddle factors). The same
    /// argument holds for other small factors. A stage of factor `$p$` multiplies by twiddle
    /// factors, each with an error of at most `$4u$` (`$2\sqrt2u$` of the product and `$u$` of the
    /// factor), and by the matrix `$F_p$` of a short transform. If no path from an input to an
    /// output of the short transform has more than `$n_p$` roundings, then its error is at most
    /// `$\sqrt2\,n_p u$` times the sum of all `$|z_j|$`, in each of `$p$` outputs, so at most
    /// `$\sqrt2\,n_p u\,p\|z\|$`. The result has the norm `$\sqrt p\|z\|$`, so the stage has a
    /// relative error of at most `$(4 + \sqrt{2p}\,n_p)u$`. A transform of length 3 has
    /// `$n_3 = 6$` (a sum of two inputs, a rounded constant, a product, and up to three sums), one
    /// of length 5 has `$n_5 = 7$`, which gives 18.7 and 26.2. We allow 20 and 28. For factors
    /// above 5, which may be computed by a longer convolution, we allow `$32u(\log_2 N + 2)$`.
    pub(crate) fn roundings(&self) -> f64 {
        let along = |len: usize| {
            let (mut rest, mut stages) = (len, 0.0);
            for (factor, roundings) in [(2, 8.0), (3, 20.0), (5, 28.0)] {
                while rest.is_multiple_of(factor) {
                    rest /= factor;
                    stages += roundings;
                }
            }
            if rest == 1 {
                stages
            } else {
                let factors = f64::from(usize::BITS - (len - 1).leading_zeros());
                32.0 * (factors + 2.0)
            }
        };
        along(self.rows) + along(self.cols) + 2.0
    }

    fn run(&self, plans: &AxisPlans, scratch: &mut FourierScratch) {
        let FourierScratch {
            samples,
            transposed,
            work,
        } = scratch;
        assert_eq!(
            samples.len(),
            self.rows * self.cols,
            "the scratch belongs to another grid"
        );
        plans.along_rows.process_with_scratch(samples, work);
        if self.rows > 1 {
            transpose(samples, self.rows, self.cols, transposed);
            plans.along_cols.process_with_scratch(transposed, work);
            transpose(transposed, self.cols, self.rows, samples);
        }
    }
}

/// Transposes the `rows x cols` matrix `from` into `to`, by tiles that fit the cache.
fn transpose(from: &[Complex<f64>], rows: usize, cols: usize, to: &mut [Complex<f64>]) {
    const TILE: usize = 16;
    for row_tile in (0..rows).step_by(TILE) {
        for col_tile in (0..cols).step_by(TILE) {
            for row in row_tile..rows.min(row_tile + TILE) {
                for col in col_tile..cols.min(col_tile + TILE) {
                    to[col * rows + row] = from[row * cols + col];
                }
            }
        }
    }
}

impl fmt::Debug for Transform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transform")
            .field("rows", &self.rows)
            .field("cols", &self.cols)
            .finish_non_exhaustive()
    }
}
