//! One run of the solver on one problem.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use dfo_ls::testing::MoreWild;
use dfo_ls::{Accuracy, Evaluated, Job, Options, Problem, Report, ResidualOracle, Start, minimize};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use rand_distr::{Distribution, StandardNormal};

use super::dynamic::{AccuracySetting, PricedOracle};
use super::score::{self, Reached, RecordedEvaluation, TAUS};

/// The standard deviation of the random factors of residuals.
const NOISE: f64 = 1e-2;

/// A run to be made.
#[derive(Clone, Debug)]
pub(super) struct RunSpec {
    pub(super) kind: RunKind,
    pub(super) problem: MoreWild,
    pub(super) options: Options,
    pub(super) seed: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum RunKind {
    Smooth,
    Noisy,
    Priced(AccuracySetting),
}

impl RunSpec {
    pub(super) const fn smooth(problem: MoreWild, options: Options) -> Self {
        Self {
            kind: RunKind::Smooth,
            problem,
            options,
            seed: 0,
        }
    }

    pub(super) const fn noisy(problem: MoreWild, options: Options, seed: u64) -> Self {
        Self {
            kind: RunKind::Noisy,
            problem,
            options,
            seed,
        }
    }
}

/// The result of a run.
#[derive(Clone, Debug)]
pub(super) struct RunResult {
    pub(super) kind: RunKind,
    pub(super) problem: MoreWild,
    pub(super) seed: u64,
    /// The cost until the problem was solved, in the order of [`TAUS`].
    pub(super) reached: [Option<Reached>; 4],
    /// The exact objective of the point that the solver returned.
    pub(super) objective: f64,
    pub(super) evaluations: usize,
    pub(super) work: u64,
    /// The time outside the residual function.
    pub(super) overhead: Duration,
    pub(super) termination: String,
}

impl RunResult {
    pub(super) fn is_smooth(&self) -> bool {
        self.kind == RunKind::Smooth
    }
}

/// Returns the benchmark's budget: the number of points a solver may evaluate.
pub(super) const fn budget(problem: MoreWild) -> u64 {
    100 * score::simplex(problem)
}

/// Runs the solver on a problem.
pub(super) fn solve(spec: &RunSpec) -> Result<RunResult> {
    let (report, record, time) = match spec.kind {
        RunKind::Smooth | RunKind::Noisy => {
            let noise = (spec.kind == RunKind::Noisy).then(|| stream(spec.seed, spec.problem));
            let mut oracle = ExactOracle::new(spec.problem, noise);
            let (report, time) = timed(spec, &mut oracle)?;
            (report, oracle.record, time)
        }
        RunKind::Priced(_) => {
            let mut oracle = PricedOracle::new(spec.problem, spec.seed);
            let (report, time) = timed(spec, &mut oracle)?;
            (report, oracle.record, time)
        }
    };
    let start = exact_objective(spec.problem, &spec.problem.start());
    let reached = TAUS.map(|tau| {
        let threshold = score::threshold(spec.problem.best_known(), start, tau);
        score::first(&record.history, threshold)
    });
    Ok(RunResult {
        kind: spec.kind,
        problem: spec.problem,
        seed: spec.seed,
        reached,
        objective: exact_objective(spec.problem, &report.theta),
        evaluations: record.history.len(),
        work: record.history.iter().map(|e| e.work).sum(),
        overhead: time.saturating_sub(record.inside),
        termination: format!("{:?}", report.termination),
    })
}

fn timed<O: ResidualOracle>(spec: &RunSpec, oracle: &mut O) -> Result<(Report, Duration)> {
    let begin = Instant::now();
    let problem = Problem::new(spec.problem.start());
    let report = minimize(oracle, problem, spec.options.clone())
        .with_context(|| format!("problem {}", spec.problem.number()))?;
    Ok((report, begin.elapsed()))
}

/// Returns the random numbers of one problem.
fn stream(seed: u64, problem: MoreWild) -> ChaCha8Rng {
    let mut stream = ChaCha8Rng::seed_from_u64(seed);
    stream.set_stream(problem.number() as u64);
    stream
}

/// Returns `$\|r(\theta)\|^2$`.
pub(super) fn exact_objective(problem: MoreWild, theta: &[f64]) -> f64 {
    let mut residuals = vec![0.0; problem.num_residuals()];
    problem.residuals(theta, &mut residuals);
    sum_of_squares(&residuals)
}

pub(super) fn sum_of_squares(residuals: &[f64]) -> f64 {
    residuals.iter().map(|r| r * r).sum()
}

/// The evaluations as the oracle saw them, independent of the solver's own records.
#[derive(Clone, Debug, Default)]
pub(super) struct OracleRecord {
    pub(super) history: Vec<RecordedEvaluation>,
    /// The time inside the oracle.
    pub(super) inside: Duration,
}

/// An oracle with exact residuals, or with multiplicative noise that is new in every evaluation.
struct ExactOracle {
    problem: MoreWild,
    noise: Option<ChaCha8Rng>,
    record: OracleRecord,
}

impl ExactOracle {
    fn new(problem: MoreWild, noise: Option<ChaCha8Rng>) -> Self {
        Self {
            problem,
            noise,
            record: OracleRecord::default(),
        }
    }

