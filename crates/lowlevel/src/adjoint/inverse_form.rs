//! The quadratic form of the inverse Hessian at the minimiser, its interval and its derivative.

use super::solve::or_infinite;
use super::{AdjointState, AdjointStop, LossAt, LossRounding, solve_adjoint};
use crate::certificate::ErrorBound;
use crate::error::SolveError;
use crate::norm::{UNIT_ROUNDOFF, inner, norm, roundings_of_sum};
use crate::objective::StronglyConvex;

/// The step of [`hessian_slope`] in the largest entry, relative to the largest entry of `$x$`. The
/// error of the difference is about the square of this step, divided by the square of the length
/// over which the Hessian changes, and the rounding error about `$10^{-8}$`.
const STEP: f64 = 1e-8;

/// An interval that contains `$\langle b, H(\hat x)^{-1}b\rangle$`, where `$\hat x$` is the
/// minimiser of `$\Phi$` and `$H$` its Hessian. The solution of `$H(\tilde x)w = b$` is the
/// adjoint of the state.
#[derive(Clone, Copy, Debug, PartialEq)]
#[must_use]
#[non_exhaustive]
pub struct InverseForm {
    /// The value at the computed point `$\tilde x$`: `$2\langle b, \tilde w\rangle -
    /// \langle\tilde w, H(\tilde x)\tilde w\rangle$`.
    pub value: f64,
    /// The lower end of the interval. It is never negative.
    pub lower: f64,
    /// The upper end of the interval. It may be infinite.
    pub upper: f64,
    /// The part of `upper - lower` that stays if the linear system is solved exactly. A smaller
    /// error of `$\tilde x$` makes it smaller.
    pub by_point: f64,
    /// A bound on the residual of the linear system, `$\|b - H(\tilde x)\tilde w\|$`.
    pub residual: f64,
    /// All work of this call, in units of one gradient.
    pub work: f64,
}

/// Computes an interval for `$\langle b, H(\hat x)^{-1}b\rangle$`, where `rhs` is `$b$` and `x` is
/// a point whose distance from the minimiser `$\hat x$` is at most `error`.
///
/// The linear system is solved from the start in `state`, as in
/// [`solve_adjoint`](super::solve_adjoint). For every vector `$\tilde w$`, with
/// `$\hat r = b - H(\hat x)\tilde w$`,
///
/// ```math
/// \langle b, H(\hat x)^{-1}b\rangle = 2\langle b, \tilde w\rangle -
/// \langle\tilde w, H(\hat x)\tilde w\rangle + \langle\hat r, H(\hat x)^{-1}\hat r\rangle.
/// ```
///
/// With the residual `$\|b - H(\tilde x)\tilde w\| \le \delta$`, the bound
/// `$\|(H(\hat x) - H(\tilde x))\tilde w\| \le T_1$` of
/// [`third_order`](crate::SecondOrder::third_order), and `$\hat\mu$` below all eigenvalues of
/// `$H(\hat x)$`, the number in question is at least `$t - T_1\|\tilde w\|$` and at most
/// `$t + T_1\|\tilde w\| + (\delta + T_1)^2/\hat\mu$`, where `$t$` is
/// [`InverseForm::value`]. So the residual counts only in second order: rough solutions are enough.
/// `rhs_rounding` bounds the norm of the error of `rhs`, which is zero for a vector of signs.
///
/// # Errors
/// As [`solve_adjoint`](super::solve_adjoint).
///
/// # Panics
/// If a length is not that of the objective.
pub fn inverse_form<O: StronglyConvex>(
    objective: &O,
    (x, error): (&[f64], ErrorBound),
    (rhs, rhs_rounding): (&[f64], f64),
    stop: AdjointStop,
    state: &mut AdjointState,
    scratch: &mut O::Scratch,
) -> Result<InverseForm, SolveError> {
    let loss = LossAt {
        value: 0.0,
        gradient: rhs,
        lipschitz: 0.0,
        non_negative: false,
        rounding: LossRounding {
            value: 0.0,
            gradient: rhs_rounding,
        },
    };
    let solved = solve_adjoint(objective, x, error, &loss, stop, state, scratch)?;
    let Some(second) = objective.second_order() else {
        return Err(SolveError::NoSecondDerivatives);
    };
    let AdjointState {
        q: w,
        product,
        residual,
        ..
    } = state;
    // the residual of a start that was kept is that of a later vector
    second.hessian_product(w, product, scratch);
    for ((r, b), product) in residual.iter_mut().zip(rhs).zip(&*product) {
        *r = b - product;
    }
    let (w_norm, rhs_norm) = (norm(w), norm(rhs));
    let value = inner(rhs, w) + inner(residual, w);
    let roundings = roundings_of_sum(w.len()) + 8.0;
    let rounding = w_norm
        * (2.0 * or_infinite(rhs_rounding)
            + or_infinite(second.product_rounding(w_norm))
            + roundings * UNIT_ROUNDOFF * (2.0 * rhs_norm + norm(product)))
        + w.len() as f64 * f64::MIN_POSITIVE;
    let margin = 1.0 + (roundings + 16.0) * UNIT_ROUNDOFF;
    let change = solved.third_order.vector;
    let by_change = or_infinite(margin * (change * w_norm + rounding));
    let square = |residual: f64| or_infinite(margin * residual * residual / solved.curvature);
    let lower = (value - by_change).max(0.0);
    let upper = or_infinite(value + by_change + square(solved.residual + change));
    if !value.is_finite() {
        return Err(SolveError::NonFiniteProduct {
            products: solved.products,
        });
    }
    Ok(InverseForm {
        value: value.max(lower),
        lower,
        upper,
        by_point: or_infinite(2.0 * by_change + square(change)),
        residual: solved.residual,
        work: solved.work + second.costs().product,
    })
}

