//! Drawings as SVG text.

use std::fmt::Write;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::canvas::{Anchor, Colour, Drawing, Shape};
use crate::font;

/// Returns an SVG file, which can also be an element of an HTML page. It has no ids, which could
/// clash with those of other figures, and a white background for dark pages, and it is not wider
/// than the page.
pub(crate) fn text(drawing: &Drawing, title: Option<&str>) -> String {
    let (width, height) = (drawing.width, drawing.height);
    let name = title.map_or_else(String::new, |title| {
        format!(" aria-label=\"{}\"", escaped(title))
    });
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\" style=\"max-width:100%;height:auto\" \
         role=\"img\"{name} font-family=\"{}\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
        font::FAMILIES
    );
    for shape in &drawing.shapes {
        push_shape(&mut out, shape);
    }
    out.push_str("</svg>\n");
    out
}

fn push_shape(out: &mut String, shape: &Shape) {
    match shape {
        Shape::Stroke {
            points,
            colour,
            width,
            dash,
        } => {
            let lengths: Vec<String> = dash.lengths().iter().map(ToString::to_string).collect();
            let dashes = match lengths.as_slice() {
                [] => String::new(),
                lengths => format!(" stroke-dasharray=\"{}\"", lengths.join(" ")),
            };
            push(
                out,
                format_args!(
                    "<polyline points=\"{}\" fill=\"none\"{} stroke-width=\"{width}\" \
                     stroke-linejoin=\"round\"{dashes}/>\n",
                    list(points),
                    paint("stroke", *colour),
                ),
            );
        }
        Shape::Fill { points, colour } => push(
            out,
            format_args!(
                "<polygon points=\"{}\"{}/>\n",
                list(points),
                paint("fill", *colour)
            ),
        ),
        Shape::Dot {
            centre: [x, y],
            diameter,
            colour,
        } => push(
            out,
            format_args!(
                "<circle cx=\"{x:.2}\" cy=\"{y:.2}\" r=\"{:.2}\"{}/>\n",
                diameter / 2.0,
                paint("fill", *colour)
            ),
        ),
        Shape::Text {
            at: [x, y],
            text,
            size,
            anchor,
            upwards,
            colour,
        } => {
            let anchor = match anchor {
                Anchor::Start => "start",
                Anchor::Middle => "middle",
                Anchor::End => "end",
            };
            let turn = if *upwards { " rotate(-90)" } else { "" };
            push(
                out,
                format_args!(
                    "<text transform=\"translate({x:.2} {y:.2}){turn}\" font-size=\"{size}\" \
                     text-anchor=\"{anchor}\"{}>{}</text>\n",
                    paint("fill", *colour),
                    escaped(text)
                ),
            );
        }
        Shape::Picture { area, picture } => push(
            out,
            format_args!(
                "<image x=\"{:.2}\" y=\"{:.2}\" width=\"{:.2}\" height=\"{:.2}\" \
                 preserveAspectRatio=\"none\" style=\"image-rendering:pixelated\" \
                 href=\"data:image/png;base64,{}\"/>\n",
                area.left,
                area.top,
                area.width,
                area.height,
                STANDARD.encode(picture.to_png()),
            ),
        ),
    }
}

fn push(out: &mut String, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("a string takes every text");
}

fn list(points: &[[f64; 2]]) -> String {
    let pairs: Vec<String> = points
        .iter()
        .map(|[x, y]| format!("{x:.2},{y:.2}"))
        .collect();
    pairs.join(" ")
}

fn paint(what: &str, colour: Colour) -> String {
    let [red, green, blue] = colour.rgb;
    let opacity = if colour.alpha < 1.0 {
        format!(" {what}-opacity=\"{}\"", colour.alpha)
    } else {
        String::new()
    };
    format!(" {what}=\"#{red:02x}{green:02x}{blue:02x}\"{opacity}")
}

/// Escapes a text for XML, also as the value of an attribute. Control characters, which XML does
/// not allow, become spaces.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            letter if letter.is_control() => out.push(' '),
            letter => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_break_the_file() {
        assert_eq!(escaped("a<b & c>d"), "a&lt;b &amp; c&gt;d");
        assert_eq!(escaped("\"a\"\0\n"), "&quot;a&quot;  ");
    }

    #[test]
    fn colours() {
        assert_eq!(paint("fill", Colour::hex(0x0a0b0c)), " fill=\"#0a0b0c\"");
        assert_eq!(
            paint("fill", Colour::hex(0xffffff).alpha(0.5)),
            " fill=\"#ffffff\" fill-opacity=\"0.5\""
        );
    }
}
