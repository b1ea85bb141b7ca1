//! The weights of the differences of a complex picture in Newton systems, and products with them.
//!
//! A pixel has two complex differences to its next neighbours, across and down, with periodic
//! boundary: a vector `$d_j \in \mathbb{R}^4$`. With `$n_j = d_j/\sigma_j$` and dual variables
//! `$p_j$` in the unit ball, its weight is
//! `$W_j = \frac{\alpha}{\sigma_j}\bigl(I - \frac12(p_jn_j^T + n_jp_j^T)\bigr)$`. With
//! `$p_j = n_j$` this is the Hessian.

use num_complex::Complex;

use super::TvParameters;
use super::simd::vectorize;

/// A pixel's two differences, or two numbers that belong to them.
type Pair = [Complex<f64>; 2];

/// The weights of all differences at one point.
#[derive(Clone, Debug)]
pub(super) struct PictureWeights {
    cols: usize,
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

/// Reads a sample of a picture that is stored as interleaved parts.
#[inline(always)]
pub(super) fn interleaved(x: &[f64]) -> impl Fn(usize) -> Complex<f64> {
    let (samples, _) = x.as_chunks::<2>();
    move |index| {
        let [re, im] = samples[index];
        Complex::new(re, im)
    }
}

impl PictureWeights {
    pub(super) fn new(rows: usize, cols: usize) -> Self {
        let pairs = vec![[Complex::ZERO; 2]; rows * cols];
        Self {
            cols,
            n: pairs.clone(),
            p: pairs.clone(),
            scale: vec![0.0; rows * cols],
            fluxes: pairs,
        }
    }

    /// Computes the weights at `x`: those of the Hessian, or with the dual variables, four numbers
    /// per pixel, moved into the unit ball.
    pub(super) fn linearise(
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
    pub(super) fn add_product(&mut self, u: &[Complex<f64>], out: &mut [Complex<f64>]) {
        let Self {
            cols,
            n,
            p,
            scale,
            fluxes,
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

    /// The geometric mean of the arithmetic and the harmonic mean of `$\alpha/\sigma_j$`: a weight
    /// that represents all of them in a preconditioner.
    pub(super) fn mean(&self) -> f64 {
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
    pub(super) fn dual_step(&self, alpha: f64, step: &[f64], dual: &[f64], dual_step: &mut [f64]) {
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

    /// Calls `visit(m, t)` with `$|d_j|/\sigma_j$`, `$1/\sigma_j$` times `$\alpha$`, and
    /// `$|(Dz)_j|$`, for every pixel.
    pub(super) fn for_each_modulus(&self, z: &[f64], mut visit: impl FnMut(f64, f64, f64)) {
        for_each_difference(
            self.cols,
            self.scale.len(),
            interleaved(z),
            |pixel, change| {
                let n = squared(self.n[pixel]).sqrt();
                visit(n, self.scale[pixel], squared(change).sqrt());
            },
        );
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
