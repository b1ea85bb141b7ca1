//! The practical algorithm: a trust region with two radii and a safety phase.
//!
//! One iteration models the residuals, minimises the model in the trust region, and looks at the length of the step. A short one is
//! not worth an evaluation: geometry is improved or the radius reduced (the safety phase). Otherwise the incumbent is sharpened if
//! the predicted decrease is within its error, the trial point is evaluated until the step is decided, and the radius, the set
//! and the incumbent follow.

use super::accuracy::Verdict;
use super::{Answer, Engine, Phase, Row};
use crate::linalg::norm;
use crate::model::ModelStep;
use crate::model::linear::Fit;
use crate::model::pool::Point;
use crate::options::{AccuracyControl, NoiseLevel};
use crate::radius;
use crate::report::{StepKind, Termination};
use crate::{Accuracy, Purpose};

/// What the iterations remember of each other.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Control {
    /// Errors of the last three predictions.
    pub(super) errors: [f64; 3],
    /// Iterations since the start or the last restart.
    pub(super) iteration: u64,
    /// The last of them that moved farther than the lower radius, or reduced it.
    pub(super) last_success: u64,
    pub(super) slow: super::restart::SlowTracker,
    pub(super) restarts: super::restart::RestartTracker,
    /// Why the start could not be evaluated.
    pub(super) start_failure: Option<String>,
    /// Whether the last step could not be evaluated.
    pub(super) blocked: bool,
    /// Geometry points in a row that could not be evaluated.
    pub(super) geometry_failures: u32,
    /// How often in a row the paper's model was improved in vain.
    pub(super) improvements: u32,
}

/// A step that is being evaluated.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Trial<R> {
    pub(super) step: Vec<f64>,
    pub(super) predicted: f64,
    pub(super) gradient: f64,
    /// The point, once it was evaluated.
    pub(super) point: Option<Point<R>>,
    /// Whether the incumbent is being sharpened, not the point.
    pub(super) incumbent: bool,
}

impl<R: Clone> Engine<R> {
    /// One iteration, up to its first evaluation.
    pub(super) fn iterate(&mut self) {
        if self.all_within_noise() {
            self.finish_or_restart(Termination::NoiseReached);
            return;
        }
        if self.state.set.len() == 1 {
            self.add_direction(1.0);
            return;
        }
        if !self.refresh_model_basis() {
            self.repair();
            return;
        }
        let stale = self.stale();
        if !stale.is_empty() {
            let target = self.model_target();
            let queries = stale
                .iter()
                .map(|&slot| self.again(self.state.pool.get(slot), target))
                .collect();
            self.state.phase = Phase::Sharpen;
            self.issue(queries);
            return;
        }
        self.state.control.iteration += 1;
        let step = self.model_step(self.state.delta);
        let length = (norm(&step.v) * self.state.delta).min(self.state.delta);
        let growing = self.is_growing();
        // the paper's experiments sharpen before they look at the length
        let eager = matches!(self.state.options.accuracy, AccuracyControl::Experiments(_));
        if eager && step.decrease > 0.0 && self.sharpen_incumbent(step.decrease) {
            return;
        }
        // less than rounding hides
        let least = 4.0 * f64::EPSILON * self.state.incumbent().objective;
        let short = !(length >= self.state.options.trust_region.safety * self.state.rho)
            || !(step.decrease > least);
        if growing {
            self.grow(&step, short);
        } else if short {
            self.safety(&step, length);
        } else if eager || !self.sharpen_incumbent(step.decrease) {
            self.try_step(&step);
        }
    }

    fn sharpen_incumbent(&mut self, predicted: f64) -> bool {
        let Some(target) = self.incumbent_target(predicted) else {
            return false;
        };
        let query = self.again(self.state.incumbent(), target);
        self.state.phase = Phase::Sharpen;
        self.issue(vec![query]);
        true
    }

    pub(super) fn on_sharpened(&mut self, answers: Vec<Answer<R>>) {
        for answer in answers {
            self.update(answer);
        }
    }

