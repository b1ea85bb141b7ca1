//! A closed choice of the crate's families, for programs that choose a family at run time.

use imaging::{Convolution, Denoising, FourierMeasurement, FourierSampling, Grid, Mask};
use imaging::{DenoisingScratch, FourierSamplingScratch, LinearOperator};
use imaging::{SmoothedTv, Variational, VariationalScratch};
use lowlevel::adjoint::MixedBound;
use lowlevel::{
    Curvature, ErrorBound, NewtonPoint, NewtonRun, NewtonSteps, SecondOrder, SecondOrderCosts,
    StronglyConvex, ThirdOrder, Update,
};

use super::FamilyKind;
use super::{BlurredData, FourierWeights, ImageData, TvDeblurring, TvDenoising, TvInpainting};
use super::{FilterDenoising, FilterObjective};
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
    /// Deblurring of pictures with a known blur.
    Deblurring(TvDeblurring),
    /// Inpainting of pictures with missing pixels.
    Inpainting(TvInpainting),
    /// Reconstruction of complex signals from some of their frequencies.
    Sampling(FourierWeights),
}

/// The prepared data of a [`Family`].
#[derive(Clone, Debug)]
pub struct FamilyData(Data);

#[derive(Clone, Debug)]
enum Data {
    Denoising(ImageData),
    Filters(ImageData),
    Deblurring(BlurredData),
    Inpainting(ImageData),
    Sampling(FourierMeasurement),
}

/// The objective of one reconstruction of a [`Family`].
#[derive(Clone, Debug)]
pub struct FamilyObjective<'a>(Objective<'a>);

