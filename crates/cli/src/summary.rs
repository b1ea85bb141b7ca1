//! The summary of a result on a terminal, and the commands to go on with.

use std::io::{self, Write};
use std::path::Path;

use bilevel::{
    Bound, FamilyKind, Learned, LearnedEntry, LearnedGradient, LearnedParameter, Quality, Score,
};

use dfo_ls::ObjectiveInterval;
use page::number::{amount, between, counted, decibel, length, number, significant, with_error};

use crate::config::Values;

/// What estimates and certified errors of pictures of a camera refer to.
pub(crate) const AFTER_TRANSFORM: &str =
    " after the transform that makes the noise equally strong everywhere";
/// Largest number of parameters that are listed.
const LISTED: usize = 20;
/// Largest number of parameters in a line about one of several pictures.
const SHOWN: usize = 4;

/// Returns a line about the parameters that were learned from one picture alone.
#[must_use]
pub fn of_picture(name: &str, learned: &Learned) -> String {
    let mut parts: Vec<String> = (learned.entries().take(SHOWN))
        .map(|entry| format!("{} = {}", entry.name(), significant(entry.value, 3)))
        .collect();
    if learned.entries().count() > SHOWN {
        parts.push("...".to_owned());
    }
    for score in &learned.training {
        if let Some(psnr) = score.estimate.and_then(|estimate| estimate.psnr()) {
            parts.push(format!("estimated PSNR {}", decibel(psnr)));
        }
        if let Some(psnr) = score.after.and_then(|quality| quality.psnr) {
            parts.push(format!("PSNR {}", decibel(psnr)));
        }
    }
    if !learned.termination.is_success() {
        parts.push("NOT CONVERGED".to_owned());
    }
    format!("{name}: {}", parts.join(", "))
}

/// Writes the learned parameters, those that were `fixed`, and the quality of reconstructions.
/// `is_transformed` says that estimates are those of pictures that were transformed for a camera.
///
/// # Errors
/// When `out` cannot be written.
pub fn write(
    out: &mut impl Write,
    learned: &Learned,
    fixed: &Values,
    is_transformed: bool,
) -> io::Result<()> {
    write_parameters(out, learned)?;
    if !fixed.is_empty() {
        let fixed = fixed
            .iter()
            .map(|(name, value)| format!("{name} = {value}"));
        writeln!(out, "Fixed: {}", fixed.collect::<Vec<_>>().join(", "))?;
    }
    writeln!(
        out,
        "Objective: {}",
        objective(learned.objective, learned.interval)
    )?;
    if let Some(gradient) = learned.gradient {
        writeln!(out, "Projected gradient: {}", projected(gradient))?;
    }
    write_quality(out, "training", &learned.training, is_transformed)?;
    write_quality(out, "held-out", &learned.validation, is_transformed)?;
    writeln!(
        out,
        "Cost: {}, {}, {} gradients{}",
        counted(learned.num_points, "point", "points"),
        counted(length(&learned.evaluations), "evaluation", "evaluations"),
        amount(learned.work.total()),
        learned.gradient.map_or_else(String::new, |gradient| {
            let [images, adjoints] = [gradient.reconstructions, gradient.adjoints].map(amount);
            format!(" ({images} for reconstructions, {adjoints} for adjoints)")
        })
    )
}

/// Returns the norm of the projected gradient as text, with its certified error if that is known,
/// or "at most" its upper bound if the error is as large as the norm.
pub(crate) fn projected(gradient: LearnedGradient) -> String {
    let LearnedGradient { norm, .. } = gradient;
    match gradient.error.filter(|error| error.is_finite()) {
        Some(error) if error >= norm => {
            format!("at most {} (certified)", between(0.0, norm + error)[1])
        }
        Some(error) => format!("{} (certified)", with_error(norm, error)),
        None => format!("{} (error not certified)", number(norm)),
    }
}

/// Relative error of an objective above which only its upper bound is worth printing.
const ROUGH: f64 = 0.5;

/// Whether the error of an objective is too large to print the objective.
pub(crate) fn is_rough(value: f64, interval: ObjectiveInterval) -> bool {
    let error = (value - interval.lower).max(interval.upper - value);
    !(error <= ROUGH * value.abs())
}

