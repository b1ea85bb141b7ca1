//! The regularisers of complex pictures, and the weights of their responses in Newton systems.
//!
//! A regulariser is a sum of roots `$a_k\sqrt{|d|^2 + \nu^2}$`, where the response `$d$` is that of
//! a filter at a pixel, a complex number, or the pair of the differences at a pixel. For filters,
//! see `filters/roots.rs`.
//!
//! A pixel has two complex differences to its next neighbours, across and down, with periodic
//! boundary: a vector `$d_j \in \mathbb{R}^4$`. With `$n_j = d_j/\sigma_j$` and dual variables
//! `$p_j$` in the unit ball, its weight is
//! `$W_j = \frac{\alpha}{\sigma_j}\bigl(I - \frac12(p_jn_j^T + n_jp_j^T)\bigr)$`. With
//! `$p_j = n_j$` this is the Hessian.

use lowlevel::UNIT_ROUNDOFF;
use num_complex::Complex;

use super::TvParameters;
use super::circulant::laplacian;
use super::simd::vectorize;
use crate::filters::{FilterRegularizer, FilterWeights, root_remainder};
use crate::regularizer::{Regularizer, RegularizerHessian, SmoothedTv};

/// The regulariser of a complex picture.
#[derive(Clone, Debug)]
pub(super) enum PictureRegularizer {
    Tv(SmoothedTv),
    Filters(FilterRegularizer),
}

impl PictureRegularizer {
    pub(super) const fn as_regularizer(&self) -> &dyn Regularizer {
        match self {
            Self::Tv(tv) => tv,
            Self::Filters(filters) => filters,
        }
    }

    pub(super) const fn as_hessian(&self) -> &dyn RegularizerHessian {
        match self {
            Self::Tv(tv) => tv,
            Self::Filters(filters) => filters,
        }
    }

    pub(super) fn num_duals(&self) -> usize {
        match self {
            Self::Tv(tv) => 2 * tv.grid().len(),
            Self::Filters(filters) => filters.num_duals(),
        }
    }

    /// The weight of each filter; there is one pair of differences.
    pub(super) fn weights(&self) -> impl Iterator<Item = f64> {
        let (tv, filters) = match self {
            Self::Tv(_) => (Some(1.0), &[][..]),
            Self::Filters(filters) => (None, filters.potentials()),
        };
        tv.into_iter()
            .chain(filters.iter().map(|filter| filter.alpha))
    }

    /// Bounds the rounding error of a response to `x` or `z`, and the modulus of a response to `z`.
    pub(super) fn response_bounds(&self, x: &[f64], z: &[f64]) -> [f64; 2] {
        let largest = |picture: &[f64]| {
            let larger = |most: f64, entry: &f64| {
                if entry.abs() > most {
                    entry.abs()
                } else {
                    most
                }
            };
            picture.iter().fold(0.0, larger)
        };
        let [x, z] = [largest(x), largest(z)];
        match self {
            // Each of four numbers is the difference of two, with one rounding.
            Self::Tv(_) => [4.0 * UNIT_ROUNDOFF * (x + z), 4.0 * z],
            Self::Filters(filters) => {
                let per_pixel = filters.response_bound();
                [filters.response_rounding() * (x + z), per_pixel * z]
            }
        }
    }

    /// Replaces `out` by pairs of numbers, filter after filter, with as many for each: see
    /// [`root_remainder`].
    pub(super) fn remainders(&self, x: &[f64], z: &[f64], out: &mut Vec<[f64; 2]>) {
        match self {
            Self::Tv(tv) => {
                let (_, cols) = tv.grid().rows_and_cols();
                let len = tv.grid().num_samples();
                let flat = |[a, b]: Pair| [a.re, a.im, b.re, b.im];
                let x = interleaved(x);
                out.clear();
                out.resize(len, [0.0; 2]);
                for_each_difference(cols, len, interleaved(z), |pixel, t| {
                    let next = [next_across(pixel, cols), (pixel + cols) % len];
                    let d = next.map(|next| x(next) - x(pixel));
                    out[pixel] = root_remainder(flat(d), flat(t), tv.nu());
                });
            }
            Self::Filters(filters) => filters.remainders(x, z, out),
        }
    }
}

