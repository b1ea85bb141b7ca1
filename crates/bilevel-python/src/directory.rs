//! Runs in directories, which are those of the program `bilevel`.
//!
//! A run that Python starts has its images in its own directory, as `.npy` files that the settings
//! name by relative paths. From then on it is like any run of the program.

use std::fs;
use std::path::{Path, PathBuf};

use bilevel::{Family, FamilyKind, Learned, LearningProblem, Pair, ProblemError, Ranks, Spec};
use bilevel_cli::array::{self, ArrayValues};
use bilevel_cli::config::{Colour, Config, Settings, Slices};
use bilevel_cli::error::{CliError, chain};
use bilevel_cli::file::FileError;
use bilevel_cli::session::{
    Interrupt, RESULT, RunSetup, Session, SessionError, agree, open_saved_on_ranks,
};
use bilevel_cli::store::{ARRAYS, Store, StoreError};
use bilevel_cli::task::{self, fingerprint};
use bilevel_cli::{picture, run_page};
use imaging::{Field, Grid, KernelShape, LinearOperator as _};
use numpy::PyArray1;
use pyo3::exceptions::{PyFileExistsError, PyFileNotFoundError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;

use crate::camera::Camera;

/// A run in a directory that this process holds.
pub(crate) struct DirectoryRun {
    pub(crate) session: Session,
    /// What its page shows in addition to the result; `None` for a run without a page.
    page: Option<PageInput>,
    /// The shapes of the training images of all ranks, for a run that was opened.
    pub(crate) shapes: Vec<Vec<usize>>,
    /// Warnings about the images.
    pub(crate) warnings: Vec<String>,
}

/// The settings of a run, with their text, and the names of its training and validation images of
/// all ranks.
struct PageInput {
    config: Config,
    settings: String,
    names: [Vec<String>; 2],
}

/// A kernel or a mask as an array.
#[derive(Debug)]
pub(crate) struct OperatorArray {
    pub(crate) values: Vec<f64>,
    pub(crate) shape: Vec<usize>,
}

/// The kernel of a family, with its name if it has one, and the mask of measured pixels.
#[derive(Debug)]
pub(crate) struct OperatorArrays {
    pub(crate) kernel: Option<OperatorArray>,
    pub(crate) name: Option<String>,
    pub(crate) mask: Option<OperatorArray>,
}

impl DirectoryRun {
    /// A run without a page.
    pub(crate) const fn without_page(session: Session) -> Self {
        Self {
            session,
            page: None,
            shapes: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// The number of threads in the settings.
    pub(crate) fn threads(&self) -> Option<usize> {
        self.page.as_ref()?.config.solver.threads
    }

    /// Starts a run in a new directory, and writes its images there. Each rank writes its own.
    pub(crate) fn create(
        dir: &Path,
        mut config: Config,
        problem: LearningProblem<Family>,
        validation: &[Pair],
        operator: &OperatorArrays,
    ) -> Result<Self, CliError> {
        let ranks = problem.ranks().clone();
        let options = config.spec().options();
        let counts = ranks.gather(&[validation.len() as f64]).map_err(lost)?;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the numbers were counts"
        )]
        let counts: Vec<usize> = counts
            .concat()
            .iter()
            .map(|count| *count as usize)
            .collect();
        let (num_training, num_validation) = (problem.num_pairs(), counts.iter().sum::<usize>());
        let others: usize = counts.iter().take(ranks.rank()).sum();
        config.data.hold_out = Some(num_validation);
        let config = config.resolve()?;
        let settings = config.to_toml_with_comments();
        let arrays = Arrays {
            task: config.task,
            training: (problem.first_image(), problem.pairs()),
            validation: (num_training + others, validation),
            num_images: num_training + num_validation,
            operator,
        };
        let store = arrays.create(&ranks, dir, &settings)?;
        let name = |index: usize| file_name(config.task, index);
        let names = [
            (0..num_training).map(name).collect(),
            (num_training..num_training + num_validation)
                .map(name)
                .collect(),
        ];
        let numbers = operator.kernel.as_ref().or(operator.mask.as_ref());
        let numbers = numbers.map_or(&[][..], |operator| &operator.values);
        let hash = fingerprint::on_ranks(&ranks, problem.pairs(), validation, numbers);
        let setup = RunSetup {
            fingerprint: hash.map_err(lost)?,
            problem,
            options,
        };
        Ok(Self {
            page: Some(PageInput {
                config,
                settings,
                names,
            }),
            ..Self::without_page(Session::open(store, None, setup, &Interrupt::new())?)
        })
    }

    /// Opens a run as `bilevel resume` does, with a new limit on points if there is one. Each rank
    /// reads all images, and keeps its share.
    pub(crate) fn open(
        dir: &Path,
        max_points: Option<u64>,
        ranks: &Ranks,
    ) -> Result<Self, CliError> {
        ranks.check_same("arguments", &format!("{dir:?} {max_points:?}"))?;
        let (store, saved) = open_saved_on_ranks(ranks, dir, max_points)?;
        let settings = store.settings().to_owned();
        let load = || -> Result<_, CliError> {
            let config = Settings::of_run(&settings, dir)?.resolve()?;
            let task = task::load_for_run(&config, dir)?;
            Ok((config, task))
        };
        let (config, task) = agree(ranks, load())?;
        let pairs = task.training.pairs.iter();
        let shapes = pairs.map(|pair| shape(pair.grid)).collect();
        let warnings = task.warnings.clone();
        let (setup, names) = RunSetup::of_task(task, &config, ranks)?;
        Ok(Self {
            session: Session::open(store, saved, setup, &Interrupt::new())?,
            page: Some(PageInput {
                config,
                settings,
                names,
            }),
            shapes,
            warnings,
        })
    }

    /// Writes the result of a run that has ended, unless it is there. A single rank also writes the
    /// page of the run, if it has one; each of several ranks knows only the reconstructions of its
    /// own images.
    pub(crate) fn finish(self) -> Result<(Learned, Result<(), CliError>), CliError> {
        let ranks = self.session.problem().ranks().clone();
        if let Some(learned) = self.session.known_result()? {
            return Ok((learned, Ok(())));
        }
        let num_ranks = ranks.gather(&[]).map_err(lost)?.len();
        let dir = self.session.dir().to_path_buf();
        let finished = agree(&ranks, self.session.finish().map_err(CliError::from))?;
        let learned = finished.learned.clone();
        let page = match self.page.filter(|_| num_ranks == 1) {
            None => Ok(()),
            Some(page) => {
                let PageInput {
                    config,
                    settings,
                    names,
                } = page;
                run_page::write_on_ranks(&ranks, &dir, &settings, &config, finished, names)
                    .map(|_| ())
            }
        };
        Ok((learned, page))
    }
}

/// The error of ranks that have lost each other.
fn lost(reason: String) -> CliError {
    ProblemError::Exchange(reason).into()
}

/// The settings of a run whose images, kernel and mask are in its own directory.
pub(crate) fn config(spec: Spec, operator: &OperatorArrays, is_volume: bool) -> Config {
    let mut config = Config::new(spec.task);
    let file = |name: &str| Some(PathBuf::from(format!("{ARRAYS}/{name}")));
    let data = &mut config.data;
    // the images of the directory are the patches
    data.patches = Some(0);
    match spec.task {
        FamilyKind::Sampling => (data.images, data.noisy) = (file("images.npy"), file("noisy.npy")),
        _ => (data.images, data.noisy) = (file("images"), file("noisy")),
    }
    if operator.kernel.is_some() {
        let name = operator.name.as_ref().map(PathBuf::from);
        data.kernel = name.or_else(|| file(KERNEL));
    }
    if operator.mask.is_some() {
        data.mask = file(MASK);
    }
    if spec.model.colour {
        data.colour = Some(Colour::Opponent);
    }
    if is_volume {
        data.slices = Slices::Volume;
    }
    config.model = spec.model;
    config.objective = spec.objective;
    config.solver = spec.solver;
    config
}

/// The names of the files of a kernel and of a mask.
const KERNEL: &str = "kernel.npy";
const MASK: &str = "mask.npy";

/// The name that a page shows for an image: that of its file.
fn file_name(task: FamilyKind, index: usize) -> String {
    match task {
        FamilyKind::Sampling => format!("images.npy (row {})", index + 1),
        _ => format!("{:06}.npy", index + 1),
    }
}

/// The truth or the data of a pair.
type Half = fn(&Pair) -> &[f64];

/// Images of one rank, and the number of the first one among those of all ranks.
type Numbered<'a> = (usize, &'a [Pair]);

