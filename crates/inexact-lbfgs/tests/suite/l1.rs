//! Absolute values, against soft thresholds and optimality conditions.

use inexact_lbfgs::{FnOracle, Options, Problem, Termination, minimize};
use proptest::prelude::*;

use crate::functions::{Quadratic, solve, wild};

#[test]
fn separable_problems_have_soft_thresholds() {
    let dim = 60;
    let (target, curvature) = (wild(dim, 1), wild(dim, 2));
    let function = |theta: &[f64], gradient: &mut [f64]| {
        let mut value = 0.0;
        for k in 0..dim {
            let c = 1.5 + curvature[k];
            gradient[k] = c * (theta[k] - target[k]);
            value += 0.5 * c * (theta[k] - target[k]).powi(2);
        }
        value
    };
    let weights: Vec<f64> = wild(dim, 3).iter().map(|w| w.abs()).collect();
    let problem = Problem::new(wild(dim, 4))
        .with_l1(weights.clone())
        .expect("valid");
    let mut options = Options::default();
    options.stop.predicted = 1e-14;
    let report = minimize(&mut FnOracle::new(function), problem, options).expect("valid");
    assert!(report.termination.is_success());
    for k in 0..dim {
        let threshold = weights[k] / (1.5 + curvature[k]);
        let exact = target[k].signum() * (target[k].abs() - threshold).max(0.0);
        assert!((report.theta[k] - exact).abs() < 1e-6, "{k}");
        assert_eq!(report.theta[k] == 0.0, exact == 0.0, "zeros are exact");
    }
}

#[test]
fn bounds_and_absolute_values_together() {
    // min (x - c)^2 / 2 + |x| with c = 3, -3, 3, 0.5 between bounds.
    let c = [3.0, -3.0, 3.0, 0.5];
    let function = |theta: &[f64], gradient: &mut [f64]| {
        let mut value = 0.0;
        for k in 0..4 {
            gradient[k] = theta[k] - c[k];
            value += 0.5 * (theta[k] - c[k]).powi(2);
        }
        value
    };
    let problem = Problem::new([-1.0, 1.0, 0.0, 5.0])
        .with_l1(1.0)
        .expect("valid");
    let problem = problem.with_bounds([-2.0, -1.0, -2.0, 0.25], [1.5, 4.0, 9.0, 9.0]);
    let report = solve(function, problem.expect("valid"));
    for (found, exact) in report.theta.iter().zip([1.5, -1.0, 2.0, 0.25]) {
        assert!((found - exact).abs() < 1e-4, "{:?}", report.theta);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn optimality_of_sparse_quadratics(dim in 2_usize..30, seed in 0_u64..10_000, weight in 0.0_f64..1.0) {
        let quadratic = Quadratic::new(dim, 100.0, seed);
        let problem = Problem::new(wild(dim, seed + 9)).with_l1(weight).expect("valid");
        let mut options = Options::default();
        options.stop.predicted = 1e-14;
        let mut oracle = FnOracle::new(|t: &[f64], g: &mut [f64]| quadratic.value(t, g));
        let report = minimize(&mut oracle, problem, options).expect("valid");
        // A minimum of 0 at 0 has no relative accuracy: steps end there by their length.
        prop_assert!(report.termination.is_success(), "{:?}", report.termination);
        for (&x, &g) in report.theta.iter().zip(&report.gradient) {
            let wrong = if x == 0.0 { g.abs() - weight } else { (g + weight * x.signum()).abs() };
            prop_assert!(wrong < 1e-4, "{x} {g} {weight}");
        }
        prop_assert!(report.interval.contains(report.value));
    }
}

#[test]
fn a_large_weight_makes_everything_zero() {
    let quadratic = Quadratic::new(20, 10.0, 7);
    let problem = Problem::new(wild(20, 8)).with_l1(5.0).expect("valid");
    let report = solve(|t, g| quadratic.value(t, g), problem);
    assert_eq!(report.termination, Termination::Converged);
    assert_eq!(report.theta, [0.0; 20]);
    assert_eq!((report.value, report.projected_gradient), (0.0, 0.0));
}
