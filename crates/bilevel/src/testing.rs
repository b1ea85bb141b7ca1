//! The paper's learning problems on the authors' data, and ranks that are threads, for tests and
//! measurements.
//!
//! Objectives are sums over images, as in the authors' program. Seed 0 gives the authors' data;
//! other seeds give other data from the same generator.

use std::sync::{Arc, Barrier, Mutex, PoisonError};
use std::thread;

use imaging::Grid;
use imaging::testing::paper_data::{self, Example};

use crate::{
    BoxError, Choice, ConditionNumber, Exchange, FourierWeights, LearningProblem, Loss, Pair,
    ProblemError, Ranks, Residuals, RootL1, Scale, Setup, TvChoices, TvDenoising,
};

/// Returns the setup for learning without derivatives, with a sum over images as the objective.
#[must_use]
pub fn sum(residuals: Residuals) -> Setup {
    Setup {
        loss: Loss {
            scale: Scale::Sum,
            residuals,
        },
        ..Setup::derivative_free()
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

/// An exchange between threads of one process.
#[derive(Debug)]
struct Threads {
    rank: usize,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    numbers: Mutex<Vec<Vec<f64>>>,
    barrier: Barrier,
}

impl Exchange for Threads {
    fn gather(&self, own: &[f64]) -> Result<Vec<Vec<f64>>, BoxError> {
        let numbers = || {
            self.shared
                .numbers
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
        };
        numbers()[self.rank] = own.to_vec();
        self.shared.barrier.wait();
        let all = numbers().clone();
        // nobody writes again before everybody has read
        self.shared.barrier.wait();
        Ok(all)
    }
}

/// Calls `run` for each of `count` ranks, which are threads of this process, and returns the
/// results in the order of the ranks.
///
/// # Panics
/// When `run` panics on a rank.
pub fn on_ranks<T: Send>(count: usize, run: impl Fn(Ranks) -> T + Sync) -> Vec<T> {
    let shared = Arc::new(Shared {
        numbers: Mutex::new(vec![Vec::new(); count]),
        barrier: Barrier::new(count),
    });
    let run = &run;
    thread::scope(|scope| {
        let threads = (0..count).map(|rank| {
            let shared = Arc::clone(&shared);
            scope.spawn(move || run(Ranks::new(rank, Arc::new(Threads { rank, shared }))))
        });
        let threads: Vec<_> = threads.collect();
        let results = threads.into_iter().map(|thread| thread.join());
        results
            .map(|result| result.expect("a rank panicked"))
            .collect()
    })
}
