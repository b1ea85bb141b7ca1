//! What can go wrong with a run directory, and what to do about it.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::file::advice;

/// Why a run directory cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StoreError {
    /// A run is already there.
    #[error(
        "{} already holds a run: choose another --out, or go on with `bilevel resume {}`",
        dir.display(), dir.display()
    )]
    Exists {
        /// The directory of the run.
        dir: PathBuf,
    },
    /// Something else is already there.
    #[error(
        "the directory {} is not empty: choose another --out, or empty it first",
        dir.display()
    )]
    NotEmpty {
        /// The directory.
        dir: PathBuf,
    },
    /// No run is there.
    #[error(
        "{} is not the directory of a run: check the path, or start a run with `bilevel learn`",
        dir.display()
    )]
    NotARun {
        /// The directory, which may not exist.
        dir: PathBuf,
    },
    /// Somebody else holds the lock.
    #[error(
        "another process is working on the run in {}: wait until it ends, or stop it",
        dir.display()
    )]
    Busy {
        /// The directory of the run.
        dir: PathBuf,
    },
    /// A file is missing or does not hold what was written.
    #[error(
        "{} is damaged ({problem}): restore it from a backup, or start again in another directory \
         with `bilevel learn --config {}`",
        path.display(), dir.join("bilevel.toml").display()
    )]
    Damaged {
        /// The directory of the run.
        dir: PathBuf,
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// A file is sound, but in a format that this program does not know.
    #[error(
        "{} was written by another version of bilevel (format {found}, this one knows {known}): \
         go on with that version, or start again in another directory with `bilevel learn --config {}`",
        path.display(), dir.join("bilevel.toml").display()
    )]
    Foreign {
        /// The directory of the run.
        dir: PathBuf,
        /// The file.
        path: PathBuf,
        /// The format of the file.
        found: u64,
        /// The format of this program.
        known: u64,
    },
    /// The operating system refused; nothing that was committed is lost.
    #[error("cannot {action} {}{}", path.display(), advice(source))]
    Io {
        /// What was tried: "read", "write", ...
        action: &'static str,
        /// On which file or directory.
        path: PathBuf,
        /// The refusal.
        source: io::Error,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_say_what_to_do() {
        let dir = PathBuf::from("runs/a");
        let full = StoreError::Io {
            action: "write",
            path: dir.join("engine.bin"),
            source: io::ErrorKind::StorageFull.into(),
        };
        assert_eq!(
            full.to_string().replace('\\', "/"),
            "cannot write runs/a/engine.bin, because the disk is full: make room, then try again"
        );
        let damaged = StoreError::Damaged {
            path: dir.join("engine.bin"),
            dir,
            problem: "it is missing",
        };
        assert_eq!(
            damaged.to_string().replace('\\', "/"),
            "runs/a/engine.bin is damaged (it is missing): restore it from a backup, or start again \
             in another directory with `bilevel learn --config runs/a/bilevel.toml`"
        );
    }
}
