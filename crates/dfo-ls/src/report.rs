//! What comes back: the best point, how good it is for certain, why the run ended, and its full
//! history.

use crate::accuracy::ObjectiveInterval;
use crate::blocks::Blocks;
use crate::linalg::{Matrix, cholesky, symmetric_eigen};
use crate::{Accuracy, Options, Purpose};

/// The outcome of a run. Every run that began has one, however it ended.
#[derive(Clone, Debug)]
#[must_use]
#[non_exhaustive]
pub struct Report {
    /// The best point found.
    pub theta: Vec<f64>,
    /// The residuals there; empty if no point could be evaluated.
    pub residuals: Vec<f64>,
    /// How accurate they are.
    pub accuracy: Accuracy,
    /// `$\tilde f = \|\tilde r\|^2$`, plus the regulariser if there is one.
    pub objective: f64,
    /// Where the exact objective lies.
    pub interval: ObjectiveInterval,
    /// Why the run ended.
    pub termination: Termination,
    /// The Jacobian of the residuals by parameters at `theta`, as the last model has it. `None` if
    /// there was no complete model.
    pub jacobian: Option<Jacobian>,
    /// Every iteration.
    pub iterations: Vec<Iteration>,
    /// Every evaluation.
    pub evaluations: Vec<EvalRecord>,
    /// How many different points were evaluated.
    pub num_points: u64,
    /// What all evaluations cost together.
    pub work: u64,
    /// The options, with everything derived filled in.
    pub options: Options,
}

impl Report {
    /// How many evaluations were made, counting samples and sharpened points.
    #[must_use]
    pub fn num_evaluations(&self) -> usize {
        self.evaluations.len()
    }

    /// The standard errors of the parameters in a fit to data: roots of the diagonal of the
    /// [covariance](Self::covariance). `None` where that is.
    #[must_use]
    pub fn standard_errors(&self) -> Option<Vec<f64>> {
        let covariance = self.covariance()?;
        Some(
            (0..covariance.len())
                .map(|j| covariance[j][j].sqrt())
                .collect(),
        )
    }

    /// The covariance of the parameters in a fit to data with independent errors of equal variance:
    /// `$\hat\sigma^2 (J^\top J)^{-1}$`, `$\hat\sigma^2 = \|r\|^2 / (m - d)$`, rows and columns in
    /// the order of the parameters.
    ///
    /// `None` unless there are more residuals than parameters and the Jacobian has full rank. Fixed
    /// parameters have zeros; one that ended on a bound counts as free. The Jacobian is that of the
    /// last model, over the last radius: if the simulator itself is noisy, it says nothing at that
    /// radius, and neither does this.
    #[must_use]
    pub fn covariance(&self) -> Option<Vec<Vec<f64>>> {
        self.jacobian
            .as_ref()
            .and_then(|jacobian| jacobian.covariance(&self.residuals))
    }
}

/// `$\partial r_i / \partial \theta_j$`.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Jacobian {
    columns: Vec<Vec<f64>>,
    /// Parameters fixed by their bounds.
    fixed: Vec<usize>,
    blocks: Blocks,
}

/// A direction of the parameters, of length one, and how strongly the residuals react to a step
/// along it.
#[derive(Clone, Debug, PartialEq)]
pub struct Direction {
    /// The norm of the change of the residuals, to first order.
    pub strength: f64,
    /// Its entries, in units of the parameters.
    pub direction: Vec<f64>,
}

/// A variance this many times that of a parameter alone means that only a combination of parameters
/// is determined.
const DEPENDENT: f64 = 1e11;

impl Jacobian {
    pub(crate) const fn new(columns: Vec<Vec<f64>>, fixed: Vec<usize>, blocks: Blocks) -> Self {
        Self {
            columns,
            fixed,
            blocks,
        }
    }

    /// The derivatives of all residuals by parameter `j`.
    ///
    /// # Panics
    /// When there is no parameter `j`.
    #[must_use]
    pub fn column(&self, j: usize) -> &[f64] {
        &self.columns[j]
    }

    /// The inner product of the derivatives by parameter `j` with `vector`, one entry per residual.
    ///
    /// # Panics
    /// When there is no parameter `j`, or `vector` has another length.
    #[must_use]
    pub fn inner_product(&self, j: usize, vector: &[f64]) -> f64 {
        self.blocks.dot(&self.columns[j], vector)
    }

    /// How many parameters.
    #[must_use]
    pub fn num_params(&self) -> usize {
        self.columns.len()
    }

    /// How strongly the residuals react to each direction of the parameters: the singular values of
    /// the Jacobian and their directions, the weakest first. `units` says what counts as a step of
    /// length one in each parameter; entries of the directions are multiples of these. Empty if the
    /// decomposition fails.
    ///
    /// # Panics
    /// When there is not one unit for each parameter.
    #[must_use]
    pub fn directions(&self, units: &[f64]) -> Vec<Direction> {
        assert_eq!(units.len(), self.num_params(), "one unit per parameter");
        let d = units.len();
        let normal = Matrix::from_fn(d, d, |a, b| {
            self.inner_product(a, &self.columns[b]) * units[a] * units[b]
        });
        let Some((values, vectors)) = symmetric_eigen(&normal) else {
            return Vec::new();
        };
        (values.iter().enumerate())
            .map(|(k, value)| Direction {
                strength: value.max(0.0).sqrt(),
                direction: vectors.col(k).to_vec(),
            })
            .collect()
    }

