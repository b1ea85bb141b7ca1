//! The comparison of a filter bank with total variation on held-out images.

use std::path::Path;

use bilevel::{Learned, LearningProblem, ModelSpec, Ranks, Score, Spec};
use serde::{Deserialize, Serialize};

use crate::config::{Config, Values};
use crate::error::CliError;
use crate::findings::{Mean, psnrs};
use crate::session::Finished;
use crate::store;
use crate::task::family;

/// The name of the file with the comparison.
const COMPARISON: &str = "tv.json";

/// The quality of a filter bank and of total variation on held-out images. The parameters of total
/// variation are learned from the same training pairs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TvComparison {
    /// The learned parameters of total variation.
    pub parameters: Values,
    /// The mean PSNR of the filter bank in decibels.
    pub filters: f64,
    /// The mean PSNR of total variation in decibels.
    pub tv: f64,
    /// The PSNR of total variation for each held-out image, in decibels.
    pub images: Vec<Option<f64>>,
}

impl TvComparison {
    /// Returns the gain of the filter bank in decibels, if it is a number.
    #[must_use]
    pub fn gain(&self) -> Option<f64> {
        Some(self.filters - self.tv).filter(|gain| gain.is_finite())
    }
}

/// Learns total variation from the pairs of a finished run with a filter bank, and stores the
/// comparison in the directory of the run. Returns `None` for other models, if no images were held
/// out, or if there is no truth to compare with. All ranks call this function.
pub(super) fn of_finished(
    ranks: &Ranks,
    run: &Path,
    config: &Config,
    finished: &Finished,
) -> Result<Option<TvComparison>, CliError> {
    let has_truth = config.data.truth.is_none();
    if config.model.filters.is_none() || finished.learned.validation.is_empty() || !has_truth {
        return Ok(None);
    }
    let mut of_tv = config.clone();
    let default = Spec::new(config.task);
    of_tv.model = ModelSpec {
        boundary: config.model.boundary,
        ..default.model
    };
    of_tv.solver = default.solver;
    let spec = of_tv.spec();
    let mut setup = spec.setup(finished.validation.clone());
    setup.camera = config.data.camera().cloned();
    let family = family::for_pictures(&of_tv)?.family;
    let training = finished.training.clone();
    let mut problem = LearningProblem::on_rank(family, training, setup, ranks.clone())?;
    let tv = problem.learn_with(spec.options())?;
    let Some(comparison) = compared(&finished.learned, &tv) else {
        return Ok(None);
    };
    if ranks.rank() == 0 {
        let mut text = serde_json::to_string_pretty(&comparison).map_err(CliError::Json)?;
        text.push('\n');
        store::write_text(&run.join(COMPARISON), &text)?;
    }
    Ok(Some(comparison))
}

/// Reads the comparison of a run, if there is one.
pub(super) fn read(run: &Path) -> Option<TvComparison> {
    let text = std::fs::read_to_string(run.join(COMPARISON)).ok()?;
    serde_json::from_str(&text).ok()
}

fn compared(filters: &Learned, tv: &Learned) -> Option<TvComparison> {
    let mean = |scores: &[Score]| Some(Mean::of(&psnrs(scores))?.value);
    Some(TvComparison {
        parameters: (tv.entries())
            .map(|entry| (entry.name(), entry.value))
            .collect(),
        filters: mean(&filters.validation)?,
        tv: mean(&tv.validation)?,
        images: (tv.validation.iter())
            .map(|score| score.after?.psnr)
            .collect(),
    })
}
