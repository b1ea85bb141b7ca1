//! Denoising by smoothed total variation.

use lowlevel::{
    Curvature, ErrorBound, NewtonPoint, NewtonRun, NewtonSteps, SecondOrder, StronglyConvex,
    Update, norm_squared,
};

use super::image::{ImageGradient, RowFluxes};
use super::line::LineGradient;
use super::line_gap::LineGap;
use super::line_hessian::LineHessian;
use super::line_newton::{LineNewton, LineNewtonScratch, LineRun};
use super::linearisation::Linearisation;
use super::simd::dispatch;
use super::update_kernel::Samples;
use super::{Rounding, TvMixed, TvParameters, check_grid, condition_gradient, curvature};
use crate::difference::Differences;
use crate::error::ModelError;
use crate::grid::{Field, Grid, Shape};
use crate::measurement::Data;
use crate::operator::Spectrum;
use crate::regularizer::{Regularizer, SmoothedTv, tv_gradient_rounding};

/// The paper's denoising model,
/// `$\Phi(x) = \frac12\|x - y\|^2 + \alpha\operatorname{TV}_\nu(x) + \frac{\xi}{2}\|x\|^2$`, for
/// real signals, pictures and volumes, with the paper's differences ([`Differences::of_paper`]).
///
/// It is a faster version of [`Variational`](crate::Variational) with
/// [`Identity`](crate::Identity). Use the latter for other differences and for complex samples.
///
/// ```
/// use imaging::{Denoising, Grid, Seed, TvParameters, noise, phantom, quality};
/// use lowlevel::{ErrorBound, Solver, State, Stop, StronglyConvex};
///
/// let truth = phantom::shepp_logan(64, 64)?;
/// let noisy = noise::gaussian(&truth, 0.1, Seed::new(1), 0)?;
/// let parameters = TvParameters { alpha: 0.1, nu: 0.01, xi: 1e-3 };
/// let objective = Denoising::new(Grid::image(64, 64), &noisy, parameters)?;
///
/// let mut state = State::new(noisy.clone());
/// let stop = Stop::accuracy(ErrorBound::new(1e-3)?);
/// let mut scratch = objective.scratch();
/// let solved = Solver::default().minimize(&objective, stop, &mut state, &mut scratch)?;
/// assert!(solved.error.value() <= 1e-3);
/// assert!(quality::psnr(state.point(), &truth, 1.0)? > quality::psnr(&noisy, &truth, 1.0)? + 3.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Denoising<'a> {
    pub(super) grid: Grid,
    data: Data<'a>,
    pub(super) parameters: TvParameters,
    pub(super) tv: SmoothedTv,
    pub(super) curvature: Curvature,
    rounding: Rounding,
}

/// The time of a Newton step on a line, in iterations of FISTA. Measured on 256 samples with
/// vectors of four numbers, as the quotient of the smallest times of `NewtonSteps::step` and
/// `advance`.
const STEP_COST: f64 = 2.7;
/// The time of one step of `NewtonSteps::run` without its gradient, in iterations of FISTA.
/// Measured in the same way, as the difference between a run of five steps and a run of one step,
/// per step.
const RUN_STEP_COST: f64 = 1.3;
/// The time of `NewtonSteps::run` without its steps, in iterations of FISTA. Measured in the same
/// way.
const RUN_COST: f64 = 1.6;
/// The time of the bound by duality, in iterations of FISTA. Measured in the same way.
const BOUND_COST: f64 = 1.9;

/// Working memory of [`Denoising`]. For images, the first use of second derivatives adds five
/// numbers per pixel; for volumes, six per voxel.
#[derive(Clone, Debug)]
pub struct DenoisingScratch(Fluxes);

/// The fluxes of the kernel for lines or for images. Volumes need none.
#[derive(Clone, Debug)]
enum Fluxes {
    Line {
        fluxes: Vec<f64>,
        newton: LineNewtonScratch,
        hessian: Box<LineHessian>,
    },
    Image {
        fluxes: RowFluxes,
        linearisation: Linearisation,
    },
}

impl DenoisingScratch {
    /// The fluxes and the working memory of Newton steps of a line.
    fn line(&mut self) -> (&mut [f64], &mut LineNewtonScratch) {
        match &mut self.0 {
            Fluxes::Line { fluxes, newton, .. } => (fluxes, newton),
            Fluxes::Image { .. } => panic!("the scratch belongs to a grid of another shape"),
        }
    }

