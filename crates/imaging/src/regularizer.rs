//! Regularisers: convex or weakly convex terms of the lower-level objective.

pub(crate) mod strips;
mod tv;
mod tv_hessian;
mod tv_volume;

pub use tv::SmoothedTv;
pub(crate) use tv::tv_gradient_rounding;
pub(crate) use tv_hessian::Linearised;

use lowlevel::{SecondOrderCosts, Subgradient, SubgradientPoint, ThirdOrder};

/// A function with a Lipschitz gradient, such as the smoothed total variation. It is convex, or
/// [weakly convex](Self::weak_convexity).
pub trait Regularizer: Sync {
    /// The number of `f64` of the argument.
    fn dim(&self) -> usize;

    /// Returns the value at `x`.
    fn value(&self, x: &[f64]) -> f64;

    /// Adds `weight` times the gradient at `x` to `gradient`. Must not allocate.
    fn add_gradient(&self, weight: f64, x: &[f64], gradient: &mut [f64]);

    /// A Lipschitz constant of the gradient.
    fn lipschitz(&self) -> f64;

    /// The smallest known `$m \ge 0$` such that the sum of this function and `$\frac m2\|x\|^2$` is
    /// convex. The default, zero, is for convex functions.
    fn weak_convexity(&self) -> f64 {
        0.0
    }

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

    /// Bounds the error of [`add_rough_gradient`](Self::add_rough_gradient) relative to `weight`,
    /// given `$\|x\|$`. With the default, `None`, there are no rough gradients.
    fn rough_rounding(&self, x_norm: f64) -> Option<f64> {
        let _ = x_norm;
        None
    }

    /// Does the same as [`add_gradient`](Self::add_gradient) with fewer digits, in less time. See
    /// [`lowlevel::StronglyConvex::rough_gradient`].
    fn add_rough_gradient(&self, weight: f64, x: &[f64], gradient: &mut [f64]) {
        self.add_gradient(weight, x, gradient);
    }

    /// The second derivatives of this regulariser, if it offers them. With them, a
    /// [`Variational`](crate::Variational) model offers its own.
    fn hessian(&self) -> Option<&dyn RegularizerHessian> {
        None
    }
}

/// The second derivatives of a regulariser `$R$`.
///
/// A regulariser offers them by returning itself from [`Regularizer::hessian`]. The caller owns the
/// memory: `linearise` fills it, and the other methods refer to the point of the last `linearise`
/// with the same memory. No method may allocate.
pub trait RegularizerHessian: Sync {
    /// The number of `f64` of memory that the methods below need.
    fn memory_len(&self) -> usize;

    /// Overwrites `memory` with everything that is needed about the Hessian `$R''(x)$`.
    fn linearise(&self, x: &[f64], memory: &mut [f64]);

    /// The number of dual variables of [`linearise_dual`](Self::linearise_dual). The default is
    /// zero.
    fn num_duals(&self) -> usize {
        0
    }

    /// Does the same as [`linearise`](Self::linearise) for the matrix of a primal-dual Newton
    /// method in place of `$R''(x)$`. See [`lowlevel::SecondOrder::linearise_dual`].
    fn linearise_dual(&self, x: &[f64], dual: &[f64], memory: &mut [f64]) {
        let _ = dual;
        self.linearise(x, memory);
    }

    /// Overwrites the dual variables of the last [`linearise_dual`](Self::linearise_dual) with
    /// those that belong to `$x - z$`. The default changes nothing.
    fn move_duals(&self, memory: &[f64], z: &[f64], dual: &mut [f64]) {
        let _ = (memory, z, dual);
    }

    /// Adds `weight` times `$R''(x)v$` to `out`.
    fn add_product(&self, weight: f64, memory: &[f64], v: &[f64], out: &mut [f64]);

    /// Adds `weight` times the diagonal of `$R''(x)$` to `diagonal`. It is used in a
    /// preconditioner, so other numbers that are not negative only cost time.
    fn add_diagonal(&self, weight: f64, memory: &[f64], diagonal: &mut [f64]);

    /// The number of `f64` of memory of [`set_metric`](Self::set_metric). The default, zero, is for
    /// regularisers without one.
    fn metric_len(&self) -> usize {
        0
    }

    /// Overwrites `memory` with a matrix that resembles the inverse of
    /// `$\delta I + w R''(x)$`, where `data` is `$\delta > 0$` and `weight` is `$w$`. See
    /// [`lowlevel::SecondOrder::apply_metric`].
    fn set_metric(&self, data: f64, weight: f64, x: &[f64], memory: &mut [f64]) {
        let _ = (data, weight, x, memory);
    }

    /// Overwrites `out` with the product of this matrix and `r`.
    fn apply_metric(&self, memory: &[f64], r: &[f64], out: &mut [f64]) {
        let _ = memory;
        out.copy_from_slice(r);
    }

    /// Adds a vector to `out`, which holds the gradient of a data term at `at.x`. The sum must be
    /// an `$r$` of [`lowlevel::SecondOrder::subgradient`] for the objective with `weight` times
    /// this regulariser, whatever the quadratic data term; its curvature `$\delta$` = `data` may
    /// only guide the choice. The rounding error that is returned is that of the added vector. With
    /// the default, `None`, nothing is added.
    fn add_subgradient(
        &self,
        data: f64,
        weight: f64,
        at: &SubgradientPoint<'_>,
        out: &mut [f64],
    ) -> Option<Subgradient> {
        let _ = (data, weight, at, out);
        None
    }

    /// Bounds how much `$R''$` changes in a ball of radius `error` around `$x$`, as far as it is
    /// seen from `q`. It may overwrite parts of `memory` that the other methods do not need.
    fn third_order(&self, q: &[f64], error: f64, memory: &mut [f64]) -> ThirdOrder;

    /// The costs of the methods in units of one gradient, if they are known. The default is `None`.
    fn costs(&self) -> Option<SecondOrderCosts> {
        None
    }

    /// Bounds the rounding error of `add_product` in units of the unit roundoff
    /// `$u = 2^{-53}$`, relative to `weight` and to `$\|v\|$`. The additions to the old entries of
    /// `out`, at most four for each entry, are not included.
    fn product_rounding(&self) -> f64;
}
