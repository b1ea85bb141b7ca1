//! The learning problem as an oracle: it turns the requested accuracy of residuals into an error
//! bound for each image, and reconstructions with their errors into residuals with their accuracy.
//!
//! Each rank reconstructs its own images. The ranks then gather the accuracy and the residual of
//! each image, or the inner products of its residuals per pixel, and add them in the order of the
//! images.

use std::panic::{AssertUnwindSafe, catch_unwind};
#[cfg(feature = "rayon")]
use std::sync::{Mutex, PoisonError};

use dfo_ls::{
    Accuracy, Against, EvalError, Evaluated, Job, Measurement, ObjectiveInterval, Products,
    ResidualOracle, Start,
};
use imaging::Grid;
use lowlevel::{Checkpoint, State, Stop, StronglyConvex};

use crate::checkpoint::Reconstructions;
use crate::loss::ImageResiduals;
use crate::lower::LowerLevel;
use crate::penalty::PenaltyContext;
use crate::problem::{ColdStart, LearningProblem};
use crate::workspace::Workspace;

/// The iteration limit of reconstructions for influences, which are for information only.
const MAX_ITERATIONS: u64 = 20_000;
/// The unit of work is a gradient divided by this number. Whole numbers of units have the same sum
/// in any order.
pub(crate) const WORK_UNITS: f64 = 1024.0;

/// The reconstruction of one pair.
struct Part {
    checkpoint: Checkpoint,
    residuals: ImageResiduals,
    /// The accuracy of the residuals.
    accuracy: Accuracy,
    work: f64,
    condition_number: f64,
}

/// One evaluation that is asked for.
struct Question<'a> {
    theta: &'a [f64],
    values: Vec<f64>,
    target: Accuracy,
    start: &'a Start<Reconstructions>,
}

/// The sums of one evaluation over the images of all ranks, if no reconstruction has failed.
struct Total {
    /// The work in gradients.
    work: u64,
    /// The largest condition number.
    condition_number: f64,
    /// The reason of the first failure.
    failure: Option<String>,
}

/// The residuals of one evaluation, or their products.
enum Answer {
    Residuals(Vec<f64>),
    Products(Products),
}

/// The inner products that one evaluation asks for: the new vector, its reference, and the others.
pub(crate) struct Row {
    pub(crate) vector: u64,
    pub(crate) reference: u64,
    pub(crate) others: Vec<u64>,
}

impl<M: LowerLevel> LearningProblem<M> {
    /// Reconstructs one pair. A panic of the model counts as a failure.
    fn solve(
        &self,
        values: &[f64],
        stop: Stop,
        start: &Start<Reconstructions>,
        index: usize,
    ) -> Result<Part, String> {
        let solve = || -> Result<Part, String> {
            let pair = &self.pairs[index];
            let objective = (self.model)
                .objective(values, &self.data[index])
                .map_err(|error| error.to_string())?;
            let mut workspace = self.workspaces.take(pair.grid);
            let workspace = workspace.get();
            self.begin(start, index, &mut workspace.state);
            // residuals come from the certified point, before a checkpoint rounds it
            let (residuals, accuracy, work) = match self.setup.criterion.without_truth(index) {
                Some(criterion) => self.residuals_without_truth(
                    (values, &objective),
                    index,
                    criterion,
                    stop,
                    workspace,
                )?,
                None => {
                    let Workspace {
                        state,
                        scratch,
                        image,
                        ..
                    } = workspace;
                    let scratch = scratch.get_or_insert_with(|| objective.scratch());
                    let solved = (self.setup.lower_solver())
                        .refine(&objective, stop, state, scratch)
                        .map_err(|error| error.to_string())?;
                    let window = self.model.window(pair.grid);
                    let (residuals, accuracy) = (self.layout).stored(
                        window.cropped(state.point(), image),
                        &pair.truth,
                        solved.error,
                    );
                    (residuals, accuracy, solved.work)
                }
            };
            Ok(Part {
                residuals,
                accuracy,
                checkpoint: self.checkpoints.save(&workspace.state),
                work,
                condition_number: objective.curvature().condition_number(),
            })
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
            self.begin_cold(&self.data[index], self.pairs[index].grid, state);
        }
    }

