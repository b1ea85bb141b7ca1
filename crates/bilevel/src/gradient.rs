//! The learning problem as an oracle with gradients: for each image a reconstruction, its adjoint, a
//! certified value, and the derivatives of the value.
//!
//! **Accuracy.** There is no tolerance. At a new point, an image is reconstructed until its
//! certified error is at most `$\kappa$` times the distance from its reconstruction at the known
//! point nearby, and the residual of its adjoint at most `$\kappa$` times that of the known one. So
//! the differences of gradients, from which the solver learns curvature, have relative errors of
//! about `$\kappa$`, whatever the scale of the problem. The value of a step of length `$s$`, which
//! must be known to `$O(s^2)$`, is known to that: the error of a corrected value is of second order
//! in the error of the reconstruction.
//!
//! **Order of sums.** Values and gradients of images are added in the order of the images, whatever
//! the number of threads and ranks.

use std::panic::{AssertUnwindSafe, catch_unwind};

use dfo_ls::Start;
use inexact_lbfgs::{Answer, EvalError, Interval, Job, Oracle, Request};
use lowlevel::adjoint::{
    AdjointStop, LossAt, MixedBound, ValueInterval, adjoint_error, corrected_value, solve_adjoint,
};
use lowlevel::{Checkpoint, ErrorBound, Outcome, State, Stop, StronglyConvex, UNIT_ROUNDOFF};

use crate::checkpoint::{Gradient, Reconstructions, StoredAdjoint};
use crate::lower::LowerLevel;
use crate::oracle::{WORK_UNITS, add, for_each};
use crate::parameter::Parameter;
use crate::penalty::PenaltyContext;
use crate::problem::{Effort, ImageRange, LearningProblem};
use crate::workspace::Workspace;

/// The accuracy of the first point, relative to that of later ones; a choice. A later image is
/// compared with a reconstruction nearby, the first one with its cold start, which is far away.
const FIRST: f64 = 0.1;
/// The error of a reconstruction falls by this power of the factor by which the width of an
/// interval should fall. The width is of second order in the error, so one half would do if there
/// were no rounding and no third derivatives.
const POWER: f64 = 0.6;
/// The largest number of targets for one reconstruction, which become smaller while its distance
/// from the known one turns out to be smaller.
const MAX_TARGETS: usize = 40;
/// The share of the first certified error that the distance from the known reconstruction likely
/// is; a choice. If it is less, a smaller target follows.
const LIKELY: f64 = 0.1;
/// The share of a certified error that the true error typically is; a choice, for estimates only.
const TYPICAL: f64 = 1.0 / 3.0;
/// The reason for two intervals that do not meet.
const CONTRADICTION: &str = "two intervals for the loss of an image do not meet, so a constant, a \
                             gradient or a Hessian product of the model is wrong: check them with \
                             lowlevel::testing";

/// One image at one point.
struct ImagePart {
    checkpoint: Checkpoint,
    adjoint: StoredAdjoint,
    numbers: ImageNumbers,
    /// The derivatives of the loss with respect to `$\theta$`, and those of the condition number
    /// if there are penalties.
    slopes: Vec<f64>,
}

/// The numbers of one image that are gathered from all ranks, besides derivatives.
#[derive(Clone, Copy, Debug)]
struct ImageNumbers {
    /// The loss as computed, and an interval that contains the exact one.
    value: f64,
    lower: f64,
    upper: f64,
    squared_distance: f64,
    /// The error of the reconstruction, relative to its distance from the known one; or, for a
    /// known point, the factor by which its error has fallen.
    relative_error: f64,
    condition_number: f64,
    /// The work of the reconstruction and of the adjoint, in units of [`WORK_UNITS`].
    reconstruction: f64,
    adjoint: f64,
}

impl ImageNumbers {
    const COUNT: usize = 8;

    const fn to_array(self) -> [f64; Self::COUNT] {
        [
            self.value,
            self.lower,
            self.upper,
            self.squared_distance,
            self.relative_error,
            self.condition_number,
            self.reconstruction,
            self.adjoint,
        ]
    }

