//! Where a solve stands: warm start, workspace, answer and resume token in one value.

use crate::buffer::Buffer;
use crate::checkpoint::{Numbers, Vectors};
use crate::error::SolveError;
use crate::memory::Memory;
use crate::norm::norm;
use crate::objective::{Curvature, StronglyConvex};

/// Where a solve stands.
///
/// On entry it holds the start, on exit the answer. It also holds all memory that an iteration
/// needs, so that a solve allocates nothing, and all that is needed to go on later as if the solve
/// had not stopped ([`Solver::refine`](crate::Solver::refine)). Clone it to save it, states share
/// nothing; or save less of it, as a [`Checkpoint`](crate::Checkpoint).
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(try_from = "crate::saved::Unchecked"))]
pub struct State {
    /// The answer: the point that was, or will be, certified.
    pub(crate) point: Buffer,
    /// The dual variables of Newton steps; empty until there are any.
    pub(crate) dual: Buffer,
    /// The objective whose iteration is in `memory`; `None` where the point is a start.
    pub(crate) owner: Option<Owner>,
    /// What the iteration remembers; without an owner, nothing but memory to use again.
    pub(crate) memory: Memory,
}

impl PartialEq for State {
    fn eq(&self, other: &Self) -> bool {
        self.point == other.point
            && self.dual == other.dual
            && self.owner == other.owner
            && (self.owner.is_none() || self.memory == other.memory)
    }
}

/// What tells objectives apart.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Owner {
    /// The objective's own hash, if it has one.
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

    pub(crate) const fn is_certain(self) -> bool {
        self.fingerprint.is_some()
    }
}

impl Default for State {
    /// A state without entries, to be filled by a [`Checkpoint`](crate::Checkpoint).
    fn default() -> Self {
        Self::new(Vec::new())
    }
}

impl State {
    /// Starts from `start`.
    #[must_use]
    pub const fn new(start: Vec<f64>) -> Self {
        Self {
            point: Buffer::new(start),
            dual: Buffer::new(Vec::new()),
            owner: None,
            memory: Memory::Empty,
        }
    }

    /// Starts where `other` stands, for an objective that is near the one it belongs to.
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

    /// The answer, without the memory of the iteration.
    #[must_use]
    pub fn into_point(self) -> Vec<f64> {
        self.point.into_vec()
    }

    /// Starts anew from the point that `start` writes over the last answer.
    pub fn restart(&mut self, start: impl FnOnce(&mut [f64])) {
        start(&mut self.point);
        self.dual.resize(0);
        self.owner = None;
    }

    /// Starts anew from a point and dual variables that are zero until they are overwritten.
    pub(crate) fn start_anew(&mut self, dim: usize, num_duals: usize) -> (&mut [f64], &mut [f64]) {
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
        // the norm tells sooner
        if !norm(&self.point).is_finite()
            && let Some(index) = self.point.iter().position(|x| !x.is_finite())
        {
            return Err(SolveError::NonFiniteStart { index });
        }
        Ok(())
    }

    /// What another solve can begin from.
    pub(crate) fn vectors(&self) -> Vectors<'_> {
        Vectors {
            point: Numbers::Double(&self.point),
            dual: Numbers::Double(&self.dual),
        }
    }

    /// A copy that continues as this state does, for one more gradient.
    pub(crate) fn without_gradient(&self) -> Self {
        Self {
            point: self.point.clone(),
            dual: self.dual.clone(),
            owner: self.owner,
            memory: match self.owner {
                Some(_) => self.memory.without_gradient(),
                None => Memory::Empty,
            },
        }
    }

    /// Takes over all of `other`, in the memory that is there if it suffices.
    pub(crate) fn copy_from(&mut self, other: &Self) {
        self.point.assign(&other.point);
        self.dual.assign(&other.dual);
        self.owner = other.owner;
        if other.owner.is_some() {
            self.memory.copy_from(&other.memory, other.point.len());
        }
    }
}
