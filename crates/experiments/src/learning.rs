//! Learning on the paper's problems: the distance from the true optimum and the work.
//!
//! Objectives are sums over images, as in the archived runs. The objective at the learned
//! parameters is computed again to nine digits.

pub(crate) mod problems;
pub(crate) mod reference;

use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use bilevel::testing::{one_parameter, sampling, sum, three_parameters};
use bilevel::{Learned, LearningProblem, LowerLevel, Residuals, TvChoices, learning_options};
use clap::{Args, ValueEnum};
use dfo_ls::{Accuracy, AccuracyControl, Engine, Options, ResidualOracle};
use serde_json::{Value, json};

use crate::{file, kodak};

/// The arguments of `learning`.
#[derive(Clone, Debug, Args)]
pub struct Arguments {
    /// Problem to run; can be given several times [default: all]
    #[arg(long = "problem", value_name = "NAME", value_enum)]
    problems: Vec<PaperProblem>,
    /// Number of data sets: the first is the authors', the others come from other seeds
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    seeds: u32,
    /// Directory with kodim01.png to kodim25.png [default: data/kodak, if it exists]
    #[arg(long, value_name = "DIR")]
    kodak: Option<PathBuf>,
    /// One residual per image or per pixel
    #[arg(long, value_name = "FORM", value_enum, default_value_t = ResidualForm::Pixel)]
    residuals: ResidualForm,
    /// Largest number of points to evaluate; sharpening does not count [default: the paper's]
    #[arg(long, value_name = "N")]
    evaluations: Option<u64>,
    /// Directory for results
    #[arg(long, value_name = "DIR", default_value = "target/learning")]
    out: PathBuf,
}

/// A problem of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum PaperProblem {
    /// Learn alpha of 1D denoising, from five starts
    One,
    /// Learn alpha, nu and xi of 1D denoising
    Three,
    /// Learn 64 sampling weights
    Sampling,
    /// Learn alpha, nu and xi from 25 photographs
    Photographs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ResidualForm {
    /// One residual per image, as in the paper
    Image,
    /// One residual per pixel
    Pixel,
}

/// The result of learning from one data set.
struct LearningRun {
    name: String,
    seed: u32,
    exact: f64,
    optimum: f64,
    seconds: f64,
    learned: Learned,
}

/// Runs the chosen problems, prints a table and writes `results.json`.
///
/// # Errors
/// When a folder or file cannot be read or written.
pub fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<()> {
    let all = [
        PaperProblem::One,
        PaperProblem::Three,
        PaperProblem::Sampling,
        PaperProblem::Photographs,
    ];
    let chosen = if arguments.problems.is_empty() {
        &all[..]
    } else {
        &arguments.problems
    };
    let mut rows = Vec::new();
    writeln!(
        out,
        "{:24} {:>4} {:>14} {:>9} {:>7} {:>11} {:>10} {:>8}  termination",
        "problem", "seed", "f", "gap %", "points", "evaluations", "gradients", "seconds"
    )?;
    for problem in chosen {
        for seed in 0..arguments.seeds {
            let first = rows.len();
            arguments.solve(*problem, seed, &mut rows)?;
            for row in &rows[first..] {
                row.print(out)?;
            }
        }
        summarise(*problem, &rows, out)?;
    }
    let results: Vec<Value> = rows.iter().map(LearningRun::to_json).collect();
    let path = arguments.out.join("results.json");
    file::write(&path, serde_json::to_string_pretty(&results)?.as_bytes())?;
    writeln!(out, "\nwrote {}", path.display())?;
    Ok(())
}

impl Arguments {
    fn solve(&self, problem: PaperProblem, seed: u32, rows: &mut Vec<LearningRun>) -> Result<()> {
        let residuals = match self.residuals {
            ResidualForm::Image => Residuals::Image,
            ResidualForm::Pixel => Residuals::Pixel,
        };
        match problem {
            PaperProblem::One => {
                let optimum = reference::one(seed)?;
                for start in [-2.0, -1.0, 0.0, 1.0, 2.0] {
                    let problem = one_parameter(seed, start, sum(residuals))?;
                    let name = format!("1 parameter from {start}");
                    rows.push(self.learn(name, seed, problem, optimum, 20)?);
                }
            }
            PaperProblem::Three => {
                let problem = three_parameters(seed, TvChoices::default(), sum(residuals))?;
                let optimum = reference::three(seed)?;
                rows.push(self.learn("3 parameters".into(), seed, problem, optimum, 100)?);
            }
            PaperProblem::Sampling => {
                let problem = sampling(seed, 0.5, sum(residuals))?;
                let optimum = reference::sampling(seed)?;
                rows.push(self.learn(
                    "64 sampling weights".into(),
                    seed,
                    problem,
                    optimum,
                    3000,
                )?);
            }
            PaperProblem::Photographs if seed == 0 => {
                let Some(folder) = kodak::find(self.kodak.as_deref())? else {
                    return Ok(());
                };
                let problem = problems::photographs(&folder, residuals)?;
                let row = self.learn(
                    "25 photographs".into(),
                    seed,
                    problem,
                    reference::PHOTOGRAPHS,
                    200,
                )?;
                rows.push(row);
            }
            PaperProblem::Photographs => {}
        }
        Ok(())
    }

