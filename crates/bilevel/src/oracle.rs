//! The learning problem as an oracle: it turns the requested accuracy of residuals into an error
//! bound for each image, and reconstructions with their errors into residuals with their accuracy.

use std::panic::{AssertUnwindSafe, catch_unwind};

use dfo_ls::{
    Accuracy, EvalError, Evaluated, Job, ObjectiveInterval, Request, ResidualOracle, Start,
};
use lowlevel::{Checkpoint, State, Stop, StronglyConvex};

use crate::checkpoint::Reconstructions;
use crate::lower::LowerLevel;
use crate::penalty::PenaltyContext;
use crate::problem::{ColdStart, LearningProblem};
use crate::workspace::Workspace;

/// The iteration limit of reconstructions for influences, which are for information only.
const MAX_ITERATIONS: u64 = 20_000;

/// The result of reconstructing one pair, besides its residuals.
struct Part {
    checkpoint: Checkpoint,
    /// The accuracy of the pair's residuals.
    accuracy: Accuracy,
    work: f64,
    condition_number: f64,
}

/// One requested evaluation.
struct Question<'a> {
    request: Request<'a, Reconstructions>,
    values: Vec<f64>,
    /// The part of the residual vector for the terms of penalties.
    terms: &'a mut [f64],
}

impl<M: LowerLevel> LearningProblem<M> {
    /// Reconstructs one pair and writes its residuals. A panic of the model counts as a failure.
    fn solve(
        &self,
        values: &[f64],
        stop: Stop,
        start: &Start<Reconstructions>,
        index: usize,
        residuals: &mut [f64],
    ) -> Result<Part, String> {
        let solve = || -> Result<Part, String> {
            let pair = &self.pairs[index];
            let objective = (self.model)
                .objective(values, &self.data[index])
                .map_err(|error| error.to_string())?;
            let mut workspace = self.workspaces.take(pair.grid);
            let Workspace { state, scratch, .. } = &mut workspace;
            let scratch = scratch.get_or_insert_with(|| objective.scratch());
            self.begin(start, index, state);
            let solved = (self.setup.solver())
                .refine(&objective, stop, state, scratch)
                .map_err(|error| error.to_string())?;
            // residuals come from the certified point, before a checkpoint rounds it
            let part = Part {
                accuracy: (self.layout).write(state.point(), &pair.truth, solved.error, residuals),
                checkpoint: self.checkpoints.save(state),
                work: solved.work,
                condition_number: objective.curvature().condition_number(),
            };
            self.workspaces.put_back(workspace);
            Ok(part)
        };
        catch_unwind(AssertUnwindSafe(solve))
            .unwrap_or_else(|_| Err("the model panicked".to_owned()))
    }

    /// Fills `state` with the start of the reconstruction of a training pair.
    pub(crate) fn begin(&self, start: &Start<Reconstructions>, index: usize, state: &mut State) {
        let is_known = match start {
            Start::Refine(known) => (known.checkpoints().get(index))
                .map(|known| known.resume_into(state))
                .is_some(),
            Start::Near(known) => (known.checkpoints().get(index))
                .map(|known| known.start_into(state))
                .is_some(),
            Start::Blend(shares) => {
                let known = |resume: &Reconstructions| index < resume.checkpoints().len();
                let parts =
                    (shares.iter()).map(|share| (share.weight, &share.resume.checkpoints()[index]));
                shares.iter().all(|share| known(&share.resume))
                    && Checkpoint::blend_into(parts, state)
            }
            _ => false,
        };
        if !is_known {
            self.begin_cold(&self.data[index], self.pairs[index].truth.len(), state);
        }
    }

    /// Fills `state` with the cold start of a reconstruction with `len` entries.
    pub(crate) fn begin_cold(&self, data: &M::Data, len: usize, state: &mut State) {
        if state.point().len() != len {
            *state = State::new(vec![0.0; len]);
        }
        state.restart(|x| match self.setup.cold_start {
            ColdStart::Model => self.model.cold_start(data, x),
            ColdStart::Zero => x.fill(0.0),
        });
    }

