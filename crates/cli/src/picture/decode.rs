//! Decoding of picture files.

use std::io::{Cursor, ErrorKind::UnexpectedEof};
use std::path::Path;

use image::codecs::png::PngDecoder;
use image::{DynamicImage, ImageDecoder, ImageError, ImageFormat, ImageReader, Limits};
use tiff::TiffError;
use tiff::decoder::{Decoder, DecodingResult};
use tiff::tags::{SampleFormat, Tag};

use super::arrays::{self, Unit};
use super::typed::{SampleType, TypedPicture};
use super::{Colour, Metadata, Picture, TiffTags, index, nifti, pages};
use crate::file::{self, FileError, Nan};

/// Largest number of pixels of a file: a plane of them takes a gigabyte of memory.
const MAX_PIXELS: u64 = 1 << 27;
/// Largest number of bytes of a file, and of its decoded samples.
const MAX_BYTES: u64 = 1 << 30;
/// The message about a file that exceeds the limit.
const MEMORY: &str = "decoding takes more than 2^30 bytes of memory";
/// A format that pictures can be converted to, for messages.
const WANTED: &str = "an 8-bit or 16-bit, grey or RGB, PNG file";

/// Reads a PNG, JPEG, TIFF or PNM file that holds one picture, or a `.npy`, `.npz` or NIfTI file.
/// The content decides about the format of a picture, not the name.
///
/// Pictures are grey or RGB with 8 or 16 bits; TIFF files may have floating-point numbers. Other
/// depths are stretched to these: 1-bit PNG files to 8 bits, PNM files of 1000 levels to 16. An
/// alpha channel is dropped if all pixels are opaque. The numbers of a `.npy` file are grey values;
/// a [signal](super::is_signal) is a picture with one row.
///
/// # Errors
/// When the file cannot be read, is no such picture, is damaged or cut short, has more than one
/// page or more than 2^27 pixels, has transparent pixels, or holds a number that is not finite.
pub fn read(path: &Path, colour: Colour) -> Result<Picture, FileError> {
    let mut pages = read_pages(path, colour)?;
    match (pages.pop(), pages.len()) {
        (Some(picture), 0) => Ok(picture),
        (_, rest) => Err(FileError::Pages(path.into(), rest + 1)),
    }
}

/// Reads all pages of a file, each as a picture: the pages of a TIFF file, the slices of a NIfTI
/// file, the pictures of a `.npy` or `.npz` file with three axes, or the one picture of another
/// file. Pages that a TIFF file declares as smaller copies of others are left out. A page is named
/// like `cells.tif[3]` in messages, counted from 1.
///
/// # Errors
/// As [`read`], for each page. All pages together may have 2^27 pixels.
pub fn read_pages(path: &Path, colour: Colour) -> Result<Vec<Picture>, FileError> {
    pages_of(path, colour, Nan::Refused)
}

/// Does the same as [`read_pages`], where NaN has the given meaning.
pub(crate) fn pages_of(path: &Path, colour: Colour, nan: Nan) -> Result<Vec<Picture>, FileError> {
    let pages = read_stack(path, colour, nan)?;
    Ok(pages.into_iter().map(|page| page.picture).collect())
}

/// Reads all pages of a file like [`read_pages`], with the type of their samples and what the file
/// says about them. The samples of arrays count as floating-point numbers.
pub(crate) fn read_stack(
    path: &Path,
    colour: Colour,
    nan: Nan,
) -> Result<Vec<TypedPicture>, FileError> {
    let is_colour = colour == Colour::Opponent;
    match () {
        () if arrays::is_name(path) && is_colour => arrays::read_colours(path, nan),
        () if arrays::can_be_read(path) => arrays::read(path, Unit::OfArray, nan),
        () if nifti::is_name(path) => nifti::read(path, nan),
        () => decode_pages(path, colour, Alpha::Opaque, nan),
    }
}

/// Reads all pages of a file like [`read_pages`], with the type of their samples, with alpha
/// channels, transparent or not, and with what the file says about them besides. Entries of `.npy`
/// and `.npz` files that are unsigned integers with 8 or 16 bits are divided by 255 or 65535, too.
///
/// # Errors
/// As [`read_pages`], except that pixels may be transparent, and an array must have two or three
/// axes.
pub fn read_typed(path: &Path, colour: Colour) -> Result<Vec<TypedPicture>, FileError> {
    match () {
        () if arrays::can_be_read(path) => arrays::read(path, Unit::White, Nan::Refused),
        () if nifti::is_name(path) => nifti::read(path, Nan::Refused),
        () => decode_pages(path, colour, Alpha::Kept, Nan::Refused),
    }
}

