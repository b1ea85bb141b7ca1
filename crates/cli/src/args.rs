//! The command line.

mod denoise;
#[cfg(test)]
mod help_tests;
mod learn;
mod mask;
#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Arg, Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use clap_complete::Shell;
use serde::de::value::Error as ValueError;
use serde::de::{DeserializeOwned, IntoDeserializer as _};

pub use denoise::DenoiseArgs;
pub use learn::{LearnArgs, LearnCommand, ModelName};
pub use mask::MaskArgs;

use crate::apply::ApplyOptions;
use crate::config::table::{THREADS, lines};
use crate::config::{Settings, TaskKind};
use crate::memory::Memory;
use crate::picture::Depth;

const EXAMPLES: &str = "\
Examples:
  bilevel denoise noisy.png clean.png           remove noise; needs no learning
  bilevel learn denoise --out run               learn from built-in pictures
  bilevel learn denoise --images photos --crop 256 --noise 0.1 --out run
  bilevel apply run noisy.png clean.png         reconstruct a picture with what was learned
  bilevel report run                            summarise what was learned
  bilevel resume run                            continue after an interruption
  bilevel learn denoise --print-config          print all settings as a file
  mpirun -n 4 bilevel learn --config settings.toml --out run
                                                spread the images over four processes (needs a
                                                program that was built with --features mpi)";

/// Heading of the options that all commands have.
const COMMON: &str = "Common options";

const APPLY_EXAMPLES: &str = "\
Examples:
  bilevel apply run noisy.png clean.png
  bilevel apply run noisy clean                 all pictures of a folder
  bilevel apply run stack.tif clean.tif         all pages of a TIFF file, or slices of a .nii file
  bilevel apply run kspace.npy pictures.npy     frequencies, with a run that learned a mask
  bilevel apply run scan.png clean.png --depth 16 --accuracy 1e-4";

/// Removes noise from pictures, and learns and applies the parameters of image reconstruction.
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

impl Arguments {
    /// Parses the arguments of the program, the first of which is its name.
    ///
    /// # Errors
    /// When the arguments are wrong, and for `--help` and `--version`.
    pub fn from_program(
        arguments: impl IntoIterator<Item = OsString>,
    ) -> Result<Self, clap::Error> {
        let mut command = with_short_lines(Self::command());
        let matches = command.try_get_matches_from_mut(arguments)?;
        Self::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
    }
}

/// Breaks the help texts of a command and its subcommands into lines of at most 70 characters.
fn with_short_lines(command: clap::Command) -> clap::Command {
    let shorten = |arg: Arg| match arg.get_help().map(ToString::to_string) {
        Some(help) => arg.help(lines(&help, 70).join("\n")),
        None => arg,
    };
    command.mut_args(shorten).mut_subcommands(with_short_lines)
}

/// Options of all commands.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct Shared {
    /// Write results to standard output as JSON
    #[arg(long, global = true, help_heading = COMMON)]
    pub json: bool,
    /// Print nothing but errors
    #[arg(long, short, global = true, help_heading = COMMON)]
    pub quiet: bool,
    /// Number of threads
    #[arg(
        long,
        global = true,
        value_name = "N",
        value_parser = |text: &str| positive(text).map(|n| usize::try_from(n).unwrap_or(usize::MAX)),
        allow_negative_numbers = true,
        help_heading = COMMON,
        help = THREADS.help(&[TaskKind::Denoise])
    )]
    pub threads: Option<usize>,
    /// The name or path by which the program was started.
    #[arg(skip)]
    pub program: PathBuf,
}

impl Shared {
    /// Overrides the settings that are among these options.
    pub fn override_in(&self, settings: &mut Settings) {
        if let Some(threads) = self.threads {
            settings.set(&THREADS, i64::try_from(threads).unwrap_or(i64::MAX));
        }
    }
}

