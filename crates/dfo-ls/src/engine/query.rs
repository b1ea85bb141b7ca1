//! From points that are wanted to jobs, and from answers back to points.

use super::{Answer, BestPoint, Engine, Failure, State};
use crate::model::pool::Point;
use crate::options::{AccuracyControl, Samples};
use crate::oracle::Reply;
use crate::report::{EvalRecord, Limit, Termination};
use crate::residuals::Residuals;
use crate::{Accuracy, EvalError, Job, Purpose, Start};

/// A point whose residuals are wanted, from one or several samples.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Query<R> {
    u: Vec<f64>,
    theta: Vec<f64>,
    target: Accuracy,
    purpose: Purpose,
    /// Set for a new point when the first job is made.
    number: u64,
    start: Start<R>,
    samples: u32,
    sum: Residuals,
    got: u32,
    achieved: f64,
    resume: Option<R>,
    failure: Option<String>,
}

impl<R: Clone> Engine<R> {
    /// A new point. `u` is moved into the feasible set.
    pub(super) fn new_point(
        &self,
        mut u: Vec<f64>,
        target: Accuracy,
        purpose: Purpose,
    ) -> Query<R> {
        let theta = self.state.space.make_feasible(&mut u, &self.feasible);
        let start = self.state.warm_start(&u);
        self.query(u, theta, target, purpose, start)
    }

    /// A known point, more accurately.
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
            samples: self.state.num_samples(),
            sum: Residuals::default(),
            got: 0,
            achieved: 0.0,
            resume: None,
            failure: None,
        }
    }

    /// Asks. If the budget does not allow for all, only the first are asked, and the run ends with them.
    pub(super) fn issue(&mut self, queries: Vec<Query<R>>) {
        if let Some(limit) = self.state.exhausted {
            self.stop(Termination::Exhausted(limit));
            return;
        }
        let state = &mut self.state;
        let points_left = state
            .options
            .budget
            .max_points
            .map_or(u64::MAX, |max| max.saturating_sub(state.next_number));
        let calls_left = (state.options.budget.max_evaluations).map_or(u64::MAX, |max| {
            max.saturating_sub(state.evaluations.len() as u64)
        });
        let (mut points, mut calls) = (0, 0);
        for mut query in queries {
            let is_new = query.purpose != Purpose::Sharpen;
            if is_new && points >= points_left {
                state.exhausted = Some(Limit::Points);
                continue;
            }
            if calls + u64::from(query.samples) > calls_left {
                state.exhausted = Some(Limit::Evaluations);
                continue;
            }
            calls += u64::from(query.samples);
            if is_new {
                query.number = state.next_number + points;
                points += 1;
            }
            for sample in 0..query.samples {
                let job = Job::new(
                    query.theta.clone(),
                    query.target,
                    query.start.clone(),
                    query.purpose,
                    state.num_residuals,
                );
                state.jobs.push(job.with_sample(sample));
                state.owners.push(state.queries.len());
            }
            state.queries.push(query);
        }
        state.next_number += points;
        if let (true, Some(limit)) = (state.jobs.is_empty(), state.exhausted) {
            self.stop(Termination::Exhausted(limit));
        }
    }

    /// Takes the answered jobs.
    pub(super) fn collect(&mut self) {
        let state = &mut self.state;
        let jobs = std::mem::take(&mut state.jobs);
        let owners = std::mem::take(&mut state.owners);
        for (mut job, owner) in jobs.into_iter().zip(owners) {
            match job.take() {
                Some(reply) => state.take_reply(owner, reply, job.averaged()),
                None => {
                    state.jobs.push(job);
                    state.owners.push(owner);
                }
            }
        }
        if (state.options.budget.max_work).is_some_and(|max| state.work >= max) {
            state.exhausted = Some(Limit::Work);
        }
    }

    /// The point that the answers make: it counts for the best point, and may reach the target.
    pub(super) fn finish(&mut self, query: Query<R>) -> Answer<R> {
        let point = self.point(query)?;
        self.state.last_resume.clone_from(&point.resume);
        self.note_best(&point);
        self.end_at_target();
        Ok(point)
    }

    /// Ends the run if the best point is certainly at the target, or at zero.
    pub(super) fn end_at_target(&mut self) {
        let state = &mut self.state;
        let best = state.best.as_ref();
        let upper = best.map_or(f64::INFINITY, |best| best.interval().upper);
        if state.options.target.is_some_and(|target| upper <= target) || upper <= 0.0 {
            state.termination.get_or_insert(Termination::TargetReached);
        }
    }

    fn point(&mut self, query: Query<R>) -> Answer<R> {
        if query.got == 0 {
            return Err(Failure {
                number: query.number,
                reason: query.failure.unwrap_or_else(|| "not evaluated".to_owned()),
            });
        }
        let share = 1.0 / f64::from(query.got);
        let residuals = if query.got > 1 {
            let mean = query.sum.iter().map(|entry| entry * share).collect();
            Residuals::new(self.state.next_vector(), mean)
        } else {
            query.sum
        };
        let penalty = (self.regularizer.as_ref()).map_or(0.0, |h| h.value(&query.theta));
        let objective = self.state.sum_of_squares(&residuals) + penalty;
        if !objective.is_finite() {
            return Err(Failure {
                number: query.number,
                reason: "the objective is not finite".to_owned(),
            });
        }
        let achieved = match self.state.options.accuracy {
            // accuracy is taken as asked
            AccuracyControl::Experiments(_) => query.target,
            _ => Accuracy::new(query.achieved * share).unwrap_or(Accuracy::ANY),
        };
        Ok(Point {
            u: query.u,
            theta: query.theta,
            residuals,
            objective,
            penalty,
            accuracy: achieved,
            asked: query.target,
            at_floor: false,
            samples: query.got,
            resume: query.resume,
            number: query.number,
        })
    }

    /// Lets points whose answers are complete count for the best point while others are outstanding. When the run has ended,
    /// points of which some samples are missing count too.
    pub(super) fn note_answered(&mut self) {
        let state = &self.state;
        let ended = state.termination.is_some();
        let complete = |owner: &usize| ended || !state.owners.contains(owner);
        let answered: Vec<Query<R>> = (0..state.queries.len())
            .filter(complete)
            .map(|owner| state.queries[owner].clone())
            .collect();
        for query in answered {
            if let Ok(point) = self.point(query) {
                self.note_best(&point);
            }
        }
    }

    /// Keeps the point with the least certain objective.
    pub(super) fn note_best(&mut self, point: &Point<R>) {
        let upper = point.interval().upper;
        let state = &mut self.state;
        let better = state.best.as_ref().is_none_or(|best| {
            let exact = best.accuracy == Accuracy::EXACT && point.accuracy == Accuracy::EXACT;
            let lower = if exact {
                point.objective < best.objective
            } else {
                upper < best.interval().upper
            };
            lower || best.number == point.number
        });
        if better {
            state.best = Some(BestPoint {
                number: point.number,
                theta: point.theta.clone(),
                residuals: point.residuals.clone(),
                objective: point.objective,
                penalty: point.penalty,
                accuracy: point.accuracy,
                resume: point.resume.clone(),
            });
        }
    }
}

