//! One iteration from top to bottom: the step of the model, the line search with certified
//! decisions, and what follows from them.

use super::levelling::{Visited, stretch};
use super::search::{Decision, Search};
use super::{Engine, Next, Phase, Point};
use crate::linalg::{dot, norm};
use crate::model::{Local, Step};
use crate::report::{StepKind, Termination};
use crate::{Job, Request};

/// The number of rejected trial points after which the incumbent is sharpened and the direction
/// computed again.
const REJECTED_AT_ONCE: u32 = 3;
/// The largest number of rejected or failed trial points of one line search.
const MAX_TRIALS: u32 = 40;
/// The number of line searches without success after which the pairs are forgotten.
const FORGET_AFTER: u32 = 3;
/// The number of line searches without success after which the gradient counts as wrong.
const MAX_FAILURES: u32 = 10;
/// The factor by which the incumbent's interval shall fall when its gradient is in doubt.
const RENEWED: f64 = 0.1;
/// The largest number of times that an incumbent is sharpened because of a small gradient.
const MAX_VERIFIED: u32 = 3;
/// A gradient is in doubt when its norm, or that of a difference, is below this multiple of the
/// estimated error.
const DOUBT: f64 = 2.0;
/// The number of incumbents in a row with a small predicted decrease that ends the run.
const SMALL_IN_A_ROW: u32 = 2;
/// A decrease below this share of its limit is not worth sharpening a point, be it predicted or the
/// largest that the intervals allow; a choice.
const NOT_WORTH: f64 = 1e-3;
/// A predicted decrease below this share of the objective is rounding error.
const ROUNDING: f64 = 1e-13;
/// The length of the first step if the gradient is too small to set it, as a share of the
/// parameters' norm, or of one if that is larger.
const FIRST_LENGTH: f64 = 1e-4;

impl<R: Clone> Engine<R> {
    /// Continues after an answer that could be used.
    pub(super) fn proceed(&mut self) -> Next<R> {
        match self.state.phase {
            Phase::First => {
                self.state.progress.is_fresh = true;
                self.mark();
                self.record(StepKind::Initial, None, None, None);
                Next::Step
            }
            Phase::Trial | Phase::SharpenTrial | Phase::SharpenIncumbent => Next::Decide,
            Phase::Renew => self.renew(true),
            Phase::Verify => Next::Step,
        }
    }

    /// Continues after a point that could not be evaluated.
    pub(super) fn on_rejected(&mut self, reason: String) -> Next<R> {
        match self.state.phase {
            Phase::First => Next::Stop(Termination::OracleFailed { reason }),
            Phase::Trial => self.on_failed_trial(),
            Phase::SharpenTrial => {
                let trial = self.state.search.as_mut().and_then(|s| s.trial.as_mut());
                if let Some(trial) = trial {
                    trial.refuse();
                }
                Next::Decide
            }
            phase => {
                if let Some(incumbent) = &mut self.state.incumbent {
                    incumbent.refuse();
                }
                match phase {
                    Phase::SharpenIncumbent => Next::Decide,
                    Phase::Renew => self.renew(false),
                    _ => Next::Step,
                }
            }
        }
    }

    /// Computes the step of the model and begins a line search, unless the run has converged.
    pub(super) fn compute_step(&mut self) -> Next<R> {
        let Some(incumbent) = &self.state.incumbent else {
            let reason = "the first point was lost".to_owned();
            return Next::Stop(Termination::OracleFailed { reason });
        };
        let smooth = self
            .problem
            .smooth_part(&incumbent.theta, &incumbent.gradient);
        let projected = self.problem.projected_gradient(&incumbent.theta, &smooth);
        let local = Local {
            theta: &incumbent.theta,
            gradient: &smooth.gradient,
            lower: &smooth.lower,
            upper: &smooth.upper,
        };
        let memory = &mut self.state.memory;
        if !memory.is_scaled() {
            let length = FIRST_LENGTH * norm(&incumbent.theta).max(1.0);
            memory.guess_sigma((projected / length).min(1.0));
        }
        let step = loop {
            match local.step(memory) {
                Some(step) if step.slope < 0.0 => break Some(step),
                _ if memory.len() > 0 => memory.clear(),
                _ => break None,
            }
        };
        let predicted = step.as_ref().map_or(0.0, |step| step.predicted);
        if projected <= DOUBT * incumbent.gradient_error
            && incumbent.gradient_error > 0.0
            && self.state.progress.num_verified < MAX_VERIFIED
            && incumbent.can_improve()
            && !self.is_negligible(predicted, projected)
        {
            self.state.progress.num_verified += 1;
            return self.sharpen_incumbent(Phase::Verify, RENEWED);
        }
        match step {
            None => Next::Stop(Termination::Converged),
            Some(step) if !step.slope.is_finite() => Next::Stop(Termination::OracleFailed {
                reason: "the gradient is too large for floating-point numbers".to_owned(),
            }),
            Some(mut step) => {
                let bounds = [&smooth.lower[..], &smooth.upper];
                let trail = &self.state.progress.trail;
                stretch(trail, incumbent, bounds, step.slope, &mut step.direction);
                step.slope = dot(&smooth.gradient, &step.direction);
                self.begin_search(step)
            }
        }
    }

