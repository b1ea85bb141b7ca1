//! Outstanding evaluations: their purpose, their jobs and the answers so far.

use super::{Ledger, Phase, Query};
use crate::blocks::Blocks;
use crate::oracle::Start;
use crate::products::{Against, KnownVector, Measurement};
use crate::report::Limit;
use crate::residuals::Residuals;
use crate::{Budget, Job};

/// The points that were asked for, and the jobs that have not been answered.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Outstanding<R> {
    phase: Phase<R>,
    queries: Vec<Query<R>>,
    jobs: Vec<Job<R>>,
    /// The index of the query that each job belongs to.
    owners: Vec<usize>,
    /// The request for products with another reference. There are no jobs while it is pending.
    measurement: Option<Measurement>,
}

/// A point that could not be evaluated.
#[derive(Clone, Debug)]
pub(super) struct Failure {
    pub(super) number: u64,
    pub(super) reason: String,
}

impl<R> Default for Outstanding<R> {
    fn default() -> Self {
        Self {
            phase: Phase::Start,
            queries: Vec::new(),
            jobs: Vec::new(),
            owners: Vec::new(),
            measurement: None,
        }
    }
}

impl<R> Outstanding<R> {
    pub(super) const fn phase(&self) -> &Phase<R> {
        &self.phase
    }

    pub(super) const fn phase_mut(&mut self) -> &mut Phase<R> {
        &mut self.phase
    }

    pub(super) fn jobs(&self) -> &[Job<R>] {
        &self.jobs
    }

    pub(super) fn jobs_mut(&mut self) -> &mut [Job<R>] {
        &mut self.jobs
    }

    pub(super) fn queries(&self) -> &[Query<R>] {
        &self.queries
    }

    pub(super) fn queries_mut(&mut self) -> &mut [Query<R>] {
        &mut self.queries
    }

    /// Whether nothing is outstanding.
    pub(super) fn is_empty(&self) -> bool {
        self.queries.is_empty() && self.measurement.is_none()
    }

    pub(super) const fn measurement_mut(&mut self) -> Option<&mut Measurement> {
        self.measurement.as_mut()
    }

    /// Asks for products with another reference.
    pub(super) fn measure(&mut self, measurement: Measurement) {
        self.measurement = Some(measurement);
    }

    /// Takes the new reference and the answer to the request for products, if there is one.
    pub(super) fn take_measurement(&mut self) -> Option<(u64, Result<Vec<f64>, String>)> {
        let measurement = self.measurement.as_mut()?;
        let reply = measurement.take_reply()?;
        let reference = measurement.reference();
        self.measurement = None;
        Some((reference, reply))
    }

    /// Takes the replies of answered jobs.
    pub(super) fn collect(&mut self, blocks: &Blocks, ledger: &mut Ledger<R>) {
        let jobs = std::mem::take(&mut self.jobs);
        let owners = std::mem::take(&mut self.owners);
        for (mut job, owner) in jobs.into_iter().zip(owners) {
            match job.take() {
                Some(reply) => self.queries[owner].take(reply, &job, blocks, ledger),
                None => {
                    self.jobs.push(job);
                    self.owners.push(owner);
                }
            }
        }
    }

    /// The request for products of the first vectors with each other. They were evaluated before
    /// there was a reference, which the first of them becomes.
    pub(super) fn first_products(&self) -> Option<Measurement> {
        if !self.jobs.is_empty() {
            return None;
        }
        let told: Vec<(u64, u64)> = (self.queries.iter().filter_map(Query::sum))
            .filter_map(|sum| Some((sum.number(), sum.products()?.reference)))
            .collect();
        let &(first, reference) = told.first()?;
        let differ = told.iter().any(|(_, other)| *other != reference);
        differ.then(|| Measurement::new(first, told.iter().map(|(number, _)| *number).collect()))
    }

