//! Errors of run directories, with advice.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::file::advice;

/// The reason that a run directory cannot be used. A field without a name is the directory.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The directory holds a run already.
    #[error(
        "{} already holds a run: choose another --out, or continue it with `bilevel resume {}`",
        .0.display(), .0.display()
    )]
    Exists(PathBuf),
    /// The directory holds other files.
    #[error(
        "the directory {} is not empty: choose another --out, or empty it first",
        .0.display()
    )]
    NotEmpty(PathBuf),
    /// The directory holds no run.
    #[error(
        "{} is not the directory of a run: check the path, or start a run with `bilevel learn`",
        .0.display()
    )]
    NotARun(PathBuf),
    /// Another process holds the lock.
    #[error(
        "another process is working on the run in {}: wait until it ends, or stop it",
        .0.display()
    )]
    Busy(PathBuf),
    /// A file is missing, or its content has changed.
    #[error(
        "the run is damaged, because {} cannot be used ({problem}): restore it from a backup, or \
         start again in another directory with `bilevel learn --config {}`",
        path.display(), dir.join("bilevel.toml").display()
    )]
    Damaged {
        /// The directory of the run.
        dir: PathBuf,
        /// The file.
        path: PathBuf,
        /// The damage.
        problem: &'static str,
    },
    /// A file is intact, but in a format that this program does not know.
    #[error(
        "{} was written by another version of bilevel (format {found}, but this version reads \
         {known}): use that version, or start again in another directory with `bilevel learn \
         --config {}`",
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
    /// The operating system reported an error. Nothing that was committed is lost.
    #[error("cannot {action} {}{}", path.display(), advice(source))]
    Io {
        /// The action, such as "read" or "write".
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The error of the operating system.
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
            "cannot write runs/a/engine.bin, because the disk is full: free some space, then try \
             again"
        );
        let damaged = StoreError::Damaged {
            path: dir.join("engine.bin"),
            dir,
            problem: "it is missing",
        };
        assert_eq!(
            damaged.to_string().replace('\\', "/"),
            "the run is damaged, because runs/a/engine.bin cannot be used (it is missing): restore \
             it from a backup, or start again in another directory with `bilevel learn --config \
             runs/a/bilevel.toml`"
        );
    }
}
