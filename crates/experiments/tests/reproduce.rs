//! Tests of `reproduce` as a user starts it.

mod scratch;

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use scratch::Scratch;
use serde_json::Value;

/// Returns a command that starts in a directory without photographs.
fn command(directory: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_experiments"));
    command.arg("reproduce").args(args).current_dir(directory);
    command
}

fn reproduce(directory: &Path, args: &[&str]) -> Output {
    command(directory, args)
        .output()
        .expect("the program starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}

fn summary(directory: &Path) -> Value {
    let text = fs::read_to_string(directory.join("out/summary.json")).expect("a summary");
    serde_json::from_str(&text).expect("JSON")
}

fn claim<'a>(summary: &'a Value, id: &str) -> &'a Value {
    let claims = summary["claims"].as_array().expect("a list");
    let mut found = claims.iter().filter(|claim| claim["id"] == id);
    found.next().unwrap_or_else(|| panic!("no claim {id}"))
}

/// Checks every figure and every claim that holds with reduced budgets, and that the second command
/// makes no run.
#[test]
fn the_quick_size_end_to_end() {
    let scratch = Scratch::new("quick");
    let directory = &scratch.0;
    let first = reproduce(directory, &["--quick", "--out", "out"]);
    let printed = text(&first.stdout);
    assert!(first.status.success(), "{printed}\n{}", text(&first.stderr));

    for number in 1..=17 {
        for ending in ["svg", "png"] {
            let path = directory.join(format!("out/figures/fig{number:02}.{ending}"));
            let content = fs::read(&path).unwrap();
            let start: &[u8] = if ending == "svg" { b"<svg" } else { b"\x89PNG" };
            assert!(content.starts_with(start), "{}", path.display());
        }
    }
    let summary = summary(directory);
    let runs = summary["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 94);
    for run in runs {
        for field in ["f", "f_exact", "seconds"] {
            assert!(run[field].is_f64(), "{run}");
        }
        for field in ["evaluations", "lower_iterations", "gradients"] {
            assert!(run[field].is_u64(), "{run}");
        }
        for field in ["setting", "variant", "mode", "termination"] {
            assert!(run[field].is_string(), "{run}");
        }
        assert!(run["theta"].is_array() && run["params"].is_object());
    }
    // Claims that are checked even at this size.
    for id in [
        "archive/denoise1_start0/evaluations",
        "archive/denoise1_start-2/evaluations",
        "archive/mri/evaluations",
        "archive/denoise3_beta1e-6/evaluations",
        "1-parameter/same alpha",
        "1-parameter/FISTA is faster",
    ] {
        assert_eq!(claim(&summary, id)["holds"], true, "{id}");
    }
    let page = fs::read_to_string(directory.join("out/report.html")).unwrap();
    assert!(page.contains("dead leaves") && !page.contains("<script"));
    assert!(!page.contains("src=\"http") && !page.contains("href=\"http"));

    let second = reproduce(directory, &["--quick", "--out", "out"]);
    assert!(second.status.success());
    let printed = text(&second.stdout);
    assert!(
        printed.contains("; 0 runs are not in the cache"),
        "{printed}"
    );
}

/// Finished runs survive a kill, and the run of a broken file is repeated.
#[test]
fn a_killed_command_continues_and_runs_of_broken_files_are_repeated() {
    let scratch = Scratch::new("kill");
    let directory = &scratch.0;
    let args = ["--quick", "--only", "denoise3", "--out", "out"];
    let mut child = command(directory, &args)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let finished = lines
        .map_while(Result::ok)
        .filter(|line| line.starts_with("run"));
    assert_eq!(finished.take(3).count(), 3);
    child.kill().unwrap();
    child.wait().unwrap();

    let runs = || -> Vec<PathBuf> {
        let entries = fs::read_dir(directory.join("out/runs")).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        paths
            .filter(|path| path.extension().is_some_and(|e| e == "json"))
            .collect()
    };
    let kept = runs();
    assert!((3..24).contains(&kept.len()), "{kept:?}");
    let broken = &kept[0];
    let content = fs::read_to_string(broken).unwrap();
    let changed = content.replacen("\"f\":", "\"f\":1", 1);
    fs::write(broken, &changed).unwrap();

    let again = reproduce(directory, &args);
    let printed = text(&again.stdout);
    let name = broken.file_name().unwrap().to_str().unwrap();
    let warning = printed.lines().find(|line| line.starts_with("warning"));
    assert!(
        warning.is_some_and(|warning| warning.contains(name)),
        "{printed}"
    );
    let left = format!(
        "from 24 runs; {} runs are not in the cache",
        24 - kept.len() + 1
    );
    assert!(printed.contains(&left), "{printed}");
    assert_eq!(runs().len(), 24);
    assert_ne!(fs::read_to_string(broken).unwrap(), changed);
}

/// Results do not depend on the number of threads.
#[test]
fn threads_change_nothing() {
    let scratch = Scratch::new("threads");
    let directory = &scratch.0;
    let mut seen = Vec::new();
    for threads in ["1", "3"] {
        let args = [
            "--quick",
            "--only",
            "fig9",
            "--threads",
            threads,
            "--out",
            "out",
        ];
        let done = reproduce(directory, &args);
        assert!(
            text(&done.stdout).contains("fig09"),
            "{}",
            text(&done.stderr)
        );
        let mut run = summary(directory)["runs"][0].clone();
        run["seconds"] = Value::Null;
        seen.push(run);
        fs::remove_dir_all(directory.join("out")).unwrap();
    }
    assert_eq!(seen[0], seen[1]);
}

/// Claims that compare with the authors' runs are not checked for other data.
#[test]
fn another_seed_is_not_compared_with_the_archive() {
    let scratch = Scratch::new("seed");
    let directory = &scratch.0;
    let args = ["--quick", "--only", "fig5", "--seed", "7", "--out", "out"];
    let done = reproduce(directory, &args);
    assert!(text(&done.stdout).contains("seed 7"));
    let summary = summary(directory);
    assert_eq!(summary["seed"], 7);
    let claim = claim(&summary, "archive/denoise1_start0/evaluations");
    assert_eq!(claim["holds"], Value::Null);
}

/// Wrong arguments are reported before any run is made, with what to do.
#[test]
fn wrong_arguments_are_reported_first() {
    let scratch = Scratch::new("wrong");
    let directory = &scratch.0;
    fs::write(directory.join("file"), "").unwrap();
    fs::create_dir(directory.join("photographs")).unwrap();
    fs::write(directory.join("photographs/kodim02.png"), "no photograph").unwrap();
    let cases: [(&[&str], &[&str]); 6] = [
        (&["--only", "fig18"], &["fig18", "fig1 to fig17", "mri"]),
        (
            &["--quick", "--out", "file/below"],
            &["--out", "file/below"],
        ),
        (
            &["--quick", "--kodak", "photographs"],
            &["kodim01.png", "kodim02.png", "kodim25.png", "fetch-kodak"],
        ),
        (
            &["--quick", "--kodak", "nowhere"],
            &["nowhere", "fetch-kodak"],
        ),
        (&["--quick", "--full"], &["--full"]),
        (&["--quick", "--threads", "0"], &["--threads"]),
    ];
    for (args, words) in cases {
        let done = reproduce(directory, args);
        assert!(!done.status.success(), "{args:?}");
        let message = text(&done.stderr);
        for word in words {
            assert!(message.contains(word), "{args:?}: {message}");
        }
        assert!(!text(&done.stdout).contains("run "), "{args:?}");
    }
    assert!(!directory.join("target").exists());
}

#[test]
fn the_list_names_figures_and_runs() {
    let scratch = Scratch::new("list");
    let listed = reproduce(&scratch.0, &["--list", "--only", "mri"]);
    let listed = text(&listed.stdout);
    for word in [
        "fig15",
        "fig16",
        "fig17",
        "mri.gd_dynamic.ours",
        "8 runs in total",
    ] {
        assert!(listed.contains(word), "{listed}");
    }
    assert!(fs::read_dir(&scratch.0).unwrap().next().is_none());
}
