//! Library crates do no input or output, and read no environment and no clock. Clippy sees to it
//! that they print nothing.

use super::{Problem, code, line_at};
use crate::tree::{File, Tree};

const LIBRARIES: [&str; 7] = [
    "crates/dfo-ls/src/",
    "crates/inexact-lbfgs/src/",
    "crates/lowlevel/src/",
    "crates/imaging/src/",
    "crates/bilevel/src/",
    "crates/plot/src/",
    "crates/page/src/",
];
/// The loops that measure time for a caller who set a limit. The engines have no clock.
const CLOCKS: [&str; 3] = [
    "crates/bilevel/src/learn.rs",
    "crates/dfo-ls/src/driver.rs",
    "crates/inexact-lbfgs/src/driver.rs",
];
const PATHS: [&str; 6] = [
    "std::env",
    "std::fs",
    "std::net",
    "std::process",
    "std::time::Instant",
    "std::time::SystemTime",
];

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    tree.files
        .iter()
        .filter(|file| LIBRARIES.iter().any(|dir| file.path.starts_with(dir)))
        .filter(|file| !file.path.ends_with("/tests.rs") && !CLOCKS.contains(&file.path.as_str()))
        .flat_map(check_file)
        .collect()
}

fn check_file(file: &File) -> Vec<Problem> {
    let code = code::shipped(file.rust().unwrap_or(""));
    let mut problems = Vec::new();
    for (offset, _) in code.match_indices("std::") {
        if !is_word_start(&code, offset) {
            continue;
        }
        let used = use_tree("", &code[offset..]);
        for path in PATHS {
            if used.iter().any(|used| reaches(used, path)) {
                problems.push(Problem::new(
                    &file.path,
                    line_at(&code, offset),
                    format!("`{path}` in a library crate"),
                    "return the data, or take it as an argument, and leave this to the caller",
                ));
            }
        }
    }
    problems
}

fn is_word_start(code: &str, offset: usize) -> bool {
    !code[..offset].ends_with(|c: char| c.is_alphanumeric() || c == '_')
}

/// Whether importing or naming `used` gives access to `path`.
fn reaches(used: &str, path: &str) -> bool {
    let begins = |long: &str, short: &str| {
        let rest = long.strip_prefix(short);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
    };
    begins(used, path) || begins(path, used.trim_end_matches("::*"))
}

/// The full paths at the start of `code`, e.g. `std::a` and `std::b::c` for
/// `std::{a, b::{self as x, c}}`.
fn use_tree(prefix: &str, code: &str) -> Vec<String> {
    let code = code.trim_start();
    if let Some(group) = code.strip_prefix('{') {
        let branches = branches(group).into_iter();
        return branches
            .filter(|branch| !branch.trim().is_empty())
            .flat_map(|branch| use_tree(prefix, branch))
            .collect();
    }
    let end = code
        .find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '*'))
        .unwrap_or(code.len());
    let (name, rest) = code.split_at(end);
    let path = match (prefix, name) {
        ("", name) => name.to_string(),
        (prefix, "self" | "") => prefix.to_string(),
        (prefix, name) => format!("{prefix}::{name}"),
    };
    match rest.strip_prefix("::") {
        Some(rest) => use_tree(&path, rest),
        None => vec![path],
    }
}

/// The parts, separated by commas, of the group whose opening brace is just before `code`.
fn branches(code: &str) -> Vec<&str> {
    let (mut parts, mut start, mut depth) = (Vec::new(), 0, 0_usize);
    for (at, c) in code.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            '}' => {
                parts.push(&code[start..at]);
                break;
            }
            ',' if depth == 0 => {
                parts.push(&code[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_text(text: &str, expected: &[(usize, &str)]) {
        let problems = check(&Tree::of(&[("crates/lowlevel/src/gd.rs", text)]));
        assert_eq!(problems.len(), expected.len(), "{problems:?}");
        for (problem, (line, name)) in problems.iter().zip(expected) {
            assert_eq!(problem.line, *line);
            assert!(problem.message.contains(name), "{problem}");
        }
    }

    #[test]
    fn pure_code_passes() {
        check_text(
            "//! std::fs::read(\"in a doc test\");\nuse std::time::Duration;\nuse std::{fmt, io::{self, Write}};\n\
             fn f(s: &str) { writeln!(s, \"std::fs\"); my_std::env(); }\n#[cfg(test)]\nmod tests { use std::fs; }\n",
            &[],
        );
    }

    #[test]
    fn every_spelling_of_a_path_fails() {
        check_text("fn f() { std::env::var(\"X\"); }", &[(1, "std::env")]);
        check_text(
            "\nuse std::time::{Duration, Instant};",
            &[(2, "std::time::Instant")],
        );
        check_text(
            "use std::{\n    fmt,\n    fs::{self, File},\n};",
            &[(1, "std::fs")],
        );
        check_text("use std::net::*;", &[(1, "std::net")]);
        check_text(
            "use std::time;",
            &[(1, "std::time::Instant"), (1, "std::time::SystemTime")],
        );
    }

    #[test]
    fn programs_and_test_suites_may_do_as_they_like() {
        let tree = Tree::of(&[
            ("crates/cli/src/main.rs", "std::env::args()"),
            ("crates/dfo-ls/tests/golden.rs", "std::fs::read()"),
            ("crates/dfo-ls/src/engine/tests.rs", "std::fs::read()"),
        ]);
        assert_eq!(check(&tree), []);
    }
}
