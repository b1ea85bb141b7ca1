//! Requested accuracy of residuals down to an error bound for each image, and reconstructions with their bounds back up.

use std::panic::{AssertUnwindSafe, catch_unwind};

use dfo_ls::{Accuracy, EvalError, Evaluated, Job, ObjectiveInterval, ResidualOracle, Start};
use lowlevel::{Checkpoint, State, Stop, StronglyConvex};

use crate::kept::{Keep, Reconstructions};
use crate::lower::LowerLevel;
use crate::penalty::Place;
use crate::problem::{FirstGuess, LearningProblem};

/// Reconstructions that are made for information only give up after so many iterations.
const MAX_ITERATIONS: u64 = 20_000;

/// One reconstruction of one pair.
struct Part {
    kept: Checkpoint,
    /// Its own entries of the residual vector,
    residuals: Vec<f64>,
    /// and how far they may be from those of the exact reconstruction.
    accuracy: Accuracy,
    work: f64,
    condition_number: f64,
}

impl<M: LowerLevel> LearningProblem<M> {
    /// Reconstructs one pair. A model that panics has failed.
    fn solve(
        &self,
        values: &[f64],
        stop: Stop,
        start: &Start<Reconstructions>,
        index: usize,
    ) -> Result<Part, String> {
        let solve = || self.solve_unguarded(values, stop, start, index);
        catch_unwind(AssertUnwindSafe(solve))
            .unwrap_or_else(|_| Err("the model panicked".to_owned()))
    }

    fn solve_unguarded(
        &self,
        values: &[f64],
        stop: Stop,
        start: &Start<Reconstructions>,
        index: usize,
    ) -> Result<Part, String> {
        let pair = &self.pairs[index];
        let objective = (self.model)
            .objective(values, pair.grid, &pair.data)
            .map_err(|error| error.to_string())?;
        let mut scratch = objective.scratch();
        let mut state = State::default();
        let is_known = match start {
            Start::Refine(known) => (known.kept().get(index))
                .map(|known| known.resume_into(&mut state))
                .is_some(),
            Start::Near(known) => (known.kept().get(index))
                .map(|known| known.start_into(&mut state))
                .is_some(),
            Start::Blend(shares) => shares
                .iter()
                .map(|share| Some((share.weight, share.resume.kept().get(index)?)))
                .collect::<Option<Vec<_>>>()
                .is_some_and(|parts| Checkpoint::blend_into(parts.into_iter(), &mut state)),
            _ => false,
        };
        if !is_known {
            state = State::new(self.first_guess(index));
        }
        let solved = (self.setup.solver())
            .refine(&objective, stop, &mut state, &mut scratch)
            .map_err(|error| error.to_string())?;
        // residuals are those of the point that was certified, whatever is kept of it
        let mut residuals = vec![0.0; self.layout.len_of(index)];
        let accuracy =
            (self.layout).write(state.point(), &pair.truth, solved.error, &mut residuals);
        Ok(Part {
            kept: match self.keep {
                Keep::Rounded => Checkpoint::compact(&state),
                Keep::Auto | Keep::Whole => Checkpoint::full(&state),
            },
            residuals,
            accuracy,
            work: solved.work,
            condition_number: objective.curvature().condition_number(),
        })
    }

    /// Where the objective at `theta` lies, as accurately as `target` if that takes a reasonable number of iterations.
    pub(crate) fn interval_at(&self, theta: &[f64], target: Accuracy) -> Option<ObjectiveInterval> {
        let values = self.values(theta);
        let parts = for_each(self.pairs.len(), |index| {
            let stop = Stop::accuracy(self.layout.share(target, index));
            let stop = stop.with_max_iterations(MAX_ITERATIONS);
            self.solve(&values, stop, &Start::Cold, index)
        });
        let mut residuals = vec![0.0; self.num_residuals()];
        let evaluated = self.assemble(0, theta, parts, &mut residuals).ok()?;
        let square = residuals.iter().map(|r| r * r).sum();
        let regularizer = (self.setup.regularizer.as_ref()).map_or(0.0, |h| h.value(theta));
        let interval = evaluated.achieved.objective_interval(square);
        Some(ObjectiveInterval {
            lower: interval.lower + regularizer,
            upper: interval.upper + regularizer,
        })
    }