    /// A known point was evaluated more accurately, or could not be.
    pub(super) fn update(&mut self, answer: Answer<R>) {
        let state = &mut self.state;
        let number = match &answer {
            Ok(point) => point.number,
            Err(failure) => failure.number,
        };
        let slot = state
            .pool
            .live()
            .find(|&slot| state.pool.get(slot).number == number);
        let Some(slot) = slot else {
            return;
        };
        let before = state.pool.get(slot).accuracy;
        if let Ok(mut point) = answer {
            point.note_floor(before);
            let residuals = std::mem::take(&mut point.residuals);
            *state.pool.get_mut(slot) = point;
            state.pool.set_residuals(slot, residuals);
            if let Some(linear) = &mut state.linear {
                linear.forget_residuals();
            }
        } else {
            // what is known must do
            state.pool.get_mut(slot).at_floor = true;
        }
    }

    pub(super) fn try_step(&mut self, step: &ModelStep) {
        let delta = self.state.delta;
        let u = (self.state.incumbent().u.iter().zip(&step.v))
            .map(|(u, v)| u + delta * v)
            .collect();
        let target = self.trial_target(step.decrease);
        let query = self.new_point(u, target, Purpose::Trial);
        self.state.phase = Phase::Trial(Box::new(Trial {
            step: Vec::new(),
            predicted: step.decrease,
            gradient: step.gradient_norm / delta,
            point: None,
            incumbent: false,
        }));
        self.issue(vec![query]);
    }

    pub(super) fn on_trial(&mut self, mut trial: Trial<R>, mut answers: Vec<Answer<R>>) {
        match answers.pop() {
            Some(answer) if trial.incumbent => self.update(answer),
            Some(Ok(mut point)) => {
                if let Some(before) = &trial.point {
                    point.note_floor(before.accuracy);
                }
                trial.step = self.state.step_to(&point.u);
                trial.point = Some(point);
            }
            Some(Err(_)) if trial.point.is_none() => {
                self.failed_trial(&trial);
                return;
            }
            Some(Err(_)) | None => {
                // it was evaluated before: what is known must do
                if let Some(point) = &mut trial.point {
                    point.at_floor = true;
                }
            }
        }
        let Some(point) = trial.point.take() else {
            self.failed_trial(&trial);
            return;
        };
        if self.state.termination.is_some() || self.state.exhausted.is_some() {
            return;
        }
        match self.verdict(&point, trial.predicted) {
            Verdict::Decided { ratio, certified } => self.conclude(&trial, point, ratio, certified),
            Verdict::SharpenIncumbent(target) => {
                let query = self.again(self.state.incumbent(), target);
                trial.point = Some(point);
                trial.incumbent = true;
                self.state.phase = Phase::Trial(Box::new(trial));
                self.issue(vec![query]);
            }
            Verdict::SharpenTrial(target) => {
                let query = self.again(&point, target);
                trial.point = Some(point);
                trial.incumbent = false;
                self.state.phase = Phase::Trial(Box::new(trial));
                self.issue(vec![query]);
            }
            Verdict::Floor { wanted } => {
                let achieved = point.accuracy;
                self.stop(Termination::AccuracyFloor { wanted, achieved });
            }
        }
    }

    /// The trial point cannot be evaluated: a step in vain.
    fn failed_trial(&mut self, trial: &Trial<R>) {
        let (delta, rho) = (self.state.delta, self.state.rho);
        let rules = &self.state.options.trust_region;
        self.state.delta = radius::after_step(delta, rho, 0.5 * delta, f64::NEG_INFINITY, rules);
        self.state.control.blocked = true;
        self.record(StepKind::Failed, trial.row(None, true));
        self.after_bad_step(delta, rho, f64::NEG_INFINITY);
    }

