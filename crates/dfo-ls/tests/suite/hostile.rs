//! Oracles that fail or answer nonsense: every run ends, reports its best point, and has a
//! consistent history.

use crate::history::{assert_near, bounded, chance, check, exact, far, rosenbrock};
use dfo_ls::{
    EvalError, FnOracle, InexactFn, Job, Purpose, Report, Request, ResidualOracle, StepKind,
    Termination,
};

/// An oracle from a closure that answers jobs.
struct Answering<F> {
    num_residuals: usize,
    answer: F,
}

impl<F: FnMut(&mut [Job<()>])> ResidualOracle for Answering<F> {
    type Resume = ();

    fn num_residuals(&self) -> usize {
        self.num_residuals
    }

    fn evaluate(&mut self, jobs: &mut [Job<()>]) {
        (self.answer)(jobs);
    }
}

#[test]
fn nan_everywhere() {
    let report = check(FnOracle::new(2, |_, r| r.fill(f64::NAN)), far(), bounded());
    assert!(
        matches!(&report.termination, Termination::OracleFailed { reason } if reason.contains("NaN"))
    );
    assert_eq!(report.theta, [-1.2, 1.0]);
    assert!(report.jacobian.is_none() && report.covariance().is_none());
}

#[test]
fn nan_in_a_half_plane() {
    let oracle = FnOracle::new(2, |theta, r| {
        rosenbrock(theta, r);
        if theta[0] < -1.15 && theta[1] > 1.05 || theta[0] > 1.05 {
            r[1] = f64::NAN;
        }
    });
    let report = check(oracle, far(), bounded());
    assert!(report.termination.is_success(), "{:?}", report.termination);
    assert!(
        report
            .evaluations
            .iter()
            .any(|record| record.objective.is_err())
    );
    assert_near(&report.theta, &[1.0, 1.0], 1e-5);
}

#[test]
fn nan_at_the_start_only() {
    let oracle = FnOracle::new(2, |theta, r| {
        rosenbrock(theta, r);
        if theta == [-1.2, 1.0] {
            r.fill(f64::NAN);
        }
    });
    let report = check(oracle, far(), bounded());
    assert!(report.evaluations[0].objective.is_err());
    assert_near(&report.theta, &[1.0, 1.0], 1e-5);
}

#[test]
fn nan_everywhere_but_at_the_start() {
    let oracle = FnOracle::new(2, |theta, r| {
        rosenbrock(theta, r);
        if theta != [-1.2, 1.0] {
            r[0] = f64::NAN;
        }
    });
    let report = check(oracle, far(), bounded());
    assert_eq!(report.theta, [-1.2, 1.0]);
    assert!((report.objective - 24.2).abs() < 1e-12);
    assert!(!report.termination.is_success(), "{:?}", report.termination);
}

/// Only steps fail, never the points around the start.
#[test]
fn nan_at_every_trial() {
    let oracle = Answering {
        num_residuals: 2,
        answer: |jobs: &mut [Job<()>]| {
            for job in jobs {
                let fails = job.purpose() == Purpose::Trial;
                job.run(|request, r| {
                    rosenbrock(request.theta, r);
                    r[0] = if fails { f64::NAN } else { r[0] };
                    Ok(exact(1))
                });
            }
        },
    };
    let report = check(oracle, far(), bounded());
    assert!(
        report
            .iterations
            .iter()
            .any(|iteration| iteration.kind == StepKind::Failed)
    );
    assert!(report.objective <= 24.2);
}

#[test]
fn infinite_at_some_points() {
    let oracle = FnOracle::new(2, |theta, r| {
        rosenbrock(theta, r);
        if chance(theta) < 0.1 && theta != [-1.2, 1.0] {
            r[0] = if chance(theta) < 0.05 {
                f64::INFINITY
            } else {
                f64::NEG_INFINITY
            };
        }
    });
    let report = check(oracle, far(), bounded());
    assert_near(&report.theta, &[1.0, 1.0], 1e-4);
    check_reasons(&report, "inf");
}

/// Checks that evaluations failed, and all of them with this word as a reason.
fn check_reasons(report: &Report, word: &str) {
    let reasons: Vec<_> = report
        .evaluations
        .iter()
        .filter_map(|record| record.objective.as_ref().err())
        .collect();
    assert!(
        !reasons.is_empty() && reasons.iter().all(|reason| reason.contains(word)),
        "{reasons:?}"
    );
}

/// Residuals are finite, but their squares are not.
#[test]
fn overflow() {
    let oracle = FnOracle::new(2, |theta, r| {
        rosenbrock(theta, r);
        if chance(theta) < 0.15 && theta != [-1.2, 1.0] {
            r[0] = 1e200;
        }
    });
    let report = check(oracle, far(), bounded());
    assert_near(&report.theta, &[1.0, 1.0], 1e-4);
    check_reasons(&report, "overflow");
}

