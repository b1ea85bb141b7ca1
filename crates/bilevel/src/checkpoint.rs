//! Stored reconstructions, from which later evaluations continue.

use std::sync::Arc;

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
/// contains only their number and their distance from the truth. Save the checkpoints separately,
/// once, and [attach](Self::attach) them after loading the state.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Reconstructions {
    number: u64,
    squared_distance: f64,
    #[cfg_attr(feature = "serde", serde(skip))]
    checkpoints: Arc<Vec<Checkpoint>>,
}

impl Reconstructions {
    pub(crate) fn new(number: u64, squared_distance: f64, checkpoints: Vec<Checkpoint>) -> Self {
        Self {
            number,
            squared_distance,
            checkpoints: Arc::new(checkpoints),
        }
    }

    /// Returns the number of the evaluation that computed them.
    #[must_use]
    pub const fn number(&self) -> u64 {
        self.number
    }

    /// Returns `$\sum_i \|\tilde x_i - x_i\|^2$`, the sum of the squared distances of all training
    /// images from the truth, on all ranks.
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

    /// Attaches the checkpoints to loaded reconstructions.
    pub fn attach(&mut self, checkpoints: Arc<Vec<Checkpoint>>) {
        self.checkpoints = checkpoints;
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
