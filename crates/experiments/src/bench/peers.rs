//! Other people's programs, run in the same run: NumPy, SciPy, scikit-image and DFO-LS, in a
//! virtual environment of our own.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::file;

const SCRIPT: &str = include_str!("peers.py");
const PACKAGES: [&str; 4] = ["numpy", "scipy", "scikit-image", "DFO-LS"];

/// A Python that has the packages, or none.
#[derive(Debug)]
pub(super) struct Peers {
    found: Option<Python>,
}

#[derive(Debug)]
struct Python {
    program: PathBuf,
    script: PathBuf,
    data: PathBuf,
}

impl Peers {
    /// Nobody.
    pub(super) const NONE: Self = Self { found: None };

    /// Makes the environment unless it is there. Without Python, or without a connection, there are
    /// no peers; `out` is told why.
    pub(super) fn find(venv: &Path, data: &Path, out: &mut dyn Write) -> Result<Self> {
        let found = Python::find(venv, data, out);
        match &found {
            Ok((_, versions)) => writeln!(out, "peers: {versions}")?,
            Err(error) => writeln!(out, "no peers: {error:#}. Going on without them.")?,
        }
        let found = found.ok().map(|(python, _)| python);
        Ok(Self { found })
    }

    /// Whether there is a Python.
    pub(super) const fn is_some(&self) -> bool {
        self.found.is_some()
    }

    /// What a script of its own prints, where it can import what is in `packages`; nothing without
    /// Python.
    pub(super) fn script(
        &self,
        script: &Path,
        arguments: &[&str],
        packages: &Path,
        out: &mut dyn Write,
    ) -> Result<String> {
        let Some(python) = &self.found else {
            return Ok(String::new());
        };
        let mut command = python.command(script);
        command.args(arguments).env("PYTHONPATH", packages);
        output(&mut command).or_else(|error| {
            writeln!(out, "  {} failed: {error:#}", script.display())?;
            Ok(String::new())
        })
    }

    /// What the peers answer to `job`; null if there are none. A peer that fails is reported, and
    /// then there is none for this job.
    pub(super) fn ask(&self, job: &Value, out: &mut dyn Write) -> Result<Value> {
        let Some(python) = &self.found else {
            return Ok(Value::Null);
        };
        python.ask(job).or_else(|error| {
            writeln!(out, "  the peers of {} failed: {error:#}", job["part"])?;
            Ok(Value::Null)
        })
    }
}

impl Python {
    fn find(venv: &Path, data: &Path, out: &mut dyn Write) -> Result<(Self, String)> {
        let python = Self {
            program: program(venv),
            script: data.join("peers.py"),
            data: data.to_path_buf(),
        };
        file::write(&python.script, SCRIPT.as_bytes())?;
        if let Ok(versions) = python.versions() {
            return Ok((python, versions));
        }
        writeln!(
            out,
            "peers: installing {} into {} (once)",
            PACKAGES.join(", "),
            venv.display()
        )?;
        make(venv)?;
        let versions = python.versions()?;
        Ok((python, versions))
    }

    /// Fails if a package is missing.
    fn versions(&self) -> Result<String> {
        ensure!(
            self.program.is_file(),
            "there is no {}",
            self.program.display()
        );
        let versions = self.ask(&json!({"part": "versions"}))?;
        Ok(versions.as_str().unwrap_or_default().to_owned())
    }

    /// As many threads as ours.
    fn command(&self, script: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command.arg(script);
        for library in ["OMP", "OPENBLAS", "MKL"] {
            command.env(format!("{library}_NUM_THREADS"), "1");
        }
        command
    }

    fn ask(&self, job: &Value) -> Result<Value> {
        let path = self.data.join("job.json");
        file::write(&path, job.to_string().as_bytes())?;
        let mut command = self.command(&self.script);
        let answer = output(command.arg(&path).arg(&self.data))?;
        // Packages may print: only the last line is the answer.
        let line = answer.lines().last().context("the script said nothing")?;
        serde_json::from_str(line).with_context(|| format!("the script said `{line}`"))
    }
}

/// Of an environment.
fn program(venv: &Path) -> PathBuf {
    if cfg!(windows) {
        venv.join("Scripts").join("python.exe")
    } else {
        venv.join("bin").join("python")
    }
}

/// From nothing, whatever is there.
fn make(venv: &Path) -> Result<()> {
    if let Some(parent) = venv.parent() {
        fs::create_dir_all(parent)
            .with_context(|| format!("cannot make the directory {}", parent.display()))?;
    }
    let mut create = Command::new("python3");
    create.args(["-m", "venv", "--clear"]).arg(venv);
    output(&mut create).context("python3 -m venv")?;
    let mut install = Command::new(program(venv));
    install.args(["-m", "pip", "install", "--quiet", "--retries", "1"]);
    install.arg("--disable-pip-version-check").args(PACKAGES);
    output(&mut install).context("pip install")?;
    Ok(())
}

/// What the program printed; its last words if it failed.
fn output(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let done = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot start {name}"))?;
    let complaint = String::from_utf8_lossy(&done.stderr);
    let complaint = complaint.trim().lines().last().unwrap_or_default();
    ensure!(done.status.success(), "{name}: {} {complaint}", done.status);
    Ok(String::from_utf8_lossy(&done.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_peers_every_answer_is_null() {
        let mut out = Vec::new();
        let answer = Peers::NONE.ask(&json!({"part": "kernels"}), &mut out);
        assert_eq!(answer.unwrap(), Value::Null);
        assert!(out.is_empty());
    }

    /// A file where the environment should be: neither Python nor the absence of it helps.
    #[test]
    fn an_environment_that_cannot_be_made_is_reported_and_not_fatal() {
        let name = format!("experiments-peers-{}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        let file = directory.join("file");
        file::write(&file, b"").unwrap();
        let mut out = Vec::new();
        let peers = Peers::find(&file.join("venv"), &directory, &mut out).unwrap();
        assert!(peers.found.is_none());
        let said = String::from_utf8(out).unwrap();
        assert!(
            said.contains("no peers: cannot make the directory"),
            "{said}"
        );
        fs::remove_dir_all(directory).unwrap();
    }
}
