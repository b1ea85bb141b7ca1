//! A binary file format with a type, a version and a checksum.
//!
//! ```text
//! 8 bytes   magic
//! 8         format version
//! 8         checksum of everything that follows, seeded with the version
//! 8 + 8     lengths of the fields and of the payload
//! ...       fields (64-bit numbers), payload
//! ```
//! Numbers are little-endian. The first three entries are the same in all versions, so that a
//! flipped bit is never taken for another version.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use xxhash_rust::xxh64::xxh64;

/// The format that this program writes.
pub(super) const VERSION: u64 = 1;

/// Bytes before the fields.
const HEAD: usize = 40;

/// The first bytes of a file, which show its type.
pub(super) type Magic = [u8; 8];

/// Returns the XXH64 checksum of `bytes` for a `seed`. The checksum of several pieces is computed
/// with the checksum of the previous piece as seed. It detects accidents, not attacks.
pub(crate) fn checksum(seed: u64, bytes: &[u8]) -> u64 {
    xxh64(bytes, seed)
}

/// An encoded file without its payload.
pub(super) struct Encoded {
    /// The bytes before the payload.
    pub(super) head: Vec<u8>,
    /// The checksum of fields and payload.
    pub(super) checksum: u64,
}

/// The content of a file.
pub(super) struct Container {
    pub(super) fields: Vec<u64>,
    pub(super) payload: Vec<u8>,
    pub(super) checksum: u64,
}

/// The reason that a file cannot be read.
#[derive(Debug)]
pub(super) enum ContainerError {
    Io(io::Error),
    Damaged(&'static str),
    Foreign(u64),
}

/// Encodes the bytes before `payload`.
pub(super) fn encode(magic: Magic, fields: &[u64], payload: &[u8]) -> Encoded {
    encode_as(VERSION, magic, fields, payload)
}

fn encode_as(version: u64, magic: Magic, fields: &[u64], payload: &[u8]) -> Encoded {
    let mut tail = Vec::with_capacity(16 + 8 * fields.len());
    tail.extend((8 * fields.len() as u64).to_le_bytes());
    tail.extend((payload.len() as u64).to_le_bytes());
    for field in fields {
        tail.extend(field.to_le_bytes());
    }
    let sum = checksum(checksum(version, payload), &tail);
    let mut head = Vec::with_capacity(HEAD + 8 * fields.len());
    head.extend(magic);
    head.extend(version.to_le_bytes());
    head.extend(sum.to_le_bytes());
    head.extend(tail);
    Encoded {
        head,
        checksum: sum,
    }
}

/// Reads a file and checks it.
pub(super) fn read(path: &Path, magic: Magic) -> Result<Container, ContainerError> {
    let mut file = File::open(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => ContainerError::Damaged("it is missing"),
        _ => ContainerError::Io(error),
    })?;
    let len = file.metadata().map_err(ContainerError::Io)?.len();
    let head: Vec<u8> = take(&mut file, HEAD as u64)?;
    let (words, _) = head.as_chunks::<8>();
    let [first, rest @ ..] = words else {
        return Err(CUT);
    };
    let numbers: Vec<u64> = rest.iter().map(|word| u64::from_le_bytes(*word)).collect();
    let [version, sum, fields_len, payload_len] = numbers[..] else {
        return Err(CUT);
    };
    if *first != magic {
        return Err(ContainerError::Damaged("it does not begin as it should"));
    }
    // Lengths are checked before anything is allocated.
    let expected = fields_len
        .checked_add(payload_len)
        .and_then(|len| len.checked_add(HEAD as u64));
    if expected != Some(len) || fields_len % 8 != 0 {
        return Err(ContainerError::Damaged("its length is wrong"));
    }
    let fields = take(&mut file, fields_len)?;
    let payload = take(&mut file, payload_len)?;
    let seed = checksum(version, &payload);
    if sum != checksum(seed, &[&head[24..], &fields].concat()) {
        return Err(ContainerError::Damaged("its checksum is wrong"));
    }
    if version != VERSION {
        return Err(ContainerError::Foreign(version));
    }
    let (fields, _) = fields.as_chunks::<8>();
    Ok(Container {
        fields: fields
            .iter()
            .map(|word| u64::from_le_bytes(*word))
            .collect(),
        payload,
        checksum: sum,
    })
}

const CUT: ContainerError = ContainerError::Damaged("its end is missing");

/// Reads exactly `len` bytes. The caller knows that the file has this many.
fn take(file: &mut File, len: u64) -> Result<Vec<u8>, ContainerError> {
    let len = usize::try_from(len).map_err(|_| ContainerError::Damaged("it is too large"))?;
    let mut bytes = vec![0; len];
    file.read_exact(&mut bytes)
        .map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => CUT,
            _ => ContainerError::Io(error),
        })?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const MAGIC: Magic = *b"magicmag";

    /// Sums are saved in runs: they must not change. The numbers are those of the reference.
    #[test]
    fn checksums_are_those_of_xxh64() {
        assert_eq!(checksum(0, b""), 0xef46_db37_51d8_e999);
        assert_eq!(checksum(0, b"abc"), 0x44bc_2cf5_ad77_0999);
        assert_eq!(checksum(20_141_025, b"xxhash"), 0xb559_b98d_844e_0635);
        let long = b"Nobody inspects the spammish repetition";
        assert_eq!(checksum(0, long), 0xfbce_a83c_8a37_8bf1);
    }

    #[test]
    fn a_changed_byte_is_damage_and_another_version_is_not() {
        let path = std::env::temp_dir().join(format!("bilevel-container-{}", std::process::id()));
        let payload = b"thirty-three bytes are one stripe+";
        let encoded = encode(MAGIC, &[7, u64::MAX], payload);
        let whole = [&encoded.head[..], payload].concat();
        fs::write(&path, &whole).unwrap();
        let container = read(&path, MAGIC).map_err(drop).unwrap();
        assert_eq!(container.fields, [7, u64::MAX]);
        assert_eq!(container.payload, payload);
        assert_eq!(container.checksum, encoded.checksum);

        let is_damage = |bytes: &[u8]| {
            fs::write(&path, bytes).unwrap();
            matches!(read(&path, MAGIC), Err(ContainerError::Damaged(_)))
        };
        for at in 0..whole.len() {
            for mask in [1, 0x80, 0xff] {
                let mut bytes = whole.clone();
                bytes[at] ^= mask;
                assert!(is_damage(&bytes), "byte {at} ^ {mask}");
            }
            assert!(is_damage(&whole[..at]), "{at} bytes");
        }
        assert!(is_damage(&[&whole[..], b"x"].concat()));

        let newer = encode_as(9, MAGIC, &[], b"");
        fs::write(&path, newer.head).unwrap();
        assert!(matches!(
            read(&path, MAGIC),
            Err(ContainerError::Foreign(9))
        ));
        fs::remove_file(path).unwrap();
    }
}