impl<R> Query<R> {
    pub(super) const fn is_answered(&self) -> bool {
        self.got > 0
    }

    pub(super) const fn sum(&self) -> &Residuals {
        &self.sum
    }

    pub(super) const fn sum_mut(&mut self) -> &mut Residuals {
        &mut self.sum
    }

    pub(super) fn tokens(&self) -> impl Iterator<Item = &R> {
        self.start.resumes().chain(&self.resume)
    }

    pub(super) fn each_token(&mut self, change: &mut impl FnMut(&mut R)) {
        let start = self.start.resumes_mut();
        start.chain(&mut self.resume).for_each(change);
    }
}

impl<R: Clone> State<R> {
    fn take_reply(&mut self, owner: usize, reply: Reply<R>, averaged: u32) {
        let number = self.next_vector();
        let query = &mut self.queries[owner];
        if query.purpose != Purpose::Sharpen && query.got == 0 && query.failure.is_none() {
            self.num_points += 1;
        }
        let mut record = EvalRecord {
            point: query.number,
            theta: query.theta.clone(),
            purpose: query.purpose,
            target: query.target,
            achieved: Accuracy::ANY,
            objective: Err(String::new()),
            work: 0,
        };
        match reply {
            Ok((residuals, evaluated)) => {
                record.work = evaluated.work;
                record.achieved = evaluated.achieved;
                let square = self.pool.blocks().dot(&residuals, &residuals);
                if square.is_finite() {
                    record.objective = Ok(square);
                    query.got += averaged;
                    query.achieved += evaluated.achieved.value() * f64::from(averaged);
                    query.resume = Some(evaluated.resume);
                    let mut residuals = residuals;
                    if averaged > 1 {
                        let weight = f64::from(averaged);
                        residuals.iter_mut().for_each(|r| *r *= weight);
                    }
                    for (r, sum) in residuals.iter_mut().zip(query.sum.iter()) {
                        *r += sum;
                    }
                    query.sum = Residuals::new(number, residuals);
                } else {
                    let reason = describe_overflow(&residuals);
                    query.failure = Some(reason.clone());
                    record.objective = Err(reason);
                }
            }
            Err(error) => {
                if let EvalError::Reject { work, .. } = &error {
                    record.work = *work;
                }
                let reason = error.to_string();
                if let EvalError::Abort { .. } = error {
                    let reason = reason.clone();
                    self.termination
                        .get_or_insert(Termination::OracleFailed { reason });
                }
                query.failure = Some(reason.clone());
                record.objective = Err(reason);
            }
        }
        self.work = self.work.saturating_add(record.work);
        self.evaluations.push(record);
    }

    /// The number of the next residual vector.
    const fn next_vector(&mut self) -> u64 {
        self.num_vectors += 1;
        self.num_vectors - 1
    }

    fn num_samples(&self) -> u32 {
        match self.options.noise.samples {
            Samples::One => 1,
            Samples::Fixed(samples) => samples,
            Samples::Growing { max } => {
                let ratio = self.options.trust_region.initial_radius / self.delta;
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
}

fn describe_overflow(residuals: &[f64]) -> String {
    match residuals.iter().position(|r| !r.is_finite()) {
        Some(i) => format!("residual {i} is {}", residuals[i]),
        None => "the sum of squares of the residuals overflows".to_owned(),
    }
}
