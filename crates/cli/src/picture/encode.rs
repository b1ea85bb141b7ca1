//! Encoding of picture files.

use std::io::{self, Cursor};
use std::path::Path;

use image::codecs::png::PngEncoder;
use image::{ExtendedColorType, ImageEncoder as _};
use tiff::TiffResult;
use tiff::encoder::TiffEncoder;
use tiff::encoder::colortype::{Gray32Float, RGB16};

use super::{Depth, Picture, has_extension, index};
use crate::file::{self, FileError};

/// The extensions of files that can be written, for messages.
pub(super) const EXTENSIONS: &str = ".png, .tif, .tiff, .npy, .npz, .nii or .nii.gz";

/// Encodes a PNG file: grey if there is one plane, RGB if there are three. Values are clamped to
/// `[0, 1]` and rounded to the nearest level; NaN becomes black.
///
/// # Panics
/// When the planes are not one or three of `width * height` values, or PNG cannot have the size: 1
/// to 2^31 - 1.
#[must_use]
pub fn encode_png(width: usize, height: usize, planes: &[&[f64]], depth: Depth) -> Vec<u8> {
    let size = check(width, height, planes);
    let is_grey = planes.len() == 1;
    let (samples, colour): (Vec<u8>, _) = match depth {
        Depth::Eight => {
            let colour = match is_grey {
                true => ExtendedColorType::L8,
                false => ExtendedColorType::Rgb8,
            };
            (interleaved(planes).map(eight_bits).collect(), colour)
        }
        Depth::Sixteen => {
            let colour = match is_grey {
                true => ExtendedColorType::L16,
                false => ExtendedColorType::Rgb16,
            };
            let samples = interleaved(planes).flat_map(|value| sixteen_bits(value).to_ne_bytes());
            (samples.collect(), colour)
        }
    };
    let mut bytes = Vec::new();
    PngEncoder::new(&mut bytes)
        .write_image(&samples, size[0], size[1], colour)
        .expect("a picture of checked size, written to memory");
    bytes
}

/// Writes a picture, whole or not at all: grey if there is one plane, RGB if there are three. The
/// extension of `path` decides about the format.
///
/// - `.png`: as [`encode_png`].
/// - `.tif`, `.tiff`: grey as 32-bit floating-point numbers, neither clamped nor rounded to levels;
///   RGB with 16 bits, clamped and rounded. `depth` is ignored.
///
/// # Errors
/// When a value is not finite, the extension is another, or the file cannot be written.
///
/// # Panics
/// As [`encode_png`].
pub fn write(
    path: &Path,
    width: usize,
    height: usize,
    planes: &[&[f64]],
    depth: Depth,
) -> Result<(), FileError> {
    write_all(path, &[([width, height], planes.to_vec())], depth)
}

/// Writes pictures as the pages of one file, as [`write()`] writes one of them. Only `.tif` and
/// `.tiff` files can have several pages.
///
/// # Errors
/// As [`write()`], and when there are several pages for a `.png` file.
///
/// # Panics
/// As [`encode_png`], and when there are no pages.
pub fn write_pages(path: &Path, pages: &[Picture], depth: Depth) -> Result<(), FileError> {
    let pages = pages
        .iter()
        .map(|page| ([page.width, page.height], page.planes()));
    write_all(path, &pages.collect::<Vec<_>>(), depth)
}

/// The width, height and planes of a picture.
type Page<'a> = ([usize; 2], Vec<&'a [f64]>);