/// The images of a rank and the operator of a run, which are written as `.npy` files.
struct Arrays<'a> {
    task: FamilyKind,
    training: Numbered<'a>,
    validation: Numbered<'a>,
    /// The number of images of all ranks.
    num_images: usize,
    operator: &'a OperatorArrays,
}

/// The parts of pairs, and the names of their files or folders.
const HALVES: [(&str, Half); 2] = [("images", |pair| &pair.truth), ("noisy", |pair| &pair.data)];

impl Arrays<'_> {
    /// Creates the directory of a run on rank 0. All ranks write their images into it before the
    /// run exists.
    fn create(&self, ranks: &Ranks, dir: &Path, settings: &str) -> Result<Store, CliError> {
        let stacks = self.stacks(ranks)?;
        let arrays = dir.join(ARRAYS);
        if ranks.rank() > 0 {
            agree(ranks, Ok::<(), CliError>(()))?;
            agree(ranks, self.write_images(&arrays))?;
            agree(ranks, Ok::<(), CliError>(()))?;
            let joined = Store::join(dir).map_err(CliError::from);
            return Ok(agree(ranks, joined)?.0);
        }
        let mut steps = 0;
        let made = Store::create_with(dir, settings, |arrays| {
            self.write_shared(arrays, &stacks)?;
            steps = 1;
            agree(ranks, Ok::<(), CliError>(()))?;
            agree(ranks, self.write_images(arrays))?;
            steps = 2;
            Ok::<(), CliError>(())
        });
        // after step 1, all ranks know the error
        if steps == 1 {
            return made;
        }
        let store = agree(ranks, made)?;
        agree(ranks, Ok(store))
    }

    /// Returns all signals of sampling, one after the other, which are in one file.
    fn stacks(&self, ranks: &Ranks) -> Result<[Vec<f64>; 2], CliError> {
        let mut stacks = [Vec::new(), Vec::new()];
        if self.task == FamilyKind::Sampling {
            for (stack, (_, numbers)) in stacks.iter_mut().zip(HALVES) {
                for pairs in [self.training.1, self.validation.1] {
                    let own: Vec<f64> = pairs.iter().flat_map(numbers).copied().collect();
                    stack.extend(ranks.gather(&own).map_err(lost)?.concat());
                }
            }
        }
        Ok(stacks)
    }

    /// Writes what rank 0 writes for all ranks: the operator, the signals of sampling, and the
    /// folders.
    fn write_shared(&self, arrays: &Path, stacks: &[Vec<f64>; 2]) -> Result<(), CliError> {
        let OperatorArrays { kernel, name, mask } = self.operator;
        // a kernel with a name needs no file
        let kernel = kernel.as_ref().filter(|_| name.is_none());
        for (name, array) in [(KERNEL, kernel), (MASK, mask.as_ref())] {
            if let Some(OperatorArray { values, shape }) = array {
                let values = ArrayValues::Real(values.clone());
                array::write(&arrays.join(name), shape, &values)?;
            }
        }
        for ((name, _), stack) in HALVES.into_iter().zip(stacks) {
            if self.task == FamilyKind::Sampling {
                // a complex number has two entries
                let shape = [self.num_images, stack.len() / 2 / self.num_images];
                let path = arrays.join(format!("{name}.npy"));
                array::write(&path, &shape, &ArrayValues::Complex(stack.clone()))?;
            } else {
                let folder = arrays.join(name);
                let refuse = |source| FileError::Write(folder.clone(), source);
                fs::create_dir_all(&folder).map_err(refuse)?;
            }
        }
        Ok(())
    }

    /// Writes the images of this rank, each to a file of its own.
    fn write_images(&self, arrays: &Path) -> Result<(), CliError> {
        if self.task == FamilyKind::Sampling {
            return Ok(());
        }
        for (name, numbers) in HALVES {
            for (first, pairs) in [self.training, self.validation] {
                for (index, pair) in (first..).zip(pairs) {
                    let path = arrays.join(name).join(file_name(self.task, index));
                    let values = ArrayValues::Real(numbers(pair).to_vec());
                    array::write(&path, &shape(pair.grid), &values)?;
                }
            }
        }
        Ok(())
    }
}

