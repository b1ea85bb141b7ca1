//! Second derivatives that are missing, wrong or hostile: an adjoint has an honest residual or a
//! typed error, and NaN never passes for a bound.

use lowlevel::testing::{hessian_deviation, mixed_deviation, third_order_violation};
use lowlevel::{
    Adjoint, AdjointOutcome, AdjointState, AdjointStop, Curvature, ErrorBound, FnObjective,
    HypergradientState, LossAt, LossRounding, MixedBound, SolveError, StronglyConvex, ThirdOrder,
    ValueInterval, adjoint_error, corrected_value, hypergradient, norm, solve_adjoint,
};

use super::hostile::{DIM, HONEST, Hostile, Preconditioner, Product, Solve, weight};

const X: [f64; DIM] = [1.01, 0.99, 1.0, 1.02, 1.0, 0.98];
const TRUTH: [f64; DIM] = [0.0, 3.0, 1.0, -2.0, 5.0, 0.5];
/// The distance of `X` from the minimiser, rounded up.
const ERROR: f64 = 0.0317;

fn exact_loss() -> f64 {
    TRUTH.iter().map(|t| (1.0 - t).powi(2)).sum()
}

fn solve_from(
    objective: &Hostile,
    stop: AdjointStop,
    state: &mut AdjointState,
) -> Result<(Adjoint, ValueInterval), SolveError> {
    let mut buffer = [0.0; DIM];
    let loss = LossAt::squared_distance(&X, &TRUTH, &mut buffer);
    let error = ErrorBound::new(ERROR).expect("a bound");
    let adjoint = solve_adjoint(objective, &X, error, &loss, stop, state, &mut ())?;
    if objective.product == Product::Honest {
        let q = state.adjoint();
        let residual: Vec<f64> = (0..DIM)
            .map(|j| loss.gradient[j] - weight(j) * q[j])
            .collect();
        assert!(norm(&residual) <= adjoint.residual);
    }
    let mut gradient = [0.0; DIM];
    objective.gradient(&X, &mut gradient, &mut ());
    let interval = corrected_value(objective, &X, &gradient, &loss, state.adjoint(), &adjoint);
    Ok((adjoint, interval))
}

fn solve(objective: &Hostile, target: f64) -> Result<(Adjoint, ValueInterval), SolveError> {
    solve_from(
        objective,
        AdjointStop::absolute(target),
        &mut AdjointState::new(),
    )
}

fn rhs_norm() -> f64 {
    2.0 * norm(&[1.01, -2.01, 0.0, 3.02, -4.0, 0.48])
}

/// A direct method computes no residual of a warm start, whatever the start and the target.
#[test]
fn a_direct_solution_needs_no_start() {
    let objective = Hostile {
        solve: Solve::Exact,
        is_direct: true,
        ..HONEST
    };
    let targets = [
        AdjointStop::default(),
        AdjointStop::absolute(1e-10),
        AdjointStop::absolute(f64::INFINITY),
        AdjointStop {
            improvement: 1e-30,
            ..AdjointStop::default()
        },
    ];
    for stop in targets {
        for start in [0.0, 1e-3, 1e9] {
            let mut state = AdjointState::new();
            state.start_at(&[start; DIM]);
            let (adjoint, _) = solve_from(&objective, stop, &mut state).unwrap();
            assert_eq!(adjoint.outcome, AdjointOutcome::Converged);
            assert_eq!(adjoint.products, 1);
            assert!((adjoint.work - (3.0 + 5.0 + 2.0 + 7.0)).abs() < 1e-12);
            assert!(adjoint.residual < 1e-13);
        }
    }
    let (floor, _) = solve(&objective, 0.0).unwrap();
    assert_eq!(floor.outcome, AdjointOutcome::RoundingFloor);
    assert_eq!(floor.products, 1);
    // Where the gradient of the loss is zero, nothing is solved.
    let mut buffer = [0.0; DIM];
    let loss = LossAt::squared_distance(&X, &X, &mut buffer);
    let mut state = AdjointState::new();
    state.start_at(&[1.0; DIM]);
    let (error, stop) = (ErrorBound::new(ERROR).unwrap(), AdjointStop::default());
    let zero = solve_adjoint(&objective, &X, error, &loss, stop, &mut state, &mut ()).unwrap();
    assert_eq!((zero.products, state.adjoint()), (0, &[0.0; DIM][..]));
}

