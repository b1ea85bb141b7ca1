//! Any family, for programs that choose a family at run time.

use imaging::{BlurBoundary, Grid, Kernel, Mask, ModelError, Window};

use super::erased::{ErasedFamily, FamilyData, FamilyObjective, FamilyScratch, OwnFamily};
use super::{ColourFamily, ColourFilters, ColourTv, FamilyKind, FilterDenoising, FourierWeights};
use super::{FilterDeblurring, FilterInpainting, TvDeblurring, TvDenoising, TvInpainting};
use super::{Inpainting, TvChoices};
use crate::criterion::Forward;
use crate::derivatives::Derivatives;
use crate::error::BoxError;
use crate::lower::LowerLevel;
use crate::parameter::Parameter;

/// Any family of this crate, or one of your own.
///
/// It implements [`LowerLevel`] itself, so code that works with it needs no type parameter.
/// [`Spec::family`](crate::Spec::family) builds one from settings.
///
/// Samples of data that are NaN were not measured. Denoising with total variation then becomes
/// inpainting, which has the same regulariser and the same parameters, for each image on its own.
/// Only filter banks of denoising and sampling need all samples.
#[derive(Debug)]
pub enum Family {
    /// Denoising of real signals and pictures.
    Denoising(TvDenoising),
    /// Denoising of pictures with a filter bank.
    Filters(FilterDenoising),
    /// Denoising of pictures in colour.
    Colour(ColourTv),
    /// Denoising of pictures in colour with filter banks.
    ColourFilters(ColourFilters),
    /// Deblurring of pictures.
    Deblurring(TvDeblurring),
    /// Deblurring of pictures with a filter bank.
    FilterDeblurring(FilterDeblurring),
    /// Deblurring of pictures in colour.
    ColourDeblurring(ColourFamily<TvDeblurring, TvDeblurring>),
    /// Deblurring of pictures in colour with filter banks.
    ColourFilterDeblurring(ColourFamily<FilterDeblurring, FilterDeblurring>),
    /// Inpainting of pictures with missing pixels.
    Inpainting(TvInpainting),
    /// Inpainting of pictures with a filter bank.
    FilterInpainting(FilterInpainting),
    /// Inpainting of pictures in colour.
    ColourInpainting(ColourFamily<TvInpainting, TvInpainting>),
    /// Inpainting of pictures in colour with filter banks.
    ColourFilterInpainting(ColourFamily<FilterInpainting, FilterInpainting>),
    /// Reconstruction of complex signals from some of their frequencies.
    Sampling(FourierWeights),
    /// A family of your own, see [`Family::own`].
    Own(OwnFamily),
}

impl Family {
    /// Returns a family of your own without its type.
    #[must_use]
    pub fn own<M>(family: M) -> Self
    where
        M: LowerLevel<Data: 'static, Scratch: 'static> + Send + 'static,
    {
        Self::Own(OwnFamily(Box::new(family)))
    }

    /// Returns the family without its type. A new family needs no other code here.
    fn erased(&self) -> &dyn ErasedFamily {
        match self {
            Self::Denoising(family) => family,
            Self::Filters(family) => family,
            Self::Colour(family) => family,
            Self::ColourFilters(family) => family,
            Self::Deblurring(family) => family,
            Self::FilterDeblurring(family) => family,
            Self::ColourDeblurring(family) => family,
            Self::ColourFilterDeblurring(family) => family,
            Self::Inpainting(family) => family,
            Self::FilterInpainting(family) => family,
            Self::ColourInpainting(family) => family,
            Self::ColourFilterInpainting(family) => family,
            Self::Sampling(family) => family,
            Self::Own(OwnFamily(family)) => &**family,
        }
    }

