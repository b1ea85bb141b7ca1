//! Where the minimiser is sought.

use std::fmt;

/// The set over which a function is minimised.
///
/// Any closed convex set whose projection you can write down, such as a box:
///
/// ```
/// use lowlevel::{Domain, ErrorBound, Solver, State, Stop, testing::NesterovQuadratic};
///
/// let project = |x: &mut [f64]| x.iter_mut().for_each(|x| *x = x.clamp(0.0, 0.5));
/// let solver = Solver { domain: Domain::Convex(&project), ..Solver::default() };
///
/// let quadratic = NesterovQuadratic::new(10, 1.0, 100.0);
/// let mut state = State::new(vec![1.0; 10]);
/// let stop = Stop::accuracy(ErrorBound::new(1e-9)?);
/// let solved = solver.minimize(&quadratic, stop, &mut state, &mut ())?;
/// assert!(solved.error.value() <= 1e-9);
/// assert!(state.point().iter().all(|x| (0.0..=0.5).contains(x)));
/// assert!(quadratic.minimizer()[0] > 0.5 && state.point()[0] == 0.5); // the bound is active
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Default)]
#[non_exhaustive]
pub enum Domain<'a> {
    /// All of `$\mathbb{R}^d$`.
    #[default]
    Whole,
    /// A closed convex set, given by its Euclidean projection, which replaces its argument by the nearest point.
    ///
    /// A projection that is not one (of a set that is not convex, say) voids the certificate; so does one with a rounding error of
    /// more than a few units in the last place of its argument's norm.
    Convex(&'a (dyn Fn(&mut [f64]) + Sync)),
}

impl Domain<'static> {
    /// Vectors without negative entries, such as images that count photons.
    pub const NON_NEGATIVE: Self = Self::Convex(&project_non_negative);
}

/// Replaces negative entries by zero, and leaves NaN for the solver to find.
fn project_non_negative(x: &mut [f64]) {
    for x in x {
        if *x < 0.0 {
            *x = 0.0;
        }
    }
}

impl fmt::Debug for Domain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Whole => "Whole",
            Self::Convex(_) => "Convex(..)",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn non_negative_keeps_nan() {
        let mut x = [-1.0, 2.0, f64::NAN];
        project_non_negative(&mut x);
        assert_eq!(x[..2], [0.0, 2.0]);
        assert!(x[2].is_nan());
    }
}
