//! Newton steps for 1D denoising: the primal-dual method of Chan, Golub and Mulet.
//!
//! T. F. Chan, G. H. Golub and P. Mulet, *A nonlinear primal-dual method for total variation-based image restoration*,
//! SIAM J. Sci. Comput. 20 (1999). With `$d = Dx$` and `$\sigma_j = \sqrt{d_j^2 + \nu^2}$`, the minimiser and the dual variable
//! `$p = d/\sigma$` solve
//!
//! ```math
//! (1 + \xi)x - y + \alpha D^T p = 0, \qquad \sigma_j p_j = d_j.
//! ```
//!
//! Newton's method for both equations at once: the second gives
//! `$p^+ = \frac{1}{\sigma}\bigl(d + (1 - p\,d/\sigma)\,D\delta\bigr)$`, and with that the first becomes
//!
//! ```math
//! \bigl((1 + \xi)I + D^T K D\bigr)\,\delta = -\nabla\Phi(x), \qquad k_j = \frac{\alpha}{\sigma_j}\Bigl(1 - \frac{p_jd_j}{\sigma_j}\Bigr).
//! ```
//!
//! Dual variables that begin as zeros make the first matrix that of lagged diffusivity, `$k = \alpha/\sigma$`. That is a good beginning: from
//! the data, `$p = d/\sigma$`, whose matrix is the Hessian, takes up to 5 steps more, and larger weights one or two.
//!
//! As long as `$|p_j| \le 1$`, to which `$p^+$` is clipped, `$0 \le k_j \le 2\alpha/\nu$`: the matrix is between `$(1 + \xi)I$` and
//! `$(1 + \xi + 8\alpha/\nu)I$`.

use lowlevel::NewtonPoint;
use pulp::{Scalar, Simd, WithSimd};

use super::TvParameters;
use super::partition::{
    BLOCK, Eliminated, Elimination, LANES, Partition, Row, from_row, with_vectors,
};
use super::{partition, simd};

/// Working memory of the steps.
#[derive(Clone, Debug)]
pub(super) struct NewtonScratch {
    /// `$k/\alpha$`.
    weights: Vec<f64>,
    partition: Partition,
    blocks: Vec<[Eliminated; BLOCK]>,
}

impl NewtonScratch {
    pub(super) fn new(num_samples: usize) -> Self {
        let partition = Partition::new(num_samples);
        Self {
            weights: vec![0.0; num_samples],
            partition,
            blocks: vec![[Eliminated::ZERO; BLOCK]; partition.num_rows() / BLOCK],
        }
    }
}

/// Overwrites `step` with `$\delta$` and `dual_step` with `$p^+ - p$`.
#[derive(Debug)]
pub(super) struct LineNewton<'a> {
    pub(super) parameters: TvParameters,
    pub(super) at: &'a NewtonPoint<'a>,
    pub(super) step: &'a mut [f64],
    pub(super) dual_step: &'a mut [f64],
    pub(super) scratch: &'a mut NewtonScratch,
}

impl WithSimd for LineNewton<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let (len, lanes, scalar) = (self.at.x.len(), S::F64_LANES, Scalar::new());
        let count = (len - 1) / lanes;
        self.weigh(scalar, 0, 0.0);
        for j in (0..count).map(|i| 1 + i * lanes) {
            self.weigh(simd, j, simd::load::<S>(self.at.x, j - 1));
        }
        for j in 1 + count * lanes..len {
            self.weigh(scalar, j, self.at.x[j - 1]);
        }
        with_vectors!(S, self, solve, simd);
        self.turn(scalar, 0, 0.0);
        for j in (0..count).map(|i| 1 + i * lanes) {
            self.turn(simd, j, simd::load::<S>(self.step, j - 1));
        }
        for j in 1 + count * lanes..len {
            self.turn(scalar, j, self.step[j - 1]);
        }
    }
}

