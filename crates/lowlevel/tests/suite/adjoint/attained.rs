//! Cases in which a bound is attained: a smaller bound would be wrong.

use lowlevel::testing::third_order_violation;
use lowlevel::{Curvature, FnObjective, LossAt, StronglyConvex, adjoint_error, norm};

use super::{bounds_at, difference, dot, linear};

/// A one-dimensional function with the Hessian `1 + K x` around zero, so that all bounds on third
/// derivatives are attained. `minimizer` is its minimiser.
fn cubic(third: f64, minimizer: f64, mu: f64) -> impl StronglyConvex<Scratch = Vec<f64>> {
    let slope = move |x: f64| x + 0.5 * third * x * x;
    FnObjective::new(
        1,
        Curvature::new(mu, 2.0).expect("positive"),
        |_| f64::NAN,
        move |x, out| out[0] = slope(x[0]) - slope(minimizer),
    )
    .with_rounding(1e-16, 1e-15)
    .with_hessian(
        move |x, v, out| out[0] = (1.0 + third * x[0]) * v[0],
        third.abs(),
    )
}

/// With a linear loss and an exact adjoint, the loss is at one end of the interval: its distance
/// from the corrected value is the bound on the third derivative.
#[test]
fn the_third_order_term_of_the_value_is_attained() {
    for (third, c) in [(0.5, 1.0), (0.5, -1.0), (-0.5, 1.0), (-0.5, -1.0)] {
        for e in [0.01, -0.01] {
            let (minimizer, error) = (0.1, 0.01 + 1e-16);
            let x = [minimizer + e];
            let c = [c];
            let objective = cubic(third, minimizer, 0.5);
            let q = [c[0] / (1.0 + third * x[0])];
            let (interval, adjoint) = bounds_at(&objective, &x, error, &linear(&c, &x), &q);
            let exact = c[0] * minimizer;
            assert!(interval.lower <= exact && exact <= interval.upper);
            let nearest = (exact - interval.lower).min(interval.upper - exact);
            assert!(nearest < 1e-14, "{nearest:e}");
            let expected = 0.25 * 1e-4 * q[0].abs();
            assert!((adjoint.third_order.value - expected).abs() < 1e-14);
            let violation = third_order_violation(&objective, &x, &q, 0.01, 20, 7);
            assert!((violation - 1.0).abs() < 1e-9, "{violation}");
        }
    }
}

/// The exact adjoint at the computed point is as far from the exact adjoint as its bound says.
#[test]
fn the_third_order_term_of_the_adjoint_is_attained() {
    for third in [0.5, -0.5] {
        for e in [0.01, -0.01] {
            let (minimizer, c) = (0.1_f64, [3.0]);
            let there = 1.0 + third * minimizer;
            let x = [minimizer + e];
            let objective = cubic(third, minimizer, there);
            let q = [c[0] / (1.0 + third * x[0])];
            let loss = linear(&c, &x);
            let (_, adjoint) = bounds_at(&objective, &x, 0.01, &loss, &q);
            let off = (q[0] - c[0] / there).abs();
            let bound = adjoint_error(&loss, &adjoint);
            assert!(
                off <= bound * (1.0 + 1e-12) && bound < off + 1e-13,
                "{off} {bound}"
            );
        }
    }
}

fn plain_quadratic(mu: f64, minimizer: Vec<f64>) -> impl StronglyConvex<Scratch = Vec<f64>> {
    FnObjective::new(
        minimizer.len(),
        Curvature::new(mu, mu).expect("positive"),
        |_| f64::NAN,
        move |x, out| {
            for ((out, x), m) in out.iter_mut().zip(x).zip(&minimizer) {
                *out = mu * (x - m);
            }
        },
    )
    .with_hessian(
        move |_, v, out| {
            for (out, v) in out.iter_mut().zip(v) {
                *out = mu * v;
            }
        },
        0.0,
    )
}

