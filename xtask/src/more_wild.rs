//! `cargo xtask more-wild`: the benchmark of Moré and Wild, which lives in `crates/experiments`.

use std::env;
use std::path::Path;

use crate::cargo;

/// Optimised without debug assertions: the solver's own time is part of the result. Builds once in a few minutes.
const RUN: &str = "run --release --package experiments";

/// Runs the experiment with `args`, in the directory of the user, to which paths among them are relative.
pub(crate) fn run(root: &Path, args: &[String]) -> Result<(), String> {
    let mut command = cargo::command(root, &cargo::words(RUN));
    command.arg("--manifest-path").arg(root.join("Cargo.toml"));
    command.args(["--", "more-wild"]).args(args);
    if let Ok(directory) = env::current_dir() {
        command.current_dir(directory);
    }
    cargo::wait(&mut command)
}
