//! Bad input and hostile objectives: every solve ends, with a typed error or an honest report, and
//! NaN never passes for success.

use std::ops::ControlFlow;

use lowlevel::testing::NesterovQuadratic;
use lowlevel::{
    Certificate, Curvature, Domain, ErrorBound, FnObjective, Method, Outcome, SolveError, Solved,
    Solver, State, Stop, StronglyConvex,
};

const METHODS: [Method; 3] = [
    Method::GRADIENT_DESCENT,
    Method::FISTA,
    Method::FISTA_TWO_GRADIENTS,
];

fn bound(value: f64) -> ErrorBound {
    ErrorBound::new(value).expect("a bound")
}

fn quadratic() -> NesterovQuadratic {
    NesterovQuadratic::new(10, 1.0, 100.0)
}

/// Runs every method over both domains.
fn for_all<O: StronglyConvex<Scratch = ()>>(
    objective: &O,
    stop: Stop,
    start: &[f64],
    mut check: impl FnMut(Result<Solved, SolveError>, &Solver<'_>),
) {
    for method in METHODS {
        for domain in [Domain::Whole, Domain::NON_NEGATIVE] {
            let solver = Solver { method, domain };
            let mut state = State::new(start.to_vec());
            check(
                solver.minimize(objective, stop, &mut state, &mut ()),
                &solver,
            );
        }
    }
}

#[test]
fn a_start_of_the_wrong_length_is_refused() {
    for_all(
        &quadratic(),
        Stop::Iterations(1),
        &[1.0; 9],
        |result, solver| {
            let wrong = SolveError::WrongLength {
                expected: 10,
                found: 9,
            };
            assert_eq!(result, Err(wrong), "{solver:?}");
        },
    );
}

#[test]
fn a_start_that_is_not_finite_is_refused() {
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let mut start = [1.0; 10];
        start[7] = bad;
        for_all(
            &quadratic(),
            Stop::Iterations(0),
            &start,
            |result, solver| {
                assert_eq!(
                    result,
                    Err(SolveError::NonFiniteStart { index: 7 }),
                    "{solver:?}"
                );
            },
        );
    }
}

#[test]
fn a_gradient_that_turns_nan_is_an_error_for_every_stop() {
    // Below 2 the gradient is not a number.
    let poisoned = FnObjective::new(
        1,
        Curvature::new(1.0, 50.0).unwrap(),
        |x| 0.5 * x[0] * x[0],
        |x, gradient| gradient[0] = if x[0] < 2.0 { f64::NAN } else { x[0] },
    );
    let target = Stop::accuracy(bound(1e-3));
    let rate = Stop::Accuracy {
        target: bound(1e-3),
        certificate: Certificate::Rate {
            initial: bound(10.0),
        },
        max_iterations: None,
    };
    for stop in [target, rate, Stop::Iterations(10_000)] {
        for_all(&poisoned, stop, &[10.0], |result, solver| {
            assert!(
                matches!(result, Err(SolveError::NonFiniteGradient { iterations }) if iterations > 3),
                "{solver:?}: {result:?}"
            );
        });
    }
}

#[test]
fn after_an_error_the_state_takes_a_new_start() {
    let poisoned = FnObjective::new(
        1,
        Curvature::new(1.0, 1.0).unwrap(),
        |_| f64::NAN,
        |_, gradient| gradient[0] = f64::NAN,
    );
    let mut state = State::new(vec![5.0]);
    let solver = Solver::default();
    assert!(
        solver
            .minimize(&poisoned, Stop::Iterations(3), &mut state, &mut ())
            .is_err()
    );
    let sound = FnObjective::new(
        1,
        Curvature::new(1.0, 1.0).unwrap(),
        |x| 0.5 * x[0] * x[0],
        |x, gradient| gradient[0] = x[0],
    );
    state.restart(|x| x[0] = 3.0);
    let solved = solver
        .refine(&sound, Stop::accuracy(bound(1e-9)), &mut state, &mut ())
        .unwrap();
    assert_eq!(solved.outcome, Outcome::Converged);
}

#[test]
fn a_projection_that_is_not_finite_is_an_error() {
    let broken = |x: &mut [f64]| x[0] = f64::NAN;
    let solver = Solver {
        method: Method::FISTA,
        domain: Domain::Convex(&broken),
    };
    let mut state = State::new(vec![1.0; 10]);
    let result = solver.minimize(
        &quadratic(),
        Stop::accuracy(bound(1e-3)),
        &mut state,
        &mut (),
    );
    assert_eq!(
        result,
        Err(SolveError::NonFiniteProjection { iterations: 0 })
    );
}

#[test]
fn the_iteration_limit_is_reported_with_the_error_reached() {
    let stop = |max_iterations| Stop::Accuracy {
        target: bound(1e-9),
        certificate: Certificate::Gradient,
        max_iterations: Some(max_iterations),
    };
    for_all(&quadratic(), stop(7), &[10.0; 10], |result, _| {
        let solved = result.unwrap();
        assert_eq!(solved.outcome, Outcome::IterationLimit);
        assert_eq!(solved.iterations, 7);
        assert!(solved.error.value() > 1e-9 && solved.error.value() < f64::INFINITY);
    });
    for_all(&quadratic(), stop(0), &[10.0; 10], |result, solver| {
        let solved = result.unwrap();
        assert_eq!(solved.outcome, Outcome::IterationLimit);
        let known = matches!(solver.domain, Domain::Whole);
        assert_eq!(solved.error < ErrorBound::UNKNOWN, known);
    });
}

