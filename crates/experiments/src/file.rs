//! Files that are written completely or not at all.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use plot::Figure;

/// Writes a temporary file next to `path`, then renames it: readers see the old content or the new
/// one. Creates missing directories.
///
/// # Errors
/// When a directory or the file cannot be written; the message names it.
pub fn write(path: &Path, content: &[u8]) -> Result<()> {
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)
            .with_context(|| format!("cannot create the directory {}", directory.display()))?;
    }
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    let temporary = Path::new(&name);
    let written = fs::write(temporary, content).and_then(|()| fs::rename(temporary, path));
    if written.is_err() {
        // The first error is reported, not one of this clean-up.
        let _ = fs::remove_file(temporary);
    }
    written.with_context(|| format!("cannot write {}", path.display()))
}

/// Writes `stem.svg` and `stem.png`.
///
/// # Errors
/// When the figure cannot be drawn or a file cannot be written; the message names it.
pub fn write_figure(figure: &Figure, stem: &Path) -> Result<()> {
    let named = |ending| {
        let mut name = stem.as_os_str().to_owned();
        name.push(ending);
        PathBuf::from(name)
    };
    let image = figure
        .to_png()
        .with_context(|| format!("cannot draw {}", stem.display()))?;
    write(&named(".svg"), figure.to_svg().as_bytes())?;
    write(&named(".png"), &image)
}

#[cfg(test)]
mod tests {
    use plot::{Axis, Panel};

    use super::*;

    #[test]
    fn replaces_and_leaves_nothing_behind() {
        let directory =
            std::env::temp_dir().join(format!("experiments-file-{}", std::process::id()));
        let path = directory.join("a").join("b.txt");
        write(&path, b"one").unwrap();
        write(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(fs::read_dir(directory.join("a")).unwrap().count(), 1);
        let message = write(&path.join("c"), b"").unwrap_err().to_string();
        assert!(message.contains("b.txt"), "{message}");
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn a_figure_is_two_files() {
        let name = format!("experiments-figure-{}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        let panel = Panel::new(Axis::linear("x"), Axis::linear("y"));
        write_figure(&Figure::new(1).with(panel), &directory.join("at-0.5")).unwrap();
        let svg = fs::read_to_string(directory.join("at-0.5.svg")).unwrap();
        assert!(svg.starts_with("<svg"));
        let png = fs::read(directory.join("at-0.5.png")).unwrap();
        assert!(png.starts_with(b"\x89PNG"));
        fs::remove_dir_all(directory).unwrap();
    }
}
