//! Bounds on the distance to the minimiser, and their derivation.
//!
//! Let `$x^*$` minimise a `$\mu$`-strongly convex `$\Phi$` with `$L$`-Lipschitz gradient over a
//! closed convex set `$C$` with projection `$P$`, and let `$T(z) = P(z - \tau\nabla\Phi(z))$` with
//! `$0 < \tau \le 2/(L+\mu)$`.
//!
//! **A posteriori.** The map `$z \mapsto z - \tau\nabla\Phi(z)$` contracts distances by
//! `$1 - \tau\mu$` and `$P$` does not expand them, so `$T$` contracts by `$1 - \tau\mu$`; its fixed
//! point is `$x^*$`. Hence
//! `$\|z - x^*\| \le \|z - T(z)\| + \|T(z) - T(x^*)\| \le \|z - T(z)\| + (1 - \tau\mu)\|z - x^*\|$`,
//! and with `$G(z) = (z - T(z))/\tau$`
//!
//! ```math
//! \|z - x^*\| \le \frac{\|G(z)\|}{\mu}, \qquad \|T(z) - x^*\| \le (1 - \tau\mu)\,\frac{\|G(z)\|}{\mu}.
//! ```
//!
//! Over the whole space `$G = \nabla\Phi$`, and the first bound is the paper's
//! `$\|\nabla\Phi(x)\|/\mu$`. Over a set we return `$T(z)$`, which lies in the set, with the second
//! bound. Neither bound needs `$z$` to lie in the set.
//!
//! **Approximate subgradients**, over the whole space. Suppose that a vector `$r$` and a number
//! `$B$` satisfy `$\Phi(y) \ge \Phi(x) + \langle r, y - x\rangle + \frac\mu2\|y - x\|^2 - B$` for
//! all `$y$`. With `$y = x^*$` and `$\Phi(x) \ge \Phi(x^*) + \frac\mu2\|x - x^*\|^2$`, the sum is
//! `$\mu\|x - x^*\|^2 \le \langle r, x - x^*\rangle + B$`. Hence
//!
//! ```math
//! \|x - x^*\| \le \frac{\|r\| + \sqrt{\|r\|^2 + 4\mu B}}{2\mu}.
//! ```
//!
//! With `$r = \nabla\Phi(x)$` and `$B = 0$` this is the bound above. If the error is in directions
//! in which `$\Phi$` curves by `$\lambda$`, the gradient is `$\lambda/\mu$` times too large, but
//! a small `$r$` with a `$B$` of about `$\langle\nabla\Phi(x), x - x^*\rangle$` exceeds the error
//! only by the factor `$\sqrt{\lambda/\mu}$`. Such `$r$` come from the objective
//! ([`SecondOrder::subgradient`](crate::SecondOrder::subgradient)).
//!
//! **Rounding.** A computed gradient is `$\nabla\Phi(z) + e$` with `$\|e\|$` at most
//! [`gradient_rounding`](crate::StronglyConvex::gradient_rounding), so over the whole space the
//! bound becomes `$(\|g\| + \|e\|)/\mu$`. Over a set, each operation in the computed `$z - \tau g$`
//! is rounded as well, `$\|e'\| \le u(\|z\| + 2\tau\|g\|) + \tau\|e\|$`, and the same argument
//! gives `$((1 - \tau\mu)\|G\| + \|e'\|/\tau)/\mu$`. A projection that clips or scales each entry
//! adds a few `$u\|z\|$`, which we include; a less accurate projection voids the bound. Numbers
//! that underflow are lost entirely, so we add `$d$` times the smallest normal number to `$\|e\|$`.
//!
//! **A priori.** After `$k$` iterations from an `$x^0$` with `$\|x^0 - x^*\| \le R$`,
//! [`rate_bound`] bounds the error.

use std::fmt;

use crate::error::InvalidErrorBound;
use crate::method::{Method, Step};
use crate::norm::UNIT_ROUNDOFF;
use crate::objective::Curvature;

/// A bound on the distance to the minimiser: `$\|x - x^*\|_2 \le \varepsilon$`.
///
/// It is the Euclidean distance over all entries, not squared. For an image of `$N$` pixels, it
/// bounds the root mean square error per pixel by `$\varepsilon/\sqrt N$`.
///
/// ```
/// use lowlevel::ErrorBound;
/// let bound = ErrorBound::new(1e-3)?;
/// assert_eq!(bound.value(), 1e-3);
/// assert!(ErrorBound::new(f64::NAN).is_err());
/// # Ok::<(), lowlevel::InvalidErrorBound>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct ErrorBound(f64);

