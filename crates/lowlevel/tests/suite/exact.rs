//! Certified errors against exactly known errors, rounding included: separable quadratics with far
//! starts and all scales.

use std::sync::atomic::{AtomicU64, Ordering};

use lowlevel::{
    Certificate, Curvature, Domain, ErrorBound, FnObjective, Method, Outcome, SolveError, Solver,
    State, Step, Stop, StronglyConvex, UNIT_ROUNDOFF,
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

fn bound(value: f64) -> ErrorBound {
    ErrorBound::new(value).expect("a bound")
}

/// `$\sum_i \frac12 q_i x_i^2 - b_i x_i$`, whose minimiser `$b_i/q_i$` need not be a floating-point
/// number.
#[derive(Debug)]
struct Separable {
    terms: Vec<(f64, f64)>,
    non_negative: bool,
    /// Whether the objective states how small its rounding error really is.
    sharp: bool,
}

impl Separable {
    fn objective(&self) -> impl StronglyConvex<Scratch = ()> {
        let eigenvalues = self.terms.iter().map(|term| term.0);
        let smallest = eigenvalues.clone().fold(f64::INFINITY, f64::min);
        let largest = eigenvalues.fold(0.0, f64::max);
        let objective = FnObjective::new(
            self.terms.len(),
            Curvature::new(smallest, largest).expect("positive"),
            |_| 0.0,
            |x, gradient| {
                for ((gradient, x), (q, b)) in gradient.iter_mut().zip(x).zip(&self.terms) {
                    *gradient = q * x - b;
                }
            },
        );
        if self.sharp {
            // |qx| and |qx - b| are rounded once each.
            let data = lowlevel::norm(&self.terms.iter().map(|term| term.1).collect::<Vec<_>>());
            objective.with_rounding(UNIT_ROUNDOFF * data, 2.1 * UNIT_ROUNDOFF * largest)
        } else {
            objective
        }
    }

    fn domain(&self) -> Domain<'static> {
        if self.non_negative {
            Domain::NON_NEGATIVE
        } else {
            Domain::Whole
        }
    }

    /// `$\|x - x^*\|$`, each entry with one rounding: `$qx - b$` by a fused multiply-add.
    fn error(&self, x: &[f64]) -> f64 {
        let errors = x.iter().zip(&self.terms).map(|(&x, &(q, b))| {
            if self.non_negative && b <= 0.0 {
                x.abs()
            } else {
                (q.mul_add(x, -b) / q).abs()
            }
        });
        lowlevel::norm(&errors.collect::<Vec<_>>()) * (1.0 - 1e-14)
    }
}

fn cases() -> impl Strategy<Value = (Separable, Vec<f64>)> {
    let size = || prop_oneof![Just(1.0), Just(1e-150), Just(1e8)];
    let shape = (1_usize..5, any::<bool>(), 0.0..6.0_f64, -3.0..3.0_f64);
    let options = (any::<bool>(), any::<bool>());
    (shape, options, size(), size()).prop_flat_map(
        |((dim, non_negative, log_kappa, log_mu), (equal, sharp), data_size, start_size)| {
            let vector = |range| proptest::collection::vec(range, dim);
            (vector(0.0..1.0_f64), vector(-1.0..1.0), vector(-1.0..1.0)).prop_map(
                move |(spread, data, start)| {
                    let log_kappa = if equal { 0.0 } else { log_kappa };
                    let terms = spread.iter().zip(&data).map(|(spread, data)| {
                        (10_f64.powf(log_mu + spread * log_kappa), data * data_size)
                    });
                    let separable = Separable {
                        terms: terms.collect(),
                        non_negative,
                        sharp,
                    };
                    (separable, start.iter().map(|x| x * start_size).collect())
                },
            )
        },
    )
}

