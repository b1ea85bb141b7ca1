//! The books of a run: iterations, evaluations, the best point, what was spent, and how the run
//! ended.

use crate::linalg::norm;
use crate::model::pool::Point;
use crate::report::{EvalRecord, Iteration, Limit, Termination};
use crate::residuals::Residuals;
use crate::{Accuracy, Budget, ObjectiveInterval};

/// What happened in a run so far.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Ledger<R> {
    pub(super) iterations: Vec<Iteration>,
    /// How many iterations were handed to the caller.
    pub(super) num_told: usize,
    pub(super) evaluations: Vec<EvalRecord>,
    /// How many iterations and evaluations a lean state lacks.
    pub(super) missing: Option<(usize, usize)>,
    pub(super) best: Option<BestPoint<R>>,
    /// The token of the point evaluated last.
    pub(super) last_resume: Option<R>,
    /// How many points were asked for: the number of the next new point.
    pub(super) next_number: u64,
    /// How many residual vectors were made.
    num_vectors: u64,
    /// How many points were evaluated.
    pub(super) num_points: u64,
    pub(super) work: u64,
    /// A limit of the budget that was reached while evaluations are outstanding.
    pub(super) exhausted: Option<Limit>,
    termination: Option<Termination>,
}

/// The best point so far, also if it has left the set.
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

/// The best point of a run so far: the one whose objective is certainly lowest.
#[derive(Debug)]
#[non_exhaustive]
pub struct Best<'a, R> {
    /// The parameters.
    pub theta: &'a [f64],
    /// The residuals there.
    pub residuals: &'a [f64],
    /// The objective, as it was computed.
    pub objective: f64,
    /// Bounds on the exact objective.
    pub interval: ObjectiveInterval,
    /// The accuracy of the residuals.
    pub accuracy: Accuracy,
    /// The number of the point, as in [`EvalRecord::point`]; `None` for a known evaluation.
    pub point: Option<u64>,
    /// The oracle's token for this point; `None` for a known evaluation.
    pub resume: Option<&'a R>,
}

/// What an iteration knows of its step.
#[derive(Clone, Copy, Debug)]
pub(super) struct StepRecord {
    pub(super) step: Option<f64>,
    pub(super) predicted: Option<f64>,
    pub(super) ratio: Option<f64>,
    pub(super) certified: bool,
    pub(super) gradient: f64,
}

impl StepRecord {
    /// The row of an iteration without a step.
    pub(super) const fn without_step(gradient: f64) -> Self {
        Self {
            step: None,
            predicted: None,
            ratio: None,
            certified: true,
            gradient,
        }
    }

    /// The row of an iteration with a step, which is empty if it was never evaluated.
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

    /// Ends the run. The first reason stays.
    pub(super) fn end(&mut self, why: Termination) {
        self.termination.get_or_insert(why);
    }

    /// Lets a run go on that was stopped, or whose budget was spent; `false` for all others.
    pub(super) fn reopen(&mut self) -> bool {
        // a limit may have been noted while the last evaluations were under way
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

    /// Ends the run if the best point is certainly at the target, or at zero.
    pub(super) fn end_at_target(&mut self, target: Option<f64>) {
        let best = self.best.as_ref();
        let upper = best.map_or(f64::INFINITY, |best| best.interval().upper);
        if target.is_some_and(|target| upper <= target) || upper <= 0.0 {
            self.end(Termination::TargetReached);
        }
    }

    /// How many points and evaluations the budget leaves.
    pub(super) fn left(&self, budget: &Budget) -> (u64, u64) {
        let evaluations = self.evaluations.len() as u64;
        let left = |max: Option<u64>, spent| max.map_or(u64::MAX, |max| max.saturating_sub(spent));
        (
            left(budget.max_points, self.next_number),
            left(budget.max_evaluations, evaluations),
        )
    }

    /// Writes down an evaluation and what it cost.
    pub(super) fn add_evaluation(&mut self, record: EvalRecord) {
        self.work = self.work.saturating_add(record.work);
        self.evaluations.push(record);
    }

    /// The number of the next residual vector.
    pub(super) const fn next_vector(&mut self) -> u64 {
        self.num_vectors += 1;
        self.num_vectors - 1
    }

    /// The iterations that the caller has not seen.
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
    /// Remembers the point with the lowest certain objective.
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
    /// Bounds on the exact objective.
    pub(super) fn interval(&self) -> ObjectiveInterval {
        interval(self.objective, self.penalty, self.accuracy)
    }

    /// `$\|r\|^2$`, without the regulariser.
    pub(super) fn square(&self) -> f64 {
        self.objective - self.penalty
    }
}

impl<R> BestPoint<R> {
    pub(super) fn interval(&self) -> ObjectiveInterval {
        interval(self.objective, self.penalty, self.accuracy)
    }
}

/// Bounds on the exact objective, for residuals of this accuracy and a penalty without error.
fn interval(objective: f64, penalty: f64, accuracy: Accuracy) -> ObjectiveInterval {
    let square = accuracy.objective_interval((objective - penalty).max(0.0));
    ObjectiveInterval {
        lower: square.lower + penalty,
        upper: square.upper + penalty,
    }
}
