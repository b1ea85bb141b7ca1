//! Pictures that are written as they were read: with the type of their samples and with their
//! alpha channel.

use std::io::{self, Cursor, Seek, Write};
use std::path::Path;

use image::codecs::png::PngEncoder;
use image::{ExtendedColorType, ImageEncoder as _};
use tiff::TiffResult;
use tiff::encoder::colortype::{
    ColorType, Gray8, Gray16, Gray32Float, Gray64Float, RGB8, RGB16, RGB32Float, RGB64Float, RGBA8,
    RGBA16, RGBA32Float, RGBA64Float,
};
use tiff::encoder::{TiffEncoder, TiffValue};
use tiff::tags::Tag;

use super::encode::{EXTENSIONS, check, eight_bits, single, sixteen_bits};
use super::{Picture, has_extension};
use crate::array;
use crate::file::{self, FileError};

/// The value of the TIFF tag `ExtraSamples` for an alpha channel that does not scale the colours,
/// TIFF 6.0, page 31.
const UNASSOCIATED_ALPHA: u16 = 2;
/// The extensions of files that can hold colours, an alpha channel or several pages, for messages.
const NOT_ARRAYS: &str = ".png, .tif or .tiff, because a .npy file holds one grey picture";

/// The type of the samples in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampleType {
    /// Unsigned integers with 8 bits.
    Eight,
    /// Unsigned integers with 16 bits.
    Sixteen,
    /// Floating-point numbers of single precision.
    Single,
    /// Floating-point numbers of double precision.
    Double,
    /// Other integers, which only `.npy` files hold. Their white is not known.
    OtherInteger,
}

/// A picture with the type of its samples and its alpha channel.
#[derive(Clone, Debug, PartialEq)]
pub struct TypedPicture {
    /// The size and the channels without alpha. White is 1 for integers with 8 or 16 bits; other
    /// samples are unchanged.
    pub picture: Picture,
    /// The opacity of each pixel: 1 is opaque.
    pub alpha: Option<Vec<f64>>,
    /// The type of the samples.
    pub samples: SampleType,
}

impl SampleType {
    /// Returns the largest integer, which is white; `None` for types that do not determine it.
    #[must_use]
    pub const fn white(self) -> Option<f64> {
        match self {
            Self::Eight => Some(255.0),
            Self::Sixteen => Some(65535.0),
            Self::Single | Self::Double | Self::OtherInteger => None,
        }
    }
}

/// Writes pictures with their types of samples and alpha channels, whole or not at all. The
/// extension of `path` decides about the format. Integers are clamped to `[0, 1]`, where 1 is
/// white, and rounded to the nearest level.
///
/// - `.png`: one picture, with 16 bits unless it has 8.
/// - `.tif`, `.tiff`: any pictures. A grey picture with an alpha channel becomes RGB.
/// - `.npy`: one grey picture.
///
/// Other integers become numbers of double precision.
///
/// # Errors
/// When a value is not finite, the extension is another, or the file cannot be written.
///
/// # Panics
/// When there are no pages, or the planes of a page are not one or three of its size.
pub fn write_typed(path: &Path, pages: &[TypedPicture]) -> Result<(), FileError> {
    assert!(!pages.is_empty(), "at least one page");
    for page in pages {
        check_finite(path, page)?;
    }
    let is_tiff = has_extension(path, "tif") || has_extension(path, "tiff");
    let bytes = match pages {
        [page] if has_extension(path, "npy") => return write_array(path, page),
        [page] if has_extension(path, "png") => encode_png(page),
        _ if has_extension(path, "npy") => {
            return Err(FileError::Extension(path.into(), NOT_ARRAYS));
        }
        _ if has_extension(path, "png") => {
            return Err(FileError::OnePage(path.into(), pages.len()));
        }
        _ if is_tiff => encode_tiff(pages)
            .map_err(|error| FileError::Write(path.into(), io::Error::other(error)))?,
        _ => return Err(FileError::Extension(path.into(), EXTENSIONS)),
    };
    file::write(path, &bytes)
}

/// Refuses numbers that are not finite, or not in the precision in which they are written.
fn check_finite(path: &Path, page: &TypedPicture) -> Result<(), FileError> {
    let picture = &page.picture;
    let is_finite = |value: f64| match page.samples {
        SampleType::Single => single(value).is_finite(),
        _ => value.is_finite(),
    };
    for (channel, plane) in picture.channels.iter().chain(&page.alpha).enumerate() {
        if let Some(position) = plane.iter().position(|value| !is_finite(*value)) {
            let index = super::index(position, picture.width, channel, picture.channels.len());
            return Err(FileError::NotFinite(path.into(), index, plane[position]));
        }
    }
    Ok(())
}

/// Returns the samples pixel by pixel, with alpha at the end of each pixel.
fn interleaved(page: &TypedPicture) -> impl Iterator<Item = f64> {
    let planes: Vec<&[f64]> = (page.picture.channels.iter().chain(&page.alpha))
        .map(Vec::as_slice)
        .collect();
    let len = page.picture.width * page.picture.height;
    let per_pixel = planes.len();
    (0..len * per_pixel).map(move |index| planes[index % per_pixel][index / per_pixel])
}

