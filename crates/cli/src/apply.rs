//! Reconstruction of pictures and signals with learned parameters.

mod large;
mod learned_numbers;
pub(crate) mod output_paths;
#[cfg(test)]
mod tests;
mod volume;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use bilevel::{LowerLevel, Reconstruction, reconstruct};
use imaging::Grid;
use lowlevel::{Certificate, ErrorBound, Solver, Stop};
use rayon::prelude::*;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::array::{self, ArrayValues};
use crate::blur_check::periodicity_warning;
use crate::config::table::{KERNEL, MASK};
use crate::config::{Config, ConfigError, Settings, Slices, TaskKind};
use crate::error::CliError;
use crate::file::{FileError, Nan};
use crate::memory::Memory;
use crate::picture::{self, Colour, Depth, Picture, TypedPicture};
pub use crate::session::RESULT;
use crate::store::{Store, StoreError};
use crate::task::DataError;
use crate::task::data_warnings::other_unit;
use crate::task::family::{self, LoadedFamily};
use crate::task::pictures::{Axes, apply_mask, channel_name, check_mask, grid};
use crate::task::signals::{check_samples, read_frequencies};
use learned_numbers::LearnedNumbers;
use output_paths::Files;

/// Largest number of iterations of a reconstruction, unless the run has another limit.
const MAX_ITERATIONS: u64 = 100_000;

/// Options of [`apply`].
#[derive(Clone, Debug, PartialEq)]
pub struct ApplyOptions {
    /// The root-mean-square distance from the exact reconstruction that is certified.
    pub accuracy: f64,
    /// The number of bits per sample of the output; `None` for the samples of the input.
    pub depth: Option<Depth>,
    /// The memory that a picture may take. Larger pictures are denoised by tiles.
    pub memory: Memory,
    /// A blur kernel to use instead of that of the run.
    pub kernel: Option<PathBuf>,
    /// A mask to use instead of that of the run.
    pub mask: Option<PathBuf>,
    /// Sensitivity maps of coils to use instead of those of the run.
    pub coils: Option<PathBuf>,
}

impl Default for ApplyOptions {
    fn default() -> Self {
        Self {
            accuracy: 1e-3,
            depth: None,
            memory: Memory::default(),
            kernel: None,
            mask: None,
            coils: None,
        }
    }
}

/// A file that was reconstructed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Applied {
    /// The input file.
    pub input: PathBuf,
    /// The output file.
    pub output: PathBuf,
    /// The certified root-mean-square distance from the exact reconstruction, before rounding to
    /// the levels of the file. It is the largest of all pages and channels, or rows. If the run
    /// was learned for a camera, it is that of the transformed pictures.
    pub error: f64,
    /// Whether the error is at most the requested accuracy.
    pub reached: bool,
    /// The number of iterations for all pages and channels, or rows.
    pub iterations: u64,
    /// Warnings about the input.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// An event of [`apply`].
#[derive(Clone, Copy, Debug)]
pub enum ApplyEvent<'a> {
    /// This many pages of a file with several pages are reconstructed. The file is not yet written.
    Page {
        /// The input file.
        input: &'a Path,
        /// The number of pages so far.
        done: usize,
        /// The number of all pages.
        num_pages: usize,
    },
    /// A file was written, or could not be reconstructed.
    File(Result<&'a Applied, &'a ApplyFailure>),
}

/// A file that could not be reconstructed.
#[derive(Debug)]
pub struct ApplyFailure {
    /// The input file.
    pub input: PathBuf,
    /// The reason.
    pub error: CliError,
}