    const fn from_array(numbers: [f64; Self::COUNT]) -> Self {
        let [
            value,
            lower,
            upper,
            squared_distance,
            relative_error,
            condition_number,
            reconstruction,
            adjoint,
        ] = numbers;
        Self {
            value,
            lower,
            upper,
            squared_distance,
            relative_error,
            condition_number,
            reconstruction,
            adjoint,
        }
    }
}

/// A reconstruction whose error is known.
struct Solve {
    error: ErrorBound,
    /// The error relative to the distance from the known reconstruction, or to the error before.
    relative_error: f64,
    work: f64,
}

impl<M: LowerLevel> LearningProblem<M> {
    /// Returns why parameters cannot be learned with gradients, or `None` if they can. All ranks
    /// get the same answer.
    ///
    /// # Errors
    /// When a rank cannot be reached.
    pub(crate) fn reason_against_gradients(&self) -> Result<Option<&'static str>, String> {
        if let Effort::Iterations(_) = self.setup.effort {
            return Ok(Some("reconstructions take a fixed number of iterations"));
        }
        if self.setup.image_range != ImageRange::ALL {
            return Ok(Some("the values of images are limited"));
        }
        let regularizer = self.setup.regularizer.as_ref();
        if regularizer.is_some_and(|h| h.l1_weight().is_none()) {
            return Ok(Some("a regulariser other than L1 is not smooth"));
        }
        let theta: Vec<f64> = self.parameters.iter().map(|p| p.start).collect();
        let values = self.values(&theta);
        let (mut has_derivatives, mut knows_condition) = (true, true);
        if let Some(data) = self.data.first()
            && let Ok(objective) = self.model.objective(&values, data)
        {
            let derivatives = (self.model.derivatives(&values, &objective))
                .filter(|_| objective.second_order().is_some());
            has_derivatives = derivatives.is_some();
            let slopes = &mut vec![0.0; theta.len()][..];
            knows_condition = derivatives.is_some_and(|known| known.condition_gradient(slopes));
        }
        let own = [has_derivatives, knows_condition].map(|flag| f64::from(u8::from(flag)));
        let all = self.ranks.gather(&own)?;
        let everywhere = |flag: usize| all.iter().all(|own| own.get(flag) != Some(&0.0));
        if !everywhere(0) {
            return Ok(Some("the family has no derivatives"));
        }
        let slopes = vec![0.0; if everywhere(1) { theta.len() } else { 0 }];
        let context = PenaltyContext {
            theta: &theta,
            values: &values,
            condition_number: 1.0,
            condition_gradient: &slopes,
        };
        let mut gradient = vec![0.0; theta.len()];
        let mut penalties = self.setup.penalties.iter();
        let differentiable = penalties.all(|p| p.add_gradient(&context, &mut gradient));
        Ok((!differentiable).then_some("a penalty has no derivatives"))
    }

    /// Computes the value and the derivatives of one image. A panic of the model counts as a
    /// failure.
    fn differentiate(
        &self,
        theta: &[f64],
        values: &[f64],
        request: &Request<Reconstructions>,
        index: usize,
    ) -> Result<ImagePart, String> {
        let differentiate = || -> Result<ImagePart, String> {
            let objective = (self.model)
                .objective(values, &self.data[index])
                .map_err(|error| error.to_string())?;
            let mut workspace = self.workspaces.take(self.pairs[index].grid);
            let at = (theta, values);
            let part = self.differentiate_in(at, &objective, request, index, &mut workspace)?;
            self.workspaces.put_back(workspace);
            Ok(part)
        };
        catch_unwind(AssertUnwindSafe(differentiate))
            .unwrap_or_else(|_| Err("the model panicked".to_owned()))
    }

    fn differentiate_in(
        &self,
        (theta, values): (&[f64], &[f64]),
        objective: &M::Objective<'_>,
        request: &Request<Reconstructions>,
        index: usize,
        workspace: &mut Workspace<M::Scratch>,
    ) -> Result<ImagePart, String> {
        let derivatives =
            (self.model.derivatives(values, objective)).ok_or("there are no derivatives")?;
        let Workspace {
            state,
            scratch,
            adjoint,
            buffer,
            ..
        } = workspace;
        let scratch = scratch.get_or_insert_with(|| objective.scratch());
        let known = known_adjoint(request, index);
        let solve = match request {
            Request::Sharpen { known, shrink } => {
                self.sharpen(known, *shrink, index, objective, state, scratch)?
            }
            _ => self.solve_near(request, index, objective, state, buffer, scratch)?,
        };
        let x = state.point();
        buffer.resize(x.len(), 0.0);
        let loss = LossAt::squared_distance(x, &self.pairs[index].truth, buffer);
        match known {
            Some(known) => known.start_into(adjoint),
            None => adjoint.start_at(&[]),
        }
        let stop = match (request, known) {
            (Request::Sharpen { shrink, .. }, Some(known)) => {
                AdjointStop::absolute(known.residual * error_factor(*shrink))
            }
            _ => adjoint_stop(self.setup.kappa),
        };
        let solved = solve_adjoint(objective, x, solve.error, &loss, stop, adjoint, scratch)
            .map_err(|error| error.to_string())?;
        let gradient = state.gradient().ok_or("the gradient is missing")?;
        let ValueInterval {
            value,
            lower,
            upper,
            consistent,
            ..
        } = corrected_value(objective, x, gradient, &loss, adjoint.adjoint(), &solved);
        if !consistent {
            return Err(CONTRADICTION.to_owned());
        }
        let mut slopes = vec![0.0; theta.len()];
        derivatives.mixed_product(x, adjoint.adjoint(), &mut slopes, scratch);
        self.chain(theta, -1.0, &mut slopes);
        if self.num_terms > 0 {
            let mut condition = vec![0.0; theta.len()];
            derivatives.condition_gradient(&mut condition);
            self.chain(theta, 1.0, &mut condition);
            slopes.append(&mut condition);
        }
        let units = |work: f64| (WORK_UNITS * work).ceil();
        Ok(ImagePart {
            numbers: ImageNumbers {
                value,
                lower,
                upper,
                squared_distance: loss.value,
                relative_error: solve.relative_error,
                condition_number: objective.curvature().condition_number(),
                reconstruction: units(solve.work),
                // the mixed products take about as long as one gradient
                adjoint: units(solved.work + 1.0),
            },
            adjoint: StoredAdjoint {
                q: self.checkpoints.save_vector(adjoint.adjoint()),
                error: solve.error.value(),
                residual: solved.residual,
            },
            checkpoint: self.checkpoints.save(state),
            slopes,
        })
    }

    /// Returns a certified bound on the error of the gradient at a point with these
    /// reconstructions, as the norm over the parameters that are not at a bound. `None` if the
    /// family has no such bound, or reconstructions are stored in single precision.
    pub(crate) fn gradient_error(&self, theta: &[f64], known: &Reconstructions) -> Option<f64> {
        let d = theta.len();
        let values = self.values(theta);
        let own = for_each((0..self.pairs.len()).collect(), |index| {
            let errors = || self.slope_errors((theta, &values), known, index);
            let errors = catch_unwind(AssertUnwindSafe(errors)).ok().flatten();
            // not a number, so that the sum is not one either
            errors.unwrap_or_else(|| vec![f64::NAN; d])
        });
        let all = self.ranks.gather(&own.concat()).ok()?.concat();
        let mut sums = vec![0.0; d];
        all.chunks_exact(d).for_each(|image| add(&mut sums, image));
        let is_free = |(p, theta): &(&Parameter, &f64)| **theta > p.lower && **theta < p.upper;
        let at = self.parameters.iter().zip(theta);
        let free = at.zip(sums).filter(|(at, _)| is_free(at));
        let squares: f64 = free.map(|(_, error)| error * error).sum();
        let error =
            self.layout.weight() * squares.sqrt() * (1.0 + (d as f64 + 16.0) * UNIT_ROUNDOFF);
        Some(error).filter(|error| error.is_finite())
    }

    /// Returns bounds on the errors of the derivatives of one image, from its stored
    /// reconstruction and adjoint.
    fn slope_errors(
        &self,
        (theta, values): (&[f64], &[f64]),
        known: &Reconstructions,
        index: usize,
    ) -> Option<Vec<f64>> {
        let (Checkpoint::Full(_), stored) = (
            known.checkpoints().get(index)?,
            known.adjoints().get(index)?,
        ) else {
            return None;
        };
        let objective = self.model.objective(values, &self.data[index]).ok()?;
        let derivatives = self.model.derivatives(values, &objective)?;
        let mut workspace = self.workspaces.take(self.pairs[index].grid);
        let Workspace {
            state,
            scratch,
            adjoint,
            buffer,
            ..
        } = &mut workspace;
        let scratch = scratch.get_or_insert_with(|| objective.scratch());
        self.begin(&Start::Refine(known.clone()), index, state);
        let target = ErrorBound::new(stored.error).ok()?;
        let solved = self.refine(&objective, target, state, scratch).ok()?;
        let x = state.point();
        buffer.resize(x.len(), 0.0);
        let loss = LossAt::squared_distance(x, &self.pairs[index].truth, buffer);
        stored.start_into(adjoint);
        let stop = AdjointStop::absolute(stored.residual);
        let found =
            solve_adjoint(&objective, x, solved.error, &loss, stop, adjoint, scratch).ok()?;
        let mut bounds = vec![MixedBound::UNKNOWN; theta.len()];
        let error = solved.error.value();
        let q = adjoint.adjoint();
        let has_bounds = derivatives.mixed_bounds(x, q, error, &mut bounds, scratch);
        let adjoint_error = adjoint_error(&loss, &found);
        let slopes = bounds
            .iter()
            .map(|bound| bound.gradient_error(adjoint_error));
        let mut slopes: Vec<f64> = slopes.collect();
        self.chain(theta, 1.0, &mut slopes);
        slopes.iter_mut().for_each(|slope| *slope = slope.abs());
        self.workspaces.put_back(workspace);
        has_bounds.then_some(slopes)
    }

    /// Turns derivatives with respect to values into derivatives with respect to `$\theta$`, times
    /// `factor`.
    fn chain(&self, theta: &[f64], factor: f64, slopes: &mut [f64]) {
        for ((slope, parameter), theta) in slopes.iter_mut().zip(&self.parameters).zip(theta) {
            *slope *= factor * parameter.map.derivative(*theta);
        }
    }

    /// Reconstructs an image of a new point, until the error is small compared with the distance
    /// from the known reconstruction, or from the cold start of the first point.
    ///
    /// The distance is not known before. The gradient at the start gives the first target, and the
    /// distance at the end of one solve the target of the next.
    fn solve_near(
        &self,
        request: &Request<Reconstructions>,
        index: usize,
        objective: &M::Objective<'_>,
        state: &mut State,
        cold: &mut Vec<f64>,
        scratch: &mut M::Scratch,
    ) -> Result<Solve, String> {
        let (start, kappa) = match request {
            Request::New { near, kappa } => (Start::Near(near.clone()), *kappa),
            _ => (Start::Cold, FIRST * self.setup.kappa),
        };
        self.begin(&start, index, state);
        let known = match &start {
            Start::Near(near) => near.checkpoints().get(index),
            _ => None,
        };
        if known.is_none() {
            cold.clear();
            cold.extend_from_slice(state.point());
        }
        let change = |x: &[f64]| known.map_or_else(|| distance(cold, x), |known| known.distance(x));
        let mut error = ErrorBound::UNKNOWN;
        let mut target = ErrorBound::UNKNOWN;
        let (mut work, mut moved) = (0.0, 0.0);
        for _ in 0..MAX_TARGETS {
            let solved = self.refine(objective, target, state, scratch)?;
            work += solved.work;
            error = solved.error;
            moved = change(state.point());
            let is_first = target == ErrorBound::UNKNOWN;
            let wanted = kappa
                * if is_first {
                    LIKELY * error.value()
                } else {
                    moved
                };
            if !is_first && (error.value() <= wanted || solved.outcome != Outcome::Converged) {
                break;
            }
            // a distance of zero only says that the target was too large
            let next = wanted.min(0.5 * error.value()).max(0.01 * error.value());
            let Ok(next) = ErrorBound::new(next) else {
                break;
            };
            target = next;
        }
        let relative_error = if moved > 0.0 {
            error.value() / moved
        } else {
            kappa
        };
        Ok(Solve {
            error,
            relative_error: relative_error.min(1.0),
            work,
        })
    }

    /// Reconstructs an image of a known point more accurately.
    fn sharpen(
        &self,
        known: &Reconstructions,
        shrink: f64,
        index: usize,
        objective: &M::Objective<'_>,
        state: &mut State,
        scratch: &mut M::Scratch,
    ) -> Result<Solve, String> {
        self.begin(&Start::Refine(known.clone()), index, state);
        let before = (known.adjoints().get(index)).map_or(f64::INFINITY, |known| known.error);
        let target = ErrorBound::new(before * error_factor(shrink));
        let target = target.unwrap_or(ErrorBound::UNKNOWN);
        let solved = self.refine(objective, target, state, scratch)?;
        Ok(Solve {
            error: solved.error,
            relative_error: (solved.error.value() / before).min(1.0),
            work: solved.work,
        })
    }

    /// Continues a reconstruction until its error is at most `target`, or cannot become smaller.
    fn refine(
        &self,
        objective: &M::Objective<'_>,
        target: ErrorBound,
        state: &mut State,
        scratch: &mut M::Scratch,
    ) -> Result<lowlevel::Solved, String> {
        let stop = Stop::accuracy(target);
        let stop = match self.setup.effort {
            Effort::Requested {
                max_iterations: Some(limit),
            } => stop.with_max_iterations(limit),
            _ => stop,
        };
        (self.setup.lower_solver())
            .refine(objective, stop, state, scratch)
            .map_err(|error| error.to_string())
    }

    /// Answers a job. An error means that the ranks have lost each other.
    fn answer_with_gradient(
        &mut self,
        job: &Job<Reconstructions>,
    ) -> Result<Result<Answer<Reconstructions>, EvalError>, String> {
        self.last_work = [0; 2];
        let (theta, request) = (job.theta(), job.request());
        let values = self.values(theta);
        let parts = for_each((0..self.pairs.len()).collect(), |index| {
            self.differentiate(theta, &values, request, index)
        });
        let failure = parts.iter().find_map(|part| part.as_ref().err());
        let failure = self.ranks.first_failure(failure.map(String::as_str))?;
        if let Some((_, reason)) = failure {
            return Ok(Err(EvalError::reject(reason)));
        }
        let parts: Vec<ImagePart> = parts.into_iter().flatten().collect();
        let mut sums = self.sums(theta.len(), &parts)?;
        if let Err(reason) = self.add_penalties(theta, &values, &mut sums) {
            let work = sums.work();
            return Ok(Err(EvalError::Reject { reason, work }));
        }
        let (checkpoints, adjoints) = (parts.into_iter())
            .map(|part| (part.checkpoint, part.adjoint))
            .unzip();
        let number = self.next_number;
        self.next_number += 1;
        self.last_work = sums.work_by_kind();
        let gradient_error = sums.gradient_error(request);
        let resume = Reconstructions::new(number, sums.squared_distance, checkpoints)
            .with_gradient(
                Gradient {
                    entries: sums.gradient.clone(),
                    error: gradient_error,
                },
                adjoints,
            );
        Ok(Ok(Answer {
            value: sums.interval.nearest(sums.value),
            interval: sums.interval,
            work: sums.work(),
            gradient: sums.gradient,
            gradient_error,
            resume,
        }))
    }

    /// Adds up the images of all ranks, in their order.
    fn sums(&self, d: usize, parts: &[ImagePart]) -> Result<Sums, String> {
        let num_slopes = if self.num_terms > 0 { 2 * d } else { d };
        let width = ImageNumbers::COUNT + num_slopes;
        let mut message = Vec::with_capacity(parts.len() * width);
        for part in parts {
            message.extend_from_slice(&part.numbers.to_array());
            message.extend_from_slice(&part.slopes);
        }
        let all = self.ranks.gather(&message)?.concat();
        let mut sums = Sums::new(d);
        for image in all.chunks_exact(width) {
            if let Some((numbers, slopes)) = image.split_first_chunk() {
                sums.add(ImageNumbers::from_array(*numbers), slopes);
            }
        }
        sums.scale(self.layout.weight(), self.num_pairs());
        Ok(sums)
    }

    /// Adds the penalties, which are the same on all ranks.
    fn add_penalties(&self, theta: &[f64], values: &[f64], sums: &mut Sums) -> Result<(), String> {
        if self.num_terms == 0 {
            return Ok(());
        }
        let context = PenaltyContext {
            theta,
            values,
            condition_number: sums.condition_number,
            condition_gradient: &sums.condition_slopes,
        };
        let mut terms = vec![0.0; self.num_terms];
        let gradient = &mut sums.gradient;
        let penalties = || -> Result<(), String> {
            self.penalty_terms(&context, &mut terms)?;
            let mut all = self.setup.penalties.iter();
            let known = all.all(|penalty| penalty.add_gradient(&context, gradient));
            if known && gradient.iter().all(|slope| slope.is_finite()) {
                Ok(())
            } else {
                Err("the gradient of a penalty is not known".to_owned())
            }
        };
        catch_unwind(AssertUnwindSafe(penalties))
            .unwrap_or_else(|_| Err("a penalty panicked".to_owned()))?;
        let square: f64 = terms.iter().map(|term| term * term).sum();
        let rounding = (terms.len() as f64 + 4.0) * UNIT_ROUNDOFF * square;
        sums.value += square;
        sums.interval = Interval::new(
            sums.interval.lower + square - rounding,
            sums.interval.upper + square + rounding,
        );
        sums.widen(2.0);
        Ok(())
    }
}

