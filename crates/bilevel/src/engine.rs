//! The solver of a learning run: with gradients or without, behind one interface.

use dfo_ls::{
    Accuracy, Budget, EvalRecord, Iteration, Limit, ObjectiveInterval, Options, Purpose, StepKind,
    Termination, drive_with,
};
use std::ops::ControlFlow;

use crate::checkpoint::Reconstructions;
use crate::error::ProblemError;
use crate::lower::LowerLevel;
use crate::problem::{LearningProblem, SolverKind};

/// The solver of a learning run, created by [`LearningProblem::start`].
///
/// It evaluates nothing by itself: each [`step`](Self::step) evaluates what it asks for. Its history
/// reads the same with and without gradients.
#[derive(Debug)]
pub struct LearningEngine(pub(crate) Kind);

#[derive(Debug)]
pub(crate) enum Kind {
    DerivativeFree(Box<dfo_ls::Engine<Reconstructions>>),
    Gradient(Box<GradientEngine>),
}

/// A quasi-Newton solver, and its history in the form of the derivative-free solver.
#[derive(Debug)]
pub(crate) struct GradientEngine {
    pub(crate) engine: inexact_lbfgs::Engine<Reconstructions>,
    pub(crate) iterations: Vec<Iteration>,
    pub(crate) evaluations: Vec<EvalRecord>,
    /// The work of reconstructions and of adjoints, in gradients.
    pub(crate) work: [u64; 2],
}

/// The best point so far.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct BestPoint<'a> {
    /// The parameters as the solver sees them.
    pub theta: &'a [f64],
    /// The computed objective.
    pub objective: f64,
    /// The interval that certainly contains the exact objective.
    pub interval: ObjectiveInterval,
    /// The reconstructions.
    pub reconstructions: Option<&'a Reconstructions>,
}

/// A saved [`LearningEngine`], without the parts that are saved separately: reconstructions,
/// adjoints, residual vectors and the history.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct LearningState(StateKind);

#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
enum StateKind {
    DerivativeFree(Box<dfo_ls::State<Reconstructions>>),
    Gradient {
        state: Box<inexact_lbfgs::State<Reconstructions>>,
        work: [u64; 2],
        #[cfg_attr(feature = "serde", serde(skip))]
        iterations: Vec<Iteration>,
        #[cfg_attr(feature = "serde", serde(skip))]
        evaluations: Vec<EvalRecord>,
    },
}

/// The largest number of parameters for which the history of a run with gradients lists them.
const MAX_LISTED: usize = 1000;

impl<M: LowerLevel> LearningProblem<M> {
    /// Returns the solver that this problem is learned with, which is not
    /// [`Auto`](SolverKind::Auto).
    ///
    /// # Errors
    /// When gradients are asked for, but the problem is not differentiable; or when a rank cannot
    /// be reached.
    pub fn solver_kind(&self) -> Result<SolverKind, ProblemError> {
        if self.setup.solver == SolverKind::DerivativeFree {
            return Ok(SolverKind::DerivativeFree);
        }
        let reason = self.reason_against_gradients();
        match (reason.map_err(ProblemError::Exchange)?, self.setup.solver) {
            (None, _) => Ok(SolverKind::Gradient),
            (Some(reason), SolverKind::Gradient) => Err(ProblemError::NoGradients { reason }),
            (Some(_), _) => Ok(SolverKind::DerivativeFree),
        }
    }

    /// Creates the solver for this problem, for callers that run the loop of
    /// [`step`](LearningEngine::step) themselves. Pass it to [`conclude`](Self::conclude) at the
    /// end.
    ///
    /// With gradients, only the budget of `options` counts.
    ///
    /// # Errors
    /// When an option is invalid, gradients are asked for but the problem is not differentiable, or
    /// options differ between ranks.
    pub fn start(&self, options: Options) -> Result<LearningEngine, ProblemError> {
        if self.solver_kind()? == SolverKind::DerivativeFree {
            let engine = self.engine(options)?;
            return Ok(LearningEngine(Kind::DerivativeFree(Box::new(engine))));
        }
        let mut chosen = inexact_lbfgs::Options::default();
        chosen.kappa = self.setup.kappa;
        chosen.budget = gradient_budget(&options.budget);
        self.ranks
            .check_same("options of the solver", &format!("{chosen:?}"))?;
        let engine = inexact_lbfgs::Engine::new(self.gradient_problem(), chosen)?;
        Ok(LearningEngine(Kind::Gradient(Box::new(GradientEngine {
            engine,
            iterations: Vec::new(),
            evaluations: Vec::new(),
            work: [0; 2],
        }))))
    }

