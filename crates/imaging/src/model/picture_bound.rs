//! An error bound for pictures from Fourier samples, from a Newton step.
//!
//! If frequencies are missing, `$\mu = \xi$` is tiny, and `$\|\nabla\Phi(x)\|/\mu$` is many times
//! the error. The Newton step `$z$` tells the error much better: `$x^* - x = z + \delta$`, where
//! `$\delta$` is of second order. So `$1/\mu$` need only multiply what is left.
//!
//! **The equation of `$\delta$`.** Let `$g = \nabla\Phi(x)$`, `$e = x^* - x$`, `$t = De$` and
//! `$r = -g - H(x)z$`, the residual of a computed `$z$`. With the mean `$\bar H$` of the Hessian on
//! the segment from `$x$` to `$x^*$`, `$\bar He = -g$`, so `$\bar H\delta = r - (\bar H - H)z$`.
//! Here `$\bar H - H = D^T(\bar W - W)D$`, and by
//! [`third_derivative`](super::third_derivative),
//! `$|(\bar W_j - W_j)(Dz)_j| \le \frac12 k_j|t_j||(Dz)_j|$`, where `$k_j$` bounds the third
//! derivative of `$\alpha\sqrt{|d|^2 + \nu^2}$` between `$d_j$` and `$d_j + t_j$`. On the other
//! hand, `$\bar H \succeq \mu I + D^T\bar WD$`, and the eigenvalues of `$\bar W_j$` are at least
//! `$w_j = \alpha\nu^2((|d_j| + |t_j|)^2 + \nu^2)^{-3/2}$`. With
//! `$|t_j| \le |(Dz)_j| + |(D\delta)_j|$`,
//!
//! ```math
//! \mu\|\delta\|^2 + \sum_j w_j|(D\delta)_j|^2 \le \langle\delta, \bar H\delta\rangle
//! \le \|r\|\|\delta\| + \sum_j \tfrac12k_j\bigl(|(Dz)_j|^2|(D\delta)_j| + |(Dz)_j||(D\delta)_j|^2\bigr).
//! ```
//!
//! **Its solution.** Let `$a_j = w_j - \frac12k_j|(Dz)_j| + \eta$` and
//! `$q_j = \frac12k_j|(Dz)_j|^2$`. Since `$\|D\delta\|^2 \le 8\|\delta\|^2$`, if all `$a_j > 0$`,
//!
//! ```math
//! (\mu - 8\eta)\|\delta\|^2 \le \|r\|\|\delta\| + \sum_j\bigl(q_j|(D\delta)_j| - a_j|(D\delta)_j|^2\bigr)
//! \le \|r\|\|\delta\| + Q, \qquad Q = \sum_j\frac{q_j^2}{4a_j},
//! ```
//!
//! so `$\|\delta\| \le R' = \bigl(\|r\| + \sqrt{\|r\|^2 + 4\mu'Q}\bigr)/(2\mu')$` with
//! `$\mu' = \mu - 8\eta > 0$`.
//!
//! **The ball.** The numbers `$k_j$` and `$w_j$` need a bound on `$|t_j|$`. For `$\|\delta\| \le
//! R$`, it is `$|(Dz)_j| + \sqrt3R$`. **If `$R' < R$`, then `$\|\delta\| \le R'$`**, without prior
//! knowledge: for `$\tau \in [0, 1]$`, let `$y(\tau)$` be the point where `$\nabla\Phi = (1 -
//! \tau)g$`. It moves continuously from `$x$` to `$x^*$`, and all of the above holds for `$y(\tau)
//! - x = \tau z + \delta(\tau)$` with `$\tau z$`, `$\tau r$` in place of `$z$`, `$r$`, which makes
//! no bound larger. If `$\|\delta(\tau)\|$`, which begins at zero, ever reached `$R$`, it would be
//! at most `$R' < R$` there. Hence `$\|x^* - x\| \le \|z\| + R'$`.
//!
//! **Rounding.** The residual is computed by a product whose error is bounded, and the error of the
//! gradient is added to it. Everything else is a sum of few non-negative terms, except for `$a_j$`,
//! of which more than the rounding error of its two terms is subtracted.

use lowlevel::{NewtonPoint, SecondOrder, StronglyConvex, UNIT_ROUNDOFF, norm};

use super::TvParameters;
use super::circulant::count;
use super::picture::{COST, COST_PER_ITERATION, FourierPicture, FourierPictureScratch};
use super::picture_newton::Limits;
use super::third_derivative::RootBall;

/// The accepted residual of the Newton system, relative to `$\mu\|z\|$`; a choice.
const RESIDUAL: f64 = 0.2;
/// The residual, relative to the gradient, at which the bound is given up if it is impossible; a
/// choice.
const ROUGH: f64 = 0.1;
/// The ratio `$8\eta/\mu$`; a choice.
const SHARE: f64 = 0.25;
/// The largest number of iterations of conjugate gradients; a choice.
const MAX_ITERATIONS: usize = 120;
/// The largest number of balls that are tried; a choice.
const MAX_BALLS: usize = 6;
/// The radius of the next ball, relative to the radius that the last one needed; a choice.
const GROWTH: f64 = 1.5;
/// The cost of the bound without the solution of its system, in gradients (measured).
const BOUND_COST: f64 = 4.0;

