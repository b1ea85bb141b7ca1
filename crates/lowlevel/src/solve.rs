//! Iterate until the answer is certified, or for a given number of iterations.

use std::ops::ControlFlow;

use crate::certificate::{
    Certificate, ErrorBound, accumulated_rounding, proven_iterations, rate_bound, rate_iterations,
};
use crate::domain::Domain;
use crate::error::SolveError;
use crate::method::Method;
use crate::objective::{Newton, StronglyConvex};
use crate::state::State;
use crate::stop::{Observer, Outcome, Progress, Solved, Stop};
use crate::walk::Walk;

/// How to minimise, and over which set.
#[derive(Clone, Copy, Debug, Default)]
pub struct Solver<'a> {
    /// The iteration.
    pub method: Method,
    /// The set.
    pub domain: Domain<'a>,
}

impl<'a> Solver<'a> {
    /// Minimises `objective` from the point in `state`, where the answer is then found.
    ///
    /// `scratch` comes from [`StronglyConvex::scratch`] of this or an equally shaped objective. Allocates nothing.
    ///
    /// # Errors
    /// When the start does not fit or is not finite, a gradient or a projection is not finite, or an a-priori certificate lacks its
    /// bound on the initial distance. After a gradient that is not finite, `state` holds the point where that happened.
    ///
    /// # Panics
    /// When `scratch` is of another shape than the objective needs.
    pub fn minimize<O: StronglyConvex>(
        &self,
        objective: &O,
        stop: Stop,
        state: &mut State,
        scratch: &mut O::Scratch,
    ) -> Result<Solved, SolveError> {
        state.restart(|_| ());
        self.refine(objective, stop, state, scratch)
    }

    /// Like [`minimize`](Self::minimize), watched by `observer`.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    /// use lowlevel::{ErrorBound, Outcome, Solver, State, Stop, testing::NesterovQuadratic};
    ///
    /// let mut errors = Vec::new();
    /// let mut state = State::new(vec![10.0; 10]);
    /// let solved = Solver::default().minimize_observed(
    ///     &NesterovQuadratic::new(10, 1.0, 100.0),
    ///     Stop::accuracy(ErrorBound::new(1e-9)?),
    ///     &mut state,
    ///     &mut (),
    ///     &mut |progress| {
    ///         errors.push(progress.error);
    ///         if progress.iterations < 20 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    ///     },
    /// )?;
    /// assert_eq!(solved.outcome, Outcome::Stopped);
    /// assert_eq!(errors.len(), 20);
    /// assert_eq!(errors.last(), Some(&solved.error)); // what was achieved is certified all the same
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As `minimize`.
    pub fn minimize_observed<O: StronglyConvex>(
        &self,
        objective: &O,
        stop: Stop,
        state: &mut State,
        scratch: &mut O::Scratch,
        observer: &mut Observer<'_>,
    ) -> Result<Solved, SolveError> {
        state.restart(|_| ());
        self.refine_observed(objective, stop, state, scratch, observer)
    }

    /// Goes on where the last solve of `objective` left `state`: the same iterates as if it had not stopped.
    ///
    /// Over the whole space no gradient is evaluated twice if the objective has a
    /// [`fingerprint`](StronglyConvex::fingerprint), as all models of the crate `imaging` have; one without, such as a closure,
    /// is asked for the last gradient again, to be sure that `state` is its own. Over a set, at least one iteration certifies
    /// the answer anew. Momentum starts anew where `state` is fresh, comes from another method or objective, or where an a-priori
    /// certificate is asked for. So any `state` of the right length will do, as a warm start at least.
    ///
    /// # Errors
    /// As `minimize`.
    pub fn refine<O: StronglyConvex>(
        &self,
        objective: &O,
        stop: Stop,
        state: &mut State,
        scratch: &mut O::Scratch,
    ) -> Result<Solved, SolveError> {
        self.run(objective, stop, state, scratch, None)
    }

    /// Like [`refine`](Self::refine), watched by `observer`.
    ///
    /// # Errors
    /// As `minimize`.
    pub fn refine_observed<O: StronglyConvex>(
        &self,
        objective: &O,
        stop: Stop,
        state: &mut State,
        scratch: &mut O::Scratch,
        observer: &mut Observer<'_>,
    ) -> Result<Solved, SolveError> {
        self.run(objective, stop, state, scratch, Some(observer))
    }

