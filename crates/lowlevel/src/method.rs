//! The iterations: gradient descent and FISTA as in the paper, and faster ones.

use crate::objective::{Curvature, StronglyConvex};

/// Which iteration to run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Method {
    /// The fastest that is known for the objective: [`Newton`](Self::Newton) where it offers Newton steps and they pay,
    /// [`HeavyBall`](Self::HeavyBall) elsewhere, and FISTA over a set.
    #[default]
    Auto,
    /// Newton-like steps of the objective with a line search, over the whole space: see [`StronglyConvex::newton_step`].
    Newton,
    /// A damped heavy ball, guarded by FISTA, over the whole space: 1.4 to 1.8 times fewer gradients than FISTA where the gradient must
    /// become several times smaller. It has no proven rate better than FISTA's.
    HeavyBall,
    /// Gradient descent, `$x^{k+1} = x^k - \tau \nabla\Phi(x^k)$`.
    GradientDescent {
        /// How `$\tau$` is chosen.
        step: Step,
    },
    /// FISTA with `$\tau = 1/L$`, `$q = \tau\mu$` and `$t_0 = 0$`:
    ///
    /// ```math
    /// \begin{aligned}
    /// t_{k+1} &= \tfrac12\bigl(1 - q t_k^2 + \sqrt{(1 - q t_k^2)^2 + 4 t_k^2}\bigr), &
    /// \beta_{k+1} &= \frac{(t_k - 1)(1 - q t_{k+1})}{t_{k+1} (1 - q)}, \\
    /// z^{k+1} &= x^k + \beta_{k+1} (x^k - x^{k-1}), &
    /// x^{k+1} &= z^{k+1} - \tau \nabla\Phi(z^{k+1}).
    /// \end{aligned}
    /// ```
    Fista {
        /// Where the gradient that certifies the answer is evaluated.
        certify: Certify,
    },
}

/// The step length of gradient descent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Step {
    /// `$\tau = 1/L$`, which needs no `$\mu$`.
    InverseLipschitz,
    /// `$\tau = 2/(L + \mu)$`, which contracts fastest.
    #[default]
    Optimal,
}

/// Where FISTA over the whole space evaluates the gradient that certifies its answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Certify {
    /// At the extrapolated point `$z^k$`, where the iteration needs it anyway; `$z^k$` is the answer.
    /// One gradient per iteration.
    #[default]
    Extrapolated,
    /// At the iterate `$x^k$`, which is the answer, as in the published experiments. Two gradients per iteration.
    Iterate,
}

impl Method {
    /// Gradient descent with the optimal step.
    pub const GRADIENT_DESCENT: Self = Self::GradientDescent {
        step: Step::Optimal,
    };
    /// FISTA at one gradient per iteration.
    pub const FISTA: Self = Self::Fista {
        certify: Certify::Extrapolated,
    };
    /// FISTA as the authors of the paper ran and counted it: two gradients per iteration (one over a set, which certifies by
    /// itself).
    pub const FISTA_TWO_GRADIENTS: Self = Self::Fista {
        certify: Certify::Iterate,
    };

    /// `$\tau$`.
    pub(crate) fn step_length(self, curvature: Curvature) -> f64 {
        match self {
            Self::GradientDescent {
                step: Step::Optimal,
            } => 2.0 / (curvature.lipschitz() + curvature.strong_convexity()),
            Self::GradientDescent {
                step: Step::InverseLipschitz,
            }
            | Self::Fista { .. }
            | Self::HeavyBall
            | Self::Newton
            | Self::Auto => 1.0 / curvature.lipschitz(),
        }
    }

    /// What `Auto` stands for.
    pub(crate) fn resolve<O: StronglyConvex>(self, objective: &O, whole_space: bool) -> Self {
        match self {
            Self::Auto if whole_space => match objective.newton() {
                Some(newton) if objective.curvature().condition_number().sqrt() > newton.cost => {
                    Self::Newton
                }
                _ => Self::HeavyBall,
            },
            Self::Auto | Self::HeavyBall if !whole_space => Self::FISTA,
            chosen => chosen,
        }
    }

