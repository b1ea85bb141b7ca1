//! The report of a run: its best point, the reason for its end, and its history.

use crate::accuracy::ObjectiveInterval;
use crate::blocks::Blocks;
use crate::linalg::{Matrix, cholesky, dot, symmetric_eigen};
use crate::{Accuracy, Options, Purpose};

/// The result of a run. Every run that has started has a report, whatever the reason for its end.
#[derive(Clone, Debug)]
#[must_use]
#[non_exhaustive]
pub struct Report {
    /// The parameters of the best point.
    pub theta: Vec<f64>,
    /// The residuals of the best point. Empty if no point could be evaluated, or if residual
    /// vectors [stay with the oracle](crate::Problem::with_products).
    pub residuals: Vec<f64>,
    /// The accuracy of the residuals.
    pub accuracy: Accuracy,
    /// The computed objective `$\tilde f = \|\tilde r\|^2$`, plus the regulariser if there is one.
    pub objective: f64,
    /// The interval that contains the exact objective of the best point.
    pub interval: ObjectiveInterval,
    /// The reason for the end of the run.
    pub termination: Termination,
    /// The Jacobian of the residuals with respect to the parameters, taken from the last model.
    /// `None` if there was no complete model.
    pub jacobian: Option<Jacobian>,
    /// All iterations, in order.
    pub iterations: Vec<Iteration>,
    /// All evaluations, in order.
    pub evaluations: Vec<EvalRecord>,
    /// The number of different points that were evaluated.
    pub num_points: u64,
    /// The work of all evaluations, in the oracle's unit.
    pub work: u64,
    /// The options of the run, with derived values filled in.
    pub options: Options,
}

impl Report {
    /// The number of evaluations. Every sample counts, and so does every time a point was
    /// sharpened.
    #[must_use]
    pub fn num_evaluations(&self) -> usize {
        self.evaluations.len()
    }

    /// The standard errors of the parameters in a fit to data: the square roots of the diagonal of
    /// the [covariance](Self::covariance). `None` if there is no covariance.
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
    /// `$\hat\sigma^2 (J^\top J)^{-1}$` with `$\hat\sigma^2 = \|r\|^2 / (m - d)$`. Rows and columns
    /// are in the order of the parameters.
    ///
    /// `None` unless there are more residuals than free parameters and the Jacobian has full rank,
    /// and if residual vectors [stay with the oracle](crate::Problem::with_products). Fixed
    /// parameters have zeros; a parameter that ended on a bound counts as free. The Jacobian is
    /// that of the last model, over the last radius. If the simulator itself is noisy, the Jacobian
    /// at that radius is dominated by noise and the covariance is meaningless.
    #[must_use]
    pub fn covariance(&self) -> Option<Vec<Vec<f64>>> {
        let square = dot(&self.residuals, &self.residuals);
        (self.jacobian.as_ref())
            .and_then(|jacobian| jacobian.covariance(square, self.residuals.len()))
    }
}

/// The Jacobian `$J = \partial r / \partial \theta$` of the residuals.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Jacobian {
    /// The columns; empty if residual vectors stay with the oracle.
    columns: Vec<Vec<f64>>,
    /// The parameters that are fixed by their bounds.
    fixed: Vec<usize>,
    /// The products `$J^\top J$`.
    gram: Matrix,
    /// The products `$J^\top r$` with the residuals of the incumbent.
    slope: Vec<f64>,
}

/// A direction of length one in parameter space, and the change of the residuals along it.
#[derive(Clone, Debug, PartialEq)]
pub struct Direction {
    /// The norm of the change of the residuals for a step of length one, to first order.
    pub strength: f64,
    /// The entries of the direction, in the units given to [`Jacobian::directions`].
    pub direction: Vec<f64>,
}

/// The largest ratio of a parameter's variance to its variance when all others are fixed. Above it,
/// rounding leaves fewer than five of sixteen digits, and only a combination of parameters counts
/// as determined.
const DEPENDENT: f64 = 1e11;

impl Jacobian {
    /// A Jacobian at an incumbent with these residuals.
    pub(crate) fn new(
        columns: Vec<Vec<f64>>,
        fixed: Vec<usize>,
        residuals: &[f64],
        blocks: &Blocks,
    ) -> Self {
        let slope = columns.iter().map(|column| blocks.dot(column, residuals));
        let count = columns.len();
        Self {
            gram: Matrix::from_fn(count, count, |a, b| blocks.dot(&columns[a], &columns[b])),
            slope: slope.collect(),
            columns,
            fixed,
        }
    }

