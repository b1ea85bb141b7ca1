//! Where everything in a figure goes.

use super::axis::{Fitted, Tick};
use super::canvas::{Anchor, Area, Colour, Dash, Drawing, Shape};
use super::{Figure, Marks, Panel, Series, font};

const INK: Colour = Colour::hex(0x0022_2222);
const FRAME: Colour = Colour::hex(0x0066_6666);
const GRID: Colour = Colour::hex(0x00e6_e6e6);

const TITLE: f64 = 16.0;
const HEADING: f64 = 14.0;
const LABEL: f64 = 13.0;
const SMALL: f64 = 12.0;

/// Around the figure and between its parts.
const GAP: f64 = 12.0;
/// Between columns of panels.
const GUTTER: f64 = 24.0;
/// Of the marks along the axes.
const TICK: f64 = 5.0;
/// Of the sample of a line in the legend.
const SAMPLE: f64 = 34.0;
const LEGEND_ROW: f64 = 20.0;

/// Draws the whole figure.
pub(super) fn draw(figure: &Figure) -> Drawing {
    let panels: Vec<Prepared<'_>> = figure.panels.iter().map(Prepared::new).collect();
    let columns = figure.columns.min(panels.len()).max(1);
    let rows = panels.len().div_ceil(columns);
    // The same margins for all panels align their frames.
    let left = panels.iter().map(Prepared::left).fold(0.0, f64::max);
    let top = panels.iter().map(Prepared::top).fold(0.0, f64::max);
    let below = SMALL + LABEL + TICK + 16.0;
    let [width, height] = figure.panel_size;
    let cell = [left + width + GUTTER, top + height + below + GAP];
    let header = GAP + figure.title.as_ref().map_or(0.0, |_| TITLE + GAP);

    let mut drawing = Drawing {
        width: count(columns) * cell[0] + GAP,
        height: header + count(rows) * cell[1],
        items: Vec::new(),
    };
    if let Some(title) = &figure.title {
        let middle = drawing.width / 2.0;
        text(
            &mut drawing,
            [middle, GAP + TITLE],
            title,
            TITLE,
            Anchor::Middle,
        );
    }
    for (index, panel) in panels.iter().enumerate() {
        let area = Area {
            left: GAP + count(index % columns) * cell[0] + left,
            top: header + count(index / columns) * cell[1] + top,
            width,
            height,
        };
        panel.draw(&mut drawing, area);
    }
    draw_legend(&mut drawing, figure);
    drawing
}

/// A panel whose axes know their ranges.
struct Prepared<'a> {
    panel: &'a Panel,
    x: Fitted,
    y: Fitted,
}

impl<'a> Prepared<'a> {
    fn new(panel: &'a Panel) -> Self {
        let values = |axis| {
            panel
                .series
                .iter()
                .flat_map(move |series| series.values(axis))
        };
        Self {
            panel,
            x: panel.x.fitted(values(0)),
            y: panel.y.fitted(values(1)),
        }
    }

    /// The room for numbers and label left of the frame.
    fn left(&self) -> f64 {
        let labels = self.y.ticks().into_iter().filter_map(|tick| tick.label);
        let widest = labels
            .map(|label| font::width(&label, SMALL))
            .fold(0.0, f64::max);
        let label = if self.panel.y.label.is_empty() {
            0.0
        } else {
            LABEL + 10.0
        };
        widest + TICK + 6.0 + label
    }

    fn top(&self) -> f64 {
        self.panel.title.as_ref().map_or(4.0, |_| HEADING + 10.0)
    }

    fn draw(&self, drawing: &mut Drawing, area: Area) {
        self.draw_grid(drawing, area);
        for on_top in [false, true] {
            for series in self.panel.series.iter().filter(|s| s.on_top == on_top) {
                self.draw_series(drawing, area, series);
            }
        }
        self.draw_frame(drawing, area);
    }

    fn place(&self, area: Area, [x, y]: [f64; 2]) -> [f64; 2] {
        [
            area.left + area.width * self.x.place(x),
            area.top + area.height * (1.0 - self.y.place(y)),
        ]
    }

    fn draw_grid(&self, drawing: &mut Drawing, area: Area) {
        let [right, bottom] = [area.left + area.width, area.top + area.height];
        for tick in self.x.ticks().iter().filter(|tick| tick.label.is_some()) {
            let x = area.left + area.width * self.x.place(tick.value);
            line(drawing, vec![[x, area.top], [x, bottom]], GRID);
        }
        for tick in self.y.ticks().iter().filter(|tick| tick.label.is_some()) {
            let y = bottom - area.height * self.y.place(tick.value);
            line(drawing, vec![[area.left, y], [right, y]], GRID);
        }
    }

