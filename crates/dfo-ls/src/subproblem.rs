//! Trust-region subproblems: minimisation of a quadratic or linear function over the trust region.
//!
//! There are three kinds of regions, each with its own method: the ball ([`ball`]), the ball and a
//! box ([`boxed`], [`linear`]), and the ball and convex sets that are given by projections
//! ([`projected`], which uses [`prox`]). Steps are measured from the centre. The centre is
//! feasible, so the zero step always is.
//!
//! Problems on ball and box are first scaled by powers of two, so that the step and the larger of
//! the linear and the quadratic term are of order one. The scaling does not round, and nothing
//! overflows after it.

mod ball;
mod boxed;
mod linear;
mod projected;
mod prox;
mod truncated;

pub(crate) use linear::minimize_linear;
pub(crate) use projected::{minimize_composite, minimize_linear_over};
pub(crate) use prox::{BoxedProx, Prox, ProxTerms, prox_of_sum};
pub(crate) use truncated::minimize_truncated;

use crate::linalg::{Matrix, all_finite, dot, exponent, max_abs, norm, power_of_two};

/// A quadratic function `$q(s) = g^T s + \tfrac12 s^T H s$` with symmetric `$H$`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quadratic<'a> {
    pub(crate) gradient: &'a [f64],
    pub(crate) hessian: &'a Matrix,
}

/// The intersection of ball and box around the centre: `$\|s\| \le \Delta$` and `$l \le s \le u$`
/// with `$l \le 0 \le u$`. Bounds may be infinite.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BallAndBox<'a> {
    pub(crate) radius: f64,
    pub(crate) lower: &'a [f64],
    pub(crate) upper: &'a [f64],
}

/// A step, with the decrease and the curvature of the quadratic.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SubproblemStep {
    pub(crate) step: Vec<f64>,
    /// The decrease `$-q(s)$`, zero or positive.
    pub(crate) decrease: f64,
    /// An estimate of the smallest eigenvalue of `$H$` on the free variables if `$H$` is positive
    /// definite there and the step is inside the ball; otherwise zero.
    pub(crate) curvature: f64,
}

impl SubproblemStep {
    pub(crate) fn zero(n: usize) -> Self {
        Self {
            step: vec![0.0; n],
            decrease: 0.0,
            curvature: 0.0,
        }
    }
}

impl Quadratic<'_> {
    /// The value `$q(s)$`.
    pub(crate) fn value(&self, step: &[f64]) -> f64 {
        let mut product = vec![0.0; step.len()];
        self.hessian.mul_vec(step, &mut product);
        dot(self.gradient, step) + 0.5 * dot(&product, step)
    }

    fn is_finite(&self) -> bool {
        all_finite(self.gradient) && all_finite(self.hessian.as_slice())
    }
}

impl BallAndBox<'_> {
    /// Whether the radius is positive and the bounds of all `n` variables contain zero.
    fn is_valid(&self, n: usize) -> bool {
        assert_eq!((self.lower.len(), self.upper.len()), (n, n));
        let around_zero = |(l, u): (&f64, &f64)| *l <= 0.0 && *u >= 0.0;
        self.radius > 0.0 && self.lower.iter().zip(self.upper).all(around_zero)
    }

    /// Whether a bound lies inside the ball.
    fn has_bounds(&self) -> bool {
        let inside = |(l, u): (&f64, &f64)| -l < self.radius || *u < self.radius;
        self.lower.iter().zip(self.upper).any(inside)
    }

    /// Removes rounding errors from a step, so that the bounds hold exactly and the norm is at most
    /// `$(1 + 10^{-12})\Delta$`.
    fn enforce(&self, step: &mut [f64]) {
        for (s, (l, u)) in step.iter_mut().zip(self.lower.iter().zip(self.upper)) {
            *s = s.clamp(*l, *u);
        }
        let length = norm(step);
        if length > self.radius * (1.0 + 1e-12) {
            let scale = self.radius / length;
            step.iter_mut().for_each(|s| *s *= scale);
        }
    }
}

/// The ratio of curvature to slope, as an exponent of two, beyond which squares would underflow.
const STEEPEST_RATIO: i32 = 300;

