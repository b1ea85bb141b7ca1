//! The sums of values, gradients and work over the images of all ranks.

use inexact_lbfgs::{Interval, Request};
use lowlevel::UNIT_ROUNDOFF;

use super::image::{ImageNumbers, distance};
use crate::checkpoint::Reconstructions;
use crate::oracle::{WORK_UNITS, add};

/// The typical true error, as a share of the certified error; a choice, used in estimates only.
const TYPICAL: f64 = 1.0 / 3.0;

/// The sums over the images of all ranks.
pub(super) struct Sums {
    pub(super) value: f64,
    pub(super) interval: Interval,
    pub(super) gradient: Vec<f64>,
    pub(super) squared_distance: f64,
    /// The sum of squares, later the root mean square, of the relative errors.
    pub(super) relative_error: f64,
    pub(super) condition_number: f64,
    pub(super) condition_slopes: Vec<f64>,
    /// The work of reconstructions; [`WORK_UNITS`] units are one gradient.
    pub(super) reconstructions: f64,
    /// The work of adjoints; [`WORK_UNITS`] units are one gradient.
    pub(super) adjoints: f64,
}

impl Sums {
    pub(super) fn new(d: usize) -> Self {
        Self {
            value: 0.0,
            interval: Interval::exact(0.0),
            gradient: vec![0.0; d],
            squared_distance: 0.0,
            relative_error: 0.0,
            condition_number: 0.0,
            condition_slopes: Vec::new(),
            reconstructions: 0.0,
            adjoints: 0.0,
        }
    }

    pub(super) fn add(&mut self, image: ImageNumbers, slopes: &[f64]) {
        self.value += image.value;
        self.interval.lower += image.lower;
        self.interval.upper += image.upper;
        self.squared_distance += image.squared_distance;
        self.relative_error += image.relative_error * image.relative_error;
        self.reconstructions += image.reconstruction;
        self.adjoints += image.adjoint;
        let (slopes, condition) = slopes.split_at(self.gradient.len());
        add(&mut self.gradient, slopes);
        // of several images with the largest condition number, the first counts
        if image.condition_number > self.condition_number {
            self.condition_number = image.condition_number;
            self.condition_slopes.clear();
            self.condition_slopes.extend_from_slice(condition);
        }
    }

    /// Multiplies the sums over `count` images by the weight of the loss.
    pub(super) fn scale(&mut self, weight: f64, count: usize) {
        self.value *= weight;
        self.interval.lower *= weight;
        self.interval.upper *= weight;
        for slope in &mut self.gradient {
            *slope *= weight;
        }
        self.relative_error = (self.relative_error / count as f64).sqrt();
        self.widen(count as f64 + 4.0);
    }

    /// Widens the interval by the rounding errors of sums. `roundings` bounds the number of
    /// roundings of each term. All terms of the sum for one end have the same sign.
    pub(super) fn widen(&mut self, roundings: f64) {
        let Interval { lower, upper } = self.interval;
        self.interval = Interval::new(
            lower - roundings * UNIT_ROUNDOFF * lower.abs(),
            upper + roundings * UNIT_ROUNDOFF * upper.abs(),
        );
    }

    /// The work in gradients.
    pub(super) fn work(&self) -> u64 {
        whole(self.reconstructions + self.adjoints)
    }

    /// The work of reconstructions and of adjoints, in gradients.
    pub(super) fn work_by_kind(&self) -> [u64; 2] {
        [self.reconstructions, self.adjoints].map(whole)
    }

    /// Estimates the norm of the error of the gradient, from its difference to the gradient of a
    /// known point, or of the same point before it was sharpened.
    ///
    /// Between the two reconstructions, the gradient changed by this difference. The error of the
    /// reconstruction is a share of their distance, so the error of the gradient is about the same
    /// share of the difference. If a point was sharpened, and its error fell to the share `$s$` of
    /// the error before, then the difference is `$1 - s$` times the error before, and the error is
    /// now `$s/(1 - s)$` times the difference.
    pub(super) fn gradient_error(&self, request: &Request<Reconstructions>) -> f64 {
        let known = request.token().and_then(Reconstructions::gradient);
        let difference = known.map(|known| distance(&known.entries, &self.gradient));
        let share = self.relative_error;
        match (request, difference) {
            (Request::Sharpen { .. }, Some(difference)) => {
                difference * share / (1.0 - share).max(0.1)
            }
            (_, Some(difference)) => TYPICAL * share * difference,
            (_, None) => TYPICAL * share * distance(&[], &self.gradient),
        }
    }
}

/// Returns a number of gradients, rounded up.
pub(super) fn whole(units: f64) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "rounded up, positive, and `as` saturates"
    )]
    let gradients = (units / WORK_UNITS).ceil() as u64;
    gradients
}
