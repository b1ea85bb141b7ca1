//! Newton-like steps of the objective, made to converge by a line search.
//!
//! A step `$s = -M^{-1}g$` leads downhill, since `$g^Ts < 0$`. Usually the whole step is taken: it is accepted where the gradient becomes
//! clearly smaller than it ever was, which also works where values no longer differ. Otherwise it is halved until Armijo's condition
//! `$\Phi(x + ts) \le \Phi(x) + 10^{-4}\,t\,g^Ts$` holds.
//!
//! That converges: the first kind of step makes the smallest gradient so far smaller by a factor, so a given accuracy needs finitely
//! many of them; and a sequence of the second kind alone is a descent method with directions bounded away from being
//! orthogonal to the gradient, of which all limit points are stationary, so that `$x^*$` is the limit.

use crate::certificate::ErrorBound;
use crate::error::SolveError;
use crate::norm::inner;
use crate::objective::{Newton, NewtonPoint, StronglyConvex};
use crate::state::{Layout, State};
use crate::walk::Walk;

/// A gradient this much smaller than any before is progress.
const PROGRESS: f64 = 0.9;
/// Armijo's constant.
const ARMIJO: f64 = 1e-4;
/// Where values are too close to tell, the slope along the step must become so much smaller.
const FLATTER: f64 = 0.5;
/// So many steps in a row may leave everything where rounding puts it.
const PATIENCE: u32 = 4;

/// How the Newton steps of a solve went.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Search {
    smallest_norm: f64,
    smallest_bound: f64,
    /// The last sharper bound, as a share of the gradient's.
    sharpness: Option<f64>,
    /// Steps in a row that were not seen to lead downhill.
    idle: u32,
}

impl Search {
    pub(crate) const fn new() -> Self {
        Self {
            smallest_norm: f64::INFINITY,
            smallest_bound: f64::INFINITY,
            sharpness: None,
            idle: 0,
        }
    }

    /// How large a sharper bound is to be expected, as a share of the gradient's.
    pub(crate) fn expected_sharpness(&self, newton: Newton) -> f64 {
        self.sharpness.unwrap_or(newton.looseness.recip())
    }

    /// The last step was not seen to lead downhill.
    pub(crate) const fn is_idle(&self) -> bool {
        self.idle > 0
    }

    /// Steps no longer help: what they change is rounding.
    pub(crate) const fn is_over(&self) -> bool {
        self.idle >= PATIENCE
    }
}

impl<O: StronglyConvex> Walk<'_, O> {
    /// One step, and the gradient where it leads.
    pub(crate) fn newton(&mut self) -> Result<(), SolveError> {
        let Some(gradient_norm) = self.measured else {
            return Ok(()); // known over the whole space
        };
        if gradient_norm == 0.0 || self.search.is_over() {
            self.search.idle = PATIENCE;
            return Ok(());
        }
        self.search.smallest_norm = self.search.smallest_norm.min(gradient_norm);
        let State {
            point,
            gradient,
            companion,
            dual,
            workspace,
            ..
        } = &mut *self.state;
        companion.copy_from_slice(point);
        let at = NewtonPoint {
            x: companion,
            gradient,
            gradient_norm,
            dual,
            wanted_norm: self.wanted_norm,
        };
        self.work += self.objective.newton_step(
            &at,
            &mut workspace.step,
            &mut workspace.dual_step,
            self.scratch,
        );
        let mut slope = inner(gradient, &workspace.step);
        // NaN where an entry of the step is not finite
        if !(slope < 0.0 && slope > f64::NEG_INFINITY) {
            slope = self.replace_step();
        }
        let fraction = self.search_along(slope)?;
        let State {
            dual, workspace, ..
        } = &mut *self.state;
        for (dual, step) in dual.iter_mut().zip(&workspace.dual_step) {
            *dual += fraction * step;
        }
        Ok(())
    }

    /// Takes a step of gradient descent from the point, which always leads downhill, instead of one that does not; returns its slope.
    fn replace_step(&mut self) -> f64 {
        let State {
            gradient,
            workspace,
            ..
        } = &mut *self.state;
        let length = self.curvature.lipschitz().recip();
        for (step, gradient) in workspace.step.iter_mut().zip(&*gradient) {
            *step = -length * gradient;
        }
        workspace.dual_step.fill(0.0);
        inner(gradient, &workspace.step)
    }

    /// Moves along the step, and returns how much of it was taken.
    fn search_along(&mut self, mut slope: f64) -> Result<f64, SolveError> {
        // Armijo's condition holds for shorter parts of any step that is no longer than |g|/mu, up to rounding.
        let shortest = 0.25 / self.curvature.condition_number();
        let mut value_before = None;
        let (mut fraction, mut replaced) = (1.0, false);
        loop {
            let state = &mut *self.state;
            let moved = state.point.iter_mut().zip(&state.companion);
            for ((point, before), step) in moved.zip(&state.workspace.step) {
                *point = before + fraction * step;
            }
            let gradient_norm = self.evaluate_gradient()?;
            if gradient_norm <= PROGRESS * self.search.smallest_norm {
                self.search.idle = 0;
                return Ok(fraction);
            }
            let before = *value_before.get_or_insert_with(|| {
                self.work += 1.0;
                self.objective.value(&self.state.companion, self.scratch)
            });
            self.work += 1.0;
            let after = self.objective.value(&self.state.point, self.scratch);
            let rounding = 64.0 * f64::EPSILON * before.abs();
            if after <= before + ARMIJO * fraction * slope && before - after > rounding {
                self.search.idle = 0;
                return Ok(fraction);
            }
            // Values may be too close to tell, or not be numbers. The slope where the step leads is not, and must have become flatter.
            let flatter = inner(&self.state.gradient, &self.state.workspace.step).abs()
                <= FLATTER * slope.abs();
            if !(-fraction * slope > rounding) && (flatter || replaced) {
                self.search.idle += 1;
                return Ok(fraction);
            }
            fraction *= 0.5;
            if fraction < shortest && !replaced {
                self.state.point.copy_from_slice(&self.state.companion);
                self.evaluate_gradient()?;
                slope = self.replace_step();
                (replaced, fraction) = (true, 1.0);
            }
        }
    }

    /// The objective's own bound for the point, if it has one.
    pub(crate) fn sharpen_bound(&mut self, target: ErrorBound) {
        let (Some(gradient_norm), State { layout, .. }) = (self.measured, &*self.state) else {
            return;
        };
        if let Layout::Start | Layout::Projected = layout {
            return;
        }
        let at = NewtonPoint {
            x: &self.state.point,
            gradient: &self.state.gradient,
            gradient_norm,
            dual: &self.state.dual,
            wanted_norm: self.wanted_norm,
        };
        if let Some((bound, cost)) = self.objective.sharper_bound(&at, self.scratch) {
            self.work += cost;
            self.sharper = Some(bound);
            let sharpness = bound.value() * self.curvature.strong_convexity() / gradient_norm;
            if sharpness > 0.0 && sharpness <= 1.0 {
                // steps need not be more accurate than that
                self.wanted_norm = self.threshold(target) / sharpness;
                self.search.sharpness = Some(sharpness);
            }
            if bound.value() <= PROGRESS * self.search.smallest_bound {
                self.search.smallest_bound = bound.value();
                self.search.idle = 0;
            }
        }
    }
}

/// The smaller of two bounds, both of which hold.
pub(crate) fn smaller(a: ErrorBound, b: Option<ErrorBound>) -> ErrorBound {
    b.filter(|b| *b < a).unwrap_or(a)
}
