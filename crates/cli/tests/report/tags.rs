//! A check that the tags of a page are balanced.

/// Elements without an end.
const VOID: [&str; 3] = ["meta", "img", "br"];

/// Panics at the first tag that does not match, and returns the number of elements.
pub(crate) fn check(page: &str) -> usize {
    let mut open: Vec<&str> = Vec::new();
    let mut num_elements = 0;
    let mut rest = page;
    while let Some(start) = rest.find('<') {
        let text = &rest[..start];
        assert!(!text.contains('>'), "a stray > in {text:?}");
        check_references(text);
        rest = &rest[start + 1..];
        let end = end_of_tag(rest);
        let tag = &rest[..end];
        rest = &rest[end + 1..];
        if tag.starts_with('!') {
            continue;
        }
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "open are {open:?}");
            continue;
        }
        num_elements += 1;
        let name = tag.split([' ', '/']).next().unwrap_or_default();
        let is_name = name.chars().all(|c| c.is_ascii_alphanumeric());
        assert!(!name.is_empty() && is_name, "{tag}");
        check_attributes(tag[name.len()..].trim_end_matches('/'));
        if name == "style" {
            let end = rest.find("</style>").expect("a style ends");
            assert!(!rest[..end].contains('<'));
            rest = &rest[end + "</style>".len()..];
        } else if !VOID.contains(&name) && !tag.ends_with('/') {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "never closed: {open:?}");
    num_elements
}

/// A `>` between quotation marks does not count.
fn end_of_tag(text: &str) -> usize {
    let mut is_quoted = false;
    for (index, letter) in text.char_indices() {
        match letter {
            '"' => is_quoted = !is_quoted,
            '>' if !is_quoted => return index,
            _ => {}
        }
    }
    panic!("a tag without end")
}

/// Names, and values between quotation marks.
fn check_attributes(mut text: &str) {
    while let Some(name) = text.trim_start().split([' ', '=']).next() {
        text = &text.trim_start()[name.len()..];
        if name.is_empty() {
            break;
        }
        assert!(
            name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'),
            "{name:?}"
        );
        if let Some(value) = text.strip_prefix("=\"") {
            let end = value.find('"').expect("a value ends");
            assert!(!value[..end].contains('<'));
            check_references(&value[..end]);
            text = &value[end + 1..];
        }
    }
    assert_eq!(text, "");
}

/// Every `&` begins a reference.
fn check_references(text: &str) {
    for part in text.split('&').skip(1) {
        let known = ["amp;", "lt;", "gt;", "quot;", "#39;"];
        assert!(known.iter().any(|known| part.starts_with(known)), "&{part}");
    }
}

#[test]
fn good_pages_pass() {
    assert_eq!(
        check("<!DOCTYPE html><p class=\"a>b\">x &amp; y<img alt=\"\"><g/></p>"),
        3
    );
}

#[test]
#[should_panic(expected = "never closed")]
fn an_open_element_fails() {
    check("<p><b></b>");
}

#[test]
#[should_panic(expected = "open are")]
fn crossed_elements_fail() {
    check("<p><b></p></b>");
}

#[test]
#[should_panic(expected = "& y")]
fn a_bare_ampersand_fails() {
    check("<p>x & y</p>");
}
