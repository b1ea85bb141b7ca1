//! The interface of functions that offer second derivatives.

/// The second derivatives of a smooth strongly convex function whose working memory is `S`.
///
/// A function offers them by returning itself from
/// [`StronglyConvex::second_order`](crate::StronglyConvex::second_order). With them, the
/// [adjoint](crate::adjoint) of a loss can be computed: the derivatives of the loss of the
/// minimiser with respect to any number of parameters.
pub trait SecondOrder<S> {
    /// Prepares products with the Hessian `$H(x) = \nabla^2\Phi(x)$`. The methods below refer to
    /// this `$x$`, until another method of the function uses `scratch`. Must not allocate.
    fn linearise(&self, x: &[f64], scratch: &mut S);

    /// Overwrites `out` with `$H(x)v$`. Must not allocate.
    fn hessian_product(&self, v: &[f64], out: &mut [f64], scratch: &mut S);

    /// Bounds the Euclidean norm of the rounding error of `hessian_product`, given `$\|v\|$`.
    fn product_rounding(&self, v_norm: f64) -> f64;

    /// The cost of a product in gradients.
    fn product_cost(&self) -> f64 {
        1.0
    }

    /// Improves `q`, a first guess, as a solution of `$H(x)q = b$` for `rhs` = `$b$`, until
    /// `$\|b - H(x)q\|$` is about `target`. Returns the cost in gradients. Must not allocate.
    ///
    /// The default returns `None` and changes nothing. The caller then makes conjugate gradients
    /// with [`precondition`](Self::precondition). The caller computes the residual afresh in both
    /// cases, so this method need not be trusted.
    fn solve(&self, rhs: &[f64], q: &mut [f64], target: f64, scratch: &mut S) -> Option<f64> {
        let _ = (rhs, q, target, scratch);
        None
    }

    /// Overwrites `out` with `$P^{-1}r$`, where `$P$` is a symmetric positive definite matrix close
    /// to `$H(x)$`. The default is the identity. Must not allocate.
    fn precondition(&self, r: &[f64], out: &mut [f64], scratch: &mut S) {
        let _ = scratch;
        out.copy_from_slice(r);
    }

    /// Bounds how much the Hessian changes in a ball of radius `error` around `$x$`, as far as it
    /// is seen from `q`. Must not allocate.
    fn third_order(&self, q: &[f64], error: f64, scratch: &mut S) -> ThirdOrder;

    /// Returns a lower bound on all eigenvalues of `$H(y)$` for all `$y$` in a ball of radius
    /// `error` around `$x$`. With the default, `None`, the caller uses the strong convexity.
    fn curvature_near(&self, error: f64, scratch: &mut S) -> Option<f64> {
        let _ = (error, scratch);
        None
    }
}

/// Bounds on the change of a Hessian in a ball around `$x$`, applied to a vector `$q$`. They hold
/// for every `$e$` in the ball, and include rounding.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ThirdOrder {
    /// A bound on `$\|(H(x + e) - H(x))\,q\|$`.
    pub vector: f64,
    /// A bound on `$|\langle q, (\bar H - H(x))\,e\rangle|$`, where `$\bar H$` is the mean of the
    /// Hessian on the segment from `$x$` to `$x + e$`.
    pub value: f64,
}

impl ThirdOrder {
    /// The bounds of a quadratic function, whose Hessian does not change.
    pub const ZERO: Self = Self {
        vector: 0.0,
        value: 0.0,
    };
    /// The bounds of a Hessian of which nothing is known.
    pub const UNKNOWN: Self = Self {
        vector: f64::INFINITY,
        value: f64::INFINITY,
    };
}
