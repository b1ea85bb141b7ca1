//! `dfo-ls` and the Python package DFO-LS with exact residuals: the number of evaluations until a
//! problem is solved, and the solver's own time between two evaluations.

use std::io::Write;
use std::time::{Duration, Instant};

use anyhow::Result;
use dfo_ls::{FnOracle, Options, Problem, minimize};
use serde_json::{Map, Value, json};

use super::BenchContext;
use super::measurement::{Headline, Measurement};

const PEER: &str = "DFO-LS";
/// A problem is solved when `$f \le \tau f(\theta_0)$`. The least objective of all problems is
/// zero.
const TAU: f64 = 1e-7;
/// The bar of the problem with ten parameters in the chart of the front page.
const HEADLINE: Headline = Headline {
    label: "DFO-LS: solver's own time, 10 parameters",
    is_archived: false,
};

struct LeastSquaresBenchmark {
    key: &'static str,
    name: &'static str,
    start: Vec<f64>,
    num_residuals: usize,
    residuals: fn(&[f64], &mut [f64]),
}

fn benchmarks() -> [LeastSquaresBenchmark; 3] {
    [
        LeastSquaresBenchmark {
            key: "rosenbrock",
            name: "Rosenbrock, 2 parameters",
            start: vec![-1.2, 1.0],
            num_residuals: 2,
            residuals: chained,
        },
        LeastSquaresBenchmark {
            key: "exponentials",
            name: "exponential decay, 3 parameters",
            start: vec![1.0, 1.0, 0.0],
            num_residuals: 30,
            residuals: exponentials,
        },
        LeastSquaresBenchmark {
            key: "chained",
            name: "chained Rosenbrock, 10 parameters",
            start: vec![-1.0; 10],
            num_residuals: 18,
            residuals: chained,
        },
    ]
}

/// Computes `$10 (\theta_{j+1} - \theta_j^2)$` and `$1 - \theta_j$`: Rosenbrock's function if there
/// are two parameters.
fn chained(theta: &[f64], out: &mut [f64]) {
    let (valleys, distances) = out.split_at_mut(theta.len() - 1);
    for ((pair, valley), distance) in theta.windows(2).zip(valleys).zip(distances) {
        *valley = 10.0 * (pair[1] - pair[0] * pair[0]);
        *distance = 1.0 - pair[0];
    }
}

/// Computes the difference of `$\theta_0 e^{-\theta_1 t} + \theta_2$` and `$2 e^{-1.5 t} + 0.5$` at
/// `$t = 0, 0.1, \dots$`.
fn exponentials(theta: &[f64], out: &mut [f64]) {
    for (k, r) in (0_u32..).zip(out) {
        let t = f64::from(k) / 10.0;
        *r = theta[0] * (-theta[1] * t).exp() + theta[2] - (2.0 * (-1.5 * t).exp() + 0.5);
    }
}

pub(super) fn run(context: &BenchContext, out: &mut dyn Write) -> Result<Vec<Measurement>> {
    let mut problems = Map::new();
    for benchmark in benchmarks() {
        let problem = json!({
            "start": benchmark.start,
            "target": benchmark.target(),
            "budget": benchmark.budget(),
        });
        problems.insert(benchmark.key.to_owned(), problem);
    }
    let repetitions = if context.quick { 3 } else { 10 };
    let job = json!({"part": "least_squares", "repetitions": repetitions, "problems": problems});
    let peers = context.peers.ask(&job, out)?;
    let mut rows = Vec::new();
    for benchmark in benchmarks() {
        rows.extend(benchmark.compare(&peers[benchmark.key], 10 * repetitions)?);
    }
    Ok(rows)
}

impl LeastSquaresBenchmark {
    fn budget(&self) -> usize {
        100 * (self.start.len() + 1)
    }

    fn target(&self) -> f64 {
        let mut residuals = vec![0.0; self.num_residuals];
        (self.residuals)(&self.start, &mut residuals);
        TAU * sum_of_squares(&residuals)
    }

    fn compare(&self, peer: &Value, repetitions: u32) -> Result<Vec<Measurement>> {
        let mut ours = self.solve()?;
        for _ in 1..repetitions {
            ours.overhead = ours.overhead.min(self.solve()?.overhead);
        }
        let mut rows = Vec::new();
        if let Some(solved) = ours.solved {
            rows = Measurement::against(
                &format!("evaluations until solved, {}", self.name),
                f64::from(solved),
                "evaluations",
                &[(PEER, peer["solved"].as_f64())],
            );
        }
        let overhead = peer["overhead"].as_f64().map(|seconds| 1e6 * seconds);
        let times = Measurement::against(
            &format!("time between evaluations, {}", self.name),
            1e6 * ours.overhead,
            "us",
            &[(PEER, overhead)],
        );
        rows.extend(times.into_iter().map(|one| match self.key {
            "chained" => one.with_headline(PEER, HEADLINE),
            _ => one,
        }));
        Ok(rows)
    }

    fn solve(&self) -> Result<SolverCost> {
        let target = self.target();
        let (mut calls, mut solved, mut inside) = (0_u32, None, Duration::ZERO);
        let mut oracle = FnOracle::new(self.num_residuals, |theta: &[f64], out: &mut [f64]| {
            let begin = Instant::now();
            (self.residuals)(theta, out);
            calls += 1;
            if solved.is_none() && sum_of_squares(out) <= target {
                solved = Some(calls);
            }
            inside += begin.elapsed();
        });
        let mut options = Options::default();
        options.budget.max_points = u64::try_from(self.budget()).ok();
        let begin = Instant::now();
        let problem = Problem::new(self.start.clone());
        let _ = minimize(&mut oracle, problem, options)?;
        let outside = begin.elapsed().saturating_sub(inside);
        Ok(SolverCost {
            solved,
            overhead: outside.as_secs_f64() / f64::from(calls.max(1)),
        })
    }
}

struct SolverCost {
    /// The number of evaluations until the problem is solved.
    solved: Option<u32>,
    /// Seconds per evaluation outside the residual function.
    overhead: f64,
}

fn sum_of_squares(residuals: &[f64]) -> f64 {
    residuals.iter().map(|r| r * r).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_solutions_have_no_residuals_and_are_found() {
        for benchmark in benchmarks() {
            let solution = match benchmark.key {
                "exponentials" => vec![2.0, 1.5, 0.5],
                _ => vec![1.0; benchmark.start.len()],
            };
            let mut residuals = vec![f64::NAN; benchmark.num_residuals];
            (benchmark.residuals)(&solution, &mut residuals);
            assert!(sum_of_squares(&residuals) < 1e-20, "{}", benchmark.name);
            assert!(
                benchmark.solve().unwrap().solved.is_some(),
                "{}",
                benchmark.name
            );
        }
    }

    #[test]
    fn rosenbrock_at_its_usual_start() {
        let benchmark = &benchmarks()[0];
        let mut residuals = [f64::NAN; 2];
        (benchmark.residuals)(&benchmark.start, &mut residuals);
        assert!((residuals[0] + 4.4).abs() < 1e-12 && (residuals[1] - 2.2).abs() < 1e-12);
    }
}
