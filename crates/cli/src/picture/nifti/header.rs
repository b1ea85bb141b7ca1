//! The header of a NIfTI file: the type of its numbers, their scale, and the shape.
//!
//! NIfTI-1 has a header of 348 bytes, NIfTI-2 one of 540 bytes with wider fields. The first field
//! is this size, which shows the byte order, too.

use std::path::Path;

use super::super::decode::damaged;
use super::{NumberType, unsupported};
use crate::file::FileError;

/// The header of a NIfTI file with everything before the numbers, extensions included.
#[derive(Clone, Debug, PartialEq)]
pub struct Header {
    /// All bytes before the numbers.
    bytes: Vec<u8>,
    layout: HeaderLayout,
    is_big_endian: bool,
    /// The number of voxels along each axis: columns, rows, slices, and further axes.
    pub(super) shape: Vec<usize>,
    /// The type of the numbers.
    pub(super) numbers: NumberType,
    /// A value is this factor times a number of the file plus [`Self::offset`].
    pub(super) slope: f64,
    pub(super) offset: f64,
}

/// Where the fields of a header are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct HeaderLayout {
    size: usize,
    magic: usize,
    /// Eight extents, the first of which is their number.
    dim: usize,
    datatype: usize,
    bits: usize,
    start: usize,
    slope: usize,
    /// Whether extents and numbers have 64 bits instead of 16 and 32.
    is_wide: bool,
}

/// NIfTI-1, as in `nifti1.h`.
const FIRST: HeaderLayout = HeaderLayout {
    size: 348,
    magic: 344,
    dim: 40,
    datatype: 70,
    bits: 72,
    start: 108,
    slope: 112,
    is_wide: false,
};
/// NIfTI-2, as in `nifti2.h`.
const SECOND: HeaderLayout = HeaderLayout {
    size: 540,
    magic: 4,
    dim: 16,
    datatype: 12,
    bits: 14,
    start: 168,
    slope: 176,
    is_wide: true,
};
/// The position of the sizes of voxels in a NIfTI-1 header.
const VOXEL_SIZES: usize = 76;
/// Largest number of voxels, so that no product overflows.
const MAX_VOXELS: usize = 1 << 32;

