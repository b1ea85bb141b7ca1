//! One reconstruction, which Ctrl-C can end.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use bilevel::{
    BoxError, Family, FamilyData, FamilyObjective, FamilyScratch, LowerLevel, Parameter,
    ReconstructionError, Watch, reconstruct_observed,
};
use imaging::{Grid, Window};
use lowlevel::{ErrorBound, Progress, Stop};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::family::{Operator, grid};
use crate::invalid;
use crate::run::spec;

/// The time between two checks for signals.
const SIGNALS: Duration = Duration::from_millis(50);

/// The reconstruction, its certified error, its iterations, and the reason why the error is larger
/// than requested, if it is.
type Solved<'py> = (Bound<'py, PyArray1<f64>>, f64, u64, Option<String>);

/// A family whose reconstructions start at a given image.
struct StartingAt<'a> {
    family: &'a Family,
    /// The start; `None` for the start of the family.
    start: Option<&'a [f64]>,
    /// The place of the image in the unknown.
    window: Window,
}

impl LowerLevel for StartingAt<'_> {
    type Data = FamilyData;
    type Scratch = FamilyScratch;
    type Objective<'a>
        = FamilyObjective<'a>
    where
        Self: 'a;

    fn parameters(&self) -> Vec<Parameter> {
        self.family.parameters()
    }

    fn prepare(&self, grid: Grid, data: &[f64]) -> Result<FamilyData, BoxError> {
        self.family.prepare(grid, data)
    }

    fn objective<'a>(
        &'a self,
        values: &[f64],
        data: &'a FamilyData,
    ) -> Result<FamilyObjective<'a>, BoxError> {
        self.family.objective(values, data)
    }

    fn cold_start(&self, data: &FamilyData, x: &mut [f64]) {
        match self.start {
            Some(start) => self.window.extend(start, x),
            None => self.family.cold_start(data, x),
        }
    }

    fn window(&self, grid: Grid) -> Window {
        self.family.window(grid)
    }
}

/// Reconstructs one image. The data are borrowed, and Python takes over the memory of the answer,
/// so nothing is copied. A signal that Python turns into an exception ends the reconstruction, at
/// the latest after `unwatched` iterations.
#[pyfunction(name = "reconstruct")]
#[expect(clippy::too_many_arguments, reason = "called by Python, with names")]
pub(crate) fn reconstruct_image<'py>(
    py: Python<'py>,
    settings: &str,
    operator: Operator<'py>,
    values: Vec<f64>,
    data: PyReadonlyArray1<'py, f64>,
    shape: Vec<usize>,
    start: Option<PyReadonlyArray1<'py, f64>>,
    accuracy: f64,
    max_iterations: Option<u64>,
    unwatched: u64,
) -> PyResult<Solved<'py>> {
    let spec = spec(settings)?;
    let grid = grid(&spec, &shape)?;
    let family = spec.family(operator.input(spec.task, &shape)?);
    let family = family.map_err(invalid)?;
    let data = data.as_slice()?;
    let start = start.as_ref().map(|start| start.as_slice()).transpose()?;
    let family = StartingAt {
        family: &family,
        start,
        window: family.window(grid),
    };
    let mut stop = Stop::accuracy(ErrorBound::new(accuracy).map_err(invalid)?);
    if let Some(limit) = max_iterations {
        stop = stop.with_max_iterations(limit);
    }
    let solver = spec.setup(Vec::new()).lower_solver();
    let (made, signal) = py.detach(|| {
        let mut asked = Instant::now();
        let mut signal = Ok(());
        let mut observer = |_: &Progress<'_>| {
            // many iterations without a check come before the first one that is watched
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
