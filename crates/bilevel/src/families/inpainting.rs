use imaging::{
    Differences, Grid, LinearOperator, Mask, ModelError, SmoothedTv, Variational, Weights,
};

use super::TvChoices;
use crate::error::ModelFailure;
use crate::lower::LowerLevel;
use crate::parameter::Parameter;
use crate::spec::FamilyKind;

/// Inpainting: only the samples of a mask were measured,
/// `$\frac12\|Mx - y\|^2 + \alpha\operatorname{TV}_\nu(x) + \frac{\xi}{2}\|x\|^2$`.
///
/// In the data, put zero (or any number) where nothing was measured, not NaN. All images have the size of the mask.
#[derive(Clone, Debug)]
pub struct TvInpainting {
    /// What is learned.
    pub choices: TvChoices,
    /// What was measured.
    pub mask: Mask,
}

impl LowerLevel for TvInpainting {
    type Objective<'a> = Variational<'a, &'a Mask, SmoothedTv>;

    fn parameters(&self) -> Vec<Parameter> {
        self.choices.parameters()
    }

    fn objective<'a>(
        &'a self,
        values: &[f64],
        grid: Grid,
        data: &'a [f64],
    ) -> Result<Self::Objective<'a>, ModelFailure> {
        if grid != self.mask.domain() {
            return Err(Box::new(ModelError::WrongGrid {
                name: "the grid of an image",
                needed: "that of the mask",
            }));
        }
        Ok(Variational::tv(
            &self.mask,
            data,
            Weights::Uniform,
            Differences::of_paper(grid),
            self.choices.at(values),
        )?)
    }

    /// The data.
    fn first_guess(&self, _: Grid, data: &[f64], x: &mut [f64]) {
        x.copy_from_slice(data);
    }

    fn kind(&self) -> Option<FamilyKind> {
        Some(FamilyKind::Inpaint)
    }
}
