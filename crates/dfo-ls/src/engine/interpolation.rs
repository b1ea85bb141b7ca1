//! The interpolation set: the points that the model interpolates, other stored points, and the
//! Lagrange polynomials and models computed from them.
//!
//! Points of the set are identified by their position in it. Only this file invalidates the cached
//! polynomials.

mod choice;
mod model;

use crate::blocks::Blocks;
use crate::linalg::norm;
use crate::model::linear::{Fit, LinearModel};
use crate::model::pool::{Point, PointPool};
use crate::products::Measurement;
use crate::residuals::Residuals;
use crate::span::Span;

/// The evaluated points around the incumbent.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Interpolation<R> {
    /// The points of the set, and some that have left it.
    pool: PointPool<R>,
    /// The slots of the points of the set.
    set: Vec<usize>,
    /// The slot of the incumbent.
    center: usize,
    /// The number of points of a complete set.
    full_size: usize,
    /// Whether no further direction can be added to the set.
    spans: bool,
    /// The Lagrange polynomials of the set; `None` if they must be recomputed.
    linear: Option<LinearModel>,
    /// The curvature of the residuals per squared length, from the last quadratic model.
    curvature: Option<f64>,
}

/// The share of a direction that must be orthogonal to the others for it to count as new: eight of
/// sixteen digits. Not tuned.
const NEW_DIRECTION: f64 = 1e-8;
/// The value of a Lagrange polynomial at a point up to which it counts as zero. Not tuned.
pub(super) const VANISHES: f64 = 1e-12;

impl<R> Interpolation<R> {
    /// Creates an empty set that is complete with `full_size` points and stores at most `capacity`.
    pub(super) fn new(full_size: usize, capacity: usize, blocks: Blocks) -> Self {
        Self {
            pool: PointPool::new(capacity, blocks),
            set: Vec::new(),
            center: 0,
            full_size,
            spans: false,
            linear: None,
            curvature: None,
        }
    }

    pub(super) fn blocks(&self) -> &Blocks {
        self.pool.blocks()
    }

    pub(super) fn len(&self) -> usize {
        self.set.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.set.is_empty()
    }

    pub(super) const fn full_size(&self) -> usize {
        self.full_size
    }

    /// Sets whether no further direction can be added.
    pub(super) const fn set_spans(&mut self, spans: bool) {
        self.spans = spans;
    }

    pub(super) fn incumbent(&self) -> &Point<R> {
        self.pool.get(self.center)
    }

    /// The incumbent's position in the set.
    pub(super) fn center(&self) -> usize {
        let position = self.set.iter().position(|&slot| slot == self.center);
        position.expect("the incumbent is in the set")
    }

    /// The point at a position of the set.
    pub(super) fn get(&self, position: usize) -> &Point<R> {
        self.pool.get(self.set[position])
    }

