//! Stored reconstructions, from which later evaluations continue.

use std::sync::Arc;

use dfo_ls::BlockVector;
use lowlevel::adjoint::AdjointState;
use lowlevel::{Checkpoint, State};

/// The form in which the reconstructions of a point are stored while the solver may evaluate it
/// again. Certified errors are true with every form.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum CheckpointPolicy {
    /// `Full`, unless that would need more than 1 GiB of memory.
    #[default]
    Auto,
    /// The state of the method without its gradient, in 16 bytes per pixel and point. A refined
    /// reconstruction continues as if it had not stopped, for one more gradient.
    Full,
    /// The reconstruction in single precision, in 4 bytes per pixel and point. A refined
    /// reconstruction restarts its method there, which costs some more iterations.
    Compact,
}

/// The memory in bytes up to which `Auto` means `Full`: 1 GiB.
const MEMORY: usize = 1 << 30;

impl CheckpointPolicy {
    /// Replaces `Auto` by `Full` or `Compact`. The solver stores the reconstructions of at most
    /// about `$2d$` points.
    pub(crate) fn resolve(self, num_entries: usize, num_params: usize) -> Self {
        match self {
            Self::Auto if fits(num_entries, 16, 2 * num_params + 4, MEMORY) => Self::Full,
            Self::Auto => Self::Compact,
            chosen => chosen,
        }
    }

    /// Returns a vector in the form in which it is stored. The policy must be resolved.
    pub(crate) fn save_vector(self, entries: &[f64]) -> BlockVector {
        #[expect(clippy::cast_possible_truncation, reason = "the rounding is intended")]
        let single = |entry: &f64| *entry as f32;
        match self {
            Self::Compact => BlockVector::Compact(entries.iter().map(single).collect()),
            Self::Auto | Self::Full => BlockVector::Full(entries.to_vec()),
        }
    }

    /// Returns the checkpoint of a state. The policy must be resolved.
    pub(crate) fn save(self, state: &State) -> Checkpoint {
        match self {
            Self::Compact => Checkpoint::compact(state),
            Self::Auto | Self::Full => Checkpoint::full(state),
        }
    }
}

/// Returns whether `num_entries` numbers of `bytes` bytes at each of `num_points` points fit into
/// `memory` bytes.
pub(crate) const fn fits(
    num_entries: usize,
    bytes: usize,
    num_points: usize,
    memory: usize,
) -> bool {
    num_entries.saturating_mul(bytes * num_points) <= memory
}

/// The reconstructions of all training images at one point: the token of an evaluation. A refined
/// evaluation of the point continues from them, and evaluations of nearby points start from them.
///
/// Reconstructions are large and never change. With the feature `serde`, the state of a solver
/// contains only their number, their distance from the truth and the gradient of the objective.
/// Save checkpoints and adjoints separately, once, and [attach](Self::attach) them after loading
/// the state.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Reconstructions {
    number: u64,
    squared_distance: f64,
    /// The gradient of the objective and an estimate of its error, if they were computed.
    gradient: Option<Gradient>,
    #[cfg_attr(feature = "serde", serde(skip))]
    checkpoints: Arc<Vec<Checkpoint>>,
    #[cfg_attr(feature = "serde", serde(skip))]
    adjoints: Arc<Vec<StoredAdjoint>>,
}

/// The gradient of the objective at a point.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Gradient {
    pub(crate) entries: Vec<f64>,
    /// An estimate of the norm of its error.
    pub(crate) error: f64,
}

/// The adjoint of one image, stored for later evaluations.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct StoredAdjoint {
    pub(crate) q: BlockVector,
    /// The certified error of the reconstruction.
    pub(crate) error: f64,
    /// The norm of the residual of the adjoint.
    pub(crate) residual: f64,
}

impl StoredAdjoint {
    /// Makes the next solve in `state` start at this adjoint.
    pub(crate) fn start_into(&self, state: &mut AdjointState) {
        match &self.q {
            BlockVector::Full(q) => state.start_at(q),
            BlockVector::Compact(_) => state.start_at(&self.q.to_vec()),
        }
    }

    /// Returns the number of entries.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.q.len()
    }
}

impl Reconstructions {
    pub(crate) fn new(number: u64, squared_distance: f64, checkpoints: Vec<Checkpoint>) -> Self {
        Self {
            number,
            squared_distance,
            gradient: None,
            checkpoints: Arc::new(checkpoints),
            adjoints: Arc::default(),
        }
    }

    pub(crate) fn with_gradient(
        mut self,
        gradient: Gradient,
        adjoints: Vec<StoredAdjoint>,
    ) -> Self {
        self.gradient = Some(gradient);
        self.adjoints = Arc::new(adjoints);
        self
    }

    /// Returns the gradient of the objective, if it was computed.
    pub(crate) fn gradient(&self) -> Option<&Gradient> {
        self.gradient.as_ref()
    }

    /// Returns the number of the evaluation that computed them.
    #[must_use]
    pub const fn number(&self) -> u64 {
        self.number
    }

    /// Returns `$\sum_i \|\tilde x_i - x_i\|^2$`, the sum of the squared distances of all training
    /// images from the truth, on all ranks; without truth, the sum of their criteria.
    #[must_use]
    pub const fn squared_distance(&self) -> f64 {
        self.squared_distance
    }

    /// Returns the checkpoint of each training pair of this rank; empty if they were loaded and not
    /// attached yet.
    #[must_use]
    pub fn checkpoints(&self) -> &[Checkpoint] {
        &self.checkpoints
    }

    /// Returns the adjoint of each training pair of this rank; empty if learning does not use
    /// gradients, or if they were loaded and not attached yet.
    #[must_use]
    pub fn adjoints(&self) -> &[StoredAdjoint] {
        &self.adjoints
    }

    /// Returns whether there are adjoints, attached or not.
    #[must_use]
    pub const fn has_adjoints(&self) -> bool {
        self.gradient.is_some()
    }

    /// Attaches checkpoints and adjoints to loaded reconstructions.
    pub fn attach(&mut self, checkpoints: Arc<Vec<Checkpoint>>, adjoints: Arc<Vec<StoredAdjoint>>) {
        self.checkpoints = checkpoints;
        self.adjoints = adjoints;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checkpoints_are_full_while_there_is_room() {
        let auto = CheckpointPolicy::Auto;
        // 10 points with 16 bytes per pixel
        assert_eq!(auto.resolve(MEMORY / 160, 3), CheckpointPolicy::Full);
        assert_eq!(auto.resolve(MEMORY / 160 + 1, 3), CheckpointPolicy::Compact);
        assert_eq!(auto.resolve(25 * 512 * 512, 3), CheckpointPolicy::Full);
        assert_eq!(auto.resolve(25 * 2048 * 2048, 3), CheckpointPolicy::Compact);
        assert_eq!(auto.resolve(usize::MAX, 3), CheckpointPolicy::Compact);
        for chosen in [CheckpointPolicy::Full, CheckpointPolicy::Compact] {
            assert_eq!(chosen.resolve(usize::MAX, 3), chosen);
            assert_eq!(chosen.resolve(1, 3), chosen);
        }
    }
}
