//! Each feature of a published crate alone: a feature that needs another one without saying so does not compile.

use crate::package::Package;

/// The cargo command lines that build `package` without features and with each one alone. Clippy rather than check:
/// it shares what the workspace's clippy step compiled, and code left unused by a missing feature is an error too.
pub(crate) fn alone(package: &Package) -> Vec<String> {
    if !package.is_published() {
        return Vec::new();
    }
    let name = package.name();
    let bare = format!("clippy -p {name} --no-default-features");
    let mut lines = vec![format!("{bare} -- -D warnings")];
    for feature in package.features() {
        lines.push(format!("{bare} --features {feature} -- -D warnings"));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn none_then_each_one() {
        let package = Package::new(
            "crates/a",
            "[package]\nname = \"a\"\n[features]\nx = []\ny = [\"x\"]\n",
        );
        assert_eq!(
            alone(&package),
            [
                "clippy -p a --no-default-features -- -D warnings",
                "clippy -p a --no-default-features --features x -- -D warnings",
                "clippy -p a --no-default-features --features y -- -D warnings",
            ]
        );
    }

    #[test]
    fn private_crates_are_left_out() {
        let package = Package::new("a", "[package]\nname = \"a\"\npublish = false\n");
        assert!(alone(&package).is_empty());
    }
}
