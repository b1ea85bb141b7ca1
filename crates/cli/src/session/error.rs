//! Errors of sessions.

use std::path::PathBuf;

use bilevel::ProblemError;
use page::number::counted;
use thiserror::Error;

use crate::store::StoreError;

/// An error that ended a session. Everything that was saved before is still there.
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
        "the run in {} could not be saved beyond evaluation {evaluations}: remove the cause (free \
         some space if the disk is full), then continue with `bilevel resume {}`",
        dir.display(), dir.display()
    )]
    NotSaved {
        /// The directory of the run.
        dir: PathBuf,
        /// The number of saved evaluations.
        evaluations: u64,
        /// The error of the last save.
        source: StoreError,
    },
    /// The run could not be saved on another rank.
    #[error(
        "the run in {} could not be saved beyond evaluation {evaluations} on rank {rank} \
         ({reason}): remove the cause (free some space if the disk is full), then continue with \
         `bilevel resume {}`",
        dir.display(), dir.display()
    )]
    NotSavedElsewhere {
        /// The directory of the run.
        dir: PathBuf,
        /// The number of saved evaluations.
        evaluations: u64,
        /// The rank.
        rank: usize,
        /// The error of that rank.
        reason: String,
    },
    /// The result cannot be written as JSON.
    #[error("{} could not be written", super::RESULT)]
    Encode(#[source] serde_json::Error),
    /// The images are not those that the run began with.
    #[error(
        "the images have changed since the run in {} began: restore them, or start a new run with \
         another --out",
        dir.display()
    )]
    ImagesChanged {
        /// The directory of the run.
        dir: PathBuf,
    },
    /// The settings are not those that the run began with.
    #[error(
        "{} has changed since the run began (only max_points, threads and paths may change): \
         restore it, or start a new run with `bilevel learn --config {}` and another --out",
        dir.join("bilevel.toml").display(), dir.join("bilevel.toml").display()
    )]
    SettingsChanged {
        /// The directory of the run.
        dir: PathBuf,
    },
    /// A new limit on points is not above the number of points that were evaluated before.
    #[error(
        "a limit of {} is too low, because the run in {} has already evaluated {}: give at least {}",
        counted(*max_points, "point", "points"), dir.display(),
        counted(*num_points, "point", "points"), num_points + 1
    )]
    TooFewPoints {
        /// The directory of the run.
        dir: PathBuf,
        /// The new limit.
        max_points: u64,
        /// The number of points that were evaluated before.
        num_points: u64,
    },
    /// Another version of the program has saved the run.
    #[error(
        "the run in {} was saved by bilevel {found}, but this is version {}: use that version, or \
         start again with `bilevel learn --config {}` and another --out",
        dir.display(), env!("CARGO_PKG_VERSION"), dir.join("bilevel.toml").display()
    )]
    OtherVersion {
        /// The directory of the run.
        dir: PathBuf,
        /// The version that saved the run.
        found: String,
    },
    /// The files of the run are intact, but do not belong together.
    #[error(
        "the run in {} is damaged ({problem}): restore it from a backup, or start again with \
         `bilevel learn --config {}` and another --out",
        dir.display(), dir.join("bilevel.toml").display()
    )]
    Damaged {
        /// The directory of the run.
        dir: PathBuf,
        /// The damage.
        problem: String,
    },
    /// No point could be evaluated, so nothing was learned.
    #[error(
        "nothing was learned in {}, because no parameters could be evaluated ({reason}): check \
         images, bounds and budget",
        dir.display()
    )]
    NothingEvaluated {
        /// The directory of the run.
        dir: PathBuf,
        /// The reason of the last evaluation that failed.
        reason: String,
    },
}
