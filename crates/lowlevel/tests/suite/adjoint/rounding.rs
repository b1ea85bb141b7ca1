//! Cases whose exact answer is known from integers, where rounding errors dominate.

use lowlevel::{
    AdjointState, AdjointStop, Curvature, FnObjective, LossAt, StronglyConvex, UNIT_ROUNDOFF,
    corrected_value, norm, solve_adjoint,
};

use super::{bound, bounds_at, dot, linear};

/// A small generator of integers, for cases whose answer is exact.
struct Integers(u64);

impl Integers {
    fn next(&mut self, below: u64) -> i64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        i64::try_from((self.0 >> 11) % (2 * below)).expect("small")
            - i64::try_from(below).expect("small")
    }
}

/// Where rounding dominates: the exact loss, computed with integers, is in the interval, and would
/// often not be without the rounding term.
#[test]
#[expect(
    clippy::cast_possible_truncation,
    reason = "the numbers are far below the largest i128"
)]
fn the_interval_holds_at_the_rounding_floor() {
    let mut random = Integers(1);
    let mut needed = 0;
    for round in 0..3000 {
        const DIM: usize = 6;
        // A diagonally dominant matrix of small integers, with eigenvalues between 1 and 71.
        let mut matrix = [[0_i64; DIM]; DIM];
        for (i, j) in (0..DIM).flat_map(|i| (0..i).map(move |j| (i, j))) {
            matrix[i][j] = random.next(7);
            matrix[j][i] = matrix[i][j];
        }
        for (i, row) in matrix.iter_mut().enumerate() {
            row[i] = row.iter().map(|a| a.abs()).sum::<i64>() + 1;
        }
        let minimizer: [i64; DIM] = std::array::from_fn(|_| 32 * random.next(1 << 45));
        let x: [i64; DIM] = std::array::from_fn(|j| minimizer[j] + random.next(4));
        let b = matrix.map(|row| row.iter().zip(&minimizer).map(|(a, m)| a * m).sum::<i64>());
        // Every other loss is a single entry, which has no rounding error of its own.
        let is_entry = round % 2 == 0;
        let c: [i64; DIM] = match is_entry {
            true => [1, 0, 0, 0, 0, 0],
            false => std::array::from_fn(|_| random.next(1000)),
        };
        let exact: i128 = c
            .iter()
            .zip(&minimizer)
            .map(|(&c, &m)| i128::from(c) * i128::from(m))
            .sum();

        let float = |v: &[i64]| v.iter().map(|&v| v as f64).collect::<Vec<f64>>();
        let (rows, b) = (matrix.map(|row| float(&row)), float(&b));
        let gradient_rows = rows.clone();
        let rounding = 8.0 * UNIT_ROUNDOFF;
        let objective = FnObjective::new(
            DIM,
            Curvature::new(1.0, 73.0).expect("positive"),
            |_| f64::NAN,
            {
                let b = b.clone();
                move |x, out| {
                    for ((out, row), b) in out.iter_mut().zip(&gradient_rows).zip(&b) {
                        *out = dot(row, x) - b;
                    }
                }
            },
        )
        .with_rounding(rounding * norm(&b), rounding * 73.0 * 2.5)
        .with_hessian(
            move |_, v, out| {
                for (out, row) in out.iter_mut().zip(&rows) {
                    *out = dot(row, v);
                }
            },
            0.0,
        );
        let e: Vec<f64> = x
            .iter()
            .zip(&minimizer)
            .map(|(x, m)| (x - m) as f64)
            .collect();
        let (x, c) = (float(&x), float(&c));
        let mut loss = linear(&c, &x);
        if is_entry {
            loss.rounding.value = 0.0;
        }
        let error = norm(&e) * (1.0 + 1e-15);
        let mut state = AdjointState::new();
        let stop = AdjointStop::absolute(1e-14 * norm(&c));
        let mut scratch = objective.scratch();
        let adjoint = solve_adjoint(
            &objective,
            &x,
            bound(error),
            &loss,
            stop,
            &mut state,
            &mut scratch,
        )
        .unwrap();
        let mut gradient = vec![0.0; DIM];
        objective.gradient(&x, &mut gradient, &mut scratch);
        let interval = corrected_value(&objective, &x, &gradient, &loss, state.adjoint(), &adjoint);
        assert!(interval.lower.ceil() as i128 <= exact && exact <= interval.upper.floor() as i128);
        let off = (interval.value - exact as f64).abs();
        needed += u32::from(off > adjoint.residual * error);
        assert!(interval.upper - interval.lower < 1e-11 * norm(&c) * norm(&x));
    }
    assert!(needed > 300, "{needed}");
}

/// The squared distance is off by at most its declared rounding error, and the interval of a
/// minimiser that is known exactly contains its exact loss.
#[test]
#[expect(
    clippy::cast_possible_truncation,
    reason = "the numbers are far below the largest i128"
)]
fn the_rounding_error_of_the_squared_distance_is_declared() {
    let objective = |dim: usize, x: Vec<f64>| {
        FnObjective::new(
            dim,
            Curvature::new(1.0, 1.0).expect("positive"),
            |_| f64::NAN,
            move |y, out| {
                for ((out, y), x) in out.iter_mut().zip(y).zip(&x) {
                    *out = y - x;
                }
            },
        )
        .with_rounding(0.0, 0.0)
        .with_hessian(|_, v, out| out.copy_from_slice(v), 0.0)
        .with_product_rounding(0.0)
    };
    let mut random = Integers(2);
    let mut worst = 0.0_f64;
    for dim in (1..40).cycle().take(2000) {
        let mut vector = || (0..dim).map(|_| random.next(1 << 52)).collect::<Vec<i64>>();
        let (x, truth) = (vector(), vector());
        let squares = x
            .iter()
            .zip(&truth)
            .map(|(&x, &t)| i128::from(x - t).pow(2));
        let exact: i128 = squares.sum();
        let float = |v: &[i64]| v.iter().map(|&v| v as f64).collect::<Vec<f64>>();
        let (x, truth) = (float(&x), float(&truth));
        let mut buffer = vec![0.0; dim];
        let loss = LossAt::squared_distance(&x, &truth, &mut buffer);
        let off = (loss.value as i128 - exact).unsigned_abs() as f64;
        assert!(
            off <= loss.rounding.value,
            "{off:e} {:e}",
            loss.rounding.value
        );
        worst = worst.max(off / loss.rounding.value);
        let q = loss.gradient.to_vec();
        let (interval, _) = bounds_at(&objective(dim, x.clone()), &x, 0.0, &loss, &q);
        assert!(interval.lower as i128 <= exact && exact <= interval.upper as i128);
        assert!(interval.consistent);
    }
    assert!(worst > 0.05, "{worst}");
}
