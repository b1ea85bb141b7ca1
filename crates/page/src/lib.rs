//! Parts of self-contained HTML pages, and numbers formatted for people.
//!
//! Markup is written with [`maud`], which escapes text. A page needs no script, no network and no
//! other file.
//!
//! ```
//! use maud::html;
//! use page::number::significant;
//!
//! let rows = [vec![page::name("<a>.png"), html! { (significant(0.070_23, 3)) }]];
//! let table = page::table("scores", &["image", "error"], &rows, &[]);
//! let text = page::document("A run", "", &page::section("Every image", table));
//! assert!(text.starts_with("<!DOCTYPE html>"));
//! assert!(text.contains("&lt;a&gt;.png</bdi></th><td>0.0702</td>"));
//! ```

pub mod number;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};

/// The style sheet of all pages, for light and dark screens, telephones and paper.
const STYLE: &str = include_str!("style.css");

/// Returns a page with a heading. `more_style` is added to the style sheet that all pages share.
#[must_use]
pub fn document(title: &str, more_style: &str, body: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                style { (PreEscaped(STYLE)) (PreEscaped(more_style)) }
            }
            body { main { h1 { (title) } (body) } }
        }
    };
    page.into_string()
}

/// Returns a section with a heading, or nothing if the body is empty.
#[must_use]
pub fn section(heading: &str, body: Markup) -> Markup {
    if body.0.is_empty() {
        return body;
    }
    html! { section { h2 { (heading) } (body) } }
}

/// Returns a part of the page that readers can unfold.
#[must_use]
pub fn folded(summary: &str, is_open: bool, body: &Markup) -> Markup {
    html! { details open[is_open] { summary { (summary) } (body) } }
}

/// Returns a table that scrolls sideways on a narrow page. The first cell of each row is its
/// heading.
#[must_use]
pub fn table(class: &str, head: &[&str], rows: &[Vec<Markup>], foot: &[Vec<Markup>]) -> Markup {
    let lines = |rows: &[Vec<Markup>]| {
        html! {
            @for row in rows {
                @if let Some((heading, cells)) = row.split_first() {
                    tr {
                        th scope="row" { (heading) }
                        @for cell in cells { td { (cell) } }
                    }
                }
            }
        }
    };
    html! {
        .scroll {
            table class=(class) {
                thead { tr { @for name in head { th scope="col" { (name) } } } }
                tbody { (lines(rows)) }
                @if !foot.is_empty() { tfoot { (lines(foot)) } }
            }
        }
    }
}

/// Returns the round sign in front of a finding. Screen readers read its `meaning`.
#[must_use]
pub fn mark(sign: &str, meaning: &str) -> Markup {
    html! { span.mark role="img" aria-label=(meaning) { (sign) } }
}

/// Returns the name of a file or parameter, whose writing direction does not affect the page.
#[must_use]
pub fn name(text: &str) -> Markup {
    html! { bdi { (printable(text)) } }
}

/// Replaces control characters, which HTML forbids, by U+FFFD.
#[must_use]
pub fn printable(text: &str) -> String {
    text.replace(char::is_control, "\u{fffd}")
}

/// Returns a text in which the parts between backticks are code.
#[must_use]
pub fn sentence(text: &str) -> Markup {
    let Some((before, code, after)) = first_code(text) else {
        return html! { (text) };
    };
    html! { (before) code { (code) } (sentence(after)) }
}

/// Splits a text around its first part between backticks.
fn first_code(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once('`')?;
    let (code, after) = rest.split_once('`')?;
    Some((before, code, after))
}

/// Returns the address of a PNG file that is embedded in the page.
#[must_use]
pub fn png_url(bytes: &[u8]) -> String {
    format!("data:image/png;base64,{}", STANDARD.encode(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_text() {
        assert_eq!(name("<\"a\u{0}").0, "<bdi>&lt;&quot;a\u{fffd}</bdi>");
        let page = document("<b> & c", "p > a {}", &html! {});
        assert!(page.contains("<title>&lt;b&gt; &amp; c</title>") && page.contains("p > a {}"));
    }

    #[test]
    fn backticks_come_in_pairs() {
        for (text, expected) in [
            ("a `b<` c", "a <code>b&lt;</code> c"),
            ("a ` c", "a ` c"),
            ("`a` ` c", "<code>a</code> ` c"),
            ("`a``b`", "<code>a</code><code>b</code>"),
        ] {
            assert_eq!(sentence(text).0, expected);
        }
    }

    #[test]
    fn empty_parts_are_left_out() {
        assert_eq!(section("a", html! {}).0, "");
        let rows = [vec![html! { "x" }, html! { "1" }]];
        assert!(!table("t", &["", "b"], &rows, &[]).0.contains("tfoot"));
        assert!(folded("a", true, &html! {}).0.starts_with("<details open>"));
    }

    #[test]
    fn pictures_are_embedded() {
        assert_eq!(png_url(&[0xfb, 0xff, 0xfe]), "data:image/png;base64,+//+");
    }
}
