//! The places of files: only known ones at the top level, and no crate that compiles a file of
//! another one.

use std::path::{Path, PathBuf};

use super::{Problem, code, line_at, resolved};
use crate::tree::Tree;

/// The files and directories at the top level.
const TOP_LEVEL: [&str; 18] = [
    ".cargo",
    ".ci",
    ".github",
    ".gitignore",
    "CHANGELOG.md",
    "CITATION.cff",
    "CONTRIBUTING.md",
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
    "benches",
    "clippy.toml",
    "crates",
    "docs",
    "ruff.toml",
    "xtask",
];

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in &tree.files {
        let top = file.path.split('/').next().unwrap_or_default();
        if !TOP_LEVEL.contains(&top) {
            problems.push(Problem::new(
                &file.path,
                1,
                format!("{top} is not known at the top level"),
                "move or delete it, or add it to xtask/src/tidy/layout.rs",
            ));
        }
        let Some(text) = file.rust() else { continue };
        let code = code::only(text);
        for (offset, pattern) in ["#[path", "include!("]
            .iter()
            .flat_map(|pattern| code.match_indices(pattern))
        {
            let included = text[offset + pattern.len()..].split('"').nth(1);
            if included.is_some_and(|included| leaves_crate(&file.path, included)) {
                problems.push(Problem::new(
                    &file.path,
                    line_at(&code, offset),
                    "compiles a file of another crate",
                    "move the shared code to a library that both depend on",
                ));
            }
        }
    }
    problems
}

/// Whether `included`, relative to the directory of `path`, is in another crate.
fn leaves_crate(path: &str, included: &str) -> bool {
    let depth = if path.starts_with("crates/") { 2 } else { 1 };
    let package: PathBuf = Path::new(path).iter().take(depth).collect();
    !resolved(path, included).starts_with(package)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::places;

    #[test]
    fn only_known_files_stand_at_the_top() {
        let tree = Tree::of(&[("README.md", ""), ("docs/a.py", ""), ("plate.py", "")]);
        assert_eq!(places(&check(&tree)), ["plate.py:1"]);
    }

    #[test]
    fn files_of_other_crates_are_not_compiled() {
        let inside = "#[path = \"../src/x.rs\"]\nmod x;\n// #[path = \"../../b/x.rs\"]\n";
        let outside =
            "mod a;\n#[path = \"../../b/src/x.rs\"]\nmod x;\ninclude!(\"../../../y.rs\");\n";
        let tree = Tree::of(&[
            ("crates/a/tests/in.rs", inside),
            ("crates/a/tests/out.rs", outside),
        ]);
        let expected = ["crates/a/tests/out.rs:2", "crates/a/tests/out.rs:4"];
        assert_eq!(places(&check(&tree)), expected);
    }
}
