//! The engine: asks for evaluations, is told the answers, and knows nothing of the oracle, threads,
//! files or clocks. Only the sums over residuals in `blocks.rs` may use threads, with the feature
//! `rayon`; they give the same bits with and without.
//!
//! [`Engine::ask`] hands out jobs, [`Engine::tell`] takes their answers and computes until it needs
//! the next ones. Between the two everything the engine knows is in its [`State`], which can be
//! saved and loaded.
//!
//! A state has four parts, each with its own file: the [`Interpolation`] set, the [`TrustState`] region,
//! the [`Outstanding`] evaluations and the [`Ledger`]. The algorithms ([`practical`], [`paper`])
//! work on a [`Run`], which has all of these but the outstanding evaluations. Each of their steps
//! returns what comes [`Next`], and [`Engine::go`] alone asks, continues or stops.

mod geometry;
mod growth;
mod initial;
mod interpolation;
mod ledger;
mod outstanding;
mod paper;
mod practical;
mod query;
mod restart;
mod rules;
mod saved;
mod setup;
mod summary;
mod trust;
mod warm;

use crate::constraints::FeasibleSet;
use crate::model::pool::Point;
use crate::region::StepRegion;
use crate::report::{Iteration, Limit, StepKind, Termination};
use crate::space::Space;
use crate::{Algorithm, Budget, Job, Options};
use initial::InitialPoints;
use interpolation::Interpolation;
pub use ledger::Best;
use ledger::{BestPoint, Ledger, StepRecord};
use outstanding::{Failure, Outstanding};
use practical::Trial;
use query::Query;
use rules::{Rule, Situation};
use setup::UserCode;
use trust::TrustState;

/// Minimises `$\|r(\theta)\|^2$` by asking and being told.
#[derive(Debug)]
pub struct Engine<R> {
    code: UserCode,
    state: State<R>,
}

/// Everything an engine knows, except for projections and regulariser, which are code.
///
/// With the feature `serde` it can be saved after any [`tell`](Engine::tell). Loaded, it continues
/// the run bit for bit, provided that the format keeps numbers exactly (`serde_json` does with its
/// feature `float_roundtrip`).
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct State<R> {
    options: Options,
    num_residuals: usize,
    /// Whether the problem has projections, and a regulariser: code, which is not saved.
    needs_code: (bool, bool),
    space: Space,
    points: Interpolation<R>,
    trust: TrustState,
    outstanding: Outstanding<R>,
    ledger: Ledger<R>,
}

/// What the outstanding evaluations are for.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
enum Phase<R> {
    /// The start.
    Start,
    /// The points around it.
    Build(InitialPoints<R>),
    /// Known points, more accurately.
    Sharpen,
    /// A step.
    Trial(Box<Trial<R>>),
    /// New places for points of the set, given by their positions.
    Geometry(Vec<usize>),
    /// A point in a direction that the set does not have.
    Grow,
    /// The last point of the run: a step too short for a trial, which is evaluated once because it
    /// may still be a little better.
    Last,
    /// What makes the paper's model fully linear: new places for points, given by their positions,
    /// and others (`None`) more accurately.
    Improve(Vec<Option<usize>>),
}

/// What comes after a step of an algorithm.
enum Next<R> {
    /// Evaluations are needed.
    Ask(Phase<R>, Vec<Query<R>>),
    /// The next iteration can begin.
    Continue,
    /// The run has ended.
    Stop(Termination),
}

/// A point, or why there is none.
type Answer<R> = Result<Point<R>, Failure>;

/// What the algorithms read and change.
struct Run<'a, R> {
    options: &'a Options,
    num_residuals: usize,
    code: &'a UserCode,
    space: &'a mut Space,
    points: &'a mut Interpolation<R>,
    trust: &'a mut TrustState,
    ledger: &'a mut Ledger<R>,
}

impl<R: Clone> Engine<R> {
    /// The evaluations that are wanted now; empty when the run has ended. They are independent of
    /// each other.
    pub fn ask(&mut self) -> &mut [Job<R>] {
        if self.termination().is_some() {
            return &mut [];
        }
        self.state.outstanding.jobs_mut()
    }

    /// Takes the answers, and gives the iterations that they completed. Jobs left unanswered are
    /// asked again; until they are answered too, the others count for the [best](Self::best) point
    /// only.
    pub fn tell(&mut self) -> &[Iteration] {
        if self.termination().is_none() {
            self.collect();
            self.proceed();
        }
        self.state.ledger.tell()
    }

