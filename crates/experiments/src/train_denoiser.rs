//! Learns the filter banks of `imaging::denoise` from photographs.
//!
//! The training pairs are random patches of the first 15 photographs of the Kodak set, grey or as
//! chroma, with Gaussian noise. The banks of each level of noise start from those of the level
//! before, or from those of a file. Built-in dead leaves may be among the pictures.
//!
//! Learning minimises the sum of squared errors of all patches, but quality is measured by the mean
//! PSNR of pictures, i.e. by the mean logarithm of their errors. Near a bank whose error on picture
//! `$i$` is `$e_i$`, the mean logarithm changes like `$\sum_i E_i/e_i$`, where `$E_i$` is the error
//! on the picture. So with `--by-error` the number of patches of a picture is proportional to
//! `$1/e_i$`, with the errors of the bank that learning starts from.

mod bank_file;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use bilevel::{FilterDenoising, FilterSet, LearningProblem, Pair, Setup, learning_options};
use bilevel::{LowerLevel, Parameter, reconstruct};
use clap::{Args, ValueEnum};
use imaging::{FilterBank, Grid, Seed, noise, phantom};
use lowlevel::{ErrorBound, Solver, Stop};
use rand::RngExt;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::kodak::photograph::{self, Photograph};
use crate::{file, kodak};
use bank_file::{read, text};

/// The levels of noise, times 255. Learning begins in the middle, where the default start of the
/// family is good, and goes up and down from there.
const LEVELS: [u32; 8] = [25, 35, 50, 75, 15, 10, 5, 2];
/// The index of the first level that starts from the first one again.
const DOWNWARD: usize = 4;
/// The numbers of the photographs for training.
const TRAINING: std::ops::RangeInclusive<usize> = 1..=15;
/// The number of rows and columns of a patch.
const PATCH: usize = 64;
/// The number of rows and columns of dead leaves, and of the parts of pictures that banks are
/// scored by.
const SIDE: usize = 256;
/// The seeds of the dead leaves for training, and of those that banks are scored by.
const LEAVES: [u64; 2] = [101, 102];
/// The weight of slanted filters at the start, relative to the mean of the cosine filters.
const SLANTED: f64 = 0.3;
/// The certified error of scored pictures, relative to the noise: no PSNR depends on it.
const ERROR: f64 = 0.1;

/// The arguments of `train-denoiser`.
#[derive(Clone, Debug, Args)]
pub struct Arguments {
    /// Directory with kodim01.png to kodim25.png [default: data/kodak, if it exists]
    #[arg(long, value_name = "DIR")]
    kodak: Option<PathBuf>,
    /// File to write
    #[arg(
        long,
        value_name = "FILE",
        default_value = "crates/imaging/src/denoise/banks.txt"
    )]
    out: PathBuf,
    /// Mean number of patches of each picture
    #[arg(long, value_name = "N", default_value_t = 4)]
    patches: usize,
    /// Number of pictures of dead leaves besides the photographs
    #[arg(long, value_name = "N", default_value_t = 0)]
    leaves: usize,
    /// Largest number of points of the first level, where learned filters begin with as many points
    /// of cosine filters; the other levels have half as many
    #[arg(long, value_name = "N", default_value_t = 80)]
    points: u64,
    /// File of banks to start from, such as one that this command has written; every level has all
    /// points then, and the file is written after every level
    #[arg(long, value_name = "FILE")]
    start: Option<PathBuf>,
    /// Learn only this kind of banks; those of the other kind are the ones to start from
    #[arg(long, value_enum, requires = "start")]
    kind: Option<Kind>,
    /// Draw fewer patches from pictures with larger errors, so that learning improves the mean PSNR
    /// rather than the mean error
    #[arg(long)]
    by_error: bool,
    /// Leave out the last N photographs, learn only for grey pictures with noise 25, and print the
    /// PSNR on the photographs left out and on other dead leaves; nothing is written
    #[arg(long, value_name = "N")]
    hold_out: Option<usize>,
}

/// What a bank is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
enum Kind {
    /// Grey pictures, and the luminance of pictures in colour
    Grey,
    /// The chroma of pictures in colour
    Chroma,
}

