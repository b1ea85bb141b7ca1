//! The page of a run: from its files to `report.html`.

use std::path::{Path, PathBuf};

use bilevel::{Family, Learned, Pair, judge};
use lowlevel::Solver;
use rayon::prelude::*;

use crate::apply::read_result;
use crate::config::{Settings, Values};
use crate::error::CliError;
use crate::findings::{Finding, findings};
use crate::report::{Example, Input, html};
use crate::session::{self, history};
use crate::store::{self, Store};
use crate::task::{self, Examples};

/// A page that was written.
#[derive(Debug)]
pub struct Made {
    /// Where it is.
    pub path: PathBuf,
    /// What it is about.
    pub learned: Learned,
    /// What was not learned.
    pub fixed: Values,
    /// What it says.
    pub findings: Vec<Finding>,
}

/// Writes `report.html` into the directory of a run that has finished.
///
/// # Errors
/// When the run has not finished, its files or its images cannot be read, or the page cannot be written.
pub fn make(run: &Path) -> Result<Made, CliError> {
    let settings = Store::read_settings(run)?;
    let learned: Learned = read_result(run)?;
    let config = Settings::from_toml(&settings, &run.join("bilevel.toml"), None)?.resolve()?;
    let task = task::load(&config)?;
    let values = learned.values();
    let solver = config.spec().setup(Vec::new()).solver();
    let shown = |examples: &Examples| -> Vec<Example> {
        let (names, pairs) = (&examples.names, &examples.pairs);
        let show =
            |(name, pair): (&String, &Pair)| example(&task.family, &values, solver, name, pair);
        names.par_iter().zip(pairs).map(show).collect()
    };
    let name = run.canonicalize().unwrap_or_else(|_| run.to_path_buf());
    let name = name
        .file_name()
        .map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let saved = Store::read(run)?;
    if let Some(saved) = &saved {
        session::check(run, saved, &settings, task.fingerprint)?;
    }
    let history = saved.and_then(|saved| history::parse(&saved.history).ok());
    let seconds = history.and_then(|history| history.evaluation_seconds.last().copied());
    let page = html(&Input {
        title: &format!("{}: {name}", config.task),
        settings: &settings,
        scale: config.objective.scale,
        learned: &learned,
        training: &shown(&task.training),
        validation: &shown(&task.validation),
        seconds,
    });
    let path = run.join("report.html");
    store::write_text(&path, &page)?;
    Ok(Made {
        path,
        findings: findings(&learned, config.objective.scale),
        learned,
        fixed: config.model.fixed,
    })
}

/// One pair, reconstructed.
fn example(
    family: &Family,
    values: &[f64],
    solver: Solver<'_>,
    name: &str,
    pair: &Pair,
) -> Example {
    let judged = judge(family, values, pair, solver);
    Example {
        name: name.to_owned(),
        grid: pair.grid,
        truth: pair.truth.clone(),
        data: (judged.score.before).map(|_| pair.data.clone()),
        reconstruction: judged.reconstruction.map_or_else(Vec::new, |made| made.x),
        error: judged.score.error.unwrap_or(f64::INFINITY),
        score: judged.score,
    }
}
