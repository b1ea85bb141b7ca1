//! What a function offers that has Newton steps.

use crate::certificate::ErrorBound;

/// The Newton-like steps of a smooth strongly convex function whose scratch space is `S`.
///
/// A function offers them by returning itself from
/// [`StronglyConvex::newton`](crate::StronglyConvex::newton). The solver makes any steps converge
/// by a line search.
pub trait NewtonSteps<S> {
    /// The number of dual variables.
    fn num_duals(&self) -> usize;

    /// What a step costs, in gradients, more or less: [`Method::Auto`](crate::Method::Auto) makes
    /// Newton steps where `$\sqrt{L/\mu}$` is larger, to which the number of gradients of other
    /// methods is proportional.
    fn step_cost(&self) -> f64;

    /// `$\Phi(x)$`, for the line search.
    fn value_at(&self, x: &[f64], scratch: &mut S) -> f64;

    /// Overwrites `step` with a Newton-like step, and `dual_step` with the change of the dual
    /// variables that goes with it. Returns what that cost, in gradients. Must not allocate.
    ///
    /// A step is `$-M^{-1}\nabla\Phi(x)$`, exactly or nearly, for some symmetric `$M$` whose
    /// eigenvalues are bounded from both sides: then it leads downhill, and the solver's line
    /// search makes any such sequence of steps converge. `$M$` may depend on the dual variables,
    /// which are the function's own: they begin as zeros, and the solver only adds to them what it
    /// takes of `dual_step`, a fraction between 0 and 1.
    fn step(
        &self,
        at: &NewtonPoint<'_>,
        step: &mut [f64],
        dual_step: &mut [f64],
        scratch: &mut S,
    ) -> f64;

    /// Makes whole steps in a row, where that is faster than one at a time. Returns what it cost
    /// beside the gradients that [`accept`](NewtonRun::accept) was asked about, in gradients. Must
    /// not allocate.
    ///
    /// For as long as [`run.goes_on()`](NewtonRun::goes_on), `run.x` and `run.dual` are moved by a
    /// step if `run.accept` says so for the norm of the gradient where it leads; if not, the run
    /// ends without it. The steps are those of [`step`](Self::step), but for rounding. A run may
    /// end sooner, even before its first step, as it does by default.
    fn run(&self, run: &mut NewtonRun<'_>, scratch: &mut S) -> f64 {
        let _ = (run, scratch);
        0.0
    }

    /// Another bound on the distance of `at.x` from the minimiser, rounding included, and what it
    /// cost in gradients.
    ///
    /// The solver asks where the gradient alone does not certify the target, but might soon.
    fn sharper_bound(&self, at: &NewtonPoint<'_>, scratch: &mut S) -> Option<(ErrorBound, f64)> {
        let _ = (at, scratch);
        None
    }

    /// How many times too large the gradient's error bound may well be: so far from the target,
    /// [`sharper_bound`](Self::sharper_bound) is asked. At 1 it is asked only where rounding keeps
    /// the gradient from getting smaller.
    fn looseness(&self) -> f64 {
        1.0
    }
}

/// Where a Newton step begins.
#[derive(Clone, Copy, Debug)]
pub struct NewtonPoint<'a> {
    /// `$x$`.
    pub x: &'a [f64],
    /// `$\nabla\Phi(x)$`.
    pub gradient: &'a [f64],
    /// The norm of the gradient.
    pub gradient_norm: f64,
    /// The dual variables.
    pub dual: &'a [f64],
    /// The norm of a gradient that would certify the target: a step need not be more accurate.
    pub wanted_norm: f64,
}

/// Whole Newton steps in a row, see [`NewtonSteps::run`].
#[derive(Debug)]
pub struct NewtonRun<'a> {
    /// `$x$`, moved along.
    pub x: &'a mut [f64],
    /// The dual variables, moved along.
    pub dual: &'a mut [f64],
    /// The smallest norm of all gradients so far.
    smallest_norm: f64,
    wanted_norm: f64,
    max_steps: u64,
    num_steps: u64,
    num_gradients: u64,
}

impl<'a> NewtonRun<'a> {
    /// A gradient this much smaller than any before is progress.
    pub(crate) const PROGRESS: f64 = 0.9;

    /// From `x` and `dual`, where no gradient so far was smaller than `smallest_norm`: at most
    /// `max_steps`, to a gradient of `wanted_norm`.
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

    /// Whether to make a step that leads to a gradient of this norm: where it is clearly smaller
    /// than any before.
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

    /// How many steps were tried, with a gradient each: all that were made, and perhaps one that
    /// was not.
    #[must_use]
    pub const fn num_gradients(&self) -> u64 {
        self.num_gradients
    }
}
