//! The engine, which asks for evaluations and is told the answers. It is independent of the oracle,
//! threads, files and clocks.

mod iterate;
mod ledger;
mod levelling;
mod point;
mod progress;
mod saved;
mod search;
mod summary;

use crate::model::Memory;
use crate::report::{EvalRecord, Iteration, Termination};
use crate::{Answer, Budget, EvalError, History, Interval, Job, Options, Problem, Request};
use crate::{Purpose, SetupError};
use ledger::Ledger;
use point::{Invalid, Point, checked};
use progress::Progress;
use search::Search;

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
    memory: Memory,
    search: Option<Search<R>>,
    progress: Progress,
    phase: Phase,
    /// The outstanding job. A run whose budget is spent still has one.
    job: Option<Job<R>>,
    ledger: Ledger,
}

/// The purpose of the outstanding evaluation.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
enum Phase {
    /// The start is evaluated.
    First,
    /// The trial point of a line search is evaluated.
    Trial,
    /// The trial point is sharpened, to decide about it.
    SharpenTrial,
    /// The incumbent is sharpened, to decide about the trial point.
    SharpenIncumbent,
    /// The incumbent is sharpened because several trial points were rejected.
    Renew,
    /// The incumbent is sharpened because its projected gradient is smaller than its error.
    Verify,
}

