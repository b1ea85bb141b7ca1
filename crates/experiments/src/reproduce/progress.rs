//! The progress of the runs: a bar on a terminal, and a line for each finished run.

use std::fmt::Display;
use std::io::Write;
use std::time::Instant;

use ::page::number::duration;
use anyhow::Result;
use indicatif::{ProgressBar, ProgressStyle};

use super::plan::PlannedRun;

/// The progress of a plan.
pub(super) struct PlanProgress {
    bar: ProgressBar,
    begin: Instant,
    /// The estimated seconds of all runs.
    total: f64,
    /// The estimated seconds of the finished runs.
    done: f64,
}

/// The number of positions of the bar.
const PARTS: u64 = 1000;

impl PlanProgress {
    pub(super) fn new(plan: &[PlannedRun]) -> Self {
        let bar = ProgressBar::new(PARTS);
        if let Ok(style) = ProgressStyle::with_template("{bar:30} {msg}") {
            bar.set_style(style);
        }
        Self {
            bar,
            begin: Instant::now(),
            total: plan.iter().map(|run| run.seconds).sum(),
            done: 0.0,
        }
    }

    /// Shows that a run has used this share of its budget.
    pub(super) fn show(&self, run: &PlannedRun, share: f64) {
        let now = self.done + share.min(1.0) * run.seconds;
        let elapsed = self.begin.elapsed().as_secs_f64();
        // The estimate is scaled by how accurate it was so far.
        let left = if now > 0.0 {
            elapsed / now * (self.total - now)
        } else {
            self.total
        };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a place on a bar"
        )]
        let place = (PARTS as f64 * now / self.total) as u64;
        self.bar.set_position(place.min(PARTS));
        let left = duration(left);
        self.bar
            .set_message(format!("about {left} left, {}", run.id));
    }

    /// Marks a run as finished.
    pub(super) fn finish(&mut self, run: &PlannedRun) {
        self.done += run.seconds;
    }

    /// Writes a line without disturbing the bar.
    pub(super) fn line(&self, out: &mut dyn Write, line: &dyn Display) -> Result<()> {
        self.bar.suspend(|| {
            writeln!(out, "{line}")?;
            out.flush()
        })?;
        Ok(())
    }

    pub(super) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}
