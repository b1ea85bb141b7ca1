//! Series: data and their marks.

use crate::{Colour, Dash};

/// The marks of a series.
#[derive(Clone, Debug)]
pub(crate) enum Marks {
    /// Straight lines from point to point.
    Line(Vec<[f64; 2]>),
    /// Horizontal lines until the next point.
    Steps(Vec<[f64; 2]>),
    Dots(Vec<[f64; 2]>),
    Squares(Vec<[f64; 2]>),
    /// An area, from points of `x`, lower and upper value.
    Band(Vec<[f64; 3]>),
    /// Bars from zero to the value.
    Bars(Vec<[f64; 2]>),
    /// Lines from zero to the value, with a dot there.
    Stems(Vec<[f64; 2]>),
}

/// Data with their marks. Points that are not numbers interrupt a line.
#[derive(Clone, Debug)]
pub struct Series {
    pub(crate) marks: Marks,
    pub(crate) label: Option<String>,
    pub(crate) colour: Colour,
    width: Option<f64>,
    pub(crate) dash: Dash,
    pub(crate) on_top: bool,
    pub(crate) on_right: bool,
}

impl Series {
    const fn new(marks: Marks) -> Self {
        Self {
            marks,
            label: None,
            colour: Colour::hex(0x0033_3333),
            width: None,
            dash: Dash::Solid,
            on_top: false,
            on_right: false,
        }
    }

    /// Returns straight lines from point to point. A point without neighbours is a dot.
    #[must_use]
    pub const fn line(points: Vec<[f64; 2]>) -> Self {
        Self::new(Marks::Line(points))
    }

    /// Returns stairs: each value holds until the next point.
    #[must_use]
    pub const fn steps(points: Vec<[f64; 2]>) -> Self {
        Self::new(Marks::Steps(points))
    }

    /// Returns a dot at every point.
    #[must_use]
    pub const fn dots(points: Vec<[f64; 2]>) -> Self {
        Self::new(Marks::Dots(points))
    }

    /// Returns a square at every point.
    #[must_use]
    pub const fn squares(points: Vec<[f64; 2]>) -> Self {
        Self::new(Marks::Squares(points))
    }

    /// Returns the area between two lines, from points `[x, lower, upper]`.
    #[must_use]
    pub const fn band(points: Vec<[f64; 3]>) -> Self {
        Self::new(Marks::Band(points))
    }

    /// Returns bars from zero to each value, centred at its x. On a logarithmic axis they start at
    /// the lower end.
    #[must_use]
    pub const fn bars(points: Vec<[f64; 2]>) -> Self {
        Self::new(Marks::Bars(points))
    }

    /// Returns stems, which are lines from zero to each value with a dot at the end.
    #[must_use]
    pub const fn stems(points: Vec<[f64; 2]>) -> Self {
        Self::new(Marks::Stems(points))
    }

    /// Sets the name in the legend. Equal names of several panels are shown once.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// Sets the colour. A band is usually [transparent](Colour::alpha).
    #[must_use]
    pub const fn colour(mut self, colour: Colour) -> Self {
        self.colour = colour;
        self
    }

    /// Sets the width of lines and stems, or the size of dots and squares, in pixels. The width of
    /// bars is a difference of x, by default 0.8 of the smallest distance between two bars.
    #[must_use]
    pub const fn width(mut self, width: f64) -> Self {
        self.width = Some(width);
        self
    }

    /// Sets the pattern of lines.
    #[must_use]
    pub const fn dash(mut self, dash: Dash) -> Self {
        self.dash = dash;
        self
    }

    /// Draws the series over all others. Its position in the legend does not change.
    #[must_use]
    pub const fn on_top(mut self) -> Self {
        self.on_top = true;
        self
    }

    /// Uses the right axis, if the panel has one.
    #[must_use]
    pub const fn on_right(mut self) -> Self {
        self.on_right = true;
        self
    }

    /// Returns the width or size in pixels, or for bars as a difference of x.
    pub(crate) fn thickness(&self) -> f64 {
        self.width.unwrap_or_else(|| match &self.marks {
            Marks::Line(_) | Marks::Steps(_) => 1.6,
            Marks::Stems(_) => 1.4,
            Marks::Dots(_) | Marks::Squares(_) => 6.0,
            Marks::Band(_) => 0.0,
            Marks::Bars(points) => 0.8 * smallest_distance(points).unwrap_or(1.0),
        })
    }

    /// Whether the marks begin at zero.
    pub(crate) const fn stands_on_zero(&self) -> bool {
        matches!(self.marks, Marks::Bars(_) | Marks::Stems(_))
    }

    /// Returns the numbers along an axis: 0 is x, 1 is y.
    pub(crate) fn values(&self, axis: usize) -> Vec<f64> {
        match &self.marks {
            Marks::Bars(points) if axis == 0 => {
                let half = self.thickness() / 2.0;
                points
                    .iter()
                    .flat_map(|[x, _]| [x - half, x + half])
                    .collect()
            }
            Marks::Line(points)
            | Marks::Steps(points)
            | Marks::Dots(points)
            | Marks::Squares(points)
            | Marks::Bars(points)
            | Marks::Stems(points) => points.iter().map(|point| point[axis]).collect(),
            Marks::Band(points) => points
                .iter()
                .flat_map(|point| point[axis..].iter().take(1 + axis).copied())
                .collect(),
        }
    }
}

/// Returns the smallest distance between two different x.
fn smallest_distance(points: &[[f64; 2]]) -> Option<f64> {
    let mut xs: Vec<f64> = points.iter().map(|point| point[0]).collect();
    xs.retain(|x| x.is_finite());
    xs.sort_by(f64::total_cmp);
    let distances = xs.windows(2).map(|pair| pair[1] - pair[0]);
    distances.filter(|d| *d > 0.0).min_by(f64::total_cmp)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_leave_a_gap_to_the_nearest_neighbour() {
        let bars = Series::bars(vec![[5.0, 1.0], [1.0, 1.0], [f64::NAN, 1.0], [3.0, 1.0]]);
        assert!((bars.thickness() - 1.6).abs() < 1e-12);
        assert!((bars.width(0.5).thickness() - 0.5).abs() < 1e-12);
        let alone = Series::bars(vec![[5.0, 1.0]]);
        assert!((alone.thickness() - 0.8).abs() < 1e-12);
    }

    #[test]
    fn values_of_bands_and_bars() {
        let band = Series::band(vec![[1.0, 2.0, 3.0]]);
        assert_eq!(band.values(0), [1.0]);
        assert_eq!(band.values(1), [2.0, 3.0]);
        let bars = Series::bars(vec![[1.0, 2.0]]).width(1.0);
        assert_eq!(bars.values(0), [0.5, 1.5]);
        assert_eq!(bars.values(1), [2.0]);
    }
}
