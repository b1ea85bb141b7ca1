//! A later evaluation allocates nothing but the residuals and checkpoints that are stored. There is
//! no test harness, because its threads allocate too.

use std::alloc::System;
use std::process::ExitCode;

use bilevel::{LearningProblem, Pair, Setup, TvDenoising, learning_options};
use dfo_ls::ResidualOracle;
use imaging::{Grid, Seed, noise, phantom};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

fn main() -> ExitCode {
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    one.expect("a thread").install(check);
    ExitCode::SUCCESS
}

/// Counts the bytes that one evaluation of ten pictures allocates.
fn check() {
    let (rows, cols, count) = (64, 64, 10);
    let pair = |index| {
        let truth = phantom::dead_leaves(rows, cols, Seed::new(1), index).expect("a size");
        let data = noise::gaussian(&truth, 0.1, Seed::new(1), index).expect("a deviation");
        let grid = Grid::image(rows, cols);
        Pair { grid, truth, data }
    };
    let pairs = (0..count).map(pair).collect();
    let problem = LearningProblem::new(TvDenoising::default(), pairs, Setup::derivative_free());
    let mut problem = problem.expect("a valid problem");
    let mut engine = problem.engine(learning_options()).expect("valid options");
    // the first evaluation allocates the memory that later ones use
    problem.evaluate(&mut engine.ask()[..1]);
    engine.tell();
    let job = &mut engine.ask()[..1];
    let region = Region::new(ALLOCATOR);
    problem.evaluate(job);
    let bytes = region.change().bytes_allocated;
    // residuals and two vectors of each reconstruction, and little more: no scratch, no gradient,
    // no copy of residuals
    let image = 8 * rows * cols * count;
    assert!(bytes >= 3 * image, "the counter counts: {bytes}");
    assert!(
        bytes < 3 * image + image / 8,
        "{bytes} bytes, {image} per vector of all images"
    );
}
