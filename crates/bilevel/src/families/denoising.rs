use imaging::{Denoising, Grid};

use super::TvChoices;
use crate::error::ModelFailure;
use crate::lower::LowerLevel;
use crate::parameter::Parameter;
use crate::spec::FamilyKind;

/// Denoising of real signals and pictures: `$\frac12\|x - y\|^2 + \alpha\operatorname{TV}_\nu(x) + \frac{\xi}{2}\|x\|^2$`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TvDenoising {
    /// What is learned.
    pub choices: TvChoices,
}

impl LowerLevel for TvDenoising {
    type Objective<'a> = Denoising<'a>;

    fn parameters(&self) -> Vec<Parameter> {
        self.choices.parameters()
    }

    fn objective<'a>(
        &'a self,
        values: &[f64],
        grid: Grid,
        data: &'a [f64],
    ) -> Result<Denoising<'a>, ModelFailure> {
        Ok(Denoising::new(grid, data, self.choices.at(values))?)
    }

    /// The data.
    fn first_guess(&self, _: Grid, data: &[f64], x: &mut [f64]) {
        x.copy_from_slice(data);
    }

    fn kind(&self) -> Option<FamilyKind> {
        Some(FamilyKind::Denoise)
    }
}
