//! The benchmark of Moré and Wild: 53 problems, solved with exact residuals, with random noise, and
//! with an oracle whose accuracy has a price; compared with archived runs of other solvers.
//!
//! A problem is solved to `tau` at the first evaluated point whose exact objective is at most
//! `f_L + tau (f(theta_0) - f_L)`, `f_L` the best value on record. The point counts whether or not
//! the solver could know how good it is.

mod dynamic;
mod model;
mod peers;
mod profile;
mod results;
mod run;
mod score;
mod table;

use std::env;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use dfo_ls::Options;
use dfo_ls::testing::MoreWild;
use rayon::prelude::*;

use dynamic::AccuracyComparison;
use model::ModelChoice;
use peers::PeerArchive;
use run::{RunResult, RunSpec};
use score::SolverScores;

use crate::file;

/// What to run, and where results go.
#[derive(Clone, Debug, Args)]
pub struct Arguments {
    /// What to run; may be given several times [default: all]
    #[arg(long = "variant", value_enum)]
    variants: Vec<ResidualVariant>,
    /// Numbers of problems, as in 3,17 [default: all]
    #[arg(long, value_delimiter = ',')]
    problems: Vec<usize>,
    /// Residual model: linear, composite or regression, the last two with a number of points per
    /// parameter, as in composite:2 [default: the solver's own]
    #[arg(long)]
    model: Option<ModelChoice>,
    /// Seed of the random noise
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// How many seeds to run, from the first one on
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    seeds: u32,
    /// Archived runs of other solvers [default: ../shared/reference/more_wild.json, if it exists]
    #[arg(long, value_name = "FILE")]
    peers: Option<PathBuf>,
    /// Where results go [default: target/more-wild]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// How many problems at once; times are most reliable with 1 [default: one per core]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
    /// One line for each run
    #[arg(long)]
    verbose: bool,
}

/// What kind of residuals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ResidualVariant {
    /// Exact residuals
    Smooth,
    /// Each residual times 1 + 0.01 z, z standard normal
    #[value(alias = "gauss1e-2")]
    Noisy,
    /// Residuals as accurate as asked, at a price
    Dynamic,
}

impl ResidualVariant {
    /// The name in files.
    const fn name(self) -> &'static str {
        match self {
            Self::Smooth => "smooth",
            Self::Noisy => "gauss1e-2",
            Self::Dynamic => "dynamic",
        }
    }
}

/// Runs, prints tables to `out`, writes `results.json` and figures.
///
/// # Errors
/// When an argument is out of range, a file cannot be read or written, or the solver refuses its
/// options.
pub fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<()> {
    let problems = arguments.chosen_problems()?;
    let archive = arguments.archive(out)?;
    let directory = arguments.directory();
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(arguments.threads.map_or(0, usize::from))
        .build()
        .context("cannot start threads")?;

    let mut rows: Vec<RunResult> = Vec::new();
    let mut written = Vec::new();
    for variant in [ResidualVariant::Smooth, ResidualVariant::Noisy] {
        if arguments.wants(variant) {
            let specs = arguments.specs(variant, &problems);
            let runs = pool.install(|| solve_all(&specs))?;
            let peers = archive.scores(variant.name(), &problems);
            let ours = SolverScores::of_runs("dfo-ls (this)", &runs);
            if arguments.verbose {
                table::each_run(&runs, &peers, out)?;
            }
            let solvers: Vec<&SolverScores> = std::iter::once(&ours).chain(&peers).collect();
            table::solved(variant, &solvers, out)?;
            table::overhead(&runs, out)?;
            let stem = directory.join(format!("profiles-{}", variant.name()));
            let figure = profile::of_evaluations(variant, &ours, &peers, &archive.solvers());
            file::write_figure(&figure, &stem)?;
            written.push(stem);
            rows.extend(runs);
        }
    }
    if arguments.wants(ResidualVariant::Dynamic) {
        let known: Vec<RunResult> = rows.iter().filter(|run| run.is_smooth()).cloned().collect();
        let exact = if known.is_empty() {
            pool.install(|| solve_all(&arguments.specs(ResidualVariant::Smooth, &problems)))?
        } else {
            known
        };
        let specs = arguments.specs(ResidualVariant::Dynamic, &problems);
        let runs = pool.install(|| solve_all(&specs))?;
        if arguments.verbose {
            table::each_run(&runs, &[], out)?;
        }
        let comparison = AccuracyComparison::new(&runs, &exact);
        table::comparison(&comparison, out)?;
        let stem = directory.join("dynamic-work");
        file::write_figure(&profile::of_work(&comparison, &runs), &stem)?;
        written.push(stem);
        rows.extend(runs);
    }

    let table = directory.join("results.json");
    results::write(&table, &rows)?;
    writeln!(out, "wrote {}", table.display())?;
    for stem in written {
        writeln!(out, "wrote {}.svg and .png", stem.display())?;
    }
    Ok(())
}

