//! The paper's learning problems on the authors' data, for tests and measurements.
//!
//! Objectives are sums over images, as in the authors' program. Seed 0 gives the authors' data;
//! other seeds give other data from the same generator.

use imaging::Grid;
use imaging::testing::paper_data::{self, Example};

use crate::{
    Choice, ConditionNumber, FourierWeights, LearningProblem, Loss, Pair, ProblemError, Residuals,
    RootL1, Scale, Setup, TvChoices, TvDenoising,
};

/// Returns the default setup, with a sum over images as the objective.
#[must_use]
pub fn sum(residuals: Residuals) -> Setup {
    Setup {
        loss: Loss {
            scale: Scale::Sum,
            residuals,
        },
        ..Setup::default()
    }
}

fn pairs(examples: Vec<Example>, grid: Grid) -> Vec<Pair> {
    let pair = |(truth, data)| Pair { grid, truth, data };
    examples.into_iter().map(pair).collect()
}

/// Returns the problem of learning `$\alpha$` from ten signals.
///
/// # Errors
/// When the setup is invalid.
pub fn one_parameter(
    seed: u32,
    start: f64,
    setup: Setup,
) -> Result<LearningProblem<TvDenoising>, ProblemError> {
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
    LearningProblem::new(TvDenoising { choices }, pairs, setup)
}

/// Returns the problem of learning `$\alpha$`, `$\nu$` and `$\xi$`, or some of them, from twenty
/// signals, with the weight `$\beta = 10^{-6}$` of the squared condition number.
///
/// # Errors
/// When the setup is invalid.
pub fn three_parameters(
    seed: u32,
    choices: TvChoices,
    mut setup: Setup,
) -> Result<LearningProblem<TvDenoising>, ProblemError> {
    setup.penalties = vec![Box::new(ConditionNumber { weight: 1e-6 })];
    let pairs = pairs(paper_data::denoising(seed, 20), Grid::line(256));
    LearningProblem::new(TvDenoising { choices }, pairs, setup)
}

/// Returns the problem of learning the weights of 64 frequencies from ten signals, with the weight
/// `$\beta = 0.1$` of the sum of all `$\theta$`.
///
/// # Errors
/// When the setup is invalid.
#[expect(clippy::missing_panics_doc, reason = "64 samples make a transform")]
pub fn sampling(
    seed: u32,
    start: f64,
    mut setup: Setup,
) -> Result<LearningProblem<FourierWeights>, ProblemError> {
    setup.penalties = vec![Box::new(RootL1 { weight: 0.1 })];
    let pairs = pairs(paper_data::sampling(seed), Grid::line(64).complex());
    let model = FourierWeights::new(64, FourierWeights::TV, start).expect("64 samples");
    LearningProblem::new(model, pairs, setup)
}
