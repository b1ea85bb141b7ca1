//! The directory of a run, from which a run that was killed at any time can be resumed.
//!
//! A run is saved after every evaluation. Writing the whole state each time would be simpler, but
//! the reconstructions of one evaluation can take 40 MB. Each is therefore written once, as a blob
//! of its own, and deleted when the solver no longer needs it.
//!
//! ```text
//! bilevel.toml       the settings; a session may raise the limit on points
//! lock               empty, locked by the process that works on the run; readers need no lock
//! history.jsonl      lines of text, only appended
//! states/NNNNNN.bin  blobs, each written once, deleted when no longer needed
//! arrays/            images that were arrays, of runs that Python has started
//! engine.bin         the rest of the state, and the lines and blobs that belong to it
//! *.tmp              the next content of a file; removed when a killed run is opened again
//! ```
//!
//! [`Store::commit`] writes blobs, then lines, then `engine.bin` through a renamed temporary file.
//! That rename is the commit. A run that is killed before it is in its earlier state, and the other
//! files written until then are removed later. A run that is killed after it is in its new state.
//!
//! A run survives a kill of its process at any time. Only [`Store::close`] waits for the disk, so a
//! power failure may damage a run in progress. Checksums in every file detect that.

mod blobs;
mod commit;
mod container;
mod error;
mod lock;
mod run_files;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use commit::Commit;
pub(crate) use container::checksum;
pub use error::StoreError;
use lock::{lock, require_free};
use run_files::{RunFiles, blob_number, cannot, is_leftover, names, temporary};

use crate::file::{self, disk::Disk};

/// The file of a run that holds its settings.
pub const SETTINGS: &str = "bilevel.toml";

/// The directory in that of a run for images of its own, as `.npy` files.
pub const ARRAYS: &str = "arrays";

/// A run that this process works on. No other process can work on it until the value is dropped.
#[derive(Debug)]
pub struct Store {
    files: RunFiles,
    disk: Disk,
    settings: String,
    commit: Commit,
    /// Blobs that are no longer needed, but could not be deleted yet.
    garbage: BTreeSet<u64>,
    /// The locked file; `None` on a rank that has joined a run.
    lock: Option<File>,
}

/// The content of the last commit of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedRun {
    /// All lines of the history.
    pub history: Vec<String>,
    /// The payload of the last commit.
    pub payload: Vec<u8>,
    /// The numbers of the blobs, in increasing order.
    pub blobs: Vec<u64>,
}

impl Store {
    /// Starts a run in a new or empty directory. Missing parents are created.
    ///
    /// # Errors
    /// When the directory is not empty, another process uses it, or it cannot be written.
    pub fn create(dir: &Path, settings: &str) -> Result<Self, StoreError> {
        Self::create_on(Disk::default(), dir, settings)
    }

    /// Starts a run that has its images in files of its own. `write_arrays` writes them to a new
    /// directory, [`ARRAYS`], before the run exists.
    ///
    /// # Errors
    /// As [`create`](Self::create), and those of `write_arrays`.
    pub fn create_with<E: From<StoreError>>(
        dir: &Path,
        settings: &str,
        write_arrays: impl FnOnce(&Path) -> Result<(), E>,
    ) -> Result<Self, E> {
        let disk = Disk::default();
        let arrays = dir.join(ARRAYS);
        Self::start_on(disk, dir, settings, |disk| {
            // a killed process may have written a part of other arrays
            if arrays.exists() {
                fs::remove_dir_all(&arrays).map_err(cannot("delete", &arrays))?;
            }
            disk.make_dirs(&arrays)
                .map_err(cannot("make the directory", &arrays))?;
            write_arrays(&arrays)
        })
    }

    fn create_on(disk: Disk, dir: &Path, settings: &str) -> Result<Self, StoreError> {
        Self::start_on(disk, dir, settings, |_| Ok(()))
    }

    fn start_on<E: From<StoreError>>(
        disk: Disk,
        dir: &Path,
        settings: &str,
        prepare: impl FnOnce(&Disk) -> Result<(), E>,
    ) -> Result<Self, E> {
        let files = RunFiles::new(dir);
        disk.make_dirs(dir)
            .map_err(cannot("create the directory", dir))?;
        let commit = Commit::default();
        let start = commit.encode(&[]).head;
        require_free(&files, &start)?;
        let lock = lock(&disk, &files)?;
        require_free(&files, &start)?;
        disk.make_dirs(&files.states)
            .map_err(cannot("create the directory", &files.states))?;
        replace(&disk, &files.engine, &[&start])?;
        prepare(&disk)?;
        // Settings come last: a directory without them is no run, and `create` can be repeated.
        replace(&disk, &files.settings, &[settings.as_bytes()])?;
        Ok(Self {
            files,
            disk,
            settings: settings.to_owned(),
            commit,
            garbage: BTreeSet::new(),
            lock: Some(lock),
        })
    }

