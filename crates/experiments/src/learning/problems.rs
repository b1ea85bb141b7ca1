//! The paper's learning problems, with the authors' data or data made the same way.

use std::path::Path;

use anyhow::Result;
use bilevel::{
    Choice, ConditionNumber, FourierWeights, LearningProblem, Loss, Pair, Residuals, RootL1, Scale,
    Setup, TvChoices, TvDenoising,
};
use imaging::Grid;
use imaging::testing::paper_data::{self, Example, LegacyRandom};

use crate::kodak::photograph;

fn pairs(examples: Vec<Example>, grid: Grid) -> Vec<Pair> {
    let pair = |(truth, data)| Pair { grid, truth, data };
    examples.into_iter().map(pair).collect()
}

fn sum(residuals: Residuals) -> Setup {
    Setup {
        loss: Loss {
            scale: Scale::Sum,
            residuals,
        },
        ..Setup::default()
    }
}

/// `$\alpha$` of 1D denoising.
pub(crate) fn one(
    seed: u32,
    start: f64,
    residuals: Residuals,
) -> Result<LearningProblem<TvDenoising>> {
    let choices = TvChoices {
        alpha: Choice::Learned {
            start,
            lower: -7.0,
            upper: 7.0,
        },
        nu: Choice::Fixed(1e-3),
        xi: Choice::Fixed(1e-3),
    };
    let pairs = pairs(paper_data::denoising(seed, 10), Grid::line(256));
    let model = TvDenoising { choices };
    Ok(LearningProblem::new(model, pairs, sum(residuals))?)
}

/// `$\alpha$`, `$\nu$` and `$\xi$` of 1D denoising, `$\beta = 10^{-6}$`.
pub(crate) fn three(seed: u32, residuals: Residuals) -> Result<LearningProblem<TvDenoising>> {
    three_with(seed, residuals, TvChoices::default())
}

/// The same with other choices of what is learned.
pub(crate) fn three_with(
    seed: u32,
    residuals: Residuals,
    choices: TvChoices,
) -> Result<LearningProblem<TvDenoising>> {
    let setup = Setup {
        penalties: vec![Box::new(ConditionNumber { weight: 1e-6 })],
        ..sum(residuals)
    };
    let pairs = pairs(paper_data::denoising(seed, 20), Grid::line(256));
    Ok(LearningProblem::new(TvDenoising { choices }, pairs, setup)?)
}

/// 64 sampling weights, `$\beta = 0.1$`.
pub(crate) fn sampling(
    seed: u32,
    start: f64,
    residuals: Residuals,
) -> Result<LearningProblem<FourierWeights>> {
    let setup = Setup {
        penalties: vec![Box::new(RootL1 { weight: 0.1 })],
        ..sum(residuals)
    };
    let pairs = pairs(paper_data::sampling(seed), Grid::line(64).complex());
    let model = FourierWeights::new(64, FourierWeights::TV, start)?;
    Ok(LearningProblem::new(model, pairs, setup)?)
}

/// `$\alpha$`, `$\nu$` and `$\xi$` for the centres of 25 photographs with noise 0.1.
pub(crate) fn photographs(
    folder: &Path,
    residuals: Residuals,
) -> Result<LearningProblem<TvDenoising>> {
    let mut random = LegacyRandom::new(0);
    let mut pairs = Vec::new();
    let grid = Grid::image(256, 256);
    for number in 1..=25 {
        let truth = photograph::read(folder, number, 256)?;
        let data = random.noisy(&truth, 0.1);
        pairs.push(Pair { grid, truth, data });
    }
    Ok(LearningProblem::new(
        TvDenoising::default(),
        pairs,
        sum(residuals),
    )?)
}
