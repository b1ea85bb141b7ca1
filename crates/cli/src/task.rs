//! From settings to data and a model.

mod error;
pub(crate) mod family;
pub mod fingerprint;
pub(crate) mod pictures;
pub(crate) mod signals;
#[cfg(test)]
mod tests;

use bilevel::{Family, Pair};

use crate::config::{Config, TaskKind};
use crate::error::CliError;

pub use error::DataError;

/// Pairs of truth and data, with their names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NamedPairs {
    /// The file and, of several, the channel; as many as there are pairs.
    pub names: Vec<String>,
    /// The pairs.
    pub pairs: Vec<Pair>,
}

impl NamedPairs {
    fn push(&mut self, name: String, pair: Pair) {
        self.names.push(name);
        self.pairs.push(pair);
    }
}

/// What is learned, and from what.
#[derive(Debug)]
pub struct LoadedTask {
    /// The model.
    pub family: Family,
    /// What it learns from.
    pub training: NamedPairs,
    /// What judges it; may be empty.
    pub validation: NamedPairs,
    /// A hash of all training data: another one means that files have changed.
    pub fingerprint: u64,
    /// What the user should know.
    pub warnings: Vec<String>,
}

/// Reads or makes the data of resolved settings.
///
/// # Errors
/// When a file cannot be used, or files do not fit together.
pub fn load(config: &Config) -> Result<LoadedTask, CliError> {
    match config.task {
        TaskKind::Sampling => signals::load(config),
        TaskKind::Denoise | TaskKind::Deblur | TaskKind::Inpaint => pictures::load(config),
    }
}

/// Puts the last `hold_out` of `images` aside.
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
