//! The 53 problems of Moré and Wild against recorded values, against the literature, and against a
//! solver with derivatives.

use std::f64::consts::E;

use approx::{assert_abs_diff_eq, assert_relative_eq};
use dfo_ls::testing::MoreWild;
use serde_json::Value;

fn problem(number: usize) -> MoreWild {
    MoreWild::new(number).expect("less than 53")
}

/// The residuals. They are NaN at first, so that an entry that is not written is noticed.
fn residuals(problem: MoreWild, theta: &[f64]) -> Vec<f64> {
    let mut residuals = vec![f64::NAN; problem.num_residuals()];
    problem.residuals(theta, &mut residuals);
    residuals
}

fn objective(problem: MoreWild, theta: &[f64]) -> f64 {
    residuals(problem, theta).iter().map(|r| r * r).sum()
}

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Columns of the Jacobian by central differences.
fn jacobian(problem: MoreWild, theta: &[f64]) -> Vec<Vec<f64>> {
    let column = |j: usize| {
        let spacing = 6e-6 * theta[j].abs().max(1e-3);
        let shifted = |shift: f64| {
            let mut theta = theta.to_vec();
            theta[j] += shift;
            residuals(problem, &theta)
        };
        let pairs = shifted(spacing).into_iter().zip(shifted(-spacing));
        pairs.map(|(a, b)| (a - b) / (2.0 * spacing)).collect()
    };
    (0..theta.len()).map(column).collect()
}

/// Gaussian elimination without pivoting: the matrix is positive definite.
fn solve(mut matrix: Vec<Vec<f64>>, mut rhs: Vec<f64>) -> Vec<f64> {
    for k in 0..rhs.len() {
        let (upper, lower) = matrix.split_at_mut(k + 1);
        let pivot = &upper[k];
        let (solved, below) = rhs.split_at_mut(k + 1);
        for (row, rhs) in lower.iter_mut().zip(below) {
            let factor = row[k] / pivot[k];
            for (entry, pivot) in row.iter_mut().zip(pivot).skip(k) {
                *entry -= factor * pivot;
            }
            *rhs -= factor * solved[k];
        }
    }
    for k in (0..rhs.len()).rev() {
        let known = dot(&matrix[k][k + 1..], &rhs[k + 1..]);
        rhs[k] = (rhs[k] - known) / matrix[k][k];
    }
    rhs
}

/// The point at which the method of Levenberg and Marquardt, damped by the largest diagonal so far,
/// cannot descend any more, and the value of `$f$` there.
fn descend(problem: MoreWild) -> (Vec<f64>, f64) {
    let mut theta = problem.start();
    let mut best = objective(problem, &theta);
    let (mut damping, mut scale) = (1e-3, vec![1e-12_f64; theta.len()]);
    for _ in 0..3000 {
        let (columns, residuals) = (jacobian(problem, &theta), residuals(problem, &theta));
        let slopes: Vec<f64> = columns.iter().map(|c| -dot(c, &residuals)).collect();
        for (scale, column) in scale.iter_mut().zip(&columns) {
            *scale = scale.max(dot(column, column));
        }
        let mut lower = None;
        for _ in 0..60 {
            let row = |c: &Vec<f64>| columns.iter().map(|d| dot(c, d)).collect();
            let mut matrix: Vec<Vec<f64>> = columns.iter().map(row).collect();
            for (j, row) in matrix.iter_mut().enumerate() {
                row[j] += damping * scale[j];
            }
            let step = solve(matrix, slopes.clone());
            let trial: Vec<f64> = theta.iter().zip(step).map(|(x, s)| x + s).collect();
            let value = objective(problem, &trial);
            if value < best {
                damping *= 0.2;
                lower = Some((trial, value));
                break;
            }
            damping *= 4.0;
        }
        let Some(found) = lower else { break };
        (theta, best) = found;
    }
    (theta, best)
}

/// The rounding errors of decimal digits in `serde_json`, which reads them to within a unit in the
/// last place, and of `mancino`'s start in the logarithms, sines and cosines of different
/// platforms.
const AS_READ: f64 = 4.0 * f64::EPSILON;

