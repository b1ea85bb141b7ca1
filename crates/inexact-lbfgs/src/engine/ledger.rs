//! The history of a run, its counters, limits and the reason for its end.

use crate::report::{EvalRecord, Iteration, Limit, Termination, Work};
use crate::{Budget, Request};

/// The history, the counters and the reason for the end of a run.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Ledger {
    pub(super) iterations: Vec<Iteration>,
    pub(super) evaluations: Vec<EvalRecord>,
    /// The number of iterations that `tell` has returned.
    pub(super) num_told: usize,
    pub(super) num_points: u64,
    pub(super) num_evaluations: u64,
    pub(super) work: Work,
    pub(super) termination: Option<Termination>,
    /// The lengths of the histories that a lean state lacks.
    pub(super) missing: Option<(usize, usize)>,
}

impl Ledger {
    /// A copy without iterations and evaluations.
    pub(super) fn lean(&self) -> Self {
        Self {
            iterations: Vec::new(),
            evaluations: Vec::new(),
            num_told: self.num_told,
            num_points: self.num_points,
            num_evaluations: self.num_evaluations,
            work: self.work,
            termination: self.termination.clone(),
            missing: (self.missing).or(Some((self.iterations.len(), self.evaluations.len()))),
        }
    }

    /// The limit that forbids this evaluation, if there is one.
    pub(super) fn forbids<R>(&self, request: &Request<R>, budget: &Budget) -> Option<Limit> {
        let reached = |count: u64, max: Option<u64>| max.is_some_and(|max| count >= max);
        let is_new = !matches!(request, Request::Sharpen { .. });
        if is_new && reached(self.num_points, budget.max_points) {
            return Some(Limit::Points);
        }
        if reached(self.num_evaluations, budget.max_evaluations) {
            return Some(Limit::Evaluations);
        }
        reached(self.work.total(), budget.max_work).then_some(Limit::Work)
    }

    /// The iterations since the last call.
    pub(super) fn tell(&mut self) -> &[Iteration] {
        let from = std::mem::replace(&mut self.num_told, self.iterations.len());
        &self.iterations[from.min(self.iterations.len())..]
    }
}
