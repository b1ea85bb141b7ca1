//! Findings about the quality of reconstructions, of training images and of held-out images.

use bilevel::{Learned, Score};

use super::Finding;
use ::page::number::{counted, decibel, length};

/// Difference in decibels that an eye could notice.
const NOTICEABLE: f64 = 0.5;

/// The mean of some numbers and its standard error.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mean {
    pub(crate) value: f64,
    /// The square of the standard error; zero if there is only one number.
    variance: f64,
}

impl Mean {
    /// Returns the mean, or `None` if there are no numbers.
    pub(crate) fn of(numbers: &[f64]) -> Option<Self> {
        let count = numbers.len() as f64;
        let value = numbers.iter().sum::<f64>() / count;
        let squares: f64 = numbers.iter().map(|x| (x - value).powi(2)).sum();
        let variance = squares / (count - 1.0).max(1.0) / count;
        value.is_finite().then_some(Self { value, variance })
    }

    /// Whether this mean is below `other` by more than two standard errors of the difference, and
    /// noticeably.
    fn is_clearly_below(&self, other: &Self) -> bool {
        let chance = 2.0 * (self.variance + other.variance).sqrt();
        other.value - self.value > chance.max(NOTICEABLE)
    }
}

/// Returns the PSNR of the reconstructions that are not exact.
pub(crate) fn psnrs(scores: &[Score]) -> Vec<f64> {
    let after = scores.iter().filter_map(|score| score.after);
    after.filter_map(|quality| quality.psnr).collect()
}

/// Returns the gains: the PSNR of each reconstruction minus that of its data, where both are known.
pub(crate) fn gains(scores: &[Score]) -> Vec<f64> {
    let gain = |score: &Score| Some(score.after?.psnr? - score.before?.psnr?);
    scores.iter().filter_map(gain).collect()
}

/// Returns the findings about images.
pub(super) fn findings(learned: &Learned) -> Vec<Finding> {
    let mut all = Vec::new();
    all.extend(gained("training", &learned.training));
    if learned.criterion.is_truth() || !learned.validation.is_empty() {
        all.extend(held_out(&learned.training, &learned.validation));
    }
    for (what, scores) in [
        ("training image", &learned.training),
        ("held-out image", &learned.validation),
    ] {
        let is_made = |score: &Score| score.after.is_some() || score.error.is_some();
        let failed = scores.iter().filter(|score| !is_made(score)).count();
        if failed > 0 {
            let of = counted(length(scores), what, &format!("{what}s"));
            all.push(Finding::warning(format!(
                "{failed} of {of} could not be reconstructed with the learned parameters."
            )));
        }
    }
    all
}

/// Returns the finding about the gain of images; `what` is "training" or "held-out".
fn gained(what: &str, scores: &[Score]) -> Option<Finding> {
    let gain = Mean::of(&gains(scores))?.value;
    let both = |score: &Score| Some((score.before?.psnr?, score.after?.psnr?));
    let (before, after): (Vec<f64>, Vec<f64>) = scores.iter().filter_map(both).unzip();
    let [before, after] = [Mean::of(&before)?, Mean::of(&after)?].map(|mean| decibel(mean.value));
    if before == after {
        return Some(Finding::warning(format!(
            "Reconstruction leaves the mean PSNR of {what} images unchanged at {before}."
        )));
    }
    if gain > 0.0 {
        return Some(Finding::good(format!(
            "Reconstruction improves the mean PSNR of {what} images from {before} to {after}."
        )));
    }
    Some(Finding::warning(format!(
        "Reconstruction lowers the mean PSNR of {what} images from {before} to {after}."
    )))
}

/// Returns the finding that compares held-out images with training images.
fn held_out(training: &[Score], validation: &[Score]) -> Option<Finding> {
    if validation.is_empty() {
        return Some(Finding::note(
            "No images were held out, so the quality on other images is not known: use --hold-out or \
             --validation.",
        ));
    }
    let trained = Mean::of(&psnrs(training))?;
    let held = Mean::of(&psnrs(validation))?;
    let compared = |held: Mean, trained: Mean| {
        let [held, trained] = [held, trained].map(|mean| decibel(mean.value));
        format!("{held} against {trained}")
    };
    let gained = Mean::of(&gains(training)).zip(Mean::of(&gains(validation)));
    // images that lose have no gains to compare
    if gained.is_some_and(|(trained, held)| trained.value < 0.0 || held.value < 0.0) {
        return self::gained("held-out", validation);
    }
    if let Some((trained, held)) = gained
        && held.is_clearly_below(&trained)
    {
        return Some(Finding::note(format!(
            "Held-out images gain less than training images ({}): they are harder, or the \
             training images are too few or too different from them.",
            compared(held, trained)
        )));
    }
    if (trained.value - held.value).abs() < NOTICEABLE {
        return Some(Finding::good(format!(
            "Held-out images are reconstructed as well as training images ({}).",
            compared(held, trained)
        )));
    }
    if let Some((gain, held_gain)) = gained {
        let more = if gain.value + NOTICEABLE <= held_gain.value {
            "more than"
        } else {
            "as much as"
        };
        return Some(Finding::good(format!(
            "Held-out images gain {more} training images ({}); they end at {}.",
            compared(held_gain, gain),
            compared(held, trained)
        )));
    }
    let text = compared(held, trained);
    Some(if held.is_clearly_below(&trained) {
        Finding::note(format!(
            "Held-out images are reconstructed worse than training images ({text}): they are \
             harder, or the training images are too few or too different from them."
        ))
    } else {
        Finding::good(format!(
            "Held-out images are reconstructed about as well as training images ({text})."
        ))
    })
}
