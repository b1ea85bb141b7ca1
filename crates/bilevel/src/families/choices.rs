//! Regularisers with their parameters, for families with any operator.

use std::fmt;

use imaging::{
    Differences, LinearOperator, Measurement, Regularizer, SmoothedTv, Variational,
    VariationalScratch, Weights,
};

use super::TvChoices;
use super::tv::TvDerivatives;
use crate::derivatives::Derivatives;
use crate::error::BoxError;
use crate::parameter::Parameter;

/// The derivatives of a model with the operator `A`.
pub(super) type ModelDerivatives<'a, A> =
    Box<dyn Derivatives<VariationalScratch<<A as LinearOperator>::Scratch>> + 'a>;

/// The choice of a regulariser and of its parameters: [`TvChoices`] for total variation, and
/// [`FilterChoices`](super::FilterChoices) for a convex filter bank.
#[expect(
    unnameable_types,
    reason = "only this crate implements it, for two types that have names"
)]
pub trait Choices: fmt::Debug + Send + Sync {
    /// The regulariser.
    type Regularizer: Regularizer + fmt::Debug;

    /// Returns the parameters that are learned.
    fn parameters(&self) -> Vec<Parameter>;

    /// Returns the model of a measurement by `operator`, at these values of the parameters.
    ///
    /// # Errors
    /// When a value is out of range.
    fn model<'a, A: LinearOperator>(
        &self,
        values: &[f64],
        operator: A,
        data: &'a Measurement,
        weights: Weights<'a>,
        differences: Differences,
    ) -> Result<Variational<'a, A, Self::Regularizer>, BoxError>;

    /// Returns the derivatives of such a model with respect to the parameters.
    fn derivatives<'a, A: LinearOperator>(
        &'a self,
        values: &'a [f64],
        model: &'a Variational<'_, A, Self::Regularizer>,
    ) -> Option<Box<dyn Derivatives<VariationalScratch<A::Scratch>> + 'a>>;
}

impl Choices for TvChoices {
    type Regularizer = SmoothedTv;

    fn parameters(&self) -> Vec<Parameter> {
        Self::parameters(self)
    }

    fn model<'a, A: LinearOperator>(
        &self,
        values: &[f64],
        operator: A,
        data: &'a Measurement,
        weights: Weights<'a>,
        differences: Differences,
    ) -> Result<Variational<'a, A, SmoothedTv>, BoxError> {
        let parameters = self.at(values);
        Ok(Variational::tv(
            operator,
            data,
            weights,
            differences,
            parameters,
        )?)
    }

    fn derivatives<'a, A: LinearOperator>(
        &'a self,
        _values: &'a [f64],
        model: &'a Variational<'_, A, SmoothedTv>,
    ) -> Option<ModelDerivatives<'a, A>> {
        Some(Box::new(TvDerivatives {
            choices: *self,
            objective: model,
        }))
    }
}
