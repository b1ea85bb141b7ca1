//! The command line.

mod learn;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
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
    /// What all commands have.
    #[command(flatten)]
    pub shared: Shared,
    /// What to do.
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

/// What to do.
#[derive(Clone, Debug, Subcommand)]
pub enum Command {
    /// Learn parameters from examples
    Learn(Box<LearnArgs>),
    /// Reconstruct a picture, or a folder of them, with learned parameters
    Apply(ApplyArgs),
    /// Go on with a run that was interrupted
    Resume(ResumeArgs),
    /// Show what a run has learned
    Report(RunArgs),
    /// Write the completions of a shell to standard output
    Completions {
        /// The shell
        shell: Shell,
    },
}

/// A run.
#[derive(Args, Clone, Debug, PartialEq, Eq)]
pub struct RunArgs {
    /// The directory of the run
    pub run: PathBuf,
}

/// How to go on with a run.
#[derive(Args, Clone, Debug, PartialEq, Eq)]
pub struct ResumeArgs {
    /// The directory of the run
    pub run: PathBuf,
    /// Try so many more parameters, also if those of the run are spent
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub evaluations: Option<u64>,
}

/// How to apply a run.
#[derive(Args, Clone, Debug, PartialEq)]
#[command(after_help = APPLY_EXAMPLES)]
pub struct ApplyArgs {
    /// The directory of the run
    pub run: PathBuf,
    /// A picture or a folder of them; for sampling a .npy file with complex frequencies in its rows
    pub input: PathBuf,
    /// Where the result goes: .png, .tif or, for sampling, .npy; or a folder
    pub output: PathBuf,
    /// Root mean square distance from the exact reconstruction that is certified
    #[arg(long, default_value_t = ApplyOptions::default().accuracy, allow_negative_numbers = true, value_name = "RMS")]
    pub accuracy: f64,
    /// Bits of PNG files
    #[arg(long, default_value = "8", value_name = "BITS")]
    pub depth: Bits,
    /// Another blur than that of the run
    #[arg(long, value_name = "FILE")]
    pub kernel: Option<PathBuf>,
    /// Another mask than that of the run
    #[arg(long, value_name = "FILE")]
    pub mask: Option<PathBuf>,
}

/// Bits of PNG files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Bits {
    /// 256 levels
    #[value(name = "8")]
    Eight,
    /// 65536 levels
    #[value(name = "16")]
    Sixteen,
}

impl ApplyArgs {
    /// The same, as [`apply`](crate::apply::apply) needs it.
    #[must_use]
    pub fn options(&self) -> ApplyOptions {
        ApplyOptions {
            accuracy: self.accuracy,
            depth: match self.depth {
                Bits::Eight => Depth::Eight,
                Bits::Sixteen => Depth::Sixteen,
            },
            kernel: self.kernel.clone(),
            mask: self.mask.clone(),
        }
    }
}
