use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use imaging::{
    Blur, BlurBoundary, Differences, Grid, Kernel, LinearOperator, ModelError, SmoothedTv,
    Variational, VariationalScratch, Weights, Window,
};

use super::FamilyKind;
use super::tv::TvDerivatives;
use super::{ImageData, TvChoices};
use crate::criterion::Forward;
use crate::derivatives::Derivatives;
use crate::error::BoxError;
use crate::lower::LowerLevel;
use crate::parameter::Parameter;

/// The family of deblurring problems with a known kernel `$h$`, with the objective
/// `$\frac12\|C(h * x) - y\|^2 + \alpha\operatorname{TV}_\nu(x) + \frac{\xi}{2}\|x\|^2$`.
///
/// With [`BlurBoundary::Unknown`], the unknown `$x$` is larger than the data `$y$` by the size of
/// the kernel, and `$C$` is the crop to the measured pixels. The image, whose distance from the
/// truth is the loss, is this part of the unknown. With [`BlurBoundary::Periodic`], nothing is
/// cropped.
#[derive(Debug)]
pub struct TvDeblurring {
    choices: TvChoices,
    kernel: Kernel,
    boundary: BlurBoundary,
    blurs: Blurs,
}

/// One blur for each size of image, created at its first use.
#[derive(Debug, Default)]
pub(super) struct Blurs(Mutex<HashMap<Grid, Arc<Blur>>>);

impl Blurs {
    /// Returns the blur of images on `grid`.
    pub(super) fn get(
        &self,
        grid: Grid,
        kernel: &Kernel,
        boundary: BlurBoundary,
    ) -> Result<Arc<Blur>, ModelError> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(blur) = known.get(&grid) {
            return Ok(Arc::clone(blur));
        }
        let blur = Arc::new(Blur::new(grid, kernel, boundary)?);
        known.insert(grid, Arc::clone(&blur));
        Ok(blur)
    }
}

impl TvDeblurring {
    /// Creates the family for a blur by `kernel`.
    #[must_use]
    pub fn new(choices: TvChoices, kernel: Kernel, boundary: BlurBoundary) -> Self {
        Self {
            choices,
            kernel,
            boundary,
            blurs: Blurs::default(),
        }
    }

    /// The kernel.
    #[must_use]
    pub const fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// What lies beyond the borders of pictures.
    #[must_use]
    pub const fn boundary(&self) -> BlurBoundary {
        self.boundary
    }

    /// Returns the blur of images on `grid`.
    ///
    /// # Errors
    /// When the kernel is larger than the image, or has another number of axes.
    pub fn blur(&self, grid: Grid) -> Result<Arc<Blur>, ModelError> {
        self.blurs.get(grid, &self.kernel, self.boundary)
    }
}

/// A blurred image, checked, with its blur.
#[derive(Clone, Debug)]
pub struct BlurredData {
    pub(super) blur: Arc<Blur>,
    pub(super) image: ImageData,
}

impl BlurredData {
    /// Overwrites `x` with the data, continued around them by their edge.
    pub(super) fn start(&self, x: &mut [f64]) {
        self.blur.window().extend(self.image.values.values(), x);
    }
}

/// The differences on the grid of the unknown. Beyond a picture with unknown surroundings nothing
/// is known either, so no difference may cross its border.
fn differences(blur: &Blur) -> Differences {
    if blur.window().is_whole() {
        Differences::of_paper(blur.domain())
    } else {
        Differences::IMAGE_OF_PAPER
    }
}

impl LowerLevel for TvDeblurring {
    type Data = BlurredData;
    type Scratch = VariationalScratch<<Blur as LinearOperator>::Scratch>;
    type Objective<'a> = Variational<'a, &'a Blur, SmoothedTv>;

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
            differences(&data.blur),
            self.choices.at(values),
        )?)
    }

    /// Starts at the data, continued by their edge.
    fn cold_start(&self, data: &BlurredData, x: &mut [f64]) {
        data.start(x);
    }

    fn window(&self, grid: Grid) -> Window {
        let window = Blur::window_of(grid, &self.kernel, self.boundary);
        window.unwrap_or_else(|_| Window::whole(grid)) // `prepare` refuses this grid
    }

    fn derivatives<'a, 'b>(
        &'a self,
        _values: &'a [f64],
        objective: &'a Self::Objective<'b>,
    ) -> Option<Box<dyn Derivatives<Self::Scratch> + 'a>>
    where
        Self: 'b,
    {
        Some(Box::new(TvDerivatives {
            choices: self.choices,
            objective,
        }))
    }

    fn forward<'a>(&'a self, _values: &[f64], data: &'a BlurredData) -> Option<Forward<'a>> {
        Some(Forward::operator(&*data.blur))
    }

    fn kind(&self) -> Option<FamilyKind> {
        Some(FamilyKind::Deblur)
    }
}
