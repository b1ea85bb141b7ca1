//! Tests of `bench` as a user starts it.

mod scratch;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use scratch::Scratch;
use serde_json::Value;

fn bench(directory: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_experiments"));
    command.arg("bench").args(args).current_dir(directory);
    command.output().expect("the program starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}

#[test]
fn without_peers_rows_and_figures_are_written() {
    let scratch = Scratch::new("alone");
    let parts = ["--only", "threads", "least-squares"];
    let args = [&["--quick", "--no-peers", "--out", "out"], &parts[..]].concat();
    let done = bench(&scratch.0, &args);
    let printed = text(&done.stdout);
    assert!(done.status.success(), "{printed}{}", text(&done.stderr));
    assert!(!printed.contains("peers"), "{printed}");

    let read = |name: &str| fs::read(scratch.0.join("out").join(name)).expect(name);
    let rows: Vec<Value> = serde_json::from_slice(&read("results.json")).expect("JSON");
    assert_eq!(rows.len(), 8, "{printed}");
    for row in &rows {
        let fields = ["name", "peer", "peer_value", "ratio", "unit", "value"];
        let row_fields = row.as_object().expect("an object");
        let mut names: Vec<&String> = row_fields.keys().collect();
        names.sort();
        assert_eq!(names, fields);
        let name = row["name"].as_str().expect("a name");
        assert!(printed.contains(name), "{name}");
        let is_compared = name.starts_with("2 threads");
        for field in ["peer", "peer_value", "ratio"] {
            assert_eq!(row[field].is_null(), !is_compared, "{row}");
        }
        assert!(row["value"].as_f64().expect("a number") > 0.0);
    }
    assert!(text(&read("ratios.svg")).contains("1 thread (ours)"));
    assert!(read("ratios.png").starts_with(b"\x89PNG"));
    assert!(!scratch.0.join("out/scaling.svg").exists());
}

#[test]
fn the_list_names_every_part_and_runs_nothing() {
    let scratch = Scratch::new("list");
    let done = bench(&scratch.0, &["--list"]);
    assert!(done.status.success());
    let printed = text(&done.stdout);
    let names: Vec<&str> = printed
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    let expected = [
        "micro",
        "kernels",
        "solve",
        "denoise",
        "truthless",
        "deblur",
        "mri",
        "learn",
        "least-squares",
        "python",
        "threads",
        "scaling",
        "memory",
    ];
    assert_eq!(names, expected);
    assert_eq!(fs::read_dir(&scratch.0).expect("a directory").count(), 0);
}

#[test]
fn wrong_arguments_are_named_before_anything_runs() {
    let scratch = Scratch::new("wrong");
    fs::write(scratch.0.join("file"), "").expect("a file");
    for (args, named) in [
        (&["--only", "kernel"][..], "--only"),
        (&["--quik"], "--quik"),
        (&["--kodak", "nowhere"], "--kodak"),
        (&["--no-peers", "--out", "file"], "--out"),
    ] {
        let done = bench(&scratch.0, args);
        let message = text(&done.stderr);
        assert!(!done.status.success() && message.contains(named));
        assert!(done.stdout.is_empty(), "{}", text(&done.stdout));
    }
}

/// The images are small enough for a test.
#[cfg(target_os = "linux")]
#[test]
fn the_process_that_measures_memory_prints_bytes() {
    let scratch = Scratch::new("memory");
    let done = bench(&scratch.0, &["--memory-child", "16"]);
    let bytes: f64 = text(&done.stdout).trim().parse().expect("a number");
    assert!(bytes > 1e5, "{bytes}");
}
