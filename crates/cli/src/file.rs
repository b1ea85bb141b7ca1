//! Errors of files, and functions that write files whole or not at all.

pub(crate) mod disk;

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use ::page::number::counted;
use disk::Disk;
use thiserror::Error;

/// A file or folder that cannot be used. The first field of each variant is its path. Errors of the
/// operating system are sources, so print the whole chain.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FileError {
    /// The operating system cannot read the file.
    #[error("cannot read {}", .0.display())]
    Read(PathBuf, #[source] io::Error),
    /// The operating system cannot write the file, or the disk is full.
    #[error("cannot write {}{}", .0.display(), advice(.1))]
    Write(PathBuf, #[source] io::Error),
    /// The file starts like the right kind, but its content is wrong or ends too early.
    #[error("{} is damaged or cut short ({}): create or copy it again", .0.display(), .1)]
    Damaged(PathBuf, String),
    /// The file is intact, but the program cannot read its content. The last field is a format that
    /// it can read.
    #[error("{} cannot be used ({}): convert it to {}", .0.display(), .1, .2)]
    Unsupported(PathBuf, String, &'static str),
    /// The file is of a kind that holds no measured frequencies.
    #[error(
        "{} holds no measured frequencies: name a .npy, .npz, HDF5 or .cfl file with complex k-space",
        .0.display()
    )]
    NoFrequencies(PathBuf),
    /// An HDF5 file does not have the dataset, or has several. The second field lists them.
    #[error("{} {}: name one of them after the path, as in scan.h5::group/name", .0.display(), .1)]
    Dataset(PathBuf, String),
    /// The file is larger than the program reads.
    #[error("{} is too large ({}): crop or split it", .0.display(), .1)]
    TooLarge(PathBuf, String),
    /// A file has this many pages where one picture is needed.
    #[error(
        "{} has {} pages, but one picture is needed: save one page as a file of its own",
        .0.display(), .1
    )]
    Pages(PathBuf, usize),
    /// A picture has pixels that are not opaque.
    #[error(
        "{} has transparent pixels, whose values mean nothing: flatten the picture onto a \
         background, or remove its alpha channel",
        .0.display()
    )]
    Transparent(PathBuf),
    /// The two files of a pair have different numbers of pages.
    #[error(
        "{} has {}, but {} has {}: the files of a pair must have the same number of pages",
        .0.display(), pages(*.1), .2.display(), pages(*.3)
    )]
    PageCounts(PathBuf, usize, PathBuf, usize),
    /// Several pages cannot be written to a PNG file.
    #[error(
        "cannot write {} pages to {}: name a .tif file, which can hold them all",
        .1, .0.display()
    )]
    OnePage(PathBuf, usize),
    /// Pages that differ cannot be written to one array or volume. The last field says how they
    /// differ.
    #[error(
        "{} cannot hold pages that differ ({}): name a .tif file, whose pages may differ",
        .0.display(), .1
    )]
    Different(PathBuf, String),
    /// The pages of a file are not the slices of a volume. The last field says how they differ.
    #[error(
        "{} is not one volume ({}): use --slices pictures, or slices of the same size",
        .0.display(), .1
    )]
    NotAVolume(PathBuf, String),
    /// A number is NaN or infinite. Its index has one entry per axis. The axes of pictures are row,
    /// column and, if there are several, channel.
    #[error(
        "{}: the value at {:?} is {}: replace it by a finite number{}",
        .0.display(), .1, .2, missing(*.2)
    )]
    NotFinite(PathBuf, Vec<usize>, f64),
    /// An array has the wrong number of axes, or no entries. The last field is the shape needed.
    #[error("{} has the shape {:?}, but must be {}", .0.display(), .1, .2)]
    Shape(PathBuf, Vec<usize>, &'static str),
    /// The file or folder does not exist.
    #[error("there is no file or folder {}: check the name", .0.display())]
    NotFound(PathBuf),
    /// A folder is named where a file is needed.
    #[error("{} is a folder, but a file is needed: name a file in it", .0.display())]
    IsAFolder(PathBuf),
    /// A part of the path is not a folder.
    #[error("{} is not a folder: name the folder of the pictures, or one file", .0.display())]
    NotAFolder(PathBuf),
    /// The folder holds no picture. The second field is the number of other files, without hidden
    /// files and inner folders.
    #[error(
        "no pictures in {} ({}): the names of pictures end in {}",
        .0.display(), found(*.1), .2
    )]
    NoPictures(PathBuf, usize, &'static str),
    /// The folder holds no array.
    #[error("no arrays in {}: the names of arrays end in .npy", .0.display())]
    NoArrays(PathBuf),
    /// A picture is missing in a second folder.
    #[error(
        "{} has no partner in {}: give two folders whose pictures have the same names, or two files",
        .0.display(), .1.display()
    )]
    NoPartner(PathBuf, PathBuf),
    /// Two pictures of one folder differ in their extension only.
    #[error(
        "{} and {} differ only in the extension of their names: keep one of them",
        .0.display(), .1.display()
    )]
    Ambiguous(PathBuf, PathBuf),
    /// The two pictures of a pair differ in width or height.
    #[error(
        "{} has {} x {} pixels, but {} has {} x {}: the pictures of a pair must have the same size",
        .0.display(), .1[0], .1[1], .2.display(), .3[0], .3[1]
    )]
    Sizes(PathBuf, [usize; 2], PathBuf, [usize; 2]),
    /// The two pictures of a pair differ in their numbers of channels.
    #[error(
        "{} has {}, but {} has {}: use --colour grey, or convert one of them",
        .0.display(), channels(*.1), .2.display(), channels(*.3)
    )]
    Channels(PathBuf, usize, PathBuf, usize),
    /// The name of a file to write has an extension that is not possible. The last field lists the
    /// possible ones.
    #[error("cannot write {}: the name must end in {}", .0.display(), .1)]
    Extension(PathBuf, &'static str),
}

