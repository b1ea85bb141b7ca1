//! The paths of the files of a run, and errors about them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::SETTINGS;
use super::container::{self, Container, ContainerError, Magic};
use super::error::StoreError;
use crate::file::TEMPORARY;

/// The paths of a run.
#[derive(Debug)]
pub(super) struct RunFiles {
    pub(super) dir: PathBuf,
    pub(super) settings: PathBuf,
    pub(super) lock: PathBuf,
    pub(super) history: PathBuf,
    pub(super) engine: PathBuf,
    pub(super) states: PathBuf,
}

impl RunFiles {
    pub(super) fn new(dir: &Path) -> Self {
        Self {
            dir: dir.to_path_buf(),
            settings: dir.join(SETTINGS),
            lock: dir.join("lock"),
            history: dir.join("history.jsonl"),
            engine: dir.join("engine.bin"),
            states: dir.join("states"),
        }
    }

    /// Returns the path of a blob.
    pub(super) fn blob(&self, number: u64) -> PathBuf {
        self.states.join(blob_name(number))
    }

    /// Whether the directory holds a run. A file of settings alone may be the user's own.
    pub(super) fn is_run(&self) -> bool {
        self.settings.exists()
            && (self.engine.exists() || self.states.exists() || self.lock.exists())
    }

    /// Reads the text of the settings.
    pub(super) fn read_settings(&self) -> Result<String, StoreError> {
        if !self.is_run() {
            let dir = self.dir.clone();
            return Err(StoreError::NotARun(dir));
        }
        fs::read_to_string(&self.settings).map_err(|error| match error.kind() {
            io::ErrorKind::InvalidData => self.damaged(&self.settings, "it is not UTF-8 text"),
            _ => cannot("read", &self.settings)(error),
        })
    }

    /// Reads one of the binary files.
    pub(super) fn read_container(
        &self,
        path: &Path,
        magic: Magic,
    ) -> Result<Container, StoreError> {
        container::read(path, magic).map_err(|error| match error {
            ContainerError::Io(source) => cannot("read", path)(source),
            ContainerError::Damaged(problem) => self.damaged(path, problem),
            ContainerError::Foreign(found) => StoreError::Foreign {
                dir: self.dir.clone(),
                path: path.to_path_buf(),
                found,
                known: container::VERSION,
            },
        })
    }

    pub(super) fn damaged(&self, path: &Path, problem: &'static str) -> StoreError {
        StoreError::Damaged {
            dir: self.dir.clone(),
            path: path.to_path_buf(),
            problem,
        }
    }
}

/// Adds the action and the path to an error of the operating system.
pub(super) fn cannot(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> StoreError {
    move |source| StoreError::Io {
        action,
        path: path.to_path_buf(),
        source,
    }
}

/// Returns the names in a directory; none if the directory is missing.
pub(super) fn names(dir: &Path) -> Result<Vec<String>, StoreError> {
    let listed = fs::read_dir(dir).and_then(|entries| {
        let name = |entry: fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
        entries.map(|entry| entry.map(name)).collect()
    });
    match listed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        other => other.map_err(cannot("read", dir)),
    }
}

/// Returns the path to which the holder of the lock writes the next content of a file.
pub(super) fn temporary(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".tmp");
    name.into()
}

/// Whether this is the name of a file that a killed holder of the lock has left. Readers use other
/// names.
pub(super) fn is_leftover(name: &str) -> bool {
    name.ends_with(".tmp") && !name.starts_with(TEMPORARY)
}

/// Returns the file name of a blob.
fn blob_name(number: u64) -> String {
    format!("{number:06}.bin")
}

/// Returns the number of the blob with this file name.
pub(super) fn blob_number(name: &str) -> Option<u64> {
    let number = name.strip_suffix(".bin")?.parse().ok()?;
    (blob_name(number) == name).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leftovers_are_told_from_files_of_readers() {
        let name = temporary(Path::new("report.html"));
        assert!(is_leftover(name.to_str().unwrap()));
        assert!(is_leftover("000001.bin.tmp"));
        assert!(!is_leftover("000001.bin"));
        assert!(!is_leftover(".bilevel-7-0.tmp"));
    }

    #[test]
    fn names_of_blobs_give_their_numbers() {
        for number in [0, 1, 999_999, 1_000_000, u64::MAX] {
            assert_eq!(blob_number(&blob_name(number)), Some(number));
        }
        for name in [
            "1.bin",
            "+00001.bin",
            "000001.bin.tmp",
            "0000001.bin",
            "a.bin",
        ] {
            assert_eq!(blob_number(name), None, "{name}");
        }
    }
}
