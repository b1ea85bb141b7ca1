//! The problem without its smooth function: start, bounds and weights of absolute values.

use crate::SetupError;

/// A problem without its smooth function, which comes from an [`Oracle`](crate::Oracle): the start,
/// the bounds and the weights of absolute values.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    start: Vec<f64>,
    /// Empty if there are no bounds.
    lower: Vec<f64>,
    /// Empty if there are no bounds.
    upper: Vec<f64>,
    weights: L1Weights,
}

/// The weights `$w_k$` of the term `$\sum_k w_k |\theta_k|$`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum L1Weights {
    /// All parameters have the same weight.
    Equal(f64),
    /// Each parameter has its own weight.
    Each(Vec<f64>),
}

impl From<f64> for L1Weights {
    fn from(weight: f64) -> Self {
        Self::Equal(weight)
    }
}

impl From<Vec<f64>> for L1Weights {
    fn from(weights: Vec<f64>) -> Self {
        Self::Each(weights)
    }
}

impl Problem {
    /// Creates a problem without bounds that starts from `start`. A start outside bounds that are
    /// added later is moved to the nearest point inside.
    #[must_use]
    pub fn new(start: impl Into<Vec<f64>>) -> Self {
        Self {
            start: start.into(),
            lower: Vec::new(),
            upper: Vec::new(),
            weights: L1Weights::Equal(0.0),
        }
    }

    /// Adds the bounds `$l \le \theta \le u$`. An infinite bound is no bound; equal bounds fix a
    /// parameter. No point outside the bounds is ever evaluated.
    ///
    /// # Errors
    /// When a bound is NaN, bounds are crossed, or their number is not that of the parameters.
    pub fn with_bounds(
        mut self,
        lower: impl Into<Vec<f64>>,
        upper: impl Into<Vec<f64>>,
    ) -> Result<Self, SetupError> {
        let (lower, upper) = (lower.into(), upper.into());
        let expected = self.start.len();
        for (argument, bounds) in [("lower", &lower), ("upper", &upper)] {
            check_length(argument, expected, bounds.len())?;
        }
        for (index, (&lower, &upper)) in lower.iter().zip(&upper).enumerate() {
            let valid = lower < f64::INFINITY && upper > f64::NEG_INFINITY;
            if !valid {
                return Err(SetupError::InvalidBound {
                    index,
                    lower,
                    upper,
                });
            }
            if lower > upper {
                return Err(SetupError::CrossedBounds {
                    index,
                    lower,
                    upper,
                });
            }
        }
        (self.lower, self.upper) = (lower, upper);
        Ok(self)
    }

    /// Adds `$\sum_k w_k |\theta_k|$` to the objective: one weight for all parameters, or a list
    /// with one weight for each. Parameters can become exactly zero.
    ///
    /// # Errors
    /// When a weight is negative, infinite or NaN, or when a list has the wrong length.
    pub fn with_l1(mut self, weights: impl Into<L1Weights>) -> Result<Self, SetupError> {
        let weights = weights.into();
        let list = match &weights {
            L1Weights::Equal(weight) => std::slice::from_ref(weight),
            L1Weights::Each(list) => {
                check_length("weights", self.start.len(), list.len())?;
                list
            }
        };
        for (index, &found) in list.iter().enumerate() {
            if !(found >= 0.0 && found.is_finite()) {
                return Err(SetupError::InvalidWeight { index, found });
            }
        }
        self.weights = weights;
        Ok(self)
    }

    /// The parameters that the run starts from.
    #[must_use]
    pub fn start(&self) -> &[f64] {
        &self.start
    }

    /// The number of parameters.
    #[must_use]
    pub fn num_params(&self) -> usize {
        self.start.len()
    }

    /// The lower and the upper bound of parameter `k`, infinite if there is none.
    ///
    /// # Panics
    /// When there is no parameter `k`.
    #[must_use]
    pub fn bounds(&self, k: usize) -> (f64, f64) {
        assert!(k < self.num_params(), "a parameter");
        if self.lower.is_empty() {
            return (f64::NEG_INFINITY, f64::INFINITY);
        }
        (self.lower[k], self.upper[k])
    }

    /// The weight of `$|\theta_k|$`.
    ///
    /// # Panics
    /// When there is no parameter `k`.
    #[must_use]
    pub fn weight(&self, k: usize) -> f64 {
        assert!(k < self.num_params(), "a parameter");
        match &self.weights {
            L1Weights::Equal(weight) => *weight,
            L1Weights::Each(list) => list[k],
        }
    }

    /// Checks the start.
    pub(crate) fn validate(&self) -> Result<(), SetupError> {
        if self.start.is_empty() {
            return Err(SetupError::NoParameters);
        }
        for (index, &found) in self.start.iter().enumerate() {
            if !found.is_finite() {
                let argument = "start";
                return Err(SetupError::NotFinite {
                    argument,
                    index,
                    found,
                });
            }
        }
        Ok(())
    }

    /// Whether some parameter has a positive weight.
    pub(crate) fn has_l1(&self) -> bool {
        match &self.weights {
            L1Weights::Equal(weight) => *weight > 0.0,
            L1Weights::Each(list) => list.iter().any(|weight| *weight > 0.0),
        }
    }

    /// A hash of the number of parameters, the bounds and the weights, which tells saved states of
    /// different problems apart (FNV-1a on the bits).
    pub(crate) fn fingerprint(&self) -> u64 {
        let weights = match &self.weights {
            L1Weights::Equal(weight) => std::slice::from_ref(weight),
            L1Weights::Each(list) => list,
        };
        let numbers = self.lower.iter().chain(&self.upper).chain(weights);
        let count = self.num_params() as u64;
        let bits = [count].into_iter().chain(numbers.map(|x| x.to_bits()));
        bits.flat_map(u64::to_le_bytes)
            .fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
            })
    }
}

const fn check_length(
    argument: &'static str,
    expected: usize,
    found: usize,
) -> Result<(), SetupError> {
    if expected == found {
        return Ok(());
    }
    Err(SetupError::Length {
        argument,
        expected,
        found,
    })
}