/// The tolerance for elementary functions. Each may be wrong by a few units in the last place,
/// which the cancellation in residuals such as 0.1957 - 0.19 multiplies by ten to a hundred. The
/// observed differences are below 1e-15. One wrong digit anywhere in the tables of data changes the
/// sum of squares by 3e-7 or more; all digits were tried.
const ROUNDED: f64 = 1e-12;

#[test]
fn all_agree_with_the_record() {
    let golden: Value =
        serde_json::from_str(include_str!("../golden/more_wild.json")).expect("JSON");
    let golden = golden["problems"].as_array().expect("a list");
    assert_eq!(MoreWild::all().count(), golden.len());
    for (index, (problem, golden)) in MoreWild::all().zip(golden).enumerate() {
        assert_eq!(problem.number(), index);
        assert_eq!(MoreWild::new(index), Some(problem));
        assert_eq!(golden["name"], problem.name());
        assert_eq!(golden["n"], problem.num_params());
        assert_eq!(golden["m"], problem.num_residuals());
        let (start, recorded) = (problem.start(), golden["x0"].as_array().expect("a list"));
        assert_eq!(start.len(), recorded.len());
        // relative even for 4e-53: the default of an absolute tolerance is off
        let check = |ours: f64, recorded: &Value, tolerance: f64| {
            let recorded = number(recorded);
            assert_relative_eq!(ours, recorded, epsilon = 0.0, max_relative = tolerance);
        };
        for (start, recorded) in start.iter().zip(recorded) {
            check(*start, recorded, AS_READ);
        }
        check(objective(problem, &start), &golden["f_x0"], ROUNDED);
        check(problem.best_known(), &golden["fL"], AS_READ);
    }
}

/// The first and the last residual where the formulas give them easily. They check signs and order,
/// on which a sum of squares does not depend.
#[test]
fn residuals_have_the_sign_and_order_of_the_formulas() {
    let check = |number: usize, theta: &[f64], first: f64, last: f64| {
        let residuals = residuals(problem(number), theta);
        assert_relative_eq!(residuals[0], first, epsilon = 1e-14, max_relative = 1e-13);
        let end = residuals[residuals.len() - 1];
        assert_relative_eq!(end, last, epsilon = 1e-14, max_relative = 1e-13);
    };
    check(
        0,
        &[1.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 6.0],
        -0.4,
        -1.4,
    );
    check(
        2,
        &[1.0, 2.0, 0.0, 0.0, 0.0, 0.0, 1.0],
        11.0,
        35.0 * 12.0 - 1.0,
    );
    check(4, &[9.0, 1.0, 0.0, 0.0, 0.0, 0.0, 9.0], -1.0, -1.0);
    check(6, &[2.0, 3.0], -10.0, -1.0);
    check(10, &[1.0, 2.0, 3.0, 4.0], 21.0, 9.0 * 10_f64.sqrt());
    check(12, &[0.0, 0.0], -13.0, -29.0);
    check(14, &[1.0, 1.0, 1.0], 0.14 - 17.0 / 16.0, 4.39 - 8.5);
    check(16, &[0.0; 4], 0.1957, 0.0246);
    check(17, &[0.0; 3], -34780.0, -2872.0);
    check(
        18,
        &[2.0, 1.0, 0.0, 0.0, 0.0, 0.0],
        1.0 - (59.0_f64 / 29.0).powi(2) - 1.0,
        -4.0,
    );
    let exponentials = |t: f64| (-t).exp() - (-10.0 * t).exp();
    check(24, &[0.0, 0.0, 1.0], -exponentials(0.1), -exponentials(1.0));
    check(25, &[0.0, 0.1], 3.0 - 0.1_f64.exp(), 21.0 - E);
    check(
        26,
        &[0.0; 4],
        0.4_f64.exp() + 0.2_f64.cos().powi(2),
        8_f64.exp() + 4_f64.cos().powi(2),
    );
    // T_1(-1) = -1 and T_6(-1) = 1
    check(28, &[0.0; 6], -1.0, 1.0 + 1.0 / 35.0);
    check(34, &[0.0; 10], -11.0, -1.0);
    check(35, &[0.0; 5], 0.844, 0.406);
    check(36, &[0.0; 11], 1.366, 0.054);
    check(38, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], -1.0, 690.0);
    check(42, &[2.0, 0.0, 0.0, 2.0, 3.0], 1.0, -50.0);
    // the start is this times a factor, where the roots of i / j belong to the origin
    let start = problem(45).start();
    check(
        45,
        &[0.0; 5],
        start[0] / -8.710_996e-4,
        start[4] / -8.710_996e-4,
    );
    check(51, &[0.0; 8], 0.69, -9.48);
}

