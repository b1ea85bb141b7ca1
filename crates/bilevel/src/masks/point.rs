//! One mask with its reconstructions, and the oracle of a search for masks.

use std::sync::Arc;

use imaging::{CoilFourier, Fourier, FourierPicture, FourierPictureScratch, LinearOperator};
use imaging::{ModelError, TvParameters};
use inexact_lbfgs::Interval;
use lowlevel::adjoint::{AdjointState, AdjointStop, LossAt, solve_adjoint};
use lowlevel::{ErrorBound, Solver, State, Stop, StronglyConvex};

use super::filters::with_filters;
use super::{MaskError, MaskProblem, Slice};
use crate::error::BoxError;
use crate::oracle::for_each;
use crate::search::{SetOracle, is_better};

/// A mask with the parameters of the regulariser, and the reconstructions of all slices.
#[derive(Clone, Debug)]
pub struct MaskPoint {
    set: Vec<bool>,
    /// The weights of all elements, if they are not those of the set.
    relaxed: Option<Vec<f64>>,
    tv: TvParameters,
    /// The relative weights of filters.
    filters: Arc<[f64]>,
    images: Vec<ImagePoint>,
    slopes: Option<Slopes>,
}

/// The reconstruction of one slice.
#[derive(Clone, Debug)]
struct ImagePoint {
    state: State,
    /// The certified error.
    error: f64,
    /// The distance from the truth.
    distance: f64,
    adjoint: AdjointState,
}

/// The derivatives of the objective.
#[derive(Clone, Debug)]
struct Slopes {
    /// With respect to the weight of each element.
    elements: Vec<f64>,
    /// With respect to the decimal logarithms of alpha and nu.
    tv: [f64; 2],
    /// With respect to the relative weights of filters.
    filters: Vec<f64>,
}

/// The first error of a reconstruction without a start, relative to the truth; a choice.
const FIRST_ERROR: f64 = 0.01;
/// The least error that is asked for, relative to the truth; below, rounding matters.
const LEAST_ERROR: f64 = 1e-9;
/// The first step in the decimal logarithm of a parameter, while the set grows and at its end; a
/// choice.
const STEPS: [f64; 2] = [0.3, 0.2];
/// The smallest step in the decimal logarithm of a parameter; a choice.
const LEAST_STEPS: [f64; 2] = [0.14, 0.04];
/// The largest number of trial points of one tuning of a parameter; a choice.
const MAX_TRIALS: usize = 8;
/// The least decrease of the objective by a step of a parameter, while the set grows and at its
/// end, as a share of it; a choice. A decrease of 2e-3 is 0.01 dB.
const LEAST_DECREASES: [f64; 2] = [5e-3, 3e-4];
/// The width of the interval of a trial point, as a share of the objective; a choice.
const TRIAL_WIDTHS: [f64; 2] = [0.05, 0.01];
/// The range of parameters that are learned; a choice.
const RANGES: [[f64; 2]; 2] = [[1e-7, 10.0], [1e-3, 0.1]];

impl MaskPoint {
    /// The elements of the mask.
    #[must_use]
    pub fn set(&self) -> &[bool] {
        &self.set
    }

    /// The parameters `alpha`, `nu` and `xi`.
    #[must_use]
    pub const fn tv(&self) -> TvParameters {
        self.tv
    }

    /// The relative weights of filters; without any, the regulariser is total variation.
    #[must_use]
    pub fn filters(&self) -> &[f64] {
        &self.filters
    }

    /// The reconstructions of all slices.
    pub fn reconstructions(&self) -> impl Iterator<Item = &[f64]> {
        self.images.iter().map(|image| image.state.point())
    }

    /// The interval of the objective, given the squared norms of the truths.
    pub(super) fn interval(&self, squares: &[f64]) -> Interval {
        /// Exceeds the relative rounding error of a distance and of a sum.
        const SLACK: f64 = 1e-11;
        let (mut lower, mut upper) = (0.0, 0.0);
        for (square, image) in squares.iter().zip(&self.images) {
            let least = (image.distance * (1.0 - SLACK) - image.error).max(0.0);
            let most = image.distance * (1.0 + SLACK) + image.error;
            lower += least * least / square;
            upper += most * most / square;
        }
        let count = squares.len() as f64;
        Interval::new(lower / count * (1.0 - SLACK), upper / count * (1.0 + SLACK))
    }

