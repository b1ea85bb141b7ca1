//! Learning which frequencies of a picture to measure: masks for magnetic resonance imaging.
//!
//! The objective of a mask is the mean of `$\|\hat x_i - t_i\|^2/\|t_i\|^2$` over all slices, where
//! `$t_i$` is the truth and `$\hat x_i$` the reconstruction from the frequencies in the mask
//! ([`FourierPicture`](imaging::FourierPicture)). A [`SetSearch`] minimises it: the promised gain
//! of an element is the error of the reconstructions at its frequencies. Its promised loss is the
//! derivative of the objective with respect to its weight; one adjoint per slice gives the
//! derivatives for all elements.

mod compare;
mod error;
mod filters;
mod kspace;
mod learn;
mod pattern;
mod point;
mod reconstruct;
mod relaxation;
mod study;
#[cfg(test)]
mod tests;

pub use compare::{ComparedMask, MaskScore};
pub use error::MaskError;
pub use kspace::{FrequencyZero, Kspace};
pub use learn::{LearnedMask, MaskOptions, MaskProgress};
pub use pattern::{MaskKind, Pattern, frequency, is_inside};
pub use point::MaskPoint;
pub use reconstruct::{MaskedPicture, SamplingMask};
pub use relaxation::RelaxedMask;
pub use study::{MaskMethod, MaskOutcome, MaskSpec, MaskStudy};

use std::sync::Arc;

use imaging::{CoilFourier, FourierMeasurement, FourierPictureScratch, LinearOperator};
use imaging::{Grid, ModelError, Seed, TvParameters};
use lowlevel::StronglyConvex;

use crate::problem::Pair;

/// Slices with known truth, and a pattern of frequencies: everything that the objective of a mask
/// depends on, besides the mask.
#[derive(Debug)]
pub struct MaskProblem {
    /// One transform for all slices, or one for each.
    fouriers: Vec<CoilFourier>,
    pattern: Pattern,
    slices: Vec<Slice>,
    /// Working memory, one for each slice.
    memory: Vec<FourierPictureScratch>,
    /// The parameters of the first mask.
    start: TvParameters,
    /// The relative weights of filters; without any, the regulariser is total variation.
    filters: Arc<[f64]>,
    /// Whether the smoothing of a final mask is tuned, too.
    learns_nu: bool,
    /// The accuracy of every reconstruction, if it is not what decisions need.
    fixed_error: Option<f64>,
    /// The work so far, in gradients.
    work: f64,
    evaluations: usize,
}

/// A slice: its truth and the frequencies that could be measured.
#[derive(Debug)]
struct Slice {
    /// The number of its transform.
    fourier: usize,
    truth: Vec<f64>,
    data: FourierMeasurement,
    /// `$\|t\|^2$`.
    square: f64,
}

impl MaskProblem {
    /// The parameters with which a search starts, for magnitudes in `$[0, 1]$`: `xi` is small
    /// enough to cost less than 0.1 dB.
    pub const START: TvParameters = TvParameters {
        alpha: 3e-3,
        nu: 1e-2,
        xi: 1e-3,
    };

    /// Creates the problem for slices that are seen through `fourier`. The data of a pair are all
    /// of its frequencies, coil after coil.
    ///
    /// # Errors
    /// When there are no slices, a slice does not fit the transform or has an entry that is not
    /// finite, or a truth is zero.
    pub fn new(
        fourier: CoilFourier,
        pattern: Pattern,
        pairs: Vec<Pair>,
    ) -> Result<Self, MaskError> {
        Self::with_transforms(vec![fourier], pattern, pairs)
    }

    /// Creates the problem for slices whose frequencies were all measured. Truths and data are
    /// divided by `unit`, the largest modulus of typical pictures, and noise is added to the data:
    /// see [`Kspace::pairs`].
    ///
    /// # Errors
    /// When a slice is zero, or the unit or the noise is out of range.
    pub fn of_kspace(
        kspace: &Kspace,
        pattern: Pattern,
        unit: f64,
        sigma: f64,
        seed: Seed,
    ) -> Result<Self, MaskError> {
        let pairs = kspace.pairs(unit, sigma, seed)?;
        Self::with_transforms(kspace.fouriers().to_vec(), pattern, pairs)
    }