    /// Creates the solver that continues from a saved state, which must be complete.
    ///
    /// # Errors
    /// When the state is incomplete or belongs to another problem.
    pub fn continue_from(&mut self, state: LearningState) -> Result<LearningEngine, ProblemError> {
        match state.0 {
            StateKind::DerivativeFree(state) => {
                let engine = self.resume(*state)?;
                Ok(LearningEngine(Kind::DerivativeFree(Box::new(engine))))
            }
            StateKind::Gradient {
                state,
                work,
                iterations,
                evaluations,
            } => {
                self.number_after(state.tokens().into_iter(), evaluations.len());
                let engine = inexact_lbfgs::Engine::from_state(self.gradient_problem(), *state)?;
                Ok(LearningEngine(Kind::Gradient(Box::new(GradientEngine {
                    engine,
                    iterations,
                    evaluations,
                    work,
                }))))
            }
        }
    }

    /// Returns the start, the bounds and the weights of absolute values.
    fn gradient_problem(&self) -> inexact_lbfgs::Problem {
        let each = |of: fn(&crate::Parameter) -> f64| -> Vec<f64> {
            self.parameters.iter().map(of).collect()
        };
        let weight = self.setup.regularizer.as_ref().and_then(|h| h.l1_weight());
        inexact_lbfgs::Problem::new(each(|p| p.start))
            .with_bounds(each(|p| p.lower), each(|p| p.upper))
            .expect("bounds were checked when the problem was created")
            .with_l1(weight.unwrap_or(0.0))
            .expect("one weight fits all parameters")
    }
}

/// Returns the same limits for the other solver, without the limit on time.
fn gradient_budget(budget: &Budget) -> inexact_lbfgs::Budget {
    inexact_lbfgs::Budget {
        max_points: budget.max_points,
        max_evaluations: budget.max_evaluations,
        max_work: budget.max_work,
        max_time: None,
    }
}

impl LearningEngine {
    /// Returns the kind of the solver, which is not [`Auto`](SolverKind::Auto).
    #[must_use]
    pub const fn solver(&self) -> SolverKind {
        match &self.0 {
            Kind::DerivativeFree(_) => SolverKind::DerivativeFree,
            Kind::Gradient(_) => SolverKind::Gradient,
        }
    }

    /// Evaluates what the solver asks for, at most `at_once` points, and tells it. Returns `false`
    /// if the run has ended and nothing was evaluated.
    pub fn step<M: LowerLevel>(
        &mut self,
        problem: &mut LearningProblem<M>,
        at_once: usize,
    ) -> bool {
        match &mut self.0 {
            Kind::DerivativeFree(engine) => {
                drive_with(engine, problem, at_once, |_, _| ControlFlow::Break(())).is_break()
            }
            Kind::Gradient(engine) => engine.step(problem),
        }
    }

    /// Returns the reason for the end of the run; `None` while it goes on.
    #[must_use]
    pub fn termination(&self) -> Option<Termination> {
        match &self.0 {
            Kind::DerivativeFree(engine) => engine.termination().cloned(),
            Kind::Gradient(engine) => engine.termination(),
        }
    }

    /// Ends the run, because it was [stopped](Termination::Stopped) or a limit was reached.
    pub fn stop(&mut self, why: Termination) {
        match &mut self.0 {
            Kind::DerivativeFree(engine) => engine.stop(why),
            Kind::Gradient(engine) => engine.engine.stop(match why {
                Termination::Exhausted(Limit::Time) => {
                    inexact_lbfgs::Termination::Exhausted(inexact_lbfgs::Limit::Time)
                }
                _ => inexact_lbfgs::Termination::Stopped,
            }),
        }
    }

