//! Serialization of `State` in parts: the lean state, which changes with every evaluation, and the
//! tokens and the history, of which each item is written once and never changes.

use super::State;
use super::search::Search;
use crate::report::{EvalRecord, Iteration};
use crate::{Job, SetupError};

/// Saving in parts. A run that is saved after every evaluation writes the [lean](Self::lean) state
/// each time, but every token, iteration and evaluation only once.
impl<R> State<R> {
    /// Returns a copy of the state without iterations and evaluations, which are not copied at any
    /// time. A lean state must be [completed](Self::complete) before it is used.
    #[must_use]
    pub fn lean(&self) -> Self
    where
        R: Clone,
    {
        Self {
            options: self.options.clone(),
            fingerprint: self.fingerprint,
            incumbent: self.incumbent.clone(),
            memory: self.memory.clone(),
            search: self.search.clone(),
            progress: self.progress.clone(),
            phase: self.phase,
            job: self.job.clone(),
            ledger: self.ledger.lean(),
        }
    }

    /// All iterations so far.
    #[must_use]
    pub fn iterations(&self) -> &[Iteration] {
        &self.ledger.iterations
    }

    /// All evaluations so far.
    #[must_use]
    pub fn evaluations(&self) -> &[EvalRecord] {
        &self.ledger.evaluations
    }

    /// Restores the history of a [lean](Self::lean) state. Histories that are longer than needed
    /// are cut at the end.
    ///
    /// # Errors
    /// When a history is too short.
    pub fn complete(
        &mut self,
        mut iterations: Vec<Iteration>,
        mut evaluations: Vec<EvalRecord>,
    ) -> Result<(), SetupError> {
        let Some((num_iterations, num_evaluations)) = self.ledger.missing else {
            return Ok(());
        };
        if iterations.len() < num_iterations || evaluations.len() < num_evaluations {
            let what = "the length of its history";
            return Err(SetupError::StateMismatch { what });
        }
        iterations.truncate(num_iterations);
        evaluations.truncate(num_evaluations);
        (self.ledger.iterations, self.ledger.evaluations) = (iterations, evaluations);
        self.ledger.missing = None;
        Ok(())
    }

    /// The tokens in use. A token may occur more than once.
    #[must_use]
    pub fn tokens(&self) -> Vec<&R> {
        let trials = self.search.iter().flat_map(Search::points);
        let points = self
            .incumbent
            .iter()
            .chain(trials)
            .map(|point| &point.resume);
        let jobs = self.job.iter().flat_map(Job::tokens);
        points.chain(jobs).collect()
    }

    /// Calls `change` for every token, for example to attach data that were saved separately.
    pub fn each_token(&mut self, mut change: impl FnMut(&mut R)) {
        let trials = self.search.iter_mut().flat_map(Search::points_mut);
        for point in self.incumbent.iter_mut().chain(trials) {
            change(&mut point.resume);
        }
        let jobs = self.job.iter_mut().flat_map(Job::tokens_mut);
        jobs.for_each(change);
    }
}
