//! Pages of TIFF files.
//!
//! The decoders of this program read the page to which the header of a file points. Any other page
//! is read by pointing the header to it first.

use std::io::Cursor;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use tiff::decoder::Decoder;
use tiff::tags::Tag;

use super::decode::{damaged, explain_tiff, unsupported};
use crate::file::FileError;

/// Bits of the tag `NewSubfileType`, TIFF 6.0, page 36.
const REDUCED: u32 = 1;
const TRANSPARENCY: u32 = 4;

/// Returns the position of each page in a TIFF file; `path` is for messages. Smaller copies of
/// other pages, which the file declares as such, are left out.
///
/// # Errors
/// When the file is damaged, holds a transparency mask, or announces more pages than it has.
pub(super) fn list(path: &Path, bytes: &[u8]) -> Result<Vec<u64>, FileError> {
    let mut decoder =
        Decoder::new(Cursor::new(bytes)).map_err(|error| explain_tiff(path, error))?;
    let announced = announced(&mut decoder);
    let mut pages = Vec::new();
    let mut num_pages = 0;
    loop {
        num_pages += 1;
        let kind = decoder.find_tag_unsigned::<u32>(Tag::NewSubfileType);
        let kind = kind.ok().flatten().unwrap_or(0);
        if kind & TRANSPARENCY != 0 {
            return Err(FileError::Transparent(path.into()));
        }
        // The first page counts in any case: there must be one.
        if let Some(pointer) = decoder.ifd_pointer()
            && (pages.is_empty() || kind & REDUCED == 0)
        {
            pages.push(pointer.0);
        }
        if !decoder.more_images() {
            break;
        }
        decoder
            .next_image()
            .map_err(|error| explain_tiff(&name(path, num_pages), error))?;
    }
    match announced {
        Some(announced) if announced > num_pages => Err(unsupported(
            path,
            format!("it announces {announced} pictures, but has only {num_pages} pages of its own"),
        )),
        _ => Ok(pages),
    }
}

/// Returns the number of pictures that the description of the first page announces. For large
/// stacks, ImageJ and, on request, Python's `tifffile` write one page, and all other pictures
/// behind it without pages.
fn announced(decoder: &mut Decoder<Cursor<&[u8]>>) -> Option<usize> {
    let text = decoder.get_tag_ascii_string(Tag::ImageDescription).ok()?;
    if text.starts_with("ImageJ=") {
        let mut counts = text.lines().filter_map(|line| line.strip_prefix("images="));
        return counts.next()?.trim().parse().ok();
    }
    let description: Truncated = serde_json::from_str(&text).ok()?;
    let (width, height) = decoder.dimensions().ok()?;
    let samples = decoder.find_tag_unsigned::<u64>(Tag::SamplesPerPixel);
    let samples = samples.ok().flatten().unwrap_or(1);
    let of_page = u64::from(width) * u64::from(height) * samples;
    let all = description
        .shape
        .iter()
        .try_fold(1, |all: u64, n| all.checked_mul(*n))?;
    let num = all.checked_div(of_page).filter(|_| description.truncated)?;
    usize::try_from(num).ok()
}

/// The description that `tifffile` writes.
#[derive(Deserialize)]
struct Truncated {
    shape: Vec<u64>,
    #[serde(default)]
    truncated: bool,
}

/// Points the header of a TIFF file to the page at `position`.
///
/// # Errors
/// When there is no whole header.
pub(super) fn select(path: &Path, bytes: &mut [u8], position: u64) -> Result<(), FileError> {
    let is_big_endian = bytes.starts_with(b"MM");
    // The version is 42, or 43 for files with positions of 64 bits.
    let is_long = bytes.get(2..4).is_some_and(|version| version.contains(&43));
    let (start, len) = if is_long { (8, 8) } else { (4, 4) };
    let Some(field) = bytes.get_mut(start..start + len) else {
        return Err(damaged(path, "its header is cut short"));
    };
    field.copy_from_slice(&position.to_le_bytes()[..len]);
    if is_big_endian {
        field.reverse();
    }
    Ok(())
}

/// Returns the name of one of `num_pages` pages in messages and reports: that of the file if there
/// is only one.
pub(crate) fn name_among(path: &Path, index: usize, num_pages: usize) -> PathBuf {
    match num_pages {
        1 => path.to_path_buf(),
        _ => name(path, index),
    }
}

/// Returns the name of one of several pages, such as `cells.tif[3]`. Pages are counted from 1;
/// `index` is counted from 0.
fn name(path: &Path, index: usize) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!("[{}]", index + 1));
    name.into()
}
