//! The general model with any operator and any regulariser.

use lowlevel::{Curvature, SecondOrder, StronglyConvex};

use super::linearisation::Linearisation;
use super::{Rounding, TvMixed, TvParameters, check_grid, condition_gradient, curvature};
use crate::difference::Differences;
use crate::error::{ModelError, check_not_negative, check_weight};
use crate::fingerprint;
use crate::measurement::Data;
use crate::operator::{LinearOperator, Weights};
use crate::regularizer::{Regularizer, SmoothedTv};

/// The general model
/// `$\Phi(x) = \frac12\|Ax - y\|_S^2 + \alpha R(x) + \frac{\xi}{2}\|x\|^2$` for any operator `$A$`,
/// diagonal `$S \ge 0$` and regulariser `$R$`.
///
/// It works with every operator, boundary and field. Where [`Denoising`](crate::Denoising) applies,
/// that is about twice as fast per iteration. If the data do not determine the unknown (because of
/// a mask, few frequencies or a strong blur), `$\mu$` is little more than `$\xi$`, and the number
/// of iterations grows like `$\sqrt{L/\mu}$`. The operator may also be a reference (`&A`) or shared
/// (`Arc<A>`).
///
/// The example fills a gap in a signal (inpainting), first over the whole space and then with
/// non-negative values:
///
/// ```
/// use imaging::{Differences, Grid, Mask, SmoothedTv, TvParameters, Variational, Weights};
/// use lowlevel::{Domain, ErrorBound, Solver, State, Stop, StronglyConvex};
///
/// let grid = Grid::line(6);
/// let mask = Mask::new(grid, vec![true, true, false, false, true, true])?;
/// let data = [1.0, 1.1, 0.0, 0.0, 1.0, 0.9];
/// let parameters = TvParameters { alpha: 0.1, nu: 0.01, xi: 0.01 };
/// let differences = Differences::IMAGE_OF_PAPER;
/// let objective = Variational::tv(&mask, &data, Weights::Uniform, differences, parameters)?;
///
/// let stop = Stop::accuracy(ErrorBound::new(1e-6)?);
/// let mut state = State::new(data.to_vec());
/// for domain in [Domain::Whole, Domain::NON_NEGATIVE] {
///     let solver = Solver { domain, ..Solver::default() };
///     let solved = solver.minimize(&objective, stop, &mut state, &mut objective.scratch())?;
///     assert!(solved.error.value() <= 1e-6);
///     assert!((state.point()[2] - 1.0).abs() < 0.1); // the gap is filled
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Variational<'a, A, R> {
    pub(super) operator: A,
    data: Data<'a>,
    pub(super) weights: Weights<'a>,
    pub(super) regularizer: R,
    pub(super) alpha: f64,
    pub(super) xi: f64,
    pub(super) curvature: Curvature,
    pub(super) rounding: Rounding,
    /// The number `$\delta$`, if the Hessian without the regulariser is `$\delta I$`.
    pub(super) data_curvature: Option<f64>,
}

/// Working memory of a [`Variational`] model. The first use of second derivatives adds memory for
/// them: five numbers per pixel of a real picture with total variation.
#[derive(Clone, Debug)]
pub struct VariationalScratch<S> {
    pub(super) misfit: Vec<f64>,
    pub(super) operator: S,
    pub(super) linearisation: Linearisation,
}

impl<'a, A: LinearOperator> Variational<'a, A, SmoothedTv> {
    /// Returns the derivatives of the condition number `$L/\mu$` with respect to `$\alpha$`,
    /// `$\nu$` and `$\xi$`.
    #[must_use]
    pub fn tv_condition_gradient(&self) -> TvMixed {
        let at = TvParameters {
            alpha: self.alpha,
            nu: self.regularizer.nu(),
            xi: self.xi,
        };
        let norm_squared = Differences::norm_squared(self.operator.domain());
        condition_gradient(self.curvature, at, norm_squared)
    }

    /// Creates the model with the smoothed total variation as its regulariser.
    ///
    /// # Errors
    /// The same as for [`Variational::new`], and if `nu` is not positive.
    pub fn tv(
        operator: A,
        data: impl Into<Data<'a>>,
        weights: Weights<'a>,
        differences: Differences,
        parameters: TvParameters,
    ) -> Result<Self, ModelError> {
        let tv = SmoothedTv::new(operator.domain(), differences, parameters.nu)?;
        Self::new(operator, data, weights, tv, parameters.alpha, parameters.xi)
    }
}

impl<'a, A: LinearOperator, R: Regularizer> Variational<'a, A, R> {
    /// Creates the model with any regulariser.
    ///
    /// # Errors
    /// If a length does not fit, a number is not finite, a weight or parameter is negative, or the
    /// model is not strongly convex. In the last case a positive `xi` helps.
    pub fn new(
        operator: A,
        data: impl Into<Data<'a>>,
        weights: Weights<'a>,
        regularizer: R,
        alpha: f64,
        xi: f64,
    ) -> Result<Self, ModelError> {
        let (domain, codomain) = (operator.domain(), operator.codomain());
        check_grid(domain)?;
        let data = data.into().checked(codomain.len())?;
        weights.check(codomain.num_samples())?;
        check_weight("alpha", alpha)?;
        check_not_negative("xi", xi)?;
        if regularizer.dim() != domain.len() {
            return Err(ModelError::WrongLength {
                name: "regularizer",
                expected: domain.len(),
                found: regularizer.dim(),
            });
        }
        let gram = operator.gram_spectrum(weights);
        Ok(Self {
            curvature: curvature(gram, alpha, &regularizer, xi)?,
            data_curvature: (gram.min >= gram.max).then_some(gram.min + xi),
            rounding: Rounding {
                operator_norm: operator.gram_spectrum(Weights::Uniform).max.sqrt(),
                largest_weight: weights.range().max,
                roundings: operator.roundings(),
                data_norm: data.norm,
                xi,
            },
            operator,
            data,
            weights,
            regularizer,
            alpha,
            xi,
        })
    }

