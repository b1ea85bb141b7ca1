//! The proximal map (prox) of a sum of convex functions and sets, computed from the prox of each,
//! with or without a ball around zero.
//!
//! The prox of a sum is computed by Dykstra's method. With `$p_i = 0$` at first, it repeats for
//! term after term `$w = x + p_i$`, `$x \leftarrow \operatorname{prox}_{t f_i}(w)$`,
//! `$p_i \leftarrow w - x$`. This is cyclic coordinate ascent on the dual problem. It therefore
//! converges for any number of terms and from any corrections `$p_i$` with `$x = z - \sum_i p_i$`,
//! so the prox of a nearby point starts from the corrections of the last one.
//!
//! The ball could be one more set, but needs no iteration with the others, since
//! `$\operatorname{prox}_{t f + B}(z) = \operatorname{prox}_{\beta t f}(\beta z)$` for the
//! `$\beta \in (0, 1]$` that makes the norm `$\Delta$`. The norm grows with `$\beta$`. The last
//! operation on a point is therefore always one of the user's maps.

use crate::linalg::{axpy, dot, norm};

/// A convex function, given by its prox: it replaces the point by
/// `$\arg\min_y h(y) + \|y - \text{point}\|^2/(2t)$`. For a set, this is the projection, for every
/// `$t$`.
pub(crate) type Prox<'a> = &'a dyn Fn(f64, &mut [f64]);

/// Several convex functions or sets, and the rounding error of their maps.
#[derive(Clone, Copy)]
pub(crate) struct ProxTerms<'a> {
    pub(crate) terms: &'a [Prox<'a>],
    pub(crate) rounding: f64,
}

impl<'a> ProxTerms<'a> {
    /// Creates terms without rounding errors.
    #[cfg(test)]
    pub(crate) const fn exact(terms: &'a [Prox<'a>]) -> Self {
        let rounding = 0.0;
        Self { terms, rounding }
    }
}

/// An owned [`Prox`].
pub(crate) type BoxedProx<'a> = Box<dyn Fn(f64, &mut [f64]) + 'a>;

/// The move of a sweep, relative to the points, at which Dykstra's method ends: about rounding
/// level.
const STATIONARY: f64 = 1e-13;
/// The largest number of sweeps through the terms in one prox. Not tuned.
const MAX_SWEEPS: usize = 10_000;
/// The largest number of sweeps in all proxes of a subproblem. Not tuned.
const ALL_SWEEPS: usize = 100_000;
/// The number of sweeps that a prox may have even if [`ALL_SWEEPS`] are spent. Not tuned.
const FEW_SWEEPS: usize = 100;
/// The multiple of `$t$` for which a prox is a projection on the domain, up to rounding.
pub(super) const HARDLY: f64 = 1e-16;
/// The distance from the sphere, relative to the radius, up to which a point counts as on it.
const SPHERE: f64 = 1e-12;
/// The largest number of steps of the root search. Not tuned.
const MAX_ROOT_STEPS: usize = 80;

/// The prox of a sum of terms, with the corrections of Dykstra's method, which are reused from one
/// prox to the next.
pub(super) struct ProxOfSum<'a> {
    terms: &'a [Prox<'a>],
    rounding: f64,
    corrections: Vec<Vec<f64>>,
    before: Vec<f64>,
    /// The number of sweeps that are left.
    budget: usize,
}

impl<'a> ProxOfSum<'a> {
    pub(super) fn new(terms: ProxTerms<'a>, n: usize) -> Self {
        let ProxTerms { terms, rounding } = terms;
        Self {
            terms,
            rounding,
            corrections: vec![vec![0.0; n]; terms.len()],
            before: vec![0.0; n],
            budget: ALL_SWEEPS,
        }
    }

    /// Whether all sweeps are spent.
    pub(super) const fn is_exhausted(&self) -> bool {
        self.budget == 0
    }