    /// Whether a predicted decrease is below the limit even if the gradient is wrong by its
    /// estimated error. The decrease grows with the square of the gradient.
    fn is_negligible(&self, predicted: f64, projected: f64) -> bool {
        let error = self
            .state
            .incumbent
            .as_ref()
            .map_or(0.0, |p| p.gradient_error);
        predicted * (1.0 + error / projected).powi(2) <= self.limit()
    }

    /// Whether a predicted decrease is below the limit or below the objective's rounding error.
    fn is_within_rounding(&self, predicted: f64) -> bool {
        let magnitude = self.state.incumbent.as_ref().map_or(0.0, Point::magnitude);
        predicted <= self.limit().max(ROUNDING * magnitude)
    }

    /// The limit of the predicted decrease.
    fn limit(&self) -> f64 {
        let value = self.state.incumbent.as_ref().map_or(0.0, Point::value);
        let stop = &self.state.options.stop;
        (stop.predicted * value.abs()).max(stop.absolute)
    }

    /// Counts small predictions, and asks for the first trial point.
    fn begin_search(&mut self, step: Step) -> Next<R> {
        let limit = self.limit();
        let state = &mut self.state;
        if std::mem::replace(&mut state.progress.is_fresh, false) {
            let is_small = state.memory.is_scaled() && step.predicted <= limit;
            state.progress.num_small = if is_small {
                state.progress.num_small + 1
            } else {
                0
            };
        }
        let theta = state
            .incumbent
            .as_ref()
            .map_or(&[][..], |point| &point.theta);
        let is_small = state.progress.num_small >= SMALL_IN_A_ROW;
        if (is_small && state.progress.remaining() <= limit)
            || !is_resolved(theta, &step.direction, 1.0)
        {
            return Next::Stop(Termination::Converged);
        }
        let length = norm(&step.direction);
        let first = (state.progress.longest_step() / length).min(1.0);
        let longest = self.problem.longest_share(theta, &step.direction);
        let share = state
            .progress
            .share
            .take()
            .map_or(first, |share| share.min(first));
        state.search = Some(Search::new(step, share, longest));
        self.try_share()
    }

    /// Asks for the trial point at the share of the line search.
    fn try_share(&self) -> Next<R> {
        let (Some(incumbent), Some(search)) = (&self.state.incumbent, &self.state.search) else {
            return Next::Step;
        };
        let theta = (self.problem).walk(&incumbent.theta, &search.direction, search.share);
        let request = Request::New {
            near: incumbent.resume.clone(),
            kappa: self.state.options.kappa,
        };
        Next::Ask(Phase::Trial, Job::new(theta, request))
    }

    fn sharpen_incumbent(&self, phase: Phase, shrink: f64) -> Next<R> {
        self.state.incumbent.as_ref().map_or(Next::Step, |point| {
            Next::Ask(phase, sharpening(point, shrink))
        })
    }

