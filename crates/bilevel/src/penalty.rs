//! What is added to the objective beside the distance from the truth.

/// A penalty on the parameters, as residuals: the sum of squares of its terms is added to the
/// objective.
///
/// ```
/// use bilevel::{Penalty, PenaltyContext};
///
/// /// Prefers theta near a value found before.
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
    /// How many terms; the same everywhere.
    fn num_terms(&self) -> usize;

    /// Overwrites `terms`. A term that is not finite makes the point one to avoid.
    fn terms(&self, at: &PenaltyContext<'_>, terms: &mut [f64]);
}

/// Where a penalty is evaluated.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct PenaltyContext<'a> {
    /// The parameters as the solver sees them.
    pub theta: &'a [f64],
    /// Their values.
    pub values: &'a [f64],
    /// `$L/\mu$` of the reconstruction problems, the largest if they differ.
    pub condition_number: f64,
}

/// `$\beta (L/\mu)^2$`: parameters whose reconstructions are cheap.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConditionNumber {
    /// `$\beta$`.
    pub weight: f64,
}

impl Penalty for ConditionNumber {
    fn num_terms(&self) -> usize {
        1
    }

    fn terms(&self, at: &PenaltyContext<'_>, terms: &mut [f64]) {
        terms[0] = self.weight.sqrt() * at.condition_number;
    }
}

/// `$\beta \|\theta\|_1$` as the square of a residual, `$\sqrt{\beta\|\theta\|_1}$`: the paper's
/// way to few sampled frequencies.
///
/// For parameters that are not negative this is as smooth as the solver needs it, away from zero.
/// With others, use the non-smooth [`dfo_ls::L1`] as the
/// [`regularizer`](crate::Setup::regularizer).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RootL1 {
    /// `$\beta$`.
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
        };
        let mut term = [0.0];
        ConditionNumber { weight: 1e-6 }.terms(&at, &mut term);
        assert!((term[0] * term[0] - 2.5e-3).abs() < 1e-15);
        RootL1 { weight: 0.1 }.terms(&at, &mut term);
        assert!((term[0] * term[0] - 0.075).abs() < 1e-15);
    }
}
