//! HDF5 files, such as those of fastMRI: one dataset of numbers.
//!
//! This is the part of the format that h5py writes for arrays of numbers: contiguous, compact and
//! chunked datasets, with the filters deflate, LZF, shuffle and Fletcher-32, in groups of the old
//! and the new kind. `path/scan.h5::group/name` names a dataset. Everything that a file says about
//! positions and lengths is checked before it is used, and no more memory is taken than the bytes
//! of the file can fill. The numbers in the code are those of the HDF5 File Format Specification,
//! version 3.0.

mod chunks;
mod dataset;
mod lzf;
mod objects;

use std::path::Path;

use super::header::Header;
use crate::file::{self, FileError};
use crate::picture::has_extension;
use dataset::Dataset;
use objects::Objects;

/// Largest size of a file in bytes.
const MAX_BYTES: u64 = 1 << 34;
/// What separates the path of a file from the name of a dataset.
const SEPARATOR: &str = "::";
/// How to convert a file, for messages.
const WANTED: &str = "a .npy file: python -c \"import h5py, numpy; numpy.save('slices.npy', \
                      h5py.File('scan.h5')['reconstruction_rss'][()])\"";

/// The kind of numbers of a dataset that is not named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Numbers {
    /// Integers and floating-point numbers.
    Real,
    /// Pairs of floating-point numbers.
    Complex,
}

/// What is wrong with a file.
#[derive(Debug)]
enum Defect {
    /// The file contradicts itself or ends too early.
    Damaged(String),
    /// The file is intact, but not of the kind that this program reads.
    Unsupported(String),
    /// The name of a dataset is missing or wrong.
    Choice(String),
}

type Result<T> = std::result::Result<T, Defect>;

impl Numbers {
    /// The names of datasets that are taken if there are several, the first of them first.
    const fn preferred(self) -> &'static [&'static str] {
        match self {
            Self::Real => &["reconstruction_rss", "reconstruction_esc"],
            Self::Complex => &["kspace"],
        }
    }

    const fn description(self) -> &'static str {
        match self {
            Self::Real => "real numbers",
            Self::Complex => "complex numbers",
        }
    }
}

impl Defect {
    fn damaged(reason: impl Into<String>) -> Self {
        Self::Damaged(reason.into())
    }

    fn unsupported(reason: impl Into<String>) -> Self {
        Self::Unsupported(reason.into())
    }

    fn of_file(self, path: &Path) -> FileError {
        match self {
            Self::Damaged(reason) => FileError::Damaged(path.into(), reason),
            Self::Unsupported(reason) => FileError::Unsupported(path.into(), reason, WANTED),
            Self::Choice(reason) => FileError::Dataset(path.into(), reason),
        }
    }
}

/// Whether a name is that of an HDF5 file, with or without a dataset.
pub(crate) fn is_name(path: &Path) -> bool {
    is_file_name(split(path).0)
}

/// Returns the path of the file, and the name of the dataset after it. Other paths stay whole.
pub(crate) fn split(path: &Path) -> (&Path, Option<&str>) {
    let parts = path.to_str().and_then(|text| text.rsplit_once(SEPARATOR));
    match parts {
        Some((file, name)) if is_file_name(Path::new(file)) => (Path::new(file), Some(name)),
        _ => (path, None),
    }
}

fn is_file_name(path: &Path) -> bool {
    has_extension(path, "h5") || has_extension(path, "hdf5")
}

/// Reads a dataset: its type and shape, and its entries in C order. Without a name, it is the only
/// one of these numbers that has at least two axes, or the one that fastMRI names.
pub(super) fn read(
    path: &Path,
    numbers: Numbers,
) -> std::result::Result<(Header, Vec<u8>), FileError> {
    let (file, name) = split(path);
    let bytes = file::read(file, MAX_BYTES)?;
    find_and_read(&bytes, name, numbers).map_err(|defect| defect.of_file(path))
}

