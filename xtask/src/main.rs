//! Development commands of the workspace. `cargo xtask help` lists them.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line program talks to its user"
)]

mod cargo;
mod doc;
mod experiment;
mod features;
mod manifest;
mod mpi;
mod package;
mod python;
mod step;
mod test;
mod tidy;
mod tree;

use std::env;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const HELP: &str = "\
Development commands of the workspace

Usage: cargo xtask <command>

Commands:
  test            Run everything that a change must pass, cheapest first
  tidy            Check the rules of the architecture and of the text; compiles nothing
  doc             Write the documentation of all crates
  python          Build and test the Python packages in an environment under target/
  mpi             Build the program with MPI, and test it on several ranks
  reproduce       Regenerate every figure of the paper, and check its claims
  more-wild       Run dfo-ls on the benchmark of Moré and Wild, and compare it with other solvers
  learning        Learn the parameters of the paper's problems, and compare with the true optima
  train-denoiser  Learn the filter banks of `imaging::denoise` from photographs
  truthless       Learn without truth, and compare with learning from the truth
  masks           Learn masks for magnetic resonance imaging, and compare with other masks
  bench           Measure speed, and compare it with other programs; --quick takes two minutes
  fetch-kodak     Download the 25 photographs of the paper, and check them
  help            Print this text

`cargo xtask <command> --help` lists the options of reproduce and of the commands below it.";

/// The commands that `crates/experiments` runs.
const EXPERIMENTS: [&str; 8] = [
    "reproduce",
    "more-wild",
    "learning",
    "train-denoiser",
    "truthless",
    "masks",
    "bench",
    "fetch-kodak",
];

#[derive(Clone, Debug, PartialEq, Eq)]
enum Command {
    Help,
    Test,
    Tidy,
    Doc,
    Python,
    Mpi,
    /// The name of an experiment and its arguments.
    Experiment(String, Vec<String>),
}

impl Command {
    fn parse(args: &[String]) -> Result<Self, String> {
        let name = match args {
            [] => "help",
            [name, rest @ ..] if EXPERIMENTS.contains(&name.as_str()) => {
                return Ok(Self::Experiment(name.clone(), rest.to_vec()));
            }
            [name] => name.as_str(),
            [name, extra, ..] => {
                return Err(format!(
                    "`{name}` takes no arguments, but `{extra}` was given"
                ));
            }
        };
        match name {
            "help" | "--help" | "-h" => Ok(Self::Help),
            "test" => Ok(Self::Test),
            "tidy" => Ok(Self::Tidy),
            "doc" => Ok(Self::Doc),
            "python" => Ok(Self::Python),
            "mpi" => Ok(Self::Mpi),
            _ => Err(format!("no command `{name}`\n\n{HELP}")),
        }
    }
}

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    let command = match Command::parse(&args) {
        Ok(command) => command,
        Err(message) => {
            eprintln!("xtask: {message}");
            return ExitCode::from(2);
        }
    };
    let root = root();
    let done = match command {
        Command::Help => {
            println!("{HELP}");
            Ok(())
        }
        Command::Test => test::run(&root),
        Command::Tidy => tidy::run(&root),
        Command::Doc => doc::run(&root),
        Command::Python => python::run(&root),
        Command::Mpi => mpi::run(&root),
        Command::Experiment(name, args) => experiment::run(&root, &name, &args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}

/// The directory of the workspace. Cargo knows at run time where this package is; the compiler
/// knows only where it was built.
fn root() -> PathBuf {
    let package = env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    package.parent().map_or_else(
        || PathBuf::from("."),
        |directory: &Path| directory.to_path_buf(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(args: &[&str]) -> Result<Command, String> {
        let args: Vec<String> = args.iter().map(ToString::to_string).collect();
        Command::parse(&args)
    }

    #[test]
    fn commands() {
        assert_eq!(parse(&[]), Ok(Command::Help));
        assert_eq!(parse(&["tidy"]), Ok(Command::Tidy));
        assert!(parse(&["tidy", "more"]).is_err());
        let args = vec!["--seed".to_string(), "3".to_string()];
        assert_eq!(
            parse(&["more-wild", "--seed", "3"]),
            Ok(Command::Experiment("more-wild".to_string(), args))
        );
    }

    #[test]
    fn an_unknown_command_is_told_the_known_ones() {
        let message = parse(&["tset"]).unwrap_err();
        assert!(message.contains("`tset`") && message.ends_with(HELP));
        for known in EXPERIMENTS {
            assert!(HELP.contains(known));
        }
    }
}
