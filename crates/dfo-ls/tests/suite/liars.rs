//! Oracles that report a wrong accuracy or cannot achieve the requested one: every run ends with a
//! consistent history.

use crate::history::{assert_near, bounded, chance, check, exact, far, rosenbrock};
use dfo_ls::{
    Accuracy, EvalError, Evaluated, FnOracle, InexactFn, Limit, Options, Request, Start,
    Termination,
};

fn of_size(size: f64) -> Accuracy {
    Accuracy::new(size).expect("not negative")
}

/// An oracle that claims to be exact but has noise.
#[test]
fn a_liar_who_claims_to_be_exact() {
    let oracle = FnOracle::new(2, |theta, r| {
        rosenbrock(theta, r);
        r[0] += 1e-4 * (chance(theta) - 0.5);
        r[1] += 1e-4 * (chance(&[theta[1], theta[0]]) - 0.5);
    });
    let report = check(oracle, far(), bounded());
    assert_near(&report.theta, &[1.0, 1.0], 1e-2);
}

/// An oracle that is exact but reports an infinite error, which allows no decision.
#[test]
fn an_oracle_that_claims_nothing() {
    let oracle = InexactFn::new(2, |request: Request<'_, ()>, r: &mut [f64]| {
        rosenbrock(request.theta, r);
        Ok(Evaluated {
            achieved: Accuracy::ANY,
            ..exact(1)
        })
    });
    let report = check(oracle, far(), bounded());
    assert!(
        matches!(report.termination, Termination::AccuracyFloor { .. }),
        "{:?}",
        report.termination
    );
    assert!(report.interval.upper.is_infinite());
}

/// An oracle whose error is a hundredth of the reported one.
#[test]
fn an_oracle_better_than_its_word() {
    let oracle = InexactFn::new(2, |request: Request<'_, u32>, r: &mut [f64]| {
        rosenbrock(request.theta, r);
        let admitted = request.target.value().min(1.0);
        r[0] += 0.01 * admitted * chance(request.theta);
        Ok(Evaluated {
            achieved: of_size(admitted),
            work: 1,
            resume: 0,
        })
    });
    let report = check(oracle, far(), bounded());
    assert_near(&report.theta, &[1.0, 1.0], 1e-3);
}

/// An oracle with errors of at least 1e-4: the run ends with `AccuracyFloor`, or needs no more
/// accuracy.
#[test]
fn an_accuracy_floor() {
    for shift in [0.0, 1.0] {
        let oracle = InexactFn::new(3, |request: Request<'_, ()>, r: &mut [f64]| {
            rosenbrock(request.theta, &mut r[..2]);
            r[2] = shift;
            let error = request.target.value().clamp(1e-4, 1.0);
            r[0] += 0.9 * error * (2.0 * chance(request.theta) - 1.0);
            Ok(Evaluated {
                achieved: of_size(error),
                ..exact(1)
            })
        });
        let report = check(oracle, far(), bounded());
        match report.termination {
            Termination::AccuracyFloor { wanted, achieved } => {
                assert!(wanted < achieved && (achieved.value() - 1e-4).abs() < 1e-12);
            }
            ref other => assert!(other.is_success(), "{other:?}"),
        }
        assert_near(&report.theta, &[1.0, 1.0], 0.1);
    }
}

/// An oracle that evaluates every point only once.
#[test]
fn an_oracle_that_refuses_to_refine() {
    for options in [Options::default(), Options::paper(), Options::experiments()] {
        let oracle = InexactFn::new(2, |request: Request<'_, ()>, r: &mut [f64]| {
            if let Start::Refine(()) = request.start {
                return Err(EvalError::reject("the file is gone"));
            }
            rosenbrock(request.theta, r);
            let error = request.target.value().min(0.1);
            r[0] += error * (chance(request.theta) - 0.5);
            Ok(Evaluated {
                achieved: of_size(error),
                ..exact(1)
            })
        });
        let mut options = options;
        options.budget.max_evaluations = bounded().budget.max_evaluations;
        let report = check(oracle, far(), options);
        let end = &report.termination;
        assert!(
            !matches!(end, Termination::Exhausted(Limit::Evaluations)),
            "{end:?}"
        );
    }
}
