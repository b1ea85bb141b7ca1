//! Learning with gradients, but without certificates: intervals shrink to their values.

use std::collections::HashMap;

use bilevel::{LearningProblem, LowerLevel, Reconstructions};
use inexact_lbfgs::{Interval, Job, Oracle, Request};

/// An oracle that declares the values of a learning problem to be exact.
#[derive(Debug)]
pub(super) struct Uncertified<'a, M: LowerLevel> {
    problem: &'a mut LearningProblem<M>,
    /// The values by the numbers of their tokens. A point keeps its value when it is sharpened:
    /// exact values do not change.
    values: HashMap<u64, f64>,
}

impl<'a, M: LowerLevel> Uncertified<'a, M> {
    pub(super) fn new(problem: &'a mut LearningProblem<M>) -> Self {
        Self {
            problem,
            values: HashMap::new(),
        }
    }
}

impl<M: LowerLevel> Oracle for Uncertified<'_, M> {
    type Resume = Reconstructions;

    fn evaluate(&mut self, job: &mut Job<Reconstructions>) {
        let before = match job.request() {
            Request::Sharpen { known, .. } => self.values.get(&known.number()).copied(),
            _ => None,
        };
        Oracle::evaluate(self.problem, job);
        if let Some(answer) = job.answer_mut() {
            answer.value = before.unwrap_or(answer.value);
            answer.interval = Interval::exact(answer.value);
            self.values.insert(answer.resume.number(), answer.value);
        }
    }
}
