//! The header that draws formulas. Every published library with formulas carries the same copy,
//! because docs.rs sees only the package.

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
                "copy it from another crate",
            ));
        }
    }
    let mut copies = tree.files.iter().filter(|f| f.path.ends_with(HEADER));
    if let Some(first) = copies.next() {
        for copy in copies.filter(|copy| copy.bytes != first.bytes) {
            problems.push(Problem::new(
                &copy.path,
                first_difference(&first.bytes, &copy.bytes),
                format!("differs from {}", first.path),
                "decide which one is right and copy it over the other",
            ));
        }
    }
    problems
}

fn first_difference(a: &[u8], b: &[u8]) -> usize {
    let common = a.iter().zip(b).take_while(|(a, b)| a == b);
    1 + common.filter(|(byte, _)| **byte == b'\n').count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::places;

    const A: (&str, &str) = ("a/Cargo.toml", "[package]\nname = \"a\"\n");

    #[test]
    fn equal_copies_pass() {
        let tree = Tree::of(&[
            A,
            ("a/src/lib.rs", ""),
            ("a/katex-header.html", "x\ny\n"),
            ("b/katex-header.html", "x\ny\n"),
        ]);
        assert_eq!(check(&tree), []);
    }

    #[test]
    fn different_copies_fail_at_the_first_different_line() {
        let tree = Tree::of(&[
            ("a/katex-header.html", "x\ny\n"),
            ("b/katex-header.html", "x\nz\n"),
        ]);
        assert_eq!(places(&check(&tree)), ["b/katex-header.html:2"]);
    }

    #[test]
    fn maths_needs_one_and_prose_does_not() {
        let maths = Tree::of(&[A, ("a/src/lib.rs", "//! `$x$`")]);
        assert_eq!(places(&check(&maths)), ["a/Cargo.toml:1"]);
        let prose = Tree::of(&[A, ("a/src/lib.rs", "//! x")]);
        assert_eq!(check(&prose), []);
    }
}
