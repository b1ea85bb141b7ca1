//! The same work on one thread and on two: the speed-up, and a check that the results are equal to
//! the last bit.

use std::io::Write;
use std::ops::ControlFlow;

use anyhow::{Result, ensure};
use bilevel::{FourierWeights, LearningProblem, Residuals, learning_options, testing};
use dfo_ls::{Accuracy, AccuracyControl, Options, ResidualOracle, drive};
use imaging::{Denoising, Grid};
use lowlevel::{ErrorBound, Solver, State, Stop, StronglyConvex};
use rayon::prelude::*;

use super::clock::try_fastest;
use super::data::{self, IMAGE, SIDE};
use super::measurement::Measurement;
use super::{BenchContext, pool};

const NUM_IMAGES: usize = 8;
/// The number of points of the first model of 64 parameters. The solver asks for all but the first
/// of them at once.
const NUM_POINTS: u64 = 65;

pub(super) fn run(context: &BenchContext, _: &mut dyn Write) -> Result<Vec<Measurement>> {
    let images = (0..NUM_IMAGES).map(|index| Ok(data::image(SIDE, index)?.1));
    let images = images.collect::<Result<Vec<_>>>()?;
    let mut rows = compare(
        context,
        &format!("2 threads, {NUM_IMAGES} images {SIDE}x{SIDE} to 1e-2"),
        || denoise(&images).map(|_| ()),
        || denoise(&images),
    )?;
    let mut problem = testing::sampling(0, 0.5, testing::sum(Residuals::Image))?;
    let mut again = testing::sampling(0, 0.5, testing::sum(Residuals::Image))?;
    // The first point is answered. The engine returns the others from every `ask` until they are.
    let mut engine = problem.engine(options()?)?;
    problem.evaluate(engine.ask());
    let _ = engine.tell();
    rows.extend(compare(
        context,
        &format!(
            "2 threads, {} points at once, 10 Fourier lines to 1e-4",
            engine.ask().len()
        ),
        || {
            problem.evaluate(engine.ask());
            Ok(())
        },
        || evaluate(&mut again),
    )?);
    Ok(rows)
}

/// Measures `work` on one and on two threads, and checks that the results of `answer` do not depend
/// on the number of threads.
fn compare(
    context: &BenchContext,
    name: &str,
    mut work: impl FnMut() -> Result<()> + Send,
    mut answer: impl FnMut() -> Result<Vec<Vec<f64>>> + Send,
) -> Result<Vec<Measurement>> {
    let mut run = |num_threads| -> Result<(f64, Vec<Vec<f64>>)> {
        let pool = pool(num_threads)?;
        let answer = pool.install(&mut answer)?;
        let seconds = try_fastest(4 * context.budget(), || pool.install(&mut work))?;
        Ok((1e3 * seconds, answer))
    };
    let (one, of_one) = run(1)?;
    let (two, of_two) = run(2)?;
    ensure!(
        bits(&of_one) == bits(&of_two),
        "{name}: results depend on the number of threads"
    );
    let peers = [("1 thread (ours)", Some(one))];
    Ok(Measurement::against(name, two, "ms", &peers))
}

fn bits(results: &[Vec<f64>]) -> Vec<u64> {
    results.iter().flatten().map(|x| x.to_bits()).collect()
}

fn denoise(images: &[Vec<f64>]) -> Result<Vec<Vec<f64>>> {
    let grid = Grid::image(SIDE, SIDE);
    let stop = Stop::accuracy(ErrorBound::new(1e-2)?);
    let solve = |noisy: &Vec<f64>| -> Result<Vec<f64>> {
        let objective = Denoising::new(grid, noisy, IMAGE)?;
        let mut state = State::new(noisy.clone());
        let mut scratch = objective.scratch();
        let solved = Solver::default().minimize(&objective, stop, &mut state, &mut scratch)?;
        let _ = solved.reached()?;
        Ok(state.into_point())
    };
    images.par_iter().map(solve).collect()
}

fn options() -> Result<Options> {
    let mut options = learning_options();
    options.accuracy = AccuracyControl::Fixed(Accuracy::new(1e-4)?);
    options.budget.max_points = Some(NUM_POINTS);
    Ok(options)
}

fn evaluate(problem: &mut LearningProblem<FourierWeights>) -> Result<Vec<Vec<f64>>> {
    let mut engine = problem.engine(options()?)?;
    drive(&mut engine, problem, |_| ControlFlow::Continue(()));
    let report = engine.into_report();
    Ok(vec![report.theta, vec![report.objective]])
}
