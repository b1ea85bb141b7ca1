//! Families, objectives and working memory without types, for families chosen at run time.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use imaging::{Grid, Window};
use lowlevel::adjoint::MixedBound;
use lowlevel::{
    Curvature, ErrorBound, MetricCosts, NewtonPoint, NewtonRun, NewtonSteps, SecondOrder,
    SecondOrderCosts, StronglyConvex, Subgradient, SubgradientPoint, ThirdOrder, Update,
};

use super::FamilyKind;
use crate::criterion::Forward;
use crate::derivatives::Derivatives;
use crate::error::BoxError;
use crate::lower::LowerLevel;
use crate::parameter::Parameter;

/// The prepared data of a [`Family`](super::Family).
#[derive(Clone, Debug)]
pub struct FamilyData(Arc<dyn Any + Send + Sync>);

/// The data of one image that another family has prepared, with that family.
struct OfOther {
    family: Box<dyn ErasedFamily + Send>,
    data: FamilyData,
}

impl FamilyData {
    /// Prepares data with `family`, which they take along.
    pub(super) fn of_other(
        family: Box<dyn ErasedFamily + Send>,
        grid: Grid,
        data: &[f64],
    ) -> Result<Self, BoxError> {
        let data = family.prepare(grid, data)?;
        Ok(Self(Arc::new(OfOther { family, data })))
    }

    /// Returns the family that these data have with them, or else `family`, and its data.
    pub(super) fn with<'a>(
        &'a self,
        family: &'a dyn ErasedFamily,
    ) -> (&'a dyn ErasedFamily, &'a Self) {
        match self.0.downcast_ref::<OfOther>() {
            Some(other) => (&*other.family, &other.data),
            None => (family, self),
        }
    }
}

/// A family that is not one of this crate; see [`Family::own`](super::Family::own).
pub struct OwnFamily(pub(super) Box<dyn ErasedFamily + Send>);

impl fmt::Debug for OwnFamily {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnFamily").finish_non_exhaustive()
    }
}

/// The working memory of a [`FamilyObjective`].
pub struct FamilyScratch(Box<dyn Any + Send>);

/// The objective of one reconstruction of a [`Family`](super::Family).
pub struct FamilyObjective<'a>(Box<dyn ErasedObjective + 'a>);

impl fmt::Debug for FamilyScratch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FamilyScratch").finish_non_exhaustive()
    }
}

impl fmt::Debug for FamilyObjective<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FamilyObjective")
            .field("curvature", &self.curvature())
            .finish_non_exhaustive()
    }
}

impl FamilyScratch {
    /// Returns the working memory of type `S`.
    fn get<S: 'static>(&mut self) -> &mut S {
        let memory = self.0.downcast_mut();
        memory.expect("the scratch space belongs to the family")
    }
}

/// The trait [`LowerLevel`] without its types. Every family implements it.
pub(super) trait ErasedFamily: Sync {
    fn parameters(&self) -> Vec<Parameter>;
    fn prepare(&self, grid: Grid, data: &[f64]) -> Result<FamilyData, BoxError>;
    fn objective<'a>(
        &'a self,
        values: &[f64],
        data: &'a FamilyData,
    ) -> Result<FamilyObjective<'a>, BoxError>;
    fn cold_start(&self, data: &FamilyData, x: &mut [f64]);
    fn window(&self, grid: Grid) -> Window;
    fn takes_missing(&self) -> bool;
    fn forward<'a>(&'a self, values: &[f64], data: &'a FamilyData) -> Option<Forward<'a>>;
    fn is_serial(&self) -> bool;
    fn kind(&self) -> Option<FamilyKind>;
}

