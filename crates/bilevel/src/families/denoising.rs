use imaging::{Denoising, DenoisingScratch, Grid};

use super::FamilyKind;
use super::tv::TvDerivatives;
use super::{ImageData, TvChoices};
use crate::criterion::Forward;
use crate::derivatives::Derivatives;
use crate::error::BoxError;
use crate::lower::LowerLevel;
use crate::parameter::Parameter;

/// The family of denoising problems for real signals and pictures, with the objective
/// `$\frac12\|x - y\|^2 + \alpha\operatorname{TV}_\nu(x) + \frac{\xi}{2}\|x\|^2$`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TvDenoising {
    /// The parameters that are learned and those that are fixed.
    pub choices: TvChoices,
}

impl LowerLevel for TvDenoising {
    type Data = ImageData;
    type Scratch = DenoisingScratch;
    type Objective<'a> = Denoising<'a>;

    fn parameters(&self) -> Vec<Parameter> {
        self.choices.parameters()
    }

    fn prepare(&self, grid: Grid, data: &[f64]) -> Result<ImageData, BoxError> {
        ImageData::new(grid, data)
    }

    fn objective<'a>(
        &'a self,
        values: &[f64],
        data: &'a ImageData,
    ) -> Result<Denoising<'a>, BoxError> {
        let parameters = self.choices.at(values);
        Ok(Denoising::new(data.grid, &data.values, parameters)?)
    }

    /// Starts at the data.
    fn cold_start(&self, data: &ImageData, x: &mut [f64]) {
        x.copy_from_slice(data.values.values());
    }

    fn derivatives<'a, 'b>(
        &'a self,
        _values: &'a [f64],
        objective: &'a Denoising<'b>,
    ) -> Option<Box<dyn Derivatives<DenoisingScratch> + 'a>>
    where
        Self: 'b,
    {
        Some(Box::new(TvDerivatives {
            choices: self.choices,
            objective,
        }))
    }

    fn forward<'a>(&'a self, _values: &[f64], _data: &'a ImageData) -> Option<Forward<'a>> {
        Some(Forward::identity())
    }

    fn kind(&self) -> Option<FamilyKind> {
        Some(FamilyKind::Denoise)
    }
}
