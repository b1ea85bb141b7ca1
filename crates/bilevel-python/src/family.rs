//! The input of a family and the pairs, from the arguments of Python.

use bilevel::{FamilyInput, FamilyKind, Pair, Spec};
use imaging::{Grid, KernelShape, Mask};
use numpy::{PyReadonlyArray1, PyReadonlyArrayDyn, PyUntypedArrayMethods};
use pyo3::prelude::*;

use crate::directory::{OperatorArray, OperatorArrays};
use crate::invalid;

/// The kernel of deblurring, and the mask of measured pixels.
#[derive(FromPyObject)]
pub(crate) struct Operator<'py> {
    #[pyo3(item)]
    kernel: Option<PyReadonlyArrayDyn<'py, f64>>,
    /// The name of the kernel, if it has one.
    #[pyo3(item)]
    shape: Option<String>,
    #[pyo3(item)]
    mask: Option<PyReadonlyArrayDyn<'py, bool>>,
}

/// The shape of a kernel with this name.
pub(crate) fn kernel_shape(name: &str) -> PyResult<KernelShape> {
    name.parse().map_err(invalid)
}

impl Operator<'_> {
    /// Returns the input of a family for images of this shape.
    pub(crate) fn input(&self, task: FamilyKind, shape: &[usize]) -> PyResult<FamilyInput> {
        Ok(match (task, &self.kernel, &self.mask) {
            (FamilyKind::Sampling, ..) => FamilyInput::Frequencies(shape.iter().product()),
            (FamilyKind::Deblur, Some(kernel), _) => match &self.shape {
                Some(name) => FamilyInput::Shape(kernel_shape(name)?),
                None => FamilyInput::Kernel {
                    values: kernel.as_slice()?.to_vec(),
                    grid: real_grid(kernel.shape())?,
                },
            },
            (FamilyKind::Inpaint, _, Some(mask)) => {
                let measured = mask.as_slice()?.to_vec();
                let mask = Mask::new(real_grid(mask.shape())?, measured);
                FamilyInput::Mask(mask.map_err(invalid)?)
            }
            _ => FamilyInput::None,
        })
    }

    /// Returns the kernel and the mask as arrays of numbers.
    pub(crate) fn arrays(&self) -> PyResult<OperatorArrays> {
        let kernel = (self.kernel.as_ref()).map(|kernel| {
            Ok::<_, PyErr>(OperatorArray {
                values: kernel.as_slice()?.to_vec(),
                shape: kernel.shape().to_vec(),
            })
        });
        let mask = (self.mask.as_ref()).map(|mask| {
            Ok::<_, PyErr>(OperatorArray {
                values: mask.as_slice()?.iter().copied().map(f64::from).collect(),
                shape: mask.shape().to_vec(),
            })
        });
        Ok(OperatorArrays {
            kernel: kernel.transpose()?,
            name: self.shape.clone(),
            mask: mask.transpose()?,
        })
    }
}

/// Returns the grid of an image with this shape: with three axes, a picture in colour if the model
/// is for colours, and otherwise a volume.
pub(crate) fn grid(spec: &Spec, shape: &[usize]) -> PyResult<Grid> {
    match *shape {
        [slices, rows, cols] if !spec.model.colour => Ok(Grid::volume(slices, rows, cols)),
        _ => grid_of(shape, spec.task == FamilyKind::Sampling),
    }
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
pub(crate) fn pairs(spec: &Spec, examples: &[Example<'_>]) -> PyResult<Vec<Pair>> {
    let pair = |(truth, data, shape): &Example<'_>| {
        Ok(Pair {
            grid: grid(spec, shape)?,
            truth: truth.as_slice()?.to_vec(),
            data: data.as_slice()?.to_vec(),
        })
    };
    examples.iter().map(pair).collect()
}
