//! Unfinished code, and tests that are ignored without a reason.

use super::{Problem, code, line_at};
use crate::tree::Tree;

const LEFTOVERS: [(&str, &str, &str); 3] = [
    ("todo!(", "unfinished code", "finish it"),
    ("unimplemented!(", "unfinished code", "finish it"),
    (
        "#[ignore]",
        "a test is ignored without a reason",
        "run it, or write `#[ignore = \"why\"]`",
    ),
];

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in &tree.files {
        let Some(text) = file.rust() else { continue };
        let code = code::only(text);
        for (pattern, message, remedy) in LEFTOVERS {
            for (offset, _) in code.match_indices(pattern) {
                let line = line_at(&code, offset);
                problems.push(Problem::new(&file.path, line, message, remedy));
            }
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::places;

    #[test]
    fn finished_code_passes() {
        let text = "// todo!(later)\nfn f() { g(\"unimplemented!()\") }\n#[ignore = \"slow\"]\nfn h() {}\n";
        assert_eq!(check(&Tree::of(&[("a.rs", text), ("a.md", "todo!()")])), []);
    }

    #[test]
    fn leftovers_fail() {
        let text =
            "fn f() {\n    todo!()\n}\nfn g() { unimplemented!(\"x\") }\n#[ignore]\nfn h() {}\n";
        let places = places(&check(&Tree::of(&[("a.rs", text)])));
        assert_eq!(places, ["a.rs:2", "a.rs:4", "a.rs:5"]);
    }
}
