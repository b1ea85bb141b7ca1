//! Drawings as PNG.

use anyhow::{Context, Result};
use tiny_skia::{
    Color, FillRule, LineJoin, Mask, Paint, Path, PathBuilder, Pixmap, Rect, Stroke, StrokeDash,
    Transform,
};
use ttf_parser::OutlineBuilder;

use super::canvas::{Anchor, Area, Colour, Dash, Drawing, Item, Shape};
use super::font;

/// The content of a file with `resolution` pixels for each of the drawing.
pub(super) fn bytes(drawing: &Drawing, resolution: f64) -> Result<Vec<u8>> {
    let pixels = [drawing.width, drawing.height].map(|length| whole(length * resolution));
    let mut pixmap = Pixmap::new(pixels[0], pixels[1])
        .with_context(|| format!("an image of {} x {} pixels", pixels[0], pixels[1]))?;
    pixmap.fill(Color::WHITE);
    let transform = Transform::from_scale(single(resolution), single(resolution));
    let mut mask: Option<(Area, Mask)> = None;
    for Item { shape, clip } in &drawing.items {
        if let Some(area) = clip
            && mask.as_ref().is_none_or(|(known, _)| known != area)
        {
            mask = mask_of(*area, pixels, transform).map(|mask| (*area, mask));
        }
        let mask = clip.and(mask.as_ref().map(|(_, mask)| mask));
        draw(&mut pixmap, shape, transform, mask);
    }
    pixmap.encode_png().context("encoding the PNG")
}

fn mask_of(area: Area, pixels: [u32; 2], transform: Transform) -> Option<Mask> {
    let [left, top, width, height] = [area.left, area.top, area.width, area.height].map(single);
    let path = PathBuilder::from_rect(Rect::from_xywh(left, top, width, height)?);
    let mut mask = Mask::new(pixels[0], pixels[1])?;
    mask.fill_path(&path, FillRule::Winding, true, transform);
    Some(mask)
}

/// Shapes without extent have no path and are left out.
fn draw(pixmap: &mut Pixmap, shape: &Shape, transform: Transform, mask: Option<&Mask>) {
    let mut fill = |path: Option<Path>, colour: Colour, transform: Transform| {
        if let Some(path) = path {
            let rule = FillRule::Winding;
            pixmap.fill_path(&path, &paint(colour), rule, transform, mask);
        }
    };
    match shape {
        Shape::Stroke {
            points,
            colour,
            width,
            dash,
        } => {
            if let Some(path) = polyline(points, false) {
                let stroke = stroke(*width, *dash);
                pixmap.stroke_path(&path, &paint(*colour), &stroke, transform, mask);
            }
        }
        Shape::Fill { points, colour } => fill(polyline(points, true), *colour, transform),
        Shape::Dot {
            centre: [x, y],
            diameter,
            colour,
        } => fill(
            PathBuilder::from_circle(single(*x), single(*y), single(diameter / 2.0)),
            *colour,
            transform,
        ),
        Shape::Text {
            at: [x, y],
            text,
            size,
            anchor,
            upwards,
            colour,
        } => {
            let before = match anchor {
                Anchor::Start => 0.0,
                Anchor::Middle => -0.5,
                Anchor::End => -1.0,
            };
            let turn = if *upwards { -90.0 } else { 0.0 };
            let letters = transform
                .pre_translate(single(*x), single(*y))
                .pre_rotate(turn)
                .pre_translate(single(before * font::width(text, *size)), 0.0)
                .pre_scale(single(*size), -single(*size));
            let mut outline = Outline(PathBuilder::new());
            font::outline(text, &mut outline);
            fill(outline.0.finish(), *colour, letters);
        }
    }
}

fn polyline(points: &[[f64; 2]], closed: bool) -> Option<Path> {
    let mut builder = PathBuilder::new();
    for (index, point) in points.iter().enumerate() {
        let [x, y] = point.map(single);
        if index == 0 {
            builder.move_to(x, y);
        } else {
            builder.line_to(x, y);
        }
    }
    if closed {
        builder.close();
    }
    builder.finish()
}

fn stroke(width: f64, dash: Dash) -> Stroke {
    let lengths = dash.lengths().iter().copied().map(single).collect();
    Stroke {
        width: single(width),
        line_join: LineJoin::Round,
        // None for a solid line, which has no lengths.
        dash: StrokeDash::new(lengths, 0.0),
        ..Stroke::default()
    }
}

fn paint(colour: Colour) -> Paint<'static> {
    let mut paint = Paint::default();
    let [red, green, blue] = colour.rgb.map(|part| f32::from(part) / 255.0);
    let alpha = single(colour.alpha);
    paint.set_color(Color::from_rgba(red, green, blue, alpha).unwrap_or(Color::BLACK));
    paint
}

struct Outline(PathBuilder);

impl OutlineBuilder for Outline {
    fn move_to(&mut self, x: f32, y: f32) {
        self.0.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        self.0.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        self.0.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        self.0.cubic_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.0.close();
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "pixels need no more digits"
)]
const fn single(value: f64) -> f32 {
    value as f32
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "sizes of images; too large ones are refused later"
)]
const fn whole(value: f64) -> u32 {
    value as u32
}
