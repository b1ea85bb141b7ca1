//! An oracle that charges work for accuracy, and the comparison of accuracy on demand with fixed
//! accuracies.

use std::time::Instant;

use dfo_ls::testing::MoreWild;
use dfo_ls::{
    Accuracy, AccuracyControl, EvalError, Evaluated, Job, Options, ResidualOracle, Start,
};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use rand_distr::{Distribution, StandardNormal};

use super::run::{OracleRecord, RunKind, RunResult, RunSpec, exact_objective, sum_of_squares};
use super::score::{RecordedEvaluation, TIGHT, median};

/// The smallest error of residuals, relative to their norm at the start.
const BEST: f64 = 1e-16;
/// The work that makes residuals more accurate by a factor e.
const UNITS: f64 = 100.0;
/// The fixed accuracies: `10^-2`, ..., `10^-14`.
pub(super) const DECADES: std::ops::RangeInclusive<i32> = 2..=14;
/// The fixed accuracy that a careful user would choose: `10^-10`.
pub(super) const CAREFUL: i32 = 10;

/// How the accuracy of evaluations is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AccuracySetting {
    /// The solver chooses the accuracy of every evaluation.
    Dynamic,
    /// All evaluations have the accuracy `10^-k`.
    Fixed(i32),
}

impl AccuracySetting {
    pub(super) fn name(self) -> String {
        match self {
            Self::Dynamic => "dynamic".to_owned(),
            Self::Fixed(decade) => format!("fixed1e-{decade}"),
        }
    }
}

/// Returns the run with accuracy on demand, then one run for each fixed accuracy.
pub(super) fn specs(problem: MoreWild, options: &Options, seed: u64) -> Vec<RunSpec> {
    let spec = |setting, options| RunSpec {
        kind: RunKind::Priced(setting),
        problem,
        options,
        seed,
    };
    let mut specs = vec![spec(AccuracySetting::Dynamic, options.clone())];
    for decade in DECADES {
        let mut options = options.clone();
        let accuracy = Accuracy::new(10_f64.powi(-decade)).expect("a power is positive");
        options.accuracy = AccuracyControl::Fixed(accuracy);
        specs.push(spec(AccuracySetting::Fixed(decade), options));
    }
    specs
}

/// An oracle whose residuals have an error of known norm. An error of `a` costs `100 ln(s / a)`
/// units of work and at least one, where `s` is the norm of the residuals at the start, or 1 if
/// that is larger. Sharpening a point costs the difference.
///
/// The error is a vector in a random direction. Its norm is between half the accuracy and the
/// accuracy. It depends only on the point, the accuracy and the seed.
#[derive(Debug)]
pub(super) struct PricedOracle {
    problem: MoreWild,
    seed: u64,
    scale: f64,
    exact: Vec<f64>,
    pub(super) record: OracleRecord,
}

impl PricedOracle {
    pub(super) fn new(problem: MoreWild, seed: u64) -> Self {
        let start = exact_objective(problem, &problem.start());
        Self {
            problem,
            seed,
            scale: start.sqrt().max(1.0),
            exact: vec![0.0; problem.num_residuals()],
            record: OracleRecord::default(),
        }
    }

    /// Returns the work for an error of `radius` at a new point.
    fn price(&self, radius: f64) -> u64 {
        whole(UNITS * (self.scale / radius).ln()).max(1)
    }

    /// Returns the target of the error: at most `asked`, and at most the error that was `paid` for
    /// before.
    fn radius(&self, asked: Accuracy, paid: Option<f64>) -> f64 {
        let asked = asked.value().clamp(BEST * self.scale, self.scale);
        paid.map_or(asked, |paid| asked.min(paid))
    }

    fn errors(&self, theta: &[f64], radius: f64) -> Vec<f64> {
        let key = [self.seed, self.problem.number() as u64, radius.to_bits()];
        let key = key.into_iter().chain(theta.iter().map(|t| t.to_bits()));
        let mut random = ChaCha8Rng::seed_from_u64(key.fold(FNV_OFFSET, mix));
        let mut errors: Vec<f64> = (0..self.exact.len())
            .map(|_| StandardNormal.sample(&mut random))
            .collect();
        let length = radius * (0.5 + 0.5 * random.random::<f64>());
        let factor = length / sum_of_squares(&errors).sqrt();
        errors.iter_mut().for_each(|error| *error *= factor);
        errors
    }

    /// Overwrites `residuals`, and returns their certain accuracy and their work.
    fn compute(
        &mut self,
        theta: &[f64],
        asked: Accuracy,
        paid: Option<f64>,
        residuals: &mut [f64],
    ) -> Result<Evaluated<f64>, EvalError> {
        let radius = self.radius(asked, paid);
        let work = self.price(radius) - paid.map_or(0, |paid| self.price(paid));
        self.problem.residuals(theta, &mut self.exact);
        self.record.history.push(RecordedEvaluation {
            objective: sum_of_squares(&self.exact),
            work,
            is_new: paid.is_none(),
        });
        if !sum_of_squares(&self.exact).is_finite() {
            let reason = "the residuals are not finite".to_owned();
            return Err(EvalError::Reject { reason, work });
        }
        let mut difference = self.errors(theta, radius);
        for ((residual, exact), error) in residuals.iter_mut().zip(&self.exact).zip(&mut difference)
        {
            *residual = exact + *error;
            *error = *residual - exact;
        }
        // Rounding of large residuals may have increased the error.
        let length = sum_of_squares(&difference).sqrt() * (1.0 + 1e-12);
        let achieved = Accuracy::new(length.max(radius)).map_err(EvalError::abort)?;
        Ok(Evaluated {
            achieved,
            work,
            resume: radius,
        })
    }
}

