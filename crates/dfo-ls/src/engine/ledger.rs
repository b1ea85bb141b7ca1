//! The ledger of a run: iterations, evaluations, the best point, the spent budget and the reason
//! for the end.

use crate::linalg::norm;
use crate::model::pool::Point;
use crate::report::{EvalRecord, Iteration, Limit, Termination};
use crate::residuals::Residuals;
use crate::{Accuracy, Budget, ObjectiveInterval};

/// The history of a run so far, its best point and its counters.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Ledger<R> {
    pub(super) iterations: Vec<Iteration>,
    /// The number of iterations that the caller has seen.
    pub(super) num_told: usize,
    pub(super) evaluations: Vec<EvalRecord>,
    /// The numbers of iterations and evaluations that a lean state lacks.
    pub(super) missing: Option<(usize, usize)>,
    pub(super) best: Option<BestPoint<R>>,
    /// The token of the point evaluated last.
    pub(super) last_resume: Option<R>,
    /// The number of the next new point, which is the number of points asked for so far.
    pub(super) next_number: u64,
    /// The number of residual vectors so far.
    num_vectors: u64,
    /// The number of points that were evaluated.
    pub(super) num_points: u64,
    pub(super) work: u64,
    /// The limit of the budget that was reached while evaluations are outstanding.
    pub(super) exhausted: Option<Limit>,
    termination: Option<Termination>,
}

/// The best point so far. It may have left the interpolation set.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct BestPoint<R> {
    pub(super) number: u64,
    pub(super) theta: Vec<f64>,
    pub(super) residuals: Residuals,
    pub(super) objective: f64,
    pub(super) penalty: f64,
    pub(super) accuracy: Accuracy,
    pub(super) resume: Option<R>,
}

/// The best point of a run so far: the one with the lowest upper bound on its exact objective.
#[derive(Debug)]
#[non_exhaustive]
pub struct Best<'a, R> {
    /// The parameters.
    pub theta: &'a [f64],
    /// The residuals.
    pub residuals: &'a [f64],
    /// The computed objective.
    pub objective: f64,
    /// The interval that contains the exact objective.
    pub interval: ObjectiveInterval,
    /// The accuracy of the residuals.
    pub accuracy: Accuracy,
    /// The number of the point, as in [`EvalRecord::point`]. `None` for a known evaluation.
    pub point: Option<u64>,
    /// The oracle's token for this point. `None` for a known evaluation.
    pub resume: Option<&'a R>,
}

/// The step of an iteration, as its history records it.
#[derive(Clone, Copy, Debug)]
pub(super) struct StepRecord {
    pub(super) step: Option<f64>,
    pub(super) predicted: Option<f64>,
    pub(super) ratio: Option<f64>,
    pub(super) certified: bool,
    pub(super) gradient: f64,
}

impl StepRecord {
    /// The record of an iteration without a step.
    pub(super) const fn without_step(gradient: f64) -> Self {
        Self {
            step: None,
            predicted: None,
            ratio: None,
            certified: true,
            gradient,
        }
    }

    /// The record of an iteration with a step. An empty `step` means that the trial point was never
    /// evaluated.
    pub(super) fn of_step(
        step: &[f64],
        predicted: f64,
        gradient: f64,
        ratio: Option<f64>,
        certified: bool,
    ) -> Self {
        Self {
            step: Some(norm(step)).filter(|_| !step.is_empty()),
            predicted: Some(predicted),
            ratio: ratio.filter(|ratio| ratio.is_finite()),
            certified,
            gradient,
        }
    }
}

impl<R> Default for Ledger<R> {
    fn default() -> Self {
        Self {
            iterations: Vec::new(),
            num_told: 0,
            evaluations: Vec::new(),
            missing: None,
            best: None,
            last_resume: None,
            next_number: 0,
            num_vectors: 0,
            num_points: 0,
            work: 0,
            exhausted: None,
            termination: None,
        }
    }
}

impl<R> Ledger<R> {
    pub(super) const fn termination(&self) -> Option<&Termination> {
        self.termination.as_ref()
    }

    /// Ends the run. If it has ended already, the earlier reason stays.
    pub(super) fn end(&mut self, why: Termination) {
        self.termination.get_or_insert(why);
    }

