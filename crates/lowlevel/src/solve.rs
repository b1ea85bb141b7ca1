//! Iterate until the answer is certified, or for a given number of iterations.

use std::ops::ControlFlow;

use crate::certificate::{
    Certificate, ErrorBound, accumulated_rounding, proven_iterations, rate_bound, rate_iterations,
};
use crate::domain::Domain;
use crate::error::SolveError;
use crate::evaluator::Measured;
use crate::iteration::Iteration;
use crate::method::Method;
use crate::objective::StronglyConvex;
use crate::state::State;
use crate::stop::{Observer, Outcome, Progress, Solved, Stop};

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
    /// `scratch` comes from [`StronglyConvex::scratch`] of this or an equally shaped objective.
    /// Allocates nothing.
    ///
    /// # Errors
    /// When the start does not fit or is not finite, a gradient or a projection is not finite, or
    /// an a-priori certificate lacks its bound on the initial distance. After a gradient that is
    /// not finite, `state` holds the point where that happened.
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

    /// Goes on where the last solve of `objective` left `state`: the same iterates as if it had not
    /// stopped.
    ///
    /// Over the whole space no gradient is evaluated twice if the objective has a
    /// [`fingerprint`](StronglyConvex::fingerprint), as all models of the crate `imaging` have; one
    /// without, such as a closure, is asked for the last gradient again, to be sure that `state` is
    /// its own. Over a set, at least one iteration certifies the answer anew. Momentum starts anew
    /// where `state` is fresh, comes from another method or objective, or where an a-priori
    /// certificate is asked for. So any `state` of the right length will do, as a warm start at
    /// least.
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
    /// ```
    /// use std::ops::ControlFlow;
    /// use lowlevel::{ErrorBound, Outcome, Solver, State, Stop, testing::NesterovQuadratic};
    ///
    /// let mut errors = Vec::new();
    /// let mut state = State::new(vec![10.0; 10]);
    /// let solved = Solver::default().refine_observed(
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
        let solve = Iteration::new(&solver, objective, state, scratch)?;
        match stop {
            Stop::Iterations(iterations) => fixed(solve, iterations, observer),
            Stop::Accuracy {
                target,
                certificate: Certificate::Gradient,
                max_iterations,
            } => match solve.newton {
                None => until_certified(solve, target, max_iterations, observer),
                Some(newton) => {
                    let looseness = newton.looseness();
                    newton_steps(solve, looseness, target, max_iterations, observer)
                }
            },
            Stop::Accuracy {
                target,
                certificate: Certificate::Rate { initial },
                max_iterations,
            } => a_priori(solve, target, initial, max_iterations, observer),
        }
    }
}

/// Iterations before it is first looked into whether iterating still helps; then again each time
/// they have doubled.
const FIRST_CHECK: u64 = 64;

/// Iterates until the gradient certifies `target`, or until that is seen to be impossible.
fn until_certified<O: StronglyConvex>(
    mut solve: Iteration<'_, O>,
    target: ErrorBound,
    max_iterations: Option<u64>,
    mut observer: Option<&mut Observer<'_>>,
) -> Result<Solved, SolveError> {
    let max_iterations = max_iterations.unwrap_or(u64::MAX);
    let mut proven_limit = None;
    let mut next_check = FIRST_CHECK;
    // The bound with its rounding term is computed only where the measurement is small enough to
    // decide something.
    let mut threshold = f64::INFINITY;
    let outcome = loop {
        let check = solve.at.iterations >= next_check;
        if let Some(Measured { norm: measured, .. }) = solve.measured
            && (check || measured <= threshold)
        {
            let rounding = solve.rounding(measured);
            let error = solve.error_with(measured, rounding);
            if error <= target {
                break Outcome::Converged;
            }
            if measured <= rounding && solve.error_with(0.0, rounding) > target {
                break Outcome::RoundingFloor;
            }
            threshold = solve.threshold(target).max(rounding);
            proven_limit.get_or_insert_with(|| {
                let attainable = target
                    .value()
                    .max(rounding / solve.at.curvature.strong_convexity());
                proven_iterations(solve.method, solve.at.curvature, error, attainable)
                    .saturating_add(solve.at.iterations)
            });
        } else if target == ErrorBound::UNKNOWN {
            break Outcome::Converged;
        }
        if solve.at.iterations >= max_iterations {
            break Outcome::IterationLimit;
        }
        if proven_limit.is_some_and(|limit| solve.at.iterations >= limit) {
            break Outcome::Stalled;
        }
        let before = check.then(|| solve.position());
        solve.step()?;
        if watch(&solve, &mut observer).is_break() {
            break if solve.error() <= target {
                Outcome::Converged
            } else {
                Outcome::Stopped
            };
        }
        if check {
            next_check = next_check.saturating_mul(2);
            if before == Some(solve.position()) && solve.error() > target {
                break Outcome::Stalled;
            }
        }
    };
    Ok(solved(&solve, solve.error(), outcome))
}

