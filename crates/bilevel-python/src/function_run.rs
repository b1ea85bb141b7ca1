//! A run with a family whose functions are written in Python, in memory or in a directory.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bilevel::{LearningEngine, LearningProblem, Pair, Parameter, ProblemError, Spec};
use bilevel_cli::config::FUNCTIONS;
use bilevel_cli::error::CliError;
use bilevel_cli::session::{
    self, Interrupt, RESULT, RunSetup, Session, SessionError, agree, open_on_ranks,
};
use bilevel_cli::store::{SavedRun, Store};
use bilevel_cli::task::fingerprint;
use dfo_ls::Options;
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use serde::Deserialize;

use crate::directory;
use crate::exchange::PyRanks;
use crate::family::grid_of;
use crate::functions::{Functions, PythonFamily};
use crate::invalid;
use crate::run::{Progress, ended, progress};

/// The settings of a run, which Python writes as JSON.
#[derive(Debug, Deserialize)]
struct Settings {
    parameters: Vec<Parameter>,
    spec: Spec,
}

/// The truth of an image as a flat array, its shape, and a number that stands for its data.
type Truth<'py> = (PyReadonlyArray1<'py, f64>, Vec<usize>, f64);

type Problem = LearningProblem<PythonFamily>;

/// A run with a family whose functions are written in Python.
#[pyclass(module = "bilevel._bilevel")]
pub(crate) struct FunctionRun {
    functions: Arc<Functions>,
    ranks: PyRanks,
    /// The run; `None` once it has been finished.
    work: Option<Work>,
    /// The result as JSON, once the run has been finished.
    learned: Option<String>,
}

/// A run under way.
enum Work {
    /// A run in memory.
    Memory(Box<Problem>, Box<LearningEngine>),
    /// A run that is saved in a directory after every step.
    Directory(Box<Session<PythonFamily>>),
}

impl Work {
    fn problem(&self) -> &Problem {
        match self {
            Self::Memory(problem, _) => problem,
            Self::Directory(session) => session.problem(),
        }
    }

    fn engine(&self) -> &LearningEngine {
        match self {
            Self::Memory(_, engine) => engine,
            Self::Directory(session) => session.engine(),
        }
    }