/// The values of the parameters by kind and level.
type Banks = BTreeMap<(Kind, u32), Vec<f64>>;

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Self::Grey => "grey",
            Self::Chroma => "chroma",
        }
    }

    /// The filters: learned ones, or for chroma cosine filters, which take less time.
    const fn filters(self) -> FilterSet {
        FilterSet {
            is_learned: matches!(self, Self::Grey),
            ..FilterSet::DCT5
        }
    }

    /// The number of coefficients of learned filters.
    fn num_coefficients(self) -> usize {
        let set = self.filters();
        let count = FilterBank::num_coefficients(set.size).unwrap_or_default();
        if set.is_learned { count } else { 0 }
    }

    /// The samples of one pixel.
    fn samples(self, [red, green, blue]: [f64; 3]) -> impl Iterator<Item = f64> {
        let values = match self {
            Self::Grey => [photograph::luminance([red, green, blue]), f64::NAN],
            Self::Chroma => [
                (red - green) / 2_f64.sqrt(),
                (red + green - 2.0 * blue) / 6_f64.sqrt(),
            ],
        };
        values.into_iter().filter(|value| !value.is_nan())
    }

    fn grid(self, side: usize) -> Grid {
        let grid = Grid::image(side, side);
        match self {
            Self::Grey => grid,
            Self::Chroma => grid.complex(),
        }
    }

    /// The samples of the square part of a picture with this first row and column.
    fn part(self, picture: &Photograph, [top, left]: [usize; 2], side: usize) -> Vec<f64> {
        let rows = (top..top + side).flat_map(|row| {
            let first = row * picture.width + left;
            picture.pixels[first..first + side].iter()
        });
        rows.flat_map(|pixel| self.samples(*pixel)).collect()
    }
}

/// Learns all banks and writes them to a file.
///
/// # Errors
/// When the photographs are missing, a problem is refused, or the file cannot be written.
pub fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<()> {
    let folder = kodak::find(arguments.kodak.as_deref())?.context(
        "there are no photographs: `cargo xtask fetch-kodak` downloads them, or give --kodak DIR",
    )?;
    if let Some(count) = arguments.hold_out {
        return hold_out(&folder, count, arguments, out);
    }
    let start = match &arguments.start {
        Some(path) => read(path)?,
        None => Banks::new(),
    };
    let pictures = pictures(&folder, TRAINING, LEAVES[0], arguments.leaves)?;
    let mut banks = start.clone();
    for kind in [Kind::Grey, Kind::Chroma] {
        if arguments.kind.is_some_and(|only| only != kind) {
            continue;
        }
        let mut last = None::<Vec<f64>>;
        for (index, level) in LEVELS.into_iter().enumerate() {
            if index == DOWNWARD {
                last = banks.get(&(kind, LEVELS[0])).cloned();
            }
            let known = start.get(&(kind, level)).or(last.as_ref()).cloned();
            let first = match known {
                Some(values) => values,
                None => first_start(kind, level, &pictures, arguments, out)?,
            };
            let family = family(kind.filters(), Some(&first))?;
            let points = if index == 0 || start.contains_key(&(kind, level)) {
                arguments.points
            } else {
                arguments.points / 2
            };
            let values = learn(kind, level, &pictures, &family, arguments, points, out)?;
            banks.insert((kind, level), values.clone());
            last = Some(values);
            if arguments.start.is_some() {
                file::write(&arguments.out, text(&banks).as_bytes())?;
            }
        }
    }
    file::write(&arguments.out, text(&banks).as_bytes())?;
    writeln!(out, "wrote {}", arguments.out.display())?;
    Ok(())
}

