//! The loss at a point.

use crate::norm::{UNIT_ROUNDOFF, norm_from_squared, norm_squared, roundings_of_sum};

/// A convex smooth loss `$\ell$` at a point `$\tilde x$`.
///
/// The functions of this module trust all fields: if one of them is wrong, intervals are wrong.
#[derive(Clone, Copy, Debug)]
pub struct LossAt<'a> {
    /// The value `$\ell(\tilde x)$`.
    pub value: f64,
    /// The gradient `$\nabla\ell(\tilde x)$`.
    pub gradient: &'a [f64],
    /// A Lipschitz constant `$L_\ell$` of the gradient.
    pub lipschitz: f64,
    /// Whether the loss is nowhere negative. With this, its plain interval is sharper.
    pub non_negative: bool,
    /// Bounds on the rounding errors of `value` and `gradient`.
    pub rounding: LossRounding,
}

/// Bounds on the rounding errors of a loss and its gradient.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LossRounding {
    /// A bound on the error of the value.
    pub value: f64,
    /// A bound on the Euclidean norm of the error of the gradient.
    pub gradient: f64,
}

impl<'a> LossAt<'a> {
    /// The loss `$\ell(x) = \|x - t\|^2$` for `truth` = `$t$`, with `$L_\ell = 2$`. Overwrites
    /// `gradient` with `$2(x - t)$`.
    ///
    /// ```
    /// use lowlevel::adjoint::LossAt;
    /// let mut gradient = [0.0; 2];
    /// let loss = LossAt::squared_distance(&[4.0, 6.0], &[1.0, 2.0], &mut gradient);
    /// assert_eq!((loss.value, loss.gradient), (25.0, &[6.0, 8.0][..]));
    /// ```
    ///
    /// # Panics
    /// If the lengths differ.
    #[must_use]
    pub fn squared_distance(x: &[f64], truth: &[f64], gradient: &'a mut [f64]) -> Self {
        assert!(
            x.len() == truth.len() && x.len() == gradient.len(),
            "x has {} entries, truth {} and gradient {}, but they must have equally many",
            x.len(),
            truth.len(),
            gradient.len()
        );
        for ((gradient, x), truth) in gradient.iter_mut().zip(x).zip(truth) {
            *gradient = 2.0 * (x - truth);
        }
        let squared = norm_squared(gradient);
        let value = 0.25 * squared;
        // Each difference is rounded once and each square once, then they are added.
        let per_term = (roundings_of_sum(x.len()) + 4.0) * UNIT_ROUNDOFF;
        let rounding = LossRounding {
            value: per_term * value + x.len() as f64 * f64::MIN_POSITIVE,
            gradient: 2.0 * UNIT_ROUNDOFF * norm_from_squared(squared, gradient),
        };
        Self {
            value,
            gradient,
            lipschitz: 2.0,
            non_negative: true,
            rounding,
        }
    }
}