#[derive(Clone, Debug)]
enum Objective<'a> {
    Denoising(Denoising<'a>),
    Filters(FilterObjective<'a>),
    Deblurring(Variational<'a, &'a Convolution, SmoothedTv>),
    Inpainting(Variational<'a, &'a Mask, SmoothedTv>),
    Sampling(FourierSampling<'a>),
}

/// The working memory of a [`FamilyObjective`].
#[derive(Clone, Debug)]
pub struct FamilyScratch(Scratch);

#[derive(Clone, Debug)]
enum Scratch {
    Denoising(DenoisingScratch),
    Filters(<FilterDenoising as LowerLevel>::Scratch),
    Deblurring(VariationalScratch<<Convolution as LinearOperator>::Scratch>),
    Inpainting(VariationalScratch<<Mask as LinearOperator>::Scratch>),
    Sampling(Box<FourierSamplingScratch>),
}

/// Evaluates an expression with the inner family, objective or scratch space.
macro_rules! for_each_family {
    ($kind:ident, $value:expr, $inner:ident => $result:expr) => {
        match $value {
            $kind::Denoising($inner) => $result,
            $kind::Filters($inner) => $result,
            $kind::Deblurring($inner) => $result,
            $kind::Inpainting($inner) => $result,
            $kind::Sampling($inner) => $result,
        }
    };
}

/// Evaluates an expression with an objective and its scratch space.
macro_rules! with_scratch {
    ($objective:expr, $scratch:expr, ($inner:ident, $memory:ident) => $result:expr) => {
        match (&$objective.0, &mut $scratch.0) {
            (Objective::Denoising($inner), Scratch::Denoising($memory)) => $result,
            (Objective::Filters($inner), Scratch::Filters($memory)) => $result,
            (Objective::Deblurring($inner), Scratch::Deblurring($memory)) => $result,
            (Objective::Inpainting($inner), Scratch::Inpainting($memory)) => $result,
            (Objective::Sampling($inner), Scratch::Sampling($memory)) => $result,
            _ => panic!("the scratch space belongs to another family"),
        }
    };
}

impl LowerLevel for Family {
    type Data = FamilyData;
    type Scratch = FamilyScratch;
    type Objective<'a> = FamilyObjective<'a>;

    fn parameters(&self) -> Vec<Parameter> {
        for_each_family!(Self, self, family => family.parameters())
    }

    fn prepare(&self, grid: Grid, data: &[f64]) -> Result<FamilyData, BoxError> {
        Ok(FamilyData(match self {
            Self::Denoising(family) => Data::Denoising(family.prepare(grid, data)?),
            Self::Filters(family) => Data::Filters(family.prepare(grid, data)?),
            Self::Deblurring(family) => Data::Deblurring(family.prepare(grid, data)?),
            Self::Inpainting(family) => Data::Inpainting(family.prepare(grid, data)?),
            Self::Sampling(family) => Data::Sampling(family.prepare(grid, data)?),
        }))
    }

    fn objective<'a>(
        &'a self,
        values: &[f64],
        data: &'a FamilyData,
    ) -> Result<FamilyObjective<'a>, BoxError> {
        Ok(FamilyObjective(match (self, &data.0) {
            (Self::Denoising(family), Data::Denoising(data)) => {
                Objective::Denoising(family.objective(values, data)?)
            }
            (Self::Filters(family), Data::Filters(data)) => {
                Objective::Filters(family.objective(values, data)?)
            }
            (Self::Deblurring(family), Data::Deblurring(data)) => {
                Objective::Deblurring(family.objective(values, data)?)
            }
            (Self::Inpainting(family), Data::Inpainting(data)) => {
                Objective::Inpainting(family.objective(values, data)?)
            }
            (Self::Sampling(family), Data::Sampling(data)) => {
                Objective::Sampling(family.objective(values, data)?)
            }
            _ => return Err("the data were prepared by another family".into()),
        }))
    }

    fn cold_start(&self, data: &FamilyData, x: &mut [f64]) {
        match (self, &data.0) {
            (Self::Denoising(family), Data::Denoising(data)) => family.cold_start(data, x),
            (Self::Filters(family), Data::Filters(data)) => family.cold_start(data, x),
            (Self::Deblurring(family), Data::Deblurring(data)) => family.cold_start(data, x),
            (Self::Inpainting(family), Data::Inpainting(data)) => family.cold_start(data, x),
            // sampling starts at zero
            _ => x.fill(0.0),
        }
    }

    fn derivatives<'a, 'b>(
        &'a self,
        values: &'a [f64],
        objective: &'a FamilyObjective<'b>,
    ) -> Option<Box<dyn Derivatives<FamilyScratch> + 'a>>
    where
        Self: 'b,
    {
        Some(Box::new(FamilyDerivatives(match (self, &objective.0) {
            (Self::Denoising(family), Objective::Denoising(objective)) => {
                Inner::Denoising(family.derivatives(values, objective)?)
            }
            (Self::Filters(family), Objective::Filters(objective)) => {
                Inner::Filters(family.derivatives(values, objective)?)
            }
            (Self::Deblurring(family), Objective::Deblurring(objective)) => {
                Inner::Deblurring(family.derivatives(values, objective)?)
            }
            (Self::Inpainting(family), Objective::Inpainting(objective)) => {
                Inner::Inpainting(family.derivatives(values, objective)?)
            }
            (Self::Sampling(family), Objective::Sampling(objective)) => {
                Inner::Sampling(family.derivatives(values, objective)?)
            }
            _ => return None,
        })))
    }

    fn kind(&self) -> Option<FamilyKind> {
        for_each_family!(Self, self, family => family.kind())
    }
}

