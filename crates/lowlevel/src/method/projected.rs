//! Projected gradient descent and projected FISTA, over a convex set.

use std::mem::swap;

use crate::buffer::Buffer;
use crate::domain::Domain;
use crate::error::SolveError;
use crate::evaluator::{Evaluator, Measured};
use crate::method::fista::{Momentum, extrapolate};
use crate::method::{Method, Step};
use crate::norm::{norm, norm_from_squared};
use crate::objective::StronglyConvex;

/// The memory of an iteration `$x^{k+1} = T(z^{k+1})$` over a set.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Projected {
    /// The step of projected gradient descent; `None` for FISTA.
    pub(crate) descent: Option<Step>,
    /// The iterate `$x^{k-1}$`, if the point of the state is `$x^k$`.
    pub(crate) previous: Buffer,
    momentum: Momentum,
    /// Memory for a gradient. Its content has no meaning between two iterations.
    #[cfg_attr(feature = "serde", serde(skip))]
    workspace: Buffer,
}

impl PartialEq for Projected {
    fn eq(&self, other: &Self) -> bool {
        self.descent == other.descent
            && self.previous == other.previous
            && self.momentum == other.momentum
    }
}

impl Projected {
    /// Starts without momentum at `point`, reusing the memory of `previous` and `workspace`.
    pub(crate) fn at_rest(
        descent: Option<Step>,
        mut previous: Buffer,
        mut workspace: Buffer,
        point: &[f64],
    ) -> Self {
        previous.assign(point);
        workspace.fill_to(point.len(), f64::NAN, Buffer::GRADIENT);
        Self {
            descent,
            previous,
            momentum: Momentum::default(),
            workspace,
        }
    }

    /// The two vectors, to be reused.
    pub(crate) fn into_vectors(self) -> (Buffer, Buffer) {
        (self.previous, self.workspace)
    }

    /// A copy of everything that the next iteration depends on.
    pub(crate) fn saved(&self) -> Self {
        Self {
            workspace: Buffer::default(),
            ..self.clone()
        }
    }

    /// Copies `other`, except for its workspace.
    pub(crate) fn copy_from(&mut self, other: &Self) {
        self.descent = other.descent;
        self.previous.assign(&other.previous);
        self.momentum = other.momentum;
    }

    /// The step length of projected gradient descent, if `method` is gradient descent; `None` for
    /// FISTA.
    pub(crate) const fn descent_of(method: Method) -> Option<Step> {
        match method {
            Method::GradientDescent { step } => Some(step),
            _ => None,
        }
    }

    /// Makes one iteration, and returns the norms that it measured.
    pub(crate) fn step<O: StronglyConvex>(
        &mut self,
        domain: Domain<'_>,
        point: &mut Buffer,
        evaluator: &mut Evaluator<'_, O>,
    ) -> Result<Measured, SolveError> {
        let length = self.step_length(evaluator);
        let extrapolation = match self.descent {
            Some(_) => 0.0,
            None => self.momentum.next(evaluator.curvature),
        };
        let Self {
            previous,
            workspace,
            ..
        } = self;
        if workspace.len() != point.len() {
            workspace.fill_to(point.len(), f64::NAN, Buffer::GRADIENT);
        }
        extrapolate(previous, point, extrapolation);
        let z = previous;
        let squared = (evaluator.objective).gradient_with_norm(z, workspace, evaluator.scratch);
        evaluator.gradients += 1;
        let iterations = evaluator.iterations;
        let gradient_norm = norm_from_squared(squared, workspace);
        if !gradient_norm.is_finite() {
            return Err(SolveError::NonFiniteGradient { iterations });
        }
        for (gradient, z) in workspace.iter_mut().zip(&*z) {
            *gradient = z - length * *gradient;
        }
        domain.project(workspace);
        let next = workspace;
        for (z, next) in z.iter_mut().zip(&*next) {
            *z -= next;
        }
        let moved = norm(z);
        if !moved.is_finite() {
            return Err(SolveError::NonFiniteProjection { iterations });
        }
        // The point becomes the previous one, and `next` becomes the point.
        swap(point, z);
        swap(point, next);
        Ok(Measured {
            norm: moved / length,
            gradient_norm,
        })
    }

    /// The step length `$\tau$`.
    pub(crate) fn step_length<O: StronglyConvex>(&self, evaluator: &Evaluator<'_, O>) -> f64 {
        (self.descent.unwrap_or(Step::InverseLipschitz)).length(evaluator.curvature)
    }
}
