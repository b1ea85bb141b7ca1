//! Newton's method: the Newton-like steps of the objective, with a line search that makes them
//! converge.
//!
//! A step `$s = -M^{-1}g$` is a descent direction, since `$g^Ts < 0$`. Most steps are taken whole:
//! a whole step is accepted if the gradient becomes clearly smaller than at any point before. This
//! test also works where rounding hides the differences of values. An objective may make several
//! such steps in a row by itself; the solver then evaluates the gradient at their end again. A step
//! that fails the test is halved until Armijo's condition
//! `$\Phi(x + ts) \le \Phi(x) + 10^{-4}\,t\,g^Ts$` holds.
//!
//! This converges. Each step of the first kind makes the smallest gradient so far smaller by a
//! fixed factor, so a given accuracy needs only finitely many of them. A sequence of steps of the
//! second kind alone is a descent method whose directions are bounded away from being orthogonal to
//! the gradient. All limit points of such a method are stationary, so its limit is `$x^*$`.

use crate::buffer::Buffer;
use crate::certificate::{ErrorBound, GradientBound};
use crate::error::SolveError;
use crate::evaluator::{Evaluator, Gradient};
use crate::newton::{NewtonPoint, NewtonRun, NewtonSteps};
use crate::norm::inner;
use crate::objective::StronglyConvex;

/// Armijo's constant, with its usual value (Nocedal & Wright, *Numerical Optimization*, Section
/// 3.1).
const ARMIJO: f64 = 1e-4;
/// Where rounding hides the difference of two values, the slope along the step must fall by this
/// factor; a choice.
const FLATTER: f64 = 0.5;
/// The solve ends after this many steps in a row without progress; a choice.
const PATIENCE: u32 = 4;

/// The memory of [`Method::Newton`](crate::Method::Newton), besides the dual variables.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Newton {
    pub(crate) gradient: Gradient,
    /// The progress of the current solve.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub(crate) progress: NewtonProgress,
    #[cfg_attr(feature = "serde", serde(skip))]
    pub(crate) buffers: StepBuffers,
}

/// Vectors whose content has no meaning between two steps.
#[derive(Clone, Debug, Default)]
pub(crate) struct StepBuffers {
    /// The point before a step.
    before: Buffer,
    step: Vec<f64>,
    dual_step: Vec<f64>,
}

impl PartialEq for Newton {
    fn eq(&self, other: &Self) -> bool {
        self.gradient == other.gradient
    }
}

/// The progress of the Newton steps of one solve.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewtonProgress {
    /// The norm of the gradient at which the target would be certified.
    pub(crate) target_norm: f64,
    /// The largest number of steps that the objective may make in a row.
    pub(crate) steps_at_once: u64,
    /// The smallest norm of a gradient so far.
    smallest_norm: f64,
    /// The smallest sharper bound so far.
    smallest_bound: f64,
    /// The last sharper bound, divided by the gradient's bound at the same point.
    sharpness: Option<f64>,
    /// The number of steps in a row that showed no progress.
    steps_without_progress: u32,
    /// Whether the last step was whole and made the gradient clearly smaller. Then the next steps
    /// are made in a row.
    may_run: bool,
}

impl Default for NewtonProgress {
    fn default() -> Self {
        Self {
            target_norm: 0.0,
            steps_at_once: 1,
            smallest_norm: f64::INFINITY,
            smallest_bound: f64::INFINITY,
            sharpness: None,
            steps_without_progress: 0,
            may_run: true,
        }
    }
}

impl NewtonProgress {
    /// The expected ratio of a sharper bound to the gradient's bound.
    pub(crate) fn expected_sharpness(&self, looseness: f64) -> f64 {
        self.sharpness.unwrap_or(looseness.recip())
    }

    /// Whether the last step showed no progress.
    pub(crate) const fn made_no_progress(&self) -> bool {
        self.steps_without_progress > 0
    }

    /// Whether steps no longer help, because they change only rounding errors.
    pub(crate) const fn is_over(&self) -> bool {
        self.steps_without_progress >= PATIENCE
    }
}

impl Newton {
    pub(crate) fn new(gradient: Gradient) -> Self {
        Self {
            gradient,
            progress: NewtonProgress::default(),
            buffers: StepBuffers::default(),
        }
    }

