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
    /// `$x^{k-1}$`, where the point is `$x^k$`.
    pub(crate) previous: Buffer,
    momentum: Momentum,
    /// Room for a gradient, which means nothing between two iterations.
    #[cfg_attr(feature = "serde", serde(skip))]
    room: Buffer,
}

impl PartialEq for Projected {
    fn eq(&self, other: &Self) -> bool {
        self.descent == other.descent
            && self.previous == other.previous
            && self.momentum == other.momentum
    }
}

impl Projected {
    /// At rest at `point`, in the memory of `previous` and `room`.
    pub(crate) fn at_rest(
        descent: Option<Step>,
        mut previous: Buffer,
        mut room: Buffer,
        point: &[f64],
    ) -> Self {
        previous.assign(point);
        room.fill_to(point.len(), f64::NAN, Buffer::GRADIENT);
        Self {
            descent,
            previous,
            momentum: Momentum::default(),
            room,
        }
    }

    /// The vectors, for another iteration.
    pub(crate) fn into_vectors(self) -> (Buffer, Buffer) {
        (self.previous, self.room)
    }

    /// All that the next iteration depends on.
    pub(crate) fn saved(&self) -> Self {
        Self {
            room: Buffer::default(),
            ..self.clone()
        }
    }

    pub(crate) fn copy_from(&mut self, other: &Self) {
        self.descent = other.descent;
        self.previous.assign(&other.previous);
        self.momentum = other.momentum;
    }

    /// The projected iteration that `method` stands for.
    pub(crate) const fn descent_of(method: Method) -> Option<Step> {
        match method {
            Method::GradientDescent { step } => Some(step),
            _ => None,
        }
    }

    pub(crate) fn step<O: StronglyConvex>(
        &mut self,
        domain: Domain<'_>,
        point: &mut Buffer,
        at: &mut Evaluator<'_, O>,
    ) -> Result<Measured, SolveError> {
        let length = self.step_length(at);
        let extrapolation = match self.descent {
            Some(_) => 0.0,
            None => self.momentum.next(at.curvature),
        };
        let Self { previous, room, .. } = self;
        if room.len() != point.len() {
            room.fill_to(point.len(), f64::NAN, Buffer::GRADIENT);
        }
        extrapolate(previous, point, extrapolation);
        let z = previous;
        let squared = (at.objective).gradient_with_norm(z, room, at.scratch);
        at.gradients += 1;
        let iterations = at.iterations;
        let gradient_norm = norm_from_squared(squared, room);
        if !gradient_norm.is_finite() {
            return Err(SolveError::NonFiniteGradient { iterations });
        }
        for (gradient, z) in room.iter_mut().zip(&*z) {
            *gradient = z - length * *gradient;
        }
        domain.project(room);
        let next = room;
        for (z, next) in z.iter_mut().zip(&*next) {
            *z -= next;
        }
        let moved = norm(z);
        if !moved.is_finite() {
            return Err(SolveError::NonFiniteProjection { iterations });
        }
        // the point becomes the previous one, `next` the point
        swap(point, z);
        swap(point, next);
        Ok(Measured {
            norm: moved / length,
            gradient_norm,
        })
    }

    /// `$\tau$`.
    pub(crate) fn step_length<O: StronglyConvex>(&self, at: &Evaluator<'_, O>) -> f64 {
        (self.descent.unwrap_or(Step::InverseLipschitz)).length(at.curvature)
    }
}
