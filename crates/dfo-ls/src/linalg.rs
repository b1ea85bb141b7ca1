//! Dense linear algebra. This is the only file that uses faer: large matrices are passed to it, on
//! one thread, so that results do not depend on the number of threads. Small matrices use plain
//! loops, which are faster and give the same results on every machine.

mod matrix;
#[cfg(test)]
pub(crate) mod tests;
mod vector;

pub(crate) use matrix::Matrix;
pub(crate) use vector::{
    all_finite, axpy, dot, dot_difference, exponent, max_abs, norm, power_of_two,
};

use faer::diag::Diag;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::lblt::{factor as lblt, inverse as lblt_inverse};
use faer::linalg::cholesky::llt::factor as llt;
use faer::linalg::evd::{ComputeEigenvectors, self_adjoint_evd, self_adjoint_evd_scratch};
use faer::linalg::lu::partial_pivoting::{factor as lu, inverse as lu_inverse};
use faer::linalg::matmul::matmul;
use faer::linalg::svd::{ComputeSvdVectors, svd, svd_scratch};
use faer::prelude::default;
use faer::{Accum, MatMut, MatRef, Par};

/// The number of multiplications up to which a product is a plain loop.
const SMALL_PRODUCT: usize = 512;
/// The size up to which a Cholesky factorisation is a plain loop.
const SMALL_CHOLESKY: usize = 20;

fn view(a: &Matrix) -> MatRef<'_, f64> {
    MatRef::from_column_major_slice(a.as_slice(), a.rows(), a.cols())
}

fn view_mut(a: &mut Matrix) -> MatMut<'_, f64> {
    let (rows, cols) = (a.rows(), a.cols());
    MatMut::from_column_major_slice_mut(a.as_mut_slice(), rows, cols)
}

/// The product `$AB$`.
pub(crate) fn product(a: &Matrix, b: &Matrix) -> Matrix {
    assert_eq!(a.cols(), b.rows());
    let mut out = Matrix::zeros(a.rows(), b.cols());
    if a.rows() * a.cols() * b.cols() <= SMALL_PRODUCT {
        for j in 0..b.cols() {
            a.mul_vec(b.col(j), out.col_mut(j));
        }
    } else {
        let target = view_mut(&mut out);
        matmul(target, Accum::Replace, view(a), view(b), 1.0, Par::Seq);
    }
    out
}

/// The product `$A^T B$`.
pub(crate) fn product_transposed(a: &Matrix, b: &Matrix) -> Matrix {
    assert_eq!(a.rows(), b.rows());
    let mut out = Matrix::zeros(a.cols(), b.cols());
    if a.rows() * a.cols() * b.cols() <= SMALL_PRODUCT {
        for j in 0..b.cols() {
            a.mul_vec_transposed(b.col(j), out.col_mut(j));
        }
    } else {
        let (target, left) = (view_mut(&mut out), view(a).transpose());
        matmul(target, Accum::Replace, left, view(b), 1.0, Par::Seq);
    }
    out
}

/// The Cholesky factorisation `$A + \sigma I = LL^T$`. Its memory is reused from one factorisation
/// to the next.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cholesky {
    /// The factor `$L$` in the lower triangle. The rest is unspecified.
    lower: Matrix,
}

/// Factorises a symmetric matrix; `None` if it is not numerically positive definite. Only the lower
/// triangle is read.
pub(crate) fn cholesky(a: &Matrix) -> Option<Cholesky> {
    let mut factor = Cholesky::default();
    factor.factorize(a, 0.0).then_some(factor)
}

impl Cholesky {
    /// Factorises `$A + \sigma I$`. Returns `false`, without a factorisation, unless each pivot is
    /// well above the rounding error of the diagonal entry:
    /// `$L_{jj}^2 > n\varepsilon (A_{jj} + \sigma)$`. This condition does not depend on the scale
    /// of the variables.
    pub(crate) fn factorize(&mut self, a: &Matrix, shift: f64) -> bool {
        let n = a.rows();
        assert_eq!(n, a.cols());
        self.lower.copy_from(a);
        for j in 0..n {
            self.lower[(j, j)] += shift;
        }
        let done = if n <= SMALL_CHOLESKY {
            self.factorize_in_place()
        } else {
            let scratch = llt::cholesky_in_place_scratch::<f64>(n, Par::Seq, default());
            let mut memory = MemBuffer::new(scratch);
            let stack = MemStack::new(&mut memory);
            let target = view_mut(&mut self.lower);
            llt::cholesky_in_place(target, default(), Par::Seq, stack, default()).is_ok()
        };
        let least = n as f64 * f64::EPSILON;
        done && (0..n).all(|j| self.lower[(j, j)].powi(2) > least * (a[(j, j)] + shift))
    }

    /// Factorises column by column, each from those before it.
    fn factorize_in_place(&mut self) -> bool {
        let n = self.lower.rows();
        for j in 0..n {
            let (column, before) = self.lower.col_and_before(j);
            let column = &mut column[j..];
            for earlier in before.chunks_exact(n) {
                axpy(-earlier[j], &earlier[j..], column);
            }
            let pivot = column[0];
            if !(pivot > 0.0 && pivot < f64::INFINITY) {
                return false;
            }
            let scale = pivot.sqrt().recip();
            for entry in column {
                *entry *= scale;
            }
        }
        true
    }

