//! How well images are reconstructed.

use std::panic::{AssertUnwindSafe, catch_unwind};

use dfo_ls::Start;
use imaging::{Field, Grid, quality};
use lowlevel::{ErrorBound, Solver, State, Stop, StronglyConvex};

use crate::checkpoint::Reconstructions;
use crate::lower::{LowerLevel, Reconstruction, reconstruct};
use crate::oracle::for_each;
use crate::problem::{LearningProblem, Pair};
use crate::workspace::Workspace;

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

/// Reconstructions that are scored are this close to the exact ones, as a root mean square.
const ERROR: f64 = 1e-3;
/// Enough iterations for any problem that was worth learning from.
const MAX_ITERATIONS: u64 = 100_000;

/// A pair, reconstructed and compared with the truth.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Scored {
    /// The reconstruction, if there is one.
    pub reconstruction: Option<Reconstruction>,
    /// How good it is.
    pub score: Score,
}

/// The pairs of a learning problem, reconstructed with the learned parameters.
#[derive(Clone, Debug, Default)]
pub struct ScoredImages {
    /// The training pairs.
    pub training: Vec<Scored>,
    /// The pairs held out.
    pub validation: Vec<Scored>,
}

impl Scored {
    fn new(pair: &Pair, reconstruction: Option<Reconstruction>) -> Self {
        let Pair { grid, truth, data } = pair;
        let comparable = grid.field() == Field::Real && data.len() == truth.len();
        let made = reconstruction.as_ref();
        let score = Score {
            before: comparable
                .then(|| Quality::of(data, truth, *grid))
                .flatten(),
            after: made.and_then(|made| Quality::of(&made.x, truth, *grid)),
            error: made
                .map(|made| made.solved.error.value() / size(*grid))
                .filter(|error| error.is_finite()),
        };
        Self {
            reconstruction,
            score,
        }
    }
}

/// What makes a root mean square of a norm.
fn size(grid: Grid) -> f64 {
    (grid.num_samples() as f64).sqrt()
}

/// When a reconstruction that is scored ends.
fn stop(grid: Grid) -> Stop {
    let target = ErrorBound::new(ERROR * size(grid)).unwrap_or(ErrorBound::UNKNOWN);
    Stop::accuracy(target).with_max_iterations(MAX_ITERATIONS)
}

/// Reconstructs a pair, to a root mean square error of `$10^{-3}$`, and compares with the truth.
#[must_use]
pub fn score<M: LowerLevel>(model: &M, values: &[f64], pair: &Pair, solver: Solver<'_>) -> Scored {
    let (grid, data) = (pair.grid, &pair.data);
    let made = reconstruct(model, values, grid, data, solver, stop(grid)).ok();
    Scored::new(pair, made)
}

impl<M: LowerLevel> LearningProblem<M> {
    /// Reconstructs all pairs with these values of the parameters. Training pairs continue from
    /// `known` reconstructions with the same values. Where the model panics, there is no
    /// reconstruction.
    pub(crate) fn score_all(&self, values: &[f64], known: Option<Reconstructions>) -> ScoredImages {
        let start = known.map_or(Start::Cold, Start::Refine);
        ScoredImages {
            training: self.score_each(&self.pairs, &self.data, values, |index, state| {
                self.begin(&start, index, state);
            }),
            validation: {
                let (pairs, data) = (&self.setup.validation, &self.validation);
                self.score_each(pairs, data, values, |index, state| {
                    self.begin_cold(&data[index], pairs[index].truth.len(), state);
                })
            },
        }
    }

    fn score_each(
        &self,
        pairs: &[Pair],
        data: &[M::Data],
        values: &[f64],
        begin: impl Fn(usize, &mut State) + Sync,
    ) -> Vec<Scored> {
        let reconstruct = |index: usize| -> Option<Reconstruction> {
            let grid = pairs[index].grid;
            let objective = self.model.objective(values, &data[index]).ok()?;
            let mut workspace = self.workspaces.take(grid);
            let Workspace { state, scratch, .. } = &mut workspace;
            let scratch = scratch.get_or_insert_with(|| objective.scratch());
            begin(index, state);
            let solver = self.setup.solver();
            let solved = (solver.refine(&objective, stop(grid), state, scratch)).ok()?;
            let x = state.point().to_vec();
            self.workspaces.put_back(workspace);
            Some(Reconstruction { x, solved })
        };
        for_each((0..pairs.len()).collect(), |index: usize| {
            let made = catch_unwind(AssertUnwindSafe(|| reconstruct(index)));
            // what was learned must not be lost because of a panic
            Scored::new(&pairs[index], made.unwrap_or(None))
        })
    }
}
