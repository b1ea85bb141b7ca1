//! Datasets of an HDF5 file: shape, type, place and filters.

use super::chunks::{self, Chunks};
use super::objects::{DATASPACE, DATATYPE, FILTERS, LAYOUT, Message, Objects, UNDEFINED};
use super::{Cursor, Defect, Header, Result, lzf};

/// Classes of types.
const INTEGER: u8 = 0;
const FLOAT: u8 = 1;
const COMPOUND: u8 = 6;
/// The properties of floating-point numbers of IEEE 754: bit offset, precision, position and size
/// of the exponent, position and size of the mantissa, and bias.
const SINGLE: [u64; 7] = [0, 32, 23, 8, 0, 23, 127];
const DOUBLE: [u64; 7] = [0, 64, 52, 11, 0, 52, 1023];
/// The names of the parts of complex numbers, the first of them those of h5py.
const PARTS: [[&[u8]; 2]; 3] = [[b"r", b"i"], [b"real", b"imag"], [b"re", b"im"]];

/// A dataset without its entries.
#[derive(Debug)]
pub(super) struct Dataset {
    pub(super) header: Header,
    place: Place,
    filters: Vec<Filter>,
}

/// Where the entries are.
#[derive(Debug)]
enum Place {
    /// In one piece, from this position on.
    Contiguous(u64),
    /// In the description of the dataset.
    Compact(Vec<u8>),
    /// In chunks of equal shape.
    Chunked(Chunks),
}

/// A filter, undone when a chunk is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Filter {
    Deflate,
    Lzf,
    /// The first bytes of all numbers come first. A number has this many bytes.
    Shuffle(usize),
    Fletcher32,
}

impl Dataset {
    /// Reads the description of the dataset at a position.
    pub(super) fn read(objects: &Objects<'_>, address: u64) -> Result<Self> {
        let messages = objects.messages(address)?;
        let find = |kind| messages.iter().find(|message| message.kind == kind);
        let needed = |kind| {
            let found = find(kind).ok_or_else(|| Defect::damaged("a dataset is incomplete"))?;
            own_body(found)
        };
        let shape = shape(needed(DATASPACE)?)?;
        let (kind, size, is_big_endian) = entry(&mut needed(DATATYPE)?)?;
        let len = shape.iter().try_fold(1_usize, |len, n| len.checked_mul(*n));
        let len = len.filter(|len| len.checked_mul(size).is_some());
        let header = Header {
            kind,
            size,
            is_big_endian,
            is_fortran: false,
            len: len.ok_or_else(|| Defect::damaged("a dataset has an impossible shape"))?,
            shape,
        };
        let filters = match find(FILTERS) {
            Some(message) => filters(own_body(message)?)?,
            None => Vec::new(),
        };
        let place = place(needed(LAYOUT)?, &header, !filters.is_empty())?;
        Ok(Self {
            header,
            place,
            filters,
        })
    }

    /// Reads all entries, in C order.
    pub(super) fn entries(&self, objects: &Objects<'_>) -> Result<Vec<u8>> {
        let num_bytes = self.header.len * self.header.size;
        if num_bytes == 0 {
            return Ok(Vec::new());
        }
        match &self.place {
            Place::Contiguous(UNDEFINED) => Err(Defect::damaged("its entries were never written")),
            Place::Contiguous(address) => Ok(objects.from(*address)?.take(num_bytes)?.to_vec()),
            Place::Compact(bytes) => Ok(Cursor(bytes).take(num_bytes)?.to_vec()),
            Place::Chunked(of_file) => chunks::read(objects, &self.header, of_file, &self.filters),
        }
    }
}

/// Returns the content of a message that is not stored elsewhere.
fn own_body<'a>(message: &Message<'a>) -> Result<Cursor<'a>> {
    match message.is_shared {
        false => Ok(message.body),
        true => Err(Defect::unsupported(
            "the type of a dataset has a name of its own",
        )),
    }
}

/// Reads the number of entries along each axis.
fn shape(mut body: Cursor<'_>) -> Result<Vec<usize>> {
    let (version, num_axes, _flags) = (body.byte()?, body.byte()?, body.byte()?);
    match version {
        1 => body.take(5)?,
        2 => body.take(1)?,
        _ => {
            return Err(Defect::unsupported(
                "the shape of a dataset has an unknown form",
            ));
        }
    };
    (0..num_axes).map(|_| body.length(8)).collect()
}

