//! The experiments of `crates/experiments`, such as `cargo xtask reproduce`.

use std::env;
use std::path::Path;

use crate::cargo;

/// A release build, because times are part of the results. It takes a few minutes once.
const RUN: &str = "run --release --package experiments";

/// Runs the experiment `name` with `args` in the directory of the user, so that paths among the
/// arguments are relative to it.
pub(crate) fn run(root: &Path, name: &str, args: &[String]) -> Result<(), String> {
    let mut command = cargo::command(root, &cargo::words(RUN));
    command.arg("--manifest-path").arg(root.join("Cargo.toml"));
    command.args(["--", name]).args(args);
    if let Ok(directory) = env::current_dir() {
        command.current_dir(directory);
    }
    cargo::wait(&mut command)
}
