//! One reconstruction, which Ctrl-C ends.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use bilevel::{LowerLevel, ReconstructionError};
use imaging::Grid;
use lowlevel::{ErrorBound, Method, Outcome, Solver, State, Stop, StronglyConvex};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::family::{Family, MethodName, Operator};
use crate::invalid;

/// How often Python is asked for signals.
const SIGNALS: Duration = Duration::from_millis(50);

/// The reconstruction, its certified error, iterations, and why the error is larger than it should be.
type Solved<'py> = (Bound<'py, PyArray1<f64>>, f64, u64, Option<String>);

/// When a solve ends.
pub(crate) struct Watch<'a> {
    accuracy: ErrorBound,
    max_iterations: u64,
    /// So many iterations are made at once, and nothing is asked meanwhile: a solver that is watched makes single steps only.
    unwatched: u64,
    /// Whether to end it now, asked after every further iteration.
    is_over: &'a mut dyn FnMut() -> bool,
}

/// A reconstruction.
pub(crate) struct Made {
    x: Vec<f64>,
    error: ErrorBound,
    iterations: u64,
    outcome: Outcome,
}

/// As [`bilevel::reconstruct`], in two parts: the second goes on where the first one ended, with the same iterates.
pub(crate) fn reconstruct<M: LowerLevel>(
    model: &M,
    values: &[f64],
    grid: Grid,
    data: &[f64],
    method: Method,
    watch: Watch<'_>,
) -> Result<Made, ReconstructionError> {
    let (expected, found) = (model.parameters().len(), values.len());
    if expected != found {
        return Err(ReconstructionError::NumValues { expected, found });
    }
    let objective = (model.objective(values, grid, data)).map_err(ReconstructionError::Model)?;
    let mut scratch = objective.scratch();
    let mut x = vec![0.0; grid.len()];
    model.first_guess(grid, data, &mut x);
    let mut state = State::new(x);
    let solver = Solver {
        method,
        ..Solver::default()
    };
    let stop = Stop::accuracy(watch.accuracy);
    let first = stop.with_max_iterations(watch.unwatched.min(watch.max_iterations));
    let mut solved = solver.minimize(&objective, first, &mut state, &mut scratch)?;
    let mut iterations = solved.iterations;
    if solved.outcome == Outcome::IterationLimit && iterations < watch.max_iterations {
        let rest = stop.with_max_iterations(watch.max_iterations - iterations);
        let mut observer = |_: &lowlevel::Progress<'_>| {
            if (watch.is_over)() {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        };
        solved =
            solver.refine_observed(&objective, rest, &mut state, &mut scratch, &mut observer)?;
        iterations += solved.iterations;
    }
    Ok(Made {
        x: state.into_point(),
        error: solved.error,
        iterations,
        outcome: solved.outcome,
    })
}

/// Reconstructs one image. The data are borrowed, and the answer is handed over: nothing is copied. A signal that Python turns into an
/// exception ends it, after `unwatched` iterations at the latest.
#[pyfunction(name = "reconstruct")]
#[expect(clippy::too_many_arguments, reason = "called by Python, with names")]
pub(crate) fn reconstruct_image<'py>(
    py: Python<'py>,
    family: &str,
    operator: Operator<'py>,
    values: Vec<f64>,
    data: PyReadonlyArray1<'py, f64>,
    shape: Vec<usize>,
    method: &str,
    accuracy: f64,
    max_iterations: Option<u64>,
    unwatched: u64,
) -> PyResult<Solved<'py>> {
    let family: Family = serde_json::from_str(family).map_err(invalid)?;
    let method: MethodName = serde_json::from_value(method.into()).map_err(invalid)?;
    let grid = family.grid(&shape)?;
    let model = family.model(&operator)?;
    let data = data.as_slice()?;
    let accuracy = ErrorBound::new(accuracy).map_err(invalid)?;
    let (made, signal) = py.detach(|| {
        let mut asked = Instant::now();
        let mut signal = Ok(());
        let mut is_over = || {
            // the first of these iterations comes after many that were not watched
            if signal.is_ok() && asked.elapsed() >= SIGNALS {
                signal = Python::attach(|py| py.check_signals());
                asked = Instant::now();
            }
            signal.is_err()
        };
        let watch = Watch {
            accuracy,
            max_iterations: max_iterations.unwrap_or(u64::MAX),
            unwatched,
            is_over: &mut is_over,
        };
        let made = model.reconstruct(&values, grid, data, method.method(), watch);
        (made, signal)
    });
    signal?;
    let made = made.map_err(|error| match error {
        ReconstructionError::Solve(error) => PyRuntimeError::new_err(error.to_string()),
        error => invalid(error),
    })?;
    let missed = (made.outcome != Outcome::Done).then(|| made.outcome.to_string());
    let x = PyArray1::from_vec(py, made.x);
    Ok((x, made.error.value(), made.iterations, missed))
}
