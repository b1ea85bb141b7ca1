//! Runs whose history is checked to be complete and consistent, and to contain the reported point.

use std::collections::BTreeMap;

use dfo_ls::{Accuracy, Evaluated, Job, Options, Problem, Report, ResidualOracle, minimize};

/// An oracle that counts its answers.
struct Counted<O> {
    oracle: O,
    calls: usize,
}

impl<O: ResidualOracle> ResidualOracle for Counted<O> {
    type Resume = O::Resume;

    fn num_residuals(&self) -> usize {
        self.oracle.num_residuals()
    }

    fn evaluate(&mut self, jobs: &mut [Job<O::Resume>]) {
        assert!(jobs.iter().all(|job| !job.is_answered()));
        self.oracle.evaluate(jobs);
        self.calls += jobs.iter().filter(|job| job.is_answered()).count();
    }
}

const MOST: u64 = 1000;

pub(crate) fn bounded() -> Options {
    let mut options = Options::default();
    options.budget.max_evaluations = Some(MOST);
    options
}

/// Runs, and checks that the history is complete and contains the reported point.
pub(crate) fn check<O: ResidualOracle>(oracle: O, problem: Problem, options: Options) -> Report {
    let num_residuals = oracle.num_residuals();
    let mut oracle = Counted { oracle, calls: 0 };
    let report = minimize(&mut oracle, problem, options).expect("a valid problem");
    check_history(&report, oracle.calls);
    if report.residuals.is_empty() {
        assert!(report.objective.is_infinite());
        assert!(
            report
                .evaluations
                .iter()
                .all(|record| record.objective.is_err())
        );
    } else {
        assert_eq!(report.residuals.len(), num_residuals);
        assert!(report.objective.is_finite());
        assert!(
            report
                .evaluations
                .iter()
                .any(|record| record.theta == report.theta)
        );
        assert!(
            report.interval.lower <= report.objective && report.objective <= report.interval.upper
        );
    }
    report
}

fn check_history(report: &Report, calls: usize) {
    assert_eq!(report.evaluations.len(), calls);
    assert!(calls as u64 <= MOST);
    assert_eq!(
        report.work,
        report
            .evaluations
            .iter()
            .map(|record| record.work)
            .sum::<u64>()
    );
    let mut points: BTreeMap<u64, &[f64]> = BTreeMap::new();
    for record in &report.evaluations {
        let theta = points.entry(record.point).or_insert(&record.theta);
        assert_eq!(*theta, record.theta, "point {} is one point", record.point);
    }
    assert_eq!(report.num_points, points.len() as u64);
    for (number, iteration) in report.iterations.iter().enumerate() {
        assert_eq!(iteration.number, number as u64);
        assert!(iteration.num_evaluations <= calls as u64 && iteration.work <= report.work);
        assert!(iteration.objective.is_finite() && iteration.delta > 0.0 && iteration.rho > 0.0);
        assert!(iteration.ratio.is_none_or(|ratio| !ratio.is_nan()));
    }
}

pub(crate) fn assert_near(theta: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(theta.len(), expected.len());
    let near = theta
        .iter()
        .zip(expected)
        .all(|(a, b)| (a - b).abs() <= tolerance * b.abs().max(1.0));
    assert!(near, "{theta:?} is not {expected:?}");
}

pub(crate) fn rosenbrock(theta: &[f64], r: &mut [f64]) {
    r[0] = 10.0 * (theta[1] - theta[0] * theta[0]);
    r[1] = 1.0 - theta[0];
}

pub(crate) fn far() -> Problem {
    Problem::new([-1.2, 1.0])
}

/// The same number in [0, 1) for the same point, whatever the order of calls.
pub(crate) fn chance(theta: &[f64]) -> f64 {
    let hash = theta.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, x| {
        let mixed = (hash ^ x.to_bits()).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed ^ (mixed >> 29)
    });
    let high = u32::try_from(hash.wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 32).expect("32 bits");
    f64::from(high) / 4_294_967_296.0
}

pub(crate) fn exact(work: u64) -> Evaluated<()> {
    Evaluated {
        achieved: Accuracy::EXACT,
        work,
        resume: (),
    }
}
