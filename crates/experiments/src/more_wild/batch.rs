//! Rounds of parallel evaluations until a problem is solved, by batch size.
//!
//! All jobs of a round are evaluated at the same time, at most as many as the batch size. An ask
//! for `k` jobs with a batch size of `b` takes `ceil(k / b)` rounds. With a batch size of one,
//! rounds are evaluations.

use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use dfo_ls::testing::MoreWild;
use dfo_ls::{Accuracy, Evaluated, Job, Options, Problem, ResidualOracle, minimize};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;
use serde_json::json;

use super::run::{budget, exact_objective, sum_of_squares};
use super::score::{TAUS, TIGHT, median, threshold};
use crate::file;

/// The batch sizes that are compared. The first one is the standard of comparison.
pub(super) const BATCHES: [usize; 4] = [1, 4, 16, 64];
/// The number of parameters from which a problem counts in the medians.
const MANY_PARAMS: usize = 6;
/// The standard deviation of the entries of a moved start, relative to its norm divided by the
/// square root of the number of parameters.
const MOVE: f64 = 0.1;

/// The rounds and evaluations that one problem took, by batch size.
#[derive(Clone, Debug)]
pub(super) struct BatchComparison {
    problem: MoreWild,
    seed: u64,
    /// In the order of [`BATCHES`].
    solved: [Option<Solved>; BATCHES.len()],
}

/// The cost until a problem was solved to 1e-5.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Solved {
    rounds: u64,
    evaluations: u64,
}

/// Solves the problems from their starts (seed 0) or from starts that were moved at random (other
/// seeds), with every batch size. The results are in the order of `problems`, by seed.
pub(super) fn compare(
    problems: &[MoreWild],
    seeds: impl Iterator<Item = u64>,
    options: &Options,
) -> Result<Vec<BatchComparison>> {
    let cases: Vec<(MoreWild, u64)> = seeds
        .flat_map(|seed| problems.iter().map(move |&problem| (problem, seed)))
        .collect();
    let compared = cases.par_iter().map(|&(problem, seed)| {
        let mut solved = [None; BATCHES.len()];
        for (solved, batch) in solved.iter_mut().zip(BATCHES) {
            let mut options = options.clone();
            options.batch = batch;
            // The same number of rounds for all batch sizes.
            options.budget.max_points = Some(budget(problem) * batch as u64);
            *solved = solve(problem, &start(problem, seed), options)?;
        }
        Ok(BatchComparison {
            problem,
            seed,
            solved,
        })
    });
    compared.collect()
}

fn solve(problem: MoreWild, start: &[f64], mut options: Options) -> Result<Option<Solved>> {
    let first = exact_objective(problem, start);
    let threshold = threshold(problem.best_known(), first, TAUS[TIGHT]);
    options.target = Some(threshold);
    let mut oracle = RoundOracle {
        problem,
        batch: options.batch,
        threshold,
        spent: Solved {
            rounds: 0,
            evaluations: 0,
        },
        solved: None,
    };
    let _ = minimize(&mut oracle, Problem::new(start), options)
        .with_context(|| format!("problem {}", problem.number()))?;
    Ok(oracle.solved)
}

/// Returns the start of a problem for seed 0, and another point near it for other seeds.
fn start(problem: MoreWild, seed: u64) -> Vec<f64> {
    let mut start = problem.start();
    if seed > 0 {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        random.set_stream(problem.number() as u64);
        let size = MOVE * (sum_of_squares(&start) / start.len() as f64).sqrt();
        for entry in &mut start {
            let z: f64 = StandardNormal.sample(&mut random);
            *entry += size * z;
        }
    }
    start
}

/// An oracle with exact residuals that counts rounds.
struct RoundOracle {
    problem: MoreWild,
    batch: usize,
    threshold: f64,
    spent: Solved,
    solved: Option<Solved>,
}

impl ResidualOracle for RoundOracle {
    type Resume = ();

    fn num_residuals(&self) -> usize {
        self.problem.num_residuals()
    }

    fn evaluate(&mut self, jobs: &mut [Job<()>]) {
        for round in jobs.chunks_mut(self.batch) {
            self.spent.rounds += 1;
            self.spent.evaluations += round.len() as u64;
            for job in round {
                job.run(|request, residuals| {
                    self.problem.residuals(request.theta, residuals);
                    if sum_of_squares(residuals) <= self.threshold {
                        self.solved.get_or_insert(self.spent);
                    }
                    Ok(Evaluated {
                        achieved: Accuracy::EXACT,
                        work: 1,
                        resume: (),
                    })
                });
            }
        }
    }
}

impl BatchComparison {
    /// Returns the rounds relative to those of batch size one. A problem that is not solved takes
    /// infinitely many. `None` if batch size one does not solve the problem.
    fn ratio(&self, index: usize) -> Option<f64> {
        let one = self.solved[0]?;
        let rounds = self.solved[index].map(|solved| solved.rounds as f64);
        Some(rounds.unwrap_or(f64::INFINITY) / one.rounds as f64)
    }
}

