//! The two-root potential of a filter's response.

use crate::error::{ModelError, check_smoothing, check_weight};

/// The potential
/// `$\varphi(t) = \alpha\sqrt{t^2 + \nu^2} - \beta\sqrt{t^2 + \omega^2}$` of the response `$t$`
/// of a filter, with `$0 \le \beta \le \alpha$` and `$\omega \ge \nu > 0$`.
///
/// Without a second root (`$\beta = 0$`) it is the smoothed absolute value, which is convex. With
/// `$\beta = \alpha$` it becomes flat for responses far above `$\omega$`, so that edges cost no
/// more than a constant. Then it is only weakly convex: `$\varphi'' \ge -m$`.
///
/// **Curvature.** `$\varphi''(t) = \alpha\nu^2(t^2 + \nu^2)^{-3/2} - \beta\omega^2(t^2 +
/// \omega^2)^{-3/2}$` is largest at zero, where it is `$\alpha/\nu - \beta/\omega$`. It is
/// stationary elsewhere only where `$(t^2 + \omega^2)/(t^2 + \nu^2)$` equals
/// `$\gamma = (\beta\omega^2/\alpha\nu^2)^{2/5}$`. If `$\gamma > 1$`, this is its minimum, with the
/// value
///
/// ```math
/// -m = -\frac{\alpha}{\nu}\,\frac{(\gamma - 1)^{5/2}}{(\omega^2/\nu^2 - 1)^{3/2}},
/// ```
///
/// and if `$\gamma \le 1$`, the curvature decreases to zero and `$m = 0$`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TwoRoots {
    /// The weight `$\alpha$` of the first root.
    pub alpha: f64,
    /// The smoothing `$\nu$` of the first root.
    pub nu: f64,
    /// The weight `$\beta$` of the second root, between 0 and `$\alpha$`.
    pub beta: f64,
    /// The smoothing `$\omega$` of the second root, at least `$\nu$`.
    pub omega: f64,
}

impl TwoRoots {
    /// Creates a convex potential, without a second root.
    #[must_use]
    pub const fn convex(alpha: f64, nu: f64) -> Self {
        Self {
            alpha,
            nu,
            beta: 0.0,
            omega: nu,
        }
    }

    pub(super) fn check(self) -> Result<(), ModelError> {
        check_weight("alpha", self.alpha)?;
        check_smoothing("nu", self.nu)?;
        check_smoothing("omega", self.omega)?;
        let out_of_range = |name, found, needed| {
            Err(ModelError::OutOfRange {
                name,
                found,
                needed,
            })
        };
        if !(0.0..=self.alpha).contains(&self.beta) {
            return out_of_range("beta", self.beta, "between 0 and alpha");
        }
        if !(self.omega >= self.nu) {
            return out_of_range("omega", self.omega, "at least nu");
        }
        Ok(())
    }

    /// Returns the potential of a response.
    #[must_use]
    pub fn value(self, response: f64) -> f64 {
        self.value_of_square(response * response)
    }

    /// Returns the potential of a response, given its square.
    #[inline(always)]
    pub(super) fn value_of_square(self, square: f64) -> f64 {
        let root = |smoothing: f64| (square + smoothing * smoothing).sqrt();
        self.alpha * root(self.nu) - self.beta * root(self.omega)
    }

    /// The largest curvature `$\alpha/\nu - \beta/\omega$`.
    #[must_use]
    pub fn largest_curvature(self) -> f64 {
        self.alpha / self.nu - self.beta / self.omega
    }

    /// The response where the curvature is smallest, if it is negative there, as
    /// `$(t^2 + \nu^2, t^2 + \omega^2)$`.
    fn least_convex(self) -> Option<(f64, f64)> {
        let Self {
            alpha,
            nu,
            beta,
            omega,
        } = self;
        let gamma = (beta * omega * omega / (alpha * nu * nu)).powf(0.4);
        // NaN if there is no potential at all
        (gamma > 1.0 && omega > nu).then(|| {
            let first = (omega * omega - nu * nu) / (gamma - 1.0);
            (first, gamma * first)
        })
    }

