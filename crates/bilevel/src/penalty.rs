//! Penalties on the parameters: terms of the objective besides the loss.

/// A penalty on the parameters, as residuals: the sum of squares of its terms is added to the
/// objective.
///
/// ```
/// use bilevel::{Penalty, PenaltyContext};
///
/// /// Prefers parameters near those of an earlier run.
/// struct Near { theta: Vec<f64>, weight: f64 }
///
/// impl Penalty for Near {
///     fn num_terms(&self) -> usize {
///         self.theta.len()
///     }
///     fn terms(&self, at: &PenaltyContext<'_>, terms: &mut [f64]) {
///         for ((term, a), b) in terms.iter_mut().zip(at.theta).zip(&self.theta) {
///             *term = self.weight.sqrt() * (a - b);
///         }
///     }
/// }
/// ```
pub trait Penalty: Send + Sync {
    /// Returns the number of terms, which must be the same at all points.
    fn num_terms(&self) -> usize;

    /// Overwrites `terms` with the terms at a point. If a term is not finite, the solver avoids the
    /// point.
    fn terms(&self, at: &PenaltyContext<'_>, terms: &mut [f64]);

    /// Adds the gradient of the sum of squares of the terms, with respect to `at.theta`, to
    /// `gradient`. Returns `false`, and adds nothing, if it is not known.
    ///
    /// With the default, `false`, parameters can be learned only without derivatives.
    fn add_gradient(&self, at: &PenaltyContext<'_>, gradient: &mut [f64]) -> bool {
        let _ = (at, gradient);
        false
    }
}

/// The point at which a penalty is evaluated.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct PenaltyContext<'a> {
    /// The parameters as the solver sees them.
    pub theta: &'a [f64],
    /// The values of the parameters.
    pub values: &'a [f64],
    /// The largest condition number `$L/\mu$` of the reconstruction problems of all pairs.
    pub condition_number: f64,
    /// The gradient of the condition number with respect to `theta`. It is empty, unless learning
    /// uses gradients and the family knows it.
    pub condition_gradient: &'a [f64],
}

/// The paper's penalty `$\beta (L/\mu)^2$` on the condition number of the reconstruction problems.
/// It prefers parameters whose reconstructions need few iterations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConditionNumber {
    /// The weight `$\beta$`.
    pub weight: f64,
}

impl Penalty for ConditionNumber {
    fn num_terms(&self) -> usize {
        1
    }

    fn terms(&self, at: &PenaltyContext<'_>, terms: &mut [f64]) {
        terms[0] = self.weight.sqrt() * at.condition_number;
    }

    fn add_gradient(&self, at: &PenaltyContext<'_>, gradient: &mut [f64]) -> bool {
        for (gradient, slope) in gradient.iter_mut().zip(at.condition_gradient) {
            *gradient += 2.0 * self.weight * at.condition_number * slope;
        }
        at.condition_gradient.len() == gradient.len()
    }
}

/// The paper's penalty `$\beta \|\theta\|_1$`, written as the square of one residual,
/// `$\sqrt{\beta\|\theta\|_1}$`. It leads to few sampled frequencies.
///
/// The residual is smooth where all parameters are positive. If they can change their sign, use the
/// non-smooth [`dfo_ls::L1`] as the [`regularizer`](crate::Setup::regularizer) instead.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RootL1 {
    /// The weight `$\beta$`.
    pub weight: f64,
}

impl Penalty for RootL1 {
    fn num_terms(&self) -> usize {
        1
    }

    fn terms(&self, at: &PenaltyContext<'_>, terms: &mut [f64]) {
        let norm: f64 = at.theta.iter().map(|theta| theta.abs()).sum();
        terms[0] = (self.weight * norm).sqrt();
    }

    /// Adds the gradient of the weighted sum. At zero, it is the slope towards positive values.
    fn add_gradient(&self, at: &PenaltyContext<'_>, gradient: &mut [f64]) -> bool {
        for (gradient, theta) in gradient.iter_mut().zip(at.theta) {
            // not `signum`, which is -1 at -0.0
            *gradient += if *theta < 0.0 {
                -self.weight
            } else {
                self.weight
            };
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Worked out by hand.
    #[test]
    fn penalties_are_the_papers() {
        let at = PenaltyContext {
            theta: &[0.5, -0.25],
            values: &[1.0, 3.0],
            condition_number: 50.0,
            condition_gradient: &[],
        };
        let mut term = [0.0];
        ConditionNumber { weight: 1e-6 }.terms(&at, &mut term);
        assert!((term[0] * term[0] - 2.5e-3).abs() < 1e-15);
        RootL1 { weight: 0.1 }.terms(&at, &mut term);
        assert!((term[0] * term[0] - 0.075).abs() < 1e-15);
    }

    /// Both zeros are zero.
    #[test]
    fn slopes_at_zero_are_those_towards_positive_values() {
        let at = PenaltyContext {
            theta: &[0.0, -0.0, -1.0],
            values: &[],
            condition_number: 1.0,
            condition_gradient: &[],
        };
        let mut gradient = [0.0; 3];
        assert!(RootL1 { weight: 0.5 }.add_gradient(&at, &mut gradient));
        assert_eq!(
            gradient.map(f64::to_bits),
            [0.5, 0.5, -0.5].map(f64::to_bits)
        );
    }

    /// Compares gradients with differences of the sum of squares. The condition number of this test
    /// is `$50\theta_0\theta_1$`.
    #[test]
    fn gradients_are_slopes() {
        let square = |penalty: &dyn Penalty, theta: &[f64; 2], gradient: &mut [f64; 2]| {
            let at = PenaltyContext {
                theta,
                values: theta,
                condition_number: 50.0 * theta[0] * theta[1],
                condition_gradient: &[50.0 * theta[1], 50.0 * theta[0]],
            };
            let mut term = [0.0];
            penalty.terms(&at, &mut term);
            assert!(penalty.add_gradient(&at, gradient));
            term[0] * term[0]
        };
        let penalties: [&dyn Penalty; 2] =
            [&ConditionNumber { weight: 1e-3 }, &RootL1 { weight: 0.1 }];
        for penalty in penalties {
            let (theta, mut gradient) = ([0.5, 0.25], [0.0; 2]);
            square(penalty, &theta, &mut gradient);
            for k in 0..2 {
                let [mut above, mut below] = [theta; 2];
                above[k] += 1e-5;
                below[k] -= 1e-5;
                let [up, down] = [above, below].map(|at| square(penalty, &at, &mut [0.0; 2]));
                let slope = (up - down) / 2e-5;
                assert!(
                    (slope - gradient[k]).abs() < 1e-8 * (1.0 + slope.abs()),
                    "{k}"
                );
            }
        }
    }
}
