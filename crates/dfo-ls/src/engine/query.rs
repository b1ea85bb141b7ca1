//! Queries: points whose residuals are needed, their jobs, and the collection of answers.

use super::outstanding::Failure;
use super::{Answer, Ledger, Run};
use crate::blocks::Blocks;
use crate::constraints::Regularizer;
use crate::model::pool::Point;
use crate::options::Samples;
use crate::oracle::{Answered, Reply};
use crate::report::{EvalRecord, Termination};
use crate::residuals::Residuals;
use crate::{Accuracy, EvalError, Job, Purpose, Start};

/// A point whose residuals are needed, from one or several samples.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Query<R> {
    u: Vec<f64>,
    theta: Vec<f64>,
    target: Accuracy,
    purpose: Purpose,
    /// The number of the point. For a new point it is set when its first job is created.
    number: u64,
    start: Start<R>,
    /// The number of samples to evaluate.
    samples: u32,
    /// The sum of the residuals of all samples so far.
    sum: Residuals,
    /// The number of samples so far.
    got: u32,
    /// The sum of the achieved error bounds of all samples so far.
    achieved: f64,
    resume: Option<R>,
    failure: Option<String>,
}

/// The ratio of achieved to requested error above which an answer has missed its accuracy. Not
/// tuned.
const MISSED: f64 = 1.1;
/// The largest ratio of the accuracies of two points that are assumed to be at the same floor. Not
/// tuned.
const SIMILAR_FLOOR: f64 = 2.0;

impl<R: Clone> Run<'_, R> {
    /// Creates a query for a new point. `u` is moved into the feasible set.
    pub(super) fn new_point(
        &self,
        mut u: Vec<f64>,
        target: Accuracy,
        purpose: Purpose,
    ) -> Query<R> {
        let theta = self.space.make_feasible(&mut u, &self.code.feasible);
        let start = self.warm_start(&u);
        self.query(u, theta, target, purpose, start)
    }

    /// Creates a query for a more accurate evaluation of a known point.
    pub(super) fn again(&self, point: &Point<R>, target: Accuracy) -> Query<R> {
        let start = point.resume.clone().map_or(Start::Cold, Start::Refine);
        let (u, theta) = (point.u.clone(), point.theta.clone());
        let mut query = self.query(u, theta, target, Purpose::Sharpen, start);
        query.number = point.number;
        query
    }

    fn query(
        &self,
        u: Vec<f64>,
        theta: Vec<f64>,
        target: Accuracy,
        purpose: Purpose,
        start: Start<R>,
    ) -> Query<R> {
        Query {
            u,
            theta,
            target,
            purpose,
            number: u64::MAX,
            start,
            samples: self.num_samples(),
            sum: Residuals::default(),
            got: 0,
            achieved: 0.0,
            resume: None,
            failure: None,
        }
    }

    fn num_samples(&self) -> u32 {
        match self.options.noise.samples {
            Samples::One => 1,
            Samples::Fixed(samples) => samples,
            Samples::Growing { max } => {
                let ratio = self.options.trust_region.initial_radius / self.trust.delta();
                let wanted = (ratio * ratio).ceil().clamp(1.0, f64::from(max));
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "between 1 and max"
                )]
                let wanted = wanted as u32;
                wanted
            }
        }
    }

    /// Creates the point from the answers, updates the best point and ends the run if the target is
    /// reached.
    pub(super) fn finish(&mut self, query: Query<R>) -> Answer<R> {
        let mut point = self.point(query)?;
        point.at_floor = self.is_at_known_floor(&point);
        self.ledger.last_resume.clone_from(&point.resume);
        self.ledger.note_best(&point);
        self.ledger.end_at_target(self.options.target);
        Ok(point)
    }

    /// Whether a point has missed the accuracy it was asked for, and another point has shown that
    /// the oracle cannot achieve much more. Asking again would be useless then.
    fn is_at_known_floor(&self, point: &Point<R>) -> bool {
        let missed = !(point.accuracy.value() <= MISSED * point.asked.value());
        let is_floor = |other: &Point<R>| {
            let is_known = other.number >= self.ledger.next_number;
            let similar = point.accuracy.value() <= SIMILAR_FLOOR * other.accuracy.value();
            other.at_floor && !is_known && similar
        };
        missed && self.points.iter().any(is_floor)
    }

    /// Updates the best point with an answered query while others of the same batch are
    /// outstanding.
    pub(super) fn note_best_of(&mut self, query: Query<R>) {
        if let Ok(point) = self.point(query) {
            self.ledger.note_best(&point);
        }
    }

    fn point(&mut self, query: Query<R>) -> Answer<R> {
        let reported = |share: f64| Accuracy::new(query.achieved * share).unwrap_or(Accuracy::ANY);
        let share = 1.0 / f64::from(query.got.max(1));
        let accuracy = self.rule().achieved(query.target, reported(share));
        query.into_point(
            accuracy,
            self.points.blocks(),
            self.code.regularizer.as_deref(),
            self.ledger,
        )
    }
}

impl<R> Query<R> {
    pub(super) fn is_new(&self) -> bool {
        self.purpose != Purpose::Sharpen
    }

    pub(super) const fn num_samples(&self) -> u32 {
        self.samples
    }

    pub(super) const fn number(&self) -> u64 {
        self.number
    }

    pub(super) const fn set_number(&mut self, number: u64) {
        self.number = number;
    }

    /// The sum of the residuals so far, if there are any.
    pub(super) fn sum(&self) -> Option<&Residuals> {
        (self.got > 0).then_some(&self.sum)
    }

    pub(super) fn sum_mut(&mut self) -> Option<&mut Residuals> {
        (self.got > 0).then_some(&mut self.sum)
    }

