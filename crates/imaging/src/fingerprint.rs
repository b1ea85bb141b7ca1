//! Hashes that tell models apart.

use crate::grid::Grid;

/// A hash of numbers, in lanes so that multiplications overlap.
pub(crate) fn of_numbers(parts: &[&[f64]]) -> u64 {
    const LANES: usize = 8;
    let mut lanes = [1_u64; LANES];
    for part in parts {
        let (blocks, rest) = part.as_chunks::<LANES>();
        for block in blocks {
            for (lane, number) in lanes.iter_mut().zip(block) {
                *lane = mix(*lane, number.to_bits());
            }
        }
        for (lane, number) in lanes.iter_mut().zip(rest) {
            *lane = mix(*lane, number.to_bits());
        }
    }
    of_hashes(lanes)
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

/// Multiplying by an odd number and folding high bits into low ones: no two values of `bits` give the same hash.
const fn mix(hash: u64, bits: u64) -> u64 {
    let mixed = (hash ^ bits).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ (mixed >> 32)
}