    /// Ends the run. The answers of jobs that are answered already are taken first.
    pub fn stop(&mut self, why: Termination) {
        if self.termination().is_none() {
            self.collect();
            self.note_answered();
            self.state.ledger.end(why);
        }
    }

    /// Goes on with a run that was stopped, or whose budget is spent, with another budget for all
    /// of it. Runs that ended for other reasons stay ended.
    pub fn extend(&mut self, budget: Budget) {
        let derived = self.state.options.budget.max_points;
        self.state.options.budget = Budget {
            max_points: budget.max_points.or(derived),
            ..budget
        };
        if !self.state.ledger.reopen() {
            return;
        }
        if !self.state.outstanding.is_empty() {
            self.proceed();
        } else if self.state.points.is_empty() {
            self.begin(Vec::new());
        } else {
            // The budget was spent before the next evaluations were asked for: a new iteration
            // finds them again.
            self.go(Next::Continue);
        }
    }

    /// Why the run has ended, if it has.
    pub const fn termination(&self) -> Option<&Termination> {
        self.state.ledger.termination()
    }

    /// The best point so far; `None` before the first evaluation.
    #[must_use]
    pub fn best(&self) -> Option<Best<'_, R>> {
        self.state.ledger.best()
    }

    /// The jobs that are outstanding, answered or not; empty when the run has ended.
    #[must_use]
    pub fn pending(&self) -> &[Job<R>] {
        if self.termination().is_some() {
            return &[];
        }
        self.state.outstanding.jobs()
    }

    /// How many different points were evaluated.
    #[must_use]
    pub const fn num_points(&self) -> u64 {
        self.state.ledger.num_points
    }

    /// The cost of all evaluations together, in the oracle's unit.
    #[must_use]
    pub const fn work(&self) -> u64 {
        self.state.ledger.work
    }

    /// The radius and the lower radius, in scaled parameters.
    #[must_use]
    pub const fn radii(&self) -> (f64, f64) {
        (self.state.trust.delta(), self.state.trust.rho())
    }

    /// The points of the interpolation set, numbered as in
    /// [`EvalRecord::point`](crate::EvalRecord::point); known evaluations have numbers beyond all
    /// of these.
    #[must_use]
    pub fn set_points(&self) -> Vec<u64> {
        self.state.points.numbers()
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
        self.state.ledger.num_told
    }

    fn run(&mut self) -> Run<'_, R> {
        Run {
            options: &self.state.options,
            num_residuals: self.state.num_residuals,
            code: &self.code,
            space: &mut self.state.space,
            points: &mut self.state.points,
            trust: &mut self.state.trust,
            ledger: &mut self.state.ledger,
        }
    }

    /// Takes the answers there are.
    fn collect(&mut self) {
        let State {
            outstanding,
            points,
            ledger,
            options,
            ..
        } = &mut self.state;
        outstanding.collect(points.blocks(), ledger);
        if (options.budget.max_work).is_some_and(|max| ledger.work >= max) {
            ledger.exhausted = Some(Limit::Work);
        }
    }

    /// Lets points whose answers are complete count for the best point while others are
    /// outstanding. When the run has ended, points of which some samples are missing count too.
    fn note_answered(&mut self) {
        let ended = self.termination().is_some();
        for query in self.state.outstanding.answered(ended) {
            self.run().note_best_of(query);
        }
    }

    /// Goes on if all that was asked for is answered.
    fn proceed(&mut self) {
        let is_open = self.termination().is_none();
        let complete = is_open.then(|| self.state.outstanding.take()).flatten();
        let Some((phase, queries)) = complete else {
            self.note_answered();
            return;
        };
        let mut run = self.run();
        let answers = queries.into_iter().map(|query| run.finish(query)).collect();
        if self.termination().is_none() {
            let next = self.run().absorb(phase, answers);
            self.state.points.forget_tokens();
            self.go(next);
        }
    }

    /// Asks, goes on or stops: computes until evaluations are needed or the run has ended.
    fn go(&mut self, mut next: Next<R>) {
        loop {
            next = match (next, self.state.ledger.exhausted) {
                (Next::Stop(why), _) => return self.state.ledger.end(why),
                (_, Some(limit)) => Next::Stop(Termination::Exhausted(limit)),
                (Next::Ask(phase, queries), None) => {
                    let state = &mut self.state;
                    state.outstanding.ask(
                        phase,
                        queries,
                        &state.options.budget,
                        &mut state.ledger,
                        state.num_residuals,
                    );
                    if !state.outstanding.is_empty() {
                        return;
                    }
                    Next::Continue
                }
                (Next::Continue, None) => match self.state.options.algorithm {
                    Algorithm::Practical => self.run().iterate(),
                    Algorithm::Paper(_) => self.run().paper_step(),
                },
            }
        }
    }
}