impl StronglyConvex for FamilyObjective<'_> {
    type Scratch = FamilyScratch;

    fn dim(&self) -> usize {
        for_each_family!(Objective, &self.0, objective => objective.dim())
    }

    fn curvature(&self) -> Curvature {
        for_each_family!(Objective, &self.0, objective => objective.curvature())
    }

    fn scratch(&self) -> FamilyScratch {
        FamilyScratch(match &self.0 {
            Objective::Denoising(objective) => Scratch::Denoising(objective.scratch()),
            Objective::Filters(objective) => Scratch::Filters(objective.scratch()),
            Objective::Deblurring(objective) => Scratch::Deblurring(objective.scratch()),
            Objective::Inpainting(objective) => Scratch::Inpainting(objective.scratch()),
            Objective::Sampling(objective) => Scratch::Sampling(Box::new(objective.scratch())),
        })
    }

    fn gradient(&self, x: &[f64], gradient: &mut [f64], scratch: &mut FamilyScratch) {
        with_scratch!(self, scratch, (objective, memory) => {
            objective.gradient(x, gradient, memory);
        });
    }

    fn value(&self, x: &[f64], scratch: &mut FamilyScratch) -> f64 {
        with_scratch!(self, scratch, (objective, memory) => objective.value(x, memory))
    }

    fn gradient_rounding(&self, x_norm: f64, gradient_norm: f64) -> f64 {
        for_each_family!(Objective, &self.0, objective => {
            objective.gradient_rounding(x_norm, gradient_norm)
        })
    }

    fn fingerprint(&self) -> Option<u64> {
        for_each_family!(Objective, &self.0, objective => objective.fingerprint())
    }

    fn gradient_with_norm(
        &self,
        x: &[f64],
        gradient: &mut [f64],
        scratch: &mut FamilyScratch,
    ) -> f64 {
        with_scratch!(self, scratch, (objective, memory) => {
            objective.gradient_with_norm(x, gradient, memory)
        })
    }

    fn advance(
        &self,
        update: Update<'_>,
        point: &mut [f64],
        gradient: &mut [f64],
        scratch: &mut FamilyScratch,
    ) -> f64 {
        with_scratch!(self, scratch, (objective, memory) => {
            objective.advance(update, point, gradient, memory)
        })
    }

    fn newton(&self) -> Option<&dyn NewtonSteps<FamilyScratch>> {
        let is_offered =
            for_each_family!(Objective, &self.0, objective => objective.newton().is_some());
        if is_offered { Some(self) } else { None }
    }

    fn second_order(&self) -> Option<&dyn SecondOrder<FamilyScratch>> {
        let is_offered =
            for_each_family!(Objective, &self.0, objective => objective.second_order().is_some());
        if is_offered { Some(self) } else { None }
    }
}

/// Evaluates an expression with the second derivatives of an objective and its scratch space.
macro_rules! with_second_order {
    ($objective:expr, $scratch:expr, ($inner:ident, $memory:ident) => $result:expr) => {
        with_scratch!($objective, $scratch, (objective, $memory) => {
            let $inner = objective.second_order().expect("second derivatives were offered");
            $result
        })
    };
}

impl SecondOrder<FamilyScratch> for FamilyObjective<'_> {
    fn linearise(&self, x: &[f64], scratch: &mut FamilyScratch) {
        with_second_order!(self, scratch, (second, memory) => second.linearise(x, memory));
    }

    fn hessian_product(&self, v: &[f64], out: &mut [f64], scratch: &mut FamilyScratch) {
        with_second_order!(self, scratch, (second, memory) => {
            second.hessian_product(v, out, memory);
        });
    }

    fn product_rounding(&self, v_norm: f64) -> f64 {
        for_each_family!(Objective, &self.0, objective => {
            (objective.second_order()).map_or(f64::INFINITY, |second| second.product_rounding(v_norm))
        })
    }

    fn costs(&self) -> SecondOrderCosts {
        for_each_family!(Objective, &self.0, objective => {
            objective.second_order().map_or_else(Default::default, |second| second.costs())
        })
    }

    fn is_direct(&self) -> bool {
        for_each_family!(Objective, &self.0, objective => {
            objective.second_order().is_some_and(|second| second.is_direct())
        })
    }

    fn solve(
        &self,
        rhs: &[f64],
        q: &mut [f64],
        target: f64,
        scratch: &mut FamilyScratch,
    ) -> Option<f64> {
        with_second_order!(self, scratch, (second, memory) => second.solve(rhs, q, target, memory))
    }

    fn precondition(&self, r: &[f64], out: &mut [f64], scratch: &mut FamilyScratch) {
        with_second_order!(self, scratch, (second, memory) => second.precondition(r, out, memory));
    }

    fn third_order(&self, q: &[f64], error: f64, scratch: &mut FamilyScratch) -> ThirdOrder {
        with_second_order!(self, scratch, (second, memory) => second.third_order(q, error, memory))
    }

    fn curvature_near(&self, error: f64, scratch: &mut FamilyScratch) -> Option<f64> {
        with_second_order!(self, scratch, (second, memory) => second.curvature_near(error, memory))
    }
}

/// The derivatives of an objective of any family.
struct FamilyDerivatives<'a>(Inner<'a>);

type Boxed<'a, M> = Box<dyn Derivatives<<M as LowerLevel>::Scratch> + 'a>;