impl ErrorBound {
    /// The infinite bound, for an unknown distance.
    pub const UNKNOWN: Self = Self(f64::INFINITY);

    /// Creates a bound, in the units of the unknown.
    ///
    /// # Errors
    /// If `value` is negative or NaN. Infinity is allowed and means that nothing is known.
    pub fn new(value: f64) -> Result<Self, InvalidErrorBound> {
        if value >= 0.0 {
            Ok(Self(value))
        } else {
            Err(InvalidErrorBound { found: value })
        }
    }

    /// Creates a bound from a computed value that is not negative; NaN becomes
    /// [`ErrorBound::UNKNOWN`].
    pub(crate) fn from_computed(value: f64) -> Self {
        Self::new(value).unwrap_or(Self::UNKNOWN)
    }

    /// The bound as a number.
    #[must_use]
    pub const fn value(self) -> f64 {
        self.0
    }
}

impl fmt::Display for ErrorBound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::LowerExp for ErrorBound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::LowerExp::fmt(&self.0, f)
    }
}

/// The kind of proof that a target is met.
///
/// ```
/// use lowlevel::testing::NesterovQuadratic;
/// use lowlevel::{Certificate, ErrorBound, Outcome, Solver, State, Stop};
///
/// // The minimiser has entries between 0 and 1, so it is at most sqrt(10) from zero.
/// let certificate = Certificate::Rate { initial: ErrorBound::new(10_f64.sqrt())? };
/// let stop = Stop::Accuracy { target: ErrorBound::new(1e-6)?, certificate, max_iterations: None };
/// let mut state = State::new(vec![0.0; 10]);
/// let quadratic = NesterovQuadratic::new(10, 1.0, 100.0);
/// let solved = Solver::default().minimize(&quadratic, stop, &mut state, &mut ())?;
/// assert_eq!(solved.outcome, Outcome::Converged);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Certificate {
    /// An a-posteriori bound from the gradient: `$\|x - x^*\| \le \|\nabla\Phi(x)\|/\mu$`, or its
    /// counterpart over a set. It is usually much tighter than the rate, and needs no knowledge
    /// about the start.
    #[default]
    Gradient,
    /// A sharper a-posteriori bound, from [approximate subgradients](self). Functions that do not
    /// offer them, and solves over a set, are certified by the gradient. Newton's method uses the
    /// bound of the objective.
    ///
    /// For banks of filters, the certified error is closer to the true one, and there are fewer
    /// iterations, but a solve takes about as long: the bound costs as much as it saves.
    Subgradient,
    /// An a-priori bound from the rate of the method and the distance of the start, see
    /// [`rate_bound`].
    Rate {
        /// A bound on `$\|x^0 - x^*\|$`.
        initial: ErrorBound,
    },
}

/// Returns the a-priori bound on `$\|x^k - x^*\|$` after `iterations` iterations, in exact
/// arithmetic.
///
/// With `$q = \mu/L$` and `$R$` = `initial`, the equations of the paper are
///
/// ```math
/// \begin{aligned}
/// \text{gradient descent, } \tau = 1/L: && \|x^k - x^*\| &\le (1 - q)^{k/2} R, \\
/// \text{gradient descent, } \tau = 2/(L+\mu): && \|x^k - x^*\| &\le (1 - q)^{k} R, \\
/// \text{FISTA:} && \|x^k - x^*\| &\le \sqrt{(1 - \sqrt q)^k \, (1 + \sqrt q)/q}\; R.
/// \end{aligned}
/// ```
///
/// The other methods have no such rate: for them the bound is [`ErrorBound::UNKNOWN`], unless
/// `iterations` is 0.
#[must_use]
pub fn rate_bound(
    method: Method,
    curvature: Curvature,
    iterations: u64,
    initial: ErrorBound,
) -> ErrorBound {
    if iterations == 0 {
        return initial;
    }
    Rate::of(method, curvature).map_or(ErrorBound::UNKNOWN, |rate| {
        ErrorBound::from_computed(rate.factor(iterations) * initial.value())
    })
}

/// A linear rate of convergence: `factor(k) = exp(ln_constant + k * ln_contraction)`.
struct Rate {
    ln_constant: f64,
    ln_contraction: f64,
}

