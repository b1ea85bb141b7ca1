//! Progress of a run: a bar on a terminal, lines elsewhere, or JSON for programs.

mod text;

use std::collections::VecDeque;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use bilevel::Learned;
use dfo_ls::Iteration;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use page::number::duration;
use serde::Serialize;
use serde_json::json;

use crate::session::Snapshot;

/// Seconds after which the next line is due, if there is no terminal.
const SECONDS: f64 = 10.0;
/// Share of the budget after which the next line is due, if there is no terminal.
const SHARE: f64 = 0.1;
/// Number of saves from which the remaining time is estimated.
const RECENT: usize = 10;

/// The form of the progress.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProgressFormat {
    /// A bar on a terminal, or lines on standard error if it is no terminal.
    #[default]
    People,
    /// One line of JSON on standard output for each iteration, and one at the end.
    Json,
    /// No output.
    Quiet,
}

/// Shows the progress of a run.
#[derive(Debug)]
pub struct Progress {
    format: ProgressFormat,
    bar: Option<ProgressBar>,
    /// The time of the last line, and the share of the budget that was spent then.
    last_line: Option<(Instant, f64)>,
    /// Seconds and points of recent saves.
    recent: VecDeque<(f64, u64)>,
    last_seconds: f64,
}

/// A line of JSON about an iteration.
#[derive(Serialize)]
struct IterationEvent<'a> {
    event: &'static str,
    seconds: f64,
    /// The values of the parameters at the best point.
    values: Option<&'a [f64]>,
    /// The mean PSNR of training images at the best point.
    psnr: Option<f64>,
    /// The mean PSNR of held-out images at a recent point.
    validation_psnr: Option<f64>,
    max_points: Option<u64>,
    #[serde(flatten)]
    iteration: &'a Iteration,
}

impl Progress {
    /// Returns progress that shows nothing yet.
    #[must_use]
    pub fn new(format: ProgressFormat) -> Self {
        Self {
            format,
            bar: None,
            last_line: None,
            recent: VecDeque::new(),
            last_seconds: 0.0,
        }
    }

    /// Shows a snapshot of a run.
    pub fn show(&mut self, snapshot: &Snapshot<'_>) {
        self.last_seconds = snapshot.seconds;
        self.recent
            .push_back((snapshot.seconds, snapshot.num_points));
        if self.recent.len() > RECENT + 1 {
            self.recent.pop_front();
        }
        match self.format {
            ProgressFormat::Quiet => {}
            ProgressFormat::Json => iteration_events(snapshot).for_each(|event| write_json(&event)),
            ProgressFormat::People if io::stderr().is_terminal() => self.show_bar(snapshot),
            ProgressFormat::People => self.show_line(snapshot),
        }
    }

    /// Removes the bar, so that other text can follow.
    pub fn clear(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }

    /// Writes the result as JSON for programs. People get a [summary](crate::summary).
    pub fn finish(&mut self, learned: &Learned, dir: &Path) {
        self.clear();
        if self.format != ProgressFormat::Json {
            return;
        }
        write_json(&json!({
            "event": "finished",
            "seconds": self.last_seconds,
            "solver": learned.solver,
            "termination": learned.termination,
            "objective": learned.objective,
            "interval": learned.interval,
            "gradient": learned.gradient,
            "parameters": crate::summary::values(learned),
            "num_points": learned.num_points,
            "num_evaluations": learned.evaluations.len(),
            "work": learned.work,
            "training_psnr": crate::summary::mean_psnr(&learned.training),
            "validation_psnr": crate::summary::mean_psnr(&learned.validation),
            "run": dir,
        }));
    }

    /// Estimates the seconds for the rest of the budget from recent points. A run may end earlier.
    fn seconds_left(&self, snapshot: &Snapshot<'_>) -> Option<f64> {
        let (first, last) = (self.recent.front()?, self.recent.back()?);
        let left = snapshot.max_points?.saturating_sub(snapshot.num_points);
        let points = last.1.saturating_sub(first.1);
        let seconds = (last.0 - first.0) / points as f64 * left as f64;
        (points > 0 && left > 0).then_some(seconds)
    }

    fn show_bar(&mut self, snapshot: &Snapshot<'_>) {
        let left = self.seconds_left(snapshot);
        let bar = self.bar.get_or_insert_with(|| new_bar(snapshot.seconds));
        bar.set_length(snapshot.max_points.unwrap_or(snapshot.num_points));
        bar.set_position(snapshot.num_points);
        bar.set_prefix(left.map_or_else(String::new, |left| {
            format!(", about {} left", duration(left))
        }));
        bar.set_message(text::describe(snapshot));
    }

    fn show_line(&mut self, snapshot: &Snapshot<'_>) {
        let share =
            (snapshot.max_points).map_or(0.0, |max| snapshot.num_points as f64 / max.max(1) as f64);
        let is_due = self.last_line.is_none_or(|(when, spent)| {
            when.elapsed().as_secs_f64() >= SECONDS || share >= spent + SHARE
        });
        if !is_due {
            return;
        }
        self.last_line = Some((Instant::now(), share));
        let max = snapshot
            .max_points
            .map_or_else(String::new, |max| format!("/{max}"));
        let left = self.seconds_left(snapshot);
        let left = left.map_or_else(String::new, |left| {
            format!(", about {} left", duration(left))
        });
        // a closed standard error is no error
        let _ = writeln!(
            io::stderr().lock(),
            "{}{max} points, {}{left}: {}",
            snapshot.num_points,
            duration(snapshot.seconds),
            text::describe(snapshot)
        );
    }
}

