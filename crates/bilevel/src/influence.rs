//! The influence of each parameter on the objective.

use dfo_ls::{Accuracy, Jacobian, Start};

use crate::checkpoint::Reconstructions;
use crate::learn::EndedRun;
use crate::learned::FlatDirection;
use crate::lower::LowerLevel;
use crate::parameter::Parameter;
use crate::problem::LearningProblem;

/// A relative change of the objective below this share counts as negligible: 0.1 %, as fixed in
/// decision record 11.
pub const NEGLIGIBLE_INFLUENCE: f64 = 1e-3;
/// The step over which influences are measured, as a share of a parameter's range (decision record
/// 11).
pub const INFLUENCE_STEP: f64 = 0.1;
/// The largest number of parameters whose influences are evaluated. With more parameters,
/// influences come from the solver's model, because `$2d$` evaluations would cost too much.
const MAX_COMPUTED: usize = 10;
/// The relative accuracy of the objective in these evaluations: a tenth of
/// [`NEGLIGIBLE_INFLUENCE`].
const INFLUENCE_ERROR: f64 = 1e-4;

/// Returns a tenth of the range of each entry.
fn steps(parameters: &[Parameter]) -> Vec<f64> {
    let range = |p: &Parameter| INFLUENCE_STEP * (p.upper - p.lower);
    Parameter::of_entries(parameters).map(range).collect()
}

impl FlatDirection {
    /// Returns the directions in which an objective hardly changes, flattest first.
    ///
    /// # Panics
    /// When the Jacobian has another number of parameters.
    #[must_use]
    pub fn list(jacobian: &Jacobian, parameters: &[Parameter], objective: f64) -> Vec<Self> {
        (jacobian.directions(&steps(parameters)).into_iter())
            .map(|direction| Self {
                influence: share(direction.strength * direction.strength, objective),
                direction: direction.direction,
            })
            .take_while(|flat| flat.influence < NEGLIGIBLE_INFLUENCE)
            .collect()
    }
}

impl<M: LowerLevel> LearningProblem<M> {
    /// Returns the relative change of the objective over a step in each parameter. Reconstructions
    /// begin at `start`.
    pub(crate) fn influences(
        &self,
        report: &EndedRun,
        start: &Start<Reconstructions>,
    ) -> Vec<Option<f64>> {
        let count = report.theta.len();
        if count > MAX_COMPUTED {
            return report.jacobian.as_ref().map_or_else(
                || vec![None; count],
                |jacobian| self.modelled_influences(jacobian, report.objective),
            );
        }
        let steps = steps(&self.parameters);
        let error = INFLUENCE_ERROR * report.objective;
        let target = Accuracy::for_objective_error(report.objective, error);
        let influence = |j: usize| -> Option<f64> {
            let bounds = Parameter::of_entries(&self.parameters).nth(j)?;
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

    /// Returns the estimate `$(2|r^\top J_j| h + \|J_j\|^2 h^2)/f$` for a step `$h$` in each
    /// parameter.
    fn modelled_influences(&self, jacobian: &Jacobian, objective: f64) -> Vec<Option<f64>> {
        let steps = steps(&self.parameters);
        let influence = |j: usize| {
            let (slope, square) = (jacobian.slope(j), jacobian.product(j, j));
            let h = steps[j];
            Some(share(2.0 * slope.abs() * h + square * h * h, objective))
        };
        (0..steps.len()).map(influence).collect()
    }
}

/// Returns the relative change, which is infinite if the objective is zero and the change is not.
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
    fn changes_relative_to_zero_are_infinite() {
        assert!((share(1.0, -4.0) - 0.25).abs() < 1e-15);
        assert!(share(0.0, 0.0).abs() < 1e-15);
        assert!(share(1e-3, 0.0).is_infinite());
    }
}
