//! Running cargo as a child process.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A call of `cargo args…` in the directory of the workspace, with the cargo that runs this
/// program.
pub(crate) fn command(root: &Path, args: &[String]) -> Command {
    let program = env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(program);
    command.args(args).current_dir(root);
    command
}

/// Lets a command of cargo lint the packages of the workspace while it compiles them; a warning is
/// an error. Clippy's driver is a compiler: it takes no longer than rustc alone (imaging and its
/// tests: 77 s of processor time either way), while a separate check compiles everything once more.
/// Commands that share build products must all call this, or none.
pub(crate) fn lint(command: &mut Command) -> Result<&mut Command, String> {
    let driver = clippy_driver()?;
    Ok(command
        .env("RUSTC_WORKSPACE_WRAPPER", driver)
        .env("CLIPPY_ARGS", "-D__CLIPPY_HACKERY__warnings"))
}

/// The path of Clippy's driver, next to the compiler.
fn clippy_driver() -> Result<PathBuf, String> {
    let mut rustc = Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    let output = rustc.args(["--print", "sysroot"]).output();
    let output = output.map_err(|error| format!("rustc did not start: {error}"))?;
    let sysroot = String::from_utf8_lossy(&output.stdout).trim().to_string();
    let name = format!("clippy-driver{}", env::consts::EXE_SUFFIX);
    let driver = Path::new(&sysroot).join("bin").join(name);
    if driver.is_file() {
        return Ok(driver);
    }
    Err("Clippy is missing: install it with `rustup component add clippy`".to_string())
}

/// Waits for the child process. Its output goes straight to the user.
pub(crate) fn wait(command: &mut Command) -> Result<(), String> {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("the command ended with {status}")),
        Err(error) => Err(format!("the command did not start: {error}")),
    }
}

/// Waits for the child process, and shows its output only if it fails: for a command that runs next
/// to others.
pub(crate) fn wait_quietly(command: &mut Command) -> Result<(), String> {
    let output = command.output();
    let output = output.map_err(|error| format!("the command did not start: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into());
    let [out, err]: [String; 2] = text;
    Err(format!(
        "the command ended with {}\n{out}{err}",
        output.status
    ))
}

/// Splits a command line that has no quoted words.
pub(crate) fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(ToString::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_output_of_a_quiet_command_is_shown_if_it_fails() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let call = |line: &str| wait_quietly(&mut command(root, &words(line)));
        assert_eq!(call("--version"), Ok(()));
        let why = call("no-such-command").unwrap_err();
        assert!(
            why.contains("ended with") && why.contains("no-such-command"),
            "{why}"
        );
    }
}
