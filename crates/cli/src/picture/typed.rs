//! Picture files, written as pictures were read: with the type of their samples and with their
//! alpha channel.

use std::io;
use std::path::Path;

use super::samples::{self, Raster, Samples, eight_bits, encode_tiff, single, sixteen_bits};
use super::{Depth, Metadata, Picture, arrays, has_extension, is_tiff, nifti};
use crate::file::{self, FileError};

/// The extensions of files that can be written, for messages.
const EXTENSIONS: &str = ".png, .tif, .tiff, .npy, .npz, .nii or .nii.gz";

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

impl TypedPicture {
    /// Returns a picture without alpha and metadata.
    pub(crate) const fn new(picture: Picture, samples: SampleType) -> Self {
        Self {
            picture,
            alpha: None,
            samples,
            metadata: Metadata::None,
        }
    }
}

impl From<Depth> for SampleType {
    fn from(depth: Depth) -> Self {
        match depth {
            Depth::Eight => Self::Eight,
            Depth::Sixteen => Self::Sixteen,
        }
    }
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
            (Some(depth), _) => depth.into(),
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

/// Encodes a PNG file: grey if there is one plane, RGB if there are three. Values are clamped to
/// `[0, 1]` and rounded to the nearest level; NaN becomes black.
///
/// # Panics
/// When the planes are not one or three of `width * height` values, or PNG cannot have the size: 1
/// to 2^31 - 1.
#[must_use]
pub fn encode_png(width: usize, height: usize, planes: &[&[f64]], depth: Depth) -> Vec<u8> {
    let picture = Picture::new(width, height, owned(planes));
    png(&TypedPicture::new(picture, depth.into()))
}

fn owned(planes: &[&[f64]]) -> Vec<Vec<f64>> {
    planes.iter().map(|plane| plane.to_vec()).collect()
}

/// Writes a picture as [`write_pages`] writes several.
///
/// # Errors
/// As [`write_typed`].
///
/// # Panics
/// As [`write_typed`].
pub fn write(
    path: &Path,
    width: usize,
    height: usize,
    planes: &[&[f64]],
    depth: Depth,
) -> Result<(), FileError> {
    write_pages(path, &[Picture::new(width, height, owned(planes))], depth)
}

/// Writes pictures as [`write_typed`] does: with this many bits per sample to a PNG file, with 16
/// bits if they are in colour, and otherwise as numbers of single precision.
///
/// # Errors
/// As [`write_typed`].
///
/// # Panics
/// As [`write_typed`].
pub fn write_pages(path: &Path, pages: &[Picture], depth: Depth) -> Result<(), FileError> {
    let is_png = has_extension(path, "png");
    let typed = |page: &Picture| {
        let samples = match page.channels.len() {
            _ if is_png => depth.into(),
            1 => SampleType::Single,
            _ => SampleType::Sixteen,
        };
        TypedPicture::new(page.clone(), samples)
    };
    write_typed(path, &pages.iter().map(typed).collect::<Vec<_>>())
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
    let bytes = match pages {
        _ if arrays::is_name(path) => {
            let values = pages.iter().flat_map(|page| &page.picture.channels[0]);
            let samples = samples_of(pages[0].samples, values.copied());
            let size = [pages[0].picture.height, pages[0].picture.width];
            return arrays::write(path, pages.len(), size, &samples, &pages[0].metadata);
        }
        _ if nifti::is_name(path) => nifti::encode(path, pages)?,
        _ if is_tiff(path) => {
            encode_tiff(pages.iter().map(num_bytes).sum(), pages.iter().map(raster))
                .map_err(|error| FileError::Write(path.into(), io::Error::other(error)))?
        }
        _ => png(&pages[0]),
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
        false if is_tiff(path) => Ok(()),
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

/// Encodes a PNG file, with 16 bits per sample unless the picture has 8.
fn png(page: &TypedPicture) -> Vec<u8> {
    let samples = match page.samples {
        SampleType::Eight => SampleType::Eight,
        _ => SampleType::Sixteen,
    };
    let raster = Raster {
        size: check(&page.picture),
        per_pixel: page.picture.channels.len() + usize::from(page.alpha.is_some()),
        samples: samples_of(samples, interleaved(page)),
        metadata: &page.metadata,
    };
    samples::encode_png(&raster).expect("a picture of checked size, written to memory")
}

/// Returns the samples in their type, pixel by pixel.
fn samples_of(samples: SampleType, values: impl Iterator<Item = f64>) -> Samples {
    match samples {
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
    let size = check(picture);
    let (per_pixel, samples) = match (&picture.channels[..], &page.alpha) {
        ([grey], Some(alpha)) => {
            let pixels = grey.iter().zip(alpha);
            let values = pixels.flat_map(|(grey, alpha)| [*grey, *grey, *grey, *alpha]);
            (4, samples_of(page.samples, values))
        }
        (channels, alpha) => {
            let per_pixel = channels.len() + usize::from(alpha.is_some());
            (per_pixel, samples_of(page.samples, interleaved(page)))
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

/// Returns width and height, after the checks of [`encode_png`].
fn check(picture: &Picture) -> [u32; 2] {
    let Picture {
        width,
        height,
        channels,
    } = picture;
    assert!(matches!(channels.len(), 1 | 3), "one plane or three");
    let len = width.checked_mul(*height);
    let fits = channels.iter().all(|plane| Some(plane.len()) == len);
    assert!(fits, "planes of width * height values");
    [*width, *height].map(|extent| match i32::try_from(extent) {
        Ok(extent @ 1..) => extent.unsigned_abs(),
        _ => panic!("{extent} pixels in a row or column: a file can have 1 to 2^31 - 1"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