fn find_and_read(bytes: &[u8], name: Option<&str>, numbers: Numbers) -> Result<(Header, Vec<u8>)> {
    let (objects, root) = Objects::open(bytes)?;
    let named = objects.datasets(root)?;
    let dataset = match name {
        Some(name) => {
            let name = name.trim_start_matches('/');
            let found = named.iter().find(|(known, _)| known == name);
            let (_, address) = found.ok_or_else(|| {
                let names: Vec<&str> = named.iter().map(|(name, _)| &name[..]).collect();
                match names.len() {
                    0 => Defect::unsupported("it has no datasets"),
                    _ => Defect::Choice(format!("has no dataset {name}, but {}", names.join(", "))),
                }
            })?;
            Dataset::read(&objects, *address)?
        }
        None => the_one(&objects, &named, numbers)?,
    };
    let entries = dataset.entries(&objects)?;
    Ok((dataset.header, entries))
}

/// Returns the only dataset of these numbers with at least two axes, or the preferred one.
fn the_one(objects: &Objects<'_>, named: &[(String, u64)], numbers: Numbers) -> Result<Dataset> {
    let mut found = Vec::new();
    let (mut damaged, mut refused) = (None, Vec::new());
    for (name, address) in named {
        match Dataset::read(objects, *address) {
            Ok(dataset) => {
                let is_complex = dataset.header.kind == b'c';
                let is_wanted = is_complex == (numbers == Numbers::Complex);
                if is_wanted && dataset.header.shape.len() >= 2 {
                    found.push((&name[..], dataset));
                }
            }
            Err(Defect::Unsupported(reason)) => refused.push(format!("; {name}: {reason}")),
            Err(defect) => damaged = Some(defect),
        }
    }
    let is_preferred = |wanted: &&str| found.iter().position(|(name, _)| name == wanted);
    let preferred = numbers.preferred().iter().find_map(is_preferred);
    match (found.len(), preferred, damaged) {
        (1, _, _) => Ok(found.swap_remove(0).1),
        (_, Some(index), _) => Ok(found.swap_remove(index).1),
        (0, _, Some(defect)) => Err(defect),
        (0, None, None) => Err(Defect::unsupported(format!(
            "it has no dataset of {} with two or more axes{}",
            numbers.description(),
            refused.concat()
        ))),
        (num, None, _) => {
            let names: Vec<&str> = found.iter().map(|(name, _)| *name).collect();
            Err(Defect::Choice(format!(
                "has {num} datasets of {}, {}",
                numbers.description(),
                names.join(", ")
            )))
        }
    }
}

/// Bytes that are read one number after the other, the least significant byte first.
#[derive(Clone, Copy, Debug)]
struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    /// Returns the next `len` bytes.
    fn take(&mut self, len: usize) -> Result<&'a [u8]> {
        let cut_short = || Defect::damaged("a part of its structure is cut short");
        let (taken, rest) = self.0.split_at_checked(len).ok_or_else(cut_short)?;
        self.0 = rest;
        Ok(taken)
    }

    /// Returns the next number, which has `len` bytes, at most eight.
    fn number(&mut self, len: usize) -> Result<u64> {
        let mut bytes = [0; 8];
        bytes[..len].copy_from_slice(self.take(len)?);
        Ok(u64::from_le_bytes(bytes))
    }

    /// Returns the next number of `len` bytes as a length.
    fn length(&mut self, len: usize) -> Result<usize> {
        let number = self.number(len)?;
        usize::try_from(number).map_err(|_| Defect::damaged("a length is too large"))
    }

    fn byte(&mut self) -> Result<u8> {
        Ok(self.take(1)?[0])
    }

    /// Expects these bytes.
    fn signature(&mut self, expected: &[u8]) -> Result<()> {
        match self.take(expected.len())? == expected {
            true => Ok(()),
            false => {
                let name = String::from_utf8_lossy(expected);
                Err(Defect::damaged(format!("the signature {name} is missing")))
            }
        }
    }

    /// Returns the bytes before the next zero, and moves behind it.
    fn text(&mut self) -> Result<&'a [u8]> {
        let end = self.0.iter().position(|byte| *byte == 0);
        let text = self.take(end.ok_or_else(|| Defect::damaged("a name has no end"))?)?;
        self.take(1)?;
        Ok(text)
    }
}
