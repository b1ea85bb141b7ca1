//! The learning problem with photographs. The paper's other problems are in [`bilevel::testing`].

use std::path::Path;

use anyhow::Result;
use bilevel::{LearningProblem, Pair, Setup, TvDenoising};
use imaging::Grid;
use imaging::testing::paper_data::LegacyRandom;

use crate::kodak::photograph;

/// Returns the problem of learning `$\alpha$`, `$\nu$` and `$\xi$` from the centres of 25
/// photographs with noise of standard deviation 0.1.
pub(crate) fn photographs(folder: &Path, setup: Setup) -> Result<LearningProblem<TvDenoising>> {
    let mut random = LegacyRandom::new(0);
    let mut pairs = Vec::new();
    let grid = Grid::image(256, 256);
    for number in 1..=25 {
        let truth = photograph::read(folder, number, 256)?;
        let data = random.noisy(&truth, 0.1);
        pairs.push(Pair { grid, truth, data });
    }
    let model = TvDenoising::default();
    Ok(LearningProblem::new(model, pairs, setup)?)
}
