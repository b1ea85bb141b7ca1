//! Test images, noise, and scores.

use imaging::{Grid, Patch, Seed, noise, phantom, quality};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::invalid;

type Array<'py> = Bound<'py, PyArray1<f64>>;

/// Generates box functions, one after the other in one array.
#[pyfunction]
pub(crate) fn box_functions(
    py: Python<'_>,
    count: usize,
    num_samples: usize,
    seed: u64,
) -> PyResult<Array<'_>> {
    let one = |index| phantom::box_function(num_samples, Seed::new(seed), index);
    let made = py.detach(|| (0..count).map(one).collect::<Result<Vec<_>, _>>());
    Ok(PyArray1::from_vec(py, made.map_err(invalid)?.concat()))
}

/// Generates pictures of dead leaves, grey or in colour, or volumes, one after the other in one
/// array.
#[pyfunction]
pub(crate) fn dead_leaves(
    py: Python<'_>,
    count: usize,
    shape: Vec<usize>,
    seed: u64,
    is_colour: bool,
) -> PyResult<Array<'_>> {
    let one = |index| match (&shape[..], is_colour) {
        (&[rows, cols], true) => phantom::dead_leaves_in_colour(rows, cols, Seed::new(seed), index),
        (&[rows, cols], false) => phantom::dead_leaves(rows, cols, Seed::new(seed), index),
        (shape, _) => {
            let shape = shape.try_into().unwrap_or_default();
            phantom::dead_leaves_volume(shape, Seed::new(seed), index)
        }
    };
    let made = py.detach(|| (0..count).map(one).collect::<Result<Vec<_>, _>>());
    Ok(PyArray1::from_vec(py, made.map_err(invalid)?.concat()))
}

/// Generates random complex heads, one after the other in one array.
#[pyfunction]
pub(crate) fn heads(
    py: Python<'_>,
    count: usize,
    rows: usize,
    cols: usize,
    seed: u64,
) -> PyResult<Array<'_>> {
    let one = |index| phantom::head(rows, cols, Seed::new(seed), index);
    let made = py.detach(|| (0..count).map(one).collect::<Result<Vec<_>, _>>());
    Ok(PyArray1::from_vec(py, made.map_err(invalid)?.concat()))
}

/// Generates the Shepp-Logan phantom.
#[pyfunction]
pub(crate) fn shepp_logan(py: Python<'_>, rows: usize, cols: usize) -> PyResult<Array<'_>> {
    let made = phantom::shepp_logan(rows, cols).map_err(invalid)?;
    Ok(PyArray1::from_vec(py, made))
}

/// Draws patches of picture number `index`. Returns the first row and the first column of each, or
/// `None` if the picture has no more than one position for a patch.
#[pyfunction]
pub(crate) fn patches(
    rows: usize,
    cols: usize,
    size: usize,
    count: usize,
    seed: u64,
    index: usize,
) -> Option<Vec<(usize, usize)>> {
    let drawn = Patch::draw(Grid::image(rows, cols), size, count, Seed::new(seed), index)?;
    Some(drawn.iter().map(|patch| (patch.row, patch.col)).collect())
}

/// Adds noise to image number `index`; a complex number has two entries.
#[pyfunction]
pub(crate) fn add_noise<'py>(
    py: Python<'py>,
    x: PyReadonlyArray1<'py, f64>,
    is_complex: bool,
    sigma: f64,
    seed: u64,
    index: usize,
) -> PyResult<Array<'py>> {
    let (x, seed) = (x.as_slice()?, Seed::new(seed));
    let made = py.detach(|| match is_complex {
        true => noise::complex_gaussian(x, sigma, seed, index),
        false => noise::gaussian(x, sigma, seed, index),
    });
    Ok(PyArray1::from_vec(py, made.map_err(invalid)?))
}

/// Returns the mean squared error.
#[pyfunction]
pub(crate) fn mse(x: PyReadonlyArray1<'_, f64>, truth: PyReadonlyArray1<'_, f64>) -> PyResult<f64> {
    quality::mse(x.as_slice()?, truth.as_slice()?).map_err(invalid)
}

/// Returns the peak signal-to-noise ratio.
#[pyfunction]
pub(crate) fn psnr(
    x: PyReadonlyArray1<'_, f64>,
    truth: PyReadonlyArray1<'_, f64>,
    peak: f64,
) -> PyResult<f64> {
    quality::psnr(x.as_slice()?, truth.as_slice()?, peak).map_err(invalid)
}

/// Returns the structural similarity.
#[pyfunction]
pub(crate) fn ssim<'py>(
    py: Python<'py>,
    x: PyReadonlyArray1<'py, f64>,
    truth: PyReadonlyArray1<'py, f64>,
    rows: usize,
    cols: usize,
    peak: f64,
) -> PyResult<f64> {
    let (x, truth) = (x.as_slice()?, truth.as_slice()?);
    py.detach(|| quality::ssim(x, truth, rows, cols, peak))
        .map_err(invalid)
}