/// Reads a type: its kind and size as in the header of an array, and whether the most significant
/// byte comes first.
fn entry(body: &mut Cursor<'_>) -> Result<(u8, usize, bool)> {
    let (class, bits) = (body.byte()?, body.take(3)?);
    let size = body.length(4)?;
    let is_big_endian = bits[0] & 1 != 0;
    match class & 0xF {
        INTEGER => {
            let (offset, precision) = (body.length(2)?, body.length(2)?);
            if offset != 0 || precision != 8 * size || ![1, 2, 4, 8].contains(&size) {
                return Err(Defect::unsupported("integers that do not fill their bytes"));
            }
            let kind = if bits[0] & 0x8 == 0 { b'u' } else { b'i' };
            Ok((kind, size, is_big_endian))
        }
        FLOAT => {
            let mut properties = [0; 7];
            for (value, len) in properties.iter_mut().zip([2, 2, 1, 1, 1, 1, 4]) {
                *value = body.number(len)?;
            }
            // Bit 6 is set for numbers of VAX machines.
            let is_known = matches!((size, properties), (4, SINGLE) | (8, DOUBLE));
            match is_known && bits[0] & 0x40 == 0 {
                true => Ok((b'f', size, is_big_endian)),
                false => Err(Defect::unsupported(
                    "floating-point numbers that have neither single nor double precision",
                )),
            }
        }
        COMPOUND => {
            let version = class >> 4;
            let num_members = u16::from_le_bytes([bits[0], bits[1]]);
            complex(body, version, num_members, size)
        }
        class => Err(Defect::unsupported(format!(
            "entries that are not numbers (HDF5's class {class})"
        ))),
    }
}

/// Reads a compound type that consists of real and imaginary part.
fn complex(
    body: &mut Cursor<'_>,
    version: u8,
    num_members: u16,
    size: usize,
) -> Result<(u8, usize, bool)> {
    let other = || Defect::unsupported("entries of several parts that are not complex numbers");
    if num_members != 2 || !matches!(version, 1..=5) {
        return Err(other());
    }
    let mut names = [&[][..]; 2];
    let mut parts = [(0, 0, false); 2];
    for member in 0..2 {
        names[member] = body.text()?;
        if version < 3 {
            body.take((names[member].len() + 1).next_multiple_of(8) - names[member].len() - 1)?;
        }
        // Later versions store positions in as few bytes as the size needs.
        let offset = match version {
            3.. => body.length(1 + (size.max(1).ilog2() / 8) as usize)?,
            _ => body.length(4)?,
        };
        body.take(if version == 1 { 28 } else { 0 })?;
        if body.0.first().is_none_or(|class| class & 0xF != FLOAT) {
            return Err(other());
        }
        parts[member] = entry(body)?;
        if offset != member * parts[0].1 {
            return Err(other());
        }
    }
    let [real, imaginary] = parts;
    match real == imaginary && size == 2 * real.1 && PARTS.contains(&names) {
        true => Ok((b'c', size, real.2)),
        false => Err(other()),
    }
}

/// Reads the filters in the order in which they were applied.
fn filters(mut body: Cursor<'_>) -> Result<Vec<Filter>> {
    let (version, num) = (body.byte()?, body.byte()?);
    body.take(match version {
        1 => 6,
        _ => 0,
    })?;
    let mut filters = Vec::new();
    for _ in 0..num {
        let number = body.number(2)?;
        let has_name = version == 1 || number >= 256;
        let name_len = if has_name { body.length(2)? } else { 0 };
        let (_flags, num_values) = (body.number(2)?, body.length(2)?);
        let name = String::from_utf8_lossy(body.take(name_len)?).into_owned();
        let mut values = Cursor(body.take(4 * num_values)?);
        if version == 1 && !num_values.is_multiple_of(2) {
            body.take(4)?;
        }
        filters.push(match number {
            1 => Filter::Deflate,
            2 => match values.length(4)? {
                0 => return Err(Defect::damaged("numbers of no bytes are shuffled")),
                size => Filter::Shuffle(size),
            },
            3 => Filter::Fletcher32,
            lzf::NUMBER => Filter::Lzf,
            _ => {
                let name = name.trim_end_matches('\0');
                let reason = format!("it is compressed by filter {number} {name}");
                return Err(Defect::unsupported(reason.trim_end()));
            }
        });
    }
    Ok(filters)
}

/// Reads where the entries are.
fn place(mut body: Cursor<'_>, header: &Header, is_filtered: bool) -> Result<Place> {
    let (version, class) = (body.byte()?, body.byte()?);
    let unknown = || {
        let reason = format!("a dataset is laid out in an unknown way ({version}, {class})");
        Err(Defect::unsupported(reason))
    };
    match (version, class) {
        (3..=5, 0) => {
            let len = body.length(2)?;
            Ok(Place::Compact(body.take(len)?.to_vec()))
        }
        (3..=5, 1) => Ok(Place::Contiguous(body.number(8)?)),
        (3, 2) => Ok(Place::Chunked(Chunks::of_tree(body, header)?)),
        (4 | 5, 2) => Ok(Place::Chunked(Chunks::of_index(body, header, is_filtered)?)),
        _ => unknown(),
    }
}
