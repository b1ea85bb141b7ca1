//! Every choice with its default, and the check of their ranges.
//!
//! Lengths (radii) are in scaled parameters: a box becomes the unit cube, a parameter without
//! bounds is measured in units of its start (see [`Scaling`]).

mod validate;

use std::time::Duration;

use crate::Accuracy;

/// How to solve.
///
/// The defaults suit smooth residuals, exact or with a known error. For residuals with random noise
/// start from [`Options::noisy`].
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default))]
#[non_exhaustive]
pub struct Options {
    /// Which algorithm.
    pub algorithm: Algorithm,
    /// How residuals are modelled between evaluated points.
    pub model: Model,
    /// Radii and acceptance.
    pub trust_region: TrustRegion,
    /// How accurate evaluations are asked to be.
    pub accuracy: AccuracyControl,
    /// The points around the start.
    pub initial: Initial,
    /// Units of the parameters.
    pub scaling: Scaling,
    /// Random noise in the residuals.
    pub noise: Noise,
    /// Starting again around the best point; `None`: never.
    pub restarts: Option<Restarts>,
    /// Stopping when progress becomes slow; `None`: never.
    pub slow: Option<SlowProgress>,
    /// Stop as soon as the objective is certainly at most this.
    pub target: Option<f64>,
    /// What may be spent.
    pub budget: Budget,
    /// The largest number of geometry-improving points that are requested at once. More than one
    /// saves time when evaluations run in parallel, but some of them would have been unnecessary
    /// had they been evaluated one by one.
    pub batch: usize,
    /// What is computed for the record only.
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
    /// For residuals with random noise: linear models fitted to some more points than they need,
    /// radii that shrink slowly, and restarts.
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

    /// Algorithm 1 of the paper, as written.
    #[must_use]
    pub fn paper() -> Self {
        Self {
            algorithm: Algorithm::Paper(PaperParameters::default()),
            model: Model::Linear,
            ..Self::default()
        }
    }

    /// The behaviour of the paper's experiments: the practical algorithm with linear models,
    /// truncated steps, and its accuracy rules as they were implemented. For reproduction;
    /// [`Options::default`] does better.
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

/// Which algorithm.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Algorithm {
    /// Two radii, a safety phase, and geometry improved one point at a time.
    #[default]
    Practical,
    /// The paper's Algorithm 1 as written: one radius, criticality and accuracy phases, certified
    /// geometry.
    Paper(PaperParameters),
}

/// What Algorithm 1 needs beside [`TrustRegion`], of which it uses `initial_radius`,
/// `final_radius`, `max_radius`, `eta1`, `eta2`, `gamma_dec` and `gamma_inc`.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default))]
#[non_exhaustive]
pub struct PaperParameters {
    /// The criticality phase begins where `$\|g^k\| \le \epsilon$` (for the objective in scaled
    /// parameters).
    pub epsilon: f64,
    /// A set is well poised if its Lagrange polynomials are at most this in the trust region;
    /// above 1.
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

/// How residuals are modelled between evaluated points.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Model {
    /// `Composite` for up to 64 parameters, `Linear` beyond, where building quadratic models costs
    /// more time than most evaluations.
    #[default]
    Automatic,
    /// Residuals linear in `$\theta$`, through `$d + 1$` points: the paper's model.
    Linear,
    /// Residuals linear in `$\theta$`, fitted to more than `$d + 1$` points.
    Regression {
        /// How many points beside the incumbent, in multiples of `$d$`, at least 1.
        points_per_param: f64,
    },
    /// Residuals quadratic in `$\theta$`, with the least curvature that explains past evaluations:
    /// fewest evaluations on smooth problems.
    Composite {
        /// At most how many points beside the incumbent, in multiples of `$d$`, at least 1.
        points_per_param: f64,
    },
}

