//! Drawings as SVG.

use std::fmt::Write;

use super::canvas::{Anchor, Area, Colour, Drawing, Item, Shape};
use super::font;

/// The content of a file.
pub(super) fn text(drawing: &Drawing) -> String {
    let (width, height) = (drawing.width, drawing.height);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"{}\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
        font::FAMILIES
    );
    let mut areas: Vec<Area> = Vec::new();
    for Item { shape, clip } in &drawing.items {
        let clip = clip.map_or_else(String::new, |area| {
            let known = areas.iter().position(|known| *known == area);
            let index = known.unwrap_or_else(|| {
                push_clip_path(&mut out, areas.len(), area);
                areas.push(area);
                areas.len() - 1
            });
            format!(" clip-path=\"url(#area{index})\"")
        });
        push_shape(&mut out, shape, &clip);
    }
    out.push_str("</svg>\n");
    out
}

fn push_clip_path(out: &mut String, index: usize, area: Area) {
    let Area {
        left,
        top,
        width,
        height,
    } = area;
    push(
        out,
        format_args!(
            "<clipPath id=\"area{index}\"><rect x=\"{left:.2}\" y=\"{top:.2}\" width=\"{width:.2}\" height=\"{height:.2}\"/></clipPath>\n"
        ),
    );
}

fn push_shape(out: &mut String, shape: &Shape, clip: &str) {
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
                    "<polyline points=\"{}\" fill=\"none\"{} stroke-width=\"{width}\" stroke-linejoin=\"round\"{dashes}{clip}/>\n",
                    list(points),
                    paint("stroke", *colour),
                ),
            );
        }
        Shape::Fill { points, colour } => push(
            out,
            format_args!(
                "<polygon points=\"{}\"{}{clip}/>\n",
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
                "<circle cx=\"{x:.2}\" cy=\"{y:.2}\" r=\"{:.2}\"{}{clip}/>\n",
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
                    "<text transform=\"translate({x:.2} {y:.2}){turn}\" font-size=\"{size}\" text-anchor=\"{anchor}\"{}{clip}>{}</text>\n",
                    paint("fill", *colour),
                    escaped(text)
                ),
            );
        }
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

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_break_the_file() {
        assert_eq!(escaped("a<b & c>d"), "a&lt;b &amp; c&gt;d");
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