    /// Prepares a solve: allocates its vectors and resets its progress.
    pub(crate) fn begin_solve<S>(
        &mut self,
        newton: &dyn NewtonSteps<S>,
        dim: usize,
        dual: &mut Buffer,
    ) {
        dual.resize(newton.num_duals());
        self.buffers.dual_step.resize(newton.num_duals(), 0.0);
        self.buffers.step.resize(dim, 0.0);
        if self.buffers.before.len() != dim {
            self.buffers.before = Buffer::filled(dim, 0.0, Buffer::SECOND);
        }
        self.progress = NewtonProgress::default();
    }

    /// Makes one step, or up to `progress.steps_at_once` whole steps in a row, and evaluates the
    /// gradient at their end. Returns the number of steps.
    pub(crate) fn step<O: StronglyConvex>(
        &mut self,
        newton: &dyn NewtonSteps<O::Scratch>,
        point: &mut Buffer,
        dual: &mut Buffer,
        evaluator: &mut Evaluator<'_, O>,
    ) -> Result<u64, SolveError> {
        let Some(gradient_norm) = self.gradient.norm else {
            return Ok(1); // not reached: a solve begins with the gradient
        };
        if gradient_norm == 0.0 || self.progress.is_over() {
            self.progress.steps_without_progress = PATIENCE;
            return Ok(1);
        }
        self.progress.smallest_norm = self.progress.smallest_norm.min(gradient_norm);
        if self.progress.may_run {
            let num_steps = self.run(newton, point, dual, evaluator)?;
            if num_steps > 0 {
                return Ok(num_steps);
            }
        }
        self.single_step(newton, gradient_norm, point, dual, evaluator)?;
        Ok(1)
    }

    /// Lets the objective make whole steps in a row, each of which makes the gradient clearly
    /// smaller. Returns the number of steps.
    fn run<O: StronglyConvex>(
        &mut self,
        newton: &dyn NewtonSteps<O::Scratch>,
        point: &mut Buffer,
        dual: &mut Buffer,
        evaluator: &mut Evaluator<'_, O>,
    ) -> Result<u64, SolveError> {
        let NewtonProgress {
            smallest_norm,
            target_norm,
            steps_at_once,
            ..
        } = self.progress;
        let mut run = NewtonRun::new(point, dual, smallest_norm, target_norm, steps_at_once);
        evaluator.other_work += newton.run(&mut run, evaluator.scratch);
        let (num_steps, num_gradients) = (run.num_steps(), run.num_gradients());
        evaluator.gradients += num_gradients;
        self.progress.may_run = false;
        if num_steps > 0 {
            let gradient_norm = evaluator.gradient(point, &mut self.gradient)?;
            // The objective's claim is checked with the gradient evaluated here.
            self.progress.may_run = num_gradients == num_steps
                && gradient_norm <= NewtonRun::PROGRESS_FACTOR * smallest_norm;
            self.progress.steps_without_progress = 0;
        }
        Ok(num_steps)
    }

    /// Makes the part of one step that the line search allows.
    fn single_step<O: StronglyConvex>(
        &mut self,
        newton: &dyn NewtonSteps<O::Scratch>,
        gradient_norm: f64,
        point: &mut Buffer,
        dual: &mut Buffer,
        evaluator: &mut Evaluator<'_, O>,
    ) -> Result<(), SolveError> {
        let StepBuffers {
            before,
            step,
            dual_step,
        } = &mut self.buffers;
        before.copy_from_slice(point);
        let here = NewtonPoint {
            x: before,
            gradient: &self.gradient.values,
            gradient_norm,
            dual,
            target_norm: self.progress.target_norm,
        };
        evaluator.other_work += newton.step(&here, step, dual_step, evaluator.scratch);
        let mut slope = inner(&self.gradient.values, step);
        // The slope is NaN if an entry of the step is not finite.
        if !(slope < 0.0 && slope > f64::NEG_INFINITY) {
            slope = self.replace_step(evaluator);
        }
        let fraction = self.search_along(newton, slope, point, evaluator)?;
        for (dual, step) in dual.iter_mut().zip(&self.buffers.dual_step) {
            *dual += fraction * step;
        }
        Ok(())
    }