impl<M> ErasedFamily for M
where
    M: LowerLevel,
    M::Data: 'static,
    M::Scratch: 'static,
{
    fn parameters(&self) -> Vec<Parameter> {
        LowerLevel::parameters(self)
    }

    fn prepare(&self, grid: Grid, data: &[f64]) -> Result<FamilyData, BoxError> {
        Ok(FamilyData(Arc::new(LowerLevel::prepare(self, grid, data)?)))
    }

    fn objective<'a>(
        &'a self,
        values: &[f64],
        data: &'a FamilyData,
    ) -> Result<FamilyObjective<'a>, BoxError> {
        let data = (data.0.downcast_ref()).ok_or("the data were prepared by another family")?;
        Ok(FamilyObjective(Box::new(Typed {
            family: self,
            objective: LowerLevel::objective(self, values, data)?,
        })))
    }

    fn cold_start(&self, data: &FamilyData, x: &mut [f64]) {
        match data.0.downcast_ref() {
            Some(data) => LowerLevel::cold_start(self, data, x),
            None => x.fill(0.0),
        }
    }

    fn window(&self, grid: Grid) -> Window {
        LowerLevel::window(self, grid)
    }

    fn takes_missing(&self) -> bool {
        LowerLevel::takes_missing(self)
    }

    fn forward<'a>(&'a self, values: &[f64], data: &'a FamilyData) -> Option<Forward<'a>> {
        LowerLevel::forward(self, values, data.0.downcast_ref()?)
    }

    fn is_serial(&self) -> bool {
        LowerLevel::is_serial(self)
    }

    fn kind(&self) -> Option<FamilyKind> {
        LowerLevel::kind(self)
    }
}

/// An objective whose working memory has no type, with the derivatives of its family.
trait ErasedObjective: StronglyConvex<Scratch = FamilyScratch> {
    fn derivatives<'a>(
        &'a self,
        values: &'a [f64],
    ) -> Option<Box<dyn Derivatives<FamilyScratch> + 'a>>;
}

impl FamilyObjective<'_> {
    /// Returns the derivatives with respect to the values of the parameters, with which the
    /// objective was built.
    pub(super) fn derivatives<'a>(
        &'a self,
        values: &'a [f64],
    ) -> Option<Box<dyn Derivatives<FamilyScratch> + 'a>> {
        self.0.derivatives(values)
    }
}

impl StronglyConvex for FamilyObjective<'_> {
    type Scratch = FamilyScratch;

    fn dim(&self) -> usize {
        self.0.dim()
    }

    fn curvature(&self) -> Curvature {
        self.0.curvature()
    }

    fn scratch(&self) -> FamilyScratch {
        self.0.scratch()
    }

    fn gradient(&self, x: &[f64], gradient: &mut [f64], scratch: &mut FamilyScratch) {
        self.0.gradient(x, gradient, scratch);
    }

    fn value(&self, x: &[f64], scratch: &mut FamilyScratch) -> f64 {
        self.0.value(x, scratch)
    }

    fn gradient_rounding(&self, x_norm: f64, gradient_norm: f64) -> f64 {
        self.0.gradient_rounding(x_norm, gradient_norm)
    }

    fn fingerprint(&self) -> Option<u64> {
        self.0.fingerprint()
    }

    fn gradient_with_norm(
        &self,
        x: &[f64],
        gradient: &mut [f64],
        scratch: &mut FamilyScratch,
    ) -> f64 {
        self.0.gradient_with_norm(x, gradient, scratch)
    }

    fn advance(
        &self,
        update: Update<'_>,
        point: &mut [f64],
        gradient: &mut [f64],
        scratch: &mut FamilyScratch,
    ) -> f64 {
        self.0.advance(update, point, gradient, scratch)
    }

    fn rough_rounding(&self, x_norm: f64, gradient_norm: f64) -> Option<f64> {
        self.0.rough_rounding(x_norm, gradient_norm)
    }

    fn rough_gradient(&self, x: &[f64], gradient: &mut [f64], scratch: &mut FamilyScratch) {
        self.0.rough_gradient(x, gradient, scratch);
    }

    fn newton(&self) -> Option<&dyn NewtonSteps<FamilyScratch>> {
        self.0.newton()
    }

    fn second_order(&self) -> Option<&dyn SecondOrder<FamilyScratch>> {
        self.0.second_order()
    }
}

