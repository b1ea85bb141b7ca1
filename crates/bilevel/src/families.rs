//! The families of the paper, and deblurring and inpainting.

mod deblurring;
mod denoising;
mod family;
mod inpainting;
mod sampling;
mod tv;

pub use deblurring::TvDeblurring;
pub use denoising::TvDenoising;
pub use family::{Family, FamilyObjective, FamilyScratch};
pub use inpainting::TvInpainting;
pub use sampling::FourierWeights;
pub use tv::{Choice, TvChoices};