impl Header {
    /// Reads the header at the beginning of a file, and returns it with the numbers; `path` is for
    /// messages.
    pub(super) fn read<'a>(path: &Path, bytes: &'a [u8]) -> Result<(Self, &'a [u8]), FileError> {
        if bytes.is_empty() {
            return Err(damaged(path, "it is empty"));
        }
        let Some(size) = bytes.first_chunk::<4>() else {
            return Err(damaged(path, "its header is cut short"));
        };
        let sizes = [u32::from_le_bytes(*size), u32::from_be_bytes(*size)];
        let known = [FIRST, SECOND].into_iter().find_map(|layout| {
            let order = sizes
                .iter()
                .position(|size| *size as usize == layout.size)?;
            Some((layout, order == 1))
        });
        let Some((layout, is_big_endian)) = known else {
            let reason = "its content is not that of a NIfTI file";
            return Err(unsupported(path, reason));
        };
        if bytes.len() < layout.size {
            return Err(damaged(path, "its header is cut short"));
        }
        match &bytes[layout.magic..layout.magic + 3] {
            b"n+1" | b"n+2" => {}
            b"ni1" | b"ni2" => {
                let reason = "it is the header of a pair of files, .hdr and .img";
                return Err(unsupported(path, reason));
            }
            _ => return Err(damaged(path, "its header has no magic number")),
        }
        let fields = Fields {
            bytes,
            layout,
            is_big_endian,
        };
        let shape = fields.shape();
        let shape = shape.ok_or_else(|| damaged(path, "its header has an impossible shape"))?;
        let numbers = NumberType::from_code(fields.small(layout.datatype)).ok_or_else(|| {
            let code = fields.small(layout.datatype);
            unsupported(path, format!("its numbers have the NIfTI type {code}"))
        })?;
        let start = fields.start().filter(|start| *start >= layout.size);
        let Some((before, data)) = start.and_then(|start| bytes.split_at_checked(start)) else {
            return Err(damaged(path, "its numbers are missing"));
        };
        let [slope, offset] = [0, 1].map(|index| fields.scale(index));
        // A slope of zero means that numbers are not scaled, `nifti1.h`; some programs write NaN.
        let (slope, offset) = match slope.is_nan() || slope == 0.0 {
            true => (1.0, 0.0),
            false => (slope, offset),
        };
        if !(slope.is_finite() && offset.is_finite()) {
            let reason = format!("its values are scaled by {slope} and moved by {offset}");
            return Err(damaged(path, reason));
        }
        let header = Self {
            bytes: before.to_vec(),
            layout,
            is_big_endian,
            shape,
            numbers,
            slope,
            offset,
        };
        Ok((header, data))
    }

    /// Creates the header of a stack whose voxels have edges of length 1.
    pub(super) fn new(shape: [usize; 3], numbers: NumberType) -> Option<Self> {
        let mut bytes = vec![0; FIRST.size + 4];
        bytes[..4].copy_from_slice(&348_u32.to_le_bytes());
        bytes[FIRST.magic..FIRST.magic + 4].copy_from_slice(b"n+1\0");
        for axis in 0..4 {
            let at = VOXEL_SIZES + 4 * axis;
            bytes[at..at + 4].copy_from_slice(&1_f32.to_le_bytes());
        }
        bytes[FIRST.start..FIRST.start + 4].copy_from_slice(&352_f32.to_le_bytes());
        let mut extents = [1_i16; 8];
        extents[0] = 3;
        for (extent, given) in extents[1..].iter_mut().zip(shape) {
            *extent = i16::try_from(given).ok()?;
        }
        for (index, extent) in extents.iter().enumerate() {
            let at = FIRST.dim + 2 * index;
            bytes[at..at + 2].copy_from_slice(&extent.to_le_bytes());
        }
        let header = Self {
            bytes,
            layout: FIRST,
            is_big_endian: false,
            shape: shape.to_vec(),
            numbers,
            slope: 1.0,
            offset: 0.0,
        };
        Some(header.with_numbers(numbers))
    }

    /// Returns the same header for numbers of another type, which are not scaled.
    pub(super) fn with_numbers(mut self, numbers: NumberType) -> Self {
        self.numbers = numbers;
        (self.slope, self.offset) = (1.0, 0.0);
        let layout = self.layout;
        let bits = 8 * i16::try_from(numbers.size()).unwrap_or(0);
        for (at, value) in [(layout.datatype, numbers.code()), (layout.bits, bits)] {
            self.put(at, value.to_le_bytes());
        }
        for (index, value) in [1.0, 0.0].into_iter().enumerate() {
            match layout.is_wide {
                true => self.put(layout.slope + 8 * index, f64::to_le_bytes(value)),
                #[expect(clippy::cast_possible_truncation, reason = "0 and 1 are exact")]
                false => self.put(layout.slope + 4 * index, (value as f32).to_le_bytes()),
            }
        }
        self
    }

    fn put<const N: usize>(&mut self, at: usize, mut bytes: [u8; N]) {
        if self.is_big_endian {
            bytes.reverse();
        }
        self.bytes[at..at + N].copy_from_slice(&bytes);
    }

    /// All bytes before the numbers.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Whether numbers have their most significant byte first.
    pub(super) fn is_big_endian(&self) -> bool {
        self.is_big_endian
    }

    /// Whether values are the numbers of the file.
    #[expect(clippy::float_cmp, reason = "any other number scales values")]
    pub(super) fn is_unscaled(&self) -> bool {
        [self.slope, self.offset] == [1.0, 0.0]
    }

    /// The numbers of columns and rows of a slice, and the number of slices.
    pub(super) fn stack(&self) -> [usize; 3] {
        let extent = |axis: usize| self.shape.get(axis).copied().unwrap_or(1);
        [extent(0), extent(1), self.shape.iter().skip(2).product()]
    }
}

/// The fields of a header that is long enough.
struct Fields<'a> {
    bytes: &'a [u8],
    layout: HeaderLayout,
    is_big_endian: bool,
}

impl Fields<'_> {
    fn get<const N: usize>(&self, at: usize) -> [u8; N] {
        let mut field = [0; N];
        field.copy_from_slice(&self.bytes[at..at + N]);
        if self.is_big_endian {
            field.reverse();
        }
        field
    }

    fn small(&self, at: usize) -> i16 {
        i16::from_le_bytes(self.get(at))
    }

    fn extent(&self, index: usize) -> Option<usize> {
        let dim = self.layout.dim;
        match self.layout.is_wide {
            true => usize::try_from(i64::from_le_bytes(self.get(dim + 8 * index))).ok(),
            false => usize::try_from(self.small(dim + 2 * index)).ok(),
        }
    }

    /// Returns the shape, if it has voxels.
    fn shape(&self) -> Option<Vec<usize>> {
        let num_axes = self
            .extent(0)
            .filter(|num_axes| (1..=7).contains(num_axes))?;
        let shape: Option<Vec<usize>> = (1..=num_axes).map(|axis| self.extent(axis)).collect();
        let shape = shape?;
        let product = shape
            .iter()
            .try_fold(1_usize, |all, n| all.checked_mul(*n))?;
        (1..=MAX_VOXELS).contains(&product).then_some(shape)
    }

    /// Returns the position of the first number.
    fn start(&self) -> Option<usize> {
        let at = self.layout.start;
        if self.layout.is_wide {
            return usize::try_from(i64::from_le_bytes(self.get(at))).ok();
        }
        let start = f64::from(f32::from_le_bytes(self.get(at)));
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a whole number in range"
        )]
        (0.0..1e9).contains(&start).then_some(start as usize)
    }

    /// Returns the slope or the offset of values.
    fn scale(&self, index: usize) -> f64 {
        let at = self.layout.slope;
        match self.layout.is_wide {
            true => f64::from_le_bytes(self.get(at + 8 * index)),
            false => f32::from_le_bytes(self.get(at + 4 * index)).into(),
        }
    }
}
