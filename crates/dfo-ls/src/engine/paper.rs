//! Algorithm 1 of the paper, with one radius, a criticality phase, an accuracy phase, and models
//! that are certified to be fully linear. It is implemented as written, apart from the exceptions
//! that are listed at [`paper_step`](Run::paper_step).
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

/// The largest number of rounds that make a model fully linear. One is enough if all points can be
/// evaluated. Not tuned.
const MAX_IMPROVEMENTS: u32 = 5;
/// The share of the needed error that is asked for, so that rounding does not spoil the accuracy.
const MARGIN: f64 = 0.9;
/// The radius of the ball for new points, as a share of the trust-region radius, so that rounding
/// does not put a point outside the trust region.
const INSIDE: f64 = 1.0 - 1e-4;
/// The share of the limit to which polynomials are reduced, because they are measured in the
/// slightly smaller ball of [`INSIDE`].
const BELOW_LIMIT: f64 = 1.0 - 1e-3;
/// The largest number of replacements per point. Few are needed, because each multiplies the volume
/// of the set by more than the limit. Not tuned.
const MAX_REPLACEMENTS: usize = 10;

impl<R: Clone> Run<'_, R> {
    fn paper_parameters(&self) -> PaperParameters {
        match &self.options.algorithm {
            Algorithm::Paper(parameters) => parameters.clone(),
            Algorithm::Practical => PaperParameters::default(),
        }
    }

    /// Runs lines 3 to 9 of Algorithm 1, the repeat loop, and asks for the first evaluation of
    /// line 10. [`on_paper_trial`](Self::on_paper_trial) does the rest of line 10, and lines 11 and
    /// 12.
    ///
    /// A call is one pass through the loop, up to the next evaluation. Each `$i$` of the
    /// criticality phase is one pass as well and shrinks the radius once.
    ///
    /// The following is not in Algorithm 1:
    ///
    /// - The run stops when the radius has reached `final_radius`, or when a point cannot be
    ///   evaluated as accurately as needed.
    /// - The radius shrinks if the step does not decrease the model.
    /// - The radius shrinks if [`MAX_IMPROVEMENTS`] rounds did not make the model fully linear, or
    ///   if no point is left to improve.
    /// - The radius shrinks if a replacement of a point of the set cannot be evaluated.
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
            alternatives: Vec::new(),
            companions: Vec::new(),
        };
        Next::Ask(Phase::Trial(Box::new(trial)), vec![query])
    }

    /// Shrinks the radius to `$\gamma_\mathrm{dec}\Delta$`.
    fn shrink(&mut self) {
        let factor = self.options.trust_region.gamma_dec;
        self.trust.set_single(factor * self.trust.delta());
    }

    /// Returns the accuracy that a point needs to meet the paper's accuracy condition
    /// (`MIN_ACCURACY`), `$\max(\delta^k, \delta^k_+) \le \eta_1' (m^k(0) - m^k(s^k))$`; `None` if
    /// it meets the condition already.
    fn too_inaccurate(&self, point: &Point<R>, predicted: f64) -> Option<Accuracy> {
        let error = self.rule().eta1_prime()? * predicted;
        let square = point.square().max(0.0);
        let accurate = point.accuracy.objective_error(square) <= error;
        (!accurate).then(|| Accuracy::for_objective_error(square, MARGIN * error))
    }

    /// Creates a query for a more accurate evaluation, or ends the run if the point is at the
    /// oracle's floor.
    fn sharper(&self, point: &Point<R>, wanted: Accuracy) -> Result<super::Query<R>, Termination> {
        if point.at_floor {
            let achieved = point.accuracy;
            return Err(Termination::AccuracyFloor { wanted, achieved });
        }
        Ok(self.again(point, wanted))
    }

    /// Runs lines 10 to 12 of Algorithm 1: sharpens the trial point until it is accurate enough,
    /// then decides on the step, the radius and the set by the ratio.
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

    /// The poisedness `$\Lambda$`: the largest absolute value in the ball of a Lagrange polynomial
    /// other than the incumbent's.
    pub(super) fn poisedness_of_others(&self, radius: f64) -> Option<f64> {
        let center = self.points.center();
        let region = self.region(radius, 1.0);
        self.points.poisedness(&region, |t| t != center)
    }

    /// Makes the model fully linear in the trust region: asks for better places for points that are
    /// far away or badly placed, and for more accurate evaluations of the others.
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
            // No improvement is left but a smaller region.
            self.trust.improvements = 0;
            self.shrink();
            return Next::Continue;
        }
        Next::Ask(Phase::Improve(moved), queries)
    }

    /// Returns a better place for every point of the set that needs one. Points outside the trust
    /// region are moved into it. Then the point with the largest polynomial is moved to the
    /// maximiser of that polynomial, until all polynomials are small enough.
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

    /// Completes a set in which points are missing that could not be evaluated.
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
