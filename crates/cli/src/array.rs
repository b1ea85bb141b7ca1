//! Reading and writing of NumPy's `.npy` and `.npz` files, and reading of arrays in HDF5 files and
//! in the `.cfl` files of BART.

pub(crate) mod cfl;
pub(crate) mod hdf5;
mod header;
mod zip;

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use crate::file::{self, FileError, Nan};
use crate::picture::{SampleType, has_extension};
use hdf5::Numbers;
use header::Header;

/// Largest size of a file in bytes.
const MAX_BYTES: u64 = 1 << 34;
/// Largest size of a header in bytes. NumPy writes 128 for arrays of numbers.
const MAX_HEADER: u64 = 1 << 16;

/// An array in C order: the last index runs fastest.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    /// The number of entries along each axis; no axes for a single number.
    pub shape: Vec<usize>,
    /// The entries.
    pub values: ArrayValues,
}

/// The entries of an array.
#[derive(Clone, Debug, PartialEq)]
pub enum ArrayValues {
    /// Real numbers.
    Real(Vec<f64>),
    /// Complex numbers, with alternating real and imaginary parts.
    Complex(Vec<f64>),
}

/// One or more signals of equal length, none of them empty.
#[derive(Clone, Debug, PartialEq)]
pub enum Signals {
    /// Real signals.
    Real(Vec<Vec<f64>>),
    /// Complex signals, with alternating real and imaginary parts.
    Complex(Vec<Vec<f64>>),
}

impl ArrayValues {
    /// Returns the numbers, and the number of them per entry.
    fn parts(&self) -> (&[f64], usize) {
        match self {
            Self::Real(numbers) => (numbers, 1),
            Self::Complex(numbers) => (numbers, 2),
        }
    }
}

/// Reads an array of any shape, in either byte order, in C or Fortran order. Integers and truth
/// values become real numbers, and single precision becomes double. Integers beyond 2^53 are
/// rounded. A `.npz` file must hold one array. An HDF5 file (`.h5`, `.hdf5`) must hold one array of
/// real numbers with two or more axes, or one that has the name of fastMRI's pictures; others are
/// named after the path, as in `scan.h5::group/name`. The axes of a `.cfl` file are in the reverse
/// order of its header.
///
/// # Errors
/// When the file cannot be read, is not such a file, is damaged, has other elements, or holds NaN
/// or infinity.
pub fn read(path: &Path) -> Result<Array, FileError> {
    Ok(read_named(path, Nan::Refused)?.0)
}

/// An array, the type of its entries, and its name in a `.npz` file.
pub(crate) type NamedArray = (Array, SampleType, Option<String>);

/// Does the same as [`read`], where NaN has the given meaning. Truth values and complex numbers
/// count as numbers of double precision.
pub(crate) fn read_named(path: &Path, nan: Nan) -> Result<NamedArray, FileError> {
    read_numbers(path, Numbers::Real, nan)
}

/// Does the same as [`read_named`], with the kind of numbers of an HDF5 dataset that is not named.
pub(crate) fn read_numbers(
    path: &Path,
    numbers: Numbers,
    nan: Nan,
) -> Result<NamedArray, FileError> {
    let mut name = None;
    let (array, samples) = if hdf5::is_name(path) {
        let (header, entries) = hdf5::read(path, numbers)?;
        decode_entries(path, header, &entries)?
    } else if cfl::is_name(path) {
        let (header, entries) = cfl::read(path)?;
        decode_entries(path, header, &entries)?
    } else {
        let mut bytes = file::read(path, MAX_BYTES)?;
        if has_extension(path, "npz") {
            let (found, content) = zip::only_array(path, &bytes)?;
            (name, bytes) = (Some(found), content);
        }
        let (header, data) = header::read(path, &bytes)?;
        decode_entries(path, header, data)?
    };
    check_finite(path, &array.shape, &array.values, nan)?;
    Ok((array, samples, name))
}

/// Reads the shape of an array, without its entries.
pub(crate) fn shape(path: &Path) -> Result<Vec<usize>, FileError> {
    let refuse = |source| FileError::read(path, source);
    let mut start = Vec::new();
    let file = File::open(path).map_err(refuse)?;
    let read = file.take(MAX_HEADER).read_to_end(&mut start);
    read.map_err(refuse)?;
    Ok(header::read(path, &start)?.0.shape)
}

