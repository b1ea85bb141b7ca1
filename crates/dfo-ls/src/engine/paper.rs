//! Algorithm 1 of the paper, as written: one radius, a criticality and an accuracy phase, and models that are certified to be
//! fully linear.
//!
//! A model is fully linear in `$B(\theta^k, \Delta)$` if all points lie there, their Lagrange polynomials are at most `$\Lambda$` there, and
//! their residuals are accurate to `$c\Delta^2$`. The incumbent's own polynomial does not count: its residuals are met by every model, and
//! it is one minus the sum of the others. With bounds, the region is the part of the ball between them.

use super::practical::Trial;
use super::{Answer, Next, Phase, Row, Run};
use crate::linalg::{dot, norm};
use crate::model::linear::Linear;
use crate::model::pool::Point;
use crate::options::{Algorithm, PaperParameters, TrustStep};
use crate::report::{StepKind, Termination};
use crate::{Accuracy, Purpose};

/// One round makes a model fully linear; more are for points that cannot be evaluated.
const MAX_IMPROVEMENTS: u32 = 5;
/// The share of the wanted accuracy that is asked for, so that rounding does not spoil it.
const MARGIN: f64 = 0.9;
/// Points are placed this much inside the ball, so that rounding does not put one outside,
const INSIDE: f64 = 1.0 - 1e-4;
/// and their polynomials this much below the limit, since they are looked at in the smaller ball.
const BELOW_LIMIT: f64 = 1.0 - 1e-3;
/// Replacements that are tried per point; each makes the volume of the set larger by more than the limit, so that few are needed.
const MAX_REPLACEMENTS: usize = 10;

