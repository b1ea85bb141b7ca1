//! The solver's iterations as the figures show them: the state at the beginning of each.

use dfo_ls::{Iteration, Purpose, Report, StepKind};

use super::record::{Evaluation, Iterate};

/// Returns one row for every iteration that computes a step, and one for the end of the run. A row
/// has the incumbent and the work when the step is computed: after the incumbent was sharpened and
/// before the trial point is evaluated.
pub(super) fn iterates(evaluations: &[Evaluation], report: &Report) -> Vec<Iterate> {
    let mut rows = Vec::new();
    let Some(first) = report.iterations.first() else {
        return rows;
    };
    let work_before = |count: usize| {
        evaluations[..count.min(evaluations.len())]
            .iter()
            .map(|e| e.lower_iterations)
            .sum()
    };
    let mut previous = Incumbent::after(first);
    let mut done = as_count(first.num_evaluations);
    for iteration in &report.iterations[1..] {
        let end = as_count(iteration.num_evaluations);
        let own = &report.evaluations[done..end];
        let trial = own.iter().position(|e| e.purpose == Purpose::Trial);
        let begin = done + trial.unwrap_or(own.len());
        let sharpened = report.evaluations[done..begin].iter().rev().find(|e| {
            e.purpose == Purpose::Sharpen && e.theta == previous.theta && e.objective.is_ok()
        });
        if let Some(evaluation) = sharpened {
            previous.f = *evaluation.objective.as_ref().unwrap_or(&previous.f);
            previous.f_error = evaluation.achieved.objective_error(previous.f);
        }
        if is_step(iteration.kind) {
            rows.push(previous.row(begin, work_before(begin), iteration.delta));
        }
        previous = Incumbent::after(iteration);
        done = end;
    }
    let last = Incumbent {
        theta: report.theta.clone(),
        f: report.objective,
        f_error: report.accuracy.objective_error(report.objective),
    };
    let radius = report.iterations.last().map_or(0.0, |last| last.delta);
    let total = report.evaluations.len();
    rows.push(last.row(total, work_before(total), radius));
    rows
}

const fn is_step(kind: StepKind) -> bool {
    matches!(
        kind,
        StepKind::Accepted | StepKind::Rejected | StepKind::Failed | StepKind::Short
    )
}

fn as_count(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

struct Incumbent {
    theta: Vec<f64>,
    f: f64,
    f_error: f64,
}

impl Incumbent {
    fn after(iteration: &Iteration) -> Self {
        Self {
            theta: iteration.theta.clone(),
            f: iteration.objective,
            f_error: iteration.interval.upper - iteration.objective,
        }
    }

    fn row(&self, evaluations: usize, lower_iterations: u64, radius: f64) -> Iterate {
        Iterate {
            theta: self.theta.clone(),
            f: self.f,
            f_error: self.f_error,
            evaluations,
            lower_iterations,
            radius,
        }
    }
}
