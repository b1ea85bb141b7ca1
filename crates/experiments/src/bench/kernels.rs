//! The time of one iteration, ours and NumPy's: the same formulas and data, on one thread.

use std::hint::black_box;
use std::io::Write;

use anyhow::{Result, ensure};
use imaging::{Denoising, FourierSampling, Grid, TvParameters};
use lowlevel::{ErrorBound, Method, SolveError, Solver, State, Stop, StronglyConvex, Update};
use serde_json::{Value, json};

use super::clock::{fastest, try_fastest};
use super::data::{self, IMAGE, LENGTH, NUM_FREQUENCIES, SAMPLING, SIDE};
use super::measurement::{Headline, Measurement};
use super::{BenchContext, count};

const NUMPY: &str = "NumPy";
const HEADLINE: Headline = Headline {
    label: "NumPy: one FISTA iteration, 256 × 256 image",
    is_archived: false,
};
/// Each time gets this many time budgets: batches are short, and some must run while the machine is
/// quiet.
const BUDGETS: f64 = 4.0;
/// An error that no solve of a few iterations certifies.
const UNREACHED: f64 = 1e-12;
/// The largest relative difference of squared gradient norms, ours and NumPy's. Rounding causes
/// much smaller differences.
const AGREEMENT: f64 = 1e-8;

pub(super) fn run(context: &BenchContext, out: &mut dyn Write) -> Result<Vec<Measurement>> {
    let job = json!({
        "part": "kernels",
        "seconds": BUDGETS * context.budget().as_secs_f64(),
        "side": SIDE,
        "length": LENGTH,
        "image": parameters(IMAGE),
        "line": parameters(data::line(0.1)),
        "sampling": parameters(SAMPLING),
    });
    let numpy = context.peers.ask(&job, out)?;
    let mut rows = denoising(context, &numpy)?;
    rows.extend(sampling(context, &numpy["sampling"])?);
    Ok(rows)
}

pub(super) fn parameters(of: TvParameters) -> Value {
    json!({"alpha": of.alpha, "nu": of.nu, "xi": of.xi})
}

fn denoising(context: &BenchContext, numpy: &Value) -> Result<Vec<Measurement>> {
    let image = data::image(SIDE, 0)?.1;
    let grid = Grid::image(SIDE, SIDE);
    let objective = Denoising::new(grid, &image, IMAGE)?;
    let numpy_image = &numpy["image"];
    agree(accelerate(&objective, &image, 10), numpy_image)?;
    let mut rows = Vec::new();
    let per_pixel = 1e9 / count(image.len());
    for (name, method, key) in [
        ("FISTA", Method::FISTA, "fista"),
        ("gradient descent", Method::GRADIENT_DESCENT, "descent"),
        ("the heavy ball", Method::HeavyBall, "ball"),
    ] {
        let seconds = per_iteration(context, &objective, &image, method, 50)?;
        let peer = numpy_image[key].as_f64().map(|peer| per_pixel * peer);
        let times = Measurement::against(
            &format!("iteration of {name}, image {SIDE}x{SIDE}, per pixel"),
            per_pixel * seconds,
            "ns",
            &[(NUMPY, peer)],
        );
        rows.extend(times.into_iter().map(|one| match key {
            "fista" => one.with_headline(NUMPY, HEADLINE),
            _ => one,
        }));
    }
    let line = data::signal(0)?.1;
    let objective = Denoising::new(Grid::line(LENGTH), &line, data::line(0.1))?;
    agree(accelerate(&objective, &line, 10), &numpy["line"])?;
    let per_pixel = 1e9 / count(LENGTH);
    let seconds = per_iteration(context, &objective, &line, Method::FISTA, 100)?;
    let peer = numpy["line"]["fista"].as_f64().map(|peer| per_pixel * peer);
    rows.extend(Measurement::against(
        &format!("iteration of FISTA, line {LENGTH}, per pixel"),
        per_pixel * seconds,
        "ns",
        &[(NUMPY, peer)],
    ));
    Ok(rows)
}

fn sampling(context: &BenchContext, numpy: &Value) -> Result<Vec<Measurement>> {
    let fourier = data::fourier()?;
    let x = data::frequencies(&fourier)?;
    let weights = data::even_weights();
    let objective = FourierSampling::new(&fourier, &x, &weights, SAMPLING)?;
    let (mut gradient, mut scratch) = (vec![0.0; x.len()], objective.scratch());
    let norm = objective.gradient_with_norm(&x, &mut gradient, &mut scratch);
    agree(norm, numpy)?;
    let batch = 500_u32;
    let seconds = fastest(context.budget().mul_f64(BUDGETS), || {
        for _ in 0..batch {
            objective.gradient(black_box(&x), &mut gradient, &mut scratch);
        }
    }) / f64::from(batch);
    let peer = numpy["gradient"].as_f64().map(|peer| 1e6 * peer);
    Ok(Measurement::against(
        &format!("gradient with Fourier transforms, line {NUM_FREQUENCIES}"),
        1e6 * seconds,
        "us",
        &[(NUMPY, peer)],
    ))
}

/// Checks that the peer computes the same function: that its squared gradient norm is `norm`.
fn agree(norm: f64, peer: &Value) -> Result<()> {
    if let Some(other) = peer["norm"].as_f64() {
        ensure!(
            (norm - other).abs() <= AGREEMENT * norm,
            "NumPy computes another function: its squared gradient norm is {other}, ours is {norm}"
        );
    }
    Ok(())
}

/// Returns the seconds of one iteration: the time of the fastest solve of `batch` iterations,
/// including what it does before the first one, divided by its gradients.
fn per_iteration<O: StronglyConvex>(
    context: &BenchContext,
    objective: &O,
    start: &[f64],
    method: Method,
    batch: u64,
) -> Result<f64> {
    let solver = Solver {
        method,
        ..Solver::default()
    };
    let stop = Stop::accuracy(ErrorBound::new(UNREACHED)?).with_max_iterations(batch);
    let (mut scratch, mut state) = (objective.scratch(), State::new(start.to_vec()));
    let mut gradients = 0;
    let seconds = try_fastest(context.budget().mul_f64(BUDGETS), || {
        state.restart(|x| x.copy_from_slice(start));
        gradients = (solver.minimize(objective, stop, &mut state, &mut scratch)?).gradients;
        Ok::<(), SolveError>(())
    })?;
    ensure!(
        gradients >= batch,
        "{method:?} ended after {gradients} gradients"
    );
    Ok(seconds / count(usize::try_from(gradients)?))
}

/// Returns the squared norm of the gradient after this number of accelerated iterations.
fn accelerate<O: StronglyConvex>(objective: &O, start: &[f64], iterations: u32) -> f64 {
    let mut scratch = objective.scratch();
    let (mut iterate, mut point) = (start.to_vec(), start.to_vec());
    let mut gradient = vec![0.0; start.len()];
    let step = 1.0 / objective.curvature().lipschitz();
    let mut norm = objective.gradient_with_norm(&point, &mut gradient, &mut scratch);
    for _ in 0..iterations {
        let update = Update::Accelerated {
            step,
            extrapolation: 0.8,
            iterate: &mut iterate,
        };
        norm = objective.advance(update, &mut point, &mut gradient, &mut scratch);
    }
    norm
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_that_computes_another_function_is_noticed() {
        assert!(agree(1.0, &json!({"norm": 1.0 + 1e-10})).is_ok());
        assert!(agree(1.0, &Value::Null).is_ok());
        let message = agree(1.0, &json!({"norm": 1.1})).unwrap_err().to_string();
        assert!(message.contains("1.1"), "{message}");
    }
}
