//! The program behind `cargo xtask reproduce`, `fetch-kodak`, `more-wild`, `learning`,
//! `train-denoiser`, `truthless`, `masks` and `bench`.
#![expect(
    clippy::print_stderr,
    reason = "a command-line program talks to its user"
)]

use std::io;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use experiments::{bench, kodak, learning, masks, more_wild, reproduce, train_denoiser, truthless};

/// Experiments that measure the libraries.
#[derive(Debug, Parser)]
#[command(about, bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Reproduces every figure of the paper and checks the paper's claims.
    Reproduce(reproduce::command::Arguments),
    /// Solves the 53 problems of Moré and Wild and compares the results with other solvers.
    MoreWild(more_wild::Arguments),
    /// Learns the parameters of the paper's problems and compares them with the true optima.
    Learning(learning::Arguments),
    /// Learns the filter banks of `imaging::denoise` from photographs.
    TrainDenoiser(train_denoiser::Arguments),
    /// Learns without truth and compares the result with that of learning from the truth.
    Truthless(truthless::Arguments),
    /// Learns masks for magnetic resonance imaging and compares them with other masks.
    Masks(masks::Arguments),
    /// Measures speed and memory and compares them with other programs.
    Bench(bench::Arguments),
    /// Downloads the 25 photographs of the paper and verifies their checksums.
    FetchKodak(kodak::Arguments),
}

fn main() -> ExitCode {
    let mut out = io::stdout();
    let done = match Arguments::parse().command {
        Command::Reproduce(arguments) => reproduce::command::run(&arguments, &mut out),
        Command::MoreWild(arguments) => more_wild::run(&arguments, &mut out),
        Command::Learning(arguments) => learning::run(&arguments, &mut out),
        Command::TrainDenoiser(arguments) => train_denoiser::run(&arguments, &mut out),
        Command::Truthless(arguments) => truthless::run(&arguments, &mut out),
        Command::Masks(arguments) => masks::run(&arguments, &mut out),
        Command::Bench(arguments) => bench::run(&arguments, &mut out),
        Command::FetchKodak(arguments) => kodak::run(&arguments, &mut out),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("experiments: {error:#}");
            ExitCode::FAILURE
        }
    }
}
