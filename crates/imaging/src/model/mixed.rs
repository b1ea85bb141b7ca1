//! Mixed derivatives: how the gradient changes with the parameters of the total variation.
//!
//! With `$d = Dx$` and `$\sigma_j = \sqrt{|d_j|^2 + \nu^2}$`, the gradient
//! `$A^*S(Ax - y) + \alpha D^T(d/\sigma) + \xi x$` has the derivatives
//!
//! ```math
//! B_\alpha = D^T\frac{d}{\sigma}, \qquad B_\nu = -\alpha\nu\,D^T\frac{d}{\sigma^3}, \qquad B_\xi = x
//! ```
//!
//! with respect to `$\alpha$`, `$\nu$` and `$\xi$`. A product with `$q$` is a sum over the
//! differences, for example `$\langle q, B_\alpha\rangle = \sum_j\langle v_j, d_j\rangle/\sigma_j$`
//! with `$v = Dq$`.
//!
//! **Their change in a ball.** Let `$\|e\| \le \varepsilon$` and `$t = De$`, as in
//! [`third_derivative`](super::third_derivative). The derivative of `$d/\sigma$` has at most the norm
//! `$w_j$` defined there. The derivative of `$d/\sigma^3$` has the eigenvalues `$1/\sigma^3$` (across
//! `$d$`) and `$1/\sigma^3 - 3|d|^2/\sigma^5 = (3\nu^2/\sigma^2 - 2)/\sigma^3$` (along `$d$`). So its
//! norm is `$\max(1, 2 - 3\nu^2/\sigma^2)/\sigma^3$`, because
//! `$3\nu^2/\sigma^2 - 2 \le 1$`. It decreases with `$|d|$`: below `$\sigma^2 = 3\nu^2$` as
//! `$1/\sigma^3$`, and above, the derivative of `$2z^3 - 3\nu^2z^5$` with respect to `$z = 1/\sigma$`
//! is `$3z^2(2 - 5\nu^2z^2) > 0$`. Let `$g_j$` be its value at `$|d| = (|d_j| - \rho\varepsilon)_+$`.
//! With Cauchy's inequality and `$\|t\| \le \sqrt A\,\varepsilon$`, and with `$|d|/\sigma \le 1$` and
//! `$\nu^2|d|/\sigma^3 \le \frac{2}{3\sqrt3}$`, the products change by at most
//!
//! ```math
//! \min\Bigl(\sqrt A\,\varepsilon\,\|(w_j|v_j|)_j\|,\; 2\sum_j|v_j|\Bigr), \qquad
//! \alpha\nu\min\Bigl(\sqrt A\,\varepsilon\,\|(g_j|v_j|)_j\|,\; \frac{4}{3\sqrt3\,\nu^2}\sum_j|v_j|\Bigr), \qquad
//! \varepsilon\|q\|.
//! ```
//!
//! In the same way, `$\|B_\alpha\|$` grows by at most `$A\varepsilon/\nu$` and is at most
//! `$\sqrt{AN}$`, and `$\|B_\nu\|$` grows by at most `$\alpha A\varepsilon/\nu^2$` and is at most
//! `$\frac{2\alpha}{3\sqrt3\,\nu}\sqrt{AN}$`.

use lowlevel::{UNIT_ROUNDOFF, norm_squared};

use super::TvParameters;
use super::circulant::count;
use super::third_derivative::{TvBall, UnitBall, number_or_infinity, second_derivative};

/// The products of a vector `$q$` with the derivatives of the gradient `$\nabla\Phi(x)$` with
/// respect to `$\alpha$`, `$\nu$` and `$\xi$`.
///
/// If `$q$` solves `$\nabla^2\Phi(x)\,q = \nabla\ell(x)$` at the minimiser `$x$` of `$\Phi$`, then
/// the derivatives of the loss `$\ell$` of the minimiser with respect to the parameters are the
/// negative products.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TvMixed {
    /// The product `$\langle q, \partial_\alpha\nabla\Phi(x)\rangle$`.
    pub alpha: f64,
    /// The product `$\langle q, \partial_\nu\nabla\Phi(x)\rangle$`.
    pub nu: f64,
    /// The product `$\langle q, \partial_\xi\nabla\Phi(x)\rangle$`.
    pub xi: f64,
}

/// Bounds on the derivative `$B(x)$` of the gradient with respect to one parameter, in a ball around
/// a point `$x$`. They include rounding.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MixedBound {
    /// A bound on the distance of `$\langle q, B(y)\rangle$` from the computed product at `$x$`, for
    /// every `$y$` in the ball.
    pub change: f64,
    /// A bound on `$\|B(y)\|$` for every `$y$` in the ball.
    pub norm: f64,
}

impl MixedBound {
    /// The bounds of a derivative of which nothing is known.
    pub const UNKNOWN: Self = Self {
        change: f64::INFINITY,
        norm: f64::INFINITY,
    };

    /// Creates the bounds. NaN becomes infinity.
    pub(super) fn new(change: f64, norm: f64) -> Self {
        Self {
            change: number_or_infinity(change),
            norm: number_or_infinity(norm),
        }
    }
}

/// The norms of vectors at the centre of a ball.
#[derive(Clone, Copy, Debug)]
pub(super) struct MixedNorms {
    /// The norm of `$B_\alpha$`.
    pub(super) alpha: f64,
    /// The norm of `$B_\nu$`.
    pub(super) nu: f64,
    pub(super) x: f64,
    pub(super) q: f64,
}

