//! Hashes that tell models apart.

use crate::grid::Grid;

const LANES: usize = 8;

/// A hash of slices of numbers, in lanes so that multiplications overlap.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NumberHash {
    lanes: [u64; LANES],
}

impl NumberHash {
    pub(crate) const fn new() -> Self {
        Self { lanes: [1; LANES] }
    }

    /// Adds the numbers of a slice.
    pub(crate) fn add(mut self, numbers: &[f64]) -> Self {
        for block in numbers.chunks(LANES) {
            for (lane, number) in self.lanes.iter_mut().zip(block) {
                *lane = mix(*lane, number.to_bits());
            }
        }
        self
    }

    pub(crate) fn finish(self) -> u64 {
        of_hashes(self.lanes)
    }
}

/// A hash of hashes, or of other whole numbers.
pub(crate) fn of_hashes(hashes: impl IntoIterator<Item = u64>) -> u64 {
    hashes.into_iter().fold(0, mix)
}

/// A hash of a grid.
pub(crate) fn of_grid(grid: Grid) -> u64 {
    let (rows, cols) = grid.rows_and_cols();
    of_hashes([rows, cols, grid.num_axes(), grid.num_parts()].map(|n| n as u64))
}

/// Multiplying by an odd number and folding high bits into low ones: no two values of `bits` give
/// the same hash.
const fn mix(hash: u64, bits: u64) -> u64 {
    let mixed = (hash ^ bits).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ (mixed >> 32)
}
