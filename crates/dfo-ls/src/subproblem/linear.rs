//! The exact minimisation of a linear function over ball and box: `$\min g^T s$` with
//! `$\|s\| \le \Delta$` and `$l \le s \le u$`.
//!
//! The minimiser is `$s(t) = \operatorname{clip}(-t g, l, u)$` for the `$t$` with
//! `$\|s(t)\| = \Delta$`, or the corner of the box if that lies inside. Component `$i$` meets its
//! bound `$b_i$` at the breakpoint `$t_i = |b_i|/|g_i|$`. Between neighbouring breakpoints
//! `$\|s(t)\|^2 = \sum_{t_i \le t} b_i^2 + t^2 \sum_{t_i > t} g_i^2$`. The breakpoints are sorted
//! to find the interval that contains `$t$`.

use super::BallAndBox;
use crate::linalg::{all_finite, exponent, max_abs, power_of_two};

/// The slope, relative to the largest, up to which a component does not move, because its `$t$`
/// would overflow.
const NEGLIGIBLE: f64 = 1e-290;

/// A component that moves, with its bound and its breakpoint.
struct MovingComponent {
    index: usize,
    breakpoint: f64,
    slope: f64,
    bound: f64,
}

/// Minimises `$g^T s$` over the region. The step is zero if an input is NaN or infinite. Components
/// for which `$g$` vanishes do not move.
pub(crate) fn minimize_linear(gradient: &[f64], region: &BallAndBox<'_>) -> Vec<f64> {
    let mut step = vec![0.0; gradient.len()];
    let largest = max_abs(gradient);
    if !region.is_valid(gradient.len()) || !all_finite(gradient) || !(largest > 0.0) {
        return step;
    }
    // Scale to units of the radius and of the largest slope, by powers of two and hence exactly.
    let unit = power_of_two(exponent(region.radius));
    let radius = region.radius / unit;
    let steepest = power_of_two(exponent(largest));
    let mut movers: Vec<MovingComponent> = (0..gradient.len())
        .filter_map(|index| {
            let slope = -gradient[index] / steepest;
            let bound = if slope > 0.0 {
                region.upper[index]
            } else if slope < 0.0 {
                region.lower[index]
            } else {
                0.0
            };
            let bound = bound / unit;
            let breakpoint = (bound / slope).abs();
            (bound.abs() > 0.0 && slope.abs() > NEGLIGIBLE).then_some(MovingComponent {
                index,
                breakpoint,
                slope,
                bound,
            })
        })
        .collect();
    movers.sort_by(|a, b| a.breakpoint.total_cmp(&b.breakpoint));
    // slopes[k] is the norm of the slopes of the moving components from the k-th on.
    let mut slopes = vec![0.0; movers.len() + 1];
    for (k, mover) in movers.iter().enumerate().rev() {
        slopes[k] = f64::hypot(slopes[k + 1], mover.slope);
    }
    let mut room = radius * radius;
    let mut reach = f64::INFINITY;
    for (k, mover) in movers.iter().enumerate() {
        let t = room.sqrt() / slopes[k];
        if !(t > mover.breakpoint) {
            reach = t;
            break;
        }
        room = (room - mover.bound * mover.bound).max(0.0);
    }
    for mover in &movers {
        let moved = if reach > mover.breakpoint {
            mover.bound
        } else {
            reach * mover.slope
        };
        step[mover.index] = moved * unit;
    }
    region.enforce(&mut step);
    step
}

#[cfg(test)]
mod tests;