#[test]
fn a_rate_needs_a_finite_initial_distance() {
    let stop = Stop::Accuracy {
        target: bound(1e-3),
        certificate: Certificate::Rate {
            initial: ErrorBound::UNKNOWN,
        },
        max_iterations: None,
    };
    for_all(&quadratic(), stop, &[1.0; 10], |result, _| {
        assert_eq!(result, Err(SolveError::UnknownInitialDistance));
    });
}

#[test]
fn a_target_below_rounding_ends_at_the_rounding_floor() {
    let stop = Stop::Accuracy {
        target: bound(0.0),
        certificate: Certificate::Rate {
            initial: bound(31.0),
        },
        max_iterations: None,
    };
    for_all(&quadratic(), stop, &[10.0; 10], |result, solver| {
        if matches!(solver.domain, Domain::Whole) {
            let solved = result.unwrap();
            assert_eq!(solved.outcome, Outcome::RoundingFloor);
            assert!(solved.error.value() < 1e-10 && solved.error.value() > 0.0);
        }
    });
}

/// Wrong constants make the target unreachable: the solve ends without claiming success.
#[test]
fn an_objective_with_wrong_constants_stalls() {
    let liar = FnObjective::new(
        2,
        Curvature::new(0.9, 1.0).unwrap(),
        |x| 0.5 * (x[0] * x[0] + 1e-9 * x[1] * x[1]),
        |x, gradient| {
            gradient[0] = x[0];
            gradient[1] = 1e-9 * x[1];
        },
    );
    let mut state = State::new(vec![1.0, 1e6]);
    let solver = Solver {
        method: Method::GRADIENT_DESCENT,
        ..Solver::default()
    };
    let solved = solver
        .minimize(&liar, Stop::accuracy(bound(1e-6)), &mut state, &mut ())
        .unwrap();
    assert_eq!(solved.outcome, Outcome::Stalled);
    assert!(solved.iterations < 1000);
}

#[test]
fn starting_at_the_minimiser_needs_no_iteration() {
    let shifted = FnObjective::new(
        3,
        Curvature::new(2.0, 2.0).unwrap(),
        |x| x.iter().map(|x| (x - 1.0).powi(2)).sum(),
        |x, gradient| {
            for (g, x) in gradient.iter_mut().zip(x) {
                *g = 2.0 * (x - 1.0);
            }
        },
    );
    for method in METHODS {
        let solver = Solver {
            method,
            ..Solver::default()
        };
        let mut state = State::new(vec![1.0; 3]);
        let solved = solver
            .minimize(&shifted, Stop::accuracy(bound(1e-9)), &mut state, &mut ())
            .unwrap();
        assert_eq!(
            (solved.outcome, solved.iterations, solved.gradients),
            (Outcome::Converged, 0, 1)
        );
    }
}

#[test]
fn huge_and_tiny_scales_do_not_break_the_bound() {
    for scale in [1e-200, 1e200] {
        let start = [3.0 * scale; 10];
        let plain = FnObjective::new(
            10,
            Curvature::new(1.0, 2.0).unwrap(),
            |x| x.iter().map(|x| 0.5 * x * x).sum(),
            |x, gradient| gradient.copy_from_slice(x),
        );
        let target = Stop::accuracy(bound(1e-6 * scale));
        for_all(&plain, target, &start, |result, solver| {
            let solved = result.unwrap();
            assert_eq!(solved.outcome, Outcome::Converged, "{solver:?}");
            assert!(solved.error.value() > 0.0 && solved.iterations > 0);
        });
    }
}

#[test]
fn an_observer_sees_every_iteration_and_can_stop() {
    for method in METHODS {
        for domain in [Domain::Whole, Domain::NON_NEGATIVE] {
            let solver = Solver { method, domain };
            let mut seen = Vec::new();
            let mut state = State::new(vec![10.0; 10]);
            let solved = solver
                .refine_observed(
                    &quadratic(),
                    Stop::accuracy(bound(1e-9)),
                    &mut state,
                    &mut (),
                    &mut |progress| {
                        seen.push((progress.iterations, progress.error, progress.point.to_vec()));
                        if progress.iterations == 5 {
                            ControlFlow::Break(())
                        } else {
                            ControlFlow::Continue(())
                        }
                    },
                )
                .unwrap();
            assert_eq!(solved.outcome, Outcome::Stopped);
            assert_eq!(
                seen.iter().map(|s| s.0).collect::<Vec<_>>(),
                [1, 2, 3, 4, 5]
            );
            assert_eq!(seen[4].1, solved.error);
            assert_eq!(seen[4].2, state.point());
        }
    }
}

#[test]
fn a_failing_solve_of_many_leaves_the_others_alone() {
    let objectives = [quadratic(), quadratic(), quadratic()];
    let mut states = vec![State::new(vec![1.0; 10]); 3];
    states[1] = State::new(vec![f64::NAN; 10]);
    let stop = Stop::accuracy(bound(1e-6));
    let solver = Solver::default();
    let solves = objectives.iter().zip(&mut states);
    let results: Vec<_> = solves
        .map(|(objective, state)| solver.minimize(objective, stop, state, &mut ()))
        .collect();
    assert_eq!(results[1], Err(SolveError::NonFiniteStart { index: 0 }));
    assert_eq!(results[0], results[2]);
    assert_eq!(results[0].unwrap().outcome, Outcome::Converged);
    assert_eq!(states[0], states[2]);
}
