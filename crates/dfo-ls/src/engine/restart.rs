//! Slow progress, runs that only chase noise, and starting again around the best point.

use super::{Engine, Row};
use crate::report::{StepKind, Termination};

/// The last objectives, and for how many iterations progress was slow.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct SlowTracker {
    objectives: Vec<f64>,
    slow: u64,
}

/// What is known of restarts so far.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct RestartTracker {
    unsuccessful: u32,
    count: i32,
    /// The best objective at the last restart.
    best: Option<f64>,
    /// Steps in a row that were not good enough.
    pub(super) vain: u32,
}

/// The radius of restarts goes through this many doublings of the initial radius, then begins again: noise that hides every
/// difference at one radius is small beside those at a larger one.
const RADII: i32 = 5;
/// A run is taken to chase noise after this many steps in vain,
const VAIN: u32 = 20;
/// and this many more for every parameter.
const VAIN_PER_PARAM: u32 = 2;

impl<R: Clone> Engine<R> {
    /// Ends the run, or starts again if that is wanted and was not in vain too often.
    pub(super) fn finish_or_restart(&mut self, why: Termination) {
        let Some(restarts) = self.state.options.restarts.clone() else {
            self.stop(why);
            return;
        };
        let best = self
            .state
            .best
            .as_ref()
            .map_or(f64::INFINITY, |best| best.objective);
        let tracker = &mut self.state.control.restarts;
        if tracker.best.is_some_and(|before| !(best < before)) {
            tracker.unsuccessful += 1;
        } else {
            tracker.unsuccessful = 0;
        }
        tracker.best = Some(best);
        tracker.vain = 0;
        if tracker.unsuccessful >= restarts.max_unsuccessful {
            self.stop(Termination::RestartsExhausted);
            return;
        }
        self.state.control.restarts.count += 1;
        let doublings = self.state.control.restarts.count % RADII;
        let radius = self.state.options.trust_region.initial_radius * 2.0_f64.powi(doublings);
        self.state.delta = radius;
        self.state.rho = radius;
        self.state.control.errors = [0.0; 3];
        self.state.control.iteration = 0;
        self.state.control.last_success = 0;
        self.state.control.slow = SlowTracker::default();
        self.record(StepKind::Restarted, Row::without_step(0.0));
        let state = &self.state;
        let mut nearest: Vec<(f64, usize)> = (0..state.set.len())
            .map(|position| (state.distance(state.set[position]), position))
            .collect();
        nearest.sort_by(|a, b| a.0.total_cmp(&b.0));
        nearest.truncate(restarts.num_moved);
        let positions: Vec<usize> = nearest.iter().map(|near| near.1).collect();
        if !self.move_points(&positions, radius) {
            self.stop(why);
        }
    }

    /// Whether progress has been slow for too long, this iteration included.
    pub(super) fn is_slow(&mut self, before: f64) -> bool {
        let Some(slow) = self.state.options.slow.clone() else {
            return false;
        };
        let now = self.state.incumbent().objective;
        let patience = u64::from(slow.patience) * self.state.dim() as u64;
        let tracker = &mut self.state.control.slow;
        if tracker.objectives.is_empty() {
            tracker.objectives.push(before);
        }
        tracker.objectives.push(now);
        if tracker.objectives.len() <= slow.history {
            return false;
        }
        let oldest = tracker.objectives.remove(0);
        let rate = (oldest.ln() - now.ln()) / slow.history as f64;
        tracker.slow = if rate >= slow.rate {
            0
        } else {
            tracker.slow + 1
        };
        tracker.slow >= patience
    }

    /// Whether so many steps were in vain that only noise is left at this radius.
    pub(super) fn chases_noise(&mut self, ratio: f64) -> bool {
        let Some(restarts) = &self.state.options.restarts else {
            return false;
        };
        let dim = u32::try_from(self.state.dim()).unwrap_or(u32::MAX);
        let limit = VAIN.saturating_add(VAIN_PER_PARAM.saturating_mul(dim));
        let tracker = &mut self.state.control.restarts;
        tracker.vain = if ratio >= self.state.options.trust_region.eta1 {
            0
        } else {
            tracker.vain + 1
        };
        restarts.automatic && tracker.vain >= limit
    }
}

#[cfg(test)]
mod tests;
