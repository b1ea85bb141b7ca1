//! How well images are reconstructed, and whether those held out profit as much.

use bilevel::{Learned, Score};

use super::Finding;
use ::page::number::{counted, decibel, length};

/// A difference that an eye could notice.
const NOTICEABLE: f64 = 0.5;

/// The mean of some numbers, and how far it may be off by chance.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mean {
    pub(crate) value: f64,
    /// The square of its standard error; zero if there is but one number.
    variance: f64,
}

impl Mean {
    /// `None` of nothing.
    pub(crate) fn of(numbers: &[f64]) -> Option<Self> {
        let count = numbers.len() as f64;
        let value = numbers.iter().sum::<f64>() / count;
        let squares: f64 = numbers.iter().map(|x| (x - value).powi(2)).sum();
        let variance = squares / (count - 1.0).max(1.0) / count;
        value.is_finite().then_some(Self { value, variance })
    }

    /// Whether this is smaller than `other` by more than chance would have it.
    fn is_clearly_below(&self, other: &Self) -> bool {
        let chance = 2.0 * (self.variance + other.variance).sqrt();
        other.value - self.value > chance.max(NOTICEABLE)
    }
}

/// Of the reconstructions that are not exact.
pub(crate) fn psnrs(scores: &[Score]) -> Vec<f64> {
    let after = scores.iter().filter_map(|score| score.after);
    after.filter_map(|quality| quality.psnr).collect()
}

/// What reconstruction adds to the peak signal-to-noise ratio of the data, where both have one.
pub(crate) fn gains(scores: &[Score]) -> Vec<f64> {
    let gain = |score: &Score| Some(score.after?.psnr? - score.before?.psnr?);
    scores.iter().filter_map(gain).collect()
}

/// All about images.
pub(super) fn findings(learned: &Learned) -> Vec<Finding> {
    let mut all = Vec::new();
    all.extend(gained(&learned.training));
    all.extend(held_out(&learned.training, &learned.validation));
    for (what, scores) in [
        ("training image", &learned.training),
        ("held-out image", &learned.validation),
    ] {
        let failed = scores.iter().filter(|score| score.after.is_none()).count();
        if failed > 0 {
            let of = counted(length(scores), what, &format!("{what}s"));
            all.push(Finding::warning(format!(
                "{failed} of {of} could not be reconstructed with the learned parameters."
            )));
        }
    }
    all
}

/// Training images, before and after.
fn gained(training: &[Score]) -> Option<Finding> {
    let gain = Mean::of(&gains(training))?.value;
    let both = |score: &Score| Some((score.before?.psnr?, score.after?.psnr?));
    let (before, after): (Vec<f64>, Vec<f64>) = training.iter().filter_map(both).unzip();
    let [before, after] = [Mean::of(&before)?, Mean::of(&after)?].map(|mean| decibel(mean.value));
    if gain > 0.0 {
        return Some(Finding::good(format!(
            "Reconstruction takes training images from {before} to {after} on average."
        )));
    }
    Some(Finding::warning(format!(
        "Training images are reconstructed worse than the data are: {after} against {before} on average."
    )))
}

/// Whether images that were not learned from profit as much.
fn held_out(training: &[Score], validation: &[Score]) -> Option<Finding> {
    if validation.is_empty() {
        return Some(Finding::note(
            "No images were held out: how well the parameters serve other images is not known.",
        ));
    }
    let trained = Mean::of(&psnrs(training))?;
    let held = Mean::of(&psnrs(validation))?;
    let compared = |held: Mean, trained: Mean| {
        let [held, trained] = [held, trained].map(|mean| decibel(mean.value));
        format!("{held} against {trained}")
    };
    let gained = Mean::of(&gains(training)).zip(Mean::of(&gains(validation)));
    if let Some((trained, held)) = gained
        && held.is_clearly_below(&trained)
    {
        return Some(Finding::note(format!(
            "Held-out images gain less than training images ({}): they are harder, or the training images are too few or too \
             different from them.",
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
        return Some(Finding::good(format!(
            "Held-out images gain as much as training images ({}); they end at {}.",
            compared(held_gain, gain),
            compared(held, trained)
        )));
    }
    let text = compared(held, trained);
    Some(if held.is_clearly_below(&trained) {
        Finding::note(format!(
            "Held-out images are reconstructed worse than training images ({text}): they are harder, or the training images are \
             too few or too different from them."
        ))
    } else {
        Finding::good(format!(
            "Held-out images are reconstructed about as well as training images ({text})."
        ))
    })
}