/// A direct method that is inaccurate is repeated for the residual; one that is wrong is noticed.
#[test]
fn a_direct_solution_is_refined() {
    let direct = |solve| Hostile {
        solve,
        is_direct: true,
        ..HONEST
    };
    let (refined, _) = solve(&direct(Solve::Share(0.9)), 1e-3 * rhs_norm()).unwrap();
    assert_eq!(refined.outcome, AdjointOutcome::Converged);
    assert_eq!(refined.products, 4); // 0.1^3 plus rounding exceeds the target
    let (lazy, _) = solve(&direct(Solve::Lazy), 1e-3).unwrap();
    assert_eq!(lazy.outcome, AdjointOutcome::Stalled);
    assert!(lazy.residual >= rhs_norm() && lazy.residual <= rhs_norm() * (1.0 + 1e-12));
    assert!(matches!(
        solve(&direct(Solve::Nan), 1e-3),
        Err(SolveError::NonFiniteProduct { .. })
    ));
    // Without a solution, `is_direct` says nothing: conjugate gradients follow.
    let (iterated, _) = solve(&direct(Solve::None), 1e-6).unwrap();
    assert_eq!(iterated.outcome, AdjointOutcome::Converged);
}

#[test]
fn an_exact_solution_is_taken_and_paid_for() {
    let objective = Hostile {
        solve: Solve::Exact,
        ..HONEST
    };
    let (adjoint, interval) = solve(&objective, 1e-9).unwrap();
    assert_eq!(adjoint.outcome, AdjointOutcome::Converged);
    assert!(adjoint.residual < 1e-12 && adjoint.products == 1);
    assert!((adjoint.work - (3.0 + 5.0 + 2.0 + 7.0)).abs() < 1e-12); // preparing 2, solving 5, the residual 2
    assert!(interval.lower <= exact_loss() && exact_loss() <= interval.upper);
    // Conjugate gradients find it in as many products as there are eigenvalues, or at once with the
    // exact preconditioner.
    let (by_gradients, _) = solve(&HONEST, 1e-9).unwrap();
    assert_eq!(
        (by_gradients.outcome, by_gradients.products),
        (AdjointOutcome::Converged, 6)
    );
    let diagonal = Hostile {
        preconditioner: Preconditioner::Diagonal,
        ..HONEST
    };
    let (at_once, _) = solve(&diagonal, 1e-9).unwrap();
    assert_eq!(
        (at_once.outcome, at_once.products),
        (AdjointOutcome::Converged, 2)
    );
    let costless = Hostile {
        solve: Solve::NanCost,
        ..HONEST
    };
    assert!(solve(&costless, 1e-9).unwrap().0.work >= 0.0);
}

/// At the minimum of the loss, the adjoint is zero.
#[test]
fn a_loss_without_gradient_has_the_adjoint_zero() {
    let mut buffer = [1.0; DIM];
    let loss = LossAt::squared_distance(&X, &X, &mut buffer);
    let mut state = AdjointState::new();
    state.start_at(&[1.0; DIM]);
    let (error, stop) = (ErrorBound::new(ERROR).unwrap(), AdjointStop::default());
    let adjoint = solve_adjoint(&HONEST, &X, error, &loss, stop, &mut state, &mut ()).unwrap();
    assert_eq!(adjoint.outcome, AdjointOutcome::Converged);
    assert!(adjoint.residual < 1e-300 && state.adjoint() == [0.0; DIM]);
}

#[test]
fn a_solution_that_is_wrong_is_not_believed() {
    for (share, left) in [(0.0, 1.0), (0.5, 0.5), (3.0, 1.0), (-1.0, 1.0)] {
        let objective = Hostile {
            solve: Solve::Share(share),
            ..HONEST
        };
        let (adjoint, interval) = solve(&objective, 1e-9).unwrap();
        assert_eq!(adjoint.outcome, AdjointOutcome::Stalled, "{share}");
        // A solution worse than the start is dropped.
        let expected = left * rhs_norm();
        assert!(
            (adjoint.residual - expected).abs() < 1e-9,
            "{share} {adjoint:?}"
        );
        assert!(interval.lower <= exact_loss() && exact_loss() <= interval.upper);
    }
    let lazy = Hostile {
        solve: Solve::Lazy,
        ..HONEST
    };
    assert_eq!(
        solve(&lazy, 1e-9).unwrap().0.outcome,
        AdjointOutcome::Stalled
    );
}

