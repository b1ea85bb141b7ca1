//! One reconstruction, which Ctrl-C ends.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use bilevel::{ReconstructionError, Watch, reconstruct_observed};
use lowlevel::{ErrorBound, Progress, Stop};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::family::{Operator, grid};
use crate::invalid;
use crate::run::spec;

/// How often Python is asked for signals.
const SIGNALS: Duration = Duration::from_millis(50);

/// The reconstruction, its certified error, iterations, and why the error is larger than it should
/// be.
type Solved<'py> = (Bound<'py, PyArray1<f64>>, f64, u64, Option<String>);

/// Reconstructs one image. The data are borrowed, and the answer is handed over: nothing is copied.
/// A signal that Python turns into an exception ends it, after `unwatched` iterations at the
/// latest.
#[pyfunction(name = "reconstruct")]
#[expect(clippy::too_many_arguments, reason = "called by Python, with names")]
pub(crate) fn reconstruct_image<'py>(
    py: Python<'py>,
    settings: &str,
    operator: Operator<'py>,
    values: Vec<f64>,
    data: PyReadonlyArray1<'py, f64>,
    shape: Vec<usize>,
    accuracy: f64,
    max_iterations: Option<u64>,
    unwatched: u64,
) -> PyResult<Solved<'py>> {
    let spec = spec(settings)?;
    let grid = grid(spec.task, &shape)?;
    let family = spec.family(operator.input(spec.task, &shape)?);
    let family = family.map_err(invalid)?;
    let data = data.as_slice()?;
    let mut stop = Stop::accuracy(ErrorBound::new(accuracy).map_err(invalid)?);
    if let Some(limit) = max_iterations {
        stop = stop.with_max_iterations(limit);
    }
    let solver = spec.setup(Vec::new()).solver();
    let (made, signal) = py.detach(|| {
        let mut asked = Instant::now();
        let mut signal = Ok(());
        let mut observer = |_: &Progress<'_>| {
            // the first of these iterations comes after many that were not watched
            if signal.is_ok() && asked.elapsed() >= SIGNALS {
                signal = Python::attach(|py| py.check_signals());
                asked = Instant::now();
            }
            match &signal {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            }
        };
        let watch = Watch {
            after: unwatched,
            observer: &mut observer,
        };
        let made = reconstruct_observed(&family, &values, grid, data, solver, stop, watch);
        (made, signal)
    });
    signal?;
    let made = made.map_err(|error| match error {
        ReconstructionError::Solve(error) => PyRuntimeError::new_err(error.to_string()),
        error => invalid(error),
    })?;
    let solved = made.solved;
    let missed = (!solved.outcome.is_success()).then(|| solved.outcome.to_string());
    let x = PyArray1::from_vec(py, made.x);
    Ok((x, solved.error.value(), solved.iterations, missed))
}
