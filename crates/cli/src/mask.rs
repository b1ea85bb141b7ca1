//! Masks for magnetic resonance imaging: which frequencies of pictures to measure, learned from
//! slices whose frequencies were all measured.

mod apply;
mod data;
mod report;
mod settings;
#[cfg(test)]
mod tests;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use bilevel::{FrequencyZero, MaskOutcome, MaskProgress, MaskStudy, Pattern, frequency};
use imaging::{Grid, TvParameters};
use serde::{Deserialize, Serialize};

pub use apply::apply;
pub use settings::{MaskDataSettings, MaskSettings, MaskTask};

use crate::apply::{RESULT, read_result};
use crate::array;
use crate::error::CliError;
use crate::file;
use crate::picture::{Depth, encode_png};
use crate::store::{SavedRun, Store};

/// The mask as an array of zeros and ones, in the order of the frequencies that it was learned
/// from.
const MASK: &str = "mask.npy";
/// The mask as a picture, with frequency zero in the middle.
const PICTURE: &str = "mask.png";
/// The lines or points of the mask, as indices of the array.
const INDICES: &str = "mask.txt";
/// The page of the run.
const REPORT: &str = "report.html";

/// The state of a search that is saved after every mask.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct SavedSearch {
    /// The best mask of the full size, or the mask that is still growing.
    elements: Vec<usize>,
    alpha: f64,
    nu: f64,
    xi: f64,
    /// The upper bound of its objective.
    upper: f64,
    /// The number of searches that have ended.
    finished: usize,
    /// The number of masks that were tried so far.
    evaluations: usize,
}

/// The progress of learning a mask, for [`learn`].
#[derive(Clone, Copy, Debug, Serialize)]
pub struct MaskEvent {
    /// The number of masks that were tried.
    pub evaluations: usize,
    /// The number of lines or points of the current mask.
    pub size: usize,
    /// The number of lines or points of the complete mask.
    pub full_size: usize,
    /// The number of the search, counted from 1.
    pub search: usize,
    /// The number of accepted exchanges.
    pub accepted: usize,
    /// The upper bound of the objective of the current mask.
    pub objective: f64,
}

/// A run that has ended: its result and its page.
#[derive(Debug)]
pub struct MaskRun {
    /// The result.
    pub outcome: MaskOutcome,
    /// The path of the page.
    pub page: PathBuf,
    /// Whether it was finished before.
    pub was_finished: bool,
}

/// Whether a directory holds a run that learns a mask.
#[must_use]
pub fn is_run(run: &Path) -> bool {
    Store::read_settings(run).is_ok_and(|text| MaskSettings::is_mask(&text))
}

/// Learns a mask in a new directory. `observe` is called after every mask; when `stop` becomes
/// true, the best mask so far is the result.
///
/// # Errors
/// When the data cannot be used, the directory is not empty, or a file cannot be written.
pub fn learn(
    settings: &MaskSettings,
    out: &Path,
    stop: &AtomicBool,
    observe: &mut dyn FnMut(MaskEvent),
) -> Result<MaskRun, CliError> {
    // load first: data that cannot be used leave no directory behind
    let settings = settings.absolute()?;
    let study = data::study(&settings)?;
    let store = Store::create(out, &settings.to_toml()?)?;
    work(store, &settings, study, None, stop, observe)
}

/// Continues a run from its best mask. The search is not repeated: it goes on with exchanges.
///
/// # Errors
/// As [`learn`].
pub fn resume(
    run: &Path,
    stop: &AtomicBool,
    observe: &mut dyn FnMut(MaskEvent),
) -> Result<MaskRun, CliError> {
    if let Ok(outcome) = read_result::<MaskOutcome>(run)
        && outcome.is_complete
    {
        return Ok(MaskRun {
            outcome,
            page: run.join(REPORT),
            was_finished: true,
        });
    }
    let (store, saved) = Store::open(run)?;
    let settings = MaskSettings::parse(store.settings(), run)?;
    let study = data::study(&settings)?;
    work(store, &settings, study, saved, stop, observe)
}

/// Writes the page of a run again.
///
/// # Errors
/// When the run has no result yet, or its data cannot be read.
pub fn report(run: &Path) -> Result<MaskRun, CliError> {
    let outcome: MaskOutcome = read_result(run)?;
    let settings = MaskSettings::parse(&Store::read_settings(run)?, run)?;
    let study = data::study(&settings)?;
    let page = write_page(run, &settings, study, &outcome)?;
    Ok(MaskRun {
        outcome,
        page,
        was_finished: true,
    })
}

