//! Arrays of NumPy as pictures and stacks: `.npy` and `.npz` files.

use std::path::Path;

use super::samples::Samples;
use super::{Metadata, Picture, SampleType, TypedPicture, has_extension};
use crate::array::{self, ArrayValues, hdf5};
use crate::file::{FileError, Nan};

/// Largest length of a last axis that may hold the channels of one picture.
const MAX_CHANNELS: usize = 4;
/// The name that NumPy gives to an array without one.
const DEFAULT_NAME: &str = "arr_0";
/// The shapes of arrays that can be read, for messages.
const PICTURES: &str = "a picture or a stack, with two or three axes, none of them empty: save \
                        other arrays with `a.reshape(-1, a.shape[-2], a.shape[-1])`";
const PICTURES_OR_SIGNALS: &str = "a signal, a picture or a stack, with one, two or three axes, \
                                   none of them empty: save other arrays with \
                                   `a.reshape(-1, a.shape[-2], a.shape[-1])`";
/// The advice on an array that looks like one picture in colour, for messages.
const COLOUR: &str = "a stack of grey pictures, and looks like one picture in colour: save it as \
                      a .png or .tif file, or its channels as a stack with \
                      `numpy.moveaxis(a, -1, 0)`";

/// The unit of the entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    /// As in the array. Signals, which have one axis, are pictures with one row.
    OfArray,
    /// White is 1 for unsigned integers with 8 or 16 bits.
    White,
}

/// Whether a name is that of an array that can be read and written.
pub(crate) fn is_name(path: &Path) -> bool {
    has_extension(path, "npy") || has_extension(path, "npz")
}

/// Whether an array can be read from a file with this name. HDF5 files are only read.
pub(super) fn can_be_read(path: &Path) -> bool {
    is_name(path) || hdf5::is_name(path)
}

/// Reads the pictures of an array of real numbers: one with two axes, a stack with three.
pub(super) fn read(path: &Path, unit: Unit, nan: Nan) -> Result<Vec<TypedPicture>, FileError> {
    let (array, samples, name) = array::read_named(path, nan)?;
    let needed = match unit {
        Unit::OfArray => PICTURES_OR_SIGNALS,
        Unit::White => PICTURES,
    };
    let shape = &array.shape[..];
    let [num_pages, height, width] = match *shape {
        [len] if unit == Unit::OfArray => [1, 1, len],
        [rows, cols] => [1, rows, cols],
        [rows, cols, last] if last <= MAX_CHANNELS && rows.min(cols) > last => {
            return Err(FileError::Shape(path.into(), array.shape, COLOUR));
        }
        [pages, rows, cols] => [pages, rows, cols],
        _ => return Err(FileError::Shape(path.into(), array.shape, needed)),
    };
    if num_pages * height * width == 0 {
        return Err(FileError::Shape(path.into(), array.shape, needed));
    }
    let is_stack = shape.len() == 3;
    let ArrayValues::Real(mut values) = array.values else {
        let reason = "it holds complex numbers".to_owned();
        return Err(FileError::Unsupported(path.into(), reason, "real numbers"));
    };
    let samples = match (unit, samples.white()) {
        (Unit::White, Some(white)) => {
            values.iter_mut().for_each(|value| *value /= white);
            samples
        }
        (Unit::OfArray, Some(_)) => SampleType::OtherInteger,
        (_, None) => samples,
    };
    let page = |plane: &[f64]| TypedPicture {
        metadata: Metadata::Array {
            is_stack,
            name: name.clone(),
        },
        ..TypedPicture::new(Picture::new(width, height, vec![plane.to_vec()]), samples)
    };
    Ok(values.chunks_exact(width * height).map(page).collect())
}

/// Reads an array of real numbers with three axes: rows, columns, and red, green and blue.
pub(super) fn read_colours(path: &Path, nan: Nan) -> Result<Vec<TypedPicture>, FileError> {
    let (array, samples, name) = array::read_named(path, nan)?;
    let [height, width] = match array.shape[..] {
        [rows, cols, 3] if rows > 0 && cols > 0 => [rows, cols],
        _ => {
            let needed = "a picture in colour, with the shape (rows, columns, 3)";
            return Err(FileError::Shape(path.into(), array.shape, needed));
        }
    };
    let ArrayValues::Real(values) = array.values else {
        let reason = "it holds complex numbers".to_owned();
        return Err(FileError::Unsupported(path.into(), reason, "real numbers"));
    };
    let samples = match samples.white() {
        Some(_) => SampleType::OtherInteger,
        None => samples,
    };
    Ok(vec![TypedPicture {
        metadata: Metadata::Array {
            is_stack: false,
            name,
        },
        ..TypedPicture::new(Picture::of_interleaved(width, height, &values), samples)
    }])
}

/// Writes grey pictures of the same size, which is that of rows and columns. A single one becomes
/// an array with two axes, unless it was read from a stack.
pub(super) fn write(
    path: &Path,
    num_pages: usize,
    [height, width]: [usize; 2],
    samples: &Samples,
    metadata: &Metadata,
) -> Result<(), FileError> {
    let (is_stack, name) = match metadata {
        Metadata::Array { is_stack, name } => (*is_stack, name.as_deref()),
        _ => (false, None),
    };
    let shape = [num_pages, height, width];
    let shape = match is_stack || num_pages > 1 {
        true => &shape[..],
        false => &shape[1..],
    };
    let (descr, entries) = samples.to_array();
    array::write_encoded(path, shape, descr, &entries, name.unwrap_or(DEFAULT_NAME))
}
