//! Kernels of blurs by name, and warnings about kernels and about blur that does not wrap around:
//! the rules of the program `bilevel`.

use bilevel::shown;
use bilevel_cli::blur_check;
use imaging::Kernel;
use numpy::{PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArrayDyn};
use numpy::{PyUntypedArrayMethods, ToPyArray};
use pyo3::prelude::*;

use crate::invalid;

/// A measured image with its name and its shape.
type Measured<'py> = (String, PyReadonlyArray1<'py, f64>, Vec<usize>);

/// Returns warnings about a kernel that was probably meant in another way.
#[pyfunction]
pub(crate) fn kernel_warnings(kernel: PyReadonlyArrayDyn<'_, f64>) -> PyResult<Vec<String>> {
    let shape = rows_and_cols(kernel.shape())?;
    Ok(blur_check::kernel_warnings(
        "the kernel",
        kernel.as_slice()?,
        shape,
    ))
}

/// Returns the kernel with this name, such as `gaussian:2`.
#[pyfunction]
pub(crate) fn named_kernel<'py>(
    py: Python<'py>,
    name: &str,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let kernel = Kernel::named(name).map_err(invalid)?;
    let (rows, cols) = kernel.grid().rows_and_cols();
    kernel.values().to_pyarray(py).reshape([rows, cols])
}

/// Returns a warning about measured images that a periodic blur by this kernel cannot explain, if
/// there are any.
#[pyfunction]
pub(crate) fn periodicity_warning(
    kernel: PyReadonlyArrayDyn<'_, f64>,
    images: Vec<Measured<'_>>,
) -> PyResult<Option<String>> {
    let kernel_shape = rows_and_cols(kernel.shape())?;
    let kernel = kernel.as_slice()?;
    let jump = |(name, image, shape): &Measured<'_>| {
        // the channels of a picture in colour come last
        let (shape, parts) = match shape[..] {
            [rows, cols, parts] => ([rows, cols], parts),
            _ => (rows_and_cols(shape)?, 1),
        };
        let image = image.as_slice()?;
        let jump = (0..parts).map(|part| {
            let plane = image.iter().skip(part).step_by(parts);
            let plane: Vec<f64> = plane.map(|value| shown(*value)).collect();
            blur_check::border_jump(&plane, shape, kernel, kernel_shape)
        });
        Ok((name.clone(), jump.fold(0.0, f64::max)))
    };
    let jumps: PyResult<Vec<_>> = images.iter().map(jump).collect();
    Ok(blur_check::periodicity_warning(&jumps?))
}

/// The rows and columns of an array; a signal is one row.
fn rows_and_cols(shape: &[usize]) -> PyResult<[usize; 2]> {
    match *shape {
        [len] => Ok([1, len]),
        [rows, cols] => Ok([rows, cols]),
        _ => Err(invalid("an image has one or two axes")),
    }
}
