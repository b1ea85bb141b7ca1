//! The colours of picture files, without decoding them.

use std::fs::File;
use std::io::{BufReader, Cursor};
use std::path::Path;

use image::{ImageDecoder as _, ImageReader};
use tiff::ColorType;
use tiff::decoder::Decoder;
use tiff::tags::Tag;

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
            let mut decoder = Decoder::new(Cursor::new(&bytes)).ok()?;
            Some(!matches!(decoder.colortype().ok()?, ColorType::Gray(_)))
        }
    }
}

/// Returns a warning about a TIFF file that is probably a grey stack, but says that it is a picture
/// in colour: Python's `tifffile` writes an array of three or four pages as the channels of one
/// page, plane after plane, unless it is told that they are grey.
pub(crate) fn stack_warning(path: &Path) -> Option<String> {
    let mut decoder = Decoder::new(BufReader::new(File::open(path).ok()?)).ok()?;
    let planes = match decoder.colortype().ok()? {
        ColorType::RGB(_) => "red, green and blue",
        ColorType::RGBA(_) => "red, green, blue and transparency",
        _ => return None,
    };
    let layout = decoder.find_tag_unsigned::<u16>(Tag::PlanarConfiguration);
    let description = decoder.get_tag_ascii_string(Tag::ImageDescription).ok()?;
    let is_likely = layout.ok()? == Some(2) && description.starts_with("{\"shape\"");
    is_likely.then(|| {
        format!(
            "{} is read as one picture in colour, as the file says. If its planes are not {planes} \
             but the pages of a stack, write it again with \
             `tifffile.imwrite(..., photometric='minisblack')`",
            path.display()
        )
    })
}