fn work(
    mut store: Store,
    settings: &MaskSettings,
    mut study: MaskStudy,
    saved: Option<SavedRun>,
    stop: &AtomicBool,
    observe: &mut dyn FnMut(MaskEvent),
) -> Result<MaskRun, CliError> {
    let full_size = study.size();
    let saved = saved.and_then(|saved| serde_json::from_slice(&saved.payload).ok());
    let mut best: Option<SavedSearch> = saved;
    let mut earlier = (0, 0);
    if let Some(saved) = &best {
        let tv = TvParameters {
            alpha: saved.alpha,
            nu: saved.nu,
            xi: saved.xi,
        };
        study.start_from(&saved.elements, tv, saved.finished)?;
        earlier = (saved.finished, saved.evaluations);
    }
    let mut failure = None;
    let learned = study.learn(|progress: MaskProgress<'_>| {
        let size = progress.set.iter().filter(|&&entry| entry).count();
        let upper = progress.interval.upper;
        let is_better = best.as_ref().is_none_or(|best| {
            let known = best.elements.len();
            size > known || (size == known && upper < best.upper)
        });
        let finished = earlier.0 + progress.restart;
        let evaluations = earlier.1 + progress.evaluations;
        let mut next = match &best {
            Some(best) if !is_better => best.clone(),
            _ => SavedSearch {
                elements: (0..progress.set.len())
                    .filter(|&at| progress.set[at])
                    .collect(),
                alpha: progress.tv.alpha,
                nu: progress.tv.nu,
                xi: progress.tv.xi,
                upper,
                finished,
                evaluations,
            },
        };
        (next.finished, next.evaluations) = (finished, evaluations);
        let saved = serde_json::to_vec(&next).map_err(CliError::Json);
        let saved = saved.and_then(|payload| Ok(store.commit(&[], &[], &payload, &[])?));
        best = Some(next);
        observe(MaskEvent {
            evaluations,
            size,
            full_size,
            search: finished + 1,
            accepted: progress.accepted,
            objective: upper,
        });
        match saved {
            Err(error) => {
                failure = Some(error);
                ControlFlow::Break(())
            }
            Ok(()) if stop.load(Ordering::Relaxed) => ControlFlow::Break(()),
            Ok(()) => ControlFlow::Continue(()),
        }
    });
    if let Some(error) = failure {
        return Err(error);
    }
    let mut outcome = learned?;
    outcome.evaluations += earlier.1;
    let dir = store.dir().to_path_buf();
    write_mask(&dir, &outcome)?;
    let text = serde_json::to_string_pretty(&outcome).map_err(CliError::Json)?;
    store.write_text(RESULT, &text)?;
    let page = write_page(&dir, settings, study, &outcome)?;
    Ok(MaskRun {
        outcome,
        page,
        was_finished: false,
    })
}

/// Writes the mask as an array, as a picture and as a list.
fn write_mask(dir: &Path, outcome: &MaskOutcome) -> Result<(), CliError> {
    let shape @ [rows, cols] = outcome.shape;
    let mask = outcome.mask();
    let weights = mask.weights(shape)?;
    let own = outcome.frequency_zero.from_first(shape, 1, &weights);
    #[expect(clippy::float_cmp, reason = "weights are exactly 0 or 1")]
    let bytes: Vec<u8> = own.iter().map(|&weight| u8::from(weight == 1.0)).collect();
    array::write_encoded(&dir.join(MASK), &shape, "|u1", &bytes, "mask")?;
    file::write(
        &dir.join(PICTURE),
        &mask_png(outcome.spec.pattern, shape, &mask.set),
    )?;
    let place = |index: usize, len: usize| match outcome.frequency_zero {
        FrequencyZero::First => index,
        FrequencyZero::Middle => (index + len / 2) % len,
    };
    let mut lines: Vec<(usize, usize, String)> = (outcome.elements.iter())
        .map(|&element| match outcome.spec.pattern {
            Pattern::Lines => {
                let at = place(element, cols);
                (0, at, format!("{at}\t{}", frequency(element, cols)))
            }
            Pattern::Points => {
                let (row, col) = (element / cols, element % cols);
                let at = (place(row, rows), place(col, cols));
                let of = (frequency(row, rows), frequency(col, cols));
                (
                    at.0,
                    at.1,
                    format!("{}\t{}\t{}\t{}", at.0, at.1, of.0, of.1),
                )
            }
        })
        .collect();
    lines.sort();
    let head = match outcome.spec.pattern {
        Pattern::Lines => "# column\tfrequency",
        Pattern::Points => "# row\tcolumn\tfrequency down\tfrequency across",
    };
    let lines: Vec<&str> = lines.iter().map(|(.., line)| &line[..]).collect();
    let text = format!("{head}\n{}\n", lines.join("\n"));
    Ok(file::write(&dir.join(INDICES), text.as_bytes())?)
}

/// Returns a picture of a mask, with frequency zero in the middle.
fn mask_png(pattern: Pattern, shape: [usize; 2], set: &[bool]) -> Vec<u8> {
    let [rows, cols] = shape;
    let weights = pattern.weights(Grid::image(rows, cols), set);
    let plane = FrequencyZero::Middle.from_first(shape, 1, &weights);
    encode_png(cols, rows, &[&plane], Depth::Eight)
}

fn write_page(
    dir: &Path,
    settings: &MaskSettings,
    mut study: MaskStudy,
    outcome: &MaskOutcome,
) -> Result<PathBuf, CliError> {
    let page = dir.join(REPORT);
    let title = format!("A mask of {}", outcome.spec.pattern.name());
    let text = report::html(&title, &settings.to_toml()?, &mut study, outcome)?;
    file::write(&page, text.as_bytes())?;
    Ok(page)
}
