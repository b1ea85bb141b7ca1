//! Builds of each feature of a published crate alone. A feature that needs another one without
//! declaring it does not compile.

use crate::package::Package;

/// The cargo command lines that build published packages without features, and each of their
/// features alone.
///
/// Packages with features are built together, so that their dependencies are compiled once: without
/// default features, none of them switches on a feature of another. Packages without features are
/// built together, too. The command is clippy rather than check, because it shares what the clippy
/// step of the workspace compiled, and because code that a missing feature leaves unused is an
/// error as well.
pub(crate) fn alone(packages: &[Package]) -> Vec<String> {
    let published = packages.iter().filter(|package| package.is_published());
    let (plain, rich): (Vec<&Package>, Vec<&Package>) =
        published.partition(|package| package.features().is_empty());
    let mut lines = Vec::new();
    for group in [rich, plain].iter().filter(|group| !group.is_empty()) {
        let names: String = (group.iter())
            .map(|package| format!(" -p {}", package.name()))
            .collect();
        let bare = format!("clippy{names} --no-default-features");
        lines.push(format!("{bare} -- -D warnings"));
        for package in group {
            for feature in package.features() {
                let name = package.name();
                lines.push(format!("{bare} --features {name}/{feature} -- -D warnings"));
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn none_then_each_one_then_those_without() {
        let rich = Package::new(
            "crates/a",
            "[package]\nname = \"a\"\n[features]\nx = []\ny = [\"x\"]\n",
        );
        let plain = Package::new("crates/b", "[package]\nname = \"b\"\n");
        let private = Package::new("c", "[package]\nname = \"c\"\npublish = false\n");
        assert_eq!(
            alone(&[plain, rich, private]),
            [
                "clippy -p a --no-default-features -- -D warnings",
                "clippy -p a --no-default-features --features a/x -- -D warnings",
                "clippy -p a --no-default-features --features a/y -- -D warnings",
                "clippy -p b --no-default-features -- -D warnings",
            ]
        );
    }
}