/// Radii and acceptance. Names follow the paper.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default))]
#[non_exhaustive]
pub struct TrustRegion {
    /// `$\Delta^0$`.
    pub initial_radius: f64,
    /// The run ends when the radius has come down to this.
    pub final_radius: f64,
    /// `$\Delta_{\max}$`.
    pub max_radius: f64,
    /// A step is accepted if it achieves this share of the predicted decrease.
    pub eta1: f64,
    /// A step is very good, and the radius grows, if it achieves this share.
    pub eta2: f64,
    /// The radius shrinks by this factor.
    pub gamma_dec: f64,
    /// The factor by which the radius grows.
    pub gamma_inc: f64,
    /// The multiple of the step's length to which the radius grows, if that is more.
    pub gamma_inc_step: f64,
    /// The factor by which the lower radius shrinks.
    pub alpha1: f64,
    /// The multiple of the former lower radius that the radius becomes when the lower one shrinks.
    pub alpha2: f64,
    /// A step shorter than this multiple of the lower radius is not worth an evaluation.
    pub safety: f64,
    /// How the model is minimised.
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

/// How the model is minimised in the trust region.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum TrustStep {
    /// Exactly, up to rounding.
    #[default]
    Exact,
    /// As in the paper's experiments: conjugate gradients that are stopped early, then rotations on
    /// the sphere. For reproduction.
    ///
    /// Only the practical algorithm has it, for models of linear residuals. With projections or a
    /// regulariser steps are exact.
    Truncated,
}

/// How accurate evaluations are asked to be. Oracles that are exact make all of them the same.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum AccuracyControl {
    /// Just as accurate as decisions need, every decision certified where the oracle allows.
    Dynamic(Dynamic),
    /// As in the paper's experiments.
    Experiments(ExperimentRules),
    /// Always this, and nothing is ever evaluated twice.
    Fixed(Accuracy),
}

impl Default for AccuracyControl {
    fn default() -> Self {
        Self::Dynamic(Dynamic::default())
    }
}

/// Accuracy just as decisions need it.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default))]
#[non_exhaustive]
pub struct Dynamic {
    /// `$\eta_1'$`: the ratio of achieved to predicted decrease is known to within `$2\eta_1'$`,
    /// unless its class is proven earlier. Below `$\min(\eta_1, 1 - \eta_2)/2$`.
    pub eta1_prime: f64,
    /// The incumbent is sharpened before a trial if its objective is uncertain by more than this
    /// share of the predicted decrease.
    pub kappa_inc: f64,
    /// Points of the model are asked for with accuracy `$c\,\Delta^2$`, `$\Delta$` scaled; `None`:
    /// ten times the norm of the incumbent's residuals.
    pub model_constant: Option<f64>,
    /// Points are sharpened until their residuals differ from the incumbent's by this multiple of
    /// their error, so that the model learns something from them.
    pub signal: f64,
    /// Points of the model less accurate than this multiple of the accuracy asked for are sharpened
    /// as the radius shrinks; `None`: never, and the guarantee of accurate models is given up.
    pub stale: Option<f64>,
    /// Where evaluations of new points begin.
    pub warm_start: WarmStart,
}

impl Default for Dynamic {
    fn default() -> Self {
        Self {
            eta1_prime: 0.049,
            kappa_inc: 0.5,
            model_constant: None,
            signal: 10.0,
            stale: Some(100.0),
            warm_start: WarmStart::default(),
        }
    }
}

/// The accuracy rules of the paper's experiments, with their known shortcuts: the accuracy of a
/// trial point is judged with the largest objective in the set, accuracy is taken as asked and not
/// as achieved, and old inaccurate points stay in the model.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default))]
#[non_exhaustive]
pub struct ExperimentRules {
    /// `$\eta_1'$`.
    pub eta1_prime: f64,
    /// Points of the model are asked for with accuracy `$c\,\Delta^2$` of each of the residuals.
    pub model_constant: f64,
    /// No residual is asked for more accurately.
    pub floor: f64,
    /// Where evaluations of new points begin.
    pub warm_start: WarmStart,
}

impl Default for ExperimentRules {
    fn default() -> Self {
        Self {
            eta1_prime: 0.05,
            model_constant: 10.0,
            floor: 1e-15,
            warm_start: WarmStart::default(),
        }
    }
}