    /// Replaces `x` by `$L^{-1} x$`.
    pub(crate) fn solve_lower_in_place(&self, x: &mut [f64]) {
        for j in 0..x.len() {
            let column = &self.lower.col(j)[j..];
            let (head, tail) = x[j..].split_at_mut(1);
            head[0] /= column[0];
            axpy(-head[0], &column[1..], tail);
        }
    }

    /// Replaces `x` by `$(A + \sigma I)^{-1} x$`.
    pub(crate) fn solve_in_place(&self, x: &mut [f64]) {
        self.solve_lower_in_place(x);
        self.solve_upper_in_place(x);
    }

    /// Replaces `x` by `$L^{-T} x$`.
    pub(crate) fn solve_upper_in_place(&self, x: &mut [f64]) {
        for j in (0..x.len()).rev() {
            let column = &self.lower.col(j)[j..];
            let (head, tail) = x[j..].split_at_mut(1);
            head[0] = (head[0] - dot(&column[1..], tail)) / column[0];
        }
    }
}

/// The inverse of a square matrix, by elimination with partial pivoting. The rows are first scaled
/// to the same size. `None` if a pivot is at most the rounding error of its column, or if an entry
/// is not finite.
pub(crate) fn inverse(a: &Matrix) -> Option<Matrix> {
    let n = a.rows();
    assert_eq!(n, a.cols());
    let mut scales = vec![0.0_f64; n];
    for j in 0..n {
        for (scale, entry) in scales.iter_mut().zip(a.col(j)) {
            *scale = scale.max(entry.abs());
        }
    }
    for scale in &mut scales {
        *scale = power_of_two(-exponent(*scale));
    }
    let mut work = a.clone();
    for j in 0..n {
        scale_by(work.col_mut(j), &scales);
    }
    if !all_finite(work.as_slice()) {
        return None;
    }
    let least: Vec<f64> = (0..n)
        .map(|j| n as f64 * f64::EPSILON * max_abs(work.col(j)))
        .collect();
    let (mut forward, mut backward) = (vec![0_usize; n], vec![0_usize; n]);
    let factor = lu::lu_in_place_scratch::<usize, f64>(n, n, Par::Seq, default());
    let invert = lu_inverse::inverse_scratch::<usize, f64>(n, Par::Seq);
    let mut memory = MemBuffer::new(factor.or(invert));
    let stack = MemStack::new(&mut memory);
    let (_, order) = lu::lu_in_place(
        view_mut(&mut work),
        &mut forward,
        &mut backward,
        Par::Seq,
        stack,
        default(),
    );
    if !(0..n).all(|j| work[(j, j)].abs() > least[j]) {
        return None;
    }
    let mut out = Matrix::zeros(n, n);
    let target = view_mut(&mut out);
    lu_inverse::inverse(target, view(&work), view(&work), order, Par::Seq, stack);
    for (j, scale) in scales.iter().enumerate() {
        out.col_mut(j).iter_mut().for_each(|entry| *entry *= scale);
    }
    all_finite(out.as_slice()).then_some(out)
}

/// The inverse of a symmetric matrix, definite or not, by Bunch and Kaufman's factorisation
/// `$LBL^T$`. The inverse is exactly symmetric. Rows and columns are first scaled to the same size.
/// `None` if the inverse is so large that the matrix is singular up to rounding.
pub(crate) fn inverse_symmetric(a: &Matrix) -> Option<Matrix> {
    let n = a.rows();
    assert_eq!(n, a.cols());
    // The largest entry of each row of the lower triangle becomes one: Bunch, J. ACM 18 (1971).
    let mut scales: Vec<f64> = Vec::with_capacity(n);
    for j in 0..n {
        let column = a.col(j);
        let before = column.iter().zip(&scales).map(|(entry, s)| entry.abs() * s);
        let largest = before.fold(column[j].abs().sqrt(), f64::max);
        scales.push(power_of_two(-exponent(largest)));
    }
    let mut work = a.clone();
    for (j, scale) in scales.iter().enumerate() {
        for (entry, other) in work.col_mut(j).iter_mut().zip(&scales) {
            *entry *= scale * other;
        }
    }
    if !all_finite(work.as_slice()) {
        return None;
    }
    let mut below = Diag::<f64>::zeros(n);
    let (mut forward, mut backward) = (vec![0_usize; n], vec![0_usize; n]);
    let factor = lblt::cholesky_in_place_scratch::<usize, f64>(n, Par::Seq, default());
    let invert = lblt_inverse::inverse_scratch::<usize, f64>(n, Par::Seq);
    let mut memory = MemBuffer::new(factor.or(invert));
    let stack = MemStack::new(&mut memory);
    let (_, order) = lblt::cholesky_in_place(
        view_mut(&mut work),
        below.as_mut(),
        &mut forward,
        &mut backward,
        Par::Seq,
        stack,
        default(),
    );
    let mut out = Matrix::zeros(n, n);
    lblt_inverse::inverse(
        view_mut(&mut out),
        view(&work),
        view(&work).diagonal(),
        below.as_ref(),
        order,
        Par::Seq,
        stack,
    );
    let largest = max_abs(out.as_slice());
    let entries = out.as_mut_slice();
    for j in 0..n {
        for i in 0..=j {
            let (upper, lower) = (i + j * n, j + i * n);
            let mean = 0.5 * (entries[upper] + entries[lower]) * (scales[i] * scales[j]);
            entries[upper] = mean;
            entries[lower] = mean;
        }
    }
    let regular = largest * n as f64 * f64::EPSILON < 1.0;
    (regular && all_finite(out.as_slice())).then_some(out)
}

