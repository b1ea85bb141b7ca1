//! Warm starts, targets, and the gradient in one call.

use lowlevel::{
    AdjointOutcome, AdjointState, AdjointStop, Curvature, HypergradientState, LossAt, Method,
    Solver, State, Stop, StronglyConvex, hypergradient, norm, solve_adjoint,
};

use super::log_cosh::{LogCosh, random_matrix};
use super::{bound, dot};

/// A second call starts from the first answer, and lowers its residual by the given factor, until
/// the rounding floor.
#[test]
fn warm_starts_improve_until_rounding() {
    let matrix = random_matrix(6, 1.0, 100.0, &[vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]]);
    let function = LogCosh {
        matrix,
        curvature: Curvature::new(0.999, 100.1).unwrap(),
        linear: vec![1.0; 6],
        xi: 0.1,
        s: 1.0,
        c: 2.0,
    };
    let objective = function.objective();
    let x = [0.1, 0.2, -0.3, 0.0, 0.5, 1.0];
    let mut buffer = [0.0; 6];
    let loss = LossAt::squared_distance(&x, &[0.0; 6], &mut buffer);
    let mut state = AdjointState::new();
    let mut scratch = objective.scratch();
    let mut solve = |stop, state: &mut AdjointState| {
        solve_adjoint(&objective, &x, bound(0.1), &loss, stop, state, &mut scratch).unwrap()
    };
    let mut before = solve(AdjointStop::default(), &mut state);
    assert!(before.residual <= 0.05 * norm(loss.gradient) && before.residual > 1e-6);
    assert!((before.work - before.products as f64).abs() < 1e-12);
    for _ in 0..6 {
        let after = solve(AdjointStop::default(), &mut state);
        assert_eq!(after.outcome, AdjointOutcome::Converged);
        assert!(after.residual <= 0.1 * before.residual);
        assert!(after.products <= 9);
        before = after;
    }
    let floor = solve(AdjointStop::absolute(0.0), &mut state);
    assert_eq!(floor.outcome, AdjointOutcome::RoundingFloor);
    assert!(floor.residual < 1e-11 && floor.residual > 0.0);
    // At a target of NaN the solve is as accurate as possible, too.
    let nan = AdjointStop {
        relative: f64::NAN,
        ..AdjointStop::default()
    };
    assert_eq!(
        solve(nan, &mut state).outcome,
        AdjointOutcome::RoundingFloor
    );
    // A start worse than zero is dropped.
    state.start_at(&[1e9; 6]);
    let fresh = solve(AdjointStop::default(), &mut state);
    assert!(fresh.residual <= 0.05 * norm(loss.gradient));
    let limited = AdjointStop {
        max_products: Some(1),
        ..AdjointStop::absolute(1e-9)
    };
    state.start_at(&[]);
    let stopped = solve(limited, &mut state);
    assert_eq!(stopped.outcome, AdjointOutcome::ProductLimit);
    assert!(stopped.residual > 1e-9 && stopped.products == 2); // one more for the residual
}

/// The gradient that a state holds after a solve is that at its point, for every method.
#[test]
fn a_state_holds_the_gradient_at_its_point() {
    let quadratic = lowlevel::testing::NesterovQuadratic::new(7, 1.0, 100.0);
    for method in [
        Method::Auto,
        Method::FISTA,
        Method::FISTA_TWO_GRADIENTS,
        Method::GRADIENT_DESCENT,
    ] {
        for stop in [
            Stop::Iterations(5),
            Stop::Iterations(0),
            Stop::accuracy(bound(1e-3)),
        ] {
            let solver = Solver {
                method,
                ..Solver::default()
            };
            let mut state = State::new(vec![1.0; 7]);
            assert_eq!(state.gradient(), None);
            let _ = solver
                .minimize(&quadratic, stop, &mut state, &mut ())
                .unwrap();
            let mut gradient = [0.0; 7];
            quadratic.gradient(state.point(), &mut gradient, &mut ());
            assert_eq!(state.gradient(), Some(&gradient[..]), "{method:?} {stop:?}");
            state.restart(|_| ());
            assert_eq!(state.gradient(), None);
        }
    }
}

/// The gradient in one call agrees with differences of the loss.
#[test]
fn the_hypergradient_is_the_slope_of_the_loss() {
    let matrix = random_matrix(5, 0.5, 20.0, &[vec![1.0, -2.0, 3.0, 0.4, 5.0]]);
    let at = |theta: &[f64]| LogCosh {
        matrix: matrix.clone(),
        curvature: Curvature::new(0.499, 20.1).unwrap(),
        linear: vec![1.0, 2.0, -1.0, 0.5, 3.0],
        xi: theta[0],
        s: theta[1],
        c: 2.0,
    };
    let truth = [0.5, 0.1, -0.2, 0.3, 0.7];
    let mut state = HypergradientState::new(vec![0.0; 5]);
    let mut evaluate = |theta: &[f64]| {
        let mixed = |x: &[f64], q: &[f64], out: &mut [f64]| {
            out[0] = dot(x, q);
            out[1] = x
                .iter()
                .zip(q)
                .map(|(x, q)| 2.0 * (2.0 * x).tanh() * q)
                .sum();
        };
        let objective = at(theta).objective();
        hypergradient(
            &objective,
            |x, out| LossAt::squared_distance(x, &truth, out),
            2,
            mixed,
            bound(1e-7),
            &mut state,
        )
        .unwrap()
    };
    let here = evaluate(&[0.3, 0.8]);
    assert!(here.interval.upper - here.interval.lower < 1e-11);
    assert!(here.adjoint_error < 1e-4);
    for k in 0..2 {
        let mut shifted = |shift: f64| {
            let mut theta = [0.3, 0.8];
            theta[k] += shift;
            evaluate(&theta).interval.value
        };
        let slope = (shifted(1e-4) - shifted(-1e-4)) / 2e-4;
        assert!(
            (slope - here.gradient[k]).abs() < 1e-6,
            "{slope} {:?}",
            here.gradient
        );
    }
}
