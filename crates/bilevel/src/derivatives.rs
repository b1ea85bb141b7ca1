//! The trait `Derivatives`, with which a family says how its reconstructions depend on the
//! parameters.

use lowlevel::adjoint::MixedBound;

/// The derivatives of an objective `$\Phi_\theta(\cdot\,; y)$` with respect to the values of the
/// learned parameters, for objectives whose working memory is `S`.
///
/// A family offers them by [`LowerLevel::derivatives`](crate::LowerLevel::derivatives). Its
/// objectives must also offer [second derivatives](lowlevel::SecondOrder). Parameters are then
/// learned with gradients, at a cost per evaluation that hardly depends on their number.
///
/// Gradients are wrong if these derivatives are wrong. Check them with
/// [`lowlevel::testing::mixed_deviation`].
pub trait Derivatives<S> {
    /// Overwrites `out` with the mixed products: entry `$k$` is
    /// `$\langle q, \partial_k\nabla\Phi(x)\rangle$`, where `$\partial_k$` is the derivative with
    /// respect to the *value* of parameter `$k$`. Must not allocate.
    fn mixed_product(&self, x: &[f64], q: &[f64], out: &mut [f64], scratch: &mut S);

    /// Overwrites `out` with bounds on the mixed products in a ball of radius `error` around `x`,
    /// from which the error of a gradient is certified. Returns `false` if there are none; the
    /// objective is certified even so.
    fn mixed_bounds(
        &self,
        x: &[f64],
        q: &[f64],
        error: f64,
        out: &mut [MixedBound],
        scratch: &mut S,
    ) -> bool {
        let _ = (x, q, error, out, scratch);
        false
    }

    /// Overwrites `out` with the derivatives of the condition number `$L/\mu$` with respect to the
    /// values of the parameters. Returns `false` if they are not known. Only the penalty
    /// [`ConditionNumber`](crate::ConditionNumber) needs them.
    fn condition_gradient(&self, out: &mut [f64]) -> bool {
        let _ = out;
        false
    }
}
