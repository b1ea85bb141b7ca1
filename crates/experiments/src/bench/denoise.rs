//! Denoising of pictures that were in no training: quality and time of `imaging::denoise`, of total
//! variation with learned parameters, and of other programs.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::Write;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use bilevel::{LearningProblem, Pair, Setup, TvDenoising, learning_options};
use imaging::{ErrorBound, Grid, Seed, TvParameters, denoise, denoise_tv, noise, phantom, quality};
use lowlevel::norm;
use plot::{Axis, Colour, Figure, Panel, Series};
use serde_json::{Value, json};

use super::BenchContext;
use super::clock::try_fastest_on_core;
use super::count;
use super::measurement::{Headline, Measurement};
use crate::file;
use crate::kodak::{self, photograph};

/// The number of rows and columns of a picture.
pub(super) const SIDE: usize = 256;
/// The standard deviations of the noise, times 255.
const LEVELS: [u32; 4] = [10, 15, 25, 50];
/// The photographs that were in no training.
const TEST: std::ops::RangeInclusive<usize> = 16..=25;
/// The photographs that total variation learns from, as the shipped banks did.
const TRAINING: std::ops::RangeInclusive<usize> = 1..=15;
/// The certified error of total variation, which no PSNR depends on.
const TV_ERROR: f64 = 0.3;

/// A clean picture.
pub(super) struct Clean {
    pub(super) name: String,
    /// The set of pictures that it belongs to.
    pub(super) set: &'static str,
    pub(super) samples: Vec<f64>,
}

/// The quality and time of one method on one noisy picture.
pub(super) struct Score {
    set: &'static str,
    picture: String,
    level: u32,
    pub(super) method: String,
    psnr: f64,
    ssim: f64,
    pub(super) seconds: f64,
}

impl Score {
    /// Compares a denoised picture with the clean one.
    pub(super) fn new(
        clean: &Clean,
        level: u32,
        method: &str,
        x: &[f64],
        seconds: f64,
    ) -> Result<Self> {
        Ok(Self {
            set: clean.set,
            picture: clean.name.clone(),
            level,
            method: method.to_owned(),
            psnr: quality::psnr(x, &clean.samples, 1.0)?,
            ssim: quality::ssim(x, &clean.samples, SIDE, SIDE, 1.0)?,
            seconds,
        })
    }
}

/// Compares methods on all pictures and levels of noise. Writes `denoise.json`, the tables
/// `denoise.md` and `denoise-accuracy.md`, and the chart `denoise.svg`.
pub(super) fn run(context: &BenchContext, out: &mut dyn Write) -> Result<Vec<Measurement>> {
    let folder = kodak::find(context.kodak.as_deref())?;
    let mut pictures = pictures(folder.as_deref(), context, out)?;
    let mut levels = LEVELS.to_vec();
    if context.quick {
        pictures.truncate(2);
        levels = vec![25];
    }
    let (mut scores, mut checks) = (Vec::new(), Vec::new());
    for level in levels {
        let parameters = tv_parameters(folder.as_deref(), level)?;
        let mut of_level = Vec::new();
        for (index, clean) in pictures.iter().enumerate() {
            score(context, clean, index, level, parameters, &mut scores, out)?;
            of_level.push(check(context, clean, index, level)?);
        }
        checks.push((level, of_level));
    }
    write(&context.directory, &scores)?;
    let accuracy = accuracy_table(&checks);
    let path = context.directory.join("denoise-accuracy.md");
    file::write(&path, accuracy.as_bytes())?;
    write!(out, "{}\n{accuracy}", table(&scores))?;
    Ok(measurements(&scores))
}

