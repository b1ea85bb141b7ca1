//! Growing of interpolation sets with too few points, by new directions until the set spans all
//! that the feasible set allows (Cartis et al., 2019).

use super::geometry::MAX_FAILURES;
use super::{Answer, Next, Phase, Run};
use crate::linalg::norm;
use crate::model::ModelStep;
use crate::random::{Draw, unit_vector};
use crate::{Directions, Purpose, Termination};

/// The number of random directions that are tried before the set counts as spanning everything. Not
/// tuned.
const MAX_DRAWS: u32 = 10;
/// The share of a random direction that must be orthogonal to the set. Not tuned.
const NEW_PART: f64 = 1e-6;
/// The room that the feasible set must leave in a new direction, as a share of the radius. Not
/// tuned.
pub(super) const LEAST_ROOM: f64 = 0.1;
/// The length of the new direction that is added to a step, as a share of the radius. Not tuned.
const SIDEWAYS: f64 = 0.5;

impl<R: Clone> Run<'_, R> {
    /// Repairs a set of dependent points: drops some of them and lets the set grow again.
    pub(super) fn repair(&mut self) -> Next<R> {
        self.points.repair();
        if self.points.len() == 1 {
            return self.add_direction();
        }
        Next::Continue
    }

    /// Asks for a point in a direction that the set does not span.
    pub(super) fn add_direction(&mut self) -> Next<R> {
        let Some(direction) = self.missing_direction() else {
            self.points.set_spans(true);
            if self.points.len() == 1 {
                return self.finish_or_restart(Termination::RadiusReached);
            }
            return Next::Continue;
        };
        let u = self.points.at_step(&direction, self.trust.delta());
        let target = self.rule().model_target(&self.now());
        let query = self.new_point(u, target, Purpose::Geometry);
        Next::Ask(Phase::Grow, vec![query])
    }

    pub(super) fn on_grown(&mut self, answers: Vec<Answer<R>>) -> Next<R> {
        for answer in answers {
            match answer {
                Ok(point) => {
                    let better = self.rule().is_better(&self.now(), &point);
                    self.points.push(point, better);
                }
                Err(_) => self.trust.geometry_failures += 1,
            }
        }
        if self.trust.geometry_failures >= MAX_FAILURES {
            self.trust.geometry_failures = 0;
            self.points.set_spans(true);
            if self.points.len() == 1 {
                let reason = "no point around the incumbent can be evaluated".to_owned();
                return Next::Stop(Termination::OracleFailed { reason });
            }
        }
        Next::Continue
    }

    /// Draws a random direction that is orthogonal to the set and has room in the feasible set.
    fn missing_direction(&mut self) -> Option<Vec<f64>> {
        let d = self.dim();
        let delta = self.trust.delta();
        let span = self.points.span();
        for _ in 0..MAX_DRAWS {
            let random = unit_vector(d, self.draw());
            let fresh = span.orthogonal_part(&random);
            let length = norm(&fresh);
            if !(length > NEW_PART) {
                continue;
            }
            for sign in [1.0, -1.0] {
                let direction: Vec<f64> = fresh.iter().map(|x| sign * x / length).collect();
                let mut u = self.points.at_step(&direction, delta);
                self.space.make_feasible(&mut u, &self.code.feasible);
                let left = span.orthogonal_part(&self.points.step_to(&u));
                if norm(&left) >= LEAST_ROOM * delta {
                    return Some(direction);
                }
            }
        }
        None
    }

    /// Continues an iteration with a set that does not span all directions yet: adds a new
    /// direction to the step, or asks for a point in a new direction if the step is short.
    pub(super) fn grow(&mut self, step: &ModelStep, is_short: bool) -> Next<R> {
        if is_short {
            return self.add_direction();
        }
        let mut step = step.clone();
        if let Some(direction) = self.missing_direction() {
            for (v, x) in step.v.iter_mut().zip(&direction) {
                *v += SIDEWAYS * x;
            }
        } else {
            self.points.set_spans(true);
        }
        self.try_step(&step)
    }

    /// Numbers the next random vector.
    pub(super) fn draw(&mut self) -> Draw {
        let seed = match self.options.initial.directions {
            Directions::Coordinate => 0,
            Directions::Orthogonal { seed } => seed,
        };
        self.trust.draws += 1;
        // Small numbers belong to the initial directions.
        Draw {
            seed,
            number: (1 << 32) + self.trust.draws,
        }
    }
}
