//! A filter bank on a grid, as a regulariser.

use std::sync::Arc;

use pulp::{Simd, WithSimd};

use super::FilterBank;
use super::TwoRoots;
use super::basis::MAX_FILTERS;
use super::sweep::{Lanes, Plane, Position, Responses, STRIP, Sweep};
use super::vector::{Aligned, DOUBLE_SLOPE, Real, SINGLE_SLOPE};
use crate::error::{ModelError, check_not_colour, check_not_volume};
use crate::fingerprint::{self, NumberHash};
use crate::grid::{Field, Grid};
use crate::model::dispatch;
use crate::regularizer::{Regularizer, RegularizerHessian};

/// A [`FilterBank`] on the grid of a picture, as the regulariser of a
/// [`Variational`](crate::Variational) model.
///
/// On complex pictures, the potential sees the modulus of the response. The two parts of the chroma
/// are coupled in this way ([`Opponent`](crate::Opponent)). A line counts as a picture with one
/// row.
///
/// ```
/// use imaging::{FilterBank, FilterRegularizer, Grid, Identity, TwoRoots, Variational, Weights};
/// use imaging::{Seed, noise, phantom, quality};
/// use lowlevel::{ErrorBound, Solver, State, Stop, StronglyConvex};
///
/// let truth = phantom::dead_leaves(32, 32, Seed::new(1), 0)?;
/// let noisy = noise::gaussian(&truth, 0.1, Seed::new(1), 0)?;
/// let potential = TwoRoots { alpha: 0.03, nu: 0.02, beta: 0.02, omega: 0.1 };
/// let bank = FilterBank::dct(3, vec![potential; 8])?;
/// assert!(bank.weak_convexity() < 1.0);
///
/// let grid = Grid::image(32, 32);
/// let filters = FilterRegularizer::new(bank, grid)?;
/// let objective =
///     Variational::new(Identity::new(grid), &noisy, Weights::Uniform, filters, 1.0, 0.0)?;
/// let mut state = State::new(noisy.clone());
/// let stop = Stop::accuracy(ErrorBound::new(1e-3)?);
/// let solved =
///     Solver::default().minimize(&objective, stop, &mut state, &mut objective.scratch())?;
/// assert!(solved.error.value() <= 1e-3);
/// assert!(quality::mse(state.point(), &truth)? < 0.7 * quality::mse(&noisy, &truth)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct FilterRegularizer {
    pub(super) bank: Arc<FilterBank>,
    pub(super) grid: Grid,
}

impl FilterRegularizer {
    /// Puts a bank on a grid.
    ///
    /// # Errors
    /// If the grid is empty or has colours.
    pub fn new(bank: impl Into<Arc<FilterBank>>, grid: Grid) -> Result<Self, ModelError> {
        if grid.is_empty() {
            return Err(ModelError::EmptyGrid);
        }
        check_not_colour(grid)?;
        check_not_volume(grid)?;
        let bank = bank.into();
        Ok(Self { bank, grid })
    }

    /// The filter bank.
    #[must_use]
    pub fn bank(&self) -> &FilterBank {
        &self.bank
    }

    pub(super) fn sweep(&self) -> Sweep<'_> {
        Sweep {
            basis: &self.bank.basis,
            grid: self.grid,
        }
    }
}

/// The planes of two pictures with `P` parts per sample, where `PAIR` is twice `P`.
pub(super) fn pairs<'a, const P: usize, const PAIR: usize>(
    first: &'a [f64],
    second: &'a [f64],
) -> [Plane<'a>; PAIR] {
    std::array::from_fn(|index| Plane {
        samples: if index < P { first } else { second },
        part: index % P,
        num_parts: P,
    })
}

/// The responses of two pictures.
#[inline(always)]
pub(super) fn split<T: Real, const P: usize, const PAIR: usize>(
    responses: &mut [Responses<T>; PAIR],
) -> [&mut [Responses<T>; P]; 2] {
    let (first, second) = responses.split_at_mut(P);
    let both = [first.first_chunk_mut(), second.first_chunk_mut()];
    both.map(|planes| planes.expect("each picture has P planes"))
}

