//! Exact functions: test problems, shared by the other files, and smooth problems without bounds.

use inexact_lbfgs::{FnOracle, Options, Problem, Report, Termination, minimize};

/// The chained Rosenbrock function.
pub(crate) fn rosenbrock(theta: &[f64], gradient: &mut [f64]) -> f64 {
    gradient.fill(0.0);
    let mut value = 0.0;
    for i in 0..theta.len() - 1 {
        let (a, b) = (theta[i + 1] - theta[i] * theta[i], 1.0 - theta[i]);
        value += 100.0 * a * a + b * b;
        gradient[i] += -400.0 * a * theta[i] - 2.0 * b;
        gradient[i + 1] += 200.0 * a;
    }
    value
}

/// Numbers from -1 to 1.
pub(crate) fn wild(len: usize, seed: u64) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    };
    (0..len + 8).map(|_| next()).skip(8).collect()
}

/// The quadratic function `$\theta^\top A \theta / 2 - b^\top \theta$`, where `$A$` has eigenvalues
/// from `1/condition` to 1 and eigenvectors that are no unit vectors.
#[derive(Clone, Debug)]
pub(crate) struct Quadratic {
    eigenvalues: Vec<f64>,
    normal: Vec<f64>,
    pub(crate) b: Vec<f64>,
}

impl Quadratic {
    pub(crate) fn new(dim: usize, condition: f64, seed: u64) -> Self {
        let mut normal = wild(dim, seed);
        let length = normal.iter().map(|x| x * x).sum::<f64>().sqrt();
        normal.iter_mut().for_each(|x| *x /= length);
        let share = |i: usize| i as f64 / (dim - 1).max(1) as f64;
        Self {
            eigenvalues: (0..dim).map(|i| condition.powf(share(i) - 1.0)).collect(),
            normal,
            b: wild(dim, seed + 1),
        }
    }

    fn reflect(&self, x: &[f64]) -> Vec<f64> {
        let c: f64 = 2.0 * x.iter().zip(&self.normal).map(|(x, n)| x * n).sum::<f64>();
        x.iter().zip(&self.normal).map(|(x, n)| x - c * n).collect()
    }

    pub(crate) fn value(&self, theta: &[f64], gradient: &mut [f64]) -> f64 {
        let turned = self.reflect(theta);
        let scaled: Vec<f64> = turned
            .iter()
            .zip(&self.eigenvalues)
            .map(|(x, e)| x * e)
            .collect();
        let product = self.reflect(&scaled);
        let mut value = 0.0;
        for (k, g) in gradient.iter_mut().enumerate() {
            value += theta[k] * (0.5 * product[k] - self.b[k]);
            *g = product[k] - self.b[k];
        }
        value
    }

    /// The minimum without bounds.
    pub(crate) fn minimum(&self) -> f64 {
        let turned = self.reflect(&self.b);
        let terms = turned.iter().zip(&self.eigenvalues);
        -0.5 * terms.map(|(b, e)| b * b / e).sum::<f64>()
    }
}

/// Minimises an exact function with the default options.
pub(crate) fn solve(function: impl FnMut(&[f64], &mut [f64]) -> f64, problem: Problem) -> Report {
    let report = minimize(&mut FnOracle::new(function), problem, Options::default());
    report.expect("a valid problem")
}

#[test]
fn rosenbrock_in_many_dimensions() {
    // The evaluations that SciPy 1.16's L-BFGS-B with 20 pairs needs to reach 1e-9 from the same
    // start are 44, 61, 82, 310 and 601.
    for (dim, limit) in [(2, 57), (5, 79), (10, 106), (50, 400), (100, 780)] {
        let start: Vec<f64> = (0..dim)
            .map(|i| if i % 2 == 0 { -1.2 } else { 1.0 })
            .collect();
        let mut evaluations = 0;
        let mut reached = None;
        let function = |theta: &[f64], gradient: &mut [f64]| {
            evaluations += 1;
            let value = rosenbrock(theta, gradient);
            if value <= 1e-9 && reached.is_none() {
                reached = Some(evaluations);
            }
            value
        };
        let report = solve(function, Problem::new(start));
        assert_eq!(report.termination, Termination::Converged);
        assert!(report.value < 1e-20, "{dim}: {}", report.value);
        let reached = reached.expect("the minimum is 0");
        assert!(reached <= limit, "{dim}: {reached} evaluations");
    }
}

#[test]
fn the_stop_rule_does_not_end_early_on_ill_conditioned_quadratics() {
    for (dim, condition, gap) in [(30, 1e2, 1e-7), (100, 1e4, 5e-7), (60, 1e6, 1e-5)] {
        for seed in 1..4 {
            let quadratic = Quadratic::new(dim, condition, seed);
            let report = solve(|t, g| quadratic.value(t, g), Problem::new(vec![0.0; dim]));
            assert_eq!(report.termination, Termination::Converged);
            let minimum = quadratic.minimum();
            let found = (report.value - minimum) / minimum.abs();
            assert!(found <= gap, "{dim} {condition:e}: {found:e}");
        }
    }
}

