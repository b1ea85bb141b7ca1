//! Decompression of LZF, the filter `compression="lzf"` of h5py.

use super::{Cursor, Defect, Result};

/// The filter's number, which h5py has registered.
pub(super) const NUMBER: u64 = 32000;

/// Returns the decompressed bytes, of which there must be at most `max`.
///
/// The first byte of an instruction says what to append. Below 32, it is one less than the number
/// of literal bytes that follow. Otherwise its upper three bits are the number of bytes to repeat
/// minus 2, where 7 means that the next byte is to be added; its lower five bits and one more byte
/// are one less than the distance to the bytes that are repeated. These may overlap with their
/// copy.
pub(super) fn decompress(packed: &[u8], max: usize) -> Result<Vec<u8>> {
    let mut packed = Cursor(packed);
    let mut bytes = Vec::new();
    while !packed.0.is_empty() {
        let first = usize::from(packed.byte()?);
        if first < 32 {
            bytes.extend_from_slice(packed.take(first + 1)?);
        } else {
            let mut len = (first >> 5) + 2;
            if len == 9 {
                len += usize::from(packed.byte()?);
            }
            let distance = ((first & 31) << 8) + usize::from(packed.byte()?) + 1;
            let outside = || Defect::damaged("a chunk repeats bytes before its start");
            let start = bytes.len().checked_sub(distance).ok_or_else(outside)?;
            for position in start..start + len {
                bytes.push(bytes[position]);
            }
        }
        if bytes.len() > max {
            return Err(Defect::damaged("a chunk is longer than it should be"));
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_copied_and_repeated() {
        let packed = [2, 1, 2, 3, 0x20, 2, 0xE0, 1, 0, 0, 9];
        let expected = [1, 2, 3, 1, 2, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 9];
        assert_eq!(decompress(&packed, 17).unwrap(), expected[..]);
    }
}
