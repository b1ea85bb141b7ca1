//! What captions say about data and runs.

use super::super::record::{Mode, RunId};
use super::super::results::Size;
use super::super::setting::{Kind, Setting};
use super::{Scene, runs};

/// More runs than this are counted, not named.
const LONGEST: usize = 6;

/// What is shown, then where the data come from, what was reduced, and which of the runs `shown`
/// are missing.
pub(super) fn caption(scene: &Scene<'_>, what: &str, shown: impl Fn(&RunId) -> bool) -> String {
    let mut notes = vec![what.to_owned(), data(scene)];
    notes.extend(reduced(scene));
    notes.extend(missing(scene, shown));
    notes.join(" ")
}

fn data(scene: &Scene<'_>) -> String {
    let source = &scene.results.source;
    let has_photographs = scene
        .setting()
        .is_ok_and(|setting| setting.data.kind == Kind::Photographs);
    let noise = match source.seed {
        None => "regenerated from the authors' seed".to_owned(),
        Some(seed) => format!("made the authors' way, but from seed {seed}"),
    };
    match (has_photographs, &source.kodak) {
        (false, _) => format!("Data: {noise}."),
        (true, Some(_)) => format!("Data: the Kodak photographs, with noise {noise}."),
        (true, None) => format!(
            "Data: NOT the photographs of the paper; images of dead leaves stand in for them, with noise {noise}."
        ),
    }
}

/// What `--quick` took away.
fn reduced(scene: &Scene<'_>) -> Option<String> {
    if scene.results.size != Size::Quick {
        return None;
    }
    let whole = Setting::all().ok()?;
    let is_reduced = |name: &&&str| {
        let whole = whole.iter().find(|setting| setting.name == **name);
        let run = scene.results.setting(name).ok();
        let size = |setting: &Setting| {
            (
                setting.evaluations,
                setting.data.images,
                setting.data.pixels,
            )
        };
        whole.map(size) != run.map(size)
    };
    let name = scene.entry.experiments.iter().find(is_reduced)?;
    let run = scene.results.setting(name).ok()?;
    let pixels = match run.data.kind {
        Kind::Photographs => format!("{0} x {0}", run.data.pixels),
        Kind::Signals | Kind::Frequencies => run.data.pixels.to_string(),
    };
    Some(format!(
        "Reduced by --quick to {} evaluations and {} images of {pixels} pixels: only the shape of the curves can be compared.",
        run.evaluations, run.data.images
    ))
}

fn missing(scene: &Scene<'_>, shown: impl Fn(&RunId) -> bool) -> Option<String> {
    let is_missing = |run: &RunId| shown(run) && !scene.results.records.contains_key(run);
    let planned = runs(scene.entry.id, scene.results.size);
    let left_out = || {
        let mut all = runs(scene.entry.id, Size::Full);
        all.retain(|run| !planned.contains(run) && is_missing(run));
        all
    };
    let list = |runs: &[RunId]| {
        if runs.len() > LONGEST {
            return format!("{} runs", runs.len());
        }
        let names: Vec<String> = runs.iter().map(|run| name(scene, run)).collect();
        names.join(", ")
    };
    let lost: Vec<RunId> = planned
        .iter()
        .filter(|run| is_missing(run))
        .cloned()
        .collect();
    let notes: Vec<String> = [
        ("Left out at this size", left_out()),
        ("Missing, because these runs were not made", lost),
    ]
    .iter()
    .filter(|(_, runs)| !runs.is_empty())
    .map(|(why, runs)| format!("{why}: {}.", list(runs)))
    .collect();
    (!notes.is_empty()).then(|| notes.join(" "))
}

/// A run as the reader of one figure knows it.
fn name(scene: &Scene<'_>, run: &RunId) -> String {
    let Ok(setting) = scene.results.setting(&run.setting) else {
        return run.to_string();
    };
    let mut name = run.variant.label(setting);
    if run.mode == Mode::Ours {
        name += ", ours";
    }
    if scene.entry.experiments.len() > 1 {
        name += &format!(" ({})", setting.title);
    }
    name
}
