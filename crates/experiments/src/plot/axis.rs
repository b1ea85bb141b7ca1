//! Axes: which numbers are shown, where they lie, and which of them carry a label.

/// How numbers are placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Equal differences, equal lengths.
    Linear,
    /// Equal ratios, equal lengths. Numbers that are not positive lie below everything.
    Log,
}

/// How the labels of a logarithmic axis are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbers {
    /// 0.01, 1, 100.
    Plain,
    /// 10⁻², 10⁰, 10².
    Powers,
}

/// One side of a panel.
#[derive(Clone, Debug)]
pub struct Axis {
    pub(super) label: String,
    pub(super) scale: Scale,
    range: Option<[f64; 2]>,
    numbers: Option<Numbers>,
}

/// A mark on an axis; the small ones between have no label.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tick {
    pub(super) value: f64,
    pub(super) label: Option<String>,
}

impl Axis {
    const fn new(label: String, scale: Scale) -> Self {
        Self {
            label,
            scale,
            range: None,
            numbers: None,
        }
    }

    /// A linear axis.
    #[must_use]
    pub fn linear(label: impl Into<String>) -> Self {
        Self::new(label.into(), Scale::Linear)
    }

    /// A logarithmic axis.
    #[must_use]
    pub fn log(label: impl Into<String>) -> Self {
        Self::new(label.into(), Scale::Log)
    }

    /// Shows exactly these numbers; by default, all of the data.
    ///
    /// # Panics
    /// When the range is empty, or not positive on a logarithmic axis.
    #[must_use]
    pub fn range(mut self, from: f64, to: f64) -> Self {
        assert!(from < to, "an axis from {from} to {to} is empty");
        assert!(
            self.scale == Scale::Linear || from > 0.0,
            "a logarithmic axis cannot begin at {from}"
        );
        self.range = Some([from, to]);
        self
    }

    /// How labels are written; by default, plain from 0.001 to 10000.
    #[must_use]
    pub const fn numbers(mut self, numbers: Numbers) -> Self {
        self.numbers = Some(numbers);
        self
    }

    /// The axis with its range fixed, from `data` if nobody said otherwise.
    pub(super) fn fitted(&self, data: impl Iterator<Item = f64>) -> Fitted {
        let [from, to] = self.range.unwrap_or_else(|| self.enclose(data));
        Fitted {
            scale: self.scale,
            from,
            to,
            numbers: self.numbers,
        }
    }

    fn enclose(&self, data: impl Iterator<Item = f64>) -> [f64; 2] {
        let shown = |v: &f64| v.is_finite() && (self.scale == Scale::Linear || *v > 0.0);
        let [low, high] = data
            .filter(shown)
            .fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], v| {
                [low.min(v), high.max(v)]
            });
        match self.scale {
            _ if !(low <= high) => match self.scale {
                Scale::Linear => [0.0, 1.0],
                Scale::Log => [1.0, 10.0],
            },
            Scale::Linear => {
                let room = if high > low {
                    0.05 * (high - low)
                } else {
                    0.5 * low.abs().max(1.0)
                };
                [low - room, high + room]
            }
            Scale::Log => {
                let room = (high / low).powf(0.05).max(1.2);
                [low / room, high * room]
            }
        }
    }
}

/// An axis that knows its range.
#[derive(Clone, Debug)]
pub(super) struct Fitted {
    scale: Scale,
    from: f64,
    to: f64,
    numbers: Option<Numbers>,
}

impl Fitted {
    /// 0 at the beginning of the axis, 1 at its end. Far outside it stays finite, so that lines can be drawn to there.
    pub(super) fn place(&self, value: f64) -> f64 {
        let at = match self.scale {
            Scale::Linear => (value - self.from) / (self.to - self.from),
            Scale::Log if value <= 0.0 => f64::NEG_INFINITY,
            Scale::Log => (value / self.from).log10() / (self.to / self.from).log10(),
        };
        at.clamp(-20.0, 20.0)
    }

    /// In increasing order.
    pub(super) fn ticks(&self) -> Vec<Tick> {
        match self.scale {
            Scale::Linear => self.linear_ticks(),
            Scale::Log => self.log_ticks(),
        }
    }

    fn linear_ticks(&self) -> Vec<Tick> {
        let rough = (self.to - self.from) / 6.0;
        let power = 10_f64.powf(rough.log10().floor());
        let factor = [1.0, 2.0, 2.5, 5.0, 10.0]
            .into_iter()
            .find(|factor| factor * power >= rough * (1.0 - 1e-9));
        let step = factor.unwrap_or(10.0) * power;
        let decimals = (0..12)
            .find(|&k| is_whole(step * 10_f64.powi(k)))
            .and_then(|k| usize::try_from(k).ok());
        let mut ticks = Vec::new();
        let mut index = (self.from / step - 1e-9).ceil();
        while index * step <= self.to + 1e-9 * step {
            let value = if index.abs() < 0.5 { 0.0 } else { index * step };
            let label = format!("{value:.*}", decimals.unwrap_or(12)).replace('-', "−");
            ticks.push(Tick {
                value,
                label: Some(label),
            });
            index += 1.0;
        }
        ticks
    }

