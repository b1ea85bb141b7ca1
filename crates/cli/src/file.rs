//! What goes wrong with a file, and files that are written whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use thiserror::Error;

/// A file or folder that cannot be used. Errors of the system are the source: print the whole chain.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FileError {
    /// The system refuses to read it.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The system refuses to write it, or the disk is full.
    #[error("cannot write {}{}", path.display(), advice(source))]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The file starts like the right kind, but its content is wrong or ends too early.
    #[error("{} is damaged or cut short, make or copy it again: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What the decoder stumbled over.
        reason: String,
    },
    /// The file is healthy, but nothing here can read it.
    #[error("{} cannot be used, convert it to {wanted}: {reason}", path.display())]
    Unsupported {
        /// The file.
        path: PathBuf,
        /// What it holds.
        reason: String,
        /// What it should hold.
        wanted: &'static str,
    },
    /// The file is larger than what is read.
    #[error("{} is too large, crop or split it: {reason}", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// How large it is, or says it is, and how large it may be.
        reason: String,
    },
    /// A number is NaN or infinite.
    #[error("{}: the value at {index:?} is {value}, replace it by a finite number", path.display())]
    NotFinite {
        /// The file.
        path: PathBuf,
        /// Where: one index per axis; row, column and, of several, channel in pictures.
        index: Vec<usize>,
        /// The value.
        value: f64,
    },
    /// An array has the wrong number of axes, or no entries.
    #[error("{} has the shape {shape:?}, but must be {wanted}", path.display())]
    Shape {
        /// The file.
        path: PathBuf,
        /// Its shape.
        shape: Vec<usize>,
        /// What is needed.
        wanted: &'static str,
    },
    /// The folder does not exist.
    #[error("there is no folder {}: check the name", path.display())]
    NoFolder {
        /// The folder.
        path: PathBuf,
    },
    /// The folder is something else.
    #[error("{} is not a folder: name the one that holds the pictures", path.display())]
    NotAFolder {
        /// The file.
        path: PathBuf,
    },
    /// The folder holds no picture.
    #[error("no pictures in {}: {}; pictures end in {extensions}", path.display(), found(*num_files))]
    NoPictures {
        /// The folder.
        path: PathBuf,
        /// How many files it holds; hidden ones and folders do not count.
        num_files: usize,
        /// What names of pictures end in.
        extensions: &'static str,
    },
    /// The folder holds no array.
    #[error("no arrays in {}: their names end in .npy", path.display())]
    NoArrays {
        /// The folder.
        path: PathBuf,
    },
    /// A picture of one folder is missing in the other.
    #[error("{} has no partner in {}: add a picture of the same name there", path.display(), folder.display())]
    NoPartner {
        /// The picture.
        path: PathBuf,
        /// The folder without its partner.
        folder: PathBuf,
    },
    /// Two pictures of one folder differ in their extension only.
    #[error("{} and {} have the same name but for the extension: keep one", path.display(), other.display())]
    Ambiguous {
        /// One picture.
        path: PathBuf,
        /// The other.
        other: PathBuf,
    },
    /// The two pictures of a pair differ in size.
    #[error(
        "{} has {} x {} pixels, but {} has {} x {}: the pictures of a pair must have the same size",
        path.display(), size[0], size[1], other.display(), other_size[0], other_size[1]
    )]
    Sizes {
        /// The truth.
        path: PathBuf,
        /// Its width and height.
        size: [usize; 2],
        /// The noisy picture.
        other: PathBuf,
        /// Its width and height.
        other_size: [usize; 2],
    },
    /// Of the two pictures of a pair one is grey, the other has colours.
    #[error(
        "{} has {channels} channels, but {} has {other_channels}: use the luminance, or convert one of them",
        path.display(), other.display()
    )]
    Channels {
        /// The truth.
        path: PathBuf,
        /// How many channels it has.
        channels: usize,
        /// The noisy picture.
        other: PathBuf,
        /// How many channels that has.
        other_channels: usize,
    },
    /// The name of a file to write does not say a possible format.
    #[error("cannot write {}: the name must end in {extensions}", path.display())]
    Extension {
        /// The file.
        path: PathBuf,
        /// What is possible.
        extensions: &'static str,
    },
}

impl FileError {
    /// The file or folder at fault; of two the first.
    #[must_use]
    pub fn path(&self) -> &Path {
        match self {
            Self::Read { path, .. }
            | Self::Write { path, .. }
            | Self::Damaged { path, .. }
            | Self::Unsupported { path, .. }
            | Self::TooLarge { path, .. }
            | Self::NotFinite { path, .. }
            | Self::Shape { path, .. }
            | Self::NoFolder { path }
            | Self::NotAFolder { path }
            | Self::NoPictures { path, .. }
            | Self::NoArrays { path }
            | Self::NoPartner { path, .. }
            | Self::Ambiguous { path, .. }
            | Self::Sizes { path, .. }
            | Self::Channels { path, .. }
            | Self::Extension { path, .. } => path,
        }
    }
}

