//! What comes back at the end.

use super::Engine;
use crate::linalg::norm;
use crate::model::linear::Fit;
use crate::report::{Jacobian, Report, Termination};
use crate::{Accuracy, ObjectiveInterval};

impl<R: Clone> Engine<R> {
    /// The outcome so far. A run that has not ended counts as stopped.
    pub fn into_report(mut self) -> Report {
        let jacobian = self.jacobian();
        let state = self.state;
        let termination = state.termination.unwrap_or(Termination::Stopped);
        let (theta, residuals, objective, penalty, accuracy) = match state.best {
            Some(best) => (
                state.space.theta(&best.u),
                best.residuals,
                best.objective,
                best.penalty,
                best.accuracy,
            ),
            None => (
                state.space.theta(&vec![0.0; state.space.dim()]),
                Vec::new(),
                f64::INFINITY,
                0.0,
                Accuracy::ANY,
            ),
        };
        let interval = if residuals.is_empty() {
            ObjectiveInterval {
                lower: 0.0,
                upper: f64::INFINITY,
            }
        } else {
            let square = accuracy.objective_interval((objective - penalty).max(0.0));
            ObjectiveInterval {
                lower: square.lower + penalty,
                upper: square.upper + penalty,
            }
        };
        Report {
            theta,
            residuals,
            accuracy,
            objective,
            interval,
            termination,
            jacobian,
            iterations: state.iterations,
            evaluations: state.evaluations,
            num_points: state.num_points,
            work: state.work,
            options: state.options,
        }
    }

    /// The Jacobian of the residuals by the user's parameters. Fixed parameters have a column of zeros.
    fn jacobian(&mut self) -> Option<Jacobian> {
        if self.state.set.is_empty() || !self.refresh_model_basis() {
            return None;
        }
        let state = &self.state;
        let linear = state.linear.as_ref()?;
        if linear.fit == Fit::Underdetermined {
            return None;
        }
        let mut columns = vec![vec![0.0; state.num_residuals]; state.space.num_params()];
        let center = &state.incumbent().residuals;
        for (k, (&j, unit)) in state
            .space
            .free()
            .iter()
            .zip(state.space.units())
            .enumerate()
        {
            let column = &mut columns[j];
            for (t, &slot) in state.set.iter().enumerate() {
                let weight = linear.gradient(t)[k] / unit;
                let residuals = &state.pool.get(slot).residuals;
                for ((entry, r), c) in column.iter_mut().zip(residuals).zip(center) {
                    *entry += weight * (r - c);
                }
            }
            if !norm(column).is_finite() {
                return None;
            }
        }
        Some(Jacobian::new(columns))
    }
}
