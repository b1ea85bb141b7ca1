//! The cost of one evaluation with few and with many parameters, on the same picture: at random
//! parameters, and in the course of learning.

use std::io::Write;
use std::ops::ControlFlow;
use std::time::Instant;

use anyhow::{Result, bail};
use bilevel::{
    LearningProblem, LowerLevel, Parameter, Reconstructions, Setup, SolverKind, TvDenoising,
    learning_options,
};
use imaging::{Seed, noise};
use inexact_lbfgs::{Answer, Job, Oracle, Request};

use super::map::{SIDE, WeightMap, picture};

/// The number of points of each run.
const NUM_POINTS: u64 = 30;
/// The numbers of weights that are compared.
const NUM_WEIGHTS: [usize; 3] = [3, 100, SIDE * SIDE];
/// The standard deviations of random exponents, in powers of ten.
const SPREADS: [f64; 4] = [0.1, 0.3, 0.5, 1.0];
/// The standard deviation of the step to a neighbour.
const STEP: f64 = 0.05;
/// The number of random points for each spread.
const NUM_DRAWS: u16 = 5;

/// Evaluates and learns maps with 3 to 10,000 weights, and the three parameters of denoising, and
/// prints the cost of an evaluation.
pub(super) fn run(repetitions: u32, out: &mut dyn Write) -> Result<()> {
    writeln!(
        out,
        "\none picture of {SIDE}x{SIDE}: cost of an evaluation with its gradient while learning"
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
    let mut centre = 0.0;
    for num_weights in NUM_WEIGHTS {
        let name = format!("{num_weights} weights of total variation");
        let problem = || WeightMap::problem(num_weights, setup());
        let learned = learn(&name, repetitions, problem, out)?;
        if num_weights == NUM_WEIGHTS[0] {
            centre = learned.iter().sum::<f64>() / learned.len() as f64;
        }
    }
    let learned = learn("alpha, nu and xi", repetitions, three, out)?;
    writeln!(
        out,
        "\nthe same at random parameters around those that three weights learn; mean of {NUM_DRAWS}"
    )?;
    writeln!(
        out,
        "{:32} {:>6} {:>9} {:>12} {:>9} {:>12} {:>9} {:>9}",
        "parameters",
        "spread",
        "cold work",
        "cold seconds",
        "warm work",
        "warm seconds",
        "cold +-",
        "warm +-"
    )?;
    let mut ratios = Vec::new();
    for spread in SPREADS {
        let mut costs = Vec::new();
        for num_weights in NUM_WEIGHTS {
            let name = format!("{num_weights} weights of total variation");
            let mut problem = WeightMap::problem(num_weights, setup())?;
            let centre = vec![centre; num_weights];
            costs.push(at_random(
                &name,
                &mut problem,
                &centre,
                spread,
                repetitions,
                out,
            )?);
        }
        at_random(
            "alpha, nu and xi",
            &mut three()?,
            &learned,
            spread,
            repetitions,
            out,
        )?;
        let [few, many] = [costs[0], costs[costs.len() - 1]];
        ratios.push((spread, std::array::from_fn(|i| many[i] / few[i])));
    }
    writeln!(
        out,
        "\n{} weights compared with {}",
        NUM_WEIGHTS[2], NUM_WEIGHTS[0]
    )?;
    for (spread, [cold, cold_seconds, warm, warm_seconds]) in ratios {
        writeln!(
            out,
            "spread {spread}: cold {cold:.2} times the work, {cold_seconds:.2} times the seconds; \
             warm {warm:.2} and {warm_seconds:.2}"
        )?;
    }
    Ok(())
}

fn setup() -> Setup {
    Setup {
        solver: SolverKind::Gradient,
        ..Setup::default()
    }
}

/// Returns the problem of learning the three parameters of denoising.
fn three() -> Result<LearningProblem<TvDenoising>> {
    let pairs = vec![picture()?];
    Ok(LearningProblem::new(
        TvDenoising::default(),
        pairs,
        setup(),
    )?)
}

/// Learns, prints a line and returns the learned parameters.
fn learn<M: LowerLevel>(
    name: &str,
    repetitions: u32,
    problem: impl Fn() -> Result<LearningProblem<M>>,
    out: &mut dyn Write,
) -> Result<Vec<f64>> {
    let (mut evaluations, mut work, mut objective) = (0, 0, 0.0);
    let [mut seconds, mut first_seconds] = [f64::INFINITY; 2];
    let mut first_work = 0;
    let mut theta = Vec::new();
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
        theta = learned.theta();
    }
    let count = evaluations as f64;
    writeln!(
        out,
        "{name:32} {first_work:>10} {first_seconds:>13.6} {evaluations:>11} {:>9.1} {:>12.6} \
         {objective:>10.6}",
        work as f64 / count,
        seconds / count,
    )?;
    Ok(theta)
}

