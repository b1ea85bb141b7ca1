//! Options of the solver, with their defaults.
//!
//! Lengths (radii) are in scaled parameters: a box becomes the unit cube, and a parameter without
//! bounds is measured in units of its start (see [`Scaling`]).

mod accuracy;
mod validate;

use std::time::Duration;

pub use accuracy::{AccuracyControl, Dynamic, ExperimentRules, WarmStart};

/// Options of the solver, with a field for each group.
///
/// The defaults suit smooth residuals, exact or with a known error. For residuals with random noise
/// start from [`Options::noisy`]. The options that matter first are `trust_region.final_radius`,
/// `budget` and `target`, which end a run, `trust_region.initial_radius`, the distance of the first
/// points from the start, and `scaling`, the units of the parameters:
///
/// ```
/// let mut options = dfo_ls::Options::default();
/// options.trust_region.initial_radius = 0.05; // 5 % of the box, or of the start
/// options.trust_region.final_radius = 1e-4;
/// options.budget.max_points = Some(200);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default))]
#[non_exhaustive]
pub struct Options {
    /// The trust-region algorithm.
    pub algorithm: Algorithm,
    /// The model of the residuals between evaluated points.
    pub model: Model,
    /// Trust-region radii and acceptance of steps.
    pub trust_region: TrustRegion,
    /// The rule that sets the accuracy of evaluations.
    pub accuracy: AccuracyControl,
    /// The first points, around the start.
    pub initial: Initial,
    /// The units of the parameters.
    pub scaling: Scaling,
    /// Treatment of random noise in the residuals.
    pub noise: Noise,
    /// Restarts around the best point. With `None` the run ends where it would restart.
    pub restarts: Option<Restarts>,
    /// The definition of slow progress, which ends or restarts a run. With `None` slow progress is
    /// ignored.
    pub slow: Option<SlowProgress>,
    /// The run ends as soon as the objective is certainly at most this value.
    pub target: Option<f64>,
    /// Limits on points, evaluations, work and time.
    pub budget: Budget,
    /// The number of evaluations that run in parallel. With a value above 1 the solver asks for
    /// about as many points at once as this value: other steps and points for the next model
    /// together with every trial point, and all geometry-improving points of a round. A run then
    /// takes fewer rounds but more evaluations than with the value 1, and stores more residual
    /// vectors. The result depends on the value, but not on the order of answers. Set it to 1
    /// unless evaluations run in parallel. Algorithm 1 of the paper only asks for initial points
    /// and for points that improve its model together.
    pub batch: usize,
    /// Quantities that are computed for the history only.
    pub diagnostics: Diagnostics,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            algorithm: Algorithm::default(),
            model: Model::default(),
            trust_region: TrustRegion::default(),
            accuracy: AccuracyControl::default(),
            initial: Initial::default(),
            scaling: Scaling::default(),
            noise: Noise::default(),
            restarts: None,
            slow: None,
            target: None,
            budget: Budget::default(),
            batch: 1,
            diagnostics: Diagnostics::default(),
        }
    }
}

impl Options {
    /// Whether the solver asks for points in addition to those that it needs one by one.
    pub(crate) fn is_wide(&self) -> bool {
        self.batch > 1 && self.algorithm == Algorithm::Practical
    }

    /// Options for residuals with random noise: linear models fitted to more points than they
    /// need, radii that shrink slowly, and restarts (measurements are in decision record 8).
    #[must_use]
    pub fn noisy() -> Self {
        Self {
            model: Model::Regression {
                points_per_param: 1.3,
            },
            trust_region: TrustRegion {
                gamma_dec: 0.9,
                alpha1: 0.9,
                alpha2: 0.95,
                ..TrustRegion::default()
            },
            restarts: Some(Restarts::default()),
            slow: Some(SlowProgress::default()),
            ..Self::default()
        }
    }

    /// Options for Algorithm 1 of the paper (Ehrhardt and Roberts, 2021), as written.
    #[must_use]
    pub fn paper() -> Self {
        Self {
            algorithm: Algorithm::Paper(PaperParameters::default()),
            model: Model::Linear,
            ..Self::default()
        }
    }

    /// Options that reproduce the paper's experiments: the practical algorithm with linear models,
    /// truncated steps and the accuracy rules as the authors implemented them.
    /// [`Options::default`] needs fewer evaluations and less work.
    #[must_use]
    pub fn experiments() -> Self {
        Self {
            model: Model::Linear,
            trust_region: TrustRegion {
                final_radius: 1e-6,
                step: TrustStep::Truncated,
                ..TrustRegion::default()
            },
            accuracy: AccuracyControl::Experiments(ExperimentRules::default()),
            ..Self::default()
        }
    }
}

