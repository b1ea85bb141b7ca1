//! Learning that is saved after every evaluation, so that a killed run can be resumed.
//!
//! The small part of the state that changes with every evaluation is written each time. Residual
//! vectors and reconstructions are large and never change, so each is written once. A run that is
//! resumed any number of times gives the same numbers, bit for bit, as one that was never stopped.
//! Only its seconds differ.

mod changes;
mod error;
pub mod history;
mod interrupt;
mod load;
mod parts;
mod save_state;
mod snapshot;

use std::error::Error;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Instant;

use bilevel::{
    Family, Learned, LearningEngine, LearningProblem, Pair, ProblemError, Ranks, ScoredImages,
};
use dfo_ls::{Limit, Options, Termination};

use changes::set_max_points;
pub use error::SessionError;
use interrupt::LastSave;
pub use interrupt::{EXIT_CODE, Interrupt};
pub use load::check;
pub use snapshot::{BestPoint, Snapshot};

use crate::config::Config;
use crate::error::{CliError, chain};
use crate::store::{SavedRun, Store};
use crate::task::{LoadedTask, NamedPairs};
use save_state::{SaveFailure, SaveState};

/// The name of the file with the result of a run.
pub const RESULT: &str = "result.json";

/// Number of images that are reconstructed at once, at least, if the solver has as many to
/// evaluate.
const AT_ONCE: usize = 16;

/// The learning problem of a run, with the options of its solver.
#[derive(Debug)]
pub struct RunSetup {
    /// The learning problem with its images.
    pub problem: LearningProblem<Family>,
    /// The options of the solver. A run that is resumed keeps those it was started with, except
    /// for the budget.
    pub options: Options,
    /// A hash of the images, which tells whether they have changed.
    pub fingerprint: u64,
}

impl RunSetup {
    /// Returns the setup for the share of this rank of a task, and the names of its training images
    /// and of its held-out images. All ranks call this function.
    ///
    /// # Errors
    /// When the learning problem is invalid, or a rank cannot be reached.
    pub fn of_task(
        task: LoadedTask,
        config: &Config,
        ranks: &Ranks,
    ) -> Result<(Self, [Vec<String>; 2]), ProblemError> {
        let num_ranks = ranks.gather(&[]).map_err(ProblemError::Exchange)?.len();
        let share = |pairs: NamedPairs| pairs.share(ranks.rank(), num_ranks);
        let [training, validation] = [task.training, task.validation].map(share);
        let spec = config.spec();
        let mut setup = spec.setup_with_noise(validation.pairs, training.noise, config.data.seed);
        setup.camera = config.data.camera().cloned();
        let setup = Self {
            problem: LearningProblem::on_rank(task.family, training.pairs, setup, ranks.clone())?,
            options: spec.options(),
            fingerprint: task.fingerprint,
        };
        Ok((setup, [training.names, validation.names]))
    }
}

/// A run that has finished in this session, with the content of its report.
#[derive(Clone, Debug)]
pub struct Finished {
    /// The learned parameters.
    pub learned: Learned,
    /// The reconstructions of all pairs and their scores.
    pub images: ScoredImages,
    /// The training pairs.
    pub training: Vec<Pair>,
    /// The held-out pairs.
    pub validation: Vec<Pair>,
    /// The duration of learning in seconds.
    pub seconds: f64,
}

/// The end of a session.
#[derive(Clone, Debug)]
#[must_use]
pub enum SessionOutcome {
    /// The run has finished now.
    Finished(Box<Finished>),
    /// The run had finished before, and nothing was computed.
    WasFinished(Box<Learned>),
    /// The watcher has ended the session. The run can be resumed.
    Paused,
    /// A signal has interrupted one of several ranks. All of them have ended at the same save, and
    /// the run can be resumed.
    Interrupted,
}

/// A function that is called after every save, and may end the session.
pub type Watch<'a> = dyn FnMut(&Snapshot<'_>) -> ControlFlow<()> + 'a;