    fn draw_frame(&self, drawing: &mut Drawing, area: Area) {
        let [right, bottom] = [area.left + area.width, area.top + area.height];
        let middle = [area.left + area.width / 2.0, area.top + area.height / 2.0];
        let corners = [
            [area.left, area.top],
            [right, area.top],
            [right, bottom],
            [area.left, bottom],
            [area.left, area.top],
        ];
        line(drawing, corners.to_vec(), FRAME);
        for Tick { value, label } in self.x.ticks() {
            let x = area.left + area.width * self.x.place(value);
            let length = label.as_ref().map_or(TICK / 2.0, |_| TICK);
            line(drawing, vec![[x, bottom], [x, bottom + length]], FRAME);
            if let Some(label) = label {
                let at = [x, bottom + TICK + SMALL + 2.0];
                text(drawing, at, &label, SMALL, Anchor::Middle);
            }
        }
        for Tick { value, label } in self.y.ticks() {
            let y = bottom - area.height * self.y.place(value);
            let length = label.as_ref().map_or(TICK / 2.0, |_| TICK);
            line(
                drawing,
                vec![[area.left - length, y], [area.left, y]],
                FRAME,
            );
            if let Some(label) = label {
                let at = [area.left - TICK - 3.0, y + 0.36 * SMALL];
                text(drawing, at, &label, SMALL, Anchor::End);
            }
        }
        let Panel { title, x, y, .. } = self.panel;
        let below = bottom + TICK + SMALL + LABEL + 9.0;
        text(drawing, [middle[0], below], &x.label, LABEL, Anchor::Middle);
        drawing.add(Shape::Text {
            at: [area.left - self.left() + LABEL, middle[1]],
            text: y.label.clone(),
            size: LABEL,
            anchor: Anchor::Middle,
            upwards: true,
            colour: INK,
        });
        if let Some(title) = title {
            let at = [middle[0], area.top - 8.0];
            text(drawing, at, title, HEADING, Anchor::Middle);
        }
    }

    fn draw_series(&self, drawing: &mut Drawing, area: Area, series: &Series) {
        let colour = series.colour;
        match &series.marks {
            Marks::Line(points) => {
                for points in unbroken(points) {
                    let points = points.iter().map(|point| self.place(area, *point));
                    drawing.add_inside(area, stroke(points.collect(), series));
                }
            }
            Marks::Steps(points) => {
                for points in unbroken(points) {
                    let points = staircase(points);
                    let points = points.into_iter().map(|point| self.place(area, point));
                    drawing.add_inside(area, stroke(points.collect(), series));
                }
            }
            Marks::Dots(points) => {
                // Not clipped: a dot on the frame is drawn whole, one outside not at all.
                for point in points.iter().filter(|point| is_number(*point)) {
                    let inside = |at: f64| (-1e-9..=1.0 + 1e-9).contains(&at);
                    if inside(self.x.place(point[0])) && inside(self.y.place(point[1])) {
                        drawing.add(Shape::Dot {
                            centre: self.place(area, *point),
                            diameter: series.width,
                            colour,
                        });
                    }
                }
            }
            Marks::Band(points) => {
                for points in points.split(|point| !is_number(point)) {
                    let lower = points.iter().map(|[x, lower, _]| [*x, *lower]);
                    let upper = points.iter().map(|[x, _, upper]| [*x, *upper]);
                    let around = lower.chain(upper.rev());
                    let points = around.map(|point| self.place(area, point)).collect();
                    drawing.add_inside(area, Shape::Fill { points, colour });
                }
            }
        }
    }
}

/// The parts of a line between points that are not numbers.
fn unbroken(points: &[[f64; 2]]) -> impl Iterator<Item = &[[f64; 2]]> {
    points
        .split(|point| !is_number(point))
        .filter(|part| part.len() > 1)
}

fn is_number(point: &[f64]) -> bool {
    !point.iter().any(|value| value.is_nan())
}

/// Horizontal from each point to the next, then up or down.
fn staircase(points: &[[f64; 2]]) -> Vec<[f64; 2]> {
    let mut stairs = Vec::with_capacity(2 * points.len());
    for pair in points.windows(2) {
        stairs.push(pair[0]);
        stairs.push([pair[1][0], pair[0][1]]);
    }
    stairs.extend(points.last());
    stairs
}

/// Below everything, in as many rows as are needed, each centred.
fn draw_legend(drawing: &mut Drawing, figure: &Figure) {
    let mut entries: Vec<&Series> = Vec::new();
    for series in figure.panels.iter().flat_map(|panel| &panel.series) {
        let is_new = entries.iter().all(|entry| entry.label != series.label);
        if series.label.is_some() && is_new {
            entries.push(series);
        }
    }
    let widths: Vec<f64> = entries
        .iter()
        .map(|entry| {
            let label = entry.label.as_deref().unwrap_or_default();
            SAMPLE + 8.0 + font::width(label, LABEL) + 2.0 * GAP
        })
        .collect();
    let mut begin = 0;
    for end in row_ends(&widths, drawing.width - 2.0 * GAP) {
        let total: f64 = widths[begin..end].iter().sum();
        let mut x = (drawing.width - total) / 2.0 + GAP;
        let y = drawing.height + LEGEND_ROW / 2.0;
        for (entry, width) in entries[begin..end].iter().zip(&widths[begin..end]) {
            draw_sample(drawing, [x, y], entry);
            let at = [x + SAMPLE + 8.0, y + 0.36 * LABEL];
            let label = entry.label.as_deref().unwrap_or_default();
            text(drawing, at, label, LABEL, Anchor::Start);
            x += width;
        }
        drawing.height += LEGEND_ROW;
        begin = end;
    }
    if begin > 0 {
        drawing.height += GAP;
    }
}

