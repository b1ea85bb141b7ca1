//! The limited-memory BFGS matrix in compact form.

use super::Memory;
use crate::linalg::{Indefinite, Square, add_scaled, dot};

/// The matrix `$B = \sigma (I - W M W^\top)$` of a [`Memory`] with `$k$` pairs, where
///
/// ```math
/// W = [Y/\sqrt\sigma,\ \sqrt\sigma S], \qquad
/// M^{-1} = \begin{pmatrix} -D & L^\top \\ L & \sigma S^\top S \end{pmatrix},
/// ```
///
/// `$D$` is the diagonal of `$S^\top Y$`, here 1 up to rounding, and `$L$` its part below the
/// diagonal (Byrd, Nocedal and Schnabel, Math. Program. 63, 1994, Theorem 2.3, with columns scaled
/// by `$\sqrt\sigma$`).
#[derive(Debug)]
pub(super) struct Compact<'a> {
    memory: &'a Memory,
    middle: Indefinite,
}

impl<'a> Compact<'a> {
    /// The matrix of these pairs; `None` if it is not positive definite in floating-point numbers.
    pub(super) fn new(memory: &'a Memory) -> Option<Self> {
        let k = memory.len();
        let sigma = memory.sigma();
        let diagonal = |i, j| {
            if i == j {
                memory.steps_changes(i, i)
            } else {
                0.0
            }
        };
        let below = |i, j| {
            if i > j {
                memory.steps_changes(i, j)
            } else {
                0.0
            }
        };
        let steps = |i, j| sigma * memory.steps_steps(i, j);
        let middle = Indefinite::new(
            &Square::from_fn(k, diagonal),
            Square::from_fn(k, below),
            &Square::from_fn(k, steps),
        )?;
        Some(Self { memory, middle })
    }

    pub(super) const fn memory(&self) -> &'a Memory {
        self.memory
    }

    /// `$W^\top v$`.
    pub(super) fn project(&self, v: &[f64]) -> Vec<f64> {
        let (root, k) = (self.memory.sigma().sqrt(), self.memory.len());
        let changes = (0..k).map(|i| dot(self.memory.change(i), v) / root);
        let steps = (0..k).map(|i| dot(self.memory.step(i), v) * root);
        changes.chain(steps).collect()
    }

    /// Adds `factor` times row `b` of `$W$` to `p`.
    pub(super) fn add_row(&self, b: usize, factor: f64, p: &mut [f64]) {
        let (root, k) = (self.memory.sigma().sqrt(), self.memory.len());
        let (changes, steps) = p.split_at_mut(k);
        for (i, p) in changes.iter_mut().enumerate() {
            *p += factor * (self.memory.change(i)[b] / root);
        }
        for (i, p) in steps.iter_mut().enumerate() {
            *p += factor * (self.memory.step(i)[b] * root);
        }
    }

    /// Adds `factor * W p` to `v`.
    pub(super) fn add_expanded(&self, factor: f64, p: &[f64], v: &mut [f64]) {
        let (root, k) = (self.memory.sigma().sqrt(), self.memory.len());
        for i in 0..k {
            add_scaled(v, factor * p[i] / root, self.memory.change(i));
            add_scaled(v, factor * p[k + i] * root, self.memory.step(i));
        }
    }

    /// `$M p$`.
    pub(super) fn middle(&self, p: &[f64]) -> Vec<f64> {
        let mut out = p.to_vec();
        self.middle.solve(&mut out);
        out
    }

    /// The product `$B v$`, given `$W^\top v$`.
    pub(super) fn times(&self, v: &[f64], projected: &[f64]) -> Vec<f64> {
        let sigma = self.memory.sigma();
        let mut out: Vec<f64> = v.iter().map(|v| sigma * v).collect();
        self.add_expanded(-sigma, &self.middle(projected), &mut out);
        out
    }

    /// The curvature `$v^\top B v$`.
    pub(super) fn curvature(&self, v: &[f64]) -> f64 {
        let p = self.project(v);
        let curvature = dot(v, v) - dot(&p, &self.middle(&p));
        self.memory.sigma() * curvature.max(0.0)
    }
}