    fn with_transforms(
        fouriers: Vec<CoilFourier>,
        pattern: Pattern,
        pairs: Vec<Pair>,
    ) -> Result<Self, MaskError> {
        if pairs.is_empty() {
            return Err(MaskError::NoSlices);
        }
        let slices = pairs.into_iter().enumerate();
        let slices = slices.map(|(index, pair)| {
            let of_slice = index % fouriers.len();
            Slice::new(&fouriers[of_slice], of_slice, pair).map_err(|source| match source {
                SliceError::NoSignal => MaskError::NoSignal { index },
                SliceError::Model(source) => MaskError::Slice { index, source },
            })
        });
        let slices = slices.collect::<Result<Vec<Slice>, MaskError>>()?;
        let mut problem = Self {
            fouriers,
            pattern,
            slices,
            memory: Vec::new(),
            start: Self::START,
            filters: Arc::new([]),
            learns_nu: true,
            fixed_error: None,
            work: 0.0,
            evaluations: 0,
        };
        problem.use_filters(&[])?;
        Ok(problem)
    }

    /// Replaces the total variation by cosine filters with these relative weights, 8, 24 or 48 for
    /// filters of 3 x 3, 5 x 5 or 7 x 7 pixels: see
    /// [`FourierPicture::with_filters`](imaging::FourierPicture::with_filters). Without weights,
    /// the regulariser is total variation. Points that were evaluated before are of no use
    /// afterwards.
    ///
    /// # Errors
    /// When there is another number of weights, or one is negative or not finite.
    pub fn use_filters(&mut self, relative: &[f64]) -> Result<(), MaskError> {
        let weights = vec![1.0; self.grid().num_samples()];
        let model = |slice: &Slice| {
            let objective = slice.objective(&self.fouriers, &weights, self.start, relative)?;
            Ok(objective.scratch())
        };
        let memory: Result<Vec<_>, ModelError> = self.slices.iter().map(model).collect();
        self.memory = memory?;
        self.filters = relative.into();
        Ok(())
    }

    /// The relative weights of filters; without any, the regulariser is total variation.
    #[must_use]
    pub fn filters(&self) -> &[f64] {
        &self.filters
    }

    /// Keeps the smoothing `nu` at this value. Otherwise it is tuned for each mask, besides
    /// `alpha`, when the mask is final.
    pub const fn fix_nu(&mut self, nu: f64) {
        self.start.nu = nu;
        self.learns_nu = false;
    }

    /// Computes every reconstruction to this certified error, instead of the accuracy that
    /// decisions need; for comparison.
    pub const fn fix_error(&mut self, error: Option<f64>) {
        self.fixed_error = error;
    }

    /// The grid of the slices.
    #[must_use]
    pub fn grid(&self) -> Grid {
        self.fouriers[0].domain()
    }

    /// The pattern of frequencies.
    #[must_use]
    pub const fn pattern(&self) -> Pattern {
        self.pattern
    }

    /// The truths of all slices.
    pub fn truths(&self) -> impl Iterator<Item = &[f64]> {
        self.slices.iter().map(|slice| &slice.truth[..])
    }

    /// The number of slices.
    #[must_use]
    pub const fn num_slices(&self) -> usize {
        self.slices.len()
    }

    /// The work of all evaluations so far, in gradients of single slices.
    #[must_use]
    pub const fn work(&self) -> f64 {
        self.work
    }

    /// The number of evaluations so far; each reconstructs all slices for one mask and given
    /// parameters.
    #[must_use]
    pub const fn evaluations(&self) -> usize {
        self.evaluations
    }
}

/// Why a slice cannot be used.
enum SliceError {
    NoSignal,
    Model(ModelError),
}

impl Slice {
    fn new(fourier: &CoilFourier, number: usize, pair: Pair) -> Result<Self, SliceError> {
        let grid = fourier.domain();
        if pair.grid != grid || pair.truth.len() != grid.len() {
            return Err(SliceError::Model(ModelError::WrongGrid {
                name: "the grid of a slice",
                needed: "a complex picture, as large as all others",
            }));
        }
        if let Some(index) = pair.truth.iter().position(|entry| !entry.is_finite()) {
            let name = "the truth";
            return Err(SliceError::Model(ModelError::NonFinite { name, index }));
        }
        let data =
            FourierMeasurement::of_picture(fourier, &pair.data).map_err(SliceError::Model)?;
        let square: f64 = pair.truth.iter().map(|entry| entry * entry).sum();
        if !(square > 0.0 && square < f64::INFINITY) {
            return Err(SliceError::NoSignal);
        }
        Ok(Self {
            fourier: number,
            truth: pair.truth,
            data,
            square,
        })
    }
}