    fn detached(self) -> Self {
        match self {
            Self::Directory(session) => {
                let (problem, engine) = session.into_parts();
                Self::Memory(Box::new(problem), Box::new(engine))
            }
            memory @ Self::Memory(..) => memory,
        }
    }
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

/// The learning problem of a run, before it is started or continued.
struct Prepared {
    functions: Arc<Functions>,
    ranks: PyRanks,
    problem: Problem,
    options: Options,
    fingerprint: u64,
}

impl Prepared {
    /// Checks the problem. The ranks call this together.
    fn new(
        settings: &str,
        max_points: u64,
        functions: &Bound<'_, PyAny>,
        [training, validation]: [&[Truth<'_>]; 2],
        is_complex: bool,
        ranks: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let ranks = PyRanks::new(ranks)?;
        let pair = |(truth, shape, number): &Truth<'_>| {
            Ok(Pair {
                grid: grid_of(shape, is_complex)?,
                truth: truth.as_slice()?.to_vec(),
                data: vec![*number],
            })
        };
        let read = || -> PyResult<_> {
            let settings: Settings = serde_json::from_str(settings).map_err(invalid)?;
            let pairs = |truths: &[Truth<'_>]| truths.iter().map(pair).collect();
            let pairs: [PyResult<Vec<Pair>>; 2] = [pairs(training), pairs(validation)];
            let [training, validation] = pairs;
            Ok((
                settings,
                [training?, validation?],
                Functions::new(functions)?,
            ))
        };
        let (
            Settings {
                parameters,
                mut spec,
            },
            mut pairs,
            functions,
        ) = ranks.agree(read())?;
        spec.solver.max_points = max_points;
        let same = (ranks.ranks).check_same("settings", &format!("{settings} {max_points}"));
        ranks.raise()?;
        same.map_err(invalid)?;
        let fingerprint = fingerprint::on_ranks(&ranks.ranks, &pairs[0], &pairs[1], &[]);
        ranks.raise()?;
        let fingerprint = fingerprint.map_err(invalid)?;
        // the data stay in Python
        for (index, pair) in pairs.iter_mut().flatten().enumerate() {
            pair.data = vec![index as f64];
        }
        let [training, validation] = pairs;
        let functions = Arc::new(functions);
        let family = PythonFamily {
            parameters,
            functions: Arc::clone(&functions),
        };
        let setup = spec.setup(validation);
        let problem = LearningProblem::on_rank(family, training, setup, ranks.ranks.clone());
        ranks.raise()?;
        ranks.agree(functions.raise())?;
        Ok(Self {
            problem: problem.map_err(invalid)?,
            options: spec.options(),
            functions,
            ranks,
            fingerprint,
        })
    }

    fn into_run(self, store: Option<(Store, Option<SavedRun>)>) -> PyResult<FunctionRun> {
        let Self {
            functions,
            ranks,
            problem,
            options,
            fingerprint,
        } = self;
        let work = match store {
            None => {
                let engine = problem.start(options);
                ranks.raise()?;
                ranks.agree(functions.raise())?;
                Work::Memory(Box::new(problem), Box::new(engine.map_err(invalid)?))
            }
            Some((store, saved)) => {
                let setup = RunSetup {
                    problem,
                    options,
                    fingerprint,
                };
                let session = Session::open(store, saved, setup, &Interrupt::new());
                ranks.raise()?;
                ranks.agree(functions.raise())?;
                Work::Directory(Box::new(session.map_err(directory::session_error)?))
            }
        };
        Ok(FunctionRun {
            functions,
            ranks,
            work: Some(work),
            learned: None,
        })
    }
}

#[pymethods]
impl FunctionRun {
    /// Checks the problem, and starts a run. With `out`, it is saved in that new directory.
    #[new]
    #[expect(clippy::too_many_arguments, reason = "called by Python, with names")]
    fn new(
        settings: &str,
        max_points: u64,
        functions: Bound<'_, PyAny>,
        training: Vec<Truth<'_>>,
        validation: Vec<Truth<'_>>,
        is_complex: bool,
        out: Option<PathBuf>,
        ranks: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let pairs = [&training[..], &validation[..]];
        let prepared = Prepared::new(settings, max_points, &functions, pairs, is_complex, ranks)?;
        let store = out.map(|dir| {
            let text = function_settings::text(settings, max_points);
            let create = || Ok::<_, CliError>((Store::create(&dir, &text)?, None));
            open_on_ranks(&prepared.ranks.ranks, &dir, create)
        });
        prepared.ranks.raise()?;
        let store = store.transpose().map_err(directory::error)?;
        prepared.into_run(store)
    }

    /// Opens the run in a directory, with a new limit on its points if there is one.
    #[staticmethod]
    fn open(
        dir: PathBuf,
        max_points: Option<u64>,
        functions: Bound<'_, PyAny>,
        training: Vec<Truth<'_>>,
        validation: Vec<Truth<'_>>,
        is_complex: bool,
        ranks: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let exchange = PyRanks::new(ranks.clone())?;
        let open = || -> Result<_, CliError> {
            let (mut store, saved) = Store::open(&dir)?;
            if let Some(max_points) = max_points {
                session::set_max_points(&mut store, saved.as_ref(), max_points)?;
            }
            Ok((store, saved))
        };
        let store = open_on_ranks(&exchange.ranks, &dir, open);
        exchange.raise()?;
        let store = store.map_err(directory::error)?;
        let read = exchange.agree(function_settings::read(store.0.settings(), &dir))?;
        let (settings, max_points) = read;
        let pairs = [&training[..], &validation[..]];
        let prepared = Prepared::new(&settings, max_points, &functions, pairs, is_complex, ranks)?;
        prepared.into_run(Some(store))
    }

    /// Evaluates the point that the solver asks for, and tells it; `false` when the run has ended.
    ///
    /// After an exception of a function, a run with a directory stays there as it was saved before.
    /// Python raises the exception on the other ranks.
    fn step(&mut self) -> PyResult<bool> {
        let Self {
            functions,
            ranks,
            work,
            ..
        } = self;
        let work = work.as_mut().ok_or_else(ended)?;
        let check = || {
            let own = functions.failure().is_some();
            let failed = ranks.ranks.gather(&[f64::from(u8::from(own))]);
            let failed =
                failed.map_err(|reason| SessionError::from(ProblemError::Exchange(reason)))?;
            match failed.concat().contains(&1.0) {
                true => Err(Refused::Functions),
                false => Ok(()),
            }
        };
        let stepped = match work {
            Work::Memory(problem, engine) => {
                engine.step(problem, 1);
                check()
            }
            Work::Directory(session) => session.step_checked(check).map(|_| ()),
        };
        ranks.raise()?;
        match stepped {
            Ok(()) => Ok(work.engine().termination().is_none()),
            Err(Refused::Session(error)) => Err(directory::session_error(error)),
            Err(Refused::Functions) => {
                self.work = self.work.take().map(Work::detached);
                self.functions.raise()?;
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

    /// The largest number of points.
    fn max_points(&self) -> PyResult<Option<u64>> {
        let work = self.work.as_ref().ok_or_else(ended)?;
        Ok(work.engine().budget().max_points)
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
        Ok(progress(work.problem(), work.engine()))
    }

    /// Closes the directory of the run, so that another process can open it. The run stays in
    /// memory.
    fn detach(&mut self) {
        self.work = self.work.take().map(Work::detached);
    }

    /// Ends the run, and returns the result as JSON. The directory of a run that has not ended is
    /// left as it is.
    fn finish(&mut self) -> PyResult<String> {
        if let Some(learned) = &self.learned {
            return Ok(learned.clone());
        }
        let work = self.work.take().ok_or_else(ended)?;
        let learned = match work {
            Work::Directory(session) if session.engine().termination().is_some() => {
                let known = session.known_result();
                let flag = f64::from(u8::from(known.is_some()));
                let flags = self.ranks.ranks.gather(&[flag]);
                self.ranks.raise()?;
                let is_known = flags
                    .map_err(invalid)?
                    .concat()
                    .iter()
                    .all(|flag| *flag > 0.0);
                match known.filter(|_| is_known) {
                    Some(learned) => learned,
                    None => {
                        let finished = agree(&self.ranks.ranks, session.finish());
                        self.ranks.raise()?;
                        finished.map_err(directory::session_error)?.learned
                    }
                }
            }
            work => {
                let Work::Memory(problem, engine) = work.detached() else {
                    return Err(ended());
                };
                problem.conclude(*engine).0
            }
        };
        // a function that fails far from the learned parameters only leaves an influence unknown
        let failure = self.functions.raise();
        let learned = serde_json::to_string(&learned).map_err(invalid)?;
        self.learned = Some(learned.clone());
        let stops = |error: &PyErr| {
            Python::attach(|py| !error.is_instance_of::<pyo3::exceptions::PyException>(py))
        };
        failure.or_else(|error| if stops(&error) { Err(error) } else { Ok(()) })?;
        Ok(learned)
    }
}

/// The file of settings of a run whose functions are written in Python: the limit on points, which
/// may change, and the settings that Python has written.
mod function_settings {
    use super::*;

    /// Returns the text of the file.
    pub(super) fn text(settings: &str, max_points: u64) -> String {
        // a text of JSON is one of TOML, too
        let settings = serde_json::Value::from(settings);
        format!(
            "# The functions of this run are written in Python, where bilevel.resume continues \
             it.\n[solver]\nmax_points = {max_points}\n\n[python]\n{FUNCTIONS} = {settings}\n"
        )
    }

    /// Reads a text of [`text`]: the settings of Python, and the limit on points.
    pub(super) fn read(text: &str, dir: &Path) -> PyResult<(String, u64)> {
        let value = |name: &str| {
            let lines = text.lines().filter_map(|line| line.split_once('='));
            let mut values = lines.filter(|(key, _)| key.trim() == name);
            values.next().map(|(_, value)| value.trim())
        };
        let settings = value(FUNCTIONS).and_then(|value| serde_json::from_str(value).ok());
        let max_points = value("max_points").and_then(|value| value.parse().ok());
        settings.zip(max_points).ok_or_else(|| {
            invalid(format!(
                "the model of the run in {} is not given by functions: leave out model, truth, \
                 data and validation",
                dir.display()
            ))
        })
    }
}

/// The settings that Python has written for the run in a directory, and its result if it has ended;
/// `None` if the model of the run is not given by functions.
#[pyfunction]
pub(crate) fn describe_functions(dir: PathBuf) -> PyResult<Option<(String, Option<String>)>> {
    let text = Store::read_settings(&dir).map_err(|error| directory::error(error.into()))?;
    let settings = function_settings::read(&text, &dir).ok();
    let learned = || fs::read_to_string(dir.join(RESULT)).ok();
    Ok(settings.map(|(settings, _)| (settings, learned())))
}
