use imaging::{
    Differences, Grid, LinearOperator, Mask, ModelError, SmoothedTv, Variational,
    VariationalScratch, Weights,
};

use super::FamilyKind;
use super::tv::TvDerivatives;
use super::{ImageData, TvChoices};
use crate::criterion::Forward;
use crate::derivatives::Derivatives;
use crate::error::BoxError;
use crate::lower::LowerLevel;
use crate::parameter::Parameter;

/// The family of inpainting problems, in which only the samples of a mask `$M$` were measured, with
/// the objective
/// `$\frac12\|Mx - y\|^2 + \alpha\operatorname{TV}_\nu(x) + \frac{\xi}{2}\|x\|^2$`.
///
/// All images must have the size of the mask. Where nothing was measured, the data must be a finite
/// number, such as zero, and not NaN.
#[derive(Clone, Debug)]
pub struct TvInpainting {
    /// The parameters that are learned and those that are fixed.
    pub choices: TvChoices,
    /// The mask of measured samples.
    pub mask: Mask,
}

impl LowerLevel for TvInpainting {
    type Data = ImageData;
    type Scratch = VariationalScratch<<Mask as LinearOperator>::Scratch>;
    type Objective<'a> = Variational<'a, &'a Mask, SmoothedTv>;

    fn parameters(&self) -> Vec<Parameter> {
        self.choices.parameters()
    }

    fn prepare(&self, grid: Grid, data: &[f64]) -> Result<ImageData, BoxError> {
        if grid != self.mask.domain() {
            return Err(Box::new(ModelError::WrongGrid {
                name: "the grid of an image",
                needed: "that of the mask",
            }));
        }
        ImageData::new(grid, data)
    }

    fn objective<'a>(
        &'a self,
        values: &[f64],
        data: &'a ImageData,
    ) -> Result<Self::Objective<'a>, BoxError> {
        Ok(Variational::tv(
            &self.mask,
            &data.values,
            Weights::Uniform,
            Differences::of_paper(data.grid),
            self.choices.at(values),
        )?)
    }

    /// Starts at the data.
    fn cold_start(&self, data: &ImageData, x: &mut [f64]) {
        x.copy_from_slice(data.values.values());
    }

    fn derivatives<'a, 'b>(
        &'a self,
        _values: &'a [f64],
        objective: &'a Variational<'b, &'b Mask, SmoothedTv>,
    ) -> Option<Box<dyn Derivatives<Self::Scratch> + 'a>>
    where
        Self: 'b,
    {
        Some(Box::new(TvDerivatives {
            choices: self.choices,
            objective,
        }))
    }

    fn forward<'a>(&'a self, _values: &[f64], _data: &'a ImageData) -> Option<Forward<'a>> {
        Some(Forward::operator(&self.mask).measured(self.mask.measured()))
    }

    fn kind(&self) -> Option<FamilyKind> {
        Some(FamilyKind::Inpaint)
    }
}