    /// The certified errors of all reconstructions.
    pub fn errors(&self) -> impl Iterator<Item = f64> {
        self.images.iter().map(|image| image.error)
    }
}

impl Slice {
    /// Continues `image` until its error is at most `target`. Returns the work.
    fn solve(
        &self,
        objective: &FourierPicture<'_>,
        image: &mut ImagePoint,
        target: f64,
        scratch: &mut FourierPictureScratch,
    ) -> Result<f64, BoxError> {
        let target = target.max(LEAST_ERROR * self.square.sqrt());
        let stop = Stop::accuracy(ErrorBound::new(target)?);
        let solved = Solver::default().refine(objective, stop, &mut image.state, scratch)?;
        image.error = solved.error.value();
        let entries = image.state.point().iter().zip(&self.truth);
        image.distance = entries.map(|(x, t)| (x - t) * (x - t)).sum::<f64>().sqrt();
        Ok(solved.work)
    }
}

impl MaskProblem {
    /// Evaluates weights of elements that need not be 0 or 1, from a known point near them.
    pub(super) fn evaluate_weights(
        &mut self,
        weights: &[f64],
        near: Option<&MaskPoint>,
    ) -> Result<MaskPoint, BoxError> {
        let set: Vec<bool> = weights.iter().map(|&weight| weight > 0.0).collect();
        let tv = near.map_or(self.start, |near| near.tv);
        let filters = self.filters_near(near);
        self.evaluate_from(&set, Some(weights.to_vec()), tv, filters, near, 1e-4)
    }

    /// Returns the derivatives of the objective with respect to the relative weights of filters.
    pub(super) fn filter_slopes(&mut self, point: &mut MaskPoint) -> Result<Vec<f64>, BoxError> {
        Ok(self.differentiate(point)?.filters)
    }

    /// Returns the derivatives of the objective with respect to the weights of all elements.
    pub(super) fn slopes_of(&mut self, point: &mut MaskPoint) -> Result<Vec<f64>, BoxError> {
        Ok(self.differentiate(point)?.elements)
    }

    /// Returns the weights of all frequencies at a point.
    fn weights_of(&self, point: &MaskPoint) -> Vec<f64> {
        match &point.relaxed {
            None => self.pattern.weights(self.grid(), &point.set),
            Some(weights) => self.pattern.spread(self.grid(), weights),
        }
    }

    /// Evaluates a mask with the given parameters from a known point near it, until the width of
    /// the interval of the objective is at most `width`.
    ///
    /// # Errors
    /// When the mask does not fit or is empty, a parameter is out of range, or a reconstruction
    /// fails.
    pub fn evaluate_at(
        &mut self,
        set: &[bool],
        tv: TvParameters,
        near: Option<&MaskPoint>,
        width: f64,
    ) -> Result<MaskPoint, MaskError> {
        self.pattern.check(self.grid(), set)?;
        let filters = self.filters_near(near);
        Ok(self.evaluate_from(set, None, tv, filters, near, width)?)
    }

    fn filters_near(&self, near: Option<&MaskPoint>) -> Arc<[f64]> {
        near.map_or(&self.filters, |near| &near.filters).clone()
    }

    pub(super) fn evaluate_from(
        &mut self,
        set: &[bool],
        relaxed: Option<Vec<f64>>,
        tv: TvParameters,
        filters: Arc<[f64]>,
        near: Option<&MaskPoint>,
        width: f64,
    ) -> Result<MaskPoint, BoxError> {
        let images = match near {
            Some(near) => near.images.clone(),
            None => {
                let start = ImagePoint {
                    state: State::new(vec![0.0; self.grid().len()]),
                    error: f64::INFINITY,
                    distance: f64::INFINITY,
                    adjoint: AdjointState::new(),
                };
                vec![start; self.slices.len()]
            }
        };
        let mut point = MaskPoint {
            set: set.to_vec(),
            relaxed,
            tv,
            filters,
            images,
            slopes: None,
        };
        self.evaluations += 1;
        self.refine(&mut point, width)?;
        Ok(point)
    }

