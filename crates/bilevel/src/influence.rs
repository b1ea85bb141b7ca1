//! How much the objective depends on each parameter.

use dfo_ls::{Accuracy, Jacobian, Report, Start};

use crate::checkpoint::Reconstructions;
use crate::learned::FlatDirection;
use crate::lower::LowerLevel;
use crate::parameter::Parameter;
use crate::problem::LearningProblem;

/// An objective that changes by less than this share does not matter.
pub const NEGLIGIBLE_INFLUENCE: f64 = 1e-3;
/// The step over which influences are measured, as a share of a parameter's range.
pub const INFLUENCE_STEP: f64 = 0.1;
/// Of more parameters the influence is taken from the solver's model.
const MAX_COMPUTED: usize = 10;
/// The objective is computed to within this share of it, to see how it changes.
const INFLUENCE_ERROR: f64 = 1e-4;

impl<M: LowerLevel> LearningProblem<M> {
    /// A tenth of the range of each parameter.
    fn steps(&self) -> Vec<f64> {
        let range = |p: &Parameter| INFLUENCE_STEP * (p.upper - p.lower);
        self.parameters.iter().map(range).collect()
    }

    /// By what share the objective changes over a step in each parameter. Reconstructions begin at
    /// `start`.
    pub(crate) fn influences(
        &self,
        report: &Report,
        start: &Start<Reconstructions>,
    ) -> Vec<Option<f64>> {
        let count = self.parameters.len();
        if count > MAX_COMPUTED {
            return report.jacobian.as_ref().map_or_else(
                || vec![None; count],
                |jacobian| self.modelled_influences(jacobian, &report.residuals, report.objective),
            );
        }
        let steps = self.steps();
        let error = INFLUENCE_ERROR * report.objective;
        let target = Accuracy::for_objective_error(report.objective, error);
        let influence = |j: usize| -> Option<f64> {
            let bounds = &self.parameters[j];
            let mut largest = 0.0_f64;
            for step in [-steps[j], steps[j]] {
                let mut theta = report.theta.clone();
                theta[j] = (theta[j] + step).clamp(bounds.lower, bounds.upper);
                if theta[j].to_bits() == report.theta[j].to_bits() {
                    continue; // at a bound
                }
                let there = self.interval_at(&theta, target, start)?;
                let change = (there.upper - report.interval.lower)
                    .abs()
                    .max((there.lower - report.interval.upper).abs());
                largest = largest.max(share(change, report.objective));
            }
            Some(largest)
        };
        (0..count).map(influence).collect()
    }

    /// `$(2|r^\top J_j| h + \|J_j\|^2 h^2)/f$` for a step `$h$` in each parameter.
    fn modelled_influences(
        &self,
        jacobian: &Jacobian,
        residuals: &[f64],
        objective: f64,
    ) -> Vec<Option<f64>> {
        let steps = self.steps();
        let influence = |j: usize| {
            let slope = jacobian.inner_product(j, residuals);
            let square = jacobian.inner_product(j, jacobian.column(j));
            let h = steps[j];
            Some(share(2.0 * slope.abs() * h + square * h * h, objective))
        };
        (0..steps.len()).map(influence).collect()
    }

    /// Directions in which the objective hardly changes, flattest first.
    pub(crate) fn flat_directions(
        &self,
        jacobian: &Jacobian,
        objective: f64,
    ) -> Vec<FlatDirection> {
        (jacobian.directions(&self.steps()).into_iter())
            .map(|direction| FlatDirection {
                influence: share(direction.strength * direction.strength, objective),
                direction: direction.direction,
            })
            .take_while(|flat| flat.influence < NEGLIGIBLE_INFLUENCE)
            .collect()
    }
}

/// Infinite where the objective is zero and the change is not.
fn share(change: f64, objective: f64) -> f64 {
    if change == 0.0 {
        0.0
    } else {
        change / objective.abs()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_nothing_are_infinite() {
        assert!((share(1.0, -4.0) - 0.25).abs() < 1e-15);
        assert!(share(0.0, 0.0).abs() < 1e-15);
        assert!(share(1e-3, 0.0).is_infinite());
    }
}
