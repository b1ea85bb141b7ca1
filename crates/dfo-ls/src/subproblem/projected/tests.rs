use super::*;
use crate::linalg::tests::Random;
use crate::linalg::{Matrix, max_abs, product_transposed};
use crate::subproblem::Prox;
use crate::subproblem::{minimize_linear, prox_of_sum};
use proptest::prelude::*;

fn clip(lower: &[f64], upper: &[f64]) -> impl Fn(f64, &mut [f64]) {
    move |_, x| {
        for (x, (l, u)) in x.iter_mut().zip(lower.iter().zip(upper)) {
            *x = x.clamp(*l, *u);
        }
    }
}

fn into_ball(radius: f64) -> impl Fn(f64, &mut [f64]) {
    move |_, x| {
        let length = norm(x);
        if length > radius {
            x.iter_mut().for_each(|x| *x *= radius / length);
        }
    }
}

fn half_space(normal: Vec<f64>, offset: f64) -> impl Fn(f64, &mut [f64]) {
    move |_, x| {
        let excess = dot(&normal, x) - offset;
        if excess > 0.0 {
            axpy(-excess / dot(&normal, &normal), &normal, x);
        }
    }
}

/// `$\alpha \|x + c\|_1$`.
fn soft(weight: f64, centre: &[f64]) -> impl Fn(f64, &mut [f64]) {
    move |t, x| {
        for (x, c) in x.iter_mut().zip(centre) {
            let y = *x + c;
            *x = y.signum() * (y.abs() - t * weight).max(0.0) - c;
        }
    }
}

fn box_around_zero(random: &mut Random, n: usize) -> (Vec<f64>, Vec<f64>) {
    let lower = random.vector(n).iter().map(|x| -x.abs()).collect();
    let upper = random
        .vector(n)
        .iter()
        .map(|x| (x + 0.3).max(0.0))
        .collect();
    (lower, upper)
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    norm(&a.iter().zip(b).map(|(x, y)| x - y).collect::<Vec<_>>())
}

