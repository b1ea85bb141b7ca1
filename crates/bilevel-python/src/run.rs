//! A run of the solver, one batch of evaluations at a time.

use std::path::PathBuf;
use std::sync::Arc;

use bilevel::{Family, Learned, LearningEngine, LearningProblem, Pair, ProblemError, Ranks, Spec};
use bilevel_cli::error::CliError;
use bilevel_cli::session::SessionError;
use pyo3::exceptions::{PyException, PyRuntimeError};
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::camera::{Camera, anscombe};
use crate::directory::{self, DirectoryRun, OperatorArrays};
use crate::exchange::PyRanks;
use crate::family::{Example, Operator, kernel_shape, pairs};
use crate::functions::Functions;
use crate::invalid;

/// Reads a description of a learning problem, which Python writes as JSON.
pub(crate) fn spec(json: &str) -> PyResult<Spec> {
    serde_json::from_str(json).map_err(invalid)
}

/// Adds the defaults of all parameters to a description of a learning problem, in JSON, for a
/// kernel with this name if there is one.
#[pyfunction]
pub(crate) fn completed(json: &str, kernel: Option<&str>) -> PyResult<String> {
    let mut spec = spec(json)?;
    if let Some(name) = kernel {
        spec.model = spec.model.with_width(kernel_shape(name)?);
    }
    spec.model = spec.model.completed(spec.task);
    serde_json::to_string(&spec).map_err(invalid)
}

/// The progress of a run: the number of points, the work, and the best point with its `theta`, its
/// values, its objective, and the two ends of the objective's interval.
pub(crate) type Progress = (u64, u64, Option<(Vec<f64>, Vec<f64>, f64, f64, f64)>);

/// The error of a call to a run that was finished before.
pub(crate) fn ended() -> PyErr {
    PyRuntimeError::new_err("the run has ended")
}

/// A run, in memory or in a directory.
#[pyclass(module = "bilevel._bilevel")]
pub(crate) struct Run {
    /// The run; `None` once it has been finished.
    work: Option<Work>,
    /// The result as JSON, once the run has been finished.
    learned: Option<String>,
    place: Place,
    /// The ranks that work on the run together.
    ranks: PyRanks,
}

/// The place where a run computes.
pub(crate) enum Place {
    /// The run's own threads, so that a forked process can start another run.
    Threads(ThreadPool),
    /// The thread of Python, which calls these functions.
    Python(Arc<Functions>),
}

/// Why the evaluations of a step are not used.
enum Refused {
    /// A function of a rank has raised an exception, which is kept for that rank.
    Functions,
    Session(SessionError),
}

impl From<SessionError> for Refused {
    fn from(error: SessionError) -> Self {
        Self::Session(error)
    }
}

impl Place {
    fn compute<T: Send>(
        &self,
        py: Python<'_>,
        ranks: &PyRanks,
        work: impl FnOnce() -> T + Send,
    ) -> PyResult<T> {
        match self {
            Self::Threads(pool) => ranks.work(py, pool, work),
            Self::Python(_) => {
                let done = work();
                ranks.raise().map(|()| done)
            }
        }
    }

    /// Refuses the evaluations of a step if a function of any rank has raised an exception.
    fn check(&self, ranks: &Ranks) -> Result<(), Refused> {
        let Self::Python(functions) = self else {
            return Ok(());
        };
        let own = functions.failure().is_some();
        let failed = ranks.gather(&[f64::from(u8::from(own))]);
        let failed = failed.map_err(|reason| SessionError::from(ProblemError::Exchange(reason)))?;
        match failed.concat().contains(&1.0) {
            true => Err(Refused::Functions),
            false => Ok(()),
        }
    }

    /// Raises the exception of a function, if there was one.
    pub(crate) fn raise(&self) -> PyResult<()> {
        match self {
            Self::Threads(_) => Ok(()),
            Self::Python(functions) => functions.raise(),
        }
    }
}

/// The shapes of the training images of all ranks, the largest number of points, and warnings.
type About = (Vec<Vec<usize>>, Option<u64>, Vec<String>);

/// A run under way.
pub(crate) enum Work {
    /// A run in memory.
    Memory(Box<LearningProblem<Family>>, Box<LearningEngine>),
    /// A run that is saved in a directory after every step.
    Directory(Box<DirectoryRun>),
}

impl Work {
    fn problem(&self) -> &LearningProblem<Family> {
        match self {
            Self::Memory(problem, _) => problem,
            Self::Directory(run) => run.session.problem(),
        }
    }

    fn engine(&self) -> &LearningEngine {
        match self {
            Self::Memory(_, engine) => engine,
            Self::Directory(run) => run.session.engine(),
        }
    }

