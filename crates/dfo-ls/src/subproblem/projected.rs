//! The general convex case: `$\min q(s) + h(s)$` over `$\|s\| \le \Delta$` and convex sets that are
//! given by their projections, with a convex `$h$` that is given by its proximal map.
//!
//! The method is the accelerated proximal gradient method,
//! `$s_+ = \operatorname{prox}_{t(h + \dots)}(y - t \nabla q(y))$` with `$t = 1/\|H\|_2$`. Momentum
//! is reset when it leads uphill; a step without momentum descends for any `$H$`. The method is
//! slow for an ill-conditioned `$H$`, so a Newton step is tried at intervals.

use super::prox::{HARDLY, ProxOfSum, ProxTerms};
use super::{BallAndBox, Quadratic, SubproblemStep, minimize_quadratic};
use crate::linalg::{Matrix, all_finite, axpy, dot, inverse, norm, product, symmetric_eigen};

/// The largest number of gradient steps. Not tuned.
const MAX_GRADIENT_STEPS: usize = 2000;
/// The length of a gradient step, relative to the radius, at which the method ends: rounding level.
const SHORT: f64 = 1e-14;
/// The number of gradient steps between two Newton steps, unless the last Newton step succeeded.
/// Not tuned.
const NEWTON_PERIOD: usize = 40;
/// The width of the differences in Newton's method, relative to the radius: about the cube root of
/// the rounding error.
const DIFFERENCE: f64 = 1e-5;
/// The largest length of a gradient step, in multiples of the radius. Not tuned.
const LONGEST: f64 = 100.0;
/// The share of the radius up to which a step is inside the ball.
const INTERIOR: f64 = 1.0 - 1e-6;
/// The largest number of steps for a linear function. Not tuned.
const MAX_LINEAR_STEPS: i32 = 40;
/// The largest step for a linear function, as a power of two times the radius. Not tuned.
const LONGEST_LINEAR: i32 = 13;
/// The length of a step for a linear function, relative to the radius, at which the method ends.
/// Not tuned.
const SHORT_LINEAR: f64 = 1e-11;

/// Minimises `$q + h$` over the ball and all terms. The minimiser is global if `$H$` is positive
/// semidefinite.
///
/// `value` computes `$h$` (zero if all terms are sets), and the proximal map of `$h$` must be among
/// the terms. The decrease is `$h(0) - q(s) - h(s)$`. The curvature is the smallest eigenvalue of
/// `$H$` for a step inside the ball. The step is zero if no step decreases `$q + h$`.
pub(crate) fn minimize_composite(
    quadratic: &Quadratic<'_>,
    value: &dyn Fn(&[f64]) -> f64,
    terms: ProxTerms<'_>,
    radius: f64,
) -> SubproblemStep {
    let (g, h) = (quadratic.gradient, quadratic.hessian);
    let n = g.len();
    let zero = vec![0.0; n];
    let at_zero = value(&zero);
    let valid = radius > 0.0 && radius < f64::INFINITY && quadratic.is_finite();
    let Some((eigenvalues, _)) = symmetric_eigen(h).filter(|_| valid && n > 0) else {
        return SubproblemStep::zero(n);
    };
    let (least, most) = (eigenvalues[0], eigenvalues[n - 1]);
    let lipschitz = (most.max(-least)).max(norm(g) / (LONGEST * radius));
    let t = if lipschitz > 0.0 {
        lipschitz.recip()
    } else {
        // The quadratic is zero, and only the size of h is known.
        LONGEST * radius * radius / at_zero.abs().max(f64::MIN_POSITIVE)
    };
    let t = t.min(f64::MAX);
    let mut descent = ProximalDescent {
        quadratic: *quadratic,
        value,
        sum: ProxOfSum::new(terms, n),
        t: t.min(f64::MAX),
        radius,
        bent: vec![0.0; n],
    };
    let step = descent.run(zero);
    let decrease = -(quadratic.value(&step) + (value(&step) - at_zero));
    if !(decrease > 0.0) {
        return SubproblemStep::zero(n);
    }
    let interior = norm(&step) < radius * INTERIOR;
    SubproblemStep {
        step,
        decrease,
        curvature: if interior { least.max(0.0) } else { 0.0 },
    }
}

