//! Errors of files, and files that are written whole or not at all.

pub(crate) mod disk;

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use disk::Disk;
use thiserror::Error;

/// A file or folder that cannot be used: the first field of each variant. Errors of the operating
/// system are sources: print the whole chain.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FileError {
    /// The operating system refuses to read it.
    #[error("cannot read {}", .0.display())]
    Read(PathBuf, #[source] io::Error),
    /// The operating system refuses to write it, or the disk is full.
    #[error("cannot write {}{}", .0.display(), advice(.1))]
    Write(PathBuf, #[source] io::Error),
    /// The file starts like the right kind, but its content is wrong or ends too early.
    #[error("{} is damaged or cut short, make or copy it again: {}", .0.display(), .1)]
    Damaged(PathBuf, String),
    /// The file is sound, but the program cannot read its content; the last field is what it can.
    #[error("{} cannot be used, convert it to {}: {}", .0.display(), .2, .1)]
    Unsupported(PathBuf, String, &'static str),
    /// The file is larger than the program reads.
    #[error("{} is too large, crop or split it: {}", .0.display(), .1)]
    TooLarge(PathBuf, String),
    /// A file has this many pages where one picture is needed.
    #[error("{} has {} pages, but one picture is needed: save one page as a file of its own", .0.display(), .1)]
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
        "{} has {} pages, but {} has {}: the files of a pair must have the same number of pages",
        .0.display(), .1, .2.display(), .3
    )]
    PageCounts(PathBuf, usize, PathBuf, usize),
    /// Several pages cannot be written to a PNG file.
    #[error("cannot write {} pages to {}: name a .tif file, which can hold them all", .1, .0.display())]
    OnePage(PathBuf, usize),
    /// A number is NaN or infinite. Its index has one entry per axis: row, column and, if there are
    /// several, channel in pictures.
    #[error("{}: the value at {:?} is {}, replace it by a finite number", .0.display(), .1, .2)]
    NotFinite(PathBuf, Vec<usize>, f64),
    /// An array has the wrong number of axes, or no entries; the last field is what is needed.
    #[error("{} has the shape {:?}, but must be {}", .0.display(), .1, .2)]
    Shape(PathBuf, Vec<usize>, &'static str),
    /// The folder does not exist.
    #[error("there is no folder {}: check the name", .0.display())]
    NoFolder(PathBuf),
    /// The folder is something else.
    #[error("{} is not a folder: name the one that holds the pictures", .0.display())]
    NotAFolder(PathBuf),
    /// The folder holds no picture, but this many other files; hidden ones and folders do not
    /// count.
    #[error("no pictures in {}: {}; pictures end in {}", .0.display(), found(*.1), .2)]
    NoPictures(PathBuf, usize, &'static str),
    /// The folder holds no array.
    #[error("no arrays in {}: their names end in .npy", .0.display())]
    NoArrays(PathBuf),
    /// A picture is missing in a second folder.
    #[error("{} has no partner in {}: add a picture of the same name there", .0.display(), .1.display())]
    NoPartner(PathBuf, PathBuf),
    /// Two pictures of one folder differ in their extension only.
    #[error("{} and {} have the same name but for the extension: keep one", .0.display(), .1.display())]
    Ambiguous(PathBuf, PathBuf),
    /// The two pictures of a pair differ in width or height.
    #[error(
        "{} has {} x {} pixels, but {} has {} x {}: the pictures of a pair must have the same size",
        .0.display(), .1[0], .1[1], .2.display(), .3[0], .3[1]
    )]
    Sizes(PathBuf, [usize; 2], PathBuf, [usize; 2]),
    /// The two pictures of a pair differ in their numbers of channels.
    #[error(
        "{} has {} channels, but {} has {}: use the luminance, or convert one of them",
        .0.display(), .1, .2.display(), .3
    )]
    Channels(PathBuf, usize, PathBuf, usize),
    /// The name of a file to write does not end in one of the extensions that are possible.
    #[error("cannot write {}: the name must end in {}", .0.display(), .1)]
    Extension(PathBuf, &'static str),
}

/// What to do about a file that cannot be written, as the end of a message.
pub(crate) fn advice(error: &io::Error) -> &'static str {
    use io::ErrorKind as Kind;
    match error.kind() {
        Kind::NotFound => ": make its folder first",
        Kind::StorageFull | Kind::QuotaExceeded => {
            ", because the disk is full: make room, then try again"
        }
        Kind::PermissionDenied | Kind::ReadOnlyFilesystem => {
            ": check its permissions, or choose another place"
        }
        Kind::AlreadyExists | Kind::NotADirectory => {
            ", because a file is where a directory should be: choose another place"
        }
        Kind::FileTooLarge => {
            ", because files may not be so large here: raise the limit (ulimit -f), or choose \
             another place"
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
    let refuse = |source| FileError::Read(path.into(), source);
    let metadata = fs::metadata(path).map_err(refuse)?;
    if metadata.is_dir() {
        return Err(refuse(io::ErrorKind::IsADirectory.into()));
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

/// Writes next to `path`, then renames: readers see the old content or the new one, never a part.
///
/// The content has reached the disk before the new name is given; the folder must exist. A file
/// that is marked read-only is not replaced.
///
/// # Errors
/// When something cannot be written; nothing is left behind then.
pub fn write(path: &Path, content: &[u8]) -> Result<(), FileError> {
    replace(path, content).map_err(|source| FileError::Write(path.into(), source))
}

/// The work of [`write`].
pub(crate) fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    if path.file_name().is_none() {
        return Err(io::Error::other("the name of a file is missing"));
    }
    // Renaming asks for rights on the folder only.
    if fs::metadata(path).is_ok_and(|old| old.permissions().readonly()) {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    let (file, temporary) = create_beside(path)?;
    Disk::default().replace(file, &temporary, path, &[content], true)
}

/// How the names of temporary files begin.
pub(crate) const TEMPORARY: &str = ".bilevel-";

/// A new file in the folder of `path`, with a name of its own, and that name.
fn create_beside(path: &Path) -> io::Result<(File, PathBuf)> {
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
        assert!(matches!(read(&folder, 9), Err(FileError::Read { .. })));
        fs::remove_dir_all(folder).unwrap();
    }
}
