//! The settings of a learning problem.

use std::fmt;
use std::sync::Arc;

use imaging::noise::Anscombe;
use lowlevel::{Domain, Method, Solver};

use super::Pair;
use crate::checkpoint::CheckpointPolicy;
use crate::criterion::Criterion;
use crate::loss::Loss;
use crate::penalty::Penalty;

/// The settings of a learning problem, besides the options of the solver.
pub struct Setup {
    /// The solver that learns: with gradients or without.
    pub solver: SolverKind,
    /// The accuracy of reconstructions if learning uses gradients: the error of a reconstruction is
    /// at most this share of its distance from the reconstruction at the incumbent. The default is
    /// 0.1, and results hardly depend on it (decision record 19).
    pub kappa: f64,
    /// The smallest gain for which learning with gradients goes on: it ends when the objective has
    /// fallen by less than this share of its value over the last ten points. `None` to go on until
    /// the solver predicts no more gain. The default is `None`.
    pub least_gain: Option<f64>,
    /// The criterion to make small: the distance from the truth, or an estimate of it.
    pub criterion: Criterion,
    /// The seed of the random signs that criteria without truth use. The default is zero.
    pub probe_seed: u64,
    /// The loss: the distance of reconstructions from the truth.
    pub loss: Loss,
    /// Penalties that are added to the loss as squares of residuals.
    pub penalties: Vec<Box<dyn Penalty>>,
    /// A function that is added to the loss and need not be smooth, such as [`dfo_ls::L1`] of
    /// `$\theta$`. With any other than `L1`, learning uses no gradients.
    pub regularizer: Option<Arc<dyn dfo_ls::Regularizer>>,
    /// The method that computes reconstructions.
    pub method: Method,
    /// The rule for the accuracy of reconstructions.
    pub effort: Effort,
    /// The start of the very first reconstruction of each image. Later ones start from earlier
    /// ones.
    pub cold_start: ColdStart,
    /// The form in which reconstructions are stored, for later evaluations to start from.
    pub checkpoints: CheckpointPolicy,
    /// The range of values that samples of reconstructions may have.
    pub image_range: ImageRange,
    /// Held-out pairs, which are not learned from but scored at the end.
    pub validation: Vec<Pair>,
    /// The camera whose noise the data have, if it counts photons. The pairs are then those of
    /// [`Pair::for_camera`], which are learned from as they are. Their scores are those of the
    /// pictures before the transform; certified and estimated errors are those after it.
    pub camera: Option<Anscombe>,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            solver: SolverKind::default(),
            kappa: 0.1,
            least_gain: None,
            criterion: Criterion::default(),
            probe_seed: 0,
            loss: Loss::default(),
            penalties: Vec::new(),
            regularizer: None,
            method: Method::default(),
            effort: Effort::default(),
            cold_start: ColdStart::default(),
            checkpoints: CheckpointPolicy::default(),
            image_range: ImageRange::default(),
            validation: Vec::new(),
            camera: None,
        }
    }
}

/// The solver that learns the parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum SolverKind {
    /// `Gradient` if the problem is differentiable, otherwise `DerivativeFree`.
    #[default]
    Auto,
    /// A quasi-Newton method with gradients and certified steps, [`inexact_lbfgs`]. The work per
    /// evaluation hardly depends on the number of parameters.
    Gradient,
    /// Least squares without derivatives, [`dfo_ls`], for models that cannot be differentiated.
    DerivativeFree,
}

/// The rule for the accuracy of reconstructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Effort {
    /// Reconstructions are as accurate as the solver asks for.
    Requested {
        /// The largest number of iterations of one reconstruction; `None` for no limit. The solver
        /// gets the error that was achieved.
        max_iterations: Option<u64>,
    },
    /// Every reconstruction takes this many iterations, whatever its error: the paper's baselines.
    Iterations(u64),
}

impl Default for Effort {
    fn default() -> Self {
        Self::Requested {
            max_iterations: None,
        }
    }
}

/// The range of values that samples of a reconstruction may have. The reconstruction is the
/// minimiser of `$\Phi_\theta$` among the images in this range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ImageRange {
    /// The smallest value; minus infinity for no limit.
    pub lower: f64,
    /// The largest value; infinity for no limit.
    pub upper: f64,
}

impl ImageRange {
    /// The range of all real numbers.
    pub const ALL: Self = Self {
        lower: f64::NEG_INFINITY,
        upper: f64::INFINITY,
    };
    /// The range of all numbers that are not negative.
    pub const NON_NEGATIVE: Self = Self {
        lower: 0.0,
        ..Self::ALL
    };

    /// Returns the set of images with values in this range.
    #[must_use]
    pub fn domain(self) -> Domain<'static> {
        let Self { lower, upper } = self;
        if self == Self::ALL {
            Domain::Whole
        } else {
            Domain::Between { lower, upper }
        }
    }
}

impl Default for ImageRange {
    /// Returns the range of all real numbers.
    fn default() -> Self {
        Self::ALL
    }
}

/// The start of a reconstruction that has no earlier one to start from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ColdStart {
    /// The start that the family chooses, such as the data: see
    /// [`LowerLevel::cold_start`](crate::LowerLevel::cold_start).
    #[default]
    Model,
    /// Zero, as in the paper's experiments.
    Zero,
}

impl Setup {
    /// Returns the default settings for learning without derivatives.
    #[must_use]
    pub fn derivative_free() -> Self {
        Self {
            solver: SolverKind::DerivativeFree,
            ..Self::default()
        }
    }

    /// Returns the solver that computes reconstructions.
    #[must_use]
    pub fn lower_solver(&self) -> Solver<'static> {
        Solver {
            method: self.method,
            domain: self.image_range.domain(),
        }
    }
}

impl fmt::Debug for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Setup")
            .field("solver", &self.solver)
            .field("kappa", &self.kappa)
            .field("least_gain", &self.least_gain)
            .field("criterion", &self.criterion.kind())
            .field("probe_seed", &self.probe_seed)
            .field("loss", &self.loss)
            .field("num_penalties", &self.penalties.len())
            .field("has_regularizer", &self.regularizer.is_some())
            .field("method", &self.method)
            .field("effort", &self.effort)
            .field("cold_start", &self.cold_start)
            .field("checkpoints", &self.checkpoints)
            .field("image_range", &self.image_range)
            .field("num_validation", &self.validation.len())
            .field("camera", &self.camera.as_ref().map(ToString::to_string))
            .finish()
    }
}
