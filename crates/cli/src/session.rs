//! Learning that is saved after every evaluation, so that a run killed at any moment goes on as if it had not been.
//!
//! What changes with every evaluation is small and written anew; residual vectors and reconstructions are large, never change, and
//! are written once each. A run continued any number of times gives the same numbers, bit for bit, as one that was never stopped;
//! only its seconds differ.

mod error;
pub mod history;
mod interrupt;
mod ledger;
mod load;
mod moment;

use std::ops::ControlFlow;
use std::time::Instant;

use bilevel::{Family, Learned, LearningProblem, Reconstructions};
use dfo_ls::{Budget, Engine, Job, Limit, Options, ResidualOracle, Termination};

pub use error::SessionError;
use interrupt::Place;
pub use interrupt::{EXIT_CODE, Interrupt};
pub use load::check;
pub use moment::{Best, Moment};

use crate::store::{Saved, Store};
use ledger::Ledger;

/// The file of a run that holds what was learned.
pub const RESULT: &str = "result.json";

/// At least this many images are reconstructed at once, if the solver asks for so many.
const AT_ONCE: usize = 16;

/// What is learned, and from what.
#[derive(Debug)]
pub struct Task {
    /// The problem.
    pub problem: LearningProblem<Family>,
    /// How it is solved. A run that goes on has its own.
    pub options: Options,
    /// Tells training images apart.
    pub fingerprint: u64,
}

/// How a session ended.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub enum Outcome {
    /// The run has finished now.
    Finished(Box<Learned>),
    /// The run had finished before, and there was nothing left to do.
    WasFinished(Box<Learned>),
    /// The watcher said so; the run can go on.
    Left,
}

/// What is called after every save, and may end the session.
pub type Watch<'a> = dyn FnMut(&Moment<'_>) -> ControlFlow<()> + 'a;

/// Learns in a new run.
///
/// # Errors
/// When the solver does not accept an option, the run cannot be saved, or nothing could be evaluated.
pub fn begin(
    store: Store,
    task: Task,
    interrupt: &Interrupt,
    watch: &mut Watch<'_>,
) -> Result<Outcome, SessionError> {
    resume(store, None, task, None, interrupt, watch)
}

/// Goes on with a run as [`Store::open`] gives it. With `more`, that many more points may be tried from here on, and all other limits
/// of its budget are lifted.
///
/// # Errors
/// When the run was made with other images, settings or another version, is damaged or cannot be saved, or nothing could be evaluated.
pub fn resume(
    store: Store,
    saved: Option<Saved>,
    task: Task,
    more: Option<u64>,
    interrupt: &Interrupt,
    watch: &mut Watch<'_>,
) -> Result<Outcome, SessionError> {
    let begin = Instant::now();
    let Task {
        mut problem,
        options,
        fingerprint,
    } = task;
    let (engine, ledger) = match &saved {
        Some(saved) => load::load(&store, saved, &problem, fingerprint)?,
        None => (problem.engine(options)?, Ledger::new(&store, fingerprint)),
    };
    drop(saved);
    problem.number_from(engine.state().evaluations().len() as u64);
    let mut run = Run {
        before: ledger.seconds(),
        begin,
        store,
        problem,
        engine,
        ledger,
        interrupt,
    };
    let was_finished = run.engine.termination().is_some();
    if let Some(more) = more {
        let mut budget = Budget::default();
        budget.max_points = Some(run.num_points().saturating_add(more));
        run.engine.extend(budget);
    }
    // what is continued is saved already, but not for how long
    if more.is_some() || run.ledger.is_new() {
        run.save()?;
    }
    *run.interrupt.hold() = Some(Place {
        dir: run.store.dir().to_path_buf(),
        evaluations: run.ledger.num_evaluations(),
    });
    if was_finished
        && run.engine.termination().is_some()
        && let Some(learned) = run.known_result()
    {
        return Ok(Outcome::WasFinished(Box::new(learned)));
    }
    if run.work(watch)?.is_break() {
        return Ok(Outcome::Left);
    }
    run.finish()
}

