//! Scores: when a problem counts as solved, and the share of solved problems.

use dfo_ls::testing::MoreWild;

use super::run::RunResult;

/// The shares of the possible decrease that may be missing when a problem counts as solved.
pub(super) const TAUS: [f64; 4] = [1e-1, 1e-3, 1e-5, 1e-7];
/// The names of [`TAUS`] in files and tables.
pub(super) const TAU_NAMES: [&str; 4] = ["1e-1", "1e-3", "1e-5", "1e-7"];
/// The index of 1e-5 in [`TAUS`].
pub(super) const TIGHT: usize = 2;
/// Budgets of evaluations, as multiples of the number of parameters plus one.
pub(super) const BUDGETS: [u64; 4] = [5, 10, 20, 100];

/// One evaluation of a run, as the oracle recorded it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct RecordedEvaluation {
    /// The exact objective, without noise.
    pub(super) objective: f64,
    pub(super) work: u64,
    /// Whether the point is evaluated for the first time.
    pub(super) is_new: bool,
}

/// The cost until an objective was reached. All counts include the evaluation that reached it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reached {
    pub(super) evaluations: u64,
    pub(super) points: u64,
    pub(super) work: u64,
}

/// Returns the objective at which a problem counts as solved.
pub(super) fn threshold(best: f64, start: f64, tau: f64) -> f64 {
    best + tau * (start - best)
}

/// Returns the cost until the first evaluation with an objective of at most `threshold`.
pub(super) fn first(history: &[RecordedEvaluation], threshold: f64) -> Option<Reached> {
    let mut reached = Reached {
        evaluations: 0,
        points: 0,
        work: 0,
    };
    for evaluation in history {
        reached.evaluations += 1;
        reached.points += u64::from(evaluation.is_new);
        reached.work += evaluation.work;
        if evaluation.objective <= threshold {
            return Some(reached);
        }
    }
    None
}

/// The scores of one solver. A problem appears once for every seed.
#[derive(Clone, Debug)]
pub(super) struct SolverScores {
    pub(super) solver: String,
    pub(super) entries: Vec<ProblemScore>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct ProblemScore {
    pub(super) problem: MoreWild,
    /// The number of evaluations until solved, in the order of [`TAUS`].
    pub(super) evaluations_to: [Option<u64>; 4],
}

impl ProblemScore {
    /// Returns the evaluations until solved, divided by the number of parameters plus one.
    pub(super) fn cost(&self, tau: usize) -> Option<f64> {
        self.evaluations_to[tau].map(|evaluations| per_simplex(self.problem, evaluations))
    }

    fn is_solved(&self, tau: usize, budget: u64) -> bool {
        let limit = budget * simplex(self.problem);
        self.evaluations_to[tau].is_some_and(|evaluations| evaluations <= limit)
    }
}

impl SolverScores {
    pub(super) fn of_runs(solver: &str, runs: &[RunResult]) -> Self {
        let entry = |run: &RunResult| ProblemScore {
            problem: run.problem,
            evaluations_to: run.reached.map(|reached| reached.map(|r| r.evaluations)),
        };
        Self {
            solver: solver.to_owned(),
            entries: runs.iter().map(entry).collect(),
        }
    }

    /// Returns the percentage of problems solved within `budget`.
    pub(super) fn percent(&self, tau: usize, budget: u64) -> f64 {
        let is_solved = |entry: &&ProblemScore| entry.is_solved(tau, budget);
        let solved = self.entries.iter().filter(is_solved).count();
        100.0 * ratio(solved, self.entries.len())
    }

    /// Returns the numbers of the problems that are not solved within the largest budget, each with
    /// the number of seeds for which it is not.
    pub(super) fn unsolved(&self, tau: usize) -> Vec<(usize, usize)> {
        let budget = BUDGETS[BUDGETS.len() - 1];
        let mut unsolved: Vec<(usize, usize)> = Vec::new();
        for entry in self.entries.iter().filter(|e| !e.is_solved(tau, budget)) {
            let number = entry.problem.number();
            match unsolved.iter_mut().find(|(known, _)| *known == number) {
                Some((_, times)) => *times += 1,
                None => unsolved.push((number, 1)),
            }
        }
        unsolved
    }

