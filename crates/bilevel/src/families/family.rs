//! A closed choice of the crate's families, for programs that choose a family at run time.

use imaging::{Grid, Window};

use super::erased::{ErasedFamily, FamilyData, FamilyObjective, FamilyScratch};
use super::{ColourFilters, ColourTv, FamilyKind, FilterDenoising, FourierWeights};
use super::{TvDeblurring, TvDenoising, TvInpainting};
use crate::criterion::Forward;
use crate::derivatives::Derivatives;
use crate::error::BoxError;
use crate::lower::LowerLevel;
use crate::parameter::Parameter;

/// Any family of this crate.
///
/// It implements [`LowerLevel`] itself, so code that works with it needs no type parameter.
/// [`Spec::family`](crate::Spec::family) builds one from settings.
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
    /// Deblurring of pictures with a known blur.
    Deblurring(TvDeblurring),
    /// Inpainting of pictures with missing pixels.
    Inpainting(TvInpainting),
    /// Reconstruction of complex signals from some of their frequencies.
    Sampling(FourierWeights),
}

impl Family {
    /// Returns the family without its type. A new family needs no other code here.
    fn erased(&self) -> &dyn ErasedFamily {
        match self {
            Self::Denoising(family) => family,
            Self::Filters(family) => family,
            Self::Colour(family) => family,
            Self::ColourFilters(family) => family,
            Self::Deblurring(family) => family,
            Self::Inpainting(family) => family,
            Self::Sampling(family) => family,
        }
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
        self.erased().prepare(grid, data)
    }

    fn objective<'a>(
        &'a self,
        values: &[f64],
        data: &'a FamilyData,
    ) -> Result<FamilyObjective<'a>, BoxError> {
        self.erased().objective(values, data)
    }

    fn cold_start(&self, data: &FamilyData, x: &mut [f64]) {
        self.erased().cold_start(data, x);
    }

    fn window(&self, grid: Grid) -> Window {
        self.erased().window(grid)
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
        self.erased().forward(values, data)
    }

    fn kind(&self) -> Option<FamilyKind> {
        self.erased().kind()
    }
}