/// The treatment of an alpha channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Alpha {
    /// All pixels must be opaque, and the channel is dropped.
    Opaque,
    /// The channel is kept.
    Kept,
}

/// Decodes all pages of a picture file.
fn decode_pages(
    path: &Path,
    colour: Colour,
    alpha: Alpha,
    nan: Nan,
) -> Result<Vec<TypedPicture>, FileError> {
    let mut bytes = file::read(path, MAX_BYTES)?;
    let format = format(path, &bytes)?;
    if format != ImageFormat::Tiff {
        return Ok(vec![decode(path, &bytes, format, colour, alpha, nan)?]);
    }
    let positions = pages::list(path, &bytes)?;
    let mut pictures = Vec::new();
    let mut num_pixels = 0;
    for (index, position) in positions.iter().enumerate() {
        let page = pages::name_among(path, index, positions.len());
        pages::select(path, &mut bytes, *position)?;
        let picture = decode(&page, &bytes, format, colour, alpha, nan)?;
        num_pixels += (picture.picture.width * picture.picture.height) as u64;
        if num_pixels > MAX_PIXELS {
            let num = positions.len();
            let reason = format!("its {num} pages have more than {MAX_PIXELS} pixels together");
            return Err(too_large(path, reason));
        }
        pictures.push(picture);
    }
    Ok(pictures)
}

/// Decodes the picture in `bytes`, the first page of a TIFF file, and checks its numbers, where NaN
/// has the given meaning; `path` is for messages.
fn decode(
    path: &Path,
    bytes: &[u8],
    format: ImageFormat,
    colour: Colour,
    alpha: Alpha,
    nan: Nan,
) -> Result<TypedPicture, FileError> {
    let decoded = match format {
        ImageFormat::Tiff => decode_grey_floats(path, bytes, colour)?,
        _ => None,
    };
    let mut decoded = match decoded {
        Some(decoded) => decoded,
        None => decode_integers_or_colours(path, bytes, format, colour, alpha)?,
    };
    if format == ImageFormat::Tiff
        && let Ok(mut decoder) = Decoder::new(Cursor::new(bytes))
    {
        let grey = matches!(decoder.colortype(), Ok(tiff::ColorType::Gray(_)));
        let same_channels = grey || colour != Colour::Luminance;
        decoded.metadata = Metadata::Tiff(TiffTags::read(&mut decoder, same_channels));
    }
    let picture = &decoded.picture;
    let channels = picture.channels.len() + usize::from(decoded.alpha.is_some());
    for (channel, plane) in picture.channels.iter().chain(&decoded.alpha).enumerate() {
        if let Some(position) = nan.first_refused(plane) {
            let index = index(position, picture.width, channel, channels);
            return Err(FileError::NotFinite(path.into(), index, plane[position]));
        }
    }
    Ok(decoded)
}

