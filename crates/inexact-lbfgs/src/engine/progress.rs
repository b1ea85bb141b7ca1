//! Progress: the counters that carry over between iterations, the decrease that is still to come,
//! and the history.

use super::levelling::Visited;
use super::{Engine, Point};
use crate::History;
use crate::report::{Iteration, StepKind};

/// The numbers of steps over which decreases are compared, to extrapolate them: a short one for
/// fast convergence, and a long one for slow convergence, in which decreases fluctuate.
const WINDOWS: [usize; 2] = [4, 16];
/// A factor per step below which convergence is fast, so that the last steps tell enough.
const FAST: f64 = 0.5;
/// The largest factor per step of an extrapolated decrease.
const MAX_FACTOR: f64 = 0.998;

/// The counters that carry over between iterations.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Progress {
    /// Whether no step from the incumbent was computed yet.
    pub(super) is_fresh: bool,
    /// The number of incumbents in a row whose predicted decrease was below its limit.
    pub(super) num_small: u32,
    /// The number of line searches from the incumbent that accepted no step.
    pub(super) num_failures: u32,
    /// The number of times the incumbent was sharpened because of its gradient.
    pub(super) num_verified: u32,
    /// The share of the full step to begin with, after a line search without success that gave no
    /// new pair.
    pub(super) share: Option<f64>,
    /// The lengths of the last two accepted steps; zero if there were none.
    pub(super) lengths: [f64; 2],
    /// The last two incumbents before this one.
    pub(super) trail: Vec<Visited>,
    /// The decreases of the last accepted steps.
    pub(super) decreases: Vec<f64>,
    /// Incumbents, as numbers of points and objectives, for the rule of slow progress.
    pub(super) marks: Vec<(u64, f64)>,
}

/// The first trial step is at most this many times as long as the last accepted steps; a choice.
/// After short steps, a model may otherwise send a trial point to the far end of the bounds, where
/// an evaluation can cost a thousand times as much.
const STRETCH: f64 = 3.0;
/// The largest length of the first trial step of a run; a choice.
const FIRST_STEP: f64 = 1.5;

impl Progress {
    /// Notes the length of an accepted step.
    pub(super) fn note_length(&mut self, length: Option<f64>) {
        self.lengths = [self.lengths[1], length.unwrap_or(0.0)];
    }

    /// Notes an incumbent that is replaced.
    pub(super) fn note_visited(&mut self, visited: Option<Visited>) {
        if self.trail.len() == 2 {
            self.trail.remove(0);
        }
        self.trail.extend(visited);
    }

    /// The largest length of the first trial step.
    pub(super) fn longest_step(&self) -> f64 {
        let longest = self.lengths[0].max(self.lengths[1]);
        if longest > 0.0 {
            STRETCH * longest
        } else {
            FIRST_STEP
        }
    }

    /// Notes the decrease of an accepted step.
    pub(super) fn note_decrease(&mut self, decrease: f64) {
        if self.decreases.len() == 2 * WINDOWS[1] {
            self.decreases.remove(0);
        }
        self.decreases.push(decrease.max(0.0));
    }

    /// The decrease that is still to come if the objective goes on to fall by a constant factor
    /// per step, as in the last steps. The model alone predicts too little on ill-conditioned
    /// problems: it knows only the directions of the last steps.
    pub(super) fn remaining(&self) -> f64 {
        let windows = WINDOWS.map(|window| window.min(self.decreases.len() / 2));
        if windows[0] == 0 {
            return 0.0;
        }
        let [short, long] = windows.map(|window| {
            let last = &self.decreases[self.decreases.len() - 2 * window..];
            let (earlier, later) = last.split_at(window);
            let ratio = later.iter().sum::<f64>() / earlier.iter().sum::<f64>();
            // NaN, from two zeros, counts as the largest factor.
            ratio.powf((window as f64).recip()).min(MAX_FACTOR)
        });
        let last = &self.decreases[self.decreases.len() - windows[0]..];
        let mean = last.iter().sum::<f64>() / windows[0] as f64;
        let factor = if short < FAST { short } else { short.max(long) };
        mean * factor / (1.0 - factor)
    }
}

impl<R: Clone> Engine<R> {
    /// Adds an iteration to the history.
    pub(super) fn record(
        &mut self,
        kind: StepKind,
        share: Option<f64>,
        step: Option<f64>,
        predicted: Option<f64>,
    ) {
        let Some(incumbent) = &self.state.incumbent else {
            return;
        };
        let smooth = self
            .problem
            .smooth_part(&incumbent.theta, &incumbent.gradient);
        let with_theta = self.state.options.history == History::Parameters;
        let ledger = &mut self.state.ledger;
        ledger.iterations.push(Iteration {
            number: ledger.iterations.len() as u64,
            kind,
            theta: with_theta.then(|| incumbent.theta.clone()),
            value: incumbent.value(),
            interval: incumbent.interval(),
            share,
            step,
            predicted,
            projected_gradient: self.problem.projected_gradient(&incumbent.theta, &smooth),
            num_points: ledger.num_points,
            num_evaluations: ledger.num_evaluations,
            work: ledger.work.total(),
        });
    }

    /// Notes the incumbent for the rule of slow progress. Returns whether progress is slow.
    pub(super) fn mark(&mut self) -> bool {
        let Some(slow) = &self.state.options.stop.slow else {
            return false;
        };
        let value = self.state.incumbent.as_ref().map_or(f64::NAN, Point::value);
        let now = self.state.ledger.num_points;
        let marks = &mut self.state.progress.marks;
        marks.push((now, value));
        let is_old = |mark: &(u64, f64)| mark.0.saturating_add(slow.points) <= now;
        while marks.get(1).is_some_and(is_old) {
            marks.remove(0);
        }
        is_old(&marks[0]) && marks[0].1 - value < slow.decrease * value.abs()
    }
}
