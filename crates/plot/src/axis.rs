//! Axes: their ranges, positions of values, and labels.

mod ticks;

pub(crate) use ticks::Tick;

use crate::Colour;

/// Distance of infinite values beyond the end of an axis, relative to its length.
const OUTSIDE: f64 = 0.05;

/// The scale of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AxisScale {
    /// Equal differences have equal lengths.
    Linear,
    /// Equal ratios have equal lengths. Numbers that are not positive lie below the axis.
    Log,
}

/// The way in which the numbers of an axis are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberStyle {
    /// Plain decimal numbers such as 0.01, 1, 100.
    Plain,
    /// Powers such as 10⁻², 10⁰, 10². On a linear axis all numbers have the same power, as in
    /// 5·10⁶.
    Powers,
}

/// An axis of a panel.
#[derive(Clone, Debug)]
pub struct Axis {
    pub(crate) label: String,
    pub(crate) scale: AxisScale,
    range: Option<[f64; 2]>,
    numbers: Option<NumberStyle>,
    labels: Vec<(f64, String)>,
    pub(crate) colour: Option<Colour>,
}

impl Axis {
    const fn new(label: String, scale: AxisScale) -> Self {
        Self {
            label,
            scale,
            range: None,
            numbers: None,
            labels: Vec::new(),
            colour: None,
        }
    }

    /// Returns a linear axis.
    #[must_use]
    pub fn linear(label: impl Into<String>) -> Self {
        Self::new(label.into(), AxisScale::Linear)
    }

    /// Returns a logarithmic axis.
    #[must_use]
    pub fn log(label: impl Into<String>) -> Self {
        Self::new(label.into(), AxisScale::Log)
    }

    /// Sets the range. By default, an axis shows all data.
    ///
    /// # Panics
    /// When the range is empty or infinite, or not positive on a logarithmic axis.
    #[must_use]
    pub fn range(mut self, from: f64, to: f64) -> Self {
        assert!(from < to, "an axis from {from} to {to} is empty");
        assert!(
            (to - from).is_finite(),
            "an axis from {from} to {to} has no scale"
        );
        assert!(
            self.scale == AxisScale::Linear || from > 0.0,
            "a logarithmic axis cannot begin at {from}"
        );
        self.range = Some([from, to]);
        self
    }

    /// Sets the way in which numbers are written. By default, numbers from 0.001 to 10000 are
    /// plain, and on a linear axis those up to a million.
    #[must_use]
    pub const fn numbers(mut self, numbers: NumberStyle) -> Self {
        self.numbers = Some(numbers);
        self
    }

    /// Writes these texts at these values, in increasing order, in place of numbers.
    #[must_use]
    pub fn labels<T: Into<String>>(mut self, labels: impl IntoIterator<Item = (f64, T)>) -> Self {
        let labels = labels.into_iter();
        self.labels = labels.map(|(value, text)| (value, text.into())).collect();
        self
    }

    /// Sets the colour of label and numbers, usually to that of the series on this axis.
    #[must_use]
    pub const fn colour(mut self, colour: Colour) -> Self {
        self.colour = Some(colour);
        self
    }

    /// Fixes the range of the axis: the one that was set, or that of `data`. With `on_zero`, some
    /// marks begin at zero.
    pub(crate) fn fitted(&self, data: impl Iterator<Item = f64>, on_zero: bool) -> Fitted {
        let [from, to] = self.range.unwrap_or_else(|| match self.scale {
            AxisScale::Linear => enclose(data, on_zero),
            AxisScale::Log => enclose_positive(data),
        });
        Fitted {
            scale: self.scale,
            from,
            to,
            numbers: self.numbers,
            labels: self.labels.clone(),
        }
    }
}

/// Returns the smallest and the largest number below 1e300, so that differences are finite.
fn ends(data: impl Iterator<Item = f64>) -> Option<[f64; 2]> {
    let data = data.filter(|v| v.abs() < 1e300);
    let [low, high] = data.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], v| {
        [low.min(v), high.max(v)]
    });
    (low <= high).then_some([low, high])
}