    /// Replaces a step that is not a descent direction by a step of gradient descent, which always
    /// is one. Returns its slope.
    fn replace_step<O: StronglyConvex>(&mut self, evaluator: &Evaluator<'_, O>) -> f64 {
        let length = evaluator.curvature.lipschitz().recip();
        for (step, gradient) in self.buffers.step.iter_mut().zip(&self.gradient.values) {
            *step = -length * gradient;
        }
        self.buffers.dual_step.fill(0.0);
        inner(&self.gradient.values, &self.buffers.step)
    }

    /// Moves the point along the step, and returns the fraction of the step that was taken.
    fn search_along<O: StronglyConvex>(
        &mut self,
        newton: &dyn NewtonSteps<O::Scratch>,
        mut slope: f64,
        point: &mut Buffer,
        evaluator: &mut Evaluator<'_, O>,
    ) -> Result<f64, SolveError> {
        // For a step no longer than |g|/mu, Armijo's condition holds for every fraction below this
        // one, up to rounding.
        let shortest = 0.25 / evaluator.curvature.condition_number();
        let mut value_before = None;
        let (mut fraction, mut replaced) = (1.0, false);
        loop {
            let moved = point.iter_mut().zip(&self.buffers.before);
            for ((point, before), step) in moved.zip(&self.buffers.step) {
                *point = before + fraction * step;
            }
            let gradient_norm = evaluator.gradient(point, &mut self.gradient)?;
            if gradient_norm <= NewtonRun::PROGRESS_FACTOR * self.progress.smallest_norm {
                self.progress.steps_without_progress = 0;
                self.progress.may_run = fraction >= 1.0;
                return Ok(fraction);
            }
            let before = *value_before.get_or_insert_with(|| {
                evaluator.other_work += 1.0;
                newton.value_at(&self.buffers.before, evaluator.scratch)
            });
            evaluator.other_work += 1.0;
            let after = newton.value_at(point, evaluator.scratch);
            let rounding = 64.0 * f64::EPSILON * before.abs();
            if after <= before + ARMIJO * fraction * slope && before - after > rounding {
                self.progress.steps_without_progress = 0;
                return Ok(fraction);
            }
            // The values may be too close to compare, or NaN. The slope at the end of the step is
            // still known, and must have become flatter.
            let flatter =
                inner(&self.gradient.values, &self.buffers.step).abs() <= FLATTER * slope.abs();
            if !(-fraction * slope > rounding) && (flatter || replaced) {
                self.progress.steps_without_progress += 1;
                return Ok(fraction);
            }
            fraction *= 0.5;
            if fraction < shortest && !replaced {
                point.copy_from_slice(&self.buffers.before);
                evaluator.gradient(point, &mut self.gradient)?;
                slope = self.replace_step(evaluator);
                (replaced, fraction) = (true, 1.0);
            }
        }
    }

    /// Returns the objective's own bound on the error of the point, if it has one.
    pub(crate) fn sharpen_bound<O: StronglyConvex>(
        &mut self,
        newton: &dyn NewtonSteps<O::Scratch>,
        (bound, target): (GradientBound, ErrorBound),
        point: &Buffer,
        dual: &Buffer,
        evaluator: &mut Evaluator<'_, O>,
    ) -> Option<ErrorBound> {
        let gradient_norm = self.gradient.norm?;
        let here = NewtonPoint {
            x: point,
            gradient: &self.gradient.values,
            gradient_norm,
            dual,
            target_norm: self.progress.target_norm,
        };
        let (sharper, cost) = newton.sharper_bound(&here, evaluator.scratch)?;
        evaluator.other_work += cost;
        let sharpness = sharper.value() * evaluator.curvature.strong_convexity() / gradient_norm;
        if sharpness > 0.0 && sharpness <= 1.0 {
            // A gradient of this norm suffices if the ratio of the bounds stays the same.
            self.progress.target_norm = bound.threshold(target) / sharpness;
            self.progress.sharpness = Some(sharpness);
        }
        if sharper.value() <= NewtonRun::PROGRESS_FACTOR * self.progress.smallest_bound {
            self.progress.smallest_bound = sharper.value();
            self.progress.steps_without_progress = 0;
        }
        Some(sharper)
    }
}
