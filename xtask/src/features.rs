//! Each feature of a published crate alone: a feature that needs another one without saying so does
//! not compile.

use crate::package::Package;

/// The cargo command lines that build published packages without features, and each of their
/// features alone.
///
/// Packages that have features are built together, so that their dependencies are compiled once:
/// without defaults none of them switches on a feature of another. Those that have none are built
/// together, too. Clippy rather than check: it shares what the workspace's clippy step compiled,
/// and code left unused by a missing feature is an error too.
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
