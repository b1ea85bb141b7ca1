//! Parameters for one noisy picture without truth: quality and time of SURE and GCV, and of
//! `calibrate_denoiser` of scikit-image.

use std::io::Write;
use std::time::Instant;

use anyhow::Result;
use bilevel::{
    Choice, Criterion, LearningProblem, Pair, Setup, TvChoices, TvDenoising, reconstruct,
};
use imaging::{Grid, Seed, noise};
use lowlevel::{ErrorBound, Solver, Stop};
use serde_json::json;

use super::BenchContext;
use super::denoise::{SIDE, Score, peers, pictures, seconds_against, sigma, table};
use super::measurement::Measurement;
use crate::{file, kodak};

/// The standard deviation of the noise, times 255.
const LEVEL: u32 = 25;
/// The certified error of the result, which no PSNR depends on.
const ERROR: f64 = 0.3;
/// The name of our method in measurements.
const OURS: &str = "SURE, noise estimated";
/// The name of the peer in measurements.
const PEER: &str = "calibrated TV";

/// Learns the weight of total variation for each picture, and denoises it. Writes the table
/// `truthless.md`.
pub(super) fn run(context: &BenchContext, out: &mut dyn Write) -> Result<Vec<Measurement>> {
    let folder = kodak::find(context.kodak.as_deref())?;
    let mut all = pictures(folder.as_deref(), context, SIDE, out)?;
    if context.quick {
        all.truncate(2);
    }
    let grid = Grid::image(SIDE, SIDE);
    let pool = super::pool(1)?;
    let mut scores = Vec::new();
    for (index, clean) in all.iter().enumerate() {
        let noisy = noise::gaussian(&clean.samples, sigma(LEVEL), Seed::new(3), index)?;
        let mut add = |method: &str, x: &[f64], seconds: f64| -> Result<()> {
            scores.push(Score::new(clean, &LEVEL.to_string(), method, x, seconds)?);
            Ok(())
        };
        add("noisy", &noisy, 0.0)?;
        for method in ["SURE, noise known", OURS, "GCV", "learned from the truth"] {
            let begin = Instant::now();
            let x = pool.install(|| learned(method, grid, &noisy, &clean.samples))?;
            add(method, &x, begin.elapsed().as_secs_f64())?;
        }
        let job = json!({"part": "calibrate", "side": SIDE});
        for (method, x, seconds) in peers(context, &job, &[("data", &noisy)], out)? {
            add(&method, &x, seconds)?;
        }
    }
    let table = table("noise", &scores);
    file::write(&context.directory.join("truthless.md"), table.as_bytes())?;
    write!(out, "{table}")?;
    let name = "learn without truth, 256 x 256";
    Ok(seconds_against(
        name,
        &scores,
        &LEVEL.to_string(),
        OURS,
        &[PEER],
    ))
}

/// Learns the weight for one picture with one thread, and returns the denoised picture.
fn learned(method: &str, grid: Grid, noisy: &[f64], truth: &[f64]) -> Result<Vec<f64>> {
    let criterion = match method {
        "GCV" => Criterion::Gcv,
        OURS => Criterion::Sure {
            sigma: vec![noise::estimate(grid, noisy)?],
        },
        "SURE, noise known" => Criterion::Sure {
            sigma: vec![sigma(LEVEL)],
        },
        _ => Criterion::Truth,
    };
    let family = TvDenoising {
        choices: TvChoices {
            alpha: Choice::Learned {
                start: -1.3,
                lower: -4.0,
                upper: 1.0,
            },
            nu: Choice::Fixed(0.003),
            xi: Choice::Fixed(1e-3),
        },
    };
    let pair = Pair {
        grid,
        truth: match criterion {
            Criterion::Truth => truth.to_vec(),
            _ => Vec::new(),
        },
        data: noisy.to_vec(),
    };
    let setup = Setup {
        criterion,
        ..Setup::default()
    };
    let values = LearningProblem::new(family, vec![pair], setup)?
        .learn()?
        .values();
    let stop = Stop::accuracy(ErrorBound::new(ERROR)?);
    Ok(reconstruct(&family, &values, grid, noisy, Solver::default(), stop)?.x)
}

#[cfg(test)]
mod tests {
    use super::*;
    use imaging::phantom;

    /// A small picture has nearly the weight that the truth would choose.
    #[test]
    fn criteria_denoise() {
        let grid = Grid::image(32, 32);
        let truth = phantom::dead_leaves(32, 32, Seed::new(1), 0).expect("a picture");
        let noisy = noise::gaussian(&truth, sigma(LEVEL), Seed::new(3), 0).expect("finite");
        let error = |x: &[f64]| -> f64 {
            let squares = x.iter().zip(&truth).map(|(x, t)| (x - t).powi(2));
            squares.sum()
        };
        let best = error(&learned("learned from the truth", grid, &noisy, &truth).expect("x"));
        for method in ["SURE, noise known", "GCV"] {
            let found = error(&learned(method, grid, &noisy, &truth).expect("x"));
            assert!(found < 1.2 * best && best < error(&noisy), "{method}");
        }
    }
}
