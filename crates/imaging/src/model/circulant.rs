//! A circulant matrix with a low-rank downdate: close to the Hessian of a smoothed total variation
//! with few jumps, and cheap to invert.
//!
//! Let `$\delta_j = e_j - e_{j-1}$` be the cyclic differences, `$\omega = e^{2\pi i/N}$`, and
//!
//! ```math
//! P = F^*\Gamma F - \sum_{j \in J} c_j \delta_j\delta_j^T, \qquad c_j \ge 0.
//! ```
//!
//! Let `$V = \Gamma^{-1}$`, let `$\sqrt C = \operatorname{diag}(\sqrt{c_j})$`, and let the columns
//! of `$U$` be the `$\delta_j$`. By Schur's complement, `$P$` is positive definite if and only if
//! `$\Gamma$` and the small matrix
//!
//! ```math
//! E = I - \sqrt C\,U^T F^*VF\,U \sqrt C, \qquad (U^T F^*VF\,U)_{jl} = \frac1N \sum_k |1 - \omega^k|^2\, V_k\, \omega^{k(j-l)},
//! ```
//!
//! are positive definite, and then
//! `$P^{-1} = F^*VF + F^*VF\,U\sqrt C E^{-1}\sqrt C\,U^T F^*VF$`. One transform gives all entries
//! of `$E$`, whatever the size of `$J$`.

use std::f64::consts::PI;

use num_complex::Complex;

use crate::operator::{FourierScratch, Transform};

/// The factored matrix `$P$`, and the working memory of the factorisation.
#[derive(Clone, Debug)]
pub(super) struct DowndatedCirculant {
    /// The eigenvalues `$|1 - \omega^k|^2$` of the cyclic Laplacian.
    pub(super) laplacian: Vec<f64>,
    /// The diagonal `$V_k$`.
    pub(super) inverse: Vec<f64>,
    /// The elements of `$J$` with their `$\sqrt{c_j}$`. The first is `$j = 0$`.
    removed: Vec<(usize, f64)>,
    /// The candidates for `$J$` with their weights, in the order of the weights.
    lightest: Vec<(usize, f64)>,
    /// The lower triangle of `$E$`, row by row, overwritten by its Cholesky factor.
    factor: Vec<Complex<f64>>,
    /// A vector with one entry for each element of `$J$`.
    pub(super) reduced: Vec<Complex<f64>>,
}

/// The largest number of differences that are removed besides the first: 8 to 24, enough for the
/// jumps of a signal. The bounds are a choice.
pub(super) const fn max_removed(num_samples: usize) -> usize {
    let share = num_samples / 8;
    let count = if share < 8 { 8 } else { share };
    if count > 24 { 24 } else { count }
}

impl DowndatedCirculant {
    pub(super) fn new(num_samples: usize) -> Self {
        let capacity = max_removed(num_samples) + 1;
        Self {
            laplacian: (0..num_samples)
                .map(|k| laplacian(k, num_samples))
                .collect(),
            inverse: vec![0.0; num_samples],
            removed: Vec::with_capacity(capacity),
            lightest: Vec::with_capacity(capacity + 1),
            factor: vec![Complex::ZERO; capacity * capacity],
            reduced: vec![Complex::ZERO; capacity],
        }
    }

    /// Finds the lightest of the differences 1, 2, .. and returns a lower bound on the weights of
    /// the others.
    #[inline(always)]
    pub(super) fn find_lightest(&mut self, weights: &[f64]) -> f64 {
        let most = max_removed(weights.len()) + 1;
        self.lightest.clear();
        for (j, &weight) in weights.iter().enumerate().skip(1) {
            let full = self.lightest.len() == most;
            if full && self.lightest.last().is_some_and(|last| weight >= last.1) {
                continue;
            }
            if full {
                self.lightest.pop();
            }
            let place = self.lightest.partition_point(|other| other.1 <= weight);
            self.lightest.insert(place, (j, weight));
        }
        if self.lightest.len() == most {
            self.lightest.pop().map_or(0.0, |last| last.1)
        } else {
            self.lightest.last().map_or(0.0, |last| last.1)
        }
    }

    /// Sets up the downdate of a circulant matrix whose differences all have the weight `level`. It
    /// removes the cyclic difference entirely, and reduces the lightest differences to their own
    /// weights. `weight` maps the numbers by which the lightest were found to weights.
    #[inline(always)]
    pub(super) fn remove_lightest(&mut self, level: f64, weight: impl Fn(f64) -> f64) {
        self.removed.clear();
        self.removed.push((0, level.sqrt()));
        for &(j, found) in &self.lightest {
            let weight = weight(found);
            if weight < level {
                self.removed.push((j, (level - weight).sqrt()));
            }
        }
    }

