//! Linear models of the residuals: the Lagrange polynomials of the interpolation set, and the
//! Gauss-Newton matrix.
//!
//! With `$\ell_t(x_k + s) = c_t + g_t^\top s$`, residuals are modelled by
//! `$\sum_t \ell_t(x_k + s)\,r_t$`, so the Jacobian is `$J = \sum_t r_t g_t^\top$`. Neither the
//! gradients `$g_t$` nor `$J^\top J$` depend on which point is the incumbent. When a point is
//! replaced they change by matrices of rank one and two, which costs `$O(d^2)$` instead of
//! `$O(d^3)$`.

use super::pool::PointPool;
use crate::linalg::{Matrix, axpy, dot, inverse, norm, product, pseudo_inverse};

/// The kind of fit, which depends on the number of points for `$d$` parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) enum Fit {
    /// The model interpolates all residuals at `$d + 1$` points.
    Interpolation,
    /// With fewer points, the model interpolates them with the Jacobian of least norm.
    Underdetermined,
    /// With more points, the model fits them by least squares.
    Regression,
}

/// A linear model of the residuals, given by the Lagrange polynomials in the order of the set.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct LinearModel {
    pub(crate) fit: Fit,
    /// The gradients `$g_t$`, one per column.
    gradients: Matrix,
    /// The constants `$c_t$` of a regression. Otherwise the list is empty, and the constants are 1
    /// for the incumbent and 0 for the others.
    constants: Vec<f64>,
    /// The Gauss-Newton matrix `$J^\top J$`; `None` after residuals have changed.
    gauss_newton: Option<Matrix>,
    /// The number of points that were replaced since the polynomials were computed from scratch.
    updates: usize,
}

/// The smallest pivot, that is the value of the replaced point's polynomial at the new point, for
/// an update: three of sixteen digits may be lost. Not tuned.
const LEAST_PIVOT: f64 = 1e-3;
/// The smallest number of updates after which the polynomials are computed from scratch; the number
/// of parameters if that is larger (decision record 7).
const MAX_UPDATES: usize = 20;

impl LinearModel {
    /// Computes the polynomials of `points`, which are in the order of the set, with the incumbent
    /// at position `center`. `None` if the points are numerically dependent.
    pub(crate) fn new(points: &[&[f64]], center: usize) -> Option<Self> {
        let d = points[center].len();
        let others: Vec<usize> = (0..points.len()).filter(|&t| t != center).collect();
        let scale = others
            .iter()
            .map(|&t| distance(points[t], points[center]))
            .fold(0.0, f64::max);
        if !(scale > 0.0 && scale.is_finite()) {
            return None;
        }
        let entry = |t: usize, j: usize| (points[t][j] - points[center][j]) / scale;
        let mut gradients = Matrix::zeros(d, points.len());
        let mut constants = Vec::new();
        let fit = match others.len().cmp(&d) {
            std::cmp::Ordering::Equal => {
                // Each row is divided by its length, so that a set with near and far points is not
                // singular.
                let lengths: Vec<f64> = others
                    .iter()
                    .map(|&t| distance(points[t], points[center]) / scale)
                    .collect();
                let displacements = Matrix::from_fn(d, d, |i, j| entry(others[i], j) / lengths[i]);
                let inverse = inverse(&displacements)?;
                for (i, &t) in others.iter().enumerate() {
                    for j in 0..d {
                        gradients[(j, t)] = inverse[(j, i)] / lengths[i] / scale;
                    }
                }
                Fit::Interpolation
            }
            std::cmp::Ordering::Less => {
                let displacements = Matrix::from_fn(others.len(), d, |i, j| entry(others[i], j));
                let (inverse, rank) = pseudo_inverse(&displacements, RANK);
                if rank < others.len() {
                    return None;
                }
                for (i, &t) in others.iter().enumerate() {
                    for j in 0..d {
                        gradients[(j, t)] = inverse[(j, i)] / scale;
                    }
                }
                Fit::Underdetermined
            }
            std::cmp::Ordering::Greater => {
                let rows = Matrix::from_fn(points.len(), d + 1, |t, j| {
                    if j == 0 { 1.0 } else { entry(t, j - 1) }
                });
                let (inverse, rank) = pseudo_inverse(&rows, RANK);
                if rank <= d {
                    return None;
                }
                constants = (0..points.len()).map(|t| inverse[(0, t)]).collect();
                for t in 0..points.len() {
                    for j in 0..d {
                        gradients[(j, t)] = inverse[(j + 1, t)] / scale;
                    }
                }
                Fit::Regression
            }
        };
        if fit != Fit::Regression {
            for j in 0..d {
                let sum: f64 = others.iter().map(|&t| gradients[(j, t)]).sum();
                gradients[(j, center)] = -sum;
            }
        }
        let finite = gradients.as_slice().iter().all(|g| g.is_finite());
        finite.then_some(Self {
            fit,
            gradients,
            constants,
            gauss_newton: None,
            updates: 0,
        })
    }