/// An objective of a family, which finds its own working memory in a [`FamilyScratch`].
struct Typed<'a, M: LowerLevel + 'a> {
    family: &'a M,
    objective: M::Objective<'a>,
}

impl<M: LowerLevel> Typed<'_, M> {
    /// The Newton steps, which the objective has whenever this is called.
    fn newton_steps(&self) -> &dyn NewtonSteps<M::Scratch> {
        (self.objective.newton()).expect("Newton steps were offered")
    }

    /// Returns the second derivatives, which the objective has whenever this is called.
    fn second(&self) -> &dyn SecondOrder<M::Scratch> {
        (self.objective.second_order()).expect("second derivatives were offered")
    }
}

impl<M: LowerLevel> ErasedObjective for Typed<'_, M>
where
    M::Scratch: 'static,
{
    fn derivatives<'a>(
        &'a self,
        values: &'a [f64],
    ) -> Option<Box<dyn Derivatives<FamilyScratch> + 'a>> {
        let derivatives = self.family.derivatives(values, &self.objective)?;
        Some(Box::new(ErasedDerivatives(derivatives)))
    }
}

impl<M: LowerLevel> StronglyConvex for Typed<'_, M>
where
    M::Scratch: 'static,
{
    type Scratch = FamilyScratch;

    fn dim(&self) -> usize {
        self.objective.dim()
    }

    fn curvature(&self) -> Curvature {
        self.objective.curvature()
    }

    fn scratch(&self) -> FamilyScratch {
        FamilyScratch(Box::new(self.objective.scratch()))
    }

    fn gradient(&self, x: &[f64], gradient: &mut [f64], scratch: &mut FamilyScratch) {
        self.objective.gradient(x, gradient, scratch.get());
    }

    fn value(&self, x: &[f64], scratch: &mut FamilyScratch) -> f64 {
        self.objective.value(x, scratch.get())
    }

    fn gradient_rounding(&self, x_norm: f64, gradient_norm: f64) -> f64 {
        self.objective.gradient_rounding(x_norm, gradient_norm)
    }

    fn fingerprint(&self) -> Option<u64> {
        self.objective.fingerprint()
    }

    fn gradient_with_norm(
        &self,
        x: &[f64],
        gradient: &mut [f64],
        scratch: &mut FamilyScratch,
    ) -> f64 {
        (self.objective).gradient_with_norm(x, gradient, scratch.get())
    }

    fn advance(
        &self,
        update: Update<'_>,
        point: &mut [f64],
        gradient: &mut [f64],
        scratch: &mut FamilyScratch,
    ) -> f64 {
        (self.objective).advance(update, point, gradient, scratch.get())
    }

    fn rough_rounding(&self, x_norm: f64, gradient_norm: f64) -> Option<f64> {
        self.objective.rough_rounding(x_norm, gradient_norm)
    }

    fn rough_gradient(&self, x: &[f64], gradient: &mut [f64], scratch: &mut FamilyScratch) {
        (self.objective).rough_gradient(x, gradient, scratch.get());
    }

    fn newton(&self) -> Option<&dyn NewtonSteps<FamilyScratch>> {
        self.objective.newton()?;
        Some(self)
    }

    fn second_order(&self) -> Option<&dyn SecondOrder<FamilyScratch>> {
        self.objective.second_order()?;
        Some(self)
    }
}

