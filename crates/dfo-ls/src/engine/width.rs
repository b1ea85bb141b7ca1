//! Companions of a trial point, which are evaluated at the same time. They exist only with a batch
//! size above one, and use workers that would otherwise wait for the trial point.
//!
//! There are two kinds. *Alternatives* are trial points of other steps: with a larger and with a
//! smaller radius, and of the model with linear residuals. The best trial point decides about the
//! iteration, and its radius becomes the trust-region radius. *Model points* lie close around the
//! trial point, in the directions in which evaluated points tell least about the residuals there.
//! If the step is successful, the next model is as good as after one evaluation for every
//! parameter. The constants were measured on the problems of Moré and Wild (decision record 18).

use super::practical::Trial;
use super::query::Query;
use super::{Answer, Run};
use crate::Purpose;
use crate::linalg::norm;
use crate::model::pool::Point;
use crate::model::{ModelStep, ObjectiveModel};
use crate::options::{Model, TrustStep};
use crate::random::unit_vector;

/// A step that is tried at the same time as the step of the iteration.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Alternative {
    /// The trust-region radius of the step.
    radius: f64,
    /// The decrease of the objective that the model predicts.
    predicted: f64,
}

/// The radii of alternatives, as multiples of the radius.
const RADII: [f64; 2] = [4.0, 0.25];
/// The batch size for each alternative. There is at least one.
const BATCH_PER_ALTERNATIVE: usize = 2;
/// The distance between two trial points, as a share of the shorter step, up to which they count as
/// the same.
const SAME_STEP: f64 = 0.1;
/// The distance of model points from the trial point, as a share of the step's length.
const NEAR_STEP: f64 = 0.1;
/// The least distance of model points from the trial point, as a share of the lower radius.
const NEAR_RHO: f64 = 0.5;
/// The share of their distance that model points must keep when they are moved into the feasible
/// set. Not tuned.
const LEAST_ROOM: f64 = 0.1;
/// The part of a random unit vector that must be orthogonal to other directions. A smaller part
/// would cost three digits.
const NEW_PART: f64 = 1e-3;
/// The distance, as a share of the radius, below which a point is not better for the linear model
/// than a more distant one.
const NEAR_ENOUGH: f64 = 0.01;

