//! The result of learning: parameters by name, with certified bounds of the objective.

use dfo_ls::{EvalRecord, Iteration, ObjectiveInterval, Purpose, Termination};

use crate::criterion::CriterionKind;
use crate::families::FamilyKind;
use crate::parameter::{Parameter, Starts};
use crate::problem::SolverKind;
use crate::score::Score;

/// The result of a learning run.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[must_use]
#[non_exhaustive]
pub struct Learned {
    /// The family of the reconstruction problems; `None` if it is not one of this crate.
    pub family: Option<FamilyKind>,
    /// The solver that learned: with gradients or without.
    pub solver: SolverKind,
    /// The criterion that was made small: the distance from the truth, or an estimate of it.
    pub criterion: CriterionKind,
    /// The objective at the learned parameters, from the reconstructions as computed.
    pub objective: f64,
    /// An interval that certainly contains the objective with exact reconstructions. It is not
    /// certain with [`dfo_ls::Options::experiments`], which assume that every evaluation achieves
    /// the accuracy that was asked for.
    pub interval: ObjectiveInterval,
    /// The gradient of the objective at the learned parameters; `None` if learning did not use
    /// gradients.
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

/// A learned parameter: a single number, or a block of numbers. All lists have one number per entry
/// of the block.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(
    feature = "serde",
    serde(into = "stored::Stored", try_from = "stored::Stored")
)]
#[non_exhaustive]
pub struct LearnedParameter {
    /// The values.
    pub values: Vec<f64>,
    /// The values as the solver sees them; [`Map`](crate::Map) relates them to `values`.
    pub theta: Vec<f64>,
    /// The bounds that the entries have reached, if any.
    pub at: Vec<Option<Bound>>,
    /// Upper bounds on the relative change of the objective when `$\theta$` of one entry moves up
    /// or down by a tenth of its range.
    ///
    /// If at most ten numbers are learned, the bounds are certain: they come from evaluations at
    /// both places, which are not part of the work or the history. With more numbers they are
    /// estimates from the last model of the derivative-free solver, and `None` with gradients. They
    /// are also `None` if they could not be computed, or the objective is zero.
    pub influences: Vec<Option<f64>>,
    /// The definition of the parameter: name, shape, map, starts and bounds.
    pub parameter: Parameter,
}

/// One number of a [`LearnedParameter`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct LearnedEntry<'a> {
    /// The value.
    pub value: f64,
    /// The value as the solver sees it.
    pub theta: f64,
    /// The bound that the entry has reached, if any.
    pub at: Option<Bound>,
    /// The [influence](LearnedParameter::influences) of the entry.
    pub influence: Option<f64>,
    /// The flat index of the entry in its block.
    pub index: usize,
    /// The definition of the block.
    pub parameter: &'a Parameter,
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
    /// Creates the parameter with these values, as the solver sees them, and these influences: one
    /// of each per entry.
    #[must_use]
    pub fn new(parameter: Parameter, theta: Vec<f64>, influences: Vec<Option<f64>>) -> Self {
        Self {
            values: theta.iter().map(|theta| parameter.value(*theta)).collect(),
            at: (theta.iter().map(|theta| Bound::reached(&parameter, *theta))).collect(),
            theta,
            influences,
            parameter,
        }
    }

    /// Creates all of these parameters from the values and influences of all entries.
    ///
    /// # Panics
    /// When there are fewer values or influences than entries.
    #[must_use]
    pub fn list(parameters: &[Parameter], theta: &[f64], influences: &[Option<f64>]) -> Vec<Self> {
        let mut done = 0;
        let one = |parameter: &Parameter| {
            let own = done..done + parameter.num_entries();
            done = own.end;
            let theta = theta[own.clone()].to_vec();
            Self::new(parameter.clone(), theta, influences[own].to_vec())
        };
        parameters.iter().map(one).collect()
    }

    /// Returns the name of the parameter.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.parameter.name
    }

    /// Returns all entries, in the order of the lists.
    pub fn entries(&self) -> impl Iterator<Item = LearnedEntry<'_>> {
        (0..self.values.len()).map(|index| LearnedEntry {
            value: self.values[index],
            theta: self.theta[index],
            at: self.at[index],
            influence: self.influences[index],
            index,
            parameter: &self.parameter,
        })
    }
}

impl LearnedEntry<'_> {
    /// Returns the [name](Parameter::entry_name) of the entry.
    #[must_use]
    pub fn name(&self) -> String {
        self.parameter.entry_name(self.index)
    }

    /// Returns the start of the entry, as the solver sees it.
    #[must_use]
    pub fn start(&self) -> f64 {
        match &self.parameter.start {
            Starts::All(start) => *start,
            Starts::Each(starts) => starts[self.index],
        }
    }
}

impl Learned {
    /// Returns the learned parameters as the solver sees them.
    #[must_use]
    pub fn theta(&self) -> Vec<f64> {
        self.entries().map(|entry| entry.theta).collect()
    }

    /// Returns the values of the learned parameters, for [`reconstruct`](crate::reconstruct).
    #[must_use]
    pub fn values(&self) -> Vec<f64> {
        self.entries().map(|entry| entry.value).collect()
    }

