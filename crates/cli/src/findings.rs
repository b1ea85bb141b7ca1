//! What a result means, one sentence each.
//!
//! ```
//! use bilevel::{LearningProblem, Pair, Scale, Setup, TvDenoising};
//! use bilevel_cli::findings::findings;
//! use imaging::{Grid, Seed, noise, phantom};
//!
//! let truth = phantom::box_function(64, Seed::new(1), 0)?;
//! let data = noise::gaussian(&truth, 0.1, Seed::new(1), 0)?;
//! let pairs = vec![Pair { grid: Grid::line(64), truth, data }];
//! let learned = LearningProblem::new(TvDenoising::default(), pairs, Setup::default())?.learn()?;
//! let findings = findings(&learned, Scale::Mean);
//! assert!(findings[0].text.starts_with("Learning ended because"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod ending;
mod parameters;
mod scores;

use bilevel::{Learned, Scale};

use ::page::number::{between, counted, length, number, percent};

pub(crate) use scores::{Mean, gains, psnrs};

/// Something to know about a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Whether it is good.
    pub kind: FindingKind,
    /// A sentence in plain text, with commands between backticks.
    pub text: String,
}

/// Whether something is good to know or something to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FindingKind {
    /// As it should be.
    Good,
    /// Worth knowing.
    Note,
    /// Something should be done about it, or not be relied on.
    Warning,
}

impl Finding {
    /// As it should be.
    fn good(text: impl Into<String>) -> Self {
        let text = text.into();
        Self {
            kind: FindingKind::Good,
            text,
        }
    }

    /// Worth knowing.
    fn note(text: impl Into<String>) -> Self {
        let text = text.into();
        Self {
            kind: FindingKind::Note,
            text,
        }
    }

    /// To be done something about.
    fn warning(text: impl Into<String>) -> Self {
        let text = text.into();
        Self {
            kind: FindingKind::Warning,
            text,
        }
    }
}

/// What the result means: how learning ended, what is known for certain, what the parameters do,
/// and whether other images profit too.
#[must_use]
pub fn findings(learned: &Learned, scale: Scale) -> Vec<Finding> {
    let mut all = vec![ending::finding(learned), objective(learned, scale)];
    all.extend(parameters::findings(learned));
    all.extend(scores::findings(learned));
    all.extend(failures(learned));
    all
}

/// An objective that is known to this share is known well.
const WELL: f64 = 0.01;
/// An objective that is known only to more than this share is known badly.
const BADLY: f64 = 0.1;

/// What is certain about the objective.
fn objective(learned: &Learned, scale: Scale) -> Finding {
    let what = match scale {
        Scale::Mean => "The objective, a mean over images,",
        Scale::Sum => "The objective, a sum over images,",
    };
    let (lower, upper) = (learned.interval.lower, learned.interval.upper);
    if !upper.is_finite() {
        let found = number(learned.objective);
        return Finding::warning(format!(
            "{what} was computed as {found}, but how far that is from the exact one is not known."
        ));
    }
    if !(upper > 0.0) {
        return Finding::good(format!(
            "{what} is zero: all training images are reconstructed exactly."
        ));
    }
    let [from, to] = between(lower, upper);
    let known = uncertainty(learned);
    if from == to {
        return Finding::good(format!(
            "{what} is certainly {from}, known to {}.",
            percent(known)
        ));
    }
    let text = format!("{what} is certainly between {from} and {to}");
    if known <= WELL {
        Finding::good(format!("{text}, so it is known to {}.", percent(known)))
    } else if known <= BADLY {
        Finding::note(format!("{text}, so it is known to {}.", percent(known)))
    } else {
        Finding::warning(format!(
            "{text}: that is not much to rely on. More accurate reconstructions would narrow it down."
        ))
    }
}

/// Half of the interval in which the objective certainly lies, as a share of it.
fn uncertainty(learned: &Learned) -> f64 {
    let half = 0.5 * (learned.interval.upper - learned.interval.lower);
    half / learned.objective.abs().max(f64::MIN_POSITIVE)
}

/// Evaluations that failed, if any did.
fn failures(learned: &Learned) -> Option<Finding> {
    let mut failed = learned.evaluations.iter().map(|e| e.objective.as_ref());
    let first = failed.find_map(Result::err)?;
    let num_failed = 1 + failed.filter(Result::is_err).count();
    let [num_failed, num_made] = [
        u64::try_from(num_failed).unwrap_or(u64::MAX),
        length(&learned.evaluations),
    ];
    Some(Finding::warning(format!(
        "{num_failed} of {} failed, the first because: {first}",
        counted(num_made, "evaluation", "evaluations")
    )))
}
