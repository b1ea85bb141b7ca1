//! The page of a run: from its files to `report.html`.

use std::path::{Path, PathBuf};

use bilevel::{Learned, Pair, Score, Scored, score};
use rayon::prelude::*;

use crate::apply::read_result;
use crate::config::{Config, Settings, Values};
use crate::error::CliError;
use crate::findings::{Finding, findings};
use crate::report::{ReportImage, ReportInput, html};
use crate::session::{self, Finished, history};
use crate::store::{self, Store};
use crate::task::{self, NamedPairs};

/// The file of a run that holds its page.
const REPORT: &str = "report.html";

/// A page that was written.
#[derive(Debug)]
pub struct RunPage {
    /// Where it is.
    pub path: PathBuf,
    /// What it is about.
    pub learned: Learned,
    /// What was not learned.
    pub fixed: Values,
    /// What it says.
    pub findings: Vec<Finding>,
}

/// Writes the page of a run that has just finished, from values that are there.
///
/// # Errors
/// When the page cannot be written.
pub(crate) fn write_finished(
    run: &Path,
    settings: &str,
    config: &Config,
    finished: Finished,
    names: [Vec<String>; 2],
) -> Result<RunPage, CliError> {
    let Finished {
        learned,
        images,
        training,
        validation,
        seconds,
    } = finished;
    let shown = |names: Vec<String>, pairs: Vec<Pair>, images: Vec<Scored>| {
        let examples = names.into_iter().zip(pairs).zip(images);
        let example = |((name, pair), scored)| example(name, pair, scored);
        examples.map(example).collect()
    };
    let [training_names, validation_names] = names;
    let examples = [
        shown(training_names, training, images.training),
        shown(validation_names, validation, images.validation),
    ];
    write(run, settings, config, learned, &examples, Some(seconds))
}

/// The page that the run has already, if it is there.
pub(crate) fn existing(run: &Path, config: &Config, learned: Learned) -> Option<RunPage> {
    let path = run.join(REPORT);
    path.is_file().then(|| RunPage {
        path,
        findings: findings(&learned, config.objective.scale),
        learned,
        fixed: config.model.fixed.clone(),
    })
}

/// Writes `report.html` into the directory of a run that has finished, from its files.
///
/// # Errors
/// When the run has not finished, its files or its images cannot be read, or the page cannot be
/// written.
pub fn make(run: &Path) -> Result<RunPage, CliError> {
    let settings = Store::read_settings(run)?;
    let mut learned: Learned = read_result(run)?;
    let config = Settings::from_toml(&settings, &run.join("bilevel.toml"), None)?.resolve()?;
    // results of earlier versions do not know their family
    learned.family = Some(config.task);
    let task = task::load(&config)?;
    let values = learned.values();
    let solver = config.spec().setup(Vec::new()).solver();
    // the result knows the scores; only the pictures are made again
    let shown = |NamedPairs { names, pairs }: NamedPairs, scores: &[Score]| -> Vec<ReportImage> {
        let show = |(index, (name, pair)): (usize, (String, Pair))| {
            let mut scored = score(&task.family, &values, &pair, solver);
            scored.score = scores.get(index).copied().unwrap_or(scored.score);
            example(name, pair, scored)
        };
        let examples = names.into_par_iter().zip(pairs).enumerate();
        examples.map(show).collect()
    };
    let saved = Store::read(run)?;
    if let Some(saved) = &saved {
        session::check(run, saved, &settings, task.fingerprint)?;
    }
    let history = saved.and_then(|saved| history::parse(&saved.history).ok());
    let seconds = history.and_then(|history| history.evaluation_seconds.last().copied());
    let examples = [
        shown(task.training, &learned.training),
        shown(task.validation, &learned.validation),
    ];
    write(run, &settings, &config, learned, &examples, seconds)
}

fn write(
    run: &Path,
    settings: &str,
    config: &Config,
    learned: Learned,
    [training, validation]: &[Vec<ReportImage>; 2],
    seconds: Option<f64>,
) -> Result<RunPage, CliError> {
    let name = run.canonicalize().unwrap_or_else(|_| run.to_path_buf());
    let name = name
        .file_name()
        .map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let findings = findings(&learned, config.objective.scale);
    let page = html(&ReportInput {
        title: &format!("{}: {name}", config.task),
        settings,
        scale: config.objective.scale,
        findings: &findings,
        learned: &learned,
        training,
        validation,
        seconds,
    });
    let path = run.join(REPORT);
    store::write_text(&path, &page)?;
    Ok(RunPage {
        path,
        findings,
        learned,
        fixed: config.model.fixed.clone(),
    })
}

/// One pair, reconstructed.
fn example(name: String, pair: Pair, scored: Scored) -> ReportImage {
    let Scored {
        reconstruction,
        score,
        ..
    } = scored;
    ReportImage {
        name,
        grid: pair.grid,
        truth: pair.truth,
        data: score.before.map(|_| pair.data),
        reconstruction: reconstruction.map_or_else(Vec::new, |made| made.x),
        error: score.error.unwrap_or(f64::INFINITY),
        score,
    }
}
