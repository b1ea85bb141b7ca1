//! `cargo xtask mpi`: builds the program with the feature `mpi`, and tests it on several ranks.
//!
//! MPI and libclang, which the build needs, are downloaded as Python packages into an environment
//! under `target/`. Nothing has to be installed.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::tree::Tree;
use crate::{cargo, features, python, step};

/// The Python packages that bring MPI and libclang.
const REQUIREMENTS: &str = "mpich>=4.2,<6\nlibclang>=16,<19\n";
const REPEAT: &str = "cargo xtask mpi";

/// Prints the directory of libclang.
const FIND_LIBCLANG: &str = "import clang, os; print(os.path.join(clang.__path__[0], 'native'))";

/// Makes the environment, builds the program and runs its tests.
pub(crate) fn run(root: &Path) -> Result<(), String> {
    let program = env::current_exe()
        .map_err(|error| format!("cannot find the path of this program: {error}"))?;
    // the directory of cargo's build products is two levels up
    let home = program.ancestors().nth(2).unwrap_or(root).join("mpi");
    let venv = home.join("venv");
    step::run("environment", REPEAT, || {
        python::make_environment(&venv, REQUIREMENTS)
    })?;
    let variables = variables(&venv)?;
    let features = features::all(&Tree::load(root)?.packages());
    let features = format!("{features},{}", features::NEED_SYSTEM.join(","));
    for (name, line) in [
        (
            "clippy",
            "clippy -p bilevel-cli --all-targets --features mpi -- -D warnings".to_string(),
        ),
        (
            "test",
            format!("test --workspace {features} --test program mpi::"),
        ),
    ] {
        step::run(name, REPEAT, || {
            let mut command = cargo::command(root, &cargo::words(&line));
            cargo::wait(command.envs(variables.iter().map(|(name, value)| (name, value))))
        })?;
    }
    Ok(())
}

/// The variables with which cargo finds MPI and libclang, and the tests find `mpiexec`.
fn variables(venv: &Path) -> Result<Vec<(&'static str, OsString)>, String> {
    let programs = venv.join("bin");
    let mut find = Command::new(python::interpreter(venv));
    let libclang = first_line(find.args(["-c", FIND_LIBCLANG]))?;
    let mut libraries = venv.join("lib").into_os_string();
    if let Some(others) = env::var_os("LD_LIBRARY_PATH") {
        libraries.push(":");
        libraries.push(others);
    }
    // the package of libclang lacks the headers of a compiler, such as stddef.h
    let headers = first_line(Command::new("cc").arg("-print-file-name=include"))?;
    let mut flags = OsString::from("-I");
    flags.push(headers);
    Ok(vec![
        ("MPICC", programs.join("mpicc").into_os_string()),
        ("MPIEXEC", programs.join("mpiexec").into_os_string()),
        ("LIBCLANG_PATH", libclang.into_os_string()),
        ("BINDGEN_EXTRA_CLANG_ARGS", flags),
        ("LD_LIBRARY_PATH", libraries),
    ])
}

/// The first line that a command prints, as a path.
fn first_line(command: &mut Command) -> Result<PathBuf, String> {
    let name = command.get_program().to_os_string();
    let fail = |why: &dyn std::fmt::Display| format!("{}: {why}", OsStr::display(&name));
    let output = command.output().map_err(|error| fail(&error))?;
    let text = String::from_utf8_lossy(&output.stdout);
    match text.lines().next() {
        Some(line) if output.status.success() => Ok(PathBuf::from(line)),
        _ => Err(fail(&String::from_utf8_lossy(&output.stderr).trim())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_fails_is_named() {
        let why = first_line(&mut Command::new("no-such-program")).unwrap_err();
        assert!(why.starts_with("no-such-program: "), "{why}");
    }
}