    /// Fills `state` with the cold start of the reconstruction of an image on `grid`.
    pub(crate) fn begin_cold(&self, data: &M::Data, grid: Grid, state: &mut State) {
        let len = self.model.window(grid).outer().len();
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
        let question = [Question {
            theta,
            values: self.values(theta),
            target,
            start,
        }];
        let limit = |stop: Stop| stop.with_max_iterations(MAX_ITERATIONS);
        let share = |image| limit(Stop::accuracy(self.layout.share(target, image)));
        let parts = self.reconstruct(&question, |_, image| share(image));
        let total = self.total(&question, &parts).ok()?.pop()?;
        if total.failure.is_some() {
            return None;
        }
        let [Question { values, .. }] = &question;
        let terms = self.terms(theta, values, &total).ok()?;
        let own = parts.iter().flatten().flatten();
        let own = own.flat_map(|part| [part.accuracy.value(), part.residuals.square()]);
        let all: Vec<f64> = self.ranks.gather(&own.collect::<Vec<_>>()).ok()?.concat();
        let (images, _) = all.as_chunks::<2>();
        let achieved = accuracy_of(images.iter().map(|[accuracy, _]| *accuracy));
        let images: f64 = images.iter().map(|[_, square]| *square).sum();
        let square = images + terms.iter().map(|term| term * term).sum::<f64>();
        let regularizer = (self.setup.regularizer.as_ref()).map_or(0.0, |h| h.value(theta));
        let interval = achieved.objective_interval(square);
        Some(ObjectiveInterval {
            lower: interval.lower + regularizer,
            upper: interval.upper + regularizer,
        })
    }