impl Rate {
    /// The rate of `method`; `None` for methods without a proved rate.
    fn of(method: Method, curvature: Curvature) -> Option<Self> {
        let q = curvature.strong_convexity() / curvature.lipschitz();
        match method {
            Method::GradientDescent { step } => Some(Self {
                ln_constant: 0.0,
                ln_contraction: match step {
                    Step::InverseLipschitz => 0.5 * (-q).ln_1p(),
                    Step::Optimal => (-q).ln_1p(),
                },
            }),
            Method::Fista { .. } => Some(Self {
                ln_constant: 0.5 * (q.sqrt().ln_1p() - q.ln()),
                ln_contraction: 0.5 * (-q.sqrt()).ln_1p(),
            }),
            Method::Auto | Method::HeavyBall | Method::Newton => None,
        }
    }

    fn factor(&self, iterations: u64) -> f64 {
        if iterations == 0 {
            return self.ln_constant.exp(); // for mu = L, 0 * ln_contraction would be NaN
        }
        let k = iterations as f64;
        (self.ln_constant + k * self.ln_contraction).exp()
    }

    /// The first `k` with `factor(k) <= ratio`, or `u64::MAX` if there is none.
    fn iterations_to(&self, ratio: f64) -> u64 {
        if !(ratio > 0.0) {
            return u64::MAX;
        }
        if self.factor(0) <= ratio {
            return 0;
        }
        let k = (ratio.ln() - self.ln_constant) / self.ln_contraction;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "rounded up, positive, and `as` saturates"
        )]
        let mut k = k.ceil().max(1.0) as u64;
        if self.factor(k) > ratio {
            k = k.saturating_add(1); // the division was rounded
        }
        k
    }
}

/// The first iteration whose [`rate_bound`] is at most `target`, or `u64::MAX` if there is none.
#[must_use]
pub(crate) fn rate_iterations(
    method: Method,
    curvature: Curvature,
    initial: ErrorBound,
    target: ErrorBound,
) -> u64 {
    if initial <= target {
        return 0;
    }
    Rate::of(method, curvature).map_or(u64::MAX, |rate| {
        rate.iterations_to(target.value() / initial.value())
    })
}

/// The number of iterations after which, in exact arithmetic, the a-posteriori bound must have met
/// `target`.
///
/// It uses `$\|G(z)\| \le 2L\|z - x^*\|$`, and that an extrapolated point is at most three times as
/// far from `$x^*$` as the farther of its two iterates. An iteration that continues with momentum
/// starts with an energy that is up to `$L/\mu$` times that of a fresh start.
pub(crate) fn proven_iterations(
    method: Method,
    curvature: Curvature,
    initial: ErrorBound,
    target: f64,
) -> u64 {
    // The heavy ball may need one turn of FISTA for every halving of the gradient; we allow for 64.
    let (method, turns) = match method {
        Method::HeavyBall => (Method::FISTA, 64),
        method => (method, 1),
    };
    let looseness = 6.0 * curvature.condition_number().powi(2);
    let ratio = target.max(f64::MIN_POSITIVE) / (looseness * initial.value());
    Rate::of(method, curvature).map_or(u64::MAX, |rate| {
        let iterations = rate.iterations_to(ratio).saturating_add(2);
        iterations.saturating_mul(turns)
    })
}

/// The a-posteriori bound `(scale * measured + rounding) / mu`, or that with a slack.
///
/// Over the whole space `measured` is the computed `$\|\nabla\Phi\|$` and `scale` is 1. Over a set
/// they are `$\|G\|$` and `$1 - \tau\mu$`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GradientBound {
    strong_convexity: f64,
    scale: f64,
}

impl GradientBound {
    pub(crate) const fn whole_space(curvature: Curvature) -> Self {
        Self {
            strong_convexity: curvature.strong_convexity(),
            scale: 1.0,
        }
    }

    pub(crate) fn over_set(curvature: Curvature, step: f64) -> Self {
        Self {
            strong_convexity: curvature.strong_convexity(),
            // tau mu is at most 1, up to rounding
            scale: (1.0 - step * curvature.strong_convexity()).max(0.0) + 4.0 * UNIT_ROUNDOFF,
        }
    }

    /// The bound for a measured norm and its rounding error. `dim` bounds the number of roundings
    /// in the computation of the norm.
    pub(crate) fn bound(self, measured: f64, rounding: f64, dim: usize) -> ErrorBound {
        self.with_slack(measured, rounding, 0.0, dim)
    }

    /// The bound for the norm of an approximate subgradient and its rounding error. There are none
    /// over a set.
    pub(crate) fn with_slack(
        self,
        measured: f64,
        rounding: f64,
        slack: f64,
        dim: usize,
    ) -> ErrorBound {
        let dim = dim as f64;
        let inflation = 1.0 + (dim + 16.0) * UNIT_ROUNDOFF;
        let lost_to_underflow = dim * f64::MIN_POSITIVE;
        let residual = self.scale * measured + rounding + lost_to_underflow;
        let root = residual.hypot(2.0 * self.strong_convexity.sqrt() * slack.sqrt());
        let residual = 0.5 * residual + 0.5 * root;
        ErrorBound::from_computed(inflation * residual / self.strong_convexity)
    }

