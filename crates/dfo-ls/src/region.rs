//! The region of a step, which is the intersection of trust region and feasible set, and
//! minimisation over it.

use crate::constraints::{FeasibleSet, Regularizer};
use crate::linalg::{dot, max_abs};
use crate::space::Space;
use crate::subproblem::{
    BallAndBox, BoxedProx, Prox, ProxTerms, Quadratic, SubproblemStep, minimize_composite,
    minimize_linear, minimize_linear_over, minimize_quadratic, minimize_truncated,
};

/// The feasible steps from a point in the trust region, as multiples `$v = s/\text{unit}$` of a
/// length.
pub(crate) struct StepRegion<'a> {
    space: &'a Space,
    feasible: &'a FeasibleSet,
    regularizer: Option<&'a dyn Regularizer>,
    center: &'a [f64],
    /// The centre in the user's parameters.
    theta: Vec<f64>,
    unit: f64,
    radius: f64,
    lower: Vec<f64>,
    upper: Vec<f64>,
}

impl<'a> StepRegion<'a> {
    pub(crate) fn new(
        space: &'a Space,
        feasible: &'a FeasibleSet,
        regularizer: Option<&'a dyn Regularizer>,
        center: &'a [f64],
        radius: f64,
        unit: f64,
    ) -> Self {
        let (mut lower, mut upper) = (Vec::new(), Vec::new());
        space.step_bounds(center, &mut lower, &mut upper);
        for bound in lower.iter_mut().chain(&mut upper) {
            *bound /= unit;
        }
        let needs_theta = regularizer.is_some() || matches!(feasible, FeasibleSet::Convex(_));
        Self {
            space,
            feasible,
            regularizer,
            center,
            theta: if needs_theta {
                space.theta(center)
            } else {
                Vec::new()
            },
            unit,
            radius: radius / unit,
            lower,
            upper,
        }
    }

    pub(crate) fn lower(&self) -> &[f64] {
        &self.lower
    }

    pub(crate) fn upper(&self) -> &[f64] {
        &self.upper
    }

    /// The change `$h(\theta(v)) - h(\theta(0))$` of the regulariser.
    pub(crate) fn penalty(&self, v: &[f64]) -> f64 {
        self.regularizer
            .map_or(0.0, |h| h.value(&self.theta_at(v)) - h.value(&self.theta))
    }

    fn theta_at(&self, v: &[f64]) -> Vec<f64> {
        let u: Vec<f64> = (self.center.iter().zip(v))
            .map(|(c, v)| c + self.unit * v)
            .collect();
        self.space.theta(&u)
    }

    /// Minimises a quadratic plus the regulariser.
    pub(crate) fn minimize(&self, quadratic: &Quadratic<'_>) -> SubproblemStep {
        if self.is_plain() {
            minimize_quadratic(quadratic, &self.ball_and_box())
        } else {
            self.with_terms(true, |terms| {
                minimize_composite(quadratic, &|v| self.penalty(v), terms, self.radius)
            })
        }
    }

    /// Computes the approximate minimiser of [`minimize_truncated`] if there are no regulariser and
    /// no projections, and otherwise that of [`Self::minimize`].
    pub(crate) fn minimize_early(&self, quadratic: &Quadratic<'_>) -> SubproblemStep {
        if !self.is_plain() {
            return self.minimize(quadratic);
        }
        // The thresholds of `minimize_truncated` apply to s, not to v.
        let unit = self.unit;
        let times = |bounds: &[f64]| bounds.iter().map(|b| b * unit).collect::<Vec<_>>();
        let (lower, upper) = (times(&self.lower), times(&self.upper));
        let gradient: Vec<f64> = quadratic.gradient.iter().map(|g| g / unit).collect();
        let hessian = quadratic.hessian.scaled(1.0 / (unit * unit));
        let mut found = minimize_truncated(
            &Quadratic {
                gradient: &gradient,
                hessian: &hessian,
            },
            &BallAndBox {
                radius: self.radius * unit,
                lower: &lower,
                upper: &upper,
            },
        );
        found.step.iter_mut().for_each(|s| *s /= unit);
        found.curvature *= unit * unit;
        found
    }