/// The weights of all responses at one point.
#[derive(Clone, Debug)]
pub(super) enum PictureWeights {
    Tv(TvWeights),
    Filters {
        weights: FilterWeights,
        /// Pictures with interleaved parts.
        picture: Vec<f64>,
        sum: Vec<f64>,
    },
}

impl PictureWeights {
    pub(super) fn new(regularizer: &PictureRegularizer, rows: usize, cols: usize) -> Self {
        match regularizer {
            PictureRegularizer::Tv(_) => Self::Tv(TvWeights::new(rows, cols)),
            PictureRegularizer::Filters(filters) => Self::Filters {
                weights: FilterWeights::new(filters),
                picture: vec![0.0; 2 * rows * cols],
                sum: vec![0.0; 2 * rows * cols],
            },
        }
    }

    /// Computes the weights at `x`: those of the Hessian, or with the dual variables, moved into
    /// the unit ball.
    ///
    /// # Panics
    /// If the memory is that of another regulariser, here and below.
    pub(super) fn linearise(
        &mut self,
        regularizer: &PictureRegularizer,
        parameters: TvParameters,
        x: &[f64],
        dual: Option<&[f64]>,
    ) {
        match (self, regularizer) {
            (Self::Tv(own), PictureRegularizer::Tv(_)) => own.linearise(parameters, x, dual),
            (Self::Filters { weights, .. }, PictureRegularizer::Filters(filters)) => {
                filters.linearise_roots(parameters.alpha, x, dual, weights);
            }
            _ => panic!("{OTHER}"),
        }
    }

    /// Adds `$D^TWDu$` to `out`.
    pub(super) fn add_product(
        &mut self,
        regularizer: &PictureRegularizer,
        u: &[Complex<f64>],
        out: &mut [Complex<f64>],
    ) {
        match (self, regularizer) {
            (Self::Tv(own), PictureRegularizer::Tv(_)) => own.add_product(u, out),
            (
                Self::Filters {
                    weights,
                    picture,
                    sum,
                },
                PictureRegularizer::Filters(filters),
            ) => {
                let (pairs, _) = picture.as_chunks_mut::<2>();
                for (pair, u) in pairs.iter_mut().zip(u) {
                    *pair = [u.re, u.im];
                }
                sum.fill(0.0);
                filters.add_weighted(weights, picture, sum);
                let (pairs, _) = sum.as_chunks::<2>();
                for (out, [re, im]) in out.iter_mut().zip(pairs) {
                    *out += Complex::new(*re, *im);
                }
            }
            _ => panic!("{OTHER}"),
        }
    }

    /// Adds the symbol of a periodic matrix that resembles `$D^TWD$`, with a mean weight for each
    /// filter.
    pub(super) fn add_symbol(&self, regularizer: &PictureRegularizer, symbol: &mut [f64]) {
        match (self, regularizer) {
            (Self::Tv(own), PictureRegularizer::Tv(_)) => own.add_symbol(symbol),
            (Self::Filters { weights, .. }, PictureRegularizer::Filters(filters)) => {
                filters.add_symbol(weights, symbol);
            }
            _ => panic!("{OTHER}"),
        }
    }

    /// Overwrites `dual_step` with the change of the dual variables that belongs to a `step` from
    /// `x`, where the weights were computed. `dual` are the dual variables as the solver knows
    /// them.
    pub(super) fn dual_step(
        &self,
        regularizer: &PictureRegularizer,
        alpha: f64,
        x: &[f64],
        step: &[f64],
        dual: &[f64],
        dual_step: &mut [f64],
    ) {
        match (self, regularizer) {
            (Self::Tv(own), PictureRegularizer::Tv(_)) => {
                own.dual_step(alpha, step, dual, dual_step);
            }
            (Self::Filters { .. }, PictureRegularizer::Filters(filters)) => {
                filters.dual_step(x, step, dual, dual_step);
            }
            _ => panic!("{OTHER}"),
        }
    }
}

/// The message for memory that does not fit.
const OTHER: &str = "memory of another regulariser";

/// A pixel's two differences, or two numbers that belong to them.
type Pair = [Complex<f64>; 2];

