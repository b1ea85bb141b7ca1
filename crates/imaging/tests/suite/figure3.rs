//! Figure 3 (c, d) of the paper: true error, gradient bound and linear bound on a 1D denoising
//! problem.
//!
//! Golden numbers: squared distances of the authors' published figure, recomputed independently
//! from its definition (NumPy's legacy seed 0, one box function of 100 pixels with noise 0.1,
//! alpha = 0.3, nu = xi = 1e-3, start at the data, minimiser from 10,000 iterations of FISTA).

use approx::assert_relative_eq;
use imaging::testing::paper_data::LegacyRandom;
use imaging::{Denoising, Grid, TvParameters};
use lowlevel::{ErrorBound, Method, Solver, State, Stop, StronglyConvex, rate_bound};

fn square_distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum()
}

/// Returns the point after `iterations` iterations of `method` from the data, and its certified
/// squared error.
fn run(
    objective: &Denoising<'_>,
    data: &[f64],
    method: Method,
    iterations: u64,
) -> (Vec<f64>, f64) {
    let solver = Solver {
        method,
        ..Solver::default()
    };
    let mut state = State::new(data.to_vec());
    let stop = Stop::Iterations(iterations);
    let solved = solver
        .minimize(objective, stop, &mut state, &mut objective.scratch())
        .expect("the problem is sound");
    (state.into_point(), solved.error.value().powi(2))
}

#[test]
fn denoising_a_line_of_100_pixels() {
    let mut random = LegacyRandom::new(0);
    let truth = random.box_function(100);
    let data = random.noisy(&truth, 0.1);
    let parameters = TvParameters {
        alpha: 0.3,
        nu: 1e-3,
        xi: 1e-3,
    };
    let objective = Denoising::new(Grid::line(100), &data, parameters).unwrap();
    let curvature = objective.curvature();
    assert_relative_eq!(curvature.lipschitz(), 1201.001, max_relative = 1e-12);
    assert_relative_eq!(curvature.strong_convexity(), 1.001, max_relative = 1e-12);
    assert_relative_eq!(square_distance(&data, &truth), 1.0403, max_relative = 1e-4);

    // The authors' minimiser is certified to 2.9e-26 by its gradient alone; ours carries its
    // rounding error in addition.
    let (minimizer, bound) = run(&objective, &data, Method::FISTA, 10_000);
    assert!(bound < 1e-24, "{bound:e}");
    let initial = square_distance(&data, &minimizer);
    assert_relative_eq!(initial, 0.9108, max_relative = 1e-4);

    // The published linear bounds start from |data - truth| instead of |data - minimiser|.
    let published = ErrorBound::new(square_distance(&data, &truth).sqrt()).unwrap();
    let linear = |method, iterations| {
        rate_bound(method, curvature, iterations, published)
            .value()
            .powi(2)
    };

    let (x, bound) = run(&objective, &data, Method::GRADIENT_DESCENT, 2000);
    assert_relative_eq!(
        square_distance(&x, &minimizer),
        2.63e-5,
        max_relative = 3e-3
    );
    assert_relative_eq!(bound, 4.94e-5, max_relative = 3e-3);
    assert_relative_eq!(
        linear(Method::GRADIENT_DESCENT, 2000),
        3.70e-2,
        max_relative = 3e-3
    );

    for method in [Method::FISTA, Method::FISTA_TWO_GRADIENTS] {
        let (x, bound) = run(&objective, &data, method, 1000);
        assert_relative_eq!(
            square_distance(&x, &minimizer),
            5.4e-24,
            max_relative = 2e-2
        );
        assert!((5.4e-24..1e-23).contains(&bound), "{bound:e}");
        assert_relative_eq!(linear(method, 1000), 2.4e-10, max_relative = 2e-2);
    }
}
