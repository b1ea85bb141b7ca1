//! A hash of the data, which tells whether files have changed. Runs save it, so a change of this
//! hash needs a new `FORMAT` of the session.

use bilevel::Pair;

/// Hashes training pairs, validation pairs, and the numbers of a kernel or mask.
#[must_use]
pub fn of(training: &[Pair], validation: &[Pair], more: &[f64]) -> u64 {
    let mut hash = mix(numbers(FIRST, more), training.len() as u64);
    for pair in training.iter().chain(validation) {
        let (rows, cols) = pair.grid.rows_and_cols();
        for extent in [pair.grid.num_axes(), rows, cols, pair.grid.num_parts()] {
            hash = mix(hash, extent as u64);
        }
        hash = numbers(numbers(hash, &pair.truth), &pair.data);
    }
    hash
}

/// The initial value of hashes.
const FIRST: u64 = 0xcbf2_9ce4_8422_2325;

/// Adds numbers and their count to a hash.
fn numbers(hash: u64, numbers: &[f64]) -> u64 {
    let hash = mix(hash, numbers.len() as u64);
    (numbers.iter()).fold(hash, |hash, number| mix(hash, number.to_bits()))
}

/// Adds `bits` to a hash by a multiplication with an odd number and a fold of the high bits into
/// the low ones. Different `bits` give different hashes.
const fn mix(hash: u64, bits: u64) -> u64 {
    let mixed = (hash ^ bits).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ (mixed >> 32)
}