    /// The largest `measured` that can meet `target`.
    pub(crate) fn threshold(self, target: ErrorBound) -> f64 {
        target.value() * self.strong_convexity / self.scale
    }
}

/// Bounds the rounding error that `iterations` iterations leave in `$x^k$`, for the a-priori
/// bounds.
///
/// Iteration `$j$` adds `$u\|x^j\| + \|e^j\|/L$`. Gradient descent contracts by at least
/// `$1 - \mu/L$` per iteration, so all iterations together add at most `$L/\mu$` times the largest
/// error near the end. FISTA contracts an energy by `$1 - \sqrt{q}$`, in which each error counts
/// `$1/\sqrt{q}$` times; this gives the same bound up to a constant, for which we allow 4. The
/// errors of early iterations are larger, since their points are farther from `$x^*$`, but they are
/// contracted more: the remainder of each is at most the rate one iteration earlier.
pub(crate) fn accumulated_rounding(
    curvature: Curvature,
    iterations: u64,
    rate_before: ErrorBound,
    end: Norms,
    gradient_rounding: impl Fn(f64, f64) -> f64,
) -> f64 {
    if iterations == 0 {
        return 0.0;
    }
    let farther = 3.0 * iterations as f64 * rate_before.value();
    let x = end.x + farther;
    let gradient = end.gradient + curvature.lipschitz() * farther;
    let per_iteration =
        4.0 * UNIT_ROUNDOFF * x + gradient_rounding(x, gradient) / curvature.lipschitz();
    4.0 * curvature.condition_number() * per_iteration
}

/// The norms of the point and of the gradient.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Norms {
    pub(crate) x: f64,
    pub(crate) gradient: f64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;

    fn curvature() -> Curvature {
        Curvature::new(1.0, 4.0).unwrap()
    }

    fn bound(value: f64) -> ErrorBound {
        ErrorBound::new(value).unwrap()
    }

    #[test]
    fn rates_are_those_of_the_paper() {
        let gd = |step| Method::GradientDescent { step };
        let at = |method, k| rate_bound(method, curvature(), k, bound(2.0)).value();
        assert_relative_eq!(at(gd(Step::InverseLipschitz), 6), 2.0 * 0.75_f64.powi(3));
        assert_relative_eq!(at(gd(Step::Optimal), 6), 2.0 * 0.75_f64.powi(6));
        let fista = (0.5_f64.powi(6) * 4.0 * 1.5).sqrt();
        assert_relative_eq!(at(Method::FISTA, 6), 2.0 * fista, max_relative = 1e-14);
        assert_relative_eq!(at(gd(Step::Optimal), 0), 2.0);
    }

    #[test]
    fn the_number_of_iterations_is_the_smallest_that_suffices() {
        let methods = [
            Method::GRADIENT_DESCENT,
            Method::GradientDescent {
                step: Step::InverseLipschitz,
            },
            Method::FISTA,
        ];
        for method in methods {
            for kappa in [1.0, 1.0 + 1e-9, 3.0, 1e5] {
                let curvature = Curvature::new(0.5, 0.5 * kappa).unwrap();
                for target in [3.0, 1e-2, 1e-9] {
                    let k = rate_iterations(method, curvature, bound(1.0), bound(target));
                    let reached = |k| rate_bound(method, curvature, k, bound(1.0)).value();
                    assert!(reached(k) <= target, "{method:?} {kappa} {target} {k}");
                    assert!(k == 0 || reached(k - 1) > target);
                }
            }
        }
        let never = rate_iterations(Method::FISTA, curvature(), bound(1.0), bound(0.0));
        assert_eq!(never, u64::MAX);
        let at_once = rate_iterations(Method::FISTA, curvature(), bound(0.0), bound(0.0));
        assert_eq!(at_once, 0);
    }

    #[test]
    fn bounds_are_never_negative_or_nan() {
        assert!(ErrorBound::new(-1e-300).is_err());
        assert!(ErrorBound::new(f64::NAN).is_err());
        assert_eq!(ErrorBound::from_computed(f64::NAN), ErrorBound::UNKNOWN);
        assert_eq!(format!("{:.1e}", bound(0.25)), "2.5e-1");
    }
}