/// The accelerated proximal gradient method.
struct ProximalDescent<'a> {
    quadratic: Quadratic<'a>,
    value: &'a dyn Fn(&[f64]) -> f64,
    sum: ProxOfSum<'a>,
    t: f64,
    radius: f64,
    bent: Vec<f64>,
}

impl ProximalDescent<'_> {
    fn run(&mut self, zero: Vec<f64>) -> Vec<f64> {
        let mut step = zero;
        for mut candidate in unconstrained(&self.quadratic, self.radius) {
            self.sum
                .prox_in_ball(HARDLY * self.t, self.radius, &mut candidate);
            if self.change(&step, &candidate) < 0.0 {
                step = candidate;
            }
        }
        let mut point = step.clone(); // the extrapolated point
        let mut next = step.clone();
        let mut momentum = 1.0_f64;
        let mut newton_at = NEWTON_PERIOD;
        for k in 0..MAX_GRADIENT_STEPS {
            if k == newton_at {
                newton_at = k + NEWTON_PERIOD;
                if let Some(better) = self.newton(&step) {
                    newton_at = k + 1;
                    step = better;
                    point.copy_from_slice(&step);
                    momentum = 1.0;
                }
            }
            self.gradient_step(&point, &mut next);
            if !(self.change(&step, &next) < 0.0) {
                if momentum <= 1.0 {
                    break;
                }
                momentum = 1.0;
                point.copy_from_slice(&step);
                continue;
            }
            // `point` becomes minus the gradient step, `step` the move of the whole iteration.
            axpy(-1.0, &next, &mut point);
            let short = norm(&point) <= SHORT * self.radius;
            step.iter_mut().zip(&next).for_each(|(s, x)| *s = x - *s);
            let uphill = dot(&point, &step) > 0.0;
            let following = 0.5 * (1.0 + (1.0 + 4.0 * momentum * momentum).sqrt());
            let weight = if uphill {
                0.0
            } else {
                (momentum - 1.0) / following
            };
            momentum = if uphill { 1.0 } else { following };
            for ((p, s), x) in point.iter_mut().zip(&mut step).zip(&next) {
                *p = x + weight * *s;
                *s = *x;
            }
            if short || self.sum.is_exhausted() {
                break;
            }
        }
        step
    }

    /// Sets `next` to `$\operatorname{prox}(y - t\nabla q(y))$`.
    fn gradient_step(&mut self, point: &[f64], next: &mut [f64]) {
        self.descend(point, next);
        self.sum.prox_in_ball(self.t, self.radius, next);
    }

    /// Sets `next` to `$y - t\nabla q(y)$`.
    fn descend(&mut self, point: &[f64], next: &mut [f64]) {
        self.quadratic.hessian.mul_vec(point, &mut self.bent);
        axpy(1.0, self.quadratic.gradient, &mut self.bent);
        next.copy_from_slice(point);
        axpy(-self.t, &self.bent, next);
    }

    /// The change of `$q + h$` from one step to the next, without the cancellation of a difference
    /// of two values of `$q$`.
    fn change(&mut self, from: &[f64], to: &[f64]) -> f64 {
        let middle: Vec<f64> = from.iter().zip(to).map(|(a, b)| 0.5 * (a + b)).collect();
        self.quadratic.hessian.mul_vec(&middle, &mut self.bent);
        axpy(1.0, self.quadratic.gradient, &mut self.bent);
        let moves = from.iter().zip(to).map(|(a, b)| b - a);
        let slope: f64 = moves.zip(&self.bent).map(|(d, b)| d * b).sum();
        slope + ((self.value)(to) - (self.value)(from))
    }

    /// Tries one Newton step for `$s = \operatorname{prox}(s - t\nabla q(s))$`, followed by a
    /// gradient step; `None` if the value is not lower. The Newton step `$d$` solves
    /// `$(I - M(I - tH))d = \operatorname{prox}(\dots) - s$`, where `$M$` is the derivative of the
    /// proximal map, computed by differences. It is `$I$` inside all sets, and a projection where
    /// some of them are active.
    fn newton(&mut self, step: &[f64]) -> Option<Vec<f64>> {
        let n = step.len();
        let mut start = vec![0.0; n];
        self.descend(step, &mut start);
        let mut there = start.clone();
        self.sum.prox_in_ball(self.t, self.radius, &mut there);
        let width = DIFFERENCE * self.radius;
        let mut derivative = Matrix::zeros(n, n);
        for j in 0..n {
            let column = derivative.col_mut(j);
            column.copy_from_slice(&start);
            column[j] += width;
            self.sum.prox_in_ball(self.t, self.radius, column);
            for (c, x) in column.iter_mut().zip(&there) {
                *c = (*c - x) / width;
            }
        }
        let mut system = product(&derivative, self.quadratic.hessian);
        for j in 0..n {
            let column = system.col_mut(j);
            for (a, m) in column.iter_mut().zip(derivative.col(j)) {
                *a = self.t * *a - m;
            }
            column[j] += 1.0;
        }
        axpy(-1.0, step, &mut there);
        let mut direction = vec![0.0; n];
        inverse(&system)?.mul_vec(&there, &mut direction);
        // Try shorter steps too, because other sets may become active on the way.
        [1.0, 0.25, 0.0625, 0.015_625]
            .into_iter()
            .find_map(|length| {
                let mut moved = step.to_vec();
                axpy(length, &direction, &mut moved);
                let mut next = moved.clone();
                self.gradient_step(&moved, &mut next);
                (self.change(step, &next) < 0.0).then_some(next)
            })
    }
}

