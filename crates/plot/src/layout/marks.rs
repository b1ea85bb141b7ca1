//! The shapes of series.

use super::FRAME;
use crate::axis::Fitted;
use crate::canvas::{Area, Drawing, Shape};
use crate::series::Marks;
use crate::{Series, clip};

/// Half the width of the frame. Lines may lie on the frame, areas end before it.
const ON_FRAME: f64 = 0.5;
/// Diameter of the dot of a stem, or of a line with a single point, relative to the line width.
const BLOB: f64 = 3.5;

/// Draws a series along two axes, clipped to the frame.
pub(super) fn draw(drawing: &mut Drawing, area: Area, axes: [&Fitted; 2], series: &Series) {
    let mut pen = Pen {
        drawing,
        area,
        axes,
        series,
    };
    match &series.marks {
        Marks::Line(points) => {
            for points in unbroken(points) {
                pen.line(points);
            }
        }
        Marks::Steps(points) => {
            for points in unbroken(points) {
                pen.line(&staircase(points));
            }
        }
        Marks::Dots(points) => {
            for point in points {
                pen.dot(*point, series.thickness());
            }
        }
        Marks::Squares(points) => {
            for point in points {
                pen.square(*point);
            }
        }
        Marks::Band(points) => {
            for points in unbroken(points) {
                let lower = points.iter().map(|[x, lower, _]| [*x, *lower]);
                let upper = points.iter().map(|[x, _, upper]| [*x, *upper]);
                pen.area(lower.chain(upper.rev()).collect());
            }
        }
        Marks::Bars(points) => {
            let half = series.thickness() / 2.0;
            for [x, y] in points.iter().filter(|point| is_number(*point)) {
                let (left, right) = (x - half, x + half);
                pen.area(vec![[left, 0.0], [left, *y], [right, *y], [right, 0.0]]);
            }
            pen.base();
        }
        Marks::Stems(points) => {
            for [x, y] in points.iter().filter(|point| is_number(*point)) {
                pen.line(&[[*x, 0.0], [*x, *y]]);
            }
            pen.base();
            for point in points {
                pen.dot(*point, BLOB * series.thickness());
            }
        }
    }
}

struct Pen<'a> {
    drawing: &'a mut Drawing,
    area: Area,
    axes: [&'a Fitted; 2],
    series: &'a Series,
}

impl Pen<'_> {
    fn place(&self, [x, y]: [f64; 2]) -> [f64; 2] {
        [
            self.area.left + self.area.width * self.axes[0].place(x),
            self.area.top + self.area.height * (1.0 - self.axes[1].place(y)),
        ]
    }

    fn line(&mut self, points: &[[f64; 2]]) {
        if let [point] = points {
            self.dot(*point, BLOB * self.series.thickness());
        }
        let points: Vec<[f64; 2]> = points.iter().map(|point| self.place(*point)).collect();
        for part in clip::line(&points, self.area.grown(ON_FRAME)) {
            self.drawing.add(stroke(part, self.series));
        }
    }

    /// Draws a dot, unless its centre is outside of the frame.
    fn dot(&mut self, point: [f64; 2], diameter: f64) {
        let centre = self.place(point);
        if is_number(&point) && self.area.contains(centre) {
            self.drawing.add(Shape::Dot {
                centre,
                diameter,
                colour: self.series.colour,
            });
        }
    }

    fn square(&mut self, point: [f64; 2]) {
        let centre = self.place(point);
        if is_number(&point) && self.area.contains(centre) {
            self.drawing.add(square(centre, self.series));
        }
    }

    fn area(&mut self, around: Vec<[f64; 2]>) {
        let points = around.into_iter().map(|point| self.place(point)).collect();
        let points = clip::polygon(points, self.area.grown(-ON_FRAME));
        if points.len() > 2 {
            let colour = self.series.colour;
            self.drawing.add(Shape::Fill { points, colour });
        }
    }

    /// Draws the line at zero, unless it is the frame.
    fn base(&mut self) {
        if self.axes[1].has_zero_inside() {
            let [_, y] = self.place([0.0, 0.0]);
            let points = vec![[self.area.left, y], [self.area.right(), y]];
            self.drawing.line(points, FRAME);
        }
    }
}

/// Returns a line in the style of a series.
pub(super) fn stroke(points: Vec<[f64; 2]>, series: &Series) -> Shape {
    Shape::Stroke {
        points,
        colour: series.colour,
        width: series.thickness(),
        dash: series.dash,
    }
}

/// Returns a square in the style of a series.
pub(super) fn square([x, y]: [f64; 2], series: &Series) -> Shape {
    let side = series.thickness();
    let area = Area {
        left: x - side / 2.0,
        top: y - side / 2.0,
        width: side,
        height: side,
    };
    Shape::Fill {
        points: area.corners().to_vec(),
        colour: series.colour,
    }
}

/// Returns a stem from its foot to its end, in the style of a series.
pub(super) fn stem(foot: [f64; 2], end: [f64; 2], series: &Series) -> [Shape; 2] {
    let dot = Shape::Dot {
        centre: end,
        diameter: BLOB * series.thickness(),
        colour: series.colour,
    };
    [stroke(vec![foot, end], series), dot]
}

/// Returns the parts of a line between points that are not numbers.
fn unbroken<const N: usize>(points: &[[f64; N]]) -> impl Iterator<Item = &[[f64; N]]> {
    points
        .split(|point| !is_number(point))
        .filter(|part| !part.is_empty())
}

fn is_number(point: &[f64]) -> bool {
    !point.iter().any(|value| value.is_nan())
}

/// Returns the corners of stairs: horizontal to the next point, then vertical.
fn staircase(points: &[[f64; 2]]) -> Vec<[f64; 2]> {
    let mut stairs = Vec::with_capacity(2 * points.len());
    for pair in points.windows(2) {
        stairs.push(pair[0]);
        stairs.push([pair[1][0], pair[0][1]]);
    }
    stairs.extend(points.last());
    stairs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stairs_hold_their_value_until_the_next_point() {
        let stairs = staircase(&[[0.0, 1.0], [2.0, 3.0]]);
        assert_eq!(stairs, [[0.0, 1.0], [2.0, 1.0], [2.0, 3.0]]);
    }

    #[test]
    fn lines_break_where_there_is_no_number() {
        let nan = [1.0, f64::NAN];
        let points = [nan, [0.0, 0.0], [1.0, 0.0], nan, nan, [2.0, 0.0], nan];
        let lengths: Vec<usize> = unbroken(&points).map(<[_]>::len).collect();
        assert_eq!(lengths, [2, 1]);
    }
}
