//! The learning problem as an oracle with gradients: for each image a reconstruction, its adjoint,
//! a certified value, and the derivatives of the value.
//!
//! **Accuracy.** There is no tolerance. At a new point, an image is reconstructed until its
//! certified error is at most `$\kappa$` times the distance from its reconstruction at the
//! incumbent. Its adjoint starts from that of the incumbent, and is solved until its residual is at
//! most `$\kappa$` times the residual of this start. So the differences of gradients, from which
//! the solver learns curvature, have relative errors of about `$\kappa$`, whatever the scale of the
//! problem. After a step of length `$s$`, the value must be known up to `$O(s^2)$`. It is, because
//! the error of a corrected value is of second order in the error of the reconstruction.
//!
//! **Order of sums.** Values and gradients of images are added in the order of the images, whatever
//! the number of threads and ranks.

mod criterion;
mod image;
mod sums;

use std::panic::{AssertUnwindSafe, catch_unwind};

use inexact_lbfgs::{Answer, EvalError, Interval, Job, Oracle};
use lowlevel::{StronglyConvex, UNIT_ROUNDOFF};

use crate::checkpoint::{Gradient, Reconstructions};
use crate::derivatives::Derivatives;
use crate::lower::LowerLevel;
use crate::oracle::{add, for_each};
use crate::parameter::Parameter;
use crate::penalty::PenaltyContext;
use crate::problem::{Effort, ImageRange, LearningProblem};
use image::{ImageNumbers, ImagePart, units};
use sums::{Sums, whole};

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
        let theta = Parameter::starts_of(&self.parameters);
        let values = self.values(&theta);
        let own = || self.has_derivatives(&values);
        let own = catch_unwind(AssertUnwindSafe(own)).unwrap_or([false; 3]);
        let own = own.map(|flag| f64::from(u8::from(flag)));
        let all = self.ranks.gather(&own)?;
        let everywhere = |flag: usize| all.iter().all(|own| own.get(flag) != Some(&0.0));
        if !everywhere(0) {
            return Ok(Some("the family has no derivatives"));
        }
        if !everywhere(2) {
            return Ok(Some(
                "the operator depends on learned parameters, and there is no truth",
            ));
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
        let all = || penalties.all(|p| p.add_gradient(&context, &mut gradient));
        let differentiable = catch_unwind(AssertUnwindSafe(all)).unwrap_or(false);
        Ok((!differentiable).then_some("a penalty has no derivatives"))
    }

    /// Returns whether all images of this rank have derivatives, know those of the condition
    /// number, and, if there is no truth, have an operator that does not depend on the parameters.
    /// Images whose objective cannot be built do not count.
    fn has_derivatives(&self, values: &[f64]) -> [bool; 3] {
        let needs_truth = self.setup.criterion.needs_truth();
        let mut all = [true; 3];
        let mut slopes = vec![0.0; values.len()];
        for data in &self.data {
            let Ok(objective) = self.model.objective(values, data) else {
                continue;
            };
            let derivatives = (self.model.derivatives(values, &objective))
                .filter(|_| objective.second_order().is_some());
            let mut knows =
                |known: &dyn Derivatives<M::Scratch>| known.condition_gradient(&mut slopes);
            all[0] &= derivatives.is_some();
            all[1] &= derivatives.as_deref().is_some_and(&mut knows);
            let forward = || self.model.forward(values, data);
            all[2] &= needs_truth || forward().is_some_and(|forward| forward.is_fixed());
        }
        all
    }

    /// Answers a job. The outer error means that the ranks cannot exchange numbers.
    fn answer_with_gradient(
        &mut self,
        job: &Job<Reconstructions>,
    ) -> Result<Result<Answer<Reconstructions>, EvalError>, String> {
        self.last_work = [0; 2];
        let (theta, request) = (job.theta(), job.request());
        let values = self.values(theta);
        let images = (0..self.pairs.len()).collect();
        let parts = for_each(images, self.model.is_serial(), |index| {
            let mut spent = [0.0; 2];
            let part = self.differentiate(theta, &values, request, index, &mut spent);
            (part, spent.map(units))
        });
        let failure = parts.iter().find_map(|(part, _)| part.as_ref().err());
        let failure = self.ranks.first_failure(failure.map(String::as_str))?;
        if let Some((_, reason)) = failure {
            let mut spent = vec![0.0; 2];
            parts.iter().for_each(|(_, image)| add(&mut spent, image));
            let ranks = self.ranks.gather(&spent)?;
            spent.fill(0.0);
            ranks.iter().for_each(|rank| add(&mut spent, rank));
            self.last_work = [spent[0], spent[1]].map(whole);
            let work = whole(spent[0] + spent[1]);
            return Ok(Err(EvalError::Reject { reason, work }));
        }
        let parts: Vec<ImagePart> = parts
            .into_iter()
            .filter_map(|(part, _)| part.ok())
            .collect();
        let mut sums = self.sums(theta.len(), &parts)?;
        self.last_work = sums.work_by_kind();
        if let Err(reason) = self.add_penalties(theta, &values, &mut sums) {
            let work = sums.work();
            return Ok(Err(EvalError::Reject { reason, work }));
        }
        let (checkpoints, adjoints) = (parts.into_iter())
            .map(|part| (part.checkpoint, part.adjoint))
            .unzip();
        let number = self.next_number;
        self.next_number += 1;
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

    /// Returns a certified bound on the norm of the error of the gradient at a point with these
    /// reconstructions. The projected gradient has at most the same error, because projecting moves
    /// no two vectors apart. `None` if the family has no such bound, or reconstructions are stored
    /// in single precision.
    pub(crate) fn gradient_error(&self, theta: &[f64], known: &Reconstructions) -> Option<f64> {
        let d = theta.len();
        let values = self.values(theta);
        let own = for_each(
            (0..self.pairs.len()).collect(),
            self.model.is_serial(),
            |index| {
                let errors = || self.slope_errors((theta, &values), known, index);
                let errors = catch_unwind(AssertUnwindSafe(errors)).ok().flatten();
                // NaN makes the sum NaN, too
                errors.unwrap_or_else(|| vec![f64::NAN; d])
            },
        );
        let all = self.ranks.gather(&own.concat()).ok()?.concat();
        let mut sums = vec![0.0; d];
        all.chunks_exact(d).for_each(|image| add(&mut sums, image));
        let squares: f64 = sums.iter().map(|error| error * error).sum();
        let error =
            self.layout.weight() * squares.sqrt() * (1.0 + (d as f64 + 16.0) * UNIT_ROUNDOFF);
        Some(error).filter(|error| error.is_finite())
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
