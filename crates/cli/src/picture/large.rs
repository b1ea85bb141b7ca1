//! Pictures that are too large for planes of double precision. Their samples are held in single
//! precision, which represents integers with 16 bits exactly.

use std::fs::File;
use std::io::{self, BufReader};
use std::path::Path;

use image::{ImageDecoder, ImageReader, Limits};
use tiff::ColorType;
use tiff::decoder::{Decoder, DecodingResult};

use super::decode::{explain, explain_tiff, unsupported};
use super::samples::{Raster, Samples, encode_png, encode_tiff, single};
use super::{Metadata, SampleType, TiffTags, arrays, has_extension, is_tiff};
use crate::array;
use crate::file::{self, FileError, Nan};

/// A large picture of one channel or three.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LargePicture {
    pub(crate) width: usize,
    pub(crate) height: usize,
    /// The planes, in the numbers of the file.
    pub(crate) channels: Vec<Vec<f32>>,
    pub(crate) samples: SampleType,
    pub(crate) metadata: Metadata,
}

/// Returns width, height and the number of channels of a file with one grey or RGB picture, without
/// reading its samples; `None` for other files, also if they cannot be read.
pub(crate) fn size(path: &Path) -> Option<[usize; 3]> {
    if arrays::is_name(path) {
        return match array::shape(path).ok()?[..] {
            [height, width] => Some([width, height, 1]),
            _ => None,
        };
    }
    if is_tiff(path) {
        let mut decoder = open_tiff(path).ok()?;
        let channels = match decoder.colortype().ok()? {
            ColorType::Gray(8 | 16 | 32 | 64) => 1,
            ColorType::RGB(8 | 16 | 32) => 3,
            _ => return None,
        };
        let (width, height) = decoder.dimensions().ok()?;
        let is_only = !decoder.more_images();
        return is_only.then_some([width as usize, height as usize, channels]);
    }
    if !has_extension(path, "png") {
        return None;
    }
    let decoder = ImageReader::open(path).ok()?.into_decoder().ok()?;
    let (width, height) = decoder.dimensions();
    let channels = match decoder.color_type() {
        image::ColorType::L8 | image::ColorType::L16 => 1,
        image::ColorType::Rgb8 | image::ColorType::Rgb16 => 3,
        _ => return None,
    };
    Some([width as usize, height as usize, channels])
}

/// Reads a file whose [`size`] is known.
pub(crate) fn read(path: &Path) -> Result<LargePicture, FileError> {
    let picture = if arrays::is_name(path) {
        read_array(path)?
    } else if is_tiff(path) {
        read_tiff(path)?
    } else {
        read_png(path)?
    };
    for (channel, plane) in picture.channels.iter().enumerate() {
        if let Some(position) = plane.iter().position(|value| !value.is_finite()) {
            let num_channels = picture.channels.len();
            let index = super::index(position, picture.width, channel, num_channels);
            let value = plane[position].into();
            return Err(FileError::NotFinite(path.into(), index, value));
        }
    }
    Ok(picture)
}

/// Refuses a file that cannot hold a large picture of so many channels, before it is computed.
pub(crate) fn check_output(path: &Path, num_channels: usize) -> Result<(), FileError> {
    let is_array = arrays::is_name(path) && num_channels == 1;
    match is_array || is_tiff(path) || has_extension(path, "png") {
        true => Ok(()),
        false => {
            let needed = ".tif, .tiff, .png or, for grey pictures, .npy or .npz, because the \
                          picture is large";
            Err(FileError::Extension(path.into(), needed))
        }
    }
}

fn open_tiff(path: &Path) -> Result<Decoder<BufReader<File>>, FileError> {
    let file = File::open(path).map_err(|source| FileError::read(path, source))?;
    let decoder = Decoder::new(BufReader::new(file)).map_err(|error| explain_tiff(path, error))?;
    Ok(decoder.with_limits(tiff::decoder::Limits::unlimited()))
}

fn read_tiff(path: &Path) -> Result<LargePicture, FileError> {
    let explain = |error| explain_tiff(path, error);
    let mut decoder = open_tiff(path)?;
    let (width, height) = decoder.dimensions().map_err(explain)?;
    let num_channels = match decoder.colortype().map_err(explain)? {
        ColorType::RGB(_) => 3,
        _ => 1,
    };
    let tags = TiffTags::read(&mut decoder, true);
    let (channels, samples) = match decoder.read_image().map_err(explain)? {
        DecodingResult::U8(values) => (planes(&values, num_channels, f32::from), SampleType::Eight),
        DecodingResult::U16(values) => (
            planes(&values, num_channels, f32::from),
            SampleType::Sixteen,
        ),
        DecodingResult::F32(values) => (planes(&values, num_channels, |v| v), SampleType::Single),
        DecodingResult::F64(values) => (planes(&values, num_channels, single), SampleType::Double),
        _ => return Err(unsupported(path, "it holds integers of 32 or 64 bits")),
    };
    Ok(LargePicture {
        width: width as usize,
        height: height as usize,
        channels,
        samples,
        metadata: Metadata::Tiff(tags),
    })
}