#[test]
fn a_smaller_limit_gives_more_digits() {
    let quadratic = Quadratic::new(100, 1e4, 5);
    let mut options = Options::default();
    options.stop.predicted = 1e-13;
    let mut oracle = FnOracle::new(|t: &[f64], g: &mut [f64]| quadratic.value(t, g));
    let report = minimize(&mut oracle, Problem::new(vec![0.0; 100]), options);
    let report = report.expect("a valid problem");
    assert!(report.termination.is_success());
    let minimum = quadratic.minimum();
    assert!(report.value - minimum <= 1e-11 * minimum.abs());
}

#[test]
fn starts_at_and_near_the_minimiser() {
    let quadratic = |offset: f64| {
        move |theta: &[f64], gradient: &mut [f64]| {
            gradient[0] = 2.0 * (theta[0] - offset);
            (theta[0] - offset).powi(2) + 1.0
        }
    };
    let report = solve(quadratic(1.0), Problem::new([1.0]));
    assert_eq!(
        (report.termination, report.num_points),
        (Termination::Converged, 1)
    );
    let report = solve(quadratic(1.0 + 1e-9), Problem::new([1.0]));
    assert_eq!(report.termination, Termination::Converged);
    assert!(report.num_points < 20);
}

#[test]
fn tiny_and_huge_units_of_the_objective() {
    for unit in [1e-12, 1e-6, 1e6, 1e12] {
        let scaled = |theta: &[f64], gradient: &mut [f64]| {
            let value = rosenbrock(theta, gradient) + 1.0;
            gradient.iter_mut().for_each(|g| *g *= unit);
            unit * value
        };
        let report = solve(scaled, Problem::new([-1.2, 1.0, 0.3]));
        assert_eq!(report.termination, Termination::Converged, "{unit}");
        assert!(
            (report.value / unit - 1.0).abs() < 1e-6,
            "{unit}: {}",
            report.value
        );
    }
}

/// Where an objective levels off, steps grow: those of a secant alone divide the exponential by
/// two, which takes 21 points here.
#[test]
fn steps_grow_where_the_objective_levels_off() {
    let function = |theta: &[f64], gradient: &mut [f64]| {
        let (a, b) = (theta[0].exp(), theta[1] - 1.0);
        (gradient[0], gradient[1]) = (a, b);
        1.0 + a + 0.5 * b * b
    };
    let problem = Problem::new([0.0, 0.0]).with_bounds(vec![-12.0, -5.0], vec![5.0, 5.0]);
    let report = solve(function, problem.expect("valid"));
    assert_eq!(report.termination, Termination::Converged);
    assert!((report.theta[0] + 12.0).abs() < 1e-12, "{:?}", report.theta);
    assert!(report.num_points <= 14, "{} points", report.num_points);
}

#[test]
fn a_hundred_thousand_parameters() {
    let dim = 100_000;
    let curvature = |k: usize| 1.0 + (k % 100) as f64;
    let function = |theta: &[f64], gradient: &mut [f64]| {
        let mut value = 0.0;
        for (k, (x, g)) in theta.iter().zip(gradient).enumerate() {
            let e = x - (k % 7) as f64 / 3.0;
            *g = curvature(k) * e;
            value += 0.5 * curvature(k) * e * e;
        }
        value + 1.0
    };
    let problem = Problem::new(vec![0.0; dim]);
    let problem = problem
        .with_bounds(vec![-1.0; dim], vec![1.0; dim])
        .expect("valid");
    let report = solve(function, problem);
    assert_eq!(report.termination, Termination::Converged);
    for (k, x) in report.theta.iter().enumerate() {
        let exact = ((k % 7) as f64 / 3.0).min(1.0);
        assert!((x - exact).abs() < 0.05, "{k}: {x}");
    }
    let at_bound = (0..dim).filter(|k| k % 7 > 3).count();
    assert!(report.active.len() >= at_bound);
}

#[test]
fn runs_are_equal_to_the_last_bit() {
    let run = || {
        let quadratic = Quadratic::new(40, 1e4, 3);
        let problem = Problem::new(vec![0.5; 40]).with_bounds(vec![-2.0; 40], vec![0.7; 40]);
        solve(|t, g| quadratic.value(t, g), problem.expect("valid"))
    };
    let (a, b) = (run(), run());
    assert_eq!(a.theta, b.theta);
    assert_eq!((a.iterations, a.evaluations), (b.iterations, b.evaluations));
}