/// Returns the events of the iterations that have just ended.
fn iteration_events<'a>(snapshot: &'a Snapshot<'_>) -> impl Iterator<Item = IterationEvent<'a>> {
    (snapshot.iterations.iter()).map(|iteration| IterationEvent {
        event: "iteration",
        seconds: snapshot.seconds,
        values: snapshot.best.map(|best| &best.values[..]),
        psnr: snapshot.best.and_then(|best| best.psnr),
        validation_psnr: snapshot.held_out_psnr,
        max_points: snapshot.max_points,
        iteration,
    })
}

fn new_bar(seconds: f64) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    let template = "{spinner} {bar:20} {pos}/{len} points, {elapsed}{prefix}\n  {wide_msg}";
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    let elapsed = Duration::try_from_secs_f64(seconds).unwrap_or_default();
    let bar = bar.with_elapsed(elapsed);
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

fn write_json<T: Serialize>(event: &T) {
    if let Ok(line) = serde_json::to_string(event) {
        // a closed standard output is no error
        let _ = writeln!(io::stdout().lock(), "{line}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::BestPoint;
    use bilevel::Parameter;
    use dfo_ls::ObjectiveInterval;

    fn best(num_params: usize) -> BestPoint {
        let theta = vec![-1.0; num_params];
        BestPoint {
            values: vec![0.1; num_params],
            theta,
            objective: 3186.31,
            interval: ObjectiveInterval {
                lower: 3186.1,
                upper: 3186.5,
            },
            psnr: Some(30.0),
        }
    }

    fn snapshot<'a>(
        parameters: &'a [Parameter],
        best: &'a BestPoint,
        iterations: &'a [Iteration],
    ) -> Snapshot<'a> {
        Snapshot {
            parameters,
            num_points: 12,
            max_points: Some(40),
            best: Some(best),
            held_out_psnr: None,
            work: 34_512,
            seconds: 80.0,
            iterations,
        }
    }

    #[test]
    fn a_line_has_objective_parameters_and_work() {
        let alpha = Parameter::log10("alpha", 0.0, -7.0, 7.0);
        let few = [alpha.clone()];
        let best_of_few = best(1);
        let line = text::describe(&snapshot(&few, &best_of_few, &[]));
        let expected = "objective 3186.3 ± 0.3  mean PSNR 30.00 dB  alpha 0.1  34.5k gradients";
        assert_eq!(line, expected);
        // the first evaluation is rough
        let mut rough = best(1);
        rough.objective = 10.0;
        rough.interval = ObjectiveInterval {
            lower: 0.0,
            upper: 2749.2,
        };
        let line = text::describe(&snapshot(&few, &rough, &[]));
        assert_eq!(line, "objective at most 2750  alpha 0.1  34.5k gradients");
        let mut with_others = snapshot(&few, &best_of_few, &[]);
        with_others.held_out_psnr = Some(28.5);
        let line = text::describe(&with_others);
        assert!(
            line.contains("mean PSNR 30.00 dB, held-out 28.50 dB  alpha"),
            "{line}"
        );
        let mut many = vec![alpha; 6];
        many[0].lower = -1.0;
        let best_of_many = best(6);
        let line = text::describe(&snapshot(&many, &best_of_many, &[]));
        assert!(
            line.contains("6 parameters, 5 above their lower bound"),
            "{line}"
        );
    }

    #[test]
    fn the_rest_takes_as_long_as_the_recent_past() {
        let few = [Parameter::log10("alpha", 0.0, -7.0, 7.0)];
        let best = best(1);
        let mut progress = Progress::new(ProgressFormat::Quiet);
        let mut snapshot = snapshot(&few, &best, &[]);
        progress.show(&snapshot);
        assert_eq!(progress.seconds_left(&snapshot), None);
        snapshot.num_points = 14;
        snapshot.seconds = 83.0;
        progress.show(&snapshot);
        let left = progress.seconds_left(&snapshot).unwrap();
        assert!((left - 39.0).abs() < 1e-9, "{left}");
        snapshot.num_points = 40;
        assert_eq!(progress.seconds_left(&snapshot), None);
    }

    #[test]
    fn programs_read_iterations() {
        let text = r#"{"number":3,"kind":"Accepted","theta":[0.5],"objective":2.0,
            "interval":[1.5,null],"delta":0.1,"rho":0.1,"step":null,"predicted":null,"ratio":null,
            "certified":true,"gradient":1.0,"poisedness":null,"num_points":1,"num_evaluations":2,
            "work":3}"#;
        let iterations: Vec<Iteration> = vec![serde_json::from_str(text).unwrap()];
        let few = [Parameter::log10("alpha", 0.0, -7.0, 7.0)];
        let best = best(1);
        let snapshot = snapshot(&few, &best, &iterations);
        let events: Vec<_> = iteration_events(&snapshot).collect();
        let value = serde_json::to_value(&events).unwrap();
        assert_eq!(value[0]["event"], "iteration");
        assert_eq!(value[0]["theta"], json!([0.5]));
        assert_eq!(value[0]["values"], json!([0.1]));
        assert_eq!(value[0]["max_points"], 40);
    }
}
