//! Folders of tests.

use std::fs;
use std::path::{Path, PathBuf};

/// A new folder, which is removed when it is dropped.
pub(crate) struct TempDir(PathBuf);

impl TempDir {
    pub(crate) fn new(name: &str) -> Self {
        let name = format!("{name}-{}", std::process::id());
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(&path).expect("a folder for tests");
        Self(path)
    }

    /// A new file.
    pub(crate) fn file(&self, name: &str, content: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, content).expect("a file for tests");
        path
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Returns a shared folder next to the repository, if it exists.
#[expect(clippy::print_stdout, reason = "a test that is skipped says so")]
pub(crate) fn shared(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared")
        .join(name);
    if path.is_dir() {
        return Some(path);
    }
    println!("skipped: no folder {}", path.display());
    None
}
