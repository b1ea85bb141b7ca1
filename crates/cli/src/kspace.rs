//! Measured k-space, from `.npy`, `.npz`, HDF5 (fastMRI) and `.cfl` (BART) files.

use std::path::Path;

use crate::array::hdf5::{self, Numbers};
use crate::array::{self, ArrayValues, cfl};
use crate::file::{FileError, Nan};
use crate::picture;

/// The shapes that are read, for messages.
const OF_ARRAY: &str = "k-space with the axes (rows, columns), (slices, rows, columns) or (slices, \
                        coils, rows, columns), none of them empty";
const OF_BART: &str = "two-dimensional k-space in BART's order (read, phase, 1, coils, 1, ...), \
                       where all axes from the sixth on are slices: transform a third dimension \
                       first, with `bart fft -i -u 4 in out`, and move it to slices with `bart \
                       transpose 2 13 out slices`";
/// The position of BART's coils, and of the first axis that counts as slices. BART's axes are read,
/// two phases, coils, maps, and others.
const BART_COILS: usize = 3;
const BART_MAPS: usize = 4;
const BART_SLICES: usize = 5;

/// Complex k-space of one or several slices and coils, as it is stored: fastMRI and BART have the
/// frequency zero in the middle.
#[derive(Clone, Debug, PartialEq)]
pub struct Kspace {
    /// The numbers of slices, coils, rows and columns, none of them zero.
    pub shape: [usize; 4],
    /// The values in C order, with alternating real and imaginary parts.
    pub values: Vec<f64>,
}

impl Kspace {
    /// Returns the values of one slice and coil, row by row, with alternating real and imaginary
    /// parts.
    ///
    /// # Panics
    /// When there is no such slice or coil.
    #[must_use]
    pub fn plane(&self, slice: usize, coil: usize) -> &[f64] {
        let [slices, coils, rows, columns] = self.shape;
        assert!(slice < slices && coil < coils, "a slice and a coil of it");
        let len = 2 * rows * columns;
        &self.values[(slice * coils + coil) * len..][..len]
    }
}

/// Reads complex k-space.
///
/// - `.npy`, `.npz`: complex numbers with two axes (rows, columns), three (slices, rows, columns)
///   or four (slices, coils, rows, columns).
/// - `.h5`, `.hdf5`: the only dataset of complex numbers, the one with the name `kspace`, or one
///   that is named after the path (`scan.h5::name`), with the same axes.
/// - `.cfl`, `.hdr`: BART's axes, the first of them rows, or the second and third if the first has
///   one entry.
///
/// # Errors
/// When the file cannot be read, is damaged, has real numbers or other axes, is empty, or holds NaN
/// or infinity.
pub fn read(path: &Path) -> Result<Kspace, FileError> {
    let is_bart = cfl::is_name(path);
    let is_array = picture::is_array(path);
    let is_kind = is_bart || is_array || hdf5::is_name(path);
    let read = array::read_numbers(path, Numbers::Complex, Nan::Refused);
    let (array, _, _) = read.map_err(|error| match error {
        FileError::Unsupported(path, ..) if !is_kind => FileError::NoFrequencies(path),
        error => error,
    })?;
    let (shape, needed) = match is_bart {
        true => (of_bart(&array.shape), OF_BART),
        false => (of_array(&array.shape), OF_ARRAY),
    };
    let shape = shape.filter(|shape| !shape.contains(&0));
    let Some(shape) = shape else {
        return Err(FileError::Shape(path.into(), array.shape, needed));
    };
    match array.values {
        ArrayValues::Complex(values) => match is_bart {
            // BART's first axis, the rows, runs fastest.
            true => Ok(transposed(shape, &values)),
            false => Ok(Kspace { shape, values }),
        },
        ArrayValues::Real(_) => Err(FileError::Unsupported(
            path.into(),
            "it holds real numbers".to_owned(),
            "an array of complex numbers",
        )),
    }
}

fn of_array(shape: &[usize]) -> Option<[usize; 4]> {
    match *shape {
        [rows, columns] => Some([1, 1, rows, columns]),
        [slices, rows, columns] => Some([slices, 1, rows, columns]),
        [slices, coils, rows, columns] => Some([slices, coils, rows, columns]),
        _ => None,
    }
}

/// Returns slices, coils, rows and columns of BART's axes, which come in reverse order.
fn of_bart(shape: &[usize]) -> Option<[usize; 4]> {
    let len = |axis: usize| shape.iter().rev().nth(axis).copied().unwrap_or(1);
    let [rows, columns] = match [len(0), len(1), len(2)] {
        [rows, columns, 1] => [rows, columns],
        [1, rows, columns] => [rows, columns],
        _ => return None,
    };
    let slices = (BART_SLICES..shape.len()).map(len).product();
    (len(BART_MAPS) == 1).then_some([slices, len(BART_COILS), rows, columns])
}

/// Exchanges rows and columns of each slice and coil.
fn transposed(shape: [usize; 4], values: &[f64]) -> Kspace {
    let [_, _, rows, columns] = shape;
    let mut ordered = Vec::with_capacity(values.len());
    for plane in values.chunks_exact(2 * rows * columns) {
        for row in 0..rows {
            for column in 0..columns {
                let from = 2 * (column * rows + row);
                ordered.extend_from_slice(&plane[from..from + 2]);
            }
        }
    }
    Kspace {
        shape,
        values: ordered,
    }
}