    fn run<O: StronglyConvex>(
        &self,
        objective: &O,
        stop: Stop,
        state: &mut State,
        scratch: &mut O::Scratch,
        observer: Option<&mut Observer<'_>>,
    ) -> Result<Solved, SolveError> {
        let mut solver = *self;
        if let Stop::Accuracy {
            certificate: Certificate::Rate { initial },
            ..
        } = stop
        {
            if initial == ErrorBound::UNKNOWN {
                return Err(SolveError::UnknownInitialDistance);
            }
            match self.method {
                Method::Auto => solver.method = Method::FISTA,
                Method::GradientDescent { .. } | Method::Fista { .. } => {}
                method @ (Method::HeavyBall | Method::Newton) => {
                    return Err(SolveError::NoRate { method });
                }
            }
            state.restart(|_| ());
        }
        let walk = Walk::new(&solver, objective, state, scratch)?;
        let method = walk.method;
        match stop {
            Stop::Iterations(iterations) => fixed(walk, iterations, observer),
            Stop::Accuracy {
                target,
                certificate: Certificate::Centre,
                max_iterations,
            } if walk.has_centre() => {
                let mut walk = walk;
                walk.aim_at_centre();
                until_certified(walk, target, max_iterations, observer)
            }
            Stop::Accuracy {
                target,
                certificate: Certificate::Gradient | Certificate::Centre,
                max_iterations,
            } => match walk.newton {
                None => until_certified(walk, target, max_iterations, observer),
                Some(newton) => newton_steps(walk, newton, target, max_iterations, observer),
            },
            Stop::Accuracy {
                target,
                certificate: Certificate::Rate { initial },
                max_iterations,
            } => a_priori(walk, method, target, initial, max_iterations, observer),
        }
    }
}

/// Iterations before it is first looked into whether iterating still helps; then again each time they have doubled.
const FIRST_CHECK: u64 = 64;

/// Iterates until the gradient certifies `target`, or until that is seen to be impossible.
fn until_certified<O: StronglyConvex>(
    mut walk: Walk<'_, O>,
    target: ErrorBound,
    max_iterations: Option<u64>,
    mut observer: Option<&mut Observer<'_>>,
) -> Result<Solved, SolveError> {
    let max_iterations = max_iterations.unwrap_or(u64::MAX);
    let mut proven_limit = None;
    let mut next_check = FIRST_CHECK;
    // The bound with its rounding term is computed only where the measurement is small enough to decide something.
    let mut threshold = f64::INFINITY;
    let outcome = loop {
        let check = walk.iterations >= next_check;
        if let Some(measured) = walk.measured
            && (check || measured <= threshold)
        {
            let rounding = walk.rounding(measured);
            let error = walk.error_with(measured, rounding);
            if error <= target {
                break Outcome::Done;
            }
            if measured <= rounding && walk.error_with(0.0, rounding) > target {
                break Outcome::RoundingFloor;
            }
            threshold = walk.threshold(target).max(rounding);
            proven_limit.get_or_insert_with(|| {
                let attainable = target
                    .value()
                    .max(rounding / walk.curvature.strong_convexity());
                proven_iterations(walk.method, walk.curvature, error, attainable)
                    .saturating_add(walk.iterations)
            });
        } else if target == ErrorBound::UNKNOWN {
            break Outcome::Done;
        }
        if walk.iterations >= max_iterations {
            break Outcome::IterationLimit;
        }
        if proven_limit.is_some_and(|limit| walk.iterations >= limit) {
            break Outcome::Stalled;
        }
        let before = check.then(|| walk.position());
        walk.step()?;
        if watch(&walk, &mut observer).is_break() {
            break if walk.error() <= target {
                Outcome::Done
            } else {
                Outcome::Stopped
            };
        }
        if check {
            next_check = next_check.saturating_mul(2);
            if before == Some(walk.position()) && walk.error() > target {
                break Outcome::Stalled;
            }
        }
    };
    let error = walk.error();
    walk.move_to_centre();
    Ok(solved(&walk, error, outcome))
}

/// Makes Newton steps until the gradient, or a sharper bound of the objective, certifies `target`, or until they no longer help.
fn newton_steps<O: StronglyConvex>(
    mut walk: Walk<'_, O>,
    newton: Newton,
    target: ErrorBound,
    max_iterations: Option<u64>,
    mut observer: Option<&mut Observer<'_>>,
) -> Result<Solved, SolveError> {
    walk.wanted_norm = walk.threshold(target);
    let max_iterations = max_iterations.unwrap_or(u64::MAX);
    let outcome = loop {
        let measured = walk.measured.unwrap_or(f64::INFINITY);
        let rounding = walk.rounding(measured);
        if walk.error_with(measured, rounding) <= target {
            break Outcome::Done;
        }
        let at_floor = measured <= rounding && walk.error_with(0.0, rounding) > target;
        // What the last bound said of smaller gradients, it may well say of this one.
        let near = walk.search.expected_sharpness(newton) * measured <= walk.threshold(target);
        if near || at_floor || walk.search.is_idle() {
            walk.sharpen_bound(target);
            if walk.error() <= target {
                break Outcome::Done;
            }
        }
        match (walk.search.is_over(), at_floor) {
            (true, true) => break Outcome::RoundingFloor,
            (true, false) => break Outcome::Stalled,
            (false, _) => {}
        }
        if walk.iterations >= max_iterations {
            break Outcome::IterationLimit;
        }
        if observer.is_none() {
            walk.steps_at_once = max_iterations - walk.iterations;
        }
        walk.step()?;
        if watch(&walk, &mut observer).is_break() {
            break if walk.error() <= target {
                Outcome::Done
            } else {
                Outcome::Stopped
            };
        }
    };
    Ok(solved(&walk, walk.error(), outcome))
}