    /// The operator.
    #[must_use]
    pub const fn operator(&self) -> &A {
        &self.operator
    }

    /// The regulariser.
    #[must_use]
    pub const fn regularizer(&self) -> &R {
        &self.regularizer
    }

    /// Overwrites `scratch.misfit` with `$Ax - y$`.
    pub(super) fn misfit(&self, x: &[f64], scratch: &mut VariationalScratch<A::Scratch>) {
        self.operator
            .apply(x, &mut scratch.misfit, &mut scratch.operator);
        for (misfit, data) in scratch.misfit.iter_mut().zip(self.data.values) {
            *misfit -= data;
        }
    }

    /// Overwrites `out` with `$A^*Sm + \xi x$` for the vector `$m$` in `scratch.misfit`.
    pub(super) fn finish_data_term(
        &self,
        x: &[f64],
        out: &mut [f64],
        scratch: &mut VariationalScratch<A::Scratch>,
    ) {
        self.weigh(&mut scratch.misfit);
        self.operator
            .apply_adjoint(&scratch.misfit, out, &mut scratch.operator);
        for (out, x) in out.iter_mut().zip(x) {
            *out += self.xi * x;
        }
    }

    /// Multiplies the samples of a misfit by their weights.
    pub(super) fn weigh(&self, misfit: &mut [f64]) {
        if self.weights != Weights::Uniform {
            for (weight, misfit) in self.weighted(misfit) {
                for misfit in misfit {
                    *misfit *= weight;
                }
            }
        }
    }

    /// The norm of the data.
    pub(super) const fn data_norm(&self) -> f64 {
        self.data.norm
    }

    /// Iterates over the samples of the misfit, each with its weight.
    fn weighted<'s>(&'s self, misfit: &'s mut [f64]) -> impl Iterator<Item = (f64, &'s mut [f64])> {
        let parts = self.operator.codomain().num_parts();
        let weights = self.weights;
        misfit
            .chunks_exact_mut(parts)
            .enumerate()
            .map(move |(index, misfit)| match weights {
                Weights::Uniform => (1.0, misfit),
                Weights::Diagonal(weights) => (weights[index], misfit),
            })
    }
}

impl<A: LinearOperator, R: Regularizer> StronglyConvex for Variational<'_, A, R> {
    type Scratch = VariationalScratch<A::Scratch>;

    fn dim(&self) -> usize {
        self.operator.domain().len()
    }

    fn curvature(&self) -> Curvature {
        self.curvature
    }

    fn scratch(&self) -> Self::Scratch {
        VariationalScratch {
            misfit: vec![0.0; self.operator.codomain().len()],
            operator: self.operator.scratch(),
            linearisation: Linearisation::default(),
        }
    }

    fn gradient(&self, x: &[f64], gradient: &mut [f64], scratch: &mut Self::Scratch) {
        self.misfit(x, scratch);
        self.finish_data_term(x, gradient, scratch);
        self.regularizer.add_gradient(self.alpha, x, gradient);
    }

    fn value(&self, x: &[f64], scratch: &mut Self::Scratch) -> f64 {
        self.misfit(x, scratch);
        let data: f64 = self
            .weighted(&mut scratch.misfit)
            .map(|(weight, misfit)| weight * misfit.iter().map(|m| m * m).sum::<f64>())
            .sum();
        let squares: f64 = x.iter().map(|x| x * x).sum();
        0.5 * data + self.alpha * self.regularizer.value(x) + 0.5 * self.xi * squares
    }

    fn gradient_rounding(&self, x_norm: f64, gradient_norm: f64) -> f64 {
        let regularizer = self.alpha * self.regularizer.gradient_rounding(x_norm);
        self.rounding.bound(x_norm, gradient_norm, regularizer)
    }

    fn rough_rounding(&self, x_norm: f64, gradient_norm: f64) -> Option<f64> {
        let regularizer = self.alpha * self.regularizer.rough_rounding(x_norm)?;
        Some(regularizer + self.rounding.bound(x_norm, gradient_norm, 0.0))
    }

    /// The data term has all its digits, and the gradient of the regulariser is rough.
    fn rough_gradient(&self, x: &[f64], gradient: &mut [f64], scratch: &mut Self::Scratch) {
        self.misfit(x, scratch);
        self.finish_data_term(x, gradient, scratch);
        (self.regularizer).add_rough_gradient(self.alpha, x, gradient);
    }

    fn fingerprint(&self) -> Option<u64> {
        let weights = match self.weights {
            Weights::Uniform => &[],
            Weights::Diagonal(weights) => weights,
        };
        Some(fingerprint::of_hashes([
            self.operator.fingerprint()?,
            self.regularizer.fingerprint()?,
            self.data
                .hash
                .add(weights)
                .add(&[self.alpha, self.xi])
                .finish(),
        ]))
    }

    fn second_order(&self) -> Option<&dyn SecondOrder<Self::Scratch>> {
        self.regularizer.hessian()?;
        Some(self)
    }
}