impl<R: Clone> Run<'_, R> {
    /// Goes on with the answers to the phase's evaluations.
    fn absorb(&mut self, phase: Phase<R>, answers: Vec<Answer<R>>) -> Next<R> {
        match phase {
            Phase::Start => self.on_start(answers),
            Phase::Build(build) => self.on_build(build, answers),
            Phase::Sharpen => {
                answers
                    .into_iter()
                    .for_each(|answer| self.points.sharpen(answer));
                Next::Continue
            }
            Phase::Trial(trial) => match self.options.algorithm {
                Algorithm::Practical => self.on_trial(*trial, answers),
                Algorithm::Paper(_) => self.on_paper_trial(*trial, answers),
            },
            Phase::Geometry(moved) => self.on_geometry(&moved, answers),
            Phase::Grow => self.on_grown(answers),
            Phase::Last => self.on_last(answers),
            Phase::Improve(moved) => self.on_improved(&moved, answers),
        }
    }

    fn dim(&self) -> usize {
        self.space.dim()
    }

    fn rule(&self) -> &dyn Rule<R> {
        self.options.accuracy.rule()
    }

    fn now(&self) -> Situation<'_, R> {
        Situation {
            points: self.points,
            delta: self.trust.delta(),
            region: &self.options.trust_region,
            num_residuals: self.num_residuals,
        }
    }

    /// The steps from the incumbent of at most this length that stay feasible, in multiples of
    /// `unit`.
    fn region(&self, radius: f64, unit: f64) -> StepRegion<'_> {
        StepRegion::new(
            self.space,
            &self.code.feasible,
            self.code.regularizer.as_deref(),
            &self.points.incumbent().u,
            radius,
            unit,
        )
    }

    /// Asks known points for more accuracy.
    fn sharpen(&self, points: Vec<Query<R>>) -> Next<R> {
        Next::Ask(Phase::Sharpen, points)
    }

    /// Writes the iteration's row.
    fn record(&mut self, kind: StepKind, row: StepRecord) {
        let delta = self.trust.delta();
        let wanted = self.options.diagnostics.poisedness;
        let poisedness = wanted
            .then(|| self.points.poisedness(&self.region(delta, 1.0), |_| true))
            .flatten();
        let incumbent = self.points.incumbent();
        let number = self.ledger.iterations.len() as u64;
        self.ledger.iterations.push(Iteration {
            number,
            kind,
            theta: incumbent.theta.clone(),
            objective: incumbent.objective,
            interval: incumbent.interval(),
            delta,
            rho: self.trust.rho(),
            step: row.step,
            predicted: row.predicted,
            ratio: row.ratio,
            certified: row.certified,
            gradient: row.gradient,
            poisedness,
            num_points: self.ledger.num_points,
            num_evaluations: self.ledger.evaluations.len() as u64,
            work: self.ledger.work,
        });
    }
}

impl<R> State<R> {
    /// The length of the residual vector.
    #[must_use]
    pub const fn num_residuals(&self) -> usize {
        self.num_residuals
    }
}

impl<R> Phase<R> {
    /// Points that were evaluated, but are neither in the set nor given up, because they, or the
    /// incumbent, are still being sharpened.
    fn undecided(&self) -> Vec<&Point<R>> {
        match self {
            Self::Build(build) => build.rough().collect(),
            Self::Trial(trial) => trial.point.iter().collect(),
            _ => Vec::new(),
        }
    }

    /// The same points as [`undecided`](Self::undecided), to be changed.
    fn undecided_mut(&mut self) -> Vec<&mut Point<R>> {
        match self {
            Self::Build(build) => build.rough_mut().collect(),
            Self::Trial(trial) => trial.point.iter_mut().collect(),
            _ => Vec::new(),
        }
    }
}

/// Whether the feasible set is given by projections onto convex sets.
const fn has_projections(feasible: &FeasibleSet) -> bool {
    matches!(feasible, FeasibleSet::Convex(_))
}

#[cfg(test)]
mod tests;
