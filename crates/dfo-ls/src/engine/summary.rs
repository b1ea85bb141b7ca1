//! Reports of an engine.

use super::{BestPoint, Engine, State};
use crate::Accuracy;
use crate::report::{Report, Termination};
use crate::residuals::Residuals;

impl<R: Clone> Engine<R> {
    /// Returns the report so far, including answers that the engine has not been told yet. A run
    /// that goes on is reported as stopped.
    pub fn report(&self) -> Report {
        let copy = Self {
            code: self.code.clone(),
            state: self.state.clone(),
        };
        copy.into_report()
    }

    /// Returns the report and drops the engine. A run that has not ended is reported as stopped.
    pub fn into_report(self) -> Report {
        self.into_parts().0
    }

    /// Returns the report and the oracle's token for the best point, and drops the engine. A run
    /// that has not ended is reported as stopped.
    pub fn into_parts(mut self) -> (Report, Option<R>) {
        self.stop(Termination::Stopped);
        let State {
            options,
            space,
            mut points,
            ledger,
            ..
        } = self.state;
        let jacobian = points.jacobian(&space);
        let termination = ledger.termination().cloned();
        let best = ledger.best.unwrap_or_else(|| BestPoint {
            number: 0,
            theta: space.theta(&vec![0.0; space.dim()]),
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
            termination: termination.unwrap_or(Termination::Stopped),
            jacobian,
            iterations: ledger.iterations,
            evaluations: ledger.evaluations,
            num_points: ledger.num_points,
            work: ledger.work,
            options,
        };
        (report, best.resume)
    }
}
