//! Complex heads from a quarter of their frequencies: quality and time of total variation, and of
//! SigPy.

use std::io::Write;

use anyhow::{Context as _, Result, ensure};
use bilevel::{Kspace, MaskKind, MaskProblem, Pair, Pattern};
use imaging::{FourierPicture, LinearOperator, Seed, phantom};
use lowlevel::{ErrorBound, Solver, State, Stop, StronglyConvex};
use serde_json::json;

use super::BenchContext;
use super::clock::try_fastest_on_core;
use super::denoise::{Clean, Score, peers, seconds_against, table};
use super::measurement::Measurement;
use crate::file;
use crate::masks::head::Head;

/// The number of rows and columns of a head.
const SIDE: usize = 128;
/// The standard deviation of the complex noise.
const SIGMA: f64 = 0.02;
/// The share of the frequencies that are measured, and the width of the centre.
const BUDGET: f64 = 0.25;
const CENTRE: usize = 8;
/// The patterns of random masks, with the exponents of their density that `cargo xtask masks`
/// finds.
const PATTERNS: [(Pattern, f64); 2] = [(Pattern::Lines, 8.0), (Pattern::Points, 2.0)];
/// The number of heads or slices to learn from; the number of those that are scored is smaller by
/// one.
const NUM_TRAINING: usize = 6;
/// The certified root-mean-square error of a result, which hardly changes its PSNR.
const ERROR: f64 = 1e-3;
/// The name of our method.
const OURS: &str = "total variation";

/// Learns alpha and nu for one mask of each pattern from some heads, and reconstructs others.
/// Writes the table `mri.md`.
pub(super) fn run(context: &BenchContext, out: &mut dyn Write) -> Result<Vec<Measurement>> {
    let (set, training, mut scored) = heads(context)?;
    if context.quick {
        scored.truncate(1);
    }
    let [training, scored] = [training, scored].map(|heads| Kspace::of_pictures([SIDE; 2], &heads));
    let (training, scored) = (training?, scored?);
    let pool = super::pool(1)?;
    let mut scores = Vec::new();
    for (pattern, exponent) in PATTERNS {
        let mut problem = MaskProblem::of_kspace(&training, pattern, 1.0, SIGMA, Seed::new(2))?;
        let grid = problem.grid();
        let kind = MaskKind::VariableDensity { exponent, seed: 0 };
        let mask = pattern.mask(grid, pattern.size_of(grid, BUDGET)?, CENTRE, kind);
        let tv = problem.tuned(&mask, MaskProblem::START)?.tv();
        let weights = pattern.weights(grid, &mask);
        let fourier = scored.fourier(0);
        let pairs = scored.pairs(1.0, SIGMA, Seed::new(3))?;
        for (index, Pair { truth, data, .. }) in pairs.into_iter().enumerate() {
            let (complex, _) = data.as_chunks::<2>();
            let measured = complex.iter().zip(&weights);
            let data: Vec<f64> = measured.flat_map(|(y, s)| y.map(|y| s * y)).collect();
            let truth = moduli(&truth);
            let peak = truth.iter().copied().fold(0.0, f64::max);
            let scaled = |x: Vec<f64>| x.into_iter().map(|x| x / peak).collect::<Vec<f64>>();
            let clean = Clean {
                name: format!("head {index}"),
                set,
                samples: scaled(truth.clone()),
            };
            let mut add = |method: &str, x: Vec<f64>, seconds: f64| -> Result<()> {
                let x = scaled(x);
                scores.push(Score::new(&clean, pattern.name(), method, &x, seconds)?);
                Ok(())
            };
            let mut zero_filled = vec![0.0; grid.len()];
            fourier.apply_adjoint(&data, &mut zero_filled, &mut fourier.scratch());
            add("zeros", moduli(&zero_filled), 0.0)?;
            let target = ErrorBound::new(ERROR * SIDE as f64)?;
            let mut x = Vec::new();
            let mut reconstruct = || -> Result<()> {
                let model = FourierPicture::new(fourier, &data, &weights, tv)?;
                let mut state = State::new(vec![0.0; grid.len()]);
                let (stop, solver) = (Stop::accuracy(target), Solver::default());
                let solved = solver.minimize(&model, stop, &mut state, &mut model.scratch())?;
                ensure!(solved.error <= target, "the accuracy was not reached");
                x = state.into_point();
                Ok(())
            };
            let budget = context.budget() / 10;
            let seconds = pool.install(|| try_fastest_on_core(budget, &mut reconstruct))?;
            add(OURS, moduli(&x), seconds)?;
            let job = json!({"part": "mri", "side": SIDE});
            let arrays = [("data", &data[..]), ("truth", &truth)];
            for (method, x, seconds) in peers(context, &job, &arrays, out)? {
                add(&method, x, seconds)?;
            }
        }
    }
    let table = table("pattern", &scores);
    file::write(&context.directory.join("mri.md"), table.as_bytes())?;
    write!(out, "{table}")?;
    let rows = PATTERNS.iter().flat_map(|(pattern, _)| {
        let name = format!("MRI {SIDE} x {SIDE}, a quarter of the {}", pattern.name());
        let peers = ["SigPy, 100 iterations", "SigPy, 400 iterations"];
        seconds_against(&name, &scores, pattern.name(), OURS, &peers)
    });
    Ok(rows.collect())
}

/// The name of a set of heads, heads to learn from, and heads to score.
type Heads = (&'static str, Vec<Vec<f64>>, Vec<Vec<f64>>);

/// Returns slices of the head that was given, or built-in heads.
fn heads(context: &BenchContext) -> Result<Heads> {
    let Some(path) = &context.head else {
        let head = |index| Ok(phantom::head(SIDE, SIDE, Seed::new(1), index)?);
        let training: Result<_> = (0..NUM_TRAINING).map(head).collect();
        let scored: Result<_> = (NUM_TRAINING..2 * NUM_TRAINING - 1).map(head).collect();
        return Ok(("built-in heads", training?, scored?));
    };
    let head = Head::read(path).with_context(|| path.display().to_string())?;
    let slices = |slices: Vec<(usize, usize)>| -> Result<Vec<Vec<f64>>> {
        let slices = slices.into_iter();
        (slices.map(|(height, number)| head.slice(height, SIDE, number))).collect()
    };
    let training = slices(head.spread(NUM_TRAINING, 0))?;
    Ok(("slices", training, slices(head.held_out(NUM_TRAINING))?))
}

/// The moduli of a complex picture.
fn moduli(picture: &[f64]) -> Vec<f64> {
    let (samples, _) = picture.as_chunks::<2>();
    samples.iter().map(|s| s[0].hypot(s[1])).collect()
}
