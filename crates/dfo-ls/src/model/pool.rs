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

use std::ops::Range;

use crate::Accuracy;
use crate::blocks::Blocks;
use crate::linalg::{Matrix, axpy, dot, dot_difference, product_transposed};
use crate::residuals::Residuals;

/// The number of residuals that are processed at a time, so that they stay in the cache.
const CHUNK: usize = 1024;

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
    reference: Residuals,
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
            reference: Residuals::default(),
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

    pub(crate) const fn reference(&self) -> &Residuals {
        &self.reference
    }

    pub(crate) const fn reference_mut(&mut self) -> &mut Residuals {
        &mut self.reference
    }

    /// Whether there is, or was, a point.
    pub(crate) fn has_reference(&self) -> bool {
        self.slots.iter().any(Option::is_some) || !self.reference.is_empty()
    }

    /// The scaled parameters of all points, mutably.
    pub(crate) fn positions(&mut self) -> impl Iterator<Item = &mut Vec<f64>> + '_ {
        self.slots.iter_mut().flatten().map(|point| &mut point.u)
    }

    pub(crate) fn is_full(&self) -> bool {
        self.slots.iter().all(Option::is_some)
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
        if self.reference.is_empty() {
            self.reference.clone_from(&point.residuals);
        }
        self.slots[slot] = Some(point);
        self.measure(slot);
        slot
    }

    /// Replaces the residuals of a point by more accurate ones.
    pub(crate) fn set_residuals(&mut self, slot: usize, residuals: Residuals) {
        self.get_mut(slot).residuals = residuals;
        self.measure(slot);
    }

    /// Computes all products of a slot in one pass over the residuals.
    fn measure(&mut self, slot: usize) {
        let live: Vec<usize> = self.live().collect();
        let new: &[f64] = &self.get(slot).residuals;
        let rows = self.rows(&live);
        let reference: &[f64] = &self.reference;
        // with the reference, then with each row
        let sums = self.blocks.sums(1 + rows.len(), |block, sums| {
            let mut own = [0.0; CHUNK];
            for piece in pieces(block) {
                let reference = &reference[piece.clone()];
                let own = &mut own[..piece.len()];
                subtract(&new[piece.clone()], reference, own);
                sums[0] += dot(own, reference);
                for (sum, row) in sums[1..].iter_mut().zip(&rows) {
                    *sum += dot_difference(own, &row[piece.clone()], reference);
                }
            }
        });
        self.cross[slot] = sums[0];
        for (&sum, &t) in sums[1..].iter().zip(&live) {
            self.gram[(slot, t)] = sum;
            self.gram[(t, slot)] = sum;
        }
    }

    /// Computes all products of all slots in one pass over the residuals.
    fn measure_all(&mut self) {
        let live: Vec<usize> = self.live().collect();
        let rows = self.rows(&live);
        let count = live.len();
        let reference: &[f64] = &self.reference;
        // with each other, column by column, then with the reference
        let sums = self.blocks.sums(count * count + count, |block, sums| {
            let (products, cross) = sums.split_at_mut(count * count);
            let mut differences = Matrix::default();
            for piece in pieces(block) {
                let reference = &reference[piece.clone()];
                differences.reset(piece.len(), count);
                for (column, (row, cross)) in rows.iter().zip(&mut *cross).enumerate() {
                    let own = differences.col_mut(column);
                    subtract(&row[piece.clone()], reference, own);
                    *cross += dot(own, reference);
                }
                let part = product_transposed(&differences, &differences);
                axpy(1.0, part.as_slice(), products);
            }
        });
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
    fn rows(&self, slots: &[usize]) -> Vec<&[f64]> {
        let row = |&slot: &usize| -> &[f64] { &self.get(slot).residuals };
        slots.iter().map(row).collect()
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

    /// Makes the incumbent the reference if differences of products would lose digits. Returns
    /// whether it did.
    pub(crate) fn keep_precise(&mut self, center: usize, others: &[usize]) -> bool {
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
        if precise || moved == 0.0 {
            return false;
        }
        self.reference = self.get(center).residuals.clone();
        self.measure_all();
        true
    }
}

/// Divides a block into pieces of at most [`CHUNK`] residuals.
fn pieces(block: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let end = block.end;
    block
        .step_by(CHUNK)
        .map(move |begin| begin..(begin + CHUNK).min(end))
}

fn subtract(a: &[f64], b: &[f64], out: &mut [f64]) {
    for ((out, a), b) in out.iter_mut().zip(a).zip(b) {
        *out = a - b;
    }
}

#[cfg(test)]
mod tests;