impl FourierPicture<'_> {
    /// Returns a bound on the distance from the minimiser, and its cost in gradients: the bound
    /// from a Newton step, or that from the gradient if it is smaller or the target is out of
    /// reach.
    pub(super) fn newton_bound(
        &self,
        at: &NewtonPoint<'_>,
        gradient_error: f64,
        scratch: &mut FourierPictureScratch,
    ) -> (f64, f64) {
        let mu = self.curvature.strong_convexity();
        let proved = (at.gradient_norm + gradient_error) / mu * (1.0 + 4.0 * UNIT_ROUNDOFF);
        let target = at.target_norm / mu;
        let (model, own) = (self.system(), &mut scratch.system);
        own.weights.linearise(self.parameters, at.x, None);
        model.precondition(own);
        model.start(-1.0, at.gradient, own, &mut scratch.fourier);
        let limits = Limits {
            residual: gradient_error,
            relative: RESIDUAL * mu,
            largest: if target > 0.0 { target } else { f64::INFINITY },
            max_iterations: MAX_ITERATIONS,
        };
        let rough = Limits {
            residual: ROUGH * at.gradient_norm,
            ..limits
        };
        let (iterations, mut is_solved) = model.solve(rough, own, &mut scratch.fourier);
        let mut cost = COST + COST_PER_ITERATION * count(iterations);
        let mut z = std::mem::take(&mut scratch.vector);
        model.solution(own, &mut z, &mut scratch.fourier);
        // With a residual of zero, the bound must be possible.
        if is_solved && self.remainder_in_ball(&z, 0.0, mu, 0.0, scratch) < f64::INFINITY {
            let own = &mut scratch.system;
            let (more, is_small) = model.solve(limits, own, &mut scratch.fourier);
            cost += COST_PER_ITERATION * count(more);
            is_solved = is_small;
            model.solution(own, &mut z, &mut scratch.fourier);
        } else {
            is_solved = false;
        }
        if !is_solved {
            scratch.vector = z;
            return (proved, cost + 1.0);
        }
        let residual = self.newton_residual(at, &z, scratch) + gradient_error;
        let z_norm = norm(&z) * (1.0 + count(self.dim() + 8) * UNIT_ROUNDOFF);
        let rest = self.remainder(&z, residual, mu, scratch);
        scratch.vector = z;
        let bound = (z_norm + rest) * (1.0 + 4.0 * UNIT_ROUNDOFF);
        // NaN takes the bound of the gradient.
        let least = if bound < proved { bound } else { proved };
        (least, cost + BOUND_COST)
    }

    /// Returns a bound on `$\|g + H(x)z\|$`.
    fn newton_residual(
        &self,
        at: &NewtonPoint<'_>,
        z: &[f64],
        scratch: &mut FourierPictureScratch,
    ) -> f64 {
        scratch.linearisation.linearise(&self.tv, at.x);
        let mut product = std::mem::take(&mut scratch.product);
        self.hessian_product(z, &mut product, scratch);
        for (product, gradient) in product.iter_mut().zip(at.gradient) {
            *product += gradient;
        }
        let residual = norm(&product);
        scratch.product = product;
        let roundings = count(self.dim() + 8) * UNIT_ROUNDOFF;
        residual * (1.0 + roundings) + self.product_rounding(norm(z)) * (1.0 + roundings)
    }

    /// Returns a bound `$R'$` on `$\|\delta\|$`, or infinity if none is found.
    fn remainder(&self, z: &[f64], residual: f64, mu: f64, scratch: &FourierPictureScratch) -> f64 {
        let mut radius = GROWTH * GROWTH * residual / mu;
        for _ in 0..MAX_BALLS {
            let needed = self.remainder_in_ball(z, residual, mu, radius, scratch);
            if needed < radius {
                return needed;
            }
            if !(needed < f64::INFINITY) {
                break;
            }
            radius = GROWTH * needed;
        }
        f64::INFINITY
    }

    /// Returns `$R'$` for the ball of radius `$R$`, or infinity if some `$a_j$` is not positive.
    fn remainder_in_ball(
        &self,
        z: &[f64],
        residual: f64,
        mu: f64,
        radius: f64,
        scratch: &FourierPictureScratch,
    ) -> f64 {
        /// Exceeds the relative rounding error of every single term.
        const UP: f64 = 1.0 + 256.0 * UNIT_ROUNDOFF;
        /// Exceeds every loss by underflow of squares.
        const LOST: f64 = 1e-150;
        let TvParameters { alpha, nu, .. } = self.parameters;
        let eta = SHARE * mu / 8.0;
        let (mut sum, mut least) = (0.0, f64::INFINITY);
        let visit = |unit: f64, scale: f64, change: f64| {
            // With m = |d|/nu and the stored n = |d|/sigma: 1 + m^2 = (sigma/nu)^2.
            let modulus = unit * alpha / scale * UP + LOST;
            let change = change * UP + LOST;
            let reach = (change + 1.732_050_807_568_878 * radius) * UP;
            let [third, _] = RootBall::new(alpha, nu, reach).derivatives::<false>(modulus);
            let far = modulus + reach;
            let square = far * far + nu * nu;
            let weight = alpha * nu * nu / (square * square.sqrt());
            let half = 0.5 * third * change * UP;
            let absorbing = (weight + eta) / UP - half;
            least = if absorbing < least || absorbing.is_nan() {
                absorbing
            } else {
                least
            };
            let linear = half * change;
            sum += linear * linear / (4.0 * absorbing) * UP;
        };
        if alpha > 0.0 {
            scratch.system.weights.for_each_modulus(z, visit);
        } else {
            least = eta;
        }
        if !(least > 1e-3 * eta) {
            return f64::INFINITY;
        }
        let rest = mu * (1.0 - SHARE) / UP;
        let sum = sum * (1.0 + count(self.dim()) * UNIT_ROUNDOFF) + f64::MIN_POSITIVE;
        let root = (residual * residual + 4.0 * rest * sum).sqrt();
        (residual + root) / (2.0 * rest) * UP
    }
}
