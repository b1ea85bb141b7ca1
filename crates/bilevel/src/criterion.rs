//! The number that learning makes small for each image: the squared distance from the truth or,
//! where there is no truth, an estimate of it from the data alone.

mod evaluation;
mod solve;

use std::fmt;
use std::rc::Rc;

use imaging::{LinearOperator, Weights};
use lowlevel::UNIT_ROUNDOFF;

pub(crate) use evaluation::{Probed, WithoutTruth};

use crate::problem::{Pair, Setup};
use crate::spec::Spec;

/// The number that learning makes small, for each training image.
///
/// Let `$A$` map an image to its data without noise, let `$y$` be the data, `$n$` their number, and
/// `$\hat x$` the reconstruction, whose objective has the Hessian `$H$` there. A change of the data
/// by `$b$` changes the data `$A\hat x$` of the reconstruction by `$AH^{-1}A^*b$`. The trace of
/// this matrix, the degrees of freedom of the reconstruction, is estimated with one vector of
/// random signs `$b$` for each image, by `$t = \langle b, AH^{-1}A^*b\rangle$`. The signs depend on
/// [`Setup::probe_seed`](crate::Setup::probe_seed) and on the number of the image, and are the same
/// at all points of a run.
///
/// The interval of the objective contains the criterion with these signs and this noise level, for
/// the exact reconstruction: it is certified. That the criterion is close to the squared distance
/// from the truth is a statement about the mean over all noise, not about one picture.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Criterion {
    /// The squared distance `$\|\hat x - x\|^2$` from the truth.
    #[default]
    Truth,
    /// Stein's unbiased risk estimate for Gaussian noise whose standard deviation is known:
    /// `$\|A\hat x - y\|^2 + 2\sigma^2 t$`. Its mean over the noise is
    /// `$\|A\hat x - Ax\|^2 + n\sigma^2$`.
    Sure {
        /// The standard deviation of the noise in each training image of this rank.
        sigma: Vec<f64>,
    },
    /// Generalised cross-validation, `$\|A\hat x - y\|^2/(1 - t/n)^2$`, which needs no noise level.
    Gcv,
}

impl Criterion {
    /// Returns whether the truth of training images is needed.
    #[must_use]
    pub fn needs_truth(&self) -> bool {
        *self == Self::Truth
    }

    /// Returns the kind of the criterion.
    #[must_use]
    pub const fn kind(&self) -> CriterionKind {
        match self {
            Self::Truth => CriterionKind::Truth,
            Self::Sure { .. } => CriterionKind::Sure,
            Self::Gcv => CriterionKind::Gcv,
        }
    }

    /// Returns the criterion of the training image with this index of this rank, if there is no
    /// truth.
    pub(crate) fn without_truth(&self, index: usize) -> Option<WithoutTruth> {
        match self {
            Self::Truth => None,
            Self::Sure { sigma } => Some(WithoutTruth::Sure {
                sigma: sigma.get(index).copied().unwrap_or(f64::NAN),
            }),
            Self::Gcv => Some(WithoutTruth::Gcv),
        }
    }
}

/// The kind of a [`Criterion`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum CriterionKind {
    /// The distance from the truth.
    #[default]
    Truth,
    /// Stein's unbiased risk estimate.
    Sure,
    /// Generalised cross-validation.
    Gcv,
}

impl CriterionKind {
    /// Returns whether this is the distance from the truth.
    #[must_use]
    pub const fn is_truth(&self) -> bool {
        matches!(self, Self::Truth)
    }

    /// Returns the criterion, for these noise levels of the training images.
    #[must_use]
    pub fn with_noise(self, sigma: Vec<f64>) -> Criterion {
        match self {
            Self::Truth => Criterion::Truth,
            Self::Sure => Criterion::Sure { sigma },
            Self::Gcv => Criterion::Gcv,
        }
    }
}

impl Spec {
    /// Builds the setup of the learning problem like [`setup`](Self::setup), for the criterion of
    /// the settings. `sigma` has the noise level of each training pair, and `probe_seed` determines
    /// random signs; only criteria without truth use them.
    #[must_use]
    pub fn setup_with_noise(
        &self,
        validation: Vec<Pair>,
        sigma: Vec<f64>,
        probe_seed: u64,
    ) -> Setup {
        Setup {
            criterion: self.objective.criterion.with_noise(sigma),
            probe_seed,
            ..self.setup(validation)
        }
    }
}

/// The map `$A$` from an image to its data without noise, for criteria without truth. A family
/// returns it from [`LowerLevel::forward`](crate::LowerLevel::forward).
///
/// The data term of the objective must be `$\frac12\|Ax - y\|^2$`, over the samples that were
/// measured.
pub struct Forward<'a> {
    apply: Map<'a>,
    adjoint: Map<'a>,
    norm: f64,
    /// The rounding error relative to `$\|A\|\|x\|$`.
    relative_rounding: f64,
    measured: Option<&'a [bool]>,
    depends_on_parameters: bool,
}

/// Overwrites the second vector with the image of the first.
type Map<'a> = Box<dyn Fn(&[f64], &mut [f64]) + 'a>;

impl<'a> Forward<'a> {
    /// The identity, for denoising.
    #[must_use]
    pub fn identity() -> Self {
        let copy = |from: &[f64], to: &mut [f64]| to.copy_from_slice(from);
        Self {
            apply: Box::new(copy),
            adjoint: Box::new(copy),
            norm: 1.0,
            relative_rounding: 0.0,
            measured: None,
            depends_on_parameters: false,
        }
    }

    /// A linear operator.
    #[must_use]
    pub fn operator<A: LinearOperator + 'a>(operator: A) -> Self {
        let norm = operator.gram_spectrum(Weights::Uniform).max.sqrt();
        let relative_rounding = (operator.roundings() + 4.0) * UNIT_ROUNDOFF;
        let forward = Rc::new(operator);
        let back = Rc::clone(&forward);
        Self {
            apply: Box::new(move |x, out| forward.apply(x, out, &mut forward.scratch())),
            adjoint: Box::new(move |y, out| back.apply_adjoint(y, out, &mut back.scratch())),
            norm,
            relative_rounding,
            measured: None,
            depends_on_parameters: false,
        }
    }

    /// States which samples of the data were measured. The others do not count.
    #[must_use]
    pub const fn measured(mut self, measured: &'a [bool]) -> Self {
        self.measured = Some(measured);
        self
    }

    /// States that the operator depends on learned parameters. Learning without truth then uses no
    /// gradients.
    #[must_use]
    pub const fn depends_on_parameters(mut self) -> Self {
        self.depends_on_parameters = true;
        self
    }

    pub(crate) const fn is_fixed(&self) -> bool {
        !self.depends_on_parameters
    }
}

impl fmt::Debug for Forward<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Forward")
            .field("norm", &self.norm)
            .field("depends_on_parameters", &self.depends_on_parameters)
            .finish_non_exhaustive()
    }
}