/// Minimises a quadratic over ball and box. The minimiser is global if `$H$` is positive
/// semidefinite or no bound is inside the ball. Otherwise the decrease is at least that of the best
/// point on the projected gradient path. The step is zero if an input is NaN or infinite, or if no
/// step decreases the quadratic.
pub(crate) fn minimize_quadratic(
    quadratic: &Quadratic<'_>,
    region: &BallAndBox<'_>,
) -> SubproblemStep {
    let n = quadratic.gradient.len();
    assert_eq!((quadratic.hessian.rows(), quadratic.hessian.cols()), (n, n));
    if !region.is_valid(n) || !quadratic.is_finite() {
        return SubproblemStep::zero(n);
    }
    let slope = max_abs(quadratic.gradient);
    let bend = exponent(max_abs(quadratic.hessian.as_slice()));
    let radius = region.radius.min(f64::MAX);
    let ratio = exponent(radius) + bend - exponent(slope);
    if slope > 0.0 && ratio > STEEPEST_RATIO {
        // A Newton step, if there is one, is far inside the ball.
        let near = power_of_two(exponent(radius) - ratio + STEEPEST_RATIO);
        let step = minimize_scaled(quadratic, region, near.max(f64::MIN_POSITIVE));
        if norm(&step.step) < 0.5 * near {
            return step;
        }
    }
    minimize_scaled(quadratic, region, radius)
}

/// Minimises a quadratic over ball and box, in units in which all numbers are of order one.
fn minimize_scaled(
    quadratic: &Quadratic<'_>,
    region: &BallAndBox<'_>,
    radius: f64,
) -> SubproblemStep {
    let n = quadratic.gradient.len();
    let size = exponent(radius);
    let slope = exponent(max_abs(quadratic.gradient));
    let bend = exponent(max_abs(quadratic.hessian.as_slice()));
    let energy = (size + slope).max(2 * size + bend);
    // Scale by two factors, since one alone may be out of range.
    let down = |from: i32, to: i32| (power_of_two(-from), power_of_two(to.max(-STEEPEST_RATIO)));
    let (first, second) = down(slope, size + slope - energy);
    let gradient: Vec<f64> = quadratic
        .gradient
        .iter()
        .map(|g| g * first * second)
        .collect();
    let (first, second) = down(bend, 2 * size + bend - energy);
    let mut hessian = quadratic.hessian.clone();
    for entry in hessian.as_mut_slice() {
        *entry = *entry * first * second;
    }
    let unit = power_of_two(size);
    let scaled = Quadratic {
        gradient: &gradient,
        hessian: &hessian,
    };
    let within = BallAndBox { radius, ..*region };
    let solved = if within.has_bounds() {
        let bounds = |bounds: &[f64]| bounds.iter().map(|b| b / unit).collect::<Vec<_>>();
        let (lower, upper) = (bounds(region.lower), bounds(region.upper));
        let region = BallAndBox {
            radius: radius / unit,
            lower: &lower,
            upper: &upper,
        };
        boxed::minimize(&scaled, &region)
    } else {
        ball_alone(&scaled, radius / unit)
    };
    if !(solved.decrease > 0.0) {
        return SubproblemStep {
            curvature: unscale(solved.curvature, energy - 2 * size),
            ..SubproblemStep::zero(n)
        };
    }
    let mut step = solved.step;
    step.iter_mut().for_each(|s| *s *= unit);
    within.enforce(&mut step);
    SubproblemStep {
        step,
        decrease: unscale(solved.decrease, energy),
        curvature: unscale(solved.curvature, energy - 2 * size),
    }
}

fn ball_alone(quadratic: &Quadratic<'_>, radius: f64) -> SubproblemStep {
    let mut solver = ball::Ball::default();
    let mut step = Vec::new();
    let kind = solver.minimize(quadratic.gradient, quadratic.hessian, radius, &mut step);
    SubproblemStep {
        decrease: -quadratic.value(&step),
        curvature: solver.curvature(kind, step.len()),
        step,
    }
}

/// The product `$x 2^e$`, limited to the largest finite number.
fn unscale(x: f64, exponent: i32) -> f64 {
    let half = exponent / 2;
    let scaled = x * power_of_two(half) * power_of_two(exponent - half);
    if scaled.is_nan() {
        0.0
    } else {
        scaled.min(f64::MAX)
    }
}

#[cfg(test)]
mod tests;
