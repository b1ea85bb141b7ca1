//! The solver of a learning run: with gradients or without, behind one interface.

mod gradient;
mod state;

use std::ops::ControlFlow;

use dfo_ls::{
    Accuracy, Budget, EvalRecord, Iteration, Limit, ObjectiveInterval, Options, Termination,
    drive_with,
};

use crate::checkpoint::Reconstructions;
use crate::error::ProblemError;
use crate::lower::LowerLevel;
use crate::problem::{LearningProblem, SolverKind};
use gradient::gradient_budget;
pub(crate) use gradient::{GradientEngine, objective_interval};
pub use state::LearningState;
use state::StateKind;

/// The solver of a learning run, created by [`LearningProblem::start`].
///
/// It evaluates nothing on its own: each [`step`](Self::step) evaluates the points that the solver
/// asks for. Its history has the same form with and without gradients.
#[derive(Debug)]
pub struct LearningEngine(pub(crate) Kind);

#[derive(Debug)]
pub(crate) enum Kind {
    DerivativeFree(Box<dfo_ls::Engine<Reconstructions>>),
    Gradient(Box<GradientEngine>),
}

/// The number of points over which [`Setup::least_gain`](crate::Setup::least_gain) is measured.
const LAST_POINTS: u64 = 10;

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
    /// With gradients, only the limits of `options.budget` on points, evaluations and work count.
    /// The caller measures the time.
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
        chosen.stop.slow = (self.setup.least_gain).map(|decrease| inexact_lbfgs::SlowProgress {
            decrease,
            points: LAST_POINTS,
        });
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
        let (start, lower, upper) = self.start_and_bounds();
        let weight = self.setup.regularizer.as_ref().and_then(|h| h.l1_weight());
        inexact_lbfgs::Problem::new(start)
            .with_bounds(lower, upper)
            .expect("bounds were checked when the problem was created")
            .with_l1(weight.unwrap_or(0.0))
            .expect("one weight fits all parameters")
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

    /// Evaluates the points that the solver asks for, at most `at_once` of them, and passes the
    /// answers to the solver. Returns `false` if the run has ended and nothing was evaluated.
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
                budget.max_time = limits.max_time;
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

    /// Returns the most accurate target of the pending evaluations; `None` with gradients, or if
    /// none is pending.
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

    /// Returns the reconstructions of all points in use. The same ones may occur more than once.
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
