//! Results that are known by formula: constrained and regularised minima, Jacobians, covariances.

use dfo_ls::{FnOracle, L1, Options, Problem, Projection, Report, minimize};

/// Runs within a budget, and compares with the formula.
fn check(
    problem: Problem,
    m: usize,
    residuals: impl Fn(&[f64], &mut [f64]),
    answer: &[f64],
    tolerance: f64,
) -> Report {
    check_with(problem, m, residuals, answer, tolerance, Options::default())
}

fn check_with(
    problem: Problem,
    m: usize,
    residuals: impl Fn(&[f64], &mut [f64]),
    answer: &[f64],
    tolerance: f64,
    mut options: Options,
) -> Report {
    options.budget.max_evaluations = Some(2000);
    let report =
        minimize(&mut FnOracle::new(m, residuals), problem, options).expect("a valid problem");
    assert_close(&report.theta, answer, tolerance);
    assert!(report.termination.is_success(), "{:?}", report.termination);
    report
}

fn assert_close(found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len());
    let close = found
        .iter()
        .zip(expected)
        .all(|(a, b)| (a - b).abs() <= tolerance * (1.0 + b.abs()));
    assert!(close, "{found:?} is not {expected:?}");
}

fn ball(theta: &mut [f64]) {
    let norm = theta.iter().map(|x| x * x).sum::<f64>().sqrt();
    for x in theta {
        *x /= norm.max(1.0);
    }
}

fn below(limit: f64) -> impl Fn(&mut [f64]) {
    move |theta| theta[0] = theta[0].min(limit)
}

/// The nearest point with non-negative entries that sum to one.
fn simplex(theta: &mut [f64]) {
    let mut sorted = theta.to_vec();
    sorted.sort_by(|a, b| b.total_cmp(a));
    let (mut sum, mut shift, mut count) = (0.0, 0.0, 0.0);
    for x in sorted {
        count += 1.0;
        sum += x;
        if x - (sum - 1.0) / count > 0.0 {
            shift = (sum - 1.0) / count;
        }
    }
    for x in theta {
        *x = (*x - shift).max(0.0);
    }
}

fn away_from(target: [f64; 3]) -> impl Fn(&[f64], &mut [f64]) {
    move |theta, r| {
        for ((r, x), t) in r.iter_mut().zip(theta).zip(target) {
            *r = x - t;
        }
    }
}

fn sets(sets: impl IntoIterator<Item = Box<dyn Projection>>) -> Problem {
    let start = Problem::new([0.1, -0.3, 0.4]);
    sets.into_iter().fold(start, |problem, set| {
        problem.within(move |theta: &mut [f64]| set.project(theta))
    })
}

/// The answer is the projection of the target on the plane, and then on the circle in which the
/// plane cuts the ball.
#[test]
fn ball_and_half_space() {
    let problem = sets([Box::new(ball) as Box<dyn Projection>, Box::new(below(0.2))]);
    let answer = [0.2, 0.96_f64.sqrt(), 0.0];
    let _ = check(problem, 3, away_from([2.0, 2.0, 0.0]), &answer, 1e-6);
}

#[test]
fn ball_alone() {
    let third = 1.0 / 3.0_f64.sqrt();
    let problem = sets([Box::new(ball) as Box<dyn Projection>]);
    let _ = check(
        problem,
        3,
        away_from([2.0, 2.0, 2.0]),
        &[third, third, third],
        1e-6,
    );
    let inside = sets([Box::new(ball) as Box<dyn Projection>]);
    let _ = check(
        inside,
        3,
        away_from([0.2, 0.3, -0.4]),
        &[0.2, 0.3, -0.4],
        1e-6,
    );
}

#[test]
fn on_the_simplex() {
    let problem = sets([Box::new(simplex) as Box<dyn Projection>]);
    let _ = check(
        problem,
        3,
        away_from([0.8, 0.6, -0.2]),
        &[0.6, 0.4, 0.0],
        1e-6,
    );
    // a corner
    let problem = sets([Box::new(simplex) as Box<dyn Projection>]);
    let _ = check(
        problem,
        3,
        away_from([3.0, 0.5, 0.5]),
        &[1.0, 0.0, 0.0],
        1e-6,
    );
}

