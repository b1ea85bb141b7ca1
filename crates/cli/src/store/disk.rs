//! The only functions that change files of a run. Tests make any of their steps fail.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The file system.
#[derive(Debug, Default)]
pub(super) struct Disk {
    #[cfg(test)]
    pub(super) fault: std::rc::Rc<fault::Fault>,
}

impl Disk {
    /// Makes a directory and its parents.
    pub(super) fn make_dirs(&self, dir: &Path) -> io::Result<()> {
        self.step()?;
        fs::create_dir_all(dir)
    }

    /// Opens a file for reading and writing, and makes it if it is missing.
    pub(super) fn open(&self, path: &Path) -> io::Result<File> {
        self.step()?;
        let mut options = File::options();
        options.read(true).write(true).create(true).truncate(false);
        options.open(path)
    }

    /// Replaces a file: killed at any moment, the old content is there or the new one. Cleans up after a failure.
    pub(super) fn replace(&self, path: &Path, parts: &[&[u8]]) -> io::Result<()> {
        let temporary = temporary(path);
        let replaced = self.replace_through(&temporary, path, parts);
        if replaced.is_err() {
            // The first error is the one to report, and what is left disturbs nobody.
            let _ = self.remove(&temporary);
        }
        replaced
    }

    fn replace_through(&self, temporary: &Path, path: &Path, parts: &[&[u8]]) -> io::Result<()> {
        self.step()?;
        let mut file = File::create(temporary)?;
        for part in parts {
            self.write(&mut file, part)?;
        }
        drop(file);
        self.step()?;
        fs::rename(temporary, path)
    }

    /// Writes where the file stands.
    pub(super) fn write(&self, file: &mut File, bytes: &[u8]) -> io::Result<()> {
        #[cfg(test)]
        if let Err((error, kept)) = self.fault.cut(bytes.len()) {
            file.write_all(&bytes[..kept])?;
            return Err(error);
        }
        file.write_all(bytes)
    }

    /// Cuts a file to `len` bytes.
    pub(super) fn truncate(&self, file: &File, len: u64) -> io::Result<()> {
        self.step()?;
        file.set_len(len)
    }

    /// Deletes a file, if it is there.
    pub(super) fn remove(&self, path: &Path) -> io::Result<()> {
        self.step()?;
        match fs::remove_file(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        }
    }

    #[cfg(test)]
    fn step(&self) -> io::Result<()> {
        self.fault.cut(0).map_err(|(error, _)| error)
    }

    #[cfg(not(test))]
    const fn step(&self) -> io::Result<()> {
        Ok(())
    }
}

/// Where the holder of the lock writes the next content of a file.
fn temporary(path: &Path) -> PathBuf {
    extended(path, ".tmp")
}

/// Where a process without the lock does.
pub(super) fn temporary_of_reader(path: &Path) -> PathBuf {
    extended(path, &format!(".{}.tmp", std::process::id()))
}

/// Is this the name of a file that a killed holder of the lock has left?
pub(super) fn is_leftover(name: &str) -> bool {
    let of_reader = |stem: &str| {
        stem.rsplit_once('.')
            .is_some_and(|(_, id)| id.bytes().all(|byte| byte.is_ascii_digit()))
    };
    name.strip_suffix(".tmp")
        .is_some_and(|stem| !of_reader(stem))
}

fn extended(path: &Path, end: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(end);
    PathBuf::from(name)
}

/// Failures on demand.
#[cfg(test)]
pub(super) mod fault {
    use std::cell::Cell;
    use std::io;

    /// Lets `after` steps pass, then `count` fail; a write that is the first to fail keeps `kept` halves of its bytes.
    #[derive(Debug, Default)]
    pub(in crate::store) struct Fault {
        pub(in crate::store) after: Cell<u64>,
        pub(in crate::store) count: Cell<u64>,
        pub(in crate::store) kept: Cell<usize>,
    }

    impl Fault {
        /// Is this step of `len` bytes to fail, and after how many bytes?
        pub(super) fn cut(&self, len: usize) -> Result<(), (io::Error, usize)> {
            if self.count.get() == 0 {
                return Ok(());
            }
            if self.after.get() > 0 {
                self.after.set(self.after.get() - 1);
                return Ok(());
            }
            self.count.set(self.count.get() - 1);
            let kept = len * self.kept.take() / 2;
            Err((io::ErrorKind::StorageFull.into(), kept))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leftovers_are_told_from_what_readers_write() {
        let path = Path::new("runs/a/report.html");
        let name = |path: PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
        assert!(is_leftover(&name(temporary(path))));
        assert!(!is_leftover(&name(temporary_of_reader(path))));
        assert!(is_leftover("000001.bin.tmp"));
        assert!(!is_leftover("000001.bin"));
    }
}
