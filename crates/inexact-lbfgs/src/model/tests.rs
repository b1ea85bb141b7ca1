//! The compact matrix, the Cauchy point and the subspace minimiser against dense twins.

use proptest::prelude::*;

use super::cauchy::cauchy_point;
use super::compact::Compact;
use super::subspace::subspace_step;
use super::{Local, Memory};
use crate::linalg::dot;

/// A numbers generator for vectors that need no property of their own.
fn wild(len: usize, seed: u64) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    };
    (0..len).map(|_| next()).collect()
}

/// A memory of pairs of a quadratic function with curvatures from 1 to `condition`, and the dense
/// matrix that the BFGS formula gives, pair by pair.
fn memory(dim: usize, pairs: usize, condition: f64, seed: u64) -> (Memory, Vec<Vec<f64>>) {
    let mut memory = Memory::new(5);
    let mut all = Vec::new();
    for i in 0..pairs {
        // Steps of very different lengths.
        let length = 0.1_f64.powf(i as f64);
        let step: Vec<f64> = wild(dim, seed + i as u64)
            .iter()
            .map(|s| s * length)
            .collect();
        let curvature = |k: usize| condition.powf(k as f64 / dim as f64);
        let change: Vec<f64> = (0..dim).map(|k| curvature(k) * step[k]).collect();
        assert!(memory.push(step.clone(), change.clone()));
        all.push((step, change));
    }
    let first = pairs.saturating_sub(5);
    let mut dense = vec![vec![0.0; dim]; dim];
    for (k, row) in dense.iter_mut().enumerate() {
        row[k] = memory.sigma();
    }
    for (s, y) in &all[first..] {
        let bs: Vec<f64> = dense.iter().map(|row| dot(row, s)).collect();
        let (sbs, sy) = (dot(s, &bs), dot(s, y));
        for (i, row) in dense.iter_mut().enumerate() {
            for (j, entry) in row.iter_mut().enumerate() {
                *entry += y[i] * y[j] / sy - bs[i] * bs[j] / sbs;
            }
        }
    }
    (memory, dense)
}

fn times(dense: &[Vec<f64>], v: &[f64]) -> Vec<f64> {
    dense.iter().map(|row| dot(row, v)).collect()
}

/// The value of the model after a step.
fn model(dense: &[Vec<f64>], gradient: &[f64], step: &[f64]) -> f64 {
    dot(gradient, step) + 0.5 * dot(step, &times(dense, step))
}

/// Solves a small dense system by Gaussian elimination.
fn solve(mut rows: Vec<Vec<f64>>, mut b: Vec<f64>) -> Vec<f64> {
    let n = b.len();
    for k in 0..n {
        let by_size = |i: &usize, j: &usize| rows[*i][k].abs().total_cmp(&rows[*j][k].abs());
        let pivot = (k..n).max_by(by_size).expect("a row");
        rows.swap(k, pivot);
        b.swap(k, pivot);
        for i in k + 1..n {
            let factor = rows[i][k] / rows[k][k];
            let above = rows[k].clone();
            rows[i]
                .iter_mut()
                .zip(above)
                .for_each(|(x, a)| *x -= factor * a);
            b[i] -= factor * b[k];
        }
    }
    for k in (0..n).rev() {
        let rest: f64 = (k + 1..n).map(|j| rows[k][j] * b[j]).sum();
        b[k] = (b[k] - rest) / rows[k][k];
    }
    b
}

struct Place {
    theta: Vec<f64>,
    gradient: Vec<f64>,
    lower: Vec<f64>,
    upper: Vec<f64>,
}

/// A point in a box, with parameters inside, at a bound, fixed and without bounds.
fn place(dim: usize, seed: u64) -> Place {
    let theta = wild(dim, seed + 100);
    let gradient: Vec<f64> = wild(dim, seed + 200).iter().map(|g| 3.0 * g).collect();
    let widths = wild(dim, seed + 300);
    let bound = |k: usize, side: f64| match k % 4 {
        0 => side * f64::INFINITY,
        1 => theta[k] + side * widths[k].abs(),
        2 => theta[k] + if side < 0.0 { 0.0 } else { widths[k].abs() },
        _ => theta[k] + side * 0.05 * widths[k].abs(),
    };
    Place {
        lower: (0..dim).map(|k| bound(k, -1.0)).collect(),
        upper: (0..dim).map(|k| bound(k, 1.0)).collect(),
        theta,
        gradient,
    }
}

