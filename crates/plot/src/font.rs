//! The one font: how wide a text is, and the outlines of its letters.

use ttf_parser::{Face, GlyphId, OutlineBuilder};

/// DejaVu Sans, reduced to Latin, Greek and some mathematical characters.
static FONT: &[u8] = include_bytes!("../fonts/DejaVuSans-subset.ttf");

/// Families for viewers of the SVG; the second is equally wide.
pub(crate) const FAMILIES: &str = "DejaVu Sans, Verdana, sans-serif";

fn face() -> Face<'static> {
    Face::parse(FONT, 0).expect("the font in the crate is a font")
}

fn glyph(face: &Face<'_>, letter: char) -> GlyphId {
    face.glyph_index(letter).unwrap_or(GlyphId(0))
}

/// The length of `text` set in this `size`.
pub(crate) fn width(text: &str, size: f64) -> f64 {
    let face = face();
    let units: u32 = text
        .chars()
        .map(|letter| u32::from(face.glyph_hor_advance(glyph(&face, letter)).unwrap_or(0)))
        .sum();
    f64::from(units) * size / f64::from(face.units_per_em())
}

/// `size`, or smaller if `text` would be longer than `room`.
pub(crate) fn fitted(text: &str, size: f64, room: f64) -> f64 {
    let width = width(text, size);
    if width > room {
        size * room / width
    } else {
        size
    }
}

/// Lines of `text` no longer than `room`, unless a word is.
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

/// Hands the outlines of `text` to `builder`: size 1, base line through the origin, y upwards.
pub(crate) fn outline(text: &str, builder: &mut dyn OutlineBuilder) {
    let face = face();
    let scale = 1.0 / f32::from(face.units_per_em());
    let mut placed = Placed {
        builder,
        scale,
        offset: 0.0,
    };
    for letter in text.chars() {
        let id = glyph(&face, letter);
        face.outline_glyph(id, &mut placed);
        placed.offset += f32::from(face.glyph_hor_advance(id).unwrap_or(0)) * scale;
    }
}

/// Moves a letter to its place in the text.
struct Placed<'a> {
    builder: &'a mut dyn OutlineBuilder,
    scale: f32,
    offset: f32,
}

impl Placed<'_> {
    fn x(&self, x: f32) -> f32 {
        x * self.scale + self.offset
    }

    fn y(&self, y: f32) -> f32 {
        y * self.scale
    }
}

impl OutlineBuilder for Placed<'_> {
    fn move_to(&mut self, x: f32, y: f32) {
        self.builder.move_to(self.x(x), self.y(y));
    }

    fn line_to(&mut self, x: f32, y: f32) {
        self.builder.line_to(self.x(x), self.y(y));
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        self.builder
            .quad_to(self.x(x1), self.y(y1), self.x(x), self.y(y));
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let (x1, y1, x2, y2) = (self.x(x1), self.y(y1), self.x(x2), self.y(y2));
        self.builder.curve_to(x1, y1, x2, y2, self.x(x), self.y(y));
    }

    fn close(&mut self) {
        self.builder.close();
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
        let face = face();
        for letter in "aZ09−10⁻⁵ τθΔσαν ‖≤·×–é".chars().filter(|c| *c != ' ') {
            assert!(face.glyph_index(letter).is_some(), "{letter} is missing");
        }
    }
}