    fn first_guess(&self, index: usize) -> Vec<f64> {
        let pair = &self.pairs[index];
        let mut x = vec![0.0; pair.truth.len()];
        if self.setup.first_guess == FirstGuess::Model {
            self.model.first_guess(pair.grid, &pair.data, &mut x);
        }
        x
    }

    /// Residuals and accuracy from the reconstructions of all pairs.
    fn assemble(
        &self,
        number: u64,
        theta: &[f64],
        parts: Vec<Result<Part, String>>,
        residuals: &mut [f64],
    ) -> Result<Evaluated<Reconstructions>, EvalError> {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "rounded up, positive, and `as` saturates"
        )]
        let work = parts
            .iter()
            .flatten()
            .map(|part| part.work)
            .sum::<f64>()
            .ceil() as u64;
        let parts = parts
            .into_iter()
            .collect::<Result<Vec<Part>, String>>()
            .map_err(|reason| EvalError::Reject { reason, work })?;
        let mut rest = &mut *residuals;
        for part in &parts {
            let (own, others) = rest.split_at_mut(part.residuals.len());
            own.copy_from_slice(&part.residuals);
            rest = others;
        }
        let achieved = Accuracy::of_parts(parts.iter().map(|part| part.accuracy));
        let at = Place {
            theta,
            values: &self.values(theta),
            condition_number: (parts.iter())
                .map(|p| p.condition_number)
                .fold(0.0, f64::max),
        };
        self.penalty_terms(&at, rest)
            .map_err(|reason| EvalError::Reject { reason, work })?;
        let kept = parts.into_iter().map(|part| part.kept).collect();
        Ok(Evaluated {
            achieved,
            work,
            resume: Reconstructions::new(number, kept),
        })
    }
}

impl<M: LowerLevel> ResidualOracle for LearningProblem<M> {
    type Resume = Reconstructions;

    fn num_residuals(&self) -> usize {
        Self::num_residuals(self)
    }

    /// Every image of every job is a task of its own; results do not depend on how many run at once.
    fn evaluate(&mut self, jobs: &mut [Job<Reconstructions>]) {
        let problem = &*self;
        let num_pairs = problem.pairs.len();
        let tasks: Vec<(&Job<Reconstructions>, Vec<f64>)> = (jobs.iter())
            .map(|job| (job, problem.values(job.theta())))
            .collect();
        let solve = |task: usize| {
            let (job, values) = &tasks[task / num_pairs];
            let pair = task % num_pairs;
            let stop = problem.stop(job.target(), pair);
            problem.solve(values, stop, job.start(), pair)
        };
        let mut parts = for_each(tasks.len() * num_pairs, solve).into_iter();
        let first = problem.next_number;
        for (number, job) in (first..).zip(&mut *jobs) {
            let parts = parts.by_ref().take(num_pairs).collect();
            job.run(|request, residuals| problem.assemble(number, request.theta, parts, residuals));
        }
        self.next_number += jobs.len() as u64;
    }
}

/// The results of all tasks, in their order.
#[cfg(feature = "rayon")]
pub(crate) fn for_each<T: Send>(
    num_tasks: usize,
    run: impl Fn(usize) -> T + Send + Sync,
) -> Vec<T> {
    use rayon::prelude::*;
    // one may take a thousand times as long as another: hand them out one by one
    let tasks = (0..num_tasks).into_par_iter().with_max_len(1);
    tasks.map(run).collect()
}

/// The results of all tasks, in their order.
#[cfg(not(feature = "rayon"))]
pub(crate) fn for_each<T: Send>(
    num_tasks: usize,
    run: impl Fn(usize) -> T + Send + Sync,
) -> Vec<T> {
    (0..num_tasks).map(run).collect()
}
