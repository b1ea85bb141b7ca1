//! The saved state of a learning run.

use dfo_ls::{EvalRecord, Iteration};

use crate::checkpoint::Reconstructions;
use crate::error::ProblemError;

/// A saved [`LearningEngine`](crate::LearningEngine), without the parts that are saved separately:
/// reconstructions, adjoints, residual vectors and the history.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct LearningState(pub(super) StateKind);

#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) enum StateKind {
    DerivativeFree(Box<dfo_ls::State<Reconstructions>>),
    Gradient {
        state: Box<inexact_lbfgs::State<Reconstructions>>,
        work: [u64; 2],
        #[cfg_attr(feature = "serde", serde(skip))]
        iterations: Vec<Iteration>,
        #[cfg_attr(feature = "serde", serde(skip))]
        evaluations: Vec<EvalRecord>,
    },
}

impl LearningState {
    /// Calls `change` for all reconstructions, to attach the parts that were saved separately.
    pub fn each_token(&mut self, change: impl FnMut(&mut Reconstructions)) {
        match &mut self.0 {
            StateKind::DerivativeFree(state) => state.each_token(change),
            StateKind::Gradient { state, .. } => state.each_token(change),
        }
    }

    /// Returns the numbers of the residual vectors that stay with the learning problem.
    #[must_use]
    pub fn vectors_elsewhere(&self) -> Vec<u64> {
        match &self.0 {
            StateKind::DerivativeFree(state) => state.vectors_elsewhere(),
            StateKind::Gradient { .. } => Vec::new(),
        }
    }

    /// Restores the residual vectors, which `vector` returns by their numbers, and the history.
    /// Histories that are longer than needed are cut at the end.
    ///
    /// # Errors
    /// When a vector is missing or a history is too short.
    pub fn complete(
        &mut self,
        vector: impl FnMut(u64) -> Option<Vec<f64>>,
        mut all_iterations: Vec<Iteration>,
        mut all_evaluations: Vec<EvalRecord>,
    ) -> Result<(), ProblemError> {
        match &mut self.0 {
            StateKind::DerivativeFree(state) => {
                Ok(state.complete(vector, all_iterations, all_evaluations)?)
            }
            StateKind::Gradient {
                state,
                iterations,
                evaluations,
                ..
            } => {
                let needed = (state.iterations().len(), state.evaluations().len());
                if all_iterations.len() < needed.0 || all_evaluations.len() < needed.1 {
                    return Err(dfo_ls::SetupError::StateMismatch {
                        what: "the length of its history",
                    }
                    .into());
                }
                all_iterations.truncate(needed.0);
                all_evaluations.truncate(needed.1);
                (*iterations, *evaluations) = (all_iterations, all_evaluations);
                Ok(())
            }
        }
    }

    /// Returns the numbers of iterations and evaluations.
    #[must_use]
    pub fn history_lengths(&self) -> (usize, usize) {
        match &self.0 {
            StateKind::DerivativeFree(state) => {
                (state.iterations().len(), state.evaluations().len())
            }
            StateKind::Gradient {
                iterations,
                evaluations,
                ..
            } => (iterations.len(), evaluations.len()),
        }
    }

    /// Returns whether the state belongs to a problem with this number of residuals.
    #[must_use]
    pub fn has_residuals(&self, count: usize) -> bool {
        match &self.0 {
            StateKind::DerivativeFree(state) => state.num_residuals() == count,
            StateKind::Gradient { .. } => true,
        }
    }
}
