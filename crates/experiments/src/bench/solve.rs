//! Whole reconstructions to a certified error on one thread: our default method, our FISTA, SciPy
//! and scikit-image.

use std::io::Write;
use std::time::Duration;

use anyhow::Result;
use imaging::{Denoising, FourierSampling, Grid, LinearOperator, TvParameters};
use lowlevel::{ErrorBound, Method, Solver, State, Stop, StronglyConvex};
use serde_json::{Value, json};

use super::clock::try_fastest;
use super::data::{self, IMAGE, LENGTH, NUM_FREQUENCIES, NUM_LINES, SAMPLING, SIDE};
use super::kernels::parameters;
use super::measurement::{Headline, Measurement};
use super::{BenchContext, count};

const IMAGE_ERROR: f64 = 1e-4;
const LINE_ERROR: f64 = 1e-6;
const SAMPLING_ERROR: f64 = 1e-3;
const ALPHAS: [f64; 3] = [1.0, 0.1, 0.01];
/// Two lines are enough to see the ratio in a quick run: L-BFGS-B is slow.
const QUICK_LINES: usize = 2;

const FISTA: &str = "FISTA (ours)";
const LBFGS: &str = "scipy L-BFGS-B";
const LBFGS_HEADLINE: Headline = Headline {
    label: "SciPy L-BFGS-B: denoise a 256 × 256 image",
    is_archived: false,
};
const CHAMBOLLE: &str = "scikit-image, eps 1e-6";
const CHAMBOLLE_HEADLINE: Headline = Headline {
    label: "scikit-image (eps 1e-6): denoise the same image",
    is_archived: false,
};

pub(super) fn run(context: &BenchContext, out: &mut dyn Write) -> Result<Vec<Measurement>> {
    let num_lines = if context.quick {
        QUICK_LINES
    } else {
        NUM_LINES
    };
    let job = json!({
        "part": "solve",
        "seconds": context.budget().as_secs_f64(),
        "side": SIDE,
        "length": LENGTH,
        "num_lines": num_lines,
        "alphas": ALPHAS,
        "image": parameters(IMAGE),
        "line": parameters(data::line(0.1)),
        "sampling": parameters(SAMPLING),
        "image_error": IMAGE_ERROR,
        "line_error": LINE_ERROR,
        "sampling_error": SAMPLING_ERROR,
    });
    let peers = context.peers.ask(&job, out)?;
    let mut rows = image(context, &peers)?;
    for alpha in ALPHAS {
        rows.extend(lines(context, alpha, num_lines, &peers)?);
    }
    rows.extend(sampling(context, &peers)?);
    Ok(rows)
}

fn image(context: &BenchContext, peers: &Value) -> Result<Vec<Measurement>> {
    let noisy = data::image(SIDE, 0)?.1;
    let objective = Denoising::new(Grid::image(SIDE, SIDE), &noisy, IMAGE)?;
    let [ours, fista] = both(context.budget(), &objective, &noisy, IMAGE_ERROR)?.map(|s| 1e3 * s);
    let peer = |key: &str| peers[key].as_f64().map(|seconds| 1e3 * seconds);
    let measurements = Measurement::against(
        &format!("solve, image {SIDE}x{SIDE}, alpha 0.1, to 1e-4"),
        ours,
        "ms",
        &[
            (FISTA, Some(fista)),
            (LBFGS, peer("image")),
            ("scikit-image, default (rough)", peer("chambolle")),
            (CHAMBOLLE, peer("chambolle_accurate")),
        ],
    );
    let with_headlines = measurements.into_iter().map(|one| {
        one.with_headline(LBFGS, LBFGS_HEADLINE)
            .with_headline(CHAMBOLLE, CHAMBOLLE_HEADLINE)
    });
    Ok(with_headlines.collect())
}

/// Measures the average time of one line.
fn lines(
    context: &BenchContext,
    alpha: f64,
    num_lines: usize,
    peers: &Value,
) -> Result<Vec<Measurement>> {
    let signals = (0..NUM_LINES).map(|index| Ok(data::signal(index)?.1));
    let signals = signals.collect::<Result<Vec<_>>>()?;
    let parameters: TvParameters = data::line(alpha);
    let mut totals = [0.0; 2];
    for noisy in &signals[..num_lines] {
        let objective = Denoising::new(Grid::line(LENGTH), noisy, parameters)?;
        for (total, seconds) in
            totals
                .iter_mut()
                .zip(both(context.budget() / 4, &objective, noisy, LINE_ERROR)?)
        {
            *total += 1e6 * seconds / count(num_lines);
        }
    }
    let scipy = peers[format!("line {alpha:?}")].as_f64();
    let scipy = scipy.map(|seconds| 1e6 * seconds);
    Ok(Measurement::against(
        &format!("solve, line {LENGTH}, alpha {alpha}, to 1e-6"),
        totals[0],
        "us",
        &[(FISTA, Some(totals[1])), (LBFGS, scipy)],
    ))
}

fn sampling(context: &BenchContext, peers: &Value) -> Result<Vec<Measurement>> {
    let fourier = data::fourier()?;
    let measured = data::frequencies(&fourier)?;
    let mut start = vec![0.0; measured.len()];
    fourier.apply_adjoint(&measured, &mut start, &mut fourier.scratch());
    let mut rows = Vec::new();
    for (name, key, weights) in [
        ("all frequencies at 0.5", "even", data::even_weights()),
        ("17 lowest frequencies", "sparse", data::sparse_weights()),
    ] {
        let objective = FourierSampling::new(&fourier, &measured, &weights, SAMPLING)?;
        let [ours, fista] =
            both(context.budget() / 4, &objective, &start, SAMPLING_ERROR)?.map(|s| 1e6 * s);
        let scipy = peers[key].as_f64().map(|seconds| 1e6 * seconds);
        rows.extend(Measurement::against(
            &format!("solve, Fourier line {NUM_FREQUENCIES}, {name}, to 1e-3"),
            ours,
            "us",
            &[(FISTA, Some(fista)), (LBFGS, scipy)],
        ));
    }
    Ok(rows)
}

/// Returns the seconds of our default method and of our FISTA, each the fastest call within
/// `budget`.
fn both<O: StronglyConvex>(
    budget: Duration,
    objective: &O,
    start: &[f64],
    error: f64,
) -> Result<[f64; 2]> {
    let fista = Solver {
        method: Method::FISTA,
        ..Solver::default()
    };
    let stop = Stop::accuracy(ErrorBound::new(error)?);
    let mut state = State::new(start.to_vec());
    let mut scratch = objective.scratch();
    let mut seconds = |solver: Solver<'_>| {
        try_fastest(budget, || {
            state.restart(|point| point.copy_from_slice(start));
            let _ = solver
                .minimize(objective, stop, &mut state, &mut scratch)?
                .reached()?;
            Ok::<(), anyhow::Error>(())
        })
    };
    Ok([seconds(Solver::default())?, seconds(fista)?])
}
