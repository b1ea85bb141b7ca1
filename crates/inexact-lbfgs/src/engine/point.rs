//! Evaluated points, and the checks of the answers that they are built from.

use crate::objective::shifted;
use crate::{Answer, Interval};

/// An evaluated point.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Point<R> {
    pub(super) number: u64,
    pub(super) theta: Vec<f64>,
    /// The value of the smooth function.
    smooth_value: f64,
    /// The interval of the smooth function: the intersection of all intervals given so far.
    smooth_interval: Interval,
    /// The sum of the absolute values.
    penalty: f64,
    pub(super) gradient: Vec<f64>,
    #[cfg_attr(feature = "serde", serde(with = "crate::interval::stored::upper"))]
    pub(super) gradient_error: f64,
    pub(super) resume: R,
    /// The number of times in a row that the interval was not narrowed although it was asked for.
    strikes: u32,
    /// The same for the estimated error of the gradient.
    gradient_strikes: u32,
}

/// The reason why an answer cannot be used.
#[derive(Debug)]
pub(super) enum Invalid {
    /// The point counts as rejected.
    Rejected(String),
    /// The oracle contradicts itself, so that no further answer can be trusted.
    Broken(String),
}

/// A sharpened interval that is wider than this share of the earlier one counts as not narrowed.
const NARROWED: f64 = 0.9;
/// A finite interval is at its floor when it was not narrowed this many times in a row.
const STRIKES: u32 = 2;
/// The same for an infinite interval.
const INFINITE_STRIKES: u32 = 10;

/// Checks an answer. NaN and infinity in values reject the point; intervals that cannot be right
/// and gradients of the wrong length show that the oracle is broken.
pub(super) fn checked<R>(mut answer: Answer<R>, dim: usize) -> Result<Answer<R>, Invalid> {
    let Answer {
        value, interval, ..
    } = answer;
    if answer.gradient.len() != dim {
        let found = answer.gradient.len();
        let message = format!("the gradient has length {found}, but there are {dim} parameters");
        return Err(Invalid::Broken(message));
    }
    if !value.is_finite() {
        return Err(Invalid::Rejected(format!("the value is {value}")));
    }
    if interval.lower.is_nan() || interval.upper.is_nan() {
        let message = "an end of the interval is NaN".to_owned();
        return Err(Invalid::Rejected(message));
    }
    if let Some(k) = answer.gradient.iter().position(|g| !g.is_finite()) {
        let message = format!("entry {k} of the gradient is {}", answer.gradient[k]);
        return Err(Invalid::Rejected(message));
    }
    if !interval.contains(value) {
        let Interval { lower, upper } = interval;
        let message = format!("the value {value} is outside its interval [{lower}, {upper}]");
        return Err(Invalid::Broken(message));
    }
    if !(answer.gradient_error >= 0.0) {
        answer.gradient_error = f64::INFINITY;
    }
    Ok(answer)
}

impl<R> Point<R> {
    /// A point with a checked answer.
    pub(super) fn new(number: u64, theta: Vec<f64>, answer: Answer<R>, penalty: f64) -> Self {
        Self {
            number,
            theta,
            smooth_value: answer.value,
            smooth_interval: answer.interval,
            penalty,
            gradient: answer.gradient,
            gradient_error: answer.gradient_error,
            resume: answer.resume,
            strikes: 0,
            gradient_strikes: 0,
        }
    }

    /// Takes a checked answer that is more accurate.
    ///
    /// # Errors
    /// When the new interval and the earlier one have no number in common.
    pub(super) fn sharpen(&mut self, answer: Answer<R>) -> Result<(), Invalid> {
        let before = self.smooth_interval;
        let Some(both) = before.intersection(&answer.interval) else {
            let Interval { lower, upper } = answer.interval;
            let message = format!(
                "the interval [{lower}, {upper}] has no number in common with the earlier \
                 interval [{}, {}] of the same point",
                before.lower, before.upper
            );
            return Err(Invalid::Broken(message));
        };
        let is_better = answer.gradient_error < 0.5 * self.gradient_error;
        let is_narrowed =
            both.width() < before.width() && both.width() <= NARROWED * before.width();
        self.strikes = if is_narrowed { 0 } else { self.strikes + 1 };
        self.gradient_strikes = if is_better {
            0
        } else {
            self.gradient_strikes + 1
        };
        self.smooth_value = both.nearest(answer.value);
        self.smooth_interval = both;
        self.gradient = answer.gradient;
        self.gradient_error = answer.gradient_error;
        self.resume = answer.resume;
        Ok(())
    }

    /// Notes that the point could not be sharpened.
    pub(super) const fn refuse(&mut self) {
        self.strikes += 1;
        self.gradient_strikes += 1;
    }

    /// Whether it may help to ask for a narrower interval.
    pub(super) fn can_narrow(&self) -> bool {
        let is_finite = self.smooth_interval.width() < f64::INFINITY;
        let strikes = if is_finite { STRIKES } else { INFINITE_STRIKES };
        self.smooth_interval.width() > 0.0 && self.strikes < strikes
    }

    /// Whether it may help to ask for a better value or gradient.
    pub(super) fn can_improve(&self) -> bool {
        self.can_narrow() || (self.gradient_error > 0.0 && self.gradient_strikes < STRIKES)
    }

    /// The value and the interval of the smooth function.
    pub(super) const fn smooth(&self) -> (f64, Interval) {
        (self.smooth_value, self.smooth_interval)
    }

    /// The computed objective.
    pub(super) fn value(&self) -> f64 {
        self.smooth_value + self.penalty
    }

    /// The size of the terms of the objective, of which its rounding error is a share.
    pub(super) fn magnitude(&self) -> f64 {
        self.smooth_value.abs() + self.penalty
    }

    /// The interval of the exact objective.
    pub(super) fn interval(&self) -> Interval {
        shifted(self.smooth_interval, self.penalty)
    }
}
