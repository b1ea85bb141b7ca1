//! Lists of pictures in folders.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{PicturePair, arrays, has_extension, nifti};
use crate::array::hdf5;
use crate::file::FileError;

/// The extensions of pictures, in upper or lower case.
const EXTENSIONS: [&str; 11] = [
    "png", "jpg", "jpeg", "tif", "tiff", "pgm", "ppm", "pnm", "h5", "hdf5", "nii",
];
/// The same extensions for messages.
const EXTENSIONS_TEXT: &str =
    ".png, .jpg, .jpeg, .tif, .tiff, .pgm, .ppm, .pnm, .h5, .hdf5, .nii, .nii.gz, .npy or .npz";

/// Lists the pictures in `folder` in the byte order of their names, without hidden files and inner
/// folders. If the folder holds no pictures, its `.npy` and `.npz` files are listed. If `folder` is
/// a file, the list consists of this file.
///
/// # Errors
/// When there is no such folder or file, it cannot be read, or it holds no picture.
pub fn list(folder: &Path) -> Result<Vec<PathBuf>, FileError> {
    if is_file(folder) {
        return Ok(vec![folder.into()]);
    }
    let content = Content::read(folder).map_err(|source| FileError::read(folder, source))?;
    // next to pictures, an array is something else, such as a kernel
    let mut listed = match content.pictures.is_empty() {
        true => content.arrays,
        false => content.pictures,
    };
    if listed.is_empty() {
        return Err(FileError::NoPictures(
            folder.into(),
            content.num_files,
            EXTENSIONS_TEXT,
        ));
    }
    listed.sort_by(|a, b| a.file_name().cmp(&b.file_name()));
    Ok(listed)
}

/// Lists the `.npy` files of a folder that [`list`] leaves out, because the folder holds pictures.
pub(crate) fn ignored_arrays(folder: &Path) -> Vec<PathBuf> {
    let mut content = Content::read(folder).unwrap_or_default();
    content.arrays.sort();
    match content.pictures.is_empty() {
        true => Vec::new(),
        false => content.arrays,
    }
}

/// The files of a folder, without hidden files and inner folders.
#[derive(Default)]
struct Content {
    pictures: Vec<PathBuf>,
    arrays: Vec<PathBuf>,
    num_files: usize,
}

impl Content {
    fn read(folder: &Path) -> io::Result<Self> {
        let mut content = Self::default();
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let path = entry.path();
            // A broken link is listed here, and reading it gives the error.
            let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
            if is_hidden || path.is_dir() {
                continue;
            }
            content.num_files += 1;
            if is_picture(&path) {
                content.pictures.push(path);
            } else if arrays::is_name(&path) {
                content.arrays.push(path);
            }
        }
        Ok(content)
    }
}

/// Pairs the pictures of two folders by their names without extensions, in the order of the truths.
/// Two files make one pair, whatever their names.
///
/// # Errors
/// When a folder cannot be listed, or a picture has no partner or more than one.
pub fn pairs(truth: &Path, noisy: &Path) -> Result<Vec<PicturePair<PathBuf>>, FileError> {
    if is_file(truth) && is_file(noisy) {
        return Ok(vec![PicturePair {
            truth: truth.into(),
            noisy: noisy.into(),
        }]);
    }
    let truths = list(truth)?;
    by_stem(&truths)?;
    let noisy_pictures = list(noisy)?;
    let mut partners = by_stem(&noisy_pictures)?;
    let mut pairs = Vec::new();
    for path in truths {
        let Some(partner) = partners.remove(&stem(&path)) else {
            return Err(FileError::NoPartner(path, noisy.into()));
        };
        let noisy = partner.clone();
        pairs.push(PicturePair { truth: path, noisy });
    }
    match partners.into_values().next() {
        None => Ok(pairs),
        Some(path) => Err(FileError::NoPartner(path.clone(), truth.into())),
    }
}

/// Whether a path is that of a file, or of a dataset in an HDF5 file.
fn is_file(path: &Path) -> bool {
    hdf5::split(path).0.is_file()
}

/// Whether a path has the extension of a picture.
fn is_picture(path: &Path) -> bool {
    nifti::is_name(path) || EXTENSIONS.iter().any(|known| has_extension(path, known))
}

/// Returns the name without its extension.
fn stem(path: &Path) -> OsString {
    let stem = path.file_stem().unwrap_or_default();
    let is_compressed = has_extension(path, "gz") && nifti::is_name(path);
    let stem = match is_compressed {
        true => Path::new(stem).file_stem().unwrap_or_default(),
        false => stem,
    };
    stem.to_owned()
}

/// Returns pictures by their names without extensions, which must be different.
fn by_stem(paths: &[PathBuf]) -> Result<BTreeMap<OsString, &PathBuf>, FileError> {
    let mut known = BTreeMap::new();
    for path in paths {
        if let Some(other) = known.insert(stem(path), path) {
            return Err(FileError::Ambiguous(other.clone(), path.clone()));
        }
    }
    Ok(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_lists_all_extensions() {
        let listed: Vec<&str> = EXTENSIONS_TEXT
            .split([',', ' '])
            .filter_map(|word| word.strip_prefix('.'))
            .collect();
        assert_eq!(
            listed,
            [&EXTENSIONS[..], &["nii.gz", "npy", "npz"]].concat()
        );
    }

    #[test]
    fn pictures_are_known_by_their_names() {
        for name in ["a.png", "a.PNG", "a.b.Tiff", "a b.jpeg"] {
            assert!(is_picture(Path::new(name)), "{name}");
        }
        for name in ["png", ".png", "a.png.txt", "a", "a.gif"] {
            assert!(!is_picture(Path::new(name)), "{name}");
        }
    }
}
