//! Dead leaves in three dimensions.

use super::{MIN_RADIUS, PhantomError, pixels_within};
use crate::seed::{Purpose, Seed};
use rand::RngExt;

/// Returns a random volume of overlapping balls with values in `$[0,1]$`, slice by slice: the dead
/// leaves of [`dead_leaves`](super::dead_leaves) in three dimensions, without shading.
///
/// A ball has a uniform level, a uniform centre, also outside the volume, as far as the largest
/// ball can reach, and a radius of density `$\propto r^{-3}$` between 2 voxels and half the
/// shortest side (at least 4 voxels). Balls are placed from front to back, until all voxels are
/// covered. `index` is the number of the volume in its set.
///
/// # Errors
/// If there are no voxels, or their number overflows.
pub fn dead_leaves_volume(
    [slices, rows, cols]: [usize; 3],
    seed: Seed,
    index: usize,
) -> Result<Vec<f64>, PhantomError> {
    let lines = slices.saturating_mul(rows);
    let mut volume = vec![f64::NAN; super::num_pixels(lines, cols)?];
    let mut num_uncovered = volume.len();
    let mut rng = seed.stream(Purpose::DeadVolumes, index);
    let shortest = slices.min(rows).min(cols);
    let max_radius = (shortest as f64 / 2.0).max(2.0 * MIN_RADIUS);
    let [from, to] = [max_radius, MIN_RADIUS].map(|r| 1.0 / (r * r));
    while num_uncovered > 0 {
        // For the density r^-3, 1/r^2 is uniform.
        let square = 1.0 / (from + (to - from) * rng.random::<f64>());
        let [z, y, x] = [slices, rows, cols].map(|len| {
            let extent = (len - 1) as f64 + 2.0 * max_radius;
            extent * rng.random::<f64>() - max_radius
        });
        let level: f64 = rng.random();
        for k in pixels_within(z, square.sqrt(), slices) {
            let rest = square - (k as f64 - z) * (k as f64 - z);
            for i in pixels_within(y, rest.max(0.0).sqrt(), rows) {
                let rest = (rest - (i as f64 - y) * (i as f64 - y)).max(0.0);
                let line = (k * rows + i) * cols;
                for j in pixels_within(x, rest.sqrt(), cols) {
                    if volume[line + j].is_nan() {
                        volume[line + j] = level;
                        num_uncovered -= 1;
                    }
                }
            }
        }
    }
    Ok(volume)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn volumes_are_covered_by_balls() {
        let shape = [8, 12, 16];
        let [first, again, other] = [(1, 0), (1, 0), (1, 1)]
            .map(|(seed, index)| dead_leaves_volume(shape, Seed::new(seed), index).unwrap());
        assert!(first.len() == 8 * 12 * 16 && first.iter().all(|v| (0.0..=1.0).contains(v)));
        assert_eq!(first, again);
        assert_ne!(first, other);
        // Neighbours along each axis mostly belong to the same ball.
        for step in [1, 16, 12 * 16] {
            let equal = first
                .iter()
                .zip(&first[step..])
                .filter(|(a, b)| a.to_bits() == b.to_bits());
            assert!(3 * equal.count() > first.len(), "{step}");
        }
        for bad in [[0, 2, 2], [2, 2, 0], [usize::MAX, 2, 2]] {
            assert!(dead_leaves_volume(bad, Seed::new(1), 0).is_err());
        }
    }
}
