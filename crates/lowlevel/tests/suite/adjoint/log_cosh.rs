//! A function with known minimiser, Hessian and third derivatives.

use lowlevel::{Curvature, FnObjective, StronglyConvex, UNIT_ROUNDOFF, norm};

use super::{difference, dot};

/// A symmetric matrix with eigenvalues from `mu` to `lipschitz`, in equal ratios. Its eigenvectors
/// are the axes, reflected along `mirrors`.
pub(crate) fn random_matrix(dim: usize, mu: f64, lipschitz: f64, mirrors: &[Vec<f64>]) -> Vec<f64> {
    let reflected = |v: &mut [f64], mirror: &[f64]| {
        let factor = 2.0 * dot(v, mirror) / dot(mirror, mirror).max(1e-3);
        for (v, mirror) in v.iter_mut().zip(mirror) {
            *v -= factor * mirror;
        }
    };
    let mirrors = || mirrors.iter().filter(|mirror| dot(mirror, mirror) > 1e-3);
    let mut matrix = vec![0.0; dim * dim];
    for k in 0..dim {
        let share = k as f64 / (dim as f64 - 1.0).max(1.0);
        let eigenvalue = mu * (lipschitz / mu).powf(share);
        let mut v = vec![0.0; dim];
        v[k] = 1.0;
        for mirror in mirrors() {
            reflected(&mut v, mirror);
        }
        for (i, row) in matrix.chunks_exact_mut(dim).enumerate() {
            for (entry, v_j) in row.iter_mut().zip(&v) {
                *entry += eigenvalue * (v[i] * v_j);
            }
        }
    }
    matrix
}

/// The largest value of `$|(\log\cosh)'''| = 2\tanh\,\mathrm{sech}^2$`.
const LOG_COSH_THIRD: f64 = 0.769_800_358_919_502; // 4 / (3 sqrt 3)

/// `$\frac12 x^T(A + \xi I)x - b^T x + s\sum_j\log\cosh(c x_j)$`, whose minimiser is known: `b` is
/// chosen for it.
#[derive(Clone, Debug)]
pub(crate) struct LogCosh {
    pub(crate) matrix: Vec<f64>,
    pub(crate) curvature: Curvature,
    pub(crate) linear: Vec<f64>,
    pub(crate) xi: f64,
    pub(crate) s: f64,
    pub(crate) c: f64,
}

impl LogCosh {
    pub(crate) fn gradient(&self, x: &[f64], out: &mut [f64]) {
        let dim = x.len();
        for (j, out) in out.iter_mut().enumerate() {
            let row = &self.matrix[j * dim..(j + 1) * dim];
            *out = dot(row, x) + self.xi * x[j] - self.linear[j]
                + self.s * self.c * (self.c * x[j]).tanh();
        }
    }

    pub(crate) fn product(&self, x: &[f64], v: &[f64], out: &mut [f64]) {
        let dim = x.len();
        for (j, out) in out.iter_mut().enumerate() {
            let row = &self.matrix[j * dim..(j + 1) * dim];
            let bent = self.s * (self.c / (self.c * x[j]).cosh()).powi(2);
            *out = dot(row, v) + (self.xi + bent) * v[j];
        }
    }

    fn third_derivative(&self) -> f64 {
        LOG_COSH_THIRD * self.s * self.c.powi(3)
    }

    pub(crate) fn objective(&self) -> impl StronglyConvex<Scratch = Vec<f64>> + use<> {
        let dim = self.linear.len();
        let most = self.curvature.lipschitz() + self.xi + self.s * self.c * self.c;
        let curvature = Curvature::new(self.curvature.strong_convexity() + self.xi, most);
        let rounding = 2.0 * (dim as f64 + 16.0) * UNIT_ROUNDOFF;
        let largest = self.s * self.c * dim as f64 + norm(&self.linear);
        let (own, other, third) = (self.clone(), self.clone(), self.third_derivative());
        FnObjective::new(
            dim,
            curvature.expect("positive"),
            |_| f64::NAN, // never needed
            move |x, out| own.gradient(x, out),
        )
        .with_rounding(rounding * largest, rounding * (dim as f64).sqrt() * most)
        .with_hessian(move |x, v, out| other.product(x, v, out), third)
        .with_product_rounding(rounding * (dim as f64).sqrt() * most)
    }

    /// Solves with the Hessian at `x`, by elimination with two steps of refinement.
    pub(crate) fn solve(&self, x: &[f64], rhs: &[f64]) -> Vec<f64> {
        let dim = x.len();
        let mut q = vec![0.0; dim];
        for _ in 0..3 {
            let mut product = vec![0.0; dim];
            self.product(x, &q, &mut product);
            let correction = self.eliminate(x, difference(rhs, &product));
            for (q, correction) in q.iter_mut().zip(correction) {
                *q += correction;
            }
        }
        q
    }

    fn eliminate(&self, x: &[f64], mut rhs: Vec<f64>) -> Vec<f64> {
        let dim = x.len();
        let mut columns: Vec<Vec<f64>> = (0..dim)
            .map(|j| {
                let mut unit = vec![0.0; dim];
                unit[j] = 1.0;
                let mut column = vec![0.0; dim];
                self.product(x, &unit, &mut column);
                column
            })
            .collect();
        for k in 0..dim {
            for i in k + 1..dim {
                let factor = columns[k][i] / columns[k][k];
                for column in &mut columns[k..] {
                    column[i] -= factor * column[k];
                }
                rhs[i] -= factor * rhs[k];
            }
        }
        for k in (0..dim).rev() {
            rhs[k] /= columns[k][k];
            let solved = rhs[k];
            for (rhs, entry) in rhs[..k].iter_mut().zip(&columns[k]) {
                *rhs -= solved * entry;
            }
        }
        rhs
    }
}