/// The same box as bounds and as a set.
#[test]
fn a_box_in_two_ways() {
    let residuals = |theta: &[f64], r: &mut [f64]| {
        r[0] = 10.0 * (theta[1] - theta[0] * theta[0]);
        r[1] = 1.0 - theta[0];
    };
    // Newton's method for the minimum of 100 (0.25 - x^2)^2 + (1 - x)^2 on the bound y = 0.25
    let mut x: f64 = 0.5;
    for _ in 0..50 {
        let slope = -400.0 * x * (0.25 - x * x) - 2.0 * (1.0 - x);
        x -= slope / (1200.0 * x * x - 100.0 + 2.0);
    }
    let bounded = Problem::new([-0.5, 0.0])
        .with_bounds([-1.0, -1.0], [1.0, 0.25])
        .expect("bounds in order");
    let _ = check(bounded, 2, residuals, &[x, 0.25], 1e-6);
    let clamp = |theta: &mut [f64]| {
        theta[0] = theta[0].clamp(-1.0, 1.0);
        theta[1] = theta[1].clamp(-1.0, 0.25);
    };
    let projected = Problem::new([-0.5, 0.0]).within(clamp);
    let _ = check(projected, 2, residuals, &[x, 0.25], 1e-5);
}

/// Minimisers of `$(a\theta - b)^2 + w|\theta|$`, one parameter at a time.
#[test]
fn soft_thresholds() {
    let (a, b) = ([1.0, 2.0, 0.5], [1.0, 0.3, -2.0]);
    for weight in [0.0, 0.1, 1.5, 10.0] {
        let answer: Vec<f64> = (a.iter().zip(b))
            .map(|(a, b): (&f64, f64)| {
                let threshold = weight / (2.0 * a * a);
                (b / a).signum() * ((b / a).abs() - threshold).max(0.0)
            })
            .collect();
        let problem = Problem::new([0.7, 0.8, 0.9]).with_regularizer(L1 { weight });
        let residuals = |theta: &[f64], r: &mut [f64]| {
            for j in 0..3 {
                r[j] = a[j] * theta[j] - b[j];
            }
        };
        let report = check(problem, 3, residuals, &answer, 1e-5);
        let square: f64 = report.residuals.iter().map(|r| r * r).sum();
        let penalty: f64 = weight * report.theta.iter().map(|x| x.abs()).sum::<f64>();
        assert!((report.objective - square - penalty).abs() <= 1e-12 * report.objective);
    }
}

#[test]
fn soft_thresholds_with_bounds() {
    let problem = Problem::new([0.5, 0.5])
        .with_bounds([0.0, 0.4], [1.0, 1.0])
        .expect("bounds in order")
        .with_regularizer(L1 { weight: 0.2 });
    // without bounds the answer is 0.9 and 0.1
    let residuals = |theta: &[f64], r: &mut [f64]| {
        r[0] = theta[0] - 1.0;
        r[1] = theta[1] - 0.2;
    };
    let _ = check(problem, 2, residuals, &[0.9, 0.4], 1e-5);
}

const TIMES: [f64; 8] = [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5];
const NOISE: [f64; 8] = [0.01, -0.02, 0.015, 0.005, -0.012, 0.02, -0.01, 0.004];

/// The fit of a straight line agrees with the formulas of linear regression.
#[test]
fn covariance_of_a_line() {
    let data: Vec<f64> = TIMES
        .iter()
        .zip(NOISE)
        .map(|(t, e)| 2.0 - 0.7 * t + e)
        .collect();
    let (n, sum) = (8.0, TIMES.iter().sum::<f64>());
    let squares: f64 = TIMES.iter().map(|t| t * t).sum();
    let (total, mixed) = (
        data.iter().sum::<f64>(),
        TIMES.iter().zip(&data).map(|(t, y)| t * y).sum::<f64>(),
    );
    let determinant = n * squares - sum * sum;
    let slope = (n * mixed - sum * total) / determinant;
    let offset = (total - slope * sum) / n;
    let residuals = |theta: &[f64], r: &mut [f64]| {
        for ((r, t), y) in r.iter_mut().zip(TIMES).zip(&data) {
            *r = theta[0] + theta[1] * t - y;
        }
    };
    let report = check(
        Problem::new([1.0, 1.0]),
        8,
        residuals,
        &[offset, slope],
        1e-7,
    );
    let jacobian = report.jacobian.as_ref().expect("a complete model");
    assert_eq!(jacobian.num_params(), 2);
    assert_close(jacobian.column(0), &[1.0; 8], 1e-6);
    assert_close(jacobian.column(1), &TIMES, 1e-6);
    let variance = report.objective / 6.0 / determinant;
    let covariance = report.covariance().expect("full rank");
    for (found, expected) in covariance.concat().iter().zip([squares, -sum, -sum, n]) {
        assert!(
            (found - variance * expected).abs() <= 1e-6 * variance * expected.abs(),
            "{covariance:?}"
        );
    }
}

