//! Algorithm 1 of the paper, as written: one radius, a criticality and an accuracy phase, and models that are certified to be
//! fully linear.
//!
//! A model is fully linear in `$B(\theta^k, \Delta)$` if all points lie there, their Lagrange polynomials are at most `$\Lambda$` there, and
//! their residuals are accurate to `$c\Delta^2$`. The incumbent's own polynomial does not count: its residuals are met by every model, and
//! it is one minus the sum of the others. With bounds, the region is the part of the ball between them.

use super::{Answer, Engine, Phase, Row};
use crate::linalg::{dot, norm};
use crate::model::linear::Linear;
use crate::model::pool::Point;
use crate::options::{AccuracyControl, Algorithm, PaperParameters};
use crate::report::{StepKind, Termination};
use crate::{Accuracy, Purpose};

/// Where in the algorithm's loop a run is.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) enum Stage<R> {
    /// In the inner loop: criticality, step, accuracy of the incumbent.
    #[default]
    Repeat,
    /// The incumbent is evaluated again.
    Incumbent,
    /// Points are replaced, given by their slots, and others (`None`) evaluated again.
    Improve(Vec<Option<usize>>),
    /// The trial point is evaluated.
    Trial {
        predicted: f64,
        gradient: f64,
        point: Option<Point<R>>,
    },
}

/// One round makes a model fully linear; more are for points that cannot be evaluated.
const MAX_IMPROVEMENTS: u32 = 5;

impl<R: Clone> Engine<R> {
    fn paper_parameters(&self) -> PaperParameters {
        match &self.state.options.algorithm {
            Algorithm::Paper(parameters) => parameters.clone(),
            Algorithm::Practical => PaperParameters::default(),
        }
    }

    /// `$\eta_1'$`; `None` if accuracy is not controlled.
    fn eta1_prime(&self) -> Option<f64> {
        match &self.state.options.accuracy {
            AccuracyControl::Dynamic(rules) => Some(rules.eta1_prime),
            AccuracyControl::Experiments(rules) => Some(rules.eta1_prime),
            AccuracyControl::Fixed(_) => None,
        }
    }

    /// The inner loop, up to the next evaluation.
    pub(super) fn paper_step(&mut self) {
        let rules = self.state.options.trust_region.clone();
        if self.state.delta <= rules.final_radius {
            self.stop(Termination::RadiusReached);
            return;
        }
        if !self.refresh_model_basis() || self.state.set.len() <= self.state.dim() {
            self.complete_set();
            return;
        }
        let gradient = self.gradient_norm();
        if gradient <= self.paper_parameters().epsilon {
            if !self.is_fully_linear(self.state.delta) {
                self.make_fully_linear(self.state.delta);
                return;
            }
            if self.state.delta > gradient {
                self.state.delta *= rules.gamma_dec;
                self.state.rho = self.state.delta;
                self.record(StepKind::Criticality, Row::without_step(gradient));
                return;
            }
        }
        let step = self.model_step(self.state.delta);
        if !(step.decrease > 0.0) {
            self.state.delta *= rules.gamma_dec;
            self.state.rho = self.state.delta;
            self.record(StepKind::Short, Row::without_step(gradient));
            return;
        }
        if let Some(wanted) = self.too_inaccurate(self.state.incumbent(), step.decrease) {
            if self.state.incumbent().at_floor {
                let achieved = self.state.incumbent().accuracy;
                self.stop(Termination::AccuracyFloor { wanted, achieved });
                return;
            }
            let query = self.again(self.state.incumbent(), wanted);
            self.state.phase = Phase::Paper(Stage::Incumbent);
            self.issue(vec![query]);
            return;
        }
        let delta = self.state.delta;
        let incumbent = self.state.incumbent();
        let u = (incumbent.u.iter().zip(&step.v))
            .map(|(u, v)| u + delta * v)
            .collect();
        let target = match self.eta1_prime() {
            Some(eta) => {
                let square = (incumbent.objective - incumbent.penalty - step.decrease).max(0.0);
                Accuracy::for_objective_error(square, eta * step.decrease)
            }
            None => self.model_target(),
        };
        let query = self.new_point(u, target, Purpose::Trial);
        self.state.phase = Phase::Paper(Stage::Trial {
            predicted: step.decrease,
            gradient,
            point: None,
        });
        self.issue(vec![query]);
    }

