//! Settings of a run that may change after it has begun: the limit on points, the number of
//! threads, and the paths of images, whose content is compared instead.
//!
//! The limit on points is written in the settings of the run and nowhere else: a session that opens
//! the run takes its budget from there. A kill between the change of the settings and the next save
//! therefore loses nothing.

use super::error::SessionError;
use super::history;
use crate::config::table::{ALL, MAX_POINTS, Setting, THREADS, ValueKind};
use crate::store::{SavedRun, Store, checksum};

/// Sets the limit on all points of a run, those that were evaluated before included.
///
/// # Errors
/// When the run has evaluated that many points already, its files are damaged, or the settings
/// cannot be written.
pub(super) fn set_max_points(
    store: &mut Store,
    saved: Option<&SavedRun>,
    max_points: u64,
) -> Result<(), SessionError> {
    let dir = store.dir().to_path_buf();
    let lines = saved.map_or(&[][..], |saved| &saved.history);
    let history = history::parse(lines).map_err(|error| SessionError::Damaged {
        dir: dir.clone(),
        problem: format!("history.jsonl: {error}"),
    })?;
    let points = history.evaluations.iter().map(|record| record.point + 1);
    let num_points = points.max().unwrap_or(0);
    if max_points <= num_points {
        return Err(SessionError::TooFewPoints {
            dir,
            max_points,
            num_points,
        });
    }
    let Some(settings) = with_max_points(store.settings(), max_points) else {
        return Err(SessionError::SettingsChanged { dir });
    };
    Ok(store.replace_settings(settings)?)
}

/// Returns the checksum of the settings that must not change.
pub(super) fn settings_checksum(settings: &str) -> u64 {
    let lines = settings.split_inclusive('\n');
    let others: String = lines.filter(|line| !may_change(line)).collect();
    checksum(0, others.as_bytes())
}

/// Returns settings with another limit on points, or `None` if there is no line with the limit.
fn with_max_points(settings: &str, max_points: u64) -> Option<String> {
    let (_, key) = MAX_POINTS.section_and_key();
    let line = format!("{key} = {max_points}\n");
    let lines = settings.split_inclusive('\n');
    let changed = lines.map(|old| if is_limit(old) { &line } else { old });
    let changed: String = changed.collect();
    settings.lines().any(is_limit).then_some(changed)
}

/// Whether a line of a file of settings holds the limit on points.
fn is_limit(line: &str) -> bool {
    is_line_of(line, &MAX_POINTS)
}

/// Whether a line of a file of settings holds a setting that may change.
fn may_change(line: &str) -> bool {
    let is_free = |setting: &Setting| {
        matches!(setting.kind, ValueKind::Path)
            || [MAX_POINTS.key, THREADS.key].contains(&setting.key)
    };
    (ALL.iter()).any(|setting| is_free(setting) && is_line_of(line, setting))
}

fn is_line_of(line: &str, setting: &Setting) -> bool {
    let (_, known) = setting.section_and_key();
    (line.split_once('=')).is_some_and(|(key, _)| key.trim() == known)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, TaskKind};

    #[test]
    fn only_the_limit_changes() {
        let config = Config::new(TaskKind::Denoise);
        let settings = config.to_toml_with_comments();
        let changed = with_max_points(&settings, 1234).unwrap();
        let different = settings.lines().zip(changed.lines());
        let different: Vec<_> = different.filter(|(old, new)| old != new).collect();
        assert_eq!(different, [("max_points = 100", "max_points = 1234")]);
        assert_eq!(settings_checksum(&settings), settings_checksum(&changed));
        let by_hand = settings.replace("max_points = 100", "max_points=7");
        assert_eq!(settings_checksum(&settings), settings_checksum(&by_hand));
        let path = |path| format!("[data]\nimages = \"{path}\"\n");
        assert_eq!(settings_checksum(&path("a")), settings_checksum(&path("b")));
        let other = settings.replace("seed = 1", "seed = 2");
        assert_ne!(settings_checksum(&settings), settings_checksum(&other));
        assert_eq!(with_max_points("[solver]\nseed = 1\n", 3), None);
    }
}
