//! The exact solution of the trust-region problem `$\min g^T s + \tfrac12 s^T H s$` over
//! `$\|s\| \le \Delta$`.
//!
//! A step is optimal if and only if some `$\lambda \ge 0$` makes `$H + \lambda I$` positive
//! semidefinite with `$(H + \lambda I)s = -g$` and `$\lambda(\Delta - \|s\|) = 0$`. The work
//! depends on `$H$`:
//!
//! - If `$H$` is positive definite, one Cholesky factorisation gives the Newton step. If that is
//!   too long, Newton's method on `$1/\Delta - 1/\|s(\lambda)\| = 0$` from `$\lambda = 0$` rises to
//!   the solution without overshooting, with one factorisation per iteration (Moré and Sorensen,
//!   SIAM J. Sci. Stat. Comput. 4, 1983).
//! - If `$H$` is singular but not indefinite, up to rounding, the same method begins with the
//!   smallest `$\lambda$` that rounding allows.
//! - If `$H$` is indefinite, one eigendecomposition makes `$\|s(\lambda)\|$` cheap. If no
//!   `$\lambda$` gives a long enough step (the hard case), a multiple of an eigenvector completes
//!   it.

use crate::linalg::{Cholesky, Matrix, axpy, dot, max_abs, norm, symmetric_eigen};

/// The relative distance from the sphere up to which a step counts as on it: about the rounding
/// error of a norm.
const SPHERE: f64 = 1e-13;
/// The largest number of Newton iterations, more than were ever needed.
const MAX_NEWTON: usize = 60;
/// The number of inverse iterations for the smallest eigenvalue, enough for the estimate that the
/// radius rules need.
const INVERSE_ITERATIONS: usize = 4;

/// The kind of a solution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum SolutionKind {
    /// A Newton step inside the ball, with a positive definite matrix.
    Newton,
    /// Any other step, with this multiplier of the ball constraint.
    Shifted { multiplier: f64 },
}

/// A solver that reuses its memory.
#[derive(Debug, Default)]
pub(super) struct Ball {
    factor: Cholesky,
    work: Vec<f64>,
}

impl SolutionKind {
    pub(super) const fn multiplier(self) -> f64 {
        match self {
            Self::Newton => 0.0,
            Self::Shifted { multiplier } => multiplier,
        }
    }
}

impl Ball {
    /// Writes the minimiser into `step`. All entries must be finite and at most about 1 in size,
    /// and `radius` must be of moderate size.
    pub(super) fn minimize(
        &mut self,
        gradient: &[f64],
        hessian: &Matrix,
        radius: f64,
        step: &mut Vec<f64>,
    ) -> SolutionKind {
        let n = gradient.len();
        step.clear();
        step.resize(n, 0.0);
        if n == 0 {
            return SolutionKind::Newton;
        }
        if !(radius > 0.0) {
            return SolutionKind::Shifted { multiplier: 0.0 };
        }
        // A smaller multiplier changes the matrix no more than rounding does.
        let size = max_abs(hessian.as_slice());
        let noise = 16.0 * n as f64 * f64::EPSILON * size;
        let mut multiplier = 0.0;
        if !self.factor.factorize(hessian, multiplier) {
            multiplier = noise;
            if !(size > 0.0) {
                return along_gradient(gradient, radius, step);
            } else if !self.factor.factorize(hessian, multiplier) {
                return indefinite(gradient, hessian, radius, step);
            }
        }
        for _ in 0..MAX_NEWTON {
            for (s, g) in step.iter_mut().zip(gradient) {
                *s = -g;
            }
            self.factor.solve_in_place(step);
            let length = norm(step);
            let excess = (length - radius) / radius;
            if excess <= SPHERE {
                shorten(step, length, radius);
                return if multiplier > 0.0 {
                    SolutionKind::Shifted { multiplier }
                } else {
                    SolutionKind::Newton
                };
            }
            self.work.clear();
            self.work.extend(step.iter().map(|s| s / length));
            self.factor.solve_lower_in_place(&mut self.work);
            let next = multiplier + excess / dot(&self.work, &self.work);
            if !(next > multiplier && next < f64::INFINITY) {
                // The multiplier is as accurate as rounding allows.
                shorten(step, length, radius);
                return SolutionKind::Shifted { multiplier };
            }
            multiplier = next;
            if !self.factor.factorize(hessian, multiplier) {
                break;
            }
        }
        indefinite(gradient, hessian, radius, step)
    }

