//! `cargo xtask truthless`: parameters learned without truth compared with those learned from it,
//! and cameras that count photons.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use bilevel::{
    Choice, Criterion, LearningProblem, Pair, Setup, TvChoices, TvDenoising, reconstruct,
};
use clap::Args;
use imaging::noise::{self, Anscombe};
use imaging::{Grid, Seed, quality};
use lowlevel::{ErrorBound, Solver, Stop};

use crate::kodak::{self, photograph};

/// The photographs of the first part, and the side of their crops.
const PHOTOGRAPHS: [usize; 10] = [1, 3, 5, 7, 9, 11, 13, 15, 17, 19];
const SIDE: usize = 256;
/// The noise of the first part.
const SIGMA: f64 = 0.1;
/// Peaks and read noises of the second part.
const CAMERAS: [(f64, f64); 3] = [(10.0, 0.02), (30.0, 0.02), (100.0, 0.01)];

/// The arguments of `truthless`.
#[derive(Clone, Debug, Args)]
pub struct Arguments {
    /// Directory with the photographs of the paper
    #[arg(long, value_name = "DIR")]
    kodak: Option<PathBuf>,
    /// Learn the smoothing nu, too
    #[arg(long)]
    smoothing: bool,
    /// Measure the cameras that count photons alone
    #[arg(long)]
    cameras: bool,
}

/// Measures both parts, and prints tables.
///
/// # Errors
/// When the photographs are missing, or a problem is refused.
pub fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<()> {
    let folder = kodak::find(arguments.kodak.as_deref())?.context(
        "there are no photographs: `cargo xtask fetch-kodak` downloads them, or give --kodak DIR",
    )?;
    if !arguments.cameras {
        criteria(&folder, arguments.smoothing, out)?;
    }
    cameras(&folder, out)
}

/// The mean and the largest of some numbers.
fn mean_and_largest(numbers: &[f64]) -> (f64, f64) {
    let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
    (
        mean,
        numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max),
    )
}

/// Learns with each criterion, for each photograph and for all of them together.
fn criteria(folder: &Path, smoothing: bool, out: &mut dyn Write) -> Result<()> {
    let family = TvDenoising {
        choices: TvChoices {
            alpha: learned(-1.3, -4.0, 1.0),
            nu: match smoothing {
                true => learned(-2.5, -3.0, -1.0),
                false => Choice::Fixed(0.003),
            },
            xi: Choice::Fixed(1e-3),
        },
    };
    let grid = Grid::image(SIDE, SIDE);
    let mut pairs = Vec::new();
    for number in PHOTOGRAPHS {
        let truth = photograph::read(folder, number, SIDE)?;
        let data = noise::gaussian(&truth, SIGMA, Seed::new(0), number)?;
        pairs.push(Pair { grid, truth, data });
    }
    let known = vec![SIGMA; pairs.len()];
    let estimated: Result<Vec<f64>, _> = pairs
        .iter()
        .map(|pair| noise::estimate(grid, &pair.data))
        .collect();
    let estimated = estimated?;
    writeln!(out, "estimated noise: {estimated:.4?}")?;
    let criteria = [
        ("truth", Criterion::Truth),
        ("SURE, noise known", Criterion::Sure { sigma: known }),
        (
            "SURE, noise estimated",
            Criterion::Sure { sigma: estimated },
        ),
        ("GCV", Criterion::Gcv),
    ];
    let learn = |pairs: &[Pair], criterion: Criterion| -> Result<(Vec<f64>, f64, u64)> {
        let setup = Setup {
            criterion,
            ..Setup::default()
        };
        let mut problem = LearningProblem::new(family, pairs.to_vec(), setup)?;
        let learned = problem.learn()?;
        let psnrs = learned
            .training
            .iter()
            .filter_map(|score| score.after?.psnr);
        Ok((psnrs.collect(), learned.values()[0], learned.work.total()))
    };
    writeln!(
        out,
        "{:24} {:>28} {:>34}",
        "", "one alpha per picture", "one alpha for all pictures"
    )?;
    writeln!(
        out,
        "{:24} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}",
        "criterion", "PSNR", "loss", "largest", "PSNR", "loss", "alpha", "gradients"
    )?;
    let mut best: Option<(Vec<f64>, f64)> = None;
    for (name, criterion) in criteria {
        let mut each = Vec::new();
        for (index, pair) in pairs.iter().enumerate() {
            let one = match &criterion {
                Criterion::Sure { sigma } => Criterion::Sure {
                    sigma: vec![sigma[index]],
                },
                other => other.clone(),
            };
            each.extend(learn(std::slice::from_ref(pair), one)?.0);
        }
        let (all, alpha, work) = learn(&pairs, criterion)?;
        let (mean_of_all, _) = mean_and_largest(&all);
        let (best_each, best_all) = best.get_or_insert_with(|| (each.clone(), mean_of_all));
        let losses: Vec<f64> = best_each.iter().zip(&each).map(|(a, b)| a - b).collect();
        let (loss, largest) = mean_and_largest(&losses);
        writeln!(
            out,
            "{name:24} {:9.3} {loss:9.3} {largest:9.3} {mean_of_all:9.3} {:9.3} {alpha:9.4} {work:9}",
            mean_and_largest(&each).0,
            *best_all - mean_of_all,
        )?;
        out.flush()?;
    }
    Ok(())
}

const fn learned(start: f64, lower: f64, upper: f64) -> Choice {
    Choice::Learned {
        start,
        lower,
        upper,
    }
}

