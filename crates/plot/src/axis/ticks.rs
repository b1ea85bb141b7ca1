//! Ticks of an axis and their labels.

use super::{AxisScale, Fitted, NumberStyle};

/// Limit on the number of ticks, for ranges narrower than rounding errors. Others have fewer.
const MAX_TICKS: u32 = 20;

/// A tick of an axis. Small ticks have no label.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tick {
    pub(crate) value: f64,
    pub(crate) label: Option<String>,
}

impl Fitted {
    /// Returns the ticks in increasing order.
    pub(crate) fn ticks(&self) -> Vec<Tick> {
        match self.scale {
            _ if !self.labels.is_empty() => self.own_ticks(),
            AxisScale::Linear => self.linear_ticks(),
            AxisScale::Log => self.log_ticks(),
        }
    }

    /// The labels that the caller of [`Axis::labels`](super::Axis::labels) chose.
    fn own_ticks(&self) -> Vec<Tick> {
        let tick = |(value, label): &(f64, String)| Tick {
            value: *value,
            label: Some(label.clone()),
        };
        self.labels.iter().map(tick).collect()
    }

    fn linear_ticks(&self) -> Vec<Tick> {
        let rough = (self.to - self.from) / 6.0;
        let power = 10_f64.powf(rough.log10().floor());
        let factor = [1.0, 2.0, 2.5, 5.0, 10.0]
            .into_iter()
            .find(|factor| factor * power >= rough * (1.0 - 1e-9));
        let step = factor.unwrap_or(10.0) * power;
        let size = self.from.abs().max(self.to.abs());
        let numbers = self.numbers.unwrap_or(if (1e-3..1e6).contains(&size) {
            NumberStyle::Plain
        } else {
            NumberStyle::Powers
        });
        let decade = match numbers {
            NumberStyle::Plain => 0,
            NumberStyle::Powers => decade_of(size),
        };
        let unit = 10_f64.powi(decade);
        let decimals = (0..12)
            .find(|&k| is_whole(step / unit * 10_f64.powi(k)))
            .and_then(|k| usize::try_from(k).ok())
            .unwrap_or(12);
        let first = (self.from / step - 1e-9).ceil();
        let values = (0..MAX_TICKS).map(|k| (first + f64::from(k)) * step);
        values
            .take_while(|value| *value <= self.to + 1e-9 * step)
            .map(|value| {
                let is_zero = value.abs() < 0.5 * step;
                let number = if is_zero { 0.0 } else { value / unit };
                let label = format!("{number:.decimals$}").replace('-', "−");
                let label = match decade {
                    0 => label,
                    _ if is_zero => "0".to_owned(),
                    decade => format!("{label}·10{}", superscript(decade)),
                };
                Tick {
                    value,
                    label: Some(label),
                }
            })
            .collect()
    }

    fn log_ticks(&self) -> Vec<Tick> {
        let (first, last) = (decade_of(self.from), decade_of(self.to));
        let span = last - first;
        // With few decades there is room for numbers between them; with many, only some decades are
        // labelled.
        let between: &[u32] = match self.decades() {
            decades if decades < 0.7 => &[1, 2, 3, 4, 5, 6, 7, 8, 9],
            decades if decades < 1.5 => &[1, 2, 5],
            _ => &[1],
        };
        let every = 1 + span / 8;
        let in_plain = self.from >= 0.9e-3 && self.to <= 1.1e4;
        let numbers = match self.numbers {
            Some(numbers) => numbers,
            None if in_plain => NumberStyle::Plain,
            None => NumberStyle::Powers,
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

/// Returns the exponent of the power of ten at or below `value`, up to rounding errors.
fn decade_of(value: f64) -> i32 {
    (-330..330)
        .rev()
        .find(|&k| 10_f64.powi(k) <= value * (1.0 + 1e-9))
        .unwrap_or(-330)
}

fn is_whole(value: f64) -> bool {
    (value - value.round()).abs() < 1e-6
}

fn number(digit: u32, decade: i32, numbers: NumberStyle) -> String {
    match numbers {
        NumberStyle::Plain => {
            let decimals = usize::try_from(-decade).unwrap_or(0);
            format!("{:.decimals$}", f64::from(digit) * 10_f64.powi(decade))
        }
        NumberStyle::Powers if digit == 1 => format!("10{}", superscript(decade)),
        NumberStyle::Powers => format!("{digit}·10{}", superscript(decade)),
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
    use crate::Axis;

    fn labels(axis: &Axis, data: &[f64]) -> Vec<String> {
        let ticks = axis.fitted(data.iter().copied(), false).ticks();
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
            labels(&plain.numbers(NumberStyle::Powers), &[]),
            ["10⁰", "10¹", "10²"]
        );
        let wide = Axis::log("").range(1e-28, 1e6);
        assert_eq!(labels(&wide, &[])[0], "10⁻²⁵");
        let zoom = Axis::log("").range(0.1, 0.5);
        assert_eq!(labels(&zoom, &[]), ["0.1", "0.2", "0.3", "0.4", "0.5"]);
    }

    #[test]
    fn chosen_labels_replace_numbers() {
        let axis = Axis::linear("").labels([(1.0, "one"), (2.0, "two")]);
        assert_eq!(labels(&axis, &[0.0, 3.0]), ["one", "two"]);
    }

    #[test]
    fn large_and_small_numbers_are_written_with_a_power() {
        let axis = Axis::linear("").range(0.0, 2e6);
        assert_eq!(
            labels(&axis, &[]),
            ["0", "0.5·10⁶", "1.0·10⁶", "1.5·10⁶", "2.0·10⁶"]
        );
        let axis = Axis::linear("").range(-1e-5, 1e-5);
        assert_eq!(labels(&axis, &[])[0], "−1.0·10⁻⁵");
        let plain = axis.numbers(NumberStyle::Plain);
        assert_eq!(labels(&plain, &[])[0], "−0.000010");
    }
}