fn encode_png(page: &TypedPicture) -> Vec<u8> {
    use ExtendedColorType as E;
    let [width, height] = check(
        page.picture.width,
        page.picture.height,
        &page.picture.planes(),
    );
    let is_eight = page.samples == SampleType::Eight;
    let colour = match (page.picture.channels.len(), &page.alpha, is_eight) {
        (1, None, true) => E::L8,
        (1, None, false) => E::L16,
        (1, Some(_), true) => E::La8,
        (1, Some(_), false) => E::La16,
        (_, None, true) => E::Rgb8,
        (_, None, false) => E::Rgb16,
        (_, Some(_), true) => E::Rgba8,
        (_, Some(_), false) => E::Rgba16,
    };
    let samples: Vec<u8> = match is_eight {
        true => interleaved(page).map(eight_bits).collect(),
        false => interleaved(page)
            .flat_map(|value| sixteen_bits(value).to_ne_bytes())
            .collect(),
    };
    let mut bytes = Vec::new();
    PngEncoder::new(&mut bytes)
        .write_image(&samples, width, height, colour)
        .expect("a picture of checked size, written to memory");
    bytes
}

fn write_array(path: &Path, page: &TypedPicture) -> Result<(), FileError> {
    let ([plane], None) = (&page.picture.channels[..], &page.alpha) else {
        return Err(FileError::Extension(path.into(), NOT_ARRAYS));
    };
    let shape = [page.picture.height, page.picture.width];
    let values = plane.iter().copied();
    let (descr, entries): (_, Vec<u8>) = match page.samples {
        SampleType::Eight => ("|u1", values.map(eight_bits).collect()),
        SampleType::Sixteen => {
            let entries = values.flat_map(|value| sixteen_bits(value).to_le_bytes());
            ("<u2", entries.collect())
        }
        SampleType::Single => {
            let entries = values.flat_map(|value| single(value).to_le_bytes());
            ("<f4", entries.collect())
        }
        SampleType::Double | SampleType::OtherInteger => {
            ("<f8", values.flat_map(f64::to_le_bytes).collect())
        }
    };
    array::write_encoded(path, &shape, descr, &entries)
}

/// Encodes a TIFF file; fails when it would be larger than TIFF files can be.
fn encode_tiff(pages: &[TypedPicture]) -> TiffResult<Vec<u8>> {
    let mut bytes = Cursor::new(Vec::new());
    let mut encoder = TiffEncoder::new(&mut bytes)?;
    for page in pages {
        match page.samples {
            SampleType::Eight => {
                let samples = interleaved_for_tiff(page).map(eight_bits).collect();
                add_page::<_, Gray8, RGB8, RGBA8, u8>(&mut encoder, page, samples)?;
            }
            SampleType::Sixteen => {
                let samples = interleaved_for_tiff(page).map(sixteen_bits).collect();
                add_page::<_, Gray16, RGB16, RGBA16, u16>(&mut encoder, page, samples)?;
            }
            SampleType::Single => {
                let samples = interleaved_for_tiff(page).map(single).collect();
                add_page::<_, Gray32Float, RGB32Float, RGBA32Float, f32>(
                    &mut encoder,
                    page,
                    samples,
                )?;
            }
            SampleType::Double | SampleType::OtherInteger => {
                let samples = interleaved_for_tiff(page).collect();
                add_page::<_, Gray64Float, RGB64Float, RGBA64Float, f64>(
                    &mut encoder,
                    page,
                    samples,
                )?;
            }
        }
    }
    Ok(bytes.into_inner())
}

/// Returns the samples pixel by pixel. Grey is repeated for red, green and blue if there is alpha,
/// because TIFF decoders, ours included, rarely read grey pictures with alpha.
fn interleaved_for_tiff(page: &TypedPicture) -> Box<dyn Iterator<Item = f64> + '_> {
    match (&page.picture.channels[..], &page.alpha) {
        ([grey], Some(alpha)) => {
            let pixels = grey.iter().zip(alpha);
            Box::new(pixels.flat_map(|(grey, alpha)| [*grey, *grey, *grey, *alpha]))
        }
        _ => Box::new(interleaved(page)),
    }
}

/// Adds a page with samples of one type. The three colour types are those of grey pictures, of RGB
/// pictures, and of pictures with alpha.
fn add_page<W, Grey, Rgb, Rgba, T>(
    encoder: &mut TiffEncoder<W>,
    page: &TypedPicture,
    samples: Vec<T>,
) -> TiffResult<()>
where
    W: Write + Seek,
    Grey: ColorType<Inner = T>,
    Rgb: ColorType<Inner = T>,
    Rgba: ColorType<Inner = T>,
    [T]: TiffValue,
{
    let picture = &page.picture;
    let [width, height] = check(picture.width, picture.height, &picture.planes());
    if page.alpha.is_some() {
        let mut image = encoder.new_image::<Rgba>(width, height)?;
        let kinds = [UNASSOCIATED_ALPHA];
        (image.encoder()).write_tag(Tag::ExtraSamples, &kinds[..])?;
        return image.write_data(&samples);
    }
    match picture.channels.len() {
        1 => encoder.write_image::<Grey>(width, height, &samples),
        _ => encoder.write_image::<Rgb>(width, height, &samples),
    }
}