/// The shape of an array on a grid.
pub(crate) fn shape(grid: Grid) -> Vec<usize> {
    let (slices, rows, cols) = grid.slices_rows_and_cols();
    match grid.num_axes() {
        1 => vec![grid.num_samples()],
        3 => vec![slices, rows, cols],
        _ if grid.field() == Field::Colour => vec![rows, cols, 3],
        _ => vec![rows, cols],
    }
}

/// The values and the shape of an array.
type Shaped<'py> = (Bound<'py, PyArray1<f64>>, Vec<usize>);

/// A run as it is described by its files: its description as JSON, the number of axes of its
/// images, its kernel, the name of the kernel, its mask, its result as JSON if it has ended, and
/// its camera.
type Description<'py> = (
    String,
    usize,
    Option<Shaped<'py>>,
    Option<String>,
    Option<Shaped<'py>>,
    Option<String>,
    Option<Camera>,
);

/// Describes the run in a directory, without its images.
#[pyfunction]
pub(crate) fn describe_run(py: Python<'_>, dir: PathBuf) -> PyResult<Description<'_>> {
    let read = || -> Result<_, CliError> {
        let config = Settings::of_run(&Store::read_settings(&dir)?, &dir)?.resolve()?;
        let operators = task::operators(&config)?;
        let images = config.data.images.as_deref().unwrap_or(Path::new(""));
        let first = picture::list(images)
            .ok()
            .and_then(|all| all.into_iter().next());
        let num_axes = match config.task {
            FamilyKind::Sampling => 1,
            _ if config.data.colour == Some(Colour::Opponent) => 3,
            _ if config.data.slices == Slices::Volume => 3,
            _ if first.is_some_and(|path| picture::is_signal(&path)) => 1,
            _ => 2,
        };
        let camera = config.data.camera();
        let camera = camera.map(|camera| (camera.gain(), camera.read(), camera.black()));
        let name = config.data.kernel.as_ref();
        let name = name.map(|path| path.display().to_string());
        let name = name.filter(|name| KernelShape::is_name(name));
        Ok((config.spec(), operators, name, num_axes, camera))
    };
    let (spec, (kernel, mask), name, num_axes, camera) = read().map_err(error)?;
    let spec = serde_json::to_string(&spec).map_err(crate::invalid)?;
    let shaped = |(values, grid)| (PyArray1::from_vec(py, values), shape(grid));
    let kernel = kernel.map(|kernel| shaped((kernel.values().to_vec(), kernel.grid())));
    let mask = mask.map(|mask| {
        let measured = mask.measured().iter();
        shaped((measured.map(|one| f64::from(*one)).collect(), mask.domain()))
    });
    let learned = fs::read_to_string(dir.join(RESULT)).ok();
    Ok((spec, num_axes, kernel, name, mask, learned, camera))
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
        SessionError::Problem(_) | SessionError::TooFewPoints { .. } => {
            PyValueError::new_err(chain(&error))
        }
        _ => PyRuntimeError::new_err(chain(&error)),
    }
}

/// The exception for an error of a directory, in the words of Python.
fn store_error(error: StoreError) -> PyErr {
    match error {
        StoreError::Exists(dir) => PyFileExistsError::new_err(format!(
            "{dir} already holds a run: choose another directory for out, or continue the run with \
             bilevel.resume({dir:?})",
            dir = dir.display().to_string()
        )),
        StoreError::NotEmpty(dir) => PyFileExistsError::new_err(format!(
            "the directory {} is not empty: choose another one for out, or empty it first",
            dir.display()
        )),
        StoreError::NotARun(dir) => PyFileNotFoundError::new_err(format!(
            "{} is not the directory of a run: check the path, or start a run with \
             bilevel.learn(..., out=...)",
            dir.display()
        )),
        error => PyRuntimeError::new_err(chain(&error)),
    }
}
