//! Charts: axes, grid and series.

use super::{FRAME, GAP, INK, LABEL, Margins, SMALL, marks, text};
use crate::axis::{Fitted, Tick};
use crate::canvas::{Anchor, Area, Colour, Drawing, Shape};
use crate::panel::Chart;
use crate::{Axis, Series, font};

const GRID: Colour = Colour::hex(0x00e6_e6e6);

/// Length of ticks.
const TICK: f64 = 5.0;
/// Smallest distance between numbers along an axis.
const DISTANCE: f64 = 6.0;

/// A chart with fixed ranges of its axes.
pub(super) struct ChartFrame<'a> {
    chart: &'a Chart,
    x: Scaled<'a>,
    y: Scaled<'a>,
    right: Option<Scaled<'a>>,
    size: [f64; 2],
}

/// One axis of a chart.
struct Scaled<'a> {
    axis: &'a Axis,
    fitted: Fitted,
    ticks: Vec<Tick>,
}

impl<'a> Scaled<'a> {
    /// Returns the axis of `series`. Its `length` and the `extent` of each label decide which
    /// labels fit.
    fn new(
        axis: &'a Axis,
        (which, series): (usize, &[&Series]),
        length: f64,
        extent: fn(&str) -> f64,
    ) -> Self {
        let values = series.iter().flat_map(|series| series.values(which));
        let on_zero = which == 1 && series.iter().any(|series| series.stands_on_zero());
        let fitted = axis.fitted(values, on_zero);
        let mut ticks = fitted.ticks();
        thin(&mut ticks, |tick| {
            let label = tick.label.as_deref()?;
            Some([length * fitted.place(tick.value), extent(label)])
        });
        Self {
            axis,
            fitted,
            ticks,
        }
    }

    fn colour(&self) -> Colour {
        self.axis.colour.unwrap_or(INK)
    }

    /// Returns the width of numbers and label next to the frame.
    fn room(&self) -> f64 {
        let labels = self.ticks.iter().filter_map(|tick| tick.label.as_deref());
        let widest = labels
            .map(|label| font::width(label, SMALL))
            .fold(0.0, f64::max);
        let label = if self.axis.label.is_empty() {
            0.0
        } else {
            LABEL + 10.0
        };
        widest + TICK + 6.0 + label
    }
}

/// Removes labels until the others, each given by middle and extent, do not touch.
fn thin(ticks: &mut [Tick], placed: impl Fn(&Tick) -> Option<[f64; 2]>) {
    let positions: Vec<[f64; 2]> = ticks.iter().filter_map(placed).collect();
    let is_free = |every: &usize| {
        let shown: Vec<&[f64; 2]> = positions.iter().step_by(*every).collect();
        let distance = |a: &[f64; 2], b: &[f64; 2]| b[0] - a[0] - (a[1] + b[1]) / 2.0;
        shown
            .windows(2)
            .all(|pair| distance(pair[0], pair[1]) >= DISTANCE)
    };
    let every = (1..=positions.len()).find(is_free).unwrap_or(1);
    let labelled = ticks.iter_mut().filter(|tick| tick.label.is_some());
    for (index, tick) in labelled.enumerate() {
        if index % every != 0 {
            tick.label = None;
        }
    }
}

impl<'a> ChartFrame<'a> {
    pub(super) fn new(chart: &'a Chart, size: [f64; 2]) -> Self {
        let wide = |label: &str| font::width(label, SMALL);
        let high = |_: &str| SMALL - 2.0;
        let of_side = |right: bool| -> Vec<&Series> {
            let all = chart.series.iter();
            all.filter(|series| is_right(chart, series) == right)
                .collect()
        };
        let all: Vec<&Series> = chart.series.iter().collect();
        Self {
            chart,
            x: Scaled::new(&chart.x, (0, &all), size[0], wide),
            y: Scaled::new(&chart.y, (1, &of_side(false)), size[1], high),
            right: chart
                .right
                .as_ref()
                .map(|axis| Scaled::new(axis, (1, &of_side(true)), size[1], high)),
            size,
        }
    }

    pub(super) fn margins(&self) -> Margins {
        let label = if self.chart.x.label.is_empty() {
            0.0
        } else {
            LABEL + 4.0
        };
        // Numbers of the lower axis may be wider than the frame.
        let [mut before, mut beyond] = [0.0_f64, 0.0_f64];
        for tick in &self.x.ticks {
            let half = font::width(tick.label.as_deref().unwrap_or_default(), SMALL) / 2.0;
            let at = self.size[0] * self.x.fitted.place(tick.value);
            before = before.max(half - at);
            beyond = beyond.max(at + half - self.size[0]);
        }
        let right = self.right.as_ref().map_or(GAP, Scaled::room);
        Margins {
            left: self.y.room().max(before),
            right: right.max(beyond),
            top: 0.0,
            below: SMALL + TICK + 6.0 + label,
        }
    }

