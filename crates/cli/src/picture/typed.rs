//! Pictures that are written as they were read: with the type of their samples and with their
//! alpha channel.

use std::io;
use std::path::Path;

use image::codecs::png::PngEncoder;
use image::{ExtendedColorType, ImageEncoder as _};

use super::encode::{EXTENSIONS, check, eight_bits, single, sixteen_bits};
use super::samples::{Raster, Samples, encode_tiff};
use super::{Depth, Metadata, Picture, arrays, has_extension, nifti};
use crate::file::{self, FileError};

/// The extensions of files that can hold colours, an alpha channel or several pages, for messages.
const NOT_ARRAYS: &str = ".png, .tif or .tiff, because arrays and NIfTI files hold grey pictures";

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
    /// Other integers, which only arrays and NIfTI files hold. Their white is not known.
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
    /// What the file says about the picture besides.
    pub metadata: Metadata,
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

    /// Returns the type of a result in a file named `output`, if its input has this type.
    pub(crate) fn for_output(self, depth: Option<Depth>, output: &Path) -> Self {
        match (depth, self) {
            (Some(Depth::Eight), _) => Self::Eight,
            (Some(Depth::Sixteen), _) => Self::Sixteen,
            (None, Self::Eight | Self::Sixteen) => self,
            (None, _) if has_extension(output, "png") => Self::Sixteen,
            (None, _) => self,
        }
    }

    /// The number of bytes per sample in a TIFF file.
    pub(super) const fn size(self) -> usize {
        match self {
            Self::Eight => 1,
            Self::Sixteen => 2,
            Self::Single => 4,
            Self::Double | Self::OtherInteger => 8,
        }
    }
}

/// Writes pictures with their types of samples and alpha channels, whole or not at all. The
/// extension of `path` decides about the format. Integers are clamped to `[0, 1]`, where 1 is
/// white, and rounded to the nearest level.
///
/// - `.png`: one picture, with 16 bits unless it has 8.
/// - `.tif`, `.tiff`: any pictures. A grey picture with an alpha channel becomes RGB. If the file
///   has more than 4 GB, its positions have 64 bits (BigTIFF).
/// - `.npy`, `.npz`: grey pictures of the same size and type. Several of them, or those of a stack,
///   are an array with three axes.
/// - `.nii`, `.nii.gz`: grey pictures of the same size and type, the slices of a volume. Integers
///   that were read from a NIfTI file keep their type and scale.
///
/// Other integers become numbers of double precision elsewhere. The [`Metadata`] of the pictures
/// are written to files of the format that they are from.
///
/// # Errors
/// When a value is not finite, the extension is another, the file cannot hold these pictures, or it
/// cannot be written.
///
/// # Panics
/// When there are no pages, or the planes of a page are not one or three of its size.
pub fn write_typed(path: &Path, pages: &[TypedPicture]) -> Result<(), FileError> {
    assert!(!pages.is_empty(), "at least one page");
    check_output(path, pages)?;
    for page in pages {
        check_finite(path, page)?;
    }
    let is_tiff = has_extension(path, "tif") || has_extension(path, "tiff");
    let bytes = match pages {
        _ if arrays::is_name(path) => {
            let values = pages.iter().flat_map(|page| &page.picture.channels[0]);
            let samples = samples_of(&pages[0], values.copied());
            let size = [pages[0].picture.height, pages[0].picture.width];
            return arrays::write(path, pages.len(), size, &samples, &pages[0].metadata);
        }
        _ if nifti::is_name(path) => nifti::encode(path, pages)?,
        _ if is_tiff => encode_tiff(pages.iter().map(num_bytes).sum(), pages.iter().map(raster))
            .map_err(|error| FileError::Write(path.into(), io::Error::other(error)))?,
        _ => encode_png(&pages[0]),
    };
    file::write(path, &bytes)
}

/// Refuses a file that cannot hold these pages, before they are computed: only their sizes, types
/// and channels matter.
pub(crate) fn check_output(path: &Path, pages: &[TypedPicture]) -> Result<(), FileError> {
    if arrays::is_name(path) || nifti::is_name(path) {
        return check_alike(path, pages);
    }
    match has_extension(path, "png") {
        true if pages.len() == 1 => Ok(()),
        true => Err(FileError::OnePage(path.into(), pages.len())),
        false if has_extension(path, "tif") || has_extension(path, "tiff") => Ok(()),
        false => Err(FileError::Extension(path.into(), EXTENSIONS)),
    }
}

/// Refuses pages that are not grey, or that differ in size or in the type of their samples.
fn check_alike(path: &Path, pages: &[TypedPicture]) -> Result<(), FileError> {
    let first = &pages[0];
    for (index, page) in pages.iter().enumerate() {
        if page.picture.channels.len() != 1 || page.alpha.is_some() {
            return Err(FileError::Extension(path.into(), NOT_ARRAYS));
        }
        let size = |page: &TypedPicture| [page.picture.width, page.picture.height];
        let ([width, height], [other_width, other_height]) = (size(first), size(page));
        let reason = if [width, height] != [other_width, other_height] {
            format!("{other_width} x {other_height} pixels, page 1 {width} x {height}")
        } else if first.samples != page.samples {
            format!(
                "samples of type {:?}, page 1 {:?}",
                page.samples, first.samples
            )
        } else {
            continue;
        };
        let reason = format!("page {} has {reason}", index + 1);
        return Err(FileError::Different(path.into(), reason));
    }
    Ok(())
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

/// Returns the samples in their type, pixel by pixel.
fn samples_of(page: &TypedPicture, values: impl Iterator<Item = f64>) -> Samples {
    match page.samples {
        SampleType::Eight => Samples::Eight(values.map(eight_bits).collect()),
        SampleType::Sixteen => Samples::Sixteen(values.map(sixteen_bits).collect()),
        SampleType::Single => Samples::Single(values.map(single).collect()),
        SampleType::Double | SampleType::OtherInteger => Samples::Double(values.collect()),
    }
}

/// Returns the page of a TIFF file. Grey is repeated for red, green and blue if there is alpha,
/// because TIFF decoders, ours included, rarely read grey pictures with alpha.
fn raster(page: &TypedPicture) -> Raster<'_> {
    let picture = &page.picture;
    let size = check(picture.width, picture.height, &picture.planes());
    let (per_pixel, samples) = match (&picture.channels[..], &page.alpha) {
        ([grey], Some(alpha)) => {
            let pixels = grey.iter().zip(alpha);
            let values = pixels.flat_map(|(grey, alpha)| [*grey, *grey, *grey, *alpha]);
            (4, samples_of(page, values))
        }
        (channels, alpha) => {
            let per_pixel = channels.len() + usize::from(alpha.is_some());
            (per_pixel, samples_of(page, interleaved(page)))
        }
    };
    Raster {
        size,
        per_pixel,
        samples,
        metadata: &page.metadata,
    }
}

/// The number of bytes of the samples of a page of a TIFF file.
fn num_bytes(page: &TypedPicture) -> usize {
    let per_pixel = match (page.picture.channels.len(), &page.alpha) {
        (_, Some(_)) => 4,
        (channels, None) => channels,
    };
    page.picture.width * page.picture.height * per_pixel * page.samples.size()
}
