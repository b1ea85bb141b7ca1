//! The benchmark of Moré and Wild: 53 problems with exact residuals, with random noise, and with an
//! oracle that charges work for accuracy. The results are compared with archived runs of other
//! solvers.
//!
//! A problem is solved to `tau` at the first evaluated point whose exact objective is at most
//! `f_L + tau (f(theta_0) - f_L)`, where `f_L` is the best value on record. The point counts even
//! if the solver, which sees inexact residuals, cannot know how good it is.

mod batch;
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

/// The arguments of `more-wild`.
#[derive(Clone, Debug, Args)]
pub struct Arguments {
    /// Kind of residuals; can be given several times [default: all]
    #[arg(long = "variant", value_name = "NAME", value_enum)]
    variants: Vec<ResidualVariant>,
    /// Numbers of the problems, for example 3,17 [default: all]
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',')]
    problems: Vec<usize>,
    /// Residual model: linear, composite or regression; the last two with a number of points per
    /// parameter, for example composite:2 [default: chosen by the solver]
    #[arg(long)]
    model: Option<ModelChoice>,
    /// Count rounds of parallel evaluations with batches of 1, 4, 16 and 64 instead; seeds other
    /// than 0 move the starts at random
    #[arg(long, conflicts_with_all = ["variants", "peers", "verbose"])]
    batch: bool,
    /// First random seed of the noise
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Number of consecutive seeds, beginning with --seed
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    seeds: u32,
    /// Archived runs of other solvers [default: ../shared/reference/more_wild.json, if it exists]
    #[arg(long, value_name = "FILE")]
    peers: Option<PathBuf>,
    /// Directory for results [default: target/more-wild]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Number of problems to run in parallel; 1 gives the most reliable times [default: number of
    /// cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
    /// Print one line per run
    #[arg(long)]
    verbose: bool,
}

/// The kind of residuals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ResidualVariant {
    /// Exact residuals
    Smooth,
    /// Each residual is multiplied by 1 + 0.01 z, where z is standard normal
    #[value(alias = "gauss1e-2")]
    Noisy,
    /// Residuals as accurate as the solver asks for; more accuracy costs more work
    Dynamic,
}

impl ResidualVariant {
    /// Returns the name of the variant in files.
    const fn name(self) -> &'static str {
        match self {
            Self::Smooth => "smooth",
            Self::Noisy => "gauss1e-2",
            Self::Dynamic => "dynamic",
        }
    }
}

/// Runs the chosen variants, prints tables to `out`, and writes `results.json` and figures.
///
/// # Errors
/// When an argument is out of range, a file cannot be read or written, or the solver refuses its
/// options.
pub fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<()> {
    let problems = arguments.chosen_problems()?;
    let directory = arguments.directory();
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(arguments.threads.map_or(0, usize::from))
        .build()
        .context("cannot start threads")?;
    if arguments.batch {
        let mut options = Options::default();
        if let Some(model) = arguments.model {
            options.model = model.into();
        }
        let compared =
            pool.install(|| batch::compare(&problems, arguments.all_seeds(), &options))?;
        batch::table(&compared, out)?;
        let table = directory.join("batch.json");
        batch::write(&table, &compared)?;
        writeln!(out, "wrote {}", table.display())?;
        return Ok(());
    }
    let archive = arguments.archive(out)?;

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

/// Makes the runs in parallel. The results are in the order of the specs.
fn solve_all(specs: &[RunSpec]) -> Result<Vec<RunResult>> {
    specs.par_iter().map(run::solve).collect()
}

impl Arguments {
    fn wants(&self, variant: ResidualVariant) -> bool {
        self.variants.is_empty() || self.variants.contains(&variant)
    }

    fn all_seeds(&self) -> impl Iterator<Item = u64> + use<> {
        let first = self.seed;
        (0..self.seeds).map(move |replicate| first.wrapping_add(u64::from(replicate)))
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
            MoreWild::new(number).with_context(|| {
                format!("--problems: there is no problem {number}; use 0 to {last}")
            })
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
            writeln!(
                out,
                "no archived runs of other solvers found; --peers FILE names a file of them"
            )?;
            Ok(PeerArchive::default())
        }
    }

    fn directory(&self) -> PathBuf {
        let default = || root().join("target/more-wild");
        self.out.clone().unwrap_or_else(default)
    }

    /// Returns the specs of all runs of a variant, by problem.
    fn specs(&self, variant: ResidualVariant, problems: &[MoreWild]) -> Vec<RunSpec> {
        let seeds = match variant {
            ResidualVariant::Smooth => 1,
            ResidualVariant::Noisy | ResidualVariant::Dynamic => usize::MAX,
        };
        let mut specs = Vec::new();
        for &problem in problems {
            for seed in self.all_seeds().take(seeds) {
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

/// Returns the workspace's directory. Cargo's variable at run time has the present location of this
/// package, the compiler's only the one at build time.
fn root() -> PathBuf {
    let package = env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    let root = package.ancestors().nth(2).map(Path::to_path_buf);
    root.unwrap_or_else(|| PathBuf::from("."))
}
