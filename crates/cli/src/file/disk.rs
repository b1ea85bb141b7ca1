//! Functions that change files. Tests of the store make any of their steps fail.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

/// The file system.
#[derive(Debug, Default)]
pub(crate) struct Disk {
    #[cfg(test)]
    pub(crate) fault: std::rc::Rc<fault::Fault>,
}

impl Disk {
    /// Creates a directory and its parents.
    pub(crate) fn make_dirs(&self, dir: &Path) -> io::Result<()> {
        self.step()?;
        fs::create_dir_all(dir)
    }

    /// Opens a file for reading and writing, and creates it if it is missing.
    pub(crate) fn open(&self, path: &Path) -> io::Result<File> {
        self.step()?;
        let mut options = File::options();
        options.read(true).write(true).create(true).truncate(false);
        options.open(path)
    }

    /// Writes `parts` to a new temporary file and renames it to `path`. A process that is killed at
    /// any time leaves the old content or the new one. The function waits for the disk if
    /// `durable`, and removes the temporary file after a failure.
    pub(crate) fn replace(
        &self,
        mut file: File,
        temporary: &Path,
        path: &Path,
        parts: &[&[u8]],
        durable: bool,
    ) -> io::Result<()> {
        let written = parts
            .iter()
            .try_for_each(|part| self.write(&mut file, part));
        let replaced = written
            .and_then(|()| if durable { file.sync_all() } else { Ok(()) })
            .and_then(|()| self.step())
            .and_then(|()| fs::rename(temporary, path));
        if replaced.is_err() {
            // The first error is reported. A temporary file that stays does no harm.
            let _ = self.remove(temporary);
        }
        replaced
    }

    /// Creates or empties a file.
    pub(crate) fn create(&self, path: &Path) -> io::Result<File> {
        self.step()?;
        File::create(path)
    }

    /// Writes at the current position of the file.
    pub(crate) fn write(&self, file: &mut File, bytes: &[u8]) -> io::Result<()> {
        #[cfg(test)]
        if let Err((error, written_len)) = self.fault.cut(bytes.len()) {
            file.write_all(&bytes[..written_len])?;
            return Err(error);
        }
        file.write_all(bytes)
    }

    /// Cuts a file to `len` bytes.
    pub(crate) fn truncate(&self, file: &File, len: u64) -> io::Result<()> {
        self.step()?;
        file.set_len(len)
    }

    /// Deletes a file, if it is there.
    pub(crate) fn remove(&self, path: &Path) -> io::Result<()> {
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

/// Failures on demand.
#[cfg(test)]
pub(crate) mod fault {
    use std::cell::Cell;
    use std::io;

    /// Lets `after` steps succeed, then `count` steps fail. The first write that fails still writes
    /// `halves` halves of its bytes.
    #[derive(Debug, Default)]
    pub(crate) struct Fault {
        pub(crate) after: Cell<u64>,
        pub(crate) count: Cell<u64>,
        pub(crate) halves: Cell<usize>,
    }

    impl Fault {
        /// Decides whether a step of `len` bytes fails, and after how many bytes.
        pub(crate) fn cut(&self, len: usize) -> Result<(), (io::Error, usize)> {
            if self.count.get() == 0 {
                return Ok(());
            }
            if self.after.get() > 0 {
                self.after.set(self.after.get() - 1);
                return Ok(());
            }
            self.count.set(self.count.get() - 1);
            let written_len = len * self.halves.take() / 2;
            Err((io::ErrorKind::StorageFull.into(), written_len))
        }
    }
}