#[test]
fn the_helix_turns_continuously_but_for_the_cut() {
    let turn_at = |x1: f64, x2: f64| -residuals(problem(8), &[x1, x2, 0.0])[0] / 100.0;
    let eighths = [
        (1.0, -1.0, -1.0),
        (1.0, 0.0, 0.0),
        (1.0, 1.0, 1.0),
        (0.0, 1.0, 2.0),
        (-1.0, 1.0, 3.0),
        (-1.0, 0.0, 4.0),
        (-1.0, -1.0, 5.0),
        (0.0, -1.0, -2.0),
        (0.0, 0.0, 2.0),
    ];
    for (x1, x2, eighth) in eighths {
        assert_abs_diff_eq!(turn_at(x1, x2), eighth / 8.0, epsilon = 1e-15);
    }
}

/// Checks `$f$` at a minimiser of the literature against the recorded best value, both up to
/// `tolerance` of themselves, or up to `$10^{-18}$` of the value at the start where that is more.
fn check_minimizer(numbers: &[usize], theta: &[f64], tolerance: f64) {
    for problem in numbers.iter().map(|number| problem(*number)) {
        let (found, best) = (objective(problem, theta), problem.best_known());
        let floor = 1e-18 * objective(problem, &problem.start());
        assert_relative_eq!(found, best, epsilon = floor, max_relative = tolerance);
    }
}

/// Minimisers with a closed form, whose `$f$` is 0 or rounded in the last places.
#[test]
fn exact_minimizers_attain_the_best_value() {
    const TIGHT: f64 = 1e-13;
    check_minimizer(&[0, 1], &[-1.0; 9], TIGHT);
    assert_relative_eq!(problem(0).best_known(), 45.0 - 9.0, max_relative = TIGHT);
    // sum j theta_j = 3 / (2m + 1) and, without the first and the last, 3 / (2m - 3)
    check_minimizer(&[2, 3], &[0.0, 0.0, 1.0 / 71.0, 0.0, 0.0, 0.0, 0.0], TIGHT);
    check_minimizer(&[4, 5], &[9.0, 0.0, 1.0 / 67.0, 0.0, 0.0, 0.0, 9.0], TIGHT);
    check_minimizer(&[6, 7], &[1.0, 1.0], TIGHT);
    check_minimizer(&[8, 9], &[1.0, 0.0, 0.0], TIGHT);
    check_minimizer(&[10, 11], &[0.0; 4], TIGHT);
    let root = 22_f64.sqrt();
    check_minimizer(
        &[12],
        &[(53.0 - 4.0 * root) / 3.0, (2.0 - root) / 3.0],
        TIGHT,
    );
    check_minimizer(&[13], &[5.0, 4.0], TIGHT);
    check_minimizer(&[24], &[1.0, 10.0, 1.0], TIGHT);
    check_minimizer(&[24], &[10.0, 1.0, -1.0], TIGHT);
    check_minimizer(&[34], &[1.0; 10], TIGHT);
    check_minimizer(&[42], &[1.0; 5], TIGHT);
    check_minimizer(&[43], &[1.0; 6], TIGHT);
}