proptest! {
    /// On ball and box, `clip(b z)` with the right `b`; Dykstra agrees with the root of one
    /// variable.
    #[test]
    fn ball_and_box(seed in any::<u64>(), n in 1_usize..8, radius in 0.1..2.0_f64, far in 0.1..50.0_f64) {
        let mut random = Random::new(seed);
        let (lower, upper) = box_around_zero(&mut random, n);
        let z: Vec<f64> = random.vector(n).iter().map(|x| x * far).collect();
        let (clip, ball) = (clip(&lower, &upper), into_ball(radius));
        let mut dykstra = z.clone();
        prox_of_sum(ProxTerms::exact(&[&ball, &clip]), 1.0, &mut dykstra);
        let mut rooted = z.clone();
        ProxOfSum::new(ProxTerms::exact(&[&clip]), n).prox_in_ball(1.0, radius, &mut rooted);
        prop_assert!(norm(&rooted) <= radius * (1.0 + 1e-11));
        // far away, Dykstra's method is too slow to be exact, but ends in both sets
        prop_assert!(norm(&dykstra) <= radius * (1.0 + 1e-10));
        let tolerance = if far < radius { 1e-8 } else { radius };
        prop_assert!(distance(&dykstra, &rooted) <= tolerance, "{dykstra:?} {rooted:?}");
        // nearest: z - s is in the normal cone, that is, s maximises (z - s).x
        let normal: Vec<f64> = z.iter().zip(&rooted).map(|(z, s)| s - z).collect();
        let region = BallAndBox { radius, lower: &lower, upper: &upper };
        let furthest = minimize_linear(&normal, &region);
        prop_assert!(dot(&normal, &rooted) - dot(&normal, &furthest) <= 1e-9 * far * radius);
    }

    /// For separable terms the prox of the sum is the prox of each followed by the clip.
    #[test]
    fn one_norm_and_box(seed in any::<u64>(), n in 1_usize..8, weight in 0.0..2.0_f64, t in 0.01..5.0_f64) {
        let mut random = Random::new(seed);
        let (lower, upper) = box_around_zero(&mut random, n);
        let z: Vec<f64> = random.vector(n).iter().map(|x| x * 3.0).collect();
        let centre = random.vector(n);
        // a kink next to a border makes it slow
        let apart = |c: &f64, b: &f64| (c + b).abs() > 1e-2;
        prop_assume!(centre.iter().zip(&lower).all(|(c, b)| apart(c, b)));
        prop_assume!(centre.iter().zip(&upper).all(|(c, b)| apart(c, b)));
        let (soft, clip) = (soft(weight, &centre), clip(&lower, &upper));
        let mut expected = z.clone();
        soft(t, &mut expected);
        clip(t, &mut expected);
        for terms in [[&soft as Prox<'_>, &clip], [&clip, &soft]] {
            let mut found = z.clone();
            prox_of_sum(ProxTerms::exact(&terms), t, &mut found);
            prop_assert!(distance(&found, &expected) <= 1e-9, "{found:?} {expected:?}");
        }
    }

    /// Four sets at once: feasible, and no closer point among many feasible ones.
    #[test]
    fn many_sets(seed in any::<u64>(), n in 2_usize..6) {
        let mut random = Random::new(seed);
        let (lower, upper) = box_around_zero(&mut random, n);
        let spaces: Vec<_> = (0..3).map(|_| half_space(random.vector(n), random.next().abs())).collect();
        let clip = clip(&lower, &upper);
        let terms: [Prox<'_>; 4] = [&spaces[0], &spaces[1], &spaces[2], &clip];
        let z: Vec<f64> = random.vector(n).iter().map(|x| x * 3.0).collect();
        let mut found = z.clone();
        prox_of_sum(ProxTerms::exact(&terms), 1.0, &mut found);
        for term in terms {
            let mut again = found.clone();
            term(1.0, &mut again);
            prop_assert!(distance(&found, &again) <= 1e-10);
        }
        for _ in 0..20 {
            let mut other = random.vector(n);
            prox_of_sum(ProxTerms::exact(&terms), 1.0, &mut other);
            let angle: f64 = (0..n).map(|i| (z[i] - found[i]) * (other[i] - found[i])).sum();
            prop_assert!(angle <= 1e-8, "{angle}");
        }
    }

    #[test]
    fn agrees_with_the_box_solver(seed in any::<u64>(), n in 1_usize..8, log_radius in -2.0..1.0_f64) {
        let mut random = Random::new(seed);
        let (lower, upper) = box_around_zero(&mut random, n);
        let a = random.matrix(n + 2, n);
        let (gradient, hessian) = (random.vector(n), product_transposed(&a, &a));
        let quadratic = Quadratic { gradient: &gradient, hessian: &hessian };
        let radius = 10_f64.powf(log_radius);
        let clip = clip(&lower, &upper);
        let found = minimize_composite(&quadratic, &|_| 0.0, ProxTerms::exact(&[&clip]), radius);
        let region = BallAndBox { radius, lower: &lower, upper: &upper };
        let expected = minimize_quadratic(&quadratic, &region);
        let scale = radius * norm(&gradient) + radius.powi(2) * max_abs(hessian.as_slice());
        prop_assert!((found.decrease - expected.decrease).abs() <= 1e-8 * scale, "{found:?} {expected:?}");
        prop_assert!(norm(&found.step) <= radius * (1.0 + 1e-11));
        let mut again = found.step.clone();
        clip(1.0, &mut again);
        prop_assert!(distance(&found.step, &again) <= 1e-12);
    }

    /// The box cut in two, so that Dykstra has to work.
    #[test]
    fn agrees_with_the_box_solver_in_two_sets(seed in any::<u64>(), n in 1_usize..6, convex in any::<bool>()) {
        let mut random = Random::new(seed);
        let (lower, upper) = box_around_zero(&mut random, n);
        let (none, all) = (vec![f64::NEG_INFINITY; n], vec![f64::INFINITY; n]);
        let a = random.matrix(n, n);
        let gradient = random.vector(n);
        let hessian = if convex {
            product_transposed(&a, &a)
        } else {
            Matrix::from_fn(n, n, |i, j| a[(i, j)] + a[(j, i)])
        };
        let quadratic = Quadratic { gradient: &gradient, hessian: &hessian };
        let (below, above) = (clip(&none, &upper), clip(&lower, &all));
        let found = minimize_composite(&quadratic, &|_| 0.0, ProxTerms::exact(&[&below, &above]), 0.5);
        let region = BallAndBox { radius: 0.5, lower: &lower, upper: &upper };
        let expected = minimize_quadratic(&quadratic, &region);
        prop_assert!((found.decrease + quadratic.value(&found.step)).abs() <= 1e-13);
        if convex {
            prop_assert!((found.decrease - expected.decrease).abs() <= 1e-7, "{found:?} {expected:?}");
        }
        // no descent along a projected gradient step
        let mut slopes = vec![0.0; n];
        hessian.mul_vec(&found.step, &mut slopes);
        axpy(1.0, &gradient, &mut slopes);
        let mut next = found.step.clone();
        axpy(-0.1, &slopes, &mut next);
        region.enforce(&mut next);
        prop_assert!(quadratic.value(&next) >= -found.decrease - 1e-6);
    }

    /// `h = w |c + s|_1` turns into bounds and a linear function where no sign changes.
    #[test]
    fn one_norm(seed in any::<u64>(), n in 1_usize..6, weight in 0.0..1.0_f64) {
        let mut random = Random::new(seed);
        let a = random.matrix(n + 2, n);
        let (gradient, hessian) = (random.vector(n), product_transposed(&a, &a));
        let centre = random.vector(n);
        let quadratic = Quadratic { gradient: &gradient, hessian: &hessian };
        let value = |s: &[f64]| weight * s.iter().zip(&centre).map(|(s, c)| (s + c).abs()).sum::<f64>();
        let soft = soft(weight, &centre);
        let found = minimize_composite(&quadratic, &value, ProxTerms::exact(&[&soft]), 0.8);
        let total = |s: &[f64]| quadratic.value(s) + value(s);
        prop_assert!((found.decrease - value(&vec![0.0; n]) + total(&found.step)).abs() <= 1e-12);
        for k in 0..500 {
            let reach = if k % 2 == 0 { 0.8 } else { 1e-3 };
            let mut other: Vec<f64> = random.vector(n).iter().zip(&found.step).map(|(x, s)| reach * x + s).collect();
            into_ball(0.8)(1.0, &mut other);
            prop_assert!(total(&other) >= total(&found.step) - 1e-8);
        }
    }

    #[test]
    fn linear_agrees_with_the_box_solver(seed in any::<u64>(), n in 1_usize..8, radius in 0.1..2.0_f64) {
        let mut random = Random::new(seed);
        let (lower, upper) = box_around_zero(&mut random, n);
        let (none, all) = (vec![f64::NEG_INFINITY; n], vec![f64::INFINITY; n]);
        let gradient = random.vector(n);
        let region = BallAndBox { radius, lower: &lower, upper: &upper };
        let expected = dot(&gradient, &minimize_linear(&gradient, &region));
        let (whole, below, above) = (clip(&lower, &upper), clip(&none, &upper), clip(&lower, &all));
        for terms in [&[&whole as Prox<'_>] as &[Prox<'_>], &[&below, &above]] {
            let found = minimize_linear_over(&gradient, ProxTerms::exact(terms), radius);
            prop_assert!(norm(&found) <= radius * (1.0 + 1e-11));
            prop_assert!(dot(&gradient, &found) >= expected - 1e-10);
            prop_assert!(dot(&gradient, &found) <= expected + 1e-4 * radius * norm(&gradient), "{found:?}");
        }
    }
}

#[test]
fn no_sets_at_all() {
    let (gradient, hessian) = ([1.0, 0.0], Matrix::identity(2));
    let quadratic = Quadratic {
        gradient: &gradient,
        hessian: &hessian,
    };
    let found = minimize_composite(&quadratic, &|_| 0.0, ProxTerms::exact(&[]), 0.5);
    assert!(distance(&found.step, &[-0.5, 0.0]) < 1e-12);
    assert!(
        distance(
            &minimize_linear_over(&gradient, ProxTerms::exact(&[]), 0.5),
            &[-0.5, 0.0]
        ) < 1e-10
    );
}

#[test]
fn nan_gives_no_step() {
    let (bad, fine) = ([f64::NAN, 1.0], [1.0, 1.0]);
    let hessian = Matrix::identity(2);
    let space = half_space(vec![1.0, 0.0], 1.0);
    let quadratic = Quadratic {
        gradient: &bad,
        hessian: &hessian,
    };
    assert_eq!(
        minimize_composite(&quadratic, &|_| 0.0, ProxTerms::exact(&[&space]), 1.0),
        SubproblemStep::zero(2)
    );
    let quadratic = Quadratic {
        gradient: &fine,
        hessian: &hessian,
    };
    assert_eq!(
        minimize_composite(&quadratic, &|_| 0.0, ProxTerms::exact(&[&space]), f64::NAN),
        SubproblemStep::zero(2)
    );
    assert_eq!(
        minimize_composite(&quadratic, &|_| f64::NAN, ProxTerms::exact(&[&space]), 1.0),
        SubproblemStep::zero(2)
    );
    let lost = |_: f64, x: &mut [f64]| x.fill(f64::NAN);
    assert_eq!(
        minimize_composite(&quadratic, &|_| 0.0, ProxTerms::exact(&[&lost]), 1.0),
        SubproblemStep::zero(2)
    );
    assert_eq!(
        minimize_composite(
            &quadratic,
            &|_| 0.0,
            ProxTerms::exact(&[&lost, &space]),
            1.0
        ),
        SubproblemStep::zero(2)
    );
    assert_eq!(
        minimize_linear_over(&bad, ProxTerms::exact(&[&space]), 1.0),
        [0.0; 2]
    );
    assert_eq!(
        minimize_linear_over(&fine, ProxTerms::exact(&[&lost]), 1.0),
        [0.0; 2]
    );
}

#[test]
fn negative_curvature_without_slope() {
    let hessian = Matrix::from_fn(2, 2, |i, j| if i == j { -1.0 } else { 0.0 });
    let quadratic = Quadratic {
        gradient: &[0.0; 2],
        hessian: &hessian,
    };
    let space = half_space(vec![-1.0, -1.0], 0.0);
    let found = minimize_composite(&quadratic, &|_| 0.0, ProxTerms::exact(&[&space]), 1.0);
    assert!((found.decrease - 0.5).abs() < 1e-6, "{found:?}");
}

/// A function without a model to go with it.
#[test]
fn one_norm_alone() {
    let (gradient, hessian) = ([0.0; 2], Matrix::zeros(2, 2));
    let quadratic = Quadratic {
        gradient: &gradient,
        hessian: &hessian,
    };
    let centre = [0.3, -0.2];
    let value = |s: &[f64]| (s[0] + 0.3).abs() + (s[1] - 0.2).abs();
    let soft = soft(1.0, &centre);
    let found = minimize_composite(&quadratic, &value, ProxTerms::exact(&[&soft]), 1.0);
    assert!((found.decrease - 0.5).abs() < 1e-12, "{found:?}");
}

/// Gradient steps alone would need ten thousands of iterations here.
#[test]
fn ill_conditioned() {
    let mut random = Random::new(5);
    for n in [3, 10] {
        for _ in 0..20 {
            let exponents = (0..n).map(|i| -6.0 * i as f64 / (n as f64 - 1.0));
            let values: Vec<f64> = exponents.map(|e| 10_f64.powf(e)).collect();
            let (hessian, _) = random.symmetric(&values);
            let (lower, upper) = box_around_zero(&mut random, n);
            let mut gradient = vec![0.0; n];
            hessian.mul_vec(&random.vector(n), &mut gradient);
            let quadratic = Quadratic {
                gradient: &gradient,
                hessian: &hessian,
            };
            let clip = clip(&lower, &upper);
            let found = minimize_composite(&quadratic, &|_| 0.0, ProxTerms::exact(&[&clip]), 2.0);
            let region = BallAndBox {
                radius: 2.0,
                lower: &lower,
                upper: &upper,
            };
            let expected = minimize_quadratic(&quadratic, &region);
            assert!(
                found.decrease >= expected.decrease * (1.0 - 1e-8),
                "{found:?} {expected:?}"
            );
        }
    }
}
