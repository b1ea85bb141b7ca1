//! The two radii, and what the iterations remember of each other.

use super::restart::{RestartTracker, SlowTracker};
use crate::options::TrustRegion;
use crate::radius;

/// The trust region. The radius `$\Delta$` is never below the lower radius `$\rho$`, at which it
/// stays until steps of that length have nothing left to give.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct TrustState {
    delta: f64,
    rho: f64,
    /// Errors of the last three predictions.
    errors: [f64; 3],
    /// The number of model steps since the start or the last restart. Those after which only the
    /// incumbent was sharpened are included.
    iteration: u64,
    /// The value of `iteration` when a step was last longer than the lower radius, or when that was
    /// last reduced.
    last_success: u64,
    pub(super) slow: SlowTracker,
    pub(super) restarts: RestartTracker,
    /// Whether the last step could not be evaluated.
    pub(super) blocked: bool,
    /// Geometry points in a row that could not be evaluated.
    pub(super) geometry_failures: u32,
    /// How often in a row the paper's model was improved without success.
    pub(super) improvements: u32,
    /// Why the start could not be evaluated.
    pub(super) start_failure: Option<String>,
    /// Random vectors drawn so far.
    pub(super) draws: u64,
}

/// When a point of the set is far away, the radius shrinks to at most this share of itself:
/// Powell's BOBYQA report (2009).
const SHRINK: f64 = 0.1;
/// When a point of the set is far away, the radius shrinks to at most this share of the point's
/// distance: Powell's BOBYQA report (2009).
const SHRINK_TO_DISTANCE: f64 = 0.5;
/// When a point of the set is far away, the radius is still at least this multiple of the lower
/// radius: Powell's BOBYQA report (2009).
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

    /// Counts a model step. A step after which only the incumbent is sharpened is counted too, and
    /// the one that is computed afterwards is counted again.
    pub(super) const fn begin_iteration(&mut self) {
        self.iteration += 1;
    }

    /// Notes how far the iteration moves, or could have moved.
    pub(super) fn note_length(&mut self, length: f64) {
        if length > self.rho {
            self.last_success = self.iteration;
        }
    }

    /// Notes by how much a prediction was wrong.
    pub(super) fn note_error(&mut self, error: f64) {
        self.errors.rotate_right(1);
        self.errors[0] = error;
    }

    /// The largest error of the last three predictions; `None` for two iterations after a step
    /// longer than the lower radius, of which too little is known yet.
    pub(super) fn prediction_error(&self) -> Option<f64> {
        let is_known = self.iteration > self.last_success + 2;
        is_known.then(|| self.errors.iter().fold(0.0_f64, |a, b| a.max(*b)))
    }

    /// The radius follows from a step and the ratio of achieved to predicted decrease.
    pub(super) fn after_step(&mut self, length: f64, ratio: f64, rules: &TrustRegion) {
        self.delta = radius::after_step(self.delta, self.rho, length, ratio, rules);
    }

    /// The next lower radius.
    pub(super) fn reduce(&mut self, rules: &TrustRegion) {
        (self.rho, self.delta) = radius::reduce(self.rho, rules);
        self.last_success = self.iteration;
    }

    /// Shrinks the radius because a point of the set is far away.
    pub(super) fn shrink_for(&mut self, distance: f64) {
        let wanted = (SHRINK * self.delta).min(SHRINK_TO_DISTANCE * distance);
        self.delta = wanted.max(SHRINK_LEAST * self.rho);
    }

    /// Begins again with another radius.
    pub(super) fn restart(&mut self, radius: f64) {
        (self.delta, self.rho) = (radius, radius);
        self.errors = [0.0; 3];
        self.iteration = 0;
        self.last_success = 0;
        self.slow = SlowTracker::default();
    }

    /// Sets the one radius of Algorithm 1.
    pub(super) const fn set_single(&mut self, radius: f64) {
        (self.delta, self.rho) = (radius, radius);
    }
}