    /// The second derivatives of a line.
    pub(super) fn line_hessian(&mut self) -> &mut LineHessian {
        match &mut self.0 {
            Fluxes::Line { hessian, .. } => hessian,
            Fluxes::Image { .. } => panic!("the scratch belongs to a grid of another shape"),
        }
    }

    /// The fluxes and the second derivatives of an image.
    pub(super) fn image(&mut self) -> (&mut RowFluxes, &mut Linearisation) {
        match &mut self.0 {
            Fluxes::Image {
                fluxes,
                linearisation,
            } => (fluxes, linearisation),
            Fluxes::Line { .. } => panic!("the scratch belongs to a grid of another shape"),
        }
    }
}

impl<'a> Denoising<'a> {
    /// Creates the model that denoises `data`, a slice or a [`Measurement`](crate::Measurement), on
    /// a real `grid`.
    ///
    /// # Errors
    /// If the grid is empty or complex, the data do not fit the grid or are not finite, or a
    /// parameter is out of range.
    pub fn new(
        grid: Grid,
        data: impl Into<Data<'a>>,
        parameters: TvParameters,
    ) -> Result<Self, ModelError> {
        check_grid(grid)?;
        if grid.field() != Field::Real {
            return Err(ModelError::WrongGrid {
                name: "grid",
                needed: "real: use Variational for complex unknowns",
            });
        }
        let data = data.into().checked(grid.len())?;
        parameters.check()?;
        let unit = Spectrum { min: 1.0, max: 1.0 };
        let tv = SmoothedTv::new(grid, Differences::of_paper(grid), parameters.nu)?;
        Ok(Self {
            grid,
            data,
            parameters,
            tv,
            curvature: curvature(unit, parameters.alpha, &tv, parameters.xi)?,
            rounding: Rounding {
                operator_norm: 1.0,
                largest_weight: 1.0,
                roundings: 0.0,
                data_norm: data.norm,
                xi: parameters.xi,
            },
        })
    }

    /// Returns the derivatives of the condition number `$L/\mu$` with respect to `$\alpha$`,
    /// `$\nu$` and `$\xi$`.
    #[must_use]
    pub fn tv_condition_gradient(&self) -> TvMixed {
        let norm_squared = Differences::norm_squared(self.grid);
        condition_gradient(self.curvature, self.parameters, norm_squared)
    }

    /// Overwrites `gradient` with the gradient at `x`, and returns its squared norm.
    fn gradient_at(
        &self,
        x: Samples<'_>,
        gradient: &mut [f64],
        scratch: &mut DenoisingScratch,
    ) -> f64 {
        let (parameters, data) = (self.parameters, self.data.values);
        match (self.grid.shape(), &mut scratch.0) {
            (Shape::Line { .. }, Fluxes::Line { fluxes, .. }) => dispatch(LineGradient {
                parameters,
                data,
                x,
                gradient,
                fluxes,
            }),
            (Shape::Image { cols, .. }, Fluxes::Image { fluxes, .. }) => dispatch(ImageGradient {
                parameters,
                cols,
                data,
                x,
                gradient,
                fluxes,
            }),
            (Shape::Volume { .. }, Fluxes::Image { .. }) => self.volume_gradient(x, gradient),
            _ => panic!("the scratch belongs to a grid of another shape"),
        }
    }

    /// Does the same as `gradient_at` for a volume: two passes over memory, without scratch.
    fn volume_gradient(&self, mut x: Samples<'_>, gradient: &mut [f64]) -> f64 {
        let TvParameters { alpha, xi, .. } = self.parameters;
        x.apply_update(gradient);
        let x = match &x {
            Samples::Fixed(x) => x,
            Samples::Updating { point, .. } => &**point,
        };
        for ((gradient, x), y) in gradient.iter_mut().zip(x).zip(self.data.values) {
            *gradient = (x - y) + xi * x;
        }
        self.tv.add_gradient(alpha, x, gradient);
        norm_squared(gradient)
    }
}

