//! What is kept of reconstructions, for the solver to go on from.

use std::sync::Arc;

use lowlevel::Checkpoint;

/// What is kept of the reconstructions at each point that the solver may come back to. What is certified is true with all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Keep {
    /// `Whole`, unless that would need more than 1 GB.
    #[default]
    Auto,
    /// All that is needed to go on as if they had not stopped: 16 bytes per pixel and point.
    Whole,
    /// Where they stand, in single precision: 4 bytes per pixel and point. To go on costs some more iterations.
    Rounded,
}

/// What reconstructions may take.
const MEMORY: usize = 1 << 30;

impl Keep {
    /// The solver keeps the reconstructions of at most about `$2d$` points.
    pub(crate) fn resolve(self, num_entries: usize, num_params: usize) -> Self {
        let points = 2 * num_params + 4;
        match self {
            Self::Auto if num_entries.saturating_mul(16 * points) <= MEMORY => Self::Whole,
            Self::Auto => Self::Rounded,
            chosen => chosen,
        }
    }
}

/// The reconstructions of all images at one point: where refinement goes on, and where a nearby point begins.
///
/// They are large and never change. With the feature `serde` only their number is saved with the state of a solver: save what is kept
/// of them apart, once, and [attach](Self::attach) it when the state has been loaded.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(from = "u64", into = "u64"))]
pub struct Reconstructions {
    number: u64,
    kept: Arc<Vec<Checkpoint>>,
}

impl Reconstructions {
    pub(crate) fn new(number: u64, kept: Vec<Checkpoint>) -> Self {
        Self {
            number,
            kept: Arc::new(kept),
        }
    }

    /// The number of the evaluation that made them.
    #[must_use]
    pub const fn number(&self) -> u64 {
        self.number
    }

    /// What is kept of each pair; nothing if they were loaded and not attached yet.
    #[must_use]
    pub fn kept(&self) -> &[Checkpoint] {
        &self.kept
    }

    /// Gives loaded reconstructions back what was kept of them.
    pub fn attach(&mut self, kept: Arc<Vec<Checkpoint>>) {
        self.kept = kept;
    }
}

impl From<u64> for Reconstructions {
    /// Of which nothing is kept.
    fn from(number: u64) -> Self {
        Self {
            number,
            kept: Arc::default(),
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
    fn reconstructions_are_kept_whole_while_there_is_room() {
        let auto = Keep::Auto;
        // 10 points of 16 bytes for each pixel
        assert_eq!(auto.resolve(MEMORY / 160, 3), Keep::Whole);
        assert_eq!(auto.resolve(MEMORY / 160 + 1, 3), Keep::Rounded);
        assert_eq!(auto.resolve(25 * 512 * 512, 3), Keep::Whole);
        assert_eq!(auto.resolve(25 * 2048 * 2048, 3), Keep::Rounded);
        assert_eq!(auto.resolve(usize::MAX, 3), Keep::Rounded);
        assert_eq!(Keep::Whole.resolve(usize::MAX, 3), Keep::Whole);
        assert_eq!(Keep::Rounded.resolve(1, 3), Keep::Rounded);
    }
}
