//! A run whose reconstruction problems are given by functions written in Python: gradient,
//! curvature, and optionally Hessian products and mixed products.
//!
//! Python is called on the thread that has called Rust, one function at a time. An exception makes
//! the numbers of its call NaN, which ends the evaluation, and is raised after it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bilevel::{
    BoxError, Derivatives, LearningEngine, LearningProblem, LowerLevel, Pair, Parameter, Spec,
    reconstruct,
};
use imaging::Grid;
use lowlevel::{
    Curvature, ErrorBound, FnObjective, SecondOrder, Solver, Stop, StronglyConvex,
    TwiceDifferentiable,
};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use serde::Deserialize;

use crate::family::grid_of;
use crate::invalid;
use crate::run::{Progress, ended, progress};

/// The Python object with all functions, and its first exception.
struct Functions {
    /// Its methods take and return flat arrays, and check the user's answers.
    object: Py<PyAny>,
    /// The class of the exception that refuses parameters.
    reject: Py<PyAny>,
    has_derivatives: bool,
    failure: Mutex<Option<PyErr>>,
}

impl Functions {
    fn new(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self {
            has_derivatives: object.getattr("has_derivatives")?.extract()?,
            reject: object.getattr("reject")?.unbind(),
            object: object.clone().unbind(),
            failure: Mutex::new(None),
        })
    }

    fn failure(&self) -> MutexGuard<'_, Option<PyErr>> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Raises the exception of the last evaluation, if there was one.
    fn raise(&self) -> PyResult<()> {
        let failure = self.failure().take();
        failure.map_or(Ok(()), Err)
    }

    /// Calls a method with these parameters, the index of the data, and vectors. Returns the reason
    /// why there is no answer.
    fn call<T>(
        &self,
        (name, theta, index): (&str, &[f64], usize),
        vectors: &[&[f64]],
        read: impl FnOnce(Bound<'_, PyAny>) -> PyResult<T>,
    ) -> Result<T, String> {
        if self.failure().is_some() {
            return Err("an exception was raised".to_owned());
        }
        Python::attach(|py| {
            let mut arguments = vec![
                PyArray1::from_slice(py, theta).into_any(),
                index.into_pyobject(py)?.into_any(),
            ];
            arguments.extend(
                vectors
                    .iter()
                    .map(|v| PyArray1::from_slice(py, v).into_any()),
            );
            py.check_signals()?;
            let arguments = PyTuple::new(py, arguments)?;
            read(self.object.bind(py).call_method1(name, arguments)?)
        })
        .map_err(|error| {
            let (is_reject, text) = Python::attach(|py| {
                let is_reject = error.matches(py, self.reject.bind(py)).unwrap_or(false);
                (is_reject, error.value(py).to_string())
            });
            if !is_reject {
                self.failure().get_or_insert(error);
            }
            text
        })
    }

    /// Overwrites `out` with a vector of the answer, or with NaN if there is none.
    fn fill(&self, asked: (&str, &[f64], usize), vectors: &[&[f64]], out: &mut [f64]) {
        let filled = self.call(asked, vectors, |answer| {
            let answer: PyReadonlyArray1<'_, f64> = answer.extract()?;
            out.copy_from_slice(answer.as_slice()?);
            Ok(())
        });
        if filled.is_err() {
            out.fill(f64::NAN);
        }
    }
}

/// The curvature, the bound on third derivatives, and the rounding errors of gradients and of
/// products, where they are known.
type Constants = ((f64, f64), f64, Option<(f64, f64)>, Option<f64>);

/// A family whose functions are written in Python.
struct PythonFamily {
    parameters: Vec<Parameter>,
    functions: Arc<Functions>,
}

/// The place of an image among all images, and its number of entries.
struct ImageIndex {
    index: usize,
    dim: usize,
}

/// The objective of one reconstruction.
struct PythonObjective<'a> {
    function: TwiceDifferentiable<ValueFn, GradientFn<'a>, ProductFn<'a>>,
    index: usize,
}

type ValueFn = fn(&[f64]) -> f64;
type GradientFn<'a> = Box<dyn Fn(&[f64], &mut [f64]) + Sync + 'a>;
type ProductFn<'a> = Box<dyn Fn(&[f64], &[f64], &mut [f64]) + Sync + 'a>;