    /// The points of the set.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Point<R>> {
        self.set.iter().map(|&slot| self.pool.get(slot))
    }

    /// All stored points, in the set or not.
    pub(super) fn stored(&self) -> impl Iterator<Item = &Point<R>> {
        self.pool.points()
    }

    pub(super) fn stored_mut(&mut self) -> impl Iterator<Item = &mut Point<R>> {
        self.pool.points_mut()
    }

    /// The reference residuals of the inner products, if there are any.
    pub(super) fn reference(&self) -> Option<&Residuals> {
        self.pool.reference()
    }

    pub(super) fn reference_mut(&mut self) -> Option<&mut Residuals> {
        self.pool.reference_mut()
    }

    pub(super) fn step_to(&self, u: &[f64]) -> Vec<f64> {
        let center = &self.incumbent().u;
        u.iter().zip(center).map(|(a, b)| a - b).collect()
    }

    /// The point at a step from the incumbent, given in multiples of `unit`.
    pub(super) fn at_step(&self, step: &[f64], unit: f64) -> Vec<f64> {
        let center = &self.incumbent().u;
        center.iter().zip(step).map(|(u, s)| u + unit * s).collect()
    }

    /// The distance of a point of the set from the incumbent.
    pub(super) fn distance(&self, position: usize) -> f64 {
        self.slot_distance(self.set[position])
    }

    fn slot_distance(&self, slot: usize) -> f64 {
        norm(&self.step_to(&self.pool.get(slot).u))
    }

    /// The distances and positions of all points of the set.
    pub(super) fn distances(&self) -> Vec<(f64, usize)> {
        (0..self.len()).map(|t| (self.distance(t), t)).collect()
    }

    /// The distance of a point's residuals from the incumbent's.
    pub(super) fn difference(&self, point: &Point<R>) -> f64 {
        self.pool.distance(point, self.center)
    }

    /// The request for products with another reference, if the residuals stay with the oracle and
    /// the present products lose digits.
    pub(super) fn question(&self) -> Option<Measurement> {
        if self.is_empty() {
            return None;
        }
        self.pool.question(self.center, &self.set)
    }

    /// Takes the answer to a [`question`](Self::question).
    pub(super) fn take_answer(&mut self, reference: u64, sums: &[f64]) {
        self.pool.take_answer(reference, sums);
        if let Some(linear) = &mut self.linear {
            linear.forget_residuals();
        }
    }

    /// Drops points outside the set, the farthest from the incumbent first, until there is room for
    /// `count` new ones.
    pub(super) fn make_room(&mut self, count: usize) {
        while self.pool.num_free() < count && self.drop_farthest() {}
    }

    /// The kind of fit of the polynomials; `None` if there are no polynomials.
    pub(super) fn fit(&self) -> Option<Fit> {
        self.linear.as_ref().map(|linear| linear.fit)
    }

    /// The polynomials, if they are up to date.
    pub(super) const fn linear(&self) -> Option<&LinearModel> {
        self.linear.as_ref()
    }

    /// Whether the set does not span all directions yet but can get more of them.
    pub(super) fn is_growing(&self) -> bool {
        !self.spans && self.fit() == Some(Fit::Underdetermined)
    }

    /// Computes the Lagrange polynomials if they are out of date. Returns `false` if the points are
    /// dependent.
    pub(super) fn refresh(&mut self) -> bool {
        if self.pool.keep_precise(self.center, &self.set)
            && let Some(linear) = &mut self.linear
        {
            linear.forget_residuals();
        }
        if self.linear.is_none() {
            let points: Vec<&[f64]> = self.iter().map(|point| &point.u[..]).collect();
            self.linear = LinearModel::new(&points, self.center());
        }
        self.linear.is_some() || self.len() == 1
    }

    /// Begins the set with one point, or with a more accurate version of it.
    pub(super) fn begin(&mut self, point: Point<R>) {
        if !self.is_empty() {
            self.pool.remove(self.center);
        }
        let slot = self.pool.insert(point);
        self.set = vec![slot];
        self.center = slot;
    }

    /// Stores a point outside the set.
    pub(super) fn store_outside(&mut self, point: Point<R>) {
        self.pool.insert(point);
    }

    /// Adds stored points to the set that begins with the start, if their directions are new and
    /// their distance is about `delta`. Returns the span of their directions.
    pub(super) fn adopt_stored(&mut self, delta: f64) -> Span {
        // The score is that of DFO-LS's evaluation database; the threshold is ours and not tuned.
        const WORTHWHILE: f64 = 1e-3;
        let mut span = Span::default();
        if self.is_empty() {
            return span;
        }
        let stored: Vec<usize> = self.pool.live().filter(|&s| s != self.center).collect();
        for slot in stored {
            let u = &self.pool.get(slot).u;
            let distance = norm(u);
            let score = |length: f64| length / distance * (distance / delta).min(delta / distance);
            if self.len() < self.full_size && span.add_if(u, |length| score(length) > WORTHWHILE) {
                self.set.push(slot);
            }
        }
        span
    }

    /// Rescales all points to a unit of parameter `j` that is `factor` times as large.
    pub(super) fn rescale(&mut self, j: usize, factor: f64) {
        self.pool.positions().for_each(|u| u[j] /= factor);
    }

    /// Adds a point to the set.
    pub(super) fn push(&mut self, point: Point<R>, becomes_center: bool) {
        let slot = self.store(point);
        self.set.push(slot);
        self.linear = None;
        if becomes_center {
            self.center = slot;
        }
    }

    /// Makes another point of the set the incumbent.
    pub(super) fn move_to(&mut self, position: usize) {
        self.set_center(self.set[position]);
    }

    fn set_center(&mut self, slot: usize) {
        // The polynomials of an interpolation do not depend on the incumbent.
        if self.fit().is_some_and(|fit| fit != Fit::Interpolation) {
            self.linear = None;
        }
        self.center = slot;
    }

    /// Puts a trial point into the set, where it replaces the point that it makes most superfluous.
    pub(super) fn take(
        &mut self,
        step: &[f64],
        point: Point<R>,
        delta: f64,
        accepted: bool,
        may_displace_incumbent: bool,
    ) {
        if self.len() < self.full_size && !self.spans {
            self.push(point, accepted);
        } else if let Some(leaving) =
            self.choose_leaving(step, delta, accepted || may_displace_incumbent)
        {
            self.replace(leaving, step, point, accepted);
        } else {
            let slot = self.store(point);
            if accepted {
                // No point can be replaced: there are no Lagrange polynomials, or all of them
                // vanish at the step. The new point takes the incumbent's place, and the model is
                // rebuilt from the rest of the set.
                let position = self.center();
                self.set[position] = slot;
                self.center = slot;
                self.linear = None;
            }
        }
    }

    /// Chooses the position that a new point at `step` takes: that of the polynomial that is
    /// largest there, with preference for points far outside the trust region (Powell's BOBYQA
    /// report, 2009; the power is that of Cartis et al., 2019).
    fn choose_leaving(&self, step: &[f64], delta: f64, may_take_center: bool) -> Option<usize> {
        let linear = self.linear.as_ref()?;
        let center = self.center();
        let values = linear.values(step, center);
        let square = delta * delta;
        let score = |t: usize| {
            let distance = self.distance(t);
            let far = (distance * distance / square).max(1.0);
            values[t].abs() * far * far
        };
        let candidates = (0..self.len()).filter(|&t| t != center || may_take_center);
        let (position, best) =
            candidates
                .map(|t| (t, score(t)))
                .fold((None, 0.0), |(at, best), (t, score)| {
                    if score > best {
                        (Some(t), score)
                    } else {
                        (at, best)
                    }
                });
        position.filter(|_| best > VANISHES)
    }

    /// Replaces a point of the set by one at `step` from the incumbent.
    pub(super) fn replace(
        &mut self,
        position: usize,
        step: &[f64],
        point: Point<R>,
        becomes_center: bool,
    ) {
        let slot = self.store(point);
        let center = self.center();
        if let Some(linear) = &mut self.linear
            && !linear.replace(position, step, slot, &self.pool, &self.set, center)
        {
            self.linear = None;
        }
        self.set[position] = slot;
        if becomes_center || position == center {
            self.set_center(slot);
        }
    }

    /// Stores a point. If there is no room, the point farthest from the incumbent is dropped.
    fn store(&mut self, point: Point<R>) -> usize {
        if self.pool.num_free() == 0 {
            self.drop_farthest();
        }
        self.pool.insert(point)
    }

    /// Drops the point outside the set that is farthest from the incumbent. Returns `false` if
    /// there is none.
    fn drop_farthest(&mut self) -> bool {
        let farthest = (self.pool.live())
            .filter(|slot| !self.set.contains(slot))
            .map(|slot| (self.slot_distance(slot), slot))
            .max_by(|a, b| a.0.total_cmp(&b.0));
        farthest.is_some_and(|(_, slot)| self.pool.remove(slot).is_some())
    }

    /// Takes a more accurate evaluation of a known point, or notes that the point cannot be
    /// sharpened.
    pub(super) fn sharpen(&mut self, answer: super::Answer<R>) {
        let number = match &answer {
            Ok(point) => point.number,
            Err(failure) => failure.number,
        };
        let mut live = self.pool.live();
        let Some(slot) = live.find(|&slot| self.pool.get(slot).number == number) else {
            return;
        };
        drop(live);
        let before = self.pool.get(slot).accuracy;
        if let Ok(mut point) = answer {
            point.note_floor(before);
            let residuals = std::mem::take(&mut point.residuals);
            *self.pool.get_mut(slot) = point;
            self.pool.set_residuals(slot, residuals);
            if let Some(linear) = &mut self.linear {
                linear.forget_residuals();
            }
        } else {
            // The point cannot be sharpened.
            self.pool.get_mut(slot).at_floor = true;
        }
    }

    /// Drops points until the others are independent. The set can grow again after that.
    pub(super) fn repair(&mut self) {
        let others = self.set.iter().copied();
        let mut order: Vec<usize> = others.filter(|&slot| slot != self.center).collect();
        order.sort_by(|&a, &b| self.slot_distance(a).total_cmp(&self.slot_distance(b)));
        let dim = self.incumbent().u.len();
        let mut span = Span::default();
        let mut independent = vec![self.center];
        for slot in order {
            let step = self.step_to(&self.pool.get(slot).u);
            let size = norm(&step);
            let is_new = |length: f64| length > NEW_DIRECTION * size && size > 0.0;
            if span.len() < dim && span.add_if(&step, is_new) {
                independent.push(slot);
            }
        }
        if independent.len() == self.len() {
            // The directions span everything, but not to working precision: drop the farthest
            // point.
            independent.pop();
        }
        self.set = independent;
        self.linear = None;
    }

    /// The span of the directions from the incumbent to the points of the set.
    pub(super) fn span(&self) -> Span {
        let mut span = Span::default();
        for point in self.iter() {
            let step = self.step_to(&point.u);
            let size = norm(&step);
            span.add_if(&step, |length| {
                length > NEW_DIRECTION * size && length > 0.0
            });
        }
        span
    }

    /// Drops the tokens of points that have left the set. These points are still part of quadratic
    /// models, but are never evaluated again.
    pub(super) fn forget_tokens(&mut self) {
        let left: Vec<usize> = (self.pool.live())
            .filter(|slot| !self.set.contains(slot))
            .collect();
        for slot in left {
            self.pool.get_mut(slot).resume = None;
        }
    }

    /// The numbers of the points of the set.
    pub(super) fn numbers(&self) -> Vec<u64> {
        self.iter().map(|point| point.number).collect()
    }

    #[cfg(test)]
    pub(super) fn incumbent_mut(&mut self) -> &mut Point<R> {
        self.pool.get_mut(self.center)
    }
}