/// Learns one bank without the last photographs, and prints its quality on them.
fn hold_out(folder: &Path, count: usize, arguments: &Arguments, out: &mut dyn Write) -> Result<()> {
    ensure!(
        count > 0 && count < *TRAINING.end(),
        "--hold-out must be between 1 and {}",
        TRAINING.end() - 1
    );
    let last = TRAINING.end() - count;
    let training = pictures(
        folder,
        *TRAINING.start()..=last,
        LEAVES[0],
        arguments.leaves,
    )?;
    let (kind, level) = (Kind::Grey, LEVELS[0]);
    let start = first_start(kind, level, &training, arguments, out)?;
    let family = family(kind.filters(), Some(&start))?;
    let values = learn(
        kind,
        level,
        &training,
        &family,
        arguments,
        arguments.points,
        out,
    )?;
    let left_out = pictures(folder, last + 1..=*TRAINING.end(), LEAVES[1], count)?;
    for (name, pictures) in ["photographs", "dead leaves"]
        .into_iter()
        .zip(left_out.chunks(count))
    {
        let mut errors = Vec::new();
        for picture in pictures {
            for corner in corners(picture) {
                let index = errors.len();
                errors.push(error(
                    kind, level, picture, corner, index, &family, &values,
                )?);
            }
        }
        let psnr: f64 = errors.iter().map(|error| -10.0 * error.log10()).sum();
        let psnr = psnr / errors.len() as f64;
        writeln!(out, "{name}: {psnr:.3} dB on {} pictures", errors.len())?;
    }
    Ok(())
}

/// Returns the values of the parameters that the first level starts from. For learned filters these
/// are cosine filters with learned potentials, and slanted filters with small weights.
fn first_start(
    kind: Kind,
    level: u32,
    pictures: &[Photograph],
    arguments: &Arguments,
    out: &mut dyn Write,
) -> Result<Vec<f64>> {
    let cosine = family(FilterSet::DCT5, None)?;
    let set = kind.filters();
    if !set.is_learned {
        return Ok(start_of(&cosine));
    }
    let values = learn(
        kind,
        level,
        pictures,
        &cosine,
        arguments,
        arguments.points,
        out,
    )?;
    let count = FilterSet::DCT5.num_potentials();
    let mut start = Vec::new();
    for (block, of_cosine) in values.chunks_exact(count).enumerate() {
        let mean = of_cosine.iter().sum::<f64>() / count as f64;
        let factor = if block == 0 { SLANTED } else { 1.0 };
        start.extend(of_cosine);
        start.resize((block + 1) * set.num_potentials(), factor * mean);
    }
    start.extend(FilterBank::cosine_coefficients(set.size)?);
    Ok(start)
}

/// The values of the parameters that learning starts from.
fn start_of(family: &FilterDenoising) -> Vec<f64> {
    let blocks = family.parameters();
    Parameter::values_of(&blocks, &Parameter::starts_of(&blocks))
}

/// The family of banks, with these values of the parameters to start from.
fn family(set: FilterSet, start: Option<&[f64]>) -> Result<FilterDenoising> {
    let family = FilterDenoising::new(set)?;
    match start {
        Some(start) => family
            .with_start(start)
            .map_err(|error| anyhow::anyhow!(error)),
        None => Ok(family),
    }
}

/// Learns the bank of one level of noise.
fn learn(
    kind: Kind,
    level: u32,
    pictures: &[Photograph],
    family: &FilterDenoising,
    arguments: &Arguments,
    points: u64,
    out: &mut dyn Write,
) -> Result<Vec<f64>> {
    let clock = Instant::now();
    let counts = if arguments.by_error {
        counts(kind, level, pictures, family, arguments.patches)?
    } else {
        vec![arguments.patches; pictures.len()]
    };
    let sigma = sigma(level);
    let clean = patches(kind, pictures, &counts);
    let pairs: Result<Vec<Pair>, noise::NoiseError> = (clean.iter().enumerate())
        .map(|(index, truth)| {
            Ok(Pair {
                grid: kind.grid(PATCH),
                truth: truth.clone(),
                data: noise::gaussian(truth, sigma, Seed::new(u64::from(level)), index)?,
            })
        })
        .collect();
    let mut options = learning_options();
    options.budget.max_points = Some(points);
    let mut problem = LearningProblem::new(family, pairs?, Setup::default())?;
    let learned = problem.learn_with(options)?;
    let values = learned.values();
    let bank = (family.bank(&values)).map_err(|error| anyhow::anyhow!(error))?;
    let samples = kind.grid(PATCH).len() as f64;
    writeln!(
        out,
        "{} {level}: {} patches, mean squared error {:.4} of the noise, mu {:.3}, L {:.0}, \
         {} points, {:.0} s",
        kind.name(),
        clean.len(),
        learned.objective / (samples * sigma * sigma),
        1.0 - bank.bank().weak_convexity(),
        1.0 + bank.bank().lipschitz(),
        learned.num_points,
        clock.elapsed().as_secs_f64(),
    )?;
    Ok(values)
}