/// The trust-region algorithm.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Algorithm {
    /// The practical form of Algorithm 1: it has two radii and a safety phase, and improves the
    /// geometry of the interpolation set one point at a time.
    #[default]
    Practical,
    /// The paper's Algorithm 1 as written: it has one radius, criticality and accuracy phases, and
    /// certified geometry.
    Paper(PaperParameters),
}

/// Parameters of the paper's Algorithm 1. It also uses `initial_radius`, `final_radius`,
/// `max_radius`, `eta1`, `eta2`, `gamma_dec` and `gamma_inc` of [`TrustRegion`].
///
/// The paper gives no values; the defaults are our choice and were not tuned.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default))]
#[non_exhaustive]
pub struct PaperParameters {
    /// The norm `$\epsilon$` of the model's gradient, in scaled parameters, at or below which
    /// the criticality phase begins.
    pub epsilon: f64,
    /// The largest absolute value `$\Lambda$` that Lagrange polynomials of a well-poised set may
    /// have in the trust region. Must be above 1.
    pub poisedness: f64,
}

impl Default for PaperParameters {
    fn default() -> Self {
        Self {
            epsilon: 1e-5,
            poisedness: 10.0,
        }
    }
}

/// The model of the residuals between evaluated points.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Model {
    /// [`Composite`](Self::Composite) for up to 64 parameters and [`Linear`](Self::Linear) for
    /// more, where building a quadratic model takes longer than most evaluations (decision
    /// record 7).
    #[default]
    Automatic,
    /// Residuals that are linear in `$\theta$`, interpolated at `$d + 1$` points. This is the
    /// paper's model.
    Linear,
    /// Residuals that are linear in `$\theta$`, fitted to more than `$d + 1$` points by least
    /// squares.
    Regression {
        /// The number of points in addition to the incumbent, in multiples of `$d$`. Must be at
        /// least 1.
        points_per_param: f64,
    },
    /// Residuals that are quadratic in `$\theta$`, with the least curvature that explains past
    /// evaluations. On smooth problems this model needs the fewest evaluations.
    Composite {
        /// The largest number of points in addition to the incumbent, in multiples of `$d$`. Must
        /// be at least 1.
        points_per_param: f64,
    },
}

/// Trust-region radii and acceptance of steps. Names follow the paper.
///
/// The defaults are those of DFO-LS (Cartis et al., 2019), apart from the initial radius, which
/// suits boxes scaled to the unit cube.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default))]
#[non_exhaustive]
pub struct TrustRegion {
    /// The initial trust-region radius `$\Delta^0$`: the distance of the first points from the
    /// start.
    pub initial_radius: f64,
    /// The final value of the lower radius. The run ends when steps of this length make no more
    /// progress.
    pub final_radius: f64,
    /// The largest trust-region radius `$\Delta_{\max}$`.
    pub max_radius: f64,
    /// The least share `$\eta_1$` of the predicted decrease that an accepted step achieves.
    pub eta1: f64,
    /// The share `$\eta_2$` of the predicted decrease at or above which a step is very good and the
    /// radius grows.
    pub eta2: f64,
    /// The factor by which the radius shrinks.
    pub gamma_dec: f64,
    /// The factor by which the radius grows.
    pub gamma_inc: f64,
    /// The multiple of the step's length to which the radius grows, if that is larger than
    /// `gamma_inc` times the radius.
    pub gamma_inc_step: f64,
    /// The factor by which the lower radius shrinks.
    pub alpha1: f64,
    /// The radius after the lower radius has shrunk, as a multiple of the former lower radius.
    pub alpha2: f64,
    /// The length, as a multiple of the lower radius, below which a step is not evaluated.
    pub safety: f64,
    /// The method that minimises the model in the trust region.
    pub step: TrustStep,
}

impl Default for TrustRegion {
    fn default() -> Self {
        Self {
            initial_radius: 0.1,
            final_radius: 1e-8,
            max_radius: 1e10,
            eta1: 0.1,
            eta2: 0.7,
            gamma_dec: 0.5,
            gamma_inc: 2.0,
            gamma_inc_step: 4.0,
            alpha1: 0.1,
            alpha2: 0.5,
            safety: 0.5,
            step: TrustStep::default(),
        }
    }
}

/// The method that minimises the model in the trust region.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum TrustStep {
    /// The exact minimiser, up to rounding.
    #[default]
    Exact,
    /// The approximate minimiser of the paper's experiments, for reproduction: conjugate gradients
    /// that stop early, then rotations on the sphere.
    ///
    /// It applies to the practical algorithm with linear models of the residuals. With projections,
    /// a regulariser, quadratic models or [`Algorithm::Paper`], steps are exact.
    Truncated,
}

