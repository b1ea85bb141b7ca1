//! The header of a `.npy` file: the type of its elements, and the shape.
//!
//! A file begins with six magic bytes, two bytes of version and the length of a text. The text is a
//! Python dictionary with the keys `descr`, `fortran_order` and `shape`, padded with spaces.

use std::path::Path;

use super::damaged;
use crate::file::FileError;

/// A format that arrays can be converted to, for messages.
const WANTED: &str = "a .npy file of float64 or complex128";
const MAGIC: &[u8] = b"\x93NUMPY";
/// Largest length of a header in bytes. NumPy's own are 118 bytes long.
const MAX_LEN: usize = 1 << 16;
/// Largest number of brackets in a header. NumPy's own have two.
const MAX_BRACKETS: usize = 64;

/// The content of a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// The kind of elements: `f`, `i`, `u`, `b` or `c`.
    pub(super) kind: u8,
    /// The number of bytes per entry.
    pub(super) size: usize,
    /// Whether the most significant byte comes first.
    pub(super) is_big_endian: bool,
    /// Whether the first index runs fastest.
    pub(super) is_fortran: bool,
    /// The number of entries along each axis.
    pub(super) shape: Vec<usize>,
    /// The number of entries.
    pub(super) len: usize,
}

/// Reads the header of a file, and returns it with the rest; `path` is for messages.
pub(super) fn read<'a>(path: &Path, bytes: &'a [u8]) -> Result<(Header, &'a [u8]), FileError> {
    if bytes.is_empty() {
        return Err(damaged(path, "it is empty"));
    }
    if !bytes.starts_with(MAGIC) {
        return Err(unsupported(
            path,
            "its content is not that of a .npy file".into(),
        ));
    }
    let Some((text, data)) = split(bytes) else {
        return Err(damaged(path, "its header is cut short"));
    };
    if !matches!(bytes[MAGIC.len()], 1..=3) {
        let reason = format!("it has the unknown version {}", bytes[MAGIC.len()]);
        return Err(unsupported(path, reason));
    }
    let brackets = text.iter().filter(|byte| b"([{".contains(byte));
    if text.len() > MAX_LEN || brackets.count() > MAX_BRACKETS {
        return Err(damaged(path, "its header is too long"));
    }
    let text = String::from_utf8_lossy(text);
    let Some(fields) = Fields::parse(&text) else {
        return Err(damaged(path, "its header is not that of an array"));
    };
    let Some(len) = num_entries(&fields.shape) else {
        return Err(damaged(path, "its header has an impossible shape"));
    };
    let Some((is_big_endian, kind, size)) = element(fields.descr) else {
        let reason = format!("its elements are of type {}", fields.descr);
        return Err(unsupported(path, reason));
    };
    let header = Header {
        kind,
        size,
        is_big_endian,
        is_fortran: fields.is_fortran,
        shape: fields.shape,
        len,
    };
    Ok((header, data))
}

/// Returns the bytes of a header for entries of type `descr` in C order.
pub(super) fn write(descr: &str, shape: &[usize]) -> Vec<u8> {
    let axes: String = match shape {
        [extent] => format!("{extent},"),
        _ => shape
            .iter()
            .map(usize::to_string)
            .collect::<Vec<_>>()
            .join(", "),
    };
    let mut text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({axes}), }}");
    // The second version is for texts of more than 65535 bytes.
    let is_long = text.len() > 60_000;
    let before = if is_long { 12 } else { 10 };
    // The data begin at a multiple of 64.
    let end = (before + text.len() + 1).next_multiple_of(64);
    text.extend(std::iter::repeat_n(' ', end - before - text.len() - 1));
    text.push('\n');
    let mut bytes = MAGIC.to_vec();
    bytes.extend([if is_long { 2 } else { 1 }, 0]);
    let len = (text.len() as u64).to_le_bytes();
    bytes.extend(&len[..if is_long { 4 } else { 2 }]);
    bytes.extend(text.as_bytes());
    bytes
}

/// Splits a file into the text of the header and the data, if the header is complete.
fn split(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (start, len) = match bytes.get(MAGIC.len())? {
        1 => (10, usize::from(u16::from_le_bytes(field(bytes)?))),
        _ => (12, usize::try_from(u32::from_le_bytes(field(bytes)?)).ok()?),
    };
    bytes.get(start..)?.split_at_checked(len)
}

/// Returns the field with the length of the text.
fn field<const N: usize>(bytes: &[u8]) -> Option<[u8; N]> {
    bytes.get(8..8 + N)?.try_into().ok()
}

