//! Learning on the paper's problems: the distance from the true optimum, the work and the time,
//! with gradients, without derivatives, and with methods that we compare with.
//!
//! Objectives are sums over images, as in the archived runs, unless a name says otherwise. The
//! objective at the learned parameters, and wherever the intervals of a run do not decide, is
//! computed again to nine digits, outside of the counted work.

mod implicit;
mod maid;
mod map;
pub(crate) mod problems;
mod reach;
pub(crate) mod reference;
mod row;
mod run;
mod scipy;
mod size;
mod uncertified;

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Result, bail};
use bilevel::testing::{one_parameter, sampling, sum, three_parameters};
use bilevel::{LearningProblem, Loss, LowerLevel, Residuals, Scale, Setup, SolverKind, TvChoices};
use clap::{Args, ValueEnum};
use dfo_ls::{Accuracy, AccuracyControl, Engine, Options, ResidualOracle};
use serde_json::Value;

use crate::{file, kodak};
use implicit::PaperPenalty;
use row::{Row, summarise};
use run::{Task, UpperSolver};

/// The arguments of `learning`.
#[derive(Clone, Debug, Args)]
pub struct Arguments {
    /// Problem to run; can be given several times [default: all]
    #[arg(long = "problem", value_name = "NAME", value_enum)]
    problems: Vec<PaperProblem>,
    /// Solver to run; can be given several times [default: gradient and derivative-free]
    #[arg(long = "solver", value_name = "NAME", value_enum)]
    solvers: Vec<UpperSolver>,
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
    /// One residual per image or per pixel, for learning without derivatives
    #[arg(long, value_name = "FORM", value_enum, default_value_t = ResidualForm::Pixel)]
    residuals: ResidualForm,
    /// With gradients, largest error of a new reconstruction, as a share of its change in the step
    #[arg(long, value_name = "SHARE", default_value_t = Setup::default().kappa)]
    kappa: f64,
    /// Number of runs with and without derivatives, of which the fastest counts
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    repetitions: u32,
    /// Largest number of points to evaluate; sharpening does not count [default: the paper's]
    #[arg(long, value_name = "N")]
    evaluations: Option<u64>,
    /// Directory for results
    #[arg(long, value_name = "DIR", default_value = "target/learning")]
    out: PathBuf,
}

/// A problem of the paper, or one with many parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum PaperProblem {
    /// Learn alpha of 1D denoising, from five starts
    One,
    /// Learn alpha, nu and xi of 1D denoising, with sums and means over images
    Three,
    /// Learn 64 sampling weights
    Sampling,
    /// Learn alpha, nu and xi from 25 photographs
    Photographs,
    /// Compare the cost of evaluations with 3 and with 10,000 parameters
    Size,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ResidualForm {
    /// One residual per image, as in the paper
    Image,
    /// One residual per pixel
    Pixel,
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
        PaperProblem::Size,
    ];
    let chosen = if arguments.problems.is_empty() {
        &all[..]
    } else {
        &arguments.problems
    };
    let mut rows = Vec::new();
    Row::header(out)?;
    for problem in chosen {
        if *problem == PaperProblem::Size {
            continue;
        }
        for seed in 0..arguments.seeds {
            let new = arguments.solve(*problem, seed)?;
            for row in &new {
                row.print(out)?;
            }
            rows.extend(new);
        }
    }
    if rows.iter().any(|row| row.seed > 0) {
        summarise(&rows, out)?;
    }
    if chosen.contains(&PaperProblem::Size) {
        size::run(arguments.repetitions, out)?;
    }
    let results: Vec<Value> = rows.iter().map(Row::to_json).collect();
    let path = arguments.out.join("results.json");
    file::write(&path, serde_json::to_string_pretty(&results)?.as_bytes())?;
    writeln!(out, "\nwrote {}", path.display())?;
    Ok(())
}

impl Arguments {
    /// Returns the settings for a solver.
    fn setup(&self, solver: SolverKind, scale: Scale) -> Setup {
        let residuals = match self.residuals {
            ResidualForm::Image => Residuals::Image,
            ResidualForm::Pixel => Residuals::Pixel,
        };
        let mut setup = sum(residuals);
        setup.solver = solver;
        setup.kappa = self.kappa;
        setup.loss = Loss { scale, residuals };
        setup
    }

    fn solve(&self, problem: PaperProblem, seed: u32) -> Result<Vec<Row>> {
        match problem {
            PaperProblem::One => {
                let optimum = reference::one(seed)?;
                let mut rows = Vec::new();
                for start in [-2.0, -1.0, 0.0, 1.0, 2.0] {
                    let task = Task {
                        name: format!("1 parameter from {start}"),
                        seed,
                        problem: Box::new(move |solver| {
                            let setup = self.setup(solver, Scale::Sum);
                            Ok(one_parameter(seed, start, setup)?)
                        }),
                        max_points: 20,
                        penalty: None,
                        max_work: 0,
                        optimum,
                    };
                    rows.extend(self.rows(task)?);
                }
                Ok(rows)
            }
            PaperProblem::Three => {
                let mut rows = self.three(seed, Scale::Sum, "3 parameters")?;
                rows.extend(self.three(seed, Scale::Mean, "3 parameters, mean")?);
                Ok(rows)
            }
            PaperProblem::Sampling => self.rows(Task {
                name: "64 sampling weights".into(),
                seed,
                problem: Box::new(move |solver| {
                    Ok(sampling(seed, 0.5, self.setup(solver, Scale::Sum))?)
                }),
                max_points: 3000,
                penalty: Some((PaperPenalty::Sum(0.1), 1.0)),
                max_work: 120_000,
                optimum: reference::sampling(seed)?,
            }),
            PaperProblem::Photographs => self.photographs(seed),
            PaperProblem::Size => Ok(Vec::new()),
        }
    }

    fn three(&self, seed: u32, scale: Scale, name: &str) -> Result<Vec<Row>> {
        let weight = match scale {
            Scale::Mean => 1.0 / 20.0,
            Scale::Sum => 1.0,
        };
        self.rows(Task {
            name: name.to_owned(),
            seed,
            problem: Box::new(move |solver| {
                let setup = self.setup(solver, scale);
                Ok(three_parameters(seed, TvChoices::default(), setup)?)
            }),
            max_points: 100,
            penalty: Some((PaperPenalty::ConditionNumber(1e-6), weight)),
            max_work: 60_000,
            optimum: reference::three(seed, scale)?,
        })
    }

    /// The photographs, which have one data set.
    fn photographs(&self, seed: u32) -> Result<Vec<Row>> {
        let folder = kodak::find(self.kodak.as_deref())?;
        let Some(folder) = folder.filter(|_| seed == 0) else {
            return Ok(Vec::new());
        };
        self.rows(Task {
            name: "25 photographs".into(),
            seed,
            problem: Box::new(move |solver| {
                problems::photographs(&folder, self.setup(solver, Scale::Sum))
            }),
            max_points: 200,
            penalty: None,
            max_work: 0,
            optimum: reference::PHOTOGRAPHS,
        })
    }

    fn rows<M: LowerLevel>(&self, mut task: Task<'_, M>) -> Result<Vec<Row>> {
        let both = [UpperSolver::Gradient, UpperSolver::DerivativeFree];
        let solvers = if self.solvers.is_empty() {
            &both[..]
        } else {
            &self.solvers
        };
        task.max_points = self.evaluations.unwrap_or(task.max_points);
        task.rows(solvers, self.repetitions)
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
