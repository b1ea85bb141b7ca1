//! Drawings as PNG files.

use tiny_skia::{
    Color, FillRule, FilterQuality, LineJoin, Paint, Path, PathBuilder, Pixmap, PixmapPaint,
    Stroke, StrokeDash, Transform,
};

use crate::canvas::{Anchor, Area, Colour, Dash, Drawing, Shape};
use crate::picture::Picture;
use crate::{DrawError, font};

/// Largest number of pixels, which take 400 MB. Without enough memory the program would abort
/// instead of returning an error.
const MAX_PIXELS: u64 = 100_000_000;

/// Returns the content of a file with `resolution` pixels per pixel of the drawing, in each
/// direction.
pub(crate) fn bytes(drawing: &Drawing, resolution: f64) -> Result<Vec<u8>, DrawError> {
    let [width, height] = [drawing.width, drawing.height].map(|length| whole(length * resolution));
    let too_large = DrawError::TooLarge { width, height };
    if u64::from(width) * u64::from(height) > MAX_PIXELS {
        return Err(too_large);
    }
    let mut pixmap = Pixmap::new(width, height).ok_or(too_large)?;
    pixmap.fill(Color::WHITE);
    let transform = Transform::from_scale(single(resolution), single(resolution));
    for shape in &drawing.shapes {
        draw(&mut pixmap, shape, transform);
    }
    pixmap.encode_png().map_err(|error| DrawError::Encoding {
        reason: error.to_string(),
    })
}

/// Draws a shape. Shapes without extent have no path and are left out.
fn draw(pixmap: &mut Pixmap, shape: &Shape, transform: Transform) {
    let mut fill = |path: Option<Path>, colour: Colour, transform: Transform| {
        if let Some(path) = path {
            let rule = FillRule::Winding;
            pixmap.fill_path(&path, &paint(colour), rule, transform, None);
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
                pixmap.stroke_path(&path, &paint(*colour), &stroke, transform, None);
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
            fill(font::outline(text), *colour, letters);
        }
        Shape::Picture { area, picture } => blit(pixmap, area, picture, transform),
    }
}

/// Draws a picture without interpolation.
fn blit(pixmap: &mut Pixmap, area: &Area, picture: &Picture, transform: Transform) {
    let pixels = picture.pixels.as_ref();
    let scale = |length: f64, pixels: u32| single(length / f64::from(pixels));
    let transform = transform
        .pre_translate(single(area.left), single(area.top))
        .pre_scale(
            scale(area.width, pixels.width()),
            scale(area.height, pixels.height()),
        );
    let paint = PixmapPaint {
        quality: FilterQuality::Nearest,
        ..PixmapPaint::default()
    };
    pixmap.draw_pixmap(0, 0, pixels, &paint, transform, None);
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
        // A solid line has no lengths, which gives `None`.
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