/// Returns the pictures: photographs if they are there, pictures of scikit-image if it is there,
/// and otherwise dead leaves.
pub(super) fn pictures(
    folder: Option<&Path>,
    context: &BenchContext,
    out: &mut dyn Write,
) -> Result<Vec<Clean>> {
    let mut pictures = Vec::new();
    if let Some(folder) = folder {
        for number in TEST {
            pictures.push(Clean {
                name: format!("kodim{number:02}"),
                set: "Kodak 16-25",
                samples: photograph::read(folder, number, SIDE)?,
            });
        }
    }
    let job = json!({"part": "pictures", "side": SIDE});
    let answer = context.peers.ask(&job, out)?;
    for name in answer
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
    {
        pictures.push(Clean {
            name: name.to_owned(),
            set: "scikit-image",
            samples: read(context, name)?,
        });
    }
    if pictures.is_empty() {
        pictures.push(Clean {
            name: "dead leaves".to_owned(),
            set: "built-in",
            samples: phantom::dead_leaves(SIDE, SIDE, Seed::new(1), 0)?,
        });
    }
    Ok(pictures)
}

/// Returns the parameters of total variation: learned from the photographs for training or, without
/// them, from dead leaves.
fn tv_parameters(folder: Option<&Path>, level: u32) -> Result<TvParameters> {
    let mut pairs = Vec::new();
    for (index, number) in TRAINING.enumerate() {
        let truth = match folder {
            Some(folder) => photograph::read(folder, number, SIDE)?,
            None => phantom::dead_leaves(SIDE, SIDE, Seed::new(2), index)?,
        };
        let data = noise::gaussian(&truth, sigma(level), Seed::new(2), index)?;
        let grid = Grid::image(SIDE, SIDE);
        pairs.push(Pair { grid, truth, data });
        if folder.is_none() {
            break;
        }
    }
    let mut problem = LearningProblem::new(TvDenoising::default(), pairs, Setup::default())?;
    let values = problem.learn_with(learning_options())?.values();
    ensure!(values.len() == 3, "alpha, nu and xi are learned");
    let [alpha, nu, xi] = [values[0], values[1], values[2]];
    Ok(TvParameters { alpha, nu, xi })
}

pub(super) fn sigma(level: u32) -> f64 {
    f64::from(level) / 255.0
}

/// Scores all methods on one picture.
fn score(
    context: &BenchContext,
    clean: &Clean,
    index: usize,
    level: u32,
    parameters: TvParameters,
    scores: &mut Vec<Score>,
    out: &mut dyn Write,
) -> Result<()> {
    let grid = Grid::image(SIDE, SIDE);
    let noisy = noise::gaussian(&clean.samples, sigma(level), Seed::new(3), index)?;
    let mut add = |method: &str, x: &[f64], seconds: f64| -> Result<()> {
        scores.push(Score::new(clean, level, method, x, seconds)?);
        Ok(())
    };
    add("noisy", &noisy, 0.0)?;
    let mut x = Vec::new();
    let budget = context.budget() / 10;
    let seconds = try_fastest_on_core(budget, || {
        denoise(grid, &noisy, sigma(level), None).map(|denoised| x = denoised.x)
    })?;
    add(OURS, &x, seconds)?;
    let target = ErrorBound::new(TV_ERROR)?;
    let seconds = try_fastest_on_core(budget, || {
        denoise_tv(grid, &noisy, parameters, target).map(|denoised| x = denoised.x)
    })?;
    add("TV", &x, seconds)?;
    for (method, x, seconds) in peers(context, "denoise", &noisy, sigma(level), out)? {
        add(&method, &x, seconds)?;
    }
    Ok(())
}

