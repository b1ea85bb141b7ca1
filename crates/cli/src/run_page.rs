//! The page of a run, `report.html`: its data are gathered from values in memory or from files.

mod comparison;
mod gathered;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bilevel::{FilterChoices, FilterDenoising, Learned, Pair, Ranks, Score, Scored, score, shown};
use imaging::FilterBank;
use rayon::prelude::*;

use crate::apply::read_result;
use crate::config::{Config, Settings, TaskKind, Values};
use crate::error::CliError;
use crate::findings::{self, Finding, findings};
use crate::per_picture::LearnedPicture;
use crate::report::{ReportBank, ReportImage, ReportInput, each, html};
use crate::session::{self, Finished, history};
use crate::store::{self, Store};
use crate::task::{self, NamedPairs};

pub use comparison::TvComparison;

/// The name of the file with the page of a run.
const REPORT: &str = "report.html";

/// A page that was written.
#[derive(Debug)]
pub struct RunPage {
    /// The path of the page.
    pub path: PathBuf,
    /// The result of the run.
    pub learned: Learned,
    /// The values of the parameters that were not learned.
    pub fixed: Values,
    /// The findings on the page.
    pub findings: Vec<Finding>,
    /// Whether estimates without truth are those of pictures that were transformed for a camera.
    pub is_transformed: bool,
}

/// Writes the page of a run that has just finished, from values in memory. The images may be spread
/// over ranks: all of them call this function, with the names of their own images. Rank 0 writes
/// the page, and the others return `None`. The page does not depend on the number of ranks.
///
/// # Errors
/// When the page cannot be written, or a rank cannot be reached.
pub fn write_on_ranks(
    ranks: &Ranks,
    run: &Path,
    settings: &str,
    config: &Config,
    finished: Finished,
    names: [Vec<String>; 2],
) -> Result<Option<RunPage>, CliError> {
    let comparison = comparison::of_finished(ranks, run, config, &finished)?;
    let (learned, [training, validation], seconds) = report_images(config, finished, names);
    let images = [
        gathered::images(ranks, &training, &learned.training)?,
        gathered::images(ranks, &validation, &learned.validation)?,
    ];
    if ranks.rank() > 0 {
        return Ok(None);
    }
    let extra = (Some(seconds), comparison);
    write(run, settings, config, learned, &images, extra).map(Some)
}

/// Returns the result, the training images, the held-out images, and the duration of learning.
fn report_images(
    config: &Config,
    finished: Finished,
    names: [Vec<String>; 2],
) -> (Learned, [Vec<ReportImage>; 2], f64) {
    let Finished {
        learned,
        images,
        training,
        validation,
        seconds,
    } = finished;
    let shown = |names: Vec<String>, pairs: Vec<Pair>, images: Vec<Scored>| {
        let all = names.into_iter().zip(pairs).zip(images);
        let image = |((name, pair), scored)| report_image(config, name, pair, scored);
        all.map(image).collect()
    };
    let [training_names, validation_names] = names;
    let images = [
        shown(training_names, training, images.training),
        shown(validation_names, validation, images.validation),
    ];
    (learned, images, seconds)
}

/// Returns the page that an earlier session has written, if there is one.
pub(crate) fn existing(run: &Path, config: &Config, learned: Learned) -> Option<RunPage> {
    let path = run.join(REPORT);
    path.is_file().then(|| RunPage {
        path,
        findings: all_findings(
            config,
            &learned,
            &banks(config, &learned),
            comparison::read(run).as_ref(),
        ),
        learned,
        fixed: config.model.fixed.clone(),
        is_transformed: config.data.camera().is_some(),
    })
}