/// With a residual along the error and a linear loss, the loss is at an end of the interval, and
/// the adjoint as far off as its bound.
#[test]
fn the_residual_term_is_attained_in_both_directions() {
    for sign in [1.0, -1.0] {
        let (mu, minimizer) = (2.0, vec![1.0, -2.0]);
        let (x, c) = ([1.0 + 3e-3, -2.0 + 4e-3], [7.0, -5.0]);
        let objective = plain_quadratic(mu, minimizer.clone());
        let loss = linear(&c, &x);
        // r = c - mu q = 0.5 * sign * (3, 4)
        let q = [(c[0] - sign * 1.5) / mu, (c[1] - sign * 2.0) / mu];
        let (interval, adjoint) = bounds_at(&objective, &x, 5e-3 + 1e-16, &loss, &q);
        let exact = dot(&c, &minimizer);
        assert!(interval.lower <= exact && exact <= interval.upper);
        assert!((interval.upper - interval.lower - 2.0 * 2.5 * 5e-3).abs() < 1e-12);
        // l(x*) = f_c - <r, e>: a positive product puts the loss at the lower end.
        let gap = [exact - interval.lower, interval.upper - exact];
        assert!(gap[usize::from(sign < 0.0)] < 1e-13, "{gap:?}");

        assert!((adjoint.residual - 2.5).abs() < 1e-13);
        let off = norm(&difference(&q, &[c[0] / mu, c[1] / mu]));
        let bound = adjoint_error(&loss, &adjoint);
        assert!(off <= bound && bound < off + 1e-13);
    }
}

/// With an exact adjoint of a quadratic function, the squared distance is at the upper end: the
/// remainder is not negative, and as large as its bound.
#[test]
fn the_remainder_of_the_loss_is_attained_at_the_upper_end() {
    let (mu, minimizer, truth) = (0.5, vec![1.0, -2.0], [100.0, 200.0]);
    for e in [[3e-3, 4e-3], [-3e-3, 4e-3], [-3e-3, -4e-3]] {
        let x = [minimizer[0] + e[0], minimizer[1] + e[1]];
        let objective = plain_quadratic(mu, minimizer.clone());
        let mut buffer = [0.0; 2];
        let loss = LossAt::squared_distance(&x, &truth, &mut buffer);
        let q: Vec<f64> = loss.gradient.iter().map(|g| g / mu).collect();
        let (interval, adjoint) = bounds_at(&objective, &x, 5e-3 + 1e-15, &loss, &q);
        let exact = norm(&difference(&minimizer, &truth)).powi(2);
        assert!(interval.lower <= exact && exact <= interval.upper);
        assert!((interval.upper - exact) < 1e-9);
        assert!((exact - interval.lower - 25e-6).abs() < 1e-9); // R = |e|^2
        assert!((interval.value - (exact - 25e-6)).abs() < 1e-9);

        let off = norm(&difference(&q, &[198.0 / -mu, 404.0 / -mu]));
        let bound = adjoint_error(&loss, &adjoint);
        assert!(off <= bound && bound < off * (1.0 + 1e-9), "{off} {bound}");
    }
}

/// Where nothing is known about third derivatives, the plain interval decides. Both of its ends are
/// attained, for distances and for linear losses.
#[test]
fn the_plain_interval_is_attained() {
    let objective = FnObjective::new(
        1,
        Curvature::new(1.0, 1.0).expect("positive"),
        |_| f64::NAN,
        |x, out| out[0] = x[0] - 1.0,
    )
    .with_hessian(|_, v, out| out.copy_from_slice(v), f64::INFINITY);
    for e in [0.25, -0.25] {
        let x = [1.0 + e];
        let mut buffer = [0.0];
        let loss = LossAt::squared_distance(&x, &[0.0], &mut buffer);
        let (interval, _) = bounds_at(&objective, &x, 0.25, &loss, &[2.0 * x[0]]);
        assert!((interval.lower - (x[0] - 0.25).powi(2)).abs() < 1e-14);
        assert!((interval.upper - (x[0] + 0.25).powi(2)).abs() < 1e-14);
        assert!(interval.lower <= 1.0 && 1.0 <= interval.upper && interval.consistent);
        let (interval, _) = bounds_at(&objective, &x, 3.0, &loss, &[2.0 * x[0]]);
        assert!(interval.lower.abs() < 1e-300);

        let loss = linear(&[3.0], &x);
        let (interval, _) = bounds_at(&objective, &x, 0.25, &loss, &[3.0]);
        assert!(interval.lower <= 3.0 && 3.0 <= interval.upper);
        assert!((interval.lower - 3.0 * (x[0] - 0.25)).abs() < 1e-14);
        assert!((interval.upper - 3.0 * (x[0] + 0.25)).abs() < 1e-14);
    }
}