    /// A Jacobian of which only products are known.
    pub(crate) const fn of_products(gram: Matrix, slope: Vec<f64>, fixed: Vec<usize>) -> Self {
        Self {
            columns: Vec::new(),
            fixed,
            gram,
            slope,
        }
    }

    /// The derivatives of all residuals with respect to parameter `j`; empty if residual vectors
    /// [stay with the oracle](crate::Problem::with_products).
    ///
    /// # Panics
    /// When there is no parameter `j`.
    #[must_use]
    pub fn column(&self, j: usize) -> &[f64] {
        assert!(j < self.num_params(), "a parameter");
        self.columns.get(j).map_or(&[], |column| column)
    }

    /// The inner product of the columns of two parameters.
    ///
    /// # Panics
    /// When there is no such parameter.
    #[must_use]
    pub fn product(&self, a: usize, b: usize) -> f64 {
        self.gram[(a, b)]
    }

    /// The inner product `$(J^\top r)_j$` of column `j` with the residuals of the last incumbent.
    ///
    /// # Panics
    /// When there is no parameter `j`.
    #[must_use]
    pub fn slope(&self, j: usize) -> f64 {
        self.slope[j]
    }

    /// The number of parameters.
    #[must_use]
    pub fn num_params(&self) -> usize {
        self.slope.len()
    }

