//! Chunks of a dataset: where they are, and what they hold.

use std::borrow::Cow;
use std::io::Read as _;

use flate2::read::ZlibDecoder;

use super::dataset::Filter;
use super::objects::{Objects, UNDEFINED};
use super::{Cursor, Defect, Header, Result, lzf};
use crate::array::multi_index;

/// Deflate makes data at most this many times smaller, so a file that promises more is damaged.
const MAX_EXPANSION: usize = 1100;

/// The shape of chunks, and the index of their places.
#[derive(Debug)]
pub(super) struct Chunks {
    shape: Vec<usize>,
    index: Index,
}

/// The kinds of index.
#[derive(Debug)]
enum Index {
    /// A tree at this position.
    Tree(u64),
    /// One chunk at this position, with its number of bytes and the filters that were left out.
    Single(u64, Option<(usize, u64)>),
    /// All chunks one after the other, from this position on.
    Implicit(u64),
    /// An array of fixed length at this position.
    Array(u64),
}

/// A chunk in the file.
struct Chunk<'a> {
    /// The number of the chunk in C order.
    number: usize,
    bytes: &'a [u8],
    /// The filters that were left out, bit by bit.
    left_out: u64,
}

impl Chunks {
    /// Reads the third version of the layout.
    pub(super) fn of_tree(mut body: Cursor<'_>, header: &Header) -> Result<Self> {
        let num_axes = usize::from(body.byte()?);
        let tree = body.number(8)?;
        Self::new(&mut body, num_axes, 4, header, |_| Ok(Index::Tree(tree)))
    }

    /// Reads the fourth or fifth version of the layout.
    pub(super) fn of_index(
        mut body: Cursor<'_>,
        header: &Header,
        is_filtered: bool,
    ) -> Result<Self> {
        let (flags, num_axes) = (body.byte()?, usize::from(body.byte()?));
        let len = usize::from(body.byte()?);
        if !(1..=8).contains(&len) {
            return Err(Defect::damaged("a dataset has chunks of unknown size"));
        }
        Self::new(&mut body, num_axes, len, header, |body| {
            Ok(match body.byte()? {
                1 => {
                    let about = match is_filtered && flags & 0x2 != 0 {
                        true => Some((body.length(8)?, body.number(4)?)),
                        false => None,
                    };
                    Index::Single(body.number(8)?, about)
                }
                2 => Index::Implicit(body.number(8)?),
                3 => {
                    body.byte()?;
                    Index::Array(body.number(8)?)
                }
                kind => {
                    let reason = format!(
                        "the chunks of a dataset that can grow have an index of kind {kind}"
                    );
                    return Err(Defect::unsupported(reason));
                }
            })
        })
    }

    /// Reads the shape of chunks, whose last number is the size of an entry, and the index.
    fn new<'a>(
        body: &mut Cursor<'a>,
        num_axes: usize,
        len: usize,
        header: &Header,
        index: impl FnOnce(&mut Cursor<'a>) -> Result<Index>,
    ) -> Result<Self> {
        let mut shape = Vec::new();
        for _ in 0..num_axes {
            shape.push(body.length(len)?);
        }
        let size = shape.pop();
        if size != Some(header.size) || shape.len() != header.shape.len() || shape.contains(&0) {
            return Err(Defect::damaged("a dataset does not fit its chunks"));
        }
        let index = index(body)?;
        Ok(Self { shape, index })
    }
}

