//! The state of a solve: its start, its memory and its answer in one value.

use crate::buffer::Buffer;
use crate::checkpoint::{StartVectors, StoredVector};
use crate::correction::CorrectionVectors;
use crate::error::SolveError;
use crate::memory::Memory;
use crate::norm::norm;
use crate::objective::{Curvature, StronglyConvex};

/// The state of a solve.
///
/// It holds the start before a solve and the answer after it. It also holds the vectors that the
/// iteration works on, so a solve in a state that was used before allocates nothing.
/// [`Solver::refine`](crate::Solver::refine) continues from a state as if the solve had not
/// stopped. To save a state, clone it (states share nothing), or store less of it as a
/// [`Checkpoint`](crate::Checkpoint).
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(try_from = "crate::saved::UncheckedState"))]
pub struct State {
    /// The answer: the point that was, or will be, certified.
    pub(crate) point: Buffer,
    /// The dual variables of Newton steps; empty if there are none.
    pub(crate) dual: Buffer,
    /// The objective whose iteration is in `memory`; `None` if the point is only a start.
    pub(crate) owner: Option<Owner>,
    /// The memory of the iteration. Without an owner its content has no meaning, and only its
    /// allocation is reused.
    pub(crate) memory: Memory,
    #[cfg_attr(feature = "serde", serde(skip))]
    pub(crate) correction: CorrectionVectors,
}

impl PartialEq for State {
    fn eq(&self, other: &Self) -> bool {
        self.point == other.point
            && self.dual == other.dual
            && self.owner == other.owner
            && (self.owner.is_none() || self.memory == other.memory)
    }
}

/// The identity of the objective that a state belongs to.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Owner {
    /// The fingerprint of the objective, if it has one.
    fingerprint: Option<u64>,
    curvature: Curvature,
}

impl Owner {
    pub(crate) fn of<O: StronglyConvex>(objective: &O) -> Self {
        Self {
            fingerprint: objective.fingerprint(),
            curvature: objective.curvature(),
        }
    }

    /// Whether equal owners are certainly the same objective.
    pub(crate) const fn is_certain(self) -> bool {
        self.fingerprint.is_some()
    }
}

impl Default for State {
    /// Creates a state without entries, to be filled by a [`Checkpoint`](crate::Checkpoint).
    fn default() -> Self {
        Self::new(Vec::new())
    }
}

impl State {
    /// Creates a state that starts at `start`.
    #[must_use]
    pub const fn new(start: Vec<f64>) -> Self {
        Self {
            point: Buffer::new(start),
            dual: Buffer::new(Vec::new()),
            owner: None,
            memory: Memory::Empty,
            correction: CorrectionVectors::new(),
        }
    }

    /// Creates a state that starts at the point and the dual variables of `other`: a warm start for
    /// a similar objective.
    #[must_use]
    pub fn near(other: &Self) -> Self {
        Self {
            dual: other.dual.clone(),
            ..Self::new(other.point.to_vec())
        }
    }

    /// The answer of the last solve, or the start of the next.
    #[must_use]
    pub fn point(&self) -> &[f64] {
        &self.point
    }

    /// The gradient at [`point`](Self::point), if the last solve computed it there: always after a
    /// solve over the whole space that is certified by its gradient, until the state is restarted
    /// or stored as a checkpoint.
    #[must_use]
    pub fn gradient(&self) -> Option<&[f64]> {
        let gradient = self.memory.gradient()?;
        let known = self.owner.is_some() && gradient.norm.is_some();
        (known && gradient.values.len() == self.point.len()).then_some(&*gradient.values)
    }

    /// Returns the answer and drops the memory of the iteration.
    #[must_use]
    pub fn into_point(self) -> Vec<f64> {
        self.point.into_vec()
    }

    /// Makes the next solve start afresh. `start` may overwrite the last answer with another start.
    pub fn restart(&mut self, start: impl FnOnce(&mut [f64])) {
        start(&mut self.point);
        self.dual.resize(0);
        self.owner = None;
    }

    /// Makes the next solve start afresh from zeros, and returns the point and the dual variables
    /// to be overwritten.
    pub(crate) fn start_at_zeros(
        &mut self,
        dim: usize,
        num_duals: usize,
    ) -> (&mut [f64], &mut [f64]) {
        self.point.assign_zeros(dim);
        self.dual.assign_zeros(num_duals);
        self.owner = None;
        (&mut self.point, &mut self.dual)
    }

    /// Checks that the point has `dim` entries, all of them finite.
    pub(crate) fn check_point(&self, dim: usize) -> Result<(), SolveError> {
        let found = self.point.len();
        if found != dim {
            return Err(SolveError::WrongLength {
                expected: dim,
                found,
            });
        }
        // One pass over the point suffices if its norm is finite.
        if !norm(&self.point).is_finite()
            && let Some(index) = self.point.iter().position(|x| !x.is_finite())
        {
            return Err(SolveError::NonFiniteStart { index });
        }
        Ok(())
    }

    /// The vectors that another solve can start from.
    pub(crate) fn vectors(&self) -> StartVectors<'_> {
        StartVectors {
            point: StoredVector::Double(&self.point),
            dual: StoredVector::Double(&self.dual),
        }
    }

    /// A copy without the gradient. Continuing from it costs one more gradient.
    pub(crate) fn without_gradient(&self) -> Self {
        Self {
            point: self.point.clone(),
            dual: self.dual.clone(),
            owner: self.owner,
            memory: match self.owner {
                Some(_) => self.memory.without_gradient(),
                None => Memory::Empty,
            },
            correction: CorrectionVectors::new(),
        }
    }

    /// Copies `other` into this state, reusing its memory if it is large enough.
    pub(crate) fn copy_from(&mut self, other: &Self) {
        self.point.assign(&other.point);
        self.dual.assign(&other.dual);
        self.owner = other.owner;
        if other.owner.is_some() {
            self.memory.copy_from(&other.memory, other.point.len());
        }
    }
}
