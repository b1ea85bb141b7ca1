//! Algorithm 1 of the paper: one radius, a criticality and an accuracy phase, and models that are
//! certified to be fully linear. It is implemented as written, apart from the exceptions that are
//! listed at [`paper_step`](Run::paper_step).
//!
//! A model is fully linear in `$B(\theta^k, \Delta)$` if all points lie there, their Lagrange
//! polynomials are at most `$\Lambda$` there, and their residuals are accurate to `$c\Delta^2$`.
//! The incumbent's own polynomial does not count: its residuals are met by every model, and it is
//! one minus the sum of the others. With bounds, the region is the part of the ball between them.

use super::practical::Trial;
use super::{Answer, Next, Phase, Run, StepRecord};
use crate::linalg::{dot, norm};
use crate::model::linear::LinearModel;
use crate::model::pool::Point;
use crate::options::{Algorithm, PaperParameters, TrustStep};
use crate::report::{StepKind, Termination};
use crate::{Accuracy, Purpose};

/// One round makes a model fully linear; more are for points that cannot be evaluated.
const MAX_IMPROVEMENTS: u32 = 5;
/// The share of the wanted accuracy that is asked for, so that rounding does not spoil it.
const MARGIN: f64 = 0.9;
/// New points are placed in a ball of this share of the radius, so that rounding does not put one
/// outside the trust region.
const INSIDE: f64 = 1.0 - 1e-4;
/// Points are moved until their polynomials are at most this share of the limit, because they are
/// measured in the slightly smaller ball of [`INSIDE`].
const BELOW_LIMIT: f64 = 1.0 - 1e-3;
/// Replacements that are tried per point; each makes the volume of the set larger by more than the
/// limit, so that few are needed.
const MAX_REPLACEMENTS: usize = 10;