impl StronglyConvex for Denoising<'_> {
    type Scratch = DenoisingScratch;

    fn dim(&self) -> usize {
        self.grid.len()
    }

    fn curvature(&self) -> Curvature {
        self.curvature
    }

    fn scratch(&self) -> DenoisingScratch {
        DenoisingScratch(match self.grid.shape() {
            Shape::Line { num_samples } => Fluxes::Line {
                fluxes: vec![0.0; num_samples + 1],
                newton: LineNewtonScratch::new(num_samples),
                hessian: Box::new(LineHessian::new(num_samples)),
            },
            Shape::Image { cols, .. } | Shape::Volume { cols, .. } => Fluxes::Image {
                fluxes: RowFluxes::new(cols),
                linearisation: Linearisation::default(),
            },
        })
    }

    fn gradient(&self, x: &[f64], gradient: &mut [f64], scratch: &mut DenoisingScratch) {
        self.gradient_with_norm(x, gradient, scratch);
    }

    fn value(&self, x: &[f64], _scratch: &mut DenoisingScratch) -> f64 {
        let TvParameters { alpha, xi, .. } = self.parameters;
        let misfit: f64 = x
            .iter()
            .zip(self.data.values)
            .map(|(x, y)| (x - y).powi(2))
            .sum();
        let squares: f64 = x.iter().map(|x| x * x).sum();
        0.5 * misfit + alpha * self.tv.value(x) + 0.5 * xi * squares
    }

    fn gradient_rounding(&self, x_norm: f64, gradient_norm: f64) -> f64 {
        let regularizer = self.parameters.alpha * tv_gradient_rounding(self.grid);
        self.rounding.bound(x_norm, gradient_norm, regularizer)
    }

    fn fingerprint(&self) -> Option<u64> {
        let TvParameters { alpha, nu, xi } = self.parameters;
        Some(self.data.hash.add(&[alpha, nu, xi]).finish())
    }

    fn gradient_with_norm(
        &self,
        x: &[f64],
        gradient: &mut [f64],
        scratch: &mut DenoisingScratch,
    ) -> f64 {
        self.gradient_at(Samples::Fixed(x), gradient, scratch)
    }

    fn advance(
        &self,
        update: Update<'_>,
        point: &mut [f64],
        gradient: &mut [f64],
        scratch: &mut DenoisingScratch,
    ) -> f64 {
        self.gradient_at(Samples::Updating { point, update }, gradient, scratch)
    }

    fn newton(&self) -> Option<&dyn NewtonSteps<DenoisingScratch>> {
        match self.grid.shape() {
            Shape::Line { .. } => Some(self),
            Shape::Image { .. } | Shape::Volume { .. } => None,
        }
    }

    fn second_order(&self) -> Option<&dyn SecondOrder<DenoisingScratch>> {
        Some(self)
    }
}

/// Newton steps for lines. For others, [`newton`](StronglyConvex::newton) returns `None`.
impl NewtonSteps<DenoisingScratch> for Denoising<'_> {
    fn num_duals(&self) -> usize {
        self.grid.num_samples()
    }

    fn step_cost(&self) -> f64 {
        1.0 + RUN_STEP_COST
    }

    fn value_at(&self, x: &[f64], scratch: &mut DenoisingScratch) -> f64 {
        self.value(x, scratch)
    }

    fn step(
        &self,
        at: &NewtonPoint<'_>,
        step: &mut [f64],
        dual_step: &mut [f64],
        scratch: &mut DenoisingScratch,
    ) -> f64 {
        let (_, newton) = scratch.line();
        dispatch(LineNewton {
            parameters: self.parameters,
            at,
            step,
            dual_step,
            scratch: newton,
        });
        STEP_COST
    }

    fn run(&self, run: &mut NewtonRun<'_>, scratch: &mut DenoisingScratch) -> f64 {
        let (_, newton) = scratch.line();
        dispatch(LineRun {
            parameters: self.parameters,
            data: self.data.values,
            run,
            scratch: newton,
        });
        let num_steps = run.num_gradients() as f64;
        RUN_COST + num_steps * RUN_STEP_COST
    }

    fn sharper_bound(
        &self,
        at: &NewtonPoint<'_>,
        scratch: &mut DenoisingScratch,
    ) -> Option<(ErrorBound, f64)> {
        let (fluxes, _) = scratch.line();
        let bound = dispatch(LineGap {
            parameters: self.parameters,
            data: self.data.values,
            x: at.x,
            dual: at.dual,
            terms: fluxes,
        });
        Some((ErrorBound::new(bound).ok()?, BOUND_COST))
    }
}