/// Starts or resumes a run, and learns; see [`Session::open`].
///
/// # Errors
/// When the solver does not accept an option, the run was started with other images or settings or
/// by another version, is damaged or cannot be saved, or nothing could be evaluated.
pub fn resume(
    store: Store,
    saved: Option<SavedRun>,
    setup: RunSetup,
    interrupt: &Interrupt,
    watch: &mut Watch<'_>,
) -> Result<SessionOutcome, SessionError> {
    let mut session = Session::open(store, saved, setup, interrupt)?;
    if let Some(learned) = session.known_result()? {
        return Ok(SessionOutcome::WasFinished(Box::new(learned)));
    }
    let mut seen = session.engine.iterations().len();
    let mut snapshots = snapshot::Snapshots::default();
    while session.step()? {
        let Session {
            problem,
            engine,
            record,
            ..
        } = &session;
        let snapshot = snapshots.take(problem, engine, seen, record.seconds());
        seen = engine.iterations().len();
        if watch(&snapshot).is_break() {
            return Ok(SessionOutcome::Paused);
        }
        if session.is_interrupted {
            return Ok(SessionOutcome::Interrupted);
        }
    }
    let finished = session.finish()?;
    Ok(SessionOutcome::Finished(Box::new(finished)))
}

/// A run that is open: its problem, its solver, and the directory where it is saved.
///
/// [`resume`] is a loop over [`step`](Self::step). A caller with a loop of its own can leave the
/// run between two steps, and open it again later.
#[derive(Debug)]
pub struct Session {
    problem: LearningProblem<Family>,
    engine: LearningEngine,
    record: OpenRun,
    /// The largest number of seconds. The engine has no such limit, because the clocks of ranks
    /// differ.
    max_seconds: Option<f64>,
    /// Whether the run had ended when it was opened, and has no new budget.
    was_finished: bool,
    /// Whether a signal has interrupted one of several ranks.
    is_interrupted: bool,
}

impl Session {
    /// Opens a run that [`Store::create`] has created or [`Store::open`] has opened. If the budget
    /// of `setup` differs from the budget of the saved run, it replaces that, and a run that has
    /// spent its budget goes on.
    ///
    /// # Errors
    /// When the run was started with other images or settings or by another version, is damaged, or
    /// cannot be saved.
    pub fn open(
        store: Store,
        saved: Option<SavedRun>,
        setup: RunSetup,
        interrupt: &Interrupt,
    ) -> Result<Self, SessionError> {
        let begin = Instant::now();
        let RunSetup {
            mut problem,
            mut options,
            fingerprint,
        } = setup;
        let max_seconds = options
            .budget
            .max_time
            .take()
            .map(|time| time.as_secs_f64());
        let mut budget = options.budget.clone();
        let ranks = problem.ranks().clone();
        ranks.check_same("images", &fingerprint.to_string())?;
        let opened = match &saved {
            Some(saved) => load::load(&store, saved, &mut problem, fingerprint),
            None => (problem.start(options))
                .map(|engine| (engine, SaveState::new(&store, fingerprint)))
                .map_err(SessionError::from),
        };
        let (mut engine, save_state) = agree(&ranks, opened)?;
        let mut record = OpenRun {
            before: save_state.seconds(),
            begin,
            store,
            save_state,
            interrupt: interrupt.clone(),
        };
        let was_finished = engine.termination().is_some();
        let earlier = engine.budget();
        budget.max_points = budget.max_points.or(earlier.max_points);
        let is_changed = budget != earlier;
        if is_changed {
            engine.extend(budget);
        }
        // a resumed run is saved already, but its budget may have changed
        if is_changed || record.save_state.is_new() {
            record.save(&problem, &engine)?;
        }
        *record.interrupt.hold() = Some(LastSave {
            dir: record.store.dir().to_path_buf(),
            evaluations: record.save_state.num_evaluations(),
        });
        Ok(Self {
            was_finished: was_finished && engine.termination().is_some(),
            is_interrupted: false,
            max_seconds,
            problem,
            engine,
            record,
        })
    }

    /// Evaluates the next points and saves the run. Returns `false` if the run has ended and
    /// nothing was evaluated.
    ///
    /// # Errors
    /// When the run cannot be saved.
    pub fn step(&mut self) -> Result<bool, SessionError> {
        self.step_checked(|| Ok(()))
    }

