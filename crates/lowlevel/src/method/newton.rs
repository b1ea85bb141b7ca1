//! Newton-like steps of the objective, made to converge by a line search.
//!
//! A step `$s = -M^{-1}g$` leads downhill, since `$g^Ts < 0$`. Usually the whole step is taken: it
//! is accepted where the gradient becomes clearly smaller than it ever was, which also works where
//! values no longer differ. An objective may make such steps in a row by itself; the gradient at
//! their end is evaluated again. Otherwise a step is halved until Armijo's condition
//! `$\Phi(x + ts) \le \Phi(x) + 10^{-4}\,t\,g^Ts$` holds.
//!
//! That converges: the first kind of step makes the smallest gradient so far smaller by a factor,
//! so a given accuracy needs finitely many of them; and a sequence of the second kind alone is a
//! descent method with directions bounded away from being orthogonal to the gradient, of which all
//! limit points are stationary, so that `$x^*$` is the limit.

use crate::buffer::Buffer;
use crate::certificate::{ErrorBound, GradientBound};
use crate::error::SolveError;
use crate::evaluator::{Evaluator, Gradient};
use crate::newton::{NewtonPoint, NewtonRun, NewtonSteps};
use crate::norm::inner;
use crate::objective::StronglyConvex;

/// Armijo's constant.
const ARMIJO: f64 = 1e-4;
/// Where values are too close to tell, the slope along the step must become so much smaller.
const FLATTER: f64 = 0.5;
/// So many steps in a row may leave everything where rounding puts it.
const PATIENCE: u32 = 4;

/// The memory of [`Method::Newton`](crate::Method::Newton), besides the dual variables.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Newton {
    pub(crate) gradient: Gradient,
    /// How the steps of the current solve go.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub(crate) search: Search,
    #[cfg_attr(feature = "serde", serde(skip))]
    pub(crate) room: Room,
}

/// Vectors that mean nothing between two steps.
#[derive(Clone, Debug, Default)]
pub(crate) struct Room {
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

/// How the Newton steps of a solve went.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Search {
    /// The norm of a gradient that would certify the target.
    pub(crate) wanted_norm: f64,
    /// How many steps may be made at once.
    pub(crate) steps_at_once: u64,
    /// What the objective itself says of the error of the point.
    pub(crate) sharper: Option<ErrorBound>,
    smallest_norm: f64,
    smallest_bound: f64,
    /// The last sharper bound, as a share of the gradient's.
    sharpness: Option<f64>,
    /// Steps in a row that were not seen to lead downhill.
    idle: u32,
    /// Whether the last step was whole and made the gradient clearly smaller: then so may be the
    /// next ones.
    runs: bool,
}

impl Default for Search {
    fn default() -> Self {
        Self {
            wanted_norm: 0.0,
            steps_at_once: 1,
            sharper: None,
            smallest_norm: f64::INFINITY,
            smallest_bound: f64::INFINITY,
            sharpness: None,
            idle: 0,
            runs: true,
        }
    }
}

