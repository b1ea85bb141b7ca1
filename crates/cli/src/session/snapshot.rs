//! Snapshots of the progress of a run.

use bilevel::{Family, LearningEngine, LearningProblem, Parameter};
use dfo_ls::{Iteration, ObjectiveInterval, StepKind};

/// The progress of a run after a save.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Snapshot<'a> {
    /// The learned parameters.
    pub parameters: &'a [Parameter],
    /// The number of points so far.
    pub num_points: u64,
    /// The largest number of points, if there is a limit.
    pub max_points: Option<u64>,
    /// The best point so far.
    pub best: Option<&'a BestPoint>,
    /// The mean PSNR of held-out images in decibels, if it is computed while learning goes on. It
    /// belongs to a recent point, not always to the best one.
    pub held_out_psnr: Option<f64>,
    /// The number of gradients of reconstruction problems so far.
    pub work: u64,
    /// The seconds since the run began, without pauses.
    pub seconds: f64,
    /// The iterations that have just ended.
    pub iterations: &'a [Iteration],
}

/// The best point so far.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct BestPoint {
    /// The parameters as the solver sees them.
    pub theta: Vec<f64>,
    /// The values of the parameters.
    pub values: Vec<f64>,
    /// The computed objective.
    pub objective: f64,
    /// The interval that certainly contains the exact objective.
    pub interval: ObjectiveInterval,
    /// The mean PSNR of the reconstructions in decibels, if it is known.
    pub psnr: Option<f64>,
}

/// Takes snapshots. It remembers the best point, which takes time to compute.
#[derive(Debug, Default)]
pub(super) struct Snapshots {
    best: Option<BestPoint>,
    held_out_psnr: Option<f64>,
    /// The number of accepted points when the PSNR of held-out images was computed.
    num_accepted: Option<usize>,
}

/// The number of accepted points after which held-out images are reconstructed again.
const ACCEPTED: usize = 10;

impl Snapshots {
    /// Takes a snapshot. Iterations from number `seen` on are new.
    pub(super) fn take<'a>(
        &'a mut self,
        problem: &'a LearningProblem<Family>,
        engine: &'a LearningEngine,
        seen: usize,
        seconds: f64,
    ) -> Snapshot<'a> {
        self.update_best(problem, engine);
        self.update_held_out(problem, engine);
        Snapshot {
            parameters: problem.parameters(),
            num_points: engine.num_points(),
            max_points: engine.budget().max_points,
            best: self.best.as_ref(),
            held_out_psnr: self.held_out_psnr,
            work: engine.work(),
            seconds,
            iterations: &engine.iterations()[seen..],
        }
    }

    /// Reconstructs held-out images with the best parameters, if they are those of a filter bank
    /// and enough points were accepted. All ranks do this at the same points.
    fn update_held_out(&mut self, problem: &LearningProblem<Family>, engine: &LearningEngine) {
        if !problem.model().has_filters() {
            return;
        }
        let is_accepted = |made: &&Iteration| made.kind == StepKind::Accepted;
        let accepted = engine.iterations().iter().filter(is_accepted).count();
        let last = *self.num_accepted.get_or_insert(accepted);
        if accepted < last + ACCEPTED {
            return;
        }
        self.num_accepted = Some(accepted);
        let best = self.best.as_ref();
        self.held_out_psnr = best.and_then(|best| problem.held_out_psnr(&best.theta));
    }

    fn update_best(&mut self, problem: &LearningProblem<Family>, engine: &LearningEngine) {
        let Some(bilevel::BestPoint {
            theta,
            objective,
            interval,
            reconstructions,
            ..
        }) = engine.best()
        else {
            return;
        };
        let same = |best: &BestPoint| {
            best.theta == theta
                && best.objective.to_bits() == objective.to_bits()
                && best.interval == interval
        };
        if self.best.as_ref().is_some_and(same) {
            return;
        }
        self.best = Some(BestPoint {
            theta: theta.to_vec(),
            values: problem.values(theta),
            objective,
            interval,
            psnr: reconstructions
                .filter(|_| problem.criterion().needs_truth())
                .and_then(|images| problem.training_psnr(images)),
        });
    }
}