fn enclose(data: impl Iterator<Item = f64>, on_zero: bool) -> [f64; 2] {
    let zero = on_zero.then_some(0.0);
    let Some([low, high]) = ends(data.chain(zero)) else {
        return [0.0, 1.0];
    };
    let size = low.abs().max(high.abs());
    let room = if high - low > 1e-9 * size {
        0.05 * (high - low)
    } else if size > 0.0 {
        0.5 * size
    } else {
        1.0
    };
    // Marks that begin at zero stand on the frame.
    [
        if on_zero && low >= 0.0 {
            0.0
        } else {
            low - room
        },
        if on_zero && high <= 0.0 && low < 0.0 {
            0.0
        } else {
            high + room
        },
    ]
}

fn enclose_positive(data: impl Iterator<Item = f64>) -> [f64; 2] {
    let Some([low, high]) = ends(data.filter(|v| *v > 1e-300)) else {
        return [1.0, 10.0];
    };
    let room = (high / low).powf(0.05).max(1.2);
    [low / room, high * room]
}

/// An axis with a fixed range.
#[derive(Clone, Debug)]
pub(crate) struct Fitted {
    scale: AxisScale,
    from: f64,
    to: f64,
    numbers: Option<NumberStyle>,
    labels: Vec<(f64, String)>,
}

impl Fitted {
    /// Returns the position of a value: 0 is the beginning of the axis, and 1 its end. Infinite
    /// values lie just outside, so that a line to one leaves the panel near that point.
    pub(crate) fn place(&self, value: f64) -> f64 {
        let at = match self.scale {
            AxisScale::Linear => (value - self.from) / (self.to - self.from),
            AxisScale::Log if value <= 0.0 => f64::NEG_INFINITY,
            AxisScale::Log => (value.log10() - self.from.log10()) / self.decades(),
        };
        if at.is_infinite() {
            0.5 + at.signum() * (0.5 + OUTSIDE)
        } else {
            at.clamp(-1e9, 1e9)
        }
    }

    fn decades(&self) -> f64 {
        self.to.log10() - self.from.log10()
    }

    /// Whether zero lies inside the range.
    pub(crate) fn has_zero_inside(&self) -> bool {
        self.scale == AxisScale::Linear && self.from < 0.0 && 0.0 < self.to
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extreme_data_have_ticks_and_positions() {
        let data: [&[f64]; 5] = [
            &[1e20, 1e20 + 16384.0],
            &[-1e308, 1e308],
            &[1e-320, 1.0],
            &[f64::INFINITY, f64::NAN, f64::NEG_INFINITY],
            &[0.0, 0.0],
        ];
        for data in data {
            for axis in [Axis::linear(""), Axis::log("")] {
                let axis = axis.fitted(data.iter().copied(), true);
                let ticks = axis.ticks();
                assert!(!ticks.is_empty() && ticks.len() < 1000, "{data:?}");
                let places = data.iter().filter(|v| !v.is_nan()).map(|v| axis.place(*v));
                assert!(places.into_iter().all(f64::is_finite), "{data:?}");
            }
        }
    }

    #[test]
    fn bars_stand_on_the_frame() {
        let place = |data: &[f64]| {
            let axis = Axis::linear("").fitted(data.iter().copied(), true);
            axis.place(0.0)
        };
        assert!(place(&[1.0, 2.0]).abs() < 1e-12);
        assert!((place(&[-1.0, -2.0]) - 1.0).abs() < 1e-12);
        assert!((place(&[-1.0, 1.0]) - 0.5).abs() < 1e-12);
        assert!(place(&[0.0]).abs() < 1e-12);
    }

    #[test]
    fn ranges_enclose_the_data_and_ignore_the_rest() {
        let axis = Axis::log("").fitted([1.0, f64::NAN, -1.0, 1000.0].into_iter(), false);
        assert!(axis.place(1.0) > 0.0 && axis.place(1000.0) < 1.0);
        assert!(axis.place(0.0) < 0.0 && axis.place(f64::INFINITY) > 1.0);
        let empty = Axis::linear("").fitted([].into_iter(), false);
        assert!((empty.place(0.5) - 0.5).abs() < 1e-12);
        let one = Axis::linear("").fitted([7.0].into_iter(), false);
        assert!((one.place(7.0) - 0.5).abs() < 1e-12);
    }
}
