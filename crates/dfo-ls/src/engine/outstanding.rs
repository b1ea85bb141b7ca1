//! Outstanding evaluations: their purpose, their jobs and the answers so far.

use super::{Ledger, Phase, Query};
use crate::blocks::Blocks;
use crate::oracle::Start;
use crate::report::Limit;
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

    /// Whether there are no outstanding evaluations.
    pub(super) fn is_empty(&self) -> bool {
        self.queries.is_empty()
    }

    /// Takes the replies of answered jobs.
    pub(super) fn collect(&mut self, blocks: &Blocks, ledger: &mut Ledger<R>) {
        let jobs = std::mem::take(&mut self.jobs);
        let owners = std::mem::take(&mut self.owners);
        for (mut job, owner) in jobs.into_iter().zip(owners) {
            match job.take() {
                Some(reply) => self.queries[owner].take(reply, job.averaged(), blocks, ledger),
                None => {
                    self.jobs.push(job);
                    self.owners.push(owner);
                }
            }
        }
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

    /// The points whose samples are all answered; with `also_in_part` all points.
    pub(super) fn answered(&self, also_in_part: bool) -> Vec<Query<R>> {
        (0..self.queries.len())
            .filter(|owner| also_in_part || !self.owners.contains(owner))
            .map(|owner| self.queries[owner].clone())
            .collect()
    }
}
