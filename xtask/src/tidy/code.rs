//! Rust sources with comments and strings blanked out. Lines keep their numbers.

/// `text` without comments and without the content of strings.
pub(super) fn only(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut code = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        let (start, end) = if rest.starts_with(b"//") {
            (at, at + find(rest, b"\n").unwrap_or(rest.len()))
        } else if rest.starts_with(b"/*") {
            (at, at + block_comment(rest))
        } else if rest[0] == b'"' {
            string(bytes, at)
        } else if rest[0] == b'\'' {
            (at, at + char_literal(&text[at..]))
        } else {
            (at, at + 1)
        };
        if end > at + 1 {
            blank(&mut code[start..end]);
        }
        at = end.max(at + 1);
    }
    String::from_utf8_lossy(&code).into_owned()
}

/// `text` without comments, strings and what is compiled for tests only.
pub(super) fn shipped(text: &str) -> String {
    let mut code = only(text).into_bytes();
    if find(&code, b"#![cfg(test)]").is_some() {
        blank(&mut code);
    }
    for attribute in [b"#[cfg(test)]".as_slice(), b"#[cfg(all(test"] {
        while let Some(start) = find(&code, attribute) {
            let end = start + item(&code[start..]);
            blank(&mut code[start..end]);
        }
    }
    String::from_utf8_lossy(&code).into_owned()
}

fn find(text: &[u8], pattern: &[u8]) -> Option<usize> {
    text.windows(pattern.len())
        .position(|window| window == pattern)
}

fn blank(bytes: &mut [u8]) {
    bytes
        .iter_mut()
        .filter(|byte| **byte != b'\n')
        .for_each(|byte| *byte = b' ');
}

/// The length of the comment at the start of `text`; comments nest.
fn block_comment(text: &[u8]) -> usize {
    let (mut at, mut depth) = (0, 0_usize);
    while at < text.len() {
        if text[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if text[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                break;
            }
        } else {
            at += 1;
        }
    }
    at
}

/// Start and end of the content of the string whose quote is at `at`; hashes before it make it a
/// raw one.
fn string(bytes: &[u8], at: usize) -> (usize, usize) {
    let start = at + 1;
    let before = &bytes[..at];
    let hashes = before.iter().rev().take_while(|b| **b == b'#').count();
    let is_raw = before[..at - hashes].last() == Some(&b'r');
    let mut end = start;
    while end < bytes.len() {
        match bytes[end] {
            b'\\' if !is_raw => end += 2,
            b'"' if !is_raw => break,
            b'"' if bytes[end + 1..].starts_with(&b"#".repeat(hashes)) => break,
            _ => end += 1,
        }
    }
    let end = end.min(bytes.len());
    // The closing quote must not be taken for an opening one.
    (start, (end + 1).min(bytes.len()))
}

/// The length of the character at the start of `text`, or 1 if the quote belongs to a lifetime.
fn char_literal(text: &str) -> usize {
    let mut chars = text.char_indices().skip(1);
    match chars.next() {
        Some((_, '\\')) => {
            chars.next();
            chars.find(|(_, c)| *c == '\'').map_or(1, |(at, _)| at + 1)
        }
        Some(_) => match chars.next() {
            Some((at, '\'')) => at + 1,
            _ => 1,
        },
        None => 1,
    }
}

/// The length of the item, field or statement at the start of `code`, attributes included.
fn item(code: &[u8]) -> usize {
    let mut depth = 0_usize;
    for (at, byte) in code.iter().enumerate() {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' => depth = depth.saturating_sub(1),
            b'}' if depth == 0 => return at,
            b'}' => {
                depth -= 1;
                if depth == 0 {
                    return at + 1;
                }
            }
            b';' if depth == 0 => return at + 1,
            _ => {}
        }
    }
    code.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(strip: fn(&str) -> String, text: &str, kept: &[&str], gone: &[&str]) {
        let code = strip(text);
        assert_eq!(code.lines().count(), text.lines().count());
        for word in kept {
            assert!(code.contains(word), "{word} is missing in {code}");
        }
        for word in gone {
            assert!(!code.contains(word), "{word} is left in {code}");
        }
    }

    #[test]
    fn comments_go() {
        check(
            only,
            "a(); // no\n/// no\nb(); /* no /* no */ no\n */ c();",
            &["a();", "b();", "c();"],
            &["no"],
        );
    }

    #[test]
    fn strings_go() {
        check(
            only,
            r##"a("no \" no"); b(r#"no " no"#); c(b"no"); d("no // é"); e("\\"); f()"##,
            &["a(", "b(", "c(", "d(", "e(", "f()"],
            &["no"],
        );
    }

    #[test]
    fn quotes_as_characters_and_lifetimes_open_no_string() {
        check(
            only,
            "a('\"'); b('\\''); c('\\u{1f}'); fn d<'x>(y: &'x str) {} e('é'); f(\"no\")",
            &["a(", "b(", "c(", "fn d<'x>(y: &'x str) {}", "e(", "f("],
            &["no"],
        );
    }

    #[test]
    fn test_modules_go() {
        check(
            shipped,
            "fn a() {}\n#[cfg(test)]\n#[expect(x, reason = \"}\")]\nmod tests {\n  fn no() { '}' }\n}\nfn b() {}",
            &["fn a()", "fn b()"],
            &["no", "tests"],
        );
        check(
            shipped,
            "#[cfg(all(test, feature = \"f\"))]\nmod no {}\n#[cfg(test)]\nuse no;\nfn b() {}",
            &["fn b()"],
            &["no"],
        );
        check(shipped, "#![cfg(test)]\nfn no() {}", &[], &["no"]);
    }

    #[test]
    fn a_test_field_does_not_swallow_what_follows() {
        check(
            shipped,
            "struct S {\n  #[cfg(test)]\n  no: u8,\n}\nfn b() {}",
            &["struct S", "fn b()"],
            &["no"],
        );
    }
}
