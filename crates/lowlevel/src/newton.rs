//! Newton-like steps of the objective, made to converge by a line search.
//!
//! A step `$s = -M^{-1}g$` leads downhill, since `$g^Ts < 0$`. Usually the whole step is taken: it is accepted where the gradient becomes
//! clearly smaller than it ever was, which also works where values no longer differ. An objective may make such steps in a row by
//! itself; the gradient at their end is evaluated again. Otherwise a step is halved until Armijo's condition
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

/// Armijo's constant.
const ARMIJO: f64 = 1e-4;
/// Where values are too close to tell, the slope along the step must become so much smaller.
const FLATTER: f64 = 0.5;
/// So many steps in a row may leave everything where rounding puts it.
const PATIENCE: u32 = 4;

/// Whole Newton steps in a row, see [`StronglyConvex::newton_run`].
#[derive(Debug)]
pub struct NewtonRun<'a> {
    /// `$x$`, moved along.
    pub x: &'a mut [f64],
    /// The dual variables, moved along.
    pub dual: &'a mut [f64],
    /// Of all gradients so far.
    smallest_norm: f64,
    wanted_norm: f64,
    max_steps: u64,
    num_steps: u64,
    num_gradients: u64,
}

impl<'a> NewtonRun<'a> {
    /// A gradient this much smaller than any before is progress.
    pub(crate) const PROGRESS: f64 = 0.9;

    /// From `x` and `dual`, where no gradient so far was smaller than `smallest_norm`: at most `max_steps`, to a gradient of `wanted_norm`.
    #[must_use]
    pub const fn new(
        x: &'a mut [f64],
        dual: &'a mut [f64],
        smallest_norm: f64,
        wanted_norm: f64,
        max_steps: u64,
    ) -> Self {
        Self {
            x,
            dual,
            smallest_norm,
            wanted_norm,
            max_steps,
            num_steps: 0,
            num_gradients: 0,
        }
    }

    /// Whether another step is wanted.
    #[must_use]
    pub fn goes_on(&self) -> bool {
        self.smallest_norm > self.wanted_norm && self.num_steps < self.max_steps
    }

    /// Whether to make a step that leads to a gradient of this norm: where it is clearly smaller than any before.
    #[must_use]
    pub fn accept(&mut self, gradient_norm: f64) -> bool {
        self.num_gradients += 1;
        let accepted = gradient_norm <= Self::PROGRESS * self.smallest_norm;
        if accepted {
            self.smallest_norm = gradient_norm;
            self.num_steps += 1;
        }
        accepted
    }

    /// How many steps were made.
    #[must_use]
    pub const fn num_steps(&self) -> u64 {
        self.num_steps
    }

    /// How many steps were tried, with a gradient each: all that were made, and perhaps one that was not.
    #[must_use]
    pub const fn num_gradients(&self) -> u64 {
        self.num_gradients
    }
}

/// How the Newton steps of a solve went.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Search {
    smallest_norm: f64,
    smallest_bound: f64,
    /// The last sharper bound, as a share of the gradient's.
    sharpness: Option<f64>,
    /// Steps in a row that were not seen to lead downhill.
    idle: u32,
    /// Whether the last step was whole and made the gradient clearly smaller: then so may be the next ones.
    runs: bool,
}

impl Search {
    pub(crate) const fn new() -> Self {
        Self {
            smallest_norm: f64::INFINITY,
            smallest_bound: f64::INFINITY,
            sharpness: None,
            idle: 0,
            runs: true,
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
    /// One step, or up to `max_steps` whole ones in a row, and the gradient where that leads. Returns how many.
    pub(crate) fn newton(&mut self, max_steps: u64) -> Result<u64, SolveError> {
        let Some(gradient_norm) = self.measured else {
            return Ok(1); // known over the whole space
        };
        if gradient_norm == 0.0 || self.search.is_over() {
            self.search.idle = PATIENCE;
            return Ok(1);
        }
        self.search.smallest_norm = self.search.smallest_norm.min(gradient_norm);
        if self.search.runs {
            let num_steps = self.run(max_steps)?;
            if num_steps > 0 {
                return Ok(num_steps);
            }
        }
        self.newton_step(gradient_norm)?;
        Ok(1)
    }

    /// Whole steps in a row, each seen to make the gradient clearly smaller. Returns how many.
    fn run(&mut self, max_steps: u64) -> Result<u64, SolveError> {
        let State { point, dual, .. } = &mut *self.state;
        let smallest_norm = self.search.smallest_norm;
        let mut run = NewtonRun::new(point, dual, smallest_norm, self.wanted_norm, max_steps);
        self.work += self.objective.newton_run(&mut run, self.scratch);
        let (num_steps, num_gradients) = (run.num_steps(), run.num_gradients());
        self.gradients += num_gradients;
        self.search.runs = false;
        if num_steps > 0 {
            self.state.companion.copy_from_slice(&self.state.point);
            let gradient_norm = self.evaluate_gradient()?;
            // seen here, too
            self.search.runs =
                num_gradients == num_steps && gradient_norm <= NewtonRun::PROGRESS * smallest_norm;
            self.search.idle = 0;
        }
        Ok(num_steps)
    }

    /// One step, as much of it as the line search allows.
    fn newton_step(&mut self, gradient_norm: f64) -> Result<(), SolveError> {
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
            if gradient_norm <= NewtonRun::PROGRESS * self.search.smallest_norm {
                self.search.idle = 0;
                self.search.runs = fraction >= 1.0;
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
            if bound.value() <= NewtonRun::PROGRESS * self.search.smallest_bound {
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
