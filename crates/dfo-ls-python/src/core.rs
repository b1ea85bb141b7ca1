//! The Python class `Core` around the engine. Python has checked the shapes of all arguments; this
//! module converts between the types of the two languages.

use dfo_ls::{
    Accuracy, Budget, Engine, EvalError, Evaluated, Known, Limit, SetupError, Start, State,
    StepKind, Termination,
};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::code::Code;
use crate::{options, rows};

/// The number of a state of the user's simulator. Zero means no state.
type Token = u64;
type Vector<'py> = PyReadonlyArray1<'py, f64>;
type Details<'py> = (f64, &'static str, Vec<(f64, Token)>, u32, &'static str);

/// An engine whose tokens are numbers of Python objects.
#[pyclass(module = "dfo_ls._dfo_ls")]
pub(crate) struct Core {
    engine: Engine<Token>,
    code: Code,
    num_params: usize,
}

#[pymethods]
impl Core {
    #[new]
    #[pyo3(signature = (x0, num_residuals, options, bounds, projections, regularizer, known))]
    #[expect(
        clippy::too_many_arguments,
        reason = "called in one place, by position"
    )]
    fn new(
        py: Python<'_>,
        x0: Vector<'_>,
        num_residuals: usize,
        options: &str,
        bounds: Option<(Vector<'_>, Vector<'_>)>,
        projections: Vec<Py<PyAny>>,
        regularizer: Option<(Py<PyAny>, Py<PyAny>)>,
        known: Vec<(Vector<'_>, Vector<'_>, f64)>,
    ) -> PyResult<Self> {
        let options = options::parse(options)?;
        let code = Code::new(owned(bounds)?, projections, regularizer);
        let known = known.into_iter().map(known_evaluation);
        let known = known.collect::<PyResult<Vec<_>>>()?;
        let start = x0.as_slice()?.to_vec();
        let num_params = start.len();
        let engine = py.detach(|| {
            let problem = code.problem(start)?.with_known(known);
            Engine::new(problem, num_residuals, options)
        });
        code.check()?;
        Ok(Self {
            engine: engine.map_err(refused)?,
            code,
            num_params,
        })
    }

    /// Restores an engine from the text of `save`.
    #[staticmethod]
    fn load(
        py: Python<'_>,
        state: &str,
        num_params: usize,
        bounds: Option<(Vector<'_>, Vector<'_>)>,
        projections: Vec<Py<PyAny>>,
        regularizer: Option<(Py<PyAny>, Py<PyAny>)>,
    ) -> PyResult<Self> {
        let code = Code::new(owned(bounds)?, projections, regularizer);
        let state: State<Token> = serde_json::from_str(state)
            .map_err(|error| PyValueError::new_err(format!("not a saved engine: {error}")))?;
        let engine = py.detach(|| restore(&code, num_params, state));
        code.check()?;
        Ok(Self {
            engine: engine.map_err(refused)?,
            code,
            num_params,
        })
    }

    /// Returns the state of the engine as JSON.
    fn save(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| options::to_json(self.engine.state()))
    }

    /// Returns the points to evaluate. The list is empty when the run has ended.
    fn ask<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let jobs = self.engine.pending().iter();
        let points: Vec<_> = jobs
            .map(|job| PyArray1::from_slice(py, job.theta()))
            .collect();
        PyList::new(py, points)
    }

    /// Returns the details of a job: the requested accuracy, the kind of start, the states to start
    /// from with their weights, the number of the sample, and the purpose.
    fn details(&self, index: usize) -> PyResult<Details<'_>> {
        let job = self.engine.pending().get(index).ok_or_else(no_such_job)?;
        let (kind, tokens) = match job.start() {
            Start::Near(token) => ("near", vec![(1.0, *token)]),
            Start::Refine(token) => ("refine", vec![(1.0, *token)]),
            Start::Blend(shares) => {
                let shares = shares.iter().map(|share| (share.weight, share.resume));
                ("blend", shares.collect())
            }
            _ => ("cold", Vec::new()),
        };
        let purpose = rows::purpose(job.purpose());
        Ok((job.target().value(), kind, tokens, job.sample(), purpose))
    }

    /// Answers one job.
    fn answer(
        &mut self,
        index: usize,
        residuals: Vector<'_>,
        achieved: f64,
        token: Token,
        work: u64,
        samples: u32,
    ) -> PyResult<()> {
        let achieved =
            Accuracy::new(achieved).map_err(|error| PyValueError::new_err(error.to_string()))?;
        let residuals = residuals.as_slice()?;
        let job = self.engine.ask().get_mut(index).ok_or_else(no_such_job)?;
        // A saved engine contains its answers, and JSON has no NaN: residuals that are not finite
        // are rejected here, before the engine would do so.
        if let Some(i) = residuals.iter().position(|r| !r.is_finite()) {
            let reason = format!("residual {i} is {}", residuals[i]);
            job.fail(EvalError::Reject { reason, work });
        } else {
            let evaluated = Evaluated {
                achieved,
                work,
                resume: token,
            };
            job.answer_mean(residuals, samples, evaluated);
        }
        Ok(())
    }

    /// Answers one job with the reason why the point cannot be evaluated.
    fn reject(&mut self, index: usize, reason: String, work: u64) -> PyResult<()> {
        let job = self.engine.ask().get_mut(index).ok_or_else(no_such_job)?;
        job.fail(EvalError::Reject { reason, work });
        Ok(())
    }

    /// Takes the answers and returns the number of iterations so far.
    fn tell(&mut self, py: Python<'_>) -> PyResult<usize> {
        if !self.code.is_called() {
            let engine = &mut self.engine;
            py.detach(|| engine.tell());
            return Ok(self.engine.state().iterations().len());
        }
        // If a projection raises an exception, the engine is restored, with its answers.
        let before = self.engine.state().clone();
        let engine = &mut self.engine;
        py.detach(|| engine.tell());
        if let Err(error) = self.code.check() {
            self.engine = py
                .detach(|| restore(&self.code, self.num_params, before))
                .map_err(refused)?;
            return Err(error);
        }
        Ok(self.engine.state().iterations().len())
    }

    /// Ends the run.
    fn stop(&mut self, why: &str) {
        self.engine.stop(match why {
            "stopped" => Termination::Stopped,
            "time" => Termination::Exhausted(Limit::Time),
            "evaluations" => Termination::Exhausted(Limit::Evaluations),
            "target" => Termination::TargetReached,
            reason => Termination::OracleFailed {
                reason: reason.to_owned(),
            },
        });
    }

    /// Continues a run that was stopped or has spent its budget, with another budget.
    fn extend(&mut self, py: Python<'_>, budget: &str) -> PyResult<()> {
        let budget: Budget = serde_json::from_str(budget)
            .map_err(|error| PyValueError::new_err(format!("budget: {error}")))?;
        let engine = &mut self.engine;
        py.detach(|| engine.extend(budget));
        self.code.check()
    }

    /// Returns the reason why the run ended, and a message; `None` while it runs.
    #[getter]
    fn termination(&self) -> Option<(&'static str, String)> {
        self.engine.termination().map(rows::termination)
    }

    /// Returns the objective of the best point.
    #[getter]
    fn best_objective(&self) -> Option<f64> {
        self.engine.best().map(|best| best.objective)
    }

    /// Returns the best point.
    #[getter]
    fn best_x<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<f64>>> {
        let best = self.engine.best()?;
        Some(PyArray1::from_slice(py, best.theta))
    }

    /// Returns the number of the best point.
    #[getter]
    fn best_number(&self) -> Option<u64> {
        self.engine.best()?.point
    }

    /// Returns the number of restarts.
    #[getter]
    fn num_restarts(&self) -> usize {
        let rows = self.engine.state().iterations().iter();
        rows.filter(|row| row.kind == StepKind::Restarted).count()
    }

    /// Returns the trust-region radius and the lower radius, in units of the parameters.
    #[getter]
    fn radii(&self) -> (f64, f64) {
        self.engine.radii()
    }

    /// Returns the numbers of the points in the interpolation set.
    #[getter]
    fn set_points(&self) -> Vec<u64> {
        self.engine.set_points()
    }

    /// Returns the number of residuals.
    #[getter]
    fn num_residuals(&self) -> usize {
        self.engine.state().num_residuals()
    }

    /// Returns all options as JSON, including those that were derived from the problem.
    #[getter]
    fn options(&self) -> PyResult<String> {
        options::to_json(self.engine.options())
    }

    /// Returns the numbers of the states that are still in use.
    fn tokens(&self) -> Vec<Token> {
        self.engine.state().tokens().into_iter().copied().collect()
    }

    /// Returns the iterations from number `first` on.
    fn iterations<'py>(&self, py: Python<'py>, first: usize) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let rows = self.engine.state().iterations().get(first..).unwrap_or(&[]);
        rows.iter().map(|row| rows::iteration(py, row)).collect()
    }

    /// Returns the evaluations from number `first` on.
    fn evaluations<'py>(&self, py: Python<'py>, first: usize) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let rows = self
            .engine
            .state()
            .evaluations()
            .get(first..)
            .unwrap_or(&[]);
        rows.iter().map(|row| rows::evaluation(py, row)).collect()
    }

    /// Returns the outcome so far.
    fn report<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let report = py.detach(|| self.engine.report());
        self.code.check()?;
        rows::report(py, &report)
    }
}

fn restore(
    code: &Code,
    num_params: usize,
    state: State<Token>,
) -> Result<Engine<Token>, SetupError> {
    Engine::from_state(code.problem(vec![0.0; num_params])?, state)
}

fn owned(bounds: Option<(Vector<'_>, Vector<'_>)>) -> PyResult<Option<(Vec<f64>, Vec<f64>)>> {
    bounds
        .map(|(lower, upper)| Ok((lower.as_slice()?.to_vec(), upper.as_slice()?.to_vec())))
        .transpose()
}

fn known_evaluation((x, residuals, accuracy): (Vector<'_>, Vector<'_>, f64)) -> PyResult<Known> {
    Ok(Known {
        theta: x.as_slice()?.to_vec(),
        residuals: residuals.as_slice()?.to_vec(),
        accuracy: Accuracy::new(accuracy)
            .map_err(|error| PyValueError::new_err(error.to_string()))?,
    })
}

fn refused(error: SetupError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

fn no_such_job() -> PyErr {
    PyIndexError::new_err("this job does not exist any more: call ask() again")
}