enum Inner<'a> {
    Denoising(Boxed<'a, TvDenoising>),
    Filters(Boxed<'a, FilterDenoising>),
    Deblurring(Boxed<'a, TvDeblurring>),
    Inpainting(Boxed<'a, TvInpainting>),
    Sampling(Boxed<'a, FourierWeights>),
}

/// Evaluates an expression with derivatives and the scratch space of their objective.
macro_rules! with_derivatives {
    ($derivatives:expr, $scratch:expr, ($inner:ident, $memory:ident) => $result:expr) => {
        match (&$derivatives.0, &mut $scratch.0) {
            (Inner::Denoising($inner), Scratch::Denoising($memory)) => $result,
            (Inner::Filters($inner), Scratch::Filters($memory)) => $result,
            (Inner::Deblurring($inner), Scratch::Deblurring($memory)) => $result,
            (Inner::Inpainting($inner), Scratch::Inpainting($memory)) => $result,
            (Inner::Sampling($inner), Scratch::Sampling($memory)) => $result,
            _ => panic!("the scratch space belongs to another family"),
        }
    };
}

impl Derivatives<FamilyScratch> for FamilyDerivatives<'_> {
    fn mixed_product(&self, x: &[f64], q: &[f64], out: &mut [f64], scratch: &mut FamilyScratch) {
        with_derivatives!(self, scratch, (inner, memory) => inner.mixed_product(x, q, out, memory));
    }

    fn cost(&self) -> f64 {
        for_each_family!(Inner, &self.0, inner => inner.cost())
    }

    fn mixed_bounds(
        &self,
        x: &[f64],
        q: &[f64],
        error: f64,
        out: &mut [MixedBound],
        scratch: &mut FamilyScratch,
    ) -> bool {
        with_derivatives!(self, scratch, (inner, memory) => {
            inner.mixed_bounds(x, q, error, out, memory)
        })
    }

    fn condition_gradient(&self, out: &mut [f64]) -> bool {
        for_each_family!(Inner, &self.0, inner => inner.condition_gradient(out))
    }
}

/// Evaluates an expression with the Newton steps of an objective and its scratch space.
macro_rules! with_newton {
    ($objective:expr, $scratch:expr, ($inner:ident, $memory:ident) => $result:expr) => {
        match (&$objective.0, &mut $scratch.0) {
            (Objective::Denoising($inner), Scratch::Denoising($memory)) => $result,
            (Objective::Sampling($inner), Scratch::Sampling($memory)) => $result,
            _ => panic!("the family has no Newton steps, or the scratch space of another family"),
        }
    };
}

impl NewtonSteps<FamilyScratch> for FamilyObjective<'_> {
    fn num_duals(&self) -> usize {
        match &self.0 {
            Objective::Denoising(objective) => objective.num_duals(),
            Objective::Sampling(objective) => objective.num_duals(),
            Objective::Filters(_) | Objective::Deblurring(_) | Objective::Inpainting(_) => 0,
        }
    }

    fn step_cost(&self) -> f64 {
        match &self.0 {
            Objective::Denoising(objective) => objective.step_cost(),
            Objective::Sampling(objective) => objective.step_cost(),
            Objective::Filters(_) | Objective::Deblurring(_) | Objective::Inpainting(_) => {
                f64::INFINITY
            }
        }
    }

    fn looseness(&self) -> f64 {
        match &self.0 {
            Objective::Denoising(objective) => objective.looseness(),
            Objective::Sampling(objective) => objective.looseness(),
            Objective::Filters(_) | Objective::Deblurring(_) | Objective::Inpainting(_) => 1.0,
        }
    }

    fn value_at(&self, x: &[f64], scratch: &mut FamilyScratch) -> f64 {
        self.value(x, scratch)
    }

    fn step(
        &self,
        at: &NewtonPoint<'_>,
        step: &mut [f64],
        dual_step: &mut [f64],
        scratch: &mut FamilyScratch,
    ) -> f64 {
        with_newton!(self, scratch, (objective, memory) => {
            objective.step(at, step, dual_step, memory)
        })
    }

    fn run(&self, run: &mut NewtonRun<'_>, scratch: &mut FamilyScratch) -> f64 {
        with_newton!(self, scratch, (objective, memory) => objective.run(run, memory))
    }

    fn sharper_bound(
        &self,
        at: &NewtonPoint<'_>,
        scratch: &mut FamilyScratch,
    ) -> Option<(ErrorBound, f64)> {
        with_newton!(self, scratch, (objective, memory) => objective.sharper_bound(at, memory))
    }
}
