//! An error bound for pictures from Fourier samples, from a Newton step.
//!
//! If frequencies are missing, `$\mu = \xi$` is tiny, and `$\|\nabla\Phi(x)\|/\mu$` is many times
//! the error. The Newton step `$z$` tells the error much better: `$x^* - x = z + \delta$`, where
//! `$\delta$` is of second order. So `$1/\mu$` need only multiply what is left.
//!
//! **The model.** The regulariser is `$\sum_j a_jh(d_j)$` with `$h(d) = \sqrt{|d|^2 + \nu^2}$` for
//! the responses `$d = Dx$`. A response is a vector: the two complex differences at a pixel for the
//! total variation, or one complex number for each filter of a bank and each pixel. The proof needs
//! one property of `$D$`, for any boundary: with the Lipschitz constant `$L_R$` of the gradient of
//! the regulariser, `$\sum_j\frac{a_j}{\nu}|(De)_j|^2 \le L_R\|e\|^2$`. The proof of
//! `$L_R$` shows this inequality, since `$a_j/\nu$` is the largest curvature of a potential.
//!
//! **The equation of `$\delta$`.** Let `$g = \nabla\Phi(x)$` and `$r = -g - H(x)z$`, the residual
//! of a computed `$z$`. With `$t = Dz$`, `$u = D\delta$` and the Hessian `$B$` of the other terms,
//! whose eigenvalues are at least `$\mu$`, `$\nabla\Phi(x + z + \delta) = 0$` says
//!
//! ```math
//! B\delta + D^T\bigl(a_j\nabla h(d_j + t_j + u_j) - a_j\nabla h(d_j + t_j) + \rho_j\bigr)_j = r, \qquad
//! \rho_j = a_j\bigl(\nabla h(d_j + t_j) - \nabla h(d_j) - \nabla^2h(d_j)t_j\bigr).
//! ```
//!
//! The remainders `$\rho_j$` are known. In the inner product with `$\delta$`, the difference of the
//! gradients of `$h$` is not negative. The smallest eigenvalue of `$\nabla^2h(d)$` is
//! `$c(|d|) = \nu^2(|d|^2 + \nu^2)^{-3/2}$`, which decreases, and is the derivative of
//! `$n(m) = m(m^2 + \nu^2)^{-1/2}$`. So with `$m_j = |d_j + t_j|$` and `$s_j = |u_j|$`,
//!
//! ```math
//! \mu\|\delta\|^2 + \sum_ja_js_j\bigl(n(m_j + s_j) - n(m_j)\bigr) \le \|r\|\|\delta\| + \sum_j|\rho_j|s_j.
//! ```
//!
//! **Its solution.** A share `$\kappa$` of `$\mu$` helps: with `$\eta_j =
//! \frac{\kappa\mu}{L_R}\frac{a_j}{\nu}$`, `$\sum_j\eta_js_j^2 \le \kappa\mu\|\delta\|^2$`. It
//! remains to find the largest value of `$|\rho_j|s - a_js(n(m_j + s) - n(m_j)) - \eta_js^2$` for
//! `$s \ge 0$`. It is at most `$\rho_j^2/(4\eta_j)$`. Now let `$S > 0$` be such that `$a_j(n(m_j +
//! S) - n(m_j)) \ge |\rho_j|$`, and let `$b_jS$` be the left-hand side. For `$s \ge S$` the value
//! is not positive. For `$s \le S$`, `$n(m_j + s) - n(m_j)$` is concave in `$s$`, so it is at least
//! `$b_js/a_j$`, and the value is at most `$\rho_j^2/(4(b_j + \eta_j))$`. With the sum `$Q$` of
//! these numbers,
//!
//! ```math
//! (1 - \kappa)\mu\|\delta\|^2 \le \|r\|\|\delta\| + Q, \qquad
//! \|\delta\| \le R = \frac{\|r\| + \sqrt{\|r\|^2 + 4(1 - \kappa)\mu Q}}{2(1 - \kappa)\mu},
//! ```
//!
//! and `$\|x^* - x\| \le \|z\| + R$`. The bound holds for any `$z$`, so conjugate gradients stop as
//! soon as `$R$` is small enough: with `$m = (1 - \kappa)\mu$` and `$t$` = target `$- \|z\|$`,
//! `$R \le t$` if `$\|r\| \le mt - Q/t$`. An `$S$` exists unless the gradient of `$h$` is nearly of
//! norm 1, that is, at edges, where `$\rho_j$` is of the order `$a_j(|t_j|/|d_j|)^2$`.
//!
//! **Rounding.** The residual is computed by a product whose error is bounded, and the error of the
//! gradient is added to it. If `$d_j$` and `$t_j$` have errors of `$\varepsilon$`, `$\rho_j$` has
//! one of at most `$2a_j\varepsilon(1 + |t_j|/\nu)/\nu$`, and its own terms are at most `$a_j$`,
//! `$a_j$` and `$a_j|t_j|/\nu$`; instead of `$|t_j|$`, `$\max_j|t_j|$` is at most a multiple of the
//! largest entry of `$z$`. With `$M = m + S$`, `$n(M) - n(m) = \nu^2S(M + m)/(\sigma_M\sigma_m(M
//! \sigma_m + m\sigma_M))$`, where `$\sigma_m = \sqrt{m^2 + \nu^2}$`, a product of positive
//! numbers like everything else.