impl Place {
    fn local(&self) -> Local<'_> {
        Local {
            theta: &self.theta,
            gradient: &self.gradient,
            lower: &self.lower,
            upper: &self.upper,
        }
    }

    /// The step to the point at time `t` of the projected path.
    fn path(&self, t: f64) -> Vec<f64> {
        let along = |k: usize| {
            let x = self.theta[k] - t * self.gradient[k];
            x.clamp(self.lower[k], self.upper[k]) - self.theta[k]
        };
        (0..self.theta.len()).map(along).collect()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn the_compact_matrix_is_the_dense_one(
        dim in 5_usize..12, pairs in 0_usize..8, seed in 0_u64..1000, condition in 1.0..1e6,
    ) {
        let (memory, dense) = memory(dim, pairs, condition, seed);
        let compact = Compact::new(&memory).expect("positive definite");
        let v = wild(dim, seed + 50);
        let expected = times(&dense, &v);
        let found = compact.times(&v, &compact.project(&v));
        let scale = memory.sigma().max(condition);
        for (found, expected) in found.iter().zip(&expected) {
            prop_assert!((found - expected).abs() <= 1e-8 * scale, "{found} {expected}");
        }
        prop_assert!((compact.curvature(&v) - dot(&v, &expected)).abs() <= 1e-8 * scale);
    }

    #[test]
    fn the_cauchy_point_is_the_first_minimiser_on_the_path(
        dim in 5_usize..12, pairs in 0_usize..6, seed in 0_u64..1000, condition in 1.0..1e3,
    ) {
        let (memory, dense) = memory(dim, pairs, condition, seed);
        let compact = Compact::new(&memory).expect("positive definite");
        let place = place(dim, seed);
        let cauchy = cauchy_point(&place.local(), &compact);
        let value = |step: &[f64]| model(&dense, &place.gradient, step);
        let found = value(&cauchy.step);
        prop_assert!((found + cauchy.decrease).abs() <= 1e-9 * (1.0 + found.abs()));
        let projected = compact.project(&cauchy.step);
        for (a, b) in projected.iter().zip(&cauchy.projected) {
            prop_assert!((a - b).abs() <= 1e-9 * (1.0 + a.abs()), "{a} {b}");
        }
        // The model does not rise anywhere before the point, and does not fall right after it.
        let end = time_of(&place, &cauchy.step);
        let after = value(&place.path(end * (1.0 + 1e-6)));
        prop_assert!(after >= found - 1e-10 * (1.0 + found.abs()), "{after} {found}");
        let mut before = 0.0;
        for i in 1..=200 {
            let share = f64::from(i) / 200.0;
            let now = value(&place.path(share * end));
            prop_assert!(now <= before + 1e-9 * (1.0 + found.abs()), "{now} {before}");
            before = now;
        }
    }

    #[test]
    fn the_subspace_step_minimises_the_model_over_free_variables(
        dim in 5_usize..12, pairs in 0_usize..6, seed in 0_u64..1000, condition in 1.0..1e4,
    ) {
        let (memory, dense) = memory(dim, pairs, condition, seed);
        let compact = Compact::new(&memory).expect("positive definite");
        let place = place(dim, seed);
        let cauchy = cauchy_point(&place.local(), &compact);
        for few in [false, true] {
            let free: Vec<usize> = (0..dim).filter(|k| (k % 3 == 0) == few).collect();
            let step = subspace_step(&place.local(), &compact, &cauchy, &free).expect("regular");
            let mut slope = times(&dense, &cauchy.step);
            slope.iter_mut().zip(&place.gradient).for_each(|(s, g)| *s += g);
            let rows = free.iter().map(|&i| free.iter().map(|&j| dense[i][j]).collect());
            let expected = solve(rows.collect(), free.iter().map(|&i| -slope[i]).collect());
            let scale = expected.iter().fold(1e-3, |a: f64, b| a.max(b.abs()));
            for (found, expected) in step.iter().zip(&expected) {
                prop_assert!((found - expected).abs() <= 1e-6 * scale, "{found} {expected}");
            }
        }
    }

    #[test]
    fn steps_stay_in_the_box_and_go_downhill(
        dim in 5_usize..12, pairs in 0_usize..6, seed in 0_u64..1000, condition in 1.0..1e4,
    ) {
        let (memory, dense) = memory(dim, pairs, condition, seed);
        let place = place(dim, seed);
        let step = place.local().step(&memory).expect("regular");
        prop_assert!(step.slope < 0.0 && step.predicted > 0.0);
        let decrease = -model(&dense, &place.gradient, &step.direction);
        prop_assert!(step.predicted >= decrease - 1e-8 * (1.0 + decrease.abs()));
        for k in 0..dim {
            let x = place.theta[k] + step.direction[k];
            let slack = 1e-14 * (1.0 + x.abs());
            prop_assert!(place.lower[k] - slack <= x && x <= place.upper[k] + slack);
        }
    }
}

/// The time at which the path has made this step.
fn time_of(place: &Place, step: &[f64]) -> f64 {
    let moved = step.iter().zip(&place.gradient);
    moved.fold(0.0, |time: f64, (s, g)| time.max((s / g).abs()))
}

#[test]
fn pairs_without_positive_curvature_are_refused() {
    let mut memory = Memory::new(3);
    assert!(!memory.push(vec![1.0, 0.0], vec![-1.0, 0.0]));
    assert!(!memory.push(vec![1.0, 0.0], vec![0.0, 1.0]));
    assert!(!memory.push(vec![1.0, 0.0], vec![f64::NAN, 1.0]));
    assert!(!memory.push(vec![0.0, 0.0], vec![0.0, 0.0]));
    assert!(!memory.push(vec![1e200, 0.0], vec![1e200, 0.0]));
    assert!(!memory.is_scaled() && memory.len() == 0);
    assert!(memory.push(vec![1e-100, 0.0], vec![1e-90, 0.0]));
    assert_eq!(memory.len(), 1);
}
