//! The overhead of calling a residual function written in Python, for `dfo_ls.solve` and for
//! DFO-LS.

use std::env;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::measurement::Measurement;
use super::{BenchContext, root};
use crate::file;

const PACKAGE: &str = "crates/dfo-ls-python";
const PEER: &str = "DFO-LS";

/// Compiles the Python module and assembles the package as an installation would.
pub(super) fn build(directory: &Path, out: &mut dyn Write) -> Result<()> {
    writeln!(
        out,
        "building the Python package (the first time takes minutes)"
    )?;
    let root = root();
    let program = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.args([
        "build",
        "--quiet",
        "--release",
        "--package",
        "dfo-ls-python",
    ]);
    command.arg("--target-dir").arg(root.join("target"));
    // This directory has the settings of the build.
    command.current_dir(&root).stdin(Stdio::null());
    let done = command.output().context("cannot start cargo")?;
    let message = String::from_utf8_lossy(&done.stderr);
    ensure!(
        done.status.success(),
        "`cargo build --release -p dfo-ls-python` failed:\n{}",
        message.trim()
    );
    let (prefix, suffix) = (env::consts::DLL_PREFIX, env::consts::DLL_SUFFIX);
    let module = root.join(format!("target/release/{prefix}_dfo_ls{suffix}"));
    let loaded = if cfg!(windows) {
        "_dfo_ls.pyd"
    } else {
        "_dfo_ls.abi3.so"
    };
    let package = packages(directory).join("dfo_ls");
    copy(&module, &package.join(loaded))?;
    let sources = root.join(PACKAGE).join("python/dfo_ls");
    for entry in fs::read_dir(&sources).with_context(|| sources.display().to_string())? {
        let path = entry?.path();
        if path.extension().is_some_and(|kind| kind == "py")
            && let Some(name) = path.file_name()
        {
            copy(&path, &package.join(name))?;
        }
    }
    Ok(())
}

/// Returns one measurement for each kind of model and number of parameters.
pub(super) fn run(context: &BenchContext, out: &mut dyn Write) -> Result<Vec<Measurement>> {
    let script = root().join(PACKAGE).join("bench/overhead.py");
    let path = packages(&context.directory);
    let repetitions = if context.quick { "3" } else { "10" };
    let answer = context.peers.script(&script, &[repetitions], &path, out)?;
    let mut rows = Vec::new();
    for line in answer.lines() {
        let found: Value = serde_json::from_str(line)
            .with_context(|| format!("{} printed `{line}`", script.display()))?;
        let (Some(name), Some(value)) = (found["name"].as_str(), found["value"].as_f64()) else {
            continue;
        };
        rows.extend(Measurement::against(
            name,
            value,
            "us",
            &[(PEER, found["peer"].as_f64())],
        ));
    }
    Ok(rows)
}

fn packages(directory: &Path) -> PathBuf {
    directory.join("python")
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    let bytes = fs::read(from).with_context(|| from.display().to_string())?;
    file::write(to, &bytes)
}
