//! Learning which frequencies of a picture to measure: masks for magnetic resonance imaging.
//!
//! The objective of a mask is the mean of `$\|\hat x_i - t_i\|^2/\|t_i\|^2$` over all slices, where
//! `$t_i$` is the truth and `$\hat x_i$` the reconstruction from the frequencies in the mask
//! ([`FourierPicture`]). A [`SetSearch`] minimises it: what an element promises to gain is the
//! error of the reconstructions at its frequencies, and what it promises to lose is the derivative
//! of the objective with respect to its weight, which one adjoint per slice gives for all elements.

mod learn;
mod pattern;
mod point;
mod reconstruct;
mod relaxation;
#[cfg(test)]
mod tests;

pub use learn::{LearnedMask, MaskOptions, MaskProgress};
pub use pattern::{MaskKind, Pattern, frequency, is_inside};
pub use point::MaskPoint;
pub use reconstruct::{MaskedPicture, reconstruct_masked};
pub use relaxation::RelaxedMask;

use imaging::{
    CoilFourier, FourierMeasurement, FourierPicture, FourierPictureScratch, LinearOperator,
};
use imaging::{Grid, ModelError, TvParameters};
use lowlevel::StronglyConvex;

use crate::error::BoxError;
use crate::problem::Pair;

/// Slices with known truth, and a pattern of frequencies: everything that the objective of a mask
/// depends on, besides the mask.
#[derive(Debug)]
pub struct MaskProblem {
    fourier: CoilFourier,
    pattern: Pattern,
    slices: Vec<Slice>,
    /// Working memory, one for each slice.
    memory: Vec<FourierPictureScratch>,
    /// The parameters of the first mask.
    start: TvParameters,
    /// Whether the smoothing of the total variation is learned, too.
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
    pub fn new(fourier: CoilFourier, pattern: Pattern, pairs: Vec<Pair>) -> Result<Self, BoxError> {
        if pairs.is_empty() {
            return Err("there are no slices to learn a mask from".into());
        }
        let grid = fourier.domain();
        let slices = pairs.into_iter().enumerate();
        let slices = slices.map(|(index, pair)| {
            Slice::new(&fourier, grid, pair).map_err(|error| format!("slice {index}: {error}"))
        });
        let slices = slices.collect::<Result<Vec<Slice>, String>>()?;
        let weights = vec![1.0; grid.num_samples()];
        let model = |slice: &Slice| {
            FourierPicture::of_measurement(&fourier, &slice.data, &weights, Self::START)
                .map(|objective| objective.scratch())
        };
        let memory = slices.iter().map(model).collect::<Result<Vec<_>, _>>()?;
        Ok(Self {
            fourier,
            pattern,
            slices,
            memory,
            start: Self::START,
            learns_nu: false,
            fixed_error: None,
            work: 0.0,
            evaluations: 0,
        })
    }

    /// Starts searches with other parameters than [`START`](Self::START).
    pub const fn start_with(&mut self, tv: TvParameters) {
        self.start = tv;
    }

    /// Learns the smoothing `nu` along with the mask, besides `alpha`.
    pub const fn learn_nu(&mut self, learns: bool) {
        self.learns_nu = learns;
    }

    /// Computes every reconstruction to this certified error, instead of the accuracy that
    /// decisions need; for comparison.
    pub const fn fix_error(&mut self, error: Option<f64>) {
        self.fixed_error = error;
    }

    /// The grid of the slices.
    #[must_use]
    pub fn grid(&self) -> Grid {
        self.fourier.domain()
    }

    /// The pattern of frequencies.
    #[must_use]
    pub const fn pattern(&self) -> Pattern {
        self.pattern
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

impl Slice {
    fn new(fourier: &CoilFourier, grid: Grid, pair: Pair) -> Result<Self, BoxError> {
        if pair.grid != grid || pair.truth.len() != grid.len() {
            return Err(Box::new(ModelError::WrongGrid {
                name: "the grid of a slice",
                needed: "a complex picture, as large as all others",
            }));
        }
        if let Some(index) = pair.truth.iter().position(|entry| !entry.is_finite()) {
            return Err(format!("entry {index} of the truth is not a finite number").into());
        }
        let data = FourierMeasurement::of_picture(fourier, &pair.data)?;
        let square: f64 = pair.truth.iter().map(|entry| entry * entry).sum();
        if !(square > 0.0 && square < f64::INFINITY) {
            return Err("its truth is zero or too large".into());
        }
        Ok(Self {
            truth: pair.truth,
            data,
            square,
        })
    }
}
