//! `cargo xtask doc`: the documentation as readers see it, warnings denied.

use std::path::Path;

use crate::tree::Tree;
use crate::{cargo, features};

/// The header that draws formulas. Any copy will do: tidy keeps them equal.
const HEADER: &str = "crates/bilevel/katex-header.html";

/// Programs without a library are of no use to a reader.
const DOC: &str = "doc --workspace --no-deps --quiet \
                   --exclude benches --exclude experiments --exclude xtask";

/// Documents the libraries of the workspace without their dependencies, and prints which pages to
/// open.
pub(crate) fn run(root: &Path) -> Result<(), String> {
    let features = features::all(&Tree::load(root)?.packages());
    let line = format!("{DOC} {features}");
    let mut command = cargo::command(root, &cargo::words(&line));
    command.env("CARGO_ENCODED_RUSTDOCFLAGS", flags(root)?);
    cargo::wait(&mut command)?;
    println!("open one of");
    for library in [
        "lowlevel",
        "imaging",
        "bilevel",
        "dfo_ls",
        "inexact_lbfgs",
        "plot",
    ] {
        println!("  target/doc/{library}/index.html");
    }
    Ok(())
}

/// Flags of rustdoc. It runs in the directory of each package, so the path of the header is
/// absolute; it may contain spaces, so the flags are encoded.
fn flags(root: &Path) -> Result<String, String> {
    let header = root.join(HEADER);
    let header = header
        .to_str()
        .ok_or_else(|| format!("the path {} is not UTF-8", header.display()))?;
    Ok(["-D", "warnings", "--html-in-header", header].join("\u{1f}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_with_spaces_stays_one_flag() {
        let flags = flags(Path::new("a b")).unwrap();
        assert_eq!(flags.split('\u{1f}').count(), 4);
        assert!(flags.ends_with(HEADER) && flags.contains("a b"));
    }
}
