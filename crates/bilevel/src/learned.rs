//! Learned parameters by name, with certified bounds of the objective.

use dfo_ls::{EvalRecord, Iteration, ObjectiveInterval, Purpose, Termination};

use crate::families::FamilyKind;
use crate::parameter::Parameter;
use crate::score::Score;

/// Learned parameters, and everything known about them.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[must_use]
#[non_exhaustive]
pub struct Learned {
    /// The family, if it is one of this crate.
    #[cfg_attr(feature = "serde", serde(default))]
    pub family: Option<FamilyKind>,
    /// The objective there, with the reconstructions as they were computed.
    pub objective: f64,
    /// Where the objective with exact reconstructions certainly lies. (Not so with
    /// [`dfo_ls::Options::experiments`], which take accuracy as asked for and not as achieved.)
    pub interval: ObjectiveInterval,
    /// Why learning ended.
    pub termination: Termination,
    /// How many different parameters were tried.
    pub num_points: u64,
    /// What that cost, in gradients of the reconstruction problems.
    pub work: Work,
    /// The parameters.
    pub parameters: Vec<LearnedParameter>,
    /// Directions in which the objective hardly changes.
    pub flat: Vec<FlatDirection>,
    /// How well the training pairs are reconstructed.
    pub training: Vec<Score>,
    /// How well the validation pairs are reconstructed, if there are any.
    pub validation: Vec<Score>,
    /// Every iteration of the solver.
    pub iterations: Vec<Iteration>,
    /// Every evaluation of the objective.
    pub evaluations: Vec<EvalRecord>,
}

/// A learned parameter.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct LearnedParameter {
    /// Its value.
    pub value: f64,
    /// The same as the solver sees it.
    pub theta: f64,
    /// Which bound it has reached, if any.
    pub at: Option<Bound>,
    /// By what share the objective changes at most if `$\theta$` moves by a tenth of its range, up
    /// or down: certain, from evaluations there (not part of the work or the history). With more
    /// than ten parameters it is what the solver's last model says. `None` if it is not known, or
    /// the objective is zero.
    pub influence: Option<f64>,
    /// Its name, map and bounds.
    pub parameter: Parameter,
}

/// A bound of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Bound {
    /// The lower one.
    Lower,
    /// The upper one.
    Upper,
}

/// A direction in which the objective hardly changes.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct FlatDirection {
    /// By what share the objective changes over a step of a tenth of the parameters' ranges, as the
    /// solver's last model has it. The model is good near the learned parameters; farther away it
    /// is a guess.
    pub influence: f64,
    /// The direction, of length one, in units of the parameters' ranges and in their order.
    pub direction: Vec<f64>,
}

/// What was spent, in gradients of the reconstruction problems.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Work {
    /// Work on the start and the points around it.
    pub initial: u64,
    /// Work on steps of the solver.
    pub trial: u64,
    /// Work on points that improve the solver's model.
    pub geometry: u64,
    /// Work on known points, to make them more accurate.
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

    /// All of it.
    #[must_use]
    pub const fn total(self) -> u64 {
        self.initial + self.trial + self.geometry + self.sharpen
    }
}

/// A parameter this close to a bound, as a share of its range, is on it.
const ON_BOUND: f64 = 1e-6;

impl Bound {
    /// The bound that a parameter has reached.
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
    /// The name of the parameter.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.parameter.name
    }
}

impl Learned {
    /// The parameters as the solver sees them.
    #[must_use]
    pub fn theta(&self) -> Vec<f64> {
        self.parameters.iter().map(|p| p.theta).collect()
    }

    /// The values of the parameters, as [`reconstruct`](crate::reconstruct) needs them.
    #[must_use]
    pub fn values(&self) -> Vec<f64> {
        self.parameters.iter().map(|p| p.value).collect()
    }

    /// The value of a parameter.
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
    fn bounds_are_told_apart() {
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