    /// Returns the weak convexity `$m \ge 0$`, the smallest number with `$\varphi'' \ge -m$`, up to
    /// rounding.
    #[must_use]
    pub fn weak_convexity(self) -> f64 {
        self.least_convex().map_or(0.0, |(first, second)| {
            let curvature = self.alpha * self.nu * self.nu / (first * first.sqrt())
                - self.beta * self.omega * self.omega / (second * second.sqrt());
            (-curvature).max(0.0)
        })
    }

    /// Returns the derivatives of [`weak_convexity`](Self::weak_convexity) with respect to
    /// `$\alpha$`, `$\nu$`, `$\beta$` and `$\omega$`. At the minimum of the curvature, they are
    /// those of `$-\varphi''(t)$` for a fixed `$t$`.
    #[must_use]
    pub fn weak_convexity_gradient(self) -> [f64; 4] {
        let Some((first, second)) = self.least_convex() else {
            return [0.0; 4];
        };
        let of_root = |smoothing: f64, square: f64| {
            let cube = square * square.sqrt();
            let ratio = smoothing * smoothing / square;
            [
                smoothing * smoothing / cube,
                smoothing * (2.0 - 3.0 * ratio) / cube,
            ]
        };
        let ([alpha, nu], [beta, omega]) = (of_root(self.nu, first), of_root(self.omega, second));
        [-alpha, -self.alpha * nu, beta, self.beta * omega]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn curvature(p: TwoRoots, t: f64) -> f64 {
        let root = |weight: f64, s: f64| weight * s * s / t.hypot(s).powi(3);
        root(p.alpha, p.nu) - root(p.beta, p.omega)
    }

    fn any_potential() -> impl Strategy<Value = TwoRoots> {
        (-4.0..0.0_f64, -3.0..0.0_f64, 0.0..=1.0_f64, 0.0..2.5_f64).prop_map(
            |(alpha, nu, share, spread)| {
                let (alpha, nu) = (10_f64.powf(alpha), 10_f64.powf(nu));
                TwoRoots {
                    alpha,
                    nu,
                    beta: share * alpha,
                    omega: nu * 10_f64.powf(spread),
                }
            },
        )
    }

    proptest! {
        #[test]
        fn curvatures_are_the_extremes(p in any_potential(), t in -6.0..6.0_f64) {
            let (t, scale) = (p.nu * 10_f64.powf(t), p.alpha / p.nu);
            let (least, most) = (-p.weak_convexity(), p.largest_curvature());
            prop_assert!(curvature(p, t) >= least - 1e-12 * scale);
            prop_assert!(curvature(p, t) <= most + 1e-12 * scale);
            if let Some((first, _)) = p.least_convex() {
                let at = (first - p.nu * p.nu).max(0.0).sqrt();
                prop_assert!((curvature(p, at) - least).abs() <= 1e-9 * scale);
            }
        }

        #[test]
        fn gradients_of_the_weak_convexity(p in any_potential()) {
            prop_assume!(p.weak_convexity() > 1e-3 * p.alpha / p.nu && p.omega > 1.1 * p.nu);
            let gradient = p.weak_convexity_gradient();
            let change: [fn(TwoRoots, f64) -> TwoRoots; 4] = [
                |p, h| TwoRoots { alpha: p.alpha * (1.0 + h), ..p },
                |p, h| TwoRoots { nu: p.nu * (1.0 + h), ..p },
                |p, h| TwoRoots { beta: p.beta * (1.0 + h), ..p },
                |p, h| TwoRoots { omega: p.omega * (1.0 + h), ..p },
            ];
            let sizes = [p.alpha, p.nu, p.beta, p.omega];
            for ((change, slope), size) in change.into_iter().zip(gradient).zip(sizes) {
                let h = 1e-5;
                let difference = change(p, h).weak_convexity() - change(p, -h).weak_convexity();
                let error = (difference / (2.0 * h) - slope * size).abs();
                prop_assert!(error <= 1e-5 * p.alpha / p.nu, "{error}");
            }
        }
    }
}
