//! Settings of learning without truth, of cameras and of volumes, and which of them fit together.

use super::table::{self, Setting};
use super::{ConfigError, Settings, TaskKind};

impl Settings {
    /// Whether the noise may be given for measured pictures: without truth, or for a camera.
    pub(crate) fn has_measured_noise(&self) -> bool {
        self.has(&table::TRUTH) || self.word(&table::NOISE).is_some()
    }

    /// Refuses settings that do not fit a camera that counts photons.
    pub(super) fn check_camera(&self) -> Result<(), ConfigError> {
        let Some(camera) = self.word(&table::NOISE) else {
            return Ok(());
        };
        if self.task != TaskKind::Denoise {
            let needed = format!(
                "a number for {}, because only the data of denoise can be transformed",
                self.task
            );
            let what = table::NOISE.to_string();
            return Err(ConfigError::OutOfRange(what, camera.to_owned(), needed));
        }
        let limits = [&table::IMAGE_MIN, &table::IMAGE_MAX];
        match limits.into_iter().find(|setting| self.has(setting)) {
            Some(limit) => Err(ConfigError::Together(
                &table::NOISE,
                limit,
                "leave the limit out, because transformed pictures are learned from",
            )),
            None => Ok(()),
        }
    }

    /// Refuses settings that do not fit together if there is no truth.
    pub(super) fn check_truth(&self) -> Result<(), ConfigError> {
        let has_truth = !self.has(&table::TRUTH);
        let criterion = self.word(&table::CRITERION);
        if !has_truth {
            if self.has(&table::IMAGES) {
                let advice = "name the measured pictures with --noisy alone";
                return Err(ConfigError::Together(&table::TRUTH, &table::IMAGES, advice));
            }
            if !self.has(&table::NOISY) {
                let what = "the measured pictures";
                return Err(ConfigError::Missing(
                    "--truth none",
                    &table::NOISY,
                    what,
                    "noisy",
                ));
            }
            if criterion == Some("truth") {
                let advice = "choose the criterion sure or gcv";
                return Err(ConfigError::Together(
                    &table::TRUTH,
                    &table::CRITERION,
                    advice,
                ));
            }
        }
        if criterion.map_or(has_truth, |word| word == "truth") {
            return Ok(());
        }
        let is_sure = criterion.map_or(!has_truth, |word| word == "sure");
        if let Some(noise) = self.number(&table::NOISE).filter(|noise| !(*noise > 0.0))
            && is_sure
        {
            let needed = "positive, because the criterion sure needs noise".to_owned();
            let what = table::NOISE.to_string();
            return Err(ConfigError::OutOfRange(what, noise.to_string(), needed));
        }
        let limits = [&table::IMAGE_MIN, &table::IMAGE_MAX];
        let refused = if let Some(limit) = limits.into_iter().find(|setting| self.has(setting)) {
            let advice = "leave the limit out, because estimates without truth ignore it";
            Some((limit, advice))
        } else if self.word(&table::COLOUR) == Some("opponent") {
            Some((&table::COLOUR, "use --colour channels or --colour grey"))
        } else {
            None
        };
        let criterion = match has_truth {
            true => &table::CRITERION,
            false => &table::TRUTH,
        };
        refused.map_or(Ok(()), |(setting, advice)| {
            Err(ConfigError::Together(criterion, setting, advice))
        })
    }
}

impl Settings {
    /// Refuses settings that do not fit volumes.
    pub(super) fn check_slices(&self) -> Result<(), ConfigError> {
        if self.word(&table::SLICES) != Some("volume") {
            return Ok(());
        }
        let (setting, advice) = if self.has(&table::FILTERS) {
            (&table::FILTERS, "volumes have total variation only")
        } else if self.word(&table::COLOUR) == Some("opponent") {
            (&table::COLOUR, "use --colour channels or --colour grey")
        } else if self.get(&table::PATCHES).and_then(toml::Value::as_integer) > Some(0) {
            (&table::PATCHES, "use --crop, or files with fewer slices")
        } else {
            return Ok(());
        };
        Err(ConfigError::Together(&table::SLICES, setting, advice))
    }
}

/// Whether a setting is one of two that exclude each other only if there is a truth.
pub(crate) fn is_noise(setting: &Setting) -> bool {
    [table::NOISE.key, table::NOISY.key].contains(&setting.key)
}
