//! The font: widths of texts and outlines of letters.

use skrifa::instance::{LocationRef, Size};
use skrifa::outline::{DrawSettings, OutlinePen};
use skrifa::{FontRef, GlyphId, MetadataProvider as _};
use tiny_skia::{Path, PathBuilder};

/// DejaVu Sans, reduced to Latin, Greek and some mathematical characters.
static FONT: &[u8] = include_bytes!("../fonts/DejaVuSans-subset.ttf");

/// Font families for viewers of the SVG. The letters of the second are equally wide.
pub(crate) const FAMILIES: &str = "DejaVu Sans, Verdana, sans-serif";

/// Number of font units in the size of a text.
const UNITS_PER_SIZE: f32 = 2048.0;

fn font() -> FontRef<'static> {
    FontRef::new(FONT).expect("the font in the crate is a font")
}

/// Returns the glyph of each letter and its width in units of the font.
fn glyphs(font: &FontRef<'_>, text: &str) -> Vec<(GlyphId, f32)> {
    let charmap = font.charmap();
    let metrics = font.glyph_metrics(Size::unscaled(), LocationRef::default());
    let glyph = |letter| {
        let id = charmap.map(letter).unwrap_or(GlyphId::NOTDEF);
        (id, metrics.advance_width(id).unwrap_or(0.0))
    };
    text.chars().map(glyph).collect()
}

/// Returns the length of `text` set in this `size`.
pub(crate) fn width(text: &str, size: f64) -> f64 {
    let glyphs = glyphs(&font(), text);
    let units: f64 = glyphs.iter().map(|(_, width)| f64::from(*width)).sum();
    units * size / f64::from(UNITS_PER_SIZE)
}

/// Returns `size`, or a smaller size if `text` would be longer than `room`.
pub(crate) fn fitted(text: &str, size: f64, room: f64) -> f64 {
    let width = width(text, size);
    if width > room {
        size * room / width
    } else {
        size
    }
}

/// Splits `text` into lines that are not longer than `room`, unless a single word is.
pub(crate) fn wrapped(text: &str, size: f64, room: f64) -> Vec<String> {
    let mut lines = Vec::new();
    for paragraph in text.lines() {
        let mut line = String::new();
        for word in paragraph.split_whitespace() {
            let longer = format!("{line} {word}");
            if line.is_empty() {
                line = word.to_owned();
            } else if width(&longer, size) <= room {
                line = longer;
            } else {
                lines.push(std::mem::replace(&mut line, word.to_owned()));
            }
        }
        lines.push(line);
    }
    lines
}

/// Returns the outlines of `text` at size 1, with the base line through the origin and y upwards.
/// Returns `None` if nothing is visible.
pub(crate) fn outline(text: &str) -> Option<Path> {
    let font = font();
    let outlines = font.outline_glyphs();
    let mut pen = Pen {
        path: PathBuilder::new(),
        offset: 0.0,
    };
    for (id, width) in glyphs(&font, text) {
        if let Some(outline) = outlines.get(id) {
            let settings = DrawSettings::unhinted(Size::unscaled(), LocationRef::default());
            let drawn = outline.draw(settings, &mut pen);
            drawn.expect("the font in the crate is whole");
        }
        pen.offset += width / UNITS_PER_SIZE;
    }
    pen.path.finish()
}

/// Draws letters one after the other.
struct Pen {
    path: PathBuilder,
    offset: f32,
}

impl Pen {
    fn place(&self, x: f32, y: f32) -> (f32, f32) {
        (x / UNITS_PER_SIZE + self.offset, y / UNITS_PER_SIZE)
    }
}

impl OutlinePen for Pen {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.place(x, y);
        self.path.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.place(x, y);
        self.path.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ((x1, y1), (x, y)) = (self.place(x1, y1), self.place(x, y));
        self.path.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let [(x1, y1), (x2, y2), (x, y)] =
            [(x1, y1), (x2, y2), (x, y)].map(|(x, y)| self.place(x, y));
        self.path.cubic_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.path.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_add_up() {
        let together = width("ab", 12.0);
        assert!((together - width("a", 12.0) - width("b", 12.0)).abs() < 1e-9);
        assert!((width("ab", 24.0) - 2.0 * together).abs() < 1e-9);
    }

    #[test]
    fn long_texts_are_wrapped_or_small() {
        let room = width("one two", 12.0) + 1.0;
        let lines = wrapped("one two three\nfour", 12.0, room);
        assert_eq!(lines, ["one two", "three", "four"]);
        assert_eq!(wrapped("incomprehensible", 12.0, 1.0).len(), 1);
        let size = fitted("one two one two", 12.0, room);
        assert!((width("one two one two", size) - room).abs() < 1e-9);
        assert!((fitted("one", 12.0, room) - 12.0).abs() < 1e-9);
    }

    #[test]
    fn the_characters_of_figures_are_there() {
        let font = font();
        for letter in "aZ09−10⁻⁵ τθΔσαν ‖≤·×–é".chars().filter(|c| *c != ' ') {
            assert!(font.charmap().map(letter).is_some(), "{letter} is missing");
        }
    }

    #[test]
    fn units_are_those_of_the_font() {
        let metrics = font().metrics(Size::unscaled(), LocationRef::default());
        assert!((f32::from(metrics.units_per_em) - UNITS_PER_SIZE).abs() < f32::EPSILON);
    }
}
