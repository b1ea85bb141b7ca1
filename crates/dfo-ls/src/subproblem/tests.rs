use super::*;
use crate::linalg::product_transposed;
use crate::linalg::tests::Random;
use proptest::prelude::*;

const FREE: [f64; 64] = [f64::INFINITY; 64];
const UNBOUNDED: [f64; 64] = [f64::NEG_INFINITY; 64];

fn ball(n: usize, radius: f64) -> BallAndBox<'static> {
    BallAndBox {
        radius,
        lower: &UNBOUNDED[..n],
        upper: &FREE[..n],
    }
}

fn close(a: &[f64], b: &[f64], relative: f64) -> bool {
    let difference: Vec<f64> = a.iter().zip(b).map(|(x, y)| x - y).collect();
    norm(&difference) <= relative * norm(a).max(norm(b))
}

proptest! {
    /// Neither the unit of the objective nor that of the variables matters.
    #[test]
    fn units_do_not_matter(
        seed in any::<u64>(), n in 1_usize..8, objective in -140..140_i32, space in -70..70_i32, boxed in any::<bool>(),
    ) {
        let mut random = Random::new(seed);
        let a = random.matrix(n + 1, n);
        let h = product_transposed(&a, &a);
        let g = random.vector(n);
        let bound = if boxed { 0.3 } else { f64::INFINITY };
        let plain = minimize_quadratic(
            &Quadratic { gradient: &g, hessian: &h },
            &BallAndBox { radius: 0.7, lower: &vec![-bound; n], upper: &vec![bound; n] },
        );
        let (energy, unit) = (10_f64.powi(objective), 10_f64.powi(space));
        let gradient: Vec<f64> = g.iter().map(|g| g * energy / unit).collect();
        let hessian = Matrix::from_fn(n, n, |i, j| h[(i, j)] * energy / unit / unit);
        let other = minimize_quadratic(
            &Quadratic { gradient: &gradient, hessian: &hessian },
            &BallAndBox { radius: 0.7 * unit, lower: &vec![-bound * unit; n], upper: &vec![bound * unit; n] },
        );
        let back: Vec<f64> = other.step.iter().map(|s| s / unit).collect();
        prop_assert!(close(&plain.step, &back, 1e-7), "{plain:?} {other:?}");
        prop_assert!((other.decrease / energy - plain.decrease).abs() <= 1e-11 * plain.decrease);
        prop_assert!((other.curvature / energy * unit * unit - plain.curvature).abs() <= 1e-6 * plain.curvature, "{plain:?} {other:?} {g:?} {h:?}");
    }
}

/// A Newton step of length one in a ball as large as can be, and the other extremes.
#[test]
fn extreme_scales() {
    let h = Matrix::identity(2);
    let newton = |g: f64, h: &Matrix, radius: f64| {
        minimize_quadratic(
            &Quadratic {
                gradient: &[g, 0.0],
                hessian: h,
            },
            &ball(2, radius),
        )
    };
    for radius in [1e10, 1e150, 1e300, f64::INFINITY] {
        let step = newton(-1.0, &h, radius);
        assert!(close(&step.step, &[1.0, 0.0], 1e-12), "{radius} {step:?}");
        assert!((step.decrease - 0.5).abs() < 1e-12 && (step.curvature - 1.0).abs() < 1e-10);
    }
    for (g, h, radius) in [
        (1e-300, 1e-300, 1e300),
        (1e300, 1e300, 1e-300),
        (1e300, 1e-300, 1e300),
        (1e-300, 1e300, 1e-300),
    ] {
        let step = newton(
            g,
            &Matrix::from_fn(2, 2, |i, j| if i == j { h } else { 0.0 }),
            radius,
        );
        let expected = (g / h).min(radius);
        if expected > 0.0 {
            assert!(
                close(&step.step, &[-expected, 0.0], 1e-12),
                "{g} {h} {radius} {step:?}"
            );
        }
        assert!(step.decrease >= 0.0 && step.decrease.is_finite());
    }
    // a slope too small to be squared, with negative curvature
    let saddle = Matrix::from_fn(2, 2, |i, j| if i == j { [1.0, -1.0][i] } else { 0.0 });
    let step = newton(1e-200, &saddle, 1.0);
    assert!((step.decrease - 0.5).abs() < 1e-12, "{step:?}");
}

#[test]
fn nan_gives_no_step() {
    let nan = [f64::NAN, 0.0];
    let fine = Matrix::identity(2);
    let mut bad = fine.clone();
    bad[(1, 0)] = f64::NAN;
    let solve = |gradient: &[f64], hessian: &Matrix, region: &BallAndBox<'_>| {
        let step = minimize_quadratic(&Quadratic { gradient, hessian }, region);
        assert_eq!(step, SubproblemStep::zero(2));
    };
    solve(&nan, &fine, &ball(2, 1.0));
    solve(&[f64::INFINITY, 0.0], &fine, &ball(2, 1.0));
    solve(&[1.0; 2], &bad, &ball(2, 1.0));
    solve(&[1.0; 2], &fine, &ball(2, f64::NAN));
    solve(&[1.0; 2], &fine, &ball(2, 0.0));
    solve(
        &[1.0; 2],
        &fine,
        &BallAndBox {
            radius: 1.0,
            lower: &nan,
            upper: &[1.0; 2],
        },
    );
    solve(
        &[1.0; 2],
        &fine,
        &BallAndBox {
            radius: 1.0,
            lower: &[0.0; 2],
            upper: &[0.0; 2],
        },
    );
}

#[test]
fn nothing_at_all() {
    let step = minimize_quadratic(
        &Quadratic {
            gradient: &[],
            hessian: &Matrix::zeros(0, 0),
        },
        &ball(0, 1.0),
    );
    assert_eq!(step, SubproblemStep::zero(0));
    let at_the_minimum = minimize_quadratic(
        &Quadratic {
            gradient: &[0.0],
            hessian: &Matrix::identity(1),
        },
        &ball(1, 1.0),
    );
    assert_eq!(at_the_minimum.step, [0.0]);
    assert!((at_the_minimum.curvature - 1.0).abs() < 1e-12);
}