    /// Returns the limits of the run.
    #[must_use]
    pub fn budget(&self) -> Budget {
        match &self.0 {
            Kind::DerivativeFree(engine) => engine.options().budget.clone(),
            Kind::Gradient(engine) => {
                let limits = &engine.engine.options().budget;
                let mut budget = Options::default().budget;
                budget.max_points = limits.max_points;
                budget.max_evaluations = limits.max_evaluations;
                budget.max_work = limits.max_work;
                budget
            }
        }
    }

    /// Replaces the limits of the run. A run that has ended because of a limit, or was stopped,
    /// goes on.
    pub fn extend(&mut self, budget: Budget) {
        match &mut self.0 {
            Kind::DerivativeFree(engine) => engine.extend(budget),
            Kind::Gradient(engine) => engine.engine.extend(gradient_budget(&budget)),
        }
    }

    /// Returns the best point so far; `None` before the first evaluation.
    #[must_use]
    pub fn best(&self) -> Option<BestPoint<'_>> {
        match &self.0 {
            Kind::DerivativeFree(engine) => engine.best().map(|best| BestPoint {
                theta: best.theta,
                objective: best.objective,
                interval: best.interval,
                reconstructions: best.resume,
            }),
            Kind::Gradient(engine) => engine.engine.best().map(|best| BestPoint {
                theta: best.theta,
                objective: best.value,
                interval: objective_interval(best.interval),
                reconstructions: Some(best.resume),
            }),
        }
    }

    /// Returns the number of different points that were evaluated.
    #[must_use]
    pub const fn num_points(&self) -> u64 {
        match &self.0 {
            Kind::DerivativeFree(engine) => engine.num_points(),
            Kind::Gradient(engine) => engine.engine.num_points(),
        }
    }

    /// Returns the work of all evaluations, in gradients of the reconstruction problems.
    #[must_use]
    pub const fn work(&self) -> u64 {
        match &self.0 {
            Kind::DerivativeFree(engine) => engine.work(),
            Kind::Gradient(engine) => engine.engine.work(),
        }
    }

    /// Returns the most accurate target of the pending evaluations, if they have one.
    #[must_use]
    pub fn target(&self) -> Option<Accuracy> {
        let Kind::DerivativeFree(engine) = &self.0 else {
            return None;
        };
        let targets = engine.pending().iter().map(|job| job.target());
        targets.min_by(|a, b| a.value().total_cmp(&b.value()))
    }

    /// Returns all iterations so far.
    #[must_use]
    pub fn iterations(&self) -> &[Iteration] {
        match &self.0 {
            Kind::DerivativeFree(engine) => engine.state().iterations(),
            Kind::Gradient(engine) => &engine.iterations,
        }
    }

    /// Returns all evaluations so far.
    #[must_use]
    pub fn evaluations(&self) -> &[EvalRecord] {
        match &self.0 {
            Kind::DerivativeFree(engine) => engine.state().evaluations(),
            Kind::Gradient(engine) => &engine.evaluations,
        }
    }

    /// Returns the reconstructions in use. They may occur more than once.
    #[must_use]
    pub fn tokens(&self) -> Vec<&Reconstructions> {
        match &self.0 {
            Kind::DerivativeFree(engine) => engine.state().tokens(),
            Kind::Gradient(engine) => engine.engine.state().tokens(),
        }
    }

    /// Returns the residual vectors in use, each once and with its number.
    #[must_use]
    pub fn vectors(&self) -> Vec<(u64, &[f64])> {
        match &self.0 {
            Kind::DerivativeFree(engine) => engine.state().vectors(),
            Kind::Gradient(_) => Vec::new(),
        }
    }

    /// Returns the numbers of the residual vectors in use that stay with the learning problem.
    #[must_use]
    pub fn vectors_elsewhere(&self) -> Vec<u64> {
        match &self.0 {
            Kind::DerivativeFree(engine) => engine.state().vectors_elsewhere(),
            Kind::Gradient(_) => Vec::new(),
        }
    }

    /// Returns the state to save. It must be [completed](LearningState::complete) after loading.
    #[must_use]
    pub fn lean_state(&self) -> LearningState {
        LearningState(match &self.0 {
            Kind::DerivativeFree(engine) => {
                StateKind::DerivativeFree(Box::new(engine.state().lean()))
            }
            Kind::Gradient(engine) => StateKind::Gradient {
                state: Box::new(engine.engine.state().clone()),
                work: engine.work,
                iterations: Vec::new(),
                evaluations: Vec::new(),
            },
        })
    }
}

