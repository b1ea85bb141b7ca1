//! From an engine to its report.

use super::Engine;
use crate::{Interval, Report, Termination};

impl<R: Clone> Engine<R> {
    /// Ends the run, if it has not ended, and returns its report.
    pub fn into_report(self) -> Report {
        self.into_parts().0
    }

    /// Ends the run, if it has not ended, and returns its report and the token of the best point.
    pub fn into_parts(mut self) -> (Report, Option<R>) {
        self.stop(Termination::Stopped);
        let (state, problem) = (self.state, self.problem);
        let ledger = state.ledger;
        let mut report = Report {
            theta: Vec::new(),
            value: f64::NAN,
            interval: Interval::UNKNOWN,
            gradient: Vec::new(),
            gradient_error: f64::INFINITY,
            projected_gradient: f64::NAN,
            active: Vec::new(),
            termination: ledger.termination.unwrap_or(Termination::Stopped),
            iterations: ledger.iterations,
            evaluations: ledger.evaluations,
            num_points: ledger.num_points,
            work: ledger.work,
            options: state.options,
        };
        let Some(best) = state.incumbent else {
            report.theta = problem.feasible_start();
            return (report, None);
        };
        let smooth = problem.smooth_part(&best.theta, &best.gradient);
        report.projected_gradient = problem.projected_gradient(&best.theta, &smooth);
        report.active = problem.active_bounds(&best.theta);
        (report.value, report.interval) = (best.value(), best.interval());
        report.gradient_error = best.gradient_error;
        (report.theta, report.gradient) = (best.theta, best.gradient);
        (report, Some(best.resume))
    }
}
