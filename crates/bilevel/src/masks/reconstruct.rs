//! Pictures from the frequencies in a mask.

use imaging::{FourierPicture, LinearOperator, TvParameters};
use lowlevel::{ErrorBound, Solver, State, Stop, StronglyConvex};

use super::filters::with_filters;
use super::{Kspace, MaskError, Pattern};
use crate::error::BoxError;
use crate::oracle::for_each;

/// A mask with the parameters of its reconstructions: the result of learning.
#[derive(Clone, Debug, PartialEq)]
pub struct SamplingMask {
    /// The pattern of its elements.
    pub pattern: Pattern,
    /// The numbers of rows and columns of the pictures that it was learned from.
    pub shape: [usize; 2],
    /// The elements, in the order with frequency zero first.
    pub set: Vec<bool>,
    /// The parameters of the regulariser, for pictures whose largest modulus is 1.
    pub tv: TvParameters,
    /// The relative weights of filters; without any, the regulariser is total variation.
    pub filters: Vec<f64>,
}

/// A picture that was reconstructed from some of its frequencies.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct MaskedPicture {
    /// The picture, complex and in the unit of the data. Pixels begin at index 0.
    pub picture: Vec<f64>,
    /// The certified root-mean-square distance from the exact minimiser, in the unit of the data.
    pub error: f64,
    /// Whether the requested accuracy was reached.
    pub reached: bool,
    /// The number of iterations.
    pub iterations: u64,
}

impl SamplingMask {
    /// Returns one weight for each frequency of pictures with this shape: 1 if it is measured. A
    /// mask of lines fits pictures with any number of rows.
    ///
    /// # Errors
    /// When the mask does not fit, or is empty.
    pub fn weights(&self, shape: [usize; 2]) -> Result<Vec<f64>, MaskError> {
        let grid = imaging::Grid::image(shape[0], shape[1]).complex();
        if self.pattern == Pattern::Points && shape != self.shape {
            return Err(MaskError::Shape {
                name: "each slice",
                found: shape.to_vec(),
                needed: format!("the shape {:?} of the mask of points", self.shape),
            });
        }
        self.pattern.check(grid, &self.set)?;
        Ok(self.pattern.weights(grid, &self.set))
    }

    /// Reconstructs all slices from the frequencies in the mask; the others are ignored, so they
    /// may be zeros.
    ///
    /// The parameters belong to pictures whose largest modulus is 1. The data are therefore divided
    /// by the largest modulus of all pictures that one gets with zeros for the missing frequencies,
    /// and the result is multiplied by it. `accuracy` is the root-mean-square error that is
    /// certified, relative to this number.
    ///
    /// # Errors
    /// When the mask does not fit or is empty, `accuracy` is not positive, or a reconstruction
    /// fails.
    pub fn reconstruct(
        &self,
        kspace: &Kspace,
        accuracy: f64,
    ) -> Result<Vec<MaskedPicture>, MaskError> {
        if !(accuracy > 0.0 && accuracy < f64::INFINITY) {
            return Err(MaskError::Setting {
                name: "the accuracy",
                found: accuracy,
                needed: "positive, such as 1e-3",
            });
        }
        let weights = self.weights(kspace.shape())?;
        let brightest = kspace.brightest(&weights);
        let unit = match brightest > 0.0 && brightest < f64::INFINITY {
            true => brightest,
            false => 1.0,
        };
        let slices = (0..kspace.num_slices()).collect();
        let made = for_each(slices, false, |index| {
            self.one(kspace, index, &weights, unit, accuracy)
        });
        made.into_iter()
            .map(|one| one.map_err(MaskError::from))
            .collect()
    }

    /// Reconstructs one slice.
    fn one(
        &self,
        kspace: &Kspace,
        index: usize,
        weights: &[f64],
        unit: f64,
        accuracy: f64,
    ) -> Result<MaskedPicture, BoxError> {
        let fourier = kspace.fourier(index);
        let grid = fourier.domain();
        let scaled: Vec<f64> = kspace
            .slice(index)
            .iter()
            .map(|value| value / unit)
            .collect();
        let objective = FourierPicture::new(fourier, &scaled, weights, self.tv)?;
        let objective = with_filters(objective, &self.filters)?;
        let root = (grid.num_samples() as f64).sqrt();
        let target = ErrorBound::new(accuracy * root)?;
        let mut state = State::new(vec![0.0; grid.len()]);
        let mut scratch = objective.scratch();
        let stop = Stop::accuracy(target);
        let solved = Solver::default().minimize(&objective, stop, &mut state, &mut scratch)?;
        Ok(MaskedPicture {
            picture: state.point().iter().map(|value| value * unit).collect(),
            error: solved.error.value() / root * unit,
            reached: solved.error <= target,
            iterations: solved.iterations,
        })
    }
}
