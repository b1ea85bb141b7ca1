//! The choice of the set among all stored points, and of the directions that stored points cover.

use super::Interpolation;
use crate::linalg::{axpy, dot, norm};
use crate::model::pool::Point;
use crate::span::Span;

/// The share of a point's direction that must be orthogonal to the others when the set is chosen
/// anew. Not tuned.
const LEAST_PART: f64 = 1e-3;

impl<R> Interpolation<R> {
    /// Stores a point outside the set. If there is no room, the point farthest from the incumbent
    /// is dropped.
    pub(in crate::engine) fn store_extra(&mut self, point: Point<R>) {
        self.store(point);
    }

    /// Makes `center` the incumbent, if it is given, and chooses the other points of the set anew
    /// among all stored points. Points nearer than `least` count as if they were at that distance.
    pub(in crate::engine) fn choose_set(&mut self, center: Option<Point<R>>, least: f64) {
        let size = self.len();
        if let Some(point) = center {
            let slot = self.store(point);
            let position = self.center();
            self.set[position] = slot;
            self.center = slot;
        }
        self.linear = None;
        let center = self.incumbent().u.clone();
        let mut set = vec![self.center];
        set.extend(self.independent(&center, least, size - 1));
        if size > center.len() + 1 {
            // A regression has more points than directions: the nearest ones.
            let mut rest: Vec<(f64, usize)> = (self.pool.live())
                .filter(|slot| !set.contains(slot))
                .map(|slot| (self.slot_distance(slot), slot))
                .collect();
            rest.sort_by(|a, b| a.0.total_cmp(&b.0));
            let missing = size.saturating_sub(set.len());
            set.extend(rest.iter().map(|near| near.1).take(missing));
        }
        if set.len() == size {
            self.set = set;
        }
    }

    /// The span of `count` independent directions from `base` to stored points.
    pub(in crate::engine) fn best_span(&self, base: &[f64], least: f64, count: usize) -> Span {
        let mut span = Span::default();
        for slot in self.independent(base, least, count) {
            span.add_if(&difference(&self.pool.get(slot).u, base), |_| true);
        }
        span
    }

    /// Chooses at most `count` points whose directions from `base` are independent. The error of
    /// a linear model along the new direction of a point is proportional to the square of the
    /// point's distance, divided by the length of its part in that direction. The next point is
    /// always the one with the smallest error.
    fn independent(&self, base: &[f64], least: f64, count: usize) -> Vec<usize> {
        let mut candidates: Vec<(usize, f64, Vec<f64>)> = (self.pool.live())
            .map(|slot| (slot, difference(&self.pool.get(slot).u, base)))
            .map(|(slot, step)| (slot, norm(&step), step))
            .collect();
        let mut chosen = Vec::new();
        while chosen.len() < count.min(base.len()) {
            let mut best = (0.0, None);
            for (index, (_, distance, rest)) in candidates.iter().enumerate() {
                let part = norm(rest);
                let reach = distance.max(least);
                let score = part / (reach * reach);
                if part > LEAST_PART * distance && score > best.0 {
                    best = (score, Some(index));
                }
            }
            let Some(index) = best.1 else {
                break;
            };
            let (slot, _, direction) = candidates.swap_remove(index);
            chosen.push(slot);
            let square = dot(&direction, &direction);
            for (_, _, rest) in &mut candidates {
                axpy(-dot(rest, &direction) / square, &direction, rest);
            }
        }
        chosen
    }
}

fn difference(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

#[cfg(test)]
mod tests;
