//! Timing of one iteration of a solver per pixel, for all benchmarks.

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::Bencher;
use criterion::measurement::WallTime;
use lowlevel::{StronglyConvex, Update};

/// Measures iterations of FISTA on `objective`. Criterion prints the time of one iteration divided
/// by `units`.
///
/// # Panics
/// When `units` is 0.
pub fn fista_iteration<O: StronglyConvex>(
    bencher: &mut Bencher<'_, WallTime>,
    objective: &O,
    start: &[f64],
    units: u32,
) {
    iteration(bencher, objective, start, units, |iterate, step| {
        Update::Accelerated {
            step,
            extrapolation: 0.8,
            iterate,
        }
    });
}

/// Measures iterations of gradient descent, like [`fista_iteration`].
///
/// # Panics
/// When `units` is 0.
pub fn gradient_descent_iteration<O: StronglyConvex>(
    bencher: &mut Bencher<'_, WallTime>,
    objective: &O,
    start: &[f64],
    units: u32,
) {
    iteration(bencher, objective, start, units, |_, step| {
        Update::Descent { step }
    });
}

/// Measures iterations of the heavy-ball method, like [`fista_iteration`].
///
/// # Panics
/// When `units` is 0.
pub fn heavy_ball_iteration<O: StronglyConvex>(
    bencher: &mut Bencher<'_, WallTime>,
    objective: &O,
    start: &[f64],
    units: u32,
) {
    iteration(bencher, objective, start, units, |impulse, step| {
        Update::HeavyBall {
            decay: 0.6,
            ahead: step,
            back: 0.1 * step,
            impulse,
        }
    });
}

fn iteration<O: StronglyConvex>(
    bencher: &mut Bencher<'_, WallTime>,
    objective: &O,
    start: &[f64],
    units: u32,
    update: impl Fn(&mut [f64], f64) -> Update<'_>,
) {
    let mut scratch = objective.scratch();
    let mut iterate = start.to_vec();
    let mut point = start.to_vec();
    let mut gradient = vec![0.0; start.len()];
    let step = 1.0 / objective.curvature().lipschitz();
    objective.gradient(&point, &mut gradient, &mut scratch);
    bencher.iter_custom(|iterations| {
        let begin = Instant::now();
        for _ in 0..iterations {
            let update = update(&mut iterate, step);
            black_box(objective.advance(update, &mut point, &mut gradient, &mut scratch));
        }
        per_unit(begin.elapsed(), units)
    });
}

fn per_unit(elapsed: Duration, units: u32) -> Duration {
    elapsed / units
}