    /// Computes how strongly the residuals depend on each direction in parameter space: the
    /// singular values of the Jacobian and their directions, the weakest first.
    ///
    /// A step of length one changes parameter `j` by `units[j]`, and the entries of the directions
    /// are multiples of these units. The result is empty if the decomposition fails.
    ///
    /// # Panics
    /// When the number of units is not the number of parameters.
    #[must_use]
    pub fn directions(&self, units: &[f64]) -> Vec<Direction> {
        assert_eq!(units.len(), self.num_params(), "one unit per parameter");
        let d = units.len();
        let normal = Matrix::from_fn(d, d, |a, b| self.gram[(a, b)] * units[a] * units[b]);
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

    /// Computes `$\hat\sigma^2 (J^\top J)^{-1}$`. Columns are scaled to norm one first, because
    /// parameters may have very different units.
    fn covariance(&self, square: f64, num_residuals: usize) -> Option<Vec<Vec<f64>>> {
        let count = self.num_params();
        let norms: Vec<f64> = (0..count).map(|j| self.gram[(j, j)].sqrt()).collect();
        let free: Vec<usize> = (0..norms.len())
            .filter(|j| !self.fixed.contains(j))
            .collect();
        let seen = free.iter().all(|&j| norms[j] > 0.0);
        if !seen || num_residuals <= free.len() {
            return None;
        }
        let variance = square / (num_residuals - free.len()) as f64;
        let normal = Matrix::from_fn(free.len(), free.len(), |a, b| {
            let (a, b) = (free[a], free[b]);
            self.gram[(a, b)] / norms[a] / norms[b]
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

/// The reason for the end of a run.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Termination {
    /// The radius has shrunk to its final value. This is the usual end.
    RadiusReached,
    /// The objective is certainly at most the target.
    TargetReached,
    /// The objectives of all points are equal up to the noise level.
    NoiseReached,
    /// Restarts found no better point.
    RestartsExhausted,
    /// Progress became slow, as defined by [`Options::slow`]. This is the usual end if the last
    /// digits are not worth the evaluations that they need.
    Slow,
    /// The model predicts no further decrease. The solver of this crate never ends like this, but
    /// solvers with gradients that report in the same form do.
    Converged,
    /// A limit of the budget was reached.
    Exhausted(Limit),
    /// The radius has shrunk to its final value because steps to better points could not be
    /// evaluated. Add bounds that exclude such points.
    Blocked,
    /// A decision needs more accuracy than the oracle achieves.
    AccuracyFloor {
        /// The accuracy that was asked for.
        wanted: Accuracy,
        /// The accuracy that the oracle achieved.
        achieved: Accuracy,
    },
    /// The caller stopped the run.
    Stopped,
    /// The oracle aborted the run, or no point could be evaluated.
    OracleFailed {
        /// The cause of the failure.
        reason: String,
    },
}

impl Termination {
    /// Whether the run found as good a point as its options ask for: it ended by
    /// [`RadiusReached`](Self::RadiusReached), [`TargetReached`](Self::TargetReached),
    /// [`NoiseReached`](Self::NoiseReached), [`RestartsExhausted`](Self::RestartsExhausted),
    /// [`Slow`](Self::Slow) or [`Converged`](Self::Converged).
    #[must_use]
    pub const fn is_success(&self) -> bool {
        matches!(
            self,
            Self::RadiusReached
                | Self::TargetReached
                | Self::NoiseReached
                | Self::RestartsExhausted
                | Self::Slow
                | Self::Converged
        )
    }
}

/// A limit of the budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Limit {
    /// The limit `max_points` on the number of points.
    Points,
    /// The limit `max_evaluations` on the number of evaluations.
    Evaluations,
    /// The limit `max_work` on the work.
    Work,
    /// The limit `max_time` on wall-clock time.
    Time,
}

/// The outcome of an iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum StepKind {
    /// The first model was completed.
    Initial,
    /// The step was accepted: the trial point became the incumbent.
    Accepted,
    /// The step was rejected: it did not decrease the objective enough.
    Rejected,
    /// The trial point could not be evaluated.
    Failed,
    /// The step was too short to be worth an evaluation. The geometry was improved or the radius
    /// reduced instead.
    Short,
    /// The criticality phase of the paper's Algorithm 1 shrank the radius, because the model's
    /// gradient is small.
    Criticality,
    /// The run restarted around the best point.
    Restarted,
}

/// One iteration of a run.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Iteration {
    /// The number of the iteration, counted from zero.
    pub number: u64,
    /// The outcome of the iteration.
    pub kind: StepKind,
    /// The parameters of the incumbent after the iteration.
    pub theta: Vec<f64>,
    /// The incumbent's objective after the iteration.
    pub objective: f64,
    /// The interval that certainly contains the incumbent's exact objective.
    pub interval: ObjectiveInterval,
    /// The trust-region radius after the iteration.
    pub delta: f64,
    /// The lower radius after the iteration.
    pub rho: f64,
    /// The length of the step in scaled parameters. `None` for an iteration without a step or whose
    /// trial point could not be evaluated.
    pub step: Option<f64>,
    /// The decrease of the objective that the model predicted. `None` for an iteration without a
    /// step.
    pub predicted: Option<f64>,
    /// The ratio of achieved to predicted decrease. `None` if no trial point was evaluated.
    pub ratio: Option<f64>,
    /// Whether the decision about the step is certain in spite of inexact evaluations.
    pub certified: bool,
    /// The norm of the model's gradient in scaled parameters.
    pub gradient: f64,
    /// The poisedness of the interpolation set: the largest absolute value of a Lagrange polynomial
    /// in the trust region. `None` unless [`Diagnostics::poisedness`](crate::Diagnostics) is set.
    pub poisedness: Option<f64>,
    /// The number of different points evaluated so far.
    pub num_points: u64,
    /// The number of evaluations so far.
    pub num_evaluations: u64,
    /// The work of all evaluations so far, in the oracle's unit.
    pub work: u64,
}

/// One evaluation of a run.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct EvalRecord {
    /// The number of the point, counted from zero in the order of their first evaluation.
    pub point: u64,
    /// The parameters.
    pub theta: Vec<f64>,
    /// The purpose of the evaluation.
    pub purpose: Purpose,
    /// The accuracy that was asked for.
    pub target: Accuracy,
    /// The accuracy that the oracle achieved.
    pub achieved: Accuracy,
    /// The sum of squares `$\|\tilde r\|^2$` without the regulariser, or the cause of the failure.
    pub objective: Result<f64, String>,
    /// The work of the evaluation, in the oracle's unit.
    pub work: u64,
}

impl Iteration {
    /// Creates the record of an iteration of another solver, whose history should read like that of
    /// this one. All other fields are zero, empty, `None` or false; set those that are known.
    #[must_use]
    pub const fn new(
        number: u64,
        kind: StepKind,
        objective: f64,
        interval: ObjectiveInterval,
    ) -> Self {
        Self {
            number,
            kind,
            theta: Vec::new(),
            objective,
            interval,
            delta: 0.0,
            rho: 0.0,
            step: None,
            predicted: None,
            ratio: None,
            certified: false,
            gradient: 0.0,
            poisedness: None,
            num_points: 0,
            num_evaluations: 0,
            work: 0,
        }
    }
}

impl EvalRecord {
    /// Creates the record of an evaluation by another solver, without its parameters and accuracy;
    /// set those that are known.
    #[must_use]
    pub const fn new(
        point: u64,
        purpose: Purpose,
        objective: Result<f64, String>,
        work: u64,
    ) -> Self {
        Self {
            point,
            theta: Vec::new(),
            purpose,
            target: Accuracy::ANY,
            achieved: Accuracy::ANY,
            objective,
            work,
        }
    }
}
