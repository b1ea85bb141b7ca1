//! The dependencies allowed between our crates. A new edge is a decision: change the table together
//! with a record in `docs/decisions`.

use super::Problem;
use crate::tree::Tree;

const DFO_LS: &str = "crates/dfo-ls";
const INEXACT_LBFGS: &str = "crates/inexact-lbfgs";
const LOWLEVEL: &str = "crates/lowlevel";
const IMAGING: &str = "crates/imaging";
const BILEVEL: &str = "crates/bilevel";
const PLOT: &str = "crates/plot";
const PAGE: &str = "crates/page";

enum Allowed {
    Only(&'static [&'static str]),
    Anything,
}

/// The directory of each crate and the crates that it may use. The same holds for its tests and its
/// build script.
const EDGES: [(&str, Allowed); 13] = [
    (DFO_LS, Allowed::Only(&[])),
    (INEXACT_LBFGS, Allowed::Only(&[])),
    (LOWLEVEL, Allowed::Only(&[])),
    (IMAGING, Allowed::Only(&[LOWLEVEL])),
    (
        BILEVEL,
        Allowed::Only(&[DFO_LS, INEXACT_LBFGS, LOWLEVEL, IMAGING]),
    ),
    (PLOT, Allowed::Only(&[])),
    (PAGE, Allowed::Only(&[])),
    ("crates/cli", Allowed::Anything),
    ("crates/experiments", Allowed::Anything),
    ("crates/dfo-ls-python", Allowed::Anything),
    ("crates/bilevel-python", Allowed::Anything),
    ("benches", Allowed::Anything),
    ("xtask", Allowed::Only(&[])),
];

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    let workspace = tree.workspace();
    let packages = tree.packages();
    for package in &packages {
        let path = package.path("Cargo.toml");
        let Some((_, allowed)) = EDGES.iter().find(|(dir, _)| *dir == package.directory) else {
            problems.push(Problem::new(
                &path,
                1,
                "the crate is not in the dependency table",
                "say in xtask/src/tidy/graph.rs what it may depend on",
            ));
            continue;
        };
        let Allowed::Only(allowed) = allowed else {
            continue;
        };
        for dependency in package.dependencies() {
            let target = package.target(&dependency, &workspace);
            let forbidden = packages
                .iter()
                .find(|ours| ours.name() == target && !allowed.contains(&ours.directory.as_str()));
            if let Some(target) = forbidden {
                problems.push(Problem::new(
                    &path,
                    dependency.line,
                    format!("must not depend on {}", target.directory),
                    "remove the dependency, or move the code to a crate that may have it",
                ));
            }
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::places;

    const ROOT: (&str, &str) = (
        "Cargo.toml",
        "[workspace.dependencies]\nimaging = { path = \"crates/imaging\", package = \"bilevel-imaging\" }\n",
    );
    const LOWLEVEL: (&str, &str) = (
        "crates/lowlevel/Cargo.toml",
        "[package]\nname = \"lowlevel\"\n[dependencies]\nserde = \"1\"\n",
    );
    const BILEVEL: (&str, &str) = (
        "crates/bilevel/Cargo.toml",
        "[package]\nname = \"bilevel\"\n[dependencies]\nimaging.workspace = true\n",
    );

    fn imaging(more: &str) -> String {
        format!("[package]\nname = \"bilevel-imaging\"\n[dependencies]\nlowlevel = \"1\"\n{more}")
    }

    #[test]
    fn downward_edges_pass() {
        let imaging = imaging("");
        let imaging = ("crates/imaging/Cargo.toml", imaging.as_str());
        let tree = Tree::of(&[ROOT, LOWLEVEL, imaging, BILEVEL]);
        assert_eq!(check(&tree), []);
    }

    #[test]
    fn upward_edges_fail_even_in_tests() {
        let imaging = imaging("[dev-dependencies]\nbilevel = \"1\"\n");
        let imaging = ("crates/imaging/Cargo.toml", imaging.as_str());
        let tree = Tree::of(&[ROOT, LOWLEVEL, imaging, BILEVEL]);
        assert_eq!(places(&check(&tree)), ["crates/imaging/Cargo.toml:6"]);
    }

    #[test]
    fn a_renamed_crate_is_recognised() {
        let imaging = imaging("");
        let imaging = ("crates/imaging/Cargo.toml", imaging.as_str());
        let xtask = (
            "xtask/Cargo.toml",
            "[package]\nname = \"xtask\"\n[dependencies]\nimaging.workspace = true\n",
        );
        let tree = Tree::of(&[ROOT, LOWLEVEL, imaging, xtask]);
        assert_eq!(places(&check(&tree)), ["xtask/Cargo.toml:4"]);
    }

    #[test]
    fn leaves_may_use_anything_but_every_crate_is_known() {
        let benches = (
            "benches/Cargo.toml",
            "[package]\nname = \"benches\"\n[dependencies]\nbilevel = \"1\"\n",
        );
        let stranger = ("crates/new/Cargo.toml", "[package]\nname = \"new\"\n");
        let tree = Tree::of(&[ROOT, BILEVEL, benches, stranger]);
        assert_eq!(places(&check(&tree)), ["crates/new/Cargo.toml:1"]);
    }
}
