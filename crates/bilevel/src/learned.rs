//! The result of learning: parameters by name, with certified bounds of the objective.

use dfo_ls::{EvalRecord, Iteration, ObjectiveInterval, Purpose, Termination};

use crate::families::FamilyKind;
use crate::parameter::Parameter;
use crate::problem::SolverKind;
use crate::score::Score;

/// The result of a learning run.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[must_use]
#[non_exhaustive]
pub struct Learned {
    /// The family of the reconstruction problems; `None` if it is not one of this crate.
    #[cfg_attr(feature = "serde", serde(default))]
    pub family: Option<FamilyKind>,
    /// The solver that learned: with gradients or without.
    #[cfg_attr(feature = "serde", serde(default = "without_gradients"))]
    pub solver: SolverKind,
    /// The objective at the learned parameters, from the reconstructions as computed.
    pub objective: f64,
    /// An interval that certainly contains the objective with exact reconstructions. It is not
    /// certain with [`dfo_ls::Options::experiments`], which assume that every evaluation achieves
    /// the accuracy that was asked for.
    pub interval: ObjectiveInterval,
    /// The gradient of the objective at the learned parameters; `None` if learning did not use
    /// gradients.
    #[cfg_attr(feature = "serde", serde(default))]
    pub gradient: Option<LearnedGradient>,
    /// The reason why the run ended.
    pub termination: Termination,
    /// The number of points that were evaluated.
    pub num_points: u64,
    /// The work of the run, in gradients of the reconstruction problems.
    pub work: Work,
    /// The learned parameters, in the order of the family.
    pub parameters: Vec<LearnedParameter>,
    /// Directions in which the objective hardly changes, flattest first; empty if parameters were
    /// learned with gradients.
    pub flat: Vec<FlatDirection>,
    /// The scores of the training pairs.
    pub training: Vec<Score>,
    /// The scores of the validation pairs; empty if there are none.
    pub validation: Vec<Score>,
    /// All iterations of the solver.
    pub iterations: Vec<Iteration>,
    /// All evaluations of the objective.
    pub evaluations: Vec<EvalRecord>,
}

/// Results of earlier versions were learned without gradients.
#[cfg(feature = "serde")]
const fn without_gradients() -> SolverKind {
    SolverKind::DerivativeFree
}

/// The gradient of the objective at the learned parameters, and the work of all gradients.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct LearnedGradient {
    /// The norm of the projected gradient, with respect to `$\theta$`: slopes that bounds hold back
    /// do not count.
    pub norm: f64,
    /// A certified bound on the error of `norm`; `None` if the family has no such bound, or
    /// reconstructions are stored in single precision.
    pub error: Option<f64>,
    /// The work of reconstructions, in gradients of the reconstruction problems.
    pub reconstructions: u64,
    /// The work of adjoints and of the derivatives that follow from them, in the same unit.
    pub adjoints: u64,
}

/// A learned parameter.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct LearnedParameter {
    /// The value of the parameter.
    pub value: f64,
    /// The value as the solver sees it; [`Map`](crate::Map) relates it to `value`.
    pub theta: f64,
    /// The bound that the parameter has reached, if any.
    pub at: Option<Bound>,
    /// An upper bound on the relative change of the objective when `$\theta$` moves up or down by a
    /// tenth of its range.
    ///
    /// With up to ten parameters the bound is certain: it comes from evaluations at both places,
    /// which are not part of the work or the history. With more parameters it is an estimate from
    /// the last model of the derivative-free solver, and `None` with gradients. It is also `None`
    /// if it could not be computed, or the objective is zero.
    pub influence: Option<f64>,
    /// The definition of the parameter: name, map, start and bounds.
    pub parameter: Parameter,
}

/// A bound of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Bound {
    /// The lower bound.
    Lower,
    /// The upper bound.
    Upper,
}

/// A direction in which the objective hardly changes.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct FlatDirection {
    /// The relative change of the objective over a step of a tenth of the parameters' ranges,
    /// estimated by the solver's last model. The model is accurate only near the learned
    /// parameters.
    pub influence: f64,
    /// The direction as a unit vector, with one entry per parameter in units of its range.
    pub direction: Vec<f64>,
}

/// The work of a run by purpose, in gradients of the reconstruction problems.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Work {
    /// The work for the start and the points around it.
    pub initial: u64,
    /// The work for trial points.
    pub trial: u64,
    /// The work for points that improve the solver's model.
    pub geometry: u64,
    /// The work for evaluating known points more accurately.
    pub sharpen: u64,
}

impl Work {
    pub(crate) fn of(evaluations: &[EvalRecord]) -> Self {
        let mut work = Self::default();
        for evaluation in evaluations {
            let phase = match evaluation.purpose {
                Purpose::Initial => &mut work.initial,
                Purpose::Geometry => &mut work.geometry,
                Purpose::Sharpen => &mut work.sharpen,
                _ => &mut work.trial,
            };
            *phase += evaluation.work;
        }
        work
    }

    /// The sum over all purposes.
    #[must_use]
    pub const fn total(self) -> u64 {
        self.initial + self.trial + self.geometry + self.sharpen
    }
}

/// A parameter whose distance from a bound is at most this share of its range has reached the
/// bound. The value is a tenth of the final radius of `learning_options`.
const ON_BOUND: f64 = 1e-6;

impl Bound {
    /// Returns the bound that a parameter has reached at `theta`.
    pub(crate) fn reached(parameter: &Parameter, theta: f64) -> Option<Self> {
        let close = ON_BOUND * (parameter.upper - parameter.lower);
        if theta - parameter.lower <= close {
            Some(Self::Lower)
        } else if parameter.upper - theta <= close {
            Some(Self::Upper)
        } else {
            None
        }
    }
}

impl LearnedParameter {
    /// Returns the name of the parameter.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.parameter.name
    }
}

impl Learned {
    /// Returns the learned parameters as the solver sees them.
    #[must_use]
    pub fn theta(&self) -> Vec<f64> {
        self.parameters.iter().map(|p| p.theta).collect()
    }

    /// Returns the values of the learned parameters, for [`reconstruct`](crate::reconstruct).
    #[must_use]
    pub fn values(&self) -> Vec<f64> {
        self.parameters.iter().map(|p| p.value).collect()
    }

    /// Returns the value of the parameter with this name, if there is one.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<f64> {
        let mut all = self.parameters.iter();
        all.find(|p| p.name() == name).map(|p| p.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reached_bounds_are_recognised() {
        let parameter = Parameter::log10("alpha", 0.0, -6.0, 4.0);
        for (theta, expected) in [
            (-6.0, Some(Bound::Lower)),
            (-6.0 + 1e-6, Some(Bound::Lower)),
            (-5.999, None),
            (0.0, None),
            (3.999, None),
            (4.0 - 1e-6, Some(Bound::Upper)),
            (4.0, Some(Bound::Upper)),
        ] {
            assert_eq!(Bound::reached(&parameter, theta), expected, "{theta}");
        }
    }
}
