//! NumPy's `.npz` files: ZIP archives whose entries are `.npy` files.
//!
//! The list of entries is at the end of an archive. Entries are stored or deflated; archives with
//! positions of 64 bits, which have more than 4 GB, are refused.

use std::io::Read;
use std::path::Path;

use flate2::Crc;
use flate2::read::DeflateDecoder;

use super::damaged;
use crate::file::FileError;

/// The signatures of the end of the list, of its rows, and of an entry.
const END: &[u8] = b"PK\x05\x06";
const ROW: &[u8] = b"PK\x01\x02";
const ENTRY: &[u8] = b"PK\x03\x04";
/// The lengths of these parts, without names and comments.
const END_LEN: usize = 22;
const ROW_LEN: usize = 46;
const ENTRY_LEN: usize = 30;
/// The longest comment at the end of an archive.
const MAX_COMMENT: usize = 0xFFFF;
/// A size or position that does not fit in 32 bits.
const TOO_LARGE: usize = 0xFFFF_FFFF;
/// The methods of compression.
const STORED: usize = 0;
const DEFLATED: usize = 8;
/// The extension of the entries.
const NPY: &str = ".npy";

/// Returns the name and the content of the one array in an archive; `path` is for messages.
///
/// # Errors
/// When the archive is damaged, or does not hold exactly one array.
pub(super) fn only_array(path: &Path, bytes: &[u8]) -> Result<(String, Vec<u8>), FileError> {
    let rows = rows(path, bytes)?;
    let [row] = &rows[..] else {
        let names: Vec<&str> = rows
            .iter()
            .map(|row| row.name.trim_end_matches(NPY))
            .collect();
        let reason = match names.len() {
            0 => "it holds no arrays".to_owned(),
            num => format!("it holds {num} arrays: {}", names.join(", ")),
        };
        return Err(FileError::Unsupported(
            path.into(),
            reason,
            "a .npz file with one array, or a .npy file",
        ));
    };
    let content = content(path, bytes, row)?;
    Ok((row.name.trim_end_matches(NPY).to_owned(), content))
}

/// Returns an archive with one array, which is stored. The content must have less than 4 GB.
pub(super) fn with_array(name: &str, content: &[u8]) -> Option<Vec<u8>> {
    let name = format!("{name}{NPY}");
    let mut crc = Crc::new();
    crc.update(content);
    let size = u32::try_from(content.len()).ok()?;
    let name_len = u16::try_from(name.len()).ok()?;
    // Version 2.0, no flags, stored, and the earliest date, 1 January 1980.
    let mut about = vec![20, 0, 0, 0, 0, 0, 0, 0, 33, 0];
    about.extend(crc.sum().to_le_bytes());
    about.extend(size.to_le_bytes());
    about.extend(size.to_le_bytes());
    about.extend(name_len.to_le_bytes());
    about.extend([0, 0]);
    let mut bytes = [ENTRY, &about, name.as_bytes(), content].concat();
    let start = u32::try_from(bytes.len()).ok()?;
    bytes.extend(ROW);
    bytes.extend([20, 0]);
    bytes.extend(about);
    // No comment, first disk, no attributes, and the position of the entry.
    bytes.extend([0; 14]);
    bytes.extend(name.as_bytes());
    let len = u32::try_from(bytes.len()).ok()? - start;
    bytes.extend(END);
    bytes.extend([0, 0, 0, 0, 1, 0, 1, 0]);
    bytes.extend(len.to_le_bytes());
    bytes.extend(start.to_le_bytes());
    bytes.extend([0, 0]);
    Some(bytes)
}

/// A row of the list of entries.
struct Row {
    name: String,
    method: usize,
    crc: usize,
    compressed: usize,
    size: usize,
    start: usize,
}

/// Returns the rows of all arrays.
fn rows(path: &Path, bytes: &[u8]) -> Result<Vec<Row>, FileError> {
    if bytes.is_empty() {
        return Err(damaged(path, "it is empty"));
    }
    if !bytes.starts_with(b"PK") {
        let reason = "its content is not that of a .npz file".to_owned();
        return Err(FileError::Unsupported(path.into(), reason, "a .npy file"));
    }
    let cut_short = || damaged(path, "its list of arrays is cut short");
    let last = bytes.len().checked_sub(END_LEN).ok_or_else(cut_short)?;
    let first = last.saturating_sub(MAX_COMMENT);
    let end = (first..=last)
        .rev()
        .find(|at| bytes[*at..].starts_with(END));
    let end = &bytes[end.ok_or_else(cut_short)?..];
    let num_rows = number(end, 10, 2).ok_or_else(cut_short)?;
    let mut at = number(end, 16, 4).ok_or_else(cut_short)?;
    let mut rows = Vec::new();
    for _ in 0..num_rows {
        let row = bytes.get(at..).filter(|row| row.starts_with(ROW));
        let row = row.ok_or_else(cut_short)?;
        let field = |at, len| number(row, at, len).ok_or_else(cut_short);
        let [name_len, extra, comment] = [field(28, 2)?, field(30, 2)?, field(32, 2)?];
        let name = row.get(ROW_LEN..ROW_LEN + name_len).ok_or_else(cut_short)?;
        let found = Row {
            name: String::from_utf8_lossy(name).into_owned(),
            method: field(10, 2)?,
            crc: field(16, 4)?,
            compressed: field(20, 4)?,
            size: field(24, 4)?,
            start: field(42, 4)?,
        };
        at += ROW_LEN + name_len + extra + comment;
        if found.name.ends_with(NPY) {
            rows.push(found);
        }
    }
    Ok(rows)
}

/// Returns the content of an entry.
fn content(path: &Path, bytes: &[u8], row: &Row) -> Result<Vec<u8>, FileError> {
    let cut_short = || damaged(path, format!("the array {} is cut short", row.name));
    if [row.compressed, row.size, row.start].contains(&TOO_LARGE) {
        let reason = "it has more than 4 GB".to_owned();
        return Err(FileError::Unsupported(path.into(), reason, "a .npy file"));
    }
    let entry = bytes
        .get(row.start..)
        .filter(|entry| entry.starts_with(ENTRY));
    let entry = entry.ok_or_else(cut_short)?;
    let before = [26, 28].map(|at| number(entry, at, 2));
    let [Some(name), Some(extra)] = before else {
        return Err(cut_short());
    };
    let start = ENTRY_LEN + name + extra;
    let stored = entry
        .get(start..start + row.compressed)
        .ok_or_else(cut_short)?;
    let content = match row.method {
        STORED => stored.to_vec(),
        DEFLATED => {
            let mut content = Vec::new();
            let decoder = DeflateDecoder::new(stored).take(row.size as u64 + 1);
            let read = { decoder }.read_to_end(&mut content);
            read.map_err(|error| damaged(path, error))?;
            content
        }
        other => {
            let reason = format!("its arrays are compressed by method {other}");
            return Err(FileError::Unsupported(path.into(), reason, "a .npy file"));
        }
    };
    let mut crc = Crc::new();
    crc.update(&content);
    match content.len() == row.size && crc.sum() as usize == row.crc {
        true => Ok(content),
        false => Err(damaged(
            path,
            format!("the checksum of {} is wrong", row.name),
        )),
    }
}

/// Returns a number of `len` bytes, the least significant first.
fn number(bytes: &[u8], at: usize, len: usize) -> Option<usize> {
    let bytes = bytes.get(at..at + len)?.iter().rev();
    Some(bytes.fold(0, |number, byte| number << 8 | usize::from(*byte)))
}
