//! The solver: iterates until the answer is certified, or for a given number of iterations.

use std::ops::ControlFlow;

use crate::certificate::{
    Certificate, ErrorBound, accumulated_rounding, proven_iterations, rate_bound, rate_iterations,
};
use crate::correction::Corrections;
use crate::domain::Domain;
use crate::error::SolveError;
use crate::evaluator::Measured;
use crate::iteration::Iteration;
use crate::method::Method;
use crate::metric::MetricSteps;
use crate::objective::StronglyConvex;
use crate::state::State;
use crate::stop::{Observer, Outcome, Progress, Solved, Stop};
use crate::subgradient::Subgradients;

/// A method of minimisation and the set to minimise over.
#[derive(Clone, Copy, Debug, Default)]
pub struct Solver<'a> {
    /// The method.
    pub method: Method,
    /// The set over which the objective is minimised.
    pub domain: Domain<'a>,
}

impl<'a> Solver<'a> {
    /// Minimises `objective` from the point in `state`, and leaves the answer there.
    ///
    /// `scratch` comes from [`StronglyConvex::scratch`] of this objective, or of another one of the
    /// same shape. A solve in a state that was used before allocates nothing.
    ///
    /// # Errors
    /// If the start has the wrong length or is not finite, if a gradient or a projection is not
    /// finite, or if the method cannot be used with this objective, domain or certificate;
    /// [`SolveError`] lists all cases. If a gradient is not finite, `state` holds the point where
    /// this happened.
    ///
    /// # Panics
    /// If `scratch` does not have the shape that the objective needs.
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

    /// Continues the last solve of `objective` in `state`. The iterates are the same as if the
    /// solve had not stopped, except that an objective with
    /// [rough gradients](StronglyConvex::rough_gradient) continues from an exact one, and one with
    /// a [metric](crate::SecondOrder::metric) sets it again.
    ///
    /// Over the whole space no gradient is evaluated twice if the objective has a
    /// [`fingerprint`](StronglyConvex::fingerprint), as all models of the crate `imaging` have. For
    /// an objective without one, such as a closure, the solver evaluates the last gradient again to
    /// make sure that `state` belongs to it. Over a set, at least one iteration certifies the
    /// answer again.
    ///
    /// The momentum starts afresh if `state` is new, if it comes from another method or objective,
    /// or if the certificate is a priori. So any `state` of the right length is at least a warm
    /// start.
    ///
    /// # Errors
    /// The same as for [`minimize`](Self::minimize).
    pub fn refine<O: StronglyConvex>(
        &self,
        objective: &O,
        stop: Stop,
        state: &mut State,
        scratch: &mut O::Scratch,
    ) -> Result<Solved, SolveError> {
        self.run(objective, stop, state, scratch, None)
    }