impl<R: Clone> Run<'_, R> {
    /// Adds the companions to the query of a trial point, and returns their steps.
    pub(super) fn add_companions(
        &mut self,
        step: &ModelStep,
        queries: &mut Vec<Query<R>>,
    ) -> Vec<Alternative> {
        let room = self.free_room(queries);
        if room == 0 {
            return Vec::new();
        }
        let delta = self.trust.delta();
        let most = (self.options.batch / BATCH_PER_ALTERNATIVE).clamp(1, room);
        let mut alternatives = Vec::new();
        let mut tried = vec![step.v.clone()];
        for (radius, other) in self.other_steps() {
            let is_new =
                |v: &Vec<f64>| distance(v, &other.v) > SAME_STEP * norm(&other.v).min(norm(v));
            if alternatives.len() == most {
                break;
            }
            if other.decrease > 0.0 && tried.iter().all(is_new) {
                let predicted = other.decrease;
                let target = self.rule().trial_target(&self.now(), predicted);
                let u = self.points.at_step(&other.v, delta);
                queries.push(self.new_point(u, target, Purpose::Trial));
                alternatives.push(Alternative { radius, predicted });
                tried.push(other.v);
            }
        }
        let trial_point = self.points.at_step(&step.v, delta);
        let near = NEAR_STEP * norm(&step.v) * delta;
        let near = near.max(NEAR_RHO * self.trust.rho());
        for place in self.model_places(&trial_point, near, room - alternatives.len()) {
            let mut now = self.now();
            now.delta = near;
            let target = self.rule().model_target(&now);
            queries.push(self.new_point(place, target, Purpose::Geometry));
        }
        alternatives
    }

    /// The number of points that batch and budget allow for in addition to `queries`.
    fn free_room(&self, queries: &[Query<R>]) -> usize {
        let samples = queries.first().map_or(1, Query::num_samples).max(1);
        let (points, evaluations) = self.ledger.left(&self.options.budget);
        let most = (self.options.batch as u64).min(evaluations) / u64::from(samples);
        let most = usize::try_from(most.min(points)).unwrap_or(usize::MAX);
        most.saturating_sub(queries.len())
    }

    /// The steps of alternatives with their radii.
    fn other_steps(&mut self) -> Vec<(f64, ModelStep)> {
        let delta = self.trust.delta();
        let largest = self.options.trust_region.max_radius;
        let model = self.objective_model(delta);
        let linear = self.points.model(delta, None);
        let minimize = |model: &ObjectiveModel, radius: f64| {
            let step = model.minimize(&self.region(radius, delta), TrustStep::Exact);
            (radius, step)
        };
        let radii = RADII.map(|factor| (factor * delta).min(largest));
        let mut steps: Vec<_> = radii.iter().map(|&r| minimize(&model, r)).collect();
        steps.push(minimize(&linear, delta));
        steps
    }

    /// Places for model points at the distance `near` from `base`: in directions that stored points
    /// lack most, then opposite to them, then in random directions.
    fn model_places(&mut self, base: &[f64], near: f64, room: usize) -> Vec<Vec<f64>> {
        let d = self.dim();
        let count = room.min(most_model_points(self.options.model, d));
        let kept = d.saturating_sub(count);
        let mut span = self.points.best_span(base, near, kept);
        let num_known = span.len();
        while span.len() < d.min(num_known + count) {
            let random = unit_vector(d, self.draw());
            span.add_if(&random, |length| length > NEW_PART);
        }
        let fresh = &span.directions()[num_known..];
        let mut places = Vec::new();
        for k in 0..count {
            let place = match (fresh.get(k), fresh.get(k.wrapping_sub(fresh.len()))) {
                (Some(direction), _) => self.place(base, direction, near),
                (None, Some(direction)) => self.place(base, direction, -near),
                (None, None) => {
                    let random = unit_vector(d, self.draw());
                    self.place(base, &random, near)
                }
            };
            places.extend(place);
        }
        places
    }

    /// The feasible point near `base` in a direction, or in the opposite one if there is more room;
    /// `None` if there is too little room on both sides.
    fn place(&self, base: &[f64], direction: &[f64], length: f64) -> Option<Vec<f64>> {
        let at = |length: f64| {
            let mut u: Vec<f64> = (base.iter().zip(direction))
                .map(|(b, d)| b + length * d)
                .collect();
            self.space.make_feasible(&mut u, &self.code.feasible);
            (distance(&u, base), u)
        };
        let (there, back) = (at(length), at(-length));
        let enough = (1.0 - LEAST_ROOM) * length.abs();
        let (moved, u) = if there.0 >= enough || there.0 >= back.0 {
            there
        } else {
            back
        };
        (moved >= LEAST_ROOM * length.abs()).then_some(u)
    }

    /// Takes the first answers of a trial. The best trial point, by the upper bound on its
    /// objective, becomes the trial point of the iteration and is returned. The other points wait
    /// until the step is decided.
    pub(super) fn choose_trial(
        &mut self,
        trial: &mut Trial<R>,
        answers: Vec<Answer<R>>,
    ) -> Option<Answer<R>> {
        let upper = |point: &Point<R>| point.interval().upper;
        let mut alternatives = std::mem::take(&mut trial.alternatives).into_iter();
        let mut answers = answers.into_iter();
        let mut best = answers.next();
        for answer in answers {
            let alternative = alternatives.next();
            let Ok(point) = answer else {
                continue;
            };
            let least = match &best {
                Some(Ok(best)) => upper(best),
                _ => f64::INFINITY,
            };
            if let Some(step) = alternative.filter(|_| upper(&point) < least) {
                trial.predicted = step.predicted;
                self.trust.set_radius(step.radius);
                let before = best.replace(Ok(point));
                trial.companions.extend(before.and_then(Result::ok));
            } else {
                trial.companions.push(point);
            }
        }
        best
    }

    /// Stores the companions of a decided trial point and chooses the set anew. The best of them
    /// becomes the incumbent if it is certainly better.
    pub(super) fn take_companions(&mut self, mut companions: Vec<Point<R>>) {
        if companions.is_empty() {
            return;
        }
        let upper = |point: &Point<R>| point.interval().upper;
        let better = (0..companions.len())
            .filter(|&k| self.rule().is_better(&self.now(), &companions[k]))
            .min_by(|&a, &b| upper(&companions[a]).total_cmp(&upper(&companions[b])));
        let better = better.map(|k| companions.remove(k));
        for point in companions {
            self.points.store_extra(point);
        }
        let least = NEAR_ENOUGH * self.trust.delta();
        self.points.choose_set(better, least);
    }
}

/// The largest number of companions of a trial point.
pub(super) fn most_companions(model: Model, dim: usize) -> usize {
    RADII.len() + 1 + most_model_points(model, dim)
}

/// The largest number of model points: as many as determine a quadratic function, or two for each
/// parameter if residuals are modelled as linear.
fn most_model_points(model: Model, dim: usize) -> usize {
    match model {
        Model::Composite { .. } => dim * (dim + 3) / 2,
        Model::Automatic | Model::Linear | Model::Regression { .. } => 2 * dim,
    }
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    let difference: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
    norm(&difference)
}
