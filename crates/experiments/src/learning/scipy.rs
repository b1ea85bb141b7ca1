//! L-BFGS-B of SciPy with gradients by implicit differentiation at a fixed accuracy. SciPy runs in
//! a Python process, and asks for values and gradients through a pipe.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result};
use bilevel::LowerLevel;
use serde_json::{Value, json};

use super::implicit::{Implicit, Solved};
use super::reach::Accepted;

const SCRIPT: &str = include_str!("scipy.py");
/// The Python programs to try: the environment of `cargo xtask python`, that of `cargo xtask
/// bench`, and the one on the path.
const PROGRAMS: [&str; 3] = [
    "target/python/venv/bin/python",
    "target/bench/venv/bin/python",
    "python3",
];

/// Returns a Python program that can import SciPy.
pub(super) fn find() -> Option<PathBuf> {
    let programs = PROGRAMS.iter().map(PathBuf::from);
    let mut able = programs.filter(|program| {
        let mut command = Command::new(program);
        command.args(["-c", "import scipy.optimize"]);
        command.stdin(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    });
    able.next()
}

/// A Python process, which is ended with this value.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        // it has usually ended before
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs SciPy. All reconstructions have the error `accuracy`, and all adjoints that residual.
/// Returns the best points in their order, the number of evaluations and the reason for the end.
pub(super) fn run<M: LowerLevel>(
    python: &PathBuf,
    problem: &mut Implicit<'_, M>,
    start: &[f64],
    bounds: &[(f64, f64)],
    accuracy: f64,
) -> Result<(Vec<Accepted>, usize, String)> {
    let begin = Instant::now();
    let mut command = Command::new(python);
    command.args(["-c", SCRIPT]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut process = Process(command.spawn().context("cannot start Python")?);
    let mut to = process.0.stdin.take().context("there is no pipe")?;
    let from = process.0.stdout.take().context("there is no pipe")?;
    let (lower, upper): (Vec<f64>, Vec<f64>) = bounds.iter().copied().unzip();
    writeln!(
        to,
        "{}",
        json!({"start": start, "lower": lower, "upper": upper})
    )?;
    let mut points: Vec<Accepted> = Vec::new();
    let (mut near, mut best): (Option<Solved>, f64) = (None, f64::INFINITY);
    for (evaluations, line) in BufReader::new(from).lines().enumerate() {
        let message: Value = serde_json::from_str(&line?)?;
        if let Some(end) = message["end"].as_str() {
            return Ok((points, evaluations, end.to_owned()));
        }
        let theta: Vec<f64> = serde_json::from_value(message["theta"].clone())?;
        let mut at = problem.solve(&theta, accuracy, near.as_ref())?;
        let gradient = problem.gradient(&mut at, accuracy)?;
        writeln!(to, "{}", json!({"value": at.value, "gradient": gradient}))?;
        if at.value < best {
            best = at.value;
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "work is positive and small"
            )]
            let work = problem.work.ceil() as u64;
            points.push(Accepted {
                theta,
                lower: at.lower,
                upper: at.upper,
                work,
                seconds: begin.elapsed().as_secs_f64(),
            });
        }
        near = Some(at);
    }
    anyhow::bail!("Python ended before the run did")
}