    /// What a point must be asked for so that its objective is known to `$\eta_1'$` times the predicted decrease, if it is not.
    fn too_inaccurate(&self, point: &Point<R>, predicted: f64) -> Option<Accuracy> {
        let error = self.eta1_prime()? * predicted;
        let square = (point.objective - point.penalty).max(0.0);
        let accurate = point.accuracy.objective_error(square) <= error;
        (!accurate).then(|| Accuracy::for_objective_error(square, 0.9 * error))
    }

    pub(super) fn on_paper(&mut self, stage: Stage<R>, answers: Vec<Answer<R>>) {
        self.state.phase = Phase::Paper(Stage::Repeat);
        match stage {
            Stage::Repeat | Stage::Incumbent => {
                for answer in answers {
                    self.update(answer);
                }
            }
            Stage::Improve(moved) => self.on_improved(&moved, answers),
            Stage::Trial {
                predicted,
                gradient,
                point,
            } => self.on_paper_trial(predicted, gradient, point, answers),
        }
    }

    fn on_paper_trial(
        &mut self,
        predicted: f64,
        gradient: f64,
        before: Option<Point<R>>,
        mut answers: Vec<Answer<R>>,
    ) {
        let point = match (answers.pop(), before) {
            (Some(Ok(mut point)), before) => {
                if let Some(before) = before {
                    point.note_floor(before.accuracy);
                }
                Some(point)
            }
            (_, Some(mut before)) => {
                before.at_floor = true;
                Some(before)
            }
            (_, None) => None,
        };
        if self.state.termination.is_some() || self.state.exhausted.is_some() {
            return;
        }
        if let Some(point) = &point
            && let Some(wanted) = self.too_inaccurate(point, predicted)
        {
            if point.at_floor {
                let achieved = point.accuracy;
                self.stop(Termination::AccuracyFloor { wanted, achieved });
                return;
            }
            let query = self.again(point, wanted);
            let point = Some(point.clone());
            self.state.phase = Phase::Paper(Stage::Trial {
                predicted,
                gradient,
                point,
            });
            self.issue(vec![query]);
            return;
        }
        let incumbent = self.state.incumbent().objective;
        let ratio = point.as_ref().map_or(f64::NEG_INFINITY, |point| {
            (incumbent - point.objective) / predicted
        });
        let fully_linear = self.is_fully_linear(self.state.delta);
        self.state.control.improvements = 0;
        let rules = self.state.options.trust_region.clone();
        let accepted = ratio >= rules.eta2 || (ratio >= rules.eta1 && fully_linear);
        if ratio >= rules.eta2 {
            self.state.delta = (rules.gamma_inc * self.state.delta).min(rules.max_radius);
        } else if fully_linear {
            self.state.delta *= rules.gamma_dec;
        }
        self.state.rho = self.state.delta;
        let step = point.as_ref().map(|point| self.state.step_to(&point.u));
        let row = Row {
            step: step.as_ref().map(|step| norm(step)),
            predicted: Some(predicted),
            ratio: Some(ratio).filter(|ratio| ratio.is_finite()),
            certified: self.eta1_prime().is_some(),
            gradient,
        };
        let kind = match (&point, accepted) {
            (None, _) => StepKind::Failed,
            (_, true) => StepKind::Accepted,
            (_, false) => StepKind::Rejected,
        };
        if let (true, Some(point), Some(step)) = (accepted, point, step) {
            self.take_into_set(&step, point, true, true);
        }
        self.record(kind, row);
        if !accepted && !fully_linear {
            self.make_fully_linear(self.state.delta);
        }
    }

    /// Whether the model is certified in the ball of this radius.
    fn is_fully_linear(&self, radius: f64) -> bool {
        let state = &self.state;
        let limit = self.paper_parameters().poisedness;
        let target = self.model_target().value();
        let near = |slot: &usize| state.distance(*slot) <= radius;
        let accurate = |slot: &usize| state.pool.get(*slot).accuracy.value() <= target;
        state.set.len() == state.dim() + 1
            && state.set.iter().all(near)
            && state.set.iter().all(accurate)
            && (self.poisedness_of_others(radius)).is_some_and(|poisedness| poisedness <= limit)
    }

