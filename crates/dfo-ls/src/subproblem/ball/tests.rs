use super::*;
use crate::linalg::tests::Random;
use proptest::prelude::*;

/// `$(H + \lambda I)s = -g$`, `$H + \lambda I \ge 0$`, `$\|s\| \le \Delta$`,
/// `$\lambda(\Delta - \|s\|) = 0$`.
fn check(gradient: &[f64], hessian: &Matrix, radius: f64) {
    let n = gradient.len();
    let mut ball = Ball::default();
    let mut step = Vec::new();
    let kind = ball.minimize(gradient, hessian, radius, &mut step);
    let multiplier = kind.multiplier();
    let size = max_abs(hessian.as_slice()).max(f64::MIN_POSITIVE);
    let scale = norm(gradient) + (size + multiplier) * radius;
    let mut residual = vec![0.0; n];
    hessian.mul_vec(&step, &mut residual);
    axpy(multiplier, &step, &mut residual);
    axpy(1.0, gradient, &mut residual);
    let length = norm(&step);
    let context = format!("g {gradient:?} H {hessian:?} radius {radius}: {step:?} {kind:?}");
    assert!(length <= radius * (1.0 + 1e-12), "{context}");
    assert!(norm(&residual) <= 1e-10 * scale, "{residual:?} {context}");
    assert!(multiplier * (radius - length) <= 1e-10 * scale, "{context}");
    let (values, _) = symmetric_eigen(hessian).unwrap();
    assert!(
        values[0] + multiplier >= -1e-12 * size * n as f64,
        "{context}"
    );
    let curvature = ball.curvature(kind, n);
    if kind == SolutionKind::Newton {
        assert!(
            curvature >= values[0] - 1e-14 * size * n as f64,
            "{context}"
        );
        assert!(curvature <= values[n - 1] * (1.0 + 1e-8), "{context}");
    } else {
        assert!(!(curvature > 0.0));
    }
}

proptest! {
    #[test]
    fn optimal(
        seed in any::<u64>(), n in 1_usize..30, kind in 0..6_u8,
        log_radius in -6.0..3.0_f64, log_gradient in -8.0..0.0_f64,
    ) {
        let mut random = Random::new(seed);
        let mut values = random.vector(n);
        match kind {
            0 => values.iter_mut().for_each(|v| *v = v.abs() + 1e-3),
            1 => values.iter_mut().for_each(|v| *v = v.max(0.0)),
            2 => values.iter_mut().for_each(|v| *v = 10_f64.powf(-12.0 * v.abs())),
            3 => values.iter_mut().for_each(|v| *v = (2.0 * *v).round() / 2.0),
            4 => values.fill(-0.5),
            _ => {}
        }
        let (h, q) = random.symmetric(&values);
        let mut g = random.vector(n);
        if random.next() > 0.0 {
            // nothing along the smallest eigenvalue: the hard case, up to rounding
            let least = values.iter().copied().fold(f64::INFINITY, f64::min);
            for j in (0..n).filter(|j| values[*j] <= least) {
                let inner = dot(&g, q.col(j));
                axpy(-inner, q.col(j), &mut g);
            }
        }
        g.iter_mut().for_each(|v| *v *= 10_f64.powf(log_gradient));
        check(&g, &h, 10_f64.powf(log_radius));
        // exactly orthogonal
        let diagonal = Matrix::from_fn(n, n, |i, j| if i == j { values[i] } else { 0.0 });
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        for (g, v) in g.iter_mut().zip(&values) {
            *g *= if *v <= least { 0.0 } else { 1.0 };
        }
        check(&g, &diagonal, 10_f64.powf(log_radius));
    }
}

#[test]
fn hard_case_fills_the_ball() {
    let h = Matrix::from_fn(3, 3, |i, j| if i == j { [-1.0, 0.5, 1.0][i] } else { 0.0 });
    check(&[0.0, 1.0, 0.0], &h, 2.0);
    check(&[0.0, 1e-3, 0.0], &h, 2.0);
    check(&[1e-17, 1e-3, 0.0], &h, 2.0);
    check(&[0.0; 3], &h, 2.0);
}

#[test]
fn flat_and_small_problems() {
    check(&[1.0, -2.0], &Matrix::zeros(2, 2), 0.5);
    check(&[0.0, 0.0], &Matrix::zeros(2, 2), 0.5);
    for (g, h) in [(1.0, 2.0), (1.0, 0.0), (1.0, -1.0), (0.0, -1.0), (0.0, 1.0)] {
        check(&[g], &Matrix::from_fn(1, 1, |_, _| h), 0.25);
        check(&[-g], &Matrix::from_fn(1, 1, |_, _| h), 4.0);
    }
}

#[test]
fn curvature_is_the_least_eigenvalue() {
    let (h, _) = Random::new(1).symmetric(&[1.0, 5.0, 9.0, 40.0, 80.0]);
    let mut ball = Ball::default();
    let mut step = Vec::new();
    let kind = ball.minimize(&[0.1; 5], &h, 10.0, &mut step);
    assert!((ball.curvature(kind, 5) - 1.0).abs() < 1e-4);
}
