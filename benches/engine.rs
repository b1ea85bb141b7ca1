//! The solver's own time: the time of a run outside the residual function, per evaluation.
//!
//! For comparison, the least time per evaluation of a solver that builds its model from nothing
//! each time: the inverse of the displacements, the Jacobian of all residuals, and its normal
//! matrix.

use std::hint::black_box;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use dfo_ls::{Engine, FnOracle, Model, Options, Problem, drive};
use faer::Mat;
use faer::linalg::solvers::DenseSolveCore;

/// Computes smooth residuals that depend on two parameters each.
fn residuals(theta: &[f64], out: &mut [f64]) {
    let d = theta.len();
    let mut weight = 0.1;
    for (i, r) in out.iter_mut().enumerate() {
        let (a, b) = (theta[i % d], theta[(i / d + i + 1) % d]);
        weight = (weight + 0.618_034) % 1.0;
        *r = a * (1.0 + weight * b) - weight + 0.3 * (1.0 - weight) * b * b;
    }
}

/// Runs the solver, and returns the time outside the residual function per evaluation after the
/// first model.
fn overhead(d: usize, m: usize, model: Model, max_points: u64) -> Duration {
    let (mut inside, mut calls) = (Duration::ZERO, 0_u32);
    let mut first_model: Option<(Instant, Duration)> = None;
    let mut oracle = FnOracle::new(m, |theta: &[f64], out: &mut [f64]| {
        let begin = Instant::now();
        residuals(theta, out);
        inside += begin.elapsed();
        calls += 1;
        if calls as usize == d + 1 {
            first_model = Some((Instant::now(), inside));
        }
    });
    let mut options = Options::default();
    options.model = model;
    options.budget.max_points = Some(max_points);
    let mut engine = Engine::new(Problem::new(vec![0.5; d]), m, options).expect("valid");
    drive(&mut engine, &mut oracle, |_| ControlFlow::Continue(()));
    let end = Instant::now();
    let _ = black_box(engine.into_report());
    let (begin, before) = first_model.expect("the first model is complete");
    ((end - begin) - (inside - before)) / (calls - u32::try_from(d).expect("small") - 1)
}

fn between_evaluations(criterion: &mut Criterion) {
    let curvature = Model::Composite {
        points_per_param: 3.0,
    };
    let mut group = criterion.benchmark_group("per evaluation");
    group.sample_size(10);
    group.warm_up_time(Duration::from_millis(500));
    group.measurement_time(Duration::from_secs(2));
    for (d, m, model, name, max_points) in [
        (3, 30, Model::Linear, "linear", 400),
        (12, 65, Model::Linear, "linear", 1300),
        (200, 10_000, Model::Linear, "linear", 600),
        (3, 30, curvature, "with curvature", 400),
        (12, 65, curvature, "with curvature", 1300),
        (64, 640, curvature, "with curvature", 300),
        (3, 1_000_000, Model::Automatic, "default", 30),
    ] {
        group.bench_function(format!("{name}, d = {d}, m = {m}"), |bencher| {
            bencher.iter_custom(|iterations| {
                (0..iterations)
                    .map(|_| overhead(d, m, model, max_points))
                    .sum()
            });
        });
    }
    group.finish();
}

fn from_nothing(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("model from nothing");
    group.sample_size(10);
    for (d, m) in [(12, 65), (200, 10_000)] {
        let displacements = Mat::<f64>::from_fn(d, d, |i, j| {
            f64::from(u8::from(i == j)) + 0.01 * f64::from(u8::from((i + 2 * j) % 7 == 0))
        });
        let differences =
            Mat::<f64>::from_fn(m, d, |i, j| f64::from(u8::from((i + j) % 5 == 0)) - 0.3);
        group.bench_function(format!("d = {d}, m = {m}"), |bencher| {
            bencher.iter(|| {
                let inverse = black_box(&displacements).partial_piv_lu().inverse();
                let jacobian = black_box(&differences) * inverse.transpose();
                black_box(jacobian.transpose() * &jacobian)
            });
        });
    }
    group.finish();
}

criterion_group!(benches, between_evaluations, from_nothing);
criterion_main!(benches);