impl<M: LowerLevel> SecondOrder<FamilyScratch> for Typed<'_, M>
where
    M::Scratch: 'static,
{
    fn linearise(&self, x: &[f64], scratch: &mut FamilyScratch) {
        self.second().linearise(x, scratch.get());
    }

    fn num_duals(&self) -> usize {
        self.second().num_duals()
    }

    fn linearise_dual(&self, x: &[f64], dual: &[f64], scratch: &mut FamilyScratch) {
        self.second().linearise_dual(x, dual, scratch.get());
    }

    fn move_duals(&self, z: &[f64], dual: &mut [f64], scratch: &mut FamilyScratch) {
        self.second().move_duals(z, dual, scratch.get());
    }

    fn hessian_product(&self, v: &[f64], out: &mut [f64], scratch: &mut FamilyScratch) {
        self.second().hessian_product(v, out, scratch.get());
    }

    fn product_rounding(&self, v_norm: f64) -> f64 {
        self.second().product_rounding(v_norm)
    }

    fn costs(&self) -> SecondOrderCosts {
        self.second().costs()
    }

    fn is_direct(&self) -> bool {
        self.second().is_direct()
    }

    fn solve(
        &self,
        rhs: &[f64],
        q: &mut [f64],
        target: f64,
        scratch: &mut FamilyScratch,
    ) -> Option<f64> {
        self.second().solve(rhs, q, target, scratch.get())
    }

    fn precondition(&self, r: &[f64], out: &mut [f64], scratch: &mut FamilyScratch) {
        self.second().precondition(r, out, scratch.get());
    }

    fn metric(&self) -> Option<MetricCosts> {
        self.second().metric()
    }

    fn set_metric(&self, x: &[f64], scratch: &mut FamilyScratch) {
        self.second().set_metric(x, scratch.get());
    }

    fn apply_metric(&self, r: &[f64], out: &mut [f64], scratch: &mut FamilyScratch) {
        self.second().apply_metric(r, out, scratch.get());
    }

    fn subgradient(
        &self,
        at: &SubgradientPoint<'_>,
        out: &mut [f64],
        scratch: &mut FamilyScratch,
    ) -> Option<Subgradient> {
        self.second().subgradient(at, out, scratch.get())
    }

    fn third_order(&self, q: &[f64], error: f64, scratch: &mut FamilyScratch) -> ThirdOrder {
        self.second().third_order(q, error, scratch.get())
    }

    fn curvature_near(&self, error: f64, scratch: &mut FamilyScratch) -> Option<f64> {
        self.second().curvature_near(error, scratch.get())
    }
}

impl<M: LowerLevel> NewtonSteps<FamilyScratch> for Typed<'_, M>
where
    M::Scratch: 'static,
{
    fn num_duals(&self) -> usize {
        self.newton_steps().num_duals()
    }

    fn step_cost(&self) -> f64 {
        self.newton_steps().step_cost()
    }

    fn looseness(&self) -> f64 {
        self.newton_steps().looseness()
    }

    fn value_at(&self, x: &[f64], scratch: &mut FamilyScratch) -> f64 {
        self.newton_steps().value_at(x, scratch.get())
    }

    fn step(
        &self,
        at: &NewtonPoint<'_>,
        step: &mut [f64],
        dual_step: &mut [f64],
        scratch: &mut FamilyScratch,
    ) -> f64 {
        (self.newton_steps()).step(at, step, dual_step, scratch.get())
    }

    fn run(&self, run: &mut NewtonRun<'_>, scratch: &mut FamilyScratch) -> f64 {
        self.newton_steps().run(run, scratch.get())
    }

    fn sharper_bound(
        &self,
        at: &NewtonPoint<'_>,
        scratch: &mut FamilyScratch,
    ) -> Option<(ErrorBound, f64)> {
        self.newton_steps().sharper_bound(at, scratch.get())
    }
}

/// Derivatives of an objective, which find its working memory in a [`FamilyScratch`].
struct ErasedDerivatives<'a, S>(Box<dyn Derivatives<S> + 'a>);

impl<S: 'static> Derivatives<FamilyScratch> for ErasedDerivatives<'_, S> {
    fn mixed_product(&self, x: &[f64], q: &[f64], out: &mut [f64], scratch: &mut FamilyScratch) {
        self.0.mixed_product(x, q, out, scratch.get());
    }

    fn cost(&self) -> f64 {
        self.0.cost()
    }

    fn mixed_bounds(
        &self,
        x: &[f64],
        q: &[f64],
        error: f64,
        out: &mut [MixedBound],
        scratch: &mut FamilyScratch,
    ) -> bool {
        (self.0).mixed_bounds(x, q, error, out, scratch.get())
    }

    fn condition_gradient(&self, out: &mut [f64]) -> bool {
        self.0.condition_gradient(out)
    }
}
