//! Quadratic models of the residuals, with the least curvature that explains the points, and the
//! quartic model of the objective that they give.
//!
//! With `$u = s/\Delta$`, points `$z_t = (y_t - x_k)/\Delta$` in the rows of `$Z$` and
//! `$K_{ts} = (z_t^\top z_s)^2/2$`, the quadratic interpolants of least Frobenius norm of all
//! residuals are `$\tilde r(u) = r_k + \sum_t \beta_t(u)\,(r_t - r_k)$` with
//!
//! ```math
//! \beta(u) = L^\top u + \tfrac12 A\,(Zu)^2, \qquad
//! \begin{pmatrix} A & L^\top \\ L & * \end{pmatrix} = \begin{pmatrix} K + \Lambda & Z \\ Z^\top & 0 \end{pmatrix}^{-1}.
//! ```
//!
//! The square is elementwise. `$\Lambda$` is a ridge, which is small for points beyond the `$d$` of
//! the interpolation set and larger for points whose residuals are inexact. The model of the
//! objective has all terms up to the fourth order:
//! `$\|\tilde r(u)\|^2 = f_k + 2b^\top\beta + \beta^\top G \beta$` with
//! `$B = L^\top + A\,\mathrm{diag}(Zu)\,Z$`, `$q = b + G\beta$`, gradient `$2B^\top q$` and Hessian
//! `$2B^\top G B + 2 Z^\top \mathrm{diag}(A q)\,Z$`.

use crate::linalg::{Matrix, axpy, dot, inverse_symmetric, product, product_transposed};

/// The ridge for points beyond the interpolation set (measured: decision record 7).
const RIDGE: f64 = 1e-12;
/// The ridge for all points, relative to the largest entry of `$K$`, which keeps the matrix regular
/// in spite of rounding. Not tuned.
const FLOOR: f64 = 1e-13;
/// The smallest squared distance, in multiples of the radius, that rows are scaled by. Not tuned.
const LEAST_SCALE: f64 = 1e-8;
/// The smallest squared distance, in multiples of the radius, that enters the ridge. Not tuned.
const LEAST_RIDGE_DISTANCE: f64 = 0.01;

/// A quadratic model of all residuals.
#[derive(Clone, Debug)]
pub(crate) struct CompositeModel {
    /// The points `$Z^\top$`, one per column.
    points: Matrix,
    /// The matrix `$L$`, with one column per point.
    slopes: Matrix,
    /// The matrix `$A$`.
    curvatures: Matrix,
    /// The matrix `$G$`.
    gram: Matrix,
    /// The vector `$b$`.
    along: Vec<f64>,
}

/// The second-order expansion of the model of the objective around a point:
/// `$m(u + v) \approx m(u) + g^\top v + v^\top H v/2$`.
#[derive(Clone, Debug)]
pub(crate) struct Taylor {
    pub(crate) gradient: Vec<f64>,
    pub(crate) hessian: Matrix,
}

impl CompositeModel {
    /// Builds the model. The columns of `points` are `$z_t$`, the first `$d$` of which belong to
    /// the interpolation set. `noise` has the error of each point's residuals, in units of the
    /// residuals' curvature over the trust region. `None` if the system is numerically singular.
    pub(crate) fn new(
        points: Matrix,
        noise: &[f64],
        gram: Matrix,
        along: Vec<f64>,
    ) -> Option<Self> {
        let (d, p) = (points.rows(), points.cols());
        let squares: Vec<f64> = (0..p).map(|t| dot(points.col(t), points.col(t))).collect();
        let largest = squares.iter().fold(0.0_f64, |a, b| a.max(*b));
        let floor = FLOOR * (largest * largest).max(1.0);
        let weight = |t: usize| 1.0 / squares[t].max(LEAST_SCALE);
        let mut kkt = product_transposed(&points, &points);
        let mut full = Matrix::zeros(p + d, p + d);
        for t in 0..p {
            for s in 0..p {
                let inner = kkt[(s, t)];
                full[(s, t)] = 0.5 * inner * inner * weight(s) * weight(t);
            }
            let extra = if t >= d {
                RIDGE * squares[t].max(LEAST_RIDGE_DISTANCE).powi(3)
            } else {
                0.0
            };
            full[(t, t)] += (floor + extra + noise[t] * noise[t]) * weight(t) * weight(t);
            for j in 0..d {
                let entry = points[(j, t)] * weight(t);
                full[(t, p + j)] = entry;
                full[(p + j, t)] = entry;
            }
        }
        let inverse = inverse_symmetric(&full)?;
        kkt.reset(p, p);
        for t in 0..p {
            for s in 0..p {
                kkt[(s, t)] = inverse[(s, t)] * weight(s) * weight(t);
            }
        }
        let slopes = Matrix::from_fn(d, p, |j, t| inverse[(p + j, t)] * weight(t));
        let finite = |m: &Matrix| m.as_slice().iter().all(|x| x.is_finite());
        (finite(&kkt) && finite(&slopes)).then_some(Self {
            points,
            slopes,
            curvatures: kkt,
            gram,
            along,
        })
    }