/// Reads the rows of an array with two axes. An array with one axis is one row.
///
/// # Errors
/// As [`read`], and when the array has other axes or no entries.
pub fn signals(path: &Path) -> Result<Signals, FileError> {
    let array = read(path)?;
    let len = match array.shape[..] {
        [len] if len > 0 => len,
        [rows, len] if rows > 0 && len > 0 => len,
        _ => {
            return Err(FileError::Shape(
                path.into(),
                array.shape,
                "one signal or a list of signals, with one or two axes, none of them empty: \
                 reshape it with `a.reshape(-1, a.shape[-1])`",
            ));
        }
    };
    let rows = |numbers: &[f64], len| numbers.chunks_exact(len).map(<[f64]>::to_vec).collect();
    Ok(match array.values {
        ArrayValues::Real(numbers) => Signals::Real(rows(&numbers, len)),
        ArrayValues::Complex(numbers) => Signals::Complex(rows(&numbers, 2 * len)),
    })
}

/// Writes an array in C order as `f8` or `c16`, whole or not at all. NaN marks an entry that was
/// not measured.
///
/// # Errors
/// When a value is infinite, or the file cannot be written.
///
/// # Panics
/// When `shape` does not fit the number of entries.
pub fn write(path: &Path, shape: &[usize], values: &ArrayValues) -> Result<(), FileError> {
    let (numbers, per_entry) = values.parts();
    let fits = shape.iter().product::<usize>() * per_entry == numbers.len();
    assert!(fits, "as many entries as the shape says");
    check_finite(path, shape, values, Nan::Missing)?;
    let descr = if per_entry == 1 { "<f8" } else { "<c16" };
    let mut bytes = header::write(descr, shape);
    bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
    file::write(path, &bytes)
}

/// Writes an array whose entries are already encoded, in C order with the least significant byte
/// first, whole or not at all. In a `.npz` file, it gets this name.
///
/// # Errors
/// When the file cannot be written.
pub(crate) fn write_encoded(
    path: &Path,
    shape: &[usize],
    descr: &str,
    entries: &[u8],
    name: &str,
) -> Result<(), FileError> {
    let mut bytes = header::write(descr, shape);
    bytes.extend(entries);
    if has_extension(path, "npz") {
        bytes = zip::with_array(name, &bytes).ok_or_else(|| {
            let reason = "a .npz file has less than 4 GB: name a .npy file";
            FileError::Write(path.into(), io::Error::other(reason))
        })?;
    }
    file::write(path, &bytes)
}

/// Decodes the entries in `data`, and returns the array with their type; `path` is for messages.
fn decode_entries(
    path: &Path,
    header: Header,
    data: &[u8],
) -> Result<(Array, SampleType), FileError> {
    let promised = header.len.checked_mul(header.size);
    let Some(data) = promised.and_then(|promised| data.get(..promised)) else {
        let reason = format!("{} entries do not fit in {} bytes", header.len, data.len());
        return Err(damaged(path, reason));
    };
    if header.kind == b'b'
        && let Some(byte) = data.iter().find(|byte| **byte > 1)
    {
        return Err(damaged(path, format!("{byte} is not a truth value")));
    }
    let mut numbers = numbers(&header, data);
    let per_entry = if header.kind == b'c' { 2 } else { 1 };
    if header.is_fortran {
        numbers = c_order(&numbers, &header.shape, per_entry);
    }
    let samples = match (header.kind, header.size) {
        (b'u', 1) => SampleType::Eight,
        (b'u', 2) => SampleType::Sixteen,
        (b'f', 4) => SampleType::Single,
        (b'i' | b'u', _) => SampleType::OtherInteger,
        _ => SampleType::Double,
    };
    let array = Array {
        shape: header.shape,
        values: match per_entry {
            1 => ArrayValues::Real(numbers),
            _ => ArrayValues::Complex(numbers),
        },
    };
    Ok((array, samples))
}

