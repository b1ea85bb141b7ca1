//! Memory for the second derivatives of a model at one point.

use lowlevel::{ThirdOrder, UNIT_ROUNDOFF};

use super::simd::vectorize;
use crate::regularizer::RegularizerHessian;

/// The factor of the smoothing of an operator's preconditioner; a choice. Measured on dead leaves
/// of 128 x 128 pixels with the blur `gaussian:2`, an adjoint to a residual of 0.01 takes the time
/// of 178 gradients with 1, 127 with 3, and 187 with the diagonal as the preconditioner.
const SMOOTHING: f64 = 3.0;

/// The Hessian of a model at a point. It is empty until it is first used, so that callers who need
/// no second derivatives pay no memory for them.
#[derive(Clone, Debug, Default)]
pub(super) struct Linearisation {
    /// The memory of the regulariser.
    memory: Vec<f64>,
    /// The inverse of the diagonal of the Hessian.
    preconditioner: Vec<f64>,
    /// The memory of a metric, which is set at points of its own.
    pub(super) metric: Vec<f64>,
    /// The typical weight of squared differences, if the operator has a preconditioner of its own.
    pub(super) smoothing: Option<f64>,
}

impl Linearisation {
    /// Stores the Hessian of the regulariser at `x`. Allocates if that was never done.
    pub(super) fn linearise(&mut self, regularizer: &dyn RegularizerHessian, x: &[f64]) {
        self.memory.resize(regularizer.memory_len(), 0.0);
        regularizer.linearise(x, &mut self.memory);
    }

    /// Stores the matrix of a primal-dual Newton method for the regulariser in the same way.
    pub(super) fn linearise_dual(
        &mut self,
        regularizer: &dyn RegularizerHessian,
        x: &[f64],
        dual: &[f64],
    ) {
        self.memory.resize(regularizer.memory_len(), 0.0);
        regularizer.linearise_dual(x, dual, &mut self.memory);
    }

    /// Stores the preconditioner. `data` overwrites a vector with the diagonal of the Hessian
    /// without the regulariser, whose weight is `alpha`. No entry of the diagonal of the whole
    /// Hessian is below its `least` eigenvalue.
    pub(super) fn set_preconditioner(
        &mut self,
        regularizer: &dyn RegularizerHessian,
        alpha: f64,
        least: f64,
        dim: usize,
        data: impl FnOnce(&mut [f64]),
    ) {
        self.preconditioner.resize(dim, 0.0);
        data(&mut self.preconditioner);
        regularizer.add_diagonal(alpha, &self.memory, &mut self.preconditioner);
        vectorize(
            #[inline(always)]
            || {
                for entry in &mut self.preconditioner {
                    // Rounding, or the approximation of a diagonal, may make an entry too small.
                    *entry = 1.0 / if *entry > least { *entry } else { least };
                }
            },
        );
    }

    /// Stores a weight of squared differences whose sum resembles the regulariser, whose weight is
    /// `alpha`: a multiple of the geometric mean of the diagonal of its Hessian, divided by the
    /// diagonal of `$\partial^T\partial$`.
    pub(super) fn set_smoothing(
        &mut self,
        regularizer: &dyn RegularizerHessian,
        alpha: f64,
        num_axes: usize,
        dim: usize,
    ) {
        self.preconditioner.resize(dim, 0.0);
        self.preconditioner.fill(0.0);
        regularizer.add_diagonal(alpha, &self.memory, &mut self.preconditioner);
        let logarithms: f64 = (self.preconditioner.iter())
            .map(|entry| entry.max(f64::MIN_POSITIVE).ln())
            .sum();
        let typical = (logarithms / dim as f64).exp() / (2 * num_axes) as f64;
        self.smoothing = Some(SMOOTHING * typical);
    }

    /// Overwrites `out` with `r` divided by the diagonal of the Hessian.
    pub(super) fn precondition(&self, r: &[f64], out: &mut [f64]) {
        assert_eq!(self.preconditioner.len(), r.len(), "call linearise first");
        for ((out, r), inverse) in out.iter_mut().zip(r).zip(&self.preconditioner) {
            *out = r * inverse;
        }
    }

    /// The memory of the regulariser.
    pub(super) fn memory(&self) -> &[f64] {
        &self.memory
    }

    /// The memory of the regulariser, to be changed.
    pub(super) fn memory_mut(&mut self) -> &mut [f64] {
        &mut self.memory
    }
}

/// Multiplies the bounds of a regulariser by its weight.
pub(super) fn scaled(bounds: ThirdOrder, weight: f64) -> ThirdOrder {
    if weight == 0.0 {
        return ThirdOrder::ZERO;
    }
    // The product may be rounded down.
    let weight = weight * (1.0 + 4.0 * UNIT_ROUNDOFF);
    ThirdOrder {
        vector: weight * bounds.vector,
        value: weight * bounds.value,
    }
}
