//! The quality of reconstructions, compared with the truth.

use std::panic::{AssertUnwindSafe, catch_unwind};

use dfo_ls::Start;
use imaging::noise::Anscombe;
use imaging::{Field, Grid, quality};
use lowlevel::adjoint::AdjointStop;
use lowlevel::{ErrorBound, Solver, State, Stop, StronglyConvex};

use crate::checkpoint::Reconstructions;
use crate::criterion::WithoutTruth;
use crate::lower::{LowerLevel, Reconstruction, reconstruct};
use crate::oracle::for_each;
use crate::problem::{LearningProblem, Pair};
use crate::ranks::Ranks;
use crate::workspace::Workspace;

/// The quality of the reconstruction of one pair.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Score {
    /// The quality of the data; `None` unless the data are an image like the truth.
    pub before: Option<Quality>,
    /// The quality of the reconstruction; `None` if it could not be computed.
    pub after: Option<Quality>,
    /// The certified error of the reconstruction as a root mean square over its samples: its
    /// distance from the exact reconstruction is at most this.
    pub error: Option<f64>,
    /// The estimate of the error that parameters were learned with; `None` if they were learned
    /// from the truth, and for held-out pairs.
    pub estimate: Option<ErrorEstimate>,
}

/// An estimate of the error of a reconstruction from the data alone.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct ErrorEstimate {
    /// The estimated mean squared difference between the data of the reconstruction and the data
    /// without noise; for denoising, between the reconstruction and the truth. It may be negative.
    pub mse: f64,
    /// The standard deviation of the noise: as given for SURE, as estimated by GCV.
    pub sigma: f64,
}

impl ErrorEstimate {
    /// Returns the estimated peak signal-to-noise ratio in dB; `None` if the estimated error is not
    /// positive.
    #[must_use]
    pub fn psnr(self) -> Option<f64> {
        (self.mse > 0.0).then(|| -10.0 * self.mse.log10())
    }
}

impl Score {
    /// Returns the scores of all ranks, in the order of the ranks. If a rank cannot be reached,
    /// only those of this rank are known.
    pub(crate) fn gather(ranks: &Ranks, own: Vec<Self>) -> Vec<Self> {
        let numbers: Vec<f64> = own.iter().flat_map(|score| score.to_numbers()).collect();
        match ranks.gather(&numbers) {
            Ok(all) => {
                let all = all.concat();
                all.as_chunks().0.iter().map(Self::from_numbers).collect()
            }
            Err(_) => own,
        }
    }

    fn to_numbers(self) -> [f64; 9] {
        let [before, after] = [self.before, self.after].map(|quality| {
            quality.map_or([f64::NAN; 3], |quality| {
                [Some(quality.mse), quality.psnr, quality.ssim].map(|x| x.unwrap_or(f64::NAN))
            })
        });
        let error = self.error.unwrap_or(f64::NAN);
        let [a, b, c] = before;
        let [d, e, f] = after;
        let [mse, sigma] = (self.estimate).map_or([f64::NAN; 2], |made| [made.mse, made.sigma]);
        [a, b, c, d, e, f, error, mse, sigma]
    }

    fn from_numbers(numbers: &[f64; 9]) -> Self {
        let known = |number: f64| Some(number).filter(|number| !number.is_nan());
        let [a, b, c, d, e, f, error, mse, sigma] = *numbers;
        let quality = |[mse, psnr, ssim]: [f64; 3]| {
            known(mse).map(|mse| Quality {
                mse,
                psnr: known(psnr),
                ssim: known(ssim),
            })
        };
        Self {
            before: quality([a, b, c]),
            after: quality([d, e, f]),
            error: known(error),
            estimate: known(mse).map(|mse| ErrorEstimate { mse, sigma }),
        }
    }
}

/// The quality of an image with values in `$[0, 1]$`, compared with the truth.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Quality {
    /// The mean squared error.
    pub mse: f64,
    /// The peak signal-to-noise ratio in dB; `None` if the images are equal.
    pub psnr: Option<f64>,
    /// The structural similarity, the mean over channels in colour and over slices of a volume;
    /// `None` for signals, and for images that are too small for it.
    pub ssim: Option<f64>,
}

impl Quality {
    /// Computes the quality of `x`. Returns `None` unless `x` and `truth` are finite and have the
    /// size of `grid`.
    #[must_use]
    pub fn of(x: &[f64], truth: &[f64], grid: Grid) -> Option<Self> {
        if x.len() != grid.len() || truth.len() != grid.len() {
            return None;
        }
        let mse = mean_square(x, truth, grid);
        if !mse.is_finite() {
            return None;
        }
        Some(Self {
            mse,
            psnr: psnr(mse),
            ssim: ssim(x, truth, grid),
        })
    }
}

/// Returns the mean of the squared differences over the samples of `grid`.
fn mean_square(x: &[f64], truth: &[f64], grid: Grid) -> f64 {
    let square: f64 = (x.iter().zip(truth)).map(|(x, t)| (x - t) * (x - t)).sum();
    square / grid.num_intensities() as f64
}

