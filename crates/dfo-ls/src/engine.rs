//! The engine: asks for evaluations, is told the answers, and knows nothing of the oracle, threads, files or clocks.
//!
//! [`Engine::ask`] hands out jobs, [`Engine::tell`] takes their answers and computes until it needs the next ones. Between the two
//! everything the engine knows is in its [`State`], which can be saved and loaded.

mod accuracy;
mod geometry;
mod growth;
mod initial;
mod paper;
mod practical;
mod query;
mod restart;
mod saved;
mod setup;
mod summary;
mod warm;

pub(crate) use query::Query;

use std::sync::Arc;

use crate::constraints::{FeasibleSet, Regularizer};
use crate::linalg::norm;
use crate::model::linear::Linear;
use crate::model::pool::{Point, Pool};
use crate::report::{EvalRecord, Iteration, Limit, StepKind, Termination};
use crate::residuals::Residuals;
use crate::space::Space;
use crate::{Accuracy, Algorithm, Budget, Job, ObjectiveInterval, Options};
use initial::Build;
use practical::{Control, Trial};

/// Minimises `$\|r(\theta)\|^2$` by asking and being told.
#[derive(Debug)]
pub struct Engine<R> {
    feasible: Arc<FeasibleSet>,
    regularizer: Option<Arc<dyn Regularizer>>,
    state: State<R>,
}

/// Everything an engine knows, except for projections and regulariser, which are code.
///
/// With the feature `serde` it can be saved after any [`tell`](Engine::tell). Loaded, it continues the run bit for bit, provided
/// that the format keeps numbers exactly (`serde_json` does with its feature `float_roundtrip`).
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct State<R> {
    options: Options,
    num_residuals: usize,
    /// Whether the problem has projections, and a regulariser: code, which is not saved.
    needs_code: (bool, bool),
    space: Space,
    pool: Pool<R>,
    /// Slots of the interpolation set.
    set: Vec<usize>,
    /// Slot of the incumbent.
    center: usize,
    linear: Option<Linear>,
    /// Whether no further direction can be added to the set.
    spans: bool,
    delta: f64,
    rho: f64,
    phase: Phase<R>,
    queries: Vec<Query<R>>,
    jobs: Vec<Job<R>>,
    /// The query of each job.
    owners: Vec<usize>,
    control: Control,
    best: Option<BestPoint<R>>,
    last_resume: Option<R>,
    /// Random vectors drawn so far.
    draws: u64,
    /// The residuals' curvature per squared length, as the last quadratic model had it.
    curvature: Option<f64>,
    exhausted: Option<Limit>,
    termination: Option<Termination>,
    iterations: Vec<Iteration>,
    /// How many iterations were handed to the caller.
    seen: usize,
    evaluations: Vec<EvalRecord>,
    /// How many iterations and evaluations a lean state lacks.
    history: Option<(usize, usize)>,
    /// The number of the next new point.
    next_number: u64,
    /// How many residual vectors were made.
    num_vectors: u64,
    /// How many points were evaluated.
    num_points: u64,
    work: u64,
}

/// What the outstanding evaluations are for.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
enum Phase<R> {
    /// The start.
    Start,
    /// The points around it.
    Build(Build<R>),
    /// Nothing is outstanding: the next iteration.
    Iterate,
    /// Known points, more accurately.
    Sharpen,
    /// A step.
    Trial(Box<Trial<R>>),
    /// New places for points of the set, given by their slots.
    Geometry(Vec<usize>),
    /// A point in a direction that the set does not have.
    Grow,
    /// A step too short to be worth more than a last look.
    Last,
    /// Algorithm 1 of the paper.
    Paper(paper::Stage<R>),
}

/// The best point so far, kept even if it leaves the set.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct BestPoint<R> {
    number: u64,
    theta: Vec<f64>,
    residuals: Residuals,
    objective: f64,
    penalty: f64,
    accuracy: Accuracy,
    resume: Option<R>,
}

/// The best point of a run so far: the one whose objective is certainly lowest.
#[derive(Debug)]
#[non_exhaustive]
pub struct Best<'a, R> {
    /// The parameters.
    pub theta: &'a [f64],
    /// The residuals there.
    pub residuals: &'a [f64],
    /// The objective, as it was computed.
    pub objective: f64,
    /// Bounds on the exact objective.
    pub interval: ObjectiveInterval,
    /// The accuracy of the residuals.
    pub accuracy: Accuracy,
    /// The number of the point, as in [`EvalRecord::point`]; `None` for a known evaluation.
    pub point: Option<u64>,
    /// The oracle's token for this point; `None` for a known evaluation.
    pub resume: Option<&'a R>,
}

impl<R: Clone> Engine<R> {
    /// The evaluations that are wanted now; empty when the run has ended. They are independent of each other.
    pub fn ask(&mut self) -> &mut [Job<R>] {
        if self.state.termination.is_some() {
            return &mut [];
        }
        &mut self.state.jobs
    }