/// The first points, around the start.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default))]
#[non_exhaustive]
pub struct Initial {
    /// The directions from the start to the first points.
    pub directions: Directions,
    /// The number of directions; `None` means as many as the model needs. With fewer, later steps
    /// add the missing directions.
    pub num_directions: Option<usize>,
}

/// The directions from the start to the first points.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Directions {
    /// One parameter at a time, upwards unless a bound leaves more room downwards.
    #[default]
    Coordinate,
    /// Random orthogonal directions.
    Orthogonal {
        /// The seed. The same seed gives the same directions.
        seed: u64,
    },
}

/// The units of the parameters.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Scaling {
    /// Units from bounds and start. A parameter with two bounds has the width of its box as its
    /// unit. The units of the others come from the start: parameters within a factor of 30 of the
    /// largest, and those that are zero, share its magnitude (1 if all are zero); smaller ones use
    /// their own magnitude, which is enlarged if the first evaluations hardly depend on the
    /// parameter. With projections or a regulariser all parameters have one unit.
    ///
    /// A large parameter that must be determined to many digits, such as the position of a narrow
    /// peak, needs bounds or a given unit.
    #[default]
    Automatic,
    /// Given units, one for each parameter.
    Given(Vec<f64>),
}

/// Treatment of random noise in the residuals.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default))]
#[non_exhaustive]
pub struct Noise {
    /// The strength of the noise, if it is known. The run then ends, or restarts, when the
    /// objectives of all points are equal up to noise.
    pub level: Option<NoiseLevel>,
    /// The number of evaluations of each point. Their residuals are averaged.
    pub samples: Samples,
}

/// The standard deviation of the noise in the objective. Independent noise of standard deviation
/// `$\sigma$` in every residual causes noise of about `$2\sigma\sqrt f$` in the objective.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum NoiseLevel {
    /// The same standard deviation everywhere.
    Additive(f64),
    /// A standard deviation that is this share of the objective.
    Multiplicative(f64),
}

/// The number of evaluations of each point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Samples {
    /// One evaluation.
    #[default]
    One,
    /// This number of evaluations.
    Fixed(u32),
    /// One evaluation at the initial radius and `$(\Delta^0 / \Delta)^2$` at the radius `$\Delta$`,
    /// so that the noise shrinks in proportion to the differences between points.
    Growing {
        /// The largest number of evaluations of a point.
        max: u32,
    },
}

/// Restarts around the best point. A restart resets the lower radius and moves the points nearest
/// to the incumbent, including the incumbent itself.
///
/// The defaults are those of DFO-LS (Cartis et al., 2019).
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default))]
#[non_exhaustive]
pub struct Restarts {
    /// The number of consecutive restarts without a better point after which the run ends.
    pub max_unsuccessful: u32,
    /// The number of points that a restart moves.
    pub num_moved: usize,
    /// Whether a run restarts early when many steps in a row were unsuccessful, because only noise
    /// is left at the current radius.
    pub automatic: bool,
}

impl Default for Restarts {
    fn default() -> Self {
        Self {
            max_unsuccessful: 10,
            num_moved: 3,
            automatic: true,
        }
    }
}

/// The definition of slow progress: `$\log f$` falls by less than `rate` per successful iteration,
/// averaged over `history` of them.
///
/// The defaults are those of DFO-LS (Cartis et al., 2019).
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default))]
#[non_exhaustive]
pub struct SlowProgress {
    /// The decrease of `$\log f$` per successful iteration below which progress is slow.
    pub rate: f64,
    /// The number of iterations over which the decrease is averaged.
    pub history: usize,
    /// The number of consecutive slow iterations after which the run ends or restarts, in multiples
    /// of `$d$`.
    pub patience: u32,
}

impl Default for SlowProgress {
    fn default() -> Self {
        Self {
            rate: 1e-4,
            history: 5,
            patience: 20,
        }
    }
}

/// Limits on points, evaluations, work and time.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default))]
#[non_exhaustive]
pub struct Budget {
    /// The largest number of different points; `None` means `$100(d+1)$`, times the batch size
    /// except in Algorithm 1 of the paper.
    pub max_points: Option<u64>,
    /// The largest number of evaluations. Every sample counts, and so does every time a point is
    /// sharpened.
    pub max_evaluations: Option<u64>,
    /// The limit on the work, in the oracle's unit. The batch of evaluations that crosses the limit
    /// is the last.
    pub max_work: Option<u64>,
    /// The limit on wall-clock time, checked between batches of evaluations (the points around the
    /// start are one batch). [`minimize`](crate::minimize) and [`drive`](crate::drive) measure it;
    /// the engine has no clock.
    pub max_time: Option<Duration>,
}

/// Quantities that are computed for the history only.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default))]
#[non_exhaustive]
pub struct Diagnostics {
    /// Whether every iteration records the poisedness of the interpolation set.
    pub poisedness: bool,
}
