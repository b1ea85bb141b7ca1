//! The quality of reconstructions from masks, and the comparison of a learned mask with others.

use imaging::quality::{self, QualityError};
use imaging::{Grid, TvParameters};

use super::{MaskError, MaskKind, MaskOptions, MaskPoint, MaskProblem, is_inside};
use crate::search::SetOracle;

/// The quality of the modulus of a reconstruction. The peak is the largest modulus of the truth.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct MaskScore {
    /// The PSNR of the whole picture in decibels.
    pub psnr: f64,
    /// The SSIM of the whole picture; `None` for pictures with less than 11 rows or columns.
    pub ssim: Option<f64>,
    /// The PSNR of the pixels inside the object; see [`is_inside`].
    pub psnr_inside: f64,
    /// The SSIM of the pixels inside the object.
    pub ssim_inside: Option<f64>,
}

impl MaskScore {
    /// Compares a complex picture with its truth.
    ///
    /// # Errors
    /// When the pictures have other sizes, are not finite, or the truth is zero.
    pub fn of(grid: Grid, x: &[f64], truth: &[f64]) -> Result<Self, QualityError> {
        let modulus = |picture: &[f64]| -> Vec<f64> {
            let (samples, _) = picture.as_chunks::<2>();
            samples.iter().map(|s| s[0].hypot(s[1])).collect()
        };
        let inside = is_inside(grid, truth);
        let (rows, cols) = grid.rows_and_cols();
        let (x, truth) = (modulus(x), modulus(truth));
        let peak = truth.iter().copied().fold(0.0, f64::max);
        let only = |picture: &[f64]| -> Vec<f64> {
            let all = picture.iter().zip(&inside);
            all.filter(|(_, inside)| **inside)
                .map(|(value, _)| *value)
                .collect()
        };
        let optional = |ssim: Result<f64, QualityError>| match ssim {
            Ok(ssim) => Ok(Some(ssim)),
            Err(QualityError::SmallerThanWindow { .. } | QualityError::Empty) => Ok(None),
            Err(error) => Err(error),
        };
        Ok(Self {
            psnr: quality::psnr(&x, &truth, peak)?,
            ssim: optional(quality::ssim(&x, &truth, rows, cols, peak))?,
            psnr_inside: quality::psnr(&only(&x), &only(&truth), peak)?,
            ssim_inside: optional(quality::ssim_inside(&x, &truth, rows, cols, peak, &inside))?,
        })
    }

    /// Returns the means of several scores.
    #[must_use]
    pub fn mean(scores: &[Self]) -> Self {
        let count = scores.len() as f64;
        let mean = |of: &dyn Fn(&Self) -> f64| scores.iter().map(of).sum::<f64>() / count;
        let optional = |of: &dyn Fn(&Self) -> Option<f64>| {
            let all: Option<Vec<f64>> = scores.iter().map(of).collect();
            all.map(|all| all.iter().sum::<f64>() / count)
        };
        Self {
            psnr: mean(&|score| score.psnr),
            ssim: optional(&|score| score.ssim),
            psnr_inside: mean(&|score| score.psnr_inside),
            ssim_inside: optional(&|score| score.ssim_inside),
        }
    }
}

/// A mask of a comparison, with its own parameters.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct ComparedMask {
    /// Its name.
    pub name: String,
    /// Its elements.
    pub set: Vec<bool>,
    /// The weight of the regulariser, tuned for this mask.
    pub alpha: f64,
    /// The smoothing of the regulariser.
    pub nu: f64,
    /// The weight of the quadratic term.
    pub xi: f64,
    /// The relative weights of filters; without any, the regulariser is total variation.
    pub filters: Vec<f64>,
    /// The scores of all slices of the comparison, which may be held-out ones. For the mean over
    /// several random masks, each is a mean, too.
    pub scores: Vec<MaskScore>,
    /// The number of masks that the scores are the mean of.
    pub num_masks: usize,
}

impl ComparedMask {
    /// Returns the parameters `alpha`, `nu` and `xi`.
    #[must_use]
    pub const fn tv(&self) -> TvParameters {
        TvParameters {
            alpha: self.alpha,
            nu: self.nu,
            xi: self.xi,
        }
    }
}

/// The exponents of random masks that are tried, and the number of masks for each; a choice.
const EXPONENTS: [f64; 6] = [2.0, 3.0, 4.0, 5.0, 6.0, 8.0];
const SEEDS: std::ops::Range<u64> = 0..4;
/// The width of the interval of the objective with which slices are scored, as a share of it: PSNRs
/// are within 0.005 dB.
const SCORE_WIDTH: f64 = 1e-3;

impl MaskProblem {
    /// Reconstructs all slices for a mask with the given parameters, accurately enough to score
    /// them.
    ///
    /// # Errors
    /// When the mask does not fit, or a reconstruction fails.
    pub fn scored(
        &mut self,
        set: &[bool],
        tv: TvParameters,
    ) -> Result<(MaskPoint, Vec<MaskScore>), MaskError> {
        let mut point = self.evaluate_at(set, tv, None, f64::INFINITY)?;
        let width = SCORE_WIDTH * self.interval(&point).upper;
        self.sharpen(&mut point, width)?;
        let scores = self.scores(&point)?;
        Ok((point, scores))
    }

