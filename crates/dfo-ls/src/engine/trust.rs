//! The two radii, and the counters that iterations pass on to later ones.

use super::restart::{RestartTracker, SlowTracker};
use crate::options::TrustRegion;
use crate::radius;

/// The state of the trust region. The radius `$\Delta$` is never below the lower radius `$\rho$`.
/// It stays at `$\rho$` until steps of that length make no more progress.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct TrustState {
    delta: f64,
    rho: f64,
    /// The errors of the last three predicted decreases, the latest first.
    errors: [f64; 3],
    /// The number of model steps since the start or the last restart, including those after which
    /// only the incumbent was sharpened.
    iteration: u64,
    /// The value of `iteration` when a step was last longer than the lower radius, or when the
    /// lower radius was last reduced.
    last_success: u64,
    pub(super) slow: SlowTracker,
    pub(super) restarts: RestartTracker,
    /// Whether the last trial point could not be evaluated.
    pub(super) blocked: bool,
    /// The number of consecutive geometry points that could not be evaluated.
    pub(super) geometry_failures: u32,
    /// The number of consecutive rounds that did not make the paper's model fully linear.
    pub(super) improvements: u32,
    /// The reason why the start could not be evaluated.
    pub(super) start_failure: Option<String>,
    /// The number of random vectors drawn so far.
    pub(super) draws: u64,
}

/// The factor by which the radius shrinks when a point of the set is far away: Powell's BOBYQA
/// report (2009).
const SHRINK: f64 = 0.1;
/// The largest radius after a point of the set was far away, as a share of the point's distance:
/// Powell's BOBYQA report (2009).
const SHRINK_TO_DISTANCE: f64 = 0.5;
/// The smallest radius after a point of the set was far away, as a multiple of the lower radius:
/// Powell's BOBYQA report (2009).
const SHRINK_LEAST: f64 = 1.5;

impl TrustState {
    pub(super) fn new(radius: f64) -> Self {
        Self {
            delta: radius,
            rho: radius,
            errors: [0.0; 3],
            iteration: 0,
            last_success: 0,
            slow: SlowTracker::default(),
            restarts: RestartTracker::default(),
            blocked: false,
            geometry_failures: 0,
            improvements: 0,
            start_failure: None,
            draws: 0,
        }
    }

    pub(super) const fn delta(&self) -> f64 {
        self.delta
    }

    pub(super) const fn rho(&self) -> f64 {
        self.rho
    }

    /// Counts a model step. If the incumbent is sharpened next, the step that is computed
    /// afterwards counts again.
    pub(super) const fn begin_iteration(&mut self) {
        self.iteration += 1;
    }

    /// Notes the length of a step, whether it is evaluated or not.
    pub(super) fn note_length(&mut self, length: f64) {
        if length > self.rho {
            self.last_success = self.iteration;
        }
    }

    /// Notes the error of a predicted decrease.
    pub(super) fn note_error(&mut self, error: f64) {
        self.errors.rotate_right(1);
        self.errors[0] = error;
    }

    /// The largest error of the last three predicted decreases. `None` in the two iterations after
    /// a step that was longer than the lower radius or after a reduction of that radius.
    pub(super) fn prediction_error(&self) -> Option<f64> {
        let is_known = self.iteration > self.last_success + 2;
        is_known.then(|| self.errors.iter().fold(0.0_f64, |a, b| a.max(*b)))
    }

    /// Updates the radius from a step's length and its ratio of achieved to predicted decrease.
    pub(super) fn after_step(&mut self, length: f64, ratio: f64, rules: &TrustRegion) {
        self.delta = radius::after_step(self.delta, self.rho, length, ratio, rules);
    }

    /// Reduces the lower radius.
    pub(super) fn reduce(&mut self, rules: &TrustRegion) {
        (self.rho, self.delta) = radius::reduce(self.rho, rules);
        self.last_success = self.iteration;
    }

    /// Shrinks the radius because a point of the set is far away.
    pub(super) fn shrink_for(&mut self, distance: f64) {
        let wanted = (SHRINK * self.delta).min(SHRINK_TO_DISTANCE * distance);
        self.delta = wanted.max(SHRINK_LEAST * self.rho);
    }

    /// Restarts with another radius.
    pub(super) fn restart(&mut self, radius: f64) {
        (self.delta, self.rho) = (radius, radius);
        self.errors = [0.0; 3];
        self.iteration = 0;
        self.last_success = 0;
        self.slow = SlowTracker::default();
    }

    /// Sets the radius to that of a step, or to the lower radius if that is larger.
    pub(super) const fn set_radius(&mut self, radius: f64) {
        self.delta = radius.max(self.rho);
    }

    /// Sets the one radius of Algorithm 1.
    pub(super) const fn set_single(&mut self, radius: f64) {
        (self.delta, self.rho) = (radius, radius);
    }
}
