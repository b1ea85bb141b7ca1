//! The blur of a family: a fixed kernel, or one whose width is learned.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use imaging::{
    Blur, BlurBoundary, Grid, Kernel, KernelShape, ModelError, OperatorSlope, VariableKernel,
    Window,
};

use super::Choice;
use crate::parameter::Parameter;

/// The derivative of a blur with respect to its width; `None` if it is zero.
type BlurSlope = Option<OperatorSlope<Arc<Blur>>>;

/// A blur for images of any size, with one operator for each size, created at its first use.
#[derive(Debug)]
pub(super) struct FamilyBlur {
    /// The kernel, with the width at which learning starts.
    kernel: Kernel,
    boundary: BlurBoundary,
    width: Option<LearnedWidth>,
    /// For each size of image, the last width and the blur with that width.
    known: Mutex<HashMap<Grid, Known>>,
}

#[derive(Debug)]
struct LearnedWidth {
    kernel: VariableKernel,
    /// The exponent, and its bounds.
    parameter: Parameter,
}

#[derive(Debug)]
struct Known {
    width: Option<f64>,
    blur: Arc<Blur>,
    slope: Option<BlurSlope>,
}

impl FamilyBlur {
    pub(super) fn new(kernel: Kernel, boundary: BlurBoundary) -> Self {
        Self {
            kernel,
            boundary,
            width: None,
            known: Mutex::default(),
        }
    }

    /// A blur whose width is learned, or fixed.
    pub(super) fn of_width(
        shape: KernelShape,
        width: Choice,
        boundary: BlurBoundary,
    ) -> Result<Self, ModelError> {
        let (start, lower, upper) = match width {
            Choice::Fixed(width) => {
                let kernel = VariableKernel::new(shape, width)?.at(width)?;
                return Ok(Self::new(kernel, boundary));
            }
            Choice::Learned {
                start,
                lower,
                upper,
            } => (start, lower, upper),
        };
        // a power of ten may be rounded up
        let largest = 10_f64.powf(upper) * (1.0 + 1e-12);
        let kernel = VariableKernel::new(shape, largest)?;
        kernel.at(10_f64.powf(lower))?;
        Ok(Self {
            kernel: kernel.at(10_f64.powf(start))?,
            boundary,
            width: Some(LearnedWidth {
                kernel,
                parameter: Parameter::log10("width", start, lower, upper),
            }),
            known: Mutex::default(),
        })
    }

    pub(super) const fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    pub(super) const fn boundary(&self) -> BlurBoundary {
        self.boundary
    }

    /// The parameter of the width, if it is learned.
    pub(super) fn parameter(&self) -> Option<&Parameter> {
        self.width.as_ref().map(|width| &width.parameter)
    }

    /// Splits the values of all parameters into those of the regulariser and the width.
    pub(super) fn split<'v>(&self, values: &'v [f64]) -> (&'v [f64], Option<f64>) {
        match (&self.width, values) {
            (Some(_), [others @ .., width]) => (others, Some(*width)),
            _ => (values, None),
        }
    }

    pub(super) fn window(&self, grid: Grid) -> Result<Window, ModelError> {
        Blur::window_of(grid, &self.kernel, self.boundary)
    }

    /// Calls `with` with what is known of the blur of images on `grid` with a given width.
    fn with<T>(
        &self,
        grid: Grid,
        width: Option<f64>,
        with: impl FnOnce(&mut Known) -> Result<T, ModelError>,
    ) -> Result<T, ModelError> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.get_mut(&grid).filter(|known| known.width == width) {
            return with(known);
        }
        let blur = match (&self.width, width) {
            (Some(learned), Some(width)) => {
                Blur::new(grid, &learned.kernel.at(width)?, self.boundary)?
            }
            _ => Blur::new(grid, &self.kernel, self.boundary)?,
        };
        let mut new = Known {
            width,
            blur: Arc::new(blur),
            slope: None,
        };
        let made = with(&mut new);
        known.insert(grid, new);
        made
    }

    /// Returns the blur of images on `grid`, with the width at which learning starts if there is no
    /// other.
    pub(super) fn at(&self, grid: Grid, width: Option<f64>) -> Result<Arc<Blur>, ModelError> {
        self.with(grid, width, |known| Ok(Arc::clone(&known.blur)))
    }

    /// Returns the derivative of the blur of images on `grid` with respect to its width.
    pub(super) fn slope(&self, grid: Grid, width: f64) -> Result<BlurSlope, ModelError> {
        let Some(learned) = &self.width else {
            return Ok(None);
        };
        self.with(grid, Some(width), |known| {
            if let Some(slope) = &known.slope {
                return Ok(slope.clone());
            }
            let slope = learned.kernel.slope(width)?;
            let is_zero = slope.values.iter().all(|value| *value == 0.0);
            let made = if is_zero {
                None
            } else {
                let kernel = Kernel::new(slope.values, learned.kernel.grid())?;
                Some(OperatorSlope {
                    operator: Arc::new(Blur::new(grid, &kernel, self.boundary)?),
                    error: slope.error,
                })
            };
            known.slope = Some(made.clone());
            Ok(made)
        })
    }
}