    pub(crate) fn gradient(&self, t: usize) -> &[f64] {
        self.gradients.col(t)
    }

    /// The constant `$c_t$`.
    pub(crate) fn constant(&self, t: usize, center: usize) -> f64 {
        match self.fit {
            Fit::Regression => self.constants[t],
            Fit::Interpolation | Fit::Underdetermined => f64::from(u8::from(t == center)),
        }
    }

    /// The values `$\ell_t(x_k + s)$` for all `$t$`.
    pub(crate) fn values(&self, step: &[f64], center: usize) -> Vec<f64> {
        (0..self.gradients.cols())
            .map(|t| self.constant(t, center) + dot(self.gradient(t), step))
            .collect()
    }

    /// Drops the Gauss-Newton matrix, because residuals have changed without a point being
    /// replaced.
    pub(crate) fn forget_residuals(&mut self) {
        self.gauss_newton = None;
    }

    /// The Gauss-Newton matrix `$J^\top J$`.
    pub(crate) fn gauss_newton<R>(
        &mut self,
        pool: &PointPool<R>,
        set: &[usize],
        center: usize,
    ) -> &Matrix {
        let gradients = &self.gradients;
        self.gauss_newton.get_or_insert_with(|| {
            let k = set[center];
            let gram =
                Matrix::from_fn(set.len(), set.len(), |t, s| pool.product(k, set[t], set[s]));
            let half = product(gradients, &gram);
            let transposed = gradients.transpose();
            let mut full = product(&half, &transposed);
            symmetrize(&mut full);
            full
        })
    }

    /// The slope `$J^\top \tilde r(x_k)$`, where `$\tilde r(x_k) = \sum_t c_t r_t$`.
    pub(crate) fn slope<R>(&self, pool: &PointPool<R>, set: &[usize], center: usize) -> Vec<f64> {
        let k = set[center];
        let mut products: Vec<f64> = set.iter().map(|&t| pool.slope(k, t)).collect();
        if self.fit == Fit::Regression {
            for (t, entry) in products.iter_mut().enumerate() {
                *entry += (0..set.len())
                    .map(|s| self.constants[s] * pool.product(k, set[t], set[s]))
                    .sum::<f64>();
            }
        }
        let mut out = vec![0.0; self.gradients.rows()];
        self.gradients.mul_vec(&products, &mut out);
        out
    }

    /// Replaces point `t` by `center + step`, whose residuals are in `slot`. The residuals of the
    /// old point must still be in the pool. Returns `false` if the polynomials must be computed
    /// from scratch.
    pub(crate) fn replace<R>(
        &mut self,
        t: usize,
        step: &[f64],
        slot: usize,
        pool: &PointPool<R>,
        set: &[usize],
        center: usize,
    ) -> bool {
        let d = self.gradients.rows();
        if self.fit != Fit::Interpolation || self.updates >= d.max(MAX_UPDATES) {
            return false;
        }
        let values = self.values(step, center);
        let pivot = values[t];
        if !(pivot.abs() > LEAST_PIVOT) {
            return false;
        }
        let direction: Vec<f64> = self.gradient(t).iter().map(|g| g / pivot).collect();
        if let Some(matrix) = &mut self.gauss_newton {
            // With e = r_+ - (model at the new point), J^T e and |e|^2 follow from inner products.
            let k = set[center];
            let along: Vec<f64> = set.iter().map(|&s| pool.product(k, slot, s)).collect();
            let modelled = pool.combined_products(k, set, &values);
            let errors: Vec<f64> = along.iter().zip(&modelled).map(|(a, m)| a - m).collect();
            let square =
                pool.product(k, slot, slot) + dot(&values, &modelled) - 2.0 * dot(&values, &along);
            let mut slope = vec![0.0; d];
            self.gradients.mul_vec(&errors, &mut slope);
            matrix.add_outer(1.0, &slope, &direction);
            matrix.add_outer(1.0, &direction, &slope);
            matrix.add_outer(square, &direction, &direction);
        }
        for (s, value) in values.iter().enumerate() {
            let column = self.gradients.col_mut(s);
            if s == t {
                column.copy_from_slice(&direction);
            } else {
                axpy(-value, &direction, column);
            }
        }
        self.updates += 1;
        true
    }
}

/// The singular value, relative to the largest, up to which a direction counts as missing. Not
/// tuned.
pub(crate) const RANK: f64 = 1e-10;

fn distance(a: &[f64], b: &[f64]) -> f64 {
    let difference: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
    norm(&difference)
}

fn symmetrize(matrix: &mut Matrix) {
    for j in 0..matrix.cols() {
        for i in 0..j {
            let mean = 0.5 * (matrix[(i, j)] + matrix[(j, i)]);
            matrix[(i, j)] = mean;
            matrix[(j, i)] = mean;
        }
    }
}

#[cfg(test)]
mod tests;
