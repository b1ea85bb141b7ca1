//! Learns the filter banks of `imaging::denoise` from photographs.
//!
//! The training pairs are random patches of the first 15 photographs of the Kodak set, grey or as
//! chroma, with Gaussian noise. The banks of each level of noise start from those of the level
//! before.

use std::fmt::Write as _;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result};
use bilevel::{FilterDenoising, FilterSet, LearningProblem, Pair, Setup, learning_options};
use clap::Args;
use imaging::{Grid, Seed, noise};
use rand::RngExt;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::kodak::photograph;
use crate::{file, kodak};

/// The levels of noise, times 255. Learning begins in the middle, where the default start of the
/// family is good, and goes up and down from there.
const LEVELS: [u32; 8] = [25, 35, 50, 75, 15, 10, 5, 2];
/// The index of the first level that starts from the first one again.
const DOWNWARD: usize = 4;
/// The numbers of the photographs for training.
const TRAINING: std::ops::RangeInclusive<usize> = 1..=15;
/// The number of rows and columns of a patch.
const PATCH: usize = 64;

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
    /// Number of patches of each photograph
    #[arg(long, value_name = "N", default_value_t = 4)]
    patches: usize,
    /// Largest number of points of the first level; the others have half as many
    #[arg(long, value_name = "N", default_value_t = 80)]
    points: u64,
}

/// What a bank is for.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Grey,
    Chroma,
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Self::Grey => "grey",
            Self::Chroma => "chroma",
        }
    }

    /// The samples of a patch of a photograph.
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

    fn grid(self) -> Grid {
        let grid = Grid::image(PATCH, PATCH);
        match self {
            Self::Grey => grid,
            Self::Chroma => grid.complex(),
        }
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
    let mut text = String::from(
        "# Filter banks for denoising, written by `cargo xtask train-denoiser`: kind, noise times\n\
         # 255, and alpha, nu, share and spread of the 24 cosine filters of 5 x 5 pixels.\n",
    );
    for kind in [Kind::Grey, Kind::Chroma] {
        let clean = patches(&folder, kind, arguments.patches)?;
        let mut lines = Vec::new();
        let (mut first, mut start) = (None, None::<Vec<f64>>);
        for (index, level) in LEVELS.into_iter().enumerate() {
            if index == DOWNWARD {
                start.clone_from(&first);
            }
            let points = if index == 0 {
                arguments.points
            } else {
                arguments.points / 2
            };
            let values = learn(kind, level, &clean, start.as_deref(), points, out)?;
            let numbers: Vec<String> = values.iter().map(|value| format!("{value:.4e}")).collect();
            lines.push((
                level,
                format!("{} {level} {}\n", kind.name(), numbers.join(" ")),
            ));
            first.get_or_insert_with(|| values.clone());
            start = Some(values);
        }
        lines.sort_by_key(|(level, _)| *level);
        for (_, line) in lines {
            write!(text, "{line}")?;
        }
    }
    file::write(&arguments.out, text.as_bytes())?;
    writeln!(out, "wrote {}", arguments.out.display())?;
    Ok(())
}

/// Learns the bank of one level of noise.
fn learn(
    kind: Kind,
    level: u32,
    clean: &[Vec<f64>],
    start: Option<&[f64]>,
    points: u64,
    out: &mut dyn Write,
) -> Result<Vec<f64>> {
    let clock = Instant::now();
    let sigma = f64::from(level) / 255.0;
    let pairs: Result<Vec<Pair>, noise::NoiseError> = (clean.iter().enumerate())
        .map(|(index, truth)| {
            Ok(Pair {
                grid: kind.grid(),
                truth: truth.clone(),
                data: noise::gaussian(truth, sigma, Seed::new(u64::from(level)), index)?,
            })
        })
        .collect();
    let mut family = FilterDenoising::new(FilterSet::DCT5)?;
    if let Some(start) = start {
        family = (family.with_start(start)).map_err(|error| anyhow::anyhow!(error))?;
    }
    let mut options = learning_options();
    options.budget.max_points = Some(points);
    let mut problem = LearningProblem::new(&family, pairs?, Setup::default())?;
    let learned = problem.learn_with(options)?;
    let values = learned.values();
    let bank = (family.bank(&values)).map_err(|error| anyhow::anyhow!(error))?;
    let samples = kind.grid().len() as f64;
    writeln!(
        out,
        "{} {level}: mean squared error {:.4} of the noise, mu {:.3}, L {:.0}, {} points, {:.0} s",
        kind.name(),
        learned.objective / (samples * sigma * sigma),
        1.0 - bank.bank().weak_convexity(),
        1.0 + bank.bank().lipschitz(),
        learned.num_points,
        clock.elapsed().as_secs_f64(),
    )?;
    Ok(values)
}

/// Draws patches at random positions of the photographs for training.
fn patches(folder: &Path, kind: Kind, count: usize) -> Result<Vec<Vec<f64>>> {
    let mut random = ChaCha8Rng::seed_from_u64(0);
    let mut patches = Vec::new();
    for number in TRAINING {
        let picture = photograph::read_colour(folder, number)?;
        for _ in 0..count {
            let top = random.random_range(0..=picture.height - PATCH);
            let left = random.random_range(0..=picture.width - PATCH);
            let samples = (top..top + PATCH).flat_map(|row| {
                let first = row * picture.width + left;
                picture.pixels[first..first + PATCH].iter()
            });
            patches.push(samples.flat_map(|pixel| kind.samples(*pixel)).collect());
        }
    }
    Ok(patches)
}
