//! Reconstruction of a complex picture from some of its frequencies, as in magnetic resonance
//! imaging.

use std::borrow::Cow;

use lowlevel::{
    Curvature, ErrorBound, NewtonPoint, NewtonSteps, SecondOrder, StronglyConvex, norm,
};

use super::circulant::count;
use super::linearisation::Linearisation;
use super::picture_newton::{Limits, PictureSystem, PictureSystemScratch};
use super::picture_weights::PictureRegularizer;
use super::{Rounding, TvParameters, curvature};
use crate::difference::{Boundary, Differences, Direction};
use crate::error::{ModelError, check_len};
use crate::filters::FilterRegularizer;
use crate::fingerprint;
use crate::grid::Field;
use crate::measurement::FourierMeasurement;
use crate::operator::{CoilFourier, FourierScratch, LinearOperator, Spectrum, Weights};
use crate::operator::{add_conjugate, multiply, to_complex};
use crate::regularizer::{Regularizer, SmoothedTv};

/// The model for undersampled magnetic resonance imaging of a complex picture,
/// `$\Phi(x) = \frac12\sum_c\|FC_cx - y_c\|_S^2 + \alpha\operatorname{TV}_\nu(x) +
/// \frac{\xi}{2}\|x\|^2$`, where `$F$` is the unitary transform, `$C_c$` the sensitivity of a coil,
/// and `$S = \operatorname{diag}(s)$` has one weight for each frequency: 1 if it is measured, and 0
/// if not.
///
/// The total variation has periodic differences. The model is
/// [`Variational`](crate::Variational) with [`CoilFourier`], and has Newton steps, so that it is
/// solved in a few dozen transforms, and a [sharper error bound](lowlevel::NewtonSteps).
///
/// ```
/// use imaging::{CoilFourier, FourierPicture, LinearOperator, TvParameters};
/// use lowlevel::{ErrorBound, Solver, State, Stop, StronglyConvex};
///
/// let fourier = CoilFourier::single(8, 8)?;
/// let truth = [1.0, 0.5].repeat(64); // the constant 1 + 0.5i
/// let mut data = [0.0; 128];
/// fourier.apply(&truth, &mut data, &mut fourier.scratch());
///
/// // Measure every other column of frequencies.
/// let weights = [1.0, 0.0].repeat(32);
/// let parameters = TvParameters { alpha: 0.01, nu: 0.01, xi: 1e-3 };
/// let objective = FourierPicture::new(&fourier, &data, &weights, parameters)?;
/// let mut state = State::new(vec![0.0; 128]);
/// let stop = Stop::accuracy(ErrorBound::new(1e-3)?);
/// Solver::default().minimize(&objective, stop, &mut state, &mut objective.scratch())?.reached()?;
/// assert!((state.point()[6] - 1.0).abs() < 0.01 && (state.point()[7] - 0.5).abs() < 0.01);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct FourierPicture<'a> {
    pub(super) fourier: &'a CoilFourier,
    pub(super) data: Cow<'a, FourierMeasurement>,
    /// The scaled weights `$s/N$`, because the transforms inside the kernel are unscaled.
    pub(super) weights: Vec<f64>,
    /// The symbol of the circulant matrix that is closest to `$A^*SA$`.
    symbol: Vec<f64>,
    pub(super) parameters: TvParameters,
    pub(super) regularizer: PictureRegularizer,
    pub(super) curvature: Curvature,
    /// The spectrum of `$A^*SA$`.
    spectrum: Spectrum,
    pub(super) rounding: Rounding,
    fingerprint: u64,
}

/// Working memory of [`FourierPicture`].
#[derive(Clone, Debug)]
pub struct FourierPictureScratch {
    pub(super) fourier: FourierScratch,
    pub(super) linearisation: Linearisation,
    pub(super) system: PictureSystemScratch,
    /// A vector as long as the picture.
    pub(super) vector: Vec<f64>,
    pub(super) product: Vec<f64>,
    /// For each response, the modulus of its remainder, and that of the response to `$x + z$`.
    pub(super) remainders: Vec<[f64; 2]>,
}

/// The cost of a Newton step without its iterations, in gradients (measured on 128 x 128 pixels).
pub(super) const COST: f64 = 2.0;
/// The cost of one iteration of conjugate gradients, in gradients (measured on 128 x 128 pixels).
pub(super) const COST_PER_ITERATION: f64 = 1.4;
/// The accepted residual of a Newton system, relative to the norm of the gradient; a choice.
const FORCING: f64 = 0.1;
/// The accepted residual, relative to the target norm of the gradient; a choice.
const FORCING_TARGET: f64 = 0.3;
/// The largest number of iterations for one step; the line search copes with an inaccurate step.
const MAX_ITERATIONS: usize = 100;
/// The cost of a typical Newton step, in gradients.
const STEP_COST: f64 = 16.0;
/// A typical ratio of the gradient's error bound to the error; 18 to 336 were measured.
const LOOSENESS: f64 = 60.0;

impl<'a> FourierPicture<'a> {
    /// The differences of the total variation: to the next sample, with periodic boundary.
    pub const DIFFERENCES: Differences = Differences {
        direction: Direction::Forward,
        boundary: Boundary::Periodic,
    };