/// Makes exactly so many iterations.
fn fixed<O: StronglyConvex>(
    mut walk: Walk<'_, O>,
    iterations: u64,
    mut observer: Option<&mut Observer<'_>>,
) -> Result<Solved, SolveError> {
    let outcome = match make_iterations(&mut walk, iterations, true, &mut observer)? {
        ControlFlow::Continue(()) => Outcome::Done,
        ControlFlow::Break(()) => Outcome::Stopped,
    };
    Ok(solved(&walk, walk.error(), outcome))
}

/// Makes as many iterations as the rate of convergence demands.
fn a_priori<O: StronglyConvex>(
    mut walk: Walk<'_, O>,
    method: Method,
    target: ErrorBound,
    initial: ErrorBound,
    max_iterations: Option<u64>,
    mut observer: Option<&mut Observer<'_>>,
) -> Result<Solved, SolveError> {
    let curvature = walk.curvature;
    let max_iterations = max_iterations.unwrap_or(u64::MAX);
    let rounding_after = |walk: &Walk<'_, O>, iterations: u64| {
        let before = rate_bound(method, curvature, iterations.saturating_sub(1), initial);
        accumulated_rounding(
            curvature,
            iterations,
            before,
            walk.norms(),
            |x, gradient| walk.gradient_rounding(x, gradient),
        )
    };
    // Asking the rate for less than rounding leaves would only waste iterations.
    let mut wanted = target.value().max(rounding_after(&walk, 1));
    let (error, outcome) = loop {
        let needed = rate_iterations(
            method,
            curvature,
            initial,
            ErrorBound::from_computed(wanted),
        );
        let stopped = make_iterations(&mut walk, needed.min(max_iterations), false, &mut observer)?;
        if stopped.is_break() {
            // Perhaps at an extrapolated point, which has no rate.
            break (walk.error(), Outcome::Stopped);
        }
        // Both hold, so the smaller one does.
        let rounding = rounding_after(&walk, walk.iterations);
        let rate = rate_bound(method, curvature, walk.iterations, initial).value();
        let a_priori = ErrorBound::from_computed(rate + rounding);
        let error = if a_priori < walk.error() {
            a_priori
        } else {
            walk.error()
        };
        if error <= target {
            break (error, Outcome::Done);
        }
        if needed >= max_iterations {
            break (error, Outcome::IterationLimit);
        }
        // What rounding leaves of the target, if that is anything new.
        let left = 0.9 * (target.value() - rounding);
        if !(left > 0.0 && left < wanted) {
            break (error, Outcome::RoundingFloor);
        }
        wanted = left;
    };
    Ok(solved(&walk, error, outcome))
}

/// How often it is looked whether iterations still change anything.
const CHECK_EVERY: u64 = 64;

/// Goes on until so many iterations have been made, and ends at the iterate; breaks where the observer does.
///
/// An iteration that changes nothing, not a single bit, is followed by iterations that change nothing either. With `may_rest` they are
/// counted without being made, unless somebody watches them.
fn make_iterations<O: StronglyConvex>(
    walk: &mut Walk<'_, O>,
    iterations: u64,
    may_rest: bool,
    observer: &mut Option<&mut Observer<'_>>,
) -> Result<ControlFlow<()>, SolveError> {
    let may_rest = may_rest && observer.is_none();
    while walk.iterations < iterations {
        let check =
            may_rest && walk.newton.is_none() && walk.iterations % CHECK_EVERY == CHECK_EVERY - 1;
        let before = check.then(|| walk.position());
        if walk.iterations + 1 == iterations {
            walk.last_step()?;
        } else {
            walk.step()?;
            if walk.search.is_over() || (check && before == Some(walk.position())) {
                walk.iterations = walk.iterations.max(iterations - 1);
            }
        }
        if watch(walk, observer).is_break() && walk.iterations < iterations {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}

fn watch<O: StronglyConvex>(
    walk: &Walk<'_, O>,
    observer: &mut Option<&mut Observer<'_>>,
) -> ControlFlow<()> {
    observer
        .as_mut()
        .map_or(ControlFlow::Continue(()), |observe| {
            observe(&Progress {
                iterations: walk.iterations,
                gradients: walk.gradients,
                error: walk.error(),
                point: &walk.state.point,
            })
        })
}

const fn solved<O: StronglyConvex>(
    walk: &Walk<'_, O>,
    error: ErrorBound,
    outcome: Outcome,
) -> Solved {
    Solved {
        error,
        outcome,
        iterations: walk.iterations,
        gradients: walk.gradients,
        work: walk.gradients as f64 + walk.work,
    }
}
