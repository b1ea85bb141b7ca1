//! Hashes that distinguish models.

use crate::grid::Grid;

const LANES: usize = 8;

/// A hash of slices of numbers. It has several lanes, so that multiplications overlap.
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

    /// The hash of all numbers added so far.
    pub(crate) fn finish(self) -> u64 {
        of_hashes(self.lanes)
    }
}

/// Returns a hash of hashes or of other integers.
pub(crate) fn of_hashes(hashes: impl IntoIterator<Item = u64>) -> u64 {
    hashes.into_iter().fold(0, mix)
}

/// Returns a hash of a grid.
pub(crate) fn of_grid(grid: Grid) -> u64 {
    let (rows, cols) = grid.rows_and_cols();
    let hash = of_hashes([rows, cols, grid.num_axes(), grid.num_parts()].map(|n| n as u64));
    match grid.slices_rows_and_cols().0 {
        1 => hash,
        slices => of_hashes([hash, slices as u64]),
    }
}

/// Mixes `bits` into `hash` by multiplying with an odd number and folding high bits into low ones.
/// For the same `hash`, different `bits` give different results.
const fn mix(hash: u64, bits: u64) -> u64 {
    let mixed = (hash ^ bits).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ (mixed >> 32)
}