    /// Overwrites `residuals`, and records the objective without noise.
    fn compute(&mut self, theta: &[f64], is_new: bool, residuals: &mut [f64]) {
        self.problem.residuals(theta, residuals);
        self.record.history.push(RecordedEvaluation {
            objective: sum_of_squares(residuals),
            work: 1,
            is_new,
        });
        if let Some(noise) = &mut self.noise {
            for residual in residuals {
                let z: f64 = StandardNormal.sample(noise);
                *residual *= 1.0 + NOISE * z;
            }
        }
    }
}

impl ResidualOracle for ExactOracle {
    type Resume = ();

    fn num_residuals(&self) -> usize {
        self.problem.num_residuals()
    }

    fn evaluate(&mut self, jobs: &mut [Job<()>]) {
        for job in jobs {
            job.run(|request, residuals| {
                let begin = Instant::now();
                let is_new = !matches!(request.start, Start::Refine(())) && request.sample == 0;
                self.compute(request.theta, is_new, residuals);
                self.record.inside += begin.elapsed();
                Ok(Evaluated {
                    achieved: Accuracy::EXACT,
                    work: 1,
                    resume: (),
                })
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A linear problem with nine parameters.
    fn easy() -> MoreWild {
        MoreWild::new(0).unwrap()
    }

    /// Evaluates the start twice.
    fn noisy_residuals(seed: u64, problem: MoreWild) -> (Vec<f64>, Vec<f64>, OracleRecord) {
        let mut oracle = ExactOracle::new(problem, Some(stream(seed, problem)));
        let mut once = || {
            let mut residuals = vec![0.0; problem.num_residuals()];
            oracle.compute(&problem.start(), true, &mut residuals);
            residuals
        };
        (once(), once(), oracle.record)
    }

    #[test]
    fn noise_is_new_every_time_and_named_by_seed_and_problem() {
        let (first, second, record) = noisy_residuals(3, easy());
        let (again, _, _) = noisy_residuals(3, easy());
        assert!(first == again && first != second);
        assert_ne!(first, noisy_residuals(4, easy()).0);
        let far = MoreWild::new(1).unwrap();
        let factor = |noisy: f64, problem: MoreWild| {
            let mut exact = vec![0.0; problem.num_residuals()];
            problem.residuals(&problem.start(), &mut exact);
            noisy / exact[0] - 1.0
        };
        let factors = [
            factor(first[0], easy()),
            factor(noisy_residuals(3, far).0[0], far),
        ];
        assert!((factors[0] - factors[1]).abs() > 1e-9);
        assert!(factors.iter().all(|factor| factor.abs() < 6.0 * NOISE));
        let exact = exact_objective(easy(), &easy().start());
        assert!(
            record
                .history
                .iter()
                .all(|e| (e.objective - exact).abs() < 1e-12)
        );
    }

    #[test]
    fn an_easy_problem_is_solved_within_its_budget_and_every_time_alike() {
        let solve = || solve(&RunSpec::smooth(easy(), Options::default())).unwrap();
        let run = solve();
        let evaluations = run.reached.map(|reached| reached.unwrap().evaluations);
        assert!(evaluations.is_sorted() && evaluations[3] <= budget(easy()));
        assert!((run.objective - 36.0).abs() < 1e-4 && run.evaluations >= 11);
        assert_eq!(run.reached, solve().reached);
    }
}
