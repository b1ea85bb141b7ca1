//! Evaluation of the objective's gradients, with checks and counts.

use crate::buffer::Buffer;
use crate::error::SolveError;
use crate::norm::norm_from_squared;
use crate::objective::{Curvature, StronglyConvex};
use crate::update::Update;

/// The objective of a solve, its working memory, and the work of this call.
pub(crate) struct Evaluator<'a, O: StronglyConvex> {
    pub(crate) objective: &'a O,
    pub(crate) curvature: Curvature,
    pub(crate) scratch: &'a mut O::Scratch,
    pub(crate) iterations: u64,
    pub(crate) gradients: u64,
    /// The work other than gradients, in units of one gradient.
    pub(crate) other_work: f64,
}

/// The gradient at the point of a state.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Gradient {
    /// The entries. They have no meaning if `norm` is `None`.
    pub(crate) values: Buffer,
    pub(crate) norm: Option<f64>,
}

impl Gradient {
    /// Allocates the entries of a gradient that was not saved.
    pub(crate) fn make_room(&mut self, dim: usize) {
        if self.values.len() != dim {
            self.clear(dim);
        }
    }

    /// Forgets the gradient. The entries become NaN, so that an entry that the objective fails to
    /// write is noticed.
    pub(crate) fn clear(&mut self, dim: usize) {
        self.values.fill_to(dim, f64::NAN, Buffer::GRADIENT);
        self.norm = None;
    }

    /// A gradient that was not saved.
    pub(crate) fn unknown() -> Self {
        Self {
            values: Buffer::default(),
            norm: None,
        }
    }

    /// Copies `other`. If `other` has no entries, the memory of this gradient stays.
    pub(crate) fn copy_from(&mut self, other: &Self, dim: usize) {
        if other.values.is_empty() {
            self.clear(dim);
        } else {
            self.values.assign(&other.values);
        }
        self.norm = other.norm;
    }
}

/// The norms that an iteration measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measured {
    /// The norm that certifies the point: `$\|\nabla\Phi\|$` at the point, or over a set the
    /// `$\|G\|$` of the step that led to it.
    pub(crate) norm: f64,
    /// The norm of the last gradient. Over the whole space it equals `norm`.
    pub(crate) gradient_norm: f64,
}

impl Measured {
    /// The norms over the whole space.
    pub(crate) const fn gradient(norm: f64) -> Self {
        Self {
            norm,
            gradient_norm: norm,
        }
    }
}

impl<O: StronglyConvex> Evaluator<'_, O> {
    /// Evaluates the gradient at `point`, and returns its norm.
    pub(crate) fn gradient(
        &mut self,
        point: &[f64],
        gradient: &mut Gradient,
    ) -> Result<f64, SolveError> {
        let squared =
            (self.objective).gradient_with_norm(point, &mut gradient.values, self.scratch);
        self.measure(squared, gradient)
    }

    /// Applies `update` to `point`, evaluates the gradient there, and returns its norm.
    pub(crate) fn advance(
        &mut self,
        update: Update<'_>,
        point: &mut [f64],
        gradient: &mut Gradient,
    ) -> Result<f64, SolveError> {
        let squared = (self.objective).advance(update, point, &mut gradient.values, self.scratch);
        self.measure(squared, gradient)
    }

    /// Counts and checks the gradient that was just evaluated.
    fn measure(&mut self, squared: f64, gradient: &mut Gradient) -> Result<f64, SolveError> {
        self.gradients += 1;
        let norm = norm_from_squared(squared, &gradient.values);
        gradient.norm = norm.is_finite().then_some(norm);
        gradient.norm.ok_or(SolveError::NonFiniteGradient {
            iterations: self.iterations,
        })
    }
}
