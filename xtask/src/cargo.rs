//! Running cargo as a child process.

use std::env;
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

/// A call of `cargo args…` in the directory of the workspace, with the cargo that runs this
/// program.
pub(crate) fn command(root: &Path, args: &[String]) -> Command {
    let program = env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(program);
    command.args(args).current_dir(root);
    command
}

/// Waits for the child process. Its output goes straight to the user.
pub(crate) fn wait(command: &mut Command) -> Result<(), String> {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("the command ended with {status}")),
        Err(error) => Err(format!("the command did not start: {error}")),
    }
}

/// Splits a command line that has no quoted words.
pub(crate) fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(ToString::to_string).collect()
}