/// Makes Newton steps until the gradient, or a sharper bound of the objective, certifies `target`,
/// or until they no longer help.
fn newton_steps<O: StronglyConvex>(
    mut solve: Iteration<'_, O>,
    looseness: f64,
    target: ErrorBound,
    max_iterations: Option<u64>,
    mut observer: Option<&mut Observer<'_>>,
) -> Result<Solved, SolveError> {
    let threshold = solve.threshold(target);
    solve.search_mut(|search| search.wanted_norm = threshold);
    let max_iterations = max_iterations.unwrap_or(u64::MAX);
    let outcome = loop {
        let norm = solve
            .measured
            .map_or(f64::INFINITY, |measured| measured.norm);
        let rounding = solve.rounding(norm);
        if solve.error_with(norm, rounding) <= target {
            break Outcome::Converged;
        }
        let at_floor = norm <= rounding && solve.error_with(0.0, rounding) > target;
        // What the last bound said of smaller gradients, it may well say of this one.
        let near = solve.search().expected_sharpness(looseness) * norm <= threshold;
        if near || at_floor || solve.search().is_idle() {
            solve.sharpen_bound(target);
            if solve.error() <= target {
                break Outcome::Converged;
            }
        }
        match (solve.is_over(), at_floor) {
            (true, true) => break Outcome::RoundingFloor,
            (true, false) => break Outcome::Stalled,
            (false, _) => {}
        }
        if solve.at.iterations >= max_iterations {
            break Outcome::IterationLimit;
        }
        if observer.is_none() {
            let left = max_iterations - solve.at.iterations;
            solve.search_mut(|search| search.steps_at_once = left);
        }
        solve.step()?;
        if watch(&solve, &mut observer).is_break() {
            break if solve.error() <= target {
                Outcome::Converged
            } else {
                Outcome::Stopped
            };
        }
    };
    Ok(solved(&solve, solve.error(), outcome))
}

/// Makes exactly so many iterations.
fn fixed<O: StronglyConvex>(
    mut solve: Iteration<'_, O>,
    iterations: u64,
    mut observer: Option<&mut Observer<'_>>,
) -> Result<Solved, SolveError> {
    let outcome = match make_iterations(&mut solve, iterations, true, &mut observer)? {
        ControlFlow::Continue(()) => Outcome::IterationsMade,
        ControlFlow::Break(()) => Outcome::Stopped,
    };
    Ok(solved(&solve, solve.error(), outcome))
}

/// Makes as many iterations as the rate of convergence demands.
fn a_priori<O: StronglyConvex>(
    mut solve: Iteration<'_, O>,
    target: ErrorBound,
    initial: ErrorBound,
    max_iterations: Option<u64>,
    mut observer: Option<&mut Observer<'_>>,
) -> Result<Solved, SolveError> {
    let (method, curvature) = (solve.method, solve.at.curvature);
    let max_iterations = max_iterations.unwrap_or(u64::MAX);
    let rounding_after = |solve: &Iteration<'_, O>, iterations: u64| {
        let before = rate_bound(method, curvature, iterations.saturating_sub(1), initial);
        accumulated_rounding(
            curvature,
            iterations,
            before,
            solve.norms(),
            |x, gradient| solve.gradient_rounding(x, gradient),
        )
    };
    // Asking the rate for less than rounding leaves would only waste iterations.
    let mut wanted = target.value().max(rounding_after(&solve, 1));
    let (error, outcome) = loop {
        let needed = rate_iterations(
            method,
            curvature,
            initial,
            ErrorBound::from_computed(wanted),
        );
        let stopped =
            make_iterations(&mut solve, needed.min(max_iterations), false, &mut observer)?;
        if stopped.is_break() {
            // Perhaps at an extrapolated point, which has no rate.
            break (solve.error(), Outcome::Stopped);
        }
        // Both hold, so the smaller one does.
        let rounding = rounding_after(&solve, solve.at.iterations);
        let rate = rate_bound(method, curvature, solve.at.iterations, initial).value();
        let a_priori = ErrorBound::from_computed(rate + rounding);
        let error = if a_priori < solve.error() {
            a_priori
        } else {
            solve.error()
        };
        if error <= target {
            break (error, Outcome::Converged);
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
    Ok(solved(&solve, error, outcome))
}

/// How often it is looked whether iterations still change anything.
const CHECK_EVERY: u64 = 64;

/// Goes on until so many iterations have been made, and ends at the iterate; breaks where the
/// observer does.
///
/// An iteration that changes nothing, not a single bit, is followed by iterations that change
/// nothing either. With `may_rest` they are counted without being made, unless somebody watches
/// them.
fn make_iterations<O: StronglyConvex>(
    solve: &mut Iteration<'_, O>,
    iterations: u64,
    may_rest: bool,
    observer: &mut Option<&mut Observer<'_>>,
) -> Result<ControlFlow<()>, SolveError> {
    let may_rest = may_rest && observer.is_none();
    while solve.at.iterations < iterations {
        let check = may_rest
            && solve.newton.is_none()
            && solve.at.iterations % CHECK_EVERY == CHECK_EVERY - 1;
        let before = check.then(|| solve.position());
        if solve.at.iterations + 1 == iterations {
            solve.last_step()?;
        } else {
            solve.step()?;
            if solve.is_over() || (check && before == Some(solve.position())) {
                solve.at.iterations = solve.at.iterations.max(iterations - 1);
            }
        }
        if watch(solve, observer).is_break() && solve.at.iterations < iterations {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}

fn watch<O: StronglyConvex>(
    solve: &Iteration<'_, O>,
    observer: &mut Option<&mut Observer<'_>>,
) -> ControlFlow<()> {
    observer
        .as_mut()
        .map_or(ControlFlow::Continue(()), |observe| {
            observe(&Progress {
                iterations: solve.at.iterations,
                gradients: solve.at.gradients,
                error: solve.error(),
                point: &solve.state.point,
            })
        })
}

const fn solved<O: StronglyConvex>(
    solve: &Iteration<'_, O>,
    error: ErrorBound,
    outcome: Outcome,
) -> Solved {
    Solved {
        error,
        outcome,
        iterations: solve.at.iterations,
        gradients: solve.at.gradients,
        work: solve.at.gradients as f64 + solve.at.other_work,
    }
}
