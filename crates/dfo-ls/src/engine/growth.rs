//! Interpolation sets with too few points: new directions until the set spans all that the feasible
//! set allows (Cartis et al. 2019, "growing").

use super::geometry::MAX_FAILURES;
use super::{Answer, Next, Phase, Run};
use crate::linalg::norm;
use crate::model::ModelStep;
use crate::random::{Draw, unit_vector};
use crate::{Directions, Purpose, Termination};

/// Random directions that are tried before the set is taken to have all. Not tuned.
const MAX_DRAWS: u32 = 10;
/// A random direction is new if this much of it is. Not tuned.
const NEW_PART: f64 = 1e-6;
/// The share of the radius that must be left of a new direction inside the feasible set. Not tuned.
pub(super) const LEAST_ROOM: f64 = 0.1;
/// The length of the new direction that is added to a step, in multiples of the radius. Not tuned.
const SIDEWAYS: f64 = 0.5;

impl<R: Clone> Run<'_, R> {
    /// The points are dependent: drops some, and lets the set grow again.
    pub(super) fn repair(&mut self) -> Next<R> {
        self.points.repair();
        if self.points.len() == 1 {
            return self.add_direction();
        }
        Next::Continue
    }

    /// Asks for a point in a direction that the set does not have.
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

    /// A random direction orthogonal to the set, as far as the feasible set has room for it.
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

    /// An iteration of a set that does not span all directions yet.
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

    pub(super) fn draw(&mut self) -> Draw {
        let seed = match self.options.initial.directions {
            Directions::Coordinate => 0,
            Directions::Orthogonal { seed } => seed,
        };
        self.trust.draws += 1;
        // numbers below the dimension are those of the initial directions
        Draw {
            seed,
            number: (1 << 32) + self.trust.draws,
        }
    }
}
