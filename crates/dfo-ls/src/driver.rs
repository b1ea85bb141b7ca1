//! The loop around the engine: asks, lets the oracle answer, tells.

use std::ops::ControlFlow;
use std::time::Instant;

use crate::constraints::Problem;
use crate::report::{Iteration, Limit, Report, Termination};
use crate::{Engine, Job, Options, ResidualOracle, SetupError};

/// Minimises `$\|r(\theta)\|^2$`.
///
/// # Errors
/// When the problem or an option is invalid; nothing was evaluated then. Whatever happens later is in the [`Report`].
pub fn minimize<O: ResidualOracle>(
    oracle: &mut O,
    problem: Problem,
    options: Options,
) -> Result<Report, SetupError> {
    minimize_observed(oracle, problem, options, |_| ControlFlow::Continue(()))
}

/// Minimises `$\|r(\theta)\|^2$`, and shows every iteration to `observe`, which may end the run. The first is shown when the points
/// around the start have been evaluated.
///
/// # Errors
/// When the problem or an option is invalid; nothing was evaluated then.
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

/// Runs an engine to its end, for example one that was loaded: asks, lets the oracle answer, tells.
///
/// `budget.max_time` counts from this call.
pub fn drive<O: ResidualOracle>(
    engine: &mut Engine<O::Resume>,
    oracle: &mut O,
    mut observe: impl FnMut(&Iteration) -> ControlFlow<()>,
) {
    if oracle.num_residuals() != engine.state().num_residuals() {
        let reason = "the oracle has another number of residuals than the engine".to_owned();
        engine.stop(Termination::OracleFailed { reason });
    }
    let max_time = engine.options().budget.max_time;
    let begin = Instant::now();
    loop {
        let jobs = engine.ask();
        if jobs.is_empty() {
            break;
        }
        oracle.evaluate(jobs);
        if !jobs.iter().any(Job::is_answered) {
            let reason = "the oracle answered no job".to_owned();
            engine.stop(Termination::OracleFailed { reason });
            break;
        }
        let stop = engine
            .tell()
            .iter()
            .any(|iteration| observe(iteration).is_break());
        if stop {
            engine.stop(Termination::Stopped);
        }
        if max_time.is_some_and(|limit| begin.elapsed() >= limit) {
            engine.stop(Termination::Exhausted(Limit::Time));
        }
    }
}
