//! The partitioned elimination compared with the elimination of one node after the other.

use super::*;
use crate::model::simd::dispatch;
use proptest::prelude::*;
use pulp::{Scalar, WithSimd};

/// Solves `$(cI + D^TKD)\delta = b$`.
struct Solve<'a> {
    constant: f64,
    weights: &'a [f64],
    right: &'a [f64],
    solution: &'a mut [f64],
}

impl WithSimd for Solve<'_> {
    type Output = ();

    fn with_simd<S: Simd>(self, simd: S) {
        with_vectors!(S, self, run, simd);
    }
}

impl Solve<'_> {
    fn run<S: Simd, const V: usize>(self, simd: S) {
        let partition = Partition::new(self.right.len());
        let constant = simd.splat_f64s(self.constant);
        let num_rows = partition.num_rows();
        let [mut weights, mut right] = [vec![[0.0; LANES]; num_rows], vec![[0.0; LANES]; num_rows]];
        partition.to_lanes(simd, self.weights, &mut weights);
        partition.to_lanes(simd, self.right, &mut right);
        let mut pairs = vec![EliminatedPair::ZERO; num_rows / 2];
        let mut eliminations = [Elimination::new(simd, constant); V];
        for (i, pair) in pairs.iter_mut().enumerate() {
            for (v, elimination) in eliminations.iter_mut().enumerate() {
                let [k, b] = [&weights, &right]
                    .map(|rows| [0, 1].map(|j| load_row::<S>(&rows[2 * i + j], v)));
                pair.eliminate_first(simd, v, constant, k, b);
                elimination.next(pair, v, i == 0);
            }
        }
        let [separator, end] = separators(&eliminations);
        let mut at = end;
        let mut solution = vec![[0.0; LANES]; num_rows];
        for (i, pair) in pairs.iter().enumerate().rev() {
            for v in 0..V {
                let (separator, right) = (load_row::<S>(&separator, v), load_row::<S>(&at, v));
                let left = if i == 0 {
                    separator
                } else {
                    pair.left(simd, v, separator, right)
                };
                store_row::<S>(&mut solution[2 * i + 1], v, right);
                let first = pair.first(simd, v, left, right);
                store_row::<S>(&mut solution[2 * i], v, first);
                store_row::<S>(&mut at, v, left);
            }
        }
        partition.to_line(simd, &solution, self.solution);
    }
}

/// Solves the system by eliminating one node after the other.
fn one_by_one(constant: f64, weights: &[f64], right: &[f64]) -> Vec<f64> {
    let len = right.len();
    let (mut ground, mut current) = (vec![constant; len], right.to_vec());
    ground[0] += weights[0];
    let mut share = vec![0.0; len];
    for j in 1..len {
        share[j] = weights[j] / (ground[j - 1] + weights[j]);
        ground[j] += share[j] * ground[j - 1];
        current[j] += share[j] * current[j - 1];
    }
    let mut solution = vec![current[len - 1] / ground[len - 1]; len];
    for j in (1..len).rev() {
        let own = current[j - 1] / (ground[j - 1] + weights[j]);
        solution[j - 1] = own + share[j] * solution[j];
    }
    solution
}

/// The largest residual of an equation, relative to its terms.
fn residual(constant: f64, weights: &[f64], right: &[f64], solution: &[f64]) -> f64 {
    let len = right.len();
    let flow = |j: usize| {
        let left = if j == 0 { 0.0 } else { solution[j - 1] };
        if j == len {
            (0.0, 0.0)
        } else {
            (
                weights[j] * (solution[j] - left),
                weights[j] * (solution[j].abs() + left.abs()),
            )
        }
    };
    (0..len)
        .map(|j| {
            let own = constant * solution[j];
            let ((a, a_size), (b, b_size)) = (flow(j), flow(j + 1));
            let size = own.abs() + a_size + b_size + right[j].abs();
            (own + a - b - right[j]).abs() / size.max(f64::MIN_POSITIVE)
        })
        .fold(0.0, f64::max)
}

fn check(constant: f64, weights: &[f64], right: &[f64]) -> Result<(), TestCaseError> {
    let mut solution = vec![f64::NAN; right.len()];
    dispatch(Solve {
        constant,
        weights,
        right,
        solution: &mut solution,
    });
    let found = residual(constant, weights, right, &solution);
    prop_assert!(found < 1e-14, "residual {found:e}");
    // Conductances do not cancel. If currents do not cancel either, all digits are right.
    let size = solution.iter().fold(0.0_f64, |a, x| a.max(x.abs()));
    let positive = right.iter().all(|b| *b >= 0.0);
    for (a, b) in solution.iter().zip(one_by_one(constant, weights, right)) {
        let scale = if positive { b.abs() } else { size };
        let tolerance = if positive { 1e-13 } else { 1e-11 };
        prop_assert!((a - b).abs() <= tolerance * scale, "{a:e} {b:e}");
    }
    let mut narrow = vec![f64::NAN; right.len()];
    Solve {
        constant,
        weights,
        right,
        solution: &mut narrow,
    }
    .with_simd(Scalar::new());
    prop_assert_eq!(narrow, solution, "depends on the width of vectors");
    Ok(())
}

/// Powers of ten, or zero.
fn numbers(len: usize, range: f64) -> impl Strategy<Value = Vec<f64>> {
    let power = prop_oneof![9 => (-range..range).prop_map(|e| 10_f64.powf(e)), 1 => Just(0.0)];
    proptest::collection::vec(power, len)
}

fn systems(len: impl Strategy<Value = usize>) -> impl Strategy<Value = [Vec<f64>; 2]> {
    len.prop_flat_map(|len| (numbers(len, 14.0), numbers(len, 3.0), any::<bool>()))
        .prop_map(|(weights, mut right, signs)| {
            for (j, b) in right.iter_mut().enumerate() {
                if signs && (j * j) % 3 == 1 {
                    *b = -*b;
                }
            }
            [weights, right]
        })
}

proptest! {
    #[test]
    fn solves_as_one_by_one([weights, right] in systems(prop_oneof![1_usize..71, 71_usize..600]),
                            constant in 1.0..2.0_f64) {
        check(constant, &weights, &right)?;
    }
}

#[test]
fn every_length() {
    for len in 1..=70 {
        let weights: Vec<f64> = (0..len).map(|j| 10_f64.powi((j * 7 % 11) - 3)).collect();
        let right: Vec<f64> = (0..len).map(|j| f64::from(j % 5) - 1.7).collect();
        check(1.001, &weights, &right).unwrap();
    }
}
