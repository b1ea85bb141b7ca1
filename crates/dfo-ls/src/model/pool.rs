//! The pool of evaluated points, and the inner products of their residuals.
//!
//! Models of the residuals are combinations of evaluated residuals,
//! `$\tilde r(u) = r_k + \sum_t \beta_t(u)\,(r_t - r_k)$`. A model of `$\|r\|^2$` therefore needs
//! only the matrix `$G_{ts} = (r_t - r_k)^\top(r_s - r_k)$` and the vector
//! `$b_t = (r_t - r_k)^\top r_k$`. They follow from products of differences to a fixed reference,
//! each of which is computed once, in one pass over the residuals when a point is added. When the
//! incumbent is far from the reference compared with its distances to the other points, differences
//! of these products would lose digits. The incumbent then becomes the reference, and all products
//! are computed again. All products are sums over [`Blocks`].
//!
//! If the vectors stay with the oracle, the pool is told the same products instead of computing
//! them, and the engine asks for those with a new reference.

use crate::Accuracy;
use crate::blocks::Blocks;
use crate::linalg::Matrix;
use crate::products::{Measurement, View, measure, measure_all};
use crate::residuals::Residuals;

/// An evaluated point.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Point<R> {
    /// The scaled parameters.
    pub(crate) u: Vec<f64>,
    /// The user's parameters, as they were evaluated.
    pub(crate) theta: Vec<f64>,
    pub(crate) residuals: Residuals,
    /// The objective: `$\|r\|^2$` plus the regulariser.
    pub(crate) objective: f64,
    /// The value of the regulariser.
    pub(crate) penalty: f64,
    pub(crate) accuracy: Accuracy,
    /// The accuracy that was asked for last.
    pub(crate) asked: Accuracy,
    /// Whether the point is at the oracle's floor: sharpening it was tried without success.
    pub(crate) at_floor: bool,
    pub(crate) samples: u32,
    pub(crate) resume: Option<R>,
    /// The number of the point, counted in the order of first evaluation.
    pub(crate) number: u64,
}

/// The stored points. The number of a slot stays valid until its point is removed.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct PointPool<R> {
    slots: Vec<Option<Point<R>>>,
    blocks: Blocks,
    /// The reference of the products; `None` before the first point.
    reference: Option<Residuals>,
    /// The products `$(r_t - r_\mathrm{ref})^\top (r_s - r_\mathrm{ref})$`.
    gram: Matrix,
    /// The products `$(r_t - r_\mathrm{ref})^\top r_\mathrm{ref}$`.
    cross: Vec<f64>,
}

impl<R> PointPool<R> {
    pub(crate) fn new(capacity: usize, blocks: Blocks) -> Self {
        Self {
            slots: (0..capacity).map(|_| None).collect(),
            blocks,
            reference: None,
            gram: Matrix::zeros(capacity, capacity),
            cross: vec![0.0; capacity],
        }
    }

    /// The blocks over which residuals are summed.
    pub(crate) const fn blocks(&self) -> &Blocks {
        &self.blocks
    }

    pub(crate) fn get(&self, slot: usize) -> &Point<R> {
        self.slots[slot].as_ref().expect("a live slot")
    }

    pub(crate) fn get_mut(&mut self, slot: usize) -> &mut Point<R> {
        self.slots[slot].as_mut().expect("a live slot")
    }

