//! The bounds of the module's documentation: corrected value, adjoint and gradient.

use super::solve::or_infinite;
use super::{Adjoint, LossAt};
use crate::norm::{UNIT_ROUNDOFF, inner, norm, roundings_of_sum};
use crate::objective::StronglyConvex;

/// An interval that contains the loss of the minimiser, `$\ell(\hat x)$`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct ValueInterval {
    /// The best estimate: the corrected value, or the end of the interval that is nearest to it.
    pub value: f64,
    /// The lower end. It may be minus infinity.
    pub lower: f64,
    /// The upper end. It may be infinite.
    pub upper: f64,
    /// Whether the corrected and the plain interval meet.
    ///
    /// If they do not, the objective or the loss has something wrong: a constant, a bound on
    /// rounding or on third derivatives, a gradient or a Hessian product. The interval then reaches
    /// from the lowest to the highest end of both, so it contains `$\ell(\hat x)$` if one of the
    /// two does.
    pub consistent: bool,
}

/// Two ends of an interval.
#[derive(Clone, Copy)]
struct Ends {
    lower: f64,
    upper: f64,
}

impl Ends {
    const ALL: Self = Self {
        lower: f64::NEG_INFINITY,
        upper: f64::INFINITY,
    };

    /// The interval from `value - below` to `value + above`, widened for the roundings of these
    /// operations. It is infinite where a number is not finite.
    fn around(value: f64, below: f64, above: f64) -> Self {
        if !value.is_finite() {
            return Self::ALL;
        }
        let widened = |distance: f64| {
            or_infinite((1.0 + 16.0 * UNIT_ROUNDOFF) * distance) + 4.0 * UNIT_ROUNDOFF * value.abs()
        };
        Self {
            lower: value - widened(below),
            upper: value + widened(above),
        }
    }
}

/// Returns an interval for the loss of the minimiser: the intersection of the corrected and the
/// plain interval, see the [module's documentation](crate::adjoint).
///
/// `gradient` is `$\nabla\Phi(\tilde x)$` as computed ([`State::gradient`](crate::State::gradient)
/// has it after a solve), and `q` the adjoint that [`solve_adjoint`](super::solve_adjoint) computed
/// for the same `x` and `loss`. The minimiser must be that over the whole space: the gradient at a
/// minimiser over a set need not vanish.
///
/// Numbers that are not finite give an infinite interval.
///
/// # Panics
/// If the lengths differ.
#[must_use]
pub fn corrected_value<O: StronglyConvex>(
    objective: &O,
    x: &[f64],
    gradient: &[f64],
    loss: &LossAt<'_>,
    q: &[f64],
    adjoint: &Adjoint,
) -> ValueInterval {
    let dim = objective.dim();
    assert!(
        [x, gradient, loss.gradient, q]
            .iter()
            .all(|v| v.len() == dim),
        "x, gradient, the gradient of the loss and q have {}, {}, {} and {} entries, but the \
         objective has dimension {dim}",
        x.len(),
        gradient.len(),
        loss.gradient.len(),
        q.len()
    );
    let error = adjoint.error.value();
    let roundings = roundings_of_sum(dim);
    let underflow = dim as f64 * f64::MIN_POSITIVE;
    let (q_norm, gradient_norm) = (adjoint.norm, norm(gradient));
    let gradient_rounding = objective.gradient_rounding(norm(x), gradient_norm) + underflow;
    let value = loss.value - inner(q, gradient);
    let rounding = or_infinite(loss.rounding.value)
        + q_norm * or_infinite(gradient_rounding)
        + roundings * UNIT_ROUNDOFF * q_norm * gradient_norm
        + underflow;
    let rounding = (1.0 + (roundings + 8.0) * UNIT_ROUNDOFF) * rounding;
    let both_ways = adjoint.residual * error + adjoint.third_order.value + rounding;
    let curved = 0.5 * or_infinite(loss.lipschitz) * error * error;
    let corrected = Ends::around(value, both_ways, both_ways + curved);
    intersection(
        value,
        loss.value,
        &[corrected, slope(loss, error), root(loss, error)],
    )
}

/// The plain interval of a convex loss, from its gradient.
fn slope(loss: &LossAt<'_>, error: f64) -> Ends {
    let relative = (roundings_of_sum(loss.gradient.len()) + 8.0) * UNIT_ROUNDOFF;
    let gradient_norm =
        (1.0 + relative) * norm(loss.gradient) + or_infinite(loss.rounding.gradient);
    let below = gradient_norm * error + or_infinite(loss.rounding.value) + f64::MIN_POSITIVE;
    let curved = 0.5 * or_infinite(loss.lipschitz) * error * error;
    Ends::around(loss.value, below, below + curved)
}

