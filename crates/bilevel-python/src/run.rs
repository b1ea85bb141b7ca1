//! A run of the solver with a family of the crate, one batch of evaluations at a time.

use std::sync::Arc;

use bilevel::{
    ConditionNumber, Effort, Loss, Penalty, Reconstructions, Residuals, RootL1, Scale, Setup,
    learning_options,
};
use dfo_ls::{Directions, Engine, EvalRecord, Options};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use serde::Deserialize;

use crate::family::{Example, Family, Learning, MethodName, Operator, pairs};
use crate::invalid;

/// How to learn.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    family: Family,
    objective: Scale,
    residuals: Residuals,
    /// Weights of penalties; zero: none.
    condition: f64,
    l1: f64,
    l1_kind: L1Kind,
    method: MethodName,
    /// So many for each reconstruction, instead of the accuracy that the solver asks for.
    iterations: Option<u64>,
    evaluations: u64,
    seed: u64,
    threads: Option<usize>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum L1Kind {
    Root,
    Nonsmooth,
}

impl Settings {
    fn setup(&self) -> Setup {
        let mut setup = Setup {
            loss: Loss {
                scale: self.objective,
                residuals: self.residuals,
            },
            method: self.method.method(),
            ..Setup::default()
        };
        let mut penalties: Vec<Box<dyn Penalty>> = Vec::new();
        if self.condition > 0.0 {
            let weight = self.condition;
            penalties.push(Box::new(ConditionNumber { weight }));
        }
        if self.l1 > 0.0 {
            let weight = self.l1;
            match self.l1_kind {
                L1Kind::Root => penalties.push(Box::new(RootL1 { weight })),
                L1Kind::Nonsmooth => setup.regularizer = Some(Arc::new(dfo_ls::L1 { weight })),
            }
        }
        setup.penalties = penalties;
        if let Some(iterations) = self.iterations {
            setup.effort = Effort::Iterations(iterations);
        }
        setup
    }
}

/// The options of the solver.
pub(crate) fn options(evaluations: u64, seed: u64) -> Options {
    let mut options = learning_options();
    options.budget.max_points = Some(evaluations);
    if seed != 0 {
        options.initial.directions = Directions::Orthogonal { seed };
    }
    options
}

/// What is seen of a run: different points, work, and the best point: theta, values, objective, and where it certainly lies.
pub(crate) type Progress = (u64, u64, Option<(Vec<f64>, Vec<f64>, f64, f64, f64)>);

pub(crate) fn progress<R: Clone>(
    engine: &Engine<R>,
    values: impl FnOnce(&[f64]) -> Vec<f64>,
) -> Progress {
    let evaluations = engine.state().evaluations();
    let points = evaluations.iter().map(|evaluation| evaluation.point);
    let num_points = points.max().map_or(0, |last| last.saturating_add(1));
    let work = evaluations.iter().map(|e: &EvalRecord| e.work).sum();
    let best = engine.best().map(|best| {
        let (lower, upper) = (best.interval.lower, best.interval.upper);
        let theta = best.theta;
        (theta.to_vec(), values(theta), best.objective, lower, upper)
    });
    (num_points, work, best)
}

pub(crate) fn ended() -> PyErr {
    PyRuntimeError::new_err("the run has ended")
}

/// A run with a family of the crate.
#[pyclass(module = "bilevel._bilevel")]
pub(crate) struct Run {
    problem: Box<dyn Learning>,
    /// `None` once the run has been finished,
    engine: Option<Engine<Reconstructions>>,
    /// and then this is what was learned.
    learned: Option<String>,
    /// Its own, so that a process that was forked can make another.
    pool: ThreadPool,
}

#[pymethods]
impl Run {
    /// Checks everything that can be checked before the first reconstruction.
    #[new]
    fn new(
        settings: &str,
        examples: Vec<Example<'_>>,
        validation: Vec<Example<'_>>,
        operator: Operator<'_>,
    ) -> PyResult<Self> {
        let settings: Settings = serde_json::from_str(settings).map_err(invalid)?;
        let mut setup = settings.setup();
        setup.validation = pairs(&settings.family, &validation)?;
        let examples = pairs(&settings.family, &examples)?;
        let model = settings.family.model(&operator)?;
        let problem = model.learning(examples, setup).map_err(invalid)?;
        let options = options(settings.evaluations, settings.seed);
        let engine = problem.engine(options).map_err(invalid)?;
        let pool = ThreadPoolBuilder::new().num_threads(settings.threads.unwrap_or(0));
        let pool = pool.build().map_err(|error| {
            PyRuntimeError::new_err(format!("threads could not be started: {error}"))
        })?;
        Ok(Self {
            problem,
            engine: Some(engine),
            learned: None,
            pool,
        })
    }

    /// Evaluates what the solver wants to know and tells it; false when the run has ended.
    fn step(&mut self, py: Python<'_>) -> PyResult<bool> {
        let Self {
            problem,
            engine,
            pool,
            ..
        } = self;
        let engine = engine.as_mut().ok_or_else(ended)?;
        Ok(py.detach(|| {
            pool.install(|| {
                let jobs = engine.ask();
                if !jobs.is_empty() {
                    problem.evaluate(jobs);
                    engine.tell();
                }
                engine.termination().is_none()
            })
        }))
    }

    /// How far the run is.
    fn progress(&self) -> PyResult<Progress> {
        let engine = self.engine.as_ref().ok_or_else(ended)?;
        Ok(progress(engine, |theta| self.problem.values(theta)))
    }

    /// Ends the run, and says what was learned, as JSON; the same when it is asked again, should an interruption have lost the answer.
    fn finish(&mut self, py: Python<'_>) -> PyResult<String> {
        if let Some(learned) = &self.learned {
            return Ok(learned.clone());
        }
        let engine = self.engine.take().ok_or_else(ended)?;
        let (problem, pool) = (&self.problem, &self.pool);
        let learned = py.detach(|| pool.install(move || problem.learned(engine.into_report())));
        let learned = serde_json::to_string(&learned).map_err(invalid)?;
        Ok(self.learned.insert(learned).clone())
    }
}
