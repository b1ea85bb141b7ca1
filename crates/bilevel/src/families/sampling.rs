use imaging::{
    Fourier, FourierMeasurement, FourierSampling, FourierSamplingScratch, Grid, LinearOperator,
    MixedBound, ModelError, TvParameters,
};
use lowlevel::StronglyConvex;

use super::FamilyKind;
use crate::derivatives::Derivatives;
use crate::error::BoxError;
use crate::lower::LowerLevel;
use crate::parameter::{Map, Parameter};

/// The family of Fourier sampling problems for complex signals, whose weights decide which
/// frequencies to measure. The objective is
/// `$\frac12\|Fx - y\|_S^2 + \alpha\operatorname{TV}_\nu(x) + \frac{\xi}{2}\|x\|^2$` with one
/// learned weight `$s_j = \theta_j/(1-\theta_j)$` per frequency, the entries of the diagonal `$S$`,
/// and fixed `$(\alpha, \nu, \xi)$`.
///
/// Signals and data are complex, and frequency zero comes first. The weights are one block of
/// parameters, `theta`.
#[derive(Clone, Debug)]
pub struct FourierWeights {
    fourier: Fourier,
    tv: TvParameters,
    start: f64,
    lower: f64,
    upper: f64,
}

impl FourierWeights {
    /// The fixed parameters of the paper.
    pub const TV: TvParameters = TvParameters {
        alpha: 0.01,
        nu: 0.01,
        xi: 1e-4,
    };
    /// The paper's lower bound of each `$\theta_j$`. A frequency counts as measured if its
    /// `$\theta_j$` is above it.
    pub const LOWER: f64 = 0.001;
    /// The paper's upper bound of each `$\theta_j$`.
    pub const UPPER: f64 = 0.99;

    /// Creates the family for signals of `num_samples` samples. Every `$\theta_j$` begins at
    /// `start`, which is 0.5 in the paper.
    ///
    /// # Errors
    /// When `num_samples` is zero.
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

    /// Replaces the bounds of every `$\theta_j$`.
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
        vec![Parameter {
            name: "theta".to_owned(),
            shape: vec![self.fourier.domain().num_samples()],
            map: Map::Odds,
            start: self.start.into(),
            lower: self.lower,
            upper: self.upper,
        }]
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
        let objective = FourierSampling::of_measurement(&self.fourier, data, values, self.tv);
        Ok(objective?)
    }

    fn derivatives<'a, 'b>(
        &'a self,
        values: &'a [f64],
        objective: &'a FourierSampling<'b>,
    ) -> Option<Box<dyn Derivatives<FourierSamplingScratch> + 'a>>
    where
        Self: 'b,
    {
        Some(Box::new(WeightDerivatives {
            weights: values,
            objective,
        }))
    }

    fn kind(&self) -> Option<FamilyKind> {
        Some(FamilyKind::Sampling)
    }
}

/// The derivatives with respect to the weights of all frequencies.
#[derive(Debug)]
struct WeightDerivatives<'a, 'b> {
    weights: &'a [f64],
    objective: &'a FourierSampling<'b>,
}

impl Derivatives<FourierSamplingScratch> for WeightDerivatives<'_, '_> {
    fn mixed_product(
        &self,
        x: &[f64],
        q: &[f64],
        out: &mut [f64],
        scratch: &mut FourierSamplingScratch,
    ) {
        self.objective.weight_products(x, q, out, scratch);
    }

    fn mixed_bounds(
        &self,
        x: &[f64],
        q: &[f64],
        error: f64,
        out: &mut [MixedBound],
        scratch: &mut FourierSamplingScratch,
    ) -> bool {
        self.objective.weight_bounds(x, q, error, out, scratch);
        true
    }

    /// The condition number depends on the largest and on the smallest weight, see
    /// [`Fourier::gram_spectrum`](LinearOperator::gram_spectrum).
    fn condition_gradient(&self, out: &mut [f64]) -> bool {
        let curvature = self.objective.curvature();
        let (mu, lipschitz) = (curvature.strong_convexity(), curvature.lipschitz());
        out.fill(0.0);
        let indices = || 0..self.weights.len();
        let order = |a: &usize, b: &usize| self.weights[*a].total_cmp(&self.weights[*b]);
        if let (Some(smallest), Some(largest)) = (indices().min_by(order), indices().max_by(order))
        {
            out[largest] += 1.0 / mu;
            out[smallest] -= lipschitz / (mu * mu);
        }
        true
    }
}