    /// Returns an interval that contains the objective at `theta`. It is as accurate as `target`
    /// unless a reconstruction reaches the iteration limit.
    pub(crate) fn interval_at(
        &self,
        theta: &[f64],
        target: Accuracy,
        start: &Start<Reconstructions>,
    ) -> Option<ObjectiveInterval> {
        let values = self.values(theta);
        let mut residuals = vec![0.0; self.num_residuals()];
        let (images, terms) = self.layout.split(&mut residuals);
        let tasks: Vec<_> = images.into_iter().enumerate().collect();
        let parts = for_each(tasks, |(index, residuals)| {
            let stop = Stop::accuracy(self.layout.share(target, index));
            let stop = stop.with_max_iterations(MAX_ITERATIONS);
            self.solve(&values, stop, start, index, residuals)
        });
        let evaluated = self.assemble(0, theta, &values, parts, terms).ok()?;
        let square = residuals.iter().map(|r| r * r).sum();
        let regularizer = (self.setup.regularizer.as_ref()).map_or(0.0, |h| h.value(theta));
        let interval = evaluated.achieved.objective_interval(square);
        Some(ObjectiveInterval {
            lower: interval.lower + regularizer,
            upper: interval.upper + regularizer,
        })
    }

    /// Combines the reconstructions of all pairs into the answer to one evaluation, and writes the
    /// terms of penalties.
    fn assemble(
        &self,
        number: u64,
        theta: &[f64],
        values: &[f64],
        parts: Vec<Result<Part, String>>,
        terms: &mut [f64],
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
        let reject = |reason| EvalError::Reject { reason, work };
        let parts = (parts.into_iter().collect::<Result<Vec<Part>, String>>()).map_err(reject)?;
        let achieved = Accuracy::of_parts(parts.iter().map(|part| part.accuracy));
        let context = PenaltyContext {
            theta,
            values,
            condition_number: (parts.iter())
                .map(|part| part.condition_number)
                .fold(0.0, f64::max),
        };
        let penalties = || self.penalty_terms(&context, terms);
        catch_unwind(AssertUnwindSafe(penalties))
            .unwrap_or_else(|_| Err("a penalty panicked".to_owned()))
            .map_err(reject)?;
        let checkpoints = parts.into_iter().map(|part| part.checkpoint).collect();
        Ok(Evaluated {
            achieved,
            work,
            resume: Reconstructions::new(number, checkpoints),
        })
    }
}

impl<M: LowerLevel> ResidualOracle for LearningProblem<M> {
    type Resume = Reconstructions;

    fn num_residuals(&self) -> usize {
        Self::num_residuals(self)
    }

    /// Evaluates all jobs. Each image of each job is one parallel task, and results do not depend
    /// on the number of tasks that run at once.
    fn evaluate(&mut self, jobs: &mut [Job<Reconstructions>]) {
        let problem = &*self;
        let mut questions = Vec::with_capacity(jobs.len());
        let mut tasks = Vec::with_capacity(jobs.len() * problem.pairs.len());
        for job in &mut *jobs {
            let (request, residuals) = job.begin();
            let (images, terms) = problem.layout.split(residuals);
            let images = images.into_iter().enumerate();
            tasks.extend(images.map(|(pair, residuals)| (questions.len(), pair, residuals)));
            questions.push(Question {
                values: problem.values(request.theta),
                request,
                terms,
            });
        }
        let mut parts = for_each(tasks, |(question, pair, residuals)| {
            let Question {
                request, values, ..
            } = &questions[question];
            let stop = problem.stop(request.target, pair);
            problem.solve(values, stop, &request.start, pair, residuals)
        })
        .into_iter();
        let answers: Vec<_> = (problem.next_number..)
            .zip(questions)
            .map(|(number, question)| {
                let parts = parts.by_ref().take(problem.pairs.len()).collect();
                let Question {
                    request,
                    values,
                    terms,
                } = question;
                problem.assemble(number, request.theta, &values, parts, terms)
            })
            .collect();
        for (job, answer) in jobs.iter_mut().zip(answers) {
            job.finish(answer);
        }
        self.next_number += jobs.len() as u64;
    }
}

/// Runs all tasks and returns their results, in the order of the tasks.
#[cfg(feature = "rayon")]
pub(crate) fn for_each<I: Send, T: Send>(
    tasks: Vec<I>,
    run: impl Fn(I) -> T + Send + Sync,
) -> Vec<T> {
    use rayon::prelude::*;
    // tasks go to threads one by one, because one may take a thousand times as long as another
    tasks.into_par_iter().with_max_len(1).map(run).collect()
}

/// Runs all tasks and returns their results, in the order of the tasks.
#[cfg(not(feature = "rayon"))]
pub(crate) fn for_each<I: Send, T: Send>(
    tasks: Vec<I>,
    run: impl Fn(I) -> T + Send + Sync,
) -> Vec<T> {
    tasks.into_iter().map(run).collect()
}
