//! Reconstruction from weighted Fourier samples, as in magnetic resonance imaging.

use std::borrow::Cow;

use lowlevel::{
    Curvature, ErrorBound, NewtonPoint, NewtonSteps, SecondOrder, StronglyConvex, norm,
};

use super::circulant::{DowndatedCirculant, count};
use super::complex_line::AddComplexLineGradient;
use super::curvature_bound::{CurvatureScratch, LocalCurvature};
use super::sampling_newton::{PrimalDual, SamplingNewtonScratch};
use super::simd::dispatch;
use super::{Rounding, TvParameters, curvature};
use crate::difference::Differences;
use crate::error::{ModelError, check_len};
use crate::grid::Field;
use crate::measurement::{FourierMeasurement, check_complex_line};
use crate::operator::{Fourier, FourierScratch, LinearOperator, Weights};
use crate::operator::{from_complex, to_complex};
use crate::regularizer::{Regularizer, SmoothedTv, tv_gradient_rounding};

/// The paper's model for undersampled magnetic resonance imaging of a complex line,
/// `$\Phi(x) = \frac12\|Fx - y\|_S^2 + \alpha\operatorname{TV}_\nu(x) + \frac{\xi}{2}\|x\|^2$` with
/// the unitary transform `$F$` and `$S = \operatorname{diag}(s)$`.
///
/// It is a faster version of [`Variational`](crate::Variational) with [`Fourier`]. Use the latter
/// for pictures and for other differences.
///
/// ```
/// use imaging::{Fourier, FourierSampling, Grid, LinearOperator, TvParameters};
/// use lowlevel::{ErrorBound, Solver, State, Stop, StronglyConvex};
///
/// let fourier = Fourier::new(Grid::line(8).complex())?;
/// let truth = [1.0, 0.0].repeat(8); // the constant 1 + 0i
/// let mut data = [0.0; 16];
/// fourier.apply(&truth, &mut data, &mut fourier.scratch());
///
/// // Measure every other frequency.
/// let weights = [1.0, 0.0].repeat(4);
/// let parameters = TvParameters { alpha: 0.01, nu: 0.01, xi: 1e-4 };
/// let objective = FourierSampling::new(&fourier, &data, &weights, parameters)?;
/// let mut state = State::new(vec![0.0; 16]);
/// let stop = Stop::accuracy(ErrorBound::new(1e-2)?);
/// Solver::default().minimize(&objective, stop, &mut state, &mut objective.scratch())?.reached()?;
/// assert!((state.point()[6] - 1.0).abs() < 0.05 && state.point()[7].abs() < 0.05);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct FourierSampling<'a> {
    pub(super) fourier: &'a Fourier,
    pub(super) data: Cow<'a, FourierMeasurement>,
    /// The scaled weights `$s/N$`, because the transforms inside the kernel are unscaled.
    pub(super) weights: Vec<f64>,
    pub(super) parameters: TvParameters,
    tv: SmoothedTv,
    pub(super) curvature: Curvature,
    pub(super) rounding: Rounding,
    fingerprint: u64,
}

/// Working memory of [`FourierSampling`].
#[derive(Clone, Debug)]
pub struct FourierSamplingScratch {
    pub(super) fourier: FourierScratch,
    pub(super) fluxes: Vec<f64>,
    pub(super) circulant: DowndatedCirculant,
    pub(super) newton: SamplingNewtonScratch,
    pub(super) curvature: CurvatureScratch,
    /// The moduli of the differences at the point of the last Hessian.
    pub(super) moduli: Vec<f64>,
    /// Memory for one number per sample.
    pub(super) changes: Vec<f64>,
}

/// The cost of a typical Newton step, in gradients: that of a step with four iterations of
/// conjugate gradients, 6 + 4 * 2.5, by the measured costs in `sampling_newton.rs`.
const STEP_COST: f64 = 16.0;
/// A typical upper bound on the ratio of the gradient's error bound to the error. At the authors'
/// learned pattern the ratio is 27 to 34 (decision 14); this is about twice that.
const LOOSENESS: f64 = 60.0;

impl<'a> FourierSampling<'a> {
    /// Creates the model. `weights` holds `$s$`, one weight per frequency, in the order of the
    /// transform.
    ///
    /// # Errors
    /// If the transform is not that of a complex line, the data or the weights do not fit or are
    /// not finite, a weight is negative, a parameter is out of range, or both `xi` and the smallest
    /// weight are zero.
    pub fn new(
        fourier: &'a Fourier,
        data: &[f64],
        weights: &[f64],
        parameters: TvParameters,
    ) -> Result<Self, ModelError> {
        let data = FourierMeasurement::new(fourier, data)?;
        Self::with_data(fourier, Cow::Owned(data), weights, parameters)
    }

    /// Creates the same model as [`new`](Self::new), from data that are already checked.
    ///
    /// # Errors
    /// The same as for [`new`](Self::new).
    pub fn of_measurement(
        fourier: &'a Fourier,
        data: &'a FourierMeasurement,
        weights: &[f64],
        parameters: TvParameters,
    ) -> Result<Self, ModelError> {
        check_complex_line(fourier)?;
        check_len("data", &data.scaled, fourier.domain().num_samples())?;
        Self::with_data(fourier, Cow::Borrowed(data), weights, parameters)
    }