    /// `$\hat\sigma^2 (J^\top J)^{-1}$`. Columns are scaled to norm one first: parameters may have
    /// very different units.
    fn covariance(&self, residuals: &[f64]) -> Option<Vec<Vec<f64>>> {
        let norms: Vec<f64> = self.columns.iter().map(|c| self.blocks.norm(c)).collect();
        let free: Vec<usize> = (0..norms.len())
            .filter(|j| !self.fixed.contains(j))
            .collect();
        let seen = free.iter().all(|&j| norms[j] > 0.0);
        if !seen || residuals.len() <= free.len() {
            return None;
        }
        let variance =
            self.blocks.dot(residuals, residuals) / (residuals.len() - free.len()) as f64;
        let normal = Matrix::from_fn(free.len(), free.len(), |a, b| {
            let (a, b) = (free[a], free[b]);
            self.inner_product(a, &self.columns[b]) / norms[a] / norms[b]
        });
        let factor = cholesky(&normal)?;
        let mut covariance = vec![vec![0.0; norms.len()]; norms.len()];
        for (b, &j) in free.iter().enumerate() {
            let mut column: Vec<f64> = (0..free.len())
                .map(|a| f64::from(u8::from(a == b)))
                .collect();
            factor.solve_in_place(&mut column);
            if !(column[b] <= DEPENDENT) {
                return None;
            }
            for (entry, &i) in column.iter().zip(&free) {
                covariance[i][j] = variance * entry / norms[i] / norms[j];
            }
        }
        let finite = covariance.iter().flatten().all(|entry| entry.is_finite());
        finite.then_some(covariance)
    }
}

/// Why a run ended.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Termination {
    /// The radius came down to its final value: the usual end.
    RadiusReached,
    /// The objective is certainly at most the target.
    TargetReached,
    /// All points are equal up to the noise level.
    NoiseReached,
    /// Restarts found nothing better.
    RestartsExhausted,
    /// Progress became slow, as [`Options::slow`] defines it: the usual end where the last digits
    /// are not worth their evaluations.
    Slow,
    /// A limit of the budget was reached.
    Exhausted(Limit),
    /// Steps to better points could not be evaluated until the radius was at its final value.
    /// Bounds that keep out what cannot be evaluated help.
    Blocked,
    /// A decision needs more accuracy than the oracle gives.
    AccuracyFloor {
        /// What was asked for.
        wanted: Accuracy,
        /// What was given.
        achieved: Accuracy,
    },
    /// The observer said so.
    Stopped,
    /// The oracle gave up, or no point could be evaluated.
    OracleFailed {
        /// What it said.
        reason: String,
    },
}

impl Termination {
    /// Whether the run ended because there was nothing left to do.
    #[must_use]
    pub const fn is_success(&self) -> bool {
        matches!(
            self,
            Self::RadiusReached
                | Self::TargetReached
                | Self::NoiseReached
                | Self::RestartsExhausted
                | Self::Slow
        )
    }
}

/// A limit of the budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Limit {
    /// `max_points`
    Points,
    /// `max_evaluations`
    Evaluations,
    /// `max_work`
    Work,
    /// `max_time`
    Time,
}

/// What an iteration did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum StepKind {
    /// The first model is complete.
    Initial,
    /// A step was taken.
    Accepted,
    /// A step was not good enough.
    Rejected,
    /// A step could not be evaluated.
    Failed,
    /// The step was too short to be worth an evaluation; geometry was improved or the radius
    /// reduced instead.
    Short,
    /// The paper's criticality phase: the model was certified on a smaller region.
    Criticality,
    /// The run started again around the best point.
    Restarted,
}

/// One iteration.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Iteration {
    /// Counted from zero.
    pub number: u64,
    /// What it did.
    pub kind: StepKind,
    /// The incumbent after it.
    pub theta: Vec<f64>,
    /// The incumbent's objective after the iteration.
    pub objective: f64,
    /// The interval that certainly contains the incumbent's exact objective.
    pub interval: ObjectiveInterval,
    /// The radius after the iteration.
    pub delta: f64,
    /// The lower radius after the iteration.
    pub rho: f64,
    /// The length of the step in scaled parameters.
    pub step: Option<f64>,
    /// The decrease of the objective that the model predicted.
    pub predicted: Option<f64>,
    /// The ratio of achieved to predicted decrease.
    pub ratio: Option<f64>,
    /// Whether the decision about the step is certain in spite of inexact evaluations.
    pub certified: bool,
    /// The norm of the model's gradient in scaled parameters.
    pub gradient: f64,
    /// The largest absolute value of a Lagrange polynomial in the trust region, if asked for.
    pub poisedness: Option<f64>,
    /// The number of different points evaluated so far.
    pub num_points: u64,
    /// The number of evaluations so far.
    pub num_evaluations: u64,
    /// The cost of all evaluations so far, in the oracle's unit.
    pub work: u64,
}

/// One evaluation.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct EvalRecord {
    /// Which point, counted from zero in the order of their first evaluation.
    pub point: u64,
    /// Where.
    pub theta: Vec<f64>,
    /// Why.
    pub purpose: Purpose,
    /// What was asked for.
    pub target: Accuracy,
    /// What was given.
    pub achieved: Accuracy,
    /// The objective, or what went wrong.
    pub objective: Result<f64, String>,
    /// What it cost.
    pub work: u64,
}
