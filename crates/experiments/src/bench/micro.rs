//! The micro-benchmarks of `benches/`, run by criterion. Where there is a slower implementation of
//! the same computation (its twin), the two are compared.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::SystemTime;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::measurement::Measurement;
use super::{BenchContext, root};

/// Nanoseconds by group and benchmark.
type Times = BTreeMap<(String, String), f64>;

/// A benchmark, its twin in the same group, and the name of the twin in results.
const TWINS: [(&str, &str, &str); 3] = [
    ("FISTA", "FISTA, composed", "composed twin (ours)"),
    ("fused", "composed", "composed twin (ours)"),
    (
        "linear, d = 200, m = 10000",
        "d = 200, m = 10000",
        "model from nothing (faer)",
    ),
];

/// Compiles the benchmarks that [`run`] runs.
pub(super) fn build(out: &mut dyn Write) -> Result<()> {
    writeln!(
        out,
        "building the micro-benchmarks (the first time takes minutes)"
    )?;
    cargo(&root(), &["--no-run"])
}

pub(super) fn run(context: &BenchContext, _: &mut dyn Write) -> Result<Vec<Measurement>> {
    let root = root();
    let begin = SystemTime::now();
    let arguments: &[&str] = if context.quick {
        &["--", "--quick", "--noplot"]
    } else {
        &["--", "--noplot"]
    };
    cargo(&root, arguments)?;
    let times = read(&root.join("target/criterion"), begin)?;
    ensure!(!times.is_empty(), "criterion wrote no results");
    Ok(rows(&times))
}

/// Runs `cargo bench -p benches` with these arguments.
fn cargo(root: &Path, arguments: &[&str]) -> Result<()> {
    let program = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.args(["bench", "--quiet", "--package", "benches"]);
    command.arg("--manifest-path").arg(root.join("Cargo.toml"));
    command.arg("--target-dir").arg(root.join("target"));
    command.args(arguments).stdin(Stdio::null());
    let done = command.output().context("cannot start cargo")?;
    let message = String::from_utf8_lossy(&done.stderr);
    ensure!(
        done.status.success(),
        "`cargo bench -p benches` failed:\n{}",
        message.trim()
    );
    Ok(())
}

/// Reads the results that criterion wrote to `folder/*/*/new` after `begin`. Older ones may belong
/// to benchmarks that no longer exist.
fn read(folder: &Path, begin: SystemTime) -> Result<Times> {
    let mut times = Times::new();
    for group in children(folder)? {
        for bench in children(&group)? {
            let path = bench.join("new").join("estimates.json");
            let is_new = fs::metadata(&path)
                .and_then(|metadata| metadata.modified())
                .is_ok_and(|at| at >= begin);
            if !is_new {
                continue;
            }
            let name = json(&bench.join("new").join("benchmark.json"))?;
            let estimates = json(&path)?;
            if let (Some(group), Some(function), Some(nanoseconds)) = (
                name["group_id"].as_str(),
                name["function_id"].as_str(),
                estimate(&estimates),
            ) {
                times.insert((group.to_owned(), function.to_owned()), nanoseconds);
            }
        }
    }
    Ok(times)
}

/// Returns the estimate that criterion prints: the slope where it has one, else the mean.
fn estimate(estimates: &Value) -> Option<f64> {
    let of = |name: &str| estimates[name]["point_estimate"].as_f64();
    of("slope").or_else(|| of("mean"))
}

fn children(folder: &Path) -> Result<Vec<std::path::PathBuf>> {
    let entries =
        fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            paths.push(path);
        }
    }
    Ok(paths)
}

fn json(path: &Path) -> Result<Value> {
    let text =
        fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    serde_json::from_str(&text).with_context(|| format!("{} is not JSON", path.display()))
}

/// Returns the measurements. A twin is the peer of its benchmark and has no measurement of its own.
fn rows(times: &Times) -> Vec<Measurement> {
    let is_twin = |name: &String| TWINS.iter().any(|(_, twin, _)| twin == name);
    let mut rows = Vec::new();
    for ((group, name), nanoseconds) in times.iter().filter(|((_, name), _)| !is_twin(name)) {
        let (scale, unit) = match nanoseconds {
            ..1e3 => (1.0, "ns"),
            ..1e6 => (1e-3, "us"),
            _ => (1e-6, "ms"),
        };
        let mut peers = Vec::new();
        for (_, twin, label) in TWINS.iter().filter(|(ours, ..)| ours == name) {
            let of_twin = times
                .iter()
                .find(|((other, found), _)| found == twin && (other == group || is_alone(twin)));
            peers.push((*label, of_twin.map(|(_, time)| scale * time)));
        }
        let name = format!("criterion: {group}: {name}");
        rows.extend(Measurement::against(
            &name,
            scale * nanoseconds,
            unit,
            &peers,
        ));
    }
    rows
}

/// Whether a twin is in a group of its own.
fn is_alone(twin: &str) -> bool {
    twin.starts_with("d = ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn benchmarks_are_compared_with_the_twin_in_their_group() {
        let time = |group: &str, name: &str, time: f64| ((group.into(), name.into()), time);
        let times = Times::from([
            time("a", "FISTA", 2.0),
            time("a", "FISTA, composed", 6.0),
            time("b", "FISTA", 2e3),
            time("per evaluation", "linear, d = 200, m = 10000", 1e6),
            time("model from nothing", "d = 200, m = 10000", 5e6),
        ]);
        let rows = rows(&times);
        let found: Vec<_> = rows
            .iter()
            .map(|row| (row.value, row.unit, row.ratio()))
            .collect();
        let expected = [
            (2.0, "ns", Some(3.0)),
            (2.0, "us", None),
            (1.0, "ms", Some(5.0)),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn results_of_earlier_runs_are_left_out() {
        let name = format!("experiments-micro-{}", std::process::id());
        let folder = env::temp_dir().join(name);
        let new = folder.join("g").join("f").join("new");
        fs::create_dir_all(&new).unwrap();
        fs::write(
            new.join("benchmark.json"),
            r#"{"group_id": "g", "function_id": "f"}"#,
        )
        .unwrap();
        let estimates = r#"{"mean": {"point_estimate": 4.0}, "slope": null}"#;
        fs::write(new.join("estimates.json"), estimates).unwrap();
        let times = read(&folder, SystemTime::UNIX_EPOCH).unwrap();
        assert_eq!(times, Times::from([(("g".into(), "f".into()), 4.0)]));
        let later = SystemTime::now() + std::time::Duration::from_secs(60);
        assert!(read(&folder, later).unwrap().is_empty());
        fs::remove_dir_all(folder).unwrap();
    }
}
