//! Runs in directories, which are those of the program `bilevel`.
//!
//! A run that Python starts has its images in its own directory, as `.npy` files that the settings
//! name by relative paths. From then on it is like any run of the program.

use std::fs;
use std::path::{Path, PathBuf};

use bilevel::{Family, FamilyKind, Learned, LearningProblem, Pair, Spec};
use bilevel_cli::array::{self, ArrayValues};
use bilevel_cli::config::{Config, Settings};
use bilevel_cli::error::{CliError, chain};
use bilevel_cli::file::FileError;
use bilevel_cli::session::{Interrupt, RESULT, RunSetup, Session, SessionError};
use bilevel_cli::store::{ARRAYS, Store, StoreError};
use bilevel_cli::task::{self, fingerprint};
use bilevel_cli::{picture, run_page};
use imaging::Grid;
use numpy::PyArray1;
use pyo3::exceptions::{PyFileExistsError, PyFileNotFoundError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;

/// A run in a directory that this process holds.
pub(crate) struct DirectoryRun {
    pub(crate) session: Session,
    pub(crate) config: Config,
    /// The text of the settings.
    settings: String,
    /// The names of the training and validation images.
    names: [Vec<String>; 2],
    /// Warnings about the images.
    pub(crate) warnings: Vec<String>,
}

/// The kernel or the mask of a family, as an array.
pub(crate) struct OperatorArray {
    pub(crate) values: Vec<f64>,
    pub(crate) shape: Vec<usize>,
}

impl DirectoryRun {
    /// Starts a run in a new directory, and writes its images there.
    pub(crate) fn create(
        dir: &Path,
        spec: Spec,
        problem: LearningProblem<Family>,
        validation: &[Pair],
        operator: Option<&OperatorArray>,
    ) -> Result<Self, CliError> {
        let options = spec.options();
        let config = config(spec, validation.len()).resolve()?;
        let settings = config.to_toml_with_comments();
        let pairs: Vec<&Pair> = problem.pairs().iter().chain(validation).collect();
        let store = Store::create_with(dir, &settings, |arrays| {
            write_arrays(arrays, config.task, &pairs, operator)
        })?;
        let name = |index: usize| file_name(config.task, index);
        let num_training = problem.pairs().len();
        let names = [
            (0..num_training).map(name).collect(),
            (num_training..pairs.len()).map(name).collect(),
        ];
        let numbers = operator.map_or(&[][..], |operator| &operator.values);
        let setup = RunSetup {
            fingerprint: fingerprint::of(problem.pairs(), validation, numbers),
            problem,
            options,
        };
        Ok(Self {
            session: Session::open(store, None, setup, None, &Interrupt::new())?,
            config,
            settings,
            names,
            warnings: Vec::new(),
        })
    }

    /// Opens a run as `bilevel resume` does.
    pub(crate) fn open(dir: &Path, more: Option<u64>) -> Result<Self, CliError> {
        let (store, saved) = Store::open(dir)?;
        let settings = store.settings().to_owned();
        let config = Settings::of_run(&settings, dir)?.resolve()?;
        let task = task::load(&config)?;
        let spec = config.spec();
        let setup = spec.setup(task.validation.pairs);
        let setup = RunSetup {
            problem: LearningProblem::new(task.family, task.training.pairs, setup)?,
            options: spec.options(),
            fingerprint: task.fingerprint,
        };
        Ok(Self {
            session: Session::open(store, saved, setup, more, &Interrupt::new())?,
            config,
            settings,
            names: [task.training.names, task.validation.names],
            warnings: task.warnings,
        })
    }

    /// Writes the result and the page of a run that has ended, unless they are there.
    pub(crate) fn finish(self) -> Result<(Learned, Result<(), CliError>), CliError> {
        if let Some(learned) = self.session.known_result() {
            return Ok((learned, Ok(())));
        }
        let dir = self.session.dir().to_path_buf();
        let finished = self.session.finish()?;
        let learned = finished.learned.clone();
        let page =
            run_page::write_finished(&dir, &self.settings, &self.config, finished, self.names);
        Ok((learned, page.map(|_| ())))
    }
}

/// The settings of a run whose images are in its own directory.
fn config(spec: Spec, num_validation: usize) -> Config {
    let mut config = Config::new(spec.task);
    let file = |name: &str| Some(PathBuf::from(format!("{ARRAYS}/{name}")));
    let data = &mut config.data;
    data.hold_out = num_validation;
    match spec.task {
        FamilyKind::Sampling => (data.images, data.noisy) = (file("images.npy"), file("noisy.npy")),
        _ => (data.images, data.noisy) = (file("images"), file("noisy")),
    }
    match spec.task {
        FamilyKind::Deblur => data.kernel = file("kernel.npy"),
        FamilyKind::Inpaint => data.mask = file("mask.npy"),
        _ => {}
    }
    config.model = spec.model;
    config.objective = spec.objective;
    config.solver = spec.solver;
    config
}

/// The name that a page shows for an image: that of its file.
fn file_name(task: FamilyKind, index: usize) -> String {
    match task {
        FamilyKind::Sampling => format!("images.npy (row {})", index + 1),
        _ => format!("{:06}.npy", index + 1),
    }
}

/// The truth or the data of a pair.
type Half = fn(&Pair) -> &[f64];

/// Writes the images and the operator of a run as `.npy` files.
fn write_arrays(
    arrays: &Path,
    task: FamilyKind,
    pairs: &[&Pair],
    operator: Option<&OperatorArray>,
) -> Result<(), CliError> {
    let name = match task {
        FamilyKind::Deblur => "kernel.npy",
        _ => "mask.npy",
    };
    if let Some(OperatorArray { values, shape }) = operator {
        array::write(
            &arrays.join(name),
            shape,
            &ArrayValues::Real(values.clone()),
        )?;
    }
    let halves: [(&str, Half); 2] = [("images", |pair| &pair.truth), ("noisy", |pair| &pair.data)];
    for (name, numbers) in halves {
        if task == FamilyKind::Sampling {
            let values = pairs.iter().flat_map(|pair| numbers(pair)).copied();
            let shape = [pairs.len(), pairs[0].grid.num_samples()];
            let path = arrays.join(format!("{name}.npy"));
            array::write(&path, &shape, &ArrayValues::Complex(values.collect()))?;
            continue;
        }
        let folder = arrays.join(name);
        let refuse = |source| FileError::Write(folder.clone(), source);
        fs::create_dir_all(&folder).map_err(refuse)?;
        for (index, pair) in pairs.iter().enumerate() {
            let path = folder.join(file_name(task, index));
            let values = ArrayValues::Real(numbers(pair).to_vec());
            array::write(&path, &shape(pair.grid), &values)?;
        }
    }
    Ok(())
}

/// The shape of an array on a grid.
pub(crate) fn shape(grid: Grid) -> Vec<usize> {
    let (rows, cols) = grid.rows_and_cols();
    match grid.num_axes() {
        1 => vec![grid.num_samples()],
        _ => vec![rows, cols],
    }
}

/// A run as it is described by its files: its description as JSON, the number of axes of its
/// images, the values and the shape of its kernel or mask, and its result as JSON if it has ended.
type Description<'py> = (
    String,
    usize,
    Option<(Bound<'py, PyArray1<f64>>, Vec<usize>)>,
    Option<String>,
);

/// Describes the run in a directory, without its images.
#[pyfunction]
pub(crate) fn describe_run(py: Python<'_>, dir: PathBuf) -> PyResult<Description<'_>> {
    let read = || -> Result<_, CliError> {
        let config = Settings::of_run(&Store::read_settings(&dir)?, &dir)?.resolve()?;
        let operator = task::operator(&config)?;
        let images = config.data.images.as_deref().unwrap_or(Path::new(""));
        let first = picture::list(images)
            .ok()
            .and_then(|all| all.into_iter().next());
        let num_axes = match config.task {
            FamilyKind::Sampling => 1,
            _ if first.is_some_and(|path| picture::is_signal(&path)) => 1,
            _ => 2,
        };
        Ok((config.spec(), operator, num_axes))
    };
    let (spec, operator, num_axes) = read().map_err(error)?;
    let spec = serde_json::to_string(&spec).map_err(crate::invalid)?;
    let operator = operator.map(|(values, grid)| (PyArray1::from_vec(py, values), shape(grid)));
    let learned = fs::read_to_string(dir.join(RESULT)).ok();
    Ok((spec, num_axes, operator, learned))
}

/// The exception for an error of the program.
pub(crate) fn error(error: CliError) -> PyErr {
    match error {
        CliError::Store(error) => store_error(error),
        CliError::Session(error) => session_error(*error),
        CliError::Config(_) | CliError::Problem(_) => PyValueError::new_err(error.chain()),
        _ => PyRuntimeError::new_err(error.chain()),
    }
}

/// The exception for an error of a session.
pub(crate) fn session_error(error: SessionError) -> PyErr {
    match error {
        SessionError::Store(error) => store_error(error),
        SessionError::Problem(_) => PyValueError::new_err(chain(&error)),
        _ => PyRuntimeError::new_err(chain(&error)),
    }
}

/// The exception for an error of a directory, in the words of Python.
fn store_error(error: StoreError) -> PyErr {
    match error {
        StoreError::Exists { dir } => PyFileExistsError::new_err(format!(
            "{dir} already holds a run: choose another directory for out, or continue the run with \
             bilevel.resume({dir:?})",
            dir = dir.display().to_string()
        )),
        StoreError::NotEmpty { dir } => PyFileExistsError::new_err(format!(
            "the directory {} is not empty: choose another one for out, or empty it first",
            dir.display()
        )),
        StoreError::NotARun { dir } => PyFileNotFoundError::new_err(format!(
            "{} is not the directory of a run: check the path, or start a run with \
             bilevel.learn(..., out=...)",
            dir.display()
        )),
        error => PyRuntimeError::new_err(chain(&error)),
    }
}