/// Returns the peak signal-to-noise ratio in decibels, or `None` for an error of zero or NaN.
fn psnr(mse: f64) -> Option<f64> {
    (mse > 0.0).then(|| -10.0 * mse.log10())
}

/// The target error of scored reconstructions, as a root mean square: a quarter of a grey level of
/// 8-bit pictures.
const ERROR: f64 = 1e-3;
/// The target error of held-out reconstructions while learning goes on, as a root mean square. It
/// changes a PSNR of 30 dB by at most 0.9 dB; the true error is smaller than the certified one.
const ROUGH_ERROR: f64 = 3e-3;
/// The iteration limit of scored reconstructions. A reconstruction that reaches it is scored with
/// the error that it has.
const MAX_ITERATIONS: u64 = 100_000;

/// The reconstruction of a pair and its score.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Scored {
    /// The reconstruction; `None` if it could not be computed.
    pub reconstruction: Option<Reconstruction>,
    /// The score of the reconstruction.
    pub score: Score,
}

/// The reconstructions of all pairs of a learning problem with the learned parameters, and their
/// scores.
#[derive(Clone, Debug, Default)]
pub struct ScoredImages {
    /// The training pairs.
    pub training: Vec<Scored>,
    /// The held-out pairs.
    pub validation: Vec<Scored>,
}

/// Returns a sample of data as it is shown: one that was not measured is black.
#[must_use]
pub fn shown(sample: f64) -> f64 {
    if sample.is_nan() { 0.0 } else { sample }
}

impl Scored {
    fn new(
        pair: &Pair,
        reconstruction: Option<Reconstruction>,
        estimate: Option<ErrorEstimate>,
        camera: Option<&Anscombe>,
    ) -> Self {
        if let Some(camera) = camera {
            let of_pictures = Self::new(
                &pair.clone().from_camera(camera),
                reconstruction.clone().map(|made| Reconstruction {
                    x: camera.inverse(&made.x),
                    ..made
                }),
                estimate,
                None,
            );
            return Self {
                reconstruction,
                score: of_pictures.score,
            };
        }
        let Pair { grid, truth, data } = pair;
        let comparable = grid.field() != Field::Complex && data.len() == truth.len();
        let computed = reconstruction.as_ref();
        let shown: Vec<f64> = data.iter().map(|value| shown(*value)).collect();
        let score = Score {
            before: comparable
                .then(|| Quality::of(&shown, truth, *grid))
                .flatten(),
            after: computed.and_then(|image| Quality::of(&image.x, truth, *grid)),
            error: computed
                .map(|image| image.solved.error.value() / size(*grid))
                .filter(|error| error.is_finite()),
            estimate,
        };
        Self {
            reconstruction,
            score,
        }
    }
}

/// Returns the structural similarity of a real picture, or the mean over the channels of a picture
/// in colour, or over the slices of a volume.
fn ssim(x: &[f64], truth: &[f64], grid: Grid) -> Option<f64> {
    if grid.num_axes() == 1 || grid.field() == Field::Complex {
        return None;
    }
    let (slices, rows, cols) = grid.slices_rows_and_cols();
    let parts = grid.num_parts();
    let channel = |picture: &[f64], part: usize| -> Vec<f64> {
        picture.iter().skip(part).step_by(parts).copied().collect()
    };
    let mut sum = 0.0;
    let len = parts * rows * cols;
    for (x, truth) in x.chunks_exact(len).zip(truth.chunks_exact(len)) {
        for part in 0..parts {
            let (x, truth) = (channel(x, part), channel(truth, part));
            sum += quality::ssim(&x, &truth, rows, cols, 1.0).ok()?;
        }
    }
    Some(sum / (slices * parts) as f64)
}

/// Returns the divisor that turns a Euclidean norm into a root mean square.
fn size(grid: Grid) -> f64 {
    (grid.num_intensities() as f64).sqrt()
}

/// Returns the stopping rule of scored reconstructions with this root mean square error.
fn stop(grid: Grid, error: f64) -> Stop {
    let target = ErrorBound::new(error * size(grid)).unwrap_or(ErrorBound::UNKNOWN);
    Stop::accuracy(target).with_max_iterations(MAX_ITERATIONS)
}

/// Reconstructs a pair to a root mean square error of `$10^{-3}$` and compares it with the truth.
#[must_use]
pub fn score<M: LowerLevel>(model: &M, values: &[f64], pair: &Pair, solver: Solver<'_>) -> Scored {
    let (grid, data) = (pair.grid, &pair.data);
    let reconstruction = reconstruct(model, values, grid, data, solver, stop(grid, ERROR)).ok();
    Scored::new(pair, reconstruction, None, None)
}

