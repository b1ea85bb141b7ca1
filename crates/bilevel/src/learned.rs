//! What comes back: parameters by name, how good they are for certain, and what can be said about them.

use std::ops::ControlFlow;

use dfo_ls::{
    Accuracy, AccuracyControl, EvalRecord, Iteration, Jacobian, ObjectiveInterval, Options,
    Purpose, Report, SlowProgress, Termination, WarmStart, drive,
};

use crate::error::ProblemError;
use crate::lower::LowerLevel;
use crate::parameter::Parameter;
use crate::problem::LearningProblem;
use crate::score::Score;
use crate::spec::FamilyKind;

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
    /// Where the objective with exact reconstructions certainly lies. (Not so with [`dfo_ls::Options::experiments`], which take accuracy as
    /// asked for and not as achieved.)
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
    /// How well the training pairs are reconstructed,
    pub training: Vec<Score>,
    /// and the pairs held out, if there are any.
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
    /// By what share the objective changes at most if `$\theta$` moves by a tenth of its range, up or down: certain, from
    /// evaluations there (not part of the work or the history). With more than ten parameters it is what the solver's last model
    /// says. `None` if it is not known, or the objective is zero.
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
    /// By what share the objective changes over a step of a tenth of the parameters' ranges, as the solver's last model has it.
    /// The model is good near the learned parameters; farther away it is a guess.
    pub influence: f64,
    /// The direction, of length one, in units of the parameters' ranges and in their order.
    pub direction: Vec<f64>,
}

/// What was spent, in gradients of the reconstruction problems.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Work {
    /// On the start and the points around it,
    pub initial: u64,
    /// on steps of the solver,
    pub trial: u64,
    /// on points that improve its model,
    pub geometry: u64,
    /// and on known points, to make them more accurate.
    pub sharpen: u64,
}

impl Work {
    fn of(evaluations: &[EvalRecord]) -> Self {
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
        all.find(|p| p.parameter.name == name).map(|p| p.value)
    }
}

/// Options of the solver that suit learning: the defaults, but learning ends when steps are as small as `$10^{-5}$` of the parameters'
/// ranges, or when for `$2d$` steps the objective has fallen by less than a millionth per step, and reconstructions begin at a combination
/// of earlier ones.
#[must_use]
pub fn learning_options() -> Options {
    let mut options = Options::default();
    options.trust_region.final_radius = 1e-5;
    let mut slow = SlowProgress::default();
    slow.rate = 1e-6;
    slow.patience = 2;
    options.slow = Some(slow);
    if let AccuracyControl::Dynamic(rules) = &mut options.accuracy {
        rules.warm_start = WarmStart::Extrapolated;
    }
    options
}

/// An objective that changes by less than this share does not matter.
pub(crate) const NEGLIGIBLE: f64 = 1e-3;
/// A parameter this close to a bound, as a share of its range, is on it.
const ON_BOUND: f64 = 1e-6;
/// Of more parameters the influence is taken from the solver's model.
const MAX_COMPUTED: usize = 10;
/// The objective is computed to within this share of it, to see how it changes.
const INFLUENCE_ERROR: f64 = 1e-4;
/// What counts as a step, as a share of a parameter's range.
const STEP: f64 = 0.1;

impl<M: LowerLevel> LearningProblem<M> {
    /// Learns the parameters.
    ///
    /// # Errors
    /// When the solver does not accept an option. Whatever happens later is in the answer.
    pub fn learn(&mut self, options: Options) -> Result<Learned, ProblemError> {
        self.learn_observed(options, |_| ControlFlow::Continue(()))
    }

    /// The same; every iteration of the solver is shown to `observe`, which may end the run.
    ///
    /// # Errors
    /// When the solver does not accept an option.
    pub fn learn_observed(
        &mut self,
        options: Options,
        observe: impl FnMut(&Iteration) -> ControlFlow<()>,
    ) -> Result<Learned, ProblemError> {
        let mut engine = self.engine(options)?;
        drive(&mut engine, self, observe);
        Ok(self.learned(engine.into_report()))
    }