/// In the order of the specs, whatever the number of threads.
fn solve_all(specs: &[RunSpec]) -> Result<Vec<RunResult>> {
    specs.par_iter().map(run::solve).collect()
}

impl Arguments {
    fn wants(&self, variant: ResidualVariant) -> bool {
        self.variants.is_empty() || self.variants.contains(&variant)
    }

    fn chosen_problems(&self) -> Result<Vec<MoreWild>> {
        if self.problems.is_empty() {
            return Ok(MoreWild::all().collect());
        }
        let last = MoreWild::all().count() - 1;
        let mut numbers = self.problems.clone();
        numbers.sort_unstable();
        numbers.dedup();
        let problem = |number| {
            MoreWild::new(number)
                .with_context(|| format!("--problems: no problem {number}, they are 0 to {last}"))
        };
        numbers.into_iter().map(problem).collect()
    }

    fn archive(&self, out: &mut dyn Write) -> Result<PeerArchive> {
        if let Some(path) = &self.peers {
            return PeerArchive::read(path).context("--peers");
        }
        let path = root().join("../shared/reference/more_wild.json");
        if path.is_file() {
            PeerArchive::read(&path)
        } else {
            writeln!(out, "no archived runs of other solvers (--peers FILE)")?;
            Ok(PeerArchive::default())
        }
    }

    fn directory(&self) -> PathBuf {
        let default = || root().join("target/more-wild");
        self.out.clone().unwrap_or_else(default)
    }

    /// Every run of a variant, by problem.
    fn specs(&self, variant: ResidualVariant, problems: &[MoreWild]) -> Vec<RunSpec> {
        let seeds = match variant {
            ResidualVariant::Smooth => 1,
            ResidualVariant::Noisy | ResidualVariant::Dynamic => self.seeds,
        };
        let mut specs = Vec::new();
        for &problem in problems {
            for replicate in 0..seeds {
                let seed = self.seed.wrapping_add(u64::from(replicate));
                let mut options = match variant {
                    ResidualVariant::Smooth | ResidualVariant::Dynamic => Options::default(),
                    ResidualVariant::Noisy => Options::noisy(),
                };
                options.budget.max_points = Some(run::budget(problem));
                if let Some(model) = self.model {
                    options.model = model.into();
                }
                match variant {
                    ResidualVariant::Smooth => specs.push(RunSpec::smooth(problem, options)),
                    ResidualVariant::Noisy => specs.push(RunSpec::noisy(problem, options, seed)),
                    ResidualVariant::Dynamic => {
                        specs.extend(dynamic::specs(problem, &options, seed))
                    }
                }
            }
        }
        specs
    }
}

/// The workspace's directory: cargo says at run time where this package is now, the compiler only
/// where it was.
fn root() -> PathBuf {
    let package = env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    let root = package.ancestors().nth(2).map(Path::to_path_buf);
    root.unwrap_or_else(|| PathBuf::from("."))
}
