//! The file `results.json`: a list with one row per run.

use std::path::Path;

use anyhow::Result;
use serde_json::{Map, Value, json};

use super::run::{RunKind, RunResult};
use super::score::{Reached, TAU_NAMES};
use crate::file;

/// Writes all rows, one per line.
pub(super) fn write(path: &Path, runs: &[RunResult]) -> Result<()> {
    let rows: Vec<String> = runs.iter().map(|run| row(run).to_string()).collect();
    file::write(path, format!("[\n{}\n]\n", rows.join(",\n")).as_bytes())
}

fn row(run: &RunResult) -> Value {
    let mut row = json!({
        "variant": variant(run.kind),
        "problem": run.problem.number(),
        "name": run.problem.name(),
        "seed": run.seed,
        "evaluations_to": by_tau(run, |reached| reached.evaluations),
        "f": run.objective,
        "evaluations": run.evaluations,
        "overhead_seconds": run.overhead.as_secs_f64(),
        "termination": run.termination,
    });
    if matches!(run.kind, RunKind::Priced(_)) {
        row["points_to"] = by_tau(run, |reached| reached.points);
        row["work_to"] = by_tau(run, |reached| reached.work);
        row["work"] = json!(run.work);
    }
    row
}

/// Returns the name of the kind of run in the file.
pub(super) fn variant(kind: RunKind) -> String {
    match kind {
        RunKind::Smooth => "smooth".to_owned(),
        RunKind::Noisy => "gauss1e-2".to_owned(),
        RunKind::Priced(setting) => setting.name(),
    }
}

fn by_tau(run: &RunResult, count: impl Fn(Reached) -> u64) -> Value {
    let counts = run.reached.map(|reached| json!(reached.map(&count)));
    let names = TAU_NAMES.map(str::to_owned);
    Value::Object(names.into_iter().zip(counts).collect::<Map<_, _>>())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use dfo_ls::testing::MoreWild;

    use super::*;
    use crate::more_wild::dynamic::AccuracySetting;

    #[test]
    fn what_is_not_reached_is_null() {
        let reached = Reached {
            evaluations: 4,
            points: 3,
            work: 70,
        };
        let run = RunResult {
            kind: RunKind::Priced(AccuracySetting::Fixed(2)),
            problem: MoreWild::new(6).unwrap(),
            seed: 0,
            reached: [Some(reached), None, None, None],
            objective: f64::NAN,
            evaluations: 9,
            work: 100,
            overhead: Duration::from_millis(500),
            termination: String::new(),
        };
        let row = row(&run);
        assert_eq!(row["variant"], "fixed1e-2");
        assert_eq!(row["evaluations_to"]["1e-1"], 4);
        assert_eq!(row["work_to"]["1e-1"], 70);
        assert!(row["evaluations_to"]["1e-7"].is_null() && row["f"].is_null());
        assert_eq!(row["overhead_seconds"], 0.5);
    }
}
