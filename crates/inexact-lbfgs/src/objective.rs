//! The objective `$F = f + \sum_k w_k |\theta_k|$` between bounds: its absolute values, the part of
//! the feasible set around a point in which it is smooth, and the projected gradient.

use crate::report::{ActiveBound, Side};
use crate::{Interval, Problem};

/// The gradient and the box of the part of the feasible set around a point in which the objective
/// is smooth.
///
/// In this part no parameter with an absolute value changes its sign, so that the absolute values
/// are linear (the orthant of Andrew and Gao's OWL-QN). A parameter at zero may move to the side
/// where the objective falls; if it falls on neither side, the box holds the parameter at zero.
#[derive(Debug)]
pub(crate) struct Smooth {
    pub(crate) gradient: Vec<f64>,
    pub(crate) lower: Vec<f64>,
    pub(crate) upper: Vec<f64>,
}

impl Problem {
    /// The start, moved into the bounds.
    pub(crate) fn feasible_start(&self) -> Vec<f64> {
        let clamp = |(k, x): (usize, &f64)| {
            let (lower, upper) = self.bounds(k);
            x.max(lower).min(upper)
        };
        self.start().iter().enumerate().map(clamp).collect()
    }

    /// The sum `$\sum_k w_k |\theta_k|$`, with compensated rounding errors.
    pub(crate) fn penalty(&self, theta: &[f64]) -> f64 {
        if !self.has_l1() {
            return 0.0;
        }
        let (mut sum, mut lost) = (0.0, 0.0);
        for (k, x) in theta.iter().enumerate() {
            let term = self.weight(k) * x.abs();
            let next: f64 = sum + term;
            let [large, small] = if sum >= term {
                [sum, term]
            } else {
                [term, sum]
            };
            lost += (large - next) + small;
            sum = next;
        }
        sum + lost
    }

    /// The part of the feasible set around `theta` in which the objective is smooth.
    pub(crate) fn smooth_part(&self, theta: &[f64], gradient: &[f64]) -> Smooth {
        let bounds = (0..theta.len()).map(|k| self.bounds(k));
        let (lower, upper) = bounds.unzip();
        let mut smooth = Smooth {
            gradient: gradient.to_vec(),
            lower,
            upper,
        };
        if !self.has_l1() {
            return smooth;
        }
        for (k, &x) in theta.iter().enumerate() {
            let (weight, g) = (self.weight(k), gradient[k]);
            if !(weight > 0.0) {
                continue;
            }
            let is_positive = x > 0.0 || (!(x < 0.0) && g + weight < 0.0);
            let is_negative = x < 0.0 || (!(x > 0.0) && g - weight > 0.0);
            smooth.gradient[k] = if is_positive {
                g + weight
            } else if is_negative {
                g - weight
            } else {
                0.0
            };
            // A bound beyond zero stays: the parameter cannot be on the other side of it.
            if !is_negative {
                smooth.lower[k] = smooth.lower[k].max(0.0);
            }
            if !is_positive {
                smooth.upper[k] = smooth.upper[k].min(0.0);
            }
        }
        smooth
    }

    /// The derivative of the objective along `direction` at a point between `theta` and
    /// `theta + direction`, where the smooth function has this gradient. No parameter with an
    /// absolute value changes its sign on the way.
    pub(crate) fn slope(&self, theta: &[f64], direction: &[f64], gradient: &[f64]) -> f64 {
        let smooth = crate::linalg::dot(gradient, direction);
        if !self.has_l1() {
            return smooth;
        }
        let sign = |x: f64, d: f64| if x == 0.0 { d.abs() } else { d * x.signum() };
        let pairs = theta.iter().zip(direction).enumerate();
        let absolute: f64 = pairs.map(|(k, (x, d))| self.weight(k) * sign(*x, *d)).sum();
        smooth + absolute
    }

    /// The largest share of a direction along which no parameter leaves its bounds, or changes its
    /// sign if it has an absolute value.
    pub(crate) fn longest_share(&self, theta: &[f64], direction: &[f64]) -> f64 {
        let has_l1 = self.has_l1();
        let pairs = theta.iter().zip(direction).enumerate();
        let shares = pairs.map(|(k, (&x, &d))| {
            let (lower, upper) = self.bounds(k);
            let bound = if d > 0.0 { upper } else { lower };
            let is_kink = has_l1 && self.weight(k) > 0.0 && x * d < 0.0;
            let end = if is_kink { 0.0 } else { bound };
            // a direction of zero has no end, and NaN does not count
            if d == 0.0 {
                f64::INFINITY
            } else {
                (end - x) / d
            }
        });
        shares.fold(f64::INFINITY, f64::min)
    }

    /// The point `theta + share * direction`. A parameter that ends within rounding errors of a
    /// bound, or of zero if it has an absolute value, is moved there.
    pub(crate) fn walk(&self, theta: &[f64], direction: &[f64], share: f64) -> Vec<f64> {
        let has_l1 = self.has_l1();
        let pairs = theta.iter().zip(direction).enumerate();
        let walked = pairs.map(|(k, (&x, &d))| {
            let (lower, upper) = self.bounds(k);
            let end = x + share * d;
            let reached = |bound: f64| (end - bound).abs() <= 4.0 * f64::EPSILON * x.abs();
            let is_kink = has_l1 && self.weight(k) > 0.0;
            if is_kink && (reached(0.0) || end * x < 0.0) {
                0.0
            } else if end <= lower || reached(lower) {
                lower
            } else if end >= upper || reached(upper) {
                upper
            } else {
                end
            }
        });
        walked.collect()
    }

    /// The Euclidean norm of the projected gradient: the slopes of the objective in the parameters
    /// that neither a bound nor an absolute value holds in place.
    pub(crate) fn projected_gradient(&self, theta: &[f64], smooth: &Smooth) -> f64 {
        let square = theta.iter().enumerate().map(|(k, x)| {
            let g = smooth.gradient[k];
            let is_held =
                (g >= 0.0 && *x <= smooth.lower[k]) || (g <= 0.0 && *x >= smooth.upper[k]);
            if is_held { 0.0 } else { g * g }
        });
        square.sum::<f64>().sqrt()
    }

    /// The bounds that the parameters have reached.
    pub(crate) fn active_bounds(&self, theta: &[f64]) -> Vec<ActiveBound> {
        let active = theta.iter().enumerate().filter_map(|(index, x)| {
            let (lower, upper) = self.bounds(index);
            let side = match (*x <= lower, *x >= upper) {
                (true, true) => Side::Fixed,
                (true, false) => Side::Lower,
                (false, true) => Side::Upper,
                (false, false) => return None,
            };
            Some(ActiveBound { index, side })
        });
        active.collect()
    }
}

/// The interval of `$f + h$`, given that of `$f$` and the computed `$h \ge 0$`. The compensated sum
/// `$h$` is wrong by at most two units of the last place, its terms by one each; with the addition
/// that is below `$4 \varepsilon h$`.
pub(crate) fn shifted(interval: Interval, penalty: f64) -> Interval {
    if !(penalty > 0.0) {
        return interval;
    }
    let rounding = 4.0 * f64::EPSILON * penalty;
    Interval::new(
        (interval.lower + (penalty - rounding)).next_down(),
        (interval.upper + (penalty + rounding)).next_up(),
    )
}
