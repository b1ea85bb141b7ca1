//! An error bound by duality for 1D denoising, which also works where rounding dominates the
//! gradient.
//!
//! Let `$c = 1 + \xi$`, and let `$D$` be the matrix of the differences. Since
//! `$\alpha\sqrt{d^2 + \nu^2} = \max_{|p| \le 1} \alpha(pd + \nu v)$` with `$v = \sqrt{1 - p^2}$`,
//! every dual variable with `$|p_j| \le 1$` gives a function below `$\Phi$`,
//!
//! ```math
//! \ell_p(x) = \tfrac{c}{2}\|x\|^2 - y^Tx + \tfrac12\|y\|^2 + \alpha p^TDx + \alpha\nu\sum_j v_j \le \Phi(x),
//! ```
//!
//! whose minimum is `$\|cx - y + \alpha D^Tp\|^2/(2c)$` below its value at `$x$`. As `$\Phi$` is
//! `$c$`-strongly convex and its minimum is above that of `$\ell_p$`,
//!
//! ```math
//! \tfrac{c}{2}\|x - x^*\|^2 \le \Phi(x) - \min \ell_p = \alpha\sum_j (\sigma_j - p_jd_j - \nu v_j) + \tfrac{1}{2c}\|cx - y + \alpha D^Tp\|^2.
//! ```
//!
//! As written, the terms of the sum cancel. But since
//! `$\sigma^2 - (pd + \nu v)^2 = (p\nu - vd)^2$`, each of them is
//! `$(p\nu - vd)^2/(\sigma + pd + \nu v)$`, and for `$pd < 0$` we use
//! `$\sigma + pd = (\nu^2 + v^2d^2)/(\sigma - pd)$`, so that nothing cancels. In the gradient, an
//! error `$\delta$` of a difference becomes an error of `$\alpha\delta/\nu$`. This bound does not
//! enlarge it once `$p$` is accurate.
//!
//! **Rounding.** The bound holds for every `$p$` and `$x$`, so these have no error. The relative
//! error of `$1 \pm p$`, of `$d$` and of all products is at most `$u$`, and that of `$v$`,
//! `$\sigma$` and the denominator less than `$16u$`. The error of the difference `$p\nu - vd$` is
//! less than `$8u(|p|\nu + v|d|)$`, and the error of an entry of `$cx - y + \alpha D^Tp$` is less
//! than `$8u$` times the sum of the absolute values of its terms. Both are added to the bound. The
//! sums have terms that are not negative, so their relative error is at most `$u$` per term.

use lowlevel::UNIT_ROUNDOFF;
use pulp::{Scalar, Simd, WithSimd};

use super::TvParameters;
use super::line_newton::clip;
use super::simd::{load_lanes, store_lanes};

/// Squares of numbers below this may underflow.
const TINY: f64 = 1e-150;
/// The largest error of a difference or of a sum of a few terms, relative to its terms.
const SUM_ERROR: f64 = 8.0 * UNIT_ROUNDOFF;

/// Computes the bound on `$\|x - x^*\|$` for the dual variables `dual`, clipped to `$[-1, 1]$`.
#[derive(Debug)]
pub(super) struct LineGap<'a> {
    pub(super) parameters: TvParameters,
    pub(super) data: &'a [f64],
    pub(super) x: &'a [f64],
    pub(super) dual: &'a [f64],
    /// Memory for at least `$N$` numbers: the contribution of each sample to the duality gap.
    pub(super) terms: &'a mut [f64],
}

impl WithSimd for LineGap<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) -> f64 {
        let (len, lanes, scalar) = (self.x.len(), S::F64_LANES, Scalar::new());
        let next = self.dual.get(1).copied().unwrap_or_default();
        self.term(scalar, 0, 0.0, next);
        let count = len.saturating_sub(2) / lanes;
        for j in (0..count).map(|i| 1 + i * lanes) {
            self.term(
                simd,
                j,
                load_lanes::<S>(self.x, j - 1),
                load_lanes::<S>(self.dual, j + 1),
            );
        }
        for j in 1 + count * lanes..len {
            let next = self.dual.get(j + 1).copied().unwrap_or_default();
            self.term(scalar, j, self.x[j - 1], next);
        }
        self.bound()
    }
}