    /// Estimates the smallest eigenvalue of the matrix by a few inverse iterations, after a
    /// `minimize` that returned [`SolutionKind::Newton`]; zero for other kinds. The estimate is
    /// never too small, except for rounding.
    pub(super) fn curvature(&mut self, kind: SolutionKind, n: usize) -> f64 {
        if kind != SolutionKind::Newton || n == 0 {
            return 0.0;
        }
        // A start that is orthogonal to no plausible eigenvector.
        let golden = 0.618_033_988_749_894_9;
        self.work.clear();
        self.work
            .extend((0..n).map(|i| 1.0 + (i as f64 * golden).fract()));
        // |L^-1 x|^2 = x^T A^-1 x gives the eigenvalue for |x| = 1; then the solve is completed.
        let mut eigenvalue = 0.0;
        for _ in 0..INVERSE_ITERATIONS {
            let length = norm(&self.work);
            self.work.iter_mut().for_each(|x| *x /= length);
            self.factor.solve_lower_in_place(&mut self.work);
            eigenvalue = dot(&self.work, &self.work).recip();
            self.factor.solve_upper_in_place(&mut self.work);
        }
        if eigenvalue.is_finite() {
            eigenvalue
        } else {
            0.0
        }
    }
}

/// Shortens a step of this length to the radius if it is longer.
fn shorten(step: &mut [f64], length: f64, radius: f64) {
    if length > radius {
        let scale = radius / length;
        step.iter_mut().for_each(|s| *s *= scale);
    }
}

/// Writes the solution for a zero matrix: the point of the sphere along the negative gradient.
fn along_gradient(gradient: &[f64], radius: f64, step: &mut [f64]) -> SolutionKind {
    let length = norm(gradient);
    if length > 0.0 {
        for (s, g) in step.iter_mut().zip(gradient) {
            *s = -g / length * radius;
        }
    }
    SolutionKind::Shifted {
        multiplier: length / radius,
    }
}

/// Solves the problem by an eigendecomposition. With `$H = Q \operatorname{diag}(\lambda_i) Q^T$`
/// and `$c = Q^T g$`, `$\|s\|^2 = \sum_i c_i^2/(\lambda_i + \lambda)^2$`. The unknown is
/// `$\mu = \lambda + \lambda_1$`, so that the small denominators are exact.
fn indefinite(gradient: &[f64], hessian: &Matrix, radius: f64, step: &mut [f64]) -> SolutionKind {
    step.fill(0.0);
    let Some((values, vectors)) = symmetric_eigen(hessian) else {
        return SolutionKind::Shifted { multiplier: 0.0 };
    };
    let n = gradient.len();
    let mut c = vec![0.0; n];
    vectors.mul_vec_transposed(gradient, &mut c);
    let gaps: Vec<f64> = values.iter().map(|value| value - values[0]).collect();
    let length = |mu: f64| {
        let parts = c.iter().zip(&gaps).map(|(c, gap)| quotient(*c, gap + mu));
        norm(&parts.collect::<Vec<_>>())
    };
    let least = values[0].max(0.0);
    // At the lower end the first component alone has the length of the radius; at the upper end the
    // step is too short.
    let mut low = (c[0].abs() / radius).max(least);
    let mut high = (norm(&c) / radius).max(low);
    let mut mu = low;
    let hard = length(low) < radius * (1.0 - 1e-12);
    if !hard {
        for _ in 0..4 * MAX_NEWTON {
            let current = length(mu);
            let excess = (current - radius) / radius;
            if excess.abs() <= SPHERE {
                break;
            }
            if excess > 0.0 {
                low = mu;
            } else {
                high = mu;
            }
            let slope: f64 = c
                .iter()
                .zip(&gaps)
                .map(|(c, gap)| (quotient(*c, gap + mu) / current).powi(2) / (gap + mu))
                .filter(|term| term.is_finite())
                .sum();
            let next = mu + excess / slope;
            let next = if next > low && next < high {
                next
            } else {
                (low * high).sqrt().max(low + 0.01 * (high - low))
            };
            if !(next > low && next < high) {
                break;
            }
            mu = next;
        }
    }
    for j in 0..n {
        let weight = -quotient(c[j], gaps[j] + mu);
        axpy(weight, vectors.col(j), step);
    }
    if hard && values[0] < 0.0 {
        // The step is orthogonal to the first eigenvector, up to rounding.
        let reached = norm(step);
        let inner = dot(step, vectors.col(0));
        let missing = (radius - reached) * (radius + reached);
        let root = (inner * inner + missing).sqrt();
        let weight = if inner > 0.0 || (inner >= 0.0 && c[0] < 0.0) {
            missing / (inner + root)
        } else {
            -missing / (root - inner)
        };
        axpy(weight, vectors.col(0), step);
    }
    let reached = norm(step);
    shorten(step, reached, radius);
    SolutionKind::Shifted {
        multiplier: (mu - values[0]).max(0.0),
    }
}

/// The quotient `$a/b$`, or zero if `$b$` is not positive.
fn quotient(a: f64, b: f64) -> f64 {
    if b > 0.0 { a / b } else { 0.0 }
}

#[cfg(test)]
mod tests;