/// Reads all entries of a dataset in C order.
pub(super) fn read(
    objects: &Objects<'_>,
    header: &Header,
    chunks: &Chunks,
    filters: &[Filter],
) -> Result<Vec<u8>> {
    let promised = |lens: &[usize]| {
        let product = lens
            .iter()
            .try_fold(header.size, |all, n| all.checked_mul(*n));
        let max = objects.len().saturating_mul(MAX_EXPANSION);
        let too_many = || Defect::damaged("a dataset promises more than the file can hold");
        product.filter(|num| *num <= max).ok_or_else(too_many)
    };
    let num_bytes = promised(&header.shape)?;
    let chunk_bytes = promised(&chunks.shape)?;
    let axes = header.shape.iter().zip(&chunks.shape);
    let grid: Vec<usize> = axes
        .map(|(len, of_chunk)| len.div_ceil(*of_chunk))
        .collect();
    let num_chunks: usize = grid.iter().product();
    let mut entries = vec![0; num_bytes];
    let mut is_read = vec![false; num_chunks];
    let found = find(objects, chunks, &grid, chunk_bytes, !filters.is_empty())?;
    for chunk in found {
        let first = is_read.get_mut(chunk.number).filter(|is_read| !**is_read);
        let Some(is_read) = first else {
            return Err(Defect::damaged("a chunk is twice in the file"));
        };
        *is_read = true;
        let decoded = undo(filters, &chunk, chunk_bytes)?;
        if decoded.len() != chunk_bytes {
            let reason = format!("a chunk of {chunk_bytes} bytes has {}", decoded.len());
            return Err(Defect::damaged(reason));
        }
        let place = multi_index(chunk.number, &grid);
        copy(&decoded, &mut entries, header, &chunks.shape, &place);
    }
    match is_read.iter().filter(|is_read| !**is_read).count() {
        0 => Ok(entries),
        num => {
            let reason = format!("{num} of {num_chunks} chunks were never written");
            Err(Defect::damaged(reason))
        }
    }
}

/// Lists the chunks that the file has.
fn find<'a>(
    objects: &Objects<'a>,
    chunks: &Chunks,
    grid: &[usize],
    chunk_bytes: usize,
    is_filtered: bool,
) -> Result<Vec<Chunk<'a>>> {
    let chunk = |number, address, len, left_out| -> Result<Chunk<'a>> {
        Ok(Chunk {
            number,
            bytes: objects.from(address)?.take(len)?,
            left_out,
        })
    };
    match &chunks.index {
        Index::Tree(root) => {
            let key_len = 8 * (grid.len() + 2);
            let leaves = objects.tree_leaves(*root, 1, key_len)?;
            let chunk = |leaf: super::objects::Leaf<'a>| {
                let mut key = leaf.key;
                let (len, left_out) = (key.length(4)?, key.number(4)?);
                let mut number = 0;
                for (num, of_chunk) in grid.iter().zip(&chunks.shape) {
                    let start = key.length(8)?;
                    if !start.is_multiple_of(*of_chunk) || start / of_chunk >= *num {
                        return Err(Defect::damaged("a chunk is outside its dataset"));
                    }
                    number = number * num + start / of_chunk;
                }
                chunk(number, leaf.child, len, left_out)
            };
            leaves.into_iter().map(chunk).collect()
        }
        Index::Single(UNDEFINED, _) | Index::Implicit(UNDEFINED) | Index::Array(UNDEFINED) => {
            Ok(Vec::new())
        }
        Index::Single(address, about) => {
            let (len, left_out) = about.unwrap_or((chunk_bytes, 0));
            Ok(vec![chunk(0, *address, len, left_out)?])
        }
        Index::Implicit(address) => {
            let num_chunks: usize = grid.iter().product();
            let mut all = objects.from(*address)?;
            let chunk = |number| {
                Ok(Chunk {
                    number,
                    bytes: all.take(chunk_bytes)?,
                    left_out: 0,
                })
            };
            (0..num_chunks).map(chunk).collect()
        }
        Index::Array(address) => {
            let mut found = Vec::new();
            for (number, mut entry) in array(objects, *address, grid)?.into_iter().enumerate() {
                let address = entry.number(8)?;
                if address == UNDEFINED {
                    continue;
                }
                let (len, left_out) = match is_filtered {
                    false => (chunk_bytes, 0),
                    true => {
                        let len = entry.0.len().saturating_sub(4).min(8);
                        (entry.length(len)?, entry.number(4)?)
                    }
                };
                found.push(chunk(number, address, len, left_out)?);
            }
            Ok(found)
        }
    }
}

