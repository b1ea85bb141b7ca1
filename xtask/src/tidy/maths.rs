//! The header that draws formulas. Every published library with formulas has a link to it, because
//! docs.rs sees only the package.

use super::Problem;
use crate::tree::Tree;

const HEADER: &str = "katex-header.html";

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for package in tree.packages().iter().filter(|p| p.is_published()) {
        let sources = package.path("src/");
        let has_maths = tree.files.iter().any(|file| {
            file.path.starts_with(&sources) && file.bytes.windows(2).any(|pair| pair == b"`$")
        });
        if has_maths && tree.file(&package.path(HEADER)).is_none() {
            problems.push(Problem::new(
                &package.path("Cargo.toml"),
                1,
                format!("published library with maths and without {HEADER}"),
                "add a symbolic link, as other crates have",
            ));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::places;

    const A: (&str, &str) = ("a/Cargo.toml", "[package]\nname = \"a\"\n");

    #[test]
    fn maths_needs_one_and_prose_does_not() {
        let maths = Tree::of(&[A, ("a/src/lib.rs", "//! `$x$`")]);
        assert_eq!(places(&check(&maths)), ["a/Cargo.toml:1"]);
        let prose = Tree::of(&[A, ("a/src/lib.rs", "//! x")]);
        assert_eq!(check(&prose), []);
    }
}
