//! Benchmarks: our times and memory, those of other programs, and how time grows with the size of a
//! problem.
//!
//! Every time is the fastest of several calls. Other programs run during the same benchmark, on the
//! same data and on one thread like our code. The authors' program is the exception: its archived
//! times are quoted.

mod chart;
mod clock;
mod data;
mod deblur;
mod denoise;
mod kernels;
mod learn;
mod least_squares;
mod measurement;
mod memory;
mod micro;
mod mri;
mod peers;
mod python;
mod scaling;
mod solve;
mod threads;
mod truthless;

use std::env;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use clap::{Args, ValueEnum};
use plot::Figure;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::{file, kodak};
use measurement::Measurement;
use peers::Peers;
use scaling::ScalingCurve;

/// The arguments of `bench`.
#[derive(Clone, Debug, Args)]
pub struct Arguments {
    /// Use smaller sizes and fewer repetitions; takes less than two minutes
    #[arg(long)]
    quick: bool,
    /// Run only these parts; --list names them [default: all]
    #[arg(long, value_name = "NAME", value_enum, num_args = 1..)]
    only: Vec<BenchPart>,
    /// Directory for results [default: target/bench]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Directory with kodim01.png to kodim25.png [default: data/kodak, if it exists]
    #[arg(long, value_name = "DIR")]
    kodak: Option<PathBuf>,
    /// The head of `cargo xtask masks`, a NIfTI file [default: built-in heads]
    #[arg(long, value_name = "FILE")]
    head: Option<PathBuf>,
    /// Do not install and run the Python packages that we compare with
    #[arg(long)]
    no_peers: bool,
    /// List the parts and exit
    #[arg(long)]
    list: bool,
    /// Learn from images with this many rows and columns, and print the peak memory of this process
    #[arg(long, hide = true, value_name = "SIDE")]
    memory_child: Option<usize>,
}

/// A part of the benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum BenchPart {
    /// Micro-benchmarks of benches/, compared with simpler implementations of the same formulas
    Micro,
    /// One iteration of a solver, compared with NumPy
    Kernels,
    /// Whole reconstructions, compared with SciPy and scikit-image
    Solve,
    /// Quality and time of denoising, compared with BM3D, non-local means, wavelets and TV
    Denoise,
    /// Parameters for one picture without truth, compared with scikit-image's `calibrate_denoiser`
    Truthless,
    /// Quality and time of deblurring, compared with Wiener and Richardson-Lucy of scikit-image
    Deblur,
    /// Heads from a quarter of their frequencies, compared with SigPy
    Mri,
    /// Learning from start to end, compared with archived times of the authors' program
    Learn,
    /// The crate dfo-ls, compared with DFO-LS
    LeastSquares,
    /// The Python package dfo_ls, compared with DFO-LS
    Python,
    /// Two threads, compared with one
    Threads,
    /// How time grows with the number of images, pixels and parameters
    Scaling,
    /// Peak memory of learning
    Memory,
}

/// The settings that all parts share.
struct BenchContext {
    quick: bool,
    directory: PathBuf,
    kodak: Option<PathBuf>,
    head: Option<PathBuf>,
    peers: Peers,
}

impl BenchContext {
    /// Returns the time to spend on one measurement.
    const fn budget(&self) -> Duration {
        Duration::from_millis(if self.quick { 150 } else { 1000 })
    }
}

