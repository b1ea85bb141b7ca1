//! A run whose reconstructions are computed by a model written in Python.

use std::sync::Arc;

use bilevel::{
    FlatDirection, LearnedParameter, Loss, Parameter, ResidualLayout, Residuals, Scale, Spec,
};
use dfo_ls::{Accuracy, Engine, EvalError, Evaluated, Job, L1, Problem};
use lowlevel::ErrorBound;
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::json;

use crate::invalid;
use crate::run::{Progress, ended};

/// A state of the user's model, shared by all points that may start there.
type Token = Arc<Py<PyAny>>;

/// The settings of a run, which Python writes as JSON.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    parameters: Vec<Parameter>,
    scale: Scale,
    residuals: Residuals,
    l1: f64,
    max_points: u64,
    seed: u64,
}

/// A run that asks Python for reconstructions.
#[pyclass(module = "bilevel._bilevel")]
pub(crate) struct ForeignRun {
    truths: Vec<Vec<f64>>,
    parameters: Vec<Parameter>,
    layout: ResidualLayout,
    /// The engine; `None` once the run has been finished.
    engine: Option<Engine<Token>>,
    /// The result as JSON, once the run has been finished.
    learned: Option<String>,
}

/// The parameters, the requested accuracy of each image, and the state to start from.
type Asked<'py> = (
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<f64>>,
    Option<Py<PyAny>>,
);

impl ForeignRun {
    /// Returns the first evaluation that the solver asks for.
    fn job(&mut self) -> PyResult<Option<&mut Job<Token>>> {
        let engine = self.engine.as_mut().ok_or_else(ended)?;
        Ok(engine.ask().first_mut())
    }

    fn tell(&mut self) -> PyResult<()> {
        self.engine.as_mut().ok_or_else(ended)?.tell();
        Ok(())
    }
}

#[pymethods]
impl ForeignRun {
    /// Checks the problem, and starts a run.
    #[new]
    fn new(settings: &str, truths: Vec<PyReadonlyArray1<'_, f64>>) -> PyResult<Self> {
        let settings: Settings = serde_json::from_str(settings).map_err(invalid)?;
        let truths = (truths.iter())
            .map(|truth| Ok(truth.as_slice()?.to_vec()))
            .collect::<PyResult<Vec<_>>>()?;
        let loss = Loss {
            scale: settings.scale,
            residuals: settings.residuals,
        };
        let lengths = truths.iter().map(Vec::len).collect();
        let parameters = settings.parameters;
        let start = Parameter::starts_of(&parameters);
        let layout = ResidualLayout::new(loss, lengths, start.len());
        let (lower, upper) = Parameter::bounds_of(&parameters);
        let problem = Problem::new(start).with_bounds(lower, upper);
        let mut problem = problem.map_err(invalid)?;
        if settings.l1 > 0.0 {
            let weight = settings.l1;
            problem = problem.with_regularizer(L1 { weight });
        }
        let mut spec = Spec::default();
        spec.solver.max_points = settings.max_points;
        spec.solver.seed = settings.seed;
        let engine = Engine::new(problem, layout.len(), spec.options()).map_err(invalid)?;
        Ok(Self {
            truths,
            parameters,
            layout,
            engine: Some(engine),
            learned: None,
        })
    }

    /// Returns the next evaluation that the solver asks for; `None` when the run has ended.
    fn ask<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Asked<'py>>> {
        let num_images = self.truths.len();
        let layout = self.layout.clone();
        Ok(self.job()?.map(|job| {
            let share = |image| layout.share(job.target(), image).value();
            let accuracy: Vec<f64> = (0..num_images).map(share).collect();
            let state = job.start().clone().into_resume();
            (
                PyArray1::from_slice(py, job.theta()),
                PyArray1::from_vec(py, accuracy),
                state.map(|state| state.clone_ref(py)),
            )
        }))
    }

    /// Tells the solver the reconstructions that it asked for, with a bound on the error of each.
    fn answer(
        &mut self,
        py: Python<'_>,
        images: Vec<PyReadonlyArray1<'_, f64>>,
        errors: Vec<f64>,
        state: Py<PyAny>,
        work: u64,
    ) -> PyResult<()> {
        let mut residuals = vec![0.0; self.layout.len()];
        let mut rest = &mut residuals[..];
        let mut parts = Vec::with_capacity(self.truths.len());
        for (index, truth) in self.truths.iter().enumerate() {
            let (own, others) = rest.split_at_mut(self.layout.len_of(index));
            rest = others;
            let error = ErrorBound::new(errors[index]).map_err(invalid)?;
            parts.push((self.layout).write(images[index].as_slice()?, truth, error, own));
        }
        let evaluated = Evaluated {
            achieved: Accuracy::of_parts(parts),
            work,
            resume: Arc::new(state),
        };
        if let Some(job) = self.job()? {
            job.answer(&residuals, evaluated);
        }
        py.detach(|| self.tell())
    }

    /// Tells the solver that this point cannot be evaluated.
    fn reject(&mut self, py: Python<'_>, reason: &str) -> PyResult<()> {
        if let Some(job) = self.job()? {
            job.fail(EvalError::reject(reason));
        }
        py.detach(|| self.tell())
    }

    /// The progress of the run.
    fn progress(&self) -> PyResult<Progress> {
        let engine = self.engine.as_ref().ok_or_else(ended)?;
        let best = engine.best().map(|best| {
            let (lower, upper) = (best.interval.lower, best.interval.upper);
            let theta = best.theta.to_vec();
            (theta.clone(), theta, best.objective, lower, upper)
        });
        Ok((engine.num_points(), engine.work(), best))
    }

    /// Ends the run, and returns the result as JSON, in the form of that of `Run`.
    fn finish(&mut self, py: Python<'_>) -> PyResult<String> {
        if let Some(learned) = &self.learned {
            return Ok(learned.clone());
        }
        let engine = self.engine.take().ok_or_else(ended)?;
        let report = py.detach(|| engine.into_report());
        let flat = (report.jacobian.as_ref()).map_or_else(Vec::new, |jacobian| {
            FlatDirection::list(jacobian, &self.parameters, report.objective)
        });
        let unknown = vec![None; report.theta.len()];
        let parameters = LearnedParameter::list(&self.parameters, &report.theta, &unknown);
        let learned = json!({
            "parameters": parameters,
            "objective": report.objective,
            "interval": report.interval,
            "termination": report.termination,
            "num_points": report.num_points,
            "flat": flat,
            "iterations": report.iterations,
            "evaluations": report.evaluations,
            "training": [],
            "validation": [],
        });
        Ok(self.learned.insert(learned.to_string()).clone())
    }
}
