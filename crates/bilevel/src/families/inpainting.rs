use imaging::{
    Differences, Grid, LinearOperator, Mask, ModelError, Variational, VariationalScratch, Weights,
};

use super::choices::Choices;
use super::deblurring::fill_missing;
use super::{ColourFamily, FamilyKind, FilterChoices, ImageData, TvChoices};
use crate::criterion::Forward;
use crate::derivatives::Derivatives;
use crate::error::BoxError;
use crate::lower::LowerLevel;
use crate::parameter::Parameter;

/// A family of inpainting problems, in which only the samples of a mask `$M$` were measured, with
/// the objective `$\frac12\|Mx - y\|^2 + R(x) + \frac{\xi}{2}\|x\|^2$`.
///
/// `$R$` is total variation ([`TvInpainting`]) or a convex filter bank ([`FilterInpainting`]). All
/// images must have the size of the mask. Where the mask says that nothing was measured, the data
/// do not matter. Samples that are NaN were not measured either.
#[derive(Clone, Debug)]
pub struct Inpainting<C> {
    /// The regulariser and its parameters.
    pub choices: C,
    /// The mask of measured samples.
    pub mask: Mask,
}

/// The family of inpainting problems with total variation, with the objective
/// `$\frac12\|Mx - y\|^2 + \alpha\operatorname{TV}_\nu(x) + \frac{\xi}{2}\|x\|^2$`.
pub type TvInpainting = Inpainting<TvChoices>;

/// The family of inpainting problems with a convex filter bank, with the objective
/// `$\frac12\|Mx - y\|^2 + \sum_k\alpha_k\sum_j\sqrt{(c_k * x)_j^2 + \nu_k^2} +
/// \frac{\xi}{2}\|x\|^2$`.
pub type FilterInpainting = Inpainting<FilterChoices>;

impl<C: Choices> ColourFamily<Inpainting<C>, Inpainting<C>> {
    /// Creates the family for pictures in colour, with the choices for luminance and chroma, and
    /// the parameters that both share.
    pub(crate) fn inpainting(
        [luminance, chroma]: [C; 2],
        mask: Mask,
        shared: &[&str],
    ) -> Result<Self, ModelError> {
        let complex = Mask::new(mask.domain().complex(), mask.measured().to_vec())?;
        let family = |choices, mask| Inpainting { choices, mask };
        let (luminance, chroma) = (family(luminance, mask), family(chroma, complex));
        Ok(Self::new(luminance, chroma, shared))
    }
}

/// An image with missing samples, checked.
#[derive(Clone, Debug)]
pub struct MaskedData {
    image: ImageData,
    /// The mask of this image, if samples are missing that the mask of the family has.
    mask: Option<Mask>,
}

impl<C: Choices> LowerLevel for Inpainting<C> {
    type Data = MaskedData;
    type Scratch = VariationalScratch<<Mask as LinearOperator>::Scratch>;
    type Objective<'a>
        = Variational<'a, &'a Mask, C::Regularizer>
    where
        Self: 'a;

    fn parameters(&self) -> Vec<Parameter> {
        self.choices.parameters()
    }

    fn prepare(&self, grid: Grid, data: &[f64]) -> Result<MaskedData, BoxError> {
        if grid != self.mask.domain() {
            return Err(Box::new(ModelError::WrongGrid {
                name: "the grid of an image",
                needed: "that of the mask",
            }));
        }
        let (mut filled, measured) = fill_missing(grid, data)?;
        let Some(mut measured) = measured else {
            let image = ImageData::new(grid, &filled)?;
            return Ok(MaskedData { image, mask: None });
        };
        for (one, of_family) in measured.iter_mut().zip(self.mask.measured()) {
            *one &= of_family;
        }
        if !measured.contains(&true) {
            return Err(Box::new(ModelError::NothingMeasured));
        }
        let mask = Mask::new(grid, measured)?;
        // the data of samples that were not measured are zero
        let data = filled.clone();
        mask.apply(&data, &mut filled, &mut ());
        Ok(MaskedData {
            image: ImageData::new(grid, &filled)?,
            mask: Some(mask),
        })
    }

    fn objective<'a>(
        &'a self,
        values: &[f64],
        data: &'a MaskedData,
    ) -> Result<Self::Objective<'a>, BoxError> {
        let image = &data.image;
        let (mask, differences) = (self.mask_of(data), Differences::of_paper(image.grid));
        let weights = Weights::Uniform;
        (self.choices).model(values, mask, &image.values, weights, differences)
    }

    /// Starts at the data.
    fn cold_start(&self, data: &MaskedData, x: &mut [f64]) {
        x.copy_from_slice(data.image.values.values());
    }

    fn takes_missing(&self) -> bool {
        true
    }

    fn derivatives<'a, 'b>(
        &'a self,
        values: &'a [f64],
        objective: &'a Self::Objective<'b>,
    ) -> Option<Box<dyn Derivatives<Self::Scratch> + 'a>>
    where
        Self: 'b,
    {
        self.choices.derivatives(values, objective)
    }

    fn forward<'a>(&'a self, _values: &[f64], data: &'a MaskedData) -> Option<Forward<'a>> {
        let mask = self.mask_of(data);
        Some(Forward::operator(mask).measured(mask.measured()))
    }

    fn kind(&self) -> Option<FamilyKind> {
        Some(FamilyKind::Inpaint)
    }
}

impl<C> Inpainting<C> {
    fn mask_of<'a>(&'a self, data: &'a MaskedData) -> &'a Mask {
        data.mask.as_ref().unwrap_or(&self.mask)
    }
}
