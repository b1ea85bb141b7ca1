//! Extreme problems: flat, fixed, narrow, tiny and huge.

use dfo_ls::{FnOracle, Limit, Options, Problem, Report, Termination, minimize};

const MOST: u64 = 2000;

fn bounded() -> Options {
    let mut options = Options::default();
    options.budget.max_evaluations = Some(MOST);
    options
}

/// Runs, and checks bounds, counts, and that the reported residuals are those of the reported
/// point.
fn check(problem: Problem, num_residuals: usize, residuals: impl Fn(&[f64], &mut [f64])) -> Report {
    check_with(problem, num_residuals, residuals, bounded())
}

fn check_with(
    problem: Problem,
    num_residuals: usize,
    residuals: impl Fn(&[f64], &mut [f64]),
    options: Options,
) -> Report {
    let bounds = match &problem.feasible {
        dfo_ls::FeasibleSet::Box(bounds) => Some(bounds.clone()),
        _ => None,
    };
    let mut calls = 0;
    let mut oracle = FnOracle::new(num_residuals, |theta: &[f64], r: &mut [f64]| {
        calls += 1;
        residuals(theta, r);
    });
    let report = minimize(&mut oracle, problem, options).expect("a valid problem");
    assert_eq!(report.evaluations.len(), calls);
    assert_eq!(report.work, calls as u64);
    assert_eq!(
        report.num_points, calls as u64,
        "an exact point is evaluated once"
    );
    for record in &report.evaluations {
        if let Some(bounds) = &bounds {
            let inside = |((x, lower), upper): ((&f64, &f64), &f64)| lower <= x && x <= upper;
            assert!(
                record
                    .theta
                    .iter()
                    .zip(bounds.lower())
                    .zip(bounds.upper())
                    .all(inside),
                "{record:?}"
            );
        }
    }
    if !report.residuals.is_empty() {
        let mut again = vec![f64::NAN; num_residuals];
        residuals(&report.theta, &mut again);
        assert_eq!(again, report.residuals, "residuals at {:?}", report.theta);
        let values = report
            .evaluations
            .iter()
            .filter_map(|record| record.objective.as_ref().ok());
        let least = values.fold(f64::INFINITY, |a, b| a.min(*b));
        assert!(
            report.objective <= least,
            "{} is above {least}",
            report.objective
        );
    }
    report
}

fn assert_near(theta: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(theta.len(), expected.len());
    let near = theta
        .iter()
        .zip(expected)
        .all(|(a, b)| (a - b).abs() <= tolerance * b.abs());
    assert!(near, "{theta:?} is not {expected:?}");
}

/// Zero only where every parameter has its target.
fn curved(targets: [f64; 3], size: f64) -> impl Fn(&[f64], &mut [f64]) {
    move |theta, r| {
        let x: Vec<f64> = theta
            .iter()
            .zip(targets)
            .map(|(t, target)| t / target - 1.0)
            .collect();
        r[0] = size * (x[0] + 0.5 * x[1] * x[1]);
        r[1] = size * (x[1] - x[2] + 0.3 * x[0] * x[0]);
        r[2] = size * (x[2] + 0.2 * x[0] * x[1]);
        r[3] = size * x[1];
    }
}

#[test]
fn constant_residuals() {
    for value in [0.0, 1e-200, 3.0] {
        let report = check(Problem::new([1.0, 2.0, 3.0]), 2, |_, r| r.fill(value));
        assert!(report.termination.is_success(), "{:?}", report.termination);
    }
}

#[test]
fn start_at_the_optimum() {
    // residuals vanish there
    let report = check(
        Problem::new([1.0, 2.0, 3.0]),
        4,
        curved([1.0, 2.0, 3.0], 1.0),
    );
    assert_eq!(report.termination, Termination::TargetReached);
    assert_eq!(
        (report.evaluations.len(), &report.theta[..]),
        (1, &[1.0, 2.0, 3.0][..])
    );
    // or do not
    let report = check(Problem::new([1.0, 2.0]), 3, |theta, r| {
        r[0] = 1.0;
        r[1] = theta[0] - 1.0;
        r[2] = theta[1] - 2.0;
    });
    assert_eq!(report.termination, Termination::RadiusReached);
    assert_eq!(report.theta, [1.0, 2.0]);
}

