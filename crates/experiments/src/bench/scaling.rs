//! How time grows with the number of images, pixels and parameters.

use std::hint::black_box;
use std::io::Write;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use bilevel::{LearningProblem, Pair, Setup, TvDenoising};
use dfo_ls::{
    Accuracy, AccuracyControl, Engine, FnOracle, Options, Problem, ResidualOracle, drive,
};
use imaging::{Denoising, Grid};
use lowlevel::{ErrorBound, Method, Solver, State, Stop, StronglyConvex};

use super::clock::try_fastest;
use super::data::{self, IMAGE, LENGTH};
use super::measurement::Measurement;
use super::{BenchContext, count, pool};

const IMAGES: [usize; 9] = [1, 2, 5, 10, 20, 50, 100, 200, 400];
const SIDES: [usize; 6] = [64, 128, 256, 512, 1024, 2048];
const PARAMETERS: [usize; 8] = [1, 2, 5, 10, 20, 50, 100, 200];
const NUM_RESIDUALS: usize = 1000;
const ITERATIONS: u64 = 20;
/// The certified error of the average pixel.
const ERROR: f64 = 1e-5;

/// Measured times by size.
#[derive(Clone, Debug)]
pub(super) struct ScalingCurve {
    pub(super) name: &'static str,
    /// The unit of the sizes: images, pixels or parameters.
    pub(super) of: &'static str,
    /// Pairs of a size and its seconds.
    pub(super) points: Vec<[f64; 2]>,
}

impl ScalingCurve {
    /// Returns the slope of the straight line through the points in logarithmic axes, by least
    /// squares; NaN if there are fewer than two sizes.
    pub(super) fn slope(&self) -> f64 {
        let points: Vec<[f64; 2]> = self.points.iter().map(|p| p.map(f64::ln)).collect();
        let mean = |of: usize| points.iter().map(|p| p[of]).sum::<f64>() / count(points.len());
        let (x, y) = (mean(0), mean(1));
        let both: f64 = points.iter().map(|p| (p[0] - x) * (p[1] - y)).sum();
        let square: f64 = points.iter().map(|p| (p[0] - x).powi(2)).sum();
        both / square
    }

    /// Returns the slope, and the time of the largest size.
    fn rows(&self) -> Vec<Measurement> {
        let mut rows = vec![Measurement::alone(
            format!("slope, {}", self.name),
            self.slope(),
            "slope",
        )];
        if let Some([size, seconds]) = self.points.last() {
            let name = format!("{}, {size} {}", self.name, self.of);
            rows.push(Measurement::alone(name, 1e3 * seconds, "ms"));
        }
        rows
    }
}

pub(super) fn run(
    context: &BenchContext,
    out: &mut dyn Write,
) -> Result<(Vec<Measurement>, Vec<ScalingCurve>)> {
    let mut curves = vec![pool(1)?.install(|| images(context))?];
    writeln!(out, "  images done")?;
    curves.extend(pixels(context)?);
    writeln!(out, "  pixels done")?;
    curves.push(parameters(context)?);
    let rows = curves.iter().flat_map(ScalingCurve::rows).collect();
    Ok((rows, curves))
}

/// Measures one evaluation of a learning problem, with the same error for every image.
fn images(context: &BenchContext) -> Result<ScalingCurve> {
    let pair = |index| {
        let (truth, data) = data::signal(index)?;
        let grid = Grid::line(LENGTH);
        Ok(Pair { grid, truth, data })
    };
    let mut points = Vec::new();
    for num_images in IMAGES {
        let pairs = (0..num_images).map(pair).collect::<Result<Vec<_>>>()?;
        let model = TvDenoising::default();
        let mut problem = LearningProblem::new(model, pairs, Setup::derivative_free())?;
        let seconds = try_fastest(context.budget(), || {
            let mut options = Options::default();
            options.accuracy = AccuracyControl::Fixed(Accuracy::new(1e-3)?);
            options.budget.max_points = Some(1);
            let start = problem.solver_problem();
            let mut engine = Engine::new(start, problem.num_residuals(), options)?;
            problem.evaluate(&mut engine.ask()[..1]);
            Ok::<(), anyhow::Error>(())
        })?;
        points.push([count(num_images), seconds]);
    }
    Ok(ScalingCurve {
        name: "one evaluation, lines of 256",
        of: "images",
        points,
    })
}

