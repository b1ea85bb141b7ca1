//! Findings: sentences that explain a result.
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
//! assert!(findings[0].text.starts_with("Learning is complete"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod ending;
mod parameters;
mod scores;

use bilevel::{CriterionKind, Learned, Scale};

use ::page::number::{between, counted, length, number, percent, significant};
use imaging::FilterBank;
use imaging::noise::Anscombe;

use crate::run_page::TvComparison;

pub(crate) use scores::{Mean, gains, psnrs};

/// A sentence that explains a part of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Whether the finding is good, neutral or a warning.
    pub kind: FindingKind,
    /// The sentence in plain text, with commands between backticks.
    pub text: String,
}

/// The kind of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FindingKind {
    /// The result is as it should be.
    Good,
    /// The fact is worth knowing.
    Note,
    /// The user should do something, or not rely on the result.
    Warning,
}

impl Finding {
    /// Returns a good finding.
    fn good(text: impl Into<String>) -> Self {
        let text = text.into();
        Self {
            kind: FindingKind::Good,
            text,
        }
    }

    /// Returns a note.
    fn note(text: impl Into<String>) -> Self {
        let text = text.into();
        Self {
            kind: FindingKind::Note,
            text,
        }
    }

    /// Returns a warning.
    fn warning(text: impl Into<String>) -> Self {
        let text = text.into();
        Self {
            kind: FindingKind::Warning,
            text,
        }
    }
}

/// Returns the findings about a result: how learning ended, the certified interval of the
/// objective, the influence of the parameters, and the gain of training and held-out images.
#[must_use]
pub fn findings(learned: &Learned, scale: Scale) -> Vec<Finding> {
    let mut all = vec![ending::finding(learned), objective(learned, scale)];
    all.extend(of_criterion(learned));
    all.extend(parameters::findings(learned));
    all.extend(scores::findings(learned));
    all.extend(failures(learned));
    all
}

/// Returns the findings about filter banks, one for grey pictures and two in colour: the proved
/// constants `μ` and `L` of reconstructions with them, and their gain over total variation on
/// held-out images.
#[must_use]
pub fn of_banks(
    banks: &[&FilterBank],
    [convexity, lipschitz]: [f64; 2],
    comparison: Option<&TvComparison>,
) -> Vec<Finding> {
    if banks.is_empty() {
        return Vec::new();
    }
    let mut all = vec![Finding::good(format!(
        "Reconstruction with the learned filters is strongly convex, with the proved constants \
         μ = {} and L = {}, so the distance of every reconstructed picture from the exact \
         minimiser is certified.",
        number(convexity),
        number(lipschitz)
    ))];
    let gain = comparison.and_then(|comparison| Some((comparison, comparison.gain()?)));
    if let Some((comparison, gain)) = gain {
        let [filters, tv, by] =
            [comparison.filters, comparison.tv, gain.abs()].map(|value| format!("{value:.2} dB"));
        let text = format!(
            "Held-out images are {} than with total variation, whose parameters were learned from \
             the same images: {filters} against {tv}.",
            match gain >= 0.0 {
                true => format!("{by} better"),
                false => format!("{by} worse"),
            }
        );
        all.push(match gain >= 0.0 {
            true => Finding::good(text),
            false => Finding::warning(text),
        });
    }
    all
}

/// Returns the finding about a camera that counts photons.
#[must_use]
pub fn of_camera(camera: &Anscombe) -> Finding {
    let [gain, read] = [camera.gain(), camera.read()].map(|number| significant(number, 3));
    Finding::note(format!(
        "The noise is that of a camera with gain {gain} and read noise {read}. Pictures were \
         transformed first, so that their noise is nearly the same everywhere (the generalised \
         Anscombe transform), and the reconstructions were transformed back by its exact unbiased \
         inverse. The objective, certified errors and estimated PSNR are those of transformed \
         pictures. PSNR and SSIM compared with the truth are those of the pictures themselves."
    ))
}

/// Returns the finding about a criterion without truth: what is certified and what is not.
#[must_use]
pub fn of_criterion(learned: &Learned) -> Option<Finding> {
    let (name, about) = match learned.criterion {
        CriterionKind::Truth => return None,
        CriterionKind::Sure => (
            "Stein's unbiased risk estimate (SURE)",
            "If the noise is Gaussian with this standard deviation, the mean of the estimate over \
             the noise is the mean squared error plus the variance of the noise",
        ),
        CriterionKind::Gcv => (
            "generalised cross-validation (GCV)",
            "Its minimiser is close to that of the mean squared error if there are many pixels and \
             the noise is white",
        ),
    };
    Some(Finding::note(format!(
        "The parameters were learned without truth, with {name}. The interval of the objective is \
         certified for this criterion, with one vector of random signs for each image. {about}: \
         this is statistics, and the estimated PSNR is not certified. For blurred or masked \
         pictures, all of it is about the measured pixels, not about what the measurement has lost."
    )))
}

/// Whether the learned parameters are those of a filter bank.
fn is_bank(learned: &Learned) -> bool {
    let spread = ["spread", "spread_luminance"].map(|name| learned.parameter(name));
    let mut found = spread.into_iter().flatten();
    found.any(|spread| !spread.parameter.shape.is_empty())
}

/// Largest relative uncertainty of the objective that is good.
const WELL: f64 = 0.01;
/// Largest relative uncertainty of the objective that is not worth a warning.
const BADLY: f64 = 0.1;

/// Returns the finding about the certified interval of the objective.
fn objective(learned: &Learned, scale: Scale) -> Finding {
    let what = match scale {
        Scale::Mean => "The objective, a mean over images,",
        Scale::Sum => "The objective, a sum over images,",
    };
    let (lower, upper) = (learned.interval.lower, learned.interval.upper);
    if !upper.is_finite() {
        let found = number(learned.objective);
        return Finding::warning(format!(
            "{what} was computed as {found}, but its error is not known."
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
            "{what} is certainly {from}, with an uncertainty of {}.",
            percent(known)
        ));
    }
    let text = format!("{what} is certainly between {from} and {to}");
    if known <= WELL {
        Finding::good(format!("{text}, an uncertainty of {}.", percent(known)))
    } else if known <= BADLY {
        Finding::note(format!("{text}, an uncertainty of {}.", percent(known)))
    } else {
        Finding::warning(format!(
            "{text}, which is too wide to rely on. More accurate reconstructions would narrow it."
        ))
    }
}

/// Returns half the length of the certified interval, relative to the objective.
fn uncertainty(learned: &Learned) -> f64 {
    let half = 0.5 * (learned.interval.upper - learned.interval.lower);
    half / learned.objective.abs().max(f64::MIN_POSITIVE)
}

/// Returns a warning about evaluations that failed, if there are any.
fn failures(learned: &Learned) -> Option<Finding> {
    let mut failed = learned.evaluations.iter().map(|e| e.objective.as_ref());
    let first = failed.find_map(Result::err)?;
    let num_failed = 1 + failed.filter(Result::is_err).count();
    let [num_failed, num_made] = [
        u64::try_from(num_failed).unwrap_or(u64::MAX),
        length(&learned.evaluations),
    ];
    Some(Finding::warning(format!(
        "{num_failed} of {} failed, the first one with: {first}",
        counted(num_made, "evaluation", "evaluations")
    )))
}