/// Returns an objective and its error as text, or "at most" its upper bound if the error is large.
pub(crate) fn objective(value: f64, interval: ObjectiveInterval) -> String {
    let ObjectiveInterval { lower, upper } = interval;
    if !upper.is_finite() {
        return format!("{} (error unknown)", significant(value, 6));
    }
    match is_rough(value, interval) {
        true => format!("at most {}", between(lower, upper)[1]),
        false => with_error(value, (value - lower).max(upper - value)),
    }
}

/// Writes commands that use the result of a run. `program` is the name of this program, and
/// `is_built_in` says that the images were built in.
///
/// # Errors
/// When `out` cannot be written.
pub(crate) fn write_next(
    out: &mut impl Write,
    program: &str,
    task: FamilyKind,
    run: &Path,
    is_built_in: bool,
) -> io::Result<()> {
    let files = match task {
        FamilyKind::Sampling => "frequencies.npy signals.npy",
        FamilyKind::Deblur => "blurred.png sharp.png",
        FamilyKind::Inpaint => "masked.png filled.png",
        _ => "noisy.png clean.png",
    };
    let run = run.display();
    writeln!(
        out,
        "Next, reconstruct files of your own with these parameters:"
    )?;
    writeln!(out, "  {program} apply {run} {files}")?;
    if is_built_in {
        let (what, path) = match task {
            FamilyKind::Sampling => ("signals", "signals.npy"),
            FamilyKind::Deblur => ("pictures", "FOLDER --kernel KERNEL"),
            FamilyKind::Inpaint => ("pictures", "FOLDER --mask MASK.png"),
            _ => ("pictures", "FOLDER"),
        };
        writeln!(out, "or learn from {what} of your own:")?;
        writeln!(
            out,
            "  {program} learn {task} --images {path} --out own-run"
        )?;
    }
    Ok(())
}

/// Returns the values of the parameters by their names: a number, or a list for a block.
pub(crate) fn values(learned: &Learned) -> serde_json::Map<String, serde_json::Value> {
    let value = |p: &LearnedParameter| match (&p.parameter.shape[..], &p.values[..]) {
        ([], [value]) => (*value).into(),
        (_, values) => values.into(),
    };
    let all = learned.parameters.iter();
    all.map(|p| (p.name().to_owned(), value(p))).collect()
}

fn write_parameters(out: &mut impl Write, learned: &Learned) -> io::Result<()> {
    let all: Vec<LearnedEntry<'_>> = learned.entries().collect();
    if all.len() > LISTED {
        let lower = all.iter().filter(|p| p.at == Some(Bound::Lower)).count();
        let upper = all.iter().filter(|p| p.at == Some(Bound::Upper)).count();
        return writeln!(
            out,
            "Learned {} parameters: {lower} at their lower bound, {upper} at their upper bound",
            all.len()
        );
    }
    writeln!(out, "Learned:")?;
    let width = all.iter().map(|p| p.name().chars().count()).max();
    let width = width.unwrap_or(0);
    for p in all {
        let note = match p.at {
            Some(Bound::Lower) => "  (at its lower bound)",
            Some(Bound::Upper) => "  (at its upper bound)",
            None => "",
        };
        writeln!(
            out,
            "  {:width$} = {}{note}",
            p.name(),
            significant(p.value, 6)
        )?;
    }
    Ok(())
}

fn write_quality(
    out: &mut impl Write,
    what: &str,
    scores: &[Score],
    is_transformed: bool,
) -> io::Result<()> {
    if scores.is_empty() {
        return Ok(());
    }
    let (before, after) = mean_psnr(scores);
    let estimates: Vec<f64> = scores
        .iter()
        .filter_map(|score| score.estimate?.psnr())
        .collect();
    if !estimates.is_empty() {
        let mean = estimates.iter().sum::<f64>() / estimates.len() as f64;
        let images = counted(length(&estimates), "image", "images");
        let after = if is_transformed { AFTER_TRANSFORM } else { "" };
        writeln!(
            out,
            "Estimated mean PSNR of {images}{after}, without truth: {mean:.2} dB"
        )?;
    }
    if after.is_none() && scores.iter().all(|score| score.error.is_some()) {
        return Ok(()); // there is no truth
    }
    let one = format!("{what} image");
    let images = counted(length(scores), &one, &format!("{one}s"));
    match (before, after) {
        (Some(before), Some(after)) => writeln!(
            out,
            "Mean PSNR of {images}: {before:.2} dB before, {after:.2} dB after, gain {:+.2} dB",
            after - before
        ),
        (None, Some(after)) => writeln!(out, "Mean PSNR of {images}: {after:.2} dB"),
        (_, None) => writeln!(out, "Mean PSNR of {images}: unknown"),
    }
}