    /// Does the same as [`step`](Self::step), but calls `check` before the run is saved. After an
    /// error, the run is not saved, and must not go on in this session: it continues from its
    /// directory.
    ///
    /// # Errors
    /// That of `check`, and when the run cannot be saved.
    pub fn step_checked<E: From<SessionError>>(
        &mut self,
        check: impl FnOnce() -> Result<(), E>,
    ) -> Result<bool, E> {
        let Self {
            problem,
            engine,
            record,
            max_seconds,
            is_interrupted,
            ..
        } = self;
        let at_once = AT_ONCE.div_ceil(problem.num_pairs());
        if !engine.step(problem, at_once) {
            return Ok(false);
        }
        check()?;
        let is_late = max_seconds.is_some_and(|limit| record.seconds() >= limit);
        let own = [is_late, record.interrupt.is_requested()].map(|flag| f64::from(u8::from(flag)));
        let all = problem.ranks().gather(&own);
        let all = all.map_err(|reason| SessionError::from(ProblemError::Exchange(reason)))?;
        let any = |flag: usize| all.iter().any(|own| own.get(flag) != Some(&0.0));
        if any(0) {
            engine.stop(Termination::Exhausted(Limit::Time));
        }
        *is_interrupted = any(1);
        record.save(problem, engine)?;
        Ok(true)
    }

    /// Returns the learning problem.
    #[must_use]
    pub const fn problem(&self) -> &LearningProblem<Family> {
        &self.problem
    }

    /// Returns the solver.
    #[must_use]
    pub const fn engine(&self) -> &LearningEngine {
        &self.engine
    }

    /// Returns the directory of the run.
    #[must_use]
    pub fn dir(&self) -> &Path {
        self.record.store.dir()
    }

    /// Returns the result of an earlier session, if the run had ended when it was opened. All ranks
    /// call this function.
    ///
    /// # Errors
    /// When a rank cannot be reached.
    pub fn known_result(&self) -> Result<Option<Learned>, SessionError> {
        let known = || self.record.known_result(&self.engine);
        let known = self.was_finished.then(known).flatten();
        // a rank may see the file later than others, but all must do the same
        let flag = f64::from(u8::from(known.is_some()));
        let flags = self.problem.ranks().gather(&[flag]);
        let flags = flags.map_err(ProblemError::Exchange)?.concat();
        Ok(known.filter(|_| !flags.contains(&0.0)))
    }

    /// Leaves the run, whose directory stays as it was saved, and returns the problem and the
    /// solver.
    #[must_use]
    pub fn into_parts(self) -> (LearningProblem<Family>, LearningEngine) {
        (self.problem, self.engine)
    }

    /// Writes the result of a run that has ended.
    ///
    /// # Errors
    /// When the result cannot be written, or no point could be evaluated.
    pub fn finish(self) -> Result<Finished, SessionError> {
        let Self {
            problem,
            engine,
            record,
            ..
        } = self;
        record.finish(problem, engine)
    }
}

/// Opens the directory of a run on all ranks: rank 0 calls `open`, which opens or creates it, and
/// the others join.
///
/// # Errors
/// When a rank cannot open the directory. All ranks get an error.
pub fn open_on_ranks<E: Error + From<SessionError>>(
    ranks: &Ranks,
    dir: &Path,
    open: impl FnOnce() -> Result<(Store, Option<SavedRun>), E>,
) -> Result<(Store, Option<SavedRun>), E> {
    let is_first = ranks.rank() == 0;
    let opened = is_first.then(open).transpose();
    let opened = agree(ranks, opened)?;
    let joined = || Store::join(dir).map_err(|error| E::from(error.into()));
    agree(ranks, opened.map_or_else(joined, Ok))
}

/// Opens the directory of a saved run on all ranks, with a new limit on its points if there is one.
///
/// # Errors
/// When a rank cannot open the directory, or the run has as many points already. All ranks get an
/// error.
pub fn open_saved_on_ranks(
    ranks: &Ranks,
    dir: &Path,
    max_points: Option<u64>,
) -> Result<(Store, Option<SavedRun>), CliError> {
    open_on_ranks(ranks, dir, || {
        let (mut store, saved) = Store::open(dir)?;
        if let Some(max_points) = max_points {
            set_max_points(&mut store, saved.as_ref(), max_points)?;
        }
        Ok((store, saved))
    })
}