/// Decodes everything but grey floating-point TIFF files.
fn decode_integers_or_colours(
    path: &Path,
    bytes: &[u8],
    format: ImageFormat,
    colour: Colour,
    alpha: Alpha,
) -> Result<TypedPicture, FileError> {
    let explain = |error| explain(path, error);
    match format {
        ImageFormat::Jpeg if !has_jpeg_end(bytes) => {
            return Err(damaged(path, "the end of the JPEG data is missing"));
        }
        ImageFormat::Png => {
            let decoder = PngDecoder::new(Cursor::new(bytes)).map_err(explain)?;
            if decoder.is_apng().map_err(explain)? {
                return Err(unsupported(path, "it is an animation"));
            }
        }
        _ => {}
    }
    let mut cursor = Cursor::new(bytes);
    let mut reader = ImageReader::with_format(&mut cursor, format);
    let mut limits = Limits::default();
    limits.max_alloc = Some(MAX_BYTES);
    reader.limits(limits.clone());
    let decoder = reader.into_decoder().map_err(explain)?;
    let size = check_size(path, decoder.dimensions())?;
    limits.reserve(decoder.total_bytes()).map_err(explain)?;
    let image = DynamicImage::from_decoder(decoder).map_err(explain)?;
    if format == ImageFormat::Pnm && has_more(&cursor) {
        return Err(unsupported(path, "more data follow the first picture"));
    }
    let kind = image.color();
    let samples = match kind.bytes_per_pixel() / kind.channel_count() {
        1 => SampleType::Eight,
        2 => SampleType::Sixteen,
        _ => SampleType::Single,
    };
    let (count, white) = (kind.channel_count().into(), samples.white().unwrap_or(1.0));
    use DynamicImage as D;
    let planes = match &image {
        D::ImageLuma8(image) => planes(image, count, white, colour, alpha),
        D::ImageLumaA8(image) => planes(image, count, white, colour, alpha),
        D::ImageRgb8(image) => planes(image, count, white, colour, alpha),
        D::ImageRgba8(image) => planes(image, count, white, colour, alpha),
        D::ImageLuma16(image) => planes(image, count, white, colour, alpha),
        D::ImageLumaA16(image) => planes(image, count, white, colour, alpha),
        D::ImageRgb16(image) => planes(image, count, white, colour, alpha),
        D::ImageRgba16(image) => planes(image, count, white, colour, alpha),
        D::ImageRgb32F(image) => planes(image, count, white, colour, alpha),
        D::ImageRgba32F(image) => planes(image, count, white, colour, alpha),
        other => return Err(unsupported(path, format!("samples {:?}", other.color()))),
    };
    let Some(planes) = planes else {
        return Err(FileError::Transparent(path.into()));
    };
    Ok(planes.picture(size, samples))
}

/// Whether anything but white space follows the position of a cursor.
fn has_more(cursor: &Cursor<&[u8]>) -> bool {
    let start = usize::try_from(cursor.position()).unwrap_or(usize::MAX);
    let rest = cursor.get_ref().get(start..).unwrap_or_default();
    !rest.iter().all(u8::is_ascii_whitespace)
}

/// Returns the format that the first bytes show.
fn format(path: &Path, bytes: &[u8]) -> Result<ImageFormat, FileError> {
    use ImageFormat::{Jpeg, Png, Pnm, Tiff};
    match image::guess_format(bytes) {
        Ok(format @ (Png | Jpeg | Tiff | Pnm)) => Ok(format),
        // TIFF with positions of 64 bits, which `image` reads but does not recognise
        Err(_) if bytes.starts_with(b"II\x2b\0") || bytes.starts_with(b"MM\0\x2b") => Ok(Tiff),
        Ok(other) => Err(unsupported(path, format!("it holds {other:?} data"))),
        Err(_) if bytes.is_empty() => Err(damaged(path, "it is empty")),
        Err(_) if bytes.starts_with(b"\x89HDF\r\n\x1a\n") => Err(FileError::Unsupported(
            path.into(),
            "it is an HDF5 file of another name".into(),
            "a name that ends in .h5 or .hdf5",
        )),
        Err(_) if bytes.get(128..132) == Some(b"DICM") => Err(FileError::Unsupported(
            path.into(),
            "it is a DICOM file".into(),
            "a .nii file, with the program dcm2niix",
        )),
        Err(_) => Err(unsupported(
            path,
            "its content is not a PNG, JPEG, TIFF or PNM picture",
        )),
    }
}

