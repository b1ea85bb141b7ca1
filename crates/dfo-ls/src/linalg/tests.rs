use super::*;
use proptest::prelude::*;

/// Numbers for tests, reproducible from a seed.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed ^ 0x9e37_79b9_7f4a_7c15)
    }

    /// Uniform in (-1, 1).
    pub(crate) fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / 2_f64.powi(52) - 1.0
    }

    pub(crate) fn vector(&mut self, n: usize) -> Vec<f64> {
        (0..n).map(|_| self.next()).collect()
    }

    pub(crate) fn matrix(&mut self, rows: usize, cols: usize) -> Matrix {
        Matrix::from_fn(rows, cols, |_, _| self.next())
    }

    /// `$Q \operatorname{diag}(\lambda) Q^T$` with random orthogonal `$Q$`, which is returned too.
    pub(crate) fn symmetric(&mut self, eigenvalues: &[f64]) -> (Matrix, Matrix) {
        let n = eigenvalues.len();
        let a = self.matrix(n, n);
        let seed = Matrix::from_fn(n, n, |i, j| a[(i, j)] + a[(j, i)]);
        let (_, q) = symmetric_eigen(&seed).unwrap();
        let scaled = Matrix::from_fn(n, n, |i, j| q[(i, j)] * eigenvalues[j]);
        let h = naive_product(&scaled, &q.transpose());
        let h = Matrix::from_fn(n, n, |i, j| 0.5 * (h[(i, j)] + h[(j, i)]));
        (h, q)
    }
}

fn naive_product(a: &Matrix, b: &Matrix) -> Matrix {
    Matrix::from_fn(a.rows(), b.cols(), |i, j| {
        (0..a.cols()).map(|k| a[(i, k)] * b[(k, j)]).sum()
    })
}

pub(crate) fn distance(a: &Matrix, b: &Matrix) -> f64 {
    assert_eq!((a.rows(), a.cols()), (b.rows(), b.cols()));
    let differences = a.as_slice().iter().zip(b.as_slice());
    differences.map(|(x, y)| (x - y).abs()).fold(0.0, f64::max)
}

