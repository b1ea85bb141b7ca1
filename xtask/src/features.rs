//! The features of the packages: all together, and each feature of a published crate alone. A
//! feature that needs another one without declaring it does not compile.

use crate::package::Package;

/// The features that need a library of the system, and are left out therefore. `cargo xtask mpi`
/// tests them.
pub(crate) const NEED_SYSTEM: [&str; 1] = ["bilevel-cli/mpi"];

/// The flag that switches on all features that need no library of the system. With
/// `--all-features`, the workspace would only build where those libraries are installed.
pub(crate) fn all(packages: &[Package]) -> String {
    format!("--features {}", list(packages).join(","))
}

/// The features of all packages, as `package/feature`.
fn list(packages: &[Package]) -> Vec<String> {
    let mut list: Vec<String> = packages.iter().flat_map(plain).collect();
    list.sort();
    list
}

/// The features of a package that need no library of the system, as `package/feature`.
fn plain(package: &Package) -> Vec<String> {
    let names = package.features().into_iter();
    let names = names.map(|feature| format!("{}/{feature}", package.name()));
    let is_plain = |name: &String| !NEED_SYSTEM.contains(&name.as_str());
    names.filter(is_plain).collect()
}

/// The cargo command lines that build published packages without features, and each of their
/// features alone.
///
/// Packages with features are built together, so that their dependencies are compiled once: without
/// default features, none of them switches on a feature of another. Packages without features are
/// built together, too. The command is clippy rather than check, because code that a missing
/// feature leaves unused is an error as well.
pub(crate) fn alone(packages: &[Package]) -> Vec<String> {
    let published = packages.iter().filter(|package| package.is_published());
    let (poor, rich): (Vec<&Package>, Vec<&Package>) =
        published.partition(|package| plain(package).is_empty());
    let mut lines = Vec::new();
    for group in [rich, poor].iter().filter(|group| !group.is_empty()) {
        let names: String = (group.iter())
            .map(|package| format!(" -p {}", package.name()))
            .collect();
        let bare = format!("clippy{names} --no-default-features");
        lines.push(format!("{bare} -- -D warnings"));
        for package in group {
            for feature in plain(package) {
                lines.push(format!("{bare} --features {feature} -- -D warnings"));
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

    #[test]
    fn libraries_of_the_system_are_not_needed() {
        let text = "[package]\nname = \"bilevel-cli\"\n[features]\nmpi = []\nx = []\n";
        let program = Package::new("crates/cli", text);
        let other = Package::new(
            "crates/a",
            "[package]\nname = \"a\"\n[features]\nmpi = []\n",
        );
        let packages = [program, other];
        assert_eq!(all(&packages), "--features a/mpi,bilevel-cli/x");
        assert!(
            alone(&packages)
                .iter()
                .all(|line| !line.contains("cli/mpi"))
        );
    }
}