    fn log_ticks(&self) -> Vec<Tick> {
        let (first, last) = (decade_of(self.from), decade_of(self.to));
        let span = last - first;
        // Few decades have room for numbers between them, many not even for each of themselves.
        let between: &[u32] = match (self.to / self.from).log10() {
            decades if decades < 0.7 => &[1, 2, 3, 4, 5, 6, 7, 8, 9],
            decades if decades < 1.5 => &[1, 2, 5],
            _ => &[1],
        };
        let every = 1 + span / 8;
        let in_plain = self.from >= 0.9e-3 && self.to <= 1.1e4;
        let numbers = match self.numbers {
            Some(numbers) => numbers,
            None if in_plain => Numbers::Plain,
            None => Numbers::Powers,
        };
        let mut ticks = Vec::new();
        for decade in first..=last {
            for digit in 1..10_u32 {
                let value = f64::from(digit) * 10_f64.powi(decade);
                if value < self.from * (1.0 - 1e-9) || value > self.to * (1.0 + 1e-9) {
                    continue;
                }
                let labelled = between.contains(&digit) && decade.rem_euclid(every) == 0;
                if digit == 1 || span <= 6 {
                    ticks.push(Tick {
                        value,
                        label: labelled.then(|| number(digit, decade, numbers)),
                    });
                }
            }
        }
        ticks
    }
}

/// The exponent of the power of ten at or below `value`, forgiving rounding.
fn decade_of(value: f64) -> i32 {
    (-330..330)
        .rev()
        .find(|&k| 10_f64.powi(k) <= value * (1.0 + 1e-9))
        .unwrap_or(-330)
}

fn is_whole(value: f64) -> bool {
    (value - value.round()).abs() < 1e-6
}

fn number(digit: u32, decade: i32, numbers: Numbers) -> String {
    match numbers {
        Numbers::Plain => {
            let decimals = usize::try_from(-decade).unwrap_or(0);
            format!("{:.decimals$}", f64::from(digit) * 10_f64.powi(decade))
        }
        Numbers::Powers if digit == 1 => format!("10{}", superscript(decade)),
        Numbers::Powers => format!("{digit}·10{}", superscript(decade)),
    }
}

fn superscript(exponent: i32) -> String {
    let raise = |c| match c {
        '-' => '⁻',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        '4' => '⁴',
        '5' => '⁵',
        '6' => '⁶',
        '7' => '⁷',
        '8' => '⁸',
        '9' => '⁹',
        _ => '⁰',
    };
    exponent.to_string().chars().map(raise).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis, data: &[f64]) -> Vec<String> {
        let ticks = axis.fitted(data.iter().copied()).ticks();
        ticks.into_iter().filter_map(|tick| tick.label).collect()
    }

    #[test]
    fn linear_labels_are_round() {
        let axis = Axis::linear("").range(0.0, 1.0);
        assert_eq!(
            labels(&axis, &[]),
            ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]
        );
        let axis = Axis::linear("").range(-300.0, 1300.0);
        assert_eq!(labels(&axis, &[]), ["0", "500", "1000"]);
    }

    #[test]
    fn logarithmic_labels_are_plain_or_powers() {
        let plain = Axis::log("").range(1.0, 100.0);
        assert_eq!(labels(&plain, &[]), ["1", "10", "100"]);
        assert_eq!(
            labels(&plain.numbers(Numbers::Powers), &[]),
            ["10⁰", "10¹", "10²"]
        );
        let wide = Axis::log("").range(1e-28, 1e6);
        assert_eq!(labels(&wide, &[])[0], "10⁻²⁵");
        let zoom = Axis::log("").range(0.1, 0.5);
        assert_eq!(labels(&zoom, &[]), ["0.1", "0.2", "0.3", "0.4", "0.5"]);
    }

    #[test]
    fn ranges_enclose_the_data_and_ignore_the_rest() {
        let axis = Axis::log("").fitted([1.0, f64::NAN, -1.0, 1000.0].into_iter());
        assert!(axis.place(1.0) > 0.0 && axis.place(1000.0) < 1.0);
        assert!(axis.place(0.0) < -1.0);
        let empty = Axis::linear("").fitted([].into_iter());
        assert!((empty.place(0.5) - 0.5).abs() < 1e-12);
        let one = Axis::linear("").fitted([7.0].into_iter());
        assert!((one.place(7.0) - 0.5).abs() < 1e-12);
    }
}
