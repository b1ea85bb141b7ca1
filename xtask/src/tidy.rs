//! `cargo xtask tidy`: checks of the architecture's invariants that need only the text.

mod code;
mod decisions;
mod files;
mod graph;
mod layout;
mod links;
mod machine_paths;
mod map;
mod maths;
mod packages;
mod prose;
mod purity;

use std::fmt;
use std::path::{Component, Path, PathBuf};

use crate::tree::Tree;

/// The checks, in the order of their complaints.
const CHECKS: [fn(&Tree) -> Vec<Problem>; 11] = [
    graph::check,
    packages::check,
    layout::check,
    maths::check,
    purity::check,
    files::check,
    machine_paths::check,
    decisions::check,
    prose::check,
    links::check,
    map::check,
];

/// A violation: its place, what is wrong, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Problem {
    path: String,
    line: usize,
    message: String,
    remedy: &'static str,
}

impl Problem {
    fn new(path: &str, line: usize, message: impl Into<String>, remedy: &'static str) -> Self {
        Self {
            path: path.to_string(),
            line,
            message: message.into(),
            remedy,
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            path,
            line,
            message,
            remedy,
        } = self;
        write!(f, "{path}:{line}: {message} - {remedy}")
    }
}

/// Runs all checks on the repository at `root`.
pub(crate) fn run(root: &Path) -> Result<(), String> {
    let tree = Tree::load(root)?;
    let problems: Vec<Problem> = CHECKS.iter().flat_map(|check| check(&tree)).collect();
    for problem in &problems {
        eprintln!("{problem}");
    }
    if problems.is_empty() {
        println!("tidy: {} files, no problem", tree.files.len());
        Ok(())
    } else {
        Err(format!("tidy: {} problems", problems.len()))
    }
}

/// The line, counted from 1, of the byte at `offset`.
fn line_at(text: &str, offset: usize) -> usize {
    1 + text.as_bytes()[..offset]
        .iter()
        .filter(|byte| **byte == b'\n')
        .count()
}

/// The path in the repository that `path` means in the file `from`.
fn resolved(from: &str, path: &str) -> PathBuf {
    let directory = Path::new(from).parent().unwrap_or(Path::new(""));
    let mut whole = PathBuf::new();
    for part in directory.join(path).components() {
        match part {
            Component::ParentDir => {
                whole.pop();
            }
            Component::CurDir => {}
            part => whole.push(part),
        }
    }
    whole
}

/// `path:line` of every problem, for tests.
#[cfg(test)]
fn places(problems: &[Problem]) -> Vec<String> {
    let place = |problem: &Problem| format!("{}:{}", problem.path, problem.line);
    problems.iter().map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_can_be_clicked_and_says_what_to_do() {
        let problem = Problem::new("a/b.rs", 7, "is wrong", "put it right");
        assert_eq!(problem.to_string(), "a/b.rs:7: is wrong - put it right");
    }

    #[test]
    fn lines_count_from_one() {
        assert_eq!(line_at("ab\nc", 0), 1);
        assert_eq!(line_at("ab\nc", 3), 2);
    }
}