/// Prints a table by problem, the medians for problems with many parameters, and the worst ratios.
pub(super) fn table(compared: &[BatchComparison], out: &mut dyn Write) -> Result<()> {
    writeln!(
        out,
        "\nrounds of parallel evaluations until solved to 1e-5 (and evaluations), by batch size"
    )?;
    write!(
        out,
        " {:>3} {:20} {:>2} {:>4}",
        "no", "problem", "n", "seed"
    )?;
    for batch in BATCHES {
        write!(out, " {batch:>13}")?;
    }
    for batch in &BATCHES[1..] {
        write!(out, " {:>7}", format!("{batch} : 1"))?;
    }
    writeln!(out)?;
    for one in compared {
        let problem = one.problem;
        write!(
            out,
            " {:>3} {:20} {:>2} {:>4}",
            problem.number(),
            problem.name(),
            problem.num_params(),
            one.seed
        )?;
        for solved in one.solved {
            let text = solved.map_or_else(
                || "-".to_owned(),
                |solved| format!("{} ({})", solved.rounds, solved.evaluations),
            );
            write!(out, " {text:>13}")?;
        }
        for index in 1..BATCHES.len() {
            write!(out, " {:>7}", percent(one.ratio(index)))?;
        }
        writeln!(out)?;
    }
    let wide = |one: &&BatchComparison| one.problem.num_params() >= MANY_PARAMS;
    for (index, batch) in BATCHES.iter().enumerate().skip(1) {
        let large = median(compared.iter().filter(wide).filter_map(|c| c.ratio(index)));
        let all = median(compared.iter().filter_map(|c| c.ratio(index)));
        let worst = compared
            .iter()
            .filter_map(|one| Some((one.ratio(index)?, one.problem.number())))
            .max_by(|a, b| a.0.total_cmp(&b.0));
        let at = worst.map_or_else(String::new, |(_, number)| format!(" (problem {number})"));
        writeln!(
            out,
            "batch {batch}: median {} of the rounds of batch 1 for n >= {MANY_PARAMS}, {} for all \
             problems, at most {}{at}",
            percent(large),
            percent(all),
            percent(worst.map(|worst| worst.0)),
        )?;
    }
    Ok(())
}

fn percent(ratio: Option<f64>) -> String {
    ratio.map_or_else(|| "-".to_owned(), |ratio| format!("{:.0} %", 100.0 * ratio))
}

/// Writes one row for each problem and seed.
pub(super) fn write(path: &Path, compared: &[BatchComparison]) -> Result<()> {
    let by_batch = |one: &BatchComparison, count: fn(Solved) -> u64| {
        let counts = BATCHES.iter().zip(one.solved);
        let entries = counts.map(|(batch, s)| (batch.to_string(), json!(s.map(count))));
        serde_json::Value::Object(entries.collect())
    };
    let rows: Vec<String> = compared
        .iter()
        .map(|one| {
            json!({
                "problem": one.problem.number(),
                "name": one.problem.name(),
                "params": one.problem.num_params(),
                "seed": one.seed,
                "rounds_to_1e-5": by_batch(one, |solved| solved.rounds),
                "evaluations_to_1e-5": by_batch(one, |solved| solved.evaluations),
            })
            .to_string()
        })
        .collect();
    file::write(path, format!("[\n{}\n]\n", rows.join(",\n")).as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(number: usize) -> MoreWild {
        MoreWild::new(number).unwrap()
    }

    #[test]
    fn an_ask_takes_as_many_rounds_as_it_fills() {
        let mut engine = dfo_ls::Engine::new(
            Problem::new(problem(0).start()),
            problem(0).num_residuals(),
            Options::default(),
        )
        .unwrap();
        let mut oracle = RoundOracle {
            problem: problem(0),
            batch: 4,
            threshold: f64::INFINITY,
            spent: Solved {
                rounds: 0,
                evaluations: 0,
            },
            solved: None,
        };
        oracle.evaluate(engine.ask());
        engine.tell();
        let first = Solved {
            rounds: 1,
            evaluations: 1,
        };
        assert_eq!((oracle.spent, oracle.solved), (first, Some(first)));
        // nine points around the start
        oracle.evaluate(engine.ask());
        assert_eq!(oracle.spent.rounds, 1 + 3);
        assert_eq!(oracle.spent.evaluations, 1 + 9);
    }

    #[test]
    fn rounds_of_batch_one_are_evaluations() {
        let compared = compare(&[problem(6)], 0..2, &Options::default()).unwrap();
        assert_eq!(compared.len(), 2);
        for one in &compared {
            let serial = one.solved[0].unwrap();
            assert_eq!(serial.rounds, serial.evaluations);
            assert!(one.solved.iter().all(Option::is_some));
        }
        assert_ne!(start(problem(6), 1), problem(6).start());
        assert_eq!(start(problem(6), 0), problem(6).start());
    }

    #[test]
    fn a_problem_that_stays_unsolved_is_infinitely_worse() {
        let solved = |rounds| {
            Some(Solved {
                rounds,
                evaluations: rounds,
            })
        };
        let one = BatchComparison {
            problem: problem(6),
            seed: 0,
            solved: [solved(40), solved(20), None, solved(10)],
        };
        assert_eq!(one.ratio(1), Some(0.5));
        assert_eq!(one.ratio(2), Some(f64::INFINITY));
        let mut out = Vec::new();
        table(&[one], &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("batch 4: median - of the rounds of batch 1 for n >= 6, 50 %"));
        assert!(text.contains("batch 64: median - of") && text.contains("at most inf %"));
    }
}