#[test]
fn one_residual_and_one_parameter() {
    let report = check(Problem::new([3.0]), 1, |theta, r| {
        r[0] = theta[0] * theta[0] - 2.0
    });
    assert_near(&report.theta, &[2.0_f64.sqrt()], 1e-7);
}

#[test]
fn more_parameters_than_residuals() {
    let report = check(Problem::new(vec![0.5; 8]), 2, |theta, r| {
        r[0] = theta.iter().sum::<f64>() - 1.0;
        r[1] = theta[0] * theta[1] - 2.0;
    });
    assert!(report.objective < 1e-12, "{}", report.objective);
    assert!(report.covariance().is_none());
}

#[test]
fn a_parameter_that_does_nothing() {
    let report = check(Problem::new([0.3, 0.7, -0.2]), 2, |theta, r| {
        r[0] = theta[0] - 1.0;
        r[1] = 10.0 * (theta[1] - theta[0] * theta[0]);
    });
    assert_near(&report.theta[..2], &[1.0, 1.0], 1e-6);
}

/// A parameter that hardly changes the residuals at first.
#[test]
fn a_parameter_with_a_tiny_start() {
    let report = check(Problem::new([0.5, 1e-12]), 3, |theta, r| {
        for (i, r) in r.iter_mut().enumerate() {
            let t: f64 = [0.0, 1.0, 2.0][i];
            *r = 2.0 * (-1.5 * t).exp() - theta[0] * (-theta[1] * t).exp();
        }
    });
    assert_near(&report.theta, &[2.0, 1.5], 1e-5);
}

#[test]
fn fixed_parameters() {
    let problem = Problem::new([9.0, 0.5, 9.0])
        .with_bounds([1.5, f64::NEG_INFINITY, 2.0], [1.5, f64::INFINITY, 2.0])
        .expect("bounds in order");
    let report = check(problem, 2, |theta, r| {
        r[0] = theta[1] * theta[0] - 3.0;
        r[1] = theta[2] - 2.0;
    });
    assert_near(&report.theta, &[1.5, 2.0, 2.0], 1e-7);
    let jacobian = report.jacobian.expect("a complete model");
    assert_eq!(jacobian.column(0), [0.0, 0.0]);
    assert!((jacobian.column(1)[0] - 1.5).abs() < 1e-6);
}

/// A box that is far narrower than the radius, in given units.
#[test]
fn boxes_narrower_than_the_radius() {
    let mut options = bounded();
    options.scaling = dfo_ls::Scaling::Given(vec![1.0, 1.0]);
    options.trust_region.initial_radius = 10.0;
    let problem = Problem::new([0.0, 0.0])
        .with_bounds([-1e-3, -2.0], [1e-3, 2.0])
        .expect("bounds in order");
    let report = check_with(
        problem,
        2,
        |theta, r| {
            r[0] = theta[0] - 1.0;
            r[1] = theta[1] - 0.5;
        },
        options,
    );
    assert_near(&report.theta, &[1e-3, 0.5], 1e-6);
}

/// A box between two neighbouring floating-point numbers.
#[test]
fn the_narrowest_box() {
    let problem = Problem::new([1.0, 0.0])
        .with_bounds([1.0, -1.0], [1.0 + f64::EPSILON, 1.0])
        .expect("bounds in order");
    let report = check(problem, 2, |theta, r| {
        r[0] = theta[0] - 3.0;
        r[1] = theta[1] - 0.5;
    });
    assert_near(&report.theta, &[1.0 + f64::EPSILON, 0.5], 1e-6);
}

#[test]
fn the_widest_box() {
    let problem = Problem::new([5.0])
        .with_bounds([-f64::MAX], [f64::MAX])
        .expect("bounds in order");
    let report = check(problem, 1, |theta, r| r[0] = theta[0] - 3.0);
    assert!(report.evaluations.len() < 2000);
}