    /// The step is decided: the radius, the set and the incumbent follow.
    fn conclude(&mut self, trial: &Trial<R>, point: Point<R>, ratio: f64, certified: bool) {
        self.state.control.blocked = false;
        let (delta, rho) = (self.state.delta, self.state.rho);
        let length = norm(&trial.step).min(delta);
        let achieved = self.state.incumbent().objective - point.objective;
        self.note_error((achieved - trial.predicted).abs());
        if length > rho {
            self.state.control.last_success = self.state.control.iteration;
        }
        let rules = &self.state.options.trust_region;
        let eta1 = rules.eta1;
        let growing = self.is_growing();
        self.state.delta = radius::after_step(delta, rho, length, ratio, rules);
        let before = self.state.incumbent().objective;
        let accepted = self.is_better(&point, ratio);
        self.take_into_set(&trial.step, point, accepted, ratio > 0.0);
        self.refresh_model_basis();
        let kind = if accepted {
            StepKind::Accepted
        } else {
            StepKind::Rejected
        };
        self.record(kind, trial.row(Some(ratio), certified));
        if ratio > 0.0 && !growing && self.is_slow(before) {
            self.finish_or_restart(Termination::Slow);
            return;
        }
        let chases_noise = self.chases_noise(ratio);
        if ratio >= eta1 || growing {
            return;
        }
        if chases_noise {
            self.finish_or_restart(Termination::RestartsExhausted);
            return;
        }
        self.after_bad_step(length, rho, ratio);
    }

    /// Geometry is improved, or the lower radius reduced.
    fn after_bad_step(&mut self, length: f64, rho: f64, ratio: f64) {
        let threshold = (2.0 * self.state.delta).max(10.0 * rho);
        if self.improve_geometry(threshold, false) {
            return;
        }
        if ratio > 0.0 || self.state.delta.max(length) > rho {
            return;
        }
        self.reduce_radius();
    }

    /// The step is too short to be worth an evaluation.
    fn safety(&mut self, step: &ModelStep, length: f64) {
        let rho = self.state.rho;
        let row = Row {
            step: Some(length),
            predicted: Some(step.decrease),
            ratio: None,
            certified: true,
            gradient: step.gradient_norm / self.state.delta,
        };
        if length > rho {
            self.state.control.last_success = self.state.control.iteration;
        }
        let done = self.is_done_with_radius(step);
        if !done && self.improve_geometry(10.0 * rho, true) {
            self.record(StepKind::Short, row);
            return;
        }
        if rho > self.state.options.trust_region.final_radius {
            self.reduce_radius();
            self.record(StepKind::Short, row);
        } else {
            self.record(StepKind::Short, row);
            let worthwhile =
                length > 0.0 && step.decrease > 0.0 && self.state.options.restarts.is_none();
            if worthwhile {
                let delta = self.state.delta;
                let u = (self.state.incumbent().u.iter().zip(&step.v)).map(|(u, v)| u + delta * v);
                let target = match self.state.options.accuracy {
                    AccuracyControl::Experiments(_) => self.model_target(),
                    AccuracyControl::Dynamic(_) | AccuracyControl::Fixed(_) => {
                        self.trial_target(step.decrease)
                    }
                };
                let query = self.new_point(u.collect(), target, Purpose::Trial);
                self.state.phase = Phase::Last;
                self.issue(vec![query]);
            } else {
                self.finish_or_restart(Termination::RadiusReached);
            }
        }
    }

    pub(super) fn on_last(&mut self, answers: Vec<Answer<R>>) {
        // the paper's experiments take what looks better
        let careless = matches!(self.state.options.accuracy, AccuracyControl::Experiments(_));
        for point in answers.into_iter().flatten() {
            let lower = point.objective < self.state.incumbent().objective;
            if self.is_certainly_better(&point) || (careless && lower) {
                let step = self.state.step_to(&point.u);
                self.take_into_set(&step, point, true, true);
            }
        }
        self.stop(Termination::RadiusReached);
    }

    pub(super) fn reduce_radius(&mut self) {
        let rules = &self.state.options.trust_region;
        if self.state.rho <= rules.final_radius {
            let why = if self.state.control.blocked {
                Termination::Blocked
            } else {
                Termination::RadiusReached
            };
            self.finish_or_restart(why);
            return;
        }
        (self.state.rho, self.state.delta) = radius::reduce(self.state.rho, rules);
        self.state.control.last_success = self.state.control.iteration;
    }

