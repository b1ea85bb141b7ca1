//! The methods of minimisation: gradient descent and FISTA as in the paper, and faster ones. Each
//! has a file of its own.

pub(crate) mod descent;
pub(crate) mod fista;
pub(crate) mod heavy_ball;
pub(crate) mod newton;
pub(crate) mod projected;

use crate::objective::{Curvature, StronglyConvex};

/// A method of minimisation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Method {
    /// The fastest method known for the objective. Over a set this is FISTA. Over the whole space
    /// it is [`Newton`](Self::Newton) if the objective offers Newton steps and `$\sqrt{L/\mu}$`
    /// exceeds their cost in gradients, and [`HeavyBall`](Self::HeavyBall) otherwise. The heavy
    /// ball gets quasi-Newton steps if the objective offers a
    /// [metric](crate::SecondOrder::metric), and otherwise Newton corrections if it states where
    /// they help ([`SecondOrderCosts::newton`](crate::SecondOrderCosts::newton)).
    #[default]
    Auto,
    /// The Newton-like steps of the objective ([`NewtonSteps`](crate::NewtonSteps)) with a line
    /// search, over the whole space.
    Newton,
    /// A damped heavy ball, guarded by FISTA, over the whole space. It needs 1.4 to 1.8 times fewer
    /// gradients than FISTA if the gradient has to become several times smaller (measured on
    /// photographs). It has no proven rate better than FISTA's.
    HeavyBall,
    /// Gradient descent, `$x^{k+1} = x^k - \tau \nabla\Phi(x^k)$`.
    GradientDescent {
        /// The step length `$\tau$`.
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
        /// The point where the gradient that certifies the answer is evaluated.
        certify: Certify,
    },
}

/// The step length of gradient descent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Step {
    /// The step length `$\tau = 1/L$`, which does not depend on `$\mu$`.
    InverseLipschitz,
    /// The step length `$\tau = 2/(L + \mu)$`, which contracts fastest.
    #[default]
    Optimal,
}

/// The point where FISTA over the whole space evaluates the gradient that certifies its answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Certify {
    /// The extrapolated point `$z^k$`, where the iteration needs the gradient anyway. The answer is
    /// `$z^k$`, and an iteration costs one gradient.
    #[default]
    Extrapolated,
    /// The iterate `$x^k$`, as in the published experiments. The answer is `$x^k$`, and an
    /// iteration costs two gradients.
    Iterate,
}

impl Method {
    /// Gradient descent with the optimal step length.
    pub const GRADIENT_DESCENT: Self = Self::GradientDescent {
        step: Step::Optimal,
    };
    /// FISTA with one gradient per iteration.
    pub const FISTA: Self = Self::Fista {
        certify: Certify::Extrapolated,
    };
    /// FISTA as in the experiments of the paper, with two gradients per iteration. Over a set it
    /// needs only one, because the projected step certifies the answer.
    pub const FISTA_TWO_GRADIENTS: Self = Self::Fista {
        certify: Certify::Iterate,
    };

    /// The method that `Auto` stands for; other methods are returned unchanged, except that FISTA
    /// replaces the heavy ball over a set.
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
    /// The step length `$\tau$`.
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