    /// Asks for what makes the model fully linear: better places for points that are far away or badly placed, and better
    /// accuracy for the others.
    fn make_fully_linear(&mut self, radius: f64) {
        if !self.refresh_model_basis() {
            self.complete_set();
            return;
        }
        let state = &self.state;
        let limit = self.paper_parameters().poisedness;
        let center = state.center_position();
        let mut points: Vec<Vec<f64>> = state
            .set
            .iter()
            .map(|&slot| state.pool.get(slot).u.clone())
            .collect();
        let mut replaced = vec![false; points.len()];
        for _ in 0..10 * points.len() {
            let views: Vec<&[f64]> = points.iter().map(|point| &point[..]).collect();
            let Some(linear) = Linear::new(&views, center) else {
                break;
            };
            // a little inside, so that rounding does not put a point outside
            let region = self.region(radius * (1.0 - 1e-4), 1.0);
            let best = |t: usize| {
                let constant = linear.constant(t, center);
                let step = region.maximize_absolute(constant, linear.gradient(t));
                let value = (constant + dot(linear.gradient(t), &step)).abs();
                (value, step)
            };
            let others = || (0..points.len()).filter(|&t| t != center);
            let distance = |t: usize| {
                let step: Vec<f64> = points[t]
                    .iter()
                    .zip(&points[center])
                    .map(|(a, b)| a - b)
                    .collect();
                norm(&step)
            };
            let far = others().find(|&t| distance(t) > radius);
            let worst = far.map(|t| (t, best(t))).or_else(|| {
                let all = others().map(|t| (t, best(t)));
                let worst = all.max_by(|a, b| a.1.0.total_cmp(&b.1.0));
                // stricter than the check, since it is in the smaller ball
                worst.filter(|(_, (value, _))| *value > limit * (1.0 - 1e-3))
            });
            let Some((t, (_, step))) = worst else {
                break;
            };
            points[t] = points[center]
                .iter()
                .zip(&step)
                .map(|(u, s)| u + s)
                .collect();
            replaced[t] = true;
        }
        // a little more accurate than needed, so that rounding does not matter
        let needed = self.model_target().value();
        let target = Accuracy::new(0.9 * needed).unwrap_or(Accuracy::EXACT);
        let mut queries = Vec::new();
        let mut moved = Vec::new();
        for (t, point) in points.into_iter().enumerate() {
            let slot = state.set[t];
            if replaced[t] {
                queries.push(self.new_point(point, target, Purpose::Geometry));
                moved.push(Some(slot));
            } else if !(state.pool.get(slot).accuracy.value() <= needed) {
                if state.pool.get(slot).at_floor {
                    let achieved = state.pool.get(slot).accuracy;
                    self.stop(Termination::AccuracyFloor {
                        wanted: target,
                        achieved,
                    });
                    return;
                }
                queries.push(self.again(state.pool.get(slot), target));
                moved.push(None);
            }
        }
        self.state.control.improvements += 1;
        if queries.is_empty() || self.state.control.improvements > MAX_IMPROVEMENTS {
            // nothing helps: a smaller region is all that is left
            self.state.control.improvements = 0;
            self.state.delta *= self.state.options.trust_region.gamma_dec;
            self.state.rho = self.state.delta;
            self.state.phase = Phase::Paper(Stage::Repeat);
        } else {
            self.state.phase = Phase::Paper(Stage::Improve(moved));
            self.issue(queries);
        }
    }

    fn on_improved(&mut self, moved: &[Option<usize>], answers: Vec<Answer<R>>) {
        let mut failed = false;
        for (slot, answer) in moved.iter().zip(answers) {
            let position = slot.and_then(|slot| self.state.set.iter().position(|s| *s == slot));
            match (answer, position) {
                (Ok(point), Some(position)) => {
                    let step = self.state.step_to(&point.u);
                    self.replace(position, &step, point, false);
                    self.refresh_model_basis();
                }
                (Err(_), Some(_)) => failed = true,
                (answer, None) => self.update(answer),
            }
        }
        if failed {
            self.state.delta *= self.state.options.trust_region.gamma_dec;
            self.state.rho = self.state.delta;
        }
    }

    /// Points that could not be evaluated left a gap in the set.
    fn complete_set(&mut self) {
        if self.state.linear.is_none() && self.state.set.len() > 1 {
            self.repair();
        } else {
            self.add_direction(1.0);
        }
        if let Phase::Iterate = self.state.phase {
            self.state.phase = Phase::Paper(Stage::Repeat);
        }
    }
}

#[cfg(test)]
mod tests;
