//! The input of a family and the pairs, from the arguments of Python.

use bilevel::{FamilyInput, FamilyKind, Pair};
use imaging::{Grid, Mask};
use numpy::{PyReadonlyArray1, PyReadonlyArrayDyn, PyUntypedArrayMethods};
use pyo3::prelude::*;

use crate::directory::OperatorArray;
use crate::invalid;

/// The kernel of deblurring, or the mask of inpainting.
#[derive(FromPyObject)]
pub(crate) struct Operator<'py> {
    #[pyo3(item)]
    kernel: Option<PyReadonlyArrayDyn<'py, f64>>,
    #[pyo3(item)]
    mask: Option<PyReadonlyArrayDyn<'py, bool>>,
}

impl Operator<'_> {
    /// Returns the input of a family for images of this shape.
    pub(crate) fn input(&self, task: FamilyKind, shape: &[usize]) -> PyResult<FamilyInput> {
        Ok(match (task, &self.kernel, &self.mask) {
            (FamilyKind::Sampling, ..) => FamilyInput::Frequencies(shape.iter().product()),
            (_, Some(kernel), _) => FamilyInput::Kernel {
                values: kernel.as_slice()?.to_vec(),
                grid: real_grid(kernel.shape())?,
            },
            (.., Some(mask)) => {
                let measured = mask.as_slice()?.to_vec();
                let mask = Mask::new(real_grid(mask.shape())?, measured);
                FamilyInput::Mask(mask.map_err(invalid)?)
            }
            _ => FamilyInput::None,
        })
    }
}

impl Operator<'_> {
    /// Returns the kernel or the mask as an array of numbers.
    pub(crate) fn array(&self) -> PyResult<Option<OperatorArray>> {
        Ok(match (&self.kernel, &self.mask) {
            (Some(kernel), _) => Some(OperatorArray {
                values: kernel.as_slice()?.to_vec(),
                shape: kernel.shape().to_vec(),
            }),
            (_, Some(mask)) => Some(OperatorArray {
                values: mask.as_slice()?.iter().copied().map(f64::from).collect(),
                shape: mask.shape().to_vec(),
            }),
            _ => None,
        })
    }
}

/// Returns the grid of an array with this shape.
pub(crate) fn grid(task: FamilyKind, shape: &[usize]) -> PyResult<Grid> {
    grid_of(shape, task == FamilyKind::Sampling)
}

/// Returns the grid of an array with this shape, of real or complex numbers.
pub(crate) fn grid_of(shape: &[usize], is_complex: bool) -> PyResult<Grid> {
    let grid = real_grid(shape)?;
    Ok(if is_complex { grid.complex() } else { grid })
}

fn real_grid(shape: &[usize]) -> PyResult<Grid> {
    match *shape {
        [num_samples] => Ok(Grid::line(num_samples)),
        [rows, cols] => Ok(Grid::image(rows, cols)),
        [rows, cols, 3] => Ok(Grid::image(rows, cols).colour()),
        _ => Err(invalid(
            "an image has one or two axes, and in colour a third one of length 3",
        )),
    }
}

/// The truth and the data of a pair as flat arrays, and their shape.
pub(crate) type Example<'py> = (
    PyReadonlyArray1<'py, f64>,
    PyReadonlyArray1<'py, f64>,
    Vec<usize>,
);

/// Copies arrays into pairs, which own their numbers. The arrays are not copied again.
pub(crate) fn pairs(task: FamilyKind, examples: &[Example<'_>]) -> PyResult<Vec<Pair>> {
    let pair = |(truth, data, shape): &Example<'_>| {
        Ok(Pair {
            grid: grid(task, shape)?,
            truth: truth.as_slice()?.to_vec(),
            data: data.as_slice()?.to_vec(),
        })
    };
    examples.iter().map(pair).collect()
}