#[test]
fn products_that_are_not_finite_are_errors() {
    let nan = Hostile {
        solve: Solve::Nan,
        ..HONEST
    };
    assert!(matches!(
        solve(&nan, 1e-9),
        Err(SolveError::NonFiniteProduct { .. })
    ));
    for product in [Product::Nan, Product::Infinite, Product::Short] {
        let objective = Hostile { product, ..HONEST };
        let mut state = AdjointState::new();
        let result = solve_from(&objective, AdjointStop::default(), &mut state);
        assert_eq!(
            result,
            Err(SolveError::NonFiniteProduct { products: 1 }),
            "{product:?}"
        );
        assert_eq!(state.adjoint(), [0.0; DIM]);
        // The state can be used again.
        assert!(solve_from(&HONEST, AdjointStop::default(), &mut state).is_ok());
    }
    let preconditioner = Hostile {
        preconditioner: Preconditioner::Nan,
        ..HONEST
    };
    assert!(matches!(
        solve(&preconditioner, 1e-9),
        Err(SolveError::NonFiniteProduct { .. })
    ));
}

#[test]
fn hessians_that_are_not_positive_definite_are_noticed() {
    let negative = Hostile {
        preconditioner: Preconditioner::Negative,
        ..HONEST
    };
    let wrong = [Product::Scaled(0.0), Product::Scaled(-1.0), Product::Turns];
    let wrong = wrong.map(|product| Hostile { product, ..HONEST });
    for objective in wrong.into_iter().chain([negative]) {
        let (adjoint, _) = match solve(&objective, 1e-9) {
            Ok(solved) => solved,
            Err(error) => {
                assert_eq!(error, SolveError::ContradictingProduct);
                continue;
            }
        };
        assert_eq!(adjoint.outcome, AdjointOutcome::Stalled, "{objective:?}");
        assert!(adjoint.residual > 1e-9 && adjoint.residual <= rhs_norm() * (1.0 + 1e-12));
        assert!(adjoint.products < 2000);
    }
}

#[test]
fn starts_and_losses_that_are_not_finite_are_errors() {
    let mut state = AdjointState::new();
    state.start_at(&[0.0, 0.0, f64::NAN, 0.0, 0.0, 0.0]);
    let result = solve_from(&HONEST, AdjointStop::default(), &mut state);
    assert_eq!(result, Err(SolveError::NonFiniteStart { index: 2 }));
    assert!(solve_from(&HONEST, AdjointStop::default(), &mut state).is_ok());
    // A start of another length counts as zero.
    state.start_at(&[1.0; 3]);
    assert!(solve_from(&HONEST, AdjointStop::default(), &mut state).is_ok());

    let mut gradient = [1.0; DIM];
    for (value, entry) in [(f64::NAN, 1.0), (1.0, f64::INFINITY)] {
        gradient[1] = entry;
        let rounding = LossRounding {
            value: 0.0,
            gradient: 0.0,
        };
        let loss = LossAt {
            value,
            gradient: &gradient,
            lipschitz: 2.0,
            non_negative: true,
            rounding,
        };
        let result = solve_adjoint(
            &HONEST,
            &X,
            ErrorBound::UNKNOWN,
            &loss,
            AdjointStop::default(),
            &mut state,
            &mut (),
        );
        assert_eq!(result, Err(SolveError::NonFiniteLoss));
    }
}

#[test]
fn a_mixed_product_that_is_not_finite_is_an_error() {
    let result = hypergradient(
        &HONEST,
        |x, out| LossAt::squared_distance(x, &TRUTH, out),
        2,
        |_, _, out| out[0] = 1.0, // leaves the second one
        ErrorBound::new(1e-3).unwrap(),
        &mut HypergradientState::new(vec![3.0; DIM]),
    );
    assert_eq!(result, Err(SolveError::NonFiniteMixedProduct { index: 1 }));
}

