//! A run with a family whose functions are written in Python, in memory or in a directory.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bilevel::{Family, LearningProblem, Pair, Parameter, Spec};
use bilevel_cli::config::FUNCTIONS;
use bilevel_cli::error::CliError;
use bilevel_cli::session::{
    Interrupt, RESULT, RunSetup, Session, open_on_ranks, open_saved_on_ranks,
};
use bilevel_cli::store::{SavedRun, Store};
use bilevel_cli::task::fingerprint;
use dfo_ls::Options;
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use serde::Deserialize;

use crate::directory::{self, DirectoryRun};
use crate::exchange::PyRanks;
use crate::family::grid_of;
use crate::functions::{Functions, PythonFamily};
use crate::invalid;
use crate::run::{Place, Run, Work};

/// The settings of a run, which Python writes as JSON.
#[derive(Debug, Deserialize)]
struct Settings {
    parameters: Vec<Parameter>,
    spec: Spec,
}

/// The truth of an image as a flat array, its shape, and a number that stands for its data.
type Truth<'py> = (PyReadonlyArray1<'py, f64>, Vec<usize>, f64);

/// The learning problem of a run, before it is started or continued.
struct Prepared {
    place: Place,
    ranks: PyRanks,
    problem: LearningProblem<Family>,
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
        let family = Family::own(PythonFamily {
            parameters,
            functions: Arc::clone(&functions),
        });
        let setup = spec.setup(validation);
        let problem = LearningProblem::on_rank(family, training, setup, ranks.ranks.clone());
        ranks.raise()?;
        ranks.agree(functions.raise())?;
        Ok(Self {
            problem: problem.map_err(invalid)?,
            options: spec.options(),
            place: Place::Python(functions),
            ranks,
            fingerprint,
        })
    }

    fn into_run(self, store: Option<(Store, Option<SavedRun>)>) -> PyResult<Run> {
        let Self {
            place,
            ranks,
            problem,
            options,
            fingerprint,
        } = self;
        let work = match store {
            None => {
                let engine = problem.start(options);
                ranks.raise()?;
                ranks.agree(place.raise())?;
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
                ranks.agree(place.raise())?;
                let session = session.map_err(directory::session_error)?;
                Work::Directory(Box::new(DirectoryRun::without_page(session)))
            }
        };
        Ok(Run::started(work, place, ranks))
    }
}

/// Checks the problem, and starts a run. With `out`, it is saved in that new directory.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "called by Python, with names")]
pub(crate) fn start_functions(
    settings: &str,
    max_points: u64,
    functions: Bound<'_, PyAny>,
    training: Vec<Truth<'_>>,
    validation: Vec<Truth<'_>>,
    is_complex: bool,
    out: Option<PathBuf>,
    ranks: Option<Bound<'_, PyAny>>,
) -> PyResult<Run> {
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
#[pyfunction]
pub(crate) fn open_functions(
    dir: PathBuf,
    max_points: Option<u64>,
    functions: Bound<'_, PyAny>,
    training: Vec<Truth<'_>>,
    validation: Vec<Truth<'_>>,
    is_complex: bool,
    ranks: Option<Bound<'_, PyAny>>,
) -> PyResult<Run> {
    let exchange = PyRanks::new(ranks.clone())?;
    let store = open_saved_on_ranks(&exchange.ranks, &dir, max_points);
    exchange.raise()?;
    let store = store.map_err(directory::error)?;
    let read = exchange.agree(function_settings::read(store.0.settings(), &dir))?;
    let (settings, max_points) = read;
    let pairs = [&training[..], &validation[..]];
    let prepared = Prepared::new(&settings, max_points, &functions, pairs, is_complex, ranks)?;
    prepared.into_run(Some(store))
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