    pub(super) fn draw(&self, drawing: &mut Drawing, area: Area) {
        self.draw_grid(drawing, area);
        drawing.frame(&area, FRAME);
        for on_top in [false, true] {
            for series in self.chart.series.iter().filter(|s| s.on_top == on_top) {
                let y = match &self.right {
                    Some(right) if series.on_right => right,
                    _ => &self.y,
                };
                marks::draw(drawing, area, [&self.x.fitted, &y.fitted], series);
            }
        }
        self.draw_below(drawing, area);
        draw_side(drawing, area, &self.y, false);
        if let Some(right) = &self.right {
            draw_side(drawing, area, right, true);
        }
    }

    fn draw_grid(&self, drawing: &mut Drawing, area: Area) {
        for tick in self.x.ticks.iter().filter(|tick| tick.label.is_some()) {
            let x = area.left + area.width * self.x.fitted.place(tick.value);
            drawing.line(vec![[x, area.top], [x, area.bottom()]], GRID);
        }
        for tick in self.y.ticks.iter().filter(|tick| tick.label.is_some()) {
            let y = area.bottom() - area.height * self.y.fitted.place(tick.value);
            drawing.line(vec![[area.left, y], [area.right(), y]], GRID);
        }
    }

    fn draw_below(&self, drawing: &mut Drawing, area: Area) {
        let (bottom, colour) = (area.bottom(), self.x.colour());
        for Tick { value, label } in &self.x.ticks {
            let x = area.left + area.width * self.x.fitted.place(*value);
            drawing.line(vec![[x, bottom], [x, bottom + length(label)]], FRAME);
            let label = label.as_deref().unwrap_or_default();
            let at = [x, bottom + TICK + SMALL + 2.0];
            text(drawing, at, label, SMALL, Anchor::Middle, colour);
        }
        let label = &self.chart.x.label;
        let size = font::fitted(label, LABEL, area.width + self.y.room());
        let at = [
            area.left + area.width / 2.0,
            bottom + TICK + SMALL + LABEL + 7.0,
        ];
        text(drawing, at, label, size, Anchor::Middle, colour);
    }
}

/// Whether the series belongs to the right axis.
const fn is_right(chart: &Chart, series: &Series) -> bool {
    series.on_right && chart.right.is_some()
}

/// Returns the length of a tick. Ticks without label are short.
const fn length(label: &Option<String>) -> f64 {
    if label.is_some() { TICK } else { TICK / 2.0 }
}

/// Draws the vertical axis on the left or on the right.
fn draw_side(drawing: &mut Drawing, area: Area, scaled: &Scaled<'_>, on_right: bool) {
    // Lengths are measured outwards from the frame.
    let (edge, outwards, anchor) = if on_right {
        (area.right(), 1.0, Anchor::Start)
    } else {
        (area.left, -1.0, Anchor::End)
    };
    let colour = scaled.colour();
    for Tick { value, label } in &scaled.ticks {
        let y = area.bottom() - area.height * scaled.fitted.place(*value);
        let end = edge + outwards * length(label);
        drawing.line(vec![[edge, y], [end, y]], FRAME);
        let label = label.as_deref().unwrap_or_default();
        let at = [edge + outwards * (TICK + 3.0), y + 0.36 * SMALL];
        text(drawing, at, label, SMALL, anchor, colour);
    }
    let label = &scaled.axis.label;
    if !label.is_empty() {
        // Turned letters lie left of their base line.
        let inwards = if on_right { 0.25 * LABEL } else { LABEL };
        drawing.add(Shape::Text {
            at: [
                edge + outwards * (scaled.room() - inwards),
                area.top + area.height / 2.0,
            ],
            text: label.clone(),
            size: font::fitted(label, LABEL, area.height + 2.0 * GAP),
            anchor: Anchor::Middle,
            upwards: true,
            colour,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_would_touch_are_left_out() {
        let tick = |value: f64| Tick {
            value,
            label: Some(value.to_string()),
        };
        let mut ticks: Vec<Tick> = [0.0, 10.0, 20.0, 30.0, 40.0].map(tick).to_vec();
        thin(&mut ticks, |tick| Some([tick.value, 12.0]));
        let shown = ticks.iter().filter(|tick| tick.label.is_some());
        let shown: Vec<f64> = shown.map(|tick| tick.value).collect();
        assert_eq!(shown, [0.0, 20.0, 40.0]);
    }
}
