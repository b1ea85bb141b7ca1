//! The files of BART: complex numbers of single precision in `name.cfl`, and their numbers along
//! each axis in the text `name.hdr`. The first axis runs fastest.

use std::path::Path;

use super::damaged;
use super::header::Header;
use crate::file::{self, FileError};
use crate::picture::has_extension;

/// The line before the numbers of entries.
const DIMENSIONS: &str = "# Dimensions";
/// Largest sizes of the two files in bytes.
const MAX_HEADER: u64 = 1 << 16;
const MAX_BYTES: u64 = 1 << 34;
/// The bytes of a complex number.
const SIZE: usize = 8;

/// Whether a name is that of one of the two files.
pub(crate) fn is_name(path: &Path) -> bool {
    has_extension(path, "cfl") || has_extension(path, "hdr")
}

/// Reads the two files. The axes are in the reverse order of the header, so that the last one runs
/// fastest, and axes of length one at its end are left out, but for the first two.
pub(super) fn read(path: &Path) -> Result<(Header, Vec<u8>), FileError> {
    let header_path = path.with_extension("hdr");
    let text = file::read(&header_path, MAX_HEADER)?;
    let text = String::from_utf8_lossy(&text);
    let mut lines = text.lines().map(str::trim);
    let numbers = lines.find(|line| *line == DIMENSIONS).and(lines.next());
    let shape = numbers.and_then(|line| {
        let numbers = line.split_ascii_whitespace();
        numbers.map(|number| number.parse().ok()).collect()
    });
    let mut shape: Vec<usize> = shape
        .ok_or_else(|| damaged(&header_path, "the numbers of entries are not in the header"))?;
    while shape.len() > 2 && shape.last() == Some(&1) {
        shape.pop();
    }
    shape.reverse();
    let len = shape.iter().try_fold(1_usize, |len, n| len.checked_mul(*n));
    let Some(len) = len.filter(|len| len.checked_mul(SIZE).is_some()) else {
        return Err(damaged(&header_path, "it has an impossible shape"));
    };
    let header = Header {
        kind: b'c',
        size: SIZE,
        is_big_endian: false,
        is_fortran: false,
        shape,
        len,
    };
    Ok((header, file::read(&path.with_extension("cfl"), MAX_BYTES)?))
}
