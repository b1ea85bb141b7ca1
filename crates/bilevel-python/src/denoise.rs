//! Denoising with learned filter banks, and the estimate of the noise.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use imaging::{
    DenoiseError, ErrorBound, Grid, Region, TilesError, Tiling, denoise, denoise_by_tiles,
    denoise_colour, denoise_colour_by_tiles, noise,
};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use rayon::prelude::*;

use crate::invalid;

/// The time between two checks for signals.
const SIGNALS: Duration = Duration::from_millis(50);

/// The denoised planes, their certified error, and the number of iterations.
type Made = (Vec<f64>, f64, u64);

/// Denoises a picture that is one plane, or one for each of red, green and blue, at once or by
/// tiles. A signal that
/// Python turns into an exception ends the call at once. The work in another thread is then
/// abandoned.
#[pyfunction]
pub(crate) fn denoise_picture<'py>(
    py: Python<'py>,
    planes: PyReadonlyArray1<'py, f64>,
    rows: usize,
    cols: usize,
    noise: f64,
    accuracy: Option<f64>,
    by_tiles: bool,
) -> PyResult<(Bound<'py, PyArray1<f64>>, f64, u64)> {
    let planes = planes.as_slice()?.to_vec();
    let target = accuracy.map(ErrorBound::new).transpose();
    let target = target.map_err(invalid)?;
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        // nobody receives the result of an interrupted call
        let _ = sender.send(match by_tiles {
            true => large(&planes, rows, cols, noise, target),
            false => made(&planes, rows, cols, noise, target).map_err(TilesError::Region),
        });
    });
    let received = py.detach(move || {
        loop {
            match receiver.recv_timeout(SIGNALS) {
                Err(RecvTimeoutError::Timeout) => Python::attach(|py| py.check_signals())?,
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(PyRuntimeError::new_err("the denoiser has failed"));
                }
                Ok(made) => return Ok(made),
            }
        }
    });
    let (x, error, iterations) = received?.map_err(|error| match error {
        TilesError::Model(error) | TilesError::Region(DenoiseError::Model(error)) => invalid(error),
        TilesError::Region(DenoiseError::Unreached(_)) => PyRuntimeError::new_err(
            "the accuracy cannot be reached, because of rounding: pass a larger one, such as \
             accuracy=1e-6",
        ),
        error => PyRuntimeError::new_err(error.to_string()),
    })?;
    Ok((PyArray1::from_vec(py, x), error, iterations))
}

fn made(
    planes: &[f64],
    rows: usize,
    cols: usize,
    noise: f64,
    target: Option<ErrorBound>,
) -> Result<Made, DenoiseError> {
    let grid = Grid::image(rows, cols);
    match channels(planes, rows * cols) {
        Some(channels) => {
            let made = denoise_colour(grid, channels, noise, target)?;
            let iterations = made.solved.iter().map(|solved| solved.iterations).sum();
            Ok((made.channels.concat(), made.error.value(), iterations))
        }
        None => {
            let made = denoise(grid, planes, noise, target)?;
            Ok((made.x, made.solved.error.value(), made.solved.iterations))
        }
    }
}

/// Denoises by tiles.
fn large(
    planes: &[f64],
    rows: usize,
    cols: usize,
    noise: f64,
    target: Option<ErrorBound>,
) -> Result<Made, TilesError<DenoiseError>> {
    let grid = Grid::image(rows, cols);
    let tiling = Tiling::default();
    let len = rows * cols;
    let region = |region: &Region, channel: usize, data: &mut Vec<f64>| {
        for row in region.rows.clone() {
            data.extend(&planes[channel * len + row * cols..][region.cols.clone()]);
        }
    };
    let for_each = |count: usize, run: &(dyn Fn(usize) + Sync)| {
        (0..count).into_par_iter().with_max_len(1).for_each(run);
    };
    if channels(planes, len).is_some() {
        let made = denoise_colour_by_tiles(grid, &region, noise, target, tiling, &for_each)?;
        let x = made.channels.concat();
        let iterations = made.iterations + made.sweeps;
        return Ok((to_double(x), made.error.value(), iterations));
    }
    let data = |part: &Region, data: &mut Vec<f64>| region(part, 0, data);
    let made = denoise_by_tiles(grid, &data, noise, target, tiling, &for_each)?;
    let iterations = made.iterations + made.sweeps;
    Ok((to_double(made.x), made.error.value(), iterations))
}

fn to_double(values: Vec<f32>) -> Vec<f64> {
    values.into_iter().map(f64::from).collect()
}

/// Estimates the standard deviation of the noise in a picture of one plane or three.
#[pyfunction]
pub(crate) fn estimate_noise(
    py: Python<'_>,
    planes: PyReadonlyArray1<'_, f64>,
    rows: usize,
    cols: usize,
) -> PyResult<f64> {
    let planes = planes.as_slice()?;
    let grid = Grid::image(rows, cols);
    let estimated = py.detach(|| match channels(planes, rows * cols) {
        Some(channels) => noise::estimate_colour(grid, channels),
        None => noise::estimate(grid, planes),
    });
    estimated.map_err(invalid)
}

/// Splits three planes of `len` samples.
fn channels(planes: &[f64], len: usize) -> Option<[&[f64]; 3]> {
    if len == 0 || planes.len() != 3 * len {
        return None;
    }
    Some([&planes[..len], &planes[len..2 * len], &planes[2 * len..]])
}
