//! The files of the repository, in memory.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::manifest::Manifest;
use crate::package::Package;

/// A file as git sees it.
#[derive(Clone, Debug)]
pub(crate) struct File {
    /// The path relative to the workspace, with `/`.
    pub(crate) path: String,
    pub(crate) bytes: Vec<u8>,
}

impl File {
    /// The content, if it is text.
    pub(crate) fn text(&self) -> Option<&str> {
        str::from_utf8(&self.bytes).ok()
    }

    /// The content, if it is a Rust source.
    pub(crate) fn rust(&self) -> Option<&str> {
        if self.path.ends_with(".rs") {
            self.text()
        } else {
            None
        }
    }
}

/// All files that are committed or would be added to a commit.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tree {
    pub(crate) files: Vec<File>,
}

impl Tree {
    /// Reads all files that git tracks or does not ignore.
    pub(crate) fn load(root: &Path) -> Result<Self, String> {
        let output = Command::new("git")
            .args(["ls-files", "-z", "--cached", "--others"])
            .args(["--exclude-standard", "--deduplicate"])
            .current_dir(root)
            .output()
            .map_err(|error| format!("git did not start: {error}"))?;
        if !output.status.success() {
            let why = String::from_utf8_lossy(&output.stderr);
            return Err(format!("git could not list the files: {}", why.trim()));
        }
        let list = String::from_utf8_lossy(&output.stdout);
        let mut tree = Self::default();
        for path in list.split_terminator('\0') {
            // A file whose deletion is not committed yet, or a broken link.
            if !root.join(path).is_file() {
                continue;
            }
            let bytes = fs::read(root.join(path)).map_err(|error| format!("{path}: {error}"))?;
            let path = path.to_string();
            tree.files.push(File { path, bytes });
        }
        Ok(tree)
    }

    /// The file at `path`.
    pub(crate) fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }

    /// The manifest of the workspace.
    pub(crate) fn workspace(&self) -> Manifest {
        let text = self.file("Cargo.toml").and_then(File::text);
        Manifest::parse(text.unwrap_or(""))
    }

    /// The packages of the workspace, by directory.
    pub(crate) fn packages(&self) -> Vec<Package> {
        self.files
            .iter()
            .filter_map(|file| {
                let directory = file.path.strip_suffix("/Cargo.toml")?;
                Some(Package::new(directory, file.text()?))
            })
            .collect()
    }

    /// A tree for tests.
    #[cfg(test)]
    pub(crate) fn of(files: &[(&str, &str)]) -> Self {
        let files = files.iter().map(|(path, text)| File {
            path: (*path).to_string(),
            bytes: text.as_bytes().to_vec(),
        });
        Self {
            files: files.collect(),
        }
    }
}
