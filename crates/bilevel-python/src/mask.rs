//! Masks for magnetic resonance imaging.

use std::ops::ControlFlow;

use bilevel::{FrequencyZero, Kspace, MaskError, MaskOutcome, MaskProgress, MaskSpec, MaskStudy};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::invalid;

/// Complex numbers with alternating parts, and the shape of their array.
type Complex<'py> = (PyReadonlyArray1<'py, f64>, Vec<usize>);

fn frequencies(
    (values, shape): &Complex<'_>,
    maps: Option<&Complex<'_>>,
    zero: Option<&str>,
) -> PyResult<Kspace> {
    let zero = zero.map(|zero| match zero {
        "middle" => FrequencyZero::Middle,
        _ => FrequencyZero::First,
    });
    let maps = match maps {
        Some((maps, shape)) => Some((&shape[..], maps.as_slice()?)),
        None => None,
    };
    Kspace::new(shape, values.as_slice()?, maps, zero).map_err(invalid)
}

/// Learns a mask. `observe` gets the number of masks, the size of the current one, that of the
/// complete one, and the upper bound of the objective. A signal ends learning with the best mask so
/// far. Returns the outcome as JSON.
#[pyfunction]
pub(crate) fn learn_mask(
    py: Python<'_>,
    kspace: Complex<'_>,
    maps: Option<Complex<'_>>,
    zero: Option<&str>,
    spec: &str,
    observe: Py<PyAny>,
) -> PyResult<String> {
    let spec: MaskSpec = serde_json::from_str(spec).map_err(invalid)?;
    let kspace = frequencies(&kspace, maps.as_ref(), zero)?;
    let mut failure: Option<PyErr> = None;
    let learned = py.detach(|| {
        let mut study = MaskStudy::new(&kspace, &spec)?;
        let full_size = study.size();
        study.learn(|progress: MaskProgress<'_>| {
            let size = progress.set.iter().filter(|&&entry| entry).count();
            let seen = Python::attach(|py| {
                let event = (
                    progress.evaluations,
                    size,
                    full_size,
                    progress.interval.upper,
                );
                observe.call1(py, event)?;
                py.check_signals()
            });
            match seen {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => {
                    failure = Some(error);
                    ControlFlow::Break(())
                }
            }
        })
    });
    if let Some(error) = failure
        && !error.is_instance_of::<pyo3::exceptions::PyKeyboardInterrupt>(py)
    {
        return Err(error);
    }
    let outcome = learned.map_err(raised)?;
    serde_json::to_string(&outcome).map_err(|error| PyRuntimeError::new_err(error.to_string()))
}

/// Pictures one after the other, their certified errors, the number of iterations, and whether all
/// reached the requested accuracy.
type Reconstructed<'py> = (Bound<'py, PyArray1<f64>>, Vec<f64>, u64, bool);

/// Reconstructs slices with an outcome that is given as JSON.
#[pyfunction]
pub(crate) fn reconstruct_masked<'py>(
    py: Python<'py>,
    outcome: &str,
    kspace: Complex<'py>,
    maps: Option<Complex<'py>>,
    zero: Option<&str>,
    accuracy: f64,
) -> PyResult<Reconstructed<'py>> {
    let outcome: MaskOutcome = serde_json::from_str(outcome).map_err(invalid)?;
    let kspace = frequencies(&kspace, maps.as_ref(), zero)?;
    let made = py.detach(|| outcome.mask().reconstruct(&kspace, accuracy));
    let made = made.map_err(raised)?;
    let pictures = made.iter();
    let pictures =
        pictures.flat_map(|made| (kspace.zero()).from_first(kspace.shape(), 2, &made.picture));
    let pictures = PyArray1::from_vec(py, pictures.collect());
    let errors = made.iter().map(|made| made.error).collect();
    let iterations = made.iter().map(|made| made.iterations).sum();
    let reached = made.iter().all(|made| made.reached);
    Ok((pictures, errors, iterations, reached))
}

/// Returns the mask of an outcome, one number for each frequency in the order of the array that it
/// was learned from, and the findings.
#[pyfunction]
pub(crate) fn describe_mask<'py>(
    py: Python<'py>,
    outcome: &str,
) -> PyResult<(Bound<'py, PyArray1<f64>>, Vec<String>)> {
    let outcome: MaskOutcome = serde_json::from_str(outcome).map_err(invalid)?;
    let weights = outcome.mask().weights(outcome.shape).map_err(invalid)?;
    let weights = (outcome.frequency_zero).from_first(outcome.shape, 1, &weights);
    Ok((PyArray1::from_vec(py, weights), outcome.findings()))
}

/// The exception for an error.
fn raised(error: MaskError) -> PyErr {
    match error {
        MaskError::Failed(error) => PyRuntimeError::new_err(error.to_string()),
        error => invalid(error),
    }
}
