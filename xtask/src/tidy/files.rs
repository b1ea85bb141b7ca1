//! Names and lengths of source files.

use std::path::Path;

use super::Problem;
use crate::tree::Tree;

const NAMELESS: [&str; 7] = [
    "utils", "util", "common", "helpers", "helper", "types", "prelude",
];
const MAX_LINES: usize = 500;

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in &tree.files {
        let Some(text) = file.rust() else { continue };
        if has_nameless_part(&file.path) {
            problems.push(Problem::new(
                &file.path,
                1,
                "the name says nothing about the content",
                "name the file after what it does",
            ));
        }
        let lines = text.lines().count();
        if lines > MAX_LINES {
            problems.push(Problem::new(
                &file.path,
                MAX_LINES + 1,
                format!("{lines} lines, more than {MAX_LINES}"),
                "split the file",
            ));
        }
    }
    problems
}

fn has_nameless_part(path: &str) -> bool {
    Path::new(path)
        .with_extension("")
        .iter()
        .any(|part| NAMELESS.iter().any(|name| part == *name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::places;

    #[test]
    fn telling_names_pass() {
        let tree = Tree::of(&[
            ("a/src/grid.rs", ""),
            ("a/common_noise.rs", ""),
            ("types.toml", ""),
        ]);
        assert_eq!(check(&tree), []);
    }

    #[test]
    fn nameless_files_and_directories_fail() {
        let tree = Tree::of(&[("a/src/utils.rs", ""), ("a/tests/common/mod.rs", "")]);
        let expected = ["a/src/utils.rs:1", "a/tests/common/mod.rs:1"];
        assert_eq!(places(&check(&tree)), expected);
    }

    #[test]
    fn length() {
        let (full, long) = ("x\n".repeat(MAX_LINES), "x\n".repeat(MAX_LINES + 1));
        let tree = Tree::of(&[("a.rs", &full), ("b.rs", &long), ("c.csv", &long)]);
        assert_eq!(places(&check(&tree)), ["b.rs:501"]);
    }
}