impl<R: Clone> Run<'_, R> {
    fn paper_parameters(&self) -> PaperParameters {
        match &self.options.algorithm {
            Algorithm::Paper(parameters) => parameters.clone(),
            Algorithm::Practical => PaperParameters::default(),
        }
    }

    /// Lines 3 to 9 of Algorithm 1, the repeat loop, and the first evaluation of line 10.
    /// [`on_paper_trial`](Self::on_paper_trial) does the rest of line 10, and lines 11 and 12.
    ///
    /// A call is one pass through the loop, up to the next evaluation. Each `$i$` of the
    /// criticality phase is one pass as well: it shrinks the radius once.
    ///
    /// The following is not in Algorithm 1:
    ///
    /// - The run stops when the radius has reached `final_radius`, or when a point that must become
    ///   more accurate cannot.
    /// - The radius shrinks if the step does not decrease the model.
    /// - The radius shrinks if [`MAX_IMPROVEMENTS`] rounds did not make the model fully linear, or
    ///   if nothing is left to improve.
    /// - The radius shrinks if a new place for a point of the set cannot be evaluated.
    /// - A trial point that cannot be evaluated counts as a rejected step.
    /// - A set with too few points, or with dependent ones, is completed first.
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
            if !self.is_fully_linear() {
                return self.make_fully_linear();
            }
            if delta > gradient {
                self.shrink();
                self.record(StepKind::Criticality, StepRecord::without_step(gradient));
                return Next::Continue;
            }
        }
        // step calculation
        let step = self.model_step(delta, TrustStep::Exact);
        if !(step.decrease > 0.0) {
            self.shrink();
            self.record(StepKind::Short, StepRecord::without_step(gradient));
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
        // evaluation of the trial point
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
            sharpens_incumbent: false,
        };
        Next::Ask(Phase::Trial(Box::new(trial)), vec![query])
    }

    /// `$\Delta \leftarrow \gamma_\mathrm{dec}\Delta$`
    fn shrink(&mut self) {
        let factor = self.options.trust_region.gamma_dec;
        self.trust.set_single(factor * self.trust.delta());
    }

    /// The paper's accuracy condition (`MIN_ACCURACY`) is
    /// `$\max(\delta^k, \delta^k_+) \le \eta_1' (m^k(0) - m^k(s^k))$`.
    /// Gives the accuracy that a point must be asked for so that its objective meets the condition;
    /// `None` if it does already.
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

    /// Lines 10 to 12 of Algorithm 1. The trial point is sharpened until it is accurate enough;
    /// then the ratio decides on the step, the radius and the set.
    pub(super) fn on_paper_trial(
        &mut self,
        mut trial: Trial<R>,
        mut answers: Vec<Answer<R>>,
    ) -> Next<R> {
        trial.take(answers.pop());
        if self.ledger.exhausted.is_some() {
            return Next::Continue;
        }
        // accuracy of the trial point
        if let Some(point) = &trial.point
            && let Some(wanted) = self.too_inaccurate(point, trial.predicted)
        {
            return match self.sharper(point, wanted) {
                Ok(query) => Next::Ask(Phase::Trial(Box::new(trial)), vec![query]),
                Err(why) => Next::Stop(why),
            };
        }
        // ratio
        let incumbent = self.points.incumbent().objective;
        let ratio = trial.point.as_ref().map_or(f64::NEG_INFINITY, |point| {
            (incumbent - point.objective) / trial.predicted
        });
        let fully_linear = self.is_fully_linear();
        self.trust.improvements = 0;
        // acceptance
        let trust_region = &self.options.trust_region;
        let (eta1, eta2) = (trust_region.eta1, trust_region.eta2);
        let accepted = ratio >= eta2 || (ratio >= eta1 && fully_linear);
        // radius
        if ratio >= eta2 {
            let grown = trust_region.gamma_inc * self.trust.delta();
            self.trust.set_single(grown.min(trust_region.max_radius));
        } else if fully_linear {
            self.shrink();
        }
        let kind = match (&trial.point, accepted) {
            (None, _) => StepKind::Failed,
            (_, true) => StepKind::Accepted,
            (_, false) => StepKind::Rejected,
        };
        // set: add the new point, or make the model fully linear
        if let Some(point) = trial.point.take() {
            trial.step = self.points.step_to(&point.u);
            if accepted {
                self.take_into_set(&trial.step, point, true, true);
            }
        }
        let certified = self.rule().eta1_prime().is_some();
        self.record(kind, trial.step_record(Some(ratio), certified));
        if !accepted && !fully_linear {
            return self.make_fully_linear();
        }
        Next::Continue
    }

    /// Whether the model is certified to be fully linear in the trust region.
    pub(super) fn is_fully_linear(&self) -> bool {
        let radius = self.trust.delta();
        let limit = self.paper_parameters().poisedness;
        let target = self.rule().model_target(&self.now()).value();
        self.points.len() == self.dim() + 1
            && (self.points.distances().iter()).all(|(distance, _)| *distance <= radius)
            && (self.points.iter()).all(|point| point.accuracy.value() <= target)
            && (self.poisedness_of_others(radius)).is_some_and(|poisedness| poisedness <= limit)
    }

    /// `$\Lambda$`: the largest absolute value of a Lagrange polynomial in the ball, without the
    /// incumbent's.
    pub(super) fn poisedness_of_others(&self, radius: f64) -> Option<f64> {
        let center = self.points.center();
        let region = self.region(radius, 1.0);
        self.points.poisedness(&region, |t| t != center)
    }

    /// Asks for what makes the model fully linear in the trust region: better places for points
    /// that are far away or badly placed, and better accuracy for the others.
    fn make_fully_linear(&mut self) -> Next<R> {
        if !self.points.refresh() {
            return self.complete_set();
        }
        let needed = self.rule().model_target(&self.now()).value();
        let target = Accuracy::new(MARGIN * needed).unwrap_or(Accuracy::EXACT);
        let (mut queries, mut moved) = (Vec::new(), Vec::new());
        for (position, place) in self.better_places().into_iter().enumerate() {
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

    /// For every point of the set a better place, if it needs one. Points outside the trust region
    /// are moved into it. Then the point with the largest polynomial is moved to where that is
    /// largest, again and again until all polynomials are small enough.
    fn better_places(&self) -> Vec<Option<Vec<f64>>> {
        let radius = self.trust.delta();
        let limit = self.paper_parameters().poisedness;
        let center = self.points.center();
        let mut places: Vec<Vec<f64>> = self.points.iter().map(|p| p.u.clone()).collect();
        let mut is_moved = vec![false; places.len()];
        for _ in 0..MAX_REPLACEMENTS * places.len() {
            let views: Vec<&[f64]> = places.iter().map(|place| &place[..]).collect();
            let Some(linear) = LinearModel::new(&views, center) else {
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