/// Minimisers printed to ten digits. `$f$` is flat there, so its value has more correct digits.
#[test]
fn certified_minimizers_attain_the_best_value() {
    // NIST, Statistical Reference Datasets, nonlinear regression, certified values of MGH09 and
    // MGH17.
    let kowalik_osborne = [
        1.9280693458e-1,
        1.9128232873e-1,
        1.2305650693e-1,
        1.3606233068e-1,
    ];
    check_minimizer(&[16], &kowalik_osborne, 1e-11);
    let osborne1 = [
        3.7541005211e-1,
        1.9358469127,
        -1.4646871366,
        1.2867534640e-2,
        2.2122699662e-2,
    ];
    check_minimizer(&[35], &osborne1, 1e-11);

    // Abramowitz and Stegun, Table 25.5, on [-1, 1]: the mirror images are nodes, too. Ten digits
    // leave f below 1e-18.
    let nodes = |half: &[f64]| -> Vec<f64> {
        let mirrored = half.iter().flat_map(|node| [*node, -*node]);
        mirrored.map(|node| 0.5 + 0.5 * node).collect()
    };
    let check_nodes = |number: usize, theta: &[f64]| {
        assert_abs_diff_eq!(objective(problem(number), theta), 0.0, epsilon = 1e-18);
    };
    check_nodes(28, &nodes(&[0.2666354015, 0.4225186538, 0.8662468181]));
    let mut seven = nodes(&[0.3239118105, 0.5296567753, 0.8838617008]);
    seven.push(0.5);
    check_nodes(29, &seven);
    let mut nine = nodes(&[0.1679061842, 0.5287617831, 0.6010186554, 0.9115893077]);
    nine.push(0.5);
    check_nodes(31, &nine);
}

/// The four problems whose best recorded value is not the least, according to the documentation.
#[test]
fn some_best_values_are_not_the_least() {
    let check = |number: usize, theta: &[f64], least: f64| {
        let found = objective(problem(number), theta);
        assert_relative_eq!(found, least, epsilon = 1e-30, max_relative = 1e-5);
        assert!(found < problem(number).best_known());
    };
    check(12, &[5.0, 4.0], 0.0);
    // NIST, certified values of MGH10
    check(
        17,
        &[5.6096364710e-3, 6.1813463463e3, 3.4522363462e2],
        8.7945855171e1,
    );
    // the minimiser from the other start; MGH print its value
    let (osborne2, _) = descend(problem(36));
    check(37, &osborne2, 4.01377e-2);
    check(44, &[1.0; 8], 0.0);
}

/// A descent with our formulas ends in the values that MGH print, to six digits whose last may be
/// cut off instead of rounded, and in the recorded values, which other solvers reached.
#[test]
fn descent_from_the_start_ends_in_the_best_value() {
    // Elsewhere than the recorded best: the local minimum, the one at infinity, the least value,
    // the one that MGH print, and the least value.
    let elsewhere = [
        (13, 48.9842),
        (15, 17.4286),
        (17, 87.9458),
        (32, 6.50395e-3),
        (44, 0.0),
    ];
    let printed = [
        (12, 48.9842),
        (14, 8.21487e-3),
        (16, 3.07505e-4),
        (18, 2.28767e-3),
        (20, 1.39976e-6),
        (22, 4.72238e-10),
        (25, 124.362),
        (26, 85822.2),
        (30, 3.51687e-3),
        (35, 5.46489e-5),
        (36, 4.01377e-2),
    ];
    for problem in MoreWild::all() {
        let (_, found) = descend(problem);
        let is_this = |(number, _): &&(usize, f64)| *number == problem.number();
        // zero, up to rounding
        let floor = 1e-28 * objective(problem, &problem.start());
        if let Some((_, literature)) = elsewhere.iter().chain(&printed).find(is_this) {
            assert_relative_eq!(found, *literature, epsilon = floor, max_relative = 1e-5);
        }
        if !elsewhere.iter().any(|row| is_this(&row)) {
            // watson with twelve parameters: residuals of 1e-6 that rounding knows to 1e-15
            let best = problem.best_known();
            assert_relative_eq!(found, best, epsilon = floor, max_relative = 1e-8);
        }
    }
}

#[test]
fn there_are_no_more_than_53() {
    assert_eq!(MoreWild::new(52).map(MoreWild::name), Some("heart8ls"));
    assert_eq!(MoreWild::new(53), None);
    assert_eq!(MoreWild::new(usize::MAX), None);
}

#[test]
#[should_panic(expected = "parameters of rosenbrock")]
fn too_many_parameters_panic() {
    problem(6).residuals(&[1.0; 3], &mut [0.0; 2]);
}

#[test]
#[should_panic(expected = "residuals of bard")]
fn too_few_residuals_panic() {
    problem(14).residuals(&[1.0; 3], &mut [0.0; 14]);
}
