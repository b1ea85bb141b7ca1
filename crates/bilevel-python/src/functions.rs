//! A family whose functions are written in Python: gradient, curvature, and optionally Hessian
//! products and mixed products.
//!
//! Python is called on the thread that has called Rust, one function at a time. An exception makes
//! the numbers of its call NaN, which ends the evaluation, and is raised after it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bilevel::{BoxError, Derivatives, LowerLevel, Parameter, reconstruct};
use imaging::Grid;
use lowlevel::adjoint::MixedBound;
use lowlevel::{
    Curvature, ErrorBound, FnObjective, SecondOrder, Solver, Stop, StronglyConvex,
    TwiceDifferentiable, UNIT_ROUNDOFF,
};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::family::grid_of;
use crate::invalid;

/// The Python object with all functions, and its first exception.
pub(crate) struct Functions {
    /// Its methods take and return flat arrays, and check the user's answers.
    object: Py<PyAny>,
    /// The class of the exception that refuses parameters.
    reject: Py<PyAny>,
    has_derivatives: bool,
    has_bounds: bool,
    failure: Mutex<Option<PyErr>>,
}

impl Functions {
    pub(crate) fn new(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self {
            has_derivatives: object.getattr("has_derivatives")?.extract()?,
            has_bounds: object.getattr("has_bounds")?.extract()?,
            reject: object.getattr("reject")?.unbind(),
            object: object.clone().unbind(),
            failure: Mutex::new(None),
        })
    }

    pub(crate) fn failure(&self) -> MutexGuard<'_, Option<PyErr>> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Raises the exception of the last evaluation, if there was one.
    pub(crate) fn raise(&self) -> PyResult<()> {
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
pub(crate) struct PythonFamily {
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) functions: Arc<Functions>,
}

/// The place of an image among all images, and its number of entries.
pub(crate) struct ImageIndex {
    index: usize,
    dim: usize,
}

/// The objective of one reconstruction.
pub(crate) struct PythonObjective<'a> {
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

    /// The rounding error of a mixed product is that of an inner product with as many terms as the
    /// image has entries, and of some operations for each term.
    fn mixed_bounds(
        &self,
        x: &[f64],
        q: &[f64],
        error: f64,
        out: &mut [MixedBound],
        _: &mut Vec<f64>,
    ) -> bool {
        if !self.functions.has_bounds {
            return false;
        }
        let asked = ("mixed_bounds", self.theta, self.index);
        let found = self.functions.call(asked, &[x, q, &[error]], |answer| {
            let (change, norm): (PyReadonlyArray1<'_, f64>, PyReadonlyArray1<'_, f64>) =
                answer.extract()?;
            Ok((change.as_slice()?.to_vec(), norm.as_slice()?.to_vec()))
        });
        let Ok((changes, norms)) = found else {
            return false;
        };
        let rounding = 2.0 * (x.len() as f64 + 32.0) * UNIT_ROUNDOFF * lowlevel::norm(q);
        for ((bound, change), norm) in out.iter_mut().zip(changes).zip(norms) {
            *bound = MixedBound::new(change + rounding * norm, norm);
        }
        true
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
