//! Regularisers: convex terms of the lower-level objective.

mod tv;

pub use tv::SmoothedTv;
pub(crate) use tv::tv_gradient_rounding;

/// A convex function with a Lipschitz gradient, such as the smoothed total variation.
pub trait Regularizer: Sync {
    /// The number of `f64` of the argument.
    fn dim(&self) -> usize;

    /// Returns the value at `x`.
    fn value(&self, x: &[f64]) -> f64;

    /// Adds `weight` times the gradient at `x` to `gradient`. Must not allocate.
    fn add_gradient(&self, weight: f64, x: &[f64], gradient: &mut [f64]);

    /// A Lipschitz constant of the gradient.
    fn lipschitz(&self) -> f64;

    /// A hash of everything that defines this regulariser, if there is one. It is part of
    /// [`lowlevel::StronglyConvex::fingerprint`].
    fn fingerprint(&self) -> Option<u64> {
        None
    }

    /// Bounds the rounding error of `add_gradient`, given `$\|x\|$`.
    ///
    /// The bound is relative to `weight` and in units of the unit roundoff `$u = 2^{-53}$`. The
    /// default holds for gradients whose entries are sums of up to `dim` terms no larger than
    /// `$L|x|$`.
    fn gradient_rounding(&self, x_norm: f64) -> f64 {
        let terms = self.dim() as f64;
        (terms + 8.0) * self.lipschitz() * x_norm
    }
}