    /// Takes the answers, and gives the iterations that they completed. Jobs left unanswered are asked again; until they are
    /// answered too, the others count for the [best](Self::best) point only.
    pub fn tell(&mut self) -> &[Iteration] {
        if self.state.termination.is_none() {
            self.collect();
            if self.state.jobs.is_empty() && self.state.termination.is_none() {
                self.proceed();
            } else {
                self.note_answered();
            }
        }
        let first = std::mem::replace(&mut self.state.seen, self.state.iterations.len());
        &self.state.iterations[first..]
    }

    /// Ends the run. The answers of jobs that are answered already are taken first.
    pub fn stop(&mut self, why: Termination) {
        if self.state.termination.is_none() {
            self.collect();
            self.note_answered();
            self.state.termination.get_or_insert(why);
        }
    }

    /// Goes on with a run that was stopped, or whose budget is spent, with another budget for all of it. Runs that ended for other
    /// reasons stay ended.
    pub fn extend(&mut self, budget: Budget) {
        let derived = self.state.options.budget.max_points;
        self.state.options.budget = Budget {
            max_points: budget.max_points.or(derived),
            ..budget
        };
        // a limit may have been noted while the last evaluations were under way
        self.state.exhausted = None;
        let goes_on = matches!(
            self.state.termination,
            Some(Termination::Stopped | Termination::Exhausted(_))
        );
        if !goes_on {
            return;
        }
        self.state.termination = None;
        if !self.state.jobs.is_empty() {
            return;
        }
        if !self.state.queries.is_empty() {
            self.proceed();
            return;
        }
        // what was wanted next was never asked for
        if self.state.set.is_empty() {
            self.begin(Vec::new());
        } else {
            self.state.phase = match self.state.options.algorithm {
                Algorithm::Practical => Phase::Iterate,
                Algorithm::Paper(_) => Phase::Paper(paper::Stage::default()),
            };
            self.advance();
        }
    }

    /// Why the run has ended, if it has.
    pub const fn termination(&self) -> Option<&Termination> {
        self.state.termination.as_ref()
    }

    /// The best point so far; `None` before the first evaluation.
    #[must_use]
    pub fn best(&self) -> Option<Best<'_, R>> {
        let best = self.state.best.as_ref()?;
        Some(Best {
            theta: &best.theta,
            residuals: &best.residuals,
            objective: best.objective,
            interval: best.interval(),
            accuracy: best.accuracy,
            point: Some(best.number).filter(|number| *number < self.state.next_number),
            resume: best.resume.as_ref(),
        })
    }

    /// The jobs that are outstanding, answered or not; empty when the run has ended.
    #[must_use]
    pub fn pending(&self) -> &[Job<R>] {
        if self.state.termination.is_some() {
            return &[];
        }
        &self.state.jobs
    }

    /// How many different points were evaluated.
    #[must_use]
    pub const fn num_points(&self) -> u64 {
        self.state.num_points
    }

    /// The cost of all evaluations together, in the oracle's unit.
    #[must_use]
    pub const fn work(&self) -> u64 {
        self.state.work
    }

    /// The radius and the lower radius, in scaled parameters.
    #[must_use]
    pub const fn radii(&self) -> (f64, f64) {
        (self.state.delta, self.state.rho)
    }

    /// The points of the interpolation set, numbered as in [`EvalRecord::point`]; known evaluations have numbers beyond all of these.
    #[must_use]
    pub fn set_points(&self) -> Vec<u64> {
        let state = &self.state;
        (state.set.iter())
            .map(|&slot| state.pool.get(slot).number)
            .collect()
    }

    /// The options, with everything derived filled in.
    #[must_use]
    pub const fn options(&self) -> &Options {
        &self.state.options
    }

    /// Everything the engine knows.
    pub const fn state(&self) -> &State<R> {
        &self.state
    }

    /// How many iterations [`tell`](Self::tell) has given to the caller.
    pub(crate) const fn num_told(&self) -> usize {
        self.state.seen
    }

    /// Goes on with the answers, all of which have been taken.
    fn proceed(&mut self) {
        let queries = std::mem::take(&mut self.state.queries);
        let answers = queries
            .into_iter()
            .map(|query| self.finish(query))
            .collect();
        if self.state.termination.is_none() {
            self.absorb(answers);
            self.state.forget_tokens();
            self.advance();
        }
    }

    /// Computes until evaluations are needed or the run has ended.
    fn advance(&mut self) {
        while self.state.jobs.is_empty() && self.state.termination.is_none() {
            if let Some(limit) = self.state.exhausted {
                self.stop(Termination::Exhausted(limit));
            } else {
                match &self.state.phase {
                    Phase::Paper(_) => self.paper_step(),
                    _ => self.iterate(),
                }
            }
        }
    }

    /// Goes on with the answers to the phase's evaluations.
    fn absorb(&mut self, answers: Vec<Answer<R>>) {
        match std::mem::replace(&mut self.state.phase, Phase::Iterate) {
            Phase::Start => self.on_start(answers),
            Phase::Build(build) => self.on_build(build, answers),
            Phase::Iterate => {}
            Phase::Sharpen => self.on_sharpened(answers),
            Phase::Trial(trial) => self.on_trial(*trial, answers),
            Phase::Geometry(moved) => self.on_geometry(&moved, answers),
            Phase::Grow => self.on_grown(answers),
            Phase::Last => self.on_last(answers),
            Phase::Paper(stage) => self.on_paper(stage, answers),
        }
    }
}

