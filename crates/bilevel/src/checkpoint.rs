//! Reconstructions that the solver keeps, to continue from them later.

use std::sync::Arc;

use lowlevel::{Checkpoint, State};

/// How reconstructions are kept at each point that the solver may come back to. Certified errors
/// are true in any case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum CheckpointPolicy {
    /// `Full`, unless that would need more than 1 GB.
    #[default]
    Auto,
    /// With all that is needed to continue as if they had not stopped: 16 bytes per pixel and
    /// point.
    Full,
    /// In single precision: 4 bytes per pixel and point. To continue costs some more iterations.
    Compact,
}

/// The memory that reconstructions may take.
const MEMORY: usize = 1 << 30;

impl CheckpointPolicy {
    /// Replaces `Auto`. The solver keeps the reconstructions of at most about `$2d$` points.
    pub(crate) fn resolve(self, num_entries: usize, num_params: usize) -> Self {
        match self {
            Self::Auto if fits(num_entries, 16, 2 * num_params + 4, MEMORY) => Self::Full,
            Self::Auto => Self::Compact,
            chosen => chosen,
        }
    }

    /// The checkpoint of a state, once resolved.
    pub(crate) fn save(self, state: &State) -> Checkpoint {
        match self {
            Self::Compact => Checkpoint::compact(state),
            Self::Auto | Self::Full => Checkpoint::full(state),
        }
    }
}

/// Whether `num_entries` numbers of `bytes` bytes at each of `num_points` points fit into `memory`.
pub(crate) const fn fits(
    num_entries: usize,
    bytes: usize,
    num_points: usize,
    memory: usize,
) -> bool {
    num_entries.saturating_mul(bytes * num_points) <= memory
}

/// The reconstructions of all images at one point: where refinement continues, and where a nearby
/// point begins.
///
/// They are large and never change. With the feature `serde` only their number is saved with the
/// state of a solver: save the checkpoints apart, once, and [attach](Self::attach) them when the
/// state has been loaded.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(from = "u64", into = "u64"))]
pub struct Reconstructions {
    number: u64,
    checkpoints: Arc<Vec<Checkpoint>>,
}

impl Reconstructions {
    pub(crate) fn new(number: u64, checkpoints: Vec<Checkpoint>) -> Self {
        Self {
            number,
            checkpoints: Arc::new(checkpoints),
        }
    }

    /// The number of the evaluation that made them.
    #[must_use]
    pub const fn number(&self) -> u64 {
        self.number
    }

    /// The checkpoint of each pair; none if they were loaded and not attached yet.
    #[must_use]
    pub fn checkpoints(&self) -> &[Checkpoint] {
        &self.checkpoints
    }

    /// Gives loaded reconstructions their checkpoints back.
    pub fn attach(&mut self, checkpoints: Arc<Vec<Checkpoint>>) {
        self.checkpoints = checkpoints;
    }
}

impl From<u64> for Reconstructions {
    /// Without checkpoints.
    fn from(number: u64) -> Self {
        Self {
            number,
            checkpoints: Arc::default(),
        }
    }
}

impl From<Reconstructions> for u64 {
    fn from(reconstructions: Reconstructions) -> Self {
        reconstructions.number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checkpoints_are_full_while_there_is_room() {
        let auto = CheckpointPolicy::Auto;
        // 10 points of 16 bytes for each pixel
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
