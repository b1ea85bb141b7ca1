//! Packages of the workspace, as far as the chores need them.

use std::collections::BTreeSet;

use crate::manifest::{Manifest, strings};

/// A package of the workspace.
#[derive(Clone, Debug)]
pub(crate) struct Package {
    /// The directory relative to the workspace, e.g. `crates/dfo-ls`.
    pub(crate) directory: String,
    pub(crate) manifest: Manifest,
}

/// One entry of a dependency table, development and build tables included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Dependency {
    /// The name in this manifest.
    pub(crate) key: String,
    pub(crate) line: usize,
}

impl Package {
    /// Reads the manifest's `text`.
    pub(crate) fn new(directory: &str, text: &str) -> Self {
        Self {
            directory: directory.to_string(),
            manifest: Manifest::parse(text),
        }
    }

    /// The name in the registry.
    pub(crate) fn name(&self) -> &str {
        self.manifest
            .get(&["package", "name"])
            .map_or("", |entry| &entry.value)
    }

    /// The path of `file` in this package.
    pub(crate) fn path(&self, file: &str) -> String {
        format!("{}/{file}", self.directory)
    }

    /// Whether the package is meant for the registry.
    pub(crate) fn is_published(&self) -> bool {
        let publish = self.manifest.get(&["package", "publish"]);
        !publish.is_some_and(|entry| entry.value == "false" || entry.value == "[]")
    }

    /// Every dependency once per table.
    pub(crate) fn dependencies(&self) -> Vec<Dependency> {
        let mut seen = BTreeSet::new();
        let mut dependencies = Vec::new();
        for entry in &self.manifest.entries {
            let Some(at) = dependency_table(&entry.path) else {
                continue;
            };
            if let Some(key) = entry.path.get(at + 1)
                && seen.insert(&entry.path[..=at + 1])
            {
                let (key, line) = (key.clone(), entry.line);
                dependencies.push(Dependency { key, line });
            }
        }
        dependencies
    }

    /// The package that `dependency` means: renamed here, renamed in the workspace's table, or of
    /// that name.
    pub(crate) fn target<'a>(
        &'a self,
        dependency: &'a Dependency,
        workspace: &'a Manifest,
    ) -> &'a str {
        let key = &dependency.key;
        let here = self.manifest.entries.iter().find(|entry| {
            dependency_table(&entry.path).is_some_and(|at| {
                let below = &entry.path[at + 1..];
                below.len() == 2 && below[0] == *key && below[1] == "package"
            })
        });
        here.or_else(|| workspace.get(&["workspace", "dependencies", key, "package"]))
            .map_or(key, |entry| &entry.value)
    }

    /// The declared features and those that optional dependencies imply.
    pub(crate) fn features(&self) -> BTreeSet<String> {
        let mut features = BTreeSet::new();
        let mut hidden = BTreeSet::new();
        for entry in self.manifest.table("features") {
            features.insert(entry.path[1].clone());
            let enabled = strings(&entry.value).into_iter();
            hidden.extend(enabled.filter_map(|name| name.strip_prefix("dep:")));
        }
        for entry in &self.manifest.entries {
            let Some(at) = dependency_table(&entry.path) else {
                continue;
            };
            if let [key, last] = &entry.path[at + 1..]
                && last == "optional"
                && entry.value == "true"
                && !hidden.contains(key.as_str())
            {
                features.insert(key.clone());
            }
        }
        features
    }
}

/// The position in `path` of the name of a dependency table.
fn dependency_table(path: &[String]) -> Option<usize> {
    let at = if path.first()? == "target" { 2 } else { 0 };
    let tables = ["dependencies", "dev-dependencies", "build-dependencies"];
    tables.contains(&path.get(at)?.as_str()).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_of_every_table() {
        let package = Package::new(
            "a",
            "[dependencies]\nx = { version = \"1\", optional = true }\n[dev-dependencies.y]\nversion = \"1\"\n\
             [target.'cfg(unix)'.build-dependencies]\nz.workspace = true\n",
        );
        let keys: Vec<_> = package.dependencies().into_iter().map(|d| d.key).collect();
        assert_eq!(keys, ["x", "y", "z"]);
    }

    #[test]
    fn renamed_dependencies_are_seen_through() {
        let workspace = Manifest::parse("[workspace.dependencies]\nx = { package = \"real-x\" }");
        let package = Package::new(
            "a",
            "[dependencies]\nx.workspace = true\ny = { package = \"real-y\", version = \"1\" }\nz = \"1\"\n",
        );
        let dependencies = package.dependencies();
        let targets: Vec<_> = dependencies
            .iter()
            .map(|dependency| package.target(dependency, &workspace))
            .collect();
        assert_eq!(targets, ["real-x", "real-y", "z"]);
    }

    #[test]
    fn optional_dependencies_are_features_unless_named() {
        let package = Package::new(
            "a",
            "[features]\ndefault = [\"s\"]\ns = [\"dep:serde\"]\n\
             [dependencies]\nserde = { workspace = true, optional = true }\nrayon.optional = true\nx = \"1\"\n",
        );
        let features: Vec<_> = package.features().into_iter().collect();
        assert_eq!(features, ["default", "rayon", "s"]);
    }

    #[test]
    fn published_unless_told_otherwise() {
        assert!(Package::new("a", "[package]\nname = \"a\"").is_published());
        assert!(!Package::new("a", "[package]\npublish = false").is_published());
    }
}