impl<M: LowerLevel> Oracle for LearningProblem<M> {
    type Resume = Reconstructions;

    /// Evaluates a job. All ranks evaluate the same job at the same time.
    fn evaluate(&mut self, job: &mut Job<Reconstructions>) {
        match self.answer_with_gradient(job) {
            Ok(Ok(answer)) => job.answer(answer),
            Ok(Err(error)) => job.fail(error),
            Err(reason) => job.fail(EvalError::abort(reason)),
        }
    }
}

/// The sums over the images of all ranks.
struct Sums {
    value: f64,
    interval: Interval,
    gradient: Vec<f64>,
    squared_distance: f64,
    /// The sum of squares, later the root mean square, of the relative errors.
    relative_error: f64,
    condition_number: f64,
    condition_slopes: Vec<f64>,
    /// The work of reconstructions and of adjoints, in units of [`WORK_UNITS`].
    reconstructions: f64,
    adjoints: f64,
}

impl Sums {
    fn new(d: usize) -> Self {
        Self {
            value: 0.0,
            interval: Interval::exact(0.0),
            gradient: vec![0.0; d],
            squared_distance: 0.0,
            relative_error: 0.0,
            condition_number: 0.0,
            condition_slopes: Vec::new(),
            reconstructions: 0.0,
            adjoints: 0.0,
        }
    }