proptest! {
    #[test]
    fn vectors_agree_with_naive(seed in any::<u64>(), n in 0_usize..40) {
        let mut random = Random::new(seed);
        let (x, y) = (random.vector(n), random.vector(n));
        let expected: f64 = x.iter().zip(&y).map(|(a, b)| a * b).sum();
        prop_assert!((dot(&x, &y) - expected).abs() < 1e-13);
        let length = x.iter().map(|v| v * v).sum::<f64>().sqrt();
        for scale in [1.0, 1e-300, 1e300, 1e-160, 1e160] {
            let scaled: Vec<f64> = x.iter().map(|v| v * scale).collect();
            prop_assert!((norm(&scaled) - length * scale).abs() <= 1e-14 * length * scale);
        }
    }

    #[test]
    fn products_agree_with_naive(seed in any::<u64>(), m in 0_usize..30, n in 0_usize..30, k in 0_usize..30) {
        let mut random = Random::new(seed);
        let (a, b) = (random.matrix(m, k), random.matrix(k, n));
        let expected = naive_product(&a, &b);
        prop_assert!(distance(&product(&a, &b), &expected) < 1e-13);
        prop_assert!(distance(&product_transposed(&a.transpose(), &b), &expected) < 1e-13);
        for j in 0..n {
            let (mut out, mut other) = (vec![1.0; m], vec![1.0; m]);
            a.mul_vec(b.col(j), &mut out);
            a.transpose().mul_vec_transposed(b.col(j), &mut other);
            for i in 0..m {
                prop_assert!((out[i] - expected[(i, j)]).abs() < 1e-13);
                prop_assert!((other[i] - expected[(i, j)]).abs() < 1e-13);
            }
        }
        let (x, y) = (random.vector(m), random.vector(n));
        let mut sum = expected.clone();
        sum.add_outer(2.0, &x, &y);
        let outer = Matrix::from_fn(m, n, |i, j| expected[(i, j)] + 2.0 * x[i] * y[j]);
        prop_assert!(distance(&sum, &outer) < 1e-13);
    }

    #[test]
    fn cholesky_solves(seed in any::<u64>(), n in 1_usize..50, log_scale in -280..280_i32) {
        let mut random = Random::new(seed);
        let a = random.matrix(n, n);
        let mut h = product_transposed(&a, &a);
        (0..n).for_each(|i| h[(i, i)] += 0.1);
        let scale = 10_f64.powi(log_scale);
        h.as_mut_slice().iter_mut().for_each(|entry| *entry *= scale);
        let x = random.vector(n);
        let mut b = vec![0.0; n];
        h.mul_vec(&x, &mut b);
        let factor = cholesky(&h).unwrap();
        factor.solve_in_place(&mut b);
        prop_assert!(b.iter().zip(&x).all(|(b, x)| (b - x).abs() < 1e-9));
        // one negative eigenvalue
        h.as_mut_slice().iter_mut().for_each(|entry| *entry /= scale);
        h[(n - 1, n - 1)] -= 100.0 * n as f64;
        prop_assert!(cholesky(&h).is_none());
    }

    #[test]
    fn inverses_invert(seed in any::<u64>(), n in 1_usize..40, log_rows in -100..100_i32, log_cols in -100..100_i32) {
        let mut random = Random::new(seed);
        let a = random.matrix(n, n);
        prop_assume!(pseudo_inverse(&a, 1e-5).1 == n);
        let scales = |log: i32, i: usize| 10_f64.powi(if i.is_multiple_of(2) { log } else { -log / 2 });
        let b = Matrix::from_fn(n, n, |i, j| a[(i, j)] * scales(log_rows, i) * scales(log_cols, j));
        let found = inverse(&b).unwrap();
        let found = Matrix::from_fn(n, n, |i, j| found[(i, j)] * scales(log_cols, i) * scales(log_rows, j));
        prop_assert!(distance(&product(&found, &a), &Matrix::identity(n)) < 1e-8);
    }

    /// `[[K, Z], [Z', 0]]`, as in interpolation, badly scaled.
    #[test]
    fn saddle_points_are_inverted(seed in any::<u64>(), n in 1_usize..24, log_scale in -40..40_i32) {
        let mut random = Random::new(seed);
        let size = 2 * n;
        let (k, z) = (random.matrix(n, n), random.matrix(n, n));
        prop_assume!(pseudo_inverse(&z, 1e-4).1 == n);
        let k = product_transposed(&k, &k);
        let entry = |i: usize, j: usize| match (i < n, j < n) {
            (true, true) => k[(i, j)],
            (true, false) => z[(i, j - n)],
            (false, true) => z[(j, i - n)],
            (false, false) => 0.0,
        };
        let scale = |i: usize| if i < n { 10_f64.powi(log_scale) } else { 10_f64.powi(-2 * log_scale) };
        let a = Matrix::from_fn(size, size, |i, j| entry(i, j) * scale(i) * scale(j));
        let found = inverse_symmetric(&a).unwrap();
        prop_assert_eq!(&found, &found.transpose());
        let found = Matrix::from_fn(size, size, |i, j| found[(i, j)] * scale(i) * scale(j));
        let plain = Matrix::from_fn(size, size, entry);
        prop_assert!(distance(&product(&found, &plain), &Matrix::identity(size)) < 1e-6);
    }

    #[test]
    fn decompositions_reconstruct(seed in any::<u64>(), d in 1_usize..14, k in 0_usize..14, r in 0_usize..14) {
        let mut random = Random::new(seed);
        let rank = r.min(d).min(k);
        let (left, right) = (random.matrix(d, rank), random.matrix(rank, k));
        prop_assume!(pseudo_inverse(&left, 1e-3).1 == rank && pseudo_inverse(&right, 1e-3).1 == rank);
        let a = product(&left, &right);
        let (inverse, found) = pseudo_inverse(&a, 1e-9);
        prop_assert_eq!(found, rank);
        prop_assert!(distance(&product(&product(&a, &inverse), &a), &a) < 1e-10);
        let complement = orthogonal_complement(&a, 1e-9);
        prop_assert_eq!(complement.cols(), d - rank);
        let gram = product_transposed(&complement, &complement);
        prop_assert!(distance(&gram, &Matrix::identity(d - rank)) < 1e-12);
        prop_assert!(max_abs(product_transposed(&complement, &a).as_slice()) < 1e-11);
        let square = product_transposed(&a, &a);
        let (values, vectors) = symmetric_eigen(&square).unwrap();
        let scaled = Matrix::from_fn(k, k, |i, j| vectors[(i, j)] * values[j]);
        prop_assert!(distance(&product(&scaled, &vectors.transpose()), &square) < 1e-11);
        prop_assert!(values.is_sorted());
    }
}

