//! Detection of slow progress and of noise, and restarts around the best point.

use super::{Next, Run, StepRecord};
use crate::report::{StepKind, Termination};

/// The last objectives, and the number of consecutive slow iterations.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct SlowTracker {
    objectives: Vec<f64>,
    slow: u64,
}

/// The counters of restarts and of unsuccessful steps.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct RestartTracker {
    /// The number of consecutive restarts without a better point.
    unsuccessful: u32,
    /// The number of restarts.
    count: i32,
    /// The best objective at the last restart.
    best: Option<f64>,
    /// The number of consecutive unsuccessful steps.
    #[cfg_attr(feature = "serde", serde(rename = "vain"))]
    pub(super) unsuccessful_steps: u32,
}

/// The number of radii that restarts go through: the initial radius, doubled each time, then from
/// the beginning. Noise that hides every difference at one radius is small compared with the
/// differences at a larger one (measured: decision record 8).
const RADII: i32 = 5;
/// The number of consecutive unsuccessful steps after which only noise is assumed to be left, to
/// which [`NOISY_STEPS_PER_PARAM`] is added for every parameter (measured: decision record 8).
const NOISY_STEPS: u32 = 20;
/// The number of further unsuccessful steps for every parameter (see [`NOISY_STEPS`]).
const NOISY_STEPS_PER_PARAM: u32 = 2;

impl<R: Clone> Run<'_, R> {
    /// Restarts the run, or ends it if there are no restarts or too many were unsuccessful.
    pub(super) fn finish_or_restart(&mut self, why: Termination) -> Next<R> {
        let Some(restarts) = &self.options.restarts else {
            return Next::Stop(why);
        };
        let best = self.ledger.best.as_ref();
        let best = best.map_or(f64::INFINITY, |best| best.objective);
        let tracker = &mut self.trust.restarts;
        if tracker.best.is_some_and(|before| !(best < before)) {
            tracker.unsuccessful += 1;
        } else {
            tracker.unsuccessful = 0;
        }
        tracker.best = Some(best);
        tracker.unsuccessful_steps = 0;
        if tracker.unsuccessful >= restarts.max_unsuccessful {
            return Next::Stop(Termination::RestartsExhausted);
        }
        tracker.count += 1;
        let doublings = tracker.count % RADII;
        let radius = self.options.trust_region.initial_radius * 2.0_f64.powi(doublings);
        self.trust.restart(radius);
        self.record(StepKind::Restarted, StepRecord::without_step(0.0));
        let mut nearest = self.points.distances();
        nearest.sort_by(|a, b| a.0.total_cmp(&b.0));
        nearest.truncate(restarts.num_moved);
        let positions: Vec<usize> = nearest.iter().map(|near| near.1).collect();
        self.move_points(&positions, radius)
            .unwrap_or(Next::Stop(why))
    }

    /// Counts the step if progress was slow. Returns whether progress has been slow for too long.
    pub(super) fn count_slow_step(&mut self, before: f64) -> bool {
        let Some(slow) = &self.options.slow else {
            return false;
        };
        let now = self.points.incumbent().objective;
        let patience = u64::from(slow.patience) * self.dim() as u64;
        let tracker = &mut self.trust.slow;
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

    /// Counts an unsuccessful step; a successful one resets the count. Returns whether the count
    /// has reached the limit at which only noise is assumed to be left at this radius.
    pub(super) fn count_unsuccessful_step(&mut self, ratio: f64) -> bool {
        let Some(restarts) = &self.options.restarts else {
            return false;
        };
        let dim = u32::try_from(self.dim()).unwrap_or(u32::MAX);
        let limit = NOISY_STEPS.saturating_add(NOISY_STEPS_PER_PARAM.saturating_mul(dim));
        let tracker = &mut self.trust.restarts;
        tracker.unsuccessful_steps = if ratio >= self.options.trust_region.eta1 {
            0
        } else {
            tracker.unsuccessful_steps + 1
        };
        restarts.automatic && tracker.unsuccessful_steps >= limit
    }
}

#[cfg(test)]
mod tests;
