//! The input files of `bilevel apply` and `bilevel denoise`, and the paths of their results.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::create_folder;
use crate::array::hdf5;
use crate::config::TaskKind;
use crate::error::CliError;
use crate::file::FileError;
use crate::picture;

/// The input files, each with its output file.
#[derive(Debug)]
pub(crate) struct Files {
    pub(crate) pairs: Vec<(PathBuf, PathBuf)>,
    /// Whether the input is a folder.
    pub(crate) are_of_folder: bool,
}

/// Returns the input files with their output files. Creates the output folder if the input is a
/// folder.
pub(crate) fn pair_files(input: &Path, output: &Path, task: TaskKind) -> Result<Files, CliError> {
    let are_of_folder = input.is_dir();
    let pairs = if are_of_folder {
        let inputs = match task {
            TaskKind::Sampling => arrays(input)?,
            _ => picture::list(input)?,
        };
        if !output.is_dir() && picture::can_be_written(output) {
            let (input, output) = (input.to_path_buf(), output.to_path_buf());
            return Err(CliError::NotFolder { input, output });
        }
        create_folder(output)?;
        within(inputs, output)?
    } else if output.is_dir() {
        within(vec![input.into()], output)?
    } else {
        vec![(input.into(), output.into())]
    };
    for (input, output) in &pairs {
        check_different(input, output)?;
    }
    Ok(Files {
        pairs,
        are_of_folder,
    })
}

/// Refuses an output that would overwrite its input.
pub(crate) fn check_different(input: &Path, output: &Path) -> Result<(), CliError> {
    match is_same(input, output) {
        true => Err(CliError::SameFile(input.into())),
        false => Ok(()),
    }
}

/// Pairs inputs with files of the same names in the folder `output`, with an extension that can be
/// written.
fn within(inputs: Vec<PathBuf>, output: &Path) -> Result<Vec<(PathBuf, PathBuf)>, FileError> {
    let mut known: BTreeMap<PathBuf, PathBuf> = BTreeMap::new();
    let mut files = Vec::new();
    for input in inputs {
        let (file, _) = hdf5::split(&input);
        let mut path = output.join(file.file_name().unwrap_or_default());
        if hdf5::is_name(file) {
            path.set_extension("npy");
        } else if !picture::can_be_written(&input) {
            path.set_extension("png");
        }
        if let Some(other) = known.insert(path.clone(), input.clone()) {
            return Err(FileError::Ambiguous(other, input));
        }
        files.push((input, path));
    }
    Ok(files)
}

/// Lists the `.npy` files of a folder in the byte order of their names.
fn arrays(folder: &Path) -> Result<Vec<PathBuf>, FileError> {
    let refuse = |source| FileError::read(folder, source);
    let mut arrays = Vec::new();
    for entry in fs::read_dir(folder).map_err(refuse)? {
        let path = entry.map_err(refuse)?.path();
        let extension = path.extension();
        if extension.is_some_and(|extension| extension.eq_ignore_ascii_case("npy")) {
            arrays.push(path);
        }
    }
    if arrays.is_empty() {
        return Err(FileError::NoArrays(folder.into()));
    }
    arrays.sort();
    Ok(arrays)
}

/// Whether both paths are the same existing file.
fn is_same(a: &Path, b: &Path) -> bool {
    match (a.canonicalize(), b.canonicalize()) {
        (Ok(a), Ok(b)) => a == b,
        _ => false,
    }
}