use lowlevel::{NewtonPoint, SecondOrder, StronglyConvex, UNIT_ROUNDOFF, norm};

use super::TvParameters;
use super::circulant::count;
use super::picture::{COST, COST_PER_ITERATION, FourierPicture, FourierPictureScratch};
use super::picture_newton::Limits;

/// The accepted residual of the Newton system, relative to `$\mu\|z\|$`; a choice.
const RESIDUAL: f64 = 0.5;
/// The accepted residual, relative to the largest one with which the target is certified; a choice.
const PART: f64 = 0.7;
/// The residual, relative to the gradient, at which the bound is given up if it is impossible; a
/// choice.
const ROUGH: f64 = 0.1;
/// The share `$\kappa$`; a choice.
const SHARE: f64 = 0.25;
/// The largest number of iterations of conjugate gradients; a choice.
const MAX_ITERATIONS: usize = 250;
/// The reserve with which `$S$` is chosen; a choice.
const RESERVE: f64 = 1.05;
/// Exceeds the relative rounding error of every single term of the bound.
const UP: f64 = 1.0 + 256.0 * UNIT_ROUNDOFF;
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
        let target = match at.target_norm / mu {
            target if target > 0.0 => target,
            _ => f64::INFINITY,
        };
        let (model, own) = (self.system(), &mut scratch.system);
        model.linearise(at.x, None, own);
        model.start(-1.0, at.gradient, own, &mut scratch.fourier);
        let mut limits = Limits {
            residual: gradient_error.max(ROUGH * at.gradient_norm),
            relative: RESIDUAL * mu,
            largest: target,
            max_iterations: MAX_ITERATIONS,
        };
        let (iterations, is_rough) = model.solve(limits, own, &mut scratch.fourier);
        let cost = COST + COST_PER_ITERATION * count(iterations);
        let mut z = std::mem::take(&mut scratch.vector);
        model.solution(own, &mut z, &mut scratch.fourier);
        // The largest residual with which the target is certified if z and Q do not change.
        let z_norm = norm(&z);
        let room = (target - z_norm).max(0.0);
        let source = self.source(at.x, &z, &mut scratch.remainders);
        let largest = (1.0 - SHARE) * mu * room - source / room;
        if !(is_rough && largest > 0.0) {
            scratch.vector = z;
            return (proved, cost + 1.0);
        }
        limits.residual = gradient_error;
        limits.relative = limits.relative.min(PART * largest / z_norm);
        limits.max_iterations -= iterations;
        let (more, _) = model.solve(limits, &mut scratch.system, &mut scratch.fourier);
        model.solution(&scratch.system, &mut z, &mut scratch.fourier);
        // Whatever the iterations achieved, the bound holds.
        let residual = self.newton_residual(at, &z, scratch) + gradient_error;
        let z_norm = norm(&z) * (1.0 + count(self.dim() + 8) * UNIT_ROUNDOFF);
        let source = self.source(at.x, &z, &mut scratch.remainders);
        scratch.vector = z;
        let bound = (z_norm + self.radius(residual, source)) * (1.0 + 4.0 * UNIT_ROUNDOFF);
        // NaN takes the bound of the gradient.
        let least = if bound < proved { bound } else { proved };
        (least, cost + COST_PER_ITERATION * count(more) + BOUND_COST)
    }

    /// Returns a bound on `$\|g + H(x)z\|$`.
    fn newton_residual(
        &self,
        at: &NewtonPoint<'_>,
        z: &[f64],
        scratch: &mut FourierPictureScratch,
    ) -> f64 {
        let regularizer = self.regularizer.as_hessian();
        scratch.linearisation.linearise(regularizer, at.x);
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

    /// Returns the sum `$Q$`.
    fn source(&self, x: &[f64], z: &[f64], pairs: &mut Vec<[f64; 2]>) -> f64 {
        let TvParameters { alpha, nu, .. } = self.parameters;
        let mu = self.curvature.strong_convexity();
        self.regularizer.remainders(x, z, pairs);
        let [lost, largest] = self.regularizer.response_bounds(x, z);
        let rounding = 2.0 * (lost / nu + 16.0 * UNIT_ROUNDOFF) * (1.0 + largest / nu) * UP;
        let per_curvature = SHARE * mu / self.regularizer.as_regularizer().lipschitz();
        let per_filter = pairs.len() / self.regularizer.weights().count();
        let filters = self
            .regularizer
            .weights()
            .zip(pairs.chunks_exact(per_filter));
        let mut sum = 0.0;
        for (weight, pairs) in filters {
            let a = alpha * weight;
            if a == 0.0 {
                continue; // this potential is zero
            }
            let eta = per_curvature * (weight / nu);
            for &[rest, modulus] in pairs {
                let rest = rest * UP + rounding;
                let modulus = modulus * UP + 2.0 * lost;
                let absorbing = (a * absorbed(rest, modulus, nu) / UP + eta) / UP;
                let rho = a * rest;
                sum += rho * rho / (4.0 * absorbing) * UP;
            }
        }
        sum * (1.0 + count(pairs.len()) * UNIT_ROUNDOFF) + f64::MIN_POSITIVE
    }

    /// Returns the bound `$R$` on `$\|\delta\|$`.
    fn radius(&self, residual: f64, source: f64) -> f64 {
        let rest = self.curvature.strong_convexity() * (1.0 - SHARE) / UP;
        let root = (residual * residual + 4.0 * rest * source).sqrt();
        (residual + root) / (2.0 * rest) * UP
    }
}

/// Returns `$b_j/a_j$` for `$|\rho_j|/a_j$` and `$m_j$`, or zero if no `$S$` was found.
#[inline(always)]
fn absorbed(rest: f64, modulus: f64, nu: f64) -> f64 {
    let square = modulus * modulus + nu * nu;
    let sigma = square.sqrt();
    // The exact S where rho is not small, and one from the curvature at m where it is.
    let level = modulus / sigma + rest;
    let exact = nu * level / (1.0 - level * level).sqrt() - modulus;
    let small = rest * square * sigma / (nu * nu);
    let step = RESERVE * if exact > small { exact } else { small };
    let far = modulus + step;
    let far_sigma = (far * far + nu * nu).sqrt();
    let sum = far + modulus;
    let slope = nu * nu * sum / (sigma * far_sigma * (far * sigma + modulus * far_sigma));
    // NaN absorbs nothing.
    if slope * step >= rest * (1.0 + 64.0 * UNIT_ROUNDOFF) {
        slope
    } else {
        0.0
    }
}