#[test]
fn starts_on_and_outside_bounds() {
    for start in [
        [0.0, 0.0],
        [1.0, 1.0],
        [-5.0, 7.0],
        [1e300, -1e300],
        [0.0, 0.3],
    ] {
        let problem = Problem::new(start)
            .with_bounds([0.0, 0.0], [1.0, 1.0])
            .expect("bounds in order");
        let report = check(problem, 2, |theta, r| {
            r[0] = theta[0] - 2.0;
            r[1] = theta[1] - 0.5 + 0.1 * theta[0];
        });
        assert_near(&report.theta, &[1.0, 0.4], 1e-6);
        assert!((report.theta[0] - 1.0).abs() <= 0.0, "on the bound");
    }
}

/// Bounds on one side only, with the answer in the corner.
#[test]
fn half_open_bounds() {
    let infinite = f64::INFINITY;
    let problem = Problem::new([4.0, -3.0])
        .with_bounds([1.0, -infinite], [infinite, -1.0])
        .expect("bounds in order");
    let report = check(problem, 2, |theta, r| {
        r[0] = theta[0];
        r[1] = theta[1] + 0.1 * theta[0];
    });
    assert_near(&report.theta, &[1.0, -1.0], 1e-6);
}

#[test]
fn residuals_of_any_size() {
    for size in [1e-150, 1e-100, 1e-20, 1e20, 1e100, 1e150] {
        let report = check(
            Problem::new([0.5, 4.0, 1.0]),
            4,
            curved([1.0, 2.0, 3.0], size),
        );
        assert!(
            report.termination.is_success(),
            "{size}: {:?}",
            report.termination
        );
        assert_near(&report.theta, &[1.0, 2.0, 3.0], 1e-5);
    }
}

/// All squares underflow, so that no point differs from another.
#[test]
fn residuals_whose_squares_vanish() {
    let report = check(
        Problem::new([0.5, 4.0, 1.0]),
        4,
        curved([1.0, 2.0, 3.0], 1e-300),
    );
    assert!(report.evaluations.len() < 500);
}

#[test]
fn residuals_whose_squares_overflow() {
    let report = check(
        Problem::new([0.5, 4.0, 1.0]),
        4,
        curved([1.0, 2.0, 3.0], 1e300),
    );
    assert!(
        matches!(&report.termination, Termination::OracleFailed { reason } if reason.contains("overflow"))
    );
}

#[test]
fn parameters_of_any_size() {
    for targets in [
        [1e-12, 2e-12, 3e-12],
        [1e12, 2e12, 3e12],
        [1e-100, 2e-100, 1e-100],
        [1e100, 2e100, 1e100],
        [1e-6, 2.0, 1e6],
        [1e6, 2.0, 1e-6],
        [-1e-12, 2.0, 3.0],
    ] {
        let start = [0.5 * targets[0], 2.0 * targets[1], 0.3 * targets[2]];
        let report = check(Problem::new(start), 4, curved(targets, 1.0));
        assert!(
            report.termination.is_success(),
            "{targets:?}: {:?}",
            report.termination
        );
        assert_near(&report.theta, &targets, 1e-5);
    }
}

/// Starts at zero with answers near and far away.
#[test]
fn a_start_at_zero() {
    for target in [1e-3, 1.0, 1e4] {
        let report = check(Problem::new([0.0, 0.0]), 2, |theta, r| {
            r[0] = theta[0] - target;
            r[1] = theta[1] + target;
        });
        assert_near(&report.theta, &[target, -target], 1e-4);
    }
}

#[test]
fn the_default_budget_is_finite() {
    // no minimum: the residual falls for ever
    let mut options = Options::default();
    options.trust_region.max_radius = 1.0;
    let report = check_with(
        Problem::new([0.0, 0.0]),
        2,
        |theta, r| {
            r[0] = (-theta[0]).exp();
            r[1] = 1.0 / (1.0 + theta[1] * theta[1]);
        },
        options,
    );
    assert!(report.num_points <= 300);
    let end = &report.termination;
    assert!(
        end.is_success() || *end == Termination::Exhausted(Limit::Points),
        "{end:?}"
    );
}