    /// Returns all entries of all parameters.
    pub fn entries(&self) -> impl Iterator<Item = LearnedEntry<'_>> {
        self.parameters.iter().flat_map(LearnedParameter::entries)
    }

    /// Returns the parameter with this name, if there is one.
    #[must_use]
    pub fn parameter(&self, name: &str) -> Option<&LearnedParameter> {
        self.parameters.iter().find(|p| p.name() == name)
    }

    /// Returns the value of the parameter with this name, if there is one and it is a single
    /// number.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<f64> {
        let found = self.parameter(name)?;
        found
            .values
            .first()
            .copied()
            .filter(|_| found.parameter.shape.is_empty())
    }
}

/// The form of learned parameters in files. A single number is stored as a number. A number in the
/// place of a list stands for all entries of a block.
#[cfg(feature = "serde")]
mod stored {
    use serde::{Deserialize, Serialize};

    use super::{Bound, LearnedParameter, Parameter};

    #[derive(Serialize, Deserialize)]
    #[serde(untagged)]
    enum Numbers<T> {
        All(T),
        Each(Vec<T>),
    }

    #[derive(Serialize, Deserialize)]
    pub(super) struct Stored {
        value: Numbers<f64>,
        theta: Numbers<f64>,
        #[serde(default = "Numbers::nothing")]
        at: Numbers<Option<Bound>>,
        #[serde(default = "Numbers::nothing")]
        influence: Numbers<Option<f64>>,
        parameter: Parameter,
    }

    impl<T> Numbers<Option<T>> {
        /// Some formats leave out fields without a value.
        const fn nothing() -> Self {
            Self::All(None)
        }
    }

    impl<T: Copy + PartialEq> Numbers<T> {
        /// Lists of a single number, and lists of nothing but `nothing`, become one number.
        fn new(list: Vec<T>, is_single: bool, nothing: Option<T>) -> Self {
            let is_nothing = |entry: &T| nothing.as_ref() == Some(entry);
            match list.first() {
                Some(first) if is_single || list.iter().all(is_nothing) => Self::All(*first),
                _ => Self::Each(list),
            }
        }

        fn into_list(self, parameter: &Parameter) -> Result<Vec<T>, String> {
            let (name, expected) = (&parameter.name, parameter.num_entries());
            match self {
                Self::All(one) => Ok(vec![one; expected]),
                Self::Each(list) if list.len() == expected => Ok(list),
                Self::Each(list) => {
                    let found = list.len();
                    Err(format!(
                        "the list of {name} has length {found}, but must have length {expected}"
                    ))
                }
            }
        }
    }

    impl From<LearnedParameter> for Stored {
        fn from(learned: LearnedParameter) -> Self {
            let is_single = learned.parameter.shape.is_empty();
            Self {
                value: Numbers::new(learned.values, is_single, None),
                theta: Numbers::new(learned.theta, is_single, None),
                at: Numbers::new(learned.at, is_single, Some(None)),
                influence: Numbers::new(learned.influences, is_single, Some(None)),
                parameter: learned.parameter,
            }
        }
    }

    impl TryFrom<Stored> for LearnedParameter {
        type Error = String;

        fn try_from(stored: Stored) -> Result<Self, String> {
            let parameter = stored.parameter;
            parameter.check().map_err(|error| error.to_string())?;
            Ok(Self {
                values: stored.value.into_list(&parameter)?,
                theta: stored.theta.into_list(&parameter)?,
                at: stored.at.into_list(&parameter)?,
                influences: stored.influence.into_list(&parameter)?,
                parameter,
            })
        }
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

    #[cfg(feature = "serde")]
    #[test]
    fn parameters_survive_files() {
        let text = r#"{"value":0.1,"theta":-1.0,"at":null,"influence":0.5,"parameter":
            {"name":"alpha","map":"log10","start":0.0,"lower":-6.0,"upper":4.0}}"#;
        let single: LearnedParameter = serde_json::from_str(text).expect("valid");
        assert_eq!(single.values, [0.1]);
        assert_eq!(
            serde_json::to_string(&single).expect("valid"),
            text.replace("\n            ", "")
        );

        let block = Parameter::log10("taps", vec![0.0, 1.0], -6.0, 4.0).with_shape([2, 1]);
        let learned = LearnedParameter::new(block, vec![-6.0, 1.0], vec![None; 2]);
        let text = serde_json::to_string(&learned).expect("valid");
        assert!(
            text.contains(r#""at":["lower",null],"influence":null"#),
            "{text}"
        );
        assert_eq!(
            serde_json::from_str::<LearnedParameter>(&text).expect("valid"),
            learned
        );
        let names: Vec<String> = learned.entries().map(|entry| entry.name()).collect();
        assert_eq!(names, ["taps[0, 0]", "taps[1, 0]"]);
        let short = text.replace("[-6.0,1.0]", "[1.0]");
        let error = serde_json::from_str::<LearnedParameter>(&short).expect_err("too short");
        assert!(
            error
                .to_string()
                .contains("the list of taps has length 1, but must have length 2"),
            "{error}"
        );
    }
}
