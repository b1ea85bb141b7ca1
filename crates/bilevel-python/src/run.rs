//! A run of the solver with a family of the crate, one batch of evaluations at a time.

use std::ops::ControlFlow;

use bilevel::{Family, LearningProblem, Reconstructions, Spec};
use dfo_ls::{Engine, drive_with};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::family::{Example, Operator, pairs};
use crate::invalid;

/// A description of a learning problem as Python writes it, in JSON.
pub(crate) fn spec(json: &str) -> PyResult<Spec> {
    serde_json::from_str(json).map_err(invalid)
}

/// The same with the values of all parameters, in JSON.
#[pyfunction]
pub(crate) fn completed(json: &str) -> PyResult<String> {
    let mut spec = spec(json)?;
    spec.model = spec.model.completed(spec.task);
    serde_json::to_string(&spec).map_err(invalid)
}

/// What is seen of a run: different points, work, and the best point: theta, values, objective, and
/// where it certainly lies.
pub(crate) type Progress = (u64, u64, Option<(Vec<f64>, Vec<f64>, f64, f64, f64)>);

pub(crate) fn progress<R: Clone>(
    engine: &Engine<R>,
    values: impl FnOnce(&[f64]) -> Vec<f64>,
) -> Progress {
    let best = engine.best().map(|best| {
        let (lower, upper) = (best.interval.lower, best.interval.upper);
        let theta = best.theta;
        (theta.to_vec(), values(theta), best.objective, lower, upper)
    });
    (engine.num_points(), engine.work(), best)
}

pub(crate) fn ended() -> PyErr {
    PyRuntimeError::new_err("the run has ended")
}

/// A run with a family of the crate.
#[pyclass(module = "bilevel._bilevel")]
pub(crate) struct Run {
    problem: LearningProblem<Family>,
    /// The engine; `None` once the run has been finished.
    engine: Option<Engine<Reconstructions>>,
    /// The result as JSON, once the run has been finished.
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
        let spec = spec(settings)?;
        let (_, _, shape) = examples.first().ok_or_else(|| invalid("no examples"))?;
        let family = spec.family(operator.input(spec.task, shape)?);
        let setup = spec.setup(pairs(spec.task, &validation)?);
        let examples = pairs(spec.task, &examples)?;
        let problem = LearningProblem::new(family.map_err(invalid)?, examples, setup);
        let problem = problem.map_err(invalid)?;
        let engine = problem.engine(spec.options()).map_err(invalid)?;
        let pool = ThreadPoolBuilder::new().num_threads(spec.solver.threads.unwrap_or(0));
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
                let _ = drive_with(engine, problem, usize::MAX, |_, _| ControlFlow::Break(()));
                engine.termination().is_none()
            })
        }))
    }

    /// How far the run is.
    fn progress(&self) -> PyResult<Progress> {
        let engine = self.engine.as_ref().ok_or_else(ended)?;
        Ok(progress(engine, |theta| self.problem.values(theta)))
    }

    /// Ends the run, and says what was learned, as JSON; the same when it is asked again, should an
    /// interruption have lost the answer.
    fn finish(&mut self, py: Python<'_>) -> PyResult<String> {
        if let Some(learned) = &self.learned {
            return Ok(learned.clone());
        }
        let engine = self.engine.take().ok_or_else(ended)?;
        let (problem, pool) = (&self.problem, &self.pool);
        let learned = py.detach(|| pool.install(move || problem.finish(engine).0));
        let learned = serde_json::to_string(&learned).map_err(invalid)?;
        Ok(self.learned.insert(learned).clone())
    }
}
