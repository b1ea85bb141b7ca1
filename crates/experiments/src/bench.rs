//! Everything about speed: ours, that of others, and how cost grows.
//!
//! Every time is the fastest of several. Others work on the same data in the same run, on one
//! thread like ours, except the authors' program, whose archived times are quoted.

mod chart;
mod clock;
mod data;
mod kernels;
mod learn;
mod least_squares;
mod memory;
mod micro;
mod peers;
mod python;
mod row;
mod scaling;
mod solve;
mod threads;

use std::env;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use clap::{Args, ValueEnum};
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::{file, kodak};
use peers::Peers;
use row::Row;
use scaling::Curve;

/// What to measure, and where results go.
#[derive(Clone, Debug, Args)]
pub struct Arguments {
    /// Smaller sizes and fewer repetitions: less than two minutes
    #[arg(long)]
    quick: bool,
    /// What to run; --list names the parts [default: all]
    #[arg(long, value_name = "NAME", value_enum, num_args = 1..)]
    only: Vec<Part>,
    /// Where results go [default: target/bench]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// The folder with kodim01.png to kodim25.png [default: data/kodak, if it exists]
    #[arg(long, value_name = "DIR")]
    kodak: Option<PathBuf>,
    /// Only ours: no Python
    #[arg(long)]
    no_peers: bool,
    /// Names the parts, and runs nothing
    #[arg(long)]
    list: bool,
    /// Learns from pictures with such sides, and prints its peak memory
    #[arg(long, hide = true, value_name = "SIDE")]
    memory_child: Option<usize>,
}

/// A part of the benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// The micro-benchmarks of `benches/`, beside their composed twins
    Micro,
    /// One iteration, beside NumPy's
    Kernels,
    /// Whole solves, beside FISTA, scipy and scikit-image
    Solve,
    /// Learning end to end, beside the archived times of the authors' program
    Learn,
    /// dfo-ls, beside DFO-LS
    LeastSquares,
    /// The Python package dfo_ls, beside DFO-LS
    Python,
    /// One thread and two
    Threads,
    /// How cost grows with images, pixels and parameters
    Scaling,
    /// Peak memory of learning
    Memory,
}

/// What all parts need to know.
struct Context {
    quick: bool,
    directory: PathBuf,
    kodak: Option<PathBuf>,
    peers: Peers,
}

impl Context {
    /// For one time.
    const fn budget(&self) -> Duration {
        Duration::from_millis(if self.quick { 150 } else { 1000 })
    }
}

/// Runs what was asked for, prints a line for every number, and writes `results.json` and figures.
///
/// # Errors
/// When an argument is not valid, something cannot be computed, or a file cannot be written. What
/// was measured before is written.
pub fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<()> {
    if let Some(side) = arguments.memory_child {
        return memory::child(side, out);
    }
    if arguments.list {
        return list(out);
    }
    // A wrong folder is noticed now, not after minutes.
    kodak::find(arguments.kodak.as_deref()).context("--kodak")?;
    let directory = arguments.directory();
    let work = directory.join("data");
    data::write(&work).context("--out")?;
    let parts = arguments.parts();
    let has_peers = [Part::Kernels, Part::Solve, Part::LeastSquares, Part::Python];
    let peers = if arguments.no_peers || !parts.iter().any(|part| has_peers.contains(part)) {
        Peers::NONE
    } else {
        Peers::find(&root().join("target/bench/venv"), &work, out)?
    };
    if parts.contains(&Part::Micro) {
        micro::build(out)?;
    }
    if parts.contains(&Part::Python) && peers.is_some() {
        python::build(&directory, out)?;
    }
    let begin = Instant::now();
    let context = Context {
        quick: arguments.quick,
        directory: directory.clone(),
        kodak: arguments.kodak.clone(),
        peers,
    };
    let (mut rows, mut curves) = (Vec::new(), Vec::new());
    for (index, part) in parts.iter().enumerate() {
        let name = part.name();
        let elapsed = begin.elapsed().as_secs();
        writeln!(out, "[{}/{}] {name} ({elapsed} s)", index + 1, parts.len())?;
        let measured = part.run(&context, &mut curves, out).context(name)?;
        for row in &measured {
            row.print(out)?;
        }
        rows.extend(measured);
        write(&directory, &rows, &curves)?;
    }
    let shown = directory.display();
    writeln!(out, "wrote {shown}/results.json")?;
    if chart::ratios(&rows).is_some() {
        writeln!(out, "wrote {shown}/ratios.svg and .png")?;
    }
    if !curves.is_empty() {
        writeln!(out, "wrote {shown}/scaling.svg and .png")?;
    }
    Ok(writeln!(out, "{} s in all", begin.elapsed().as_secs())?)
}

fn write(directory: &Path, rows: &[Row], curves: &[Curve]) -> Result<()> {
    file::write(
        &directory.join("results.json"),
        row::to_json(rows).as_bytes(),
    )?;
    if let Some(figure) = chart::ratios(rows) {
        file::write_figure(&figure, &directory.join("ratios"))?;
    }
    if !curves.is_empty() {
        file::write_figure(&chart::scaling(curves), &directory.join("scaling"))?;
    }
    Ok(())
}

fn list(out: &mut dyn Write) -> Result<()> {
    for part in Part::value_variants() {
        let value = part.to_possible_value();
        let help = value.as_ref().and_then(|value| value.get_help());
        let help = help.map(ToString::to_string).unwrap_or_default();
        writeln!(out, "{:14} {help}", part.name())?;
    }
    Ok(())
}

impl Arguments {
    /// In their own order, each once.
    fn parts(&self) -> Vec<Part> {
        let all = Part::value_variants().iter().copied();
        all.filter(|part| self.only.is_empty() || self.only.contains(part))
            .collect()
    }

    fn directory(&self) -> PathBuf {
        let default = || root().join("target/bench");
        self.out.clone().unwrap_or_else(default)
    }
}

impl Part {
    fn name(self) -> String {
        let value = self.to_possible_value();
        value.map_or_else(String::new, |value| value.get_name().to_owned())
    }

    fn run(
        self,
        context: &Context,
        curves: &mut Vec<Curve>,
        out: &mut dyn Write,
    ) -> Result<Vec<Row>> {
        match self {
            Self::Micro => micro::run(context, out),
            Self::Kernels => kernels::run(context, out),
            Self::Solve => solve::run(context, out),
            Self::Learn => learn::run(context, out),
            Self::LeastSquares => least_squares::run(context, out),
            Self::Python => python::run(context, out),
            Self::Threads => threads::run(context, out),
            Self::Scaling => {
                let (rows, found) = scaling::run(context, out)?;
                *curves = found;
                Ok(rows)
            }
            Self::Memory => memory::run(context, out),
        }
    }
}

fn pool(num_threads: usize) -> Result<ThreadPool> {
    let builder = ThreadPoolBuilder::new().num_threads(num_threads);
    builder.build().context("cannot start threads")
}

const fn count(number: usize) -> f64 {
    number as f64
}

/// The workspace's directory: cargo says at run time where this package is now, the compiler only
/// where it was.
fn root() -> PathBuf {
    let package = env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    let root = package.ancestors().nth(2).map(Path::to_path_buf);
    root.unwrap_or_else(|| PathBuf::from("."))
}
