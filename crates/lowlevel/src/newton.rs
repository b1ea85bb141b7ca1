//! The interface of functions that offer Newton steps.

use crate::certificate::ErrorBound;

/// The Newton-like steps of a smooth strongly convex function whose working memory is `S`.
///
/// A function offers them by returning itself from
/// [`StronglyConvex::newton`](crate::StronglyConvex::newton). The solver adds a line search, with
/// which any such steps converge.
pub trait NewtonSteps<S> {
    /// The number of dual variables.
    fn num_duals(&self) -> usize;

    /// The approximate cost of a step, in gradients.
    ///
    /// The number of gradients of other methods is proportional to `$\sqrt{L/\mu}$`, so
    /// [`Method::Auto`](crate::Method::Auto) makes Newton steps if `$\sqrt{L/\mu}$` exceeds this
    /// cost.
    fn step_cost(&self) -> f64;

    /// Returns `$\Phi(x)$`, for the line search.
    fn value_at(&self, x: &[f64], scratch: &mut S) -> f64;

    /// Overwrites `step` with a Newton-like step and `dual_step` with the corresponding change of
    /// the dual variables. Returns the cost in gradients. Must not allocate.
    ///
    /// A step is `$-M^{-1}\nabla\Phi(x)$`, exactly or nearly, for some symmetric `$M$` whose
    /// eigenvalues lie between two positive bounds. Then it is a descent direction, and any
    /// sequence of such steps converges with the solver's line search. `$M$` may depend on the dual
    /// variables. They start as zeros; if the solver takes a fraction of `step`, it adds the same
    /// fraction of `dual_step` to them.
    fn step(
        &self,
        at: &NewtonPoint<'_>,
        step: &mut [f64],
        dual_step: &mut [f64],
        scratch: &mut S,
    ) -> f64;

    /// Makes whole steps in a row, if that is faster than one at a time. Returns the cost in
    /// gradients, without the gradients that [`accept`](NewtonRun::accept) counts. Must not
    /// allocate.
    ///
    /// While [`run.goes_on()`](NewtonRun::goes_on), an implementation computes a step and the norm
    /// of the gradient at its end, and passes the norm to [`run.accept`](NewtonRun::accept). If the
    /// step is accepted, it moves `run.x` and `run.dual`; otherwise it ends the run without the
    /// step. The steps are those of [`step`](Self::step), up to rounding. A run may end at any
    /// time. The default makes no step.
    fn run(&self, run: &mut NewtonRun<'_>, scratch: &mut S) -> f64 {
        let _ = (run, scratch);
        0.0
    }

    /// Computes a bound on the distance of `at.x` from the minimiser that may be smaller than the
    /// gradient's bound. Returns the bound, which includes rounding, and its cost in gradients.
    ///
    /// The solver calls it if the gradient does not certify the target, but is close to it.
    fn sharper_bound(&self, at: &NewtonPoint<'_>, scratch: &mut S) -> Option<(ErrorBound, f64)> {
        let _ = (at, scratch);
        None
    }

    /// The factor by which the gradient's bound typically exceeds the error.
    ///
    /// The solver calls [`sharper_bound`](Self::sharper_bound) for the first time when the
    /// gradient's bound is within this factor of the target. With the default of 1, it calls it
    /// only where rounding keeps the gradient from becoming smaller.
    fn looseness(&self) -> f64 {
        1.0
    }
}

/// The point where a Newton step starts.
#[derive(Clone, Copy, Debug)]
pub struct NewtonPoint<'a> {
    /// The point `$x$`.
    pub x: &'a [f64],
    /// The gradient `$\nabla\Phi(x)$`.
    pub gradient: &'a [f64],
    /// The norm of the gradient.
    pub gradient_norm: f64,
    /// The dual variables.
    pub dual: &'a [f64],
    /// The norm of the gradient at which the target would be certified. A step need not be more
    /// accurate than that.
    pub target_norm: f64,
}

/// A run of whole Newton steps, made by [`NewtonSteps::run`].
#[derive(Debug)]
pub struct NewtonRun<'a> {
    /// The point `$x$`, which the run moves.
    pub x: &'a mut [f64],
    /// The dual variables, which the run moves.
    pub dual: &'a mut [f64],
    /// The smallest norm of a gradient so far.
    smallest_norm: f64,
    target_norm: f64,
    max_steps: u64,
    num_steps: u64,
    num_gradients: u64,
}

impl<'a> NewtonRun<'a> {
    /// A step makes progress if the norm of the gradient falls below this factor times the smallest
    /// one so far; a choice.
    pub(crate) const PROGRESS_FACTOR: f64 = 0.9;

    /// Creates a run that starts at `x` and `dual` and makes at most `max_steps` steps, until the
    /// norm of the gradient is at most `target_norm`. No gradient so far was smaller than
    /// `smallest_norm`.
    #[must_use]
    pub const fn new(
        x: &'a mut [f64],
        dual: &'a mut [f64],
        smallest_norm: f64,
        target_norm: f64,
        max_steps: u64,
    ) -> Self {
        Self {
            x,
            dual,
            smallest_norm,
            target_norm,
            max_steps,
            num_steps: 0,
            num_gradients: 0,
        }
    }

    /// Whether another step is needed and allowed.
    #[must_use]
    pub fn goes_on(&self) -> bool {
        self.smallest_norm > self.target_norm && self.num_steps < self.max_steps
    }

    /// Counts a gradient of this norm at the end of a step, and returns whether to make the step:
    /// only if the norm is clearly smaller than all before.
    #[must_use]
    pub fn accept(&mut self, gradient_norm: f64) -> bool {
        self.num_gradients += 1;
        let accepted = gradient_norm <= Self::PROGRESS_FACTOR * self.smallest_norm;
        if accepted {
            self.smallest_norm = gradient_norm;
            self.num_steps += 1;
        }
        accepted
    }

    /// The number of steps made.
    #[must_use]
    pub const fn num_steps(&self) -> u64 {
        self.num_steps
    }

    /// The number of steps tried, with one gradient each: the steps made, and possibly one that was
    /// not accepted.
    #[must_use]
    pub const fn num_gradients(&self) -> u64 {
        self.num_gradients
    }
}