    /// Reconstructs the images of this rank for each question. Each image of each question is one
    /// parallel task, and results do not depend on the number of tasks that run at once. `stop` is
    /// given the question and the number of the image among those of all ranks.
    fn reconstruct(
        &self,
        questions: &[Question<'_>],
        stop: impl Fn(&Question<'_>, usize) -> Stop + Sync,
    ) -> Vec<Vec<Result<Part, String>>> {
        let count = self.pairs.len();
        let tasks =
            (0..questions.len()).flat_map(|question| (0..count).map(move |i| (question, i)));
        let parts = for_each(
            tasks.collect(),
            self.model.is_serial(),
            |(question, index): (usize, usize)| {
                let question = &questions[question];
                let stop = stop(question, self.first + index);
                self.solve(&question.values, stop, question.start, index)
            },
        );
        let mut parts = parts.into_iter();
        let of_question = |_| parts.by_ref().take(count).collect();
        questions.iter().map(of_question).collect()
    }

    /// Adds up the work of each evaluation on all ranks, and finds its first failure.
    fn total(
        &self,
        questions: &[Question<'_>],
        parts: &[Vec<Result<Part, String>>],
    ) -> Result<Vec<Total>, String> {
        let failures: Vec<Option<&String>> = (parts.iter())
            .map(|parts| parts.iter().find_map(|part| part.as_ref().err()))
            .collect();
        let own = parts.iter().zip(&failures).flat_map(|(parts, failure)| {
            let parts = || parts.iter().flatten();
            let work = parts()
                .map(|part| (WORK_UNITS * part.work).ceil())
                .sum::<f64>();
            let condition = parts()
                .map(|part| part.condition_number)
                .fold(0.0, f64::max);
            [if failure.is_some() { 1.0 } else { 0.0 }, work, condition]
        });
        let all = self.ranks.gather(&own.collect::<Vec<_>>())?;
        let of_rank = |numbers: &Vec<f64>, question: usize| -> Option<[f64; 3]> {
            numbers.as_chunks::<3>().0.get(question).copied()
        };
        let mut totals = Vec::with_capacity(questions.len());
        for (question, failure) in failures.iter().enumerate() {
            let ranks = || all.iter().filter_map(|numbers| of_rank(numbers, question));
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "rounded up, positive, and `as` saturates"
            )]
            let work = (ranks().map(|[_, work, _]| work).sum::<f64>() / WORK_UNITS).ceil() as u64;
            let failure = if ranks().any(|[failed, ..]| failed != 0.0) {
                let first = self.ranks.first_failure(failure.map(String::as_str))?;
                first.map(|(_, reason)| reason)
            } else {
                None
            };
            totals.push(Total {
                work,
                condition_number: ranks().map(|[.., condition]| condition).fold(0.0, f64::max),
                failure,
            });
        }
        Ok(totals)
    }

    /// Computes the terms of penalties. They are the same on all ranks.
    fn terms(&self, theta: &[f64], values: &[f64], total: &Total) -> Result<Vec<f64>, String> {
        let context = PenaltyContext {
            theta,
            values,
            condition_number: total.condition_number,
            condition_gradient: &[],
        };
        let mut terms = vec![0.0; self.num_terms];
        let penalties = || self.penalty_terms(&context, &mut terms);
        catch_unwind(AssertUnwindSafe(penalties))
            .unwrap_or_else(|_| Err("a penalty panicked".to_owned()))?;
        Ok(terms)
    }

    /// Answers the questions of all jobs. An error means that the ranks have lost each other.
    #[expect(
        clippy::type_complexity,
        reason = "an answer or a failure for each job"
    )]
    fn answers(
        &mut self,
        jobs: &[Job<Reconstructions>],
    ) -> Result<Vec<Result<(Answer, Evaluated<Reconstructions>), EvalError>>, String> {
        let question = |job| -> Question<'_> {
            let job: &Job<Reconstructions> = job;
            Question {
                theta: job.theta(),
                values: self.values(job.theta()),
                target: job.target(),
                start: job.start(),
            }
        };
        let questions: Vec<Question<'_>> = jobs.iter().map(question).collect();
        let parts = self.reconstruct(&questions, |question, image| {
            self.stop(question.target, image)
        });
        let totals = self.total(&questions, &parts)?;

        // Residuals of evaluations that have succeeded on all ranks are stored before any of them
        // is measured, because they are measured against each other.
        let named: Vec<u64> = (jobs.iter().filter_map(Job::against))
            .flat_map(Against::named)
            .collect();
        for store in &mut self.vectors {
            store.retain(|number| named.contains(&number));
        }
        let mut answers = Vec::with_capacity(jobs.len());
        for (((job, question), total), parts) in jobs.iter().zip(&questions).zip(totals).zip(parts)
        {
            let work = total.work;
            let reject = |reason| EvalError::Reject { reason, work };
            let terms = match &total.failure {
                Some(reason) => Err(reject(reason.clone())),
                None => (self.terms(question.theta, &question.values, &total)).map_err(reject),
            };
            answers.push(match terms {
                Ok(terms) => {
                    let parts = parts.into_iter().flatten().collect();
                    Ok(self.answer(job, parts, terms, work)?)
                }
                Err(error) => Err(error),
            });
        }
        Ok(answers)
    }

    /// Gathers the answer to one job whose reconstructions have succeeded on all ranks.
    fn answer(
        &mut self,
        job: &Job<Reconstructions>,
        parts: Vec<Part>,
        terms: Vec<f64>,
        work: u64,
    ) -> Result<(Answer, Evaluated<Reconstructions>), String> {
        let row = match job.against() {
            None => None,
            Some(against) => Some(self.row(against)?),
        };
        let accuracies: Vec<f64> = parts.iter().map(|part| part.accuracy.value()).collect();
        let (mut residuals, mut checkpoints) = (Vec::new(), Vec::new());
        for part in parts {
            residuals.push(part.residuals);
            checkpoints.push(part.checkpoint);
        }
        // one number per image, or the products of each image
        let (width, own, last) = match &row {
            None => {
                let own = residuals.iter().map(ImageResiduals::distance);
                (1, own.collect(), terms)
            }
            Some(row) => {
                self.store(row.vector, residuals, terms);
                let (own, last) =
                    self.measured(Products::width(row.others.len()), |store, sums| {
                        store.measure(row.vector, row.reference, &row.others, sums);
                    });
                (Products::width(row.others.len()), own, last)
            }
        };
        let images = accuracies.iter().zip(own.chunks(width));
        let mut message = Vec::with_capacity(accuracies.len() * (1 + width));
        for (accuracy, numbers) in images {
            message.push(*accuracy);
            message.extend_from_slice(numbers);
        }
        let all = self.ranks.gather(&message)?.concat();
        let images = || all.chunks_exact(1 + width);
        let achieved = accuracy_of(images().map(|image| image[0]));
        let (answer, square) = match row {
            None => {
                let square = images().map(|image| image[1] * image[1]).sum();
                let distances = images().map(|image| image[1]);
                (Answer::Residuals(distances.chain(last).collect()), square)
            }
            Some(row) => {
                let mut sums = vec![0.0; width];
                images().for_each(|image| add(&mut sums, &image[1..]));
                let square = sums[0];
                add(&mut sums, &last);
                let products = Products::from_sums(&sums, row.reference, &row.others);
                (Answer::Products(products), square)
            }
        };
        let squared_distance = self.layout.squared_distance(square);
        let number = self.next_number;
        self.next_number += 1;
        let evaluated = Evaluated {
            achieved,
            work,
            resume: Reconstructions::new(number, squared_distance, checkpoints),
        };
        Ok((answer, evaluated))
    }
}