#[test]
fn an_objective_without_second_derivatives_has_no_adjoint() {
    let plain = FnObjective::new(
        1,
        Curvature::new(1.0, 1.0).unwrap(),
        |x| 0.5 * x[0] * x[0],
        |x, gradient| gradient[0] = x[0],
    );
    let result = hypergradient(
        &plain,
        |x, out| LossAt::squared_distance(x, &[1.0], out),
        1,
        |_, _, out| out[0] = 1.0,
        ErrorBound::new(1e-3).unwrap(),
        &mut HypergradientState::new(vec![3.0]),
    );
    assert_eq!(result, Err(SolveError::NoSecondDerivatives));
}

/// Bounds that are NaN or negative are taken as unknown: the plain interval remains.
#[test]
fn bounds_that_are_no_numbers_are_infinite() {
    let root = norm(&[1.01, -2.01, 0.0, 3.02, -4.0, 0.48]);
    for bad in [f64::NAN, -1.0, f64::INFINITY] {
        let third_order = ThirdOrder {
            vector: bad,
            value: bad,
        };
        let (adjoint, interval) = solve(
            &Hostile {
                third_order,
                ..HONEST
            },
            1e-9,
        )
        .unwrap();
        assert_eq!(adjoint.third_order, ThirdOrder::UNKNOWN);
        assert!((interval.upper - (root + ERROR).powi(2)).abs() < 1e-9);
        assert!((interval.lower - (root - ERROR).powi(2)).abs() < 1e-9);
        let mut buffer = [0.0; DIM];
        let loss = LossAt::squared_distance(&X, &TRUTH, &mut buffer);
        assert!(adjoint_error(&loss, &adjoint) == f64::INFINITY);
    }
    for rounding in [f64::NAN, -1.0, f64::INFINITY] {
        let (adjoint, interval) = solve(&Hostile { rounding, ..HONEST }, 1e-9).unwrap();
        // Only the residual of zero is known.
        assert!((adjoint.residual - rhs_norm()).abs() < 1e-9);
        assert_eq!(adjoint.outcome, AdjointOutcome::Stalled);
        assert!((interval.upper - (root + ERROR).powi(2)).abs() < 1e-9);
    }
    for change in [f64::NAN, -1.0] {
        assert!(MixedBound { change, norm: 1.0 }.gradient_error(1.0) == f64::INFINITY);
    }
    assert!(
        MixedBound {
            change: 0.0,
            norm: 1.0
        }
        .gradient_error(f64::NAN)
            == f64::INFINITY
    );
}

#[test]
fn vectors_that_are_not_finite_give_an_infinite_interval() {
    let (adjoint, _) = solve(&HONEST, 1e-9).unwrap();
    let q = [1.0; DIM];
    let mut buffer = [0.0; DIM];
    let mut loss = LossAt::squared_distance(&X, &TRUTH, &mut buffer);
    let interval = |loss: &LossAt<'_>, q: &[f64], gradient: &[f64]| {
        let interval = corrected_value(&HONEST, &X, gradient, loss, q, &adjoint);
        (interval.lower, interval.upper)
    };
    loss.non_negative = false;
    let plain = interval(&loss, &[f64::NAN; DIM], &[1.0; DIM]);
    assert!(plain.0.is_finite() && plain.1.is_finite()); // from the gradient of the loss
    assert_eq!(plain, interval(&loss, &q, &[f64::INFINITY; DIM]));
    let all = (f64::NEG_INFINITY, f64::INFINITY);
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert_eq!(
            interval(&LossAt { value: bad, ..loss }, &q, &[1.0; DIM]),
            all
        );
        let loss = LossAt {
            gradient: &[bad; DIM],
            ..loss
        };
        assert_eq!(interval(&loss, &[f64::NAN; DIM], &[1.0; DIM]), all);
    }
    let above = interval(
        &LossAt {
            lipschitz: f64::NAN,
            ..loss
        },
        &q,
        &[0.0; DIM],
    )
    .1;
    assert!(above == f64::INFINITY);
}