/// Reconstructs a file, or the pictures of a folder, with the parameters that a run has learned.
///
/// A run that has learned from pictures in colour reconstructs pictures in colour, each as a whole.
/// Other runs reconstruct channel by channel, even if only luminance was learned from. All pages of
/// a TIFF file, slices of a NIfTI file or pictures of an array are reconstructed to those of
/// another one. Samples keep their type. In a folder, a bad file does not stop the others. If
/// `input` is a file and `output` a folder, the file name stays the same. `observe` is called after
/// each file, and after each page of a file with several pages, from any thread.
///
/// # Errors
/// When the run has not finished, or a file cannot be read, reconstructed or written.
/// [`CliError::SomeFailed`] lists the files that were reconstructed all the same.
pub fn apply(
    run: &Path,
    input: &Path,
    output: &Path,
    options: &ApplyOptions,
    observe: &(dyn Fn(ApplyEvent<'_>) + Sync),
) -> Result<Vec<Applied>, CliError> {
    let reconstructor = Reconstructor::new(run, options)?;
    let files = output_paths::pair_files(input, output, reconstructor.config.task)?;
    let run = |input: &Path, output: &Path| reconstructor.file(input, output, observe);
    let (applied, failures) = each_file(&files, run, |made| observe(ApplyEvent::File(made)))?;
    match failures.is_empty() {
        true => Ok(applied),
        false => Err(CliError::SomeFailed { applied, failures }),
    }
}

/// Computes a result from each file and its output, on all threads. Returns the results, and the
/// failures of the other files. The error of a file that is alone, and not in a folder, needs no
/// list.
pub(crate) fn each_file<T: Send>(
    files: &Files,
    make: impl Fn(&Path, &Path) -> Result<T, CliError> + Sync,
    observe: impl Fn(Result<&T, &ApplyFailure>) + Sync,
) -> Result<(Vec<T>, Vec<ApplyFailure>), CliError> {
    let run = |(input, output): &(PathBuf, PathBuf)| {
        let made = make(input, output).map_err(|error| {
            let input = input.clone();
            ApplyFailure { input, error }
        });
        observe(made.as_ref());
        made
    };
    let made: Vec<_> = files.pairs.par_iter().with_max_len(1).map(run).collect();
    let (mut done, mut failures) = (Vec::new(), Vec::new());
    for made in made {
        match made {
            Ok(made) => done.push(made),
            Err(failure) if !files.are_of_folder => return Err(failure.error),
            Err(failure) => failures.push(failure),
        }
    }
    Ok((done, failures))
}

/// Learned parameters with their family and solver.
struct Reconstructor {
    config: Config,
    loaded: LoadedFamily,
    values: LearnedNumbers,
    accuracy: f64,
    depth: Option<Depth>,
    memory: Memory,
    solver: Solver<'static>,
    max_iterations: u64,
    /// Warnings about a kernel that is not that of the run.
    warnings: Vec<String>,
}

impl Reconstructor {
    fn new(run: &Path, options: &ApplyOptions) -> Result<Self, CliError> {
        let accuracy = options.accuracy;
        if !(accuracy > 0.0 && accuracy.is_finite()) {
            return Err(CliError::Accuracy(accuracy));
        }
        let settings = Store::read_settings(run)?;
        let mut settings = Settings::of_run(&settings, run)?;
        for (setting, path) in [(&KERNEL, &options.kernel), (&MASK, &options.mask)] {
            if let Some(path) = path {
                if !setting.is_for(settings.task) {
                    return Err(setting.not_of_run(run, settings.task).into());
                }
                settings.set_path(setting, path)?;
            }
        }
        if options.coils.is_some() {
            return Err(ConfigError::not_of_run("coils", "mask", run, settings.task).into());
        }
        let config = settings.resolve()?;
        if options.kernel.is_some() && config.model.learn.iter().any(|name| name == "width") {
            return Err(CliError::LearnedWidth(run.into()));
        }
        let (parameters, values) = learned_numbers::read(run)?;
        let loaded = match config.task {
            TaskKind::Sampling => {
                let name = run.display().to_string();
                let num_frequencies = parameters.iter().map(|p| p.values.len()).sum();
                family::for_signals(&config, num_frequencies, &name)?
            }
            _ => family::for_pictures(&config)?,
        };
        let warnings = match options.kernel {
            Some(_) => loaded.warnings.clone(),
            None => Vec::new(),
        };
        let found: Vec<&str> = parameters.iter().map(|p| &p.parameter.name[..]).collect();
        let expected = loaded.family.parameters();
        let expected: Vec<&str> = expected.iter().map(|p| &p.name[..]).collect();
        if found != expected {
            return Err(CliError::OtherResult {
                path: run.join(RESULT),
                found: found.join(", "),
                expected: expected.join(", "),
            });
        }
        Ok(Self {
            values,
            loaded,
            warnings,
            accuracy,
            depth: options.depth,
            memory: options.memory,
            solver: config.spec().setup(Vec::new()).lower_solver(),
            max_iterations: config.solver.max_iterations.unwrap_or(MAX_ITERATIONS),
            config,
        })
    }

    fn file(
        &self,
        input: &Path,
        output: &Path,
        observe: &(dyn Fn(ApplyEvent<'_>) + Sync),
    ) -> Result<Applied, CliError> {
        match self.config.task {
            TaskKind::Sampling => self.signals(input, output),
            _ if self.config.data.slices == Slices::Volume => self.volume(input, output),
            _ if self.needs_tiles(input)? => self.large(input, output),
            _ => self.picture(input, output, observe),
        }
    }

    /// Reconstructs all channels of all pages of a picture file.
    fn picture(
        &self,
        input: &Path,
        output: &Path,
        observe: &(dyn Fn(ApplyEvent<'_>) + Sync),
    ) -> Result<Applied, CliError> {
        let is_whole = self.config.data.colour == Some(Colour::Opponent);
        let colour = match is_whole {
            true => Colour::Opponent,
            false => Colour::Channels,
        };
        let pages = picture::read_stack(input, colour, Nan::Missing)?;
        if !(is_whole && picture::has_extension(output, "npy")) {
            picture::check_output(output, &pages)?;
        }
        let num_pages = pages.len();
        let axes = Axes::of_page(input);
        let is_signal = axes == Axes::Signal;
        let mut applied = self.applied(input, output);
        let mut jumps = Vec::new();
        let mut pictures = Vec::new();
        for (index, page) in pages.into_iter().enumerate() {
            let name = picture::page_name(input, index, num_pages);
            let samples = page.samples.for_output(self.depth, output);
            let (metadata, page) = (page.metadata, page.picture);
            let (width, height) = (page.width, page.height);
            let num_channels = if is_whole { 1 } else { page.channels.len() };
            let values = self.values_of(&name, num_channels)?;
            let grid = grid(axes, &page);
            let name_text = name.display().to_string();
            check_mask(&self.config, &self.loaded, grid, &name_text)?;
            if self.config.data.source().is_none() {
                let values = page.channels.iter().flatten().copied();
                applied.warnings.extend(unit_warning(&name_text, values));
            }
            applied
                .warnings
                .extend(self.loaded.missing(&name_text, &page)?);
            let jump = |plane: &Vec<f64>| self.loaded.border_jump(plane, grid);
            let jump = page.channels.iter().filter_map(jump).reduce(f64::max);
            jumps.extend(jump.map(|jump| (name_text, jump)));
            let mask = |plane: Vec<f64>| apply_mask(&self.loaded, plane);
            let channels: Vec<Vec<f64>> = page.channels.into_iter().map(mask).collect();
            let page = Picture::new(width, height, channels);
            let (grid, data) = match is_whole {
                true => {
                    let grey = || DataError::GreyInput(name.display().to_string());
                    let data = page.interleaved().filter(|_| !is_signal);
                    (grid.colour(), vec![data.ok_or_else(grey)?])
                }
                false => (grid, page.channels),
            };
            let made = self.channels(&mut applied, &name, grid, &values, data)?;
            let channels: Vec<Vec<f64>> = match &made[..] {
                [made] if is_whole => Picture::of_interleaved(width, height, &made.x).channels,
                _ => made.into_iter().map(|made| made.x).collect(),
            };
            pictures.push(TypedPicture {
                metadata,
                ..TypedPicture::new(Picture::new(width, height, channels), samples)
            });
            if num_pages > 1 {
                observe(ApplyEvent::Page {
                    input,
                    done: index + 1,
                    num_pages,
                });
            }
        }
        match &pictures[..] {
            [page] if is_signal && picture::has_extension(output, "npy") => {
                let values = ArrayValues::Real(page.picture.channels.concat());
                array::write(output, &[page.picture.width], &values)?;
            }
            [page] if is_whole && picture::has_extension(output, "npy") => {
                let page = &page.picture;
                let values = page.interleaved().unwrap_or_default();
                let shape = [page.height, page.width, 3];
                array::write(output, &shape, &ArrayValues::Real(values))?;
            }
            _ => picture::write_typed(output, &pictures)?,
        }
        applied.warnings.extend(periodicity_warning(&jumps));
        Ok(applied)
    }

    /// Returns the learned numbers of each channel of a picture.
    fn values_of(&self, name: &Path, num_channels: usize) -> Result<Vec<&[f64]>, CliError> {
        let own = Path::new(name.file_name().unwrap_or_default()).to_string_lossy();
        (0..num_channels)
            .map(|channel| self.values.of(&channel_name(&own, num_channels, channel)))
            .collect()
    }

    /// Reconstructs the channels of an image and adds their errors to `applied`. The data of a
    /// camera that counts photons are transformed, and the results are transformed back.
    fn channels(
        &self,
        applied: &mut Applied,
        name: &Path,
        grid: Grid,
        values: &[&[f64]],
        data: Vec<Vec<f64>>,
    ) -> Result<Vec<Reconstruction>, CliError> {
        let camera = self.config.data.camera();
        let data = match camera {
            Some(camera) => data.iter().map(|data| camera.transform(data)).collect(),
            None => data,
        };
        let mut made = self.reconstruct(name, grid, values, data)?;
        self.add(applied, grid, &made);
        if let Some(camera) = camera {
            for made in &mut made {
                made.x = camera.inverse(&made.x);
            }
        }
        Ok(made)
    }

    fn signals(&self, input: &Path, output: &Path) -> Result<Applied, CliError> {
        let rows = read_frequencies(input)?;
        let (num, num_samples) = (rows.len(), self.values.shared().len());
        let found = rows.first().map_or(0, |row| row.len() / 2);
        check_samples(input, found, num_samples, "the run".into())?;
        let grid = Grid::line(num_samples).complex();
        let made = self.reconstruct(input, grid, &vec![self.values.shared(); num], rows)?;
        let numbers = made.iter().flat_map(|made| made.x.iter().copied());
        let values = ArrayValues::Complex(numbers.collect());
        array::write(output, &[num, num_samples], &values)?;
        let mut applied = self.applied(input, output);
        self.add(&mut applied, grid, &made);
        Ok(applied)
    }

    /// Returns one reconstruction for each of `data`, with the values of each.
    fn reconstruct(
        &self,
        input: &Path,
        grid: Grid,
        values: &[&[f64]],
        data: Vec<Vec<f64>>,
    ) -> Result<Vec<Reconstruction>, CliError> {
        let target = ErrorBound::new(self.accuracy * size(grid)).unwrap_or(ErrorBound::UNKNOWN);
        let stop = Stop::accuracy(target)
            .with_certificate(Certificate::Subgradient)
            .with_max_iterations(self.max_iterations);
        let one = |(data, values): (&Vec<f64>, &&[f64])| {
            reconstruct(&self.loaded.family, values, grid, data, self.solver, stop)
        };
        let each = data.par_iter().zip(values);
        let made: Result<_, _> = each.with_max_len(1).map(one).collect();
        made.map_err(|source| CliError::Reconstruction {
            path: input.into(),
            source,
        })
    }

    /// Returns the report on a file before its reconstruction.
    fn applied(&self, input: &Path, output: &Path) -> Applied {
        Applied {
            input: input.into(),
            output: output.into(),
            error: 0.0,
            reached: true,
            iterations: 0,
            warnings: [&self.warnings[..], picture::stack_warning(input).as_slice()].concat(),
        }
    }

    /// Adds reconstructions to the report on their file.
    fn add(&self, applied: &mut Applied, grid: Grid, made: &[Reconstruction]) {
        for made in made {
            let error = made.solved.error.value() / size(grid);
            applied.error = applied.error.max(error);
            // a rounding error of the division does not count
            applied.reached &= error <= self.accuracy * (1.0 + 1e-12);
            applied.iterations += made.solved.iterations;
        }
    }
}

/// Returns a warning about a picture in another unit than the built-in images of its run.
fn unit_warning(name: &str, values: impl Iterator<Item = f64>) -> Option<String> {
    let [lowest, highest] = other_unit(values)?;
    Some(format!(
        "the values of {name} lie between {lowest} and {highest}, but the run has learned from \
         built-in images, in which black is 0 and white is 1: scale the picture, or learn from \
         pictures like it"
    ))
}

/// Returns the divisor that turns a norm into a root mean square.
fn size(grid: Grid) -> f64 {
    (grid.num_intensities() as f64).sqrt()
}

/// Reads the result of a run, or a part of it.
pub(crate) fn read_result<T: DeserializeOwned>(run: &Path) -> Result<T, CliError> {
    let path = run.join(RESULT);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(CliError::NotFinished(run.into()));
        }
        Err(source) => {
            return Err(CliError::Store(StoreError::Io {
                action: "read",
                path,
                source,
            }));
        }
    };
    serde_json::from_str(&text).map_err(|source| CliError::Result {
        path,
        run: run.into(),
        source,
    })
}

/// Creates a folder.
fn create_folder(path: &Path) -> Result<(), FileError> {
    fs::create_dir_all(path).map_err(|source| FileError::Write(path.into(), source))
}
