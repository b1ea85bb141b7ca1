//! Properties for every strongly convex function: certified errors hold, a reported success is one,
//! and continuing is the same as not having stopped.

use std::ops::ControlFlow;

use crate::quadratic::Quadratic;
use lowlevel::testing::{NesterovQuadratic, gradient_deviation};
use lowlevel::{
    Certificate, Checkpoint, Domain, ErrorBound, Method, Outcome, Progress, Solver, State, Step,
    Stop, StronglyConvex,
};
use proptest::prelude::*;

const METHODS: [Method; 4] = [
    Method::GRADIENT_DESCENT,
    Method::GradientDescent {
        step: Step::InverseLipschitz,
    },
    Method::FISTA,
    Method::FISTA_TWO_GRADIENTS,
];

fn distance(a: &[f64], b: &[f64]) -> f64 {
    let squares: f64 = a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum();
    squares.sqrt()
}

fn bound(value: f64) -> ErrorBound {
    ErrorBound::new(value).expect("a bound")
}

#[derive(Debug)]
struct Case {
    quadratic: Quadratic,
    start: Vec<f64>,
    /// Whether `quadratic.minimizer` is the one over the non-negative orthant.
    non_negative: bool,
}

impl Case {
    fn domain(&self) -> Domain<'static> {
        if self.non_negative {
            Domain::NON_NEGATIVE
        } else {
            Domain::Whole
        }
    }

    fn initial(&self) -> f64 {
        distance(&self.start, &self.quadratic.minimizer) + self.quadratic.construction_error()
    }
}

fn cases() -> impl Strategy<Value = Case> {
    let entry = -3.0..3.0;
    (1_usize..7, any::<bool>(), 0.0..4.0_f64, -2.0..2.0_f64).prop_flat_map(
        move |(dim, non_negative, log_kappa, log_mu)| {
            let vector = |entry| proptest::collection::vec(entry, dim);
            let spread = vector(0.0..1.0);
            let mirrors = proptest::collection::vec(vector(entry.clone()), 3);
            let signs = vector(entry.clone());
            let start = vector(-10.0..10.0);
            (spread, mirrors, signs, start).prop_map(move |(spread, mirrors, signs, start)| {
                let eigenvalues: Vec<f64> = spread
                    .iter()
                    .map(|s| 10_f64.powf(log_mu + s * log_kappa))
                    .collect();
                let clip = |sign: f64| {
                    signs
                        .iter()
                        .map(|s| (sign * s).max(0.0))
                        .collect::<Vec<_>>()
                };
                let (minimizer, multipliers) = if non_negative {
                    (clip(1.0), clip(-1.0))
                } else {
                    (signs.clone(), vec![0.0; signs.len()])
                };
                Case {
                    quadratic: Quadratic::new(&eigenvalues, &mirrors, minimizer, &multipliers),
                    start,
                    non_negative,
                }
            })
        },
    )
}

