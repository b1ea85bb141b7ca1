//! The default algorithm: Algorithm 1 of Ehrhardt and Roberts (2021) in the practical form of
//! Cartis, Fiala, Marteau and Roberts (2019), with two radii and a safety phase.
//!
//! [`iterate`](Run::iterate) is one iteration up to its first evaluation.
//! [`on_trial`](Run::on_trial) and [`conclude`](Run::conclude) follow when the trial point has been
//! evaluated. [`safety`](Run::safety) replaces both when the step is too short. The rules for the
//! radii are in `radius.rs` and `trust.rs`, those for accuracy in [`rules`](super::rules).

use super::rules::Verdict;
use super::setup::composite_points;
use super::width::Alternative;
use super::{Answer, Next, Phase, Run, StepRecord};
use crate::Purpose;
use crate::linalg::norm;
use crate::model::pool::Point;
use crate::model::{ModelStep, ObjectiveModel};
use crate::options::{Model, NoiseLevel, TrustStep};
use crate::report::{StepKind, Termination};

/// A step whose trial point is being evaluated.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Trial<R> {
    /// The step from the incumbent to the trial point. Empty until the point has been evaluated.
    pub(super) step: Vec<f64>,
    /// The decrease of the objective that the model predicts.
    pub(super) predicted: f64,
    /// The norm of the model's gradient at the incumbent.
    pub(super) gradient: f64,
    /// The trial point, once it has been evaluated.
    pub(super) point: Option<Point<R>>,
    /// Whether the outstanding evaluation sharpens the incumbent rather than the trial point.
    pub(super) sharpens_incumbent: bool,
    /// The other steps whose trial points are being evaluated, in the order of their queries.
    pub(super) alternatives: Vec<Alternative>,
    /// Points that were evaluated together with the trial point.
    #[cfg_attr(feature = "serde", serde(default = "Vec::new"))]
    pub(super) companions: Vec<Point<R>>,
}

/// The smallest predicted decrease, relative to the objective, that rounding does not hide.
const ROUNDING: f64 = 4.0 * f64::EPSILON;
/// The distance from the incumbent, as a multiple of the radius, beyond which a point is moved
/// after an unsuccessful step, provided that it is also beyond [`FAR_IN_RHO`]: Powell's BOBYQA
/// report (2009) and Cartis et al. (2019). Factors from 2 to 5 made no difference on the problems
/// of Moré and Wild.
const FAR_IN_DELTA: f64 = 2.0;
/// The distance from the incumbent, as a multiple of the lower radius, up to which a point is never
/// moved: Powell's BOBYQA report (2009) and Cartis et al. (2019). Factors from 3 to 30 made no
/// difference on the problems of Moré and Wild.
const FAR_IN_RHO: f64 = 10.0;
/// The length, as a share of the radius, that is assumed for a step whose trial point could not be
/// evaluated. Not tuned.
const FAILED_LENGTH: f64 = 0.5;
/// The factor in the condition `$e \le 0.125\,\rho^2 \kappa$` for predictions that are accurate
/// enough for the lower radius, where `$e$` are their errors and `$\kappa$` is the smallest
/// curvature of the model: Powell's BOBYQA report (2009).
const CURVATURE_SHARE: f64 = 0.125;

