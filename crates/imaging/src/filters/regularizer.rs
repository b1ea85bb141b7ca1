//! A filter bank on a grid, as a regulariser.

use std::sync::Arc;

use super::FilterBank;
use super::TwoRoots;
use super::basis::MAX_FILTERS;
use super::sweep::{Lanes, Plane, Position, Responses, STRIP, Sweep};
use crate::error::ModelError;
use crate::fingerprint::{self, NumberHash};
use crate::grid::{Field, Grid};
use crate::model::{InverseRoot, vectorize};
use crate::regularizer::{Regularizer, RegularizerHessian};

/// A [`FilterBank`] on the grid of a picture, as the regulariser of a
/// [`Variational`](crate::Variational) model.
///
/// On complex pictures, the potential sees the modulus of the response. Two channels of colour can
/// be coupled in this way. A line counts as a picture with one row.
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
/// assert!(quality::mse(state.point(), &truth)? < 0.5 * quality::mse(&noisy, &truth)?);
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
    /// If the grid is empty.
    pub fn new(bank: impl Into<Arc<FilterBank>>, grid: Grid) -> Result<Self, ModelError> {
        if grid.is_empty() {
            return Err(ModelError::EmptyGrid);
        }
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
pub(super) fn split<const P: usize, const PAIR: usize>(
    responses: &mut [Responses; PAIR],
) -> [&mut [Responses; P]; 2] {
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
        }
    };
}
pub(super) use with_parts;

impl FilterBank {
    /// Calls `change` with the index of every filter of the bank and its responses, which it may
    /// change, given the responses of the basis. Then `responses` holds the transposed transform of
    /// the changed numbers, without the constant filter.
    #[inline(always)]
    pub(super) fn change<const P: usize>(
        &self,
        responses: &mut [Responses; P],
        mut change: impl FnMut(usize, [&mut Lanes; P]),
    ) {
        match &self.mixing {
            None => {
                for k in 0..self.potentials.len() {
                    change(k, responses.each_mut().map(|part| &mut part[k + 1]));
                }
            }
            Some(mixing) => {
                let mut mixed = [[[0.0; STRIP]; MAX_FILTERS]; P];
                for (mixed, responses) in mixed.iter_mut().zip(&*responses) {
                    mixing.combine(responses, mixed);
                }
                for k in 0..self.potentials.len() {
                    change(k, mixed.each_mut().map(|part| &mut part[k + 1]));
                }
                for (responses, mixed) in responses.iter_mut().zip(&mixed) {
                    mixing.combine_transposed(mixed, responses);
                }
            }
        }
        for part in responses {
            part[0] = [0.0; STRIP];
        }
    }
}

/// The two roots of a potential, ready for many responses.
#[derive(Clone, Copy)]
pub(super) struct Roots {
    pub(super) first: InverseRoot,
    pub(super) second: InverseRoot,
    pub(super) nu_squared: f64,
    pub(super) omega_squared: f64,
    pub(super) has_second: bool,
}

impl Roots {
    /// The roots of a potential that is multiplied by `weight`.
    #[inline(always)]
    pub(super) fn new(weight: f64, potential: TwoRoots) -> Self {
        Self {
            first: InverseRoot::new(weight * potential.alpha),
            second: InverseRoot::new(weight * potential.beta),
            nu_squared: potential.nu * potential.nu,
            omega_squared: potential.omega * potential.omega,
            has_second: potential.beta > 0.0,
        }
    }
}

/// Returns the square of the modulus of a response.
#[inline(always)]
pub(super) fn square<const P: usize>(response: &[&mut Lanes; P], lane: usize) -> f64 {
    response.iter().map(|part| part[lane] * part[lane]).sum()
}

/// Replaces responses `$u$` by `$\varphi'(|u|)u/|u|$`.
#[inline(always)]
fn flux<const P: usize>(roots: Roots, mut response: [&mut Lanes; P]) {
    for lane in 0..STRIP {
        let square = square(&response, lane);
        let mut scale = roots.first.at(square + roots.nu_squared);
        if roots.has_second {
            scale -= roots.second.at(square + roots.omega_squared);
        }
        for part in &mut response {
            part[lane] *= scale;
        }
    }
}

impl FilterRegularizer {
    fn add_gradient_of_parts<const P: usize>(&self, weight: f64, x: &[f64], gradient: &mut [f64]) {
        let bank = &*self.bank;
        let kernel = |_: Position, responses: &mut [Responses; P]| {
            vectorize(
                #[inline(always)]
                || {
                    bank.change(
                        responses,
                        #[inline(always)]
                        |k, response| flux(Roots::new(weight, bank.potentials[k]), response),
                    );
                },
            );
        };
        self.sweep().add::<P>(planes(x), gradient, kernel);
    }

    fn value_of_parts<const P: usize>(&self, x: &[f64]) -> f64 {
        let mut sum = 0.0;
        self.sweep().read::<P>(planes(x), |position, responses| {
            self.bank.change(responses, |k, response| {
                let potential = self.bank.potentials[k];
                for lane in 0..position.count {
                    sum += potential.value(square(&response, lane).sqrt());
                }
            });
        });
        sum
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
        with_parts!(self.grid, P => self.add_gradient_of_parts::<P>(weight, x, gradient));
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

    /// The transforms along rows and columns make at most `$2(s + 4)$` roundings on the way to a
    /// response, with intermediate results that are no larger than `$|c_k| * |x|$`, a vector whose
    /// norm is at most `$\|c_k\|_1\|x\| \le s\|c_k\|\|x\|$`; a combination of filters makes up to
    /// `$s^2$` more. A potential multiplies errors of its argument by at most its curvature, and
    /// makes errors of `$16u$` relative to its slope, which is at most `$\alpha_k$`. The transposed
    /// transforms make as many roundings, and `$s^2$` for the sum over the filters.
    fn gradient_rounding(&self, x_norm: f64) -> f64 {
        let bank = &*self.bank;
        let size = bank.basis.size as f64;
        let mixing = if bank.mixing.is_some() {
            size * size
        } else {
            0.0
        };
        let roundings = 2.0 * (size + 4.0) + mixing;
        let filters = || bank.potentials.iter().zip(&bank.norms);
        let sum_of_squares = |term: fn(&TwoRoots, f64) -> f64| {
            let squares = filters().map(|(potential, norm)| term(potential, *norm).powi(2));
            squares.sum::<f64>().sqrt()
        };
        let arguments = sum_of_squares(|p, norm| p.largest_curvature() * norm);
        let slopes = sum_of_squares(|p, _| p.alpha + p.beta);
        let back: f64 = filters().map(|(p, norm)| (p.alpha + p.beta) * norm).sum();
        let samples = (self.grid.num_samples() as f64).sqrt();
        let from_responses = roundings * size * arguments * x_norm + 16.0 * slopes * samples;
        bank.norm_squared.sqrt() * from_responses
            + (roundings + size * size) * size * back * samples
    }

    fn hessian(&self) -> Option<&dyn RegularizerHessian> {
        Some(self)
    }
}
