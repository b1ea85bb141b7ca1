//! Notes in captions about data and runs.

use super::super::record::{Mode, RunId};
use super::super::results::ReproductionSize;
use super::super::setting::{DataKind, Setting};
use super::{FigureInput, runs};

/// The largest number of runs that are named; more are only counted.
const LONGEST: usize = 6;

/// Returns a caption: `what` the figure shows, the source of the data, reduced budgets, and those
/// missing runs for which `shown` is true.
pub(super) fn caption(
    input: &FigureInput<'_>,
    what: &str,
    shown: impl Fn(&RunId) -> bool,
) -> String {
    let mut notes = vec![what.to_owned(), data(input)];
    notes.extend(reduced(input));
    notes.extend(missing(input, shown));
    notes.join(" ")
}

fn data(input: &FigureInput<'_>) -> String {
    let source = &input.results.source;
    let has_photographs = input
        .setting()
        .is_ok_and(|setting| setting.data.kind == DataKind::Photographs);
    let noise = match source.seed {
        None => "regenerated from the authors' seed".to_owned(),
        Some(seed) => format!("generated like the authors', but from seed {seed}"),
    };
    match (has_photographs, &source.kodak) {
        (false, _) => format!("Data: {noise}."),
        (true, Some(_)) => format!("Data: the Kodak photographs, with noise {noise}."),
        (true, None) => format!(
            "Data: NOT the photographs of the paper but images of dead leaves, with noise {noise}."
        ),
    }
}

/// Returns a note on the budgets that `--quick` reduced.
fn reduced(input: &FigureInput<'_>) -> Option<String> {
    if input.results.size != ReproductionSize::Quick {
        return None;
    }
    let whole = Setting::all().ok()?;
    let is_reduced = |name: &&&str| {
        let whole = whole.iter().find(|setting| setting.name == **name);
        let run = input.results.setting(name).ok();
        let size = |setting: &Setting| {
            (
                setting.evaluations,
                setting.data.images,
                setting.data.pixels,
            )
        };
        whole.map(size) != run.map(size)
    };
    let name = input.entry.experiments.iter().find(is_reduced)?;
    let run = input.results.setting(name).ok()?;
    let pixels = match run.data.kind {
        DataKind::Photographs => format!("{0} x {0}", run.data.pixels),
        DataKind::Signals | DataKind::Frequencies => run.data.pixels.to_string(),
    };
    Some(format!(
        "Reduced by --quick to {} evaluations and {} images of {pixels} pixels: only the shape of \
         the curves can be compared.",
        run.evaluations, run.data.images
    ))
}

fn missing(input: &FigureInput<'_>, shown: impl Fn(&RunId) -> bool) -> Option<String> {
    let is_missing = |run: &RunId| shown(run) && !input.results.records.contains_key(run);
    let planned = runs(input.entry.id, input.results.size);
    let left_out = || {
        let mut all = runs(input.entry.id, ReproductionSize::Full);
        all.retain(|run| !planned.contains(run) && is_missing(run));
        all
    };
    let list = |runs: &[RunId]| {
        if runs.len() > LONGEST {
            return format!("{} runs", runs.len());
        }
        let names: Vec<String> = runs.iter().map(|run| name(input, run)).collect();
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

/// Returns the name of a run for readers of the figure.
fn name(input: &FigureInput<'_>, run: &RunId) -> String {
    let Ok(setting) = input.results.setting(&run.setting) else {
        return run.to_string();
    };
    let mut name = run.variant.label(setting);
    if run.mode == Mode::Ours {
        name += ", ours";
    }
    if input.entry.experiments.len() > 1 {
        name += &format!(" ({})", setting.title);
    }
    name
}
