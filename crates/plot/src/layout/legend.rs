//! The legend below the panels, in centred rows.

use super::{GAP, INK, LABEL, marks, text};
use crate::canvas::{Anchor, Area, Drawing, Shape};
use crate::series::Marks;
use crate::{Figure, Series, font};

/// Length of the sample of a line.
const SAMPLE: f64 = 34.0;
const ROW: f64 = 20.0;

/// Draws the legend, and enlarges the height of the drawing.
pub(super) fn draw(drawing: &mut Drawing, figure: &Figure) {
    let entries = entries(figure);
    let room = drawing.width - 2.0 * GAP;
    let before = SAMPLE + 8.0;
    let sizes: Vec<f64> = entries
        .iter()
        .map(|(label, _)| font::fitted(label, LABEL, room - before - 2.0 * GAP))
        .collect();
    let widths: Vec<f64> = entries
        .iter()
        .zip(&sizes)
        .map(|((label, _), size)| before + font::width(label, *size) + 2.0 * GAP)
        .collect();
    let mut begin = 0;
    for end in row_ends(&widths, room) {
        let total: f64 = widths[begin..end].iter().sum();
        let mut x = (drawing.width - total) / 2.0 + GAP;
        let y = drawing.height + ROW / 2.0;
        for index in begin..end {
            let (label, series) = entries[index];
            draw_sample(drawing, [x, y], series);
            let at = [x + before, y + 0.36 * LABEL];
            text(drawing, at, label, sizes[index], Anchor::Start, INK);
            x += widths[index];
        }
        drawing.height += ROW;
        begin = end;
    }
    if begin > 0 {
        drawing.height += GAP;
    }
}

/// Returns each label once, with its first series.
fn entries(figure: &Figure) -> Vec<(&str, &Series)> {
    let mut entries: Vec<(&str, &Series)> = Vec::new();
    for series in figure.panels.iter().flat_map(|panel| panel.series()) {
        if let Some(label) = series.label.as_deref()
            && entries.iter().all(|(known, _)| *known != label)
        {
            entries.push((label, series));
        }
    }
    entries
}

/// Returns the end of each row. There are as few rows as possible, equally full if that fits.
fn row_ends(widths: &[f64], room: f64) -> Vec<usize> {
    let filled = filled_rows(widths, room);
    let each = widths.len().div_ceil(filled.len().max(1)).max(1);
    let is_fitting = |row: &[f64]| row.iter().sum::<f64>() <= room;
    if widths.chunks(each).all(is_fitting) {
        let ends = (1..).map(|row| widths.len().min(row * each));
        ends.take(widths.len().div_ceil(each)).collect()
    } else {
        filled
    }
}

/// Fills rows one after the other, and returns the end of each.
fn filled_rows(widths: &[f64], room: f64) -> Vec<usize> {
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
    let colour = series.colour;
    let middle = x + SAMPLE / 2.0;
    let block = |width: f64| {
        let area = Area {
            left: middle - width / 2.0,
            top: y - 5.0,
            width,
            height: 10.0,
        };
        let points = area.corners().to_vec();
        Shape::Fill { points, colour }
    };
    match series.marks {
        Marks::Line(_) | Marks::Steps(_) => {
            drawing.add(marks::stroke(vec![[x, y], [x + SAMPLE, y]], series));
        }
        Marks::Dots(_) => drawing.add(Shape::Dot {
            centre: [middle, y],
            diameter: series.thickness(),
            colour,
        }),
        Marks::Squares(_) => drawing.add(marks::square([middle, y], series)),
        Marks::Band(_) => drawing.add(block(SAMPLE)),
        Marks::Bars(_) => drawing.add(block(10.0)),
        Marks::Stems(_) => {
            let sample = marks::stem([middle, y + 7.0], [middle, y - 4.0], series);
            sample.into_iter().for_each(|shape| drawing.add(shape));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn legends_wrap() {
        assert_eq!(row_ends(&[50.0, 50.0, 50.0], 100.0), [2, 3]);
        assert_eq!(row_ends(&[500.0], 100.0), [1]);
        assert_eq!(row_ends(&[20.0; 6], 100.0), [3, 6]);
        assert_eq!(row_ends(&[10.0, 10.0, 90.0, 10.0], 100.0), [2, 4]);
        assert_eq!(row_ends(&[10.0, 10.0, 10.0, 95.0], 100.0), [3, 4]);
        assert!(row_ends(&[], 100.0).is_empty());
    }
}
