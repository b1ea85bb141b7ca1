//! One learning run with each solver, and the rows that come out of it.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result};
use bilevel::{LearningProblem, LowerLevel, Parameter, Setup, SolverKind, learning_options};
use clap::ValueEnum;
use inexact_lbfgs::{Engine, History, Oracle};

use super::implicit::{Implicit, PaperPenalty};
use super::reach::{Accepted, reached};
use super::reference::solver_problem;
use super::row::Row;
use super::uncertified::Uncertified;
use super::{maid, objective, scipy};

/// A solver of the upper level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum UpperSolver {
    /// The default: certified gradients
    Gradient,
    /// Least squares without derivatives
    DerivativeFree,
    /// Gradients, with values that are declared to be exact
    Uncertified,
    /// The rules of MAID, our implementation
    Maid,
    /// L-BFGS-B of SciPy at two fixed accuracies, if Python has SciPy
    Scipy,
}

/// A problem to learn, with everything that the solvers need.
pub(super) struct Task<'a, M: LowerLevel> {
    pub(super) name: String,
    pub(super) seed: u32,
    /// Creates the problem with a solver and `kappa`.
    pub(super) problem: Box<dyn Fn(SolverKind) -> Result<LearningProblem<M>> + 'a>,
    /// The largest number of points without derivatives.
    pub(super) max_points: u64,
    /// The penalty, and the weight of each image; `None` excludes the methods that we compare with.
    pub(super) penalty: Option<(PaperPenalty, f64)>,
    /// The largest work of MAID.
    pub(super) max_work: u64,
    /// The optimum as far as it is known.
    pub(super) optimum: f64,
}

/// A finished run, before it is compared with the optimum.
struct Trace {
    solver: String,
    points: Vec<Accepted>,
    num_points: u64,
    evaluations: usize,
    work: u64,
    seconds: f64,
    theta: Vec<f64>,
    interval: [f64; 2],
    termination: String,
}