/// The weights of all pairs of differences at one point.
#[derive(Clone, Debug)]
pub(super) struct TvWeights {
    cols: usize,
    /// The symbol of `$D^TD$` along each axis: rows, then columns.
    laplacians: [Vec<f64>; 2],
    /// `$n_j$`, one pair per pixel.
    n: Vec<Pair>,
    /// `$p_j$`, one pair per pixel.
    p: Vec<Pair>,
    /// `$\alpha/\sigma_j$`.
    scale: Vec<f64>,
    fluxes: Vec<Pair>,
}

/// Returns the real inner product of two vectors in `$\mathbb{R}^4$`.
#[inline(always)]
fn inner(a: Pair, b: Pair) -> f64 {
    (a[0].re * b[0].re + a[0].im * b[0].im) + (a[1].re * b[1].re + a[1].im * b[1].im)
}

#[inline(always)]
fn squared(a: Pair) -> f64 {
    inner(a, a)
}

/// Calls `visit(pixel, differences)` for every pixel, row by row. `at` returns a sample.
#[inline(always)]
fn for_each_difference(
    cols: usize,
    num_samples: usize,
    at: impl Fn(usize) -> Complex<f64>,
    mut visit: impl FnMut(usize, Pair),
) {
    for first in (0..num_samples).step_by(cols) {
        let below = if first + cols == num_samples {
            0
        } else {
            first + cols
        };
        let last = first + cols - 1;
        for pixel in first..last {
            let here = at(pixel);
            visit(
                pixel,
                [at(pixel + 1) - here, at(below + (pixel - first)) - here],
            );
        }
        let here = at(last);
        visit(last, [at(first) - here, at(below + cols - 1) - here]);
    }
}

/// Returns the index of the next pixel in the same row, which begins again at its end.
const fn next_across(pixel: usize, cols: usize) -> usize {
    if (pixel + 1).is_multiple_of(cols) {
        pixel + 1 - cols
    } else {
        pixel + 1
    }
}

/// Reads a sample of a picture that is stored as interleaved parts.
#[inline(always)]
fn interleaved(x: &[f64]) -> impl Fn(usize) -> Complex<f64> {
    let (samples, _) = x.as_chunks::<2>();
    move |index| {
        let [re, im] = samples[index];
        Complex::new(re, im)
    }
}

impl TvWeights {
    fn new(rows: usize, cols: usize) -> Self {
        let pairs = vec![[Complex::ZERO; 2]; rows * cols];
        Self {
            cols,
            laplacians: [rows, cols].map(|len| (0..len).map(|k| laplacian(k, len)).collect()),
            n: pairs.clone(),
            p: pairs.clone(),
            scale: vec![0.0; rows * cols],
            fluxes: pairs,
        }
    }

    /// Computes the weights at `x`: those of the Hessian, or with the dual variables, four numbers
    /// per pixel, moved into the unit ball.
    fn linearise(
        &mut self,
        TvParameters { alpha, nu, .. }: TvParameters,
        x: &[f64],
        dual: Option<&[f64]>,
    ) {
        let Self {
            cols, n, p, scale, ..
        } = self;
        let num_samples = scale.len();
        vectorize(
            #[inline(always)]
            || {
                for_each_difference(*cols, num_samples, interleaved(x), |pixel, d| {
                    let inverse = 1.0 / (squared(d) + nu * nu).sqrt();
                    let unit = d.map(|d| d * inverse);
                    n[pixel] = unit;
                    p[pixel] = unit;
                    scale[pixel] = alpha * inverse;
                });
                if let Some(dual) = dual {
                    let (duals, _) = dual.as_chunks::<4>();
                    for (p, dual) in p.iter_mut().zip(duals) {
                        *p = into_ball(*dual);
                    }
                }
            },
        );
    }

