//! The data and the model of a task, loaded as the settings describe.

pub(crate) mod camera;
pub(crate) mod colour;
pub(crate) mod data_warnings;
mod error;
pub(crate) mod family;
pub mod fingerprint;
mod noise_level;
mod patches;
pub(crate) mod pictures;
pub(crate) mod signals;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use bilevel::{Family, Pair, share_of};
use imaging::KernelShape;

use crate::array::hdf5;
use crate::config::{Config, TaskKind};
use crate::error::CliError;

pub use error::DataError;
pub use family::operators;

/// Pairs of truth and data, with their names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NamedPairs {
    /// The name of each pair: its file, and its page and channel if there are several.
    pub names: Vec<String>,
    /// The pairs.
    pub pairs: Vec<Pair>,
    /// The noise level of each pair; empty unless it is learned from without truth.
    pub noise: Vec<f64>,
}

impl NamedPairs {
    fn push(&mut self, name: String, pair: Pair) {
        self.names.push(name);
        self.pairs.push(pair);
    }

    fn append(&mut self, mut other: Self) {
        self.names.append(&mut other.names);
        self.pairs.append(&mut other.pairs);
        self.noise.append(&mut other.noise);
    }

    /// Returns the share of a rank, and drops the other pairs.
    #[must_use]
    pub fn share(mut self, rank: usize, num_ranks: usize) -> Self {
        let own = share_of(self.pairs.len(), rank, num_ranks);
        Self {
            names: self.names.drain(own.clone()).collect(),
            noise: match self.noise.is_empty() {
                true => Vec::new(),
                false => self.noise.drain(own.clone()).collect(),
            },
            pairs: self.pairs.drain(own).collect(),
        }
    }
}

/// A task with its data.
#[derive(Debug)]
pub struct LoadedTask {
    /// The family of reconstruction problems.
    pub family: Family,
    /// The training pairs.
    pub training: NamedPairs,
    /// The held-out pairs; there may be none.
    pub validation: NamedPairs,
    /// A hash of all data, which tells whether files have changed.
    pub fingerprint: u64,
    /// Warnings about the data.
    pub warnings: Vec<String>,
    /// A sentence about the images, if the settings do not say how many are learned from.
    pub note: Option<String>,
}

/// Reads or generates the data of resolved settings.
///
/// # Errors
/// When a file cannot be used, or files do not fit together.
pub fn load(config: &Config) -> Result<LoadedTask, CliError> {
    match config.task {
        TaskKind::Sampling => signals::load(config),
        TaskKind::Denoise | TaskKind::Deblur | TaskKind::Inpaint => pictures::load(config),
    }
}

/// Does the same as [`load`], for the run in the directory `run`.
///
/// # Errors
/// As [`load`], and [`CliError::Moved`] if a file or folder is no longer there.
pub fn load_for_run(config: &Config, run: &Path) -> Result<LoadedTask, CliError> {
    let data = &config.data;
    let paths = [
        &data.images,
        &data.noisy,
        &data.validation,
        &data.kernel,
        &data.mask,
    ];
    // a kernel may be given by its shape
    let is_name = |path: &Path| KernelShape::is_name(&path.to_string_lossy());
    let is_missing = |path: &&PathBuf| !hdf5::split(path).0.exists() && !is_name(path);
    let missing = paths.into_iter().flatten().find(is_missing);
    if let Some(path) = missing {
        let (path, run) = (path.clone(), run.to_path_buf());
        return Err(CliError::Moved { path, run });
    }
    load(config)
}

/// Splits off the last `hold_out` of `images`.
fn split<T>(images: &mut Vec<T>, hold_out: usize) -> Result<Vec<T>, DataError> {
    let num_images = images.len();
    match num_images.checked_sub(hold_out) {
        Some(rest @ 1..) => Ok(images.split_off(rest)),
        _ => Err(DataError::HoldOut {
            hold_out,
            num_images,
        }),
    }
}