/// A method with a weight alpha and a smoothing nu.
type Method<'a> = &'a dyn Fn(&[f64], [f64; 2]) -> Result<Vec<f64>>;

/// The smoothings nu among which the best is chosen, as shares of the noise.
const SMOOTHINGS: [f64; 4] = [0.02, 0.04, 0.08, 0.16];

/// Denoises six photographs of cameras that count photons, with and without the transform. The
/// weight alpha and the smoothing nu are those with the best mean PSNR, for either of them.
fn cameras(folder: &Path, out: &mut dyn Write) -> Result<()> {
    let grid = Grid::image(SIDE, SIDE);
    let truths: Result<Vec<Vec<f64>>> = (1..=6)
        .map(|number| photograph::read(folder, number, SIDE))
        .collect();
    let truths = truths?;
    let stop = Stop::accuracy(ErrorBound::new(0.3)?);
    let tv = |data: &[f64], [alpha, nu]: [f64; 2]| -> Result<Vec<f64>> {
        let family = TvDenoising {
            choices: TvChoices {
                alpha: learned(0.0, -7.0, 7.0),
                nu: Choice::Fixed(nu),
                // the values of transformed data are large, and xi would shrink them
                xi: Choice::Fixed(0.0),
            },
        };
        let made = reconstruct(&family, &[alpha], grid, data, Solver::default(), stop)?;
        Ok(made.x)
    };
    let psnr = |x: &[f64], truth: &[f64]| -> Result<f64> {
        let x: Vec<f64> = x.iter().map(|x| x.max(0.0)).collect();
        Ok(quality::psnr(&x, truth, 1.0)?)
    };
    let mean = |method: &dyn Fn(&[f64]) -> Result<Vec<f64>>, data: &[Vec<f64>]| -> Result<f64> {
        let mut sum = 0.0;
        for (data, truth) in data.iter().zip(&truths) {
            sum += psnr(&method(data)?, truth)?;
        }
        Ok(sum / truths.len() as f64)
    };
    let best = |sigma: f64, method: Method<'_>, data: &[Vec<f64>]| {
        let mut best = (f64::NEG_INFINITY, [0.0; 2]);
        for share in SMOOTHINGS {
            let mut at = |exponent: f64| {
                let values = [sigma * 10_f64.powf(exponent), sigma * share];
                let found = mean(&|data| method(data, values), data)?;
                if found > best.0 {
                    best = (found, values);
                }
                anyhow::Ok(found)
            };
            maximise([-0.5, 0.5], &mut at)?;
        }
        anyhow::Ok(best)
    };
    writeln!(
        out,
        "\n{:>5} {:>6} {:>8} {:>26} {:>26}",
        "peak", "read", "noisy", "total variation", "shipped denoiser"
    )?;
    for (peak, read) in CAMERAS {
        let camera = Anscombe::new(1.0 / peak, read)?;
        let data: Result<Vec<Vec<f64>>, _> = (truths.iter().enumerate())
            .map(|(index, truth)| noise::poisson(truth, &camera, Seed::new(5), index))
            .collect();
        let data = data?;
        let means = truths
            .iter()
            .map(|x| x.iter().sum::<f64>() / x.len() as f64);
        let mean_value = means.sum::<f64>() / truths.len() as f64;
        // the noise of a Gaussian camera with the same mean square error
        let sigma = (mean_value / peak + read * read).sqrt();
        let (plain, plain_values) = best(sigma, &|data, values| tv(data, values), &data)?;
        let through = |data: &[f64], values: [f64; 2]| -> Result<Vec<f64>> {
            Ok(camera.inverse(&tv(&camera.transform(data), values)?))
        };
        let (transformed, values) = best(camera.sigma(), &through, &data)?;
        let bank = |data: &[f64], sigma: f64| -> Result<Vec<f64>> {
            Ok(imaging::denoise(grid, data, sigma, None)?.x)
        };
        let plain_bank = mean(&|data| bank(data, sigma), &data)?;
        let transformed_bank = mean(
            &|data| Ok(camera.inverse(&bank(&camera.transform(data), camera.sigma())?)),
            &data,
        )?;
        let noisy = mean(&|data| Ok(data.to_vec()), &data)?;
        writeln!(
            out,
            "{peak:5} {read:6} {noisy:8.2} {plain:8.3} {transformed:8.3} {:+8.3} {plain_bank:8.3} \
             {transformed_bank:8.3} {:+8.3}   alpha and nu {plain_values:.4?} {values:.4?}",
            transformed - plain,
            transformed_bank - plain_bank,
        )?;
        out.flush()?;
    }
    Ok(())
}

/// Searches the maximum of a function with one peak by golden sections, until the interval is a
/// twentieth of its first length.
fn maximise(ends: [f64; 2], f: &mut dyn FnMut(f64) -> Result<f64>) -> Result<()> {
    let ratio = 0.5 * (5_f64.sqrt() - 1.0);
    let [mut low, mut high] = ends;
    let (mut left, mut right) = (high - ratio * (high - low), low + ratio * (high - low));
    let (mut at_left, mut at_right) = (f(left)?, f(right)?);
    while high - low > 0.05 * (ends[1] - ends[0]) {
        if at_left > at_right {
            (high, right, at_right) = (right, left, at_left);
            left = high - ratio * (high - low);
            at_left = f(left)?;
        } else {
            (low, left, at_left) = (left, right, at_right);
            right = low + ratio * (high - low);
            at_right = f(right)?;
        }
    }
    Ok(())
}
