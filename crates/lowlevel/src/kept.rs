//! What is kept of a state while others are worked on: all of it, or a start in a fourth of the memory.

use crate::state::State;

/// What is kept of a [`State`] from one solve to another.
///
/// ```
/// use lowlevel::{ErrorBound, Kept, Solver, State, Stop, testing::NesterovQuadratic};
///
/// let quadratic = NesterovQuadratic::new(10, 1.0, 100.0);
/// let stop = |error| ErrorBound::new(error).map(Stop::accuracy);
/// let mut state = State::new(vec![10.0; 10]);
/// let solver = Solver::default();
/// let _ = solver.minimize(&quadratic, stop(1e-3)?, &mut state, &mut ())?;
///
/// // Rounding moves the point, so where it is taken up again its error is certified anew.
/// let mut again = Kept::rounded(state).resume();
/// let solved = solver.refine(&quadratic, stop(1e-9)?, &mut again, &mut ())?;
/// assert!(solved.error.value() <= 1e-9);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[expect(clippy::large_enum_variant, reason = "the vectors are what is large")]
pub enum Kept {
    /// All but the gradient: a solve goes on as if it had not stopped, for one more gradient.
    Whole(State),
    /// A start near the point: a solve begins anew from there.
    Rounded(Rounded),
}

/// The point of a [`State`] in single precision, and its dual variables if it has any.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(try_from = "crate::saved::SavedRounded"))]
pub struct Rounded {
    pub(crate) point: Vec<f32>,
    pub(crate) dual: Vec<f32>,
}

impl Kept {
    /// Keeps all of `state` but its gradient.
    #[must_use]
    pub fn whole(mut state: State) -> Self {
        state.forget_gradient();
        Self::Whole(state)
    }

    /// Keeps the point rounded to single precision, or all of `state` if a number is too large for that.
    #[must_use]
    pub fn rounded(state: State) -> Self {
        match (singles(&state.point), singles(&state.dual)) {
            (Some(point), Some(dual)) => Self::Rounded(Rounded { point, dual }),
            _ => Self::whole(state),
        }
    }

    /// The number of entries of the point.
    #[must_use]
    pub fn dim(&self) -> usize {
        match self {
            Self::Whole(state) => state.point.len(),
            Self::Rounded(rounded) => rounded.point.len(),
        }
    }

    /// Goes on with the same objective: where the solve stopped, or anew from a rounded point.
    #[must_use]
    pub fn resume(&self) -> State {
        match self {
            Self::Whole(state) => state.clone(),
            Self::Rounded(rounded) => rounded.start(),
        }
    }

    /// Starts here, for an objective that is near the one it belongs to.
    #[must_use]
    pub fn near(&self) -> State {
        match self {
            Self::Whole(state) => State::near(state),
            Self::Rounded(rounded) => rounded.start(),
        }
    }

    /// Like [`State::blend`], whatever is kept of each.
    #[must_use]
    pub fn blend(parts: &[(f64, &Self)]) -> Option<State> {
        let parts: Vec<(f64, Vectors<'_>)> = (parts.iter())
            .map(|(weight, kept)| (*weight, kept.vectors()))
            .collect();
        blend(&parts)
    }

    fn vectors(&self) -> Vectors<'_> {
        match self {
            Self::Whole(state) => state.vectors(),
            Self::Rounded(Rounded { point, dual }) => Vectors {
                point: Numbers::Single(point),
                dual: Numbers::Single(dual),
            },
        }
    }
}

impl Rounded {
    fn start(&self) -> State {
        let doubles = |numbers: &[f32]| numbers.iter().copied().map(f64::from).collect();
        State {
            dual: doubles(&self.dual),
            ..State::new(doubles(&self.point))
        }
    }
}

/// The nearest numbers of single precision; `None` if one is not finite.
fn singles(numbers: &[f64]) -> Option<Vec<f32>> {
    #[expect(clippy::cast_possible_truncation, reason = "that is what is wanted")]
    let singles: Vec<f32> = numbers.iter().map(|x| *x as f32).collect();
    singles.iter().all(|x| x.is_finite()).then_some(singles)
}

/// What another solve can begin from.
#[derive(Clone, Copy)]
pub(crate) struct Vectors<'a> {
    pub(crate) point: Numbers<'a>,
    pub(crate) dual: Numbers<'a>,
}

/// Numbers of either precision.
#[derive(Clone, Copy)]
pub(crate) enum Numbers<'a> {
    Double(&'a [f64]),
    Single(&'a [f32]),
}

impl Numbers<'_> {
    const fn len(self) -> usize {
        match self {
            Self::Double(numbers) => numbers.len(),
            Self::Single(numbers) => numbers.len(),
        }
    }

    /// Adds a multiple of them to `sum`.
    fn add_to(self, sum: &mut [f64], weight: f64) {
        match self {
            Self::Double(numbers) => {
                for (sum, value) in sum.iter_mut().zip(numbers) {
                    *sum += weight * value;
                }
            }
            Self::Single(numbers) => {
                for (sum, value) in sum.iter_mut().zip(numbers) {
                    *sum += weight * f64::from(*value);
                }
            }
        }
    }
}