/// Writes the page of a finished run from the files in its directory.
///
/// # Errors
/// When the run has not finished, its files or its images cannot be read, or the page cannot be
/// written.
pub fn make(run: &Path) -> Result<RunPage, CliError> {
    let settings = Store::read_settings(run)?;
    let learned: Learned = read_result(run)?;
    let config = Settings::of_run(&settings, run)?.resolve()?;
    let task = task::load_for_run(&config, run)?;
    let values = learned.values();
    let solver = config.spec().setup(Vec::new()).lower_solver();
    // scores come from the result; only the pictures are computed again
    let shown =
        |NamedPairs { names, pairs, .. }: NamedPairs, scores: &[Score]| -> Vec<ReportImage> {
            let show = |(index, (name, pair)): (usize, (String, Pair))| {
                let mut scored = score(&task.family, &values, &pair, solver);
                scored.score = scores.get(index).copied().unwrap_or(scored.score);
                report_image(&config, name, pair, scored)
            };
            let all = names.into_par_iter().zip(pairs).enumerate();
            all.map(show).collect()
        };
    let comparison = comparison::read(run);
    let saved = Store::read(run)?;
    if let Some(saved) = &saved {
        session::check(run, saved, &settings, task.fingerprint)?;
    }
    let history = saved.and_then(|saved| history::parse(&saved.history).ok());
    let seconds = history.and_then(|history| history.evaluation_seconds.last().copied());
    let images = [
        shown(task.training, &learned.training),
        shown(task.validation, &learned.validation),
    ];
    write(
        run,
        &settings,
        &config,
        learned,
        &images,
        (seconds, comparison),
    )
}

/// Writes the page of a run that has learned parameters for each picture, from the files in its
/// directory, and returns its path.
///
/// # Errors
/// When the files or the pictures cannot be read, or the page cannot be written.
pub(crate) fn write_each(run: &Path, pictures: &[LearnedPicture]) -> Result<PathBuf, CliError> {
    let settings = Store::read_settings(run)?;
    let config = Settings::of_run(&settings, run)?.resolve()?;
    let task = task::load_for_run(&config, run)?;
    let solver = config.spec().setup(Vec::new()).lower_solver();
    let show = |(name, pair): (String, Pair)| {
        let learned = pictures.iter().find(|one| one.name == name)?;
        let values = learned.learned.values();
        let mut scored = score(&task.family, &values, &pair, solver);
        let known = learned.learned.training.first();
        scored.score = known.copied().unwrap_or(scored.score);
        Some(report_image(&config, name, pair, scored))
    };
    let NamedPairs { names, pairs, .. } = task.training;
    let made: Vec<Option<ReportImage>> = names.into_par_iter().zip(pairs).map(show).collect();
    let made: Vec<ReportImage> = made.into_iter().flatten().collect();
    let title = format!("{}: {}", config.task, run_name(run));
    let first = pictures.first().map(|one| &one.learned);
    let camera = config.data.camera().map(findings::of_camera);
    let findings = first.and_then(findings::of_criterion).into_iter();
    let findings: Vec<Finding> = findings.chain(camera).collect();
    let page = each::html(&title, &settings, &findings, pictures, &made);
    let path = run.join(REPORT);
    store::write_text(&path, &page)?;
    Ok(path)
}

/// The learned filter banks of a run: none, one for grey pictures, or one for luminance and one for
/// chroma.
type Banks = Vec<(&'static str, Arc<FilterBank>)>;

/// Returns the learned filter banks with the names of what they see.
fn banks(config: &Config, learned: &Learned) -> Banks {
    let Some(set) = config.model.filters else {
        return Vec::new();
    };
    let names: &[&'static str] = match config.spec().model.colour {
        true => &["luminance", "chroma"],
        false => &[""],
    };
    let bank = |name: &&'static str| {
        let own = (learned.parameters.iter()).filter(|p| p.parameter.name.ends_with(name));
        let values: Vec<f64> = own.flat_map(|p| &p.values).copied().collect();
        let limited = match config.task {
            TaskKind::Denoise => FilterDenoising::new(set).ok()?.bank(&values).ok()?,
            _ => FilterChoices::new(set, 0.0).ok()?.bank(&values).ok()?,
        };
        Some((*name, Arc::clone(limited.bank())))
    };
    names.iter().filter_map(bank).collect()
}

