//! The engine, which asks for evaluations and is told the answers. It is independent of the oracle,
//! threads, files and clocks. Only the sums over residuals in `blocks.rs` may use threads, with the
//! feature `rayon`; their results have the same bits with and without threads.
//!
//! [`Engine::ask`] hands out jobs. [`Engine::tell`] takes their answers and computes until it needs
//! the next ones. Between the two calls, the [`State`] is all that the engine needs to go on, and
//! can be saved and loaded.
//!
//! A state has four parts, each with its own file: the [`Interpolation`] set, the [`TrustState`],
//! the [`Outstanding`] evaluations and the [`Ledger`]. The algorithms ([`practical`], [`paper`])
//! work on a [`Run`], which has all of these except for the outstanding evaluations. Each of their
//! functions returns the next action as a [`Next`]. Only [`Engine::go`] asks, continues or stops.

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
mod width;

use crate::constraints::FeasibleSet;
use crate::model::pool::Point;
use crate::products::Measurement;
use crate::region::StepRegion;
use crate::report::{Iteration, Limit, StepKind, Termination};
use crate::residuals::Residuals;
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

/// A solver with an ask-and-tell interface: it asks for evaluations and is told the answers.
#[derive(Debug)]
pub struct Engine<R> {
    code: UserCode,
    state: State<R>,
}

/// All that an engine needs to go on, except for projections and regulariser, which are code.
///
/// With the feature `serde` a state can be saved after any [`tell`](Engine::tell). A loaded state
/// continues the run bit for bit, provided that the format stores numbers exactly (`serde_json`
/// does with its feature `float_roundtrip`).
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct State<R> {
    options: Options,
    num_residuals: usize,
    /// Whether residual vectors stay with the oracle.
    products: bool,
    /// Whether the problem has projections, and whether it has a regulariser. Both are code, which
    /// is not saved.
    needs_code: (bool, bool),
    space: Space,
    points: Interpolation<R>,
    trust: TrustState,
    outstanding: Outstanding<R>,
    ledger: Ledger<R>,
}

/// The purpose of the outstanding evaluations.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
enum Phase<R> {
    /// The start is evaluated.
    Start,
    /// The points around the start are evaluated.
    Build(InitialPoints<R>),
    /// Known points are evaluated more accurately.
    Sharpen,
    /// The trial point of a step, or the incumbent, is evaluated until the step is decided.
    Trial(Box<Trial<R>>),
    /// Points of the set are replaced by better placed ones. The list has their positions in the
    /// set.
    Geometry(Vec<usize>),
    /// A point in a new direction is evaluated, for a set that does not span all directions.
    Grow,
    /// The last point of the run is evaluated: a step that is too short for a trial, but may still
    /// be a little better.
    Last,
    /// The paper's model is made fully linear. The list has one entry for each evaluation: the
    /// position of a point that is replaced, or `None` for a point that is sharpened.
    Improve(Vec<Option<usize>>),
}

/// The next action, returned by every function of an algorithm.
enum Next<R> {
    /// Asks for evaluations.
    Ask(Phase<R>, Vec<Query<R>>),
    /// Begins the next iteration.
    Continue,
    /// Ends the run.
    Stop(Termination),
}

/// An evaluated point, or the failure of its evaluation.
type Answer<R> = Result<Point<R>, Failure>;