    fn learn<M: LowerLevel>(
        &self,
        name: String,
        seed: u32,
        mut problem: LearningProblem<M>,
        optimum: f64,
        evaluations: u64,
    ) -> Result<LearningRun> {
        let mut options = learning_options();
        options.budget.max_points = Some(self.evaluations.unwrap_or(evaluations));
        let begin = Instant::now();
        let learned = problem.learn_with(options)?;
        let seconds = begin.elapsed().as_secs_f64();
        let exact = objective(&mut problem, &learned.theta(), 1e-9)
            .with_context(|| format!("{name}, seed {seed}"))?;
        Ok(LearningRun {
            name,
            seed,
            exact,
            optimum,
            seconds,
            learned,
        })
    }
}

/// Returns the objective at `theta` to the relative accuracy `share`.
pub(crate) fn objective<M: LowerLevel>(
    problem: &mut LearningProblem<M>,
    theta: &[f64],
    share: f64,
) -> Result<f64> {
    let mut accuracy = 1e-2;
    loop {
        let mut options = Options::default();
        options.accuracy = AccuracyControl::Fixed(Accuracy::new(accuracy)?);
        let mut start = problem.solver_problem();
        start.start = theta.to_vec();
        let mut engine = Engine::new(start, problem.num_residuals(), options)?;
        problem.evaluate(engine.ask());
        engine.tell();
        let report = engine.into_report();
        let width = report.interval.upper - report.interval.lower;
        if width <= share * report.objective || accuracy < 1e-9 {
            return Ok(report.objective);
        }
        if !report.objective.is_finite() {
            bail!(
                "the objective at the learned parameters cannot be computed: {:?}",
                report.termination
            );
        }
        accuracy *= 0.01;
    }
}

impl LearningRun {
    fn gap(&self) -> f64 {
        self.exact / self.optimum - 1.0
    }

    fn print(&self, out: &mut dyn Write) -> Result<()> {
        let learned = &self.learned;
        writeln!(
            out,
            "{:24} {:>4} {:>14.9} {:>9.5} {:>7} {:>11} {:>10} {:>8.2}  {:?}",
            self.name,
            self.seed,
            self.exact,
            100.0 * self.gap(),
            learned.num_points,
            learned.evaluations.len(),
            learned.work.total(),
            self.seconds,
            learned.termination
        )?;
        Ok(())
    }

    fn to_json(&self) -> Value {
        let parameters = self.learned.parameters.iter();
        let parameters: serde_json::Map<String, Value> = parameters
            .map(|p| (p.parameter.name.clone(), json!(p.value)))
            .collect();
        json!({
            "problem": self.name,
            "seed": self.seed,
            "f_exact": self.exact,
            "optimum": self.optimum,
            "gap": self.gap(),
            "f_interval": [self.learned.interval.lower, self.learned.interval.upper],
            "parameters": parameters,
            "points": self.learned.num_points,
            "evaluations": self.learned.evaluations.len(),
            "gradients": self.learned.work.total(),
            "seconds": self.seconds,
            "termination": format!("{:?}", self.learned.termination),
        })
    }
}

/// Prints the median and the worst gap over all data sets.
fn summarise(problem: PaperProblem, rows: &[LearningRun], out: &mut dyn Write) -> Result<()> {
    let prefix = match problem {
        PaperProblem::One => "1 ",
        PaperProblem::Three => "3 ",
        PaperProblem::Sampling => "64 ",
        PaperProblem::Photographs => "25 ",
    };
    let mut gaps: Vec<f64> = (rows.iter())
        .filter(|row| row.name.starts_with(prefix))
        .map(|row| 100.0 * row.gap())
        .collect();
    gaps.sort_by(f64::total_cmp);
    if let [.., worst] = gaps[..]
        && gaps.len() > 1
    {
        let median = gaps[gaps.len() / 2];
        writeln!(out, "gap: median {median:.5} %, worst {worst:.5} %")?;
    }
    Ok(())
}