    /// Removes the downdate, so that the matrix is circulant.
    pub(super) fn remove_nothing(&mut self) {
        self.removed.clear();
    }

    /// The lightest differences and their weights.
    pub(super) fn lightest(&self) -> &[(usize, f64)] {
        &self.lightest
    }

    /// The number of removed differences.
    pub(super) fn num_removed(&self) -> usize {
        self.removed.len()
    }

    /// Factors `$E - \tau I$`, given `$V$` in `inverse`. Returns `false` if it is not positive
    /// definite.
    #[inline(always)]
    pub(super) fn factor(
        &mut self,
        tau: f64,
        transform: &Transform,
        scratch: &mut FourierScratch,
    ) -> bool {
        let num_samples = self.inverse.len();
        let per_sample = 1.0 / count(num_samples);
        let entries = self.laplacian.iter().zip(&self.inverse);
        for (sample, (laplacian, inverse)) in scratch.samples.iter_mut().zip(entries) {
            *sample = Complex::new(laplacian * inverse * per_sample, 0.0);
        }
        transform.inverse(scratch);
        let size = self.removed.len();
        for (row, &(j, root_j)) in self.removed.iter().enumerate() {
            for (col, &(l, root_l)) in self.removed[..=row].iter().enumerate() {
                let lag = if j >= l { j - l } else { j + num_samples - l };
                self.factor[row * size + col] = -(scratch.samples[lag] * (root_j * root_l));
            }
            self.factor[row * size + row] += 1.0 - tau;
        }
        cholesky(&mut self.factor, size)
    }

    /// Overwrites `reduced` with `$L^{-1}\sqrt C\,U^T t$` for the Cholesky factor `$L$`, and
    /// returns its squared norm.
    #[inline(always)]
    pub(super) fn reduce(&mut self, t: &[Complex<f64>]) -> f64 {
        let size = self.removed.len();
        for (reduced, &(j, root)) in self.reduced.iter_mut().zip(&self.removed) {
            let left = if j == 0 { t.len() - 1 } else { j - 1 };
            *reduced = (t[j] - t[left]) * root;
        }
        let mut squares = 0.0;
        for col in 0..size {
            let value = self.reduced[col] / self.factor[col * size + col].re;
            self.reduced[col] = value;
            squares += value.norm_sqr();
            for row in col + 1..size {
                self.reduced[row] -= self.factor[row * size + col] * value;
            }
        }
        squares
    }

    /// Overwrites `t` with `$U\sqrt C L^{-*}$` times `reduced`.
    #[inline(always)]
    pub(super) fn expand(&mut self, t: &mut [Complex<f64>]) {
        t.fill(Complex::ZERO);
        let size = self.removed.len();
        for row in (0..size).rev() {
            let factor = &self.factor[row * size..=row * size + row];
            let value = self.reduced[row] / factor[row].re;
            self.reduced[row] = value;
            for (reduced, factor) in self.reduced.iter_mut().zip(&factor[..row]) {
                *reduced -= factor.conj() * value;
            }
            let (j, root) = self.removed[row];
            let left = if j == 0 { t.len() - 1 } else { j - 1 };
            t[j] += value * root;
            t[left] -= value * root;
        }
    }
}

/// The eigenvalue `$|1 - \omega^k|^2 = 4\sin^2(\pi k/N)$`, accurate for all `$k$`.
pub(super) fn laplacian(k: usize, num_samples: usize) -> f64 {
    let angle = PI * count(k.min(num_samples - k)) / count(num_samples);
    4.0 * angle.sin() * angle.sin()
}

pub(super) const fn count(n: usize) -> f64 {
    n as f64
}

/// Overwrites the lower triangle of a Hermitian matrix by its Cholesky factor. Returns `false` if a
/// pivot is not positive.
#[inline(always)]
fn cholesky(matrix: &mut [Complex<f64>], size: usize) -> bool {
    for row in 0..size {
        let (above, current) = matrix.split_at_mut(row * size);
        for col in 0..row {
            let mut sum = current[col];
            for k in 0..col {
                sum -= current[k] * above[col * size + k].conj();
            }
            current[col] = sum / above[col * size + col].re;
        }
        let squares: f64 = current[..row].iter().map(Complex::norm_sqr).sum();
        let pivot = current[row].re - squares;
        if !(pivot > 0.0 && pivot < f64::INFINITY) {
            return false;
        }
        current[row] = Complex::new(pivot.sqrt(), 0.0);
    }
    true
}

