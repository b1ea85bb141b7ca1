//! `cargo xtask test`: everything that a change must pass, cheapest first.

use std::path::Path;
use std::thread;

use crate::tree::Tree;
use crate::{cargo, doc, features, python, step, tidy};

/// Property tests draw the same cases every time here; a plain `cargo test` draws new ones.
const SEED: (&str, &str) = ("PROPTEST_RNG_SEED", "20260101");

/// Runs all steps and stops at the first failure.
///
/// All steps use the same features and packages, so that they share what they compile. Clippy
/// checks the benches, too; the other steps leave out their package, which has no tests and needs
/// Criterion. `cargo test` runs the doc tests, too.
pub(crate) fn run(root: &Path) -> Result<(), String> {
    // The environment is downloaded while the compiler works.
    let environment = {
        let root = root.to_path_buf();
        thread::spawn(move || python::environment(&root))
    };
    let packages = Tree::load(root)?.packages();
    let features = features::all(&packages);
    let clippy = format!("clippy --workspace --all-targets {features} -- -D warnings");
    let test = format!("test --workspace --exclude benches {features}");
    cargo_step(root, "fmt", "fmt --all --check")?;
    step::run("tidy", "cargo xtask tidy", || tidy::run(root))?;
    cargo_step(root, "clippy", &clippy)?;
    let (variable, seed) = SEED;
    step::run("test", &format!("{variable}={seed} cargo {test}"), || {
        let mut command = cargo::command(root, &cargo::words(&test));
        cargo::wait(command.env(variable, seed))
    })?;
    step::run("doc", "cargo xtask doc", || doc::run(root))?;
    step::run("environment", "cargo xtask python", || {
        let made = environment.join();
        made.map_err(|_| "the thread that made it panicked".to_string())?
    })?;
    python::build(root)?;
    // Tests of Python wait a lot, and do not use cargo.
    thread::scope(|scope| {
        let features = scope.spawn(|| {
            let lines = features::alone(&packages);
            (lines.iter()).try_for_each(|line| quiet_cargo_step(root, "feature", line))
        });
        let checked = python::check(root);
        let features = features.join();
        checked.and(features.map_err(|_| "the thread of the features panicked".to_string())?)
    })
}

/// Runs a step next to others, without its output unless it fails.
fn quiet_cargo_step(root: &Path, name: &str, line: &str) -> Result<(), String> {
    step::run(name, &format!("cargo {line}"), || {
        cargo::wait_quietly(&mut cargo::command(root, &cargo::words(line)))
    })
}

fn cargo_step(root: &Path, name: &str, line: &str) -> Result<(), String> {
    step::run(name, &format!("cargo {line}"), || {
        cargo::wait(&mut cargo::command(root, &cargo::words(line)))
    })
}