impl LineNewton<'_> {
    /// `$k/\alpha$` at `$j$`, and `$d/\sigma$`, which waits in `dual_step`.
    #[inline(always)]
    fn weigh<S: Simd>(&mut self, simd: S, j: usize, left: S::f64s) {
        let one = simd.splat_f64s(1.0);
        let d = simd.sub_f64s(simd::load::<S>(self.at.x, j), left);
        let inverse = simd.div_f64s(one, self.parameters.modulus(simd, simd.mul_f64s(d, d)));
        let direction = simd.mul_f64s(d, inverse);
        let dual = clip(simd, simd::load::<S>(self.at.dual, j));
        let freedom = simd.sub_f64s(one, simd.mul_f64s(dual, direction));
        // not negative, but for rounding
        let freedom = simd.max_f64s(freedom, simd.splat_f64s(0.0));
        simd::store::<S>(
            &mut self.scratch.weights,
            j,
            simd.mul_f64s(freedom, inverse),
        );
        simd::store::<S>(self.dual_step, j, direction);
    }

    /// `$p^+ - p$` at `$j$`, where `$p^+ = d/\sigma + (k/\alpha)D\delta$`, clipped.
    #[inline(always)]
    fn turn<S: Simd>(&mut self, simd: S, j: usize, left: S::f64s) {
        let change = simd.sub_f64s(simd::load::<S>(self.step, j), left);
        let turned = simd.mul_f64s(simd::load::<S>(&self.scratch.weights, j), change);
        let direction = simd::load::<S>(self.dual_step, j);
        let dual = clip(simd, simd.add_f64s(direction, turned));
        let change = simd.sub_f64s(dual, simd::load::<S>(self.at.dual, j));
        simd::store::<S>(self.dual_step, j, change);
    }

    /// Overwrites `step` with the solution of the linear system.
    #[inline(always)]
    fn solve<S: Simd, const V: usize>(&mut self, simd: S) {
        let (left, end) = self.eliminate::<S, V>(simd).separators();
        self.substitute::<S, V>(simd, &left, &end);
    }

    #[inline(always)]
    fn eliminate<S: Simd, const V: usize>(&mut self, simd: S) -> Elimination<S, V> {
        let TvParameters { alpha, xi, .. } = self.parameters;
        let NewtonScratch {
            weights,
            partition,
            blocks,
        } = &mut *self.scratch;
        let alpha = simd.splat_f64s(alpha);
        let mut elimination = Elimination::<S, V>::new(simd, 1.0 + xi);
        let [mut weight_rows, mut gradient_rows] = [[[0.0; LANES]; BLOCK]; 2];
        for (block, nodes) in blocks.iter_mut().enumerate() {
            partition.gather(simd, weights, block * BLOCK, &mut weight_rows);
            partition.gather(simd, self.at.gradient, block * BLOCK, &mut gradient_rows);
            for (i, node) in nodes.iter_mut().enumerate() {
                for v in 0..V {
                    let weight = simd.mul_f64s(alpha, partition::load::<S>(&weight_rows[i], v));
                    let current = simd.neg_f64s(partition::load::<S>(&gradient_rows[i], v));
                    if block + i == 0 {
                        elimination.begin(v, weight, current);
                    } else {
                        elimination.next(v, weight, current, node);
                    }
                }
            }
        }
        elimination
    }

    #[inline(always)]
    fn substitute<S: Simd, const V: usize>(&mut self, simd: S, separator: &Row, end: &Row) {
        let NewtonScratch {
            partition, blocks, ..
        } = &*self.scratch;
        let separator = from_row::<S, V>(simd, separator);
        let mut right = from_row::<S, V>(simd, end);
        let mut rows = [[0.0; LANES]; BLOCK];
        for (block, nodes) in blocks.iter().enumerate().rev() {
            for (i, node) in nodes.iter().enumerate().rev() {
                for v in 0..V {
                    partition::store::<S>(&mut rows[i], v, right[v]);
                    right[v] = node.left(simd, v, separator[v], right[v]);
                }
            }
            partition.scatter(simd, &rows, self.step, block * BLOCK);
        }
    }
}

/// Clips to `$[-1, 1]$`.
#[inline(always)]
pub(super) fn clip<S: Simd>(simd: S, p: S::f64s) -> S::f64s {
    simd.max_f64s(
        simd.min_f64s(p, simd.splat_f64s(1.0)),
        simd.splat_f64s(-1.0),
    )
}