    /// Returns the family that fills in samples of an image that were not measured, if this family
    /// does not do so itself.
    fn filling(
        &self,
        grid: Grid,
        data: &[f64],
    ) -> Result<Option<Box<dyn ErasedFamily + Send>>, ModelError> {
        if !data.iter().any(|value| value.is_nan()) {
            return Ok(None);
        }
        let all = |grid: Grid| Mask::new(grid, vec![true; grid.num_samples()]);
        Ok(match self {
            Self::Denoising(TvDenoising { choices }) => Some(Box::new(Inpainting {
                choices: *choices,
                mask: all(grid)?,
            })),
            Self::Colour(family) => {
                let choices = [family.luminance().choices, family.chroma().choices];
                let mask = all(grid.real())?;
                let shared = TvChoices::SHARED;
                Some(Box::new(ColourFamily::inpainting(choices, mask, shared)?))
            }
            _ => None,
        })
    }

    /// The kernel of a blur, and what lies beyond the borders of pictures; `None` if pictures are
    /// not blurred. If the width of the kernel is learned, it is that at which learning starts.
    #[must_use]
    pub const fn blur(&self) -> Option<(&Kernel, BlurBoundary)> {
        Some(match self {
            Self::Deblurring(family) => (family.kernel(), family.boundary()),
            Self::FilterDeblurring(family) => (family.kernel(), family.boundary()),
            Self::ColourDeblurring(family) => {
                (family.luminance().kernel(), family.luminance().boundary())
            }
            Self::ColourFilterDeblurring(family) => {
                (family.luminance().kernel(), family.luminance().boundary())
            }
            _ => return None,
        })
    }

    /// The mask of measured pixels of inpainting.
    #[must_use]
    pub const fn mask(&self) -> Option<&Mask> {
        match self {
            Self::Inpainting(family) => Some(&family.mask),
            Self::FilterInpainting(family) => Some(&family.mask),
            Self::ColourInpainting(family) => Some(&family.luminance().mask),
            Self::ColourFilterInpainting(family) => Some(&family.luminance().mask),
            _ => None,
        }
    }

    /// Whether the regulariser is a filter bank.
    #[must_use]
    pub const fn has_filters(&self) -> bool {
        matches!(
            self,
            Self::Filters(_)
                | Self::ColourFilters(_)
                | Self::FilterDeblurring(_)
                | Self::ColourFilterDeblurring(_)
                | Self::FilterInpainting(_)
                | Self::ColourFilterInpainting(_)
        )
    }
}

impl LowerLevel for Family {
    type Data = FamilyData;
    type Scratch = FamilyScratch;
    type Objective<'a> = FamilyObjective<'a>;

    fn parameters(&self) -> Vec<Parameter> {
        self.erased().parameters()
    }

    fn prepare(&self, grid: Grid, data: &[f64]) -> Result<FamilyData, BoxError> {
        match self.filling(grid, data)? {
            Some(family) => FamilyData::of_other(family, grid, data),
            None => self.erased().prepare(grid, data),
        }
    }

    fn objective<'a>(
        &'a self,
        values: &[f64],
        data: &'a FamilyData,
    ) -> Result<FamilyObjective<'a>, BoxError> {
        let (family, data) = data.with(self.erased());
        family.objective(values, data)
    }

    fn cold_start(&self, data: &FamilyData, x: &mut [f64]) {
        let (family, data) = data.with(self.erased());
        family.cold_start(data, x);
    }

    fn window(&self, grid: Grid) -> Window {
        self.erased().window(grid)
    }

    fn takes_missing(&self) -> bool {
        matches!(self, Self::Denoising(_) | Self::Colour(_)) || self.erased().takes_missing()
    }

    fn derivatives<'a, 'b>(
        &'a self,
        values: &'a [f64],
        objective: &'a FamilyObjective<'b>,
    ) -> Option<Box<dyn Derivatives<FamilyScratch> + 'a>>
    where
        Self: 'b,
    {
        objective.derivatives(values)
    }

    fn forward<'a>(&'a self, values: &[f64], data: &'a FamilyData) -> Option<Forward<'a>> {
        let (family, data) = data.with(self.erased());
        family.forward(values, data)
    }

    fn is_serial(&self) -> bool {
        self.erased().is_serial()
    }

    fn kind(&self) -> Option<FamilyKind> {
        self.erased().kind()
    }
}