    /// The products `$Zu$`.
    fn projections(&self, u: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; self.points.cols()];
        self.points.mul_vec_transposed(u, &mut out);
        out
    }

    /// The coefficients `$\beta(u)$`.
    fn coefficients(&self, u: &[f64], projections: &[f64]) -> Vec<f64> {
        let half_squares: Vec<f64> = projections.iter().map(|x| 0.5 * x * x).collect();
        let mut beta = vec![0.0; half_squares.len()];
        self.curvatures.mul_vec(&half_squares, &mut beta);
        let mut linear = vec![0.0; beta.len()];
        self.slopes.mul_vec_transposed(u, &mut linear);
        for (beta, linear) in beta.iter_mut().zip(&linear) {
            *beta += linear;
        }
        beta
    }

    /// The change `$\|\tilde r(u)\|^2 - \|r_k\|^2$` of the objective.
    pub(crate) fn change(&self, u: &[f64]) -> f64 {
        let beta = self.coefficients(u, &self.projections(u));
        let mut image = vec![0.0; beta.len()];
        self.gram.mul_vec(&beta, &mut image);
        2.0 * dot(&self.along, &beta) + dot(&beta, &image)
    }

    /// The gradient of the model of the objective.
    pub(crate) fn gradient(&self, u: &[f64]) -> Vec<f64> {
        let projections = self.projections(u);
        let q = self.residual_products(u, &projections);
        // B^T q = L q + Z^T diag(Zu) A q
        let mut gradient = vec![0.0; u.len()];
        self.slopes.mul_vec(&q, &mut gradient);
        let mut curved = vec![0.0; q.len()];
        self.curvatures.mul_vec(&q, &mut curved);
        for (c, x) in curved.iter_mut().zip(&projections) {
            *c *= x;
        }
        let mut second = vec![0.0; u.len()];
        self.points.mul_vec(&curved, &mut second);
        gradient
            .iter()
            .zip(&second)
            .map(|(a, b)| 2.0 * (a + b))
            .collect()
    }

    /// The vector `$q = b + G\beta(u)$`.
    fn residual_products(&self, u: &[f64], projections: &[f64]) -> Vec<f64> {
        let beta = self.coefficients(u, projections);
        let mut q = vec![0.0; beta.len()];
        self.gram.mul_vec(&beta, &mut q);
        for (q, b) in q.iter_mut().zip(&self.along) {
            *q += b;
        }
        q
    }

    /// The second-order expansion around `u`.
    pub(crate) fn taylor(&self, u: &[f64]) -> Taylor {
        let (d, p) = (self.points.rows(), self.points.cols());
        let projections = self.projections(u);
        let q = self.residual_products(u, &projections);
        // B^T: one column per point
        let mut jacobian = self.slopes.clone();
        if projections.iter().any(|x| *x != 0.0) {
            let weighted = Matrix::from_fn(d, p, |j, t| self.points[(j, t)] * projections[t]);
            let curved = product(&weighted, &self.curvatures);
            axpy(1.0, curved.as_slice(), jacobian.as_mut_slice());
        }
        let mut gradient = vec![0.0; d];
        jacobian.mul_vec(&q, &mut gradient);
        for g in &mut gradient {
            *g *= 2.0;
        }
        let mut curvature = vec![0.0; p];
        self.curvatures.mul_vec(&q, &mut curvature);
        // B^T G B + Z^T diag(A q) Z, both in one product
        let half = product(&jacobian, &self.gram);
        let left = Matrix::from_fn(2 * p, d, |t, j| {
            if t < p {
                half[(j, t)]
            } else {
                self.points[(j, t - p)] * curvature[t - p]
            }
        });
        let right = Matrix::from_fn(2 * p, d, |t, j| {
            if t < p {
                jacobian[(j, t)]
            } else {
                self.points[(j, t - p)]
            }
        });
        let sum = product_transposed(&left, &right);
        let hessian = Matrix::from_fn(d, d, |i, j| sum[(i, j)] + sum[(j, i)]);
        Taylor { gradient, hessian }
    }

    /// The norm `$\sqrt{\sum_i \|H_i\|_F^2}$` of the curvature of all residuals over the trust
    /// region.
    pub(crate) fn curvature(&self) -> f64 {
        // H_i = sum_t (A dR)_ti z_t z_t^T, so sum_i |H_i|^2 = sum_ts (z_t.z_s)^2 (A G A)_ts
        let inner = product_transposed(&self.points, &self.points);
        let weights = product(&product(&self.curvatures, &self.gram), &self.curvatures);
        let sum: f64 = (inner.as_slice().iter().zip(weights.as_slice()))
            .map(|(inner, weight)| inner * inner * weight)
            .sum();
        sum.max(0.0).sqrt()
    }
}

#[cfg(test)]
mod tests;
