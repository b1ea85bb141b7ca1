use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use imaging::{
    Convolution, Differences, Grid, LinearOperator, ModelError, SmoothedTv, Variational,
    VariationalScratch, Weights,
};

use super::FamilyKind;
use super::tv::TvDerivatives;
use super::{ImageData, TvChoices};
use crate::derivatives::Derivatives;
use crate::error::BoxError;
use crate::lower::LowerLevel;
use crate::parameter::Parameter;

/// The family of deblurring problems with a known kernel `$h$`, with the objective
/// `$\frac12\|h * x - y\|^2 + \alpha\operatorname{TV}_\nu(x) + \frac{\xi}{2}\|x\|^2$`.
#[derive(Debug)]
pub struct TvDeblurring {
    choices: TvChoices,
    kernel: Vec<f64>,
    kernel_grid: Grid,
    /// One convolution for each size of image, created at its first use.
    convolutions: Mutex<HashMap<Grid, Arc<Convolution>>>,
}

impl TvDeblurring {
    /// Creates the family for a blur by `kernel`, which has its origin in the middle.
    ///
    /// # Errors
    /// When the kernel does not have the size of `kernel_grid` or is not finite.
    pub fn new(
        choices: TvChoices,
        kernel: Vec<f64>,
        kernel_grid: Grid,
    ) -> Result<Self, ModelError> {
        Convolution::new(kernel_grid, &kernel, kernel_grid)?;
        Ok(Self {
            choices,
            kernel,
            kernel_grid,
            convolutions: Mutex::default(),
        })
    }

    /// Returns the blur of images on `grid`.
    ///
    /// # Errors
    /// When `grid` and the grid of the kernel do not have the same number of axes.
    pub fn blur(&self, grid: Grid) -> Result<Arc<Convolution>, ModelError> {
        let mut known = (self.convolutions.lock()).unwrap_or_else(PoisonError::into_inner);
        if let Some(convolution) = known.get(&grid) {
            return Ok(Arc::clone(convolution));
        }
        let convolution = Arc::new(Convolution::new(grid, &self.kernel, self.kernel_grid)?);
        known.insert(grid, Arc::clone(&convolution));
        Ok(convolution)
    }
}

/// A blurred image, checked, with its blur.
#[derive(Clone, Debug)]
pub struct BlurredData {
    blur: Arc<Convolution>,
    image: ImageData,
}

impl LowerLevel for TvDeblurring {
    type Data = BlurredData;
    type Scratch = VariationalScratch<<Convolution as LinearOperator>::Scratch>;
    type Objective<'a> = Variational<'a, &'a Convolution, SmoothedTv>;

    fn parameters(&self) -> Vec<Parameter> {
        self.choices.parameters()
    }

    fn prepare(&self, grid: Grid, data: &[f64]) -> Result<BlurredData, BoxError> {
        Ok(BlurredData {
            blur: self.blur(grid)?,
            image: ImageData::new(grid, data)?,
        })
    }

    fn objective<'a>(
        &'a self,
        values: &[f64],
        data: &'a BlurredData,
    ) -> Result<Self::Objective<'a>, BoxError> {
        Ok(Variational::tv(
            &*data.blur,
            &data.image.values,
            Weights::Uniform,
            Differences::of_paper(data.image.grid),
            self.choices.at(values),
        )?)
    }

    /// Starts at the data.
    fn cold_start(&self, data: &BlurredData, x: &mut [f64]) {
        x.copy_from_slice(data.image.values.values());
    }

    fn derivatives<'a, 'b>(
        &'a self,
        _values: &'a [f64],
        objective: &'a Variational<'b, &'b Convolution, SmoothedTv>,
    ) -> Option<Box<dyn Derivatives<Self::Scratch> + 'a>>
    where
        Self: 'b,
    {
        Some(Box::new(TvDerivatives {
            choices: self.choices,
            objective,
        }))
    }

    fn kind(&self) -> Option<FamilyKind> {
        Some(FamilyKind::Deblur)
    }
}