    /// The number of sweeps that one method may use.
    fn sweeps(&self) -> usize {
        self.budget.clamp(FEW_SWEEPS, MAX_SWEEPS)
    }

    /// Replaces `point` by the prox of the sum of all terms.
    pub(super) fn prox(&mut self, t: f64, point: &mut [f64]) {
        if let [term] = self.terms {
            return term(t, point);
        }
        let reach = norm(point);
        for correction in &self.corrections {
            axpy(-1.0, correction, point);
        }
        for _ in 0..self.sweeps() {
            self.budget = self.budget.saturating_sub(1);
            let mut moves = 0.0;
            for (term, correction) in self.terms.iter().zip(&mut self.corrections) {
                self.before.copy_from_slice(point);
                axpy(1.0, correction, point);
                correction.copy_from_slice(point);
                term(t, point);
                axpy(-1.0, point, correction);
                axpy(-1.0, point, &mut self.before);
                moves += dot(&self.before, &self.before);
            }
            if !(moves.sqrt() > STATIONARY * (reach + norm(point)) + self.rounding) {
                return;
            }
        }
        self.land(t, point);
    }

    /// Moves the point into all sets by alternating projections. The result is not the nearest
    /// point.
    fn land(&mut self, t: f64, point: &mut [f64]) {
        for _ in 0..self.sweeps() {
            self.budget = self.budget.saturating_sub(1);
            let mut moves = 0.0;
            for term in self.terms {
                self.before.copy_from_slice(point);
                term(HARDLY * t, point);
                axpy(-1.0, point, &mut self.before);
                moves += dot(&self.before, &self.before);
            }
            if !(moves.sqrt() > STATIONARY * norm(point) + self.rounding) {
                return;
            }
        }
    }

    /// Replaces `point` by the prox of the sum of all terms and the ball. This is the prox of the
    /// terms alone for a point and a `t` that are scaled down. The scale is found by secants
    /// between a scale that is too small and one that is too large, halving the weight of an end
    /// that stays.
    pub(super) fn prox_in_ball(&mut self, t: f64, radius: f64, point: &mut [f64]) {
        let target = point.to_vec();
        self.prox(t, point);
        let excess = norm(point) - radius;
        let tolerance = (SPHERE * radius).max(self.rounding);
        if !(excess > tolerance) {
            return;
        }
        let (mut low, mut high) = ((0.0, -radius), (1.0, excess));
        // The last point inside the ball, in case the search ends outside.
        let mut inside = vec![0.0; point.len()];
        for k in 0..MAX_ROOT_STEPS {
            let secant = low.0 + (high.0 - low.0) * (low.1 / (low.1 - high.1));
            let middle = if low.0 > 0.0 {
                f64::sqrt(low.0 * high.0)
            } else {
                0.5 * high.0
            };
            let scale = if k % 4 == 3 { middle } else { secant };
            if !(scale > low.0 && scale < high.0) {
                break;
            }
            for (p, z) in point.iter_mut().zip(&target) {
                *p = scale * z;
            }
            self.prox(scale * t, point);
            let excess = norm(point) - radius;
            if excess.abs() <= tolerance {
                return;
            }
            if excess > 0.0 {
                high = (scale, excess);
                low.1 *= 0.5;
            } else {
                low = (scale, excess);
                high.1 *= 0.5;
                inside.copy_from_slice(point);
            }
        }
        point.copy_from_slice(&inside);
    }
}

/// Replaces `point` by the prox of the sum of sets and functions,
/// `$\arg\min_y \sum_i f_i(y) + \|y - \text{point}\|^2/(2t)$`, to about 13 digits. The result is in
/// the last set exactly. If sets meet at a very sharp angle, or a function has a kink next to the
/// border of a set, Dykstra's method can be too slow. The result is then in all sets but not the
/// nearest point.
pub(crate) fn prox_of_sum(terms: ProxTerms<'_>, weight_t: f64, point: &mut [f64]) {
    ProxOfSum::new(terms, point.len()).prox(weight_t, point);
}