    /// What the report of a solver says about this problem.
    pub fn learned(&self, report: Report) -> Learned {
        let influences = self.influences(&report);
        let parameters = (self.parameters.iter().zip(&report.theta).enumerate())
            .map(|(j, (parameter, &theta))| LearnedParameter {
                value: parameter.value(theta),
                theta,
                at: bound_reached(parameter, theta),
                influence: influences[j].filter(|influence| influence.is_finite()),
                parameter: parameter.clone(),
            })
            .collect();
        let values = self.values(&report.theta);
        Learned {
            family: self.model.kind(),
            objective: report.objective,
            interval: report.interval,
            termination: report.termination,
            num_points: report.num_points,
            work: Work::of(&report.evaluations),
            parameters,
            flat: (report.jacobian.as_ref())
                .map_or_else(Vec::new, |j| self.flat_directions(j, report.objective)),
            training: self.scores(&values, &self.pairs),
            validation: self.scores(&values, &self.setup.validation),
            iterations: report.iterations,
            evaluations: report.evaluations,
        }
    }

    /// A tenth of the range of each parameter.
    fn steps(&self) -> Vec<f64> {
        let range = |p: &Parameter| STEP * (p.upper - p.lower);
        self.parameters.iter().map(range).collect()
    }

    /// By what share the objective changes over a step in each parameter.
    fn influences(&self, report: &Report) -> Vec<Option<f64>> {
        let count = self.parameters.len();
        if count > MAX_COMPUTED {
            return report.jacobian.as_ref().map_or_else(
                || vec![None; count],
                |jacobian| self.modelled_influences(jacobian, &report.residuals, report.objective),
            );
        }
        let steps = self.steps();
        let error = INFLUENCE_ERROR * report.objective;
        let target = Accuracy::for_objective_error(report.objective, error);
        let influence = |j: usize| -> Option<f64> {
            let bounds = &self.parameters[j];
            let mut largest = 0.0_f64;
            for step in [-steps[j], steps[j]] {
                let mut theta = report.theta.clone();
                theta[j] = (theta[j] + step).clamp(bounds.lower, bounds.upper);
                let there = self.interval_at(&theta, target)?;
                let change = (there.upper - report.interval.lower)
                    .abs()
                    .max((there.lower - report.interval.upper).abs());
                largest = largest.max(share(change, report.objective));
            }
            Some(largest)
        };
        (0..count).map(influence).collect()
    }

    /// `$(2|r^\top J_j| h + \|J_j\|^2 h^2)/f$` for a step `$h$` in each parameter.
    fn modelled_influences(
        &self,
        jacobian: &Jacobian,
        residuals: &[f64],
        objective: f64,
    ) -> Vec<Option<f64>> {
        let steps = self.steps();
        let influence = |j: usize| {
            let column = jacobian.column(j);
            let slope: f64 = column.iter().zip(residuals).map(|(a, b)| a * b).sum();
            let square: f64 = column.iter().map(|a| a * a).sum();
            let h = steps[j];
            Some(share(2.0 * slope.abs() * h + square * h * h, objective))
        };
        (0..steps.len()).map(influence).collect()
    }

    fn flat_directions(&self, jacobian: &Jacobian, objective: f64) -> Vec<FlatDirection> {
        (jacobian.directions(&self.steps()).into_iter())
            .map(|direction| FlatDirection {
                influence: share(direction.strength * direction.strength, objective),
                direction: direction.direction,
            })
            .take_while(|flat| flat.influence < NEGLIGIBLE)
            .collect()
    }
}

/// Infinite where the objective is zero and the change is not.
fn share(change: f64, objective: f64) -> f64 {
    if change == 0.0 {
        0.0
    } else {
        change / objective.abs()
    }
}

fn bound_reached(parameter: &Parameter, theta: f64) -> Option<Bound> {
    let close = ON_BOUND * (parameter.upper - parameter.lower);
    if theta - parameter.lower <= close {
        Some(Bound::Lower)
    } else if parameter.upper - theta <= close {
        Some(Bound::Upper)
    } else {
        None
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
            assert_eq!(bound_reached(&parameter, theta), expected, "{theta}");
        }
    }

    #[test]
    fn shares_of_nothing_are_infinite() {
        assert!((share(1.0, -4.0) - 0.25).abs() < 1e-15);
        assert!(share(0.0, 0.0).abs() < 1e-15);
        assert!(share(1e-3, 0.0).is_infinite());
    }
}
