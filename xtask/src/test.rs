//! `cargo xtask test`: everything that a change must pass, cheapest first.

use std::path::Path;
use std::thread;

use crate::tree::Tree;
use crate::{cargo, doc, features, python, step, tidy};

/// Property tests draw the same cases every time here; a plain `cargo test` draws new ones.
const SEED: (&str, &str) = ("PROPTEST_RNG_SEED", "20260101");

/// The micro-benchmarks are only checked.
const BENCHES: &str = "clippy -p benches --all-targets -- -D warnings";

/// Runs all steps and stops at the first failure.
///
/// The first steps use the same features and packages, so that they share what they compile, and
/// lint while they compile. They leave out the benches, which have no tests and need Criterion.
/// Then the tests of Rust, which include the examples of the documentation, run next to the tests
/// of Python, which wait a lot, and to checks that only compile.
pub(crate) fn run(root: &Path) -> Result<(), String> {
    // The environment is downloaded while the compiler works.
    let environment = {
        let root = root.to_path_buf();
        thread::spawn(move || python::environment(&root))
    };
    let packages = Tree::load(root)?.packages();
    let test = format!(
        "test --workspace --exclude benches {}",
        features::all(&packages)
    );
    step::run("fmt", "cargo fmt --all --check", || {
        cargo::wait(&mut cargo::command(
            root,
            &cargo::words("fmt --all --check"),
        ))
    })?;
    step::run("tidy", "cargo xtask tidy", || tidy::run(root))?;
    let lint = |line: &str| -> Result<(), String> {
        let mut command = cargo::command(root, &cargo::words(line));
        let (variable, seed) = SEED;
        cargo::wait(cargo::lint(command.env(variable, seed))?)
    };
    let compile = format!("{test} --no-run");
    step::run("clippy", &format!("cargo {compile}"), || lint(&compile))?;
    step::run("environment", "cargo xtask python", || {
        let made = environment.join();
        made.map_err(|_| "the thread that made it panicked".to_string())?
    })?;
    python::build(root)?;
    let (variable, seed) = SEED;
    let repeat = format!("{variable}={seed} cargo {test}");
    thread::scope(|scope| {
        let checks = scope.spawn(|| {
            step::run("doc", "cargo xtask doc", || doc::run(root))?;
            quiet_cargo_step(root, "benches", BENCHES)?;
            let lines = features::alone(&packages);
            (lines.iter()).try_for_each(|line| quiet_cargo_step(root, "feature", line))
        });
        let python = scope.spawn(|| python::check(root));
        let rust = step::run("test", &repeat, || lint(&test));
        let joined = [python, checks].map(|steps| {
            let done = steps.join();
            done.map_err(|_| "the thread of another step panicked".to_string())?
        });
        joined.into_iter().fold(rust, Result::and)
    })
}

/// Runs a step next to others, without its output unless it fails.
fn quiet_cargo_step(root: &Path, name: &str, line: &str) -> Result<(), String> {
    step::run(name, &format!("cargo {line}"), || {
        cargo::wait_quietly(&mut cargo::command(root, &cargo::words(line)))
    })
}