/// Returns the entries of an array of fixed length, page by page.
fn array<'a>(objects: &Objects<'a>, address: u64, grid: &[usize]) -> Result<Vec<Cursor<'a>>> {
    let mut head = objects.from(address)?;
    head.signature(b"FAHD")?;
    let (_version, _client) = (head.byte()?, head.byte()?);
    let (size, page_bits) = (usize::from(head.byte()?), head.byte()?);
    let num_entries = head.length(8)?;
    let is_right = num_entries == grid.iter().product::<usize>();
    if !is_right || size == 0 || page_bits >= 32 || num_entries > objects.len() / size {
        return Err(Defect::damaged("the list of chunks has the wrong length"));
    }
    let mut block = objects.from(head.number(8)?)?;
    block.signature(b"FADB")?;
    block.take(10)?;
    let page_len = 1_usize << page_bits;
    let mut entries = Vec::new();
    if num_entries <= page_len {
        for _ in 0..num_entries {
            entries.push(Cursor(block.take(size)?));
        }
        return Ok(entries);
    }
    // One bit per page says whether it was written; a checksum follows here and after each page.
    let num_pages = num_entries.div_ceil(page_len);
    let written = block.take(num_pages.div_ceil(8))?;
    block.take(4)?;
    for page in 0..num_pages {
        if written[page / 8] & (0x80 >> (page % 8)) == 0 {
            return Err(Defect::damaged("some chunks were never written"));
        }
        for _ in 0..page_len.min(num_entries - page * page_len) {
            entries.push(Cursor(block.take(size)?));
        }
        block.take(4)?;
    }
    Ok(entries)
}

/// Undoes the filters of a chunk, the last one first. The result may have another length than it
/// should.
fn undo<'a>(filters: &[Filter], chunk: &Chunk<'a>, chunk_bytes: usize) -> Result<Cow<'a, [u8]>> {
    let mut bytes = Cow::Borrowed(chunk.bytes);
    for (index, filter) in filters.iter().enumerate().rev() {
        if index < 32 && chunk.left_out & (1 << index) != 0 {
            continue;
        }
        bytes = match filter {
            Filter::Deflate => {
                let mut inflated = Vec::new();
                // A checksum of the filter before may follow.
                let max = chunk_bytes as u64 + 5;
                ZlibDecoder::new(&bytes[..])
                    .take(max)
                    .read_to_end(&mut inflated)
                    .map_err(|error| Defect::damaged(error.to_string()))?;
                Cow::Owned(inflated)
            }
            // A checksum of the filter before may follow.
            Filter::Lzf => Cow::Owned(lzf::decompress(&bytes, chunk_bytes + 4)?),
            Filter::Shuffle(size) => {
                let num = bytes.len() / size;
                let mut ordered = bytes.to_vec();
                for (position, byte) in bytes[..num * size].iter().enumerate() {
                    ordered[(position % num) * size + position / num] = *byte;
                }
                Cow::Owned(ordered)
            }
            Filter::Fletcher32 => Cow::Owned(without_checksum(&bytes)?.to_vec()),
        };
    }
    Ok(bytes)
}

/// Checks the checksum of Fletcher at the end, and returns the bytes before it.
fn without_checksum(bytes: &[u8]) -> Result<&[u8]> {
    let split = bytes.split_last_chunk::<4>();
    let (data, sum) = split.ok_or_else(|| Defect::damaged("a chunk is cut short"))?;
    let (mut first, mut second) = (0_u64, 0_u64);
    for pair in data.chunks(2) {
        let word = 256 * u64::from(pair[0]) + pair.get(1).copied().map_or(0, u64::from);
        first = (first + word) % 65535;
        second = (second + first) % 65535;
    }
    // Zero is stored as 0 or as 65535.
    let sum = u64::from(u32::from_le_bytes(*sum));
    match [sum % 65536 % 65535, sum / 65536 % 65535] == [first, second] {
        true => Ok(data),
        false => Err(Defect::damaged("the checksum of a chunk is wrong")),
    }
}

/// Copies a chunk to its place, which is an index into the grid of chunks.
fn copy(chunk: &[u8], entries: &mut [u8], header: &Header, shape: &[usize], place: &[usize]) {
    let size = header.size;
    let (Some((of_row, above)), Some((len, _))) = (shape.split_last(), header.shape.split_last())
    else {
        entries.copy_from_slice(chunk);
        return;
    };
    let start: Vec<usize> = place
        .iter()
        .zip(shape)
        .map(|(place, n)| place * n)
        .collect();
    let column = start[above.len()];
    let copied = size * (*of_row).min(len - column);
    for (row, values) in chunk.chunks_exact(of_row * size).enumerate() {
        let index = multi_index(row, above);
        let mut position = 0;
        let mut is_inside = true;
        for ((i, start), len) in index.iter().zip(&start).zip(&header.shape) {
            is_inside &= start + i < *len;
            position = position * len + start + i;
        }
        if is_inside {
            let to = (position * len + column) * size;
            entries[to..to + copied].copy_from_slice(&values[..copied]);
        }
    }
}