/// Returns the numbers in `data` in the order of the file.
fn numbers(header: &Header, data: &[u8]) -> Vec<f64> {
    /// Converts groups of `N` bytes to numbers.
    fn all<const N: usize>(
        data: &[u8],
        is_big_endian: bool,
        number: impl Fn([u8; N]) -> f64,
    ) -> Vec<f64> {
        let (entries, _) = data.as_chunks::<N>();
        let number = |entry: &[u8; N]| {
            let mut entry = *entry;
            if is_big_endian {
                entry.reverse();
            }
            number(entry)
        };
        entries.iter().map(number).collect()
    }
    let big = header.is_big_endian;
    match (header.kind, header.size) {
        (b'f', 4) | (b'c', 8) => all(data, big, |b| f32::from_le_bytes(b).into()),
        (b'i', 1) => all(data, big, |b| i8::from_le_bytes(b).into()),
        (b'i', 2) => all(data, big, |b| i16::from_le_bytes(b).into()),
        (b'i', 4) => all(data, big, |b| i32::from_le_bytes(b).into()),
        (b'i', _) => all(data, big, |b| i64::from_le_bytes(b) as f64),
        (b'u' | b'b', 1) => all(data, big, |b| u8::from_le_bytes(b).into()),
        (b'u', 2) => all(data, big, |b| u16::from_le_bytes(b).into()),
        (b'u', 4) => all(data, big, |b| u32::from_le_bytes(b).into()),
        (b'u', _) => all(data, big, |b| u64::from_le_bytes(b) as f64),
        _ => all(data, big, f64::from_le_bytes),
    }
}

/// Rearranges numbers, `per_entry` for each entry, from Fortran order, in which the first index
/// runs fastest, to C order.
fn c_order(numbers: &[f64], shape: &[usize], per_entry: usize) -> Vec<f64> {
    let len = numbers.len() / per_entry;
    let mut ordered = Vec::with_capacity(numbers.len());
    for position in 0..len {
        let index = multi_index(position, shape);
        let extents = shape.iter().rev();
        let from = extents
            .zip(index.iter().rev())
            .fold(0, |from, (extent, i)| from * extent + i);
        ordered.extend_from_slice(&numbers[from * per_entry..][..per_entry]);
    }
    ordered
}

/// Returns the index of the entry at `position` in C order. The array must not be empty.
fn multi_index(position: usize, shape: &[usize]) -> Vec<usize> {
    let mut index = vec![0; shape.len()];
    let mut rest = position;
    for (i, extent) in index.iter_mut().zip(shape).rev() {
        *i = rest % extent;
        rest /= extent;
    }
    index
}

/// Refuses infinity, and NaN if it has no meaning.
fn check_finite(
    path: &Path,
    shape: &[usize],
    values: &ArrayValues,
    nan: Nan,
) -> Result<(), FileError> {
    let (numbers, per_entry) = values.parts();
    match nan.first_refused(numbers) {
        None => Ok(()),
        Some(position) => Err(FileError::NotFinite(
            path.into(),
            multi_index(position / per_entry, shape),
            numbers[position],
        )),
    }
}

/// Returns the error of a damaged file.
fn damaged(path: &Path, reason: impl ToString) -> FileError {
    FileError::Damaged(path.into(), reason.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fortran_order_is_undone() {
        // The matrix 0 1 2 / 3 4 5 column by column.
        let columns = [0.0, 3.0, 1.0, 4.0, 2.0, 5.0];
        assert_eq!(
            c_order(&columns, &[2, 3], 1),
            [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
        );
        let complex = [0.0, 10.0, 2.0, 12.0, 1.0, 11.0, 3.0, 13.0];
        let expected = [0.0, 10.0, 1.0, 11.0, 2.0, 12.0, 3.0, 13.0];
        assert_eq!(c_order(&complex, &[2, 2], 2), expected);
        assert_eq!(c_order(&[7.0], &[], 1), [7.0]);
        assert_eq!(c_order(&[], &[0, 3], 1), [0.0; 0]);
    }

    #[test]
    fn positions_have_one_index_per_axis() {
        assert_eq!(multi_index(23, &[2, 3, 4]), [1, 2, 3]);
        assert_eq!(multi_index(4, &[2, 3, 4]), [0, 1, 0]);
        assert_eq!(multi_index(0, &[]), [0; 0]);
    }
}