/// The state at a combination; `None` if there is nothing to combine, or points of different lengths.
pub(crate) fn blend(parts: &[(f64, Vectors<'_>)]) -> Option<State> {
    let combined = |of: for<'a> fn(&Vectors<'a>) -> Numbers<'a>| {
        let (_, first) = parts.first()?;
        let mut sum = vec![0.0; of(first).len()];
        for (weight, vectors) in parts {
            let numbers = of(vectors);
            if numbers.len() != sum.len() {
                return None;
            }
            numbers.add_to(&mut sum, *weight);
        }
        Some(sum)
    };
    let point = combined(|vectors| vectors.point)?;
    Some(State {
        dual: combined(|vectors| vectors.dual).unwrap_or_default(),
        ..State::new(point)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::NesterovQuadratic;
    use crate::{ErrorBound, Solver, Stop};

    fn with_dual(point: &[f64], dual: &[f64]) -> State {
        State {
            dual: dual.to_vec(),
            ..State::new(point.to_vec())
        }
    }

    fn after(iterations: u64) -> State {
        let mut state = State::new(vec![10.0; 10]);
        let quadratic = NesterovQuadratic::new(10, 1.0, 100.0);
        let stop = Stop::Iterations(iterations);
        let _ = Solver::default().minimize(&quadratic, stop, &mut state, &mut ());
        state
    }

    #[test]
    fn a_whole_state_goes_on_as_if_it_had_not_stopped() {
        let mut state = after(7);
        let mut kept = Kept::whole(state.clone()).resume();
        let quadratic = NesterovQuadratic::new(10, 1.0, 100.0);
        for state in [&mut state, &mut kept] {
            let _ = Solver::default().refine(&quadratic, Stop::Iterations(9), state, &mut ());
        }
        assert_eq!(state.point(), kept.point());
    }

    #[test]
    fn a_rounded_state_is_a_start_nearby() {
        let state = after(7);
        let kept = Kept::rounded(state.clone());
        assert!(matches!(kept, Kept::Rounded(_)));
        assert_eq!(kept.dim(), 10);
        let again = kept.resume();
        assert_eq!(again, kept.near());
        let mut apart = 0.0_f64;
        for (x, rounded) in state.point().iter().zip(again.point()) {
            assert!((x - rounded).abs() <= f64::from(f32::EPSILON) * x.abs());
            apart = apart.max((x - rounded).abs());
        }
        assert!(apart > 0.0, "single precision");
        // as a state that knows nothing but its point
        assert_eq!(again, State::new(again.point().to_vec()));
    }

    #[test]
    fn large_numbers_are_kept_whole() {
        let edge = f64::from(f32::MAX);
        assert!(matches!(
            Kept::rounded(State::new(vec![1.0, -edge])),
            Kept::Rounded(_)
        ));
        for x in [2.0 * edge, -2.0 * edge, 1e300, f64::NAN] {
            let state = State::new(vec![1.0, x]);
            let Kept::Whole(kept) = Kept::rounded(state) else {
                panic!("{x} is out of range");
            };
            assert_eq!(kept.point()[1].to_bits(), x.to_bits());
            let dual = Kept::rounded(with_dual(&[1.0], &[x]));
            assert!(matches!(dual, Kept::Whole(_)));
        }
    }

    /// Of exact numbers, so that rounding changes nothing.
    #[test]
    fn combinations_do_not_ask_how_parts_are_kept() {
        let one = with_dual(&[10.0, 5.0], &[0.5]);
        let two = with_dual(&[11.0, 7.0], &[0.25]);
        let expected = State::blend(&[(-1.0, &one), (2.0, &two)]);
        assert_eq!(expected, Some(with_dual(&[12.0, 9.0], &[0.0])));
        for first in [Kept::whole(one.clone()), Kept::rounded(one)] {
            for second in [Kept::whole(two.clone()), Kept::rounded(two.clone())] {
                let found = Kept::blend(&[(-1.0, &first), (2.0, &second)]);
                assert_eq!(found, expected);
            }
        }
        let longer = Kept::rounded(State::new(vec![1.0; 3]));
        let shorter = Kept::whole(State::new(vec![1.0; 2]));
        assert_eq!(Kept::blend(&[(0.5, &longer), (0.5, &shorter)]), None);
        assert_eq!(Kept::blend(&[]), None);
    }

    /// Wherever a solve is taken up again, its certificate is true.
    #[test]
    fn certificates_are_true_after_rounding() {
        let quadratic = NesterovQuadratic::new(10, 1.0, 100.0);
        let minimizer = quadratic.minimizer();
        for target in [1e-2, 1e-6, 1e-8, 1e-11] {
            let stop = Stop::accuracy(ErrorBound::new(target).unwrap());
            let mut state = State::new(vec![10.0; 10]);
            let solver = Solver::default();
            let _ = solver.minimize(&quadratic, stop, &mut state, &mut ());
            let mut again = Kept::rounded(state).resume();
            let solved = solver.refine(&quadratic, stop, &mut again, &mut ());
            let claimed = solved.unwrap().error.value();
            let apart = again.point().iter().zip(&minimizer);
            let error = apart.map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
            assert!(
                error <= claimed && claimed <= target,
                "{error:e} {claimed:e}"
            );
        }
    }
}
