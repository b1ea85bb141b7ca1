use imaging::{
    Fourier, FourierMeasurement, FourierSampling, FourierSamplingScratch, Grid, LinearOperator,
    ModelError, TvParameters,
};

use super::FamilyKind;
use crate::error::BoxError;
use crate::lower::LowerLevel;
use crate::parameter::{Map, Parameter};

/// Which frequencies to measure: one weight `$s_j = \theta_j/(1-\theta_j)$` for each frequency of a
/// line, and `$\frac12\|Fx - y\|_S^2 + \alpha\operatorname{TV}_\nu(x) + \frac{\xi}{2}\|x\|^2$` with
/// fixed `$(\alpha, \nu, \xi)$`.
///
/// Unknown and data are complex, frequency zero first; the parameters are called `s0`, `s1`, ...
#[derive(Clone, Debug)]
pub struct FourierWeights {
    fourier: Fourier,
    tv: TvParameters,
    start: f64,
    lower: f64,
    upper: f64,
}

impl FourierWeights {
    /// The paper's fixed parameters.
    pub const TV: TvParameters = TvParameters {
        alpha: 0.01,
        nu: 0.01,
        xi: 1e-4,
    };
    /// A frequency counts as measured if its `$\theta$` is above this: its lower bound.
    pub const LOWER: f64 = 0.001;
    /// The upper bound of each `$\theta$`.
    pub const UPPER: f64 = 0.99;

    /// For signals of `num_samples` samples; every `$\theta_j$` begins at `start`, which is 0.5 in
    /// the paper.
    ///
    /// # Errors
    /// When there are no samples.
    pub fn new(num_samples: usize, tv: TvParameters, start: f64) -> Result<Self, ModelError> {
        let fourier = Fourier::new(Grid::line(num_samples).complex())?;
        Ok(Self {
            fourier,
            tv,
            start,
            lower: Self::LOWER,
            upper: Self::UPPER,
        })
    }

    /// With other bounds of every `$\theta_j$`.
    #[must_use]
    pub const fn with_bounds(mut self, lower: f64, upper: f64) -> Self {
        self.lower = lower;
        self.upper = upper;
        self
    }
}

impl LowerLevel for FourierWeights {
    type Data = FourierMeasurement;
    type Scratch = FourierSamplingScratch;
    type Objective<'a> = FourierSampling<'a>;

    fn parameters(&self) -> Vec<Parameter> {
        (0..self.fourier.domain().num_samples())
            .map(|j| Parameter {
                name: format!("s{j}"),
                map: Map::Odds,
                start: self.start,
                lower: self.lower,
                upper: self.upper,
            })
            .collect()
    }

    fn prepare(&self, grid: Grid, data: &[f64]) -> Result<FourierMeasurement, BoxError> {
        if grid != self.fourier.domain() {
            return Err(Box::new(ModelError::WrongGrid {
                name: "the grid of a signal",
                needed: "a complex line with one sample per frequency",
            }));
        }
        Ok(FourierMeasurement::new(&self.fourier, data)?)
    }

    fn objective<'a>(
        &'a self,
        values: &[f64],
        data: &'a FourierMeasurement,
    ) -> Result<FourierSampling<'a>, BoxError> {
        let made = FourierSampling::of_measurement(&self.fourier, data, values, self.tv);
        Ok(made?)
    }

    fn kind(&self) -> Option<FamilyKind> {
        Some(FamilyKind::Sampling)
    }
}