    /// Does a step in this place.
    fn step(&mut self, place: &Place, ranks: &Ranks) -> Result<(), Refused> {
        match self {
            Self::Memory(problem, engine) => {
                let at_once = match place {
                    Place::Threads(_) => usize::MAX,
                    Place::Python(_) => 1,
                };
                engine.step(problem, at_once);
                place.check(ranks)
            }
            Self::Directory(run) => run.session.step_checked(|| place.check(ranks)).map(|_| ()),
        }
    }

    /// The run in memory. Its directory, if it has one, stays as it was saved.
    fn detached(self) -> (Box<LearningProblem<Family>>, Box<LearningEngine>) {
        match self {
            Self::Memory(problem, engine) => (problem, engine),
            Self::Directory(run) => {
                let (problem, engine) = run.session.into_parts();
                (Box::new(problem), Box::new(engine))
            }
        }
    }

    /// Ends the run, and returns its result and whether its page could be written. The directory of
    /// a run that has not ended is left as it is.
    fn finish(self) -> Result<(Learned, Result<(), CliError>), CliError> {
        match self {
            Self::Directory(run) if run.session.engine().termination().is_some() => run.finish(),
            work => {
                let (problem, engine) = work.detached();
                Ok((problem.conclude(*engine).0, Ok(())))
            }
        }
    }
}

fn pool(threads: Option<usize>) -> PyResult<ThreadPool> {
    let pool = ThreadPoolBuilder::new().num_threads(threads.unwrap_or(0));
    let refuse = |error| PyRuntimeError::new_err(format!("threads could not be started: {error}"));
    pool.build().map_err(refuse)
}

/// The learning problem of a rank, before it is compared with those of the other ranks.
struct Prepared {
    spec: Spec,
    family: Family,
    training: Vec<Pair>,
    validation: Vec<Pair>,
    operator: OperatorArrays,
    is_volume: bool,
    pool: ThreadPool,
}

