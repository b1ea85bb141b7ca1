//! Learning from the first evaluation to the result: `LearningProblem::learn`.

use std::ops::ControlFlow;

use dfo_ls::{
    AccuracyControl, Engine, Iteration, Options, Report, SlowProgress, Start, WarmStart, drive,
};

use crate::checkpoint::Reconstructions;
use crate::error::ProblemError;
use crate::learned::{Bound, Learned, LearnedParameter, Work};
use crate::lower::LowerLevel;
use crate::problem::LearningProblem;
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

impl<M: LowerLevel> LearningProblem<M> {
    /// Learns the parameters with the [`learning_options`].
    ///
    /// # Errors
    /// When the solver does not accept the problem. A failure after the first evaluation is
    /// reported in [`Learned::termination`].
    pub fn learn(&mut self) -> Result<Learned, ProblemError> {
        self.learn_with(learning_options())
    }

    /// Learns the parameters with other options of the solver. Start from the [`learning_options`]
    /// and change some of their fields.
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
        observe: impl FnMut(&Iteration) -> ControlFlow<()>,
    ) -> Result<Learned, ProblemError> {
        let mut engine = self.engine(options)?;
        drive(&mut engine, self, observe);
        Ok(self.finish(engine).0)
    }

    /// Ends the run of an engine. Returns the result and the reconstructions of all pairs with the
    /// learned parameters.
    pub fn finish(&self, engine: Engine<Reconstructions>) -> (Learned, ScoredImages) {
        let (report, best) = engine.into_parts();
        self.learned(report, best)
    }

    /// Turns the report of a solver into the result of learning. If `best` holds the
    /// reconstructions of the report's best point, the training pairs are scored starting from
    /// them, which saves iterations.
    pub fn learned(
        &self,
        report: Report,
        best: Option<Reconstructions>,
    ) -> (Learned, ScoredImages) {
        let near = best.clone().map_or(Start::Cold, Start::Near);
        let influences = self.influences(&report, &near);
        let parameters = (self.parameters.iter().zip(&report.theta).enumerate())
            .map(|(j, (parameter, &theta))| LearnedParameter {
                value: parameter.value(theta),
                theta,
                at: Bound::reached(parameter, theta),
                influence: influences[j].filter(|influence| influence.is_finite()),
                parameter: parameter.clone(),
            })
            .collect();
        let images = self.score_all(&self.values(&report.theta), best);
        let scores = |images: &[Scored]| {
            let own: Vec<Score> = images.iter().map(|image| image.score).collect();
            Score::gather(&self.ranks, own)
        };
        let learned = Learned {
            family: self.model.kind(),
            objective: report.objective,
            interval: report.interval,
            termination: report.termination,
            num_points: report.num_points,
            work: Work::of(&report.evaluations),
            parameters,
            flat: (report.jacobian.as_ref())
                .map_or_else(Vec::new, |j| self.flat_directions(j, report.objective)),
            training: scores(&images.training),
            validation: scores(&images.validation),
            iterations: report.iterations,
            evaluations: report.evaluations,
        };
        (learned, images)
    }
}