/// Returns the advice about a pixel that was not measured.
const fn missing(value: f64) -> &'static str {
    match value.is_nan() {
        true => {
            ", or, if NaN marks pixels of a picture that were not measured, fill them with `bilevel \
             apply` after `bilevel learn denoise`, deblur or inpaint"
        }
        false => "",
    }
}

/// The meaning of NaN in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nan {
    /// It is an error.
    Refused,
    /// A sample that was not measured.
    Missing,
}

impl Nan {
    /// Returns the position of the first number that is refused.
    pub(crate) fn first_refused(self, numbers: &[f64]) -> Option<usize> {
        let is_refused =
            |number: &f64| !(number.is_finite() || self == Self::Missing && number.is_nan());
        numbers.iter().position(is_refused)
    }
}

impl FileError {
    /// Returns the error of a file or folder that the operating system cannot read.
    pub(crate) fn read(path: &Path, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::NotFound => Self::NotFound(path.into()),
            io::ErrorKind::IsADirectory => Self::IsAFolder(path.into()),
            io::ErrorKind::NotADirectory => Self::NotAFolder(path.into()),
            _ => Self::Read(path.into(), source),
        }
    }
}

fn pages(count: usize) -> String {
    counted(count as u64, "page", "pages")
}

fn channels(count: usize) -> String {
    counted(count as u64, "channel", "channels")
}

/// Returns advice on a file that cannot be written, as the end of a message.
pub(crate) fn advice(error: &io::Error) -> &'static str {
    use io::ErrorKind as Kind;
    match error.kind() {
        Kind::NotFound => ": create the folder that contains it first",
        Kind::StorageFull | Kind::QuotaExceeded => {
            ", because the disk is full: free some space, then try again"
        }
        Kind::PermissionDenied | Kind::ReadOnlyFilesystem => {
            ": check its permissions, or choose another place"
        }
        Kind::AlreadyExists | Kind::NotADirectory => {
            ", because a file is where a directory should be: choose another place"
        }
        Kind::FileTooLarge => {
            ", because the size of files is limited: raise the limit (ulimit -f), or choose another \
             place"
        }
        _ => "",
    }
}

/// Describes the content of a folder without pictures.
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
/// When `path` is not a file, is too large, or cannot be read.
pub(crate) fn read(path: &Path, max_bytes: u64) -> Result<Vec<u8>, FileError> {
    let refuse = |source| FileError::read(path, source);
    let metadata = fs::metadata(path).map_err(refuse)?;
    if metadata.is_dir() {
        return Err(FileError::IsAFolder(path.into()));
    }
    if !metadata.is_file() {
        return Err(refuse(io::Error::other("it is not a regular file")));
    }
    if metadata.len() > max_bytes {
        let reason = format!("{} bytes, but at most {max_bytes} are read", metadata.len());
        return Err(FileError::TooLarge(path.into(), reason));
    }
    fs::read(path).map_err(refuse)
}

/// Writes a temporary file next to `path`, then renames it. Readers see the old content or the new
/// one, never a part.
///
/// The content has reached the disk before the file is renamed. The folder must exist. A read-only
/// file is not replaced.
///
/// # Errors
/// When the file cannot be written. Nothing is left behind then.
pub fn write(path: &Path, content: &[u8]) -> Result<(), FileError> {
    replace(path, content).map_err(|source| FileError::Write(path.into(), source))
}

/// Does the work of [`write`], with an error of the operating system.
pub(crate) fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    if path.file_name().is_none() {
        return Err(io::Error::other("the name of a file is missing"));
    }
    // Renaming needs permissions on the folder only.
    if fs::metadata(path).is_ok_and(|old| old.permissions().readonly()) {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    let (file, temporary) = create_next_to(path)?;
    Disk::default().replace(file, &temporary, path, &[content], true)
}

/// The beginning of the names of temporary files.
pub(crate) const TEMPORARY: &str = ".bilevel-";

/// Creates a file with a new name in the folder of `path`, and returns it with its name.
fn create_next_to(path: &Path) -> io::Result<(File, PathBuf)> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    loop {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("{TEMPORARY}{}-{number}.tmp", std::process::id());
        let temporary = path.with_file_name(name);
        match OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&temporary)
        {
            Ok(file) => return Ok((file, temporary)),
            // A leftover of another process: try the next number.
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
        assert!(matches!(error, FileError::Write(at, _) if at == path));
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
        assert!(matches!(read(&folder, 9), Err(FileError::IsAFolder(_))));
        let missing = read(&folder.join("none"), 9);
        assert!(matches!(missing, Err(FileError::NotFound(_))));
        fs::remove_dir_all(folder).unwrap();
    }
}