impl LowerLevel for PythonFamily {
    type Data = ImageIndex;
    type Scratch = Vec<f64>;
    type Objective<'a> = PythonObjective<'a>;

    fn parameters(&self) -> Vec<Parameter> {
        self.parameters.clone()
    }

    /// The data stay in Python, and `data` is only their index.
    fn prepare(&self, grid: Grid, data: &[f64]) -> Result<ImageIndex, BoxError> {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the number is an index"
        )]
        let index = data.first().map_or(0, |index| *index as usize);
        let dim = grid.len();
        Ok(ImageIndex { index, dim })
    }

    fn objective<'a>(
        &'a self,
        values: &[f64],
        data: &'a ImageIndex,
    ) -> Result<PythonObjective<'a>, BoxError> {
        let functions = &*self.functions;
        let read = |answer: Bound<'_, PyAny>| answer.extract::<Constants>();
        let constants = functions.call(("constants", values, data.index), &[], read)?;
        let ((strong_convexity, lipschitz), third_derivative, gradient_rounding, rounding) =
            constants;
        let curvature = Curvature::new(strong_convexity, lipschitz)?;
        let (theta, index) = (values.to_vec(), data.index);
        let gradient: GradientFn<'a> = Box::new(move |x, out| {
            functions.fill(("gradient", &theta, index), &[x], out);
        });
        let theta = values.to_vec();
        let product: ProductFn<'a> = Box::new(move |x, v, out| {
            functions.fill(("hessian_product", &theta, index), &[x, v], out);
        });
        // reconstructions need no values of the function
        let value: ValueFn = |_| f64::NAN;
        let mut function = FnObjective::new(data.dim, curvature, value, gradient);
        if let Some((absolute, relative)) = gradient_rounding {
            function = function.with_rounding(absolute, relative);
        }
        let mut function = function.with_hessian(product, third_derivative);
        if let Some(relative) = rounding {
            function = function.with_product_rounding(relative);
        }
        Ok(PythonObjective { function, index })
    }

    fn derivatives<'a, 'b>(
        &'a self,
        values: &'a [f64],
        objective: &'a PythonObjective<'b>,
    ) -> Option<Box<dyn Derivatives<Vec<f64>> + 'a>>
    where
        Self: 'b,
    {
        let functions = &*self.functions;
        let (theta, index) = (values, objective.index);
        let made = PythonDerivatives {
            functions,
            theta,
            index,
        };
        functions.has_derivatives.then(|| Box::new(made) as Box<_>)
    }

    fn is_serial(&self) -> bool {
        true
    }
}

/// The derivatives with respect to the parameters.
struct PythonDerivatives<'a> {
    functions: &'a Functions,
    theta: &'a [f64],
    index: usize,
}

impl Derivatives<Vec<f64>> for PythonDerivatives<'_> {
    fn mixed_product(&self, x: &[f64], q: &[f64], out: &mut [f64], _: &mut Vec<f64>) {
        let asked = ("mixed_product", self.theta, self.index);
        self.functions.fill(asked, &[x, q], out);
    }
}

impl StronglyConvex for PythonObjective<'_> {
    type Scratch = Vec<f64>;

    fn dim(&self) -> usize {
        self.function.dim()
    }

    fn curvature(&self) -> Curvature {
        self.function.curvature()
    }

    fn scratch(&self) -> Vec<f64> {
        self.function.scratch()
    }

    fn gradient(&self, x: &[f64], gradient: &mut [f64], scratch: &mut Vec<f64>) {
        self.function.gradient(x, gradient, scratch);
    }

    fn value(&self, x: &[f64], scratch: &mut Vec<f64>) -> f64 {
        self.function.value(x, scratch)
    }

    fn gradient_rounding(&self, x_norm: f64, gradient_norm: f64) -> f64 {
        self.function.gradient_rounding(x_norm, gradient_norm)
    }

    fn second_order(&self) -> Option<&dyn SecondOrder<Vec<f64>>> {
        self.function.second_order()
    }
}

/// The settings of a run, which Python writes as JSON.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    parameters: Vec<Parameter>,
    spec: Spec,
}

/// The truth of an image as a flat array, and its shape.
type Truth<'py> = (PyReadonlyArray1<'py, f64>, Vec<usize>);