/// Decodes a grey floating-point TIFF file, which `image` cannot read. Returns `None` for others,
/// unless they hold integers in colour, which `image` would take for floating-point numbers.
fn decode_grey_floats(
    path: &Path,
    bytes: &[u8],
    colour: Colour,
) -> Result<Option<TypedPicture>, FileError> {
    let explain = |error| explain_tiff(path, error);
    let mut decoder = Decoder::new(Cursor::new(bytes)).map_err(explain)?;
    let integers = || unsupported(path, "it holds integers of 32 or 64 bits");
    match decoder.colortype() {
        Ok(tiff::ColorType::Gray(32 | 64)) => {}
        Ok(tiff::ColorType::RGB(32) | tiff::ColorType::RGBA(32)) => {
            let formats = decoder.find_tag_unsigned_vec::<u16>(Tag::SampleFormat);
            let formats = formats.ok().flatten().unwrap_or_default();
            let is_float = formats.contains(&SampleFormat::IEEEFP.to_u16());
            return if is_float { Ok(None) } else { Err(integers()) };
        }
        Ok(tiff::ColorType::Multiband { num_samples, .. }) => {
            let reason = format!("its pixels have {num_samples} channels without colours");
            let wanted = "a file with a page for each channel, such as with \
                          `numpy.moveaxis(a, -1, 0)` and `photometric='minisblack'` in Python";
            return Err(FileError::Unsupported(path.into(), reason, wanted));
        }
        _ => return Ok(None),
    }
    let size = check_size(path, decoder.dimensions().map_err(explain)?)?;
    let mut limits = tiff::decoder::Limits::default();
    limits.decoding_buffer_size = usize::try_from(MAX_BYTES).unwrap_or(usize::MAX);
    limits.intermediate_buffer_size = limits.decoding_buffer_size;
    let mut decoder = decoder.with_limits(limits);
    let alpha = Alpha::Opaque;
    let (planes, samples) = match decoder.read_image().map_err(explain)? {
        DecodingResult::F32(samples) => {
            (planes(&samples, 1, 1.0, colour, alpha), SampleType::Single)
        }
        DecodingResult::F64(samples) => {
            (planes(&samples, 1, 1.0, colour, alpha), SampleType::Double)
        }
        _ => return Err(integers()),
    };
    Ok(planes.map(|planes| planes.picture(size, samples)))
}

/// The planes of a picture.
#[derive(Debug, PartialEq)]
struct Planes {
    channels: Vec<Vec<f64>>,
    alpha: Option<Vec<f64>>,
}

impl Planes {
    fn picture(self, [width, height]: [usize; 2], samples: SampleType) -> TypedPicture {
        TypedPicture {
            alpha: self.alpha,
            ..TypedPicture::new(Picture::new(width, height, self.channels), samples)
        }
    }
}

/// Splits interleaved `samples`, `per_pixel` of them for each pixel, and divides them by `white`.
/// The last of two or four samples is alpha. Returns `None` if all pixels must be opaque, and one
/// is not.
fn planes<T: Copy + Into<f64>>(
    samples: &[T],
    per_pixel: usize,
    white: f64,
    colour: Colour,
    alpha: Alpha,
) -> Option<Planes> {
    let pixels = samples.chunks_exact(per_pixel);
    let plane = |c: usize| -> Vec<f64> { pixels.clone().map(|p| p[c].into() / white).collect() };
    let is_opaque = |pixel: &[T]| pixel[per_pixel - 1].into() >= white;
    let alpha = match (per_pixel.is_multiple_of(2), alpha) {
        (true, Alpha::Kept) => Some(plane(per_pixel - 1)),
        (true, Alpha::Opaque) if !pixels.clone().all(is_opaque) => return None,
        _ => None,
    };
    let channels = match colour {
        _ if per_pixel < 3 => vec![plane(0)],
        Colour::Luminance => {
            let luminance = |pixel: &[T]| {
                let [r, g, b] = [pixel[0].into(), pixel[1].into(), pixel[2].into()];
                (0.299 * r + 0.587 * g + 0.114 * b) / white
            };
            vec![pixels.map(luminance).collect()]
        }
        Colour::Channels | Colour::Opponent => (0..3).map(plane).collect(),
    };
    Some(Planes { channels, alpha })
}

/// Returns width and height, if the picture is neither empty nor too large.
fn check_size(path: &Path, (width, height): (u32, u32)) -> Result<[usize; 2], FileError> {
    let num_pixels = u64::from(width) * u64::from(height);
    if num_pixels == 0 {
        return Err(damaged(path, format!("it has {width} x {height} pixels")));
    }
    if num_pixels > MAX_PIXELS {
        let reason =
            format!("{width} x {height} pixels, but at most {MAX_PIXELS} together are read");
        return Err(too_large(path, reason));
    }
    Ok([width as usize, height as usize])
}