    /// Decides about the trial point, or asks for what is needed to decide.
    pub(super) fn decide(&mut self) -> Next<R> {
        let limit = self.limit();
        let (Some(incumbent), Some(search)) = (&self.state.incumbent, &mut self.state.search)
        else {
            return Next::Step;
        };
        let Some(trial) = search.trial.take() else {
            return Next::Step;
        };
        let slope = |gradient: &[f64]| {
            self.problem
                .slope(&incumbent.theta, &search.direction, gradient)
        };
        let (first, last) = (slope(&incumbent.gradient), slope(&trial.gradient));
        if !(first < 0.0) {
            // The incumbent was sharpened, and the direction is not downhill any more.
            search.trial = Some(trial);
            return self.renew(true);
        }
        // the largest decrease that the intervals allow
        let most = incumbent.interval().upper - trial.interval().lower;
        match search.decide(incumbent, &trial, first) {
            Decision::Accept if search.is_too_short(first, last) => {
                search.extend(trial);
                self.try_share()
            }
            Decision::Accept => {
                let (share, point) = search.better(trial);
                self.accept(share, point)
            }
            Decision::Reject => {
                if let Some((share, point)) = search.take_kept() {
                    return self.accept(share, point);
                }
                search.shorten(incumbent.value(), first, trial.value(), last);
                search.num_rejected += 1;
                search.trial = Some(trial);
                self.on_rejected_trial()
            }
            Decision::SharpenTrial(_) | Decision::SharpenIncumbent(_)
                if (search.predicted <= NOT_WORTH * limit || most <= NOT_WORTH * limit)
                    && self.state.progress.num_small > 0 =>
            {
                Next::Stop(Termination::Converged)
            }
            Decision::SharpenTrial(shrink) => {
                let job = sharpening(&trial, shrink);
                search.trial = Some(trial);
                Next::Ask(Phase::SharpenTrial, job)
            }
            Decision::SharpenIncumbent(shrink) => {
                search.trial = Some(trial);
                self.sharpen_incumbent(Phase::SharpenIncumbent, shrink)
            }
            Decision::Undecidable { wanted, achieved } => {
                if let Some((share, point)) = search.take_kept() {
                    return self.accept(share, point);
                }
                search.trial = Some(trial);
                self.on_undecidable(wanted, achieved)
            }
        }
    }

    /// Makes an accepted point the incumbent.
    fn accept(&mut self, share: f64, point: Point<R>) -> Next<R> {
        self.store_pair(&point);
        let predicted = self.state.search.take().map(|search| search.predicted);
        let before = self.state.incumbent.as_ref().map_or(f64::NAN, Point::value);
        let step = self.state.incumbent.as_ref().map(|old| {
            let step = point
                .theta
                .iter()
                .zip(&old.theta)
                .map(|(new, old)| new - old);
            norm(&step.collect::<Vec<f64>>())
        });
        self.state.progress.note_length(step);
        let visited = self.state.incumbent.as_ref().map(Visited::from);
        self.state.progress.note_visited(visited);
        self.state.progress.note_decrease(before - point.value());
        self.state.incumbent = Some(point);
        let progress = &mut self.state.progress;
        progress.is_fresh = true;
        (progress.num_failures, progress.num_verified) = (0, 0);
        progress.share = None;
        self.record(StepKind::Accepted, Some(share), step, predicted);
        if self.mark() {
            return Next::Stop(Termination::Slow);
        }
        Next::Step
    }

    /// Stores the pair from the incumbent to a point, unless the gradients' errors spoil it.
    /// Returns whether it was stored.
    fn store_pair(&mut self, point: &Point<R>) -> bool {
        let Some(incumbent) = &self.state.incumbent else {
            return false;
        };
        let difference = |new: &[f64], old: &[f64]| -> Vec<f64> {
            new.iter().zip(old).map(|(new, old)| new - old).collect()
        };
        let change = difference(&point.gradient, &incumbent.gradient);
        let error = point.gradient_error.max(incumbent.gradient_error);
        if !(norm(&change) > DOUBT * error) {
            return false;
        }
        let step = difference(&point.theta, &incumbent.theta);
        self.state.memory.push(step, change)
    }

    /// Continues after a rejected trial point. After every third one the incumbent is sharpened and
    /// the direction computed again.
    fn on_rejected_trial(&mut self) -> Next<R> {
        let (Some(search), Some(incumbent)) = (&self.state.search, &self.state.incumbent) else {
            return Next::Step;
        };
        if self.state.memory.is_scaled() && search.predicted <= ROUNDING * incumbent.magnitude() {
            return Next::Stop(Termination::Converged);
        }
        if !search.num_rejected.is_multiple_of(REJECTED_AT_ONCE) {
            return self.try_share();
        }
        if incumbent.can_improve() {
            return self.sharpen_incumbent(Phase::Renew, RENEWED);
        }
        self.renew(false)
    }