/// Returns the product of all extents, or `None` if the product of those that are not zero is too
/// large.
fn num_entries(shape: &[usize]) -> Option<usize> {
    let mut others = shape.iter().filter(|extent| **extent > 0);
    let product = others.try_fold(1_usize, |product, extent| product.checked_mul(*extent))?;
    Some(if shape.contains(&0) { 0 } else { product })
}

/// Returns byte order, kind and size of the entries, if this program can read them.
fn element(descr: &str) -> Option<(bool, u8, usize)> {
    let text = descr.trim_matches(['\'', '"']).as_bytes();
    let (order, kind, size) = match text {
        [order @ (b'<' | b'>' | b'|' | b'='), kind, size @ ..] => (*order, *kind, size),
        [kind, size @ ..] => (b'=', *kind, size),
        [] => return None,
    };
    let size = match (kind, size) {
        (b'f', b"4") | (b'i' | b'u', b"4") => 4,
        (b'f' | b'c' | b'i' | b'u', b"8") => 8,
        (b'c', b"16") => 16,
        (b'b' | b'i' | b'u', b"1") => 1,
        (b'i' | b'u', b"2") => 2,
        _ => return None,
    };
    let native = cfg!(target_endian = "big");
    Some((order == b'>' || (order == b'=' && native), kind, size))
}

/// The three entries of the dictionary.
struct Fields<'a> {
    /// The type of the elements as it is written, with quotes.
    descr: &'a str,
    is_fortran: bool,
    shape: Vec<usize>,
}

impl<'a> Fields<'a> {
    /// Parses the dictionary. It must have each key once, and no other keys.
    fn parse(text: &'a str) -> Option<Self> {
        let mut rest = text.trim().strip_prefix('{')?.strip_suffix('}')?.trim();
        let (mut descr, mut is_fortran, mut shape) = (None, None, None);
        while !rest.is_empty() {
            let key = literal(&mut rest)?.strip_prefix(['\'', '"'])?;
            rest = rest.trim_start().strip_prefix(':')?;
            let value = literal(&mut rest)?;
            let is_known = match key.trim_end_matches(['\'', '"']) {
                "descr" if value.starts_with(['\'', '"', '[']) => descr.replace(value).is_some(),
                "fortran_order" => is_fortran.replace(truth(value)?).is_some(),
                "shape" => shape.replace(tuple(value)?).is_some(),
                _ => return None,
            };
            rest = rest.trim_start();
            if is_known || !(rest.is_empty() || rest.starts_with(',')) {
                return None;
            }
            rest = rest.strip_prefix(',').unwrap_or(rest).trim_start();
        }
        Some(Self {
            descr: descr?,
            is_fortran: is_fortran?,
            shape: shape?,
        })
    }
}

/// Splits off the first literal of `rest`: a string with its quotes, a list in brackets, or a word.
fn literal<'a>(rest: &mut &'a str) -> Option<&'a str> {
    let text = rest.trim_start();
    let len = match text.chars().next()? {
        // escapes are not needed
        quote @ ('\'' | '"') => {
            let len = text[1..].find(quote)? + 2;
            (!text[..len].contains('\\')).then_some(len)?
        }
        '(' | '[' => {
            let mut depth = 0_usize;
            let end = text.find(|c| {
                depth += usize::from("([".contains(c));
                depth -= usize::from(")]".contains(c));
                depth == 0
            });
            end? + 1
        }
        _ => text
            .find(|c: char| !c.is_ascii_alphanumeric())
            .unwrap_or(text.len()),
    };
    let (literal, after) = text.split_at(len);
    *rest = after;
    Some(literal)
}

fn truth(text: &str) -> Option<bool> {
    match text {
        "True" => Some(true),
        "False" => Some(false),
        _ => None,
    }
}

/// Parses a tuple of plain decimal numbers, without signs.
fn tuple(text: &str) -> Option<Vec<usize>> {
    let inner = text.strip_prefix('(')?.strip_suffix(')')?;
    if inner.trim().is_empty() {
        return Some(Vec::new());
    }
    let mut parts: Vec<&str> = inner.split(',').map(str::trim).collect();
    // one number in brackets is no tuple
    if parts.len() == 1 {
        return None;
    }
    parts.pop_if(|last| last.is_empty());
    let number = |part: &str| {
        let is_plain = part.bytes().all(|byte| byte.is_ascii_digit());
        is_plain.then(|| part.parse().ok()).flatten()
    };
    parts.into_iter().map(number).collect()
}