    /// Continues all reconstructions of a point until the width of the interval is at most `width`.
    fn refine(&mut self, point: &mut MaskPoint, width: f64) -> Result<(), BoxError> {
        let weights = self.weights_of(point);
        let (tv, filters, fixed) = (point.tv, &point.filters, self.fixed_error);
        let fouriers = &self.fouriers;
        let tasks = (self.slices.iter())
            .zip(&mut self.memory)
            .zip(&mut point.images);
        let work = for_each(tasks.collect(), false, |((slice, scratch), image)| {
            let objective = slice.objective(fouriers, &weights, tv, filters)?;
            // (d + e)^2 - (d - e)^2 = 4 d e, divided by the squared norm of the truth
            let wanted = width * slice.square / (4.0 * image.distance);
            let first = FIRST_ERROR * slice.square.sqrt();
            let target = match fixed {
                Some(fixed) => fixed,
                None if wanted < first => wanted,
                None => first,
            };
            slice.solve(&objective, image, target, scratch)
        });
        for work in work {
            self.work += work?;
        }
        Ok(())
    }

    /// Computes the derivatives of the objective at a point, unless they are known.
    fn differentiate(&mut self, point: &mut MaskPoint) -> Result<Slopes, BoxError> {
        if let Some(slopes) = &point.slopes {
            return Ok(slopes.clone());
        }
        let weights = self.weights_of(point);
        let (grid, tv, filters) = (self.grid(), point.tv, &point.filters);
        let fouriers = &self.fouriers;
        let tasks = (self.slices.iter())
            .zip(&mut self.memory)
            .zip(&mut point.images);
        let parts = for_each(tasks.collect(), false, |((slice, scratch), image)| {
            let objective = slice.objective(fouriers, &weights, tv, filters)?;
            slice.slopes(&objective, image, scratch)
        });
        let mut all = vec![0.0; grid.num_samples()];
        let mut slopes = [0.0; 2];
        let mut by_filter = vec![0.0; filters.len()];
        let share = 1.0 / self.slices.len() as f64;
        for (part, slice) in parts.into_iter().zip(&self.slices) {
            let part: SliceSlopes = part?;
            self.work += part.work;
            let scale = -share / slice.square;
            let pairs = all.iter_mut().zip(part.frequencies);
            let pairs = pairs.chain(slopes.iter_mut().zip(part.tv));
            for (sum, product) in pairs.chain(by_filter.iter_mut().zip(part.filters)) {
                *sum += scale * product;
            }
        }
        let log = std::f64::consts::LN_10;
        let slopes = Slopes {
            elements: self.pattern.add_up(grid, &all),
            tv: [log * tv.alpha * slopes[0], log * tv.nu * slopes[1]],
            filters: by_filter,
        };
        point.slopes = Some(slopes.clone());
        Ok(slopes)
    }

    /// Improves alpha, and nu if it is learned, for a final mask.
    pub(super) fn tune_parameters(&mut self, point: &mut MaskPoint) -> Result<(), BoxError> {
        self.tune_one(point, 0, false)?;
        if self.learns_nu {
            self.tune_one(point, 1, false)?;
            self.tune_one(point, 0, false)?;
        }
        Ok(())
    }

    /// Improves one of the parameters, alpha or nu, by steps in the direction of the slope that
    /// certainly decrease the objective.
    fn tune_one(
        &mut self,
        point: &mut MaskPoint,
        index: usize,
        roughly: bool,
    ) -> Result<(), BoxError> {
        let kind = usize::from(!roughly);
        let mut step = STEPS[kind];
        let mut direction = 0.0;
        for _ in 0..MAX_TRIALS {
            if step < LEAST_STEPS[kind] {
                break;
            }
            if direction == 0.0 {
                direction = -self.differentiate(point)?.tv[index].signum();
            }
            let [low, high] = RANGES[index];
            let moved = |value: f64| (value * 10_f64.powf(direction * step)).clamp(low, high);
            let mut tv = point.tv;
            match index {
                0 => tv.alpha = moved(tv.alpha),
                _ => tv.nu = moved(tv.nu),
            }
            if tv == point.tv {
                break;
            }
            let width = TRIAL_WIDTHS[kind] * self.interval(point).upper;
            let (set, relaxed) = (point.set.clone(), point.relaxed.clone());
            let filters = point.filters.clone();
            let mut trial = self.evaluate_from(&set, relaxed, tv, filters, Some(point), width)?;
            if is_better(self, &mut trial, point, LEAST_DECREASES[kind])? {
                *point = trial;
            } else {
                step *= 0.5;
                direction = 0.0;
            }
        }
        Ok(())
    }