/// Measures a fixed number of iterations, and solves to a fixed error of the average pixel.
fn pixels(context: &BenchContext) -> Result<[ScalingCurve; 2]> {
    let (mut fixed, mut accurate) = (Vec::new(), Vec::new());
    let largest = if context.quick { 1024 } else { 2048 };
    let fista = Solver {
        method: Method::FISTA,
        ..Solver::default()
    };
    for side in SIDES.into_iter().filter(|side| *side <= largest) {
        let noisy = data::image(side, 0)?.1;
        let objective = Denoising::new(Grid::image(side, side), &noisy, IMAGE)?;
        let mut state = State::new(noisy.clone());
        let mut scratch = objective.scratch();
        let mut seconds = |solver: Solver<'_>, stop| {
            try_fastest(context.budget(), || {
                state.restart(|point| point.copy_from_slice(&noisy));
                let _ = solver
                    .minimize(&objective, stop, &mut state, &mut scratch)?
                    .reached()?;
                Ok::<(), anyhow::Error>(())
            })
        };
        let num_pixels = count(side * side);
        fixed.push([num_pixels, seconds(fista, Stop::Iterations(ITERATIONS))?]);
        let error = ErrorBound::new(ERROR * count(side))?;
        accurate.push([
            num_pixels,
            seconds(Solver::default(), Stop::accuracy(error))?,
        ]);
    }
    let of = "pixels";
    Ok([
        ScalingCurve {
            name: "20 iterations of FISTA, 1 image",
            of,
            points: fixed,
        },
        ScalingCurve {
            name: "solve to 1e-5 per pixel, 1 image",
            of,
            points: accurate,
        },
    ])
}

/// Measures the time that `dfo-ls` spends outside the residual function, per evaluation after the
/// first model.
fn parameters(context: &BenchContext) -> Result<ScalingCurve> {
    let mut points = Vec::new();
    for num_params in PARAMETERS {
        let mut best = f64::INFINITY;
        let begin = Instant::now();
        let mut repetitions = 0;
        while repetitions < 3 || begin.elapsed() < context.budget() {
            best = best.min(overhead(num_params)?);
            repetitions += 1;
        }
        points.push([count(num_params), best]);
    }
    Ok(ScalingCurve {
        name: "dfo-ls between two evaluations, 1000 residuals",
        of: "parameters",
        points,
    })
}

fn overhead(num_params: usize) -> Result<f64> {
    let (mut inside, mut calls) = (Duration::ZERO, 0_usize);
    let mut first_model = None;
    let mut oracle = FnOracle::new(NUM_RESIDUALS, |theta: &[f64], out: &mut [f64]| {
        let begin = Instant::now();
        residuals(theta, out);
        inside += begin.elapsed();
        calls += 1;
        if calls == num_params + 1 {
            first_model = Some((Instant::now(), inside));
        }
    });
    let mut options = Options::default();
    options.budget.max_points = u64::try_from(num_params + 1 + 50.max(num_params / 2)).ok();
    let problem = Problem::new(vec![0.5; num_params]);
    let mut engine = Engine::new(problem, NUM_RESIDUALS, options)?;
    drive(&mut engine, &mut oracle, |_| ControlFlow::Continue(()));
    let end = Instant::now();
    let _ = black_box(engine.into_report());
    ensure!(
        calls > num_params + 1,
        "a run with {num_params} parameters ended with its first model"
    );
    let (begin, before) = first_model.unwrap_or((end, inside));
    let outside = (end - begin).saturating_sub(inside - before);
    Ok(outside.as_secs_f64() / count(calls - num_params - 1))
}

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

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(points: Vec<[f64; 2]>) -> ScalingCurve {
        ScalingCurve {
            name: "",
            of: "",
            points,
        }
    }

    #[test]
    fn the_slope_of_a_power_is_its_exponent() {
        let power = |p: f64| (1..8).map(move |k| [f64::from(k), 3.0 * f64::from(k).powf(p)]);
        for exponent in [0.0, 1.0, 1.5, -2.0] {
            let slope = curve(power(exponent).collect()).slope();
            assert!((slope - exponent).abs() < 1e-12, "{slope}");
        }
        assert!(curve(vec![[2.0, 1.0]]).slope().is_nan());
    }

    /// The slope is that of least squares, not of the line through the ends: the middle point of
    /// (1, e^0), (e, e^2), (e^2, e^1) only changes the mean.
    #[test]
    fn the_slope_is_that_of_least_squares() {
        let e = std::f64::consts::E;
        let points = vec![[1.0, 1.0], [e, e * e], [e * e, e]];
        assert!((curve(points).slope() - 0.5).abs() < 1e-12);
    }

    #[test]
    fn the_solver_is_timed_after_its_first_model() {
        assert!(overhead(3).unwrap() > 0.0);
    }
}