/// The minimiser of the quadratic alone in the ball. If the quadratic has no slope, the opposite
/// point is a minimiser too.
fn unconstrained(quadratic: &Quadratic<'_>, radius: f64) -> Vec<Vec<f64>> {
    let n = quadratic.gradient.len();
    let region = BallAndBox {
        radius,
        lower: &vec![f64::NEG_INFINITY; n],
        upper: &vec![f64::INFINITY; n],
    };
    let step = minimize_quadratic(quadratic, &region).step;
    let opposite = step.iter().map(|s| -s).collect();
    if norm(quadratic.gradient) > 0.0 {
        vec![step]
    } else {
        vec![step, opposite]
    }
}

/// Minimises `$g^T s$` over the ball and all terms, which must be sets, by proximal point steps
/// `$s \leftarrow P(s - tg)$` with growing `$t$`. The result is exact to rounding after a few steps
/// if the sets are polyhedral. In any case its error is at most `$2\Delta^2/\sum t$`, about
/// `$10^{-5} \Delta \|g\|$`.
pub(crate) fn minimize_linear_over(
    gradient: &[f64],
    terms: ProxTerms<'_>,
    radius: f64,
) -> Vec<f64> {
    let n = gradient.len();
    let mut best = vec![0.0; n];
    let slope = norm(gradient);
    let valid = radius > 0.0 && radius < f64::INFINITY && all_finite(gradient);
    if !valid || !(slope > 0.0) {
        return best;
    }
    let direction: Vec<f64> = gradient.iter().map(|g| g / slope).collect();
    let mut sum = ProxOfSum::new(terms, n);
    let mut least = 0.0;
    let mut stalled = 0;
    let mut step = best.clone();
    for k in 0..MAX_LINEAR_STEPS {
        let t = radius * 2_f64.powi(k.min(LONGEST_LINEAR));
        let before = step.clone();
        axpy(-t, &direction, &mut step);
        sum.prox_in_ball(1.0, radius, &mut step);
        let value = dot(&direction, &step);
        if value < least {
            least = value;
            best.copy_from_slice(&step);
        }
        let moved: Vec<f64> = step.iter().zip(&before).map(|(a, b)| a - b).collect();
        if !(norm(&moved) > SHORT_LINEAR * radius) {
            stalled += 1;
        }
        if stalled > 1 || sum.is_exhausted() || !(value < f64::INFINITY) {
            break;
        }
    }
    best
}

#[cfg(test)]
mod tests;