/// Runs the chosen parts, prints a line for every measurement, and writes `results.json` and
/// figures after every part.
///
/// # Errors
/// When an argument is not valid, a measurement fails, or a file cannot be written.
pub fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<()> {
    if let Some(side) = arguments.memory_child {
        return memory::child(side, out);
    }
    if arguments.list {
        return list(out);
    }
    // Reports a wrong folder now, not after minutes.
    kodak::find(arguments.kodak.as_deref()).context("--kodak")?;
    let directory = arguments.directory();
    let work = directory.join("data");
    data::write(&work).context("--out")?;
    let parts = arguments.parts();
    let has_peers = [
        BenchPart::Kernels,
        BenchPart::Solve,
        BenchPart::Denoise,
        BenchPart::Truthless,
        BenchPart::Deblur,
        BenchPart::Mri,
        BenchPart::LeastSquares,
        BenchPart::Python,
    ];
    let peers = if arguments.no_peers || !parts.iter().any(|part| has_peers.contains(part)) {
        Peers::NONE
    } else {
        Peers::find(&root().join("target/bench/venv"), &work, out)?
    };
    if parts.contains(&BenchPart::Micro) {
        micro::build(out)?;
    }
    if parts.contains(&BenchPart::Python) && peers.is_some() {
        python::build(&directory, out)?;
    }
    let begin = Instant::now();
    let context = BenchContext {
        quick: arguments.quick,
        directory: directory.clone(),
        kodak: arguments.kodak.clone(),
        head: arguments.head.clone(),
        peers,
    };
    let (mut measurements, mut curves) = (Vec::new(), Vec::new());
    for (index, part) in parts.iter().enumerate() {
        let name = part.name();
        let elapsed = begin.elapsed().as_secs();
        writeln!(out, "[{}/{}] {name} ({elapsed} s)", index + 1, parts.len())?;
        let measured = part.run(&context, &mut curves, out).context(name)?;
        for measurement in &measured {
            measurement.print(out)?;
        }
        measurements.extend(measured);
        write(&directory, &measurements, &curves)?;
    }
    let shown = directory.display();
    writeln!(out, "wrote {shown}/results.json")?;
    for (name, _) in figures(&measurements, &curves) {
        writeln!(out, "wrote {shown}/{name}.svg and .png")?;
    }
    Ok(writeln!(out, "{} s in total", begin.elapsed().as_secs())?)
}

fn write(directory: &Path, measurements: &[Measurement], curves: &[ScalingCurve]) -> Result<()> {
    file::write(
        &directory.join("results.json"),
        measurement::to_json(measurements).as_bytes(),
    )?;
    for (name, figure) in figures(measurements, curves) {
        file::write_figure(&figure, &directory.join(name))?;
    }
    Ok(())
}

/// Returns the figures that can be drawn from these measurements, with the names of their files.
fn figures(measurements: &[Measurement], curves: &[ScalingCurve]) -> Vec<(&'static str, Figure)> {
    let scaling = (!curves.is_empty()).then(|| chart::scaling(curves));
    let figures = [
        ("speed", chart::headlines(measurements)),
        ("ratios", chart::ratios(measurements)),
        ("scaling", scaling),
    ];
    let drawn = figures.into_iter();
    drawn
        .filter_map(|(name, figure)| Some((name, figure?)))
        .collect()
}

fn list(out: &mut dyn Write) -> Result<()> {
    for part in BenchPart::value_variants() {
        let value = part.to_possible_value();
        let help = value.as_ref().and_then(|value| value.get_help());
        let help = help.map(ToString::to_string).unwrap_or_default();
        writeln!(out, "{:14} {help}", part.name())?;
    }
    Ok(())
}

impl Arguments {
    /// Returns the chosen parts in the order of [`BenchPart`], each once.
    fn parts(&self) -> Vec<BenchPart> {
        let all = BenchPart::value_variants().iter().copied();
        all.filter(|part| self.only.is_empty() || self.only.contains(part))
            .collect()
    }

    fn directory(&self) -> PathBuf {
        let default = || root().join("target/bench");
        self.out.clone().unwrap_or_else(default)
    }
}

impl BenchPart {
    fn name(self) -> String {
        let value = self.to_possible_value();
        value.map_or_else(String::new, |value| value.get_name().to_owned())
    }

    fn run(
        self,
        context: &BenchContext,
        curves: &mut Vec<ScalingCurve>,
        out: &mut dyn Write,
    ) -> Result<Vec<Measurement>> {
        match self {
            Self::Micro => micro::run(context, out),
            Self::Kernels => kernels::run(context, out),
            Self::Solve => solve::run(context, out),
            Self::Denoise => denoise::run(context, out),
            Self::Truthless => truthless::run(context, out),
            Self::Deblur => deblur::run(context, out),
            Self::Mri => mri::run(context, out),
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

/// Returns the workspace's directory. Cargo's variable at run time has the present location of this
/// package, the compiler's only the one at build time.
fn root() -> PathBuf {
    let package = env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    let root = package.ancestors().nth(2).map(Path::to_path_buf);
    root.unwrap_or_else(|| PathBuf::from("."))
}
