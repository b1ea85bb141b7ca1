//! The interface of functions that offer second derivatives, and closures that implement it.

use std::fmt;

use crate::norm::{UNIT_ROUNDOFF, norm};
use crate::objective::{Curvature, FnObjective, StronglyConvex};

/// The second derivatives of a smooth strongly convex function whose working memory is `S`.
///
/// A function offers them by returning itself from
/// [`StronglyConvex::second_order`](crate::StronglyConvex::second_order). With them, the
/// [adjoint](crate::adjoint) of a loss can be computed: the derivatives of the loss of the
/// minimiser with respect to any number of parameters.
pub trait SecondOrder<S> {
    /// Prepares products with the Hessian `$H(x) = \nabla^2\Phi(x)$`. The other methods of
    /// this trait that take `scratch` refer to this `$x$`, until a method of another trait uses
    /// `scratch`. Must not allocate.
    fn linearise(&self, x: &[f64], scratch: &mut S);

    /// The number of dual variables of [`linearise_dual`](Self::linearise_dual). The default is
    /// zero.
    fn num_duals(&self) -> usize {
        0
    }

    /// Does the same as [`linearise`](Self::linearise) for the matrix `$M(x, p)$` of a primal-dual
    /// Newton method in place of `$H(x)$`. Must not allocate.
    ///
    /// The dual variables `dual` = `$p$` start as zeros, and
    /// [`move_duals`](Self::move_duals) moves them. `$M$` must be positive definite. With zeros it
    /// should bound the function,
    /// `$\Phi(x + s) \le \Phi(x) + \langle\nabla\Phi(x), s\rangle + \frac12\langle s, Ms\rangle$`,
    /// and at the minimiser with its dual variables it should be `$H(x)$`. Newton corrections then
    /// help far from the minimiser, too. The solver checks each of them, so only the speed of a
    /// solve depends on `$M$`.
    fn linearise_dual(&self, x: &[f64], dual: &[f64], scratch: &mut S) {
        let _ = dual;
        self.linearise(x, scratch);
    }

    /// Overwrites `dual`, the dual variables of the last
    /// [`linearise_dual`](Self::linearise_dual), with those that belong to `$x - z$`. Must not
    /// allocate. The default changes nothing.
    fn move_duals(&self, z: &[f64], dual: &mut [f64], scratch: &mut S) {
        let _ = (z, dual, scratch);
    }

    /// Overwrites `out` with `$H(x)v$`. Must not allocate.
    fn hessian_product(&self, v: &[f64], out: &mut [f64], scratch: &mut S);

    /// Bounds the Euclidean norm of the rounding error of `hessian_product`, given `$\|v\|$`.
    fn product_rounding(&self, v_norm: f64) -> f64;

    /// The costs of the methods of this trait. The default is one gradient for each.
    fn costs(&self) -> SecondOrderCosts {
        SecondOrderCosts::default()
    }

    /// Solves `$H(x)q = b$` for `rhs` = `$b$`, from the start in `q`, until `$\|b - H(x)q\|$` is
    /// about `target`. Returns the cost in gradients. Must not allocate.
    ///
    /// The default returns `None` and changes nothing. The caller then iterates conjugate gradients
    /// with [`precondition`](Self::precondition). The caller computes the residual afresh in both
    /// cases, so a wrong solution cannot make a bound wrong.
    fn solve(&self, rhs: &[f64], q: &mut [f64], target: f64, scratch: &mut S) -> Option<f64> {
        let _ = (rhs, q, target, scratch);
        None
    }

    /// Whether [`solve`](Self::solve) solves every system up to rounding, whatever the start and
    /// the target. The caller then does not compute the residual of a start. The default is
    /// `false`.
    fn is_direct(&self) -> bool {
        false
    }

    /// Overwrites `out` with `$P^{-1}r$`, where `$P$` is a symmetric positive definite matrix close
    /// to `$H(x)$`. The default is the identity. Must not allocate.
    fn precondition(&self, r: &[f64], out: &mut [f64], scratch: &mut S) {
        let _ = scratch;
        out.copy_from_slice(r);
    }

    /// The costs of a metric, if there is one. [`Method::Auto`](crate::Method::Auto) then takes
    /// quasi-Newton steps with it, and no Newton corrections. Iterates then depend on where a solve
    /// begins, since each one begins with a new metric. The default is `None`.
    fn metric(&self) -> Option<MetricCosts> {
        None
    }

    /// Prepares [`apply_metric`](Self::apply_metric) at `$x$`. Must not allocate. The default does
    /// nothing.
    fn set_metric(&self, x: &[f64], scratch: &mut S) {
        let _ = (x, scratch);
    }