impl<M: LowerLevel> ResidualOracle for LearningProblem<M> {
    type Resume = Reconstructions;

    fn num_residuals(&self) -> usize {
        Self::num_residuals(self)
    }

    /// Evaluates all jobs. All ranks evaluate the same jobs at the same time.
    fn evaluate(&mut self, jobs: &mut [Job<Reconstructions>]) {
        match self.answers(jobs) {
            Ok(answers) => {
                for (job, answer) in jobs.iter_mut().zip(answers) {
                    match answer {
                        Ok((Answer::Residuals(residuals), evaluated)) => {
                            job.answer(&residuals, evaluated);
                        }
                        Ok((Answer::Products(products), evaluated)) => {
                            job.answer_products(products, evaluated);
                        }
                        Err(error) => job.fail(error),
                    }
                }
            }
            Err(reason) => {
                let fail = |job: &mut Job<Reconstructions>| job.fail(EvalError::abort(&reason));
                jobs.iter_mut().for_each(fail);
            }
        }
    }

    fn measure(&mut self, request: &mut Measurement) {
        match self.measurement(request) {
            Ok(sums) => request.answer(sums),
            Err(reason) => request.fail(reason),
        }
    }
}

/// Adds numbers to sums.
pub(crate) fn add(sums: &mut [f64], numbers: &[f64]) {
    for (sum, number) in sums.iter_mut().zip(numbers) {
        *sum += number;
    }
}

/// Returns the accuracy of all residuals from that of each image.
fn accuracy_of(images: impl Iterator<Item = f64>) -> Accuracy {
    // a bound that has become NaN or negative on the way is no bound
    Accuracy::of_parts(images.map(|value| Accuracy::new(value).unwrap_or(Accuracy::ANY)))
}

/// Runs all tasks and returns their results, in the order of the tasks. If `is_serial`, this thread
/// runs them one after the other.
pub(crate) fn for_each<I: Send, T: Send>(
    tasks: Vec<I>,
    is_serial: bool,
    run: impl Fn(I) -> T + Send + Sync,
) -> Vec<T> {
    #[cfg(feature = "rayon")]
    if !is_serial {
        let tasks = tasks.into_iter().map(|task| Mutex::new((Some(task), None)));
        let slots: Vec<Mutex<(Option<I>, Option<T>)>> = tasks.collect();
        in_parallel(slots.len(), &|index| {
            let mut slot = slots[index].lock().unwrap_or_else(PoisonError::into_inner);
            slot.1 = slot.0.take().map(&run);
        });
        let slots = slots.into_iter().map(Mutex::into_inner);
        return slots
            .filter_map(|slot| slot.unwrap_or_else(PoisonError::into_inner).1)
            .collect();
    }
    let _ = is_serial;
    tasks.into_iter().map(run).collect()
}

/// Runs a task for each index. It has no type parameters, so that the parallel code is compiled
/// once, and not again for each family and each kind of task.
#[cfg(feature = "rayon")]
fn in_parallel(count: usize, run: &(dyn Fn(usize) + Sync)) {
    use rayon::prelude::*;
    // tasks go to threads one by one, because one may take a thousand times as long as another
    (0..count).into_par_iter().with_max_len(1).for_each(run);
}
