//! An error bound for pictures from Fourier samples, from a Newton step.
//!
//! If frequencies are missing, `$\mu = \xi$` is tiny, and `$\|\nabla\Phi(x)\|/\mu$` is many times
//! the error. The Newton step `$z$` tells the error much better: `$x^* - x = z + \delta$`, where
//! `$\delta$` is of second order. So `$1/\mu$` need only multiply what is left.
//!
//! **The model.** The regulariser is `$\sum_j\varphi_j(d_j)$` with `$\varphi_j(d) =
//! a_j\sqrt{|d|^2 + \nu^2}$` for the responses `$d = Dx$`. A response is a vector: the two complex
//! differences at a pixel for the total variation, or one complex number for each filter of a bank
//! and each pixel. The proof needs two properties of `$D$`, which hold with any boundary. No
//! response changes by more than `$\rho\|e\|$` if the picture changes by `$e$`, where `$\rho$` is
//! `$\sqrt3$` for the total variation, and 2 for cosine filters, whose norm is 1, at the corners of
//! a mirrored picture. And with the Lipschitz constant `$L_R$` of the gradient of the regulariser,
//! `$\sum_j\frac{a_j}{\nu}|(De)_j|^2 \le L_R\|e\|^2$`: so it was proved, for the largest curvatures
//! `$a_j/\nu$` of all potentials.
//!
//! **The equation of `$\delta$`.** Let `$g = \nabla\Phi(x)$`, `$e = x^* - x$`, `$t = De$` and
//! `$r = -g - H(x)z$`, the residual of a computed `$z$`. With the mean `$\bar H$` of the Hessian on
//! the segment from `$x$` to `$x^*$`, `$\bar He = -g$`, so `$\bar H\delta = r - (\bar H - H)z$`.
//! Here `$\bar H - H = D^T(\bar W - W)D$`, and by
//! [`third_derivative`](super::third_derivative),
//! `$|(\bar W_j - W_j)(Dz)_j| \le \frac12 k_j|t_j||(Dz)_j|$`, where `$k_j$` bounds the third
//! derivative of `$\varphi_j$` between `$d_j$` and `$d_j + t_j$`. On the other hand, `$\bar H
//! \succeq \mu I + D^T\bar WD$`, and the eigenvalues of `$\bar W_j$` are at least
//! `$w_j = a_j\nu^2((|d_j| + |t_j|)^2 + \nu^2)^{-3/2}$`. With
//! `$|t_j| \le |(Dz)_j| + |(D\delta)_j|$`,
//!
//! ```math
//! \mu\|\delta\|^2 + \sum_j w_j|(D\delta)_j|^2 \le \langle\delta, \bar H\delta\rangle
//! \le \|r\|\|\delta\| + \sum_j \tfrac12k_j\bigl(|(Dz)_j|^2|(D\delta)_j| + |(Dz)_j||(D\delta)_j|^2\bigr).
//! ```
//!
//! **Its solution.** A share `$s$` of `$\mu$` helps the curvatures `$w_j$`: with
//! `$\eta_j = \frac{s\mu}{L_R}\frac{a_j}{\nu}$`, `$\sum_j\eta_j|(D\delta)_j|^2 \le
//! s\mu\|\delta\|^2$`. Let `$b_j = w_j - \frac12k_j|(Dz)_j| + \eta_j$` and
//! `$q_j = \frac12k_j|(Dz)_j|^2$`. If all `$b_j > 0$`,
//!
//! ```math
//! (1 - s)\mu\|\delta\|^2 \le \|r\|\|\delta\| + \sum_j\bigl(q_j|(D\delta)_j| - b_j|(D\delta)_j|^2\bigr)
//! \le \|r\|\|\delta\| + Q, \qquad Q = \sum_j\frac{q_j^2}{4b_j},
//! ```
//!
//! so `$\|\delta\| \le R' = \bigl(\|r\| + \sqrt{\|r\|^2 + 4\mu'Q}\bigr)/(2\mu')$` with
//! `$\mu' = (1 - s)\mu$`.
//!
//! **The ball.** The numbers `$k_j$` and `$w_j$` need a bound on `$|t_j|$`. For `$\|\delta\| \le
//! R$`, it is `$|(Dz)_j| + \rho R$`. **If `$R' < R$`, then `$\|\delta\| \le R'$`**, without prior
//! knowledge: for `$\tau \in [0, 1]$`, let `$y(\tau)$` be the point where `$\nabla\Phi = (1 -
//! \tau)g$`. It moves continuously from `$x$` to `$x^*$`, and all of the above holds for `$y(\tau)
//! - x = \tau z + \delta(\tau)$` with `$\tau z$`, `$\tau r$` in place of `$z$`, `$r$`, which makes
//! no bound larger. If `$\|\delta(\tau)\|$`, which begins at zero, ever reached `$R$`, it would be
//! at most `$R' < R$` there. Hence `$\|x^* - x\| \le \|z\| + R'$`.
//!
//! **Rounding.** The residual is computed by a product whose error is bounded, and the error of the
//! gradient is added to it. The rounding errors of responses are added to their moduli. Everything
//! else is a sum of few non-negative terms, except for `$b_j$`, of which more than the rounding
//! error of its two terms is subtracted.

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
/// The share `$s$`; a choice.
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
        model.linearise(at.x, None, own);
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
        if is_solved && self.remainder(at.x, &z, None, scratch) < f64::INFINITY {
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
        let rest = self.remainder(at.x, &z, Some(residual), scratch);
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

    /// Returns a bound `$R'$` on `$\|\delta\|$`, or infinity if none is found. Without a residual,
    /// returns `$R'$` for a residual and a ball of radius zero: if that is infinite, so is every
    /// other one.
    fn remainder(
        &self,
        x: &[f64],
        z: &[f64],
        residual: Option<f64>,
        scratch: &mut FourierPictureScratch,
    ) -> f64 {
        self.regularizer.moduli(x, z, &mut scratch.moduli);
        let lost = [x, z].map(|picture| self.regularizer.response_rounding(picture));
        let in_ball =
            |residual, radius| self.remainder_in_ball(&scratch.moduli, lost, residual, radius);
        let Some(residual) = residual else {
            return in_ball(0.0, 0.0);
        };
        let mut radius = GROWTH * GROWTH * residual / self.curvature.strong_convexity();
        for _ in 0..MAX_BALLS {
            let needed = in_ball(residual, radius);
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

    /// Returns `$R'$` for the ball of radius `$R$`, or infinity if some `$b_j$` is not positive.
    /// `moduli` are `$|d_j|$` and `$|(Dz)_j|$`, filter after filter, and `lost` bounds their
    /// rounding errors.
    fn remainder_in_ball(
        &self,
        moduli: &[[f64; 2]],
        lost: [f64; 2],
        residual: f64,
        radius: f64,
    ) -> f64 {
        /// Exceeds the relative rounding error of every single term.
        const UP: f64 = 1.0 + 256.0 * UNIT_ROUNDOFF;
        /// Exceeds every loss by underflow of squares.
        const LOST: f64 = 1e-150;
        let TvParameters { alpha, nu, .. } = self.parameters;
        let mu = self.curvature.strong_convexity();
        let per_curvature = SHARE * mu / self.regularizer.as_regularizer().lipschitz();
        let ball = self.regularizer.reach() * radius;
        let weights = self.regularizer.weights();
        let per_filter = moduli.len() / self.regularizer.weights().count();
        let mut sum = 0.0;
        for (weight, moduli) in weights.zip(moduli.chunks_exact(per_filter)) {
            let a = alpha * weight;
            if a == 0.0 {
                continue; // this potential is zero
            }
            let eta = per_curvature * (weight / nu);
            let (mut own, mut least) = (0.0, f64::INFINITY);
            for &[modulus, change] in moduli {
                let change = change * UP + lost[1] + LOST;
                let reach = (change + ball) * UP + lost[0] + LOST;
                let [third, _] = RootBall::new(a, nu, reach).derivatives::<false>(modulus);
                let far = modulus * UP + reach;
                let square = far * far + nu * nu;
                let least_curvature = a * nu * nu / (square * square.sqrt());
                let half = 0.5 * third * change * UP;
                let absorbing = (least_curvature + eta) / UP - half;
                least = if absorbing < least || absorbing.is_nan() {
                    absorbing
                } else {
                    least
                };
                let linear = half * change;
                own += linear * linear / (4.0 * absorbing) * UP;
            }
            if !(least > 1e-3 * eta) {
                return f64::INFINITY;
            }
            sum += own;
        }
        let rest = mu * (1.0 - SHARE) / UP;
        let sum = sum * (1.0 + count(moduli.len()) * UNIT_ROUNDOFF) + f64::MIN_POSITIVE;
        let root = (residual * residual + 4.0 * rest * sum).sqrt();
        (residual + root) / (2.0 * rest) * UP
    }
}
