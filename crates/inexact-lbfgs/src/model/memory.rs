//! The pairs of steps and gradient differences from which the curvature is known.

use crate::linalg::dot;

/// The last pairs `$(s, y)$` of steps and gradient differences, each scaled to
/// `$\langle s, y\rangle = 1$`, which does not change the BFGS matrix. The scale keeps the small
/// systems of the method well conditioned when the steps become short.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Memory {
    limit: usize,
    /// The curvature `$\sigma$` of the first matrix `$\sigma I$`.
    sigma: f64,
    /// Whether `sigma` was measured.
    is_scaled: bool,
    steps: Vec<Vec<f64>>,
    changes: Vec<Vec<f64>>,
    /// The inner products of all steps, row by row; likewise the others.
    steps_steps: Vec<Vec<f64>>,
    steps_changes: Vec<Vec<f64>>,
    changes_changes: Vec<Vec<f64>>,
}

/// The smallest cosine between step and gradient difference. Below it the curvature along the step
/// is rounding error.
const MIN_COSINE: f64 = 1e-10;

impl Memory {
    pub(crate) const fn new(limit: usize) -> Self {
        Self {
            limit,
            sigma: 1.0,
            is_scaled: false,
            steps: Vec::new(),
            changes: Vec::new(),
            steps_steps: Vec::new(),
            steps_changes: Vec::new(),
            changes_changes: Vec::new(),
        }
    }

    pub(crate) const fn len(&self) -> usize {
        self.steps.len()
    }

    pub(crate) const fn sigma(&self) -> f64 {
        self.sigma
    }

    /// Whether the scale of the matrix was measured by some pair.
    pub(crate) const fn is_scaled(&self) -> bool {
        self.is_scaled
    }

    /// Sets the curvature of the first matrix, as long as no pair has measured it.
    pub(crate) const fn guess_sigma(&mut self, sigma: f64) {
        if !self.is_scaled && sigma.is_normal() && sigma > 0.0 {
            self.sigma = sigma;
        }
    }

    pub(crate) fn step(&self, i: usize) -> &[f64] {
        &self.steps[i]
    }

    pub(crate) fn change(&self, i: usize) -> &[f64] {
        &self.changes[i]
    }

    /// `$\langle s_i, s_j\rangle$`.
    pub(crate) fn steps_steps(&self, i: usize, j: usize) -> f64 {
        self.steps_steps[i][j]
    }

    /// `$\langle s_i, y_j\rangle$`.
    pub(crate) fn steps_changes(&self, i: usize, j: usize) -> f64 {
        self.steps_changes[i][j]
    }

    /// `$\langle y_i, y_j\rangle$`.
    pub(crate) fn changes_changes(&self, i: usize, j: usize) -> f64 {
        self.changes_changes[i][j]
    }

    /// Stores a pair if the curvature along it is positive. Returns whether it was stored.
    pub(crate) fn push(&mut self, mut step: Vec<f64>, mut change: Vec<f64>) -> bool {
        let (ss, sy, yy) = (
            dot(&step, &step),
            dot(&step, &change),
            dot(&change, &change),
        );
        let scale = sy.sqrt().recip();
        let sigma = yy / sy;
        let is_good = sy > MIN_COSINE * ss.sqrt() * yy.sqrt();
        if !(is_good && scale.is_normal() && sigma.is_normal() && ss.is_finite()) {
            return false;
        }
        step.iter_mut().for_each(|s| *s *= scale);
        change.iter_mut().for_each(|y| *y *= scale);
        if self.len() == self.limit {
            self.drop_oldest();
        }
        (self.sigma, self.is_scaled) = (sigma, true);
        self.steps.push(step);
        self.changes.push(change);
        self.extend_products();
        true
    }

    /// Forgets all pairs, but not the curvature of the newest.
    pub(crate) fn clear(&mut self) {
        self.steps.clear();
        self.changes.clear();
        self.steps_steps.clear();
        self.steps_changes.clear();
        self.changes_changes.clear();
    }

    fn drop_oldest(&mut self) {
        self.steps.remove(0);
        self.changes.remove(0);
        for products in [
            &mut self.steps_steps,
            &mut self.steps_changes,
            &mut self.changes_changes,
        ] {
            products.remove(0);
            for row in products {
                row.remove(0);
            }
        }
    }

    /// Adds the products of the newest pair with all pairs.
    fn extend_products(&mut self) {
        let new = self.len() - 1;
        let (s, y) = (&self.steps[new], &self.changes[new]);
        let row =
            |list: &[Vec<f64>], v: &[f64]| -> Vec<f64> { list.iter().map(|x| dot(x, v)).collect() };
        let steps_steps = row(&self.steps, s);
        let changes_changes = row(&self.changes, y);
        for i in 0..new {
            self.steps_steps[i].push(steps_steps[i]);
            self.changes_changes[i].push(changes_changes[i]);
            self.steps_changes[i].push(dot(&self.steps[i], y));
        }
        self.steps_steps.push(steps_steps);
        self.steps_changes.push(row(&self.changes, s));
        self.changes_changes.push(changes_changes);
    }
}
