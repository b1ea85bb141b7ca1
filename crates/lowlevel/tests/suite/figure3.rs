//! Figure 3 (a, b) of the paper: true error, gradient bound and linear bound on Nesterov's
//! quadratic.
//!
//! Golden numbers: the authors' published figure, recomputed independently from its definition
//! (Nesterov's quadratic in R^10 with mu~ = 1, Q = 100, start 10 (1, ..., 1), 200 iterations). They
//! are squared distances, to the digits shown.

use approx::assert_relative_eq;
use lowlevel::testing::NesterovQuadratic;
use lowlevel::{ErrorBound, Method, Solver, State, Step, Stop, StronglyConvex, rate_bound};

fn distance(a: &[f64], b: &[f64]) -> f64 {
    let squares: f64 = a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum();
    squares.sqrt()
}

struct Squares {
    error: f64,
    gradient_bound: f64,
    linear_bound: f64,
}

fn after_200_iterations(method: Method) -> Squares {
    let quadratic = NesterovQuadratic::new(10, 1.0, 100.0);
    let minimizer = quadratic.minimizer();
    let mut state = State::new(vec![10.0; 10]);
    let initial = distance(state.point(), &minimizer);
    assert_relative_eq!(initial.powi(2), 931.632, max_relative = 1e-6);
    let solver = Solver {
        method,
        ..Solver::default()
    };
    let solved = solver
        .minimize(&quadratic, Stop::Iterations(200), &mut state, &mut ())
        .expect("the quadratic is sound");
    assert_eq!(solved.iterations, 200);
    let initial = ErrorBound::new(initial).expect("a distance");
    let linear = rate_bound(method, quadratic.curvature(), 200, initial);
    Squares {
        error: distance(state.point(), &minimizer).powi(2),
        gradient_bound: solved.error.value().powi(2),
        linear_bound: linear.value().powi(2),
    }
}

#[test]
fn gradient_descent() {
    let squares = after_200_iterations(Method::GRADIENT_DESCENT);
    assert_relative_eq!(squares.error, 1.807e-8, max_relative = 3e-4);
    assert_relative_eq!(squares.gradient_bound, 1.809e-8, max_relative = 3e-4);
    assert_relative_eq!(squares.linear_bound, 3.62e-3, max_relative = 2e-3);
}

#[test]
fn fista() {
    for method in [Method::FISTA, Method::FISTA_TWO_GRADIENTS] {
        let squares = after_200_iterations(method);
        // 5.9e-14 from the minimiser: a digit or two is left above rounding.
        assert_relative_eq!(squares.error, 3.5e-27, max_relative = 0.1);
        assert_relative_eq!(squares.linear_bound, 6.8e-13, max_relative = 1e-2);
        assert!(squares.gradient_bound >= squares.error && squares.gradient_bound < 1e-24);
    }
}

#[test]
fn the_short_step_converges_at_its_own_rate() {
    let method = Method::GradientDescent {
        step: Step::InverseLipschitz,
    };
    let squares = after_200_iterations(method);
    assert!(squares.error <= squares.gradient_bound && squares.error <= squares.linear_bound);
    assert!(squares.error > after_200_iterations(Method::GRADIENT_DESCENT).error);
}