/// A point, or why there is none.
type Answer<R> = Result<Point<R>, Failure>;

/// A point that could not be evaluated.
#[derive(Clone, Debug)]
struct Failure {
    number: u64,
    reason: String,
}

impl<R> State<R> {
    /// The length of the residual vector.
    #[must_use]
    pub const fn num_residuals(&self) -> usize {
        self.num_residuals
    }

    fn dim(&self) -> usize {
        self.space.dim()
    }

    /// A point that has left the set still shapes the model, but is never evaluated again.
    fn forget_tokens(&mut self) {
        let left: Vec<usize> = (self.pool.live())
            .filter(|slot| !self.set.contains(slot))
            .collect();
        for slot in left {
            self.pool.get_mut(slot).resume = None;
        }
    }

    fn incumbent(&self) -> &Point<R> {
        self.pool.get(self.center)
    }

    /// The incumbent's position in the set.
    fn center_position(&self) -> usize {
        let position = self.set.iter().position(|&slot| slot == self.center);
        position.expect("the incumbent is in the set")
    }

    fn distance(&self, slot: usize) -> f64 {
        norm(&self.step_to(&self.pool.get(slot).u))
    }

    fn step_to(&self, u: &[f64]) -> Vec<f64> {
        u.iter()
            .zip(&self.incumbent().u)
            .map(|(a, b)| a - b)
            .collect()
    }

    /// How many points the interpolation set should have.
    fn set_size(&self) -> usize {
        match self.options.model {
            crate::Model::Regression { points_per_param } => 1 + self.dim_times(points_per_param),
            _ => 1 + self.dim(),
        }
    }

    /// A multiple, at least 1, of the number of free parameters.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a small count"
    )]
    fn dim_times(&self, factor: f64) -> usize {
        let dim = self.dim();
        ((factor * dim as f64).min(1e6) as usize).max(dim)
    }
}

impl<R> Point<R> {
    /// Where the exact objective lies.
    fn interval(&self) -> ObjectiveInterval {
        interval(self.objective, self.penalty, self.accuracy)
    }
}

impl<R> BestPoint<R> {
    fn interval(&self) -> ObjectiveInterval {
        interval(self.objective, self.penalty, self.accuracy)
    }
}

/// Where the exact objective lies, for residuals of this accuracy and a penalty without error.
fn interval(objective: f64, penalty: f64, accuracy: Accuracy) -> ObjectiveInterval {
    let square = accuracy.objective_interval((objective - penalty).max(0.0));
    ObjectiveInterval {
        lower: square.lower + penalty,
        upper: square.upper + penalty,
    }
}

impl<R: Clone> Engine<R> {
    /// Writes the iteration's row.
    fn record(&mut self, kind: StepKind, row: Row) {
        let poisedness = self
            .state
            .options
            .diagnostics
            .poisedness
            .then(|| self.poisedness(self.state.delta))
            .flatten();
        let state = &mut self.state;
        let incumbent = state.pool.get(state.center);
        state.iterations.push(Iteration {
            number: state.iterations.len() as u64,
            kind,
            theta: incumbent.theta.clone(),
            objective: incumbent.objective,
            interval: incumbent.interval(),
            delta: state.delta,
            rho: state.rho,
            step: row.step,
            predicted: row.predicted,
            ratio: row.ratio,
            certified: row.certified,
            gradient: row.gradient,
            poisedness,
            num_points: state.num_points,
            num_evaluations: state.evaluations.len() as u64,
            work: state.work,
        });
    }
}

/// What an iteration knows of its step.
#[derive(Clone, Copy, Debug)]
struct Row {
    step: Option<f64>,
    predicted: Option<f64>,
    ratio: Option<f64>,
    certified: bool,
    gradient: f64,
}

impl Row {
    /// Of an iteration without a step.
    const fn without_step(gradient: f64) -> Self {
        Self {
            step: None,
            predicted: None,
            ratio: None,
            certified: true,
            gradient,
        }
    }
}

#[cfg(test)]
mod tests;