#[cfg(test)]
mod tests {
    use approx::assert_relative_eq;

    use super::*;
    use crate::Grid;

    #[test]
    fn lightest_are_found() {
        let mut matrix = DowndatedCirculant::new(12);
        let weights = [0.0, 5.0, 3.0, 9.0, 7.0, 4.0, 1.0, 2.0, 8.0, 6.0, 11.0, 10.0];
        assert_relative_eq!(matrix.find_lightest(&weights), 9.0);
        let found: Vec<usize> = matrix.lightest().iter().map(|entry| entry.0).collect();
        assert_eq!(found, [6, 7, 2, 5, 1, 9, 4, 8]);
        matrix.remove_lightest(5.5, |weight| weight);
        let roots: Vec<(usize, f64)> = matrix.removed.clone();
        assert_eq!(roots.len(), 6);
        assert_relative_eq!(roots[0].1, 5.5_f64.sqrt());
        assert_relative_eq!(roots[5].1, 0.5_f64.sqrt());
        assert_relative_eq!(matrix.find_lightest(&[0.0, 2.0, 1.0]), 2.0);
        assert_relative_eq!(matrix.find_lightest(&[3.0]), 0.0);
    }

    /// Inverts the matrix, and multiplies the result by the matrix from its definition.
    #[test]
    fn inverse_is_that_of_the_definition() {
        for len in [1, 2, 3, 8, 21] {
            let transform = Transform::new(Grid::line(len).complex()).expect("not empty");
            let mut scratch = transform.scratch();
            let mut matrix = DowndatedCirculant::new(len);
            let weights: Vec<f64> = (0..len).map(|j| 0.3 + count(j * j % 7)).collect();
            let smallest = matrix.find_lightest(&weights);
            let level = smallest + 0.4;
            matrix.remove_lightest(level, |weight| weight);
            let gammas: Vec<f64> = (0..len)
                .map(|k| 0.2 + count(k * 5 % 3) + level * matrix.laplacian[k])
                .collect();
            for (inverse, gamma) in matrix.inverse.iter_mut().zip(&gammas) {
                *inverse = 1.0 / gamma;
            }
            assert!(matrix.factor(0.0, &transform, &mut scratch));

            let rhs: Vec<Complex<f64>> = (0..len)
                .map(|j| Complex::new(count(j % 4) - 1.0, count(j % 3)))
                .collect();
            let circulant = |x: &[Complex<f64>], symbol: &[f64], scratch: &mut FourierScratch| {
                scratch.samples.copy_from_slice(x);
                transform.forward(scratch);
                for (sample, symbol) in scratch.samples.iter_mut().zip(symbol) {
                    *sample *= symbol / count(len);
                }
                transform.inverse(scratch);
                scratch.samples.clone()
            };
            let inverse = matrix.inverse.clone();
            let mut solution = circulant(&rhs, &inverse, &mut scratch);
            let energy: f64 = matrix.reduce(&solution);
            let plain: f64 = solution
                .iter()
                .zip(&rhs)
                .map(|(a, b)| (a * b.conj()).re)
                .sum();
            let mut jumps = vec![Complex::ZERO; len];
            matrix.expand(&mut jumps);
            for (x, y) in solution
                .iter_mut()
                .zip(circulant(&jumps, &inverse, &mut scratch))
            {
                *x += y;
            }
            let whole: f64 = solution
                .iter()
                .zip(&rhs)
                .map(|(a, b)| (a * b.conj()).re)
                .sum();
            assert_relative_eq!(whole, plain + energy, max_relative = 1e-11);

            let mut product = circulant(&solution, &gammas, &mut scratch);
            for &(j, root) in &matrix.removed {
                let left = (j + len - 1) % len;
                let difference = (solution[j] - solution[left]) * (root * root);
                product[j] -= difference;
                product[left] += difference;
            }
            for (product, rhs) in product.iter().zip(&rhs) {
                assert!((product - rhs).norm() < 1e-11, "{len}");
            }
        }
    }

    #[test]
    fn indefinite_matrices_are_noticed() {
        let transform = Transform::new(Grid::line(4).complex()).expect("not empty");
        let mut matrix = DowndatedCirculant::new(4);
        matrix.find_lightest(&[0.0; 4]);
        matrix.remove_lightest(1.0, |weight| weight);
        matrix.inverse.fill(1.0); // I less the Laplacian, whose eigenvalues reach 4
        assert!(!matrix.factor(0.0, &transform, &mut transform.scratch()));
    }
}
