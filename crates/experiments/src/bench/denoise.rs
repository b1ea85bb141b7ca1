//! Denoising of pictures that were in no training: quality and time of `imaging::denoise`, of total
//! variation with learned parameters, and of other programs.

mod accuracy;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::Write;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use bilevel::{LearningProblem, Pair, Setup, TvDenoising, learning_options};
use imaging::{ErrorBound, Grid, Seed, TvParameters, denoise, denoise_tv, noise, phantom, quality};
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
    /// The level of noise, the kernel or the pattern of frequencies.
    case: String,
    method: String,
    psnr: f64,
    ssim: f64,
    seconds: f64,
}

impl Score {
    /// Compares a reconstructed square picture with the clean one.
    pub(super) fn new(
        clean: &Clean,
        case: &str,
        method: &str,
        x: &[f64],
        seconds: f64,
    ) -> Result<Self> {
        let side = clean.samples.len().isqrt();
        Ok(Self {
            set: clean.set,
            picture: clean.name.clone(),
            case: case.to_owned(),
            method: method.to_owned(),
            psnr: quality::psnr(x, &clean.samples, 1.0)?,
            ssim: quality::ssim(x, &clean.samples, side, side, 1.0)?,
            seconds,
        })
    }
}

/// Compares methods on all pictures and levels of noise. Writes `denoise.json`, the tables
/// `denoise.md` and `denoise-accuracy.md`, and the chart `denoise.svg`.
pub(super) fn run(context: &BenchContext, out: &mut dyn Write) -> Result<Vec<Measurement>> {
    let folder = kodak::find(context.kodak.as_deref())?;
    let mut pictures = pictures(folder.as_deref(), context, SIDE, out)?;
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
            of_level.push(accuracy::check(context, clean, index, level)?);
        }
        checks.push((level, of_level));
    }
    write(&context.directory, &scores)?;
    let checks = accuracy::table(&checks);
    let path = context.directory.join("denoise-accuracy.md");
    file::write(&path, checks.as_bytes())?;
    write!(out, "{}\n{checks}", table("noise", &scores))?;
    Ok(measurements(&scores))
}

/// Returns square pictures: photographs if they are there, pictures of scikit-image if it is there,
/// and otherwise dead leaves.
pub(super) fn pictures(
    folder: Option<&Path>,
    context: &BenchContext,
    side: usize,
    out: &mut dyn Write,
) -> Result<Vec<Clean>> {
    let mut pictures = Vec::new();
    if let Some(folder) = folder {
        for number in TEST {
            pictures.push(Clean {
                name: format!("kodim{number:02}"),
                set: "Kodak 16-25",
                samples: photograph::read(folder, number, side)?,
            });
        }
    }
    let job = json!({"part": "pictures", "side": side});
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
            samples: phantom::dead_leaves(side, side, Seed::new(1), 0)?,
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
        scores.push(Score::new(clean, &level.to_string(), method, x, seconds)?);
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
    let job = json!({"part": "denoise", "side": SIDE, "sigma": sigma(level)});
    for (method, x, seconds) in peers(context, &job, &[("data", &noisy)], out)? {
        add(&method, &x, seconds)?;
    }
    Ok(())
}

/// Lets the peers of a part reconstruct a picture from arrays with names. Returns the name, the
/// result and the seconds of each.
pub(super) fn peers(
    context: &BenchContext,
    job: &Value,
    arrays: &[(&str, &[f64])],
    out: &mut dyn Write,
) -> Result<Vec<(String, Vec<f64>, f64)>> {
    for (name, array) in arrays {
        let bytes: Vec<u8> = array.iter().flat_map(|value| value.to_le_bytes()).collect();
        file::write(&context.directory.join(format!("data/{name}.f64")), &bytes)?;
    }
    let answer = context.peers.ask(job, out)?;
    let mut made = Vec::new();
    for (method, seconds) in answer.as_object().into_iter().flatten() {
        let x = read(context, &format!("made by {method}"))?;
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

/// The means by set, case and method.
fn means(scores: &[Score]) -> BTreeMap<(&str, &str, &str), Mean> {
    let mut means: BTreeMap<(&str, &str, &str), Mean> = BTreeMap::new();
    for score in scores {
        let mean = means
            .entry((score.set, &score.case, &score.method))
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

/// Writes a table of the means, one row for each set, case and method. `case` is the title of the
/// column of cases.
pub(super) fn table(case: &str, scores: &[Score]) -> String {
    let mut text = format!(
        "| pictures | {case} | method | PSNR | SSIM | seconds |\n|---|---|---|---|---|---|\n"
    );
    for ((set, case, method), mean) in means(scores) {
        let Mean {
            psnr,
            ssim,
            seconds,
            ..
        } = mean;
        // Writing to a text cannot fail.
        let _ = writeln!(
            text,
            "| {set} | {case} | {method} | {psnr:.2} | {ssim:.3} | {seconds:.3} |"
        );
    }
    text
}

/// The mean of our seconds for a case, compared with those of peers.
pub(super) fn seconds_against(
    name: &str,
    scores: &[Score],
    case: &str,
    ours: &str,
    peers: &[&'static str],
) -> Vec<Measurement> {
    let mean = |wanted: &str| {
        let chosen: Vec<f64> = (scores.iter())
            .filter(|score| score.case == case && score.method == wanted)
            .map(|score| score.seconds)
            .collect();
        (!chosen.is_empty()).then(|| chosen.iter().sum::<f64>() / count(chosen.len()))
    };
    let peers: Vec<_> = peers.iter().map(|peer| (*peer, mean(peer))).collect();
    mean(ours).map_or_else(Vec::new, |seconds| {
        Measurement::against(name, seconds, "s", &peers)
    })
}

/// Our time for noise 25, compared with every other method.
fn measurements(scores: &[Score]) -> Vec<Measurement> {
    let peers = ["BM3D", "non-local means", "wavelets"];
    let headline = Headline {
        label: "BM3D: denoise a picture",
        is_archived: false,
    };
    let rows = seconds_against("denoise 256 x 256, noise 25", scores, "25", OURS, &peers);
    (rows.into_iter())
        .map(|row| row.with_headline("BM3D", headline))
        .collect()
}

fn write(directory: &Path, scores: &[Score]) -> Result<()> {
    let rows: Vec<Value> = (scores.iter())
        .map(|score| {
            json!({
                "pictures": score.set,
                "picture": score.picture,
                "noise": score.case,
                "method": score.method,
                "psnr": score.psnr,
                "ssim": score.ssim,
                "seconds": score.seconds,
            })
        })
        .collect();
    let text = serde_json::to_string_pretty(&rows)?;
    file::write(&directory.join("denoise.json"), text.as_bytes())?;
    file::write(
        &directory.join("denoise.md"),
        table("noise", scores).as_bytes(),
    )?;
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
                *name == set && *level == "25" && *method != "noisy"
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
            case: "25".to_owned(),
            method: method.to_owned(),
            psnr,
            ssim: 0.5,
            seconds,
        }
    }

    #[test]
    fn tables_have_means_and_measurements_have_ratios() {
        let scores = [
            score(OURS, 28.0, 0.1),
            score(OURS, 30.0, 0.3),
            score("BM3D", 29.0, 2.0),
        ];
        let text = table("noise", &scores);
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
