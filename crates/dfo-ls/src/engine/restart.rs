//! Slow progress, runs that only chase noise, and starting again around the best point.

use super::{Next, Run, StepRecord};
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

/// The radius of restarts goes through this many doublings of the initial radius, then begins
/// again: noise that hides every difference at one radius is small compared with those at a larger
/// one (measured: decision record 8).
const RADII: i32 = 5;
/// A run is taken to chase noise after this many unsuccessful steps in a row, and
/// [`VAIN_PER_PARAM`] more for every parameter (measured: decision record 8).
const VAIN: u32 = 20;
/// A run may have this many more unsuccessful steps in a row than [`VAIN`] for every parameter
/// before it is taken to chase noise (measured: decision record 8).
const VAIN_PER_PARAM: u32 = 2;

impl<R: Clone> Run<'_, R> {
    /// Ends the run, or starts again if that is wanted and was not too often without success.
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
        tracker.vain = 0;
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

    /// Counts the step if progress was slow. Says whether that has now been so for too long.
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

    /// Counts the step if it was in vain; a good step sets the count to zero. Says whether so many
    /// steps in a row were in vain that only noise is left at this radius.
    pub(super) fn count_vain_step(&mut self, ratio: f64) -> bool {
        let Some(restarts) = &self.options.restarts else {
            return false;
        };
        let dim = u32::try_from(self.dim()).unwrap_or(u32::MAX);
        let limit = VAIN.saturating_add(VAIN_PER_PARAM.saturating_mul(dim));
        let tracker = &mut self.trust.restarts;
        tracker.vain = if ratio >= self.options.trust_region.eta1 {
            0
        } else {
            tracker.vain + 1
        };
        restarts.automatic && tracker.vain >= limit
    }
}

#[cfg(test)]
mod tests;