/// The plain interval of a loss that is nowhere negative, from its square root.
fn root(loss: &LossAt<'_>, error: f64) -> Ends {
    if !(loss.non_negative && loss.value.is_finite()) {
        return Ends::ALL;
    }
    let margin = 16.0 * UNIT_ROUNDOFF;
    let rounding = or_infinite(loss.rounding.value);
    let change = (1.0 + margin) * (0.5 * or_infinite(loss.lipschitz)).sqrt() * error;
    let least = (1.0 - margin) * (loss.value - rounding).max(0.0).sqrt();
    let most = (1.0 + margin) * (loss.value + rounding).sqrt();
    Ends {
        // `max` takes NaN to zero
        lower: (1.0 - margin) * (least - change).max(0.0).powi(2),
        upper: or_infinite((1.0 + margin) * (most + change).powi(2) + f64::MIN_POSITIVE),
    }
}

/// The intersection of all, or the smallest interval that contains all if they do not meet.
fn intersection(value: f64, fallback: f64, all: &[Ends]) -> ValueInterval {
    let lowers = || all.iter().map(|ends| ends.lower);
    let uppers = || all.iter().map(|ends| ends.upper);
    let mut lower = lowers().fold(f64::NEG_INFINITY, f64::max);
    let mut upper = uppers().fold(f64::INFINITY, f64::min);
    let consistent = lower <= upper;
    if !consistent {
        lower = lowers().fold(f64::INFINITY, f64::min);
        upper = uppers().fold(f64::NEG_INFINITY, f64::max);
    }
    let value = if value.is_finite() { value } else { fallback };
    ValueInterval {
        value: value.clamp(lower, upper),
        lower,
        upper,
        consistent,
    }
}

/// Returns a bound on the distance of the computed adjoint from the exact one,
/// `$\|\tilde q - \hat q\| \le (T_1 + \delta + L_\ell\varepsilon)/\hat\mu$`, see the
/// [module's documentation](crate::adjoint). It is infinite where a number is not finite.
#[must_use]
pub fn adjoint_error(loss: &LossAt<'_>, adjoint: &Adjoint) -> f64 {
    let moved = or_infinite(loss.lipschitz) * adjoint.error.value();
    let sum = adjoint.third_order.vector + adjoint.residual + moved + f64::MIN_POSITIVE;
    or_infinite((1.0 + 16.0 * UNIT_ROUNDOFF) * sum / adjoint.curvature)
}

/// Bounds on the mixed derivative `$B_k = \partial_{\theta_k}\nabla\Phi$` of one parameter, in a
/// ball around `$\tilde x$` that contains the minimiser.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MixedBound {
    /// A bound on `$|\langle B_k(\tilde x + e) - B_k(\tilde x), \tilde q\rangle|$` for all `$e$` in
    /// the ball, plus the rounding error of the computed `$\langle B_k(\tilde x), \tilde
    /// q\rangle$`.
    pub change: f64,
    /// A bound on `$\|B_k(\tilde x + e)\|$` for all `$e$` in the ball.
    pub norm: f64,
}

impl MixedBound {
    /// The bounds if nothing is known about the derivative.
    pub const UNKNOWN: Self = Self {
        change: f64::INFINITY,
        norm: f64::INFINITY,
    };

    /// Creates the bounds. NaN and negative numbers become infinity.
    #[must_use]
    pub fn new(change: f64, norm: f64) -> Self {
        Self {
            change: or_infinite(change),
            norm: or_infinite(norm),
        }
    }

    /// Returns a bound on the error of the computed derivative
    /// `$-\langle B_k(\tilde x), \tilde q\rangle$`, given a bound on the error of the adjoint
    /// ([`adjoint_error`]). It is infinite where a number is not finite.
    ///
    /// ```
    /// let bound = lowlevel::adjoint::MixedBound { change: 0.5, norm: 2.0 };
    /// assert!((bound.gradient_error(3.0) - 6.5).abs() < 1e-12);
    /// ```
    #[must_use]
    pub fn gradient_error(self, adjoint_error: f64) -> f64 {
        let error = or_infinite(self.change) + or_infinite(self.norm) * or_infinite(adjoint_error);
        or_infinite((1.0 + 8.0 * UNIT_ROUNDOFF) * (error + f64::MIN_POSITIVE))
    }
}