/// Whether the end marker follows the picture data. The decoder fills missing data with grey,
/// without an error.
fn has_jpeg_end(bytes: &[u8]) -> bool {
    let mut at = 2;
    while let Some(&[first, second]) = bytes.get(at..at + 2) {
        at += match (first, second) {
            (0xFF, 0xD9) => return true,
            // An escaped sample, or a marker that stands alone.
            (0xFF, 0x00 | 0x01 | 0xD0..=0xD8) => 2,
            // A segment with a length, which may hold a thumbnail with an end marker of its own.
            (0xFF, 0x02..=0xFE) => match bytes.get(at + 2..at + 4) {
                Some(&[high, low]) => 2 + usize::from(u16::from_be_bytes([high, low])),
                _ => return false,
            },
            _ => 1,
        };
    }
    false
}

/// The reason why a file that ends too early is damaged.
const CUT_SHORT: &str = "its data end too early";

/// Translates an error of the decoder. It reads from memory, so an input or output error means that
/// the data end too early.
pub(super) fn explain(path: &Path, error: ImageError) -> FileError {
    match error {
        ImageError::Limits(_) => too_large(path, MEMORY),
        ImageError::Unsupported(error) => unsupported(path, error.to_string()),
        ImageError::IoError(error) if error.kind() == UnexpectedEof => damaged(path, CUT_SHORT),
        error => damaged(path, error.to_string()),
    }
}

/// Translates an error of the TIFF decoder.
pub(super) fn explain_tiff(path: &Path, error: TiffError) -> FileError {
    match error {
        TiffError::LimitsExceeded => too_large(path, MEMORY),
        TiffError::UnsupportedError(error) => unsupported(path, error.to_string()),
        TiffError::IoError(error) if error.kind() == UnexpectedEof => damaged(path, CUT_SHORT),
        error => damaged(path, error.to_string()),
    }
}

/// Returns the error of a damaged file.
pub(super) fn damaged(path: &Path, reason: impl Into<String>) -> FileError {
    FileError::Damaged(path.into(), reason.into())
}

/// Returns the error of a file that cannot be read.
pub(super) fn unsupported(path: &Path, reason: impl Into<String>) -> FileError {
    FileError::Unsupported(path.into(), reason.into(), WANTED)
}

/// Returns the error of a file that is too large.
fn too_large(path: &Path, reason: impl Into<String>) -> FileError {
    FileError::TooLarge(path.into(), reason.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opaque_alpha_is_dropped_and_colours_are_weighed() {
        let pixels = [10_u8, 20, 30, 255, 40, 50, 60, 255];
        let weigh = |r: f64, g: f64, b: f64| (0.299 * r + 0.587 * g + 0.114 * b) / 255.0;
        let luminance = vec![weigh(10.0, 20.0, 30.0), weigh(40.0, 50.0, 60.0)];
        let planes_of = |pixels: &[u8], colour, alpha| planes(pixels, 4, 255.0, colour, alpha);
        let grey = planes_of(&pixels, Colour::Luminance, Alpha::Opaque).unwrap();
        assert_eq!((grey.channels, grey.alpha), (vec![luminance], None));
        let whole = planes_of(&pixels, Colour::Channels, Alpha::Kept).unwrap();
        assert_eq!(whole.channels.len(), 3);
        assert_eq!(whole.channels[2], [30.0 / 255.0, 60.0 / 255.0]);
        assert_eq!(whole.alpha, Some(vec![1.0, 1.0]));
        let grey = |opacity, alpha| {
            let samples = [1_u16, 65535, 2, opacity];
            planes(&samples, 2, 65535.0, Colour::Channels, alpha)
        };
        let expected = vec![vec![1.0 / 65535.0, 2.0 / 65535.0]];
        assert_eq!(grey(65535, Alpha::Opaque).unwrap().channels, expected);
        assert_eq!(grey(65534, Alpha::Opaque), None);
        let kept = grey(0, Alpha::Kept).unwrap();
        assert_eq!(
            (kept.channels, kept.alpha),
            (expected, Some(vec![1.0, 0.0]))
        );
    }

    #[test]
    fn the_end_of_a_jpeg_is_not_that_of_its_thumbnail() {
        let whole = [
            0xFF, 0xD8, 0xFF, 0xE1, 0, 4, 0xFF, 0xD9, 0xFF, 0xDA, 0, 2, 7, 0xFF, 0, 0xFF, 0xFF,
            0xD9,
        ];
        assert!(has_jpeg_end(&whole));
        for len in 0..whole.len() {
            assert!(!has_jpeg_end(&whole[..len]), "{len}");
        }
    }
}