impl ResidualOracle for PricedOracle {
    /// The accuracy that was paid for.
    type Resume = f64;

    fn num_residuals(&self) -> usize {
        self.problem.num_residuals()
    }

    fn evaluate(&mut self, jobs: &mut [Job<f64>]) {
        for job in jobs {
            job.run(|request, residuals| {
                let begin = Instant::now();
                let paid = match request.start {
                    Start::Refine(paid) => Some(paid),
                    // The result at a neighbour does not help here.
                    _ => None,
                };
                let done = self.compute(request.theta, request.target, paid, residuals);
                self.record.inside += begin.elapsed();
                done
            });
        }
    }
}

const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;

/// Mixes a word into a hash: FNV-1a on 64-bit words, with a final shift.
const fn mix(hash: u64, word: u64) -> u64 {
    let mixed = (hash ^ word).wrapping_mul(0x0000_0100_0000_01b3);
    mixed ^ (mixed >> 29)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "at most a few thousand; negative ones become zero"
)]
fn whole(value: f64) -> u64 {
    value.round() as u64
}

/// The work until solved to 1e-5, with accuracy on demand and with fixed accuracies.
#[derive(Clone, Debug)]
pub(super) struct AccuracyComparison {
    /// One entry for each problem and seed.
    pub(super) matches: Vec<ProblemComparison>,
    /// The number of runs with exact residuals that solve their problem.
    pub(super) solved_exact: usize,
    /// The number of runs with exact residuals.
    pub(super) num_exact: usize,
}

/// The work until solved for one problem and seed.
#[derive(Clone, Debug)]
pub(super) struct ProblemComparison {
    pub(super) problem: MoreWild,
    /// The work with accuracy on demand; `None` if the problem is not solved.
    pub(super) dynamic: Option<u64>,
    /// The work with each fixed accuracy `10^-k`, by `k`.
    pub(super) fixed: Vec<(i32, Option<u64>)>,
}

impl ProblemComparison {
    /// Returns the fixed accuracy that needed the least work, which is known only in hindsight.
    pub(super) fn best_fixed(&self) -> Option<(i32, u64)> {
        let solved = self.fixed.iter().filter_map(|&(k, work)| Some((k, work?)));
        solved.min_by_key(|&(_, work)| work)
    }

    pub(super) fn fixed_at(&self, decade: i32) -> Option<u64> {
        let mut fixed = self.fixed.iter();
        fixed
            .find(|(k, _)| *k == decade)
            .and_then(|(_, work)| *work)
    }

    /// Returns the work on demand divided by that of the best fixed accuracy: below 1 if accuracy
    /// on demand is cheaper, infinite if only a fixed accuracy solves the problem, `None` if
    /// neither does.
    pub(super) fn against_best(&self) -> Option<f64> {
        quotient(self.dynamic, self.best_fixed().map(|(_, work)| work))
    }

    /// Returns the work at the fixed accuracy 1e-10 divided by the work on demand: above 1 if
    /// accuracy on demand is cheaper, infinite if only accuracy on demand solves the problem.
    pub(super) fn careful_against(&self) -> Option<f64> {
        quotient(self.fixed_at(CAREFUL), self.dynamic)
    }
}

/// Divides two numbers of work, where an unsolved problem costs infinitely much. Returns `None` if
/// neither is solved.
fn quotient(above: Option<u64>, below: Option<u64>) -> Option<f64> {
    match (above, below) {
        (Some(above), Some(below)) => Some(above as f64 / below as f64),
        (None, Some(_)) => Some(f64::INFINITY),
        (Some(_), None) => Some(0.0),
        (None, None) => None,
    }
}

impl AccuracyComparison {
    /// Compares `runs`, which are in the order of [`specs`]: for each problem and seed the dynamic
    /// one comes first.
    pub(super) fn new(runs: &[RunResult], exact: &[RunResult]) -> Self {
        let mut matches: Vec<ProblemComparison> = Vec::new();
        for run in runs {
            let work = run.reached[TIGHT].map(|reached| reached.work);
            match (run.kind, matches.last_mut()) {
                (RunKind::Priced(AccuracySetting::Dynamic), _) => matches.push(ProblemComparison {
                    problem: run.problem,
                    dynamic: work,
                    fixed: Vec::new(),
                }),
                (RunKind::Priced(AccuracySetting::Fixed(k)), Some(last)) => {
                    last.fixed.push((k, work))
                }
                _ => {}
            }
        }
        Self {
            matches,
            solved_exact: exact
                .iter()
                .filter(|run| run.reached[TIGHT].is_some())
                .count(),
            num_exact: exact.len(),
        }
    }

    pub(super) fn solved_dynamic(&self) -> usize {
        self.matches.iter().filter(|m| m.dynamic.is_some()).count()
    }

    pub(super) fn solved_fixed(&self, decade: i32) -> usize {
        let is_solved = |m: &&ProblemComparison| m.fixed_at(decade).is_some();
        self.matches.iter().filter(is_solved).count()
    }

    pub(super) fn median_against_best(&self) -> Option<f64> {
        median(
            self.matches
                .iter()
                .filter_map(ProblemComparison::against_best),
        )
    }

    pub(super) fn median_careful_against(&self) -> Option<f64> {
        median(
            self.matches
                .iter()
                .filter_map(ProblemComparison::careful_against),
        )
    }
}

#[cfg(test)]
mod tests;