/// Returns the error of a file, or of elements, that cannot be read.
fn unsupported(path: &Path, reason: String) -> FileError {
    FileError::Unsupported(path.into(), reason, WANTED)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(shape: &str) -> Option<usize> {
        let text = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }} \n");
        num_entries(&Fields::parse(&text)?.shape)
    }

    #[test]
    fn only_plain_numbers_count() {
        for (good, len) in [
            ("()", 1),
            ("(3,)", 3),
            ("( 3 , )", 3),
            ("(10, 256)", 2560),
            ("(10,256,)", 2560),
            ("(0, 7)", 0),
            ("(1000000000000000000,)", 1_000_000_000_000_000_000),
        ] {
            assert_eq!(shape(good), Some(len), "{good}");
        }
        for bad in [
            "(0x10,)",
            "(1_0,)",
            "(1+1,)",
            "(-1,)",
            "(3)",
            "(,)",
            "(1 2)",
            "(1,,2)",
            "3",
            "(3,",
            "[3]",
            "(10000000000, 10000000000)",
            "(0, 10000000000, 10000000000)",
            "(99999999999999999999,)",
        ] {
            assert_eq!(shape(bad), None, "{bad}");
        }
    }

    #[test]
    fn dictionaries_are_read_in_any_order() {
        let good = |text: &str| {
            let fields = Fields::parse(text).unwrap();
            assert_eq!((fields.descr, fields.is_fortran), ("'<f8'", true), "{text}");
            assert_eq!(fields.shape, [2, 3], "{text}");
        };
        good("{'descr': '<f8', 'fortran_order': True, 'shape': (2, 3), }");
        good("{'descr': '<f8', 'fortran_order': True, 'shape': (2, 3)}\n");
        good("  {\"shape\":(2,3),'fortran_order':True,'descr':'<f8'}   ");
        for bad in [
            "",
            "{}",
            "{'descr': '<f8', 'fortran_order': True}",
            "{'descr': '<f8', 'fortran_order': True, 'shape': (2, 3), 'more': 1}",
            "{'descr': '<f8', 'descr': '<f8', 'fortran_order': True, 'shape': (2, 3)}",
            "{'descr': '<f8' 'fortran_order': True, 'shape': (2, 3)}",
            "{'descr': '<f8', 'fortran_order': true, 'shape': (2, 3)}",
            "{'descr': <f8, 'fortran_order': True, 'shape': (2, 3)}",
            "{'descr': '<f8', 'fortran_order': True, 'shape': (2, 3)} more",
            "{'descr': '<f8', 'fortran_order': True, 'shape': (2, 3)",
        ] {
            assert!(Fields::parse(bad).is_none(), "{bad}");
        }
        let list = "{'descr': [('a', [('b', '<f8')])], 'fortran_order': True, 'shape': (2, 3)}";
        let fields = Fields::parse(list).unwrap();
        assert_eq!(fields.descr, "[('a', [('b', '<f8')])]");
    }

    #[test]
    fn the_text_must_be_there() {
        let text = |bytes: &'static [u8]| split(bytes).map(|(text, _)| text);
        assert_eq!(text(b"\x93NUMPY\x01\x00\x02\x00ab..."), Some(&b"ab"[..]));
        assert_eq!(
            text(b"\x93NUMPY\x02\x00\x02\x00\x00\x00ab..."),
            Some(&b"ab"[..])
        );
        assert_eq!(text(b"\x93NUMPY\x01\x00\x06\x00ab..."), None);
        assert_eq!(text(b"\x93NUMPY\x02\x00\xff\xff\xff\xffab..."), None);
        assert_eq!(text(b"\x93NUMPY"), None);
    }

    /// The first bytes of a file that NumPy wrote for 10 x 256 numbers, and a text that is too long
    /// for the first version.
    #[test]
    fn headers_are_those_of_numpy() {
        let expected = [
            b"\x93NUMPY\x01\x00\x76\x00{'descr': '<f8', 'fortran_order': False, 'shape': (10, 256), }",
            &b" ".repeat(55)[..],
            b"\n",
        ]
        .concat();
        assert_eq!(write("<f8", &[10, 256]), expected);
        let many = vec![1; 30_000];
        let bytes = write("<f8", &many);
        assert!(bytes.len().is_multiple_of(64) && bytes[6] == 2);
        let (text, data) = split(&bytes).unwrap();
        assert!(data.is_empty());
        let text = std::str::from_utf8(text).unwrap();
        assert_eq!(Fields::parse(text).unwrap().shape, many);
    }
}
