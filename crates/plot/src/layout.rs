//! The layout of a figure.

mod chart;
mod legend;
mod marks;

use crate::canvas::{Anchor, Area, Colour, Drawing, Shape};
use crate::panel::Content;
use crate::picture::Picture;
use crate::{Figure, Panel, font};

use chart::ChartFrame;

const INK: Colour = Colour::hex(0x0022_2222);
const FRAME: Colour = Colour::hex(0x0066_6666);

const TITLE: f64 = 16.0;
const HEADING: f64 = 14.0;
const LABEL: f64 = 13.0;
const SMALL: f64 = 12.0;
/// Distance between lines, relative to the size of the letters.
const LEADING: f64 = 1.25;

/// Margin around the figure, and distance between its parts.
const GAP: f64 = 12.0;
/// Distance between columns of panels.
const GUTTER: f64 = 16.0;

/// Draws the whole figure.
pub(crate) fn draw(figure: &Figure) -> Drawing {
    let [width, height] = figure.panel_size;
    let panels: Vec<Placed<'_>> = figure
        .panels
        .iter()
        .map(|panel| Placed::new(panel, figure.panel_size))
        .collect();
    let columns = figure.columns.min(panels.len()).max(1);
    let rows = panels.len().div_ceil(columns);
    // The same margins for all panels align their frames.
    let margins = panels.iter().map(Placed::margins);
    let margins = margins.fold(Margins::default(), Margins::union);
    let cell = [
        margins.left + width + margins.right,
        margins.top + height + margins.below,
    ];
    let total_width = 2.0 * GAP + count(columns) * (cell[0] + GUTTER) - GUTTER;
    let title = figure.title.as_deref().map_or_else(Vec::new, |title| {
        font::wrapped(title, TITLE, total_width - 2.0 * GAP)
    });
    let header = match title.len() {
        0 => GAP,
        lines => 2.0 * GAP + TITLE * (1.0 + LEADING * count(lines - 1)),
    };

    let mut drawing = Drawing {
        width: total_width.ceil(),
        height: header + count(rows) * (cell[1] + GAP),
        shapes: Vec::new(),
    };
    let middle = drawing.width / 2.0;
    lines(&mut drawing, [middle, GAP + TITLE], &title, TITLE);
    for (index, panel) in panels.iter().enumerate() {
        let area = Area {
            left: GAP + count(index % columns) * (cell[0] + GUTTER) + margins.left,
            top: header + count(index / columns) * (cell[1] + GAP) + margins.top,
            width,
            height,
        };
        panel.draw(&mut drawing, area);
    }
    legend::draw(&mut drawing, figure);
    drawing.height = drawing.height.ceil();
    drawing
}

/// The margins of a panel around its area.
#[derive(Clone, Copy, Debug, Default)]
struct Margins {
    left: f64,
    right: f64,
    top: f64,
    below: f64,
}

impl Margins {
    const fn union(self, other: Self) -> Self {
        Self {
            left: self.left.max(other.left),
            right: self.right.max(other.right),
            top: self.top.max(other.top),
            below: self.below.max(other.below),
        }
    }
}

/// A panel of known size.
struct Placed<'a> {
    body: Body<'a>,
    title: Vec<String>,
    caption: Vec<String>,
}

#[expect(clippy::large_enum_variant, reason = "a figure has few panels")]
enum Body<'a> {
    Chart(ChartFrame<'a>),
    Picture(&'a Picture),
}

impl<'a> Placed<'a> {
    fn new(panel: &'a Panel, size: [f64; 2]) -> Self {
        // Titles of neighbouring panels must not touch.
        let room = size[0] + GUTTER / 2.0;
        let wrap = |text: &Option<String>, size| {
            let text = text.as_deref();
            text.map_or_else(Vec::new, |text| font::wrapped(text, size, room))
        };
        let body = match &panel.content {
            Content::Chart(chart) => Body::Chart(ChartFrame::new(chart, size)),
            Content::Picture(picture) => Body::Picture(picture),
        };
        Self {
            body,
            title: wrap(&panel.title, HEADING),
            caption: wrap(&panel.caption, SMALL),
        }
    }

    fn margins(&self) -> Margins {
        let body = match &self.body {
            Body::Chart(frame) => frame.margins(),
            Body::Picture(_) => Margins::default(),
        };
        let title = match self.title.len() {
            0 => 4.0,
            lines => 10.0 + HEADING * (1.0 + LEADING * count(lines - 1)),
        };
        let caption = match self.caption.len() {
            0 => 0.0,
            lines => 9.0 + SMALL * (1.0 + LEADING * count(lines - 1)),
        };
        Margins {
            top: title,
            below: body.below + caption,
            ..body
        }
    }

    fn draw(&self, drawing: &mut Drawing, area: Area) {
        let middle = area.left + area.width / 2.0;
        let above = LEADING * HEADING * count(self.title.len().saturating_sub(1));
        lines(
            drawing,
            [middle, area.top - 8.0 - above],
            &self.title,
            HEADING,
        );
        let bottom = match &self.body {
            Body::Chart(frame) => {
                frame.draw(drawing, area);
                area.bottom() + frame.margins().below
            }
            Body::Picture(picture) => draw_picture(drawing, area, picture),
        };
        lines(
            drawing,
            [middle, bottom + 5.0 + SMALL],
            &self.caption,
            SMALL,
        );
    }
}

/// Draws a picture as large as possible at the upper edge of an area, and returns its lower end.
fn draw_picture(drawing: &mut Drawing, area: Area, picture: &Picture) -> f64 {
    let width = area.width.min(area.height * picture.aspect());
    let height = width / picture.aspect();
    let area = Area {
        left: area.left + (area.width - width) / 2.0,
        top: area.top,
        width,
        height,
    };
    let picture = picture.clone();
    drawing.add(Shape::Picture { area, picture });
    drawing.frame(&area.grown(0.5), FRAME);
    area.bottom()
}

/// Draws centred lines, the first one at `at`.
fn lines(drawing: &mut Drawing, at: [f64; 2], lines: &[String], size: f64) {
    for (index, line) in lines.iter().enumerate() {
        let at = [at[0], at[1] + LEADING * size * count(index)];
        text(drawing, at, line, size, Anchor::Middle, INK);
    }
}

/// Draws a text, unless it is empty.
fn text(
    drawing: &mut Drawing,
    at: [f64; 2],
    text: &str,
    size: f64,
    anchor: Anchor,
    colour: Colour,
) {
    if !text.is_empty() {
        drawing.add(Shape::Text {
            at,
            text: text.to_owned(),
            size,
            anchor,
            upwards: false,
            colour,
        });
    }
}

const fn count(number: usize) -> f64 {
    number as f64
}