/// The planes of a picture with `P` parts per sample.
pub(super) fn planes<const P: usize>(samples: &[f64]) -> [Plane<'_>; P] {
    std::array::from_fn(|part| Plane {
        samples,
        part,
        num_parts: P,
    })
}

/// Evaluates an expression for the number of parts of a sample as a constant, and optionally twice
/// that number.
macro_rules! with_parts {
    ($grid:expr, $parts:ident $(, $pair:ident)? => $result:expr) => {
        match $grid.field() {
            Field::Real => {
                const $parts: usize = 1;
                $(const $pair: usize = 2;)?
                $result
            }
            Field::Complex => {
                const $parts: usize = 2;
                $(const $pair: usize = 4;)?
                $result
            }
            Field::Colour => unreachable!("filter banks refuse grids of colours"),
        }
    };
}
pub(super) use with_parts;

impl FilterBank {
    /// Bounds the rounding error of a response of filter `$k$` at a pixel, in units of
    /// `$u\,s\|c_k\|$` times the largest modulus of a pixel.
    ///
    /// The transforms along rows and columns make at most `$2(s + 4)$` roundings, with intermediate
    /// results that are no larger than `$|c_k| * |x|$`. A part of a learned filter combines `$n$`
    /// of them, which makes up to `$n + 1$` further roundings, and the parts of a slanted filter
    /// are added. Errors are multiplied by the moduli of the coefficients.
    pub(super) fn roundings(&self) -> f64 {
        let transforms = 2.0 * (self.basis.size as f64 + 4.0);
        self.mixing.as_ref().map_or(transforms, |mixing| {
            let [count, moduli] = mixing.spread();
            (transforms + count + 2.0) * moduli
        })
    }

    /// Calls `visit` with the index of every filter of the bank and its responses, which it may
    /// change, given the responses of the basis. Learned filters need the memory `mixed`.
    #[inline(always)]
    pub(super) fn visit<T: Real, S: Simd, const P: usize>(
        &self,
        simd: S,
        responses: &mut [Responses<T>; P],
        mixed: &mut [Responses<T>; P],
        mut visit: impl FnMut(usize, [&mut Lanes<T>; P]),
    ) {
        if let Some(mixing) = &self.mixing {
            for (mixed, responses) in mixed.iter_mut().zip(&*responses) {
                mixing.combine(simd, responses, mixed);
            }
            for k in 0..self.potentials.len() {
                visit(k, mixed.each_mut().map(|part| &mut part[k + 1]));
            }
        } else {
            for k in 0..self.potentials.len() {
                visit(k, responses.each_mut().map(|part| &mut part[k + 1]));
            }
        }
    }

    /// Does the same, and leaves the transposed transform of the changed numbers in `responses`,
    /// without the constant filter.
    #[inline(always)]
    pub(super) fn change<T: Real, S: Simd, const P: usize>(
        &self,
        simd: S,
        responses: &mut [Responses<T>; P],
        mixed: &mut [Responses<T>; P],
        change: impl FnMut(usize, [&mut Lanes<T>; P]),
    ) {
        self.visit(simd, responses, mixed, change);
        self.transpose(simd, responses, mixed);
    }

    /// Overwrites `responses` with the transposed transform of the numbers in which
    /// [`visit`](Self::visit) left the responses of the bank, without the constant filter.
    #[inline(always)]
    pub(super) fn transpose<T: Real, S: Simd, const P: usize>(
        &self,
        simd: S,
        responses: &mut [Responses<T>; P],
        mixed: &mut [Responses<T>; P],
    ) {
        if let Some(mixing) = &self.mixing {
            for (responses, mixed) in responses.iter_mut().zip(mixed) {
                mixing.combine_transposed(simd, mixed, responses);
            }
        }
        for part in responses {
            part[0] = [T::default(); STRIP];
        }
    }
}

/// Memory for the responses of learned filters.
pub(super) const fn no_responses<T: Real, const P: usize>(zero: T) -> Aligned<[Responses<T>; P]> {
    Aligned([[[zero; STRIP]; MAX_FILTERS]; P])
}

