//! Why a session could not go on.

use std::path::PathBuf;

use bilevel::ProblemError;
use thiserror::Error;

use crate::store::StoreError;

/// A session that could not begin or go on. What was saved before is still there.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SessionError {
    /// The solver does not accept an option.
    #[error(transparent)]
    Problem(#[from] ProblemError),
    /// The directory of the run cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The run could not be saved.
    #[error(
        "the run in {} could not be saved; everything up to evaluation {evaluations} is: remove the cause below (free some space if \
         the disk is full), then `bilevel resume {}`",
        dir.display(), dir.display()
    )]
    NotSaved {
        /// The directory of the run.
        dir: PathBuf,
        /// How many evaluations the last commit has.
        evaluations: u64,
        /// What went wrong.
        source: StoreError,
    },
    /// Something has no place in a file.
    #[error("{} could not be written", super::RESULT)]
    Encode(#[source] serde_json::Error),
    /// The images are not those that the run began with.
    #[error(
        "the training images have changed since the run in {} began: restore them, or start a new run with another --out",
        dir.display()
    )]
    ImagesChanged {
        /// The directory of the run.
        dir: PathBuf,
    },
    /// The settings are not those that the run began with.
    #[error(
        "{} has changed since the run began: restore it, or start a new run with `bilevel learn --config {}` and another --out",
        dir.join("bilevel.toml").display(), dir.join("bilevel.toml").display()
    )]
    SettingsChanged {
        /// The directory of the run.
        dir: PathBuf,
    },
    /// Another version of the program has saved the run.
    #[error(
        "the run in {} was saved by bilevel {found}, and this is {}: go on with that version, or start again with \
         `bilevel learn --config {}` and another --out",
        dir.display(), env!("CARGO_PKG_VERSION"), dir.join("bilevel.toml").display()
    )]
    OtherVersion {
        /// The directory of the run.
        dir: PathBuf,
        /// That version.
        found: String,
    },
    /// The files of the run are whole, but do not fit together.
    #[error(
        "the run in {} is damaged ({problem}): restore it from a backup, or start again with `bilevel learn --config {}` and another \
         --out",
        dir.display(), dir.join("bilevel.toml").display()
    )]
    Damaged {
        /// The directory of the run.
        dir: PathBuf,
        /// What does not fit.
        problem: String,
    },
    /// No point could be evaluated, so nothing was learned.
    #[error(
        "nothing was learned in {}, because no parameters could be evaluated: check images, bounds and budget ({reason})",
        dir.display()
    )]
    NothingEvaluated {
        /// The directory of the run.
        dir: PathBuf,
        /// What the last evaluation said.
        reason: String,
    },
}