/// A Hessian that is many times too small or too large would lead to a corrected value far off,
/// with a small bound. The declared curvature shows it.
#[test]
fn a_hessian_outside_of_the_declared_curvature_is_noticed() {
    for factor in [1e-3, -1e-3, 1e3] {
        let product = Product::Scaled(factor);
        let objective = Hostile { product, ..HONEST };
        let mut state = AdjointState::new();
        let q: Vec<f64> = (0..DIM)
            .map(|j| 2.0 * (X[j] - TRUTH[j]) / (factor * weight(j)))
            .collect();
        state.start_at(&q);
        let result = solve_from(&objective, AdjointStop::absolute(1e-9), &mut state);
        assert_eq!(result, Err(SolveError::ContradictingProduct), "{factor}");
    }
    assert!(solve(&HONEST, 1e-9).unwrap().1.consistent);
}

#[test]
fn a_local_curvature_replaces_the_strong_convexity_if_it_is_larger() {
    for (near, expected) in [
        (None, 1.0),
        (Some(3.0), 3.0),
        (Some(0.5), 1.0),
        (Some(f64::NAN), 1.0),
        (Some(f64::INFINITY), 6.0),
    ] {
        let (adjoint, _) = solve(&Hostile { near, ..HONEST }, 1e-9).unwrap();
        assert!((adjoint.curvature - expected).abs() < 1e-15, "{near:?}");
        let mut buffer = [0.0; DIM];
        let loss = LossAt::squared_distance(&X, &TRUTH, &mut buffer);
        let bound = adjoint_error(&loss, &adjoint);
        let exact = (2.0 * ERROR + adjoint.residual) / expected;
        assert!(bound >= exact && bound < exact * (1.0 + 1e-12));
    }
}

#[test]
fn checks_notice_what_is_wrong() {
    let q = [1.0, -2.0, 3.0, 0.5, 0.0, 1.0];
    assert!(hessian_deviation(&HONEST, &X, 1e-4) < 1e-9);
    for product in [
        Product::Scaled(1.001),
        Product::Turns,
        Product::Nan,
        Product::Short,
    ] {
        let deviation = hessian_deviation(&Hostile { product, ..HONEST }, &X, 1e-4);
        assert!(!(deviation < 1e-4), "{product:?}");
    }
    assert!(third_order_violation(&HONEST, &X, &q, 0.1, 30, 1) <= 1.0);
    // A quartic function with a bound on the third derivative that is too small by 1 %.
    for (claimed, holds) in [(0.6, true), (0.99 * 0.6, false)] {
        let quartic = FnObjective::new(
            1,
            Curvature::new(1.0, 2.0).unwrap(),
            |x| 0.5 * x[0] * x[0] + x[0].powi(4) / 24.0,
            |x, out| out[0] = x[0] + x[0].powi(3) / 6.0,
        )
        .with_hessian(
            |x, v, out| out[0] = (1.0 + 0.5 * x[0] * x[0]) * v[0],
            claimed,
        );
        let ratio = third_order_violation(&quartic, &[0.59], &[2.0], 0.01, 40, 3);
        assert_eq!(ratio <= 1.0, holds, "{claimed} {ratio}");
    }
    let unbounded = Hostile {
        third_order: ThirdOrder {
            vector: f64::NAN,
            value: 0.0,
        },
        ..HONEST
    };
    assert!(!(third_order_violation(&unbounded, &X, &q, 0.1, 30, 1) <= 1.0));

    let at = |theta: &[f64]| {
        let theta = theta[0];
        FnObjective::new(
            1,
            Curvature::new(1.0, 1.0).unwrap(),
            move |x| 0.5 * (x[0] - theta).powi(2),
            move |x, out| out[0] = x[0] - theta,
        )
    };
    let wrong = |_: &[f64], q: &[f64], out: &mut [f64]| out[0] = q[0];
    let right = |_: &[f64], q: &[f64], out: &mut [f64]| out[0] = -q[0];
    assert!(mixed_deviation(at, &[0.3], &[1.0], &[2.0], right, 1e-4) < 1e-9);
    assert!(mixed_deviation(at, &[0.3], &[1.0], &[2.0], wrong, 1e-4) > 1.0);
    assert!(mixed_deviation(at, &[0.3], &[1.0], &[2.0], |_, _, _| (), 1e-4).is_nan());
}
