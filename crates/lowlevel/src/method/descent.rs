//! Gradient descent over the whole space.

use crate::buffer::Buffer;
use crate::error::SolveError;
use crate::evaluator::{Evaluator, Gradient};
use crate::method::Step;
use crate::objective::StronglyConvex;
use crate::update::Update;

/// The memory of [`Method::GradientDescent`](crate::Method::GradientDescent).
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Descent {
    pub(crate) step: Step,
    pub(crate) gradient: Gradient,
}

impl Descent {
    /// Makes one iteration, and returns the norm of the gradient at its end.
    pub(crate) fn step<O: StronglyConvex>(
        &mut self,
        point: &mut Buffer,
        evaluator: &mut Evaluator<'_, O>,
    ) -> Result<f64, SolveError> {
        let step = self.step.length(evaluator.curvature);
        evaluator.advance(Update::Descent { step }, point, &mut self.gradient)
    }
}