/// A command.
#[derive(Clone, Debug, Subcommand)]
pub enum Command {
    /// Remove noise from pictures, with filters that come with the program
    Denoise(DenoiseArgs),
    /// Learn parameters from training images
    Learn(Box<LearnArgs>),
    /// Reconstruct pictures with learned parameters
    Apply(ApplyArgs),
    /// Continue a run that was interrupted, or extend a finished one
    Resume(ResumeArgs),
    /// Write the report of a finished run again, and print a summary
    Report(RunArgs),
    /// Print a completion script for a shell
    Completions {
        /// Name of the shell
        shell: Shell,
    },
}

/// The arguments of commands on a run.
#[derive(Args, Clone, Debug, PartialEq, Eq)]
pub struct RunArgs {
    /// Directory of the run
    pub run: PathBuf,
}

/// The arguments of `bilevel resume`.
#[derive(Args, Clone, Debug, PartialEq, Eq)]
pub struct ResumeArgs {
    /// Directory of the run
    pub run: PathBuf,
    /// New limit on the points of the whole run, including those that it already has; a run that
    /// stopped at its old limit continues [default: the limit in bilevel.toml]
    #[arg(long, value_name = "N", value_parser = positive, allow_negative_numbers = true)]
    pub max_points: Option<u64>,
}

/// Returns a parser of these words, which are the names of values in files.
fn words<T>(names: impl IntoIterator<Item = &'static str>) -> impl TypedValueParser<Value = T>
where
    T: DeserializeOwned + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(names).try_map(|name| {
        let made: Result<T, ValueError> = T::deserialize(name.into_deserializer());
        made
    })
}

/// Parses a positive whole number.
fn positive(text: &str) -> Result<u64, &'static str> {
    let number = text.parse().ok().filter(|number| *number > 0);
    number.ok_or("it must be a positive whole number, such as 4")
}

/// The arguments of `bilevel apply`.
#[derive(Args, Clone, Debug, PartialEq)]
#[command(after_help = APPLY_EXAMPLES)]
pub struct ApplyArgs {
    /// Directory of the run
    pub run: PathBuf,
    /// Picture, stack of pictures, or folder of them; after `learn sampling`, a .npy file with the
    /// complex frequencies of one signal per row; after `learn mask`, a file with complex
    /// frequencies
    pub input: PathBuf,
    /// Output folder, or file (.png, .tif, .npy, .npz, .nii or .nii.gz; a .png file has only one
    /// page, and signals need .npy)
    pub output: PathBuf,
    /// Largest distance of the result from the exact minimiser, as a root mean square over all
    /// pixels; it says nothing about the distance from the true image
    #[arg(
        long,
        default_value_t = ApplyOptions::default().accuracy,
        allow_negative_numbers = true,
        value_parser = learn::number,
        value_name = "RMS"
    )]
    pub accuracy: f64,
    /// Bits per sample of the output; without this option, those of the input
    #[arg(long, value_enum, value_name = "BITS")]
    pub depth: Option<Depth>,
    /// Memory for the computation of one picture; pictures that need more are denoised tile by tile
    #[arg(long, value_name = "SIZE", default_value_t = Memory::default())]
    pub memory: Memory,
    /// Blur kernel in place of that of the run
    #[arg(long, value_name = "FILE")]
    pub kernel: Option<PathBuf>,
    /// Mask in place of that of the run
    #[arg(long, value_name = "FILE")]
    pub mask: Option<PathBuf>,
    /// After `learn mask`, sensitivity maps of the coils in place of those of the run
    #[arg(long, value_name = "FILE")]
    pub coils: Option<PathBuf>,
}

impl ApplyArgs {
    /// Returns the options of [`apply`](crate::apply::apply).
    #[must_use]
    pub fn options(&self) -> ApplyOptions {
        ApplyOptions {
            accuracy: self.accuracy,
            depth: self.depth,
            memory: self.memory,
            kernel: self.kernel.clone(),
            mask: self.mask.clone(),
            coils: self.coils.clone(),
        }
    }
}
