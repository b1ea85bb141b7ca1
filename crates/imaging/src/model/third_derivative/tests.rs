use proptest::prelude::*;

use super::*;

fn third_derivative<const SCALAR: bool>(m: f64) -> f64 {
    let [numerator, denominator] = third_derivative_squared::<SCALAR>(m);
    (numerator / denominator).sqrt()
}

/// The third derivative of `$\sqrt{|d|^2 + 1}$` in three directions, from its definition.
fn trilinear(d: [f64; 3], u: [f64; 3], v: [f64; 3], w: [f64; 3]) -> f64 {
    let dot = |a: [f64; 3], b: [f64; 3]| a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    let sigma = (dot(d, d) + 1.0).sqrt();
    let [ud, vd, wd] = [u, v, w].map(|a| dot(a, d));
    let pairs = dot(u, v) * wd + dot(u, w) * vd + dot(v, w) * ud;
    -pairs / sigma.powi(3) + 3.0 * ud * vd * wd / sigma.powi(5)
}

fn unit(a: [f64; 3]) -> [f64; 3] {
    let length = (a[0] * a[0] + a[1] * a[1] + a[2] * a[2]).sqrt();
    a.map(|a| a / length)
}

fn vector() -> impl Strategy<Value = [f64; 3]> {
    prop::array::uniform3(-1.0..1.0_f64).prop_filter("zero", |a| a.iter().any(|a| a.abs() > 0.01))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    /// The norm is that of the definition: no three directions exceed it, in any dimension.
    #[test]
    fn third_derivative_is_never_exceeded(
        d in vector(), length in -2.0..2.0_f64, u in vector(), v in vector(), w in vector(),
        dimension in 1..4_usize,
    ) {
        let keep = |a: [f64; 3]| {
            let mut a = a;
            a[dimension..].fill(0.0);
            a[0] += if a[0].abs() < 0.01 { 0.02 } else { 0.0 };
            unit(a)
        };
        let m = 10_f64.powf(length);
        let d = keep(d).map(|d| d * m);
        let form = trilinear(d, keep(u), keep(v), keep(w)).abs();
        let [number, vector] = [third_derivative::<true>(m), third_derivative::<false>(m)];
        let bound = if dimension == 1 { number } else { vector };
        let rounding = 1e-14 * m / (1.0 + m * m).powf(1.5); // the terms of the definition cancel
        prop_assert!(form <= bound + rounding, "{form} above {bound}");
    }

    /// The norm is attained: on the diagonal, in the plane of `$d$` and a normal vector, and for
    /// numbers by the only direction.
    #[test]
    fn third_derivative_is_attained(length in -2.0..2.0_f64) {
        let m = 10_f64.powf(length);
        let sigma = (m * m + 1.0).sqrt();
        let cosine = m.min(sigma / 3_f64.sqrt()) / m;
        let u = [cosine, (1.0 - cosine * cosine).sqrt(), 0.0];
        let [numbers, vectors] = [third_derivative::<true>(m), third_derivative::<false>(m)];
        let along = trilinear([m, 0.0, 0.0], u, u, u).abs();
        prop_assert!((along / vectors - 1.0).abs() < 1e-12);
        let e = [1.0, 0.0, 0.0];
        let along = trilinear([m, 0.0, 0.0], e, e, e).abs();
        prop_assert!((along / numbers - 1.0).abs() < 1e-9 + 1e-15 / numbers);
    }

    /// The Hessian changes by at most a factor `$e^{3t/(2\nu)}$`.
    #[test]
    fn hessian_is_quasi_self_concordant(
        d in vector(), length in -2.0..2.0_f64, u in vector(), v in vector(), mix in 0.0..1.0_f64,
    ) {
        let along = unit(d);
        let d = along.map(|d| d * 10_f64.powf(length));
        let near = |a: [f64; 3]| {
            let part = mix.powi(4);
            unit(std::array::from_fn(|i| along[i] + part * a[i]))
        };
        let (u, v) = (near(u), unit(v));
        let dot = |a: [f64; 3], b: [f64; 3]| a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
        let sigma = (dot(d, d) + 1.0).sqrt();
        let curvature = (sigma * sigma - dot(u, d).powi(2)) / sigma.powi(3);
        prop_assert!(trilinear(d, u, u, v).abs() <= 1.5 * curvature * (1.0 + 1e-6) + 1e-12);
    }

    /// The steepest point of an interval has the largest norm in it.
    #[test]
    fn steepest_point_is_the_maximum(
        m in 0.0..4.0_f64, reach in 0.0..1.0_f64, place in -1.0..1.0_f64,
    ) {
        let interval = [(m - reach).max(0.0), m + reach];
        let other = (m + place * reach).max(0.0);
        let point = steepest(interval);
        prop_assert!(interval[0] <= point && point <= interval[1]);
        prop_assert!(third_derivative::<true>(other) <= third_derivative::<true>(point) + 1e-15);
        prop_assert!(third_derivative::<false>(other) <= third_derivative::<false>(point) + 1e-15);
        let [here, low] = [other, interval[0]].map(inverse_second_derivative::<true>);
        prop_assert!(here >= low);
        let [here, low] = [other, interval[0]].map(inverse_second_derivative::<false>);
        prop_assert!(here >= low);
    }

    /// The bounds are those of the best thresholds, up to the width of a bin, or up to the factor
    /// `$\sqrt2$` on real lines.
    #[test]
    fn histogram_finds_good_thresholds(
        entries in prop::collection::vec((-4.0..1.0_f64, -6.0..1.0_f64), 1..200),
        error in -7.0..1.0_f64,
        is_scalar in any::<bool>(),
    ) {
        let ball = TvBall {
            alpha: 0.3,
            nu: 0.02,
            geometry: Geometry { is_scalar, ..Geometry::LINE },
            error: 10_f64.powf(error),
        };
        let moduli: Vec<f64> = entries.iter().map(|e| 10_f64.powf(e.0)).collect();
        let changes: Vec<f64> = entries.iter().map(|e| 10_f64.powf(e.1)).collect();
        let squares: Vec<f64> = changes.iter().map(|v| v * v).collect();
        let found = ball.third_order(&moduli, &squares);
        let best = by_sorting(ball, &moduli, &changes);
        for (found, best) in [(found.vector, best.vector), (found.value, best.value)] {
            prop_assert!(found >= best * (1.0 - 1e-13), "{found} below {best}");
            let factor = if is_scalar { 1.4143 } else { 1.26 };
            prop_assert!(found <= factor * best + 1e-100, "{found} far above {best}");
        }
    }
}