    /// Joins a run that another rank has created or opened, in the state of its last commit. This
    /// rank writes blobs, and the other one commits them.
    ///
    /// # Errors
    /// When there is no run, or a file is damaged.
    pub fn join(dir: &Path) -> Result<(Self, Option<SavedRun>), StoreError> {
        let files = RunFiles::new(dir);
        let settings = files.read_settings()?;
        let (commit, saved) = load(&files)?;
        let store = Self {
            files,
            disk: Disk::default(),
            settings,
            commit,
            garbage: BTreeSet::new(),
            lock: None,
        };
        Ok((store, saved))
    }

    /// Opens a run in the state of its last commit, and removes everything that was written after
    /// it. There is no [`SavedRun`] if there was no commit.
    ///
    /// # Errors
    /// When there is no run, another process works on it, or a file is damaged. Nothing is changed
    /// then.
    pub fn open(dir: &Path) -> Result<(Self, Option<SavedRun>), StoreError> {
        Self::open_on(Disk::default(), dir)
    }

    fn open_on(disk: Disk, dir: &Path) -> Result<(Self, Option<SavedRun>), StoreError> {
        let files = RunFiles::new(dir);
        files.read_settings()?;
        let lock = lock(&disk, &files)?;
        let settings = files.read_settings()?;
        let (commit, saved) = load(&files)?;
        for number in commit.blobs.keys() {
            let path = files.blob(*number);
            if !path.exists() {
                return Err(files.damaged(&path, "it is missing"));
            }
        }
        let store = Self {
            files,
            disk,
            settings,
            commit,
            garbage: BTreeSet::new(),
            lock: Some(lock),
        };
        store.sweep_all()?;
        Ok((store, saved))
    }

    /// Reads the last commit without a lock. It changes nothing, and may be called while another
    /// process works on the run. Blobs may be deleted at any time.
    ///
    /// # Errors
    /// When there is no run, or a file is damaged.
    pub fn read(dir: &Path) -> Result<Option<SavedRun>, StoreError> {
        let files = RunFiles::new(dir);
        files.read_settings()?;
        // The history only grows: the lines of a commit can be read after the next commit.
        Ok(load(&files)?.1)
    }

    /// Reads the settings of a run without a lock.
    ///
    /// # Errors
    /// When there is no run, or the file cannot be read.
    pub fn read_settings(dir: &Path) -> Result<String, StoreError> {
        RunFiles::new(dir).read_settings()
    }

    /// Returns the settings of this run.
    #[must_use]
    pub fn settings(&self) -> &str {
        &self.settings
    }