/// A run with a family whose functions are written in Python.
#[pyclass(module = "bilevel._bilevel")]
pub(crate) struct FunctionRun {
    functions: Arc<Functions>,
    problem: LearningProblem<PythonFamily>,
    /// The solver; `None` once the run has been finished.
    engine: Option<LearningEngine>,
    /// The result as JSON, once the run has been finished.
    learned: Option<String>,
}

#[pymethods]
impl FunctionRun {
    /// Checks the problem, and starts a run.
    #[new]
    fn new(
        settings: &str,
        functions: Bound<'_, PyAny>,
        truths: Vec<Truth<'_>>,
        is_complex: bool,
    ) -> PyResult<Self> {
        let Settings { parameters, spec } = serde_json::from_str(settings).map_err(invalid)?;
        let functions = Arc::new(Functions::new(&functions)?);
        let pair = |(index, (truth, shape)): (usize, &Truth<'_>)| {
            Ok(Pair {
                grid: grid_of(shape, is_complex)?,
                truth: truth.as_slice()?.to_vec(),
                data: vec![index as f64],
            })
        };
        let pairs = truths
            .iter()
            .enumerate()
            .map(pair)
            .collect::<PyResult<_>>()?;
        let family = PythonFamily {
            parameters,
            functions: Arc::clone(&functions),
        };
        let problem = LearningProblem::new(family, pairs, spec.setup(Vec::new()));
        functions.raise()?;
        let problem = problem.map_err(invalid)?;
        let engine = problem.start(spec.options());
        functions.raise()?;
        Ok(Self {
            functions,
            problem,
            engine: Some(engine.map_err(invalid)?),
            learned: None,
        })
    }

    /// Evaluates the point that the solver asks for, and tells it; `false` when the run has ended.
    fn step(&mut self) -> PyResult<bool> {
        let engine = self.engine.as_mut().ok_or_else(ended)?;
        engine.step(&mut self.problem, 1);
        self.functions.raise()?;
        Ok(engine.termination().is_none())
    }

    /// Whether the run has ended.
    fn has_ended(&self) -> PyResult<bool> {
        let engine = self.engine.as_ref().ok_or_else(ended)?;
        Ok(engine.termination().is_some())
    }

    /// The progress of the run.
    fn progress(&self) -> PyResult<Progress> {
        let engine = self.engine.as_ref().ok_or_else(ended)?;
        Ok(progress(&self.problem, engine))
    }

    /// Ends the run, and returns the result as JSON.
    fn finish(&mut self) -> PyResult<String> {
        if let Some(learned) = &self.learned {
            return Ok(learned.clone());
        }
        let engine = self.engine.take().ok_or_else(ended)?;
        let (learned, _) = self.problem.conclude(engine);
        // a function that fails far from the learned parameters only leaves an influence unknown
        let failure = self.functions.raise();
        let learned = serde_json::to_string(&learned).map_err(invalid)?;
        self.learned = Some(learned.clone());
        let stops = |error: &PyErr| {
            Python::attach(|py| !error.is_instance_of::<pyo3::exceptions::PyException>(py))
        };
        failure.or_else(|error| if stops(&error) { Err(error) } else { Ok(()) })?;
        Ok(learned)
    }
}

/// Reconstructs one image with functions written in Python. Returns the image, its certified error,
/// and the reason why the error is larger than requested, if it is.
#[pyfunction]
pub(crate) fn reconstruct_with<'py>(
    py: Python<'py>,
    functions: &Bound<'py, PyAny>,
    theta: Vec<f64>,
    shape: Vec<usize>,
    is_complex: bool,
    accuracy: f64,
) -> PyResult<(Bound<'py, PyArray1<f64>>, f64, Option<String>)> {
    let functions = Arc::new(Functions::new(functions)?);
    let parameter = Parameter::log10("theta", 0.0, 0.0, 0.0).with_shape([theta.len()]);
    let family = PythonFamily {
        parameters: vec![parameter],
        functions: Arc::clone(&functions),
    };
    let stop = Stop::accuracy(ErrorBound::new(accuracy).map_err(invalid)?);
    let grid = grid_of(&shape, is_complex)?;
    let made = reconstruct(&family, &theta, grid, &[0.0], Solver::default(), stop);
    functions.raise()?;
    let made = made.map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
    let missed = (!made.solved.outcome.is_success()).then(|| made.solved.outcome.to_string());
    let error = made.solved.error.value();
    Ok((PyArray1::from_vec(py, made.x), error, missed))
}