/// Returns the mean PSNR of data and of reconstructions, if it is known for all images.
pub(crate) fn mean_psnr(scores: &[Score]) -> (Option<f64>, Option<f64>) {
    let mean = |of: fn(&Score) -> Option<Quality>| {
        let all: Option<Vec<f64>> = scores.iter().map(|score| of(score)?.psnr).collect();
        let all = all.filter(|all| !all.is_empty())?;
        let count = all.len() as f64;
        Some(all.iter().sum::<f64>() / count)
    };
    (mean(|score| score.before), mean(|score| score.after))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bilevel::{LearningProblem, Pair, Setup, TvDenoising};
    use dfo_ls::Options;
    use imaging::{Grid, Seed, noise, phantom};

    #[test]
    fn a_summary_has_parameters_and_quality() {
        let pair = |index| {
            let truth = phantom::box_function(32, Seed::new(1), index).unwrap();
            let data = noise::gaussian(&truth, 0.1, Seed::new(1), index).unwrap();
            let grid = Grid::line(32);
            Pair { grid, truth, data }
        };
        let setup = Setup {
            validation: vec![pair(2)],
            ..Setup::derivative_free()
        };
        let pairs = vec![pair(0), pair(1)];
        let mut options = Options::default();
        options.budget.max_points = Some(8);
        let learned = LearningProblem::new(TvDenoising::default(), pairs, setup)
            .and_then(|mut problem| problem.learn_with(options))
            .unwrap();
        let mut text = Vec::new();
        let fixed = Values::from([("nu".to_owned(), 1e-3)]);
        write(&mut text, &learned, &fixed, false).unwrap();
        let text = String::from_utf8(text).unwrap();
        for part in [
            "  alpha = ",
            "Fixed: nu = 0.001",
            "Objective: ",
            "Mean PSNR of 2 training images: ",
            "Mean PSNR of 1 held-out image: ",
            " dB after, gain +",
            "Cost: 8 points, ",
        ] {
            assert!(text.contains(part), "{part} is not in\n{text}");
        }
    }

    #[test]
    fn a_rough_objective_has_only_an_upper_bound() {
        let text = |value, lower, upper| objective(value, ObjectiveInterval { lower, upper });
        assert_eq!(text(3186.31, 3186.1, 3186.5), "3186.3 ± 0.3");
        assert_eq!(text(10.0, 0.0, 2749.2), "at most 2750");
        assert_eq!(text(10.0, 0.0, f64::INFINITY), "10 (error unknown)");
        assert_eq!(text(0.0, 0.0, 0.0), "0");
    }

    #[test]
    fn the_next_commands_depend_on_the_task() {
        let next = |task, is_built_in| {
            let mut text = Vec::new();
            write_next(&mut text, "bilevel", task, Path::new("run"), is_built_in).unwrap();
            String::from_utf8(text).unwrap()
        };
        let text = next(FamilyKind::Denoise, true);
        assert!(
            text.contains("  bilevel apply run noisy.png clean.png\n"),
            "{text}"
        );
        assert!(
            text.contains("  bilevel learn denoise --images FOLDER --out own-run\n"),
            "{text}"
        );
        let text = next(FamilyKind::Deblur, true);
        assert!(
            text.contains("learn deblur --images FOLDER --kernel"),
            "{text}"
        );
        let text = next(FamilyKind::Sampling, false);
        assert!(
            text.contains("apply run frequencies.npy signals.npy"),
            "{text}"
        );
        assert!(!text.contains("bilevel learn"), "{text}");
    }
}
