//! Samples of all pixels in the type of a file, and PNG and TIFF files made of them.

use std::io::Cursor;

use image::codecs::png::PngEncoder;
use image::{ExtendedColorType, ImageEncoder as _, ImageResult};
use tiff::TiffResult;
use tiff::encoder::colortype::{
    ColorType, Gray8, Gray16, Gray32Float, Gray64Float, RGB8, RGB16, RGB32Float, RGB64Float, RGBA8,
    RGBA16, RGBA32Float, RGBA64Float,
};
use tiff::encoder::{TiffEncoder, TiffKind, TiffKindBig, TiffKindStandard, TiffValue};
use tiff::tags::Tag;

use super::Metadata;

/// The value of the TIFF tag `ExtraSamples` for an alpha channel that does not scale the colours,
/// TIFF 6.0, page 31.
const UNASSOCIATED_ALPHA: u16 = 2;
/// Largest number of bytes of samples in a TIFF file with positions of 32 bits. The rest is for
/// tags.
const MAX_STANDARD: usize = 4_000_000_000;

/// Samples of one type.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Samples {
    Eight(Vec<u8>),
    Sixteen(Vec<u16>),
    Single(Vec<f32>),
    Double(Vec<f64>),
}

impl Samples {
    /// Returns the type in the header of a `.npy` file, and the samples with the least significant
    /// byte first.
    pub(super) fn to_array(&self) -> (&'static str, Vec<u8>) {
        match self {
            Self::Eight(samples) => ("|u1", samples.clone()),
            Self::Sixteen(samples) => (
                "<u2",
                samples.iter().flat_map(|s| s.to_le_bytes()).collect(),
            ),
            Self::Single(samples) => (
                "<f4",
                samples.iter().flat_map(|s| s.to_le_bytes()).collect(),
            ),
            Self::Double(samples) => (
                "<f8",
                samples.iter().flat_map(|s| s.to_le_bytes()).collect(),
            ),
        }
    }
}

/// A PNG file, or a page of a TIFF file.
pub(super) struct Raster<'a> {
    /// The numbers of columns and rows.
    pub(super) size: [u32; 2],
    /// One for grey, three for RGB, and one more for alpha. TIFF pages are never grey with alpha.
    pub(super) per_pixel: usize,
    /// The samples, pixel by pixel.
    pub(super) samples: Samples,
    pub(super) metadata: &'a Metadata,
}

/// Encodes a PNG file, whose samples must be integers.
pub(super) fn encode_png(page: &Raster<'_>) -> ImageResult<Vec<u8>> {
    use ExtendedColorType as E;
    let (samples, colours) = match &page.samples {
        Samples::Eight(samples) => (samples.clone(), [E::L8, E::La8, E::Rgb8, E::Rgba8]),
        Samples::Sixteen(samples) => {
            let samples = samples.iter().flat_map(|sample| sample.to_ne_bytes());
            (samples.collect(), [E::L16, E::La16, E::Rgb16, E::Rgba16])
        }
        Samples::Single(_) | Samples::Double(_) => unreachable!("PNG files hold integers"),
    };
    let ([width, height], colour) = (page.size, colours[page.per_pixel - 1]);
    let mut bytes = Vec::new();
    PngEncoder::new(&mut bytes).write_image(&samples, width, height, colour)?;
    Ok(bytes)
}

/// Encodes a TIFF file whose samples have `num_bytes` bytes. Its positions have 64 bits (BigTIFF)
/// if it is large.
pub(super) fn encode_tiff<'a>(
    num_bytes: usize,
    pages: impl Iterator<Item = Raster<'a>>,
) -> TiffResult<Vec<u8>> {
    let mut bytes = Cursor::new(Vec::with_capacity(num_bytes));
    match num_bytes > MAX_STANDARD {
        false => add_pages::<TiffKindStandard>(TiffEncoder::new(&mut bytes)?, pages)?,
        true => add_pages::<TiffKindBig>(TiffEncoder::new_big(&mut bytes)?, pages)?,
    }
    Ok(bytes.into_inner())
}

type Encoder<'a, K> = TiffEncoder<&'a mut Cursor<Vec<u8>>, K>;

fn add_pages<'a, K: TiffKind>(
    mut encoder: Encoder<'_, K>,
    pages: impl Iterator<Item = Raster<'a>>,
) -> TiffResult<()> {
    let encoder = &mut encoder;
    for page in pages {
        match (&page.samples, page.per_pixel) {
            (Samples::Eight(s), 1) => add::<K, Gray8>(encoder, &page, s)?,
            (Samples::Eight(s), 3) => add::<K, RGB8>(encoder, &page, s)?,
            (Samples::Eight(s), _) => add::<K, RGBA8>(encoder, &page, s)?,
            (Samples::Sixteen(s), 1) => add::<K, Gray16>(encoder, &page, s)?,
            (Samples::Sixteen(s), 3) => add::<K, RGB16>(encoder, &page, s)?,
            (Samples::Sixteen(s), _) => add::<K, RGBA16>(encoder, &page, s)?,
            (Samples::Single(s), 1) => add::<K, Gray32Float>(encoder, &page, s)?,
            (Samples::Single(s), 3) => add::<K, RGB32Float>(encoder, &page, s)?,
            (Samples::Single(s), _) => add::<K, RGBA32Float>(encoder, &page, s)?,
            (Samples::Double(s), 1) => add::<K, Gray64Float>(encoder, &page, s)?,
            (Samples::Double(s), 3) => add::<K, RGB64Float>(encoder, &page, s)?,
            (Samples::Double(s), _) => add::<K, RGBA64Float>(encoder, &page, s)?,
        }
    }
    Ok(())
}

fn add<K: TiffKind, C: ColorType>(
    encoder: &mut Encoder<'_, K>,
    page: &Raster<'_>,
    samples: &[C::Inner],
) -> TiffResult<()>
where
    [C::Inner]: TiffValue,
{
    let [width, height] = page.size;
    let mut image = encoder.new_image::<C>(width, height)?;
    if page.per_pixel == 4 {
        let kinds = [UNASSOCIATED_ALPHA];
        image.encoder().write_tag(Tag::ExtraSamples, &kinds[..])?;
    }
    if let Metadata::Tiff(tags) = page.metadata {
        tags.write(image.encoder())?;
    }
    image.write_data(samples)
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
}