fn sigma(level: u32) -> f64 {
    f64::from(level) / 255.0
}

/// Returns the numbers of patches, in inverse proportion to the errors of the bank that learning
/// starts from.
fn counts(
    kind: Kind,
    level: u32,
    pictures: &[Photograph],
    family: &FilterDenoising,
    mean: usize,
) -> Result<Vec<usize>> {
    let start = start_of(family);
    let mut inverses = Vec::new();
    for (index, picture) in pictures.iter().enumerate() {
        let corner = [picture.height - SIDE, picture.width - SIDE].map(|free| free / 2);
        let error = error(kind, level, picture, corner, index, family, &start)?;
        inverses.push(error.recip());
    }
    let total = (mean * pictures.len()) as f64;
    let sum: f64 = inverses.iter().sum();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a small positive number"
    )]
    let count = |inverse: f64| (total * inverse / sum).round().max(1.0) as usize;
    Ok(inverses.into_iter().map(count).collect())
}

/// The mean squared error of a denoised part of a picture, with these values of the parameters.
fn error(
    kind: Kind,
    level: u32,
    picture: &Photograph,
    corner: [usize; 2],
    index: usize,
    family: &FilterDenoising,
    values: &[f64],
) -> Result<f64> {
    let truth = kind.part(picture, corner, SIDE);
    let noisy = noise::gaussian(&truth, sigma(level), Seed::new(1), index)?;
    let target = ERROR * sigma(level) * (truth.len() as f64).sqrt();
    let stop = Stop::accuracy(ErrorBound::new(target)?);
    let grid = kind.grid(SIDE);
    let found = reconstruct(family, values, grid, &noisy, Solver::default(), stop)?;
    let squares = found
        .x
        .iter()
        .zip(&truth)
        .map(|(x, truth)| (x - truth).powi(2));
    Ok(squares.sum::<f64>() / truth.len() as f64)
}

/// The photographs with these numbers, and pictures of dead leaves.
fn pictures(
    folder: &Path,
    mut numbers: std::ops::RangeInclusive<usize>,
    seed: u64,
    num_leaves: usize,
) -> Result<Vec<Photograph>> {
    let photographs: Result<Vec<Photograph>> = numbers
        .by_ref()
        .map(|number| photograph::read_colour(folder, number))
        .collect();
    let mut pictures = photographs?;
    for index in 0..num_leaves {
        let samples = phantom::dead_leaves_in_colour(SIDE, SIDE, Seed::new(seed), index)?;
        let (pixels, _) = samples.as_chunks();
        pictures.push(Photograph {
            width: SIDE,
            height: SIDE,
            pixels: pixels.to_vec(),
        });
    }
    Ok(pictures)
}

/// The first rows and columns of parts that do not overlap.
fn corners(picture: &Photograph) -> impl Iterator<Item = [usize; 2]> {
    let width = picture.width;
    (0..picture.height / SIDE)
        .flat_map(move |row| (0..width / SIDE).map(move |col| [row * SIDE, col * SIDE]))
}

/// Draws patches at random positions.
fn patches(kind: Kind, pictures: &[Photograph], counts: &[usize]) -> Vec<Vec<f64>> {
    let mut random = ChaCha8Rng::seed_from_u64(0);
    let mut patches = Vec::new();
    for (picture, count) in pictures.iter().zip(counts) {
        for _ in 0..*count {
            let corner = [picture.height, picture.width]
                .map(|length| random.random_range(0..=length - PATCH));
            patches.push(kind.part(picture, corner, PATCH));
        }
    }
    patches
}
