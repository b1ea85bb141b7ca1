//! Total variation and filters on the same masks.

use std::io::Write;
use std::time::Instant;

use anyhow::Result;
use bilevel::{FilterSet, MaskKind, MaskOptions, MaskPoint, MaskProblem, MaskScore, Pattern};
use serde::Serialize;

use super::head::Head;
use super::{ACCURATE, BUDGET, CENTRE, NUM_TRAINING, SIDE, problem, use_typical};

/// A regulariser, tuned for a random mask on training slices, and its scores on held-out ones.
#[derive(Debug, Serialize)]
pub(super) struct Regularised {
    pattern: Pattern,
    filters: Option<FilterSet>,
    alpha: f64,
    nu: f64,
    weights: Vec<f64>,
    /// Before the weights of filters were learned.
    first: MaskScore,
    scores: MaskScore,
    /// The mean time of a reconstruction to [`ACCURATE`] from zero, on one thread.
    seconds: f64,
    /// The mean of its certified error divided by the true one.
    looseness: f64,
}

/// Compares total variation with filters on a random mask of each pattern, with the exponents that
/// are best for total variation.
pub(super) fn compare(
    head: &Head,
    set: FilterSet,
    out: &mut dyn Write,
) -> Result<Vec<Regularised>> {
    writeln!(
        out,
        "{:8} {:20} {:>7} {:>7} {:>7} {:>7} {:>9} {:>9} {:>8} {:>9}",
        "mask",
        "regulariser",
        "PSNR",
        "SSIM",
        "inside",
        "inside",
        "alpha",
        "nu",
        "seconds",
        "bound"
    )?;
    let mut all = Vec::new();
    for (pattern, exponent) in [(Pattern::Lines, 8.0), (Pattern::Points, 2.0)] {
        let mut tuning = problem(head, &head.spread(NUM_TRAINING, 0), pattern)?;
        let mut held_out = problem(head, &head.held_out(NUM_TRAINING), pattern)?;
        let options = MaskOptions::of_budget(pattern, tuning.grid(), BUDGET, CENTRE)?;
        let kind = MaskKind::VariableDensity { exponent, seed: 0 };
        let mask = pattern.mask(tuning.grid(), options.size, CENTRE, kind);
        for filters in [None, Some(set)] {
            use_typical(&mut tuning, filters)?;
            let mut point = tuning.tuned(&mask, MaskProblem::START)?;
            let score = |point: &MaskPoint, held_out: &mut MaskProblem| -> Result<_> {
                held_out.use_filters(point.filters())?;
                let (_, scores) = held_out.scored(&mask, point.tv())?;
                Ok(MaskScore::mean(&scores))
            };
            let first = score(&point, &mut held_out)?;
            tuning.learn_filters(&mut point)?;
            let scores = score(&point, &mut held_out)?;
            let (seconds, looseness) = accurate(head, pattern, &mask, &point)?;
            let tv = point.tv();
            for (scores, name) in [(first, "equal weights"), (scores, "learned weights")] {
                let name = match filters {
                    None => "total variation".to_owned(),
                    Some(set) => format!("{set} {name}"),
                };
                writeln!(
                    out,
                    "{:8} {name:20} {:7.3} {:7.3} {:7.3} {:7.3} {:9.3e} {:9.3e} {seconds:8.3} \
                     {looseness:9.2}",
                    pattern.name(),
                    scores.psnr,
                    scores.ssim.unwrap_or(f64::NAN),
                    scores.psnr_inside,
                    scores.ssim_inside.unwrap_or(f64::NAN),
                    tv.alpha,
                    tv.nu,
                )?;
            }
            writeln!(out, "  weights {:.3?}", point.filters())?;
            out.flush()?;
            all.push(Regularised {
                pattern,
                filters,
                alpha: tv.alpha,
                nu: tv.nu,
                weights: point.filters().to_vec(),
                first,
                scores,
                seconds,
                looseness,
            });
        }
    }
    Ok(all)
}

/// Reconstructs held-out slices to [`ACCURATE`], one after the other. Returns the mean time and
/// the mean of the certified errors divided by the true ones.
fn accurate(head: &Head, pattern: Pattern, mask: &[bool], point: &MaskPoint) -> Result<(f64, f64)> {
    let slices = head.held_out(NUM_TRAINING);
    let mut sums = (0.0, 0.0);
    for slice in &slices {
        let mut one = problem(head, std::slice::from_ref(slice), pattern)?;
        one.use_filters(point.filters())?;
        one.fix_error(Some(ACCURATE * SIDE as f64));
        let start = Instant::now();
        let made = one.evaluate_at(mask, point.tv(), None, 1.0)?;
        sums.0 += start.elapsed().as_secs_f64();
        one.fix_error(Some(1e-4 * ACCURATE * SIDE as f64));
        let exact = one.evaluate_at(mask, point.tv(), Some(&made), 1.0)?;
        for (x, exact) in made.reconstructions().zip(exact.reconstructions()) {
            let squares = x.iter().zip(exact).map(|(x, y)| (x - y) * (x - y));
            let distance = squares.sum::<f64>().sqrt();
            sums.1 += made.errors().sum::<f64>() / distance;
        }
    }
    let count = slices.len() as f64;
    Ok((sums.0 / count, sums.1 / count))
}
