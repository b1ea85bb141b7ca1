//! Bytes as text, as in RFC 4648.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The text, with padding, as a data URI has it.
#[must_use]
pub fn text(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |index| u32::from(chunk.get(index).copied().unwrap_or(0));
        let bits = (byte(0) << 16) | (byte(1) << 8) | byte(2);
        for letter in 0..4 {
            let index = (bits >> (18 - 6 * letter)) as usize % 64;
            let is_padding = letter > chunk.len();
            out.push(if is_padding {
                '='
            } else {
                char::from(ALPHABET[index])
            });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_the_standard() {
        let pairs = [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ];
        for (bytes, expected) in pairs {
            assert_eq!(text(bytes.as_bytes()), expected);
        }
        assert_eq!(text(&[0xfb, 0xff, 0xfe]), "+//+");
    }
}
