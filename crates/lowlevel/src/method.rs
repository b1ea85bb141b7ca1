//! The iterations: gradient descent and FISTA as in the paper, and faster ones. Each has a file of
//! its own.

pub(crate) mod descent;
pub(crate) mod fista;
pub(crate) mod heavy_ball;
pub(crate) mod newton;
pub(crate) mod projected;

use crate::objective::{Curvature, StronglyConvex};

/// Which iteration to run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Method {
    /// The fastest that is known for the objective: [`Newton`](Self::Newton) where it offers Newton
    /// steps and they pay, [`HeavyBall`](Self::HeavyBall) elsewhere, and FISTA over a set.
    #[default]
    Auto,
    /// Newton-like steps of the objective with a line search, over the whole space: see
    /// [`NewtonSteps`](crate::NewtonSteps).
    Newton,
    /// A damped heavy ball, guarded by FISTA, over the whole space: 1.4 to 1.8 times fewer
    /// gradients than FISTA where the gradient must become several times smaller. It has no proven
    /// rate better than FISTA's.
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
    /// At the extrapolated point `$z^k$`, where the iteration needs it anyway; `$z^k$` is the
    /// answer. One gradient per iteration.
    #[default]
    Extrapolated,
    /// At the iterate `$x^k$`, which is the answer, as in the published experiments. Two gradients
    /// per iteration.
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
    /// FISTA as the authors of the paper ran and counted it: two gradients per iteration (one over
    /// a set, which certifies by itself).
    pub const FISTA_TWO_GRADIENTS: Self = Self::Fista {
        certify: Certify::Iterate,
    };

    /// What `Auto` stands for.
    pub(crate) fn resolve<O: StronglyConvex>(self, objective: &O, whole_space: bool) -> Self {
        match self {
            Self::Auto if whole_space => {
                let others = objective.curvature().condition_number().sqrt();
                match objective.newton() {
                    Some(newton) if others > newton.step_cost() => Self::Newton,
                    _ => Self::HeavyBall,
                }
            }
            Self::Auto | Self::HeavyBall if !whole_space => Self::FISTA,
            chosen => chosen,
        }
    }
}

impl Step {
    /// `$\tau$`.
    pub(crate) fn length(self, curvature: Curvature) -> f64 {
        match self {
            Self::Optimal => 2.0 / (curvature.lipschitz() + curvature.strong_convexity()),
            Self::InverseLipschitz => 1.0 / curvature.lipschitz(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;

    #[test]
    fn step_lengths() {
        let curvature = Curvature::new(1.0, 3.0).unwrap();
        assert_relative_eq!(Step::Optimal.length(curvature), 0.5);
        assert_relative_eq!(Step::InverseLipschitz.length(curvature), 1.0 / 3.0);
    }
}
