//! Interpolation sets with too few points: new directions until the set spans all that the feasible set allows.

use super::geometry::MAX_FAILURES;
use super::initial::orthogonal_part;
use super::{Answer, Engine, Phase, State};
use crate::linalg::norm;
use crate::model::ModelStep;
use crate::random::{Draw, unit_vector};
use crate::{Purpose, Termination};

impl<R: Clone> Engine<R> {
    /// The points are dependent: keeps those that are not, and lets the set grow again.
    pub(super) fn repair(&mut self) {
        let state = &mut self.state;
        let center = state.center;
        let mut order: Vec<usize> = state
            .set
            .iter()
            .copied()
            .filter(|&slot| slot != center)
            .collect();
        order.sort_by(|&a, &b| state.distance(a).total_cmp(&state.distance(b)));
        let mut span: Vec<Vec<f64>> = Vec::new();
        let mut kept = vec![center];
        for slot in order {
            let step = state.step_to(&state.pool.get(slot).u);
            let fresh = orthogonal_part(&step, &span);
            if norm(&fresh) > 1e-8 * norm(&step) && norm(&step) > 0.0 && span.len() < state.dim() {
                let length = norm(&fresh);
                span.push(fresh.iter().map(|x| x / length).collect());
                kept.push(slot);
            }
        }
        if kept.len() == state.set.len() {
            // every direction is there, but not to working precision: drop the farthest
            kept.pop();
        }
        state.set = kept;
        state.linear = None;
        if state.set.len() == 1 {
            self.add_direction(1.0);
        }
    }

    /// Asks for a point in a direction that the set does not have.
    pub(super) fn add_direction(&mut self, share: f64) {
        let Some(direction) = self.missing_direction() else {
            self.state.spans = true;
            if self.state.set.len() == 1 {
                self.finish_or_restart(Termination::RadiusReached);
            }
            return;
        };
        let delta = self.state.delta * share;
        let u = (self.state.incumbent().u.iter().zip(&direction))
            .map(|(u, d)| u + delta * d)
            .collect();
        let target = self.model_target();
        let query = self.new_point(u, target, Purpose::Geometry);
        self.state.phase = Phase::Grow;
        self.issue(vec![query]);
    }

    pub(super) fn on_grown(&mut self, answers: Vec<Answer<R>>) {
        for answer in answers {
            match answer {
                Ok(point) => {
                    let better = self.is_certainly_better(&point);
                    let slot = self.keep(point);
                    self.state.set.push(slot);
                    self.state.linear = None;
                    if better {
                        self.state.center = slot;
                    }
                }
                Err(_) => self.state.control.geometry_failures += 1,
            }
        }
        if self.state.control.geometry_failures >= MAX_FAILURES {
            self.state.control.geometry_failures = 0;
            self.state.spans = true;
            if self.state.set.len() == 1 {
                let reason = "no point around the incumbent can be evaluated".to_owned();
                self.stop(Termination::OracleFailed { reason });
            }
        }
    }

    /// A random direction orthogonal to the set, as far as the feasible set has room for it.
    pub(super) fn missing_direction(&mut self) -> Option<Vec<f64>> {
        let d = self.state.dim();
        let mut span: Vec<Vec<f64>> = Vec::new();
        for &slot in &self.state.set {
            let step = self.state.step_to(&self.state.pool.get(slot).u);
            let fresh = orthogonal_part(&step, &span);
            let length = norm(&fresh);
            if length > 1e-8 * norm(&step) && length > 0.0 {
                span.push(fresh.iter().map(|x| x / length).collect());
            }
        }
        for _ in 0..10 {
            let random = unit_vector(d, self.state.draw());
            let fresh = orthogonal_part(&random, &span);
            let length = norm(&fresh);
            if !(length > 1e-6) {
                continue;
            }
            for sign in [1.0, -1.0] {
                let direction: Vec<f64> = fresh.iter().map(|x| sign * x / length).collect();
                let mut u: Vec<f64> = (self.state.incumbent().u.iter().zip(&direction))
                    .map(|(u, x)| u + self.state.delta * x)
                    .collect();
                self.state.space.make_feasible(&mut u, &self.feasible);
                let step = self.state.step_to(&u);
                let kept = orthogonal_part(&step, &span);
                if norm(&kept) >= 0.1 * self.state.delta {
                    return Some(direction);
                }
            }
        }
        None
    }

    /// An iteration of a set that does not span all directions yet.
    pub(super) fn grow(&mut self, step: &ModelStep, short: bool) {
        if short {
            self.add_direction(1.0);
            return;
        }
        let mut step = step.clone();
        if let Some(direction) = self.missing_direction() {
            for (v, x) in step.v.iter_mut().zip(&direction) {
                *v += 0.5 * x;
            }
        } else {
            self.state.spans = true;
        }
        self.try_step(&step);
    }
}

impl<R> State<R> {
    pub(super) fn draw(&mut self) -> Draw {
        let seed = match self.options.initial.directions {
            crate::Directions::Coordinate => 0,
            crate::Directions::Orthogonal { seed } => seed,
        };
        self.draws += 1;
        // numbers below the dimension are those of the initial directions
        Draw {
            seed,
            number: (1 << 32) + self.draws,
        }
    }
}