fn stops(initial: f64, log_target: f64, iterations: u64) -> [Stop; 3] {
    let with = |certificate| Stop::Accuracy {
        target: bound(initial * 10_f64.powf(log_target)),
        certificate,
        max_iterations: Some(20_000),
    };
    let rate = Certificate::Rate {
        initial: bound(initial * (1.0 + 1e-12)),
    };
    [
        with(Certificate::Gradient),
        with(rate),
        Stop::Iterations(iterations),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn certified_errors_hold_where_rounding_decides(
        (separable, start) in cases(), log_target in -20.0..0.0_f64, iterations in 0_u64..60,
    ) {
        let objective = separable.objective();
        let initial = separable.error(&start) * (1.0 + 1e-12);
        for method in METHODS {
            for stop in stops(initial, log_target, iterations) {
                let solver = Solver { method, domain: separable.domain() };
                let mut state = State::new(start.clone());
                let solved = solver.minimize(&objective, stop, &mut state, &mut ()).unwrap();
                let error = separable.error(state.point());
                prop_assert!(
                    error <= solved.error.value(),
                    "{method:?} {stop:?}: {error:e} > {:e}, {:?}", solved.error, solved.outcome
                );
                if let Stop::Accuracy { target, .. } = stop {
                    prop_assert_eq!(solved.outcome == Outcome::Converged, solved.error <= target);
                }
                if separable.non_negative {
                    prop_assert!(state.point().iter().all(|&x| x >= 0.0));
                }
            }
        }
    }
}

/// A target hardly above the smallest error that can be certified is met.
#[test]
fn a_target_just_above_the_rounding_floor_is_met() {
    let separable = Separable {
        terms: vec![(1.0, 0.3), (7.0, 0.9), (30.0, -0.7)],
        non_negative: false,
        sharp: false,
    };
    let objective = separable.objective();
    for method in METHODS {
        let solver = Solver {
            method,
            ..Solver::default()
        };
        let run = |stop| {
            let mut state = State::new(vec![0.0; 3]);
            solver
                .minimize(&objective, stop, &mut state, &mut ())
                .unwrap()
        };
        let least = run(Stop::Iterations(5000)).error.value();
        assert_eq!(
            run(Stop::accuracy(bound(1.05 * least))).outcome,
            Outcome::Converged
        );
        let short = run(Stop::accuracy(bound(0.5 * least)));
        assert_eq!(short.outcome, Outcome::RoundingFloor, "{method:?}");
        assert!(short.error.value() < 2.5 * least);
    }
}

/// If no iteration changes anything, the solve ends long before the number of iterations that
/// theory allows.
#[test]
fn a_solve_without_any_change_ends() {
    let flat = FnObjective::new(
        1,
        Curvature::new(1.0, 1e40).unwrap(),
        |x| 0.5 * x[0] * x[0],
        |x, gradient| gradient[0] = x[0],
    )
    .with_rounding(0.0, f64::EPSILON);
    for method in METHODS {
        for domain in [Domain::Whole, Domain::NON_NEGATIVE] {
            let solver = Solver { method, domain };
            let mut state = State::new(vec![1.0]);
            let stop = Stop::accuracy(bound(1e-3));
            let solved = solver.minimize(&flat, stop, &mut state, &mut ()).unwrap();
            // Over a set, the rounding error of a step of length 1e-40 is all that remains.
            let expected = match domain {
                Domain::Whole => Outcome::Stalled,
                _ => Outcome::RoundingFloor,
            };
            assert_eq!(solved.outcome, expected, "{solver:?}");
            assert!(solved.iterations < 1000 && solved.error.value() >= 1.0);
        }
    }
}

/// Underflow counts as rounding error.
#[test]
fn underflow_does_not_pass_for_accuracy() {
    let tiny = FnObjective::new(
        1,
        Curvature::new(1e-200, 1e-200).unwrap(),
        |_| 0.0,
        |x, gradient| gradient[0] = 1e-200 * x[0],
    );
    let mut state = State::new(vec![1e-150]);
    let stop = Stop::accuracy(bound(1e-160));
    let solved = Solver::default()
        .minimize(&tiny, stop, &mut state, &mut ())
        .unwrap();
    assert_eq!(solved.outcome, Outcome::RoundingFloor);
    assert!(solved.error.value() >= 1e-150);
}

/// A closure can state cancellation that the default does not cover.
#[test]
fn a_closure_can_state_its_rounding_error() {
    let cancelling =
        |x: &[f64], gradient: &mut [f64]| gradient[0] = (x[0] + 1e6) - 1e6 + 0.5 * x[0].tanh();
    let curvature = Curvature::new(1.0, 1.5).unwrap();
    let mut state = State::new(vec![1e-11]);
    let stop = Stop::Iterations(0);
    let stated = FnObjective::new(1, curvature, |_| 0.0, cancelling)
        .with_rounding(2.0 * f64::EPSILON * 1e6, 4.0 * f64::EPSILON);
    let solved = Solver::default()
        .minimize(&stated, stop, &mut state, &mut ())
        .unwrap();
    assert!(solved.error.value() >= 1e-11);
}

/// `gradients` counts every call.
#[test]
fn every_gradient_is_counted() {
    let calls = AtomicU64::new(0);
    let counted = FnObjective::new(
        3,
        Curvature::new(1.0, 50.0).unwrap(),
        |_| 0.0,
        |x, gradient| {
            calls.fetch_add(1, Ordering::Relaxed);
            for ((gradient, x), q) in gradient.iter_mut().zip(x).zip([1.0, 20.0, 50.0]) {
                *gradient = q * x - 1.0;
            }
        },
    );
    for method in METHODS {
        for domain in [Domain::Whole, Domain::NON_NEGATIVE] {
            let solver = Solver { method, domain };
            let mut state = State::new(vec![2.0; 3]);
            for stop in stops(4.0, -3.0, 5).into_iter().chain(stops(4.0, -6.0, 1)) {
                calls.store(0, Ordering::Relaxed);
                let solved = solver.refine(&counted, stop, &mut state, &mut ()).unwrap();
                assert_eq!(
                    solved.gradients,
                    calls.load(Ordering::Relaxed),
                    "{solver:?} {stop:?}"
                );
                assert!(solved.gradients >= solved.iterations);
            }
        }
    }
}

/// A state of another objective or set is only a warm start, even if the constants are the same.
#[test]
fn refining_another_problem_starts_afresh() {
    let of = |q: f64, b: f64| Separable {
        terms: vec![(1.0, 1.0), (q, b), (100.0, 3.0)],
        non_negative: false,
        sharp: true,
    };
    let stop = Stop::accuracy(bound(1e-8));
    let first = of(10.0, 2.0);
    for second in [of(30.0, 2.0), of(10.0, 5.0)] {
        for method in METHODS {
            let solver = Solver {
                method,
                ..Solver::default()
            };
            let mut state = State::new(vec![0.0; 3]);
            let before = solver
                .refine(&first.objective(), stop, &mut state, &mut ())
                .unwrap();
            let again = solver
                .refine(&first.objective(), stop, &mut state, &mut ())
                .unwrap();
            // Closures have no fingerprint, so one gradient confirms the state.
            assert_eq!((again.iterations, again.gradients), (0, 1));
            assert_eq!(again.error, before.error);
            let solved = solver
                .refine(&second.objective(), stop, &mut state, &mut ())
                .unwrap();
            assert!(solved.iterations > 0);
            assert!(second.error(state.point()) <= solved.error.value());
        }
    }
    for method in METHODS {
        let over = |upper| Solver {
            method,
            domain: Domain::Between { lower: 0.0, upper },
        };
        let mut state = State::new(vec![0.0; 3]);
        for upper in [0.1, 0.05, 2.0] {
            let solved = over(upper)
                .refine(&first.objective(), stop, &mut state, &mut ())
                .unwrap();
            assert!(solved.reached().is_ok());
            for (x, (q, b)) in state.point().iter().zip(&first.terms) {
                assert!(
                    (x - (b / q).min(upper)).abs() <= 1e-8,
                    "{method:?} {upper} {x}"
                );
            }
        }
    }
}

/// A gradient with an entry that is never written is not taken for a small one.
#[test]
fn a_forgotten_entry_is_noticed() {
    let forgetful = FnObjective::new(
        2,
        Curvature::new(1.0, 1.0).unwrap(),
        |_| 0.0,
        |x, gradient| gradient[0] = x[0],
    );
    for method in METHODS {
        for domain in [Domain::Whole, Domain::NON_NEGATIVE] {
            let solver = Solver { method, domain };
            let mut state = State::new(vec![1.0; 2]);
            let stop = Stop::accuracy(bound(1e-3));
            let result = solver.minimize(&forgetful, stop, &mut state, &mut ());
            assert_eq!(result, Err(SolveError::NonFiniteGradient { iterations: 0 }));
        }
    }
}

#[test]
fn a_missed_target_can_be_an_error_that_says_what_to_do() {
    let separable = Separable {
        terms: vec![(1.0, 1.0), (100.0, 3.0)],
        non_negative: false,
        sharp: true,
    };
    let stop = Stop::accuracy(bound(1e-8)).with_max_iterations(2);
    let mut state = State::new(vec![0.0; 2]);
    let solved = Solver::default()
        .minimize(&separable.objective(), stop, &mut state, &mut ())
        .unwrap();
    let message = solved.reached().unwrap_err().to_string();
    assert!(
        message.contains("iteration limit")
            && message.contains(&format!("{:e}", solved.error.value())),
        "{message}"
    );
    let crossed = Solver {
        domain: Domain::Between {
            lower: 1.0,
            upper: 0.0,
        },
        ..Solver::default()
    };
    let error = crossed
        .minimize(&separable.objective(), stop, &mut state, &mut ())
        .unwrap_err();
    assert!(error.to_string().contains("lower"), "{error}");
}

#[test]
fn a_start_outside_the_set_is_moved_into_it() {
    let separable = Separable {
        terms: vec![(1.0, 1.0)],
        non_negative: true,
        sharp: true,
    };
    let solver = Solver {
        domain: Domain::NON_NEGATIVE,
        ..Solver::default()
    };
    let anything = Stop::accuracy(ErrorBound::UNKNOWN);
    for (stop, outcome) in [
        (Stop::Iterations(0), Outcome::IterationsMade),
        (anything, Outcome::Converged),
        (stops(200.0, 0.1, 0)[1], Outcome::Converged),
    ] {
        let mut state = State::new(vec![-1.0]);
        let solved = solver
            .minimize(&separable.objective(), stop, &mut state, &mut ())
            .unwrap();
        assert_eq!(
            (solved.outcome, solved.iterations),
            (outcome, 0),
            "{stop:?}"
        );
        assert!(state.point()[0].abs() < f64::MIN_POSITIVE);
    }
}

/// Over a set the gradient is not small at the minimiser, and neither is its rounding error.
#[test]
fn a_large_gradient_at_the_minimiser_counts() {
    // Over {x_0 + x_1 = 0} the optimality condition 3 (t - c_0) = 5 (-t - c_1) gives t = (3 c_0 - 5
    // c_1)/8, where 5e10 and 3e10 cancel; subtracting them is exact.
    let c = [5e10 + 0.7, 3e10 + 0.1];
    let t = (3.0 * (c[0] - 5e10) - 5.0 * (c[1] - 3e10)) / 8.0;
    let minimizer = [t, -t];
    let objective = FnObjective::new(
        2,
        Curvature::new(3.0, 5.0).unwrap(),
        |_| 0.0,
        |x, gradient| {
            gradient[0] = 3.0 * (x[0] - c[0]);
            gradient[1] = 5.0 * (x[1] - c[1]);
        },
    );
    let project = |x: &mut [f64]| {
        let mean = 0.5 * (x[0] + x[1]);
        x[0] -= mean;
        x[1] -= mean;
    };
    for method in METHODS {
        let solver = Solver {
            method,
            domain: Domain::Convex(&project),
        };
        for stop in stops(30.0, -8.0, 3) {
            let mut state = State::new(vec![20.0, -10.0]);
            let solved = solver
                .minimize(&objective, stop, &mut state, &mut ())
                .unwrap();
            let error = lowlevel::norm(&[
                state.point()[0] - minimizer[0],
                state.point()[1] - minimizer[1],
            ]);
            assert!(
                error <= solved.error.value(),
                "{method:?} {stop:?} {error:e} {:e}",
                solved.error
            );
        }
    }
}

/// A rate holds for a start without momentum, so an a-priori certificate resets the momentum.
#[test]
fn an_a_priori_certificate_starts_without_momentum() {
    let separable = Separable {
        terms: vec![(1.0, 1.0), (100.0, 2.0)],
        non_negative: false,
        sharp: true,
    };
    let objective = separable.objective();
    for method in METHODS {
        let solver = Solver {
            method,
            ..Solver::default()
        };
        let mut warm = State::new(vec![5.0, 5.0]);
        let _ = solver
            .minimize(&objective, Stop::Iterations(7), &mut warm, &mut ())
            .unwrap();
        let mut fresh = State::new(warm.point().to_vec());
        let stop = stops(10.0, -4.0, 0)[1];
        let a = solver.refine(&objective, stop, &mut warm, &mut ()).unwrap();
        let b = solver
            .minimize(&objective, stop, &mut fresh, &mut ())
            .unwrap();
        assert_eq!((a, warm), (b, fresh));
    }
}
