//! Clipping of lines and polygons to a rectangle. SVG clip paths would need ids, which could clash
//! with those of other figures on the page.

use crate::canvas::Area;

type Point = [f64; 2];

/// Returns the parts of a line inside `area`.
pub(crate) fn line(points: &[Point], area: Area) -> Vec<Vec<Point>> {
    let mut parts: Vec<Vec<Point>> = Vec::new();
    let mut continues = false;
    for pair in points.windows(2) {
        let (from, to) = (pair[0], pair[1]);
        let Some([enter, leave]) = inside(from, to, area) else {
            continues = false;
            continue;
        };
        if !(continues && enter <= 0.0) {
            parts.push(vec![between(from, to, enter)]);
        }
        if let Some(part) = parts.last_mut() {
            part.push(between(from, to, leave));
        }
        continues = leave >= 1.0;
    }
    parts
}

/// Returns the range of shares of the way between two points in which the line is inside (algorithm
/// of Liang and Barsky).
fn inside(from: Point, to: Point, area: Area) -> Option<[f64; 2]> {
    let [mut enter, mut leave] = [0.0_f64, 1.0_f64];
    for edge in edges(area) {
        let (start, end) = (edge.depth(from), edge.depth(to));
        if start < 0.0 && end < 0.0 {
            return None;
        }
        let crossing = start / (start - end);
        if start < 0.0 {
            enter = enter.max(crossing);
        } else if end < 0.0 {
            leave = leave.min(crossing);
        }
    }
    (enter <= leave).then_some([enter, leave])
}

/// Returns the part of a polygon inside `area` (algorithm of Sutherland and Hodgman).
pub(crate) fn polygon(mut points: Vec<Point>, area: Area) -> Vec<Point> {
    for edge in edges(area) {
        let mut inside_points = Vec::with_capacity(points.len() + 4);
        for (index, &to) in points.iter().enumerate() {
            let from = points[index.checked_sub(1).unwrap_or(points.len() - 1)];
            let (start, end) = (edge.depth(from), edge.depth(to));
            if (start < 0.0) != (end < 0.0) {
                inside_points.push(between(from, to, start / (start - end)));
            }
            if end >= 0.0 {
                inside_points.push(to);
            }
        }
        points = inside_points;
    }
    points
}

fn between(from: Point, to: Point, share: f64) -> Point {
    if share <= 0.0 {
        from
    } else if share >= 1.0 {
        to
    } else {
        [0, 1].map(|axis| from[axis] + share * (to[axis] - from[axis]))
    }
}

/// One side of a rectangle.
struct Edge {
    axis: usize,
    at: f64,
    /// 1 if the inside has larger coordinates, else -1.
    inwards: f64,
}

impl Edge {
    /// Returns the distance of a point from the edge, positive inside.
    fn depth(&self, point: Point) -> f64 {
        self.inwards * (point[self.axis] - self.at)
    }
}

fn edges(area: Area) -> [Edge; 4] {
    let edge = |axis, at, inwards| Edge { axis, at, inwards };
    [
        edge(0, area.left, 1.0),
        edge(0, area.right(), -1.0),
        edge(1, area.top, 1.0),
        edge(1, area.bottom(), -1.0),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    const AREA: Area = Area {
        left: 0.0,
        top: 0.0,
        width: 10.0,
        height: 10.0,
    };

    #[test]
    fn lines_inside_stay_whole() {
        let points = [[0.0, 0.0], [5.0, 10.0], [10.0, 0.0]];
        assert_eq!(line(&points, AREA), [points.to_vec()]);
        assert!(line(&points[..1], AREA).is_empty());
    }

    #[test]
    fn lines_are_cut_and_continued() {
        let points = [
            [-5.0, 5.0],
            [5.0, 5.0],
            [5.0, 15.0],
            [8.0, 15.0],
            [8.0, 5.0],
        ];
        let expected = [
            vec![[0.0, 5.0], [5.0, 5.0], [5.0, 10.0]],
            vec![[8.0, 10.0], [8.0, 5.0]],
        ];
        assert_eq!(line(&points, AREA), expected);
        assert!(line(&[[-5.0, 4.0], [4.0, -5.0]], AREA).is_empty());
        assert_eq!(
            line(&[[-8.0, 5.0], [24.0, 5.0]], AREA),
            [[[0.0, 5.0], [10.0, 5.0]]]
        );
    }

    #[test]
    fn polygons_are_cut() {
        let area = |points: &[Point]| {
            let next = points.iter().cycle().skip(1);
            let twice: f64 = points
                .iter()
                .zip(next)
                .map(|(a, b)| a[0] * b[1] - b[0] * a[1])
                .sum();
            twice.abs() / 2.0
        };
        let square = vec![[-5.0, 5.0], [5.0, 5.0], [5.0, 15.0], [-5.0, 15.0]];
        let inside_points = polygon(square, AREA);
        assert!((area(&inside_points) - 25.0).abs() < 1e-9);
        assert!(
            inside_points
                .iter()
                .flatten()
                .all(|c| (0.0..=10.0).contains(c))
        );
        assert!(polygon(vec![[20.0, 0.0], [30.0, 0.0], [20.0, 5.0]], AREA).is_empty());
        assert!(polygon(Vec::new(), AREA).is_empty());
    }
}
