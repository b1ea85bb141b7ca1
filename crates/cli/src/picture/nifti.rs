//! NIfTI files (`.nii`, `.nii.gz`): each slice is a page.

mod header;

use std::io::{Read, Write};
use std::path::Path;
use std::sync::Arc;

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;

pub use header::Header;

use super::decode::damaged;
use super::{Metadata, Picture, SampleType, TypedPicture, has_extension};
use crate::file::{self, FileError, Nan};

/// Largest number of bytes of a file, compressed or not.
const MAX_BYTES: u64 = 1 << 32;
/// A format that volumes can be converted to, for messages.
const WANTED: &str = "a .nii file of one kind of real numbers, or a .npy file";

/// Whether a name is that of a NIfTI file.
pub(super) fn is_name(path: &Path) -> bool {
    let stem = path.file_stem().map(Path::new);
    has_extension(path, "nii")
        || has_extension(path, "gz") && stem.is_some_and(|stem| has_extension(stem, "nii"))
}

/// The type of the numbers in a NIfTI file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NumberType {
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    U64,
    I64,
    F32,
    F64,
}

impl NumberType {
    const ALL: [(Self, i16, usize); 10] = [
        (Self::U8, 2, 1),
        (Self::I8, 256, 1),
        (Self::U16, 512, 2),
        (Self::I16, 4, 2),
        (Self::U32, 768, 4),
        (Self::I32, 8, 4),
        (Self::U64, 1280, 8),
        (Self::I64, 1024, 8),
        (Self::F32, 16, 4),
        (Self::F64, 64, 8),
    ];

    /// Returns the type with a code of `nifti1.h`.
    fn from_code(code: i16) -> Option<Self> {
        let mut known = Self::ALL.into_iter().filter(|(_, known, _)| *known == code);
        known.next().map(|(kind, ..)| kind)
    }

    fn row(self) -> (Self, i16, usize) {
        let mut rows = Self::ALL.into_iter().filter(|(kind, ..)| *kind == self);
        rows.next().unwrap_or(Self::ALL[0])
    }

    fn code(self) -> i16 {
        self.row().1
    }

    /// The number of bytes.
    fn size(self) -> usize {
        self.row().2
    }

    /// Decodes the bytes of a number, the least significant first.
    fn decode(self, bytes: [u8; 8]) -> f64 {
        let [a, b, c, d, ..] = bytes;
        match self {
            Self::U8 => a.into(),
            Self::I8 => i8::from_le_bytes([a]).into(),
            Self::U16 => u16::from_le_bytes([a, b]).into(),
            Self::I16 => i16::from_le_bytes([a, b]).into(),
            Self::U32 => u32::from_le_bytes([a, b, c, d]).into(),
            Self::I32 => i32::from_le_bytes([a, b, c, d]).into(),
            Self::U64 => u64::from_le_bytes(bytes) as f64,
            Self::I64 => i64::from_le_bytes(bytes) as f64,
            Self::F32 => f32::from_le_bytes([a, b, c, d]).into(),
            Self::F64 => f64::from_le_bytes(bytes),
        }
    }

    /// Encodes a number, the least significant byte first, and rounds it to the nearest one that
    /// the type has.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "conversions saturate"
    )]
    fn encode(self, value: f64) -> [u8; 8] {
        let mut bytes = [0; 8];
        let whole = value.round();
        match self {
            Self::U8 => bytes[..1].copy_from_slice(&(whole as u8).to_le_bytes()),
            Self::I8 => bytes[..1].copy_from_slice(&(whole as i8).to_le_bytes()),
            Self::U16 => bytes[..2].copy_from_slice(&(whole as u16).to_le_bytes()),
            Self::I16 => bytes[..2].copy_from_slice(&(whole as i16).to_le_bytes()),
            Self::U32 => bytes[..4].copy_from_slice(&(whole as u32).to_le_bytes()),
            Self::I32 => bytes[..4].copy_from_slice(&(whole as i32).to_le_bytes()),
            Self::U64 => bytes = (whole as u64).to_le_bytes(),
            Self::I64 => bytes = (whole as i64).to_le_bytes(),
            Self::F32 => bytes[..4].copy_from_slice(&(value as f32).to_le_bytes()),
            Self::F64 => bytes = value.to_le_bytes(),
        }
        bytes
    }

    /// Returns the type of samples that these numbers are, if they are not scaled.
    fn samples(self, is_unscaled: bool) -> SampleType {
        match self {
            Self::U8 if is_unscaled => SampleType::Eight,
            Self::U16 if is_unscaled => SampleType::Sixteen,
            Self::F32 => SampleType::Single,
            Self::F64 => SampleType::Double,
            _ => SampleType::OtherInteger,
        }
    }

    /// Returns the type for samples that were not read from a NIfTI file.
    fn of_samples(samples: SampleType) -> Self {
        match samples {
            SampleType::Eight => Self::U8,
            SampleType::Sixteen => Self::U16,
            SampleType::Single => Self::F32,
            SampleType::Double | SampleType::OtherInteger => Self::F64,
        }
    }
}

