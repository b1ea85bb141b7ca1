//! Checkpoints of a state: all of it, or a start in a quarter of the memory.

use crate::state::State;

/// A copy of a [`State`], stored from one solve to the next.
///
/// ```
/// use lowlevel::{Checkpoint, ErrorBound, Solver, State, Stop, testing::NesterovQuadratic};
///
/// let quadratic = NesterovQuadratic::new(10, 1.0, 100.0);
/// let stop = |error| ErrorBound::new(error).map(Stop::accuracy);
/// let mut state = State::new(vec![10.0; 10]);
/// let solver = Solver::default();
/// let _ = solver.minimize(&quadratic, stop(1e-3)?, &mut state, &mut ())?;
///
/// // Rounding moves the point, so the solve that resumes from it certifies its error again.
/// let checkpoint = Checkpoint::compact(&state);
/// checkpoint.resume_into(&mut state);
/// let solved = solver.refine(&quadratic, stop(1e-9)?, &mut state, &mut ())?;
/// assert!(solved.error.value() <= 1e-9);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// The functions that fill a state reuse its memory. They allocate nothing if the state had the
/// same length before.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[expect(
    clippy::large_enum_variant,
    reason = "the vectors take most of the memory"
)]
pub enum Checkpoint {
    /// Everything except the gradient. A solve continues as if it had not stopped, at the cost of
    /// one more gradient.
    Full(State),
    /// The point in single precision. A solve starts afresh from there.
    Compact(CompactStart),
}

/// The point of a [`State`] in single precision, and its dual variables if it has any.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct CompactStart {
    #[cfg_attr(feature = "serde", serde(with = "crate::saved::singles"))]
    pub(crate) point: Vec<f32>,
    #[cfg_attr(feature = "serde", serde(with = "crate::saved::singles"))]
    pub(crate) dual: Vec<f32>,
}

impl Checkpoint {
    /// Stores all of `state` except its gradient.
    #[must_use]
    pub fn full(state: &State) -> Self {
        Self::Full(state.without_gradient())
    }

    /// Stores the point rounded to single precision, or all of `state` if a number is too large for
    /// single precision.
    #[must_use]
    pub fn compact(state: &State) -> Self {
        match (singles(&state.point), singles(&state.dual)) {
            (Some(point), Some(dual)) => Self::Compact(CompactStart { point, dual }),
            _ => Self::full(state),
        }
    }

    /// The number of entries of the point.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.vectors().point.len()
    }

    /// The Euclidean distance of the stored point from `x`.
    ///
    /// # Panics
    /// When the lengths differ.
    #[must_use]
    pub fn distance(&self, x: &[f64]) -> f64 {
        let point = self.vectors().point;
        assert_eq!(point.len(), x.len(), "points of the same length");
        match point {
            StoredVector::Double(point) => distance(point.iter().copied(), x),
            StoredVector::Single(point) => distance(point.iter().map(|&p| f64::from(p)), x),
        }
    }

    /// Restores `state`, to continue with the same objective. A full checkpoint continues where the
    /// solve stopped; a compact one starts afresh from the rounded point.
    pub fn resume_into(&self, state: &mut State) {
        match self {
            Self::Full(saved) => state.copy_from(saved),
            Self::Compact(_) => self.start_into(state),
        }
    }

    /// Makes `state` start afresh at the stored point: a warm start for a similar objective.
    pub fn start_into(&self, state: &mut State) {
        let StartVectors { point, dual } = self.vectors();
        let (new_point, new_dual) = state.start_at_zeros(point.len(), dual.len());
        point.copy_to(new_point);
        dual.copy_to(new_dual);
    }

    /// Makes `state` start afresh at a weighted sum of stored points: a warm start for an objective
    /// similar to theirs. The weights should add up to 1. Returns `false`, and leaves `state`
    /// unchanged, if `parts` is empty or the points have different lengths.
    #[must_use]
    pub fn blend_into<'a>(
        parts: impl Iterator<Item = (f64, &'a Self)> + Clone,
        state: &mut State,
    ) -> bool {
        blend(
            parts.map(|(weight, checkpoint)| (weight, checkpoint.vectors())),
            state,
        )
    }

    fn vectors(&self) -> StartVectors<'_> {
        match self {
            Self::Full(state) => state.vectors(),
            Self::Compact(CompactStart { point, dual }) => StartVectors {
                point: StoredVector::Single(point),
                dual: StoredVector::Single(dual),
            },
        }
    }
}