impl<R: Clone> Run<'_, R> {
    /// Runs one iteration up to its first new point. If known points must be sharpened first, the
    /// iteration begins again from the top with the answers.
    pub(super) fn iterate(&mut self) -> Next<R> {
        // Cartis et al., noise: all points are equal up to noise.
        if self.all_within_noise() {
            return self.finish_or_restart(Termination::NoiseReached);
        }
        // A model needs at least two points, all of them independent.
        if self.points.len() == 1 {
            return self.add_direction();
        }
        if !self.points.refresh() {
            return self.repair();
        }
        // Algorithm 1, accuracy of the model: sharpen points that are too inaccurate for the
        // radius.
        let target = self.rule().model_target(&self.now());
        let stale = self.points.iter();
        let stale = stale.filter(|point| self.rule().is_stale(&self.now(), point));
        let stale: Vec<_> = stale.map(|point| self.again(point, target)).collect();
        if !stale.is_empty() {
            return self.sharpen(stale);
        }
        // Algorithm 1, step: minimise the model in the trust region.
        self.trust.begin_iteration();
        let delta = self.trust.delta();
        let step = self.model_step(delta, self.options.trust_region.step);
        let length = (norm(&step.v) * delta).min(delta);
        if self.rule().sharpens_before_length()
            && step.decrease > 0.0
            && let Some(sharper) = self.sharper_incumbent(step.decrease)
        {
            return sharper;
        }
        // Cartis et al., safety phase: a short step is not worth an evaluation.
        let trust_region = &self.options.trust_region;
        let shortest = trust_region.safety * self.trust.rho();
        let least = ROUNDING * self.points.incumbent().objective;
        let is_short = !(length >= shortest) || !(step.decrease > least);
        if self.points.is_growing() {
            return self.grow(&step, is_short);
        }
        if is_short {
            return self.safety(&step, length);
        }
        // Algorithm 1, accuracy of the incumbent: sharpen it if its error hides the predicted
        // decrease.
        if let Some(sharper) = self.sharper_incumbent(step.decrease) {
            return sharper;
        }
        self.try_step(&step)
    }

    /// Asks for the trial point.
    pub(super) fn try_step(&mut self, step: &ModelStep) -> Next<R> {
        let delta = self.trust.delta();
        let target = self.rule().trial_target(&self.now(), step.decrease);
        let u = self.points.at_step(&step.v, delta);
        let mut queries = vec![self.new_point(u, target, Purpose::Trial)];
        let mut alternatives = Vec::new();
        if self.options.is_wide() && !self.points.is_growing() {
            alternatives = self.add_companions(step, &mut queries);
        }
        let trial = Trial {
            step: Vec::new(),
            predicted: step.decrease,
            gradient: step.gradient_norm / delta,
            point: None,
            sharpens_incumbent: false,
            alternatives,
            companions: Vec::new(),
        };
        Next::Ask(Phase::Trial(Box::new(trial)), queries)
    }

    /// Algorithm 1, accuracy of the ratio: sharpens the trial point or the incumbent until the step
    /// is decided.
    pub(super) fn on_trial(&mut self, mut trial: Trial<R>, answers: Vec<Answer<R>>) -> Next<R> {
        if trial.sharpens_incumbent {
            answers
                .into_iter()
                .for_each(|answer| self.points.sharpen(answer));
        } else {
            let answer = self.choose_trial(&mut trial, answers);
            trial.take(answer);
        }
        let Some(point) = trial.point.take() else {
            return self.failed_trial(trial);
        };
        if trial.step.is_empty() {
            trial.step = self.points.step_to(&point.u);
        }
        if self.ledger.exhausted.is_some() {
            return Next::Continue;
        }
        let verdict = self.rule().verdict(&self.now(), &point, trial.predicted);
        let query = match verdict {
            Verdict::Decided { ratio, certified } => {
                return self.conclude(trial, point, ratio, certified);
            }
            Verdict::Floor { wanted } => {
                let achieved = point.accuracy;
                return Next::Stop(Termination::AccuracyFloor { wanted, achieved });
            }
            Verdict::SharpenIncumbent(target) => self.again(self.points.incumbent(), target),
            Verdict::SharpenTrial(target) => self.again(&point, target),
        };
        trial.sharpens_incumbent = matches!(verdict, Verdict::SharpenIncumbent(_));
        trial.point = Some(point);
        Next::Ask(Phase::Trial(Box::new(trial)), vec![query])
    }

    /// Algorithm 1, acceptance, and Cartis et al.: updates the radius, the set and the incumbent
    /// from the ratio of achieved to predicted decrease.
    fn conclude(
        &mut self,
        mut trial: Trial<R>,
        point: Point<R>,
        ratio: f64,
        certified: bool,
    ) -> Next<R> {
        self.trust.blocked = false;
        let trust_region = &self.options.trust_region;
        let (delta, rho) = (self.trust.delta(), self.trust.rho());
        let length = norm(&trial.step).min(delta);
        let before = self.points.incumbent().objective;
        let achieved = before - point.objective;
        self.trust.note_error((achieved - trial.predicted).abs());
        self.trust.note_length(length);
        let growing = self.points.is_growing();
        self.trust.after_step(length, ratio, trust_region);
        // Acceptance and the choice of the point that leaves the set use the new radius, as in
        // Cartis et al.
        let accepted = self.rule().accepts(&self.now(), &point, ratio);
        self.take_into_set(&trial.step, point, accepted, ratio > 0.0);
        self.take_companions(std::mem::take(&mut trial.companions));
        self.points.refresh();
        let kind = if accepted {
            StepKind::Accepted
        } else {
            StepKind::Rejected
        };
        self.record(kind, trial.step_record(Some(ratio), certified));
        if ratio > 0.0 && !growing && self.count_slow_step(before) {
            return self.finish_or_restart(Termination::Slow);
        }
        // Successful steps, which return below, must be counted too: they reset the count.
        let chases_noise = self.count_unsuccessful_step(ratio);
        if ratio >= trust_region.eta1 || growing {
            return Next::Continue;
        }
        if chases_noise {
            return self.finish_or_restart(Termination::RestartsExhausted);
        }
        self.after_bad_step(length, rho, ratio)
    }

    /// Treats a trial point that cannot be evaluated as an unsuccessful step.
    fn failed_trial(&mut self, mut trial: Trial<R>) -> Next<R> {
        let (delta, rho) = (self.trust.delta(), self.trust.rho());
        let trust_region = &self.options.trust_region;
        let length = FAILED_LENGTH * delta;
        self.trust
            .after_step(length, f64::NEG_INFINITY, trust_region);
        self.trust.blocked = true;
        self.take_companions(std::mem::take(&mut trial.companions));
        self.record(StepKind::Failed, trial.step_record(None, true));
        // The old radius counts as the step's length here. The lower radius is therefore reduced
        // only if the old radius had shrunk to it; otherwise shorter steps are tried first.
        self.after_bad_step(delta, rho, f64::NEG_INFINITY)
    }

    /// Moves far points after an unsuccessful step, or reduces the lower radius.
    fn after_bad_step(&mut self, length: f64, rho: f64, ratio: f64) -> Next<R> {
        let threshold = (FAR_IN_DELTA * self.trust.delta()).max(FAR_IN_RHO * rho);
        if let Some(next) = self.improve_geometry(threshold, false) {
            return next;
        }
        if ratio > 0.0 || self.trust.delta().max(length) > rho {
            return Next::Continue;
        }
        self.reduce_radius()
    }

    /// Cartis et al., safety phase: moves far points or reduces the lower radius, without
    /// evaluating the step. At the final radius the step is evaluated after all, as the last point
    /// of the run.
    fn safety(&mut self, step: &ModelStep, length: f64) -> Next<R> {
        let rho = self.trust.rho();
        let record = StepRecord {
            step: Some(length),
            predicted: Some(step.decrease),
            ratio: None,
            certified: true,
            gradient: step.gradient_norm / self.trust.delta(),
        };
        self.trust.note_length(length);
        let next = if self.is_done_with_radius(step) {
            None
        } else {
            self.improve_geometry(FAR_IN_RHO * rho, true)
        };
        if let Some(next) = next {
            self.record(StepKind::Short, record);
            return next;
        }
        if rho > self.options.trust_region.final_radius {
            let next = self.reduce_radius();
            self.record(StepKind::Short, record);
            return next;
        }
        self.record(StepKind::Short, record);
        if !(length > 0.0 && step.decrease > 0.0) || self.options.restarts.is_some() {
            return self.finish_or_restart(Termination::RadiusReached);
        }
        let target = self.rule().last_target(&self.now(), step.decrease);
        let u = self.points.at_step(&step.v, self.trust.delta());
        let query = self.new_point(u, target, Purpose::Trial);
        Next::Ask(Phase::Last, vec![query])
    }

    pub(super) fn on_last(&mut self, answers: Vec<Answer<R>>) -> Next<R> {
        for point in answers.into_iter().flatten() {
            if self.rule().accepts_last(&self.now(), &point) {
                let step = self.points.step_to(&point.u);
                self.take_into_set(&step, point, true, true);
            }
        }
        Next::Stop(Termination::RadiusReached)
    }

    /// Reduces the lower radius. If it is the final one already, ends or restarts the run.
    fn reduce_radius(&mut self) -> Next<R> {
        let trust_region = &self.options.trust_region;
        if self.trust.rho() <= trust_region.final_radius {
            let why = if self.trust.blocked {
                Termination::Blocked
            } else {
                Termination::RadiusReached
            };
            return self.finish_or_restart(why);
        }
        self.trust.reduce(trust_region);
        Next::Continue
    }

    /// Asks for a more accurate incumbent if its error hides the predicted decrease.
    fn sharper_incumbent(&self, predicted: f64) -> Option<Next<R>> {
        let target = self.rule().incumbent_target(&self.now(), predicted)?;
        Some(self.sharpen(vec![self.again(self.points.incumbent(), target)]))
    }

    /// Computes the minimiser of the model in the trust region.
    pub(super) fn model_step(&mut self, delta: f64, how: TrustStep) -> ModelStep {
        let model = self.objective_model(delta);
        model.minimize(&self.region(delta, delta), how)
    }

    /// Builds the model of the objective, for steps in multiples of `delta`.
    pub(super) fn objective_model(&mut self, delta: f64) -> ObjectiveModel {
        let most_points = match self.options.model {
            Model::Composite { points_per_param } => {
                let batch = self.options.batch;
                Some(composite_points(points_per_param, self.dim(), batch))
            }
            Model::Automatic | Model::Linear | Model::Regression { .. } => None,
        };
        self.points.model(delta, most_points)
    }

    /// Puts a trial point into the set.
    pub(super) fn take_into_set(
        &mut self,
        step: &[f64],
        point: Point<R>,
        accepted: bool,
        decreased: bool,
    ) {
        let may_displace = decreased && self.rule().may_displace_incumbent(&self.now(), &point);
        let delta = self.trust.delta();
        self.points.take(step, point, delta, accepted, may_displace);
    }

    /// Whether the lower radius may be reduced at once, without moving far points first, because
    /// predictions are accurate enough for steps of its length. As in Powell's BOBYQA report
    /// (2009), the errors of the last three predictions are compared with the decrease that the
    /// model's curvature, or its gradient at a bound, can give within the lower radius.
    fn is_done_with_radius(&self, step: &ModelStep) -> bool {
        let Some(error) = self.trust.prediction_error() else {
            return false;
        };
        let (rho, delta) = (self.trust.rho(), self.trust.delta());
        let curvature = step.curvature / (delta * delta);
        if curvature > 0.0 && error > CURVATURE_SHARE * rho * rho * curvature {
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

    /// Whether the objectives of all points are equal up to the noise level.
    fn all_within_noise(&self) -> bool {
        let Some(level) = self.options.noise.level else {
            return false;
        };
        let least = self.points.incumbent().objective;
        let limit = |samples: u32| match level {
            NoiseLevel::Additive(sigma) => least + sigma / f64::from(samples).sqrt(),
            NoiseLevel::Multiplicative(sigma) => least * (1.0 + sigma / f64::from(samples).sqrt()),
        };
        let within = |point: &Point<R>| point.objective <= limit(point.samples);
        self.points.len() > self.dim() && self.points.iter().all(within)
    }
}

impl<R> Trial<R> {
    /// The evaluated points.
    pub(super) fn undecided(&self) -> impl Iterator<Item = &Point<R>> {
        self.point.iter().chain(&self.companions)
    }

    pub(super) fn undecided_mut(&mut self) -> impl Iterator<Item = &mut Point<R>> {
        self.point.iter_mut().chain(&mut self.companions)
    }

    /// Takes an evaluation of the trial point. If the evaluation failed, the point keeps the
    /// residuals of an earlier evaluation, if there was one, and its accuracy counts as the
    /// oracle's floor.
    pub(super) fn take(&mut self, answer: Option<Answer<R>>) {
        match (answer, &mut self.point) {
            (Some(Ok(mut point)), before) => {
                if let Some(before) = before {
                    point.note_floor(before.accuracy);
                }
                *before = Some(point);
            }
            (_, Some(before)) => before.at_floor = true,
            (_, None) => {}
        }
    }

    pub(super) fn step_record(&self, ratio: Option<f64>, certified: bool) -> StepRecord {
        StepRecord::of_step(&self.step, self.predicted, self.gradient, ratio, certified)
    }
}
