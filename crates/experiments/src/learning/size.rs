//! The cost of one evaluation with few and with many parameters, on the same picture.

use std::io::Write;
use std::ops::ControlFlow;
use std::time::Instant;

use anyhow::Result;
use bilevel::{LearningProblem, LowerLevel, Setup, SolverKind, TvDenoising, learning_options};

use super::map::{SIDE, WeightMap, picture};

/// The number of points of each run.
const NUM_POINTS: u64 = 30;

/// Learns maps with 3 and with 10,000 weights, and the three parameters of denoising, and prints
/// the cost of an evaluation.
pub(super) fn run(repetitions: u32, out: &mut dyn Write) -> Result<()> {
    writeln!(
        out,
        "\none picture of {SIDE}x{SIDE}: cost of an evaluation with its gradient"
    )?;
    writeln!(
        out,
        "{:32} {:>10} {:>13} {:>11} {:>9} {:>12} {:>10}",
        "parameters",
        "first work",
        "first seconds",
        "evaluations",
        "work each",
        "seconds each",
        "f"
    )?;
    let setup = || Setup {
        solver: SolverKind::Gradient,
        ..Setup::default()
    };
    for num_regions in [3, 100, SIDE * SIDE] {
        let name = format!("{num_regions} weights of total variation");
        let problem = || WeightMap::problem(num_regions, setup());
        measure(&name, repetitions, problem, out)?;
    }
    let problem = || {
        let pairs = vec![picture()?];
        Ok(LearningProblem::new(
            TvDenoising::default(),
            pairs,
            setup(),
        )?)
    };
    measure("alpha, nu and xi", repetitions, problem, out)
}

fn measure<M: LowerLevel>(
    name: &str,
    repetitions: u32,
    problem: impl Fn() -> Result<LearningProblem<M>>,
    out: &mut dyn Write,
) -> Result<()> {
    let (mut evaluations, mut work, mut objective) = (0, 0, 0.0);
    let [mut seconds, mut first_seconds] = [f64::INFINITY; 2];
    let mut first_work = 0;
    for _ in 0..repetitions {
        let mut problem = problem()?;
        let mut options = learning_options();
        options.budget.max_points = Some(NUM_POINTS);
        let begin = Instant::now();
        let mut last = 0.0;
        let learned = problem.learn_observed(options, |iteration| {
            // the scores at the end do not count
            last = begin.elapsed().as_secs_f64();
            if iteration.number == 0 {
                first_work = iteration.work;
                first_seconds = f64::min(first_seconds, last);
            }
            ControlFlow::Continue(())
        })?;
        evaluations = learned.evaluations.len();
        (work, objective) = (learned.work.total(), learned.objective);
        seconds = f64::min(seconds, last);
    }
    let count = evaluations as f64;
    writeln!(
        out,
        "{name:32} {first_work:>10} {first_seconds:>13.6} {evaluations:>11} {:>9.1} {:>12.6} \
         {objective:>10.6}",
        work as f64 / count,
        seconds / count,
    )?;
    Ok(())
}
