//! An oracle whose accuracy has a price, and what accuracy on demand saves.

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

/// No residuals are better than this, relative to those at the start.
const BEST: f64 = 1e-16;
/// What a factor e in accuracy costs.
const UNITS: f64 = 100.0;
/// The accuracies of the runs with the same one throughout: `10^-2`, ..., `10^-14`.
pub(super) const DECADES: std::ops::RangeInclusive<i32> = 2..=14;
/// The one that a careful user would have chosen.
pub(super) const CAREFUL: i32 = 10;

/// How accuracy is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AccuracySetting {
    /// By the solver, as it goes.
    Dynamic,
    /// `10^-k` throughout.
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

/// The run with accuracy on demand, and one for each fixed accuracy.
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

/// Residuals with an error of known size. From nothing, an error of `a` costs `100 ln(s / a)` units
/// of work, at least one, `s` the norm of the residuals at the start, at least 1; to go on from
/// there costs the difference.
///
/// The error is a vector in a random direction, as long as the accuracy or down to half of it; it
/// depends on the point, the accuracy and the seed, and on nothing else.
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

    /// What an error of `radius` costs from nothing.
    fn price(&self, radius: f64) -> u64 {
        whole(UNITS * (self.scale / radius).ln()).max(1)
    }

    /// The error that is aimed at: at most what was `asked`, and not more than was `paid` for
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

    /// Overwrites `residuals`; returns how accurate they are for certain, and what they cost.
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
        // Rounding of large residuals may have made the error longer.
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
    /// The accuracy that is paid for.
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
                    // A neighbour is of no use here.
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

/// FNV-1a on whole words.
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

/// Accuracy on demand against fixed ones, problem by problem (and seed by seed), judged by the work
/// until solved to 1e-5.
#[derive(Clone, Debug)]
pub(super) struct AccuracyComparison {
    pub(super) matches: Vec<ProblemComparison>,
    /// How many problems the solver solves with exact residuals.
    pub(super) solved_exact: usize,
    pub(super) num_exact: usize,
}

/// One problem.
#[derive(Clone, Debug)]
pub(super) struct ProblemComparison {
    pub(super) problem: MoreWild,
    /// The work until solved.
    pub(super) dynamic: Option<u64>,
    /// The same for `10^-k`.
    pub(super) fixed: Vec<(i32, Option<u64>)>,
}

impl ProblemComparison {
    /// The fixed accuracy that needed the least work: known only in hindsight.
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

    /// Below 1 where accuracy on demand is cheaper; infinite where only a fixed one solves the
    /// problem, `None` where none does.
    pub(super) fn against_best(&self) -> Option<f64> {
        quotient(self.dynamic, self.best_fixed().map(|(_, work)| work))
    }

    /// Above 1 where accuracy on demand is cheaper than 1e-10 throughout; infinite where only the
    /// former solves the problem.
    pub(super) fn careful_against(&self) -> Option<f64> {
        quotient(self.fixed_at(CAREFUL), self.dynamic)
    }
}

/// A problem that is not solved costs infinitely much. `None` if neither is solved.
fn quotient(above: Option<u64>, below: Option<u64>) -> Option<f64> {
    match (above, below) {
        (Some(above), Some(below)) => Some(above as f64 / below as f64),
        (None, Some(_)) => Some(f64::INFINITY),
        (Some(_), None) => Some(0.0),
        (None, None) => None,
    }
}

impl AccuracyComparison {
    /// `runs` as [`specs`] orders them, for each problem and seed the dynamic one first.
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