fn read_png(path: &Path) -> Result<LargePicture, FileError> {
    let explain = |error| explain(path, error);
    let mut reader = ImageReader::open(path).map_err(|source| FileError::read(path, source))?;
    reader.limits(Limits::no_limits());
    let decoder = reader.into_decoder().map_err(explain)?;
    let (width, height) = decoder.dimensions();
    let colour = decoder.color_type();
    let num_channels = usize::from(colour.channel_count());
    let total = usize::try_from(decoder.total_bytes()).unwrap_or(usize::MAX);
    let mut bytes = vec![0; total];
    decoder.read_image(&mut bytes).map_err(explain)?;
    let (channels, samples) = match colour.bytes_per_pixel() / colour.channel_count() {
        1 => (planes(&bytes, num_channels, f32::from), SampleType::Eight),
        _ => {
            let (values, _) = bytes.as_chunks::<2>();
            let level = |bytes| f32::from(u16::from_ne_bytes(bytes));
            (planes(values, num_channels, level), SampleType::Sixteen)
        }
    };
    Ok(LargePicture {
        width: width as usize,
        height: height as usize,
        channels,
        samples,
        metadata: Metadata::None,
    })
}

fn read_array(path: &Path) -> Result<LargePicture, FileError> {
    let mut pages = arrays::read(path, arrays::Unit::White, Nan::Refused)?;
    let page = pages.remove(0);
    let white = page.samples.white().unwrap_or(1.0);
    let levels = |plane: &Vec<f64>| plane.iter().map(|value| single(value * white)).collect();
    Ok(LargePicture {
        width: page.picture.width,
        height: page.picture.height,
        channels: page.picture.channels.iter().map(levels).collect(),
        samples: page.samples,
        metadata: page.metadata,
    })
}

/// Splits interleaved samples.
fn planes<T: Copy>(samples: &[T], num_channels: usize, value: impl Fn(T) -> f32) -> Vec<Vec<f32>> {
    let plane = |channel: usize| {
        let samples = samples.iter().skip(channel).step_by(num_channels);
        samples.map(|sample| value(*sample)).collect()
    };
    (0..num_channels).map(plane).collect()
}

/// Writes a picture, whole or not at all: to a `.tif`, `.tiff`, `.png`, `.npy` or `.npz` file.
/// Integers are rounded to the nearest level, and clamped. PNG files need integers.
pub(crate) fn write(path: &Path, picture: LargePicture) -> Result<(), FileError> {
    check_output(path, picture.channels.len())?;
    let LargePicture {
        width,
        height,
        channels,
        samples,
        metadata,
    } = picture;
    let num_channels = channels.len();
    let sample_type = samples;
    let values = move |index: usize| channels[index % num_channels][index / num_channels];
    let indices = 0..width * height * num_channels;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "conversions saturate"
    )]
    let samples = match samples {
        SampleType::Eight => Samples::Eight(indices.map(|i| values(i).round() as u8).collect()),
        SampleType::Sixteen => {
            Samples::Sixteen(indices.map(|i| values(i).round() as u16).collect())
        }
        SampleType::Single => Samples::Single(indices.map(values).collect()),
        _ => Samples::Double(indices.map(|i| values(i).into()).collect()),
    };
    if arrays::is_name(path) && num_channels == 1 {
        return arrays::write(path, 1, [height, width], &samples, &metadata);
    }
    let too_large = |error: String| FileError::Write(path.into(), io::Error::other(error));
    let size = match [width, height].map(u32::try_from) {
        [Ok(width), Ok(height)] => [width, height],
        _ => return Err(too_large("more than 2^32 rows or columns".into())),
    };
    let page = Raster {
        size,
        per_pixel: num_channels,
        samples,
        metadata: &metadata,
    };
    let bytes = if has_extension(path, "png") {
        encode_png(&page).map_err(|error| too_large(error.to_string()))?
    } else {
        let num_bytes = width * height * num_channels * sample_type.size();
        encode_tiff(num_bytes, std::iter::once(page))
            .map_err(|error| too_large(error.to_string()))?
    };
    file::write(path, &bytes)
}
