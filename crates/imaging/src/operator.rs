//! Linear operators `$A$`, which map an unknown to its data.

mod blur;
mod coils;
mod convolution;
mod fourier;
mod identity;
mod mask;

pub use blur::{Blur, BlurBoundary, BlurScratch, blurred};
pub use coils::CoilFourier;
pub(crate) use coils::{add_conjugate, multiply};
pub use convolution::Convolution;
pub use fourier::{Fourier, FourierScratch};
pub(crate) use fourier::{Transform, from_complex, to_complex};
pub use identity::Identity;
pub use mask::Mask;

use std::sync::Arc;

use crate::error::{ModelError, check_values};
use crate::grid::Grid;

/// A linear operator with its adjoint.
///
/// The adjoint belongs to the real inner product of the stored `f64`. For complex samples this is
/// the real part of the complex inner product, so the adjoint of a complex matrix is its conjugate
/// transpose. Certified errors are wrong if the adjoint or the spectrum of an operator is wrong.
/// Check your own with [`testing::adjoint_deviation`](crate::testing::adjoint_deviation) and
/// [`testing::spectrum_violation`](crate::testing::spectrum_violation).
///
/// ```
/// use imaging::testing::{adjoint_deviation, spectrum_violation};
/// use imaging::{Grid, LinearOperator, Spectrum, Weights};
///
/// /// Means of two neighbours: half the resolution.
/// struct Halve { len: usize }
///
/// impl LinearOperator for Halve {
///     type Scratch = ();
///     fn domain(&self) -> Grid {
///         Grid::line(2 * self.len)
///     }
///     fn codomain(&self) -> Grid {
///         Grid::line(self.len)
///     }
///     fn scratch(&self) {}
///     fn apply(&self, x: &[f64], out: &mut [f64], _: &mut ()) {
///         for (out, pair) in out.iter_mut().zip(x.chunks_exact(2)) {
///             *out = 0.5 * (pair[0] + pair[1]);
///         }
///     }
///     fn apply_adjoint(&self, y: &[f64], out: &mut [f64], _: &mut ()) {
///         for (pair, y) in out.chunks_exact_mut(2).zip(y) {
///             pair.fill(0.5 * y);
///         }
///     }
///     fn gram_spectrum(&self, weights: Weights<'_>) -> Spectrum {
///         // All singular values of A are sqrt(1/2), and A has a null space.
///         Spectrum { min: 0.0, max: 0.5 * weights.range().max }
///     }
/// }
///
/// let halve = Halve { len: 3 };
/// assert!(adjoint_deviation(&halve, &[1.0, 2.0, 0.0, 3.0, -1.0, 1.0], &[1.0, -2.0, 0.5]) < 1e-15);
/// assert!(spectrum_violation(&halve, Weights::Uniform, &[1.0, 2.0, 0.0, 3.0, -1.0, 1.0]) < 1e-12);
/// ```
pub trait LinearOperator: Sync {
    /// Working memory of `apply` and `apply_adjoint`. Use `()` if none is needed.
    type Scratch: Send;

    /// The grid of the unknown.
    fn domain(&self) -> Grid;

    /// The grid of the data. Use `Grid::line` for data without a shape.
    fn codomain(&self) -> Grid;

    /// Creates the working memory for this operator.
    fn scratch(&self) -> Self::Scratch;

    /// Overwrites `out` with `$Ax$`. Must not allocate.
    fn apply(&self, x: &[f64], out: &mut [f64], scratch: &mut Self::Scratch);

    /// Overwrites `out` with `$A^*y$`. Must not allocate.
    fn apply_adjoint(&self, y: &[f64], out: &mut [f64], scratch: &mut Self::Scratch);