/// The next action, returned by every function of the algorithm.
enum Next<R> {
    /// Asks for an evaluation.
    Ask(Phase, Job<R>),
    /// Computes a step from the incumbent.
    Step,
    /// Decides about the trial point.
    Decide,
    /// Ends the run.
    Stop(Termination),
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
        let start = Job::new(problem.feasible_start(), Request::First);
        let state = State {
            memory: Memory::new(options.memory),
            options,
            fingerprint: problem.fingerprint(),
            incumbent: None,
            search: None,
            progress: Progress::default(),
            phase: Phase::First,
            job: None,
            ledger: Ledger::default(),
        };
        let mut engine = Self { problem, state };
        engine.go(Next::Ask(Phase::First, start));
        Ok(engine)
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
        if self.state.ledger.termination.is_none()
            && let Some(job) = self.state.job.take_if(|job| job.is_answered())
        {
            let next = self.absorb(job);
            self.go(next);
        }
        self.state.ledger.tell()
    }

    /// Takes the answer, if there is one, and ends the run.
    pub fn stop(&mut self, why: Termination) {
        let num_told = self.state.ledger.num_told;
        let _ = self.tell();
        // The iterations that this answer completed are returned by the next call of `tell`.
        self.state.ledger.num_told = num_told;
        if self.state.ledger.termination.is_none() {
            self.state.ledger.termination = Some(why);
        }
    }

    /// Continues a run that was stopped or whose budget is spent. `budget` replaces the earlier
    /// budget and counts from the beginning of the run. A run that ended for another reason stays
    /// ended.
    pub fn extend(&mut self, budget: Budget) {
        self.state.options.budget = budget;
        let may_go_on =
            |why: &mut Termination| matches!(why, Termination::Stopped | Termination::Exhausted(_));
        let ledger = &mut self.state.ledger;
        if ledger.termination.take_if(may_go_on).is_some()
            && let Some(job) = self.state.job.take()
        {
            self.go(Next::Ask(self.state.phase, job));
        }
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
            value: point.value(),
            interval: point.interval(),
            gradient: &point.gradient,
            gradient_error: point.gradient_error,
            resume: &point.resume,
        })
    }

    /// The outstanding job, answered or not; `None` if the run has ended.
    #[must_use]
    pub fn pending(&self) -> Option<&Job<R>> {
        let is_open = self.state.ledger.termination.is_none();
        self.state.job.as_ref().filter(|_| is_open)
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

    /// Asks, continues or stops: computes until an evaluation is needed or the run has ended.
    fn go(&mut self, mut next: Next<R>) {
        loop {
            next = match next {
                Next::Ask(phase, job) => {
                    let state = &mut self.state;
                    let forbidden = state.ledger.forbids(job.request(), &state.options.budget);
                    state.ledger.termination = forbidden.map(Termination::Exhausted);
                    (state.phase, state.job) = (phase, Some(job));
                    return;
                }
                Next::Step => self.compute_step(),
                Next::Decide => self.decide(),
                Next::Stop(why) => {
                    self.state.search = None;
                    self.state.ledger.termination = Some(why);
                    return;
                }
            }
        }
    }

    /// Continues with the answer to the outstanding job.
    fn absorb(&mut self, mut job: Job<R>) -> Next<R> {
        let Some(reply) = job.take_reply() else {
            return Next::Ask(self.state.phase, job);
        };
        let purpose = job.request().purpose();
        let ledger = &mut self.state.ledger;
        ledger.num_evaluations += 1;
        if purpose != Purpose::Sharpen {
            ledger.num_points += 1;
        }
        let (work, outcome) = match reply {
            Ok(answer) => (answer.work, self.place(&job, answer)),
            Err(EvalError::Reject { reason, work }) => (work, Err(Invalid::Rejected(reason))),
            Err(EvalError::Abort { reason }) => (0, Err(Invalid::Broken(reason))),
        };
        self.state.ledger.work.add(purpose, work);
        self.record_evaluation(&job, &outcome, work);
        match outcome {
            Ok(()) => self.proceed(),
            Err(Invalid::Broken(reason)) => Next::Stop(Termination::OracleFailed { reason }),
            Err(Invalid::Rejected(reason)) => self.on_rejected(reason),
        }
    }

    /// Checks an answer and stores it where its phase needs it.
    fn place(&mut self, job: &Job<R>, answer: Answer<R>) -> Result<(), Invalid> {
        let answer = checked(answer, self.problem.num_params())?;
        let state = &mut self.state;
        let number = state.ledger.num_points.saturating_sub(1);
        let new = |problem: &Problem, answer| {
            let theta = job.theta().to_vec();
            let penalty = problem.penalty(&theta);
            Some(Point::new(number, theta, answer, penalty))
        };
        let sharpened = match (state.phase, &mut state.search) {
            (Phase::First, _) => {
                state.incumbent = new(&self.problem, answer);
                return Ok(());
            }
            (Phase::Trial, Some(search)) => {
                search.trial = new(&self.problem, answer);
                return Ok(());
            }
            (Phase::SharpenTrial, Some(search)) => search.trial.as_mut(),
            _ => state.incumbent.as_mut(),
        };
        sharpened.map_or(Ok(()), |point| point.sharpen(answer))
    }

    /// The point that the outstanding phase evaluates, if it is known.
    fn evaluated(&self) -> Option<&Point<R>> {
        let trial = || self.state.search.as_ref()?.trial.as_ref();
        match self.state.phase {
            Phase::Trial | Phase::SharpenTrial => trial(),
            _ => self.state.incumbent.as_ref(),
        }
    }

    fn record_evaluation(&mut self, job: &Job<R>, outcome: &Result<(), Invalid>, work: u64) {
        let last = self.state.ledger.num_points.saturating_sub(1);
        let point = self.evaluated();
        let (value, interval, gradient_error) = match (outcome, point) {
            (Ok(()), Some(point)) => (Ok(point.value()), point.interval(), point.gradient_error),
            (Err(Invalid::Rejected(reason) | Invalid::Broken(reason)), _) => {
                (Err(reason.clone()), Interval::UNKNOWN, f64::INFINITY)
            }
            (Ok(()), None) => (Err("lost".to_owned()), Interval::UNKNOWN, f64::INFINITY),
        };
        let purpose = job.request().purpose();
        let known = point.map_or(last, |point| point.number);
        let with_theta = self.state.options.history == History::Parameters;
        let record = EvalRecord {
            point: if purpose == Purpose::Sharpen {
                known
            } else {
                last
            },
            theta: with_theta.then(|| job.theta().to_vec()),
            purpose,
            value,
            interval,
            gradient_error,
            work,
        };
        self.state.ledger.evaluations.push(record);
    }
}
