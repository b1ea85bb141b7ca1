//! One iteration, ours and NumPy's: the same formulas, the same data, one thread.

use std::hint::black_box;
use std::io::Write;

use anyhow::{Result, ensure};
use imaging::{Denoising, FourierSampling, Grid, TvParameters};
use lowlevel::{ErrorBound, Method, SolveError, Solver, State, Stop, StronglyConvex, Update};
use serde_json::{Value, json};

use super::clock::{fastest, try_fastest};
use super::data::{self, IMAGE, LENGTH, NUM_FREQUENCIES, SAMPLING, SIDE};
use super::row::Row;
use super::{Context, count};

const NUMPY: &str = "NumPy";
/// Batches are short, and some must meet a quiet moment.
const BUDGETS: f64 = 4.0;
/// No solve of a few iterations certifies this.
const UNREACHED: f64 = 1e-12;
/// A long way, for a share of the squared norm of a gradient.
const AGREEMENT: f64 = 1e-8;

pub(super) fn run(context: &Context, out: &mut dyn Write) -> Result<Vec<Row>> {
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

fn denoising(context: &Context, numpy: &Value) -> Result<Vec<Row>> {
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
        rows.extend(Row::against(
            &format!("iteration of {name}, image {SIDE}x{SIDE}, per pixel"),
            per_pixel * seconds,
            "ns",
            &[(NUMPY, peer)],
        ));
    }
    let line = data::signal(0)?.1;
    let objective = Denoising::new(Grid::line(LENGTH), &line, data::line(0.1))?;
    agree(accelerate(&objective, &line, 10), &numpy["line"])?;
    let per_pixel = 1e9 / count(LENGTH);
    let seconds = per_iteration(context, &objective, &line, Method::FISTA, 100)?;
    let peer = numpy["line"]["fista"].as_f64().map(|peer| per_pixel * peer);
    rows.extend(Row::against(
        &format!("iteration of FISTA, line {LENGTH}, per pixel"),
        per_pixel * seconds,
        "ns",
        &[(NUMPY, peer)],
    ));
    Ok(rows)
}

fn sampling(context: &Context, numpy: &Value) -> Result<Vec<Row>> {
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
    Ok(Row::against(
        &format!("gradient with Fourier transforms, line {NUM_FREQUENCIES}"),
        1e6 * seconds,
        "us",
        &[(NUMPY, peer)],
    ))
}

/// A peer that computes something else is no peer.
fn agree(norm: f64, peer: &Value) -> Result<()> {
    if let Some(other) = peer["norm"].as_f64() {
        ensure!(
            (norm - other).abs() <= AGREEMENT * norm,
            "NumPy computes something else: its gradient has the squared norm {other}, ours {norm}"
        );
    }
    Ok(())
}

/// Seconds of one iteration in a solve of `batch` of them, from the fastest of several. What a
/// solve does before its first iteration is part of it.
fn per_iteration<O: StronglyConvex>(
    context: &Context,
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

/// The squared norm of the gradient after so many iterations.
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
    fn a_peer_that_computes_something_else_is_noticed() {
        assert!(agree(1.0, &json!({"norm": 1.0 + 1e-10})).is_ok());
        assert!(agree(1.0, &Value::Null).is_ok());
        let message = agree(1.0, &json!({"norm": 1.1})).unwrap_err().to_string();
        assert!(message.contains("1.1"), "{message}");
    }
}