impl LineGap<'_> {
    /// Computes the contributions of the samples from `j` on, given their left neighbours and the
    /// dual variables of their right neighbours.
    #[inline(always)]
    fn term<S: Simd>(&mut self, simd: S, j: usize, left: S::f64s, next: S::f64s) {
        let alpha = simd.splat_f64s(self.parameters.alpha);
        let (x, p) = (
            load_lanes::<S>(self.x, j),
            clip(simd, load_lanes::<S>(self.dual, j)),
        );
        let slack = self.parameters.slack(simd, p, simd.sub_f64s(x, left));
        let flux = simd.mul_f64s(alpha, p);
        let next = simd.mul_f64s(alpha, clip(simd, next));
        let misfit = self.misfit(simd, x, load_lanes::<S>(self.data, j), flux, next);
        let term = simd.add_f64s(simd.mul_f64s(alpha, slack), misfit);
        store_lanes::<S>(self.terms, j, term);
    }

    /// Returns `$r^2/(2c)$` for the entry `$r = cx - y + \alpha p_j - \alpha p_{j+1}$`. The result
    /// is an upper bound up to a relative error.
    #[inline(always)]
    fn misfit<S: Simd>(
        &self,
        simd: S,
        x: S::f64s,
        y: S::f64s,
        flux: S::f64s,
        next: S::f64s,
    ) -> S::f64s {
        let constant = 1.0 + self.parameters.xi;
        let scaled = simd.mul_f64s(simd.splat_f64s(constant), x);
        let residual = simd.add_f64s(simd.sub_f64s(scaled, y), simd.sub_f64s(flux, next));
        let primal = simd.add_f64s(simd.abs_f64s(scaled), simd.abs_f64s(y));
        let dual = simd.add_f64s(simd.abs_f64s(flux), simd.abs_f64s(next));
        let residual = raised(simd, residual, simd.add_f64s(primal, dual));
        let scale = simd.splat_f64s(0.5 / constant);
        simd.mul_f64s(scale, simd.mul_f64s(residual, residual))
    }

    /// Adds up the contributions in an order that does not depend on the machine, and returns the
    /// bound.
    #[inline(always)]
    fn bound(&self) -> f64 {
        let TvParameters { alpha, xi, .. } = self.parameters;
        let (blocks, rest) = self.terms[..self.x.len()].as_chunks::<8>();
        let mut lanes = [0.0; 8];
        for block in blocks {
            for (lane, term) in lanes.iter_mut().zip(block) {
                *lane += term;
            }
        }
        let gap: f64 = lanes.iter().chain(rest).sum();
        let len = self.x.len() as f64;
        let inflation = 1.0 + (len + 64.0) * UNIT_ROUNDOFF;
        inflation * (2.0 * gap / (1.0 + xi)).sqrt() + len * (1.0 + alpha) * TINY
    }
}

impl TvParameters {
    /// Returns `$\sigma - pd - \nu v$`. The result is an upper bound up to a relative error.
    #[inline(always)]
    fn slack<S: Simd>(self, simd: S, p: S::f64s, d: S::f64s) -> S::f64s {
        let (zero, one) = (simd.splat_f64s(0.0), simd.splat_f64s(1.0));
        let (nu, nu_squared) = (simd.splat_f64s(self.nu), simd.splat_f64s(self.nu * self.nu));
        let v = simd.mul_f64s(simd.sub_f64s(one, p), simd.add_f64s(one, p));
        let v = simd.sqrt_f64s(v);
        let sigma = simd.sqrt_f64s(simd.add_f64s(simd.mul_f64s(d, d), nu_squared));
        let (along, across) = (simd.mul_f64s(p, d), simd.mul_f64s(v, d));
        let smoothed = simd.mul_f64s(p, nu);
        let size = simd.add_f64s(simd.abs_f64s(smoothed), simd.abs_f64s(across));
        let turned = raised(simd, simd.sub_f64s(smoothed, across), size);
        // sigma + pd = over/under
        let opposed = simd.less_than_f64s(along, zero);
        let squares = simd.add_f64s(nu_squared, simd.mul_f64s(across, across));
        let over = simd.select_f64s(opposed, squares, simd.add_f64s(sigma, along));
        let under = simd.select_f64s(opposed, simd.sub_f64s(sigma, along), one);
        let below = simd.add_f64s(over, simd.mul_f64s(simd.mul_f64s(nu, v), under));
        let quotient = simd.div_f64s(simd.mul_f64s(turned, under), below);
        simd.mul_f64s(turned, quotient)
    }
}

/// Returns the absolute value of a sum, plus a bound on its rounding error. `size` is the sum of
/// the absolute values of the terms.
#[inline(always)]
fn raised<S: Simd>(simd: S, sum: S::f64s, size: S::f64s) -> S::f64s {
    simd.add_f64s(
        simd.abs_f64s(sum),
        simd.mul_f64s(simd.splat_f64s(SUM_ERROR), size),
    )
}
