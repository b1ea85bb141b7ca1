//! The cache of finished runs: one file per run, named by a key of everything the run depends on.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::data::DataSource;
use super::record::{RunId, RunRecord, checksum};
use super::setting::{DataKind, Setting};
use crate::file;

/// A hash of the sources of everything that results depend on.
const CODE_VERSION: &str = env!("CODE_VERSION");

/// A directory of finished runs.
#[derive(Clone, Debug)]
pub struct RunCache {
    directory: PathBuf,
}

/// The result of looking for a run in the cache.
#[derive(Clone, Debug)]
pub enum CacheEntry {
    /// The record of the run.
    Record(Box<RunRecord>),
    /// There is no file of the run.
    Nothing,
    /// There is a file of the run that cannot be used, for this reason.
    Broken(String),
}

impl RunCache {
    /// Returns the cache in this directory, which need not exist.
    #[must_use]
    pub fn new(directory: &Path) -> Self {
        Self {
            directory: directory.to_owned(),
        }
    }

    /// Looks for a run.
    #[must_use]
    pub fn find(&self, id: &RunId, key: &str) -> CacheEntry {
        let path = self.path(id, key);
        let read = || -> Result<RunRecord> {
            let text = String::from_utf8(fs::read(&path)?).context("the file is not text")?;
            let (record, found) = RunRecord::from_json(&text)?;
            ensure!(
                found == key && record.id == *id,
                "the file belongs to another run"
            );
            Ok(record)
        };
        match read() {
            Ok(record) => CacheEntry::Record(Box::new(record)),
            Err(error) if is_missing(&error) => CacheEntry::Nothing,
            Err(error) => CacheEntry::Broken(format!("{}: {error:#}", path.display())),
        }
    }

    /// Stores a run.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn store(&self, record: &RunRecord, key: &str) -> Result<()> {
        file::write(&self.path(&record.id, key), record.to_json(key).as_bytes())
    }

    /// Returns the path of a run. Runs of different settings, data and code have different paths.
    fn path(&self, id: &RunId, key: &str) -> PathBuf {
        let short = key.get(..12).unwrap_or(key);
        self.directory.join(format!("{id}.{short}.json"))
    }
}

fn is_missing(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<std::io::Error>()
        .is_some_and(|error| error.kind() == ErrorKind::NotFound)
}

/// Returns a hash of everything a run depends on: settings, data and code.
///
/// # Panics
/// Never: settings can be written as JSON.
#[must_use]
pub fn key(setting: &Setting, id: &RunId, source: &DataSource) -> String {
    let photographs = match (setting.data.kind, &source.kodak) {
        (DataKind::Signals | DataKind::Frequencies, _) => "",
        // The photographs are always the same: their checksums were verified.
        (DataKind::Photographs, Some(_)) => "kodak",
        (DataKind::Photographs, None) => "dead leaves",
    };
    let seed = source.seed;
    let setting = serde_json::to_string(setting).expect("settings can be written as JSON");
    let all = format!("{CODE_VERSION} {id} {photographs} {seed:?} {setting}");
    checksum(all.as_bytes())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::record::{Mode, RunOutcome, Variant};
    use super::*;

    fn record() -> RunRecord {
        RunRecord {
            id: RunId {
                setting: "mri".to_owned(),
                variant: Variant::ALL[2],
                mode: Mode::Ours,
            },
            names: vec!["s0".to_owned()],
            evaluations: Vec::new(),
            iterates: Vec::new(),
            outcome: RunOutcome {
                theta: vec![0.1],
                params: BTreeMap::from([("s0".to_owned(), 0.1)]),
                f: 1.0,
                f_error: f64::INFINITY,
                f_exact: 1.5,
                psnr: 20.0,
                seconds: 0.25,
                termination: "RadiusReached".to_owned(),
            },
        }
    }

    #[test]
    fn stored_runs_are_found_and_changed_files_are_broken() {
        let directory =
            std::env::temp_dir().join(format!("reproduce-cache-{}", std::process::id()));
        let cache = RunCache::new(&directory);
        let (record, key) = (record(), "0123456789abcdef");
        assert!(matches!(cache.find(&record.id, key), CacheEntry::Nothing));
        cache.store(&record, key).unwrap();
        let CacheEntry::Record(found) = cache.find(&record.id, key) else {
            panic!("the run was stored");
        };
        assert_eq!(*found, record);
        assert!(matches!(
            cache.find(&record.id, "0123"),
            CacheEntry::Nothing
        ));

        let path = cache.path(&record.id, key);
        let text = fs::read_to_string(&path).unwrap();
        for broken in [
            text.replace("1.5", "1.6"),
            text[..text.len() / 2].to_owned(),
            String::new(),
            text.replace(key, "0123456789abcdee"),
            format!("{text}{text}"),
        ] {
            fs::write(&path, broken).unwrap();
            let CacheEntry::Broken(reason) = cache.find(&record.id, key) else {
                panic!("the file was changed");
            };
            assert!(reason.contains("mri.gd_dynamic.ours"), "{reason}");
        }
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn keys_tell_settings_and_data_apart() {
        let settings = Setting::all().unwrap();
        let setting = settings
            .iter()
            .find(|s| s.name == "kodak_sigma1e-1")
            .unwrap();
        let id = &record().id;
        let kodak = DataSource {
            seed: None,
            kodak: Some(PathBuf::from("anywhere")),
        };
        let leaves = DataSource {
            kodak: None,
            ..kodak.clone()
        };
        let seeded = DataSource {
            seed: Some(0),
            ..leaves.clone()
        };
        let quick = setting.clone().quick();
        let keys = [
            key(setting, id, &kodak),
            key(setting, id, &leaves),
            key(setting, id, &seeded),
            key(&quick, id, &leaves),
        ];
        for (index, key) in keys.iter().enumerate() {
            assert!(!keys[..index].contains(key));
        }
        let moved = DataSource {
            kodak: Some(PathBuf::from("elsewhere")),
            ..kodak
        };
        assert_eq!(key(setting, id, &moved), keys[0]);
    }
}
