//! The colours of picture files, without decoding them.

use std::io::Cursor;
use std::path::Path;

use image::{ImageDecoder as _, ImageReader};

use super::has_extension;
use crate::array::hdf5;

/// Whether a file is a picture in colour, as its header says: `None` if it cannot be told, because
/// the file is damaged or not a picture.
#[must_use]
pub fn has_colours(path: &Path) -> Option<bool> {
    let is_grey = ["npy", "npz", "nii", "gz"]
        .iter()
        .any(|known| has_extension(path, known));
    if is_grey || hdf5::is_name(path) {
        return Some(false);
    }
    let bytes = std::fs::read(path).ok()?;
    let reader = ImageReader::new(Cursor::new(&bytes))
        .with_guessed_format()
        .ok()?;
    match reader.into_decoder() {
        Ok(decoder) => Some(decoder.color_type().has_color()),
        // grey floating-point TIFF files, which `image` cannot read
        Err(_) => {
            let mut decoder = tiff::decoder::Decoder::new(Cursor::new(&bytes)).ok()?;
            Some(!matches!(
                decoder.colortype().ok()?,
                tiff::ColorType::Gray(_)
            ))
        }
    }
}