    fn add(&mut self, image: ImageNumbers, slopes: &[f64]) {
        self.value += image.value;
        self.interval.lower += image.lower;
        self.interval.upper += image.upper;
        self.squared_distance += image.squared_distance;
        self.relative_error += image.relative_error * image.relative_error;
        self.reconstructions += image.reconstruction;
        self.adjoints += image.adjoint;
        let (slopes, condition) = slopes.split_at(self.gradient.len());
        add(&mut self.gradient, slopes);
        // the first of the largest condition numbers
        if image.condition_number > self.condition_number {
            self.condition_number = image.condition_number;
            self.condition_slopes.clear();
            self.condition_slopes.extend_from_slice(condition);
        }
    }

    /// Multiplies the sums over `count` images by the weight of the loss.
    fn scale(&mut self, weight: f64, count: usize) {
        self.value *= weight;
        self.interval.lower *= weight;
        self.interval.upper *= weight;
        for slope in &mut self.gradient {
            *slope *= weight;
        }
        self.relative_error = (self.relative_error / count as f64).sqrt();
        self.widen(count as f64 + 4.0);
    }

    /// Widens the interval by the rounding errors of sums. `roundings` bounds the number of
    /// roundings of each term; no term of an interval has another sign than its sum.
    fn widen(&mut self, roundings: f64) {
        let Interval { lower, upper } = self.interval;
        self.interval = Interval::new(
            lower - roundings * UNIT_ROUNDOFF * lower.abs(),
            upper + roundings * UNIT_ROUNDOFF * upper.abs(),
        );
    }

