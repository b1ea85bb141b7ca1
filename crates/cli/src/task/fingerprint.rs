//! A hash of the data, which tells whether files have changed. Runs save it, so a change of this
//! hash needs a new `FORMAT` of the session.

use bilevel::{Pair, Ranks};

/// Hashes training pairs, validation pairs, and the numbers of a kernel or mask.
#[must_use]
pub fn of(training: &[Pair], validation: &[Pair], more: &[f64]) -> u64 {
    combined(&hashes(training), &hashes(validation), more)
}

/// Does the same as [`of`] for pairs that are spread over ranks. The hash is that of all pairs, in
/// the order of the ranks.
///
/// # Errors
/// When a rank cannot be reached.
pub fn on_ranks(
    ranks: &Ranks,
    training: &[Pair],
    validation: &[Pair],
    more: &[f64],
) -> Result<u64, String> {
    let gather = |pairs| ranks.gather_words(&hashes(pairs));
    Ok(combined(&gather(training)?, &gather(validation)?, more))
}

/// Returns the hash of each pair.
fn hashes(pairs: &[Pair]) -> Vec<u64> {
    let hash = |pair: &Pair| {
        let (rows, cols) = pair.grid.rows_and_cols();
        let mut hash = FIRST;
        for extent in [pair.grid.num_axes(), rows, cols, pair.grid.num_parts()] {
            hash = mix(hash, extent as u64);
        }
        if pair.grid.num_axes() == 3 {
            hash = mix(hash, pair.grid.slices_rows_and_cols().0 as u64);
        }
        numbers(numbers(hash, &pair.truth), &pair.data)
    };
    pairs.iter().map(hash).collect()
}

/// Hashes the numbers of an image.
pub(super) fn of_numbers(image: &[f64]) -> u64 {
    numbers(FIRST, image)
}

/// Combines the hashes of all pairs, in their order.
fn combined(training: &[u64], validation: &[u64], more: &[f64]) -> u64 {
    let first = mix(numbers(FIRST, more), training.len() as u64);
    let all = training.iter().chain(validation);
    all.fold(first, |hash, other| mix(hash, *other))
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

#[cfg(test)]
mod tests {
    use super::*;
    use bilevel::share_of;
    use bilevel::testing::on_ranks as threads;
    use imaging::Grid;

    #[test]
    fn the_number_of_ranks_changes_nothing() {
        let pair = |index: usize| Pair {
            grid: Grid::line(3),
            truth: vec![index as f64; 3],
            data: vec![0.5; 3],
        };
        let training: Vec<Pair> = (0..5).map(pair).collect();
        let validation: Vec<Pair> = (5..7).map(pair).collect();
        let alone = of(&training, &validation, &[1.0]);
        for count in 1..=8 {
            let found = threads(count, |ranks| {
                let own =
                    |pairs: &[Pair]| pairs[share_of(pairs.len(), ranks.rank(), count)].to_vec();
                on_ranks(&ranks, &own(&training), &own(&validation), &[1.0])
            });
            assert!(found.into_iter().all(|hash| hash == Ok(alone)), "{count}");
        }
        let swapped: Vec<Pair> = [1, 0, 2, 3, 4].map(pair).to_vec();
        let shifted: Vec<Pair> = (0..6).map(pair).collect();
        for other in [
            of(&swapped, &validation, &[1.0]),
            of(&shifted, &validation[1..], &[1.0]),
            of(&training, &validation, &[2.0]),
            of(&training, &[], &[1.0]),
        ] {
            assert_ne!(other, alone);
        }
    }
}