    /// Overwrites `out` with `$Pr$` for a symmetric positive definite matrix `$P$` that resembles
    /// the inverse of Hessians at the point of the last [`set_metric`](Self::set_metric) and
    /// around it, possibly up to a factor. Only the speed of a solve depends on it. Gradients may
    /// be evaluated in between. Must not allocate. The default is the identity.
    fn apply_metric(&self, r: &[f64], out: &mut [f64], scratch: &mut S) {
        let _ = scratch;
        out.copy_from_slice(r);
    }

    /// Overwrites `out` with a vector `$r$` that satisfies, for all `$y$`,
    ///
    /// ```math
    /// \Phi(y) \ge \Phi(x) + \langle r, y - x\rangle + \frac\mu2\|y - x\|^2 - B,
    /// ```
    ///
    /// and returns `$B$` ([`Subgradient::slack`]). The gradient is such a vector with `$B = 0$`.
    /// This one should be about the gradient minus `at.shift`. With it, a
    /// [sharper error](crate::Certificate::Subgradient) is certified than with the gradient. Must
    /// not allocate. The default, `None`, is for functions that do not offer such vectors.
    fn subgradient(
        &self,
        at: &SubgradientPoint<'_>,
        out: &mut [f64],
        scratch: &mut S,
    ) -> Option<Subgradient> {
        let _ = (at, out, scratch);
        None
    }

    /// Bounds the change of the Hessian in a ball of radius `error` around `$x$`, applied to `q`.
    /// Must not allocate.
    fn third_order(&self, q: &[f64], error: f64, scratch: &mut S) -> ThirdOrder;

    /// Returns a lower bound on all eigenvalues of `$H(y)$` for all `$y$` in a ball of radius
    /// `error` around `$x$`. With the default, `None`, the caller uses the strong convexity.
    fn curvature_near(&self, error: f64, scratch: &mut S) -> Option<f64> {
        let _ = (error, scratch);
        None
    }
}

/// The costs of the methods of [`SecondOrder`], in units of one gradient. The method
/// [`solve`](SecondOrder::solve) returns its own cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SecondOrderCosts {
    /// The cost of [`linearise`](SecondOrder::linearise), or of
    /// [`linearise_dual`](SecondOrder::linearise_dual) and
    /// [`move_duals`](SecondOrder::move_duals) together.
    pub linearise: f64,
    /// The cost of [`hessian_product`](SecondOrder::hessian_product), including that of
    /// [`precondition`](SecondOrder::precondition) and of the vector operations of the caller.
    pub product: f64,
    /// The cost of [`third_order`](SecondOrder::third_order).
    pub bounds: f64,
    /// Where Newton's method converges fast, if that is known.
    ///
    /// If it is, [`Method::Auto`](crate::Method::Auto) tries Newton corrections there, in case they
    /// cost less than the iterations that they save. Iterates then depend on the target, too.
    pub newton: Option<NewtonRange>,
}

/// The range in which Newton's method typically converges fast. Only the speed of a solve depends
/// on these numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NewtonRange {
    /// The norm of the gradient below which Newton's method converges fast. A function with dual
    /// variables ([`linearise_dual`](SecondOrder::linearise_dual)) gets corrections beyond it, too.
    pub gradient: f64,
    /// The number of products with which preconditioned conjugate gradients make a residual ten
    /// times smaller.
    pub products: f64,
}

/// The point of a [`SecondOrder::subgradient`], and what it should be.
#[derive(Clone, Copy, Debug)]
pub struct SubgradientPoint<'a> {
    /// The point `$x$`.
    pub x: &'a [f64],
    /// What the vector should lack, compared with the gradient. The bound must hold for every
    /// shift, unless `is_rough`.
    pub shift: &'a [f64],
    /// Whether estimates of `$r$` and `$B$` are enough, such as those in single precision. Nothing
    /// is certified with them.
    pub is_rough: bool,
}

/// What is known about an approximate subgradient.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Subgradient {
    /// The number `$B \ge 0$`, rounding included.
    pub slack: f64,
    /// A bound on the rounding error of the vector.
    pub rounding: f64,
    /// The cost, in gradients.
    pub cost: f64,
}

/// The costs of a metric, in units of one gradient.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MetricCosts {
    /// The cost of [`set_metric`](SecondOrder::set_metric).
    pub set: f64,
    /// The cost of [`apply_metric`](SecondOrder::apply_metric), including that of the vector
    /// operations of the caller.
    pub apply: f64,
}

impl Default for SecondOrderCosts {
    fn default() -> Self {
        Self {
            linearise: 1.0,
            product: 1.0,
            bounds: 1.0,
            newton: None,
        }
    }
}

/// Bounds on the change of a Hessian in a ball around `$x$`, applied to a vector `$q$`. They hold
/// for every `$e$` such that `$x + e$` is in the ball, and include rounding.
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
    /// The bounds if nothing is known about the Hessian.
    pub const UNKNOWN: Self = Self {
        vector: f64::INFINITY,
        value: f64::INFINITY,
    };
}