/// The slow twin: tries every `$a_j$` as a threshold, with formulas in their own units.
fn by_sorting(ball: TvBall, moduli: &[f64], changes: &[f64]) -> ThirdOrder {
    let TvBall {
        alpha,
        nu,
        geometry: g,
        error,
    } = ball;
    let reach = g.reach * error;
    let norm = |m: f64| {
        let sigma = m.hypot(nu);
        if g.is_scalar || m <= sigma / 3_f64.sqrt() {
            return 3.0 * m * nu * nu / sigma.powi(5);
        }
        let s = sigma / 3_f64.sqrt();
        3.0 * s * (sigma * sigma - s * s) / sigma.powi(5)
    };
    let terms: Vec<[f64; 3]> = moduli
        .iter()
        .zip(changes)
        .map(|(&m, &v)| {
            let (low, high) = ((m - reach).max(0.0), m + reach);
            let k = alpha * norm((0.5 * nu).clamp(low, high));
            let sigma = low.hypot(nu);
            let w = if g.is_scalar {
                alpha * nu * nu / sigma.powi(3)
            } else {
                alpha / sigma
            };
            [k * v, (k * reach).min(w) * v, (0.5 * k * reach).min(w) * v]
        })
        .collect();
    let mut best = ThirdOrder::UNKNOWN;
    for tau in terms.iter().map(|t| t[0]).chain([0.0]) {
        let sum = |i: usize| -> f64 {
            let above = terms.iter().filter(|t| t[0] > tau);
            above.map(|t| t[i] * t[i]).sum()
        };
        let a = g.norm_squared;
        let vector = (a * (a * (error * tau).powi(2) + sum(1))).sqrt();
        let value = 0.5 * a * error * error * tau + a.sqrt() * error * sum(2).sqrt();
        best.vector = best.vector.min(vector);
        best.value = best.value.min(value);
    }
    best
}

