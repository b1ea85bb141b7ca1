//! Cameras that count photons.

use imaging::Seed;
use imaging::noise::{self, Anscombe};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::invalid;

/// A camera as Python passes it: gain, read noise and black level.
pub(crate) type Camera = (f64, f64, f64);

/// Returns the transform of a camera.
pub(crate) fn anscombe((gain, read, black): Camera) -> PyResult<Anscombe> {
    let camera = Anscombe::new(gain, read).map_err(invalid)?;
    camera.with_black(black).map_err(invalid)
}

/// Applies one of the maps of a camera: `transform`, `expected` or `inverse`.
#[pyfunction]
pub(crate) fn camera_map<'py>(
    py: Python<'py>,
    camera: Camera,
    name: &str,
    values: PyReadonlyArray1<'py, f64>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let (camera, values) = (anscombe(camera)?, values.as_slice()?);
    let made = py.detach(|| match name {
        "transform" => Ok(camera.transform(values)),
        "expected" => Ok(camera.expected(values)),
        "inverse" => Ok(camera.inverse(values)),
        other => Err(format!("a camera has no map {other}")),
    });
    Ok(PyArray1::from_vec(py, made.map_err(invalid)?))
}

/// Returns the standard deviations of the noise in transformed data, and in data of the value that
/// is 1 above black.
#[pyfunction]
pub(crate) fn camera_noise(camera: Camera) -> PyResult<(f64, f64)> {
    let camera = anscombe(camera)?;
    Ok((camera.sigma(), camera.noise_at(camera.black() + 1.0)))
}

/// Estimates gain and read noise from frames of one scene.
#[pyfunction]
pub(crate) fn estimate_camera(
    py: Python<'_>,
    frames: Vec<PyReadonlyArray1<'_, f64>>,
) -> PyResult<(f64, f64)> {
    let frames: Result<Vec<&[f64]>, _> = frames.iter().map(|frame| frame.as_slice()).collect();
    let frames = frames?;
    let camera = py.detach(|| Anscombe::estimate(&frames)).map_err(invalid)?;
    Ok((camera.gain(), camera.read()))
}

/// Simulates a camera on image number `index`.
#[pyfunction]
pub(crate) fn add_photons<'py>(
    py: Python<'py>,
    x: PyReadonlyArray1<'py, f64>,
    camera: Camera,
    seed: u64,
    index: usize,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let (camera, x) = (anscombe(camera)?, x.as_slice()?);
    let made = py.detach(|| noise::poisson(x, &camera, Seed::new(seed), index));
    Ok(PyArray1::from_vec(py, made.map_err(invalid)?))
}