impl<M: LowerLevel> Task<'_, M> {
    /// Runs the solvers and compares them with the best objective that is known afterwards.
    pub(super) fn rows(&self, solvers: &[UpperSolver], repetitions: u32) -> Result<Vec<Row>> {
        let mut traces = Vec::new();
        for solver in solvers {
            match solver {
                UpperSolver::Gradient => traces.push(
                    self.fastest(repetitions, || self.learn("gradient", SolverKind::Gradient))?,
                ),
                UpperSolver::DerivativeFree => traces.push(self.fastest(repetitions, || {
                    self.learn("derivative-free", SolverKind::DerivativeFree)
                })?),
                UpperSolver::Uncertified => {
                    traces.push(self.fastest(repetitions, || self.uncertified())?);
                }
                UpperSolver::Maid => traces.extend(self.maid()?),
                UpperSolver::Scipy => traces.extend(self.scipy()?),
            }
        }
        let mut problem = (self.problem)(SolverKind::DerivativeFree)?;
        let mut exact = |theta: &[f64]| {
            objective(&mut problem, theta, 1e-9)
                .with_context(|| format!("{}, seed {}", self.name, self.seed))
        };
        let values: Result<Vec<f64>> = traces.iter().map(|trace| exact(&trace.theta)).collect();
        let values = values?;
        let optimum = values.iter().copied().fold(self.optimum, f64::min);
        let rows = traces.into_iter().zip(values);
        rows.map(|(trace, f)| {
            Ok(Row {
                problem: self.name.clone(),
                solver: trace.solver,
                seed: self.seed,
                points: trace.num_points,
                evaluations: trace.evaluations,
                work: trace.work,
                seconds: trace.seconds,
                f,
                interval: trace.interval,
                optimum,
                reached: reached(&trace.points, optimum, &mut exact)?,
                termination: trace.termination,
            })
        })
        .collect()
    }

    /// Repeats a run, which gives the same numbers each time, and returns the fastest one.
    fn fastest(&self, repetitions: u32, run: impl Fn() -> Result<Trace>) -> Result<Trace> {
        let mut best = run()?;
        for _ in 1..repetitions {
            let again = run()?;
            if again.seconds < best.seconds {
                best = again;
            }
        }
        Ok(best)
    }

    fn learn(&self, name: &str, solver: SolverKind) -> Result<Trace> {
        let mut problem = (self.problem)(solver)?;
        let mut options = learning_options();
        options.budget.max_points = Some(self.max_points);
        let mut points = Vec::new();
        let begin = Instant::now();
        let learned = problem.learn_observed(options, |iteration| {
            points.push(Accepted {
                theta: iteration.theta.clone(),
                lower: iteration.interval.lower,
                upper: iteration.interval.upper,
                work: iteration.work,
                seconds: begin.elapsed().as_secs_f64(),
            });
            ControlFlow::Continue(())
        })?;
        Ok(Trace {
            solver: name.to_owned(),
            seconds: begin.elapsed().as_secs_f64(),
            points,
            num_points: learned.num_points,
            evaluations: learned.evaluations.len(),
            work: learned.work.total(),
            theta: learned.theta(),
            interval: [learned.interval.lower, learned.interval.upper],
            termination: format!("{:?}", learned.termination),
        })
    }

    fn uncertified(&self) -> Result<Trace> {
        let mut problem = (self.problem)(SolverKind::Gradient)?;
        let mut options = inexact_lbfgs::Options::default();
        options.kappa = Setup::default().kappa;
        options.history = History::Parameters;
        let begin = Instant::now();
        let mut engine = Engine::new(solver_problem(&problem)?, options)?;
        let mut oracle = Uncertified::new(&mut problem);
        let mut seconds = Vec::new();
        while let Some(job) = engine.ask() {
            oracle.evaluate(job);
            let made = engine.tell().len();
            seconds.extend(vec![begin.elapsed().as_secs_f64(); made]);
        }
        let report = engine.into_report();
        let points = report.iterations.iter().zip(&seconds);
        let points = points.map(|(made, seconds)| Accepted {
            theta: made.theta.clone().unwrap_or_default(),
            lower: f64::NEG_INFINITY,
            upper: f64::INFINITY,
            work: made.work,
            seconds: *seconds,
        });
        Ok(Trace {
            solver: "uncertified".to_owned(),
            points: points.collect(),
            num_points: report.num_points,
            evaluations: report.evaluations.len(),
            work: report.evaluations.iter().map(|made| made.work).sum(),
            seconds: begin.elapsed().as_secs_f64(),
            interval: [f64::NEG_INFINITY, f64::INFINITY],
            termination: format!("{:?}", report.termination),
            theta: report.theta,
        })
    }

    fn maid(&self) -> Result<Option<Trace>> {
        let Some((penalty, weight)) = self.penalty else {
            return Ok(None);
        };
        let problem = (self.problem)(SolverKind::Gradient)?;
        let mut implicit = Implicit::new(&problem, penalty, weight)?;
        let (start, bounds) = start_and_bounds(&problem);
        let (points, evaluations) = maid::run(&mut implicit, &start, &bounds, self.max_work)?;
        Ok(trace(
            "MAID's rules",
            points,
            evaluations,
            "the work is spent",
        ))
    }

    fn scipy(&self) -> Result<Vec<Trace>> {
        let (Some((penalty, weight)), Some(python)) = (self.penalty, scipy::find()) else {
            return Ok(Vec::new());
        };
        let mut traces = Vec::new();
        for accuracy in [1e-2, 1e-4] {
            let problem = (self.problem)(SolverKind::Gradient)?;
            let mut implicit = Implicit::new(&problem, penalty, weight)?;
            let (start, bounds) = start_and_bounds(&problem);
            let run = scipy::run(
                &PathBuf::from(&python),
                &mut implicit,
                &start,
                &bounds,
                accuracy,
            );
            let (points, evaluations, end) = run?;
            let name = format!("SciPy {accuracy:.0e}");
            traces.extend(trace(&name, points, evaluations, &end));
        }
        Ok(traces)
    }
}

fn start_and_bounds<M: LowerLevel>(problem: &LearningProblem<M>) -> (Vec<f64>, Vec<(f64, f64)>) {
    let parameters = problem.parameters();
    let bounds = Parameter::of_entries(parameters).map(|p| (p.lower, p.upper));
    (Parameter::starts_of(parameters), bounds.collect())
}

/// The run of a method that reports no interval and ends at its last point.
fn trace(name: &str, points: Vec<Accepted>, evaluations: usize, end: &str) -> Option<Trace> {
    let last = points.last()?.clone();
    Some(Trace {
        solver: name.to_owned(),
        num_points: evaluations as u64,
        evaluations,
        work: last.work,
        seconds: last.seconds,
        theta: last.theta,
        interval: [f64::NEG_INFINITY, f64::INFINITY],
        termination: end.to_owned(),
        points,
    })
}