    /// Creates the model. `weights` holds `$s$`, one weight per frequency, in the order of the
    /// transform, with frequency zero first; it is the same for all coils.
    ///
    /// # Errors
    /// If the data or the weights do not fit or are not finite, a weight is negative, a parameter
    /// is out of range, or both `xi` and the smallest weight are zero.
    pub fn new(
        fourier: &'a CoilFourier,
        data: &[f64],
        weights: &[f64],
        parameters: TvParameters,
    ) -> Result<Self, ModelError> {
        let data = FourierMeasurement::of_picture(fourier, data)?;
        Self::with_data(fourier, Cow::Owned(data), weights, parameters)
    }

    /// Creates the same model as [`new`](Self::new), from data that are already checked.
    ///
    /// # Errors
    /// The same as for [`new`](Self::new).
    pub fn of_measurement(
        fourier: &'a CoilFourier,
        data: &'a FourierMeasurement,
        weights: &[f64],
        parameters: TvParameters,
    ) -> Result<Self, ModelError> {
        check_len("data", &data.scaled, fourier.codomain().num_samples())?;
        Self::with_data(fourier, Cow::Borrowed(data), weights, parameters)
    }

    fn with_data(
        fourier: &'a CoilFourier,
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
        let tv = SmoothedTv::new(grid, Self::DIFFERENCES, nu)?;
        let spectrum = fourier.gram_spectrum(diagonal);
        let mut symbol = vec![0.0; weights.len()];
        fourier.gram_symbol(weights, &mut symbol);
        let numbers = data.hash.add(weights).add(&[alpha, nu, xi]).finish();
        let operator = fourier.fingerprint().unwrap_or_default();
        Ok(Self {
            fingerprint: fingerprint::of_hashes([numbers, operator]),
            weights: weights.iter().map(|s| s * scale * scale).collect(),
            symbol,
            parameters,
            curvature: curvature(spectrum, alpha, &tv, xi)?,
            regularizer: PictureRegularizer::Tv(tv),
            spectrum,
            rounding: Rounding {
                operator_norm: fourier.sensitivity().max.sqrt(),
                largest_weight: diagonal.range().max,
                roundings: fourier.roundings(),
                data_norm: data.norm,
                xi,
            },
            fourier,
            data,
        })
    }

    /// Replaces the total variation by the 3 x 3, 5 x 5 or 7 x 7 filters of
    /// [`FilterBank::dct`](crate::FilterBank::dct): the regulariser is
    /// `$\alpha\sum_kr_k\sum_j\sqrt{|(c_k * x)_j|^2 + \nu^2}$`, with one of the `relative` weights
    /// `$r_k$` for each of the 8, 24 or 48 filters. The responses are complex. For the filters,
    /// pictures are mirrored at their borders, while the transform repeats them.
    ///
    /// # Errors
    /// If the number of weights is another one, or a weight is negative or not finite.
    pub fn with_filters(mut self, relative: &[f64]) -> Result<Self, ModelError> {
        let TvParameters { alpha, nu, xi } = self.parameters;
        let filters = FilterRegularizer::convex(self.fourier.domain(), relative, nu)?;
        self.curvature = curvature(self.spectrum, alpha, &filters, xi)?;
        let of_filters = filters.fingerprint().unwrap_or_default();
        self.fingerprint = fingerprint::of_hashes([self.fingerprint, of_filters]);
        self.regularizer = PictureRegularizer::Filters(filters);
        Ok(self)
    }

    /// The parts of the model that linear systems need.
    pub(super) fn system(&self) -> PictureSystem<'_> {
        PictureSystem {
            fourier: self.fourier,
            weights: &self.weights,
            symbol: &self.symbol,
            regularizer: &self.regularizer,
            parameters: self.parameters,
        }
    }

    /// The data of all coils.
    pub(super) fn coils(&self) -> impl Iterator<Item = CoilData<'_>> {
        let data = self.data.scaled.chunks_exact(self.weights.len());
        self.fourier.maps().zip(data)
    }

    /// Overwrites the samples of `fourier` with `$\sqrt N FC_cx$`.
    pub(super) fn transform(&self, coil: CoilData<'_>, x: &[f64], fourier: &mut FourierScratch) {
        to_complex(Field::Complex, x, &mut fourier.samples);
        multiply(coil.0, &mut fourier.samples);
        self.fourier.transform().forward(fourier);
    }

    /// Overwrites `out` with `$A^*S(Ax - y)$`, or with `$A^*SAx$` if `homogeneous`.
    pub(super) fn data_term(
        &self,
        homogeneous: bool,
        x: &[f64],
        out: &mut [f64],
        fourier: &mut FourierScratch,
    ) {
        out.fill(0.0);
        for coil in self.coils() {
            self.transform(coil, x, fourier);
            let entries = fourier.samples.iter_mut().zip(&self.weights);
            for ((sample, &weight), data) in entries.zip(coil.1) {
                *sample = if homogeneous {
                    *sample * weight
                } else {
                    (*sample - data) * weight
                };
            }
            self.fourier.transform().inverse(fourier);
            add_conjugate(coil.0, 1.0, &fourier.samples, out);
        }
    }
}

