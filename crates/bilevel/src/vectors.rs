//! Residual vectors per pixel, which stay with the rank that computes them.

use dfo_ls::{Against, BlockVector, BlockVectors, Measurement};

use crate::loss::ImageResiduals;
use crate::lower::LowerLevel;
use crate::oracle::{Row, add, for_each};
use crate::problem::LearningProblem;

impl<M: LowerLevel> LearningProblem<M> {
    /// Returns the stored residual vectors: one block for each image of this rank, then one for the
    /// terms of penalties. A run that is saved needs those in
    /// [`State::vectors_elsewhere`](dfo_ls::State::vectors_elsewhere).
    #[must_use]
    pub fn vectors(&self) -> &[BlockVectors] {
        &self.vectors
    }

    /// Returns the stored residual vectors, to load those of a saved run.
    pub fn vectors_mut(&mut self) -> &mut [BlockVectors] {
        &mut self.vectors
    }

    /// Returns the vectors to measure a new one against. An error means that a vector is missing.
    pub(crate) fn row(&self, against: &Against) -> Result<Row, String> {
        let (terms, _) = self.vectors.split_last().ok_or("there are no vectors")?;
        let resolved = against.resolve(|number| terms.contains(number));
        let (reference, others) = resolved.ok_or(MISSING)?;
        Ok(Row {
            vector: against.vector,
            reference,
            others,
        })
    }

    /// Stores the residuals of all images of this rank, and the terms of penalties.
    pub(crate) fn store(&mut self, vector: u64, residuals: Vec<ImageResiduals>, terms: Vec<f64>) {
        let own = residuals.into_iter().map(|residuals| match residuals {
            ImageResiduals::Distance(distance) => BlockVector::Full(vec![distance]),
            ImageResiduals::Pixels(entries) => entries,
        });
        let all = own.chain([BlockVector::Full(terms)]);
        for (store, residuals) in self.vectors.iter_mut().zip(all) {
            store.insert(vector, residuals);
        }
    }

    /// Computes `width` products for each image of this rank, one after the other, and for the
    /// terms of penalties.
    pub(crate) fn measured(
        &self,
        width: usize,
        measure: impl Fn(&BlockVectors, &mut [f64]) + Sync,
    ) -> (Vec<f64>, Vec<f64>) {
        let products = for_each(
            self.vectors.iter().collect(),
            false,
            |store: &BlockVectors| {
                let mut sums = vec![0.0; width];
                measure(store, &mut sums);
                sums
            },
        );
        let mut products = products.concat();
        let last = products.split_off(width * self.pairs.len());
        (products, last)
    }

    /// Computes the products of known vectors with a new reference.
    pub(crate) fn measurement(&self, request: &Measurement) -> Result<Vec<f64>, String> {
        let terms = self.vectors.last().ok_or("there are no vectors")?;
        if !request
            .vectors()
            .iter()
            .all(|number| terms.contains(*number))
        {
            return Err(MISSING.to_owned());
        }
        let width = request.width();
        let (own, last) = self.measured(width, |store, sums| store.measure_all(request, sums));
        let all = self.ranks.gather(&own)?;
        let mut sums = vec![0.0; width];
        for image in all.iter().flat_map(|own| own.chunks_exact(width)) {
            add(&mut sums, image);
        }
        add(&mut sums, &last);
        Ok(sums)
    }
}

/// The reason for missing vectors.
const MISSING: &str = "residual vectors are missing: use a learning problem with one engine at a \
                       time, and load the vectors of a saved run";