#[test]
fn covariance_of_a_decay() {
    let data: Vec<f64> = TIMES
        .iter()
        .zip(NOISE)
        .map(|(t, e)| 3.0 * (-0.8 * t).exp() + e)
        .collect();
    let residuals = |theta: &[f64], r: &mut [f64]| {
        for ((r, t), y) in r.iter_mut().zip(TIMES).zip(&data) {
            *r = theta[0] * (-theta[1] * t).exp() - y;
        }
    };
    let report = check(Problem::new([1.0, 0.3]), 8, residuals, &[3.0, 0.8], 0.02);
    let (amplitude, rate) = (report.theta[0], report.theta[1]);
    let first: Vec<f64> = TIMES.iter().map(|t| (-rate * t).exp()).collect();
    let second: Vec<f64> = TIMES
        .iter()
        .map(|t| -amplitude * t * (-rate * t).exp())
        .collect();
    let jacobian = report.jacobian.as_ref().expect("a complete model");
    assert_close(jacobian.column(0), &first, 1e-3);
    assert_close(jacobian.column(1), &second, 1e-3);
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    for j in 0..2 {
        let slope = dot(jacobian.column(j), &report.residuals);
        assert!((jacobian.slope(j) - slope).abs() <= 1e-12 * slope.abs().max(1.0));
        let product = dot(jacobian.column(0), jacobian.column(j));
        assert!((jacobian.product(0, j) - product).abs() <= 1e-12 * product.abs());
    }
    let (aa, ab, bb) = (
        dot(&first, &first),
        dot(&first, &second),
        dot(&second, &second),
    );
    // the gradient vanishes
    assert!(
        dot(&first, &report.residuals).abs() < 1e-6 && dot(&second, &report.residuals).abs() < 1e-6
    );
    let variance = report.objective / 6.0 / (aa * bb - ab * ab);
    let covariance = report.covariance().expect("full rank");
    for (found, expected) in covariance.concat().iter().zip([bb, -ab, -ab, aa]) {
        assert!(
            (found - variance * expected).abs() <= 1e-2 * variance * expected.abs(),
            "{covariance:?}"
        );
    }
}

#[test]
fn poisedness_when_asked_for() {
    let residuals = away_from([2.0, 3.0, 4.0]);
    for asked in [false, true] {
        let mut options = Options::default();
        options.diagnostics.poisedness = asked;
        let report = check_with(
            Problem::new([1.0; 3]),
            3,
            &residuals,
            &[2.0, 3.0, 4.0],
            1e-7,
            options,
        );
        for iteration in &report.iterations {
            assert_eq!(iteration.poisedness.is_some(), asked);
            assert!(
                iteration
                    .poisedness
                    .is_none_or(|value| value >= 1.0 - 1e-9 && value.is_finite())
            );
        }
    }
}

/// With `$J = \operatorname{diag}(3, 4)$`, half a step of the second parameter changes the
/// residuals less than one step of the first.
#[test]
fn directions_are_singular_vectors() {
    let residuals = |theta: &[f64], r: &mut [f64]| {
        r.copy_from_slice(&[3.0 * (theta[0] - 1.0), 4.0 * (theta[1] - 2.0), 1.0]);
    };
    let report = check(Problem::new([0.0, 0.0]), 3, residuals, &[1.0, 2.0], 1e-6);
    let directions = report.jacobian.expect("a model").directions(&[1.0, 0.5]);
    for (direction, (strength, along)) in directions.iter().zip([(2.0, 1), (3.0, 0)]) {
        assert!(
            (direction.strength - strength).abs() < 1e-6,
            "{direction:?}"
        );
        assert!((direction.direction[along].abs() - 1.0).abs() < 1e-6);
    }
    assert_eq!(directions.len(), 2);
}