/// What to do about a file that cannot be written, as the end of a message.
fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotFound => ": make its folder first",
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => ": make room, then try again",
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            ": check its permissions, or choose another place"
        }
        _ => "",
    }
}

/// What a folder without pictures holds, in words.
fn found(num_files: usize) -> String {
    match num_files {
        0 => "it holds no files".into(),
        1 => "1 file, which is not a picture".into(),
        _ => format!("{num_files} files, none of them a picture"),
    }
}

/// Reads a whole file of at most `max_bytes`.
///
/// # Errors
/// When it is not a file, is too large, or cannot be read.
pub(crate) fn read(path: &Path, max_bytes: u64) -> Result<Vec<u8>, FileError> {
    let refuse = |source| FileError::Read {
        path: path.into(),
        source,
    };
    let metadata = fs::metadata(path).map_err(refuse)?;
    if metadata.is_dir() {
        return Err(refuse(io::ErrorKind::IsADirectory.into()));
    }
    if !metadata.is_file() {
        return Err(refuse(io::Error::other("it is not a regular file")));
    }
    if metadata.len() > max_bytes {
        return Err(FileError::TooLarge {
            path: path.into(),
            reason: format!("{} bytes, but at most {max_bytes} are read", metadata.len()),
        });
    }
    fs::read(path).map_err(refuse)
}

/// Writes next to `path`, then renames: readers see the old content or the new one, never a part.
///
/// The content has reached the disk before the new name is given; the folder must exist. A file that is marked read-only
/// is not replaced.
///
/// # Errors
/// When something cannot be written; nothing is left behind then.
pub fn write(path: &Path, content: &[u8]) -> Result<(), FileError> {
    replace(path, content).map_err(|source| FileError::Write {
        path: path.into(),
        source,
    })
}

/// The work of [`write`].
fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    if path.file_name().is_none() {
        return Err(io::Error::other("the name of a file is missing"));
    }
    // Renaming asks for rights on the folder only.
    if fs::metadata(path).is_ok_and(|old| old.permissions().readonly()) {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    let (mut file, temporary) = create_beside(path)?;
    let written = file
        .write_all(content)
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        // The first error is the one to report.
        let _ = fs::remove_file(&temporary);
    }
    written
}

/// A new file in the folder of `path`, with a name of its own, and that name.
fn create_beside(path: &Path) -> io::Result<(File, PathBuf)> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    loop {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!(".bilevel-{}-{number}.tmp", std::process::id());
        let temporary = path.with_file_name(name);
        match OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&temporary)
        {
            Ok(file) => return Ok((file, temporary)),
            // Somebody's leftover: the next number is free sooner or later.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("bilevel-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn replaces_and_leaves_nothing_behind() {
        let folder = folder("replaces");
        let path = folder.join("b.txt");
        write(&path, b"one").unwrap();
        write(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");

        // Below a file nothing can be made; a folder cannot be replaced. Both hold for root, too.
        let below = write(&path.join("c"), b"x").unwrap_err();
        assert!(matches!(below, FileError::Write { .. }));
        assert!(below.to_string().contains("b.txt"), "{below}");
        fs::create_dir(folder.join("d")).unwrap();
        write(&folder.join("d"), b"x").unwrap_err();
        write(&folder.join("none").join("e"), b"x").unwrap_err();
        write(Path::new(".."), b"x").unwrap_err();

        assert_eq!(fs::read_dir(&folder).unwrap().count(), 2);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn steps_aside_for_leftovers() {
        let folder = folder("leftovers");
        for number in 0..1000 {
            let name = format!(".bilevel-{}-{number}.tmp", std::process::id());
            fs::write(folder.join(name), b"old").unwrap();
        }
        write(&folder.join("a"), b"new").unwrap();
        assert_eq!(fs::read(folder.join("a")).unwrap(), b"new");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1001);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn does_not_replace_what_is_read_only() {
        let folder = folder("read-only");
        let path = folder.join("a");
        write(&path, b"old").unwrap();
        let mut permissions = fs::metadata(&path).unwrap().permissions();
        permissions.set_readonly(true);
        fs::set_permissions(&path, permissions).unwrap();
        let error = write(&path, b"new").unwrap_err();
        assert_eq!(error.path(), path);
        assert_eq!(fs::read(&path).unwrap(), b"old");
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn reads_files_up_to_a_size() {
        let folder = folder("reads");
        let path = folder.join("a");
        write(&path, b"abc").unwrap();
        assert_eq!(read(&path, 3).unwrap(), b"abc");
        assert!(matches!(read(&path, 2), Err(FileError::TooLarge { .. })));
        assert!(matches!(read(&folder, 9), Err(FileError::Read { .. })));
        fs::remove_dir_all(folder).unwrap();
    }
}