/// Returns the findings about a result and about its filter bank.
fn all_findings(
    config: &Config,
    learned: &Learned,
    banks: &Banks,
    comparison: Option<&TvComparison>,
) -> Vec<Finding> {
    let mut all = findings(learned, config.objective.scale);
    let banks: Vec<&FilterBank> = banks.iter().map(|(_, bank)| &**bank).collect();
    all.extend(findings::of_banks(
        &banks,
        constants(config, &banks),
        comparison,
    ));
    all.extend(config.data.camera().map(findings::of_camera));
    all
}

/// Returns the proved constants of the objectives with learned filter banks: their strong convexity
/// and a Lipschitz constant of their gradients.
fn constants(config: &Config, banks: &[&FilterBank]) -> [f64; 2] {
    let largest = |constant: fn(&FilterBank) -> f64| {
        let constants = banks.iter().map(|bank| constant(bank));
        constants.fold(0.0, f64::max)
    };
    let [.., (_, xi)] = config.task.fixed();
    let lipschitz = largest(FilterBank::lipschitz);
    match config.task {
        TaskKind::Denoise => [1.0 - largest(FilterBank::weak_convexity), 1.0 + lipschitz],
        TaskKind::Deblur => {
            // without the kernel, no bound is known
            let kernel = task::operators(config).ok().and_then(|(kernel, _)| kernel);
            let norm = kernel.map_or(f64::INFINITY, |kernel| {
                kernel.values().iter().map(|value| value.abs()).sum()
            });
            [xi, norm * norm * (1.0 + 1e-12) + xi + lipschitz]
        }
        _ => [xi, 1.0 + xi + lipschitz],
    }
}

/// The seconds of learning and the comparison with total variation, where they are known.
type Extra = (Option<f64>, Option<TvComparison>);

fn write(
    run: &Path,
    settings: &str,
    config: &Config,
    learned: Learned,
    [training, validation]: &[Vec<ReportImage>; 2],
    (seconds, comparison): Extra,
) -> Result<RunPage, CliError> {
    let name = run_name(run);
    let banks = banks(config, &learned);
    let findings = all_findings(config, &learned, &banks, comparison.as_ref());
    let all: Vec<&FilterBank> = banks.iter().map(|(_, bank)| &**bank).collect();
    let constants = constants(config, &all);
    let named: Vec<(&str, &FilterBank)> = (banks.iter())
        .map(|(name, bank)| (*name, &**bank))
        .collect();
    let page = html(&ReportInput {
        title: &format!("{}: {name}", config.task),
        settings,
        scale: config.objective.scale,
        findings: &findings,
        learned: &learned,
        bank: (!named.is_empty()).then(|| ReportBank {
            banks: &named,
            constants,
            is_learned: config.model.filters.is_some_and(|set| set.is_learned),
            comparison: comparison.as_ref(),
        }),
        training,
        validation,
        seconds,
        is_transformed: config.data.camera().is_some(),
    });
    let path = run.join(REPORT);
    store::write_text(&path, &page)?;
    Ok(RunPage {
        path,
        findings,
        learned,
        fixed: config.model.fixed.clone(),
        is_transformed: config.data.camera().is_some(),
    })
}

/// Returns the name of the directory of a run.
fn run_name(run: &Path) -> String {
    let path = run.canonicalize().unwrap_or_else(|_| run.to_path_buf());
    let name = path.file_name();
    name.map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

/// Returns a reconstructed pair for the page. The pictures of a camera are transformed back.
fn report_image(config: &Config, name: String, pair: Pair, scored: Scored) -> ReportImage {
    let Scored {
        mut reconstruction,
        score,
        ..
    } = scored;
    let pair = match config.data.camera() {
        Some(camera) => {
            if let Some(made) = &mut reconstruction {
                made.x = camera.inverse(&made.x);
            }
            pair.from_camera(camera)
        }
        None => pair,
    };
    ReportImage {
        name,
        grid: pair.grid,
        data: (score.before.is_some() || pair.truth.is_empty())
            .then(|| pair.data.into_iter().map(shown).collect()),
        truth: pair.truth,
        reconstruction: reconstruction.map_or_else(Vec::new, |made| made.x),
        error: score.error.unwrap_or(f64::INFINITY),
        score,
    }
}
