//! How well images are reconstructed.

use std::panic::{AssertUnwindSafe, catch_unwind};

use imaging::{Field, Grid, quality};
use lowlevel::{ErrorBound, Solver, Stop};

use crate::lower::{LowerLevel, Reconstruction, reconstruct};
use crate::oracle::for_each;
use crate::problem::{LearningProblem, Pair};

/// How well one pair is reconstructed.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Score {
    /// The data against the truth, where both are images of the same kind.
    pub before: Option<Quality>,
    /// The reconstruction against the truth; `None` if there is none.
    pub after: Option<Quality>,
    /// Root mean square distance of the reconstruction from the exact one, certified.
    pub error: Option<f64>,
}

impl Score {
    const NONE: Self = Self {
        before: None,
        after: None,
        error: None,
    };
}

/// How close an image is to the truth, for values in `$[0, 1]$`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Quality {
    /// The mean square of the differences.
    pub mse: f64,
    /// Peak signal-to-noise ratio in dB; `None` where the images are equal.
    pub psnr: Option<f64>,
    /// Structural similarity; `None` for signals, and for images too small for it.
    pub ssim: Option<f64>,
}

impl Quality {
    /// Of `x`, which should be `truth`; `None` unless both are finite and on `grid`.
    #[must_use]
    pub fn of(x: &[f64], truth: &[f64], grid: Grid) -> Option<Self> {
        if x.len() != grid.len() || truth.len() != grid.len() {
            return None;
        }
        let square: f64 = (x.iter().zip(truth)).map(|(x, t)| (x - t) * (x - t)).sum();
        let mse = square / grid.num_samples() as f64;
        if !mse.is_finite() {
            return None;
        }
        let (rows, cols) = grid.rows_and_cols();
        let is_picture = grid.num_axes() == 2 && grid.field() == Field::Real;
        Some(Self {
            mse,
            psnr: (mse > 0.0).then(|| -10.0 * mse.log10()),
            ssim: is_picture
                .then(|| quality::ssim(x, truth, rows, cols, 1.0).ok())
                .flatten(),
        })
    }
}

/// Reconstructions that are judged are this close to the exact ones, as a root mean square.
const ERROR: f64 = 1e-3;

/// A pair, reconstructed and judged.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Judged {
    /// The reconstruction, if there is one.
    pub reconstruction: Option<Reconstruction>,
    /// How good it is.
    pub score: Score,
}

/// Reconstructs a pair, to a root mean square error of `$10^{-3}$`, and compares with the truth.
#[must_use]
pub fn judge<M: LowerLevel>(model: &M, values: &[f64], pair: &Pair, solver: Solver<'_>) -> Judged {
    let Pair { grid, truth, data } = pair;
    let size = (grid.num_samples() as f64).sqrt();
    let target = ErrorBound::new(ERROR * size).unwrap_or(ErrorBound::UNKNOWN);
    // enough for any problem that was worth learning from
    let stop = Stop::accuracy(target).with_max_iterations(100_000);
    let made = reconstruct(model, values, *grid, data, solver, stop).ok();
    let comparable = grid.field() == Field::Real && data.len() == truth.len();
    let score = Score {
        before: comparable
            .then(|| Quality::of(data, truth, *grid))
            .flatten(),
        after: (made.as_ref()).and_then(|made| Quality::of(&made.x, truth, *grid)),
        error: (made.as_ref())
            .map(|made| made.solved.error.value() / size)
            .filter(|error| error.is_finite()),
    };
    Judged {
        reconstruction: made,
        score,
    }
}

impl<M: LowerLevel> LearningProblem<M> {
    /// How well `pairs` are reconstructed with these values of the parameters. Where the model panics, there is no reconstruction.
    #[must_use]
    pub fn scores(&self, values: &[f64], pairs: &[Pair]) -> Vec<Score> {
        let score = |index: usize| {
            let judge = || judge(&self.model, values, &pairs[index], self.setup.solver());
            let judged = catch_unwind(AssertUnwindSafe(judge));
            // what was learned must not be lost because of it
            judged.map_or(Score::NONE, |judged| judged.score)
        };
        for_each(pairs.len(), score)
    }
}