    /// Replaces the settings of this run. A kill at any time leaves the old settings or the new
    /// ones.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(crate) fn replace_settings(&mut self, settings: String) -> Result<(), StoreError> {
        replace(&self.disk, &self.files.settings, &[settings.as_bytes()])?;
        self.settings = settings;
        Ok(())
    }

    /// Returns the directory of this run.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.files.dir
    }

    /// Saves the next state of the run: writes `new_blobs`, appends `new_lines`, replaces the
    /// payload and deletes the blobs that are not in `live`. After an error the run is in its
    /// earlier state, and the call can be repeated.
    ///
    /// # Errors
    /// When a file cannot be written.
    ///
    /// # Panics
    /// When a line contains a line break, a new blob has the number of another one, or a live blob
    /// does not exist.
    pub fn commit(
        &mut self,
        new_blobs: &[(u64, &[u8])],
        new_lines: &[String],
        payload: &[u8],
        live: &[u64],
    ) -> Result<(), StoreError> {
        for (number, _) in new_blobs {
            let is_new = !self.commit.blobs.contains_key(number);
            assert!(is_new, "blob {number} exists already");
        }
        let written = self.write_blobs(new_blobs)?;
        self.commit_written(&written, new_lines, payload, live)
    }

    /// Does the same as [`commit`](Self::commit), with blobs that were
    /// [written](Self::write_blobs) by any rank. After an error they are removed. A rank that has
    /// [joined](Self::join) the run writes nothing; it calls this after the other rank has
    /// succeeded.
    ///
    /// # Errors
    /// When a file cannot be written.
    ///
    /// # Panics
    /// As [`commit`](Self::commit).
    pub fn commit_written(
        &mut self,
        written: &[(u64, u64)],
        new_lines: &[String],
        payload: &[u8],
        live: &[u64],
    ) -> Result<(), StoreError> {
        let mut known: BTreeSet<u64> = self.commit.blobs.keys().copied().collect();
        for (number, _) in written {
            assert!(known.insert(*number), "blob {number} exists already");
        }
        for number in live {
            assert!(known.contains(number), "blob {number} does not exist");
        }
        let whole = new_lines.iter().all(|line| !line.contains('\n'));
        assert!(whole, "a line of the history contains a line break");

        let mut next = self.commit.clone();
        next.number += 1;
        next.blobs.extend(written.iter().copied());
        let live: BTreeSet<&u64> = live.iter().collect();
        next.blobs.retain(|number, _| live.contains(number));
        new_lines.iter().for_each(|line| next.history.push(line));
        if self.lock.is_some() {
            let done = self.write_commit(&next, new_lines, payload);
            done.inspect_err(|_| {
                self.remove_blobs(written.iter().map(|(number, _)| *number));
                let _ = self.shorten_history();
            })?;
            self.garbage.extend(known);
        }
        self.commit = next;
        self.delete_garbage();
        Ok(())
    }

    fn write_commit(
        &self,
        next: &Commit,
        new_lines: &[String],
        payload: &[u8],
    ) -> Result<(), StoreError> {
        if !new_lines.is_empty() {
            self.append(new_lines)?;
        }
        let head = next.encode(payload).head;
        replace(&self.disk, &self.files.engine, &[&head, payload])
    }

    /// Appends to the history, after the lines of the last commit.
    fn append(&self, lines: &[String]) -> Result<(), StoreError> {
        let path = &self.files.history;
        let known = self.commit.history.bytes;
        let mut text = lines.join("\n");
        text.push('\n');
        let mut file = self.disk.open(path).map_err(cannot("open", path))?;
        let len = file.metadata().map_err(cannot("read", path))?.len();
        if len < known {
            return Err(self.files.damaged(path, "its end is missing"));
        }
        let mut write = || {
            if len > known {
                self.disk.truncate(&file, known)?;
            }
            file.seek(SeekFrom::Start(known))?;
            self.disk.write(&mut file, text.as_bytes())
        };
        write().map_err(cannot("write", path))
    }

    /// Cuts the history after the lines of the last commit.
    fn shorten_history(&self) -> io::Result<()> {
        let path = &self.files.history;
        let known = self.commit.history.bytes;
        if fs::metadata(path).is_ok_and(|metadata| metadata.len() > known) {
            self.disk.truncate(&self.disk.open(path)?, known)?;
        }
        Ok(())
    }

    /// Removes files that a killed process has left behind.
    fn sweep_all(&self) -> Result<(), StoreError> {
        let Self { files, disk, .. } = self;
        disk.make_dirs(&files.states)
            .map_err(cannot("create the directory", &files.states))?;
        self.shorten_history()
            .map_err(cannot("write", &files.history))?;
        let remove = |path: PathBuf| disk.remove(&path).map_err(cannot("delete", &path));
        for name in names(&files.dir)? {
            if is_leftover(&name) {
                remove(files.dir.join(name))?;
            }
        }
        for name in names(&files.states)? {
            let unknown = |number| !self.commit.blobs.contains_key(&number);
            if is_leftover(&name) || blob_number(&name).is_some_and(unknown) {
                remove(files.states.join(name))?;
            }
        }
        Ok(())
    }

    /// Writes another file of the run, such as a result. A kill at any time leaves the old content
    /// or the new one.
    ///
    /// # Errors
    /// When the file cannot be written.
    ///
    /// # Panics
    /// When `name` is not a plain file name, or is one of the store's own files.
    pub fn write_text(&self, name: &str, content: &str) -> Result<(), StoreError> {
        let path = self.files.dir.join(name);
        let RunFiles {
            settings,
            lock,
            history,
            engine,
            states,
            ..
        } = &self.files;
        let plain = Path::new(name).file_name() == Some(name.as_ref()) && !name.ends_with(".tmp");
        let own = [settings, lock, history, engine, states].contains(&&path);
        assert!(plain && !own, "{name} cannot be written");
        replace(&self.disk, &path, &[content.as_bytes()])
    }

    /// Ends the work on the run and waits until all of it has reached the disk.
    ///
    /// # Errors
    /// When the disk reports a failure.
    pub fn close(self) -> Result<(), StoreError> {
        for dir in [&self.files.states, &self.files.dir] {
            for name in names(dir)? {
                let path = dir.join(name);
                if path.is_file() {
                    // Windows flushes only files that are open for writing.
                    let file = File::options().read(true).write(cfg!(windows)).open(&path);
                    file.and_then(|file| file.sync_data())
                        .map_err(cannot("write", &path))?;
                }
            }
            if cfg!(unix) {
                File::open(dir)
                    .and_then(|file| file.sync_all())
                    .map_err(cannot("write", dir))?;
            }
        }
        Ok(())
    }
}

/// Writes a text file of a run, whole or not at all. The caller needs no lock.
///
/// # Errors
/// When the file cannot be written.
pub fn write_text(path: &Path, content: &str) -> Result<(), StoreError> {
    file::replace(path, content.as_bytes()).map_err(cannot("write", path))
}

/// Replaces a file of a run.
fn replace(disk: &Disk, path: &Path, parts: &[&[u8]]) -> Result<(), StoreError> {
    let temporary = temporary(path);
    let file = disk.create(&temporary);
    file.and_then(|file| disk.replace(file, &temporary, path, parts, false))
        .map_err(cannot("write", path))
}

/// Reads `engine.bin` and the history.
fn load(files: &RunFiles) -> Result<(Commit, Option<SavedRun>), StoreError> {
    let (commit, payload) = Commit::read(files)?;
    let history = commit.read_history(files)?;
    let saved = SavedRun {
        history,
        payload,
        blobs: commit.blobs.keys().copied().collect(),
    };
    let exists = commit.number > 0;
    Ok((commit, exists.then_some(saved)))
}
