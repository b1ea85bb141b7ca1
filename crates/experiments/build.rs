//! Computes a version of the code that results depend on: a hash of its sources. The cache of
//! `reproduce` does not reuse runs of another version.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Sources that results depend on, relative to this package. Sources that only draw results or
/// check claims are not among them.
const SOURCES: [&str; 13] = [
    "../dfo-ls/src",
    "../lowlevel/src",
    "../imaging/src",
    "../bilevel/src",
    "src/kodak/photograph.rs",
    "src/reproduce/data.rs",
    "src/reproduce/exact.rs",
    "src/reproduce/faithful.rs",
    "src/reproduce/iterates.rs",
    "src/reproduce/problem.rs",
    "src/reproduce/record.rs",
    "src/reproduce/run.rs",
    "../../Cargo.lock",
];

fn main() {
    let mut files = Vec::new();
    for source in SOURCES {
        println!("cargo::rerun-if-changed={source}");
        collect(Path::new(source), &mut files);
    }
    files.sort();
    let mut hash = DefaultHasher::new();
    for file in files {
        let name = file.to_string_lossy().replace('\\', "/");
        let content = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{name}: {error}"));
        // Comments and indentation do not change results.
        let lines = content.lines().map(str::trim);
        let lines = lines.filter(|line| !line.starts_with("//"));
        name.hash(&mut hash);
        lines.for_each(|line| line.hash(&mut hash));
    }
    println!("cargo::rustc-env=CODE_VERSION={:016x}", hash.finish());
    println!("cargo::rustc-env=VERSIONS={}", versions());
}

/// Returns the versions of the libraries and of the compiler.
fn versions() -> String {
    let mut all = Vec::new();
    for package in ["dfo-ls", "lowlevel", "imaging", "bilevel"] {
        let manifest = format!("../{package}/Cargo.toml");
        println!("cargo::rerun-if-changed={manifest}");
        let content = fs::read_to_string(&manifest).unwrap_or_default();
        let mut lines = content.lines();
        let version = lines.find_map(|line| line.strip_prefix("version = "));
        let version = version.unwrap_or("unknown").trim_matches('"');
        all.push(format!("{package} {version}"));
    }
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).arg("--version").output();
    let rustc = output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    all.push(rustc.unwrap_or_else(|_| "rustc unknown".to_owned()));
    all.join(", ")
}

/// Adds the files under `path`, except tests, which do not change results.
fn collect(path: &Path, files: &mut Vec<PathBuf>) {
    if path.ends_with("tests") || path.ends_with("tests.rs") {
        return;
    }
    if !path.is_dir() {
        files.push(path.to_owned());
        return;
    }
    let entries = fs::read_dir(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    for entry in entries.flatten() {
        collect(&entry.path(), files);
    }
}
