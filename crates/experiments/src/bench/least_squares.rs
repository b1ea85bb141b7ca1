//! `dfo-ls` against the Python package DFO-LS, with exact residuals: evaluations until solved, and
//! the time between two of them.

use std::io::Write;
use std::time::{Duration, Instant};

use anyhow::Result;
use dfo_ls::{FnOracle, Options, Problem, minimize};
use serde_json::{Map, Value, json};

use super::Context;
use super::row::Row;

const PEER: &str = "DFO-LS";
/// Solved: `$f \le \tau f(\theta_0)$`; the least value of all problems is zero.
const TAU: f64 = 1e-7;

struct Task {
    key: &'static str,
    name: &'static str,
    start: Vec<f64>,
    num_residuals: usize,
    residuals: fn(&[f64], &mut [f64]),
}

fn tasks() -> [Task; 3] {
    [
        Task {
            key: "rosenbrock",
            name: "Rosenbrock, 2 parameters",
            start: vec![-1.2, 1.0],
            num_residuals: 2,
            residuals: chained,
        },
        Task {
            key: "exponentials",
            name: "exponential decay, 3 parameters",
            start: vec![1.0, 1.0, 0.0],
            num_residuals: 30,
            residuals: exponentials,
        },
        Task {
            key: "chained",
            name: "chained Rosenbrock, 10 parameters",
            start: vec![-1.0; 10],
            num_residuals: 18,
            residuals: chained,
        },
    ]
}

/// `$10 (\theta_{j+1} - \theta_j^2)$` and `$1 - \theta_j$`; for two parameters, Rosenbrock's
/// function.
fn chained(theta: &[f64], out: &mut [f64]) {
    let (valleys, distances) = out.split_at_mut(theta.len() - 1);
    for ((pair, valley), distance) in theta.windows(2).zip(valleys).zip(distances) {
        *valley = 10.0 * (pair[1] - pair[0] * pair[0]);
        *distance = 1.0 - pair[0];
    }
}

/// `$\theta_0 e^{-\theta_1 t} + \theta_2$` where `$t = 0, 0.1, \dots$`, compared with
/// `$2 e^{-1.5 t} + 0.5$`.
fn exponentials(theta: &[f64], out: &mut [f64]) {
    for (k, r) in (0_u32..).zip(out) {
        let t = f64::from(k) / 10.0;
        *r = theta[0] * (-theta[1] * t).exp() + theta[2] - (2.0 * (-1.5 * t).exp() + 0.5);
    }
}

pub(super) fn run(context: &Context, out: &mut dyn Write) -> Result<Vec<Row>> {
    let mut problems = Map::new();
    for task in tasks() {
        let problem =
            json!({"start": task.start, "target": task.target(), "budget": task.budget()});
        problems.insert(task.key.to_owned(), problem);
    }
    let repetitions = if context.quick { 3 } else { 10 };
    let job = json!({"part": "least_squares", "repetitions": repetitions, "problems": problems});
    let peers = context.peers.ask(&job, out)?;
    let mut rows = Vec::new();
    for task in tasks() {
        rows.extend(task.compare(&peers[task.key], 10 * repetitions)?);
    }
    Ok(rows)
}

impl Task {
    fn budget(&self) -> usize {
        100 * (self.start.len() + 1)
    }

    fn target(&self) -> f64 {
        let mut residuals = vec![0.0; self.num_residuals];
        (self.residuals)(&self.start, &mut residuals);
        TAU * sum_of_squares(&residuals)
    }

    fn compare(&self, peer: &Value, repetitions: u32) -> Result<Vec<Row>> {
        let mut ours = self.solve()?;
        for _ in 1..repetitions {
            ours.overhead = ours.overhead.min(self.solve()?.overhead);
        }
        let mut rows = Vec::new();
        if let Some(solved) = ours.solved {
            rows = Row::against(
                &format!("evaluations until solved, {}", self.name),
                f64::from(solved),
                "evaluations",
                &[(PEER, peer["solved"].as_f64())],
            );
        }
        let overhead = peer["overhead"].as_f64().map(|seconds| 1e6 * seconds);
        rows.extend(Row::against(
            &format!("time between evaluations, {}", self.name),
            1e6 * ours.overhead,
            "us",
            &[(PEER, overhead)],
        ));
        Ok(rows)
    }

    fn solve(&self) -> Result<Outcome> {
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
        Ok(Outcome {
            solved,
            overhead: outside.as_secs_f64() / f64::from(calls.max(1)),
        })
    }
}

struct Outcome {
    /// After how many evaluations.
    solved: Option<u32>,
    /// Seconds for each evaluation, outside of the residuals.
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
        for task in tasks() {
            let solution = match task.key {
                "exponentials" => vec![2.0, 1.5, 0.5],
                _ => vec![1.0; task.start.len()],
            };
            let mut residuals = vec![f64::NAN; task.num_residuals];
            (task.residuals)(&solution, &mut residuals);
            assert!(sum_of_squares(&residuals) < 1e-20, "{}", task.name);
            assert!(task.solve().unwrap().solved.is_some(), "{}", task.name);
        }
    }

    #[test]
    fn rosenbrock_at_its_usual_start() {
        let task = &tasks()[0];
        let mut residuals = [f64::NAN; 2];
        (task.residuals)(&task.start, &mut residuals);
        assert!((residuals[0] + 4.4).abs() < 1e-12 && (residuals[1] - 2.2).abs() < 1e-12);
    }
}
