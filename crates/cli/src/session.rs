//! Learning that is saved after every evaluation, so that a run killed at any moment goes on as if
//! it had not been.
//!
//! What changes with every evaluation is small and written anew; residual vectors and
//! reconstructions are large, never change, and are written once each. A run continued any number
//! of times gives the same numbers, bit for bit, as one that was never stopped; only its seconds
//! differ.

mod error;
pub mod history;
mod interrupt;
mod load;
mod save_state;
mod snapshot;

use std::ops::ControlFlow;
use std::time::Instant;

use bilevel::{Family, Learned, LearningProblem, Pair, Reconstructions, ScoredImages};
use dfo_ls::{Budget, Engine, Limit, Options, State, Termination, drive_with};

pub use error::SessionError;
use interrupt::LastSave;
pub use interrupt::{EXIT_CODE, Interrupt};
pub use load::check;
pub use snapshot::{BestPoint, Snapshot};

use crate::store::{SavedRun, Store};
use save_state::SaveState;

/// The file of a run that holds what was learned.
pub const RESULT: &str = "result.json";

/// At least this many images are reconstructed at once, if the solver asks for so many.
const AT_ONCE: usize = 16;

/// What is learned, and from what.
#[derive(Debug)]
pub struct RunSetup {
    /// The problem.
    pub problem: LearningProblem<Family>,
    /// How it is solved. A run that goes on has its own.
    pub options: Options,
    /// Tells training images apart.
    pub fingerprint: u64,
}

/// A run that has finished in this session, with all that its page shows.
#[derive(Clone, Debug)]
pub struct Finished {
    /// The learned parameters.
    pub learned: Learned,
    /// All pairs, reconstructed with them.
    pub images: ScoredImages,
    /// The training pairs.
    pub training: Vec<Pair>,
    /// The pairs held out.
    pub validation: Vec<Pair>,
    /// Seconds spent on learning.
    pub seconds: f64,
}

/// How a session ended.
#[derive(Clone, Debug)]
#[must_use]
pub enum SessionOutcome {
    /// The run has finished now.
    Finished(Box<Finished>),
    /// The run had finished before, and there was nothing left to do.
    WasFinished(Box<Learned>),
    /// The watcher said so; the run can go on.
    Paused,
}

/// What is called after every save, and may end the session.
pub type Watch<'a> = dyn FnMut(&Snapshot<'_>) -> ControlFlow<()> + 'a;

/// Learns in a new run.
///
/// # Errors
/// When the solver does not accept an option, the run cannot be saved, or nothing could be
/// evaluated.
pub fn begin(
    store: Store,
    task: RunSetup,
    interrupt: &Interrupt,
    watch: &mut Watch<'_>,
) -> Result<SessionOutcome, SessionError> {
    resume(store, None, task, None, interrupt, watch)
}