    /// Scores the reconstructions of a point.
    ///
    /// # Errors
    /// When a reconstruction is not finite.
    pub fn scores(&self, point: &MaskPoint) -> Result<Vec<MaskScore>, MaskError> {
        let pictures = point.reconstructions().zip(&self.slices);
        let score = |(x, slice): (&[f64], &super::Slice)| {
            MaskScore::of(self.grid(), x, &slice.truth)
                .map_err(|error| MaskError::Failed(Box::new(error)))
        };
        pictures.map(score).collect()
    }

    /// Compares a mask with low-pass, equispaced and random masks of the same size and centre, on
    /// the slices of `held_out`, or on those of this problem if there is none. For each mask,
    /// `alpha` is tuned on the slices of this problem, and so is `nu` unless it is fixed; for
    /// random masks, so is the exponent of their density. All masks have the filters of the learned
    /// one.
    ///
    /// The rows are: the mask itself, the best random mask on the slices of this problem, the mean
    /// of random masks with the best exponent, the low-pass mask, the equispaced mask.
    ///
    /// # Errors
    /// When a reconstruction fails.
    pub fn compare(
        &mut self,
        mut held_out: Option<&mut Self>,
        options: &MaskOptions,
        learned: &MaskPoint,
    ) -> Result<Vec<ComparedMask>, MaskError> {
        let tv = learned.tv();
        self.use_filters(learned.filters())?;
        if let Some(held_out) = held_out.as_deref_mut() {
            held_out.use_filters(learned.filters())?;
        }
        let mut rows = vec![self.row(held_out.as_deref_mut(), "learned", learned.set(), tv)?];
        let mut random: Vec<(f64, f64, MaskPoint)> = Vec::new();
        for exponent in EXPONENTS {
            for seed in SEEDS {
                let kind = MaskKind::VariableDensity { exponent, seed };
                let set = self
                    .pattern()
                    .mask(self.grid(), options.size, options.centre, kind);
                let point = self.evaluate_at(&set, tv, None, f64::INFINITY)?;
                random.push((self.interval(&point).upper, exponent, point));
            }
        }
        let best = random.iter().min_by(|a, b| a.0.total_cmp(&b.0));
        let mean = |exponent: f64| -> f64 {
            let own = random
                .iter()
                .filter(|(_, own, _)| own.total_cmp(&exponent).is_eq());
            own.map(|(upper, ..)| upper).sum()
        };
        let exponent = EXPONENTS
            .into_iter()
            .min_by(|a, b| mean(*a).total_cmp(&mean(*b)));
        if let (Some((_, best_exponent, point)), Some(exponent)) = (best, exponent) {
            let mut point = point.clone();
            self.tune_parameters(&mut point)?;
            let name = format!(
                "variable density, best of {} (exponent {best_exponent})",
                random.len()
            );
            rows.push(self.row(held_out.as_deref_mut(), &name, point.set(), point.tv())?);
            let name = format!("variable density, exponent {exponent}");
            let own = random
                .iter()
                .filter(|(_, own, _)| own.total_cmp(&exponent).is_eq());
            let mut of_masks = Vec::new();
            for (.., mask) in own {
                let held_out = held_out.as_deref_mut();
                of_masks.push(self.row(held_out, &name, mask.set(), point.tv())?);
            }
            rows.extend(mean_row(of_masks));
        }
        for (name, kind) in [
            ("low-pass", MaskKind::LowPass),
            ("equispaced", MaskKind::Equispaced),
        ] {
            let set = self
                .pattern()
                .mask(self.grid(), options.size, options.centre, kind);
            let point = self.tuned(&set, tv)?;
            rows.push(self.row(held_out.as_deref_mut(), name, &set, point.tv())?);
        }
        Ok(rows)
    }

    /// Scores a mask on the slices of `held_out`, or on those of this problem.
    fn row(
        &mut self,
        held_out: Option<&mut Self>,
        name: &str,
        set: &[bool],
        tv: TvParameters,
    ) -> Result<ComparedMask, MaskError> {
        let (point, scores) = held_out.unwrap_or(self).scored(set, tv)?;
        Ok(ComparedMask {
            name: name.to_owned(),
            set: set.to_vec(),
            alpha: tv.alpha,
            nu: tv.nu,
            xi: tv.xi,
            filters: point.filters().to_vec(),
            scores,
            num_masks: 1,
        })
    }
}

/// Returns the first of several rows, with the mean of all scores.
fn mean_row(rows: Vec<ComparedMask>) -> Option<ComparedMask> {
    let num_masks = rows.len();
    let num_slices = rows.first()?.scores.len();
    let mean = |slice: usize| {
        let all: Vec<MaskScore> = rows.iter().map(|row| row.scores[slice]).collect();
        MaskScore::mean(&all)
    };
    let scores = (0..num_slices).map(mean).collect();
    let first = rows.into_iter().next()?;
    Some(ComparedMask {
        name: format!("{}, mean of {num_masks} masks", first.name),
        scores,
        num_masks,
        ..first
    })
}
