//! The program `bilevel`.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(bilevel_cli::main_with(std::env::args_os()))
}
