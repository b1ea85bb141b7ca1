//! The engine, which asks for evaluations and is told the answers. It is independent of the oracle,
//! threads, files and clocks.

mod ledger;
mod saved;

use crate::report::{Iteration, Report, Termination};
use crate::{Budget, Interval, Job, Options, Problem, Request, SetupError};
use ledger::Ledger;

/// A solver with an ask-and-tell interface: it asks for evaluations and is told the answers.
#[derive(Debug)]
pub struct Engine<R> {
    problem: Problem,
    state: State<R>,
}

/// All that an engine needs to go on, except for the problem.
///
/// With the feature `serde` a state can be saved after any [`tell`](Engine::tell). A loaded state
/// continues the run bit for bit, provided that the format stores numbers exactly (`serde_json`
/// does with its feature `float_roundtrip`).
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct State<R> {
    options: Options,
    fingerprint: u64,
    incumbent: Option<Point<R>>,
    job: Option<Job<R>>,
    ledger: Ledger,
}

/// An evaluated point.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct Point<R> {
    theta: Vec<f64>,
    value: f64,
    interval: Interval,
    gradient: Vec<f64>,
    #[cfg_attr(feature = "serde", serde(with = "crate::interval::stored::upper"))]
    gradient_error: f64,
    resume: R,
}

/// The best point so far. Its exact objective is certainly not above that of any earlier incumbent.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Best<'a, R> {
    /// The parameters.
    pub theta: &'a [f64],
    /// The computed objective, absolute values included.
    pub value: f64,
    /// The interval that certainly contains the exact objective.
    pub interval: Interval,
    /// The computed gradient of the smooth function.
    pub gradient: &'a [f64],
    /// An estimate of the Euclidean norm of the gradient's error.
    pub gradient_error: f64,
    /// The token of the point.
    pub resume: &'a R,
}

impl<R: Clone> Engine<R> {
    /// Creates an engine, whose first job is the start.
    ///
    /// # Errors
    /// When the problem or an option is invalid.
    pub fn new(problem: Problem, options: Options) -> Result<Self, SetupError> {
        problem.validate()?;
        options.validate()?;
        let state = State {
            options,
            fingerprint: problem.fingerprint(),
            incumbent: None,
            job: Some(Job::new(problem.start().to_vec(), Request::First)),
            ledger: Ledger::default(),
        };
        Ok(Self { problem, state })
    }

    /// Creates an engine that continues a saved run of the same problem.
    ///
    /// # Errors
    /// When the state belongs to a problem with other bounds or weights, or is incomplete.
    pub fn from_state(problem: Problem, state: State<R>) -> Result<Self, SetupError> {
        problem.validate()?;
        if state.ledger.missing.is_some() {
            return Err(SetupError::IncompleteState);
        }
        if state.fingerprint != problem.fingerprint() {
            let what = "the number of parameters, a bound or a weight";
            return Err(SetupError::StateMismatch { what });
        }
        Ok(Self { problem, state })
    }

    /// Returns the job to answer now; `None` if the run has ended.
    pub fn ask(&mut self) -> Option<&mut Job<R>> {
        if self.state.ledger.termination.is_some() {
            return None;
        }
        self.state.job.as_mut()
    }

    /// Takes the answer and returns the iterations that it completed. An engine whose job is not
    /// answered does nothing.
    pub fn tell(&mut self) -> &[Iteration] {
        self.state.ledger.tell()
    }

    /// Takes the answer, if there is one, and ends the run.
    pub fn stop(&mut self, why: Termination) {
        if self.state.ledger.termination.is_none() {
            self.state.ledger.termination = Some(why);
        }
    }

    /// Continues a run that was stopped or whose budget is spent. `budget` replaces the earlier
    /// budget and counts from the beginning of the run. A run that ended for another reason stays
    /// ended.
    pub fn extend(&mut self, budget: Budget) {
        self.state.options.budget = budget;
    }

    /// The reason for the end of the run; `None` while it goes on.
    pub const fn termination(&self) -> Option<&Termination> {
        self.state.ledger.termination.as_ref()
    }

    /// The best point so far; `None` before the first evaluation.
    #[must_use]
    pub fn best(&self) -> Option<Best<'_, R>> {
        let point = self.state.incumbent.as_ref()?;
        Some(Best {
            theta: &point.theta,
            value: point.value,
            interval: point.interval,
            gradient: &point.gradient,
            gradient_error: point.gradient_error,
            resume: &point.resume,
        })
    }

    /// The number of different points that were evaluated.
    #[must_use]
    pub const fn num_points(&self) -> u64 {
        self.state.ledger.num_points
    }

    /// The number of evaluations.
    #[must_use]
    pub const fn num_evaluations(&self) -> u64 {
        self.state.ledger.num_evaluations
    }

    /// The work of all evaluations, in the oracle's unit.
    #[must_use]
    pub const fn work(&self) -> u64 {
        self.state.ledger.work.total()
    }

    /// The options.
    #[must_use]
    pub const fn options(&self) -> &Options {
        &self.state.options
    }

    /// The problem.
    #[must_use]
    pub const fn problem(&self) -> &Problem {
        &self.problem
    }

    /// The state, to save it.
    pub const fn state(&self) -> &State<R> {
        &self.state
    }

    /// Ends the run, if it has not ended, and returns its report.
    pub fn into_report(self) -> Report {
        self.into_parts().0
    }

    /// Ends the run, if it has not ended, and returns its report and the token of the best point.
    pub fn into_parts(mut self) -> (Report, Option<R>) {
        self.stop(Termination::Stopped);
        let report = Report {
            theta: self.problem.start().to_vec(),
            value: f64::NAN,
            interval: Interval::UNKNOWN,
            gradient: Vec::new(),
            gradient_error: f64::INFINITY,
            projected_gradient: f64::NAN,
            active: Vec::new(),
            termination: Termination::Stopped,
            iterations: Vec::new(),
            evaluations: Vec::new(),
            num_points: 0,
            work: crate::Work::default(),
            options: self.state.options,
        };
        (report, None)
    }
}