    pub(super) fn tokens(&self) -> impl Iterator<Item = &R> {
        self.start.resumes().chain(&self.resume)
    }

    pub(super) fn each_token(&mut self, change: &mut impl FnMut(&mut R)) {
        let start = self.start.resumes_mut();
        start.chain(&mut self.resume).for_each(change);
    }

    fn into_point(
        self,
        accuracy: Accuracy,
        blocks: &Blocks,
        regularizer: Option<&dyn Regularizer>,
        ledger: &mut Ledger<R>,
    ) -> Answer<R> {
        let number = self.number;
        let failed = |reason: String| Failure { number, reason };
        if self.got == 0 {
            let reason = self.failure.unwrap_or_else(|| "not evaluated".to_owned());
            return Err(failed(reason));
        }
        let residuals = if self.got > 1 {
            let share = 1.0 / f64::from(self.got);
            let mean = self.sum.iter().map(|entry| entry * share).collect();
            Residuals::new(ledger.next_vector(), mean)
        } else {
            self.sum
        };
        let penalty = regularizer.map_or(0.0, |h| h.value(&self.theta));
        let objective = residuals.square(blocks) + penalty;
        if !objective.is_finite() {
            return Err(failed("the objective is not finite".to_owned()));
        }
        Ok(Point {
            u: self.u,
            theta: self.theta,
            residuals,
            objective,
            penalty,
            accuracy,
            asked: self.target,
            at_floor: false,
            samples: self.got,
            resume: self.resume,
            number,
        })
    }

    /// Takes the reply to one of the jobs.
    pub(super) fn take(
        &mut self,
        reply: Reply<R>,
        job: &Job<R>,
        blocks: &Blocks,
        ledger: &mut Ledger<R>,
    ) {
        let against = job.against();
        let number = against.map_or_else(|| ledger.next_vector(), |against| against.vector);
        if self.is_new() && self.got == 0 && self.failure.is_none() {
            ledger.num_points += 1;
        }
        let mut record = EvalRecord {
            point: self.number,
            theta: self.theta.clone(),
            purpose: self.purpose,
            target: self.target,
            achieved: Accuracy::ANY,
            objective: Err(String::new()),
            work: 0,
        };
        match reply {
            Ok((answered, evaluated)) => {
                record.work = evaluated.work;
                record.achieved = evaluated.achieved;
                match self.check(&answered, job, blocks) {
                    Ok(square) => {
                        record.objective = Ok(square);
                        let averaged = job.averaged();
                        self.got += averaged;
                        self.achieved += evaluated.achieved.value() * f64::from(averaged);
                        self.resume = Some(evaluated.resume);
                        self.add(answered, averaged, number);
                    }
                    Err(reason) => {
                        self.failure = Some(reason.clone());
                        record.objective = Err(reason);
                    }
                }
            }
            Err(error) => {
                if let EvalError::Reject { work, .. } = &error {
                    record.work = *work;
                }
                let reason = error.to_string();
                if let EvalError::Abort { .. } = error {
                    let reason = reason.clone();
                    ledger.end(Termination::OracleFailed { reason });
                }
                self.failure = Some(reason.clone());
                record.objective = Err(reason);
            }
        }
        ledger.add_evaluation(record);
    }

    /// The sum of squares of an answer, or the reason why the answer cannot be used.
    fn check(&self, answered: &Answered, job: &Job<R>, blocks: &Blocks) -> Result<f64, String> {
        match (answered, job.against()) {
            (Answered::Residuals(residuals), None) => {
                let square = blocks.dot(residuals, residuals);
                let overflow = || describe_overflow(residuals);
                square.is_finite().then_some(square).ok_or_else(overflow)
            }
            (Answered::Products(products), Some(against)) => {
                if let Some(missing) = against.missing(products) {
                    return Err(format!("the product with vector {missing} is missing"));
                }
                let with = products.with.iter().map(|(_, product)| *product);
                let all = [products.square, products.cross, products.own];
                let all_finite = all.into_iter().chain(with).all(f64::is_finite);
                let reason = || "a product of the residuals is not finite".to_owned();
                all_finite.then_some(products.square).ok_or_else(reason)
            }
            (Answered::Residuals(_), Some(_)) => {
                Err("residuals were given, but the problem asks for products".to_owned())
            }
            (Answered::Products(_), None) => {
                Err("products were given, but the problem asks for residuals".to_owned())
            }
        }
    }

    /// Adds the mean of `averaged` evaluations to the sum.
    fn add(&mut self, answered: Answered, averaged: u32, number: u64) {
        let mut residuals = match answered {
            Answered::Residuals(residuals) => residuals,
            Answered::Products(products) => {
                self.sum = Residuals::elsewhere(number, products);
                return;
            }
        };
        if averaged > 1 {
            let weight = f64::from(averaged);
            residuals.iter_mut().for_each(|r| *r *= weight);
        }
        for (r, sum) in residuals.iter_mut().zip(self.sum.iter()) {
            *r += sum;
        }
        self.sum = Residuals::new(number, residuals);
    }
}

impl<R: Clone> Query<R> {
    /// Creates the job for one sample.
    pub(super) fn job(&self, sample: u32, num_residuals: usize) -> Job<R> {
        let (theta, start) = (self.theta.clone(), self.start.clone());
        Job::new(theta, self.target, start, self.purpose, num_residuals).with_sample(sample)
    }
}

fn describe_overflow(residuals: &[f64]) -> String {
    match residuals.iter().position(|r| !r.is_finite()) {
        Some(i) => format!("residual {i} is {}", residuals[i]),
        None => "the sum of squares of the residuals overflows".to_owned(),
    }
}
