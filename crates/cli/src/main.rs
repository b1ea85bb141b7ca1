//! The program `bilevel`.

use std::io::{self, Write};
use std::process::ExitCode;

use bilevel_cli::args::Arguments;
use bilevel_cli::commands;
use clap::Parser;

fn main() -> ExitCode {
    match commands::run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // a closed standard error is no further error
            let _ = writeln!(io::stderr().lock(), "bilevel: error: {}", error.chain());
            ExitCode::from(error.exit_code())
        }
    }
}