/// Where evaluations of new points begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum WarmStart {
    /// From nothing.
    Cold,
    /// From the point evaluated last.
    #[default]
    Last,
    /// From the nearest point of the interpolation set.
    Nearest,
    /// From a combination of the nearest points of the interpolation set
    /// ([`Start::Blend`](crate::Start::Blend)), for results that depend smoothly on few parameters.
    /// Until there are two points, from the nearest; with more than ten parameters, from the point
    /// evaluated last.
    Extrapolated,
}

/// The points around the start.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default))]
#[non_exhaustive]
pub struct Initial {
    /// In which directions.
    pub directions: Directions,
    /// How many; `None`: all `$d$`. With fewer, steps of the solver add the missing directions.
    pub num_directions: Option<usize>,
}

/// Directions of the first points.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Directions {
    /// One parameter at a time, towards the roomier side.
    #[default]
    Coordinate,
    /// Random and orthogonal.
    Orthogonal {
        /// The same seed gives the same directions.
        seed: u64,
    },
}

/// Units of the parameters.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Scaling {
    /// The width of the box where there are two bounds. Otherwise the start tells: parameters
    /// within a factor of 30 of the largest, and those that are zero, share its magnitude (1 if all
    /// are zero); smaller ones have their own, made larger if the first evaluations hardly see it.
    /// With projections or a regulariser, one unit for all.
    ///
    /// A parameter that is large but must be known finely, as the position of a narrow peak, needs
    /// bounds or a given unit.
    #[default]
    Automatic,
    /// These, one for each parameter.
    Given(Vec<f64>),
}

/// Random noise in the residuals.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default))]
#[non_exhaustive]
pub struct Noise {
    /// How strong, if that is known: then a run ends, or restarts, when all points are equal up to
    /// noise.
    pub level: Option<NoiseLevel>,
    /// How often each point is evaluated; residuals are averaged.
    pub samples: Samples,
}

/// The standard deviation of the objective. Independent noise of standard deviation `$\sigma$` in
/// every residual gives the objective about `$2\sigma\sqrt f$`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum NoiseLevel {
    /// The same everywhere.
    Additive(f64),
    /// This share of the objective.
    Multiplicative(f64),
}

/// How often each point is evaluated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Samples {
    /// Once.
    #[default]
    One,
    /// This often.
    Fixed(u32),
    /// Once at the initial radius, and `$(\Delta^0 / \Delta)^2$` times at the radius `$\Delta$`, so
    /// that the noise shrinks like the differences between points; at most this often.
    Growing {
        /// The limit.
        max: u32,
    },
}

/// Starting again around the best point: the lower radius is reset and the points nearest to the
/// incumbent are moved apart.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default))]
#[non_exhaustive]
pub struct Restarts {
    /// The run ends after this many restarts in a row without a better point.
    pub max_unsuccessful: u32,
    /// How many points are moved.
    pub num_moved: usize,
    /// Whether a run that only chases noise is recognised and restarted early.
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

/// When progress counts as slow: `$\log f$` falls by less than `rate` per successful iteration,
/// averaged over `history` of them.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default))]
#[non_exhaustive]
pub struct SlowProgress {
    /// The rate.
    pub rate: f64,
    /// Over how many iterations it is measured.
    pub history: usize,
    /// After how many slow iterations in a row the run ends (or restarts), in multiples of `$d$`.
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

/// What may be spent.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default))]
#[non_exhaustive]
pub struct Budget {
    /// At most this many different points; `None`: `$100(d+1)$`.
    pub max_points: Option<u64>,
    /// At most this many evaluations, counting every sample and every time a point is sharpened.
    pub max_evaluations: Option<u64>,
    /// At most this much work, in the oracle's unit. The evaluation that crosses the limit is the
    /// last.
    pub max_work: Option<u64>,
    /// At most this long, looked at between batches of evaluations (the first has as many as there
    /// are parameters). Measured by [`minimize`](crate::minimize) and [`drive`](crate::drive), not
    /// by the engine, which has no clock.
    pub max_time: Option<Duration>,
}

/// What is computed for the record only.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default))]
#[non_exhaustive]
pub struct Diagnostics {
    /// The poisedness of the interpolation set in every iteration.
    pub poisedness: bool,
}