    /// Maximises `$|c + g^\top v|$`.
    pub(crate) fn maximize_absolute(&self, constant: f64, gradient: &[f64]) -> Vec<f64> {
        let opposite: Vec<f64> = gradient.iter().map(|g| -g).collect();
        let down = self.minimize_linear(gradient);
        let up = self.minimize_linear(&opposite);
        let value = |v: &[f64]| (constant + dot(gradient, v)).abs();
        if value(&down) > value(&up) { down } else { up }
    }

    fn minimize_linear(&self, gradient: &[f64]) -> Vec<f64> {
        self.steepest(gradient, 1.0)
    }

    /// Minimises `$g^\top v$` within a share of the radius. As `share` grows, the minimisers form
    /// the path of steepest descent.
    pub(crate) fn steepest(&self, gradient: &[f64], share: f64) -> Vec<f64> {
        let radius = share * self.radius;
        if matches!(self.feasible, FeasibleSet::Convex(_)) {
            self.with_terms(false, |terms| minimize_linear_over(gradient, terms, radius))
        } else {
            let (lower, upper) = (&self.lower[..], &self.upper[..]);
            minimize_linear(
                gradient,
                &BallAndBox {
                    radius,
                    lower,
                    upper,
                },
            )
        }
    }

    fn is_plain(&self) -> bool {
        self.regularizer.is_none() && !matches!(self.feasible, FeasibleSet::Convex(_))
    }

    fn ball_and_box(&self) -> BallAndBox<'_> {
        BallAndBox {
            radius: self.radius,
            lower: &self.lower,
            upper: &self.upper,
        }
    }

    /// Calls `run` with the feasible set and the regulariser as proximal maps of `$v$`.
    fn with_terms<T>(&self, regularized: bool, run: impl FnOnce(ProxTerms<'_>) -> T) -> T {
        // All parameters have one unit here, so distances in v and in theta are proportional.
        let scale = self.unit * self.space.units()[0];
        let through_theta = |v: &mut [f64], map: &dyn Fn(&mut [f64])| {
            // This theta is not cut at the bounds, which are terms of their own.
            let mut theta = self.theta.clone();
            for (v, &j) in v.iter().zip(self.space.free()) {
                theta[j] += scale * v;
            }
            map(&mut theta);
            for (v, &j) in v.iter_mut().zip(self.space.free()) {
                *v = (theta[j] - self.theta[j]) / scale;
            }
        };
        let mut terms: Vec<BoxedProx<'_>> = Vec::new();
        if let (true, Some(h)) = (regularized, self.regularizer) {
            terms.push(Box::new(move |t, v: &mut [f64]| {
                through_theta(v, &|theta| h.prox(t * scale * scale, theta));
            }));
        }
        match self.feasible {
            FeasibleSet::Convex(sets) => {
                for set in sets {
                    terms.push(Box::new(move |_, v: &mut [f64]| {
                        through_theta(v, &|theta| set.project(theta));
                    }));
                }
            }
            FeasibleSet::Box(_) | FeasibleSet::Free => {
                terms.push(Box::new(|_, v: &mut [f64]| {
                    for ((v, lower), upper) in v.iter_mut().zip(&self.lower).zip(&self.upper) {
                        *v = v.max(*lower).min(*upper);
                    }
                }));
            }
        }
        let terms: Vec<Prox<'_>> = terms.iter().map(|term| term.as_ref() as Prox<'_>).collect();
        run(ProxTerms {
            terms: &terms,
            // A map through theta has the rounding errors of theta.
            rounding: 4.0 * f64::EPSILON * max_abs(&self.theta) / scale,
        })
    }
}

#[cfg(test)]
mod tests;