/// Returns the mean of some numbers, or `None` if there are none.
fn mean(numbers: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = numbers.fold((0.0, 0.0), |(sum, count), x| (sum + x, count + 1.0));
    let mean: f64 = sum / count;
    mean.is_finite().then_some(mean)
}

impl<M: LowerLevel> LearningProblem<M> {
    /// Reconstructs all pairs with these values of the parameters. Training pairs continue from the
    /// `known` reconstructions, which must belong to the same values. If the model panics for a
    /// pair, its reconstruction is `None`.
    pub(crate) fn score_all(&self, values: &[f64], known: Option<Reconstructions>) -> ScoredImages {
        let start = known.map_or(Start::Cold, Start::Refine);
        ScoredImages {
            training: self.score_each(
                (&self.pairs, &self.data),
                values,
                ERROR,
                |index, state| self.begin(&start, index, state),
                |index| self.setup.criterion.without_truth(index),
            ),
            validation: self.score_held_out(values, ERROR),
        }
    }

    /// Returns the mean PSNR of the training pairs of all ranks in decibels, from the
    /// `reconstructions` of an evaluation as they are, or `None` if it is not known. All ranks call
    /// this function.
    #[must_use]
    pub fn training_psnr(&self, reconstructions: &Reconstructions) -> Option<f64> {
        let known = reconstructions.checkpoints();
        let own = for_each(
            (0..known.len()).collect(),
            self.model.is_serial(),
            |index: usize| {
                let Pair { grid, truth, .. } = &self.pairs[index];
                let mut workspace = self.workspaces.take(*grid);
                let Workspace { state, image, .. } = workspace.get();
                known[index].start_into(state);
                let x = self.model.window(*grid).cropped(state.point(), image);
                let square = match &self.setup.camera {
                    Some(camera) => mean_square(&camera.inverse(x), &camera.inverse(truth), *grid),
                    None => mean_square(x, truth, *grid),
                };
                psnr(square).unwrap_or(f64::NAN)
            },
        );
        let all = self.ranks.gather(&own).ok()?;
        mean(all.concat().into_iter().filter(|psnr| !psnr.is_nan()))
    }

    /// Returns the mean PSNR of the held-out pairs of all ranks at `theta`, in decibels, or `None`
    /// if there are none. Reconstructions are less accurate than those of the result. All ranks
    /// call this function.
    #[must_use]
    pub fn held_out_psnr(&self, theta: &[f64]) -> Option<f64> {
        let own = self.score_held_out(&self.values(theta), ROUGH_ERROR);
        let own = own.iter().map(|image| image.score).collect();
        let all = Score::gather(&self.ranks, own);
        mean(all.iter().filter_map(|score| score.after?.psnr))
    }

    fn score_held_out(&self, values: &[f64], error: f64) -> Vec<Scored> {
        let (pairs, data) = (&self.setup.validation, &self.validation);
        self.score_each(
            (pairs, data),
            values,
            error,
            |index, state| self.begin_cold(&data[index], pairs[index].grid, state),
            |_| None,
        )
    }

    /// Reconstructs pairs, and estimates their errors where `criterion` returns one.
    fn score_each(
        &self,
        (pairs, data): (&[Pair], &[M::Data]),
        values: &[f64],
        error: f64,
        begin: impl Fn(usize, &mut State) + Sync,
        criterion: impl Fn(usize) -> Option<WithoutTruth> + Sync,
    ) -> Vec<Scored> {
        let reconstruct = |index: usize| -> Option<(Reconstruction, Option<ErrorEstimate>)> {
            let grid = pairs[index].grid;
            let objective = self.model.objective(values, &data[index]).ok()?;
            let mut workspace = self.workspaces.take(grid);
            let Workspace {
                state,
                scratch,
                adjoint,
                image,
                ..
            } = workspace.get();
            let scratch = scratch.get_or_insert_with(|| objective.scratch());
            begin(index, state);
            let solver = self.setup.lower_solver();
            let solved = (solver.refine(&objective, stop(grid, error), state, scratch)).ok()?;
            let window = self.model.window(grid);
            let x = window.cropped(state.point(), image).to_vec();
            let estimate = criterion(index).and_then(|criterion| {
                let probed = self.probed(values, index, objective.dim()).ok()?;
                let at = (state.point(), solved.error);
                adjoint.start_at(&[]);
                let stop = AdjointStop::default();
                let made = probed.evaluate(criterion, &objective, at, stop, adjoint, scratch);
                Some(made.ok()?.estimate())
            });
            Some((Reconstruction { x, solved }, estimate))
        };
        for_each(
            (0..pairs.len()).collect(),
            self.model.is_serial(),
            |index: usize| {
                let reconstruction = catch_unwind(AssertUnwindSafe(|| reconstruct(index)));
                // a panic here must not lose the learned parameters
                let (reconstruction, estimate) = reconstruction.unwrap_or(None).unzip();
                let camera = self.setup.camera.as_ref();
                Scored::new(&pairs[index], reconstruction, estimate.flatten(), camera)
            },
        )
    }
}