/// What the default accuracy means for one picture.
struct Check {
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
fn check(context: &BenchContext, clean: &Clean, index: usize, level: u32) -> Result<Check> {
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
fn accuracy_table(checks: &[(u32, Vec<Check>)]) -> String {
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

/// Lets the peers of a part denoise a picture. Returns the name, the result and the seconds of
/// each.
pub(super) fn peers(
    context: &BenchContext,
    part: &str,
    noisy: &[f64],
    sigma: f64,
    out: &mut dyn Write,
) -> Result<Vec<(String, Vec<f64>, f64)>> {
    let bytes: Vec<u8> = noisy.iter().flat_map(|value| value.to_le_bytes()).collect();
    file::write(&context.directory.join("data/noisy.f64"), &bytes)?;
    let job = json!({"part": part, "side": SIDE, "sigma": sigma});
    let answer = context.peers.ask(&job, out)?;
    let mut made = Vec::new();
    for (method, seconds) in answer.as_object().into_iter().flatten() {
        let x = read(context, &format!("denoised {method}"))?;
        made.push((method.clone(), x, seconds.as_f64().unwrap_or(f64::NAN)));
    }
    Ok(made)
}

/// The name of our method in tables.
const OURS: &str = "filter bank";

/// Reads the numbers that a peer has written.
fn read(context: &BenchContext, name: &str) -> Result<Vec<f64>> {
    let path = context.directory.join(format!("data/{name}.f64"));
    let bytes = fs::read(&path).with_context(|| path.display().to_string())?;
    let (numbers, _) = bytes.as_chunks();
    Ok(numbers
        .iter()
        .map(|bytes| f64::from_le_bytes(*bytes))
        .collect())
}

/// The mean over the pictures of a set.
#[derive(Clone, Copy, Default)]
struct Mean {
    psnr: f64,
    ssim: f64,
    seconds: f64,
    count: usize,
}

/// The means by set, level and method.
fn means(scores: &[Score]) -> BTreeMap<(&str, u32, &str), Mean> {
    let mut means: BTreeMap<(&str, u32, &str), Mean> = BTreeMap::new();
    for score in scores {
        let mean = means
            .entry((score.set, score.level, &score.method))
            .or_default();
        mean.psnr += score.psnr;
        mean.ssim += score.ssim;
        mean.seconds += score.seconds;
        mean.count += 1;
    }
    for mean in means.values_mut() {
        let num_pictures = count(mean.count);
        mean.psnr /= num_pictures;
        mean.ssim /= num_pictures;
        mean.seconds /= num_pictures;
    }
    means
}

/// Writes a table of the means, one row for each set, level and method.
pub(super) fn table(scores: &[Score]) -> String {
    let mut text = String::from(
        "| pictures | noise | method | PSNR | SSIM | seconds |\n|---|---|---|---|---|---|\n",
    );
    for ((set, level, method), mean) in means(scores) {
        let Mean {
            psnr,
            ssim,
            seconds,
            ..
        } = mean;
        // Writing to a text cannot fail.
        let _ = writeln!(
            text,
            "| {set} | {level} | {method} | {psnr:.2} | {ssim:.3} | {seconds:.3} |"
        );
    }
    text
}

/// Our time for noise 25, compared with every other method.
fn measurements(scores: &[Score]) -> Vec<Measurement> {
    let at_25 = |wanted: &str| {
        let chosen: Vec<f64> = (scores.iter())
            .filter(|score| score.level == 25 && score.method == wanted)
            .map(|score| score.seconds)
            .collect();
        (!chosen.is_empty()).then(|| chosen.iter().sum::<f64>() / count(chosen.len()))
    };
    let Some(ours) = at_25(OURS) else {
        return Vec::new();
    };
    let peers = ["BM3D", "non-local means", "wavelets"].map(|peer| (peer, at_25(peer)));
    let headline = Headline {
        label: "BM3D: denoise a picture",
        is_archived: false,
    };
    let rows = Measurement::against("denoise 256 x 256, noise 25", ours, "s", &peers).into_iter();
    rows.map(|row| row.with_headline("BM3D", headline))
        .collect()
}

fn write(directory: &Path, scores: &[Score]) -> Result<()> {
    let rows: Vec<Value> = (scores.iter())
        .map(|score| {
            json!({
                "pictures": score.set,
                "picture": score.picture,
                "noise": score.level,
                "method": score.method,
                "psnr": score.psnr,
                "ssim": score.ssim,
                "seconds": score.seconds,
            })
        })
        .collect();
    let text = serde_json::to_string_pretty(&rows)?;
    file::write(&directory.join("denoise.json"), text.as_bytes())?;
    file::write(&directory.join("denoise.md"), table(scores).as_bytes())?;
    if let Some(figure) = chart(scores) {
        file::write_figure(&figure, &directory.join("denoise"))?;
    }
    Ok(())
}

const COLOURS: [Colour; 6] = [
    Colour::hex(0x00c0_182b),
    Colour::hex(0x0000_72b2),
    Colour::hex(0x0000_9e73),
    Colour::hex(0x0088_4ea0),
    Colour::hex(0x00e6_9f00),
    Colour::hex(0x0056_b4e9),
];

/// Draws PSNR against time for noise 25, one mark for each method and one panel for each set.
fn chart(scores: &[Score]) -> Option<Figure> {
    let means = means(scores);
    let sets: Vec<&str> = {
        let mut sets: Vec<&str> = means.keys().map(|(set, _, _)| *set).collect();
        sets.dedup();
        sets
    };
    let mut figure = Figure::new(sets.len().max(1))
        .title("Denoising pictures of 256 x 256 pixels, noise 25/255")
        .panel_size(330.0, 240.0);
    let mut is_empty = true;
    for set in sets {
        let of_set = || {
            (means.iter()).filter(move |((name, level, method), _)| {
                *name == set && *level == 25 && *method != "noisy"
            })
        };
        let psnrs: Vec<f64> = of_set().map(|(_, mean)| mean.psnr).collect();
        let (Some(least), Some(most)) = (
            psnrs.iter().copied().reduce(f64::min),
            psnrs.iter().copied().reduce(f64::max),
        ) else {
            continue;
        };
        is_empty = false;
        let margin = 0.2 * (most - least).max(0.5);
        let mut panel = Panel::new(
            Axis::log("seconds of one core").range(1e-3, 20.0),
            Axis::linear("mean PSNR (dB)").range(least - margin, most + margin),
        )
        .title(set);
        for (((_, _, method), mean), colour) in of_set().zip(COLOURS) {
            let mark = vec![[mean.seconds, mean.psnr]];
            panel = panel.with(Series::squares(mark).colour(colour).label(*method));
        }
        figure = figure.with(panel);
    }
    (!is_empty).then_some(figure)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn score(method: &str, psnr: f64, seconds: f64) -> Score {
        Score {
            set: "built-in",
            picture: "one".to_owned(),
            level: 25,
            method: method.to_owned(),
            psnr,
            ssim: 0.5,
            seconds,
        }
    }

    #[test]
    fn the_accuracy_of_a_level_is_that_of_its_worst_picture() {
        let check = |change: f64, loose: f64, seconds: f64| Check {
            change,
            looseness: [loose, 2.0 * loose],
            seconds,
        };
        let checks = [check(0.001, 7.0, 0.1), check(-0.004, 6.0, 0.3)];
        let text = accuracy_table(&[(25, checks.into())]);
        assert!(
            text.contains("| 25 | 0.0040 | 6.0 to 7.0 | 12.0 to 14.0 | 0.200 |"),
            "{text}"
        );
    }

    #[test]
    fn tables_have_means_and_measurements_have_ratios() {
        let scores = [
            score(OURS, 28.0, 0.1),
            score(OURS, 30.0, 0.3),
            score("BM3D", 29.0, 2.0),
        ];
        let text = table(&scores);
        assert!(
            text.contains("| built-in | 25 | filter bank | 29.00 | 0.500 | 0.200 |"),
            "{text}"
        );
        let measured = measurements(&scores);
        assert!((measured[0].ratio().expect("a ratio") - 10.0).abs() < 1e-12);
        assert!(measured[0].headline.is_some());
        assert!(chart(&scores).is_some() && chart(&[]).is_none());
    }
}
