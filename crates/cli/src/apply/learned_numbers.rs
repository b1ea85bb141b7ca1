//! The learned values of a run: the same for all pictures, or those of each picture.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use bilevel::LearnedParameter;
use serde::Deserialize;

use super::read_result;
use crate::error::CliError;
use crate::per_picture;

/// The largest number of names in a message.
const MAX_NAMES: usize = 5;

/// The part of a result that is needed. Other numbers may be infinite, which JSON cannot represent.
#[derive(Deserialize)]
struct LearnedValues {
    parameters: Vec<LearnedParameter>,
}

/// The learned values of a run.
pub(super) struct LearnedNumbers {
    run: PathBuf,
    /// The values for all pictures.
    shared: Vec<f64>,
    /// The values of each picture, by its name; empty if all have the same.
    by_picture: BTreeMap<String, Vec<f64>>,
}

/// Reads the learned values of a run, and the parameters that they belong to.
pub(super) fn read(run: &Path) -> Result<(Vec<LearnedParameter>, LearnedNumbers), CliError> {
    let each = per_picture::read(run)?.unwrap_or_default();
    let parameters = match each.values().next() {
        Some(first) => first.clone(),
        None => read_result::<LearnedValues>(run)?.parameters,
    };
    let values = |parameters: &[LearnedParameter]| -> Vec<f64> {
        let values = parameters.iter().flat_map(|p| &p.values);
        values.copied().collect()
    };
    let numbers = LearnedNumbers {
        run: run.into(),
        shared: values(&parameters),
        by_picture: (each.iter())
            .map(|(name, parameters)| (name.clone(), values(parameters)))
            .collect(),
    };
    Ok((parameters, numbers))
}

impl LearnedNumbers {
    /// The values for all pictures.
    pub(super) fn shared(&self) -> &[f64] {
        &self.shared
    }

    /// Whether each picture has values of its own.
    pub(super) fn is_per_picture(&self) -> bool {
        !self.by_picture.is_empty()
    }

    /// Returns the values for the picture with this name.
    pub(super) fn of(&self, name: &str) -> Result<&[f64], CliError> {
        if !self.is_per_picture() {
            return Ok(&self.shared);
        }
        let unknown = || {
            let mut known: Vec<&str> = self.by_picture.keys().map(|name| &name[..]).collect();
            if known.len() > MAX_NAMES {
                known.truncate(MAX_NAMES - 1);
                known.push("...");
            }
            CliError::UnknownPicture {
                run: self.run.clone(),
                name: name.into(),
                known: known.join(", "),
            }
        };
        let found = self.by_picture.get(name).map(Vec::as_slice);
        found.ok_or_else(unknown)
    }
}
