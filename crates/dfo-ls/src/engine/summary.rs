//! What comes back at the end.

use super::Engine;
use crate::linalg::{Matrix, product};
use crate::model::linear::Fit;
use crate::report::{Jacobian, Report, Termination};
use crate::{Accuracy, ObjectiveInterval};

/// The Jacobian is computed for this many residuals at a time.
const CHUNK: usize = 1024;

impl<R: Clone> Engine<R> {
    /// The outcome so far. A run that has not ended counts as stopped.
    pub fn into_report(mut self) -> Report {
        let jacobian = self.jacobian();
        let state = self.state;
        let termination = state.termination.unwrap_or(Termination::Stopped);
        let (theta, residuals, objective, penalty, accuracy) = match state.best {
            Some(best) => (
                best.theta,
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
        let free = state.space.free();
        let weights = Matrix::from_fn(state.set.len(), free.len(), |t, k| {
            linear.gradient(t)[k] / state.space.units()[k]
        });
        let center = &state.incumbent().residuals;
        let mut columns = vec![Vec::with_capacity(center.len()); state.space.num_params()];
        for begin in (0..center.len()).step_by(CHUNK) {
            let end = (begin + CHUNK).min(center.len());
            let differences = Matrix::from_fn(end - begin, state.set.len(), |i, t| {
                state.pool.get(state.set[t]).residuals[begin + i] - center[begin + i]
            });
            let part = product(&differences, &weights);
            for (k, &j) in free.iter().enumerate() {
                columns[j].extend_from_slice(part.col(k));
            }
        }
        for column in &mut columns {
            column.resize(center.len(), 0.0);
        }
        if !columns.iter().flatten().all(|entry| entry.is_finite()) {
            return None;
        }
        Some(Jacobian::new(columns))
    }
}
