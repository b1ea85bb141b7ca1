use super::*;
use crate::linalg::tests::Random;
use crate::linalg::{Matrix, norm, product_transposed};
use crate::subproblem::minimize_quadratic;
use proptest::prelude::*;

fn diagonal(entries: &[f64]) -> Matrix {
    let n = entries.len();
    Matrix::from_fn(n, n, |i, j| if i == j { entries[i] } else { 0.0 })
}

fn solve(
    gradient: &[f64],
    hessian: &Matrix,
    radius: f64,
    lower: &[f64],
    upper: &[f64],
) -> SubproblemStep {
    let region = BallAndBox {
        radius,
        lower,
        upper,
    };
    let found = minimize_truncated(&Quadratic { gradient, hessian }, &region);
    for (i, s) in found.step.iter().enumerate() {
        assert!(lower[i] - 1e-14 <= *s && *s <= upper[i] + 1e-14);
    }
    assert!(norm(&found.step) <= radius * (1.0 + 1e-12) + 1e-13);
    assert!(found.decrease >= 0.0);
    found
}

fn free(gradient: &[f64], hessian: &Matrix, radius: f64) -> SubproblemStep {
    let n = gradient.len();
    let infinite = vec![f64::INFINITY; n];
    solve(
        gradient,
        hessian,
        radius,
        &vec![-f64::INFINITY; n],
        &infinite,
    )
}

fn close(a: &[f64], b: &[f64], tolerance: f64) {
    let difference: Vec<f64> = a.iter().zip(b).map(|(x, y)| x - y).collect();
    assert!(norm(&difference) <= tolerance, "{a:?} {b:?}");
}

/// As many conjugate directions as variables, inside the ball.
#[test]
fn newton_steps() {
    let found = free(&[-1.0, -4.0], &diagonal(&[1.0, 2.0]), 10.0);
    close(&found.step, &[1.0, 2.0], 1e-14);
    assert!((found.decrease - 4.5).abs() < 1e-14);
    // along (1, 4), then conjugate to it: (8, -1) up to a factor
    assert!((found.curvature - 66.0 / 65.0).abs() < 1e-14, "{found:?}");
}

/// Two directions of three.
#[test]
fn a_small_gain_ends_the_search() {
    // with eigenvalues 1, 1 + e, 1 + 2e the first step leaves only a gain of order e^2
    let hessian = diagonal(&[1.0, 1.001, 1.002]);
    let found = free(&[-1.0, -1.0, -1.0], &hessian, 10.0);
    let exact = [1.0, 1.0 / 1.001, 1.0 / 1.002];
    let difference: Vec<f64> = found.step.iter().zip(&exact).map(|(a, b)| a - b).collect();
    let off = norm(&difference);
    assert!(off > 1e-10 && off < 1e-5, "two of three directions: {off}");
}

/// The first direction leaves the ball; on the circle the best of twenty angles, improved by a
/// parabola, is close.
#[test]
fn on_the_circle() {
    let hessian = diagonal(&[4.0, 0.0]);
    let found = free(&[-1.0, -1.0], &hessian, 1.0);
    assert!((norm(&found.step) - 1.0).abs() < 1e-14);
    close(&[found.curvature], &[0.0], 0.0);
    let value = |angle: f64| angle.cos() + angle.sin() - 2.0 * angle.cos().powi(2);
    let best = (0..100_000)
        .map(|k| value(f64::from(k) * 2e-5))
        .fold(0.0, f64::max);
    assert!(
        found.decrease > 0.99 * best && found.decrease <= best + 1e-12,
        "{found:?} {best}"
    );
}

/// Without curvature the first direction ends at the sphere, where no rotation helps.
#[test]
fn a_linear_function() {
    let found = free(&[3.0, 4.0], &Matrix::zeros(2, 2), 0.5);
    close(&found.step, &[-0.3, -0.4], 1e-15);
    assert!((found.decrease - 2.5).abs() < 1e-14);
    close(&[found.curvature], &[0.0], 0.0);
}

/// The first bound on the way is kept, and the search goes on in the other variable.
#[test]
fn a_bound_on_the_way() {
    let (lower, upper) = ([-0.25, -5.0], [5.0, 5.0]);
    let found = solve(&[1.0, 1.0], &diagonal(&[1.0, 0.5]), 10.0, &lower, &upper);
    close(&found.step, &[-0.25, -2.0], 1e-14);
    close(&[found.step[0]], &[-0.25], 0.0);
    // of the direction that no bound has cut
    close(&[found.curvature], &[0.5], 0.0);
}

/// The first direction leaves the ball at (2, 1)/sqrt(5); the rotation towards (0.775, 0.632) ends
/// at the bound.
#[test]
fn a_bound_on_the_sphere() {
    let hessian = diagonal(&[1.0, 0.0]);
    let (lower, upper) = ([-2.0, -2.0], [2.0, 0.5]);
    let found = solve(&[-2.0, -1.0], &hessian, 1.0, &lower, &upper);
    close(&found.step, &[0.75_f64.sqrt(), 0.5], 1e-12);
    close(&[found.curvature], &[0.0], 0.0);
    let far = solve(&[-2.0, -1.0], &hessian, 1.0, &lower, &[0.999, 2.0]);
    close(&far.step, &[0.775, 0.632], 5e-3);
}

