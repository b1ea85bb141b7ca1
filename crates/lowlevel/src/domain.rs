//! The set over which a function is minimised.

use std::fmt;

use crate::error::SolveError;

/// The set over which a function is minimised.
///
/// It is the whole space, a box, or any closed convex set given by its projection. The example
/// minimises over the vectors whose entries add up to 1:
///
/// ```
/// use lowlevel::{Domain, ErrorBound, Solver, State, Stop, testing::NesterovQuadratic};
///
/// let project = |x: &mut [f64]| {
///     let excess = (x.iter().sum::<f64>() - 1.0) / x.len() as f64;
///     x.iter_mut().for_each(|x| *x -= excess);
/// };
/// let solver = Solver { domain: Domain::Convex(&project), ..Solver::default() };
///
/// let quadratic = NesterovQuadratic::new(10, 1.0, 100.0);
/// let mut state = State::new(vec![1.0; 10]);
/// let stop = Stop::accuracy(ErrorBound::new(1e-9)?);
/// let solved = solver.minimize(&quadratic, stop, &mut state, &mut ())?;
/// assert!(solved.error.value() <= 1e-9);
/// assert!((state.point().iter().sum::<f64>() - 1.0).abs() < 1e-12);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Default)]
#[non_exhaustive]
pub enum Domain<'a> {
    /// The whole space `$\mathbb{R}^d$`.
    #[default]
    Whole,
    /// The vectors whose entries all lie between two numbers, such as grey values between 0 and 1.
    Between {
        /// The smallest value of an entry, or minus infinity.
        lower: f64,
        /// The largest value of an entry, or infinity.
        upper: f64,
    },
    /// A closed convex set, given by its Euclidean projection: a function that replaces its
    /// argument by the nearest point of the set.
    ///
    /// The certificate is void if the function is not the projection onto a convex set, or if its
    /// rounding error exceeds a few units in the last place of the norm of its argument.
    Convex(&'a (dyn Fn(&mut [f64]) + Sync)),
}

impl Domain<'_> {
    /// The vectors without negative entries, such as images that count photons.
    pub const NON_NEGATIVE: Self = Self::Between {
        lower: 0.0,
        upper: f64::INFINITY,
    };

    pub(crate) const fn is_whole(&self) -> bool {
        matches!(self, Self::Whole)
    }

    /// Checks that the bounds are not crossed.
    pub(crate) fn check(&self) -> Result<(), SolveError> {
        match *self {
            Self::Between { lower, upper } if !(lower <= upper) => {
                Err(SolveError::CrossedBounds { lower, upper })
            }
            _ => Ok(()),
        }
    }

    /// Replaces `x` by the nearest point of the set. NaN stays NaN, so that the solver finds it.
    pub(crate) fn project(&self, x: &mut [f64]) {
        match *self {
            Self::Whole => {}
            Self::Between { lower, upper } => {
                for x in x {
                    *x = x.clamp(lower, upper);
                }
            }
            Self::Convex(project) => project(x),
        }
    }
}

impl fmt::Debug for Domain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole => f.write_str("Whole"),
            Self::Between { lower, upper } => write!(f, "Between({lower}, {upper})"),
            Self::Convex(_) => f.write_str("Convex(..)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn non_negative_keeps_nan() {
        let mut x = [-1.0, 2.0, f64::NAN];
        Domain::NON_NEGATIVE.project(&mut x);
        assert_eq!(x[..2], [0.0, 2.0]);
        assert!(x[2].is_nan());
    }
}
