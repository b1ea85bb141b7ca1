//! The program behind `cargo xtask more-wild` and `cargo xtask learning`.
#![expect(
    clippy::print_stderr,
    reason = "a command-line program talks to its user"
)]

use std::io;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use experiments::{learning, more_wild};

/// Runs that measure the library.
#[derive(Debug, Parser)]
#[command(about)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Solves the 53 problems of Moré and Wild and compares with other solvers.
    MoreWild(more_wild::Arguments),
    /// Learns the parameters of the paper's problems, and compares with the true optima.
    Learning(learning::Arguments),
}

fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::MoreWild(arguments) => more_wild::run(&arguments, &mut io::stdout().lock()),
        Command::Learning(arguments) => learning::run(&arguments, &mut io::stdout().lock()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("experiments: {error:#}");
            ExitCode::FAILURE
        }
    }
}