/// Evaluates random points and a neighbour of each, prints a line, and returns the mean work and
/// seconds of evaluations that start cold and warm.
fn at_random<M: LowerLevel>(
    name: &str,
    problem: &mut LearningProblem<M>,
    centre: &[f64],
    spread: f64,
    repetitions: u32,
    out: &mut dyn Write,
) -> Result<[f64; 4]> {
    let kappa = setup().kappa;
    let mut sums = [0.0; 4];
    let mut widths = [0.0; 2];
    for draw in 0..NUM_DRAWS {
        let theta = moved(problem, centre, spread, 2 * draw)?;
        let neighbour = moved(problem, &theta, STEP, 2 * draw + 1)?;
        let (cold, cold_seconds) = evaluate(problem, &theta, &Request::First, repetitions)?;
        let near = Request::New {
            near: cold.resume.clone(),
            kappa,
        };
        let (warm, warm_seconds) = evaluate(problem, &neighbour, &near, repetitions)?;
        let costs = [
            cold.work as f64,
            cold_seconds,
            warm.work as f64,
            warm_seconds,
        ];
        for (sum, cost) in sums.iter_mut().zip(costs) {
            *sum += cost / f64::from(NUM_DRAWS);
        }
        for (width, answer) in widths.iter_mut().zip([cold, warm]) {
            *width += 0.5 * answer.interval.width() / answer.value / f64::from(NUM_DRAWS);
        }
    }
    let [cold, cold_seconds, warm, warm_seconds] = sums;
    writeln!(
        out,
        "{name:32} {spread:>6} {cold:>9.1} {cold_seconds:>12.6} {warm:>9.1} {warm_seconds:>12.6} \
         {:>9.0e} {:>9.0e}",
        widths[0], widths[1],
    )?;
    Ok(sums)
}

/// Returns a random point: normally distributed, and cut off at the bounds.
fn moved<M: LowerLevel>(
    problem: &LearningProblem<M>,
    centre: &[f64],
    spread: f64,
    draw: u16,
) -> Result<Vec<f64>> {
    let mut theta = noise::gaussian(centre, spread, Seed::new(3), draw.into())?;
    for (theta, parameter) in theta
        .iter_mut()
        .zip(Parameter::of_entries(problem.parameters()))
    {
        *theta = theta.clamp(parameter.lower, parameter.upper);
    }
    Ok(theta)
}

/// Evaluates a point. Returns the answer and the fewest seconds of all repetitions.
fn evaluate<M: LowerLevel>(
    problem: &mut LearningProblem<M>,
    theta: &[f64],
    request: &Request<Reconstructions>,
    repetitions: u32,
) -> Result<(Answer<Reconstructions>, f64)> {
    let mut seconds = f64::INFINITY;
    let mut answer = None;
    for _ in 0..repetitions {
        let mut job = Job::new(theta.to_vec(), request.clone());
        let begin = Instant::now();
        Oracle::evaluate(problem, &mut job);
        seconds = seconds.min(begin.elapsed().as_secs_f64());
        answer = job.answer_mut().cloned();
    }
    match answer {
        Some(answer) => Ok((answer, seconds)),
        None => bail!("a random point could not be evaluated"),
    }
}
