//! Chores of the workspace. `cargo xtask help` lists them.
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
Chores of the workspace

Usage: cargo xtask <command>

Commands:
  test         everything a change must pass: fmt, tidy, clippy, tests, docs, Python, each feature alone
  tidy         text checks of the architecture's invariants (fast, compiles nothing)
  doc          documentation of all crates, with the maths drawn
  python       the Python packages: built, checked and tried in an environment under target/
  reproduce    every figure of the paper, with a verdict for every claim; `reproduce --help` lists its options
  more-wild    dfo-ls on the benchmark of Moré and Wild, compared with other solvers; `more-wild --help` lists its options
  learning     parameters of the paper's problems learned, compared with the true optima; `learning --help` lists its options
  bench        everything about speed, compared with others in the same run; `bench --quick` takes two minutes, `bench --help` lists its options
  fetch-kodak  the 25 photographs of the paper, downloaded and checked; `fetch-kodak --help` lists its options
  help         this text (default)";

/// Run by `crates/experiments`.
const EXPERIMENTS: [&str; 5] = ["reproduce", "more-wild", "learning", "bench", "fetch-kodak"];

#[derive(Clone, Debug, PartialEq, Eq)]
enum Command {
    Help,
    Test,
    Tidy,
    Doc,
    Python,
    /// Its name, and its arguments.
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
            _ => Err(format!(
                "no command `{name}`; the commands are test, tidy, doc, python, reproduce, more-wild, learning, bench, fetch-kodak, help"
            )),
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

/// The workspace's directory: cargo says at run time where this package is now, the compiler only
/// where it was.
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
        for known in [
            "test",
            "tidy",
            "doc",
            "python",
            "more-wild",
            "learning",
            "bench",
            "fetch-kodak",
            "help",
        ] {
            assert!(message.contains(known) && HELP.contains(known));
        }
    }
}
