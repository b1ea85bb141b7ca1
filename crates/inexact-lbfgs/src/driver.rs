//! The loop around the engine, which asks for jobs, lets the oracle answer them and tells the
//! engine. No other file reads a clock.

use std::ops::ControlFlow;
use std::time::Instant;

use crate::{Engine, Limit, Options, Oracle, Problem, Report, SetupError, Termination};

/// Minimises `$F(\theta) = f(\theta) + \sum_k w_k |\theta_k|$` between bounds.
///
/// # Errors
/// When the problem or an option is invalid. Nothing was evaluated then. Failures of the oracle are
/// not errors but are listed in the [`Report`].
pub fn minimize<O: Oracle>(
    oracle: &mut O,
    problem: Problem,
    options: Options,
) -> Result<Report, SetupError> {
    let mut engine = Engine::new(problem, options)?;
    let _ = drive_with(&mut engine, oracle, |_, _| ControlFlow::<()>::Continue(()));
    Ok(engine.into_report())
}

/// Runs an engine to its end. Each round asks for a job, lets the oracle answer it, tells the
/// engine and calls `after_tell`.
///
/// `after_tell` sees the engine after every [`tell`](Engine::tell). It may save the state, show
/// progress or [stop](Engine::stop) the run. If it returns [`ControlFlow::Break`], this function
/// returns the same value at once. That does not stop the run, which can be driven further.
///
/// ```
/// use inexact_lbfgs::{Engine, FnOracle, Options, Problem, drive_with};
/// use std::ops::ControlFlow;
///
/// let mut oracle = FnOracle::new(|theta: &[f64], gradient: &mut [f64]| {
///     gradient[0] = 4.0 * (theta[0] - 1.0).powi(3);
///     (theta[0] - 1.0).powi(4)
/// });
/// let mut engine = Engine::new(Problem::new([3.0]), Options::default())?;
/// let left = drive_with(&mut engine, &mut oracle, |engine, _| {
///     if engine.num_points() < 3 { ControlFlow::Continue(()) } else { ControlFlow::Break("enough") }
/// });
/// assert_eq!(left, ControlFlow::Break("enough"));
/// assert_eq!(engine.termination(), None);
/// # Ok::<(), inexact_lbfgs::SetupError>(())
/// ```
///
/// `budget.max_time` counts from this call and is checked before `after_tell` is called.
pub fn drive_with<O: Oracle, B>(
    engine: &mut Engine<O::Resume>,
    oracle: &mut O,
    mut after_tell: impl FnMut(&mut Engine<O::Resume>, &O) -> ControlFlow<B>,
) -> ControlFlow<B> {
    let max_time = engine.options().budget.max_time;
    let begin = Instant::now();
    loop {
        let Some(job) = engine.ask() else {
            return ControlFlow::Continue(());
        };
        if !job.is_answered() {
            oracle.evaluate(job);
        }
        if job.is_answered() {
            engine.tell();
        } else {
            let reason = "the oracle did not answer the job".to_owned();
            engine.stop(Termination::OracleFailed { reason });
        }
        if max_time.is_some_and(|limit| begin.elapsed() >= limit) {
            engine.stop(Termination::Exhausted(Limit::Time));
        }
        after_tell(engine, oracle)?;
    }
}
