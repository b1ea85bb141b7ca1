//! Learning from the first evaluation to the result: `LearningProblem::learn`.

use std::ops::ControlFlow;
use std::time::Instant;

use dfo_ls::{
    AccuracyControl, Engine, EvalRecord, Iteration, Jacobian, Limit, ObjectiveInterval, Options,
    Report, SlowProgress, Start, Termination, WarmStart,
};

use crate::checkpoint::Reconstructions;
use crate::engine::{GradientEngine, Kind, LearningEngine, objective_interval};
use crate::error::ProblemError;
use crate::learned::{FlatDirection, Learned, LearnedGradient, LearnedParameter, Work};
use crate::lower::LowerLevel;
use crate::problem::{LearningProblem, SolverKind};
use crate::score::{Score, Scored, ScoredImages};

/// Returns the options of the solver for learning. They are the defaults of [`dfo_ls`], except that
///
/// - a run ends when steps are as small as `$10^{-5}$` of the parameters' ranges,
/// - or when the objective has fallen by less than a millionth per step for `$2d$` steps, with
///   `$d$` parameters,
/// - and reconstructions start from a combination of earlier ones.
///
/// Decision record 14 has the measurements behind these values.
#[must_use]
pub fn learning_options() -> Options {
    let mut options = Options::default();
    options.trust_region.final_radius = 1e-5;
    let mut slow = SlowProgress::default();
    slow.rate = 1e-6;
    slow.patience = 2;
    options.slow = Some(slow);
    if let AccuracyControl::Dynamic(rules) = &mut options.accuracy {
        rules.warm_start = WarmStart::Extrapolated;
    }
    options
}

/// A run that has ended, with gradients or without.
pub(crate) struct EndedRun {
    pub(crate) solver: SolverKind,
    pub(crate) theta: Vec<f64>,
    pub(crate) objective: f64,
    pub(crate) interval: ObjectiveInterval,
    pub(crate) termination: Termination,
    pub(crate) jacobian: Option<Jacobian>,
    pub(crate) gradient: Option<LearnedGradient>,
    pub(crate) iterations: Vec<Iteration>,
    pub(crate) evaluations: Vec<EvalRecord>,
    pub(crate) num_points: u64,
}

impl From<Report> for EndedRun {
    fn from(report: Report) -> Self {
        Self {
            solver: SolverKind::DerivativeFree,
            theta: report.theta,
            objective: report.objective,
            interval: report.interval,
            termination: report.termination,
            jacobian: report.jacobian,
            gradient: None,
            iterations: report.iterations,
            evaluations: report.evaluations,
            num_points: report.num_points,
        }
    }
}

impl<M: LowerLevel> LearningProblem<M> {
    /// Learns the parameters with the [`learning_options`].
    ///
    /// # Errors
    /// When the solver does not accept the problem. A failure after the first evaluation is
    /// reported in [`Learned::termination`].
    pub fn learn(&mut self) -> Result<Learned, ProblemError> {
        self.learn_with(learning_options())
    }

    /// Learns the parameters with other options. Start from the [`learning_options`] and change
    /// some of their fields. With gradients, only the budget counts.
    ///
    /// # Errors
    /// When the solver does not accept an option. A failure after the first evaluation is reported
    /// in [`Learned::termination`].
    pub fn learn_with(&mut self, options: Options) -> Result<Learned, ProblemError> {
        self.learn_observed(options, |_| ControlFlow::Continue(()))
    }

    /// Learns the parameters and calls `observe` after every iteration of the solver. The observer
    /// ends the run by returning [`ControlFlow::Break`].
    ///
    /// # Errors
    /// When the solver does not accept an option.
    pub fn learn_observed(
        &mut self,
        options: Options,
        mut observe: impl FnMut(&Iteration) -> ControlFlow<()>,
    ) -> Result<Learned, ProblemError> {
        let limit = options.budget.max_time;
        let begin = Instant::now();
        let mut engine = self.start(options)?;
        let mut shown = 0;
        while engine.step(self, usize::MAX) {
            let new = &engine.iterations()[shown..];
            shown += new.len();
            if new.iter().any(|iteration| observe(iteration).is_break()) {
                engine.stop(Termination::Stopped);
            }
            if limit.is_some_and(|limit| begin.elapsed() >= limit) {
                engine.stop(Termination::Exhausted(Limit::Time));
            }
        }
        Ok(self.conclude(engine).0)
    }

    /// Ends a run. Returns the result and the reconstructions of all pairs with the learned
    /// parameters.
    pub fn conclude(&self, engine: LearningEngine) -> (Learned, ScoredImages) {
        match engine.0 {
            Kind::DerivativeFree(engine) => self.finish(*engine),
            Kind::Gradient(engine) => {
                let termination = engine.termination();
                let GradientEngine {
                    engine,
                    iterations,
                    evaluations,
                    work: [reconstructions, adjoints],
                } = *engine;
                let (report, best) = engine.into_parts();
                let error =
                    (best.as_ref()).and_then(|best| self.gradient_error(&report.theta, best));
                let ended = EndedRun {
                    solver: SolverKind::Gradient,
                    objective: report.value,
                    interval: objective_interval(report.interval),
                    termination: termination.unwrap_or(Termination::Stopped),
                    jacobian: None,
                    gradient: Some(LearnedGradient {
                        norm: report.projected_gradient,
                        error,
                        reconstructions,
                        adjoints,
                    }),
                    iterations,
                    evaluations,
                    num_points: report.num_points,
                    theta: report.theta,
                };
                self.result_of(ended, best)
            }
        }
    }

    /// Ends the run of an engine without derivatives. Returns the result and the reconstructions of
    /// all pairs with the learned parameters.
    pub fn finish(&self, engine: Engine<Reconstructions>) -> (Learned, ScoredImages) {
        let (report, best) = engine.into_parts();
        self.learned(report, best)
    }

    /// Turns the report of the derivative-free solver into the result of learning. If `best`
    /// holds the reconstructions of the report's best point, the training pairs are scored starting
    /// from them, which saves iterations.
    pub fn learned(
        &self,
        report: Report,
        best: Option<Reconstructions>,
    ) -> (Learned, ScoredImages) {
        self.result_of(report.into(), best)
    }

    fn result_of(&self, ended: EndedRun, best: Option<Reconstructions>) -> (Learned, ScoredImages) {
        let near = best.clone().map_or(Start::Cold, Start::Near);
        let mut influences = self.influences(&ended, &near);
        for influence in &mut influences {
            *influence = influence.filter(|influence| influence.is_finite());
        }
        let parameters = LearnedParameter::list(&self.parameters, &ended.theta, &influences);
        let images = self.score_all(&self.values(&ended.theta), best);
        let scores = |images: &[Scored]| {
            let own: Vec<Score> = images.iter().map(|image| image.score).collect();
            Score::gather(&self.ranks, own)
        };
        let learned = Learned {
            family: self.model.kind(),
            solver: ended.solver,
            criterion: self.setup.criterion.kind(),
            objective: ended.objective,
            interval: ended.interval,
            gradient: ended.gradient,
            termination: ended.termination,
            num_points: ended.num_points,
            work: Work::of(&ended.evaluations),
            parameters,
            flat: (ended.jacobian.as_ref()).map_or_else(Vec::new, |jacobian| {
                FlatDirection::list(jacobian, &self.parameters, ended.objective)
            }),
            training: scores(&images.training),
            validation: scores(&images.validation),
            iterations: ended.iterations,
            evaluations: ended.evaluations,
        };
        (learned, images)
    }
}
