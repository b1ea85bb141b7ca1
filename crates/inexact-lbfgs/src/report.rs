//! The report of a run: its best point, the reason for its end, and its history.

use crate::{Interval, Options, Purpose};

/// The result of a run. Every run that has started has a report, whatever the reason for its end.
#[derive(Clone, Debug)]
#[must_use]
#[non_exhaustive]
pub struct Report {
    /// The parameters of the best point; the start if no point could be evaluated.
    pub theta: Vec<f64>,
    /// The computed objective `$F(\theta)$`, absolute values included. NaN if no point could be
    /// evaluated.
    pub value: f64,
    /// The interval that certainly contains the exact objective of the best point.
    pub interval: Interval,
    /// The computed gradient of the smooth function. Empty if no point could be evaluated.
    pub gradient: Vec<f64>,
    /// An estimate of the Euclidean norm of the gradient's error.
    pub gradient_error: f64,
    /// The Euclidean norm of the projected gradient: the steepest slopes of the objective in the
    /// parameters that no bound and no absolute value holds in place.
    pub projected_gradient: f64,
    /// The bounds at which parameters ended, in the order of the parameters.
    pub active: Vec<ActiveBound>,
    /// The reason for the end of the run.
    pub termination: Termination,
    /// All iterations, in order.
    pub iterations: Vec<Iteration>,
    /// All evaluations, in order.
    pub evaluations: Vec<EvalRecord>,
    /// The number of different points that were evaluated.
    pub num_points: u64,
    /// The work of all evaluations, in the oracle's unit.
    pub work: Work,
    /// The options of the run.
    pub options: Options,
}

impl Report {
    /// The number of evaluations. Every time a point was sharpened counts.
    #[must_use]
    pub fn num_evaluations(&self) -> usize {
        self.evaluations.len()
    }
}

/// A bound at which a parameter ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActiveBound {
    /// The index of the parameter, counted from zero.
    pub index: usize,
    /// The bound.
    pub side: Side,
}

/// One of the two bounds of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The parameter is at its lower bound.
    Lower,
    /// The parameter is at its upper bound.
    Upper,
    /// The parameter has equal bounds.
    Fixed,
}

/// The work of a run by its purpose, in the oracle's unit. The work of failed evaluations is
/// included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Work {
    /// The work of the first point.
    pub first: u64,
    /// The work of trial points.
    pub new: u64,
    /// The work of sharpening known points.
    pub sharpen: u64,
}

impl Work {
    /// The sum of all work.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.first
            .saturating_add(self.new)
            .saturating_add(self.sharpen)
    }

    pub(crate) const fn add(&mut self, purpose: Purpose, work: u64) {
        let sum = match purpose {
            Purpose::First => &mut self.first,
            Purpose::New => &mut self.new,
            Purpose::Sharpen => &mut self.sharpen,
        };
        *sum = sum.saturating_add(work);
    }
}

/// The reason for the end of a run.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Termination {
    /// The predicted decrease is below its limit in [`Stop`](crate::Stop), the projected gradient
    /// is zero, or steps are too short to change the parameters. This is the usual end.
    Converged,
    /// Progress became slow, as defined by [`Stop::slow`](crate::Stop::slow).
    Slow,
    /// A limit of the budget was reached.
    Exhausted(Limit),
    /// Steps to better points could not be evaluated. Add bounds that exclude such points.
    Blocked,
    /// A decision needs narrower intervals than the oracle achieves.
    AccuracyFloor {
        /// The width of the interval that would decide.
        wanted: f64,
        /// The width of the interval that the oracle achieved.
        #[cfg_attr(feature = "serde", serde(with = "crate::interval::stored::upper"))]
        achieved: f64,
    },
    /// No step against the computed gradient decreases the objective, however short. The gradient
    /// is wrong, or values that are declared exact have rounding errors.
    NoDescent {
        /// The decrease that the model predicted.
        predicted: f64,
    },
    /// The caller stopped the run.
    Stopped,
    /// The oracle aborted the run, contradicted itself, or could not evaluate the first point.
    OracleFailed {
        /// The cause of the failure.
        reason: String,
    },
}

impl Termination {
    /// Whether the run found as good a point as its options ask for: it ended by
    /// [`Converged`](Self::Converged) or [`Slow`](Self::Slow).
    #[must_use]
    pub const fn is_success(&self) -> bool {
        matches!(self, Self::Converged | Self::Slow)
    }
}

/// A limit of the budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Limit {
    /// The limit `max_points` on the number of points.
    Points,
    /// The limit `max_evaluations` on the number of evaluations.
    Evaluations,
    /// The limit `max_work` on the work.
    Work,
    /// The limit `max_time` on wall-clock time.
    Time,
}

/// The outcome of an iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum StepKind {
    /// The first point was evaluated.
    Initial,
    /// The step was accepted: it certainly decreases the exact objective, and the trial point
    /// became the incumbent.
    Accepted,
    /// No trial point of the line search was accepted. The next iteration has another direction.
    Failed,
}

/// One iteration of a run.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Iteration {
    /// The number of the iteration, counted from zero.
    pub number: u64,
    /// The outcome of the iteration.
    pub kind: StepKind,
    /// The parameters of the incumbent after the iteration. `None` unless
    /// [`Options::history`] asks for parameters.
    pub theta: Option<Vec<f64>>,
    /// The incumbent's objective after the iteration.
    pub value: f64,
    /// The interval that certainly contains the incumbent's exact objective.
    pub interval: Interval,
    /// The step as a share of the full step of the model. `None` for the first iteration.
    pub share: Option<f64>,
    /// The Euclidean length of the step. `None` for an iteration without an accepted step.
    pub step: Option<f64>,
    /// The decrease of the objective that the model predicted for the full step. `None` for the
    /// first iteration.
    pub predicted: Option<f64>,
    /// The Euclidean norm of the incumbent's projected gradient after the iteration.
    pub projected_gradient: f64,
    /// The number of different points evaluated so far.
    pub num_points: u64,
    /// The number of evaluations so far.
    pub num_evaluations: u64,
    /// The work of all evaluations so far, in the oracle's unit.
    pub work: u64,
}

/// One evaluation of a run.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct EvalRecord {
    /// The number of the point, counted from zero in the order of their first evaluation.
    pub point: u64,
    /// The parameters. `None` unless [`Options::history`] asks for parameters.
    pub theta: Option<Vec<f64>>,
    /// The purpose of the evaluation.
    pub purpose: Purpose,
    /// The computed objective `$F(\theta)$`, absolute values included, or the cause of the failure.
    pub value: Result<f64, String>,
    /// The interval of the exact objective after the evaluation, [`Interval::UNKNOWN`] after a
    /// failure.
    pub interval: Interval,
    /// The estimate of the gradient's error, infinite after a failure.
    #[cfg_attr(feature = "serde", serde(with = "crate::interval::stored::upper"))]
    pub gradient_error: f64,
    /// The work of the evaluation, in the oracle's unit.
    pub work: u64,
}