fn scale_by(x: &mut [f64], scales: &[f64]) {
    x.iter_mut().zip(scales).for_each(|(v, s)| *v *= s);
}

/// The eigenvalues of a symmetric matrix in increasing order, and its eigenvectors as columns. Only
/// the lower triangle is read.
pub(crate) fn symmetric_eigen(a: &Matrix) -> Option<(Vec<f64>, Matrix)> {
    let n = a.rows();
    assert_eq!(n, a.cols());
    if !all_finite(a.as_slice()) {
        return None;
    }
    let mut vectors = Matrix::zeros(n, n);
    if n == 0 {
        // faer's scratch size would underflow, since it needs n - 1
        return Some((Vec::new(), vectors));
    }
    let mut values = Diag::<f64>::zeros(n);
    let scratch = self_adjoint_evd_scratch::<f64>(n, ComputeEigenvectors::Yes, Par::Seq, default());
    self_adjoint_evd(
        view(a),
        values.as_mut(),
        Some(view_mut(&mut vectors)),
        Par::Seq,
        MemStack::new(&mut MemBuffer::new(scratch)),
        default(),
    )
    .ok()?;
    let values = values.column_vector().iter().copied().collect();
    Some((values, vectors))
}

/// The singular value decomposition `$A = U \operatorname{diag}(s) V^T$`, with `$s$` decreasing.
struct Svd {
    left: Matrix,
    values: Vec<f64>,
    right: Matrix,
}

/// Computes the singular value decomposition. `$U$` and `$V$` are square if `full`, and as narrow
/// as possible otherwise. `None` if the matrix is empty or an entry is not finite.
fn singular_values(a: &Matrix, full: bool) -> Option<Svd> {
    let (m, n) = (a.rows(), a.cols());
    let size = m.min(n);
    if size == 0 || !all_finite(a.as_slice()) {
        return None;
    }
    let mut left = Matrix::zeros(m, if full { m } else { size });
    let mut right = Matrix::zeros(n, if full { n } else { size });
    let mut values = Diag::<f64>::zeros(size);
    let kind = if full {
        ComputeSvdVectors::Full
    } else {
        ComputeSvdVectors::Thin
    };
    let scratch = svd_scratch::<f64>(m, n, kind, kind, Par::Seq, default());
    svd(
        view(a),
        values.as_mut(),
        Some(view_mut(&mut left)),
        Some(view_mut(&mut right)),
        Par::Seq,
        MemStack::new(&mut MemBuffer::new(scratch)),
        default(),
    )
    .ok()?;
    let values = values.column_vector().iter().copied().collect();
    Some(Svd {
        left,
        values,
        right,
    })
}

/// The number of singular values that exceed `relative_tolerance` times the largest.
fn rank(values: &[f64], relative_tolerance: f64) -> usize {
    let least = values.first().map_or(0.0, |top| top * relative_tolerance);
    values.iter().take_while(|value| **value > least).count()
}

/// The pseudo-inverse and the rank. Singular values up to `relative_tolerance` times the largest
/// count as zero. The result is a zero matrix of rank 0 if an entry is not finite.
pub(crate) fn pseudo_inverse(a: &Matrix, relative_tolerance: f64) -> (Matrix, usize) {
    let Some(svd) = singular_values(a, false) else {
        return (Matrix::zeros(a.cols(), a.rows()), 0);
    };
    let rank = rank(&svd.values, relative_tolerance);
    let right = Matrix::from_fn(rank, a.cols(), |k, i| svd.right[(i, k)] / svd.values[k]);
    let left = Matrix::from_fn(rank, a.rows(), |k, i| svd.left[(i, k)]);
    (product_transposed(&right, &left), rank)
}

/// An orthonormal basis of the orthogonal complement of the columns of `a`. A `d x k` matrix gives
/// a `d x (d - rank)` one.
pub(crate) fn orthogonal_complement(a: &Matrix, relative_tolerance: f64) -> Matrix {
    let d = a.rows();
    if a.cols() == 0 || d == 0 {
        return Matrix::identity(d);
    }
    let Some(svd) = singular_values(a, true) else {
        return Matrix::zeros(d, 0);
    };
    let rank = rank(&svd.values, relative_tolerance);
    Matrix::from_fn(d, d - rank, |i, j| svd.left[(i, rank + j)])
}