impl LearningState {
    /// Calls `change` for all reconstructions, to attach what was saved separately.
    pub fn each_token(&mut self, change: impl FnMut(&mut Reconstructions)) {
        match &mut self.0 {
            StateKind::DerivativeFree(state) => state.each_token(change),
            StateKind::Gradient { state, .. } => state.each_token(change),
        }
    }

    /// Returns the numbers of the residual vectors that stay with the learning problem.
    #[must_use]
    pub fn vectors_elsewhere(&self) -> Vec<u64> {
        match &self.0 {
            StateKind::DerivativeFree(state) => state.vectors_elsewhere(),
            StateKind::Gradient { .. } => Vec::new(),
        }
    }

    /// Restores the residual vectors, which `vector` returns by their numbers, and the history.
    /// Histories that are longer than needed are cut at the end.
    ///
    /// # Errors
    /// When a vector is missing or a history is too short.
    pub fn complete(
        &mut self,
        vector: impl FnMut(u64) -> Option<Vec<f64>>,
        mut all_iterations: Vec<Iteration>,
        mut all_evaluations: Vec<EvalRecord>,
    ) -> Result<(), ProblemError> {
        match &mut self.0 {
            StateKind::DerivativeFree(state) => {
                Ok(state.complete(vector, all_iterations, all_evaluations)?)
            }
            StateKind::Gradient {
                state,
                iterations,
                evaluations,
                ..
            } => {
                let needed = (state.iterations().len(), state.evaluations().len());
                if all_iterations.len() < needed.0 || all_evaluations.len() < needed.1 {
                    return Err(dfo_ls::SetupError::StateMismatch {
                        what: "the length of its history",
                    }
                    .into());
                }
                all_iterations.truncate(needed.0);
                all_evaluations.truncate(needed.1);
                (*iterations, *evaluations) = (all_iterations, all_evaluations);
                Ok(())
            }
        }
    }

    /// Returns the numbers of iterations and evaluations.
    #[must_use]
    pub fn history_lengths(&self) -> (usize, usize) {
        match &self.0 {
            StateKind::DerivativeFree(state) => {
                (state.iterations().len(), state.evaluations().len())
            }
            StateKind::Gradient {
                iterations,
                evaluations,
                ..
            } => (iterations.len(), evaluations.len()),
        }
    }

    /// Returns whether the state belongs to a problem with this number of residuals.
    #[must_use]
    pub fn has_residuals(&self, count: usize) -> bool {
        match &self.0 {
            StateKind::DerivativeFree(state) => state.num_residuals() == count,
            StateKind::Gradient { .. } => true,
        }
    }
}

impl GradientEngine {
    fn step<M: LowerLevel>(&mut self, problem: &mut LearningProblem<M>) -> bool {
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

    /// Returns the reason for the end of the run in the words of the derivative-free solver.
    fn ending(&self, end: &inexact_lbfgs::Termination) -> Termination {
        use inexact_lbfgs::Termination as End;
        let objective = self.engine.best().map_or(0.0, |best| best.value);
        let accuracy = |width: f64| Accuracy::for_objective_error(objective.max(0.0), width);
        match end {
            End::Converged | End::Slow => Termination::Slow,
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
            other => Termination::OracleFailed {
                reason: format!("{other:?}: check the derivatives of the model"),
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
