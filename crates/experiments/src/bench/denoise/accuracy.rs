//! What the default accuracy of denoising means: the change of the PSNR, how sharp the certified
//! error is, and the time to a small one.

use std::fmt::Write as _;

use anyhow::Result;
use imaging::{ErrorBound, Grid, Seed, denoise, noise, quality};
use lowlevel::norm;

use super::super::clock::try_fastest_on_core;
use super::super::{BenchContext, count};
use super::{Clean, SIDE, sigma};

/// What the default accuracy means for one picture.
pub(super) struct Check {
    /// The change of the PSNR by a nearly exact solve, in decibels.
    change: f64,
    /// The certified error relative to the true one, with the default accuracy and with [`SMALL`].
    looseness: [f64; 2],
    /// The seconds of a solve to [`SMALL`].
    seconds: f64,
}

/// A small certified Euclidean error.
const SMALL: f64 = 1e-2;

/// Compares the default accuracy and [`SMALL`] with a nearly exact solve.
pub(super) fn check(
    context: &BenchContext,
    clean: &Clean,
    index: usize,
    level: u32,
) -> Result<Check> {
    let grid = Grid::image(SIDE, SIDE);
    let noisy = noise::gaussian(&clean.samples, sigma(level), Seed::new(3), index)?;
    let solve = |target: Option<f64>| -> Result<_> {
        let target = target.map(ErrorBound::new).transpose()?;
        Ok(denoise(grid, &noisy, sigma(level), target)?)
    };
    let exact = solve(Some(1e-3 * SMALL))?;
    let default = solve(None)?;
    let mut small = solve(Some(SMALL))?;
    let seconds = try_fastest_on_core(context.budget() / 10, || {
        solve(Some(SMALL)).map(|made| small = made)
    })?;
    let psnr = |x: &[f64]| quality::psnr(x, &clean.samples, 1.0);
    let looseness = [&default, &small].map(|made| {
        let differences = made.x.iter().zip(&exact.x).map(|(a, b)| a - b);
        made.solved.error.value() / norm(&differences.collect::<Vec<_>>())
    });
    Ok(Check {
        change: psnr(&exact.x)? - psnr(&default.x)?,
        looseness,
        seconds,
    })
}

/// Writes a table of the checks, one row for each level.
pub(super) fn table(checks: &[(u32, Vec<Check>)]) -> String {
    let mut text = String::from(
        "| noise | change of PSNR | certified / true error | at 1e-2 | seconds to 1e-2 |\n\
         |---|---|---|---|---|\n",
    );
    for (level, checks) in checks {
        let change = checks.iter().map(|check| check.change.abs());
        let change = change.fold(0.0, f64::max);
        let [default, small] = [0, 1].map(|at| {
            let ratios = || checks.iter().map(|check| check.looseness[at]);
            [
                ratios().fold(f64::INFINITY, f64::min),
                ratios().fold(0.0, f64::max),
            ]
        });
        let seconds = checks.iter().map(|check| check.seconds).sum::<f64>() / count(checks.len());
        // Writing to a text cannot fail.
        let _ = writeln!(
            text,
            "| {level} | {change:.4} | {:.1} to {:.1} | {:.1} to {:.1} | {seconds:.3} |",
            default[0], default[1], small[0], small[1]
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_accuracy_of_a_level_is_that_of_its_worst_picture() {
        let check = |change: f64, loose: f64, seconds: f64| Check {
            change,
            looseness: [loose, 2.0 * loose],
            seconds,
        };
        let checks = [check(0.001, 7.0, 0.1), check(-0.004, 6.0, 0.3)];
        let text = table(&[(25, checks.into())]);
        assert!(
            text.contains("| 25 | 0.0040 | 6.0 to 7.0 | 12.0 to 14.0 | 0.200 |"),
            "{text}"
        );
    }
}
