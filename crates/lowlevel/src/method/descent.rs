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
    pub(crate) fn step<O: StronglyConvex>(
        &mut self,
        point: &mut Buffer,
        at: &mut Evaluator<'_, O>,
    ) -> Result<f64, SolveError> {
        let step = self.step.length(at.curvature);
        at.advance(Update::Descent { step }, point, &mut self.gradient)
    }
}
