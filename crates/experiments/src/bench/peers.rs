//! The Python packages that we compare with: NumPy, SciPy, scikit-image, BM3D, SigPy and DFO-LS.
//! They run during the benchmark, in a virtual environment under `target/bench`.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::file;

const SCRIPT: &str = include_str!("peers.py");
const PACKAGES: [&str; 7] = [
    "numpy",
    "scipy",
    "scikit-image",
    "DFO-LS",
    "bm3d",
    "PyWavelets",
    "sigpy",
];

/// The peers, if there is a Python with their packages.
#[derive(Debug)]
pub(super) struct Peers {
    found: Option<PythonEnvironment>,
}

#[derive(Debug)]
struct PythonEnvironment {
    program: PathBuf,
    script: PathBuf,
    data: PathBuf,
}

impl Peers {
    /// No peers.
    pub(super) const NONE: Self = Self { found: None };

    /// Creates the virtual environment unless it exists. Without Python or a network connection
    /// there are no peers, and the reason is written to `out`.
    pub(super) fn find(venv: &Path, data: &Path, out: &mut dyn Write) -> Result<Self> {
        let found = PythonEnvironment::find(venv, data, out);
        match &found {
            Ok((_, versions)) => writeln!(out, "peers: {versions}")?,
            Err(error) => writeln!(out, "no peers: {error:#}. Going on without them.")?,
        }
        let found = found.ok().map(|(python, _)| python);
        Ok(Self { found })
    }

    /// Whether there are peers.
    pub(super) const fn is_some(&self) -> bool {
        self.found.is_some()
    }

    /// Runs a Python script that can import the packages in the directory `packages`, and returns
    /// its output; an empty text if there are no peers or the script fails.
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

    /// Returns the answer of the peers to `job`; null if there are no peers or they fail. A failure
    /// is written to `out`.
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

impl PythonEnvironment {
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

    /// Returns the versions of the packages.
    ///
    /// # Errors
    /// When a package is missing.
    fn versions(&self) -> Result<String> {
        ensure!(
            self.program.is_file(),
            "there is no {}",
            self.program.display()
        );
        let versions = self.ask(&json!({"part": "versions"}))?;
        Ok(versions.as_str().unwrap_or_default().to_owned())
    }

    /// Returns a command that runs the script on one thread, like our own code.
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
        // Packages may print too; the answer is the last line.
        let line = answer
            .lines()
            .last()
            .context("the script printed nothing")?;
        serde_json::from_str(line)
            .with_context(|| format!("the script printed `{line}`, which is not JSON"))
    }
}

/// Returns the path of the Python program of an environment.
fn program(venv: &Path) -> PathBuf {
    if cfg!(windows) {
        venv.join("Scripts").join("python.exe")
    } else {
        venv.join("bin").join("python")
    }
}

/// Creates the environment and installs the packages, replacing an environment that exists.
fn make(venv: &Path) -> Result<()> {
    if let Some(parent) = venv.parent() {
        fs::create_dir_all(parent)
            .with_context(|| format!("cannot create the directory {}", parent.display()))?;
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

/// Runs the program and returns its output.
///
/// # Errors
/// When the program fails; the message has the last line of its error output.
fn output(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let done = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot start {name}"))?;
    let message = String::from_utf8_lossy(&done.stderr);
    let message = message.trim().lines().last().unwrap_or_default();
    ensure!(done.status.success(), "{name}: {} {message}", done.status);
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

    /// There is a file where the directory of the environment should be, so creating it fails with
    /// and without Python.
    #[test]
    fn an_environment_that_cannot_be_created_is_reported_and_not_fatal() {
        let name = format!("experiments-peers-{}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        let file = directory.join("file");
        file::write(&file, b"").unwrap();
        let mut out = Vec::new();
        let peers = Peers::find(&file.join("venv"), &directory, &mut out).unwrap();
        assert!(peers.found.is_none());
        let printed = String::from_utf8(out).unwrap();
        assert!(
            printed.contains("no peers: cannot create the directory"),
            "{printed}"
        );
        fs::remove_dir_all(directory).unwrap();
    }
}
