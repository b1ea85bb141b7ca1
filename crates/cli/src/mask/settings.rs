//! Settings of a run that learns a mask, as the file `bilevel.toml` has them.

use std::path::{Path, PathBuf};

use bilevel::{FrequencyZero, MaskSpec};
use serde::{Deserialize, Serialize};

use crate::config::ConfigError;
use crate::error::CliError;
use crate::file::{self, FileError};
use crate::store::SETTINGS;

/// The largest size of a file of settings in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// The task of these settings: there is one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MaskTask {
    /// Learning a mask.
    #[default]
    Mask,
}

/// Settings of a run that learns a mask.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MaskSettings {
    /// The task, which tells these settings from others.
    pub task: MaskTask,
    /// The data.
    #[serde(default)]
    pub data: MaskDataSettings,
    /// The mask.
    #[serde(default)]
    pub mask: MaskSpec,
}

/// The data of a run that learns a mask.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MaskDataSettings {
    /// The frequencies; without them, built-in heads are used.
    pub kspace: Option<PathBuf>,
    /// The sensitivity maps of the coils.
    pub coils: Option<PathBuf>,
    /// Where frequency zero is; without it, the place with more energy.
    pub frequency_zero: Option<FrequencyZero>,
    /// The number of built-in heads.
    pub count: usize,
    /// The rows and columns of built-in heads.
    pub size: usize,
}

impl Default for MaskDataSettings {
    fn default() -> Self {
        Self {
            kspace: None,
            coils: None,
            frequency_zero: None,
            count: 12,
            size: 64,
        }
    }
}

impl MaskSettings {
    /// The noise of built-in heads.
    pub const BUILT_IN_NOISE: f64 = 0.02;

    /// Whether the text of a file of settings is about a mask.
    #[must_use]
    pub fn is_mask(text: &str) -> bool {
        let task = |table: &toml::Table| Some(table.get("task")?.as_str()? == "mask");
        text.parse().ok().and_then(|table| task(&table)) == Some(true)
    }

    /// Whether a file of settings is about a mask.
    #[must_use]
    pub fn is_mask_file(path: &Path) -> bool {
        let text = file::read(path, MAX_BYTES).map(String::from_utf8);
        text.is_ok_and(|text| text.is_ok_and(|text| Self::is_mask(&text)))
    }

    /// Reads a file of settings. Its paths are relative to its folder.
    ///
    /// # Errors
    /// When the file cannot be read, or has other settings.
    pub fn read(path: &Path) -> Result<Self, CliError> {
        let bytes = file::read(path, MAX_BYTES)?;
        let text = String::from_utf8(bytes)
            .map_err(|_| FileError::Damaged(path.into(), "it is not UTF-8".to_owned()))?;
        let mut settings = Self::parse_file(&text, path)?;
        let folder = path.parent().unwrap_or(Path::new("")).to_path_buf();
        let data = &mut settings.data;
        for own in [&mut data.kspace, &mut data.coils].into_iter().flatten() {
            *own = folder.join(&own);
        }
        Ok(settings)
    }

    /// Parses the settings of the run in `run`.
    ///
    /// # Errors
    /// When they have other keys or values.
    pub fn parse(text: &str, run: &Path) -> Result<Self, CliError> {
        Self::parse_file(text, &run.join(SETTINGS))
    }

    fn parse_file(text: &str, path: &Path) -> Result<Self, CliError> {
        toml::from_str(text).map_err(|error| {
            let start = error.span().map_or(0, |span| span.start);
            let line = 1 + text[..start.min(text.len())].matches('\n').count();
            let reason = error.message().to_owned();
            ConfigError::Toml(path.into(), line, String::new(), reason).into()
        })
    }

    /// Returns the settings as a TOML file.
    ///
    /// # Errors
    /// When a path is not valid Unicode.
    pub fn to_toml(&self) -> Result<String, CliError> {
        toml::to_string(self).map_err(|error| {
            let reason = format!("the settings cannot be written: {error}");
            let path = self.data.kspace.clone().unwrap_or_default();
            CliError::File(FileError::Damaged(path, reason))
        })
    }

    /// Returns the same settings with absolute paths.
    ///
    /// # Errors
    /// When the current directory is unknown.
    pub fn absolute(&self) -> Result<Self, CliError> {
        let mut own = self.clone();
        let data = &mut own.data;
        for path in [&mut data.kspace, &mut data.coils].into_iter().flatten() {
            let full = std::path::absolute(&*path);
            *path = full.map_err(|source| FileError::Read(path.clone(), source))?;
        }
        Ok(own)
    }
}