/// Returns the value of this rank, unless there is an error on one of the ranks: its own error, or
/// that of another rank. All ranks call this function.
///
/// # Errors
/// When a rank has an error, or cannot be reached.
pub fn agree<T, E>(ranks: &Ranks, own: Result<T, E>) -> Result<T, E>
where
    E: Error + From<SessionError>,
{
    let reason = own.as_ref().err().map(|error| chain(error));
    let lost = |reason| E::from(ProblemError::Exchange(reason).into());
    match (own, ranks.first_failure(reason.as_deref()).map_err(lost)?) {
        (Ok(_), Some((rank, reason))) => {
            Err(E::from(ProblemError::OtherRank { rank, reason }.into()))
        }
        (own, _) => own,
    }
}

/// A run in progress: its files and its time.
#[derive(Debug)]
struct OpenRun {
    /// Seconds spent in earlier sessions.
    before: f64,
    begin: Instant,
    store: Store,
    save_state: SaveState,
    interrupt: Interrupt,
}

impl OpenRun {
    /// Seconds spent on the run.
    fn seconds(&self) -> f64 {
        self.before + self.begin.elapsed().as_secs_f64()
    }

    fn save(
        &mut self,
        problem: &LearningProblem<Family>,
        engine: &LearningEngine,
    ) -> Result<(), SessionError> {
        let seconds = self.seconds();
        // an interruption waits until this lock is released
        let mut saved = self.interrupt.hold();
        let committed = self
            .save_state
            .save(&mut self.store, problem, engine, seconds);
        let dir = self.store.dir().to_path_buf();
        let evaluations = self.save_state.num_evaluations();
        committed.map_err(|failure| match failure {
            SaveFailure::Own(source) => SessionError::NotSaved {
                dir: dir.clone(),
                evaluations,
                source,
            },
            SaveFailure::OtherRank { rank, reason } => SessionError::NotSavedElsewhere {
                dir: dir.clone(),
                evaluations,
                rank,
                reason,
            },
            SaveFailure::Exchange(reason) => ProblemError::Exchange(reason).into(),
        })?;
        *saved = Some(LastSave { dir, evaluations });
        Ok(())
    }

    /// Returns the result of an earlier session, if it still agrees with the run.
    fn known_result(&self, engine: &LearningEngine) -> Option<Learned> {
        let text = std::fs::read_to_string(self.store.dir().join(RESULT)).ok()?;
        let learned: Learned = serde_json::from_str(&text).ok()?;
        let same = learned.evaluations == engine.evaluations()
            && Some(&learned.termination) == engine.termination().as_ref();
        same.then_some(learned)
    }

    /// Writes the result and closes the run.
    fn finish(
        self,
        problem: LearningProblem<Family>,
        engine: LearningEngine,
    ) -> Result<Finished, SessionError> {
        let seconds = self.save_state.seconds();
        let store = self.store;
        let dir = store.dir().to_path_buf();
        if engine.best().is_none() {
            let reasons = engine.evaluations().iter().rev();
            let reason = reasons.filter_map(|e| e.objective.as_ref().err().cloned());
            let reason = reason
                .take(1)
                .next()
                .unwrap_or_else(|| "the budget is zero".to_owned());
            return Err(SessionError::NothingEvaluated { dir, reason });
        }
        let evaluations = engine.evaluations().len() as u64;
        let (learned, images) = problem.conclude(engine);
        let not_saved = |source| SessionError::NotSaved {
            dir: dir.clone(),
            evaluations,
            source,
        };
        if problem.ranks().rank() == 0 {
            let mut text = serde_json::to_string_pretty(&learned).map_err(SessionError::Encode)?;
            text.push('\n');
            store.write_text(RESULT, &text).map_err(not_saved)?;
            store.close().map_err(not_saved)?;
        }
        let (training, validation) = problem.into_pairs();
        Ok(Finished {
            learned,
            images,
            training,
            validation,
            seconds,
        })
    }
}