    /// Reopens a run that was stopped or whose budget was spent. Returns whether the run goes on.
    pub(super) fn reopen(&mut self) -> bool {
        // A limit may have been reached while the last evaluations were outstanding.
        self.exhausted = None;
        let goes_on = matches!(
            self.termination,
            Some(Termination::Stopped | Termination::Exhausted(_))
        );
        if goes_on {
            self.termination = None;
        }
        goes_on
    }

    /// Ends the run if the objective of the best point is certainly at most the target, or zero.
    pub(super) fn end_at_target(&mut self, target: Option<f64>) {
        let best = self.best.as_ref();
        let upper = best.map_or(f64::INFINITY, |best| best.interval().upper);
        if target.is_some_and(|target| upper <= target) || upper <= 0.0 {
            self.end(Termination::TargetReached);
        }
    }

    /// The numbers of points and evaluations that are left in the budget.
    pub(super) fn left(&self, budget: &Budget) -> (u64, u64) {
        let evaluations = self.evaluations.len() as u64;
        let left = |max: Option<u64>, spent| max.map_or(u64::MAX, |max| max.saturating_sub(spent));
        (
            left(budget.max_points, self.next_number),
            left(budget.max_evaluations, evaluations),
        )
    }

    /// Adds an evaluation and its work.
    pub(super) fn add_evaluation(&mut self, record: EvalRecord) {
        self.work = self.work.saturating_add(record.work);
        self.evaluations.push(record);
    }

    /// The number of the next residual vector.
    pub(super) const fn next_vector(&mut self) -> u64 {
        self.num_vectors += 1;
        self.num_vectors - 1
    }

    /// Returns the iterations that the caller has not seen.
    pub(super) fn tell(&mut self) -> &[Iteration] {
        let first = std::mem::replace(&mut self.num_told, self.iterations.len());
        &self.iterations[first..]
    }

    /// The best point, for the caller.
    pub(super) fn best(&self) -> Option<Best<'_, R>> {
        let best = self.best.as_ref()?;
        Some(Best {
            theta: &best.theta,
            residuals: &best.residuals,
            objective: best.objective,
            interval: best.interval(),
            accuracy: best.accuracy,
            point: Some(best.number).filter(|number| *number < self.next_number),
            resume: best.resume.as_ref(),
        })
    }
}

impl<R: Clone> Ledger<R> {
    /// Stores the point if it is better than the best point so far, or is a new evaluation of it.
    pub(super) fn note_best(&mut self, point: &Point<R>) {
        let better = self.best.as_ref().is_none_or(|best| {
            let exact = best.accuracy == Accuracy::EXACT && point.accuracy == Accuracy::EXACT;
            let lower = if exact {
                point.objective < best.objective
            } else {
                point.interval().upper < best.interval().upper
            };
            lower || best.number == point.number
        });
        if better {
            self.best = Some(BestPoint {
                number: point.number,
                theta: point.theta.clone(),
                residuals: point.residuals.clone(),
                objective: point.objective,
                penalty: point.penalty,
                accuracy: point.accuracy,
                resume: point.resume.clone(),
            });
        }
    }

    /// A copy without iterations and evaluations.
    pub(super) fn lean(&self) -> Self {
        Self {
            iterations: Vec::new(),
            num_told: self.num_told,
            evaluations: Vec::new(),
            missing: Some((self.iterations.len(), self.evaluations.len())),
            best: self.best.clone(),
            last_resume: self.last_resume.clone(),
            next_number: self.next_number,
            num_vectors: self.num_vectors,
            num_points: self.num_points,
            work: self.work,
            exhausted: self.exhausted,
            termination: self.termination.clone(),
        }
    }
}

impl<R> Point<R> {
    /// The interval that contains the exact objective.
    pub(super) fn interval(&self) -> ObjectiveInterval {
        interval(self.objective, self.penalty, self.accuracy)
    }

    /// The sum of squares `$\|r\|^2$`, without the regulariser.
    pub(super) fn square(&self) -> f64 {
        self.objective - self.penalty
    }
}

impl<R> BestPoint<R> {
    pub(super) fn interval(&self) -> ObjectiveInterval {
        interval(self.objective, self.penalty, self.accuracy)
    }
}

/// The interval that contains the exact objective, for residuals of this accuracy and a penalty
/// without error.
fn interval(objective: f64, penalty: f64, accuracy: Accuracy) -> ObjectiveInterval {
    let square = accuracy.objective_interval((objective - penalty).max(0.0));
    ObjectiveInterval {
        lower: square.lower + penalty,
        upper: square.upper + penalty,
    }
}