impl<R: Clone> Run<'_, R> {
    fn paper_parameters(&self) -> PaperParameters {
        match &self.options.algorithm {
            Algorithm::Paper(parameters) => parameters.clone(),
            Algorithm::Practical => PaperParameters::default(),
        }
    }

    /// The inner loop, up to the next evaluation.
    pub(super) fn paper_step(&mut self) -> Next<R> {
        let delta = self.trust.delta();
        if delta <= self.options.trust_region.final_radius {
            return Next::Stop(Termination::RadiusReached);
        }
        if !self.points.refresh() || self.points.len() <= self.dim() {
            return self.complete_set();
        }
        // criticality phase
        let gradient = self.points.gradient_norm();
        if gradient <= self.paper_parameters().epsilon {
            if !self.is_fully_linear(delta) {
                return self.make_fully_linear(delta);
            }
            if delta > gradient {
                self.shrink();
                self.record(StepKind::Criticality, Row::without_step(gradient));
                return Next::Continue;
            }
        }
        // step calculation
        let step = self.model_step(delta, TrustStep::Exact);
        if !(step.decrease > 0.0) {
            self.shrink();
            self.record(StepKind::Short, Row::without_step(gradient));
            return Next::Continue;
        }
        // accuracy phase
        let incumbent = self.points.incumbent();
        if let Some(wanted) = self.too_inaccurate(incumbent, step.decrease) {
            return match self.sharper(incumbent, wanted) {
                Ok(query) => self.sharpen(vec![query]),
                Err(why) => Next::Stop(why),
            };
        }
        let target = match self.rule().eta1_prime() {
            Some(eta) => {
                let square = (incumbent.square() - step.decrease).max(0.0);
                Accuracy::for_objective_error(square, eta * step.decrease)
            }
            None => self.rule().model_target(&self.now()),
        };
        let u = self.points.at_step(&step.v, delta);
        let query = self.new_point(u, target, Purpose::Trial);
        let trial = Trial {
            step: Vec::new(),
            predicted: step.decrease,
            gradient,
            point: None,
            incumbent: false,
        };
        Next::Ask(Phase::Trial(Box::new(trial)), vec![query])
    }

    /// `$\Delta \leftarrow \gamma_\mathrm{dec}\Delta$`
    fn shrink(&mut self) {
        let factor = self.options.trust_region.gamma_dec;
        self.trust.set_single(factor * self.trust.delta());
    }

    /// The accuracy that a point must be asked for so that its objective is known to `$\eta_1'$` times the predicted decrease;
    /// `None` if it is.
    fn too_inaccurate(&self, point: &Point<R>, predicted: f64) -> Option<Accuracy> {
        let error = self.rule().eta1_prime()? * predicted;
        let square = point.square().max(0.0);
        let accurate = point.accuracy.objective_error(square) <= error;
        (!accurate).then(|| Accuracy::for_objective_error(square, MARGIN * error))
    }

    /// A question for more accuracy, or the end if the point has none to give.
    fn sharper(&self, point: &Point<R>, wanted: Accuracy) -> Result<super::Query<R>, Termination> {
        if point.at_floor {
            let achieved = point.accuracy;
            return Err(Termination::AccuracyFloor { wanted, achieved });
        }
        Ok(self.again(point, wanted))
    }

    /// The trial point is sharpened until it is accurate enough; then the ratio decides.
    pub(super) fn on_paper_trial(
        &mut self,
        mut trial: Trial<R>,
        mut answers: Vec<Answer<R>>,
    ) -> Next<R> {
        trial.take(answers.pop());
        if self.ledger.exhausted.is_some() {
            return Next::Continue;
        }
        if let Some(point) = &trial.point
            && let Some(wanted) = self.too_inaccurate(point, trial.predicted)
        {
            return match self.sharper(point, wanted) {
                Ok(query) => Next::Ask(Phase::Trial(Box::new(trial)), vec![query]),
                Err(why) => Next::Stop(why),
            };
        }
        let incumbent = self.points.incumbent().objective;
        let ratio = trial.point.as_ref().map_or(f64::NEG_INFINITY, |point| {
            (incumbent - point.objective) / trial.predicted
        });
        let fully_linear = self.is_fully_linear(self.trust.delta());
        self.trust.improvements = 0;
        let rules = &self.options.trust_region;
        let accepted = ratio >= rules.eta2 || (ratio >= rules.eta1 && fully_linear);
        if ratio >= rules.eta2 {
            let grown = rules.gamma_inc * self.trust.delta();
            self.trust.set_single(grown.min(rules.max_radius));
        } else if fully_linear {
            self.shrink();
        }
        let kind = match (&trial.point, accepted) {
            (None, _) => StepKind::Failed,
            (_, true) => StepKind::Accepted,
            (_, false) => StepKind::Rejected,
        };
        if let Some(point) = trial.point.take() {
            trial.step = self.points.step_to(&point.u);
            if accepted {
                self.take_into_set(&trial.step, point, true, true);
            }
        }
        let certified = self.rule().eta1_prime().is_some();
        self.record(kind, trial.row(Some(ratio), certified));
        if !accepted && !fully_linear {
            return self.make_fully_linear(self.trust.delta());
        }
        Next::Continue
    }

    /// Whether the model is certified in the ball of this radius.
    pub(super) fn is_fully_linear(&self, radius: f64) -> bool {
        let limit = self.paper_parameters().poisedness;
        let target = self.rule().model_target(&self.now()).value();
        self.points.len() == self.dim() + 1
            && (self.points.distances().iter()).all(|(distance, _)| *distance <= radius)
            && (self.points.iter()).all(|point| point.accuracy.value() <= target)
            && (self.poisedness_of_others(radius)).is_some_and(|poisedness| poisedness <= limit)
    }

    /// `$\Lambda$`: the largest absolute value of a Lagrange polynomial in the ball, without the incumbent's.
    pub(super) fn poisedness_of_others(&self, radius: f64) -> Option<f64> {
        let center = self.points.center();
        let region = self.region(radius, 1.0);
        self.points.poisedness(&region, |t| t != center)
    }

    /// Asks for what makes the model fully linear: better places for points that are far away or badly placed, and better
    /// accuracy for the others.
    fn make_fully_linear(&mut self, radius: f64) -> Next<R> {
        if !self.points.refresh() {
            return self.complete_set();
        }
        let needed = self.rule().model_target(&self.now()).value();
        let target = Accuracy::new(MARGIN * needed).unwrap_or(Accuracy::EXACT);
        let (mut queries, mut moved) = (Vec::new(), Vec::new());
        for (position, place) in self.better_places(radius).into_iter().enumerate() {
            let point = self.points.get(position);
            if let Some(place) = place {
                queries.push(self.new_point(place, target, Purpose::Geometry));
                moved.push(Some(position));
            } else if !(point.accuracy.value() <= needed) {
                match self.sharper(point, target) {
                    Ok(query) => queries.push(query),
                    Err(why) => return Next::Stop(why),
                }
                moved.push(None);
            }
        }
        self.trust.improvements += 1;
        if queries.is_empty() || self.trust.improvements > MAX_IMPROVEMENTS {
            // nothing helps: a smaller region is all that is left
            self.trust.improvements = 0;
            self.shrink();
            return Next::Continue;
        }
        Next::Ask(Phase::Improve(moved), queries)
    }

    /// For every point of the set a better place, if it needs one: points that are far away are moved into the ball, then the one
    /// with the largest polynomial to where that is largest, until all are small enough.
    fn better_places(&self, radius: f64) -> Vec<Option<Vec<f64>>> {
        let limit = self.paper_parameters().poisedness;
        let center = self.points.center();
        let mut places: Vec<Vec<f64>> = self.points.iter().map(|p| p.u.clone()).collect();
        let mut is_moved = vec![false; places.len()];
        for _ in 0..MAX_REPLACEMENTS * places.len() {
            let views: Vec<&[f64]> = places.iter().map(|place| &place[..]).collect();
            let Some(linear) = Linear::new(&views, center) else {
                break;
            };
            let region = self.region(radius * INSIDE, 1.0);
            let best = |t: usize| {
                let constant = linear.constant(t, center);
                let step = region.maximize_absolute(constant, linear.gradient(t));
                let value = (constant + dot(linear.gradient(t), &step)).abs();
                (value, step)
            };
            let mut others = (0..places.len()).filter(|&t| t != center);
            let is_far = |t: &usize| norm(&self.points.step_to(&places[*t])) > radius;
            let far = others.clone().find(is_far).map(|t| (t, best(t)));
            let worst = far.or_else(|| {
                let all = others.by_ref().map(|t| (t, best(t)));
                let worst = all.max_by(|a, b| a.1.0.total_cmp(&b.1.0));
                worst.filter(|(_, (value, _))| *value > limit * BELOW_LIMIT)
            });
            let Some((t, (_, step))) = worst else {
                break;
            };
            places[t] = self.points.at_step(&step, 1.0);
            is_moved[t] = true;
        }
        let places = places.into_iter().zip(is_moved);
        places
            .map(|(place, is_moved)| is_moved.then_some(place))
            .collect()
    }

    pub(super) fn on_improved(
        &mut self,
        moved: &[Option<usize>],
        answers: Vec<Answer<R>>,
    ) -> Next<R> {
        let mut failed = false;
        for (position, answer) in moved.iter().zip(answers) {
            match (answer, position) {
                (Ok(point), Some(position)) => {
                    let step = self.points.step_to(&point.u);
                    self.points.replace(*position, &step, point, false);
                    self.points.refresh();
                }
                (Err(_), Some(_)) => failed = true,
                (answer, None) => self.points.sharpen(answer),
            }
        }
        if failed {
            self.shrink();
        }
        Next::Continue
    }

    /// Points that could not be evaluated left a gap in the set.
    fn complete_set(&mut self) -> Next<R> {
        if self.points.linear().is_none() && self.points.len() > 1 {
            self.repair()
        } else {
            self.add_direction()
        }
    }
}

#[cfg(test)]
mod tests;
