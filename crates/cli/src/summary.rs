//! What was learned, in words.

use std::io::{self, Write};

use bilevel::{Bound, Learned, LearnedParameter, Quality, Score};

use page::number::{amount, significant, with_error};

use crate::config::Values;

/// More parameters than this are counted, not listed.
const LISTED: usize = 20;

/// Writes what was learned, beside which parameters were `fixed`.
///
/// # Errors
/// When it cannot be written.
pub fn write(out: &mut impl Write, learned: &Learned, fixed: &Values) -> io::Result<()> {
    write_parameters(out, learned)?;
    if !fixed.is_empty() {
        let fixed = fixed
            .iter()
            .map(|(name, value)| format!("{name} = {value}"));
        writeln!(out, "fixed: {}", fixed.collect::<Vec<_>>().join(", "))?;
    }
    let lower = learned.objective - learned.interval.lower;
    let upper = learned.interval.upper - learned.objective;
    writeln!(
        out,
        "objective: {}",
        with_error(learned.objective, lower.max(upper))
    )?;
    write_quality(out, "training images", &learned.training)?;
    write_quality(out, "held-out images", &learned.validation)?;
    let work = learned.work;
    writeln!(
        out,
        "work: {} points, {} evaluations, {} gradients ({} at the start and around it, {} for steps, {} to improve the model, {} to make \
         known points more accurate)",
        learned.num_points,
        learned.evaluations.len(),
        amount(work.total()),
        amount(work.initial),
        amount(work.trial),
        amount(work.geometry),
        amount(work.sharpen)
    )
}

/// The values of the parameters by their names.
pub(crate) fn values(learned: &Learned) -> Values {
    let named = |p: &LearnedParameter| (p.parameter.name.clone(), p.value);
    learned.parameters.iter().map(named).collect()
}

fn write_parameters(out: &mut impl Write, learned: &Learned) -> io::Result<()> {
    let all = &learned.parameters;
    if all.len() > LISTED {
        let lower = all.iter().filter(|p| p.at == Some(Bound::Lower)).count();
        let upper = all.iter().filter(|p| p.at == Some(Bound::Upper)).count();
        return writeln!(
            out,
            "learned {} parameters: {lower} at their lower bound, {upper} at their upper bound",
            all.len()
        );
    }
    writeln!(out, "learned:")?;
    let width = all
        .iter()
        .map(|p| p.parameter.name.chars().count())
        .max()
        .unwrap_or(0);
    for p in all {
        let note = match p.at {
            Some(Bound::Lower) => "  (at its lower bound)",
            Some(Bound::Upper) => "  (at its upper bound)",
            None => "",
        };
        writeln!(
            out,
            "  {:width$} = {}{note}",
            p.parameter.name,
            significant(p.value, 6)
        )?;
    }
    Ok(())
}

fn write_quality(out: &mut impl Write, what: &str, scores: &[Score]) -> io::Result<()> {
    if scores.is_empty() {
        return Ok(());
    }
    let (before, after) = mean_psnr(scores);
    let after = after.map_or_else(|| "unknown".to_owned(), |psnr| format!("{psnr:.2} dB"));
    match before {
        Some(before) => writeln!(
            out,
            "PSNR of {} {what}: {before:.2} dB before, {after} after",
            scores.len()
        ),
        None => writeln!(out, "PSNR of {} {what}: {after}", scores.len()),
    }
}

/// Means over images of the PSNR before and after; `None` where it is not known for all of them.
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
    fn a_summary_says_what_matters() {
        let pair = |index| {
            let truth = phantom::box_function(32, Seed::new(1), index).unwrap();
            let data = noise::gaussian(&truth, 0.1, Seed::new(1), index).unwrap();
            let grid = Grid::line(32);
            Pair { grid, truth, data }
        };
        let setup = Setup {
            validation: vec![pair(2)],
            ..Setup::default()
        };
        let pairs = vec![pair(0), pair(1)];
        let mut options = Options::default();
        options.budget.max_points = Some(8);
        let learned = LearningProblem::new(TvDenoising::default(), pairs, setup)
            .and_then(|mut problem| problem.learn_with(options))
            .unwrap();
        let mut text = Vec::new();
        let fixed = Values::from([("nu".to_owned(), 1e-3)]);
        write(&mut text, &learned, &fixed).unwrap();
        let text = String::from_utf8(text).unwrap();
        for part in [
            "  alpha = ",
            "fixed: nu = 0.001",
            "objective: ",
            "PSNR of 2 training images: ",
            "PSNR of 1 held-out images: ",
            "work: 8 points, ",
        ] {
            assert!(text.contains(part), "{part} is not in\n{text}");
        }
    }
}
