//! What comes back at the end.

use std::sync::Arc;

use super::{BestPoint, Engine};
use crate::Accuracy;
use crate::linalg::{Matrix, product};
use crate::model::linear::Fit;
use crate::report::{Jacobian, Report, Termination};
use crate::residuals::Residuals;

/// The Jacobian is computed for this many residuals at a time.
const CHUNK: usize = 1024;

impl<R: Clone> Engine<R> {
    /// The outcome so far, with the answers that were given already. A run that has not ended counts as stopped in it, and goes on.
    pub fn report(&self) -> Report {
        let copy = Self {
            feasible: Arc::clone(&self.feasible),
            regularizer: self.regularizer.clone(),
            state: self.state.clone(),
        };
        copy.into_report()
    }

    /// The outcome so far. A run that has not ended counts as stopped.
    pub fn into_report(self) -> Report {
        self.into_parts().0
    }

    /// The outcome so far, and the oracle's token for the best point. A run that has not ended counts as stopped.
    #[must_use]
    pub fn into_parts(mut self) -> (Report, Option<R>) {
        self.stop(Termination::Stopped);
        let jacobian = self.jacobian();
        let state = self.state;
        let termination = state.termination.unwrap_or(Termination::Stopped);
        let best = state.best.unwrap_or_else(|| BestPoint {
            number: 0,
            theta: state.space.theta(&vec![0.0; state.space.dim()]),
            residuals: Residuals::default(),
            objective: f64::INFINITY,
            penalty: 0.0,
            accuracy: Accuracy::ANY,
            resume: None,
        });
        let interval = best.interval();
        let report = Report {
            theta: best.theta,
            residuals: best.residuals.into_vec(),
            accuracy: best.accuracy,
            objective: best.objective,
            interval,
            termination,
            jacobian,
            iterations: state.iterations,
            evaluations: state.evaluations,
            num_points: state.num_points,
            work: state.work,
            options: state.options,
        };
        (report, best.resume)
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
        let blocks = state.pool.blocks();
        for (k, &j) in free.iter().enumerate() {
            // what rounding alone can make of residuals that do not depend on the parameter
            let weight: f64 = weights.col(k).iter().map(|w| w.abs()).sum();
            let noise = 16.0 * f64::EPSILON * blocks.norm(center) * weight;
            if blocks.norm(&columns[j]) <= noise {
                columns[j].fill(0.0);
            }
        }
        for column in &mut columns {
            column.resize(center.len(), 0.0);
        }
        if !columns.iter().flatten().all(|entry| entry.is_finite()) {
            return None;
        }
        let fixed = (0..state.space.num_params())
            .filter(|j| !free.contains(j))
            .collect();
        Some(Jacobian::new(columns, fixed, blocks.clone()))
    }
}