    /// Returns the evaluations until solved on one problem, with the first seed.
    pub(super) fn on(&self, problem: MoreWild, tau: usize) -> Option<u64> {
        let mut entries = self.entries.iter();
        let entry = entries.find(|entry| entry.problem == problem)?;
        entry.evaluations_to[tau]
    }
}

/// Returns the number of parameters plus one.
pub(super) const fn simplex(problem: MoreWild) -> u64 {
    problem.num_params() as u64 + 1
}

pub(super) fn per_simplex(problem: MoreWild, count: u64) -> f64 {
    count as f64 / simplex(problem) as f64
}

/// Returns `part / whole`, or zero if `whole` is zero.
pub(super) fn ratio(part: usize, whole: usize) -> f64 {
    if whole == 0 {
        0.0
    } else {
        part as f64 / whole as f64
    }
}

/// Returns the median: the mean of the middle two values if their number is even. `None` if there
/// are no values.
pub(super) fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        odd if odd % 2 == 1 => Some(values[middle]),
        _ => Some(f64::midpoint(values[middle - 1], values[middle])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history(values: &[(f64, u64, bool)]) -> Vec<RecordedEvaluation> {
        let evaluation = |&(objective, work, is_new)| RecordedEvaluation {
            objective,
            work,
            is_new,
        };
        values.iter().map(evaluation).collect()
    }

    #[test]
    fn the_first_evaluation_below_counts() {
        let history = history(&[
            (10.0, 5, true),
            (f64::NAN, 5, true),
            (3.0, 7, true),
            (3.0, 2, false),
            (1.0, 4, true),
        ]);
        let at = |threshold| first(&history, threshold);
        let reached = |evaluations, points, work| {
            Some(Reached {
                evaluations,
                points,
                work,
            })
        };
        assert_eq!(at(10.0), reached(1, 1, 5));
        assert_eq!(at(3.0), reached(3, 3, 17));
        assert_eq!(at(2.9), reached(5, 4, 23));
        assert_eq!(at(0.9), None);
        assert_eq!(first(&[], 1.0), None);
    }

    #[test]
    fn thresholds_lie_between_best_and_start() {
        assert!((threshold(1.0, 11.0, 0.1) - 2.0).abs() < 1e-12);
        assert!((threshold(0.0, 5.0, 1e-5) - 5e-5).abs() < 1e-18);
    }

    /// Problem 6 has two parameters, problem 0 nine.
    fn scores() -> SolverScores {
        let entry = |number, evaluations: Option<u64>| ProblemScore {
            problem: MoreWild::new(number).unwrap(),
            evaluations_to: [evaluations; 4],
        };
        SolverScores {
            solver: String::new(),
            entries: vec![
                entry(0, Some(50)),
                entry(0, Some(51)),
                entry(6, Some(300)),
                entry(6, None),
            ],
        }
    }

    #[test]
    fn percentages_count_what_is_solved_within_the_budget() {
        let percent = |budget| scores().percent(0, budget);
        let close = |a: f64, b: f64| (a - b).abs() < 1e-12;
        assert!(
            close(percent(5), 25.0),
            "50 evaluations are 5(n+1), 51 are more"
        );
        assert!(close(percent(10), 50.0) && close(percent(20), 50.0));
        assert!(close(percent(100), 75.0));
        let none = SolverScores {
            entries: Vec::new(),
            ..scores()
        };
        assert!(close(none.percent(0, 5), 0.0));
    }

    #[test]
    fn unsolved_problems_are_named_once() {
        assert_eq!(scores().unsolved(3), [(6, 1)]);
        assert_eq!(scores().on(MoreWild::new(0).unwrap(), 0), Some(50));
    }

    #[test]
    fn medians() {
        assert_eq!(median([]), None);
        assert_eq!(median([3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median([4.0, 1.0]), Some(2.5));
        assert_eq!(median([1.0, f64::INFINITY, 2.0]), Some(2.0));
    }
}