#[test]
fn one_point_in_five_is_rejected() {
    for seed in 0..10 {
        let oracle = InexactFn::new(2, |request: Request<'_, ()>, r: &mut [f64]| {
            let seeded = [request.theta[0], request.theta[1], f64::from(seed)];
            if chance(&seeded) < 0.2 {
                let reason = "bad luck".to_owned();
                return Err(EvalError::Reject { reason, work: 3 });
            }
            rosenbrock(request.theta, r);
            Ok(exact(2))
        });
        let report = check(oracle, far(), bounded());
        assert_near(&report.theta, &[1.0, 1.0], 1e-4);
        let (good, bad): (Vec<_>, Vec<_>) = report
            .evaluations
            .iter()
            .partition(|record| record.objective.is_ok());
        assert!(!bad.is_empty());
        assert_eq!(report.work, 2 * good.len() as u64 + 3 * bad.len() as u64);
    }
}

#[test]
fn abort_keeps_the_best() {
    let mut calls = 0;
    let mut least = f64::INFINITY;
    let oracle = InexactFn::new(2, |request: Request<'_, ()>, r: &mut [f64]| {
        calls += 1;
        if calls > 12 {
            return Err(EvalError::abort("the licence has expired"));
        }
        rosenbrock(request.theta, r);
        least = least.min(r[0] * r[0] + r[1] * r[1]);
        Ok(exact(1))
    });
    let report = check(oracle, far(), bounded());
    assert!(
        matches!(&report.termination, Termination::OracleFailed { reason } if reason.contains("licence"))
    );
    assert_eq!(report.evaluations.len(), 13);
    assert!((report.objective - least).abs() <= 1e-14 * least);
}

#[test]
fn abort_at_once() {
    let oracle = InexactFn::new(2, |_: Request<'_, ()>, _: &mut [f64]| {
        Err(EvalError::abort("no"))
    });
    let report = check(oracle, far(), bounded());
    assert!(matches!(
        report.termination,
        Termination::OracleFailed { .. }
    ));
    assert_eq!(
        (report.evaluations.len(), report.theta),
        (1, vec![-1.2, 1.0])
    );
}

#[test]
fn a_panic_costs_one_point() {
    std::panic::set_hook(Box::new(|_| {}));
    let mut calls = 0;
    let oracle = FnOracle::new(2, |theta, r| {
        calls += 1;
        assert!(calls % 7 != 0, "call {calls}");
        rosenbrock(theta, r);
    });
    let report = check(oracle, far(), bounded());
    let _ = std::panic::take_hook();
    assert_near(&report.theta, &[1.0, 1.0], 1e-4);
    let sixth = report.evaluations[6].objective.as_ref();
    assert!(sixth.is_err_and(|reason| reason.contains("panicked: call 7")));
}

#[test]
fn no_job_is_answered() {
    let oracle = Answering {
        num_residuals: 2,
        answer: |_: &mut [Job<()>]| {},
    };
    let report = check(oracle, far(), bounded());
    assert!(
        matches!(&report.termination, Termination::OracleFailed { reason } if reason.contains("no job"))
    );
    assert!(report.evaluations.is_empty());
}

/// Unanswered jobs are asked again, and the run is the same.
#[test]
fn half_of_the_jobs_are_answered() {
    let lazy = Answering {
        num_residuals: 2,
        answer: |jobs: &mut [Job<()>]| {
            let half = jobs.len().div_ceil(2);
            FnOracle::new(2, rosenbrock).evaluate(&mut jobs[..half]);
        },
    };
    let half = check(lazy, far(), bounded());
    let whole = check(FnOracle::new(2, rosenbrock), far(), bounded());
    assert_eq!(
        (half.theta, half.evaluations),
        (whole.theta, whole.evaluations)
    );
}

#[test]
fn the_wrong_number_of_residuals() {
    let mut calls = 0;
    let oracle = Answering {
        num_residuals: 2,
        answer: |jobs: &mut [Job<()>]| {
            for job in jobs {
                calls += 1;
                let mut residuals = vec![0.0; if calls % 4 == 2 { 3 } else { 2 }];
                rosenbrock(job.theta(), &mut residuals);
                job.answer(&residuals, exact(1));
            }
        },
    };
    let report = check(oracle, far(), bounded());
    let second = report.evaluations[1].objective.as_ref();
    let expected = "3 residuals were given, but there must be 2";
    assert!(second.is_err_and(|reason| reason.contains(expected)));
    assert_near(&report.theta, &[1.0, 1.0], 1e-4);
}