/// Replaces responses `$u$` by `$\varphi'(|u|)u/|u|$`.
#[inline(always)]
fn flux<T: Real, const P: usize>(slope: &T::Slope, response: [&mut Lanes<T>; P]) {
    let mut squares = [T::default(); STRIP];
    for part in &response {
        for (square, u) in squares.iter_mut().zip(&**part) {
            *square += *u * *u;
        }
    }
    for square in &mut squares {
        *square = T::slope_at(slope, *square);
    }
    for part in response {
        for (u, scale) in part.iter_mut().zip(&squares) {
            *u = *u * *scale;
        }
    }
}

/// Replaces the responses of all filters by the slopes of their potentials.
struct Fluxes<'a, T: Real, const P: usize> {
    bank: &'a FilterBank,
    slopes: &'a [T::Slope],
    responses: &'a mut [Responses<T>; P],
    mixed: &'a mut [Responses<T>; P],
}

impl<T: Real, const P: usize> WithSimd for Fluxes<'_, T, P> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        self.bank.change(
            simd,
            self.responses,
            self.mixed,
            #[inline(always)]
            |k, response| flux::<T, P>(&self.slopes[k], response),
        );
    }
}

/// Adds up the potentials of all responses.
struct Values<'a, const P: usize> {
    bank: &'a FilterBank,
    count: usize,
    responses: &'a mut [Responses; P],
    mixed: &'a mut [Responses; P],
}

impl<const P: usize> WithSimd for Values<'_, P> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f64 {
        let mut sums = [0.0; STRIP];
        self.bank.visit(
            simd,
            self.responses,
            self.mixed,
            #[inline(always)]
            |k, response| {
                let p = self.bank.potentials[k];
                for (lane, sum) in sums.iter_mut().enumerate() {
                    *sum += p.value_of_square(square(&response, lane));
                }
            },
        );
        sums[..self.count].iter().sum()
    }
}

/// Returns the square of the modulus of a response.
#[inline(always)]
pub(super) fn square<T: Real, const P: usize>(response: &[&mut Lanes<T>; P], lane: usize) -> T {
    let mut sum = response[0][lane] * response[0][lane];
    for part in &response[1..] {
        sum += part[lane] * part[lane];
    }
    sum
}

impl FilterRegularizer {
    fn add_gradient_of_parts<T: Real, const P: usize>(
        &self,
        weight: f64,
        x: &[f64],
        gradient: &mut [f64],
    ) {
        let bank = &*self.bank;
        let mut slopes = [T::slope(0.0, TwoRoots::convex(0.0, 1.0)); MAX_FILTERS];
        for (slope, potential) in slopes.iter_mut().zip(&bank.potentials) {
            *slope = T::slope(weight, *potential);
        }
        let mut mixed = no_responses(T::default());
        let kernel = |_: Position, responses: &mut [Responses<T>; P]| {
            dispatch(Fluxes {
                bank,
                slopes: &slopes,
                responses,
                mixed: &mut mixed,
            });
        };
        self.sweep().add::<T, P>(planes(x), gradient, kernel);
    }

    fn value_of_parts<const P: usize>(&self, x: &[f64]) -> f64 {
        let mut sum = 0.0;
        let mut mixed = no_responses(0.0);
        self.sweep().read::<P>(planes(x), |position, responses| {
            sum += dispatch(Values {
                bank: &self.bank,
                count: position.count,
                responses,
                mixed: &mut mixed,
            });
        });
        sum
    }
}

impl FilterRegularizer {
    /// Bounds the error of a gradient in unit roundoffs.
    ///
    /// A response has the rounding error of `FilterBank::roundings`, with a vector
    /// `$|c_k| * |x|$` whose norm is at most `$\|c_k\|_1\|x\| \le s\|c_k\|\|x\|$`. A potential
    /// multiplies errors of its argument by at most its curvature, and makes errors of `of_slope`
    /// unit roundoffs relative to its slope, which is at most `$\alpha_k$`. The transposed
    /// transforms make as many roundings, and `$s^2$` for the sum over the filters.
    pub(super) fn gradient_roundings(&self, x_norm: f64, of_slope: f64) -> f64 {
        let bank = &*self.bank;
        let filters = bank.potentials.iter().zip(&bank.norms);
        let back: f64 = filters.map(|(p, norm)| (p.alpha + p.beta) * norm).sum();
        let samples = (self.grid.num_samples() as f64).sqrt();
        bank.norm_squared.sqrt() * self.slope_roundings(x_norm, of_slope)
            + self.roundings_back() * back * samples
    }