    /// Does the same as [`refine`](Self::refine), and calls `observer` after every iteration.
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
    ///         match progress.iterations {
    ///             20 => ControlFlow::Break(()),
    ///             _ => ControlFlow::Continue(()),
    ///         }
    ///     },
    /// )?;
    /// assert_eq!(solved.outcome, Outcome::Stopped);
    /// assert_eq!(errors.len(), 20);
    /// assert_eq!(errors.last(), Some(&solved.error)); // the error is certified even so
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The same as for [`minimize`](Self::minimize).
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
                certificate: certificate @ (Certificate::Gradient | Certificate::Subgradient),
                max_iterations,
            } => match solve.newton {
                None => {
                    let is_auto = self.method == Method::Auto && self.domain.is_whole();
                    let faster = if is_auto {
                        Faster::of(objective)
                    } else {
                        Faster::None
                    };
                    let subgradients = Subgradients::of(certificate);
                    let iterations = (faster, subgradients);
                    until_certified(solve, iterations, target, max_iterations, observer)
                }
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

/// The first stall check comes after this many iterations. The number doubles after each check, so
/// the number of checks grows only with the logarithm of the number of iterations.
const FIRST_CHECK: u64 = 64;

/// Iterations that may be faster than those of the heavy ball.
#[derive(Debug)]
enum Faster {
    None,
    Metric(MetricSteps),
    Corrections(Corrections),
}

impl Faster {
    /// Returns the fastest iterations that the objective offers.
    fn of<O: StronglyConvex>(objective: &O) -> Self {
        let metric = MetricSteps::of(objective).map(Self::Metric);
        let corrections = || Corrections::of(objective).map(Self::Corrections);
        metric.or_else(corrections).unwrap_or(Self::None)
    }
}

/// Iterates until the gradient, or an approximate subgradient, certifies `target`, or until that
/// proves impossible.
fn until_certified<O: StronglyConvex>(
    mut solve: Iteration<'_, O>,
    (mut faster, mut subgradients): (Faster, Option<Subgradients>),
    target: ErrorBound,
    max_iterations: Option<u64>,
    mut observer: Option<&mut Observer<'_>>,
) -> Result<Solved, SolveError> {
    let max_iterations = max_iterations.unwrap_or(u64::MAX);
    let mut proven_limit = None;
    let mut next_check = FIRST_CHECK;
    // The bound with its rounding term is computed only if the measured norm is small enough for
    // the solve to end, or at a stall check.
    let mut threshold = f64::INFINITY;
    solve.allow_rough_gradients(target);
    let outcome = loop {
        let check = solve.evaluator.iterations >= next_check;
        if let Some(Measured { norm: measured, .. }) = solve.measured
            && (check || measured <= threshold)
        {
            let rounding = solve.rounding(measured);
            let error = solve.error_with(measured, rounding);
            if error <= target {
                break Outcome::Converged;
            }
            let is_floor = measured <= rounding && !solve.is_rough();
            if is_floor && solve.error_with(0.0, rounding) > target {
                break Outcome::RoundingFloor;
            }
            threshold = solve.threshold(target).max(rounding);
            proven_limit.get_or_insert_with(|| {
                let attainable = target
                    .value()
                    .max(rounding / solve.evaluator.curvature.strong_convexity());
                proven_iterations(solve.method, solve.evaluator.curvature, error, attainable)
                    .saturating_add(solve.evaluator.iterations)
            });
        } else if target == ErrorBound::UNKNOWN {
            break Outcome::Converged;
        }
        if let Some(subgradients) = &mut subgradients {
            solve.certify_by_subgradients(subgradients, target);
            if solve.sharper.is_some_and(|sharper| sharper <= target) {
                break Outcome::Converged;
            }
        }
        if solve.evaluator.iterations >= max_iterations {
            break Outcome::IterationLimit;
        }
        if proven_limit.is_some_and(|limit| solve.evaluator.iterations >= limit) {
            break Outcome::Stalled;
        }
        let before = check.then(|| solve.position());
        let is_made = match &mut faster {
            Faster::None => false,
            Faster::Metric(steps) => solve.metric_step(steps),
            Faster::Corrections(corrections) => solve.correct(corrections, target),
        };
        if !is_made {
            solve.step()?;
        }
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
    solve.end_with_exact_gradient(target)?;
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
    solve.change_progress(|progress| progress.target_norm = threshold);
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
        // The ratio of the last sharper bound to the gradient's bound predicts the next one.
        let near = solve.progress().expected_sharpness(looseness) * norm <= threshold;
        if near || at_floor || solve.progress().made_no_progress() {
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
        if solve.evaluator.iterations >= max_iterations {
            break Outcome::IterationLimit;
        }
        if observer.is_none() {
            let left = max_iterations - solve.evaluator.iterations;
            solve.change_progress(|progress| progress.steps_at_once = left);
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

/// Makes the requested number of iterations.
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

/// Makes as many iterations as the rate of convergence needs for `target`.
fn a_priori<O: StronglyConvex>(
    mut solve: Iteration<'_, O>,
    target: ErrorBound,
    initial: ErrorBound,
    max_iterations: Option<u64>,
    mut observer: Option<&mut Observer<'_>>,
) -> Result<Solved, SolveError> {
    let (method, curvature) = (solve.method, solve.evaluator.curvature);
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
    // A target below the rounding error would only waste iterations.
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
            // The point may be an extrapolated one, for which there is no rate.
            break (solve.error(), Outcome::Stopped);
        }
        // Both bounds hold, so the smaller one does.
        let rounding = rounding_after(&solve, solve.evaluator.iterations);
        let rate = rate_bound(method, curvature, solve.evaluator.iterations, initial).value();
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
        // The part of the target that rounding leaves to the rate, with a margin of a tenth for the
        // rounding of the further iterations.
        let left = 0.9 * (target.value() - rounding);
        if !(left > 0.0 && left < wanted) {
            break (error, Outcome::RoundingFloor);
        }
        wanted = left;
    };
    Ok(solved(&solve, error, outcome))
}

/// With [`Stop::Iterations`], the solve checks once per this many iterations whether an iteration
/// still changes anything. A check costs two passes over the point, compared with 64 gradients.
const CHECK_EVERY: u64 = 64;

/// Makes iterations until their number is `iterations`, and ends at the iterate. Returns `Break` if
/// the observer stops it earlier.
///
/// After an iteration that changes no bit, no later iteration changes anything. With `may_skip`,
/// such iterations are counted without being made, unless there is an observer.
fn make_iterations<O: StronglyConvex>(
    solve: &mut Iteration<'_, O>,
    iterations: u64,
    may_skip: bool,
    observer: &mut Option<&mut Observer<'_>>,
) -> Result<ControlFlow<()>, SolveError> {
    let may_skip = may_skip && observer.is_none();
    while solve.evaluator.iterations < iterations {
        let check = may_skip
            && solve.newton.is_none()
            && solve.evaluator.iterations % CHECK_EVERY == CHECK_EVERY - 1;
        let before = check.then(|| solve.position());
        if solve.evaluator.iterations + 1 == iterations {
            solve.last_step()?;
        } else {
            solve.step()?;
            if solve.is_over() || (check && before == Some(solve.position())) {
                solve.evaluator.iterations = solve.evaluator.iterations.max(iterations - 1);
            }
        }
        if watch(solve, observer).is_break() && solve.evaluator.iterations < iterations {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}

/// Calls the observer, if there is one.
fn watch<O: StronglyConvex>(
    solve: &Iteration<'_, O>,
    observer: &mut Option<&mut Observer<'_>>,
) -> ControlFlow<()> {
    observer
        .as_mut()
        .map_or(ControlFlow::Continue(()), |observe| {
            observe(&Progress {
                iterations: solve.evaluator.iterations,
                gradients: solve.evaluator.gradients,
                error: solve.error(),
                point: &solve.state.point,
            })
        })
}

/// The result of a solve that ends with `outcome`.
const fn solved<O: StronglyConvex>(
    solve: &Iteration<'_, O>,
    error: ErrorBound,
    outcome: Outcome,
) -> Solved {
    Solved {
        error,
        outcome,
        iterations: solve.evaluator.iterations,
        gradients: solve.evaluator.gradients,
        work: solve.evaluator.gradients as f64 + solve.evaluator.other_work,
    }
}