/// The map of a coil (`None` stands for 1), and its data, times `$\sqrt N$`.
pub(super) type CoilData<'a> = (
    Option<&'a [num_complex::Complex<f64>]>,
    &'a [num_complex::Complex<f64>],
);

impl StronglyConvex for FourierPicture<'_> {
    type Scratch = FourierPictureScratch;

    fn dim(&self) -> usize {
        self.fourier.domain().len()
    }

    fn curvature(&self) -> Curvature {
        self.curvature
    }

    fn scratch(&self) -> FourierPictureScratch {
        let (rows, cols) = self.fourier.domain().rows_and_cols();
        FourierPictureScratch {
            fourier: self.fourier.scratch(),
            linearisation: Linearisation::default(),
            system: PictureSystemScratch::new(&self.regularizer, rows, cols),
            vector: vec![0.0; self.dim()],
            product: vec![0.0; self.dim()],
            remainders: Vec::new(),
        }
    }

    fn gradient(&self, x: &[f64], gradient: &mut [f64], scratch: &mut FourierPictureScratch) {
        self.data_term(false, x, gradient, &mut scratch.fourier);
        for (gradient, x) in gradient.iter_mut().zip(x) {
            *gradient += self.parameters.xi * x;
        }
        let alpha = self.parameters.alpha;
        (self.regularizer.as_regularizer()).add_gradient(alpha, x, gradient);
    }

    fn value(&self, x: &[f64], scratch: &mut FourierPictureScratch) -> f64 {
        let mut misfit = 0.0;
        for coil in self.coils() {
            self.transform(coil, x, &mut scratch.fourier);
            let samples = scratch.fourier.samples.iter().zip(coil.1);
            let terms = samples.zip(&self.weights);
            misfit += terms.map(|((m, y), s)| s * (m - y).norm_sqr()).sum::<f64>();
        }
        let TvParameters { alpha, xi, .. } = self.parameters;
        let squares: f64 = x.iter().map(|x| x * x).sum();
        0.5 * misfit + alpha * self.regularizer.as_regularizer().value(x) + 0.5 * xi * squares
    }

    fn gradient_rounding(&self, x_norm: f64, gradient_norm: f64) -> f64 {
        let regularizer = self.regularizer.as_regularizer();
        let regularizer = self.parameters.alpha * regularizer.gradient_rounding(x_norm);
        self.rounding.bound(x_norm, gradient_norm, regularizer)
    }

    fn fingerprint(&self) -> Option<u64> {
        Some(self.fingerprint)
    }

    fn newton(&self) -> Option<&dyn NewtonSteps<FourierPictureScratch>> {
        Some(self)
    }

    fn second_order(&self) -> Option<&dyn SecondOrder<FourierPictureScratch>> {
        Some(self)
    }
}

/// The primal-dual method of Chan, Golub & Mulet (1999), as for
/// [`FourierSampling`](crate::FourierSampling); the systems are those of
/// `picture_newton.rs`.
impl NewtonSteps<FourierPictureScratch> for FourierPicture<'_> {
    fn num_duals(&self) -> usize {
        self.regularizer.num_duals()
    }

    fn step_cost(&self) -> f64 {
        STEP_COST
    }

    fn looseness(&self) -> f64 {
        LOOSENESS
    }

    fn value_at(&self, x: &[f64], scratch: &mut FourierPictureScratch) -> f64 {
        self.value(x, scratch)
    }

    fn step(
        &self,
        at: &NewtonPoint<'_>,
        step: &mut [f64],
        dual_step: &mut [f64],
        scratch: &mut FourierPictureScratch,
    ) -> f64 {
        let (model, own) = (self.system(), &mut scratch.system);
        model.linearise(at.x, Some(at.dual), own);
        model.start(-1.0, at.gradient, own, &mut scratch.fourier);
        let residual = (FORCING * at.gradient_norm)
            .max((FORCING_TARGET * at.target_norm).min(0.5 * at.gradient_norm));
        let limits = Limits {
            residual,
            relative: 0.0,
            largest: f64::INFINITY,
            max_iterations: MAX_ITERATIONS,
        };
        let (iterations, _) = model.solve(limits, own, &mut scratch.fourier);
        model.solution(own, step, &mut scratch.fourier);
        let alpha = self.parameters.alpha;
        own.weights
            .dual_step(&self.regularizer, alpha, at.x, step, at.dual, dual_step);
        COST + COST_PER_ITERATION * count(iterations)
    }

    fn sharper_bound(
        &self,
        at: &NewtonPoint<'_>,
        scratch: &mut FourierPictureScratch,
    ) -> Option<(ErrorBound, f64)> {
        let gradient_error = self.gradient_rounding(norm(at.x), at.gradient_norm)
            + f64::MIN_POSITIVE * count(self.dim());
        let (bound, cost) = self.newton_bound(at, gradient_error, scratch);
        Some((ErrorBound::new(bound).ok()?, cost))
    }
}