    /// Adds `$D^TWDu$` to `out`.
    fn add_product(&mut self, u: &[Complex<f64>], out: &mut [Complex<f64>]) {
        let Self {
            cols,
            n,
            p,
            scale,
            fluxes,
            ..
        } = self;
        let cols = *cols;
        let num_samples = scale.len();
        assert_eq!([u.len(), out.len()], [num_samples; 2], "another grid");
        vectorize(
            #[inline(always)]
            || {
                for_each_difference(
                    cols,
                    num_samples,
                    |index| u[index],
                    |pixel, z| {
                        let (n, p, scale) = (n[pixel], p[pixel], scale[pixel]);
                        let (along_n, along_p) = (0.5 * inner(n, z), 0.5 * inner(p, z));
                        fluxes[pixel] = [0, 1]
                            .map(|axis| (z[axis] - p[axis] * along_n - n[axis] * along_p) * scale);
                    },
                );
                add_divergence(cols, fluxes, out);
            },
        );
    }

    /// Adds the symbol of `$wD^TD$` with a mean weight `$w$`.
    fn add_symbol(&self, symbol: &mut [f64]) {
        let level = self.mean();
        let [down, across] = &self.laplacians;
        for (symbol, down) in symbol.chunks_exact_mut(across.len()).zip(down) {
            for (symbol, across) in symbol.iter_mut().zip(across) {
                *symbol += level * (down + across);
            }
        }
    }

    /// The geometric mean of the arithmetic and the harmonic mean of `$\alpha/\sigma_j$`: a weight
    /// that represents all of them in a preconditioner.
    fn mean(&self) -> f64 {
        let count = self.scale.len() as f64;
        let (mut sum, mut inverse_sum) = ([0.0; 4], [0.0; 4]);
        for block in self.scale.chunks(4) {
            for (lane, scale) in block.iter().enumerate() {
                sum[lane] += scale;
                inverse_sum[lane] += 1.0 / scale;
            }
        }
        let total = |lanes: [f64; 4]| (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
        let mean = (total(sum) / count) * (count / total(inverse_sum));
        if mean > 0.0 && mean < f64::INFINITY {
            mean.sqrt()
        } else {
            0.0
        }
    }

    /// Overwrites `dual_step` with the change of the dual variables that belongs to `step`:
    /// `$\Delta p = (d + \Delta d)/\sigma - \langle n, \Delta d\rangle p/\sigma - p$`. `dual` are
    /// the dual variables as the solver knows them.
    fn dual_step(&self, alpha: f64, step: &[f64], dual: &[f64], dual_step: &mut [f64]) {
        let Self {
            cols, n, p, scale, ..
        } = self;
        let (duals, _) = dual.as_chunks::<4>();
        let (steps, _) = dual_step.as_chunks_mut::<4>();
        let per_alpha = if alpha > 0.0 { 1.0 / alpha } else { 0.0 };
        for_each_difference(*cols, scale.len(), interleaved(step), |pixel, change| {
            let (n, p) = (n[pixel], p[pixel]);
            let inverse = scale[pixel] * per_alpha;
            let along = inner(n, change) * inverse;
            let next = [0, 1].map(|axis| n[axis] + change[axis] * inverse - p[axis] * along);
            let old = duals[pixel];
            steps[pixel] = [
                next[0].re - old[0],
                next[0].im - old[1],
                next[1].re - old[2],
                next[1].im - old[3],
            ];
        });
    }
}

/// Returns the nearest point of the unit ball.
#[inline(always)]
fn into_ball(dual: [f64; 4]) -> Pair {
    let p = [
        Complex::new(dual[0], dual[1]),
        Complex::new(dual[2], dual[3]),
    ];
    let square = squared(p);
    let scale = if square > 1.0 {
        1.0 / square.sqrt()
    } else {
        1.0
    };
    p.map(|p| p * scale)
}

/// Adds `$D^Tf$` to `out`.
#[inline(always)]
fn add_divergence(cols: usize, fluxes: &[Pair], out: &mut [Complex<f64>]) {
    let num_samples = out.len();
    for first in (0..num_samples).step_by(cols) {
        let above = if first == 0 {
            num_samples - cols
        } else {
            first - cols
        };
        let here = &fluxes[first..first + cols];
        let up = &fluxes[above..above + cols];
        let out = &mut out[first..first + cols];
        let mut left = here[cols - 1][0];
        for ((out, here), up) in out.iter_mut().zip(here).zip(up) {
            *out += (left - here[0]) + (up[1] - here[1]);
            left = here[0];
        }
    }
}