/// Overwrites `out` with the derivative of `$H(x + sw)\,w$` with respect to `$s$` at zero, which is
/// the third derivative of the objective in two directions `$w$`. Returns the step `$h$` of the
/// central difference, for further differences of the same kind, and the work in gradients. `point`
/// has the length of `x` and is overwritten.
///
/// This is minus the gradient of `$\langle b, H(x)^{-1}b\rangle$` with respect to `$x$`, where
/// `$H(x)w = b$`. Its error is about `$10^{-8}L\|w\|_\infty^2/\|x\|_\infty$` where the Hessian
/// changes over lengths of `$10^{-4}\|x\|_\infty$` or more: the step is `$10^{-8}$` of the largest
/// entry of `$x$`, so derivatives near zero have few digits.
///
/// # Errors
/// If the objective has no second derivatives, or a product is not finite.
///
/// # Panics
/// If a length is not that of the objective.
pub fn hessian_slope<O: StronglyConvex>(
    objective: &O,
    x: &[f64],
    w: &[f64],
    out: &mut [f64],
    point: &mut Vec<f64>,
    scratch: &mut O::Scratch,
) -> Result<(f64, f64), SolveError> {
    let Some(second) = objective.second_order() else {
        return Err(SolveError::NoSecondDerivatives);
    };
    let largest = |v: &[f64]| v.iter().fold(0.0, |a: f64, b| a.max(b.abs()));
    let (size, direction) = (largest(x), largest(w));
    let size = if size > 0.0 { size } else { 1.0 };
    let step = if direction > 0.0 {
        STEP * size / direction
    } else {
        1.0
    };
    let costs = second.costs();
    let mut product = vec![f64::NAN; w.len()];
    for (sign, is_first) in [(1.0, true), (-1.0, false)] {
        point.clear();
        point.extend(x.iter().zip(w).map(|(x, w)| x + sign * step * w));
        second.linearise(point, scratch);
        second.hessian_product(w, &mut product, scratch);
        if is_first {
            out.copy_from_slice(&product);
        }
    }
    for (out, product) in out.iter_mut().zip(&product) {
        *out = (*out - product) / (2.0 * step);
    }
    if !norm(out).is_finite() {
        return Err(SolveError::NonFiniteProduct { products: 2 });
    }
    Ok((step, 2.0 * (costs.linearise + costs.product)))
}