    pub(crate) fn live(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.slots.len()).filter(|&slot| self.slots[slot].is_some())
    }

    pub(crate) fn points(&self) -> impl Iterator<Item = &Point<R>> + '_ {
        self.slots.iter().flatten()
    }

    pub(crate) fn points_mut(&mut self) -> impl Iterator<Item = &mut Point<R>> + '_ {
        self.slots.iter_mut().flatten()
    }

    /// The reference; `None` before the first point.
    pub(crate) const fn reference(&self) -> Option<&Residuals> {
        self.reference.as_ref()
    }

    pub(crate) const fn reference_mut(&mut self) -> Option<&mut Residuals> {
        self.reference.as_mut()
    }

    /// The scaled parameters of all points, mutably.
    pub(crate) fn positions(&mut self) -> impl Iterator<Item = &mut Vec<f64>> + '_ {
        self.slots.iter_mut().flatten().map(|point| &mut point.u)
    }

    /// The number of points for which there is room.
    pub(crate) fn num_free(&self) -> usize {
        self.slots.iter().filter(|slot| slot.is_none()).count()
    }

    pub(crate) fn remove(&mut self, slot: usize) -> Option<Point<R>> {
        self.slots[slot].take()
    }

    /// Adds a point to a pool that is not full, and returns its slot.
    pub(crate) fn insert(&mut self, point: Point<R>) -> usize {
        let slot = self
            .slots
            .iter()
            .position(Option::is_none)
            .expect("a free slot");
        self.slots[slot] = Some(point);
        self.measure(slot);
        slot
    }

    /// Replaces the residuals of a point by more accurate ones.
    pub(crate) fn set_residuals(&mut self, slot: usize, residuals: Residuals) {
        self.get_mut(slot).residuals = residuals;
        self.measure(slot);
    }

    /// Computes all products of a slot, or takes those that the oracle has told.
    fn measure(&mut self, slot: usize) {
        let live: Vec<usize> = self.live().collect();
        let new = &self.get(slot).residuals;
        let (cross, products) = match new.products() {
            Some(told) => {
                let with = |t: &usize| self.told(slot, *t);
                (told.cross, live.iter().map(with).collect())
            }
            None => self.row(new, &live),
        };
        if self.reference.is_none() {
            self.reference = Some(match new.products() {
                Some(told) => Residuals::new(told.reference, Vec::new()),
                None => new.clone(),
            });
        }
        self.cross[slot] = cross;
        for (&product, &t) in products.iter().zip(&live) {
            self.gram[(slot, t)] = product;
            self.gram[(t, slot)] = product;
        }
    }

    /// The product of two slots that the oracle has told with either of them. NaN if one of them is
    /// about to get a new vector, and the other one was measured against that.
    fn told(&self, slot: usize, t: usize) -> f64 {
        let (a, b) = (&self.get(slot).residuals, &self.get(t).residuals);
        told_product(a, b).unwrap_or(f64::NAN)
    }

    /// Computes the products of `new` in one pass over the residuals: with the reference, and with
    /// the given slots.
    fn row(&self, new: &Residuals, slots: &[usize]) -> (f64, Vec<f64>) {
        let rows = self.rows(slots);
        let new = View::Full(new);
        let reference = (self.reference.as_ref()).map_or(new, |reference| View::Full(reference));
        let mut sums = self.blocks.sums(1 + rows.len(), |block, sums| {
            let (cross, with) = sums.split_at_mut(1);
            measure(new, reference, &rows, block, &mut cross[0], with);
        });
        let products = sums.split_off(1);
        (sums[0], products)
    }

    /// Computes all products of all slots in one pass over the residuals.
    fn measure_all(&mut self) {
        let live: Vec<usize> = self.live().collect();
        let rows = self.rows(&live);
        let count = live.len();
        let reference = View::Full(
            self.reference
                .as_ref()
                .map_or(&[], |reference| &reference[..]),
        );
        let sums = self.blocks.sums(count * count + count, |block, sums| {
            measure_all(reference, &rows, block, sums);
        });
        self.take_sums(&live, &sums);
    }

    /// Takes the products of the live slots: with each other, column by column, then with the
    /// reference.
    fn take_sums(&mut self, live: &[usize], sums: &[f64]) {
        let count = live.len();
        let (products, cross) = sums.split_at(count * count);
        for (column, (&t, cross)) in live.iter().zip(cross).enumerate() {
            self.cross[t] = *cross;
            for (row, &s) in live.iter().enumerate() {
                let both = products[column * count + row] + products[row * count + column];
                self.gram[(s, t)] = 0.5 * both;
            }
        }
    }

    /// The residuals of the given slots.
    fn rows(&self, slots: &[usize]) -> Vec<View<'_>> {
        let row = |&slot: &usize| View::Full(&self.get(slot).residuals);
        slots.iter().map(row).collect()
    }

    /// The distance of a point's residuals, which need not be in the pool, from those of a slot.
    pub(crate) fn distance(&self, point: &Point<R>, slot: usize) -> f64 {
        let (a, b) = (&point.residuals, &self.get(slot).residuals);
        match (a.products(), b.products()) {
            (Some(own), Some(_)) => {
                let both = told_product(a, b).unwrap_or(f64::NAN);
                // NaN counts as no distance, so that the point is asked for again
                (own.own - 2.0 * both + self.gram[(slot, slot)])
                    .max(0.0)
                    .sqrt()
            }
            _ => self.blocks.distance(a, b),
        }
    }

    /// Computes `$\sum_s w_s\,(r_t - r_k)^\top(r_s - r_k)$` for every slot `$t$` of `set`.
    pub(crate) fn combined_products(
        &self,
        center: usize,
        set: &[usize],
        weights: &[f64],
    ) -> Vec<f64> {
        let mut spread = vec![0.0; self.slots.len()];
        for (&slot, weight) in set.iter().zip(weights) {
            spread[slot] = *weight;
        }
        let total: f64 = weights.iter().sum();
        let mut sums = vec![0.0; self.slots.len()];
        self.gram.mul_vec(&spread, &mut sums);
        let own = self.gram[(center, center)];
        set.iter()
            .map(|&t| (sums[t] - sums[center]) - total * (self.gram[(t, center)] - own))
            .collect()
    }

    /// The product `$(r_t - r_k)^\top(r_s - r_k)$`.
    pub(crate) fn product(&self, center: usize, t: usize, s: usize) -> f64 {
        let g = |a, b| self.gram[(a, b)];
        if t == center || s == center {
            0.0
        } else {
            (g(t, s) - g(t, center)) + (g(center, center) - g(center, s))
        }
    }

    /// The product `$(r_t - r_k)^\top r_k$`.
    pub(crate) fn slope(&self, center: usize, t: usize) -> f64 {
        let g = |a, b| self.gram[(a, b)];
        (self.cross[t] - self.cross[center]) + (g(t, center) - g(center, center))
    }

    /// Whether differences of products lose digits, because the incumbent is far from the
    /// reference compared with its distances to the others.
    fn loses_digits(&self, center: usize, others: &[usize]) -> bool {
        // six of sixteen digits may be lost (decision record 7)
        const LOSS: f64 = 1e6;
        let moved = self.gram[(center, center)];
        let nearest = others
            .iter()
            .filter(|&&t| t != center)
            .map(|&t| self.product(center, t, t))
            .filter(|&p| p > 0.0)
            .fold(f64::INFINITY, f64::min);
        // If no product is positive, all digits may be lost.
        let precise = nearest.is_finite() && moved <= LOSS * nearest;
        !precise && moved != 0.0
    }

    /// Makes the incumbent the reference if differences of products would lose digits. Returns
    /// whether it did. If the vectors stay with the oracle, use [`question`](Self::question).
    pub(crate) fn keep_precise(&mut self, center: usize, others: &[usize]) -> bool {
        let incumbent = &self.get(center).residuals;
        if incumbent.products().is_some() || !self.loses_digits(center, others) {
            return false;
        }
        self.reference = Some(incumbent.clone());
        self.measure_all();
        true
    }

    /// The request for products with the incumbent as the reference, if the vectors stay with the
    /// oracle and differences of the present products would lose digits.
    pub(crate) fn question(&self, center: usize, others: &[usize]) -> Option<Measurement> {
        let incumbent = &self.get(center).residuals;
        if incumbent.products().is_none() || !self.loses_digits(center, others) {
            return None;
        }
        let vectors = self.points().map(|point| point.residuals.number());
        Some(Measurement::new(incumbent.number(), vectors.collect()))
    }

    /// Takes the answer to a [`question`](Self::question).
    pub(crate) fn take_answer(&mut self, reference: u64, sums: &[f64]) {
        self.reference = Some(Residuals::new(reference, Vec::new()));
        let live: Vec<usize> = self.live().collect();
        self.take_sums(&live, sums);
    }
}

/// The product of two vectors that the oracle has told with either of them.
fn told_product(a: &Residuals, b: &Residuals) -> Option<f64> {
    let (of_a, of_b) = (a.products()?, b.products()?);
    if a.number() == b.number() {
        return Some(of_a.own);
    }
    of_a.product(b.number())
        .or_else(|| of_b.product(a.number()))
}

#[cfg(test)]
mod tests;