/// A run under way.
struct Run<'a> {
    /// Seconds spent in earlier sessions.
    before: f64,
    begin: Instant,
    store: Store,
    problem: LearningProblem<Family>,
    engine: Engine<Reconstructions>,
    ledger: Ledger,
    interrupt: &'a Interrupt,
}

impl Run<'_> {
    /// Evaluates and saves until the run has ended.
    fn work(&mut self, watch: &mut Watch<'_>) -> Result<ControlFlow<()>, SessionError> {
        let chunk = AT_ONCE.div_ceil(self.problem.pairs().len()).max(1);
        let mut moments = moment::Source::default();
        loop {
            let jobs = self.engine.ask();
            if jobs.is_empty() {
                return Ok(ControlFlow::Continue(()));
            }
            // Jobs do not know of each other: how many are answered at once changes nothing.
            let some = chunk.min(jobs.len());
            self.problem.evaluate(&mut jobs[..some]);
            if !jobs.iter().any(Job::is_answered) {
                let reason = "no evaluation was made".to_owned();
                self.engine.stop(Termination::OracleFailed { reason });
            }
            let seen = self.engine.state().iterations().len();
            self.engine.tell();
            let max_time = self.engine.options().budget.max_time;
            if max_time.is_some_and(|limit| self.seconds() >= limit.as_secs_f64()) {
                self.engine.stop(Termination::Exhausted(Limit::Time));
            }
            self.save()?;
            let seconds = self.seconds();
            let moment = moments.moment(&self.problem, &mut self.engine, seen, seconds);
            if watch(&moment).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
    }

    /// Different points so far.
    fn num_points(&self) -> u64 {
        moment::num_points(self.engine.state().evaluations())
    }

    /// Seconds spent on the run.
    fn seconds(&self) -> f64 {
        self.before + self.begin.elapsed().as_secs_f64()
    }

    fn save(&mut self) -> Result<(), SessionError> {
        let seconds = self.seconds();
        let state = self.engine.state();
        // whoever is interrupted waits for this
        let mut saved = self.interrupt.hold();
        let committed = self.ledger.save(&mut self.store, state, seconds);
        let dir = self.store.dir().to_path_buf();
        let evaluations = self.ledger.num_evaluations();
        committed.map_err(|source| SessionError::NotSaved {
            dir: dir.clone(),
            evaluations,
            source,
        })?;
        *saved = Some(Place { dir, evaluations });
        Ok(())
    }

    /// What an earlier session has learned, if it is still what the run says.
    fn known_result(&self) -> Option<Learned> {
        let text = std::fs::read_to_string(self.store.dir().join(RESULT)).ok()?;
        let learned: Learned = serde_json::from_str(&text).ok()?;
        let same = learned.evaluations == self.engine.state().evaluations()
            && Some(&learned.termination) == self.engine.termination();
        same.then_some(learned)
    }

    /// Writes what was learned.
    fn finish(self) -> Result<Outcome, SessionError> {
        let Self {
            store,
            problem,
            engine,
            ..
        } = self;
        let dir = store.dir().to_path_buf();
        if engine.best().is_none() {
            let reasons = engine.state().evaluations().iter().rev();
            let reason = reasons.filter_map(|e| e.objective.as_ref().err().cloned());
            let reason = reason
                .take(1)
                .next()
                .unwrap_or_else(|| "there is no budget".to_owned());
            return Err(SessionError::NothingEvaluated { dir, reason });
        }
        let evaluations = engine.state().evaluations().len() as u64;
        let learned = problem.learned(engine.into_report());
        let not_saved = |source| SessionError::NotSaved {
            dir: dir.clone(),
            evaluations,
            source,
        };
        let mut text = serde_json::to_string_pretty(&learned).map_err(SessionError::Encode)?;
        text.push('\n');
        store.write_text(RESULT, &text).map_err(not_saved)?;
        store.close().map_err(not_saved)?;
        Ok(Outcome::Finished(Box::new(learned)))
    }
}
