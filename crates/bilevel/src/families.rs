//! Families of reconstruction problems: the paper's two, deblurring and inpainting.

use imaging::{Grid, Measurement};

use crate::error::BoxError;

mod blur;
mod choices;
mod colour;
mod deblurring;
mod denoising;
mod erased;
mod family;
mod filters;
mod inpainting;
mod kind;
mod sampling;
mod tv;

pub use colour::{ColourFamily, ColourFilters, ColourTv, TvChroma};
pub use deblurring::{BlurredData, Deblurring, FilterDeblurring, TvDeblurring};
pub use denoising::TvDenoising;
pub use erased::{FamilyData, FamilyObjective, FamilyScratch, OwnFamily};
pub use family::Family;
pub use filters::{FilterChoices, FilterDenoising, FilterObjective, FilterSet};
pub use inpainting::{FilterInpainting, Inpainting, MaskedData, TvInpainting};
pub use kind::FamilyKind;
pub use sampling::FourierWeights;
pub use tv::{Choice, TvChoices};

/// A measured image, checked, with the grid of its reconstruction.
#[derive(Clone, Debug)]
pub struct ImageData {
    grid: Grid,
    values: Measurement,
}

impl ImageData {
    fn new(grid: Grid, data: &[f64]) -> Result<Self, BoxError> {
        let values = Measurement::new(data)?;
        Ok(Self { grid, values })
    }
}