    /// Bounds the error of the slopes of the potentials of all responses, which is part of that of
    /// a gradient.
    pub(super) fn slope_roundings(&self, x_norm: f64, of_slope: f64) -> f64 {
        let bank = &*self.bank;
        let sum_of_squares = |term: fn(&TwoRoots, f64) -> f64| {
            let filters = bank.potentials.iter().zip(&bank.norms);
            let squares = filters.map(|(potential, norm)| term(potential, *norm).powi(2));
            squares.sum::<f64>().sqrt()
        };
        let arguments = sum_of_squares(|p, norm| p.largest_curvature() * norm);
        let slopes = sum_of_squares(|p, _| p.alpha + p.beta);
        let samples = (self.grid.num_samples() as f64).sqrt();
        bank.roundings() * bank.basis.size as f64 * arguments * x_norm + of_slope * slopes * samples
    }

    /// Bounds the error of the transposed transforms, relative to the sum of the norms of the
    /// filters times those of their numbers.
    pub(super) fn roundings_back(&self) -> f64 {
        let size = self.bank.basis.size as f64;
        (self.bank.roundings() + size * size) * size
    }
}

impl Regularizer for FilterRegularizer {
    fn dim(&self) -> usize {
        self.grid.len()
    }

    fn value(&self, x: &[f64]) -> f64 {
        with_parts!(self.grid, P => self.value_of_parts::<P>(x))
    }

    fn add_gradient(&self, weight: f64, x: &[f64], gradient: &mut [f64]) {
        with_parts!(self.grid, P => self.add_gradient_of_parts::<f64, P>(weight, x, gradient));
    }

    /// In single precision.
    fn add_rough_gradient(&self, weight: f64, x: &[f64], gradient: &mut [f64]) {
        with_parts!(self.grid, P => self.add_gradient_of_parts::<f32, P>(weight, x, gradient));
    }

    fn lipschitz(&self) -> f64 {
        self.bank.lipschitz
    }

    fn weak_convexity(&self) -> f64 {
        self.bank.weak_convexity
    }

    fn fingerprint(&self) -> Option<u64> {
        let mut hash = NumberHash::new().add(&[self.bank.basis.size as f64]);
        for potential in &self.bank.potentials {
            let TwoRoots {
                alpha,
                nu,
                beta,
                omega,
            } = *potential;
            hash = hash.add(&[alpha, nu, beta, omega]);
        }
        if let Some(mixing) = &self.bank.mixing {
            hash = hash.add(mixing.entries());
        }
        let grid = fingerprint::of_grid(self.grid);
        Some(fingerprint::of_hashes([grid, hash.finish()]))
    }

    fn gradient_rounding(&self, x_norm: f64) -> f64 {
        self.gradient_roundings(x_norm, DOUBLE_SLOPE)
    }

    /// The roundings are those of double precision, and in addition one each of the pixels and of
    /// the taps along rows and columns. Numbers that are too small for single precision are lost;
    /// those of every filter and pixel count as the smallest normal number. There is no bound for
    /// numbers that are very large or small.
    fn rough_rounding(&self, x_norm: f64) -> Option<f64> {
        const UNIT: f64 = 0.5 * f32::EPSILON as f64;
        let bank = &*self.bank;
        let is_moderate = |p: &TwoRoots| p.nu >= 1e-12 && p.omega <= 1e12 && p.alpha <= 1e12;
        if !(x_norm <= 1e12 && bank.potentials.iter().all(is_moderate)) {
            return None;
        }
        let lost = (bank.potentials.len() * self.grid.len()) as f64 * f64::from(f32::MIN_POSITIVE);
        let largest = bank.potentials.iter().map(|p| p.alpha / p.nu);
        let lost = lost * (1.0 + largest.fold(0.0, f64::max)) * bank.norm_squared.sqrt();
        Some(1.2 * UNIT * self.gradient_roundings(x_norm, SINGLE_SLOPE) + 16.0 * lost)
    }

    fn hessian(&self) -> Option<&dyn RegularizerHessian> {
        Some(self)
    }
}
