//! The solver with gradients, with its history in the form of the derivative-free solver.

use dfo_ls::{
    Accuracy, Budget, EvalRecord, Iteration, Limit, ObjectiveInterval, Purpose, StepKind,
    Termination,
};

use crate::checkpoint::Reconstructions;
use crate::lower::LowerLevel;
use crate::problem::LearningProblem;

/// The solver with gradients, and its history in the form of the derivative-free solver.
#[derive(Debug)]
pub(crate) struct GradientEngine {
    pub(crate) engine: inexact_lbfgs::Engine<Reconstructions>,
    pub(crate) iterations: Vec<Iteration>,
    pub(crate) evaluations: Vec<EvalRecord>,
    /// The work of reconstructions and of adjoints, in gradients.
    pub(crate) work: [u64; 2],
}

/// The reason for a gradient that no step follows downhill.
const NO_DESCENT: &str = "no step against the gradient decreases the objective: check the \
                          derivatives of the model with bilevel::testing::derivatives_deviation";
/// The largest number of parameters that the history of a run with gradients lists. With more, it
/// lists none.
const MAX_LISTED: usize = 1000;

/// Returns the same limits for the solver with gradients, which leaves the time to its caller.
pub(super) fn gradient_budget(budget: &Budget) -> inexact_lbfgs::Budget {
    inexact_lbfgs::Budget {
        max_points: budget.max_points,
        max_evaluations: budget.max_evaluations,
        max_work: budget.max_work,
        max_time: budget.max_time,
    }
}

impl GradientEngine {
    pub(super) fn step<M: LowerLevel>(&mut self, problem: &mut LearningProblem<M>) -> bool {
        let Some(job) = self.engine.ask() else {
            return false;
        };
        inexact_lbfgs::Oracle::evaluate(problem, job);
        let listed = job.theta().len() <= MAX_LISTED;
        let theta = if listed {
            job.theta().to_vec()
        } else {
            Vec::new()
        };
        for (sum, work) in self.work.iter_mut().zip(problem.last_work) {
            *sum += work;
        }
        self.engine.tell();
        let best = self.engine.best().filter(|_| listed);
        let best = best.map_or_else(Vec::new, |best| best.theta.to_vec());
        let state = self.engine.state();
        let evaluations = state.evaluations()[self.evaluations.len()..].iter();
        self.evaluations
            .extend(evaluations.map(|made| evaluation(made, theta.clone())));
        let iterations = state.iterations()[self.iterations.len()..].iter();
        self.iterations
            .extend(iterations.map(|made| iteration(made, best.clone())));
        true
    }

    pub(crate) fn termination(&self) -> Option<Termination> {
        self.engine.termination().map(|end| self.ending(end))
    }

    /// Returns the reason for the end of the run as a termination of the derivative-free solver.
    fn ending(&self, end: &inexact_lbfgs::Termination) -> Termination {
        use inexact_lbfgs::Termination as End;
        let objective = self.engine.best().map_or(0.0, |best| best.value);
        let accuracy = |width: f64| Accuracy::for_objective_error(objective.max(0.0), width);
        match end {
            End::Converged => Termination::Converged,
            End::Slow => Termination::Slow,
            End::Exhausted(limit) => Termination::Exhausted(match limit {
                inexact_lbfgs::Limit::Points => Limit::Points,
                inexact_lbfgs::Limit::Work => Limit::Work,
                inexact_lbfgs::Limit::Time => Limit::Time,
                _ => Limit::Evaluations,
            }),
            End::Blocked => Termination::Blocked,
            End::AccuracyFloor { wanted, achieved } => Termination::AccuracyFloor {
                wanted: accuracy(*wanted),
                achieved: accuracy(*achieved),
            },
            End::Stopped => Termination::Stopped,
            End::OracleFailed { reason } => Termination::OracleFailed {
                reason: reason.clone(),
            },
            // the only other end: no step against the gradient decreases the objective
            _ => Termination::OracleFailed {
                reason: NO_DESCENT.to_owned(),
            },
        }
    }
}

pub(crate) const fn objective_interval(interval: inexact_lbfgs::Interval) -> ObjectiveInterval {
    ObjectiveInterval {
        lower: interval.lower,
        upper: interval.upper,
    }
}

fn evaluation(made: &inexact_lbfgs::EvalRecord, theta: Vec<f64>) -> EvalRecord {
    let purpose = match made.purpose {
        inexact_lbfgs::Purpose::First => Purpose::Initial,
        inexact_lbfgs::Purpose::Sharpen => Purpose::Sharpen,
        _ => Purpose::Trial,
    };
    let mut record = EvalRecord::new(made.point, purpose, made.value.clone(), made.work);
    record.theta = theta;
    if let Ok(value) = made.value {
        let error = (made.interval.upper - value).max(value - made.interval.lower);
        record.achieved = Accuracy::for_objective_error(value.max(0.0), error);
    }
    record
}

fn iteration(made: &inexact_lbfgs::Iteration, theta: Vec<f64>) -> Iteration {
    let kind = match made.kind {
        inexact_lbfgs::StepKind::Initial => StepKind::Initial,
        inexact_lbfgs::StepKind::Accepted => StepKind::Accepted,
        _ => StepKind::Rejected,
    };
    let interval = objective_interval(made.interval);
    let mut record = Iteration::new(made.number, kind, made.value, interval);
    record.theta = theta;
    record.step = made.step;
    record.predicted = made.predicted;
    record.certified = true;
    record.gradient = made.projected_gradient;
    record.num_points = made.num_points;
    record.num_evaluations = made.num_evaluations;
    record.work = made.work;
    record
}
