//! The paper's learning problems on the authors' data, a check of derivatives, and ranks that are
//! threads, for tests and measurements.
//!
//! Objectives are sums over images, as in the authors' program. Seed 0 gives the authors' data;
//! other seeds give other data from the same generator.

use std::sync::{Arc, Barrier, Mutex, PoisonError};
use std::thread;

use imaging::Grid;
use imaging::testing::paper_data::{self, Example};

use crate::{
    BoxError, Choice, ConditionNumber, Exchange, FourierWeights, LearningProblem, Loss, LowerLevel,
    Pair, ProblemError, Ranks, Residuals, RootL1, Scale, Setup, TvChoices, TvDenoising,
};
use lowlevel::StronglyConvex as _;
use lowlevel::testing::mixed_deviation;

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

/// Returns the largest deviation of the [mixed products](crate::Derivatives::mixed_product) of a
/// family from central differences of its gradients, for all parameters. It is relative to 1 or to
/// the largest product, whichever is larger.
///
/// Correct derivatives give a small number. Products and differences refer to relative changes of
/// the values, or to absolute ones where a value is zero, and `spacing` is the step of the
/// differences. [`Derivatives`](crate::Derivatives) has an example.
///
/// # Errors
/// When the family does not accept the data or the values, or has no derivatives.
///
/// # Panics
/// When `values`, `x` or `q` does not have the length that the family expects, or the family does
/// not accept values nearby.
pub fn derivatives_deviation<M: LowerLevel>(
    model: &M,
    values: &[f64],
    grid: Grid,
    data: &[f64],
    x: &[f64],
    q: &[f64],
    spacing: f64,
) -> Result<f64, BoxError> {
    let data = model.prepare(grid, data)?;
    let objective = model.objective(values, &data)?;
    let derivatives = model.derivatives(values, &objective);
    let derivatives = derivatives.ok_or("the family has no derivatives")?;
    let unit = |value: f64| if value == 0.0 { 1.0 } else { value.abs() };
    let objective_at = |shares: &[f64]| {
        let values = values.iter().zip(shares);
        let values: Vec<f64> = values.map(|(v, share)| v + share * unit(*v)).collect();
        let objective = model.objective(&values, &data);
        objective.expect("the family accepts values nearby")
    };
    let mixed_product = |x: &[f64], q: &[f64], out: &mut [f64]| {
        derivatives.mixed_product(x, q, out, &mut objective.scratch());
        for (out, value) in out.iter_mut().zip(values) {
            *out *= unit(*value);
        }
    };
    let center = vec![0.0; values.len()];
    let deviation = mixed_deviation(objective_at, &center, x, q, mixed_product, spacing);
    Ok(deviation)
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