#[test]
fn singular_matrices_have_no_inverse() {
    let singular = Matrix::from_fn(3, 3, |i, j| (3 * i + j) as f64);
    assert!(inverse(&singular).is_none());
    let symmetric = product_transposed(&singular, &singular);
    assert!(inverse_symmetric(&symmetric).is_none());
    assert!(cholesky(&symmetric).is_none());
    let zero = Matrix::zeros(2, 2);
    assert!(inverse(&zero).is_none() && inverse_symmetric(&zero).is_none());
    assert!(cholesky(&zero).is_none());
}

#[test]
fn nan_has_no_inverse() {
    for n in [2, 30] {
        for bad in [f64::NAN, f64::INFINITY] {
            let mut a = Matrix::identity(n);
            a[(n - 1, n - 2)] = bad;
            a[(n - 2, n - 1)] = bad;
            assert!(inverse(&a).is_none() && inverse_symmetric(&a).is_none());
            assert!(cholesky(&a).is_none() && symmetric_eigen(&a).is_none());
            assert_eq!(pseudo_inverse(&a, 1e-10).1, 0);
            assert_eq!(orthogonal_complement(&a, 1e-10).cols(), 0);
        }
    }
}

#[test]
fn empty_matrices_are_no_trouble() {
    let none = Matrix::zeros(0, 0);
    assert_eq!(inverse(&none), Some(none.clone()));
    assert_eq!(inverse_symmetric(&none), Some(none.clone()));
    assert!(cholesky(&none).is_some() && symmetric_eigen(&none).is_some());
    assert_eq!(pseudo_inverse(&Matrix::zeros(3, 0), 0.0).1, 0);
    assert_eq!(orthogonal_complement(&Matrix::zeros(3, 0), 0.0).cols(), 3);
    assert_eq!(norm(&[]).to_bits(), 0);
}

#[test]
fn memory_is_reused() {
    let mut a = Matrix::from_fn(2, 3, |i, j| (i + 10 * j) as f64);
    assert_eq!(a.as_slice(), [0.0, 1.0, 10.0, 11.0, 20.0, 21.0]);
    assert_eq!(a.col(1), [10.0, 11.0]);
    a.reset(1, 2);
    assert_eq!(a, Matrix::zeros(1, 2));
}

#[test]
fn powers_of_two() {
    for e in -1074..=1023 {
        let power = power_of_two(e);
        assert!((power - 2_f64.powi(e / 2) * 2_f64.powi(e - e / 2)).abs() == 0.0);
        assert_eq!(exponent(power), e.max(-1022));
    }
    assert!(power_of_two(-1075) == 0.0 && power_of_two(1024) == f64::INFINITY);
    assert_eq!(exponent(0.0), -1022);
    assert_eq!(exponent(-3.0), 1);
}
