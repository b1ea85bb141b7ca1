//! Options of the accuracy rules.

use crate::Accuracy;

/// The rule that sets the accuracy of evaluations. With an exact oracle, [`Self::Dynamic`] and
/// [`Self::Fixed`] evaluate the same points.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum AccuracyControl {
    /// Each evaluation is as accurate as the next decision needs, and every decision is certified
    /// as far as the oracle's accuracy allows.
    Dynamic(Dynamic),
    /// The rules of the paper's experiments, for reproduction.
    Experiments(ExperimentRules),
    /// Every evaluation is asked for this accuracy, and no point is evaluated twice.
    Fixed(Accuracy),
}

impl Default for AccuracyControl {
    fn default() -> Self {
        Self::Dynamic(Dynamic::default())
    }
}

/// Options of [`AccuracyControl::Dynamic`]. The defaults are those measured in decision record 8.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default))]
#[non_exhaustive]
pub struct Dynamic {
    /// `$\eta_1'$` of the paper. The ratio of achieved to predicted decrease is computed to within
    /// `$2\eta_1'$`, unless a rougher value already decides about the step. Must be below
    /// `$\min(\eta_1, 1 - \eta_2)/2$`.
    pub eta1_prime: f64,
    /// The largest error of the incumbent's objective before a trial, as a share of the predicted
    /// decrease. An incumbent with a larger error is sharpened first.
    pub kappa_inc: f64,
    /// The constant `$c$` in the accuracy `$c\,\Delta^2$` that points of the model are asked for,
    /// with `$\Delta$` in scaled parameters. `None` stands for ten times the norm of the
    /// incumbent's residuals.
    pub model_constant: Option<f64>,
    /// The ratio of signal to error that points around the start need. They are sharpened until
    /// their residuals differ from the incumbent's by this multiple of their error.
    pub signal: f64,
    /// The factor by which a point of the model may be less accurate than `$c\,\Delta^2$` before it
    /// is sharpened. With `None` no point is sharpened as the radius shrinks, and models are no
    /// longer guaranteed to be accurate.
    pub stale: Option<f64>,
    /// The start of evaluations of new points.
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

/// Options of [`AccuracyControl::Experiments`]. The defaults are those of the paper's experiments.
///
/// The rules have known shortcuts: the accuracy of a trial point is computed from the largest
/// objective in the interpolation set, every answer is assumed to be as accurate as it was asked to
/// be, and old inaccurate points stay in the model.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default))]
#[non_exhaustive]
pub struct ExperimentRules {
    /// `$\eta_1'$` of the paper: the error of an objective that is allowed, as a share of the
    /// predicted decrease.
    pub eta1_prime: f64,
    /// The constant `$c$` in the accuracy `$c\,\Delta^2$` that each residual of a point of the
    /// model is asked for.
    pub model_constant: f64,
    /// The smallest error that a residual is asked for.
    pub floor: f64,
    /// The start of evaluations of new points.
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

/// The start of evaluations of new points.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum WarmStart {
    /// Evaluations begin without a token.
    Cold,
    /// Evaluations begin with the token of the point evaluated last.
    #[default]
    Last,
    /// Evaluations begin with the token of the nearest point of the interpolation set.
    Nearest,
    /// Evaluations begin with a combination of the tokens of the nearest points of the
    /// interpolation set ([`Start::Blend`](crate::Start::Blend)). This suits results that depend
    /// smoothly on few parameters. While there are fewer than two points, the nearest one is used;
    /// with more than ten parameters, the point evaluated last.
    Extrapolated,
}