    /// Ends a line search without success, with a pair from its last trial point. Without any news
    /// the line search goes on with shorter steps.
    fn renew(&mut self, is_sharpened: bool) -> Next<R> {
        let Some(mut search) = self.state.search.take() else {
            return Next::Step;
        };
        let trial = search.trial.take();
        let is_stored = trial.is_some_and(|trial| self.store_pair(&trial));
        let incumbent = self.state.incumbent.as_ref();
        let theta = incumbent.map_or(&[][..], |point| &point.theta);
        let can_go_on =
            search.num_rejected < MAX_TRIALS && is_resolved(theta, &search.direction, search.share);
        if !(is_sharpened || is_stored) && can_go_on {
            self.state.search = Some(search);
            return self.try_share();
        }
        let (share, predicted) = (search.share, search.predicted);
        self.record(StepKind::Failed, Some(share), None, Some(predicted));
        let progress = &mut self.state.progress;
        progress.num_failures += 1;
        progress.share = (!is_stored).then_some(share);
        let is_hopeless = !(is_sharpened || is_stored || self.state.memory.len() > 0);
        if is_hopeless || progress.num_failures >= MAX_FAILURES {
            return self.no_descent(predicted);
        }
        if progress.num_failures >= FORGET_AFTER {
            self.state.memory.clear();
            if !is_stored && !is_sharpened {
                self.state.progress.share = None;
            }
        }
        Next::Step
    }

    /// Ends a run in which no step decreases the objective.
    fn no_descent(&self, predicted: f64) -> Next<R> {
        if self.is_within_rounding(predicted) {
            return Next::Stop(Termination::Converged);
        }
        Next::Stop(Termination::NoDescent { predicted })
    }

    /// Continues after intervals that do not decide and cannot be narrowed.
    fn on_undecidable(&mut self, wanted: f64, achieved: f64) -> Next<R> {
        let Some(search) = &mut self.state.search else {
            return Next::Step;
        };
        let (predicted, share) = (search.predicted, search.share);
        let trial = search.trial.take();
        if self.state.memory.is_scaled() && self.is_within_rounding(predicted) {
            return Next::Stop(Termination::Converged);
        }
        let is_stored = trial.is_some_and(|trial| self.store_pair(&trial));
        self.state.progress.num_failures += 1;
        if is_stored && self.state.progress.num_failures < FORGET_AFTER {
            self.record(StepKind::Failed, Some(share), None, Some(predicted));
            self.state.search = None;
            return Next::Step;
        }
        Next::Stop(Termination::AccuracyFloor { wanted, achieved })
    }

    /// Continues after a trial point that could not be evaluated, with a step of half the length.
    fn on_failed_trial(&mut self) -> Next<R> {
        let (Some(search), Some(incumbent)) = (&mut self.state.search, &self.state.incumbent)
        else {
            return Next::Step;
        };
        if let Some((share, point)) = search.take_kept() {
            return self.accept(share, point);
        }
        search.num_failed += 1;
        search.halve();
        if search.num_failed < MAX_TRIALS
            && is_resolved(&incumbent.theta, &search.direction, search.share)
        {
            return self.try_share();
        }
        if self.state.memory.len() == 0 {
            return Next::Stop(Termination::Blocked);
        }
        let (share, predicted) = (search.share, search.predicted);
        self.record(StepKind::Failed, Some(share), None, Some(predicted));
        self.state.memory.clear();
        self.state.search = None;
        Next::Step
    }
}

/// The job that sharpens a point.
fn sharpening<R: Clone>(point: &Point<R>, shrink: f64) -> Job<R> {
    let request = Request::Sharpen {
        known: point.resume.clone(),
        shrink,
    };
    Job::new(point.theta.clone(), request)
}

/// Whether a step changes some parameter by more than its rounding error.
fn is_resolved(theta: &[f64], direction: &[f64], share: f64) -> bool {
    let mut pairs = theta.iter().zip(direction);
    pairs.any(|(x, d)| (share * d).abs() > f64::EPSILON * x.abs())
}