    const fn is_accelerated(self) -> bool {
        matches!(self, Self::Fista { .. } | Self::HeavyBall)
    }

    /// Whether gradients are evaluated at extrapolated points only.
    pub(crate) fn extrapolates(self) -> bool {
        matches!(self, Self::FISTA | Self::HeavyBall)
    }

    /// Whether `next` makes the same iterates, so that it can go on where `self` stopped.
    pub(crate) fn continues_as(self, next: Self) -> bool {
        let is_fista = |method| matches!(method, Self::Fista { .. });
        self == next || (is_fista(self) && is_fista(next))
    }
}

/// The sequence `$t_k$` of FISTA; stays at zero for gradient descent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Momentum {
    t: f64,
}

impl Momentum {
    /// Whether no iteration has been made: then `$x^{k-1} = x^k$`.
    pub(crate) fn is_at_rest(self) -> bool {
        self == Self::default()
    }

    /// Moves on to `$t_{k+1}$` and returns `$\beta_{k+1}$`; gradient descent has `$\beta = 0$`.
    pub(crate) fn next(&mut self, method: Method, curvature: Curvature) -> f64 {
        if !method.is_accelerated() {
            return 0.0;
        }
        let q = curvature.strong_convexity() / curvature.lipschitz();
        let t = self.t;
        let a = 1.0 - q * t * t;
        self.t = 0.5 * (a + (a * a + 4.0 * t * t).sqrt());
        // One step of length 1/L solves a function with mu = L: there is nothing to extrapolate.
        if q < 1.0 {
            (t - 1.0) * (1.0 - q * self.t) / (self.t * (1.0 - q))
        } else {
            0.0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;

    fn curvature(mu: f64, lipschitz: f64) -> Curvature {
        Curvature::new(mu, lipschitz).unwrap()
    }

    #[test]
    fn step_lengths() {
        let curvature = curvature(1.0, 3.0);
        let gd = |step| Method::GradientDescent { step }.step_length(curvature);
        assert_relative_eq!(gd(Step::Optimal), 0.5);
        assert_relative_eq!(gd(Step::InverseLipschitz), 1.0 / 3.0);
        assert_relative_eq!(Method::FISTA.step_length(curvature), 1.0 / 3.0);
    }

    /// `t_k` of FISTA worked out by hand for q = 1/4: t_1 = 1, then a = 3/4, t_2 = (3/4 + sqrt(9/16 + 4))/2, ...
    #[test]
    fn momentum_starts_at_rest_and_tends_to_its_fixed_point() {
        let curvature = curvature(1.0, 4.0);
        let mut momentum = Momentum::default();
        assert_relative_eq!(momentum.next(Method::FISTA, curvature), -1.0);
        assert_relative_eq!(momentum.t, 1.0);
        assert_relative_eq!(momentum.next(Method::FISTA, curvature), 0.0);
        assert_relative_eq!(momentum.t, 0.5 * (0.75 + (0.5625_f64 + 4.0).sqrt()));
        let beta = (0..200)
            .map(|_| momentum.next(Method::FISTA, curvature))
            .last();
        // t = 1/sqrt(q) is the fixed point, with beta = (1 - sqrt(q)) / (1 + sqrt(q)).
        assert_relative_eq!(momentum.t, 2.0, max_relative = 1e-12);
        assert_relative_eq!(beta.unwrap(), 1.0 / 3.0, max_relative = 1e-12);
    }

    #[test]
    fn momentum_is_finite_where_mu_equals_lipschitz_and_zero_for_descent() {
        for mu in [1.0, 1.0 - f64::EPSILON, 1.0 - 1e-12] {
            let mut momentum = Momentum::default();
            momentum.next(Method::FISTA, curvature(mu, 1.0));
            for _ in 0..50 {
                let beta = momentum.next(Method::FISTA, curvature(mu, 1.0));
                assert!(beta.abs() <= 1.0, "{mu}: {beta}");
            }
        }
        let mut momentum = Momentum::default();
        assert_relative_eq!(
            momentum.next(Method::GRADIENT_DESCENT, curvature(1.0, 2.0)),
            0.0
        );
    }
}