    /// The work in gradients.
    fn work(&self) -> u64 {
        whole(self.reconstructions + self.adjoints)
    }

    /// The work of reconstructions and of adjoints, in gradients.
    fn work_by_kind(&self) -> [u64; 2] {
        [self.reconstructions, self.adjoints].map(whole)
    }

    /// Estimates the norm of the error of the gradient, from its difference to the gradient of a
    /// known point, or of the same point before it was sharpened.
    ///
    /// Along the way from one reconstruction to the other, the gradient changed by this difference.
    /// The error is a share of the way, so that of the gradient is about the same share. At a point
    /// that was sharpened, an error that fell to a share `$s$` of the error before has changed by
    /// `$1 - s$` times that.
    fn gradient_error(&self, request: &Request<Reconstructions>) -> f64 {
        let known = request.token().and_then(Reconstructions::gradient);
        let difference = known.map(|known| distance(&known.entries, &self.gradient));
        let share = self.relative_error;
        match (request, difference) {
            (Request::Sharpen { .. }, Some(difference)) => {
                difference * share / (1.0 - share).max(0.1)
            }
            (_, Some(difference)) => TYPICAL * share * difference,
            (_, None) => TYPICAL * share * distance(&[], &self.gradient),
        }
    }
}

/// Returns a number of gradients, rounded up.
fn whole(units: f64) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "rounded up, positive, and `as` saturates"
    )]
    let gradients = (units / WORK_UNITS).ceil() as u64;
    gradients
}

/// The accuracy of an adjoint at a new point: its residual falls to a share of that of the known
/// adjoint, and is at most half of that share of the gradient of the loss.
fn adjoint_stop(kappa: f64) -> AdjointStop {
    AdjointStop {
        relative: 0.5 * kappa,
        improvement: kappa,
        ..AdjointStop::default()
    }
}

/// The factor by which the errors of reconstructions and adjoints should fall, for a factor of the
/// width of an interval.
fn error_factor(shrink: f64) -> f64 {
    shrink.powf(POWER).min(0.5)
}

/// The adjoint of an image that a request names.
fn known_adjoint(request: &Request<Reconstructions>, index: usize) -> Option<&StoredAdjoint> {
    request.token()?.adjoints().get(index)
}

/// The Euclidean distance of two points. Missing entries of the first are zero.
fn distance(a: &[f64], b: &[f64]) -> f64 {
    let a = a.iter().copied().chain(std::iter::repeat(0.0));
    let squares = a.zip(b).map(|(a, b)| (a - b) * (a - b));
    squares.sum::<f64>().sqrt()
}