fn write_all(path: &Path, pages: &[Page<'_>], depth: Depth) -> Result<(), FileError> {
    for ([width, height], planes) in pages {
        let _ = check(*width, *height, planes);
        for (channel, plane) in planes.iter().enumerate() {
            // A large number may be finite, but not with 32 bits.
            if let Some(position) = plane.iter().position(|value| !single(*value).is_finite()) {
                let index = index(position, *width, channel, planes.len());
                return Err(FileError::NotFinite(path.into(), index, plane[position]));
            }
        }
    }
    let bytes = if has_extension(path, "png") {
        let [([width, height], planes)] = pages else {
            return Err(FileError::OnePage(path.into(), pages.len()));
        };
        encode_png(*width, *height, planes, depth)
    } else if has_extension(path, "tif") || has_extension(path, "tiff") {
        encode_tiff(pages)
            .map_err(|error| FileError::Write(path.into(), io::Error::other(error)))?
    } else {
        return Err(FileError::Extension(path.into(), EXTENSIONS));
    };
    file::write(path, &bytes)
}

/// Encodes a TIFF file; fails when it would be larger than TIFF files can be.
fn encode_tiff(pages: &[Page<'_>]) -> TiffResult<Vec<u8>> {
    assert!(!pages.is_empty(), "at least one page");
    let mut bytes = Cursor::new(Vec::new());
    let mut encoder = TiffEncoder::new(&mut bytes)?;
    for ([width, height], planes) in pages {
        let [width, height] = check(*width, *height, planes);
        if let [plane] = planes[..] {
            let samples: Vec<f32> = plane.iter().map(|value| single(*value)).collect();
            encoder.write_image::<Gray32Float>(width, height, &samples)?;
        } else {
            let samples: Vec<u16> = interleaved(planes).map(sixteen_bits).collect();
            encoder.write_image::<RGB16>(width, height, &samples)?;
        }
    }
    Ok(bytes.into_inner())
}

/// Returns width and height, after the checks of [`encode_png`].
pub(super) fn check(width: usize, height: usize, planes: &[&[f64]]) -> [u32; 2] {
    assert!(matches!(planes.len(), 1 | 3), "one plane or three");
    let len = width.checked_mul(height);
    let fits = planes.iter().all(|plane| Some(plane.len()) == len);
    assert!(fits, "planes of width * height values");
    [width, height].map(|extent| match i32::try_from(extent) {
        Ok(extent @ 1..) => extent.unsigned_abs(),
        _ => panic!("{extent} pixels in a row or column: a file can have 1 to 2^31 - 1"),
    })
}

/// Returns the values pixel by pixel.
fn interleaved(planes: &[&[f64]]) -> impl Iterator<Item = f64> {
    let len = planes.first().map_or(0, |plane| plane.len());
    (0..len).flat_map(move |pixel| planes.iter().map(move |plane| plane[pixel]))
}

/// Rounds to the nearest of 256 levels.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "clamped to the range before; NaN becomes zero"
)]
pub(super) fn eight_bits(value: f64) -> u8 {
    (value.clamp(0.0, 1.0) * 255.0).round() as u8
}

/// Rounds to the nearest of 65536 levels.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "clamped to the range before; NaN becomes zero"
)]
pub(super) fn sixteen_bits(value: f64) -> u16 {
    (value.clamp(0.0, 1.0) * 65535.0).round() as u16
}

/// Rounds to the nearest number with 32 bits.
#[expect(
    clippy::cast_possible_truncation,
    reason = "rounding is what is wanted"
)]
pub(super) fn single(value: f64) -> f32 {
    value as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_the_nearest() {
        for (value, eight, sixteen) in [
            (-1.0, 0, 0),
            (0.0, 0, 0),
            (0.5 / 255.0 - 1e-9, 0, 128),
            (0.5 / 255.0 + 1e-9, 1, 129),
            (1.0, 255, 65535),
            (f64::INFINITY, 255, 65535),
            (f64::NAN, 0, 0),
        ] {
            assert_eq!(eight_bits(value), eight, "{value}");
            assert_eq!(sixteen_bits(value), sixteen, "{value}");
        }
    }

    #[test]
    #[should_panic(expected = "one plane or three")]
    fn two_planes_are_a_mistake() {
        let _ = encode_png(1, 1, &[&[0.0], &[0.0]], Depth::Eight);
    }

    #[test]
    #[should_panic(expected = "0 pixels in a row or column")]
    fn an_empty_picture_is_a_mistake() {
        let _ = encode_png(0, 1, &[&[]], Depth::Eight);
    }

    #[test]
    #[should_panic(expected = "width * height")]
    fn a_short_plane_is_a_mistake() {
        let _ = encode_png(2, 1, &[&[0.0]], Depth::Eight);
    }
}
