//! The parts of a problem that are code: projections and a regulariser written in Python.

use std::sync::{Arc, Mutex, PoisonError};

use dfo_ls::{Problem, Projection, Regularizer, SetupError};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

type Callable = Arc<Py<PyAny>>;

/// The bounds, projections and regulariser of a problem. The callables take and return contiguous
/// arrays of doubles of the right length.
#[derive(Clone)]
pub(crate) struct Code {
    pub(crate) bounds: Option<(Vec<f64>, Vec<f64>)>,
    pub(crate) projections: Vec<Callable>,
    /// The value and the proximal map of the regulariser.
    pub(crate) regularizer: Option<(Callable, Callable)>,
    failure: Failure,
}

/// The first exception that a callable raised. The engine cannot handle exceptions: it finishes its
/// step without the callables, and the caller discards that step.
#[derive(Clone, Default)]
struct Failure(Arc<Mutex<Option<PyErr>>>);

impl Failure {
    fn take(&self) -> Option<PyErr> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Returns the result of `call`, or `None` if this call or an earlier one failed.
    fn guard<T>(&self, call: impl FnOnce(Python<'_>) -> PyResult<T>) -> Option<T> {
        let failed = self
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .is_some();
        if failed {
            return None;
        }
        match Python::attach(call) {
            Ok(value) => Some(value),
            Err(error) => {
                *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                None
            }
        }
    }
}

impl Code {
    pub(crate) fn new(
        bounds: Option<(Vec<f64>, Vec<f64>)>,
        projections: Vec<Py<PyAny>>,
        regularizer: Option<(Py<PyAny>, Py<PyAny>)>,
    ) -> Self {
        Self {
            bounds,
            projections: projections.into_iter().map(Arc::new).collect(),
            regularizer: regularizer.map(|(value, prox)| (Arc::new(value), Arc::new(prox))),
            failure: Failure::default(),
        }
    }

    /// Returns whether the engine calls Python.
    pub(crate) fn is_called(&self) -> bool {
        !self.projections.is_empty() || self.regularizer.is_some()
    }

    /// Returns the exception that was raised since the last check as an error.
    pub(crate) fn check(&self) -> PyResult<()> {
        self.failure.take().map_or(Ok(()), Err)
    }

    pub(crate) fn problem(&self, start: Vec<f64>) -> Result<Problem, SetupError> {
        let mut problem = Problem::new(start);
        if let Some((lower, upper)) = &self.bounds {
            problem = problem.with_bounds(lower.clone(), upper.clone())?;
        }
        for call in &self.projections {
            let (call, failure) = (Arc::clone(call), self.failure.clone());
            problem = problem.within(PythonProjection { call, failure });
        }
        if let Some((value, prox)) = &self.regularizer {
            problem = problem.with_regularizer(PythonRegularizer {
                value: Arc::clone(value),
                prox: Arc::clone(prox),
                failure: self.failure.clone(),
            });
        }
        Ok(problem)
    }
}

struct PythonProjection {
    call: Callable,
    failure: Failure,
}

impl Projection for PythonProjection {
    fn project(&self, theta: &mut [f64]) {
        self.failure.guard(|py| {
            let point = PyArray1::from_slice(py, theta);
            let found = self.call.bind(py).call1((point,))?;
            overwrite(theta, &found)
        });
    }
}

struct PythonRegularizer {
    value: Callable,
    prox: Callable,
    failure: Failure,
}

impl Regularizer for PythonRegularizer {
    fn value(&self, theta: &[f64]) -> f64 {
        let value = self.failure.guard(|py| {
            let point = PyArray1::from_slice(py, theta);
            self.value.bind(py).call1((point,))?.extract()
        });
        value.unwrap_or(0.0)
    }

    fn prox(&self, t: f64, theta: &mut [f64]) {
        self.failure.guard(|py| {
            let point = PyArray1::from_slice(py, theta);
            let found = self.prox.bind(py).call1((point, t))?;
            overwrite(theta, &found)
        });
    }
}

fn overwrite(theta: &mut [f64], found: &Bound<'_, PyAny>) -> PyResult<()> {
    let found: PyReadonlyArray1<'_, f64> = found.extract()?;
    theta.copy_from_slice(found.as_slice()?);
    Ok(())
}