    pub(super) fn note_error(&mut self, error: f64) {
        self.state.control.errors.rotate_right(1);
        self.state.control.errors[0] = error;
    }

    /// Whether shorter steps must be looked at next: predictions are accurate enough for the present radius.
    fn is_done_with_radius(&self, step: &ModelStep) -> bool {
        let control = &self.state.control;
        if control.iteration <= control.last_success + 2 {
            return false;
        }
        let (rho, delta) = (self.state.rho, self.state.delta);
        let error = control.errors.iter().fold(0.0_f64, |a, b| a.max(*b));
        let curvature = step.curvature / (delta * delta);
        if curvature > 0.0 && error > 0.125 * rho * rho * curvature {
            return false;
        }
        let region = self.region(delta, delta);
        let slope = error / rho;
        for (j, v) in step.v.iter().enumerate() {
            let gradient = step.end_gradient[j] / delta;
            let mut test = slope;
            if *v <= region.lower()[j] {
                test = gradient;
            }
            if *v >= region.upper()[j] {
                test = -gradient;
            }
            if test < slope {
                test += 0.5 * step.diagonal[j] / (delta * delta) * rho;
                if test < slope {
                    return false;
                }
            }
        }
        true
    }

    /// Whether a trial point becomes the incumbent.
    fn is_better(&self, point: &Point<R>, ratio: f64) -> bool {
        match self.state.options.accuracy {
            AccuracyControl::Experiments(_) => {
                ratio >= self.state.options.trust_region.eta1
                    && point.objective < self.state.incumbent().objective
            }
            AccuracyControl::Dynamic(_) | AccuracyControl::Fixed(_) => {
                ratio >= self.state.options.trust_region.eta1 || self.is_certainly_better(point)
            }
        }
    }

    pub(super) fn is_certainly_better(&self, point: &Point<R>) -> bool {
        let incumbent = self.state.incumbent();
        let exact = |point: &Point<R>| point.accuracy == Accuracy::EXACT;
        match self.state.options.accuracy {
            AccuracyControl::Fixed(_) => point.objective < incumbent.objective,
            AccuracyControl::Experiments(_) => false,
            AccuracyControl::Dynamic(_) if exact(point) && exact(incumbent) => {
                point.objective < incumbent.objective
            }
            AccuracyControl::Dynamic(_) => point.interval().upper < incumbent.interval().lower,
        }
    }

    /// Makes the best point of the set the incumbent, if it is better for certain.
    pub(super) fn move_to_better(&mut self) {
        for slot in self.state.set.clone() {
            if slot != self.state.center && self.is_certainly_better(self.state.pool.get(slot)) {
                self.state.center = slot;
            }
        }
    }

    pub(super) fn is_growing(&self) -> bool {
        let fit = self.state.linear.as_ref().map(|linear| linear.fit);
        !self.state.spans && fit == Some(Fit::Underdetermined)
    }

    fn all_within_noise(&self) -> bool {
        let Some(level) = self.state.options.noise.level else {
            return false;
        };
        let state = &self.state;
        let least = state.incumbent().objective;
        let limit = |samples: u32| match level {
            NoiseLevel::Additive(sigma) => least + sigma / f64::from(samples).sqrt(),
            NoiseLevel::Multiplicative(sigma) => least * (1.0 + sigma / f64::from(samples).sqrt()),
        };
        state.set.len() > state.dim()
            && (state.set.iter()).all(|&slot| {
                let point = state.pool.get(slot);
                point.objective <= limit(point.samples)
            })
    }
}

impl<R> Trial<R> {
    fn row(&self, ratio: Option<f64>, certified: bool) -> Row {
        Row {
            step: Some(norm(&self.step)).filter(|_| !self.step.is_empty()),
            predicted: Some(self.predicted),
            ratio: ratio.filter(|ratio| ratio.is_finite()),
            certified,
            gradient: self.gradient,
        }
    }
}
