//! One reconstruction.

use lowlevel::{ErrorBound, Outcome, Stop};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::family::{Family, MethodName, Operator};
use crate::invalid;

/// The reconstruction, its certified error, iterations, and why the error is larger than it should be.
type Solved<'py> = (Bound<'py, PyArray1<f64>>, f64, u64, Option<String>);

/// Reconstructs one image. The data are borrowed, and the answer is handed over: nothing is copied.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "called by Python, with names")]
#[expect(clippy::needless_pass_by_value, reason = "what Python gives")]
pub(crate) fn reconstruct<'py>(
    py: Python<'py>,
    family: &str,
    operator: Operator<'py>,
    values: Vec<f64>,
    data: PyReadonlyArray1<'py, f64>,
    shape: Vec<usize>,
    method: &str,
    accuracy: f64,
    max_iterations: Option<u64>,
) -> PyResult<Solved<'py>> {
    let family: Family = serde_json::from_str(family).map_err(invalid)?;
    let method: MethodName = serde_json::from_value(method.into()).map_err(invalid)?;
    let grid = family.grid(&shape)?;
    let model = family.model(&operator)?;
    let data = data.as_slice()?;
    let mut stop = Stop::accuracy(ErrorBound::new(accuracy).map_err(invalid)?);
    if let Some(limit) = max_iterations {
        stop = stop.with_max_iterations(limit);
    }
    let made = py.detach(|| model.reconstruct(&values, grid, data, method.method(), stop));
    let made = made.map_err(|error| match error {
        bilevel::ReconstructionError::Solve(error) => PyRuntimeError::new_err(error.to_string()),
        error => invalid(error),
    })?;
    let solved = made.solved;
    let missed = (solved.outcome != Outcome::Done).then(|| solved.outcome.to_string());
    let x = PyArray1::from_vec(py, made.x);
    Ok((x, solved.error.value(), solved.iterations, missed))
}