impl Search {
    /// How large a sharper bound is to be expected, as a share of the gradient's.
    pub(crate) fn expected_sharpness(&self, looseness: f64) -> f64 {
        self.sharpness.unwrap_or(looseness.recip())
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

impl Newton {
    pub(crate) fn new(gradient: Gradient) -> Self {
        Self {
            gradient,
            search: Search::default(),
            room: Room::default(),
        }
    }

    /// Prepares a solve: makes room, and knows nothing of its steps yet.
    pub(crate) fn begin_solve<S>(
        &mut self,
        newton: &dyn NewtonSteps<S>,
        dim: usize,
        dual: &mut Buffer,
    ) {
        dual.resize(newton.num_duals());
        self.room.dual_step.resize(newton.num_duals(), 0.0);
        self.room.step.resize(dim, 0.0);
        if self.room.before.len() != dim {
            self.room.before = Buffer::filled(dim, 0.0, Buffer::SECOND);
        }
        self.search = Search::default();
    }

    /// Makes one step, or up to `search.steps_at_once` whole ones in a row, and evaluates the
    /// gradient where that leads. Returns how many.
    pub(crate) fn step<O: StronglyConvex>(
        &mut self,
        newton: &dyn NewtonSteps<O::Scratch>,
        point: &mut Buffer,
        dual: &mut Buffer,
        at: &mut Evaluator<'_, O>,
    ) -> Result<u64, SolveError> {
        self.search.sharper = None;
        let Some(gradient_norm) = self.gradient.norm else {
            return Ok(1); // a solve begins with the gradient
        };
        if gradient_norm == 0.0 || self.search.is_over() {
            self.search.idle = PATIENCE;
            return Ok(1);
        }
        self.search.smallest_norm = self.search.smallest_norm.min(gradient_norm);
        if self.search.runs {
            let num_steps = self.run(newton, point, dual, at)?;
            if num_steps > 0 {
                return Ok(num_steps);
            }
        }
        self.single_step(newton, gradient_norm, point, dual, at)?;
        Ok(1)
    }

    /// Makes whole steps in a row, each seen to make the gradient clearly smaller. Returns how
    /// many.
    fn run<O: StronglyConvex>(
        &mut self,
        newton: &dyn NewtonSteps<O::Scratch>,
        point: &mut Buffer,
        dual: &mut Buffer,
        at: &mut Evaluator<'_, O>,
    ) -> Result<u64, SolveError> {
        let Search {
            smallest_norm,
            wanted_norm,
            steps_at_once,
            ..
        } = self.search;
        let mut run = NewtonRun::new(point, dual, smallest_norm, wanted_norm, steps_at_once);
        at.other_work += newton.run(&mut run, at.scratch);
        let (num_steps, num_gradients) = (run.num_steps(), run.num_gradients());
        at.gradients += num_gradients;
        self.search.runs = false;
        if num_steps > 0 {
            let gradient_norm = at.gradient(point, &mut self.gradient)?;
            // seen here, too
            self.search.runs =
                num_gradients == num_steps && gradient_norm <= NewtonRun::PROGRESS * smallest_norm;
            self.search.idle = 0;
        }
        Ok(num_steps)
    }

    /// Makes one step, as much of it as the line search allows.
    fn single_step<O: StronglyConvex>(
        &mut self,
        newton: &dyn NewtonSteps<O::Scratch>,
        gradient_norm: f64,
        point: &mut Buffer,
        dual: &mut Buffer,
        at: &mut Evaluator<'_, O>,
    ) -> Result<(), SolveError> {
        let Room {
            before,
            step,
            dual_step,
        } = &mut self.room;
        before.copy_from_slice(point);
        let here = NewtonPoint {
            x: before,
            gradient: &self.gradient.values,
            gradient_norm,
            dual,
            wanted_norm: self.search.wanted_norm,
        };
        at.other_work += newton.step(&here, step, dual_step, at.scratch);
        let mut slope = inner(&self.gradient.values, step);
        // NaN where an entry of the step is not finite
        if !(slope < 0.0 && slope > f64::NEG_INFINITY) {
            slope = self.replace_step(at);
        }
        let fraction = self.search_along(newton, slope, point, at)?;
        for (dual, step) in dual.iter_mut().zip(&self.room.dual_step) {
            *dual += fraction * step;
        }
        Ok(())
    }

    /// Takes a step of gradient descent, which always leads downhill, instead of one that does not;
    /// returns its slope.
    fn replace_step<O: StronglyConvex>(&mut self, at: &Evaluator<'_, O>) -> f64 {
        let length = at.curvature.lipschitz().recip();
        for (step, gradient) in self.room.step.iter_mut().zip(&self.gradient.values) {
            *step = -length * gradient;
        }
        self.room.dual_step.fill(0.0);
        inner(&self.gradient.values, &self.room.step)
    }

    /// Moves along the step, and returns how much of it was taken.
    fn search_along<O: StronglyConvex>(
        &mut self,
        newton: &dyn NewtonSteps<O::Scratch>,
        mut slope: f64,
        point: &mut Buffer,
        at: &mut Evaluator<'_, O>,
    ) -> Result<f64, SolveError> {
        // Armijo's condition holds for shorter parts of any step that is no longer than |g|/mu, up
        // to rounding.
        let shortest = 0.25 / at.curvature.condition_number();
        let mut value_before = None;
        let (mut fraction, mut replaced) = (1.0, false);
        loop {
            let moved = point.iter_mut().zip(&self.room.before);
            for ((point, before), step) in moved.zip(&self.room.step) {
                *point = before + fraction * step;
            }
            let gradient_norm = at.gradient(point, &mut self.gradient)?;
            if gradient_norm <= NewtonRun::PROGRESS * self.search.smallest_norm {
                self.search.idle = 0;
                self.search.runs = fraction >= 1.0;
                return Ok(fraction);
            }
            let before = *value_before.get_or_insert_with(|| {
                at.other_work += 1.0;
                newton.value_at(&self.room.before, at.scratch)
            });
            at.other_work += 1.0;
            let after = newton.value_at(point, at.scratch);
            let rounding = 64.0 * f64::EPSILON * before.abs();
            if after <= before + ARMIJO * fraction * slope && before - after > rounding {
                self.search.idle = 0;
                return Ok(fraction);
            }
            // Values may be too close to tell, or not be numbers. The slope where the step leads is
            // not, and must have become flatter.
            let flatter =
                inner(&self.gradient.values, &self.room.step).abs() <= FLATTER * slope.abs();
            if !(-fraction * slope > rounding) && (flatter || replaced) {
                self.search.idle += 1;
                return Ok(fraction);
            }
            fraction *= 0.5;
            if fraction < shortest && !replaced {
                point.copy_from_slice(&self.room.before);
                at.gradient(point, &mut self.gradient)?;
                slope = self.replace_step(at);
                (replaced, fraction) = (true, 1.0);
            }
        }
    }

    /// Asks the objective for its own bound for the point.
    pub(crate) fn sharpen_bound<O: StronglyConvex>(
        &mut self,
        newton: &dyn NewtonSteps<O::Scratch>,
        (bound, target): (GradientBound, ErrorBound),
        point: &Buffer,
        dual: &Buffer,
        at: &mut Evaluator<'_, O>,
    ) {
        let Some(gradient_norm) = self.gradient.norm else {
            return;
        };
        let here = NewtonPoint {
            x: point,
            gradient: &self.gradient.values,
            gradient_norm,
            dual,
            wanted_norm: self.search.wanted_norm,
        };
        if let Some((sharper, cost)) = newton.sharper_bound(&here, at.scratch) {
            at.other_work += cost;
            self.search.sharper = Some(sharper);
            let sharpness = sharper.value() * at.curvature.strong_convexity() / gradient_norm;
            if sharpness > 0.0 && sharpness <= 1.0 {
                // steps need not be more accurate than that
                self.search.wanted_norm = bound.threshold(target) / sharpness;
                self.search.sharpness = Some(sharpness);
            }
            if sharper.value() <= NewtonRun::PROGRESS * self.search.smallest_bound {
                self.search.smallest_bound = sharper.value();
                self.search.idle = 0;
            }
        }
    }
}
