//! The interpolation set: evaluated points, those among them that the model meets, and all that is
//! computed from them.
//!
//! Points of the set are known by their position in it. This file alone decides when what was
//! computed from the points is no longer valid.

mod model;

use crate::blocks::Blocks;
use crate::linalg::norm;
use crate::model::linear::{Fit, LinearModel};
use crate::model::pool::{Point, PointPool};
use crate::residuals::Residuals;
use crate::span::Span;

/// Evaluated points around the incumbent.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Interpolation<R> {
    /// The points of the set, and some that have left it.
    pool: PointPool<R>,
    /// Slots of the interpolation set.
    set: Vec<usize>,
    /// Slot of the incumbent.
    center: usize,
    /// How many points the set should have.
    full_size: usize,
    /// Whether no further direction can be added to the set.
    spans: bool,
    /// The Lagrange polynomials of the set; `None` if they must be computed anew.
    linear: Option<LinearModel>,
    /// The residuals' curvature per squared length, as the last quadratic model had it.
    curvature: Option<f64>,
}

/// A direction counts as new if this share of it is orthogonal to the others. Eight of sixteen
/// digits; not tuned.
const NEW_DIRECTION: f64 = 1e-8;
/// A Lagrange polynomial smaller than this at a point cannot tell the point from rounding. Not
/// tuned.
pub(super) const VANISHES: f64 = 1e-12;

impl<R> Interpolation<R> {
    /// No points; `full_size` are wanted in the set, at most `capacity` are stored.
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

    /// Notes whether no further direction can be added.
    pub(super) const fn set_spans(&mut self, spans: bool) {
        self.spans = spans;
    }

    pub(super) fn incumbent(&self) -> &Point<R> {
        self.pool.get(self.center)
    }

    /// The incumbent's position.
    pub(super) fn center(&self) -> usize {
        let position = self.set.iter().position(|&slot| slot == self.center);
        position.expect("the incumbent is in the set")
    }

    /// A point of the set.
    pub(super) fn get(&self, position: usize) -> &Point<R> {
        self.pool.get(self.set[position])
    }

    /// The points of the set.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Point<R>> {
        self.set.iter().map(|&slot| self.pool.get(slot))
    }

    /// All points that are stored, in the set or not.
    pub(super) fn stored(&self) -> impl Iterator<Item = &Point<R>> {
        self.pool.points()
    }

    pub(super) fn stored_mut(&mut self) -> impl Iterator<Item = &mut Point<R>> {
        self.pool.points_mut()
    }

    /// The residuals that products are measured from, if there are any.
    pub(super) fn reference(&self) -> Option<&Residuals> {
        (self.pool.has_reference()).then(|| self.pool.reference())
    }

    pub(super) fn reference_mut(&mut self) -> Option<&mut Residuals> {
        (self.pool.has_reference()).then(|| self.pool.reference_mut())
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

    /// How far a point of the set is from the incumbent.
    pub(super) fn distance(&self, position: usize) -> f64 {
        self.slot_distance(self.set[position])
    }

    fn slot_distance(&self, slot: usize) -> f64 {
        norm(&self.step_to(&self.pool.get(slot).u))
    }

    /// Distances and positions of all points of the set.
    pub(super) fn distances(&self) -> Vec<(f64, usize)> {
        (0..self.len()).map(|t| (self.distance(t), t)).collect()
    }

    /// How far a point's residuals are from the incumbent's.
    pub(super) fn difference(&self, point: &Point<R>) -> f64 {
        self.blocks()
            .distance(&point.residuals, &self.incumbent().residuals)
    }

    /// How the polynomials were fitted; `None` if there are none.
    pub(super) fn fit(&self) -> Option<Fit> {
        self.linear.as_ref().map(|linear| linear.fit)
    }

    /// The polynomials, if they are up to date.
    pub(super) const fn linear(&self) -> Option<&LinearModel> {
        self.linear.as_ref()
    }

    /// Whether the set does not have all directions yet, and may get more.
    pub(super) fn is_growing(&self) -> bool {
        !self.spans && self.fit() == Some(Fit::Underdetermined)
    }

    /// Makes sure that there are Lagrange polynomials. `false` if the points are dependent.
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

    /// Takes stored points into the set that begins with the start, if their directions are new and
    /// they are about `delta` away; gives the directions.
    pub(super) fn adopt_stored(&mut self, delta: f64) -> Span {
        // the same score that DFO-LS gives to entries of its evaluation database
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

    /// Measures parameter `j` in a unit that is `factor` times as large.
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
        // where all residuals are met, polynomials do not depend on the incumbent
        if self.fit().is_some_and(|fit| fit != Fit::Interpolation) {
            self.linear = None;
        }
        self.center = slot;
    }

    /// Puts a trial point into the set, in the place of the point that it makes most superfluous.
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
                // No point can leave for the new one: there are no Lagrange polynomials, or all of
                // them vanish at the step. The new point takes the incumbent's place, and the
                // model is built anew from what is left of the set.
                let position = self.center();
                self.set[position] = slot;
                self.center = slot;
                self.linear = None;
            }
        }
    }

    /// The position that a new point at `step` should take: Powell's choice, the polynomial that is
    /// largest there, with preference for points far outside the trust region (BOBYQA report, 2009;
    /// the power is that of Cartis et al., 2019).
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

    /// Stores a point, forgetting the one farthest away if there is no room.
    fn store(&mut self, point: Point<R>) -> usize {
        if self.pool.is_full() {
            let farthest = (self.pool.live())
                .filter(|slot| !self.set.contains(slot))
                .map(|slot| (self.slot_distance(slot), slot))
                .max_by(|a, b| a.0.total_cmp(&b.0));
            if let Some((_, slot)) = farthest {
                self.pool.remove(slot);
            }
        }
        self.pool.insert(point)
    }

    /// Takes a more accurate evaluation of a known point, or notes that there is none.
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
            // what is known must do
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
            // every direction is there, but not to working precision: drop the farthest
            independent.pop();
        }
        self.set = independent;
        self.linear = None;
    }

    /// The directions that the set has.
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

    /// Drops the tokens of points that have left the set: they still shape the model, but are never
    /// evaluated again.
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
