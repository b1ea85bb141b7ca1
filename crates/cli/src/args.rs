//! The command line.

mod learn;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;

pub use learn::LearnArgs;

use crate::apply::ApplyOptions;
use crate::config::table::THREADS;
use crate::config::{Settings, TaskKind};
use crate::picture::Depth;

const EXAMPLES: &str = "\
Examples:
  bilevel learn denoise --out run               learn from built-in images
  bilevel learn denoise --images photos --crop 256 --noise 0.1 --out run
  bilevel apply run noisy.png clean.png         use what was learned
  bilevel report run                            show what was learned
  bilevel resume run                            go on after an interruption
  bilevel learn denoise --print-config          all settings, as a file";

const APPLY_EXAMPLES: &str = "\
Examples:
  bilevel apply run noisy.png clean.png
  bilevel apply run noisy clean                 all pictures of a folder
  bilevel apply run scan.tif clean.tif --accuracy 1e-4";

/// Learns parameters of image reconstruction from examples, and applies them.
#[derive(Clone, Debug, Parser)]
#[command(name = "bilevel", version, after_help = EXAMPLES, arg_required_else_help = true)]
pub struct Arguments {
    /// The options of all commands.
    #[command(flatten)]
    pub shared: Shared,
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

/// Options of all commands.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct Shared {
    /// Write results to standard output as JSON
    #[arg(long, global = true)]
    pub json: bool,
    /// Show nothing but errors
    #[arg(long, short, global = true)]
    pub quiet: bool,
    /// Number of threads
    #[arg(long, global = true, value_name = "N", help = THREADS.help(&[TaskKind::Denoise]))]
    pub threads: Option<usize>,
}

impl Shared {
    /// Overrides the settings that these options give, too.
    pub fn override_in(&self, settings: &mut Settings) {
        if let Some(threads) = self.threads {
            settings.set(&THREADS, i64::try_from(threads).unwrap_or(i64::MAX));
        }
    }
}

/// A command.
#[derive(Clone, Debug, Subcommand)]
pub enum Command {
    /// Learn parameters from examples
    Learn(Box<LearnArgs>),
    /// Reconstruct a picture, or a folder of them, with learned parameters
    Apply(ApplyArgs),
    /// Continue a run that was interrupted
    Resume(ResumeArgs),
    /// Show what a run has learned
    Report(RunArgs),
    /// Write shell completions to standard output
    Completions {
        /// The shell
        shell: Shell,
    },
}

/// The arguments of commands on a run.
#[derive(Args, Clone, Debug, PartialEq, Eq)]
pub struct RunArgs {
    /// The directory of the run
    pub run: PathBuf,
}

/// The arguments of `bilevel resume`.
#[derive(Args, Clone, Debug, PartialEq, Eq)]
pub struct ResumeArgs {
    /// The directory of the run
    pub run: PathBuf,
    /// Try N more parameters, even if the run has used up its evaluations
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub evaluations: Option<u64>,
}

/// The arguments of `bilevel apply`.
#[derive(Args, Clone, Debug, PartialEq)]
#[command(after_help = APPLY_EXAMPLES)]
pub struct ApplyArgs {
    /// The directory of the run
    pub run: PathBuf,
    /// A picture or a folder of them; for sampling a .npy file with complex frequencies in its rows
    pub input: PathBuf,
    /// The result: a .png, .tif or, for sampling, .npy file; or a folder
    pub output: PathBuf,
    /// Certified root mean square distance from the exact reconstruction
    #[arg(long, default_value_t = ApplyOptions::default().accuracy, allow_negative_numbers = true, value_name = "RMS")]
    pub accuracy: f64,
    /// Bits per sample of PNG files
    #[arg(long, default_value = "8", value_name = "BITS")]
    pub depth: Depth,
    /// Use another blur than the run
    #[arg(long, value_name = "FILE")]
    pub kernel: Option<PathBuf>,
    /// Use another mask than the run
    #[arg(long, value_name = "FILE")]
    pub mask: Option<PathBuf>,
}

impl ApplyArgs {
    /// The options of [`apply`](crate::apply::apply).
    #[must_use]
    pub fn options(&self) -> ApplyOptions {
        ApplyOptions {
            accuracy: self.accuracy,
            depth: self.depth,
            kernel: self.kernel.clone(),
            mask: self.mask.clone(),
        }
    }
}