/// The sums over all differences that bound the change of the products in a ball.
#[derive(Clone, Copy, Debug)]
pub(super) struct MixedSums {
    ball: TvBall,
    unit: UnitBall,
    num_differences: usize,
    /// The sum of the squares of `$\nu w_j|v_j|$`.
    alpha: f64,
    /// The sum of the squares of `$\nu^3g_j|v_j|$`.
    nu: f64,
    /// The sum of all `$|v_j|$`.
    total: f64,
}

/// The number of differences that are processed together.
const BLOCK: usize = 64;

impl MixedSums {
    pub(super) fn new(ball: TvBall) -> Self {
        Self {
            ball,
            unit: ball.in_units(),
            num_differences: 0,
            alpha: 0.0,
            nu: 0.0,
            total: 0.0,
        }
    }

    /// Includes differences with the moduli `$|d_j|$` and `$|v_j|$`.
    #[inline(always)]
    pub(super) fn add(&mut self, moduli: &[f64], changes: &[f64]) {
        for (moduli, changes) in moduli.chunks(BLOCK).zip(changes.chunks(BLOCK)) {
            if self.ball.geometry.is_scalar {
                self.add_block::<true>(moduli, changes);
            } else {
                self.add_block::<false>(moduli, changes);
            }
        }
    }

    #[inline(always)]
    fn add_block<const SCALAR: bool>(&mut self, moduli: &[f64], changes: &[f64]) {
        let [mut alpha, mut nu] = [[0.0; BLOCK]; 2];
        let unit = self.unit;
        let outputs = alpha.iter_mut().zip(&mut nu);
        for ((alpha, nu), (&modulus, &change)) in outputs.zip(moduli.iter().zip(changes)) {
            let [low, _] = unit.interval(modulus);
            // A modulus that is not finite makes the product NaN, which comparisons would hide.
            *alpha = (second_derivative::<SCALAR>(low) + 0.0 * modulus) * change;
            *nu = flux_derivative(low) * change;
        }
        self.alpha += norm_squared(&alpha);
        self.nu += norm_squared(&nu);
        self.total += changes.iter().sum::<f64>();
        self.num_differences += moduli.len();
    }

    /// Returns the bounds for `$\alpha$`, `$\nu$` and `$\xi$`. `parameters` are those of the model.
    pub(super) fn finish(&self, norms: MixedNorms, parameters: TvParameters) -> [MixedBound; 3] {
        /// The number `$2/(3\sqrt3)$`, rounded up.
        const LARGEST: f64 = 0.384_900_179_459_751;
        let TvBall {
            geometry, error, ..
        } = self.ball;
        if !self.ball.is_valid() || !self.alpha.is_finite() {
            return [MixedBound::UNKNOWN; 3];
        }
        let scale = parameters.alpha / parameters.nu;
        let relative = error / parameters.nu;
        let num = count(self.num_differences);
        let root = geometry.norm_squared.sqrt();
        let up = 1.0 + (num + 64.0) * UNIT_ROUNDOFF;
        // More than underflow loses from the squares.
        let lost = num * f64::MIN_POSITIVE;
        let moved = |squares: f64| root * relative * (squares + lost).sqrt();
        let rounding = (num + 32.0) * UNIT_ROUNDOFF * self.total;
        let rounding_xi = (2.0 * num + 8.0) * UNIT_ROUNDOFF * norms.q * norms.x;
        let all = root * num.sqrt();
        let grown =
            |norm: f64| norm + geometry.norm_squared * relative + 32.0 * UNIT_ROUNDOFF * all;
        [
            MixedBound::new(
                (moved(self.alpha).min(2.0 * self.total) + rounding) * up,
                grown(norms.alpha).min(all) * up,
            ),
            MixedBound::new(
                scale * (moved(self.nu).min(2.0 * LARGEST * self.total) + rounding) * up,
                scale * grown(norms.nu / scale).min(LARGEST * all) * up,
            ),
            MixedBound::new((error * norms.q + rounding_xi) * up, (norms.x + error) * up),
        ]
    }
}

/// Returns the largest norm of the derivative of `$d/\sigma^3$` where `$|d| \ge m\nu$`, in units of
/// `$\nu^{-3}$`.
#[inline(always)]
fn flux_derivative(m: f64) -> f64 {
    let square = 1.0 + m * m;
    let along = 2.0 - 3.0 / square;
    let norm = if along > 1.0 { along } else { 1.0 };
    norm / (square * square.sqrt()) + 1e-200 // more than overflow loses
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(10_000))]

        /// The eigenvalues of the derivative of `$d/\sigma^3$`, by central differences along and
        /// across `$d$`, do not exceed the bound further in, and one of them attains it.
        #[test]
        fn flux_derivative_is_the_largest_eigenvalue(m in 0.0..6.0_f64, inside in 0.0..1.0_f64) {
            const H: f64 = 1e-5;
            let flux = |d: [f64; 2]| {
                let sigma = (d[0] * d[0] + d[1] * d[1] + 1.0).sqrt();
                d.map(|d| d / sigma.powi(3))
            };
            let along = (flux([m + H, 0.0])[0] - flux([m - H, 0.0])[0]) / (2.0 * H);
            let across = (flux([m, H])[1] - flux([m, -H])[1]) / (2.0 * H);
            let largest = along.abs().max(across.abs());
            prop_assert!((largest - flux_derivative(m)).abs() < 1e-8);
            prop_assert!(largest <= flux_derivative(inside * m) + 1e-8);
            prop_assert!(flux([m, 0.0])[0] <= 2.0 / 27_f64.sqrt() + 1e-15);
        }
    }
}
