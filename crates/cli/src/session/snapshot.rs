//! What there is to show of a run under way.

use bilevel::{Family, LearningProblem, Parameter, Reconstructions};
use dfo_ls::{Accuracy, Engine, Iteration, ObjectiveInterval};

/// A run under way, as it was just saved.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Snapshot<'a> {
    /// What is learned.
    pub parameters: &'a [Parameter],
    /// The number of different points so far.
    pub num_points: u64,
    /// The largest number of points, if there is a limit.
    pub max_points: Option<u64>,
    /// Evaluations so far, counting points that were sharpened.
    pub num_evaluations: u64,
    /// The best point so far.
    pub best: Option<&'a BestPoint>,
    /// The most demanding accuracy that is asked for now; `None` if nothing is.
    pub target: Option<Accuracy>,
    /// Gradients of reconstruction problems so far.
    pub work: u64,
    /// Seconds since the run began, without pauses.
    pub seconds: f64,
    /// Iterations that have just ended.
    pub iterations: &'a [Iteration],
}

/// The best point so far.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct BestPoint {
    /// Where it is.
    pub theta: Vec<f64>,
    /// The values of the parameters there.
    pub values: Vec<f64>,
    /// The objective as it was computed.
    pub objective: f64,
    /// Where the exact one lies.
    pub interval: ObjectiveInterval,
    /// The mean square of the differences between reconstructions and truth, if it is known.
    pub mse: Option<f64>,
}

/// Makes moments, and remembers what costs time to find out.
#[derive(Debug, Default)]
pub(super) struct Snapshots {
    best: Option<BestPoint>,
}

impl Snapshots {
    /// What there is to show now; iterations from number `seen` on are new.
    pub(super) fn take<'a>(
        &'a mut self,
        problem: &'a LearningProblem<Family>,
        engine: &'a Engine<Reconstructions>,
        seen: usize,
        seconds: f64,
    ) -> Snapshot<'a> {
        let targets = engine.pending().iter().map(|job| job.target());
        let target = targets.min_by(|a, b| a.value().total_cmp(&b.value()));
        self.update_best(problem, engine);
        Snapshot {
            parameters: problem.parameters(),
            num_points: engine.num_points(),
            max_points: engine.options().budget.max_points,
            num_evaluations: engine.state().evaluations().len() as u64,
            best: self.best.as_ref(),
            target,
            work: engine.work(),
            seconds,
            iterations: &engine.state().iterations()[seen..],
        }
    }

    fn update_best(&mut self, problem: &LearningProblem<Family>, engine: &Engine<Reconstructions>) {
        let Some(dfo_ls::Best {
            theta,
            objective,
            interval,
            residuals,
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
        let pairs = problem.pairs().iter();
        let num_samples: usize = pairs.map(|pair| pair.grid.num_samples()).sum();
        self.best = Some(BestPoint {
            theta: theta.to_vec(),
            values: problem.values(theta),
            objective,
            interval,
            mse: Some(problem.layout().squared_distance(residuals) / num_samples as f64),
        });
    }
}
