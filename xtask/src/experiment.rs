//! `cargo xtask more-wild`, `cargo xtask learning`, `cargo xtask bench` and
//! `cargo xtask fetch-kodak`: experiments, which live in `crates/experiments`.

use std::env;
use std::path::Path;

use crate::cargo;

/// Optimised without debug assertions: times are part of the results. Builds once in a few minutes.
const RUN: &str = "run --release --package experiments";

/// Runs the experiment `name` with `args`, in the directory of the user, to which paths among them
/// are relative.
pub(crate) fn run(root: &Path, name: &str, args: &[String]) -> Result<(), String> {
    let mut command = cargo::command(root, &cargo::words(RUN));
    command.arg("--manifest-path").arg(root.join("Cargo.toml"));
    command.args(["--", name]).args(args);
    if let Ok(directory) = env::current_dir() {
        command.current_dir(directory);
    }
    cargo::wait(&mut command)
}
