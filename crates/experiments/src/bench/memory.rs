//! The memory that learning needs, measured in a process of its own.

use std::fs;
use std::io::Write;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use bilevel::{Residuals, learning_options};

use super::learn::dead_leaves;
use super::measurement::Measurement;
use super::{BenchContext, count};

const NUM_IMAGES: usize = 25;
/// The number of evaluated points: those of the first model and of some steps.
const NUM_POINTS: u64 = 8;
/// The file in which Linux reports the peak memory of a process.
const STATUS: &str = "/proc/self/status";

pub(super) fn run(context: &BenchContext, out: &mut dyn Write) -> Result<Vec<Measurement>> {
    if fs::metadata(STATUS).is_err() {
        writeln!(out, "  this system has no {STATUS}: memory is not measured")?;
        return Ok(Vec::new());
    }
    let side = if context.quick { 256 } else { 2048 };
    let program = std::env::current_exe().context("this program cannot be started again")?;
    let mut command = Command::new(program);
    command.args(["bench", "--memory-child", &side.to_string()]);
    let done = command.output().context("cannot start a process")?;
    ensure!(
        done.status.success(),
        "the process that measures memory failed: {}",
        String::from_utf8_lossy(&done.stderr).trim()
    );
    let bytes: f64 = String::from_utf8_lossy(&done.stdout)
        .trim()
        .parse()
        .context("the process that measures memory printed no number")?;
    let name = format!("peak memory, learning from {NUM_IMAGES} images of {side}x{side}");
    let per_image = bytes / count(NUM_IMAGES);
    Ok(vec![
        Measurement::alone(name.clone(), 1e-9 * bytes, "GB"),
        Measurement::alone(format!("{name}, per image"), 1e-6 * per_image, "MB"),
        Measurement::alone(
            format!("{name}, per pixel"),
            per_image / count(side * side),
            "bytes",
        ),
    ])
}

/// Learns in this process, and prints its peak memory in bytes.
pub(super) fn child(side: usize, out: &mut dyn Write) -> Result<()> {
    let mut problem = dead_leaves(side, NUM_IMAGES, Residuals::Pixel)?;
    let mut options = learning_options();
    options.budget.max_points = Some(NUM_POINTS);
    let _ = problem.learn_with(options)?;
    let status = fs::read_to_string(STATUS).with_context(|| format!("cannot read {STATUS}"))?;
    let bytes = peak(&status).with_context(|| format!("{STATUS} has no VmHWM"))?;
    Ok(writeln!(out, "{bytes}")?)
}

/// Returns the peak memory in bytes from the text of [`STATUS`].
fn peak(status: &str) -> Option<u64> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(1024 * kibibytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_read_in_bytes() {
        let status = "Name:\ta\nVmPeak:\t  9 kB\nVmHWM:\t    1234 kB\nVmRSS:\t 7 kB\n";
        assert_eq!(peak(status), Some(1234 * 1024));
        assert_eq!(peak("VmRSS:\t 7 kB\n"), None);
    }
}
