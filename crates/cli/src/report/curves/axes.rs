//! The choice of axes.

use bilevel::Learned;
use dfo_ls::Iteration;
use plot::Axis;

/// Ratio of numbers above which an axis is logarithmic.
const FAR: f64 = 5.0;

/// Returns the smallest and the largest finite number.
fn ends(values: impl Iterator<Item = f64>) -> Option<[f64; 2]> {
    let mut values = values.filter(|value| value.is_finite());
    let first = values.next()?;
    Some(values.fold([first, first], |[low, high], v| [low.min(v), high.max(v)]))
}

/// Returns an axis that is logarithmic if the numbers are positive and far apart.
pub(super) fn fitting(label: &str, values: impl Iterator<Item = f64>) -> Axis {
    match ends(values) {
        Some([low, high]) if low > 0.0 && high > FAR * low => Axis::log(label),
        _ => Axis::linear(label),
    }
}

/// Returns the horizontal axis that all curves over evaluations share.
pub(super) fn evaluation_axis(learned: &Learned) -> Axis {
    let all = u64::try_from(learned.evaluations.len()).unwrap_or(u64::MAX);
    Axis::linear("evaluation").range(0.0, 1.03 * (all as f64).max(2.0))
}

/// Returns the axis of gradients. It begins where the first model was complete, because there is no
/// curve before.
pub(super) fn work_axis(iterations: &[Iteration]) -> Axis {
    const LABEL: &str = "gradients";
    let works = iterations.iter().map(|iteration| iteration.work as f64);
    match ends(works) {
        Some([low, high]) if low > 0.0 && high > FAR * low => {
            ranged(Axis::log(LABEL), low / 1.15, high * 1.15)
        }
        Some([low, high]) => {
            let room = 0.03 * (high - low);
            ranged(Axis::linear(LABEL), low - room, high + room)
        }
        None => Axis::linear(LABEL),
    }
}

/// Returns the axis of the objective of incumbents. Certified intervals that are much wider are cut
/// off.
pub(super) fn objective_axis(iterations: &[Iteration]) -> Axis {
    const LABEL: &str = "objective";
    let Some([low, high]) = ends(iterations.iter().map(|i| i.objective)) else {
        return Axis::linear(LABEL);
    };
    let [lower, _] = ends(iterations.iter().map(|i| i.interval.lower)).unwrap_or([low, low]);
    let [_, upper] = ends(iterations.iter().map(|i| i.interval.upper)).unwrap_or([high, high]);
    if low > 0.0 && high > FAR * low {
        let from = lower.max(low / 3.0) / 1.2;
        let to = upper.min(3.0 * high) * 1.2;
        return ranged(Axis::log(LABEL), from, to);
    }
    let span = (high - low).max(0.02 * high.abs());
    let from = lower.max(low - 0.4 * span) - 0.05 * span;
    let to = upper.min(high + 0.4 * span) + 0.05 * span;
    ranged(Axis::linear(LABEL), from, to)
}

/// Sets the range of an axis, unless the range is empty or infinite.
pub(super) fn ranged(axis: Axis, from: f64, to: f64) -> Axis {
    let length = to - from;
    if length.is_finite() && length > 1e-12 * from.abs().max(to.abs()) {
        axis.range(from, to)
    } else {
        axis
    }
}
