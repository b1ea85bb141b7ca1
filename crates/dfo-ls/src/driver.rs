//! The loop around the engine, which asks for jobs, lets the oracle answer them and tells the
//! engine. No other file reads a clock.

use std::ops::ControlFlow;
use std::time::Instant;

use crate::constraints::Problem;
use crate::report::{Iteration, Limit, Report, Termination};
use crate::{Engine, Job, Options, ResidualOracle, SetupError};

/// Minimises `$\|r(\theta)\|^2 + h(\theta)$`.
///
/// # Errors
/// When the problem or an option is invalid. Nothing was evaluated then. Failures of the oracle are
/// not errors but are listed in the [`Report`].
pub fn minimize<O: ResidualOracle>(
    oracle: &mut O,
    problem: Problem,
    options: Options,
) -> Result<Report, SetupError> {
    minimize_observed(oracle, problem, options, |_| ControlFlow::Continue(()))
}

/// Minimises `$\|r(\theta)\|^2 + h(\theta)$` and passes every iteration to `observe`, which may end
/// the run. The first iteration follows the evaluation of the points around the start.
///
/// # Errors
/// When the problem or an option is invalid. Nothing was evaluated then.
pub fn minimize_observed<O: ResidualOracle>(
    oracle: &mut O,
    problem: Problem,
    options: Options,
    mut observe: impl FnMut(&Iteration) -> ControlFlow<()>,
) -> Result<Report, SetupError> {
    let mut engine = Engine::new(problem, oracle.num_residuals(), options)?;
    drive(&mut engine, oracle, &mut observe);
    Ok(engine.into_report())
}

/// Runs an engine to its end, for example a resumed one, and passes every iteration to `observe`,
/// which may stop the run.
///
/// `budget.max_time` counts from this call.
pub fn drive<O: ResidualOracle>(
    engine: &mut Engine<O::Resume>,
    oracle: &mut O,
    mut observe: impl FnMut(&Iteration) -> ControlFlow<()>,
) {
    let mut shown = engine.num_told();
    let _ = drive_with(engine, oracle, usize::MAX, |engine, _| {
        let new = &engine.state().iterations()[shown..];
        shown += new.len();
        if new.iter().any(|iteration| observe(iteration).is_break()) {
            engine.stop(Termination::Stopped);
        }
        ControlFlow::<()>::Continue(())
    });
}

/// Runs an engine to its end. Each round asks for jobs, lets the oracle answer at most `at_once` of
/// them, tells the engine and calls `after_tell`.
///
/// `after_tell` sees the engine after every [`tell`](Engine::tell). It may save the state, show
/// progress or [stop](Engine::stop) the run. If it returns [`ControlFlow::Break`], this function
/// returns the same value at once. That does not stop the run, which can be driven further.
///
/// ```
/// use dfo_ls::{Engine, FnOracle, Options, Problem, drive_with};
/// use std::ops::ControlFlow;
///
/// let mut oracle = FnOracle::new(1, |theta: &[f64], r: &mut [f64]| r[0] = theta[0].exp() - 2.0);
/// let mut engine = Engine::new(Problem::new([3.0]), 1, Options::default())?;
/// let left = drive_with(&mut engine, &mut oracle, 1, |engine, _| {
///     if engine.num_points() < 5 { ControlFlow::Continue(()) } else { ControlFlow::Break("enough for today") }
/// });
/// assert_eq!(left, ControlFlow::Break("enough for today"));
/// assert_eq!(engine.termination(), None);
/// # Ok::<(), dfo_ls::SetupError>(())
/// ```
///
/// `budget.max_time` counts from this call and is checked before `after_tell` is called.
pub fn drive_with<O: ResidualOracle, B>(
    engine: &mut Engine<O::Resume>,
    oracle: &mut O,
    at_once: usize,
    mut after_tell: impl FnMut(&mut Engine<O::Resume>, &O) -> ControlFlow<B>,
) -> ControlFlow<B> {
    if oracle.num_residuals() != engine.state().num_residuals() {
        let (found, expected) = (oracle.num_residuals(), engine.state().num_residuals());
        let reason = format!("the oracle has {found} residuals, but the engine has {expected}");
        engine.stop(Termination::OracleFailed { reason });
    }
    let max_time = engine.options().budget.max_time;
    let begin = Instant::now();
    loop {
        while let Some(request) = engine.measurement() {
            oracle.measure(request);
            if !request.is_answered() {
                request.fail("the oracle answered no request for products");
            }
            engine.tell();
        }
        let jobs = engine.ask();
        if jobs.is_empty() {
            return ControlFlow::Continue(());
        }
        let turn = at_once.clamp(1, jobs.len());
        oracle.evaluate(&mut jobs[..turn]);
        if jobs.iter().any(Job::is_answered) {
            engine.tell();
        } else {
            let reason = "the oracle answered no job".to_owned();
            engine.stop(Termination::OracleFailed { reason });
        }
        if max_time.is_some_and(|limit| begin.elapsed() >= limit) {
            engine.stop(Termination::Exhausted(Limit::Time));
        }
        after_tell(engine, oracle)?;
    }
}
