//! Reproducible random numbers: a seed and an index define a random stream.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

/// A seed, which defines a family of independent random streams.
///
/// Each index of a family has its own `ChaCha8` stream. So an item does not depend on the number of
/// items, on the order in which they are created, or on the number of threads. Streams for
/// different purposes are independent as well, so one seed may serve for an image and for the noise
/// on it.
///
/// ```
/// use imaging::{Seed, phantom};
///
/// let seed = Seed::new(7);
/// let third = phantom::box_function(64, seed, 2)?;
/// let all: Vec<_> = (0..5).map(|i| phantom::box_function(64, seed, i)).collect::<Result<_, _>>()?;
/// assert_eq!(third, all[2]);
/// # Ok::<(), imaging::phantom::PhantomError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Seed(u64);

/// The purpose of a stream. Its tag is part of the key of the stream, so changing a tag would
/// change the data of users.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Purpose {
    BoxFunction,
    DeadLeaves,
    Noise,
    ComplexNoise,
    Patches,
    Head,
    Phase,
    Signs,
    Photons,
    Tints,
    DeadVolumes,
}

impl Purpose {
    const fn tag(self) -> [u8; 8] {
        match self {
            Self::BoxFunction => *b"box func",
            Self::DeadLeaves => *b"deadleaf",
            Self::Noise => *b"noise   ",
            Self::ComplexNoise => *b"noise C ",
            Self::Patches => *b"patches ",
            Self::Head => *b"head    ",
            Self::Phase => *b"phase   ",
            Self::Signs => *b"signs   ",
            Self::Photons => *b"photons ",
            Self::Tints => *b"tints   ",
            Self::DeadVolumes => *b"deadvolu",
        }
    }
}

impl Seed {
    /// Creates the seed with this number.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns the stream of one item. Its key is the seed (little-endian), the tag, then zeros.
    /// Its stream number is `index`.
    pub(crate) fn stream(self, purpose: Purpose, index: usize) -> ChaCha8Rng {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&self.0.to_le_bytes());
        key[8..16].copy_from_slice(&purpose.tag());
        let mut rng = ChaCha8Rng::from_seed(key);
        rng.set_stream(index as u64);
        rng
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::Rng;
    use std::collections::HashSet;

    #[test]
    fn seed_purpose_and_index_each_change_the_stream() {
        let purposes = [
            Purpose::BoxFunction,
            Purpose::DeadLeaves,
            Purpose::Noise,
            Purpose::ComplexNoise,
            Purpose::Patches,
            Purpose::Head,
            Purpose::Phase,
            Purpose::Signs,
            Purpose::Photons,
            Purpose::Tints,
        ];
        let mut seen = HashSet::new();
        for seed in [0, 1, 1 << 40, u64::MAX] {
            for purpose in purposes {
                for index in [0, 1, 2, usize::MAX] {
                    let mut rng = Seed::new(seed).stream(purpose, index);
                    let first = rng.next_u64();
                    assert!(
                        seen.insert(first),
                        "{seed} {purpose:?} {index} repeats a stream"
                    );
                    let again = Seed::new(seed).stream(purpose, index).next_u64();
                    assert_eq!(first, again);
                }
            }
        }
    }
}
