//! Problems between bounds, against their Karush-Kuhn-Tucker conditions.

use inexact_lbfgs::{FnOracle, Options, Problem, Side, Termination, minimize};
use proptest::prelude::*;

use crate::functions::{Quadratic, rosenbrock, solve, wild};

#[test]
fn rosenbrock_between_bounds() {
    for dim in [2, 5, 10, 50, 100, 1000] {
        let start: Vec<f64> = (0..dim)
            .map(|i| if i % 2 == 0 { -1.2 } else { 1.0 })
            .collect();
        let upper: Vec<f64> = (0..dim)
            .map(|i| if i % 3 == 0 { 0.5 } else { 2.0 })
            .collect();
        let problem = Problem::new(start).with_bounds(vec![-1.5; dim], upper.clone());
        let mut visited_outside = false;
        let function = |theta: &[f64], gradient: &mut [f64]| {
            let inside = theta
                .iter()
                .zip(&upper)
                .all(|(x, u)| (-1.5..=*u).contains(x));
            visited_outside |= !inside;
            rosenbrock(theta, gradient)
        };
        let report = solve(function, problem.expect("valid"));
        assert!(!visited_outside);
        assert_eq!(report.termination, Termination::Converged);
        assert!(
            report.projected_gradient < 1e-2,
            "{dim}: {}",
            report.projected_gradient
        );
        assert!(report.num_points < 100, "{dim}: {}", report.num_points);
        // The first parameter wants to be 1. At another minimiser, it is near -0.909 instead, and
        // the next one with this bound is held.
        let held = if report.theta[0] > 0.0 { 0 } else { 3 };
        assert!(held == 0 || (report.theta[0] + 0.909).abs() < 1e-3);
        let first = report.active.first().expect("a parameter is held");
        assert_eq!((first.index, first.side), (held, Side::Upper));
    }
}

/// The largest violation of the conditions of a minimiser.
fn violation(theta: &[f64], gradient: &[f64], lower: &[f64], upper: &[f64]) -> f64 {
    let each = (0..theta.len()).map(|k| {
        if lower[k] >= upper[k] {
            0.0
        } else if theta[k] <= lower[k] {
            (-gradient[k]).max(0.0)
        } else if theta[k] >= upper[k] {
            gradient[k].max(0.0)
        } else {
            gradient[k].abs()
        }
    });
    each.fold(0.0, f64::max)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn quadratics_in_random_boxes(dim in 2_usize..40, seed in 0_u64..10_000, exponent in 0.0..4.0) {
        let quadratic = Quadratic::new(dim, 10.0_f64.powf(exponent), seed);
        let (centres, widths) = (wild(dim, seed + 2), wild(dim, seed + 3));
        let bound = |k: usize, side: f64| match k % 5 {
            0 => side * f64::INFINITY,
            1 => centres[k],
            _ => centres[k] + side * widths[k].abs(),
        };
        let lower: Vec<f64> = (0..dim).map(|k| bound(k, -1.0)).collect();
        let upper: Vec<f64> = (0..dim).map(|k| bound(k, 1.0)).collect();
        let problem = Problem::new(wild(dim, seed + 4)).with_bounds(lower.clone(), upper.clone());
        let mut options = Options::default();
        options.stop.predicted = 1e-14;
        let mut oracle = FnOracle::new(|t: &[f64], g: &mut [f64]| quadratic.value(t, g));
        let report = minimize(&mut oracle, problem.expect("valid"), options).expect("valid");
        prop_assert!(report.termination.is_success(), "{:?}", report.termination);
        let violation = violation(&report.theta, &report.gradient, &lower, &upper);
        prop_assert!(violation < 1e-4, "{violation}");
        let fixed = report.active.iter().filter(|active| active.side == Side::Fixed);
        prop_assert_eq!(fixed.count(), (0..dim).filter(|k| k % 5 == 1).count());
    }
}

#[test]
fn all_parameters_fixed_or_at_their_bounds() {
    let problem = Problem::new([3.0, 3.0]).with_bounds([1.0, 2.0], [1.0, 2.0]);
    let report = solve(rosenbrock, problem.expect("valid"));
    assert_eq!(
        (report.termination, report.num_points),
        (Termination::Converged, 1)
    );
    assert_eq!(report.theta, [1.0, 2.0]);

    let sum = |theta: &[f64], gradient: &mut [f64]| {
        gradient.copy_from_slice(&[1.0, -1.0]);
        theta[0] - theta[1]
    };
    let problem = Problem::new([0.5, 0.5]).with_bounds([0.1, 0.0], [1.0, 0.7]);
    let report = solve(sum, problem.expect("valid"));
    assert_eq!(report.theta, [0.1, 0.7]);
    let sides: Vec<Side> = report.active.iter().map(|active| active.side).collect();
    assert_eq!(sides, [Side::Lower, Side::Upper]);
    assert!(report.termination.is_success() && report.projected_gradient == 0.0);
}