/// Fills rows one after the other; returns where each ends.
fn row_ends(widths: &[f64], room: f64) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut used = 0.0;
    for (index, width) in widths.iter().enumerate() {
        if index > 0 && used + width > room {
            ends.push(index);
            used = 0.0;
        }
        used += width;
    }
    if !widths.is_empty() {
        ends.push(widths.len());
    }
    ends
}

fn draw_sample(drawing: &mut Drawing, [x, y]: [f64; 2], series: &Series) {
    drawing.add(match series.marks {
        Marks::Line(_) | Marks::Steps(_) => stroke(vec![[x, y], [x + SAMPLE, y]], series),
        Marks::Dots(_) => Shape::Dot {
            centre: [x + SAMPLE / 2.0, y],
            diameter: series.width,
            colour: series.colour,
        },
        Marks::Band(_) => Shape::Fill {
            points: vec![
                [x, y - 5.0],
                [x + SAMPLE, y - 5.0],
                [x + SAMPLE, y + 5.0],
                [x, y + 5.0],
            ],
            colour: series.colour,
        },
    });
}

const fn stroke(points: Vec<[f64; 2]>, series: &Series) -> Shape {
    Shape::Stroke {
        points,
        colour: series.colour,
        width: series.width,
        dash: series.dash,
    }
}

fn line(drawing: &mut Drawing, points: Vec<[f64; 2]>, colour: Colour) {
    drawing.add(Shape::Stroke {
        points,
        colour,
        width: 1.0,
        dash: Dash::Solid,
    });
}

fn text(drawing: &mut Drawing, at: [f64; 2], text: &str, size: f64, anchor: Anchor) {
    drawing.add(Shape::Text {
        at,
        text: text.to_owned(),
        size,
        anchor,
        upwards: false,
        colour: INK,
    });
}

#[expect(clippy::cast_precision_loss, reason = "panels are few")]
const fn count(number: usize) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::Axis;

    #[test]
    fn stairs_hold_their_value_until_the_next_point() {
        let stairs = staircase(&[[0.0, 1.0], [2.0, 3.0]]);
        assert_eq!(stairs, [[0.0, 1.0], [2.0, 1.0], [2.0, 3.0]]);
    }

    #[test]
    fn lines_break_where_there_is_no_number() {
        let nan = [1.0, f64::NAN];
        let points = [
            [0.0, 0.0],
            [1.0, 0.0],
            nan,
            [2.0, 0.0],
            nan,
            [3.0, 0.0],
            [4.0, 0.0],
        ];
        assert_eq!(unbroken(&points).count(), 2);
    }

    #[test]
    fn legends_wrap() {
        assert_eq!(row_ends(&[50.0, 50.0, 50.0], 100.0), [2, 3]);
        assert_eq!(row_ends(&[500.0], 100.0), [1]);
        assert!(row_ends(&[], 100.0).is_empty());
    }

    #[test]
    fn every_kind_of_mark_is_drawn_in_both_formats() {
        let points = vec![[1.0, 0.0], [10.0, 1.0], [100.0, 0.5]];
        let band = points.iter().map(|[x, y]| [*x, y - 1.0, y + 1.0]).collect();
        let colour = Colour::hex(0x0000_72b2);
        let panel = || Panel::new(Axis::log("x"), Axis::linear("y < z")).title("panel");
        let figure = Figure::new(2)
            .title("all marks")
            .with(
                panel()
                    .with(Series::band(band).colour(colour.alpha(0.3)).label("band"))
                    .with(
                        Series::line(points.clone())
                            .colour(colour)
                            .dash(Dash::DashDot)
                            .label("line"),
                    ),
            )
            .with(
                panel().with(
                    Series::steps(points.clone())
                        .dash(Dash::Dotted)
                        .label("steps"),
                ),
            )
            .with(panel().with(Series::dots(points).label("line")));
        let svg = figure.to_svg();
        for part in [
            "<polygon",
            "<polyline",
            "<circle",
            "stroke-dasharray",
            "y &lt; z",
            "all marks",
        ] {
            assert!(svg.contains(part), "{part}");
        }
        assert_eq!(
            svg.matches(">line<").count(),
            1,
            "one entry for equal labels"
        );
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
        assert!(figure.to_png().unwrap().starts_with(b"\x89PNG"));
    }
}