    /// Returns bounds on the eigenvalues of `$A^* S A$`, where `$S$` is the diagonal matrix of
    /// `weights`. Tighter bounds make solves faster.
    fn gram_spectrum(&self, weights: Weights<'_>) -> Spectrum;

    /// Overwrites `out` with `$A^*Ax$`. `middle` has the length of the data and may be overwritten.
    /// Must not allocate.
    ///
    /// Override it, together with `gram_cost`, if this is faster than `apply` and `apply_adjoint`.
    fn apply_gram(
        &self,
        x: &[f64],
        middle: &mut [f64],
        out: &mut [f64],
        scratch: &mut Self::Scratch,
    ) {
        self.apply(x, middle, scratch);
        self.apply_adjoint(middle, out, scratch);
    }

    /// The time of `apply_gram`, relative to the time of `apply` and `apply_adjoint`.
    fn gram_cost(&self) -> f64 {
        1.0
    }

    /// Overwrites `out` with the diagonal of `$A^* S A$`, or with numbers near it that are not
    /// negative. They are used in a preconditioner, so they decide only how fast it is.
    ///
    /// The default is the middle of `gram_spectrum`.
    fn gram_diagonal(&self, weights: Weights<'_>, out: &mut [f64]) {
        let spectrum = self.gram_spectrum(weights);
        out.fill(0.5 * (spectrum.min + spectrum.max));
    }

    /// Whether this operator offers [`precondition`](Self::precondition).
    fn has_preconditioner(&self) -> bool {
        false
    }

    /// Overwrites `out` with a symmetric positive definite approximation of
    /// `$(A^*SA + a I + b \partial^T\partial)^{-1} r$` for `shift` = `$a > 0$` and
    /// `smoothing` = `$b \ge 0$`. Only the speed of conjugate gradients depends on it. Must not
    /// allocate.
    ///
    /// It is called only if [`has_preconditioner`](Self::has_preconditioner) returns `true`. The
    /// default divides by the shift.
    fn precondition(
        &self,
        weights: Weights<'_>,
        [shift, smoothing]: [f64; 2],
        r: &[f64],
        out: &mut [f64],
        scratch: &mut Self::Scratch,
    ) {
        let _ = (weights, smoothing, scratch);
        for (out, r) in out.iter_mut().zip(r) {
            *out = r / shift;
        }
    }

    /// A hash of everything that defines this operator, if there is one. It is part of
    /// [`lowlevel::StronglyConvex::fingerprint`].
    fn fingerprint(&self) -> Option<u64> {
        None
    }

    /// A bound on the rounding error of `apply` and `apply_adjoint`, in unit roundoffs relative to
    /// `$\|A\|\|x\|$`.
    ///
    /// The default is enough for sums over all samples.
    fn roundings(&self) -> f64 {
        self.domain().len().max(self.codomain().len()) as f64
    }
}

/// Implements [`LinearOperator`] for a pointer to an operator.
macro_rules! forward {
    ($pointer:ty $(where A: $bound:ident)?) => {
        impl<A: LinearOperator + ?Sized $(+ $bound)?> LinearOperator for $pointer {
            type Scratch = A::Scratch;

            fn domain(&self) -> Grid {
                (**self).domain()
            }

            fn codomain(&self) -> Grid {
                (**self).codomain()
            }

            fn scratch(&self) -> Self::Scratch {
                (**self).scratch()
            }

            fn apply(&self, x: &[f64], out: &mut [f64], scratch: &mut Self::Scratch) {
                (**self).apply(x, out, scratch);
            }

            fn apply_adjoint(&self, y: &[f64], out: &mut [f64], scratch: &mut Self::Scratch) {
                (**self).apply_adjoint(y, out, scratch);
            }

            fn gram_spectrum(&self, weights: Weights<'_>) -> Spectrum {
                (**self).gram_spectrum(weights)
            }

            fn apply_gram(
                &self,
                x: &[f64],
                middle: &mut [f64],
                out: &mut [f64],
                scratch: &mut Self::Scratch,
            ) {
                (**self).apply_gram(x, middle, out, scratch);
            }

            fn gram_cost(&self) -> f64 {
                (**self).gram_cost()
            }

            fn gram_diagonal(&self, weights: Weights<'_>, out: &mut [f64]) {
                (**self).gram_diagonal(weights, out);
            }

            fn has_preconditioner(&self) -> bool {
                (**self).has_preconditioner()
            }

            fn precondition(
                &self,
                weights: Weights<'_>,
                terms: [f64; 2],
                r: &[f64],
                out: &mut [f64],
                scratch: &mut Self::Scratch,
            ) {
                (**self).precondition(weights, terms, r, out, scratch);
            }

            fn fingerprint(&self) -> Option<u64> {
                (**self).fingerprint()
            }

            fn roundings(&self) -> f64 {
                (**self).roundings()
            }
        }
    };
}

forward!(&A);
forward!(Arc<A> where A: Send);

/// The diagonal `$S$` of the weighted data term `$\frac12\|Ax - y\|_S^2$`: one weight per sample of
/// the data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Weights<'a> {
    /// Weights that are all 1.
    Uniform,
    /// The given weights, which must be finite and not negative.
    Diagonal(&'a [f64]),
}

impl Weights<'_> {
    /// Returns the smallest and the largest weight.
    #[must_use]
    pub fn range(self) -> Spectrum {
        match self {
            Self::Uniform => Spectrum { min: 1.0, max: 1.0 },
            Self::Diagonal(weights) => Spectrum::enclosing(weights.iter().copied()),
        }
    }

    /// Returns the weight of sample `index`.
    pub(crate) const fn at(self, index: usize) -> f64 {
        match self {
            Self::Uniform => 1.0,
            Self::Diagonal(weights) => weights[index],
        }
    }

    /// Returns the mean of the weights.
    pub(crate) fn mean(self) -> f64 {
        match self {
            Self::Uniform => 1.0,
            Self::Diagonal(weights) => weights.iter().sum::<f64>() / weights.len() as f64,
        }
    }

    /// Checks that there is one finite weight per sample, and that none is negative.
    pub(crate) fn check(self, num_samples: usize) -> Result<(), ModelError> {
        if let Self::Diagonal(weights) = self {
            check_values("weights", weights, num_samples)?;
            if let Some(index) = weights.iter().position(|&weight| weight < 0.0) {
                return Err(ModelError::NegativeWeight { index });
            }
        }
        Ok(())
    }
}

/// An interval that contains all eigenvalues of a symmetric operator.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spectrum {
    /// A lower bound on all eigenvalues.
    pub min: f64,
    /// An upper bound on all eigenvalues.
    pub max: f64,
}

impl Spectrum {
    /// Returns the smallest interval that contains `values`.
    #[must_use]
    pub fn enclosing(values: impl IntoIterator<Item = f64>) -> Self {
        let empty = Self {
            min: f64::INFINITY,
            max: f64::NEG_INFINITY,
        };
        values.into_iter().fold(empty, |spectrum, value| Self {
            min: spectrum.min.min(value),
            max: spectrum.max.max(value),
        })
    }
}
