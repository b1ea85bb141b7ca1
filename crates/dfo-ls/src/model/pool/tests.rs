use super::super::tests::{difference, point};
use super::*;
use crate::linalg::tests::Random;
use crate::linalg::{dot, norm};
use proptest::prelude::*;

/// Two blocks, whose border may lie anywhere between multiples of the number of lanes.
fn halves(m: usize) -> Blocks {
    Blocks::new(&[m / 2, m - m / 2], m).expect("lengths that add up")
}

/// All products and slopes against inner products of the residuals; errors relative to `size`
/// squared.
fn check(pool: &PointPool<()>, shadow: &[Option<Vec<f64>>], size: f64, tolerance: f64) {
    let live: Vec<usize> = (0..shadow.len()).filter(|&t| shadow[t].is_some()).collect();
    assert_eq!(pool.live().collect::<Vec<_>>(), live);
    let row = |t: usize| shadow[t].as_ref().expect("a live slot");
    for &k in &live {
        let from_center: Vec<Vec<f64>> = live.iter().map(|&t| difference(row(t), row(k))).collect();
        let weights: Vec<f64> = (0..live.len()).map(|t| 1.5 - 0.7 * t as f64).collect();
        let combined = pool.combined_products(k, &live, &weights);
        for (a, &t) in live.iter().enumerate() {
            let slope = dot(&from_center[a], row(k));
            let scale = size * size.max(norm(row(k)));
            assert!(
                (pool.slope(k, t) - slope).abs() <= tolerance * scale,
                "slope {k} {t}"
            );
            let mut sum = 0.0;
            for (b, &s) in live.iter().enumerate() {
                let direct = dot(&from_center[a], &from_center[b]);
                let found = pool.product(k, t, s);
                assert!(
                    (found - direct).abs() <= tolerance * size * size,
                    "{found} {direct}"
                );
                sum += weights[b] * direct;
            }
            let all = weights.iter().map(|w| w.abs()).sum::<f64>();
            assert!(
                (combined[a] - sum).abs() <= tolerance * all * size * size,
                "{combined:?} {sum}"
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Products are right after any sequence of insertions, removals, sharpenings and changes of
    /// the reference.
    #[test]
    fn products_are_those_of_the_residuals(
        seed in any::<u64>(), m in prop_oneof![1_usize..40, 1000_usize..1100, 2040_usize..2060], capacity in 2_usize..7,
        actions in proptest::collection::vec((0_u8..8, any::<prop::sample::Index>()), 1..40),
    ) {
        let mut random = Random::new(seed);
        let mut pool = PointPool::new(capacity, halves(m));
        let mut shadow: Vec<Option<Vec<f64>>> = vec![None; capacity];
        for (action, index) in actions {
            let live: Vec<usize> = pool.live().collect();
            let residuals = random.vector(m);
            match action {
                0..4 if pool.num_free() > 0 => {
                    let slot = pool.insert(point(&[0.0], &residuals));
                    prop_assert!(shadow[slot].is_none());
                    shadow[slot] = Some(residuals);
                }
                4 if live.len() > 1 => {
                    let slot = *index.get(&live);
                    prop_assert!(pool.remove(slot).is_some());
                    shadow[slot] = None;
                }
                5 | 6 if !live.is_empty() => {
                    let slot = *index.get(&live);
                    pool.set_residuals(slot, residuals.clone().into());
                    shadow[slot] = Some(residuals);
                }
                7 if !live.is_empty() => {
                    let slot = *index.get(&live);
                    // whether it does anything or not
                    pool.keep_precise(slot, &live);
                }
                _ => {}
            }
            check(&pool, &shadow, (m as f64).sqrt(), 1e-13);
        }
        prop_assert_eq!(pool.num_free(), shadow.iter().filter(|row| row.is_none()).count());
    }

    /// The incumbent has moved a million times farther than the points around it are apart.
    #[test]
    fn precision_is_kept_far_from_the_first_point(seed in any::<u64>(), m in 3_usize..1500, log_spread in -9.0..-5.0_f64) {
        let mut random = Random::new(seed);
        let spread = 10_f64.powf(log_spread);
        let (start, far) = (random.vector(m), random.vector(m));
        let mut pool = PointPool::new(6, halves(m));
        let mut shadow = vec![None; 6];
        let first = pool.insert(point(&[0.0], &start));
        let mut set = Vec::new();
        for _ in 0..5 {
            let residuals: Vec<f64> = far.iter().map(|r| r + spread * random.next()).collect();
            let slot = pool.insert(point(&[0.0], &residuals));
            shadow[slot] = Some(residuals);
            set.push(slot);
        }
        pool.remove(first);
        prop_assert!(pool.keep_precise(set[2], &set));
        prop_assert!(!pool.keep_precise(set[2], &set), "once is enough");
        check(&pool, &shadow, spread * (m as f64).sqrt(), 1e-12);
        // later points too
        let residuals: Vec<f64> = far.iter().map(|r| r + spread * random.next()).collect();
        let slot = pool.insert(point(&[0.0], &residuals));
        shadow[slot] = Some(residuals);
        check(&pool, &shadow, spread * (m as f64).sqrt(), 1e-12);
    }
}

/// All points are measured again only where digits would be lost.
#[test]
fn points_equally_far_away_are_not_measured_again() {
    let mut random = Random::new(2);
    let mut pool = PointPool::new(5, Blocks::one(20));
    let set: Vec<usize> = (0..5)
        .map(|_| pool.insert(point(&[0.0], &random.vector(20))))
        .collect();
    assert!(set.iter().all(|&slot| !pool.keep_precise(slot, &set)));
}

/// Equal residuals: no difference, no division.
#[test]
fn equal_points_are_no_trouble() {
    let mut pool = PointPool::new(3, Blocks::one(2));
    for _ in 0..3 {
        pool.insert(point(&[0.0], &[1.0, 2.0]));
    }
    assert!(!pool.keep_precise(1, &[0, 1, 2]));
    assert!(pool.product(0, 1, 2).abs() < 1e-300 && pool.slope(0, 2).abs() < 1e-300);
    assert!(pool.num_free() == 0 && pool.remove(1).is_some() && pool.remove(1).is_none());
    assert_eq!(pool.insert(point(&[0.0], &[0.0, 0.0])), 1);
    assert!((pool.product(0, 1, 1) - 5.0).abs() < 1e-14 && (pool.slope(0, 1) + 5.0).abs() < 1e-14);
    assert!(pool.slope(1, 0).abs() < 1e-14);
}