    /// Takes the answer to [`first_products`](Self::first_products). Returns `false` if that was
    /// not the question.
    pub(super) fn take_first_products(&mut self, reference: u64, sums: &[f64]) -> bool {
        let sums_of = self.queries.iter_mut().filter_map(Query::sum_mut);
        let mut vectors: Vec<&mut Residuals> = sums_of.collect();
        let numbers: Vec<u64> = vectors.iter().map(|vector| vector.number()).collect();
        let count = numbers.len();
        if sums.len() != count * (count + 1) || count == 0 {
            return false;
        }
        let product = |a: usize, b: usize| 0.5 * (sums[a * count + b] + sums[b * count + a]);
        for (a, vector) in vectors.iter_mut().enumerate() {
            let others = (0..count).filter(|&b| b != a);
            let with = others.map(|b| (numbers[b], product(a, b))).collect();
            let cross = sums[count * count + a];
            vector.set_products(reference, cross, product(a, a), with);
        }
        true
    }

    /// Takes the phase and its queries if every job is answered.
    pub(super) fn take(&mut self) -> Option<(Phase<R>, Vec<Query<R>>)> {
        let is_complete = self.jobs.is_empty() && !self.queries.is_empty();
        is_complete.then(|| {
            let phase = std::mem::replace(&mut self.phase, Phase::Start);
            (phase, std::mem::take(&mut self.queries))
        })
    }

    /// The starts of the outstanding jobs.
    pub(super) fn starts(&self) -> impl Iterator<Item = &Start<R>> {
        self.jobs.iter().map(Job::start)
    }

    pub(super) fn starts_mut(&mut self) -> impl Iterator<Item = &mut Start<R>> {
        self.jobs.iter_mut().map(Job::start_mut)
    }
}

impl<R: Clone> Outstanding<R> {
    /// Asks for points. If the budget does not allow for all, it asks for the first ones only and
    /// notes the limit in the ledger.
    pub(super) fn ask(
        &mut self,
        phase: Phase<R>,
        queries: Vec<Query<R>>,
        budget: &Budget,
        ledger: &mut Ledger<R>,
        num_residuals: usize,
    ) {
        self.phase = phase;
        let (points_left, calls_left) = ledger.left(budget);
        let (mut points, mut calls) = (0, 0);
        for mut query in queries {
            let samples = u64::from(query.num_samples());
            if query.is_new() && points >= points_left {
                ledger.exhausted = Some(Limit::Points);
                continue;
            }
            if calls + samples > calls_left {
                ledger.exhausted = Some(Limit::Evaluations);
                continue;
            }
            calls += samples;
            if query.is_new() {
                query.set_number(ledger.next_number + points);
                points += 1;
            }
            for sample in 0..query.num_samples() {
                self.jobs.push(query.job(sample, num_residuals));
                self.owners.push(self.queries.len());
            }
            self.queries.push(query);
        }
        ledger.next_number += points;
    }

    /// Adds to each job the vectors that its residuals are measured against. `stored` has the
    /// numbers of the stored points and of their vectors.
    pub(super) fn measure_against(
        &mut self,
        reference: Option<u64>,
        mut stored: Vec<(u64, u64)>,
        ledger: &mut Ledger<R>,
    ) {
        let undecided = self.phase.undecided().into_iter();
        stored.extend(undecided.map(|point| (point.number, point.residuals.number())));
        let find = |all: &[(u64, u64)], point: u64| {
            let mut all = all.iter();
            all.find(|(number, _)| *number == point)
                .map(|(_, vector)| *vector)
        };
        let points = self
            .owners
            .iter()
            .map(|owner| self.queries[*owner].number());
        let asked: Vec<(u64, u64)> = points.map(|point| (point, ledger.next_vector())).collect();
        for (job, &(point, vector)) in self.jobs.iter_mut().zip(&asked) {
            let is_other = |other: &&(u64, u64)| other.0 != point;
            let known = stored.iter().filter(is_other);
            let known = known.map(|&(number, vector)| KnownVector {
                vector,
                replaced_by: find(&asked, number),
            });
            let is_new = |other: &&(u64, u64)| find(&stored, other.0).is_none();
            let siblings = asked.iter().filter(is_other).filter(is_new);
            job.set_against(Against {
                vector,
                reference,
                known: known.collect(),
                siblings: siblings.map(|(_, vector)| *vector).collect(),
                replaces: find(&stored, point),
            });
        }
    }

    /// The points whose samples are all answered; with `also_in_part` all points.
    pub(super) fn answered(&self, also_in_part: bool) -> Vec<Query<R>> {
        (0..self.queries.len())
            .filter(|owner| also_in_part || !self.owners.contains(owner))
            .map(|owner| self.queries[owner].clone())
            .collect()
    }
}
