//! Serialization of `State` in parts: the lean state, which changes with every evaluation, and the
//! residual vectors, tokens and history, of which each item is written once and never changes.

use std::collections::HashMap;
use std::sync::Arc;

use super::{Query, State};
use crate::model::pool::Point;
use crate::oracle::Start;
use crate::products::Against;
use crate::report::{EvalRecord, Iteration};
use crate::residuals::Residuals;
use crate::{Job, SetupError};

/// Saving in parts. A run that is saved after every evaluation writes the lean state each time, but
/// every residual vector, token, iteration and evaluation only once:
///
/// ```
/// # #[cfg(feature = "serde")]
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use dfo_ls::{Engine, Evaluated, Options, Problem, State};
/// use std::collections::HashMap;
///
/// let mut engine = Engine::new(Problem::new([3.0]), 1, Options::default())?;
/// let mut saved_vectors = HashMap::new();
/// let mut saved_state = String::new();
/// for _ in 0..3 {
///     for job in engine.ask() {
///         let r = job.theta()[0].exp() - 2.0;
///         job.answer(&[r], Evaluated::exact());
///     }
///     engine.tell();
///     for (number, residuals) in engine.state().vectors() {
///         saved_vectors.entry(number).or_insert_with(|| residuals.to_vec());
///     }
///     saved_state = serde_json::to_string(&engine.state().lean())?;
/// }
///
/// let (iterations, evaluations) = (engine.state().iterations(), engine.state().evaluations());
/// let mut state: State<()> = serde_json::from_str(&saved_state)?;
/// state.complete(|number| saved_vectors.remove(&number), iterations.to_vec(), evaluations.to_vec())?;
/// let loaded = Engine::from_state(Problem::new([3.0]), state)?;
/// assert_eq!(loaded.work(), engine.work());
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "serde"))]
/// # fn main() {}
/// ```
impl<R> State<R> {
    /// Returns a copy of the state without residual vectors, iterations and evaluations. They are
    /// not copied at any time. A lean state must be [completed](Self::complete) before it is used.
    #[must_use]
    pub fn lean(&self) -> Self
    where
        R: Clone,
    {
        let mut lean = Self {
            options: self.options.clone(),
            num_residuals: self.num_residuals,
            products: self.products,
            needs_code: self.needs_code,
            space: self.space.clone(),
            points: self.points.clone(),
            trust: self.trust.clone(),
            outstanding: self.outstanding.clone(),
            ledger: self.ledger.lean(),
        };
        lean.each_vector(&mut Residuals::strip);
        lean
    }

    /// The residual vectors in use, each once and with its number. A vector never changes. Vectors
    /// that stay with the oracle are not here.
    #[must_use]
    pub fn vectors(&self) -> Vec<(u64, &[f64])> {
        let best = self.ledger.best.iter().map(|best| &best.residuals);
        let mut vectors: Vec<(u64, &[f64])> = (self.measured().chain(best))
            .filter(|vector| !vector.is_empty())
            .map(|vector| (vector.number(), &vector[..]))
            .collect();
        vectors.sort_unstable_by_key(|(number, _)| *number);
        vectors.dedup_by_key(|(number, _)| *number);
        vectors
    }

    /// The numbers of the residual vectors in use that stay with the oracle, each once. The oracle
    /// saves these vectors, and drops others.
    #[must_use]
    pub fn vectors_elsewhere(&self) -> Vec<u64> {
        if !self.products {
            return Vec::new();
        }
        let jobs = self.outstanding.jobs().iter().filter_map(Job::against);
        let named = jobs.flat_map(Against::named);
        let mut numbers: Vec<u64> = self
            .measured()
            .map(Residuals::number)
            .chain(named)
            .collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }

    /// The residual vectors whose products are in use.
    fn measured(&self) -> impl Iterator<Item = &Residuals> {
        let points = self.points().map(|point| &point.residuals);
        let sums = self.outstanding.queries().iter().filter_map(Query::sum);
        points.chain(sums).chain(self.points.reference())
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

    /// Restores the residual vectors and the history of a [lean](Self::lean) state. `vector`
    /// returns the residual vector with a number. Histories that are longer than needed are cut at
    /// the end.
    ///
    /// # Errors
    /// When `vector` returns `None` or a vector of another length, or when a history is too short.
    pub fn complete(
        &mut self,
        mut vector: impl FnMut(u64) -> Option<Vec<f64>>,
        mut iterations: Vec<Iteration>,
        mut evaluations: Vec<EvalRecord>,
    ) -> Result<(), SetupError> {
        let Some((num_iterations, num_evaluations)) = self.ledger.missing else {
            return Ok(());
        };
        if iterations.len() < num_iterations || evaluations.len() < num_evaluations {
            return Err(SetupError::StateMismatch {
                what: "the length of its history",
            });
        }
        iterations.truncate(num_iterations);
        evaluations.truncate(num_evaluations);
        (self.ledger.iterations, self.ledger.evaluations) = (iterations, evaluations);
        let mut known: HashMap<u64, Option<Arc<Vec<f64>>>> = HashMap::new();
        let mut missing = false;
        let len = self.num_residuals;
        let elsewhere = self.products;
        self.each_vector(&mut |residuals| {
            if elsewhere {
                return;
            }
            let number = residuals.number();
            let values = known.entry(number).or_insert_with(|| {
                vector(number)
                    .filter(|values| values.len() == len)
                    .map(Arc::new)
            });
            match values {
                Some(values) => residuals.fill(Arc::clone(values)),
                None => missing = true,
            }
        });
        if missing {
            return Err(SetupError::StateMismatch {
                what: "a residual vector",
            });
        }
        self.ledger.missing = None;
        Ok(())
    }

    /// The tokens in use. A token may occur more than once.
    #[must_use]
    pub fn tokens(&self) -> Vec<&R> {
        let points = self.points().filter_map(|point| point.resume.as_ref());
        let queries = self.outstanding.queries().iter().flat_map(Query::tokens);
        let jobs = self.outstanding.starts().flat_map(Start::resumes);
        let last = self.ledger.last_resume.iter();
        let best = self.ledger.best.iter().flat_map(|best| &best.resume);
        let all = points.chain(queries).chain(jobs).chain(last).chain(best);
        all.collect()
    }

    /// Calls `change` for every token, for example to attach data that were saved separately.
    pub fn each_token(&mut self, mut change: impl FnMut(&mut R)) {
        for point in self.points_mut() {
            point.resume.iter_mut().for_each(&mut change);
        }
        for query in self.outstanding.queries_mut() {
            query.each_token(&mut change);
        }
        let starts = self.outstanding.starts_mut();
        starts.flat_map(Start::resumes_mut).for_each(&mut change);
        self.ledger.last_resume.iter_mut().for_each(&mut change);
        if let Some(best) = &mut self.ledger.best {
            best.resume.iter_mut().for_each(change);
        }
    }

    fn each_vector(&mut self, change: &mut dyn FnMut(&mut Residuals)) {
        for point in self.points_mut() {
            change(&mut point.residuals);
        }
        if let Some(best) = &mut self.ledger.best {
            change(&mut best.residuals);
        }
        let queries = self.outstanding.queries_mut().iter_mut();
        queries.filter_map(Query::sum_mut).for_each(&mut *change);
        self.points.reference_mut().map(change);
    }

    /// Stored points and undecided ones.
    fn points(&self) -> impl Iterator<Item = &Point<R>> {
        let undecided = self.outstanding.phase().undecided();
        self.points.stored().chain(undecided)
    }

    fn points_mut(&mut self) -> impl Iterator<Item = &mut Point<R>> {
        let undecided = self.outstanding.phase_mut().undecided_mut();
        self.points.stored_mut().chain(undecided)
    }
}