/// Reads all slices of a file. White is 1 for unsigned integers with 8 or 16 bits that the file
/// does not scale; other values are those that the file defines.
pub(super) fn read(path: &Path, nan: Nan) -> Result<Vec<TypedPicture>, FileError> {
    let bytes = uncompressed(path, file::read(path, MAX_BYTES)?)?;
    let (header, data) = Header::read(path, &bytes)?;
    let [width, height, num_slices] = header.stack();
    let len = width * height;
    let size = header.numbers.size();
    let Some(data) = data.get(..len * num_slices * size) else {
        let reason = format!(
            "{} numbers of {size} bytes do not fit in {} bytes",
            len * num_slices,
            data.len()
        );
        return Err(damaged(path, reason));
    };
    let samples = header.numbers.samples(header.is_unscaled());
    let white = samples.white().unwrap_or(1.0);
    let value = |number: &[u8]| {
        let mut bytes = [0; 8];
        bytes[..size].copy_from_slice(number);
        if header.is_big_endian() {
            bytes[..size].reverse();
        }
        (header.slope * header.numbers.decode(bytes) + header.offset) / white
    };
    let kept = Arc::new(header.clone());
    let mut pages = Vec::with_capacity(num_slices);
    for (slice, numbers) in data.chunks_exact(len * size).enumerate() {
        let plane: Vec<f64> = numbers.chunks_exact(size).map(value).collect();
        if let Some(position) = nan.first_refused(&plane) {
            let index = vec![position % width, position / width, slice];
            return Err(FileError::NotFinite(path.into(), index, plane[position]));
        }
        pages.push(TypedPicture {
            metadata: Metadata::Nifti(Arc::clone(&kept)),
            ..TypedPicture::new(Picture::new(width, height, vec![plane]), samples)
        });
    }
    Ok(pages)
}

/// Encodes pages of the same size, each of them grey, with the header that they were read with. The
/// caller has checked the pages.
pub(super) fn encode(path: &Path, pages: &[TypedPicture]) -> Result<Vec<u8>, FileError> {
    let first = &pages[0];
    let [width, height] = [first.picture.width, first.picture.height];
    let shape = [width, height, pages.len()];
    let header = match &first.metadata {
        Metadata::Nifti(header) if header.stack() == shape => {
            let header = Header::clone(header);
            let is_same = header.numbers.samples(header.is_unscaled()) == first.samples;
            match is_same {
                true => header,
                false => header.with_numbers(NumberType::of_samples(first.samples)),
            }
        }
        _ => {
            let header = Header::new(shape, NumberType::of_samples(first.samples));
            header.ok_or_else(|| {
                FileError::TooLarge(
                    path.into(),
                    format!(
                        "{width} x {height} x {} voxels, but NIfTI-1 has at most 32767 along \
                         each axis",
                        pages.len()
                    ),
                )
            })?
        }
    };
    let white = first.samples.white().unwrap_or(1.0);
    let size = header.numbers.size();
    let mut bytes = header.bytes().to_vec();
    bytes.reserve(size * width * height * pages.len());
    for value in pages.iter().flat_map(|page| &page.picture.channels[0]) {
        let mut number = header
            .numbers
            .encode((value * white - header.offset) / header.slope);
        if header.is_big_endian() {
            number[..size].reverse();
        }
        bytes.extend(&number[..size]);
    }
    if has_extension(path, "nii") {
        return Ok(bytes);
    }
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    let compressed = encoder.write_all(&bytes).and_then(|()| encoder.finish());
    compressed.map_err(|source| FileError::Write(path.into(), source))
}

/// Undoes the compression of a file, whatever its name.
fn uncompressed(path: &Path, bytes: Vec<u8>) -> Result<Vec<u8>, FileError> {
    if !bytes.starts_with(b"\x1f\x8b") {
        return Ok(bytes);
    }
    let mut all = Vec::new();
    let mut decoder = MultiGzDecoder::new(&bytes[..]).take(MAX_BYTES + 1);
    match decoder.read_to_end(&mut all) {
        Err(error) => Err(damaged(path, error.to_string())),
        Ok(len) if len as u64 > MAX_BYTES => {
            let reason = format!("more than {MAX_BYTES} bytes when it is uncompressed");
            Err(FileError::TooLarge(path.into(), reason))
        }
        Ok(_) => Ok(all),
    }
}

/// Returns the error of a file that cannot be read.
fn unsupported(path: &Path, reason: impl Into<String>) -> FileError {
    FileError::Unsupported(path.into(), reason.into(), WANTED)
}