/// Without bounds the vertex of the parabola is used even if the quadratic increases. Its
/// neighbours are at an angle of a fiftieth of the circle.
#[test]
fn around_the_circle() {
    // found from the same formula, written for the angle: h (q(-h) - q(h)) / (2 (q(-h) + q(h)))
    let (stiff, step, tangent) = (100.0_f64, [0.6_f64, 0.8_f64], [-0.8_f64, 0.6_f64]);
    let value = |angle: f64| {
        let x = step[0] * angle.cos() + tangent[0] * angle.sin();
        0.5 * stiff * (x - step[0]).powi(2)
    };
    let h = std::f64::consts::TAU / 50.0;
    let expected = 0.5 * h * (value(-h) - value(h)) / (value(-h) + value(h));
    let curve = rotation::CircleQuadratic {
        along: 0.0,
        descent: 0.0,
        tangent: stiff * tangent[0] * tangent[0],
        mixed: stiff * step[0] * tangent[0],
        step: stiff * step[0] * step[0],
    };
    let found = curve.best_around().expect("not flat");
    assert!((found.sine - expected.sin()).abs() < 1e-14 && expected.abs() > 1e-3);
    assert!((found.gain + value(expected)).abs() < 1e-14 && found.gain < 0.0);
}

/// On a bound at the start: it moves by what bounds are widened and no more.
#[test]
fn bounds_at_the_start() {
    let (lower, upper) = ([0.0, -1.0], [1.0, 1.0]);
    let found = solve(&[1.0, -0.5], &diagonal(&[1.0, 1.0]), 2.0, &lower, &upper);
    close(&found.step, &[-1e-14, 0.5], 1e-15);
    close(&[found.step[0]], &[-1e-14], 0.0);
    let inward = solve(&[-1.0, -0.5], &diagonal(&[1.0, 1.0]), 2.0, &lower, &upper);
    close(&inward.step, &[1.0, 0.5], 1e-14);
}

#[test]
fn no_slope_no_step() {
    let zero = free(&[0.0, 0.0], &diagonal(&[-1.0, 1.0]), 1.0);
    assert_eq!(zero, SubproblemStep::zero(2));
    // absolute: too short a multiple of the gradient
    let short = free(&[1.0, 0.0], &diagonal(&[1e31, 1.0]), 1.0);
    assert_eq!(short.step, [0.0, 0.0]);
    let longer = free(&[1.0, 0.0], &diagonal(&[1e29, 1.0]), 1.0);
    close(&longer.step, &[-1e-29, 0.0], 1e-43);
    assert_eq!(
        free(&[], &Matrix::zeros(0, 0), 1.0),
        SubproblemStep::zero(0)
    );
}

#[test]
fn nan_gives_no_step() {
    let eye = Matrix::identity(2);
    assert_eq!(free(&[f64::NAN, 1.0], &eye, 1.0), SubproblemStep::zero(2));
    assert_eq!(
        free(&[f64::INFINITY, 1.0], &eye, 1.0),
        SubproblemStep::zero(2)
    );
    let mut bad = eye.clone();
    bad[(0, 1)] = f64::NAN;
    assert_eq!(free(&[1.0, 1.0], &bad, 1.0), SubproblemStep::zero(2));
    for radius in [0.0, f64::NAN] {
        let region = BallAndBox {
            radius,
            lower: &[-1.0; 2],
            upper: &[1.0; 2],
        };
        let quadratic = Quadratic {
            gradient: &[1.0; 2],
            hessian: &eye,
        };
        assert_eq!(
            minimize_truncated(&quadratic, &region),
            SubproblemStep::zero(2)
        );
    }
}

proptest! {
    /// Feasible, never below the exact minimum, and mostly close to it.
    #[test]
    fn near_the_exact_step(seed in any::<u64>(), n in 1_usize..9, boxed in any::<bool>()) {
        let mut random = Random::new(seed);
        let a = random.matrix(n + 2, n);
        let h = product_transposed(&a, &a);
        let g = random.vector(n);
        let radius = 10_f64.powf(random.next());
        let mut bound = || if boxed { random.next().abs() * radius } else { f64::INFINITY };
        let lower: Vec<f64> = (0..n).map(|_| -bound()).collect();
        let upper: Vec<f64> = (0..n).map(|_| bound()).collect();
        let found = solve(&g, &h, radius, &lower, &upper);
        let region = BallAndBox { radius, lower: &lower, upper: &upper };
        let exact = minimize_quadratic(&Quadratic { gradient: &g, hessian: &h }, &region);
        prop_assert!(found.decrease <= exact.decrease * (1.0 + 1e-9) + 1e-12);
        let share = if boxed { 0.3 } else { 0.9 };
        prop_assert!(found.decrease >= share * exact.decrease, "{} of {}", found.decrease, exact.decrease);
        // never less than a first step along the gradient would give
        let square = dot(&g, &g);
        let mut image = vec![0.0; n];
        h.mul_vec(&g, &mut image);
        let mut t = (square / dot(&g, &image)).min(radius / square.sqrt());
        for i in 0..n {
            let b = if g[i] > 0.0 { -lower[i] } else { upper[i] };
            t = t.min(b / g[i].abs());
        }
        let first = t * (square - 0.5 * t * dot(&g, &image));
        prop_assert!(found.decrease >= 0.98 * first, "{} {first}", found.decrease);
    }
}
