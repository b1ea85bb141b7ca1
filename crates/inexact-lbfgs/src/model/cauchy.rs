//! The generalised Cauchy point: the first minimiser of the model on the projected path of steepest
//! descent.

use super::compact::Compact;
use super::step::Local;
use crate::linalg::{add_scaled, dot};

/// The generalised Cauchy point.
#[derive(Debug)]
pub(super) struct Cauchy {
    /// The step from the incumbent to the point.
    pub(super) step: Vec<f64>,
    /// `$W^\top$` times the step.
    pub(super) projected: Vec<f64>,
    /// The decrease of the model.
    pub(super) decrease: f64,
}

/// Walks along `$x(t) = P(x - t g)$`, `$t \ge 0$`. Between two breakpoints, at which a variable
/// reaches its bound, the path is straight and the model a parabola; the walk ends at the first
/// minimiser. With the free part `$d$` of `$-g$`, `$z = x(t) - x$`, `$p = W^\top d$` and
/// `$c = W^\top z$`, the model's derivatives along the path are
///
/// ```math
/// -\|d\|^2 + \sigma (t \|d\|^2 - c^\top M p), \qquad \sigma (\|d\|^2 - p^\top M p).
/// ```
pub(super) fn cauchy_point(local: &Local<'_>, compact: &Compact<'_>) -> Cauchy {
    let breakpoints = Breakpoints::new(local);
    let mut direction: Vec<f64> = local.gradient.iter().map(|g| -g).collect();
    for (d, t) in direction.iter_mut().zip(&breakpoints.times) {
        if !(*t > 0.0) {
            *d = 0.0;
        }
    }
    let squares = breakpoints.free_squares(&direction);
    let sigma = compact.memory().sigma();
    let mut p = compact.project(&direction);
    let mut c = vec![0.0; p.len()];
    let (mut t, mut decrease) = (0.0, 0.0);
    for (j, square) in squares.into_iter().enumerate() {
        let next = breakpoints.order.get(j);
        let middle = compact.middle(&p);
        let slope = -square + sigma * (t * square - dot(&c, &middle));
        let curvature = sigma * (square - dot(&p, &middle)).max(f64::EPSILON * square);
        if !(slope < 0.0 && curvature > 0.0) {
            break;
        }
        let to_minimiser = -slope / curvature;
        let end = next.map_or(f64::INFINITY, |&b| breakpoints.times[b]);
        let length = to_minimiser.min(end - t);
        decrease -= length * (slope + 0.5 * length * curvature);
        add_scaled(&mut c, length, &p);
        let (Some(&b), true) = (next, to_minimiser >= end - t) else {
            t += length;
            break;
        };
        t = end;
        compact.add_row(b, local.gradient[b], &mut p);
    }
    let step = local.path(&breakpoints.times, t);
    Cauchy {
        step,
        projected: c,
        decrease,
    }
}

/// The times at which the variables reach their bounds on the path.
struct Breakpoints {
    /// The time of every variable, infinite if it never reaches a bound, 0 if it cannot move.
    times: Vec<f64>,
    /// The variables with positive and finite times, in the order of their times.
    order: Vec<usize>,
}

impl Breakpoints {
    fn new(local: &Local<'_>) -> Self {
        let time = |k: usize| {
            let (x, g) = (local.theta[k], local.gradient[k]);
            if g < 0.0 {
                (x - local.upper[k]) / g
            } else if g > 0.0 {
                (x - local.lower[k]) / g
            } else {
                f64::INFINITY
            }
        };
        let times: Vec<f64> = (0..local.theta.len()).map(time).collect();
        let is_between = |k: &usize| times[*k] > 0.0 && times[*k] < f64::INFINITY;
        let mut order: Vec<usize> = (0..times.len()).filter(is_between).collect();
        order.sort_unstable_by(|&a, &b| times[a].total_cmp(&times[b]).then(a.cmp(&b)));
        Self { times, order }
    }

    /// The squared norms of the free parts of `direction` before each breakpoint and after the
    /// last, each a sum without cancellation.
    fn free_squares(&self, direction: &[f64]) -> Vec<f64> {
        let never = direction.iter().zip(&self.times);
        let last = never.filter(|(_, t)| **t == f64::INFINITY);
        let mut square: f64 = last.map(|(d, _)| d * d).sum();
        let mut squares = vec![square];
        for &k in self.order.iter().rev() {
            square += direction[k] * direction[k];
            squares.push(square);
        }
        squares.reverse();
        squares
    }
}