    fn with_data(
        fourier: &'a Fourier,
        data: Cow<'a, FourierMeasurement>,
        weights: &[f64],
        parameters: TvParameters,
    ) -> Result<Self, ModelError> {
        let grid = fourier.domain();
        let diagonal = Weights::Diagonal(weights);
        diagonal.check(grid.num_samples())?;
        parameters.check()?;
        let scale = fourier.transform().unitary_scale();
        let TvParameters { alpha, nu, xi } = parameters;
        let tv = SmoothedTv::new(grid, Differences::of_paper(grid), nu)?;
        Ok(Self {
            fingerprint: data.hash.add(weights).add(&[alpha, nu, xi]).finish(),
            fourier,
            weights: weights.iter().map(|s| s * scale * scale).collect(),
            parameters,
            tv,
            curvature: curvature(
                fourier.gram_spectrum(diagonal),
                parameters.alpha,
                &tv,
                parameters.xi,
            )?,
            rounding: Rounding {
                operator_norm: 1.0,
                largest_weight: diagonal.range().max,
                roundings: fourier.roundings(),
                data_norm: data.norm,
                xi: parameters.xi,
            },
            data,
        })
    }

    /// The parts of the model that linear systems need.
    pub(super) fn primal_dual(&self) -> PrimalDual<'_> {
        PrimalDual {
            transform: self.fourier.transform(),
            weights: &self.weights,
            parameters: self.parameters,
        }
    }

    /// Overwrites the samples of `scratch` with `$\sqrt N(Fx - y)$`.
    pub(super) fn misfit(&self, x: &[f64], scratch: &mut FourierScratch) {
        to_complex(Field::Complex, x, &mut scratch.samples);
        self.fourier.transform().forward(scratch);
        for (sample, data) in scratch.samples.iter_mut().zip(&self.data.scaled) {
            *sample -= data;
        }
    }
}

impl StronglyConvex for FourierSampling<'_> {
    type Scratch = FourierSamplingScratch;

    fn dim(&self) -> usize {
        self.fourier.domain().len()
    }

    fn curvature(&self) -> Curvature {
        self.curvature
    }

    fn scratch(&self) -> FourierSamplingScratch {
        FourierSamplingScratch {
            fourier: self.fourier.scratch(),
            fluxes: vec![0.0; self.dim() + 2],
            circulant: DowndatedCirculant::new(self.weights.len()),
            newton: SamplingNewtonScratch::new(self.weights.len()),
            curvature: CurvatureScratch::new(self.weights.len()),
            moduli: vec![0.0; self.weights.len()],
            changes: vec![0.0; self.weights.len()],
        }
    }

    fn gradient(&self, x: &[f64], gradient: &mut [f64], scratch: &mut FourierSamplingScratch) {
        self.misfit(x, &mut scratch.fourier);
        for (sample, &weight) in scratch.fourier.samples.iter_mut().zip(&self.weights) {
            *sample *= weight;
        }
        self.fourier.transform().inverse(&mut scratch.fourier);
        from_complex(Field::Complex, &scratch.fourier.samples, 1.0, gradient);
        dispatch(AddComplexLineGradient {
            parameters: self.parameters,
            x,
            gradient,
            fluxes: &mut scratch.fluxes,
        });
    }

    fn value(&self, x: &[f64], scratch: &mut FourierSamplingScratch) -> f64 {
        self.misfit(x, &mut scratch.fourier);
        let samples = scratch.fourier.samples.iter().zip(&self.weights);
        let misfit: f64 = samples.map(|(m, s)| s * m.norm_sqr()).sum();
        let TvParameters { alpha, xi, .. } = self.parameters;
        let squares: f64 = x.iter().map(|x| x * x).sum();
        0.5 * misfit + alpha * self.tv.value(x) + 0.5 * xi * squares
    }

    fn gradient_rounding(&self, x_norm: f64, gradient_norm: f64) -> f64 {
        let regularizer = self.parameters.alpha * tv_gradient_rounding(self.fourier.domain());
        self.rounding.bound(x_norm, gradient_norm, regularizer)
    }

    fn fingerprint(&self) -> Option<u64> {
        Some(self.fingerprint)
    }

    fn newton(&self) -> Option<&dyn NewtonSteps<FourierSamplingScratch>> {
        Some(self)
    }

    fn second_order(&self) -> Option<&dyn SecondOrder<FourierSamplingScratch>> {
        Some(self)
    }
}

impl NewtonSteps<FourierSamplingScratch> for FourierSampling<'_> {
    fn num_duals(&self) -> usize {
        self.dim()
    }

    fn step_cost(&self) -> f64 {
        STEP_COST
    }

    fn looseness(&self) -> f64 {
        LOOSENESS
    }

    fn value_at(&self, x: &[f64], scratch: &mut FourierSamplingScratch) -> f64 {
        self.value(x, scratch)
    }

    fn step(
        &self,
        at: &NewtonPoint<'_>,
        step: &mut [f64],
        dual_step: &mut [f64],
        scratch: &mut FourierSamplingScratch,
    ) -> f64 {
        let FourierSamplingScratch {
            circulant,
            newton,
            fourier,
            ..
        } = scratch;
        self.primal_dual()
            .step(at, step, dual_step, circulant, newton, fourier)
    }

    fn sharper_bound(
        &self,
        at: &NewtonPoint<'_>,
        scratch: &mut FourierSamplingScratch,
    ) -> Option<(ErrorBound, f64)> {
        let model = LocalCurvature {
            transform: self.fourier.transform(),
            weights: &self.weights,
            parameters: self.parameters,
            strong_convexity: self.curvature.strong_convexity(),
            gradient_error: self.gradient_rounding(norm(at.x), at.gradient_norm)
                + f64::MIN_POSITIVE * count(self.dim()),
        };
        let FourierSamplingScratch {
            circulant,
            curvature,
            fourier,
            ..
        } = scratch;
        let (bound, cost) = model.bound(at, circulant, curvature, fourier);
        Some((ErrorBound::new(bound).ok()?, cost))
    }
}