/// An objective given by closures for value, gradient and Hessian products, created by
/// [`FnObjective::with_hessian`].
pub struct TwiceDifferentiable<V, G, H> {
    function: FnObjective<V, G>,
    product: H,
    third_derivative: f64,
    /// The rounding error of a product, relative to `$\|v\|$`.
    rounding: Option<f64>,
}

impl<V, G, H> TwiceDifferentiable<V, G, H> {
    pub(crate) const fn new(
        function: FnObjective<V, G>,
        product: H,
        third_derivative: f64,
    ) -> Self {
        Self {
            function,
            product,
            third_derivative,
            rounding: None,
        }
    }

    /// States that the rounding error of a product with `$v$` is at most `relative * |v|`.
    ///
    /// Without it, the bound is `$(d + 8)\,u\,\sqrt d\,L\|v\|$`. It holds if each entry of the
    /// product is a sum of up to `$d$` entries of the Hessian times entries of `$v$`, and the
    /// entries of the Hessian are rounded a few times. Every Hessian that is applied in parts, such
    /// as `$A^T(Av)$`, needs a bound of its own.
    ///
    /// # Panics
    /// If `relative` is negative or NaN.
    #[must_use]
    pub fn with_product_rounding(mut self, relative: f64) -> Self {
        assert!(
            relative >= 0.0,
            "relative = {relative} must not be negative or NaN"
        );
        self.rounding = Some(relative);
        self
    }
}

impl<V, G, H> fmt::Debug for TwiceDifferentiable<V, G, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TwiceDifferentiable")
            .field("function", &self.function)
            .field("third_derivative", &self.third_derivative)
            .finish_non_exhaustive()
    }
}

impl<V, G, H> StronglyConvex for TwiceDifferentiable<V, G, H>
where
    V: Fn(&[f64]) -> f64 + Sync,
    G: Fn(&[f64], &mut [f64]) + Sync,
    H: Fn(&[f64], &[f64], &mut [f64]) + Sync,
{
    /// The point of the last `linearise`.
    type Scratch = Vec<f64>;

    fn dim(&self) -> usize {
        self.function.dim()
    }

    fn curvature(&self) -> Curvature {
        self.function.curvature()
    }

    fn scratch(&self) -> Vec<f64> {
        vec![f64::NAN; self.dim()]
    }

    fn gradient(&self, x: &[f64], gradient: &mut [f64], _: &mut Vec<f64>) {
        self.function.gradient(x, gradient, &mut ());
    }

    fn value(&self, x: &[f64], _: &mut Vec<f64>) -> f64 {
        self.function.value(x, &mut ())
    }

    fn gradient_rounding(&self, x_norm: f64, gradient_norm: f64) -> f64 {
        self.function.gradient_rounding(x_norm, gradient_norm)
    }

    fn second_order(&self) -> Option<&dyn SecondOrder<Vec<f64>>> {
        Some(self)
    }
}

impl<V, G, H> SecondOrder<Vec<f64>> for TwiceDifferentiable<V, G, H>
where
    V: Fn(&[f64]) -> f64 + Sync,
    G: Fn(&[f64], &mut [f64]) + Sync,
    H: Fn(&[f64], &[f64], &mut [f64]) + Sync,
{
    fn linearise(&self, x: &[f64], at: &mut Vec<f64>) {
        at.copy_from_slice(x);
    }

    fn hessian_product(&self, v: &[f64], out: &mut [f64], at: &mut Vec<f64>) {
        (self.product)(at, v, out);
    }

    fn product_rounding(&self, v_norm: f64) -> f64 {
        let relative = self.rounding.unwrap_or_else(|| {
            let dim = self.dim() as f64;
            (dim + 8.0) * UNIT_ROUNDOFF * dim.sqrt() * self.curvature().lipschitz()
        });
        relative * v_norm
    }

    /// Besides products, there are only a copy of the point and a norm.
    fn costs(&self) -> SecondOrderCosts {
        SecondOrderCosts {
            linearise: 0.0,
            bounds: 0.0,
            ..SecondOrderCosts::default()
        }
    }

    fn third_order(&self, q: &[f64], error: f64, _: &mut Vec<f64>) -> ThirdOrder {
        if self.third_derivative == 0.0 {
            return ThirdOrder::ZERO;
        }
        let inflation = 1.0 + (self.dim() as f64 + 16.0) * UNIT_ROUNDOFF;
        let vector = inflation * self.third_derivative * norm(q) * error;
        // The mean of the Hessian on the segment is off by half as much as that at its end.
        let value = 0.5 * vector * error;
        ThirdOrder {
            vector: vector + f64::MIN_POSITIVE,
            value: value + f64::MIN_POSITIVE,
        }
    }
}
