//! Convex penalties on an unknown.

mod tv;

pub use tv::SmoothedTv;
pub(crate) use tv::tv_gradient_rounding;

/// A convex function with Lipschitz gradient, such as the smoothed total variation.
pub trait Regularizer: Sync {
    /// Number of `f64` of its argument.
    fn dim(&self) -> usize;

    /// Its value.
    fn value(&self, x: &[f64]) -> f64;

    /// Adds `weight` times its gradient to `gradient`. Must not allocate.
    fn add_gradient(&self, weight: f64, x: &[f64], gradient: &mut [f64]);

    /// A Lipschitz constant of its gradient.
    fn lipschitz(&self) -> f64;

    /// A hash of all that makes this regulariser, if there is one, see
    /// [`lowlevel::StronglyConvex::fingerprint`].
    fn fingerprint(&self) -> Option<u64> {
        None
    }

    /// Bounds the rounding error, relative to `weight`, that `add_gradient` makes where `$\|x\|$`
    /// is as given.
    ///
    /// In units of the unit roundoff `$u = 2^{-53}$`. The default covers gradients that are sums of
    /// up to `dim` terms no larger than `$L|x|$`.
    fn gradient_rounding(&self, x_norm: f64) -> f64 {
        let terms = self.dim() as f64;
        (terms + 8.0) * self.lipschitz() * x_norm
    }
}
