//! The map of the code in `docs/architecture.md`: every source file of the crates is in it, once,
//! and every file in it exists.

use std::collections::BTreeMap;

use super::Problem;
use crate::tree::Tree;

const MAP: &str = "docs/architecture.md";

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let Some(text) = tree.file(MAP).and_then(|file| file.text()) else {
        return Vec::new();
    };
    let mut problems = Vec::new();
    let mut rows: BTreeMap<String, usize> = BTreeMap::new();
    let mut root = "";
    for (line, number) in text.lines().zip(1..) {
        if line.starts_with("`crates/") {
            root = line.split('`').nth(1).unwrap_or_default();
        }
        let is_row = line.starts_with("| `") && !root.is_empty();
        let cell = line.split('|').nth(1).filter(|_| is_row);
        let mut before: Option<String> = None;
        for name in cell.unwrap_or_default().split('`').skip(1).step_by(2) {
            let Some(path) = find(tree, root, before.as_deref(), name) else {
                problems.push(Problem::new(
                    MAP,
                    number,
                    format!("there is no file {name} in {root}"),
                    "correct its name, or remove it",
                ));
                continue;
            };
            if let Some(first) = rows.insert(path.clone(), number) {
                problems.push(Problem::new(
                    MAP,
                    number,
                    format!("{path} is already in line {first}"),
                    "leave one of them out",
                ));
            }
            before = Some(path);
        }
        if line.starts_with("## Invariants") {
            break;
        }
    }
    for file in tree.files.iter().filter(|file| is_mapped(&file.path)) {
        if !rows.contains_key(&file.path) {
            problems.push(Problem::new(
                &file.path,
                1,
                format!("not in the map of the code, {MAP}"),
                "add it to a row of the tables there",
            ));
        }
    }
    problems
}

/// Returns the path of a file of a row: below a directory of the file before it in the row, the
/// nearest one first, or in the sources of the crate.
fn find(tree: &Tree, root: &str, before: Option<&str>, name: &str) -> Option<String> {
    let mut directory = before.unwrap_or_default();
    let mut places = Vec::new();
    while let Some((parent, _)) = directory.rsplit_once('/') {
        directory = parent;
        if directory.len() >= root.len() {
            places.push(format!("{directory}/{name}"));
        }
    }
    for sources in ["/src", "", "/python/dfo_ls"] {
        places.push(format!("{root}{sources}/{name}"));
    }
    places.into_iter().find(|path| tree.file(path).is_some())
}

/// Whether the map must have a file: a source file of a crate that is not a test, a page of
/// exports, a list of errors or a main program.
fn is_mapped(path: &str) -> bool {
    let Some((_, path)) = path
        .strip_prefix("crates/")
        .and_then(|path| path.split_once('/'))
    else {
        return false;
    };
    let name = path.rsplit('/').next().unwrap_or_default();
    let is_rust = path.starts_with("src/") && name.ends_with(".rs");
    let is_python = path.starts_with("python/") && name.ends_with(".py");
    let is_left_out = ["lib.rs", "main.rs", "error.rs", "__init__.py"].contains(&name);
    let is_test = path.contains("tests/") || name.ends_with("tests.rs");
    (is_rust || is_python) && !is_left_out && !is_test
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::places;

    const FILES: [(&str, &str); 7] = [
        ("crates/a/src/lib.rs", ""),
        ("crates/a/src/solve.rs", ""),
        ("crates/a/src/solve/tests.rs", ""),
        ("crates/a/src/deep.rs", ""),
        ("crates/a/src/deep/solve.rs", ""),
        ("crates/a/src/deep/down/low.rs", ""),
        ("crates/a/python/a/_solve.py", ""),
    ];

    #[track_caller]
    fn check_rows(rows: &str, expected: &[&str]) {
        let text = format!("# Map\n`crates/a` is a crate.\n{rows}\n## Invariants\n| `none.rs` |\n");
        let mut files = FILES.to_vec();
        files.push((MAP, &text));
        assert_eq!(places(&check(&Tree::of(&files))), expected);
    }

    #[test]
    fn names_are_relative_to_the_file_before_them() {
        let rows = "| `solve.rs` | |\n| `deep.rs`, `deep/down/low.rs`, `solve.rs` | `x.rs` |\n\
                    | `python/a/_solve.py` | |";
        check_rows(rows, &[]);
    }

    #[test]
    fn files_that_are_missing_twice_or_left_out_fail() {
        let rows = "| `solve.rs`, `deep/solve.rs` | |\n| `solve.rs`, `gone.rs` | |\n\
                    | `python/a/_solve.py`, `deep/down/low.rs` | |";
        let places = [
            "docs/architecture.md:4",
            "docs/architecture.md:4",
            "crates/a/src/deep.rs:1",
        ];
        check_rows(rows, &places);
    }
}
