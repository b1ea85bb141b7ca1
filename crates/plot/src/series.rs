//! Data, and how they are drawn.

use crate::{Colour, Dash};

/// How the data of a series become marks.
#[derive(Clone, Debug)]
pub(crate) enum Marks {
    /// Straight lines from point to point.
    Line(Vec<[f64; 2]>),
    /// Horizontal until the next point.
    Steps(Vec<[f64; 2]>),
    Dots(Vec<[f64; 2]>),
    Squares(Vec<[f64; 2]>),
    /// `x`, lower, upper.
    Band(Vec<[f64; 3]>),
    /// From zero to the value.
    Bars(Vec<[f64; 2]>),
    /// From zero to the value, with a dot there.
    Stems(Vec<[f64; 2]>),
}

/// Data and how to draw them. Points that are not numbers interrupt a line.
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

    /// Straight lines from point to point. A point without neighbours is a dot.
    #[must_use]
    pub const fn line(points: Vec<[f64; 2]>) -> Self {
        Self::new(Marks::Line(points))
    }

    /// A value that holds until the next point.
    #[must_use]
    pub const fn steps(points: Vec<[f64; 2]>) -> Self {
        Self::new(Marks::Steps(points))
    }

    /// A dot at every point.
    #[must_use]
    pub const fn dots(points: Vec<[f64; 2]>) -> Self {
        Self::new(Marks::Dots(points))
    }

    /// A square at every point.
    #[must_use]
    pub const fn squares(points: Vec<[f64; 2]>) -> Self {
        Self::new(Marks::Squares(points))
    }

    /// The area between two lines, from points `[x, lower, upper]`.
    #[must_use]
    pub const fn band(points: Vec<[f64; 3]>) -> Self {
        Self::new(Marks::Band(points))
    }

    /// Bars from zero to each value, centred at its x; on a logarithmic axis, from its lower end.
    #[must_use]
    pub const fn bars(points: Vec<[f64; 2]>) -> Self {
        Self::new(Marks::Bars(points))
    }

    /// Like bars, but a line with a dot at its end.
    #[must_use]
    pub const fn stems(points: Vec<[f64; 2]>) -> Self {
        Self::new(Marks::Stems(points))
    }

    /// The name in the legend. Equal names of several panels are shown once.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// The colour; a band is usually [faded](Colour::alpha).
    #[must_use]
    pub const fn colour(mut self, colour: Colour) -> Self {
        self.colour = colour;
        self
    }

    /// The width of a line or a stem, or the size of a dot or square. Of bars it is the width as a
    /// difference of x; by default, most of the smallest distance between two of them.
    #[must_use]
    pub const fn width(mut self, width: f64) -> Self {
        self.width = Some(width);
        self
    }

    /// The dashes of a line.
    #[must_use]
    pub const fn dash(mut self, dash: Dash) -> Self {
        self.dash = dash;
        self
    }

    /// Drawn over all others, whatever its place in the legend.
    #[must_use]
    pub const fn on_top(mut self) -> Self {
        self.on_top = true;
        self
    }

    /// Measured on the right axis, if the panel has one.
    #[must_use]
    pub const fn on_right(mut self) -> Self {
        self.on_right = true;
        self
    }

    /// In pixels, except for bars.
    pub(crate) fn thickness(&self) -> f64 {
        self.width.unwrap_or_else(|| match &self.marks {
            Marks::Line(_) | Marks::Steps(_) => 1.6,
            Marks::Stems(_) => 1.4,
            Marks::Dots(_) | Marks::Squares(_) => 6.0,
            Marks::Band(_) => 0.0,
            Marks::Bars(points) => 0.8 * smallest_distance(points).unwrap_or(1.0),
        })
    }

    /// Whether its marks begin at zero.
    pub(crate) const fn stands_on_zero(&self) -> bool {
        matches!(self.marks, Marks::Bars(_) | Marks::Stems(_))
    }

    /// The numbers along an axis: 0 is x, 1 is y.
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

/// Between two different x.
fn smallest_distance(points: &[[f64; 2]]) -> Option<f64> {
    let mut places: Vec<f64> = points.iter().map(|point| point[0]).collect();
    places.retain(|x| x.is_finite());
    places.sort_by(f64::total_cmp);
    let distances = places.windows(2).map(|pair| pair[1] - pair[0]);
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
