//! The program `bilevel`: it denoises pictures, learns the parameters of image reconstruction from
//! training images, and applies them.
//!
//! - [`args`] parses the command line, [`commands`] runs the commands, [`error`] has the errors and
//!   exit codes.
//! - [`config`] resolves settings from flags, TOML files and defaults.
//! - [`task`] loads the data and the family of a task; [`blur_check`] finds blurred pictures and
//!   kernels that do not suit deblurring.
//! - [`store`] is the directory of a run, and [`session`] learns and saves the run there after
//!   every evaluation. [`ranks`] connects the processes that `mpirun` starts.
//! - [`progress`] shows a run in progress, [`summary`] its result on a terminal.
//! - [`run_page`] writes the page of a run, [`report`] its HTML, and [`findings`] the sentences
//!   that explain the result.
//! - [`mod@apply`] reconstructs other pictures with the learned parameters.
//! - [`mod@denoise`] denoises pictures with parameters that come with the program.
//! - [`mod@mask`] learns which frequencies of magnetic resonance pictures to measure.
//! - [`picture`] reads and writes files of pictures, [`mod@array`] arrays, [`kspace`]
//!   measured k-space, and [`mod@file`] writes files whole or not at all.
//!
//! ```
//! use bilevel_cli::picture::{self, Colour, Depth};
//!
//! let path = std::env::temp_dir().join(format!("bilevel-{}.png", std::process::id()));
//! picture::write(&path, 2, 1, &[&[0.0, 1.0]], Depth::Eight)?;
//! let picture = picture::read(&path, Colour::Luminance)?;
//! assert_eq!(picture.channels, [[0.0, 1.0]]);
//! # std::fs::remove_file(&path)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::PathBuf;

use crate::args::Arguments;
use crate::ranks::Connection;

pub mod apply;
pub mod args;
pub mod array;
pub mod blur_check;
pub mod commands;
pub mod config;
pub mod denoise;
pub mod error;
pub mod file;
pub mod findings;
pub mod kspace;
pub mod mask;
pub mod memory;
pub mod per_picture;
pub mod picture;
pub mod progress;
pub mod ranks;
pub mod report;
pub mod run_page;
pub mod session;
pub mod store;
pub mod summary;
pub mod task;
#[cfg(test)]
mod temp_dir;

/// Runs the program with these arguments, the first of which is its name, and returns its exit
/// code.
///
/// The Python package calls it to install the program.
pub fn main_with(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let connection = match Connection::open() {
        Ok(connection) => connection,
        Err(reason) => {
            print_error(&reason);
            return 1;
        }
    };
    let ranks = connection.ranks();
    let is_first = ranks.rank() == 0;
    let mut arguments = arguments.into_iter().peekable();
    let program = arguments.peek().map(PathBuf::from).unwrap_or_default();
    let code = match Arguments::from_program(arguments) {
        Ok(mut arguments) => {
            arguments.shared.program = program;
            match commands::run(&arguments, ranks) {
                Ok(()) => 0,
                Err(error) => {
                    if is_first {
                        print_error(&error.chain());
                    }
                    error.exit_code()
                }
            }
        }
        // this includes --help and --version
        Err(message) => {
            if is_first {
                let _ = message.print();
            }
            u8::try_from(message.exit_code()).unwrap_or(1)
        }
    };
    // a program that ends would do this by itself, a function does not
    let _ = io::stdout().flush();
    ranks::common_code(ranks, code)
}

/// Prints an error. A closed standard error is no further error.
fn print_error(message: &str) {
    let _ = writeln!(io::stderr().lock(), "bilevel: error: {message}");
}