/// Goes on with a run as [`Store::open`] gives it. With `more`, that many more points may be tried
/// from here on, and all other limits of its budget are lifted.
///
/// # Errors
/// When the run was made with other images, settings or another version, is damaged or cannot be
/// saved, or nothing could be evaluated.
pub fn resume(
    store: Store,
    saved: Option<SavedRun>,
    task: RunSetup,
    more: Option<u64>,
    interrupt: &Interrupt,
    watch: &mut Watch<'_>,
) -> Result<SessionOutcome, SessionError> {
    let begin = Instant::now();
    let RunSetup {
        mut problem,
        options,
        fingerprint,
    } = task;
    let (mut engine, save_state) = match &saved {
        Some(saved) => load::load(&store, saved, &mut problem, fingerprint)?,
        None => (
            problem.engine(options)?,
            SaveState::new(&store, fingerprint),
        ),
    };
    drop(saved);
    let mut record = OpenRun {
        before: save_state.seconds(),
        begin,
        store,
        save_state,
        interrupt,
    };
    let was_finished = engine.termination().is_some();
    if let Some(more) = more {
        let mut budget = Budget::default();
        budget.max_points = Some(engine.num_points().saturating_add(more));
        engine.extend(budget);
    }
    // what is continued is saved already, but not for how long
    if more.is_some() || record.save_state.is_new() {
        record.save(engine.state())?;
    }
    *record.interrupt.hold() = Some(LastSave {
        dir: record.store.dir().to_path_buf(),
        evaluations: record.save_state.num_evaluations(),
    });
    if was_finished
        && engine.termination().is_some()
        && let Some(learned) = record.known_result(&engine)
    {
        return Ok(SessionOutcome::WasFinished(Box::new(learned)));
    }
    let at_once = AT_ONCE.div_ceil(problem.pairs().len());
    let mut seen = engine.state().iterations().len();
    let mut snapshots = snapshot::Snapshots::default();
    let left = drive_with(&mut engine, &mut problem, at_once, |engine, problem| {
        let seconds = record.seconds();
        let max_time = engine.options().budget.max_time;
        if max_time.is_some_and(|limit| seconds >= limit.as_secs_f64()) {
            engine.stop(Termination::Exhausted(Limit::Time));
        }
        if let Err(error) = record.save(engine.state()) {
            return ControlFlow::Break(Err(error));
        }
        let snapshot = snapshots.take(problem, engine, seen, record.seconds());
        seen = engine.state().iterations().len();
        match watch(&snapshot) {
            ControlFlow::Continue(()) => ControlFlow::Continue(()),
            ControlFlow::Break(()) => ControlFlow::Break(Ok(SessionOutcome::Paused)),
        }
    });
    match left {
        ControlFlow::Break(left) => left,
        ControlFlow::Continue(()) => record.finish(problem, engine),
    }
}

/// The files of a run under way, and its time.
struct OpenRun<'a> {
    /// Seconds spent in earlier sessions.
    before: f64,
    begin: Instant,
    store: Store,
    save_state: SaveState,
    interrupt: &'a Interrupt,
}

impl OpenRun<'_> {
    /// Seconds spent on the run.
    fn seconds(&self) -> f64 {
        self.before + self.begin.elapsed().as_secs_f64()
    }

    fn save(&mut self, state: &State<Reconstructions>) -> Result<(), SessionError> {
        let seconds = self.seconds();
        // whoever is interrupted waits for this
        let mut saved = self.interrupt.hold();
        let committed = self.save_state.save(&mut self.store, state, seconds);
        let dir = self.store.dir().to_path_buf();
        let evaluations = self.save_state.num_evaluations();
        committed.map_err(|source| SessionError::NotSaved {
            dir: dir.clone(),
            evaluations,
            source,
        })?;
        *saved = Some(LastSave { dir, evaluations });
        Ok(())
    }

    /// What an earlier session has learned, if it is still what the run says.
    fn known_result(&self, engine: &Engine<Reconstructions>) -> Option<Learned> {
        let text = std::fs::read_to_string(self.store.dir().join(RESULT)).ok()?;
        let learned: Learned = serde_json::from_str(&text).ok()?;
        let same = learned.evaluations == engine.state().evaluations()
            && Some(&learned.termination) == engine.termination();
        same.then_some(learned)
    }

    /// Writes what was learned.
    fn finish(
        self,
        problem: LearningProblem<Family>,
        engine: Engine<Reconstructions>,
    ) -> Result<SessionOutcome, SessionError> {
        let seconds = self.save_state.seconds();
        let store = self.store;
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
        let (learned, images) = problem.finish(engine);
        let not_saved = |source| SessionError::NotSaved {
            dir: dir.clone(),
            evaluations,
            source,
        };
        let mut text = serde_json::to_string_pretty(&learned).map_err(SessionError::Encode)?;
        text.push('\n');
        store.write_text(RESULT, &text).map_err(not_saved)?;
        store.close().map_err(not_saved)?;
        let (training, validation) = problem.into_pairs();
        Ok(SessionOutcome::Finished(Box::new(Finished {
            learned,
            images,
            training,
            validation,
            seconds,
        })))
    }
}
