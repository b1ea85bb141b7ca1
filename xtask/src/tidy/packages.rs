//! Metadata of published crates: a version of their own, a description, a licence, keywords,
//! categories, a page and a change log.

use super::Problem;
use crate::tree::Tree;

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for package in tree.packages().iter().filter(|p| p.is_published()) {
        let path = package.path("Cargo.toml");
        let mut report = |line, message: String, remedy| {
            problems.push(Problem::new(&path, line, message, remedy));
        };
        for file in ["README.md", "CHANGELOG.md"] {
            if tree.file(&package.path(file)).is_none() {
                report(
                    1,
                    format!("published without {file}"),
                    "write it next to the manifest",
                );
            }
        }
        let manifest = &package.manifest;
        let version = manifest.get(&["package", "version"]);
        if version.is_none() {
            let shared = manifest.get(&["package", "version", "workspace"]);
            report(
                shared.map_or(1, |entry| entry.line),
                "published without a version of its own".into(),
                "give it one, as in `version = \"0.1.0\"`",
            );
        }
        for key in ["description", "license", "keywords", "categories", "readme"] {
            let own = manifest.get(&["package", key]);
            let shared = manifest.get(&["package", key, "workspace"]);
            if own.or(shared).is_none_or(|entry| entry.value.is_empty()) {
                report(1, format!("published without {key}"), "add it to [package]");
            }
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::places;

    const GOOD: &str = "[package]\nname = \"a\"\nversion = \"0.1.0\"\ndescription = \"it does\"\nlicense.workspace = true\nkeywords = [\"a\"]\ncategories.workspace = true\nreadme = \"README.md\"\n";

    #[test]
    fn a_complete_crate_passes() {
        let tree = Tree::of(&[
            ("a/Cargo.toml", GOOD),
            ("a/README.md", ""),
            ("a/CHANGELOG.md", ""),
        ]);
        assert_eq!(check(&tree), []);
    }

    #[test]
    fn everything_missing_is_named() {
        let text = "[package]\nname = \"a\"\nversion.workspace = true\n";
        let problems = check(&Tree::of(&[("a/Cargo.toml", text)]));
        let missing = [
            "README.md",
            "CHANGELOG.md",
            "version",
            "description",
            "license",
            "keywords",
            "categories",
            "readme",
        ];
        assert_eq!(problems.len(), missing.len());
        for (problem, missing) in problems.iter().zip(missing) {
            assert!(problem.message.contains(missing), "{problem}");
        }
        assert_eq!(places(&problems)[2], "a/Cargo.toml:3");
    }

    #[test]
    fn private_crates_need_nothing() {
        let text = "[package]\nname = \"a\"\npublish = false\n";
        assert_eq!(check(&Tree::of(&[("a/Cargo.toml", text)])), []);
    }
}