/// The numbers rounded to single precision, or `None` if one of them is then not finite.
fn singles(numbers: &[f64]) -> Option<Vec<f32>> {
    #[expect(clippy::cast_possible_truncation, reason = "the rounding is intended")]
    let singles: Vec<f32> = numbers.iter().map(|x| *x as f32).collect();
    singles.iter().all(|x| x.is_finite()).then_some(singles)
}

fn distance(point: impl Iterator<Item = f64>, x: &[f64]) -> f64 {
    let squares = point.zip(x).map(|(point, x)| (point - x) * (point - x));
    squares.sum::<f64>().sqrt()
}

/// The vectors that another solve can start from.
#[derive(Clone, Copy)]
pub(crate) struct StartVectors<'a> {
    pub(crate) point: StoredVector<'a>,
    pub(crate) dual: StoredVector<'a>,
}

/// A vector in double or single precision.
#[derive(Clone, Copy)]
pub(crate) enum StoredVector<'a> {
    Double(&'a [f64]),
    Single(&'a [f32]),
}

impl StoredVector<'_> {
    const fn len(self) -> usize {
        match self {
            Self::Double(numbers) => numbers.len(),
            Self::Single(numbers) => numbers.len(),
        }
    }

    /// Copies the numbers to `copy`, which has the same length.
    fn copy_to(self, copy: &mut [f64]) {
        match self {
            Self::Double(numbers) => copy.copy_from_slice(numbers),
            Self::Single(numbers) => {
                for (copy, value) in copy.iter_mut().zip(numbers) {
                    *copy = f64::from(*value);
                }
            }
        }
    }

    /// Adds `weight` times the numbers to `sum`.
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

/// Does the work of [`Checkpoint::blend_into`].
pub(crate) fn blend<'a>(
    parts: impl Iterator<Item = (f64, StartVectors<'a>)> + Clone,
    state: &mut State,
) -> bool {
    let len_of = |of: fn(&StartVectors<'a>) -> usize| {
        let mut lengths = parts.clone().map(|(_, vectors)| of(&vectors));
        let first = lengths.next()?;
        lengths.all(|len| len == first).then_some(first)
    };
    let Some(dim) = len_of(|vectors| vectors.point.len()) else {
        return false;
    };
    let num_duals = len_of(|vectors| vectors.dual.len()).unwrap_or(0);
    let (point, dual) = state.start_at_zeros(dim, num_duals);
    for (weight, vectors) in parts {
        vectors.point.add_to(point, weight);
        if num_duals > 0 {
            vectors.dual.add_to(dual, weight);
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffer::Buffer;
    use crate::testing::NesterovQuadratic;
    use crate::{ErrorBound, Solver, Stop};

    fn with_dual(point: &[f64], dual: &[f64]) -> State {
        State {
            dual: Buffer::new(dual.to_vec()),
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

    /// States that held something else before: nothing, and shorter, longer and equally long
    /// points.
    fn used_states() -> [State; 4] {
        [
            State::default(),
            with_dual(&[1.0, 2.0], &[0.5]),
            with_dual(&[3.0; 40], &[0.25; 50]),
            after(3),
        ]
    }

    #[test]
    fn a_full_checkpoint_continues_as_if_the_solve_had_not_stopped() {
        let mut state = after(7);
        let checkpoint = Checkpoint::full(&state);
        let quadratic = NesterovQuadratic::new(10, 1.0, 100.0);
        let stop = Stop::Iterations(9);
        let _ = Solver::default().refine(&quadratic, stop, &mut state, &mut ());
        for mut again in used_states() {
            checkpoint.resume_into(&mut again);
            let _ = Solver::default().refine(&quadratic, stop, &mut again, &mut ());
            assert_eq!(state.point(), again.point());
        }
    }

    #[test]
    fn distances_are_measured_from_both_kinds() {
        let state = with_dual(&[3.0, -1.0, 0.5], &[]);
        for checkpoint in [Checkpoint::full(&state), Checkpoint::compact(&state)] {
            let distance = checkpoint.distance(&[0.0, 3.0, 0.5]);
            assert!((distance - 5.0).abs() < 1e-15, "3, 4, 5");
        }
    }

    #[test]
    fn a_compact_checkpoint_is_a_start_nearby() {
        let state = after(7);
        let checkpoint = Checkpoint::compact(&state);
        assert!(matches!(checkpoint, Checkpoint::Compact(_)));
        assert_eq!(checkpoint.dim(), 10);
        for mut again in used_states() {
            checkpoint.resume_into(&mut again);
            let mut apart = 0.0_f64;
            for (x, rounded) in state.point().iter().zip(again.point()) {
                assert!((x - rounded).abs() <= f64::from(f32::EPSILON) * x.abs());
                apart = apart.max((x - rounded).abs());
            }
            assert!(apart > 0.0, "single precision");
            // The result is that of a fresh state at the same point.
            let mut fresh = State::new(again.point().to_vec());
            let quadratic = NesterovQuadratic::new(10, 1.0, 100.0);
            for state in [&mut again, &mut fresh] {
                let _ = Solver::default().refine(&quadratic, Stop::Iterations(9), state, &mut ());
            }
            assert_eq!(again, fresh);
        }
    }

    #[test]
    fn large_numbers_are_saved_in_double_precision() {
        let edge = f64::from(f32::MAX);
        assert!(matches!(
            Checkpoint::compact(&State::new(vec![1.0, -edge])),
            Checkpoint::Compact(_)
        ));
        for x in [2.0 * edge, -2.0 * edge, 1e300, f64::NAN] {
            let state = State::new(vec![1.0, x]);
            let Checkpoint::Full(saved) = Checkpoint::compact(&state) else {
                panic!("{x} is out of range");
            };
            assert_eq!(saved.point()[1].to_bits(), x.to_bits());
            let dual = Checkpoint::compact(&with_dual(&[1.0], &[x]));
            assert!(matches!(dual, Checkpoint::Full(_)));
        }
    }

    /// All numbers are exact in single precision, so that rounding changes nothing.
    #[test]
    fn combinations_do_not_depend_on_how_parts_are_saved() {
        let one = with_dual(&[10.0, 5.0], &[0.5]);
        let two = with_dual(&[11.0, 7.0], &[0.25]);
        for first in [Checkpoint::full(&one), Checkpoint::compact(&one)] {
            for second in [Checkpoint::full(&two), Checkpoint::compact(&two)] {
                let parts = [(-1.0, &first), (2.0, &second)];
                for mut state in used_states() {
                    assert!(Checkpoint::blend_into(parts.into_iter(), &mut state));
                    assert_eq!(state.point(), [12.0, 9.0]);
                    assert_eq!(*state.dual, [0.0]);
                }
            }
        }
        let longer = Checkpoint::compact(&State::new(vec![1.0; 3]));
        let shorter = Checkpoint::full(&State::new(vec![1.0; 2]));
        let mut state = one.clone();
        let parts = [(0.5, &longer), (0.5, &shorter)];
        assert!(!Checkpoint::blend_into(parts.into_iter(), &mut state));
        assert!(!Checkpoint::blend_into([].into_iter(), &mut state));
        assert_eq!(state, one);
    }

    /// The certificate is true after resuming from a rounded point.
    #[test]
    fn certificates_are_true_after_rounding() {
        let quadratic = NesterovQuadratic::new(10, 1.0, 100.0);
        let minimizer = quadratic.minimizer();
        for target in [1e-2, 1e-6, 1e-8, 1e-11] {
            let stop = Stop::accuracy(ErrorBound::new(target).unwrap());
            let mut state = State::new(vec![10.0; 10]);
            let solver = Solver::default();
            let _ = solver.minimize(&quadratic, stop, &mut state, &mut ());
            Checkpoint::compact(&state).resume_into(&mut state);
            let solved = solver.refine(&quadratic, stop, &mut state, &mut ());
            let claimed = solved.unwrap().error.value();
            let apart = state.point().iter().zip(&minimizer);
            let error = apart.map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
            assert!(
                error <= claimed && claimed <= target,
                "{error:e} {claimed:e}"
            );
        }
    }
}