impl Prepared {
    fn new(
        settings: &str,
        examples: &[Example<'_>],
        validation: &[Example<'_>],
        operator: &Operator<'_>,
        shape: &[usize],
    ) -> PyResult<Self> {
        let spec = spec(settings)?;
        let family = spec.family(operator.input(spec.task, shape)?);
        Ok(Self {
            family: family.map_err(invalid)?,
            training: pairs(&spec, examples)?,
            validation: pairs(&spec, validation)?,
            operator: operator.arrays()?,
            is_volume: shape.len() == 3 && !spec.model.colour,
            pool: pool(spec.solver.threads)?,
            spec,
        })
    }

    /// Describes everything that must be the same on all ranks. They may differ in their threads.
    fn description(&self, out: Option<&PathBuf>) -> PyResult<String> {
        let mut spec = self.spec.clone();
        spec.solver.threads = None;
        let spec = serde_json::to_string(&spec).map_err(invalid)?;
        Ok(format!("{spec} {:?} {out:?}", self.operator))
    }
}

impl Run {
    pub(crate) const fn started(work: Work, place: Place, ranks: PyRanks) -> Self {
        Self {
            work: Some(work),
            learned: None,
            place,
            ranks,
        }
    }
}

#[pymethods]
impl Run {
    /// Builds the learning problem from arrays, and checks it before the first reconstruction.
    /// `shape` is that of the first image of all ranks. With `out`, the run is saved in that new
    /// directory.
    #[new]
    #[expect(clippy::too_many_arguments, reason = "called by Python, with names")]
    fn new(
        settings: &str,
        examples: Vec<Example<'_>>,
        validation: Vec<Example<'_>>,
        operator: Operator<'_>,
        shape: Vec<usize>,
        out: Option<PathBuf>,
        ranks: Option<Bound<'_, PyAny>>,
        noise: Vec<f64>,
        camera: Option<Camera>,
    ) -> PyResult<Self> {
        let ranks = PyRanks::new(ranks)?;
        let prepared = Prepared::new(settings, &examples, &validation, &operator, &shape);
        let prepared = ranks.agree(prepared)?;
        let description = prepared.description(out.as_ref())?;
        let same = ranks.ranks.check_same("settings", &description);
        ranks.raise()?;
        same.map_err(invalid)?;
        let Prepared {
            spec,
            family,
            training,
            validation,
            operator,
            is_volume,
            pool,
        } = prepared;
        let mut setup = spec.setup_with_noise(validation.clone(), noise, spec.solver.seed);
        setup.camera = camera.map(anscombe).transpose()?;
        let problem = LearningProblem::on_rank(family, training, setup, ranks.ranks.clone());
        ranks.raise()?;
        let problem = problem.map_err(invalid)?;
        let work = match out {
            None => {
                let engine = problem.start(spec.options());
                ranks.raise()?;
                Work::Memory(Box::new(problem), Box::new(engine.map_err(invalid)?))
            }
            Some(dir) => {
                let config = directory::config(spec, &operator, is_volume);
                let created = DirectoryRun::create(&dir, config, problem, &validation, &operator);
                ranks.raise()?;
                Work::Directory(Box::new(created.map_err(directory::error)?))
            }
        };
        Ok(Self::started(work, Place::Threads(pool), ranks))
    }

    /// Opens the run in a directory, with a new limit on its points if there is one.
    #[staticmethod]
    fn open(
        py: Python<'_>,
        dir: PathBuf,
        max_points: Option<u64>,
        threads: Option<usize>,
        ranks: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let ranks = PyRanks::new(ranks)?;
        let opened = py.detach(|| DirectoryRun::open(&dir, max_points, &ranks.ranks));
        ranks.raise()?;
        let run = opened.map_err(directory::error)?;
        let pool = ranks.agree(pool(threads.or(run.threads())))?;
        let work = Work::Directory(Box::new(run));
        Ok(Self::started(work, Place::Threads(pool), ranks))
    }

    /// The shapes of the training images of all ranks, the largest number of points, and the
    /// warnings about the images of a run that was opened.
    fn about(&self) -> PyResult<About> {
        let work = self.work.as_ref().ok_or_else(ended)?;
        let (shapes, warnings) = match work {
            Work::Memory(..) => (Vec::new(), Vec::new()),
            Work::Directory(run) => (run.shapes.clone(), run.warnings.clone()),
        };
        let max_points = work.engine().budget().max_points;
        Ok((shapes, max_points, warnings))
    }

    /// Evaluates the points that the solver asks for, and tells it; `false` when the run has ended.
    ///
    /// After an exception of a function, a run with a directory stays there as it was saved before.
    /// Python raises the exception on the other ranks.
    fn step(&mut self, py: Python<'_>) -> PyResult<bool> {
        let Self {
            work, place, ranks, ..
        } = self;
        let work = work.as_mut().ok_or_else(ended)?;
        match place.compute(py, ranks, || work.step(place, &ranks.ranks))? {
            Ok(()) => Ok(work.engine().termination().is_none()),
            Err(Refused::Session(error)) => Err(directory::session_error(error)),
            Err(Refused::Functions) => {
                self.detach();
                self.place.raise()?;
                Ok(true)
            }
        }
    }

    /// The name and the shape of each block of parameters.
    fn blocks(&self) -> PyResult<Vec<(String, Vec<usize>)>> {
        let work = self.work.as_ref().ok_or_else(ended)?;
        let blocks = work.problem().parameters().iter();
        Ok(blocks.map(|p| (p.name.clone(), p.shape.clone())).collect())
    }

    /// The bytes that all ranks have contributed to exchanges.
    fn bytes(&self) -> u64 {
        self.ranks.ranks.bytes()
    }

    /// Whether the run has ended.
    fn has_ended(&self) -> PyResult<bool> {
        let work = self.work.as_ref().ok_or_else(ended)?;
        Ok(work.engine().termination().is_some())
    }

    /// The progress of the run.
    fn progress(&self) -> PyResult<Progress> {
        let work = self.work.as_ref().ok_or_else(ended)?;
        let engine = work.engine();
        let best = engine.best().map(|best| {
            let (lower, upper) = (best.interval.lower, best.interval.upper);
            let values = work.problem().values(best.theta);
            (best.theta.to_vec(), values, best.objective, lower, upper)
        });
        Ok((engine.num_points(), engine.work(), best))
    }

    /// Closes the directory of the run, so that another process can open it. The run stays in
    /// memory.
    fn detach(&mut self) {
        self.work = self.work.take().map(|work| {
            let (problem, engine) = work.detached();
            Work::Memory(problem, engine)
        });
    }

    /// Ends the run, and returns the result as JSON. A second call returns the same, in case that
    /// an interruption has lost the answer.
    fn finish(&mut self, py: Python<'_>) -> PyResult<String> {
        if let Some(learned) = &self.learned {
            return Ok(learned.clone());
        }
        let work = self.work.take().ok_or_else(ended)?;
        let finished = self.place.compute(py, &self.ranks, || work.finish())?;
        let (learned, page) = finished.map_err(directory::error)?;
        // a function that fails far from the learned parameters only leaves an influence unknown
        let failure = self.place.raise();
        let learned = serde_json::to_string(&learned).map_err(invalid)?;
        self.learned = Some(learned.clone());
        failure.or_else(|error| match error.is_instance_of::<PyException>(py) {
            true => Ok(()),
            false => Err(error),
        })?;
        page.map_err(directory::error)?;
        Ok(learned)
    }
}