    /// Returns the mean squared errors of the reconstructions at all frequencies, relative to the
    /// truths.
    fn errors_at_frequencies(&self, point: &MaskPoint) -> Vec<f64> {
        let grid = self.grid();
        let mut sums = vec![0.0; grid.num_samples()];
        let Ok(fourier) = Fourier::new(grid) else {
            return sums;
        };
        let mut scratch = fourier.scratch();
        let mut transformed = vec![0.0; grid.len()];
        for (slice, image) in self.slices.iter().zip(&point.images) {
            let entries = image.state.point().iter().zip(&slice.truth);
            let error: Vec<f64> = entries.map(|(x, t)| x - t).collect();
            fourier.apply(&error, &mut transformed, &mut scratch);
            let scale = 1.0 / (slice.square * self.slices.len() as f64);
            let (samples, _) = transformed.as_chunks::<2>();
            for (sum, [re, im]) in sums.iter_mut().zip(samples) {
                *sum += scale * (re * re + im * im);
            }
        }
        sums
    }

    /// The squared norms of the truths.
    pub(super) fn squares(&self) -> Vec<f64> {
        self.slices.iter().map(|slice| slice.square).collect()
    }
}

/// The products of an adjoint with the derivatives with respect to all parameters.
struct SliceSlopes {
    frequencies: Vec<f64>,
    tv: [f64; 2],
    filters: Vec<f64>,
    work: f64,
}

impl Slice {
    /// The model of this slice, for these weights of all frequencies.
    pub(super) fn objective<'a>(
        &'a self,
        fouriers: &'a [CoilFourier],
        weights: &[f64],
        tv: TvParameters,
        filters: &[f64],
    ) -> Result<FourierPicture<'a>, ModelError> {
        let fourier = &fouriers[self.fourier];
        let picture = FourierPicture::of_measurement(fourier, &self.data, weights, tv)?;
        with_filters(picture, filters)
    }

    /// Returns the products of the adjoint with all derivatives.
    fn slopes(
        &self,
        objective: &FourierPicture<'_>,
        image: &mut ImagePoint,
        scratch: &mut FourierPictureScratch,
    ) -> Result<SliceSlopes, BoxError> {
        let x = image.state.point();
        let mut gradient = vec![0.0; x.len()];
        let loss = LossAt::squared_distance(x, &self.truth, &mut gradient);
        let error = ErrorBound::new(image.error)?;
        let stop = AdjointStop {
            local_curvature: false,
            ..AdjointStop::default()
        };
        let solved = solve_adjoint(
            objective,
            x,
            error,
            &loss,
            stop,
            &mut image.adjoint,
            scratch,
        )?;
        let q = image.adjoint.adjoint();
        let mut products = vec![0.0; objective.dim() / 2];
        objective.weight_products(x, q, &mut products, scratch);
        let mixed = objective.mixed_products(x, q, scratch);
        Ok(SliceSlopes {
            frequencies: products,
            tv: [mixed.alpha, mixed.nu],
            filters: objective.filter_products(x, q),
            work: solved.work + 4.0,
        })
    }
}

/// The objective of masks, with the parameters of the nearest point.
impl SetOracle for MaskProblem {
    type Point = MaskPoint;

    fn evaluate(
        &mut self,
        set: &[bool],
        near: Option<&MaskPoint>,
        width: f64,
    ) -> Result<MaskPoint, BoxError> {
        let tv = near.map_or(self.start, |near| near.tv);
        Ok(self.evaluate_at(set, tv, near, width)?)
    }

    fn sharpen(&mut self, point: &mut MaskPoint, width: f64) -> Result<(), BoxError> {
        self.refine(point, width)
    }

    fn interval(&self, point: &MaskPoint) -> Interval {
        point.interval(&self.squares())
    }

    fn gains(&mut self, point: &MaskPoint) -> Vec<f64> {
        let errors = self.errors_at_frequencies(point);
        self.pattern.add_up(self.grid(), &errors)
    }

    fn losses(&mut self, point: &mut MaskPoint) -> Result<Vec<f64>, BoxError> {
        let slopes = self.differentiate(point)?;
        Ok(slopes.elements.iter().map(|slope| -slope).collect())
    }

    fn tune(&mut self, point: &mut MaskPoint, roughly: bool) -> Result<(), BoxError> {
        self.tune_one(point, 0, roughly)?;
        if !roughly {
            self.learn_filters(point)?;
        }
        Ok(())
    }
}