fn certificates(case: &Case) -> [Certificate; 2] {
    [
        Certificate::Gradient,
        Certificate::Rate {
            initial: bound(case.initial()),
        },
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn a_certified_error_is_never_below_the_true_error(
        case in cases(),
        log_target in -12.0..1.0_f64,
        max_iterations in prop_oneof![0_u64..50, Just(1_000_000)],
    ) {
        let target = bound(10_f64.powf(log_target));
        for method in METHODS {
            for certificate in certificates(&case) {
                let solver = Solver { method, domain: case.domain() };
                let mut state = State::new(case.start.clone());
                let stop = Stop::Accuracy { target, certificate, max_iterations: Some(max_iterations) };
                let solved = solver.minimize(&case.quadratic, stop, &mut state, &mut ()).unwrap();
                let error = distance(state.point(), &case.quadratic.minimizer);
                prop_assert!(
                    error <= solved.error.value() + case.quadratic.construction_error(),
                    "{method:?} {certificate:?}: {error:e} > {:e}, {:?}", solved.error, solved.outcome
                );
                prop_assert_eq!(solved.outcome == Outcome::Converged, solved.error <= target);
                prop_assert!(solved.iterations <= max_iterations);
                if case.non_negative && solved.iterations > 0 {
                    prop_assert!(state.point().iter().all(|&x| x >= 0.0));
                }
            }
        }
    }

    #[test]
    fn a_reachable_target_is_reached(case in cases(), log_target in -6.0..1.0_f64) {
        let target = bound(10_f64.powf(log_target));
        for method in METHODS {
            for certificate in certificates(&case) {
                let solver = Solver { method, domain: case.domain() };
                let mut state = State::new(case.start.clone());
                let stop = Stop::Accuracy { target, certificate, max_iterations: None };
                let solved = solver.minimize(&case.quadratic, stop, &mut state, &mut ()).unwrap();
                prop_assert_eq!(solved.outcome, Outcome::Converged);
                let per_iteration = 1 + u64::from(method == Method::FISTA_TWO_GRADIENTS && !case.non_negative);
                let first = u64::from(!case.non_negative);
                prop_assert_eq!(solved.gradients, per_iteration * solved.iterations + first);
            }
        }
    }

    #[test]
    fn an_impossible_target_ends_with_an_honest_shortfall(case in cases()) {
        for method in METHODS {
            let solver = Solver { method, domain: case.domain() };
            let mut state = State::new(case.start.clone());
            let solved = solver.minimize(&case.quadratic, Stop::accuracy(bound(0.0)), &mut state, &mut ()).unwrap();
            prop_assert!(
                matches!(solved.outcome, Outcome::RoundingFloor | Outcome::Stalled),
                "{:?}", solved
            );
            // The reported error is as small as rounding allows, and true.
            let kappa = case.quadratic.curvature().condition_number();
            let start = distance(&case.start, &vec![0.0; case.start.len()]);
            let allowed = 100.0 * case.quadratic.construction_error() + 1e-13 * kappa * start;
            prop_assert!(solved.error.value() <= allowed, "{:e} > {allowed:e}", solved.error);
            let error = distance(state.point(), &case.quadratic.minimizer);
            prop_assert!(error <= solved.error.value() + case.quadratic.construction_error());
        }
    }

    #[test]
    fn continuing_equals_not_having_stopped(case in cases(), first in 1_u64..30, second in 1_u64..30) {
        for method in METHODS {
            let solver = Solver { method, domain: case.domain() };
            let mut split = State::new(case.start.clone());
            let mut whole = split.clone();
            let run = |state: &mut State, iterations| {
                solver.refine(&case.quadratic, Stop::Iterations(iterations), state, &mut ()).unwrap()
            };
            let _ = run(&mut split, first);
            let last = run(&mut split, second);
            let all = run(&mut whole, first + second);
            prop_assert_eq!(&split, &whole);
            prop_assert_eq!(last.error, all.error);

            // The same holds for a tighter target, at the cost of the additional gradients.
            let mut split = State::new(case.start.clone());
            let mut whole = split.clone();
            let [loose, tight] = [1e-1, 1e-5].map(|target| Stop::accuracy(bound(target)));
            let a = solver.refine(&case.quadratic, loose, &mut split, &mut ()).unwrap();
            let b = solver.refine(&case.quadratic, tight, &mut split, &mut ()).unwrap();
            let c = solver.refine(&case.quadratic, tight, &mut whole, &mut ()).unwrap();
            prop_assert!(a.outcome == Outcome::Converged && b.outcome == Outcome::Converged);
            if case.non_negative && a.error <= bound(1e-5) {
                // Over a set the answer is certified again. Gradient descent needs one iteration
                // for that; the momentum of FISTA may carry its next iterates away first.
                let is_descent = matches!(method, Method::GradientDescent { .. });
                prop_assert!(b.iterations == 1 || (!is_descent && b.iterations > 1));
            } else {
                prop_assert_eq!(&split, &whole);
                prop_assert_eq!(a.iterations + b.iterations, c.iterations);
                prop_assert_eq!(a.gradients + b.gradients, c.gradients);
                prop_assert!(b.error <= a.error);
            }
        }
    }

    #[test]
    fn a_state_of_another_method_or_domain_is_a_warm_start(case in cases(), before in 0_usize..4, k in 0_u64..9) {
        let target = bound(1e-6);
        for method in METHODS {
            for domain in [Domain::Whole, Domain::NON_NEGATIVE] {
                let mut state = State::new(case.start.clone());
                let first = Solver { method: METHODS[before], domain };
                let stop = Stop::Accuracy { target, certificate: Certificate::Gradient, max_iterations: Some(k) };
                let _ = first.refine(&case.quadratic, stop, &mut state, &mut ()).unwrap();
                let second = Solver { method, domain: case.domain() };
                let solved = second.refine(&case.quadratic, Stop::accuracy(target), &mut state, &mut ()).unwrap();
                prop_assert_eq!(solved.outcome, Outcome::Converged);
                let error = distance(state.point(), &case.quadratic.minimizer);
                prop_assert!(error <= solved.error.value() + case.quadratic.construction_error());
            }
        }
    }

    #[test]
    fn gradients_agree_with_differences(case in cases()) {
        let curvature = case.quadratic.curvature();
        let size = 1.0 + curvature.lipschitz();
        prop_assert!(gradient_deviation(&case.quadratic, &case.start, 1e-2) <= 1e-9 * size);
    }
}

/// A state without its gradient continues with the same iterates, for one more gradient.
#[test]
fn a_forgotten_gradient_costs_one_gradient() {
    for method in [
        Method::GRADIENT_DESCENT,
        Method::FISTA,
        Method::FISTA_TWO_GRADIENTS,
    ] {
        let quadratic = NesterovQuadratic::new(10, 1.0, 100.0);
        let solver = Solver {
            method,
            ..Solver::default()
        };
        let mut state = State::new(vec![10.0; 10]);
        let iterate = |iterations: u64, state: &mut State| {
            let never = ErrorBound::new(0.0).unwrap();
            let stop = Stop::accuracy(never).with_max_iterations(iterations);
            solver.refine(&quadratic, stop, state, &mut ()).unwrap()
        };
        let _ = iterate(20, &mut state);
        let mut lighter = State::default();
        Checkpoint::full(&state).resume_into(&mut lighter);
        // A quadratic without a fingerprint evaluates its gradient again in both cases.
        let (full, without) = (iterate(30, &mut state), iterate(30, &mut lighter));
        assert_eq!(lighter.point(), state.point(), "{method:?}");
        assert_eq!(without.error, full.error);
        assert!(without.gradients <= full.gradients + 1);
    }
}

/// Iterations that change nothing are counted without being made, and leave the answer that making
/// them would leave.
#[test]
fn iterations_that_change_nothing_are_only_counted() {
    let quadratic = NesterovQuadratic::new(10, 1.0, 100.0);
    let many = 20_000;
    for method in METHODS {
        let solver = Solver {
            method,
            ..Solver::default()
        };
        let run = |iterations: u64, is_watched: bool| {
            let mut state = State::new(vec![10.0; 10]);
            let stop = Stop::Iterations(iterations);
            let solved = if is_watched {
                let mut watch = |_: &Progress<'_>| ControlFlow::Continue(());
                solver.refine_observed(&quadratic, stop, &mut state, &mut (), &mut watch)
            } else {
                solver.minimize(&quadratic, stop, &mut state, &mut ())
            };
            (state.into_point(), solved.unwrap())
        };
        let (point, solved) = run(many, false);
        let (watched, made) = run(many, true);
        assert_eq!(point, watched, "{method:?}");
        assert_eq!(solved.error, made.error);
        assert_eq!((solved.iterations, made.iterations), (many, many));
        assert!(
            solved.gradients < many / 5 && made.gradients > many,
            "{method:?}: {solved:?}"
        );
        // This many iterations could never be made.
        assert_eq!(run(u64::MAX, false).0, point, "{method:?}");
    }
}