/// The reach of a difference is attained: on a line by `(-1, 1)`, in a picture by `(2, -1, -1)` at
/// a pixel and its two neighbours.
#[test]
fn reach_is_attained() {
    let line = 2.0 / 2_f64.sqrt();
    let picture = 3_f64.hypot(3.0) / 6_f64.sqrt();
    for (reach, attained) in [
        (Geometry::LINE.reach, line),
        (Geometry::COMPLEX_LINE.reach, line),
        (Geometry::PICTURE.reach, picture),
    ] {
        assert!((reach - attained).abs() < 1e-15, "{reach} {attained}");
    }
}

/// The constants of the module's documentation.
#[test]
fn maximum_is_the_same_in_every_dimension() {
    let maximum = 48.0 / (25.0 * 5_f64.sqrt());
    for norm in [
        third_derivative::<true>(0.5),
        third_derivative::<false>(0.5),
    ] {
        assert!((norm / maximum - 1.0).abs() < 1e-15);
    }
    let edge = 0.5_f64.sqrt();
    let [below, above] =
        [edge * (1.0 - 1e-12), edge * (1.0 + 1e-12)].map(third_derivative::<false>);
    assert!((below / above - 1.0).abs() < 1e-11);
}

/// Quasi-self-concordance is sharp: the constant is approached far from zero.
#[test]
fn relative_change_approaches_its_constant() {
    let mut largest = 0.0_f64;
    for i in 0..400 {
        let m = 10_f64.powf(-2.0 + 0.01 * f64::from(i));
        let e = [1.0, 0.0, 0.0];
        let sigma = (m * m + 1.0).sqrt();
        largest = largest.max(trilinear([m, 0.0, 0.0], e, e, e).abs() * sigma.powi(3));
    }
    assert!(largest > 1.4999 && largest <= 1.5 + 1e-12, "{largest}");
}

#[test]
fn bounds_of_bad_numbers_are_infinite() {
    let ball = |error| TvBall {
        alpha: 0.1,
        nu: 0.01,
        geometry: Geometry::LINE,
        error,
    };
    let good = ball(1e-3).third_order(&[0.1, 0.2], &[1.0, 2.0]);
    assert!(good.vector > 0.0 && good.vector < f64::INFINITY);
    for bad in [f64::NAN, f64::INFINITY] {
        for bounds in [
            ball(1e-3).third_order(&[0.1, bad], &[1.0, 2.0]),
            ball(1e-3).third_order(&[0.1, 0.2], &[bad, 2.0]),
        ] {
            assert_eq!(bounds, ThirdOrder::UNKNOWN);
        }
    }
    assert_eq!(
        ball(f64::NAN).third_order(&[0.1], &[1.0]),
        ThirdOrder::UNKNOWN
    );
    assert_eq!(ball(-1.0).third_order(&[0.1], &[1.0]), ThirdOrder::UNKNOWN);
    let everywhere = ball(f64::INFINITY).third_order(&[0.1], &[1.0]);
    assert!(everywhere.vector <= 20.1 && everywhere.value == f64::INFINITY);
    let nothing = TvBall {
        alpha: 0.0,
        ..ball(1.0)
    };
    assert_eq!(nothing.third_order(&[0.1], &[1.0]), ThirdOrder::ZERO);
}