/// The parts of an engine that the algorithms read and change.
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
    /// Returns the jobs to answer now, none if the run has ended or a
    /// [measurement](Self::measurement) is pending. They are independent of each other.
    pub fn ask(&mut self) -> &mut [Job<R>] {
        if self.termination().is_some() {
            return &mut [];
        }
        self.state.outstanding.jobs_mut()
    }

    /// Returns the request for products to answer now, if there is one. Only an engine whose
    /// residual vectors [stay with the oracle](crate::Problem::with_products) makes such requests.
    pub fn measurement(&mut self) -> Option<&mut Measurement> {
        if self.termination().is_some() {
            return None;
        }
        self.state.outstanding.measurement_mut()
    }

    /// Takes the answers and returns the iterations that they completed. The engine asks for
    /// unanswered jobs again. Until all are answered, the answers so far only update the
    /// [best](Self::best) point.
    pub fn tell(&mut self) -> &[Iteration] {
        if self.termination().is_none() {
            self.collect();
            self.proceed();
        }
        self.state.ledger.tell()
    }

    /// Takes the answers so far and ends the run.
    pub fn stop(&mut self, why: Termination) {
        if self.termination().is_none() {
            self.collect();
            self.note_answered();
            self.state.ledger.end(why);
        }
    }

    /// Continues a run that was stopped or whose budget is spent. `budget` replaces the earlier
    /// budget and counts from the beginning of the run. A run that ended for another reason stays
    /// ended.
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
            // The budget was spent before the engine asked for the next evaluations. A new
            // iteration asks for them.
            self.go(Next::Continue);
        }
    }

    /// The reason for the end of the run; `None` while it goes on.
    pub const fn termination(&self) -> Option<&Termination> {
        self.state.ledger.termination()
    }

    /// The best point so far; `None` before the first evaluation.
    #[must_use]
    pub fn best(&self) -> Option<Best<'_, R>> {
        self.state.ledger.best()
    }

    /// The outstanding jobs, answered or not. Empty if the run has ended.
    #[must_use]
    pub fn pending(&self) -> &[Job<R>] {
        if self.termination().is_some() {
            return &[];
        }
        self.state.outstanding.jobs()
    }

    /// The number of different points that were evaluated.
    #[must_use]
    pub const fn num_points(&self) -> u64 {
        self.state.ledger.num_points
    }

    /// The work of all evaluations, in the oracle's unit.
    #[must_use]
    pub const fn work(&self) -> u64 {
        self.state.ledger.work
    }

    /// The trust-region radius and the lower radius, in scaled parameters.
    #[must_use]
    pub const fn radii(&self) -> (f64, f64) {
        (self.state.trust.delta(), self.state.trust.rho())
    }

    /// The numbers of the points of the interpolation set, as in
    /// [`EvalRecord::point`](crate::EvalRecord::point). Known evaluations have larger numbers than
    /// all evaluated points.
    #[must_use]
    pub fn set_points(&self) -> Vec<u64> {
        self.state.points.numbers()
    }

    /// The options, with derived values filled in.
    #[must_use]
    pub const fn options(&self) -> &Options {
        &self.state.options
    }

    /// The state, to save it.
    pub const fn state(&self) -> &State<R> {
        &self.state
    }

    /// The number of iterations that [`tell`](Self::tell) has returned.
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

    /// Takes the answers so far.
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

    /// Updates the best point with points whose answers are complete, while others are outstanding.
    /// When the run has ended, points with missing samples count too.
    fn note_answered(&mut self) {
        let ended = self.termination().is_some();
        for query in self.state.outstanding.answered(ended) {
            self.run().note_best_of(query);
        }
    }

    /// Continues the run if all jobs, or the request for products, are answered.
    fn proceed(&mut self) {
        if let Some((reference, reply)) = self.state.outstanding.take_measurement() {
            let failed = match reply {
                Ok(sums) if sums.iter().all(|sum| sum.is_finite()) => {
                    let State {
                        outstanding,
                        points,
                        ..
                    } = &mut self.state;
                    if !outstanding.take_first_products(reference, &sums) {
                        points.take_answer(reference, &sums);
                        return self.go(Next::Continue);
                    }
                    None
                }
                Ok(_) => Some("a product of the residuals is not finite".to_owned()),
                Err(reason) => Some(reason),
            };
            if let Some(reason) = failed {
                return self.go(Next::Stop(Termination::OracleFailed { reason }));
            }
        }
        if let Some(request) = self.state.outstanding.first_products() {
            return self.state.outstanding.measure(request);
        }
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

    /// Asks, continues or stops: computes until evaluations are needed or the run has ended.
    fn go(&mut self, mut next: Next<R>) {
        loop {
            next = match (next, self.state.ledger.exhausted) {
                (Next::Stop(why), _) => return self.state.ledger.end(why),
                (_, Some(limit)) => Next::Stop(Termination::Exhausted(limit)),
                (Next::Ask(phase, queries), None) => {
                    let state = &mut self.state;
                    if state.products {
                        let new = queries.iter().filter(|query| query.is_new());
                        state.points.make_room(new.count());
                    }
                    state.outstanding.ask(
                        phase,
                        queries,
                        &state.options.budget,
                        &mut state.ledger,
                        state.num_residuals,
                    );
                    if state.products {
                        let reference = state.points.reference().map(Residuals::number);
                        let stored = state.points.stored();
                        let stored = stored.map(|point| (point.number, point.residuals.number()));
                        let ledger = &mut state.ledger;
                        (state.outstanding).measure_against(reference, stored.collect(), ledger);
                    }
                    if !state.outstanding.is_empty() {
                        return;
                    }
                    Next::Continue
                }
                (Next::Continue, None) => {
                    if let Some(question) = self.state.points.question() {
                        return self.state.outstanding.measure(question);
                    }
                    match self.state.options.algorithm {
                        Algorithm::Practical => self.run().iterate(),
                        Algorithm::Paper(_) => self.run().paper_step(),
                    }
                }
            }
        }
    }
}

impl<R: Clone> Run<'_, R> {
    /// Continues with the answers to the phase's evaluations.
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

    /// The feasible steps from the incumbent of at most the length `radius`, in multiples of
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

    /// Asks for more accurate evaluations of known points.
    fn sharpen(&self, points: Vec<Query<R>>) -> Next<R> {
        Next::Ask(Phase::Sharpen, points)
    }

    /// Adds an iteration to the history.
    fn record(&mut self, kind: StepKind, step: StepRecord) {
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
            step: step.step,
            predicted: step.predicted,
            ratio: step.ratio,
            certified: step.certified,
            gradient: step.gradient,
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
    /// Points that were evaluated but are neither in the set nor dropped, because they or the
    /// incumbent are still being sharpened.
    fn undecided(&self) -> Vec<&Point<R>> {
        match self {
            Self::Build(build) => build.rough().collect(),
            Self::Trial(trial) => trial.undecided().collect(),
            _ => Vec::new(),
        }
    }

    /// The points of [`undecided`](Self::undecided), mutably.
    fn undecided_mut(&mut self) -> Vec<&mut Point<R>> {
        match self {
            Self::Build(build) => build.rough_mut().collect(),
            Self::Trial(trial) => trial.undecided_mut().collect(),
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
