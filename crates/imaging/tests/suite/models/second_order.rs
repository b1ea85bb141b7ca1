//! Second derivatives of lines and Fourier samples compared with differences of gradients, and
//! their bounds compared with the changes in random balls.

use imaging::{Fourier, Grid, MixedBound, TvParameters};
use lowlevel::{StronglyConvex, norm};
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;

use super::cases::{Case, Source};
use super::pictures::{Mixed, combined, gradient, inner, product};

fn minus(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

/// The product agrees with central differences, and a solve from a random start reaches its target.
fn check_hessian<M: Mixed>(model: &M, case: &Case, source: &mut Source) -> TestCaseResult {
    let (x, len) = (&case.x, case.x.len());
    let lipschitz = model.curvature().lipschitz();
    let v = source.vector(len);
    let step = 1e-4 * case.parameters.nu;
    let difference = minus(
        &gradient(model, &combined(x, step, &v)),
        &gradient(model, &combined(x, -step, &v)),
    );
    let difference: Vec<f64> = difference.iter().map(|d| d / (2.0 * step)).collect();
    let error = norm(&minus(&product(model, x, &v), &difference));
    let rounding = model.gradient_rounding(norm(x), norm(&gradient(model, x))) / step;
    prop_assert!(error <= 1e-6 * lipschitz * norm(&v) + rounding, "{error}");

    let hessian = model.second_order().expect("second derivatives");
    let mut scratch = model.scratch();
    let rhs = source.vector(len);
    let mut q = source.vector(len);
    hessian.linearise(x, &mut scratch);
    let target = 1e-6 * norm(&rhs);
    let cost = hessian.solve(&rhs, &mut q, target, &mut scratch);
    prop_assert!(cost.is_some_and(|cost| cost > 1.0));
    // The product after a solve is still that of the same point.
    let mut out = vec![f64::NAN; len];
    hessian.hessian_product(&q, &mut out, &mut scratch);
    let floor = hessian.product_rounding(norm(&q));
    let residual = norm(&minus(&rhs, &out));
    prop_assert!(
        residual <= 1.001 * target + 100.0 * floor,
        "{residual} {target} {floor}"
    );
    Ok(())
}

/// The bounds hold in a random ball. Returns the ratios of bounds to changes.
fn check_bounds<M: Mixed>(
    model: &M,
    case: &Case,
    source: &mut Source,
) -> Result<Vec<f64>, TestCaseError> {
    let (x, q) = (&case.x, &case.q);
    let mut e = source.direction(case.num_samples, case.parts());
    let size = source.power(-5.0, 2.0) * case.parameters.nu / norm(&e).max(1e-300);
    e.iter_mut().for_each(|e| *e *= size);
    let there = combined(x, 1.0, &e);
    let e = minus(&there, x); // without the rounding of the sum
    let error = norm(&e) * if source.choice(2) == 0 { 1.0 } else { 1.5 };
    let (x_norm, q_norm) = (norm(&there).max(norm(x)), norm(q));
    let hessian = model.second_order().expect("second derivatives");

    let mut scratch = model.scratch();
    hessian.linearise(x, &mut scratch);
    let third = hessian.third_order(q, error, &mut scratch);
    let vector = norm(&minus(&product(model, &there, q), &product(model, x, q)));
    let vector_rounding = 2.0 * hessian.product_rounding(q_norm);
    prop_assert!(
        vector <= third.vector + vector_rounding,
        "vector {vector:e} above {:e}",
        third.vector
    );
    let [here, after] = [gradient(model, x), gradient(model, &there)];
    let value = inner(q, &minus(&minus(&after, &here), &product(model, x, &e))).abs();
    let value_rounding = q_norm
        * (2.0 * model.gradient_rounding(x_norm, norm(&here).max(norm(&after)))
            + hessian.product_rounding(norm(&e))
            + 1e-14 * (norm(&minus(&after, &here)) + norm(&here)));
    prop_assert!(
        value <= third.value + value_rounding,
        "value {value:e} above {:e}",
        third.value
    );
    let mut ratios = vec![
        ratio(third.vector, vector, vector_rounding),
        ratio(third.value, value, value_rounding),
    ];

    let before = model.products(x, q, &mut scratch);
    let later = model.products(&there, q, &mut scratch);
    let norms = mixed_norms(model, &there);
    let bounds = model.bounds(x, q, error, &mut scratch);
    let [before, later] = [before, later].map(|m| [m.alpha, m.nu, m.xi]);
    for i in 0..3 {
        let change = (later[i] - before[i]).abs();
        let rounding = 1e-15 * f64::from(u32::try_from(x.len()).expect("short") + 8);
        let rounding = rounding * norms[i] * q_norm;
        prop_assert!(
            change <= bounds[i].change + rounding,
            "{i}: {change} {bounds:?}"
        );
        prop_assert!(
            norms[i] <= bounds[i].norm * (1.0 + 1e-12),
            "{i}: {norms:?} {bounds:?}"
        );
        ratios.push(ratio(bounds[i].change, change, rounding));
        ratios.push(bounds[i].norm / norms[i]);
    }
    Ok(ratios)
}

/// The quotient of a bound and the true number, or NaN if that is drowned in rounding.
fn ratio(bound: f64, truth: f64, rounding: f64) -> f64 {
    if truth > 100.0 * rounding {
        bound / truth
    } else {
        f64::NAN
    }
}

/// The norms of the mixed derivatives, from their products with the unit vectors.
fn mixed_norms<M: Mixed>(model: &M, x: &[f64]) -> [f64; 3] {
    let mut scratch = model.scratch();
    let mut squares = [0.0; 3];
    for j in 0..x.len() {
        let mut unit = vec![0.0; x.len()];
        unit[j] = 1.0;
        let m = model.products(x, &unit, &mut scratch);
        for (square, entry) in squares.iter_mut().zip([m.alpha, m.nu, m.xi]) {
            *square += entry * entry;
        }
    }
    squares.map(f64::sqrt)
}

/// Picks one of the parameters.
type Field = fn(&mut TvParameters) -> &mut f64;

/// The products agree with central differences in each parameter.
fn check_mixed<M: Mixed>(case: &Case, model: impl Fn(TvParameters) -> M) -> TestCaseResult {
    let here = model(case.parameters);
    let products = here.products(&case.x, &case.q, &mut here.scratch());
    let TvParameters { alpha, nu, xi } = case.parameters;
    let shifts: [(f64, f64, Field); 3] = [
        (products.alpha, alpha, |p| &mut p.alpha),
        (products.nu, nu, |p| &mut p.nu),
        (products.xi, xi, |p| &mut p.xi),
    ];
    for (product, size, field) in shifts {
        let step = 1e-4 * size;
        let at = |step: f64| {
            let mut parameters = case.parameters;
            *field(&mut parameters) += step;
            gradient(&model(parameters), &case.x)
        };
        let (plus, minus_) = (at(step), at(-step));
        let difference = inner(&case.q, &minus(&plus, &minus_)) / (2.0 * step);
        let rounding =
            1e-14 * norm(&case.q) * (norm(&plus) + norm(&case.x) + norm(&case.data) + alpha);
        let scale = difference.abs() + norm(&case.q) * alpha / nu;
        prop_assert!(
            (product - difference).abs() <= 1e-6 * scale + rounding / step,
            "{product} {difference}"
        );
    }
    Ok(())
}

/// The products of the weights agree with central differences, and their bounds hold.
fn check_weights(case: &Case, source: &mut Source) -> TestCaseResult {
    let model = case.sampling(&case.weights, case.parameters);
    let mut scratch = model.scratch();
    let e = source.direction(case.num_samples, 2);
    let there = combined(&case.x, source.power(-6.0, 0.0), &e);
    let error = norm(&minus(&there, &case.x));
    let empty = vec![f64::NAN; case.num_samples];
    let (mut before, mut after) = (empty.clone(), empty);
    model.weight_products(&case.x, &case.q, &mut before, &mut scratch);
    model.weight_products(&there, &case.q, &mut after, &mut scratch);
    let mut bounds = vec![MixedBound::UNKNOWN; case.num_samples];
    model.weight_bounds(&case.x, &case.q, error, &mut bounds, &mut scratch);
    for k in 0..case.num_samples {
        let at = |factor: f64| {
            let mut weights = case.weights.clone();
            weights[k] *= factor;
            gradient(&case.sampling(&weights, case.parameters), &there)
        };
        // The gradient is linear in the weights.
        let column: Vec<f64> = minus(&at(2.0), &at(0.5));
        let column: Vec<f64> = column.iter().map(|c| c / (1.5 * case.weights[k])).collect();
        let length = norm(&column);
        let size = norm(&there) + norm(&case.data) + case.parameters.alpha;
        let rounding = 1e-13 * size * (1.0 + 10.0 / case.weights[k]);
        let product = inner(&case.q, &column);
        prop_assert!(
            (product - after[k]).abs() <= rounding * norm(&case.q),
            "{product} {}",
            after[k]
        );
        let change = (after[k] - before[k]).abs();
        prop_assert!(
            change <= bounds[k].change * (1.0 + 1e-9),
            "{change} {:?}",
            bounds[k]
        );
        prop_assert!(
            length <= bounds[k].norm + rounding,
            "{} {:?}",
            length,
            bounds[k]
        );
        prop_assert!(bounds[k].norm <= length + 2.1 * error + rounding);
    }
    Ok(())
}

/// Returns an upper bound on the smallest eigenvalue of the Hessian at `x` that is close to it, by
/// inverse iteration.
fn smallest_eigenvalue<M: StronglyConvex>(model: &M, x: &[f64], source: &mut Source) -> f64 {
    let hessian = model.second_order().expect("second derivatives");
    let mut scratch = model.scratch();
    hessian.linearise(x, &mut scratch);
    let mut v = source.vector(x.len());
    let mut next = v.clone();
    for _ in 0..20 {
        let length = norm(&v);
        v.iter_mut().for_each(|v| *v /= length);
        hessian.solve(&v, &mut next, 1e-8, &mut scratch);
        v.copy_from_slice(&next);
    }
    hessian.hessian_product(&v, &mut next, &mut scratch);
    inner(&v, &next) / inner(&v, &v)
}

/// No eigenvalue of the Hessian in the ball is below the local bound. Returns the bound, and the
/// smallest eigenvalue at the centre.
fn check_eigenvalues<M: StronglyConvex>(
    model: &M,
    case: &Case,
    radius: f64,
    source: &mut Source,
) -> Result<(f64, f64), TestCaseError> {
    let hessian = model.second_order().expect("second derivatives");
    let mut scratch = model.scratch();
    hessian.linearise(&case.x, &mut scratch);
    let mu = model.curvature().strong_convexity();
    let bound = hessian.curvature_near(radius, &mut scratch).unwrap_or(mu);
    prop_assert!(bound >= mu);
    let e = source.direction(case.num_samples, case.parts());
    let there = combined(&case.x, radius / norm(&e).max(1e-300), &e);
    let found = smallest_eigenvalue(model, &there, source);
    prop_assert!(bound <= found * (1.0 + 1e-9), "{bound} above {found}");
    Ok((bound, smallest_eigenvalue(model, &case.x, source)))
}

/// With few frequencies and few jumps, the local bound is many times the strong convexity.
#[test]
fn local_bound_exceeds_the_strong_convexity() {
    let source = &mut Source::new(3);
    let mut case = Case::new(source, true);
    case.num_samples = 64;
    case.fourier = Some(Fourier::new(Grid::line(64).complex()).expect("not empty"));
    case.weights = (0..64)
        .map(|k| if (9..=55).contains(&k) { 1e-3 } else { 1.0 })
        .collect();
    case.data = vec![0.0; 128];
    let level = |j: usize| if (40..90).contains(&j) { 1.0 } else { 0.0 };
    case.x = (0..128).map(level).collect();
    case.parameters = TvParameters {
        alpha: 0.01,
        nu: 0.01,
        xi: 1e-4,
    };
    let model = case.sampling(&case.weights, case.parameters);
    let (bound, exact) = check_eigenvalues(&model, &case, 1e-4, source).expect("a bound");
    let mu = model.curvature().strong_convexity();
    assert!(
        bound > 5.0 * mu && bound > 0.5 * exact,
        "{bound} {exact} {mu}"
    );
    let mut scratch = model.scratch();
    let hessian = model.second_order().expect("second derivatives");
    for bad in [f64::NAN, -1.0, f64::INFINITY] {
        assert_eq!(hessian.curvature_near(bad, &mut scratch), None);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn eigenvalues_exceed_the_local_bound(seed in any::<u64>()) {
        let source = &mut Source::new(seed);
        let mut case = Case::new(source, true);
        case.weights.iter_mut().for_each(|s| *s *= 0.01);
        let radius = source.power(-4.0, 1.0) * case.parameters.nu;
        let model = case.sampling(&case.weights, case.parameters);
        check_eigenvalues(&model, &case, radius, source)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn hessians_agree_with_differences_of_gradients(
        seed in any::<u64>(), is_fourier in any::<bool>(),
    ) {
        let source = &mut Source::new(seed);
        let case = Case::new(source, is_fourier);
        if is_fourier {
            let model = case.sampling(&case.weights, case.parameters);
            check_hessian(&model, &case, source)?;
            check_mixed(&case, |parameters| case.sampling(&case.weights, parameters))?;
            check_weights(&case, source)?;
        } else {
            check_hessian(&case.denoising(case.parameters), &case, source)?;
            check_mixed(&case, |parameters| case.denoising(parameters))?;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn bounds_hold_in_balls_of_lines(seed in any::<u64>()) {
        let source = &mut Source::new(seed);
        let case = Case::new(source, false);
        check_bounds(&case.denoising(case.parameters), &case, source)?;
    }

    #[test]
    fn bounds_hold_in_balls_of_fourier_samples(seed in any::<u64>()) {
        let source = &mut Source::new(seed);
        let case = Case::new(source, true);
        check_bounds(&case.sampling(&case.weights, case.parameters), &case, source)?;
    }
}

/// Where differences, error and adjoint alternate in sign, the bounds are attained up to the ends
/// of the line: `$K$` at `$|d| = \nu/2$`, and the derivatives of the fluxes at zero.
fn check_sharp<M: Mixed>(model: &M, case: &Case) {
    const K: f64 = 0.858_650; // 48/(25 sqrt 5)
    let (nu, parts) = (case.parameters.nu, case.parts());
    let alternating = |size: f64| -> Vec<f64> {
        let entry = |j: usize| {
            let sign = if (j / parts).is_multiple_of(2) {
                1.0
            } else {
                -1.0
            };
            if j.is_multiple_of(parts) {
                sign * size
            } else {
                0.0
            }
        };
        (0..case.x.len()).map(entry).collect()
    };
    // The largest a_j is just below a threshold.
    let (x, q, e) = (
        alternating(0.25 * nu),
        alternating(0.5 / K * 0.999),
        alternating(1e-4 * nu),
    );
    let (there, error) = (combined(&x, 1.0, &e), norm(&e));
    let hessian = model.second_order().expect("second derivatives");
    let mut scratch = model.scratch();
    hessian.linearise(&x, &mut scratch);
    let third = hessian.third_order(&q, error, &mut scratch);
    let vector = norm(&minus(&product(model, &there, &q), &product(model, &x, &q)));
    let change = minus(&gradient(model, &there), &gradient(model, &x));
    let value = inner(&q, &minus(&change, &product(model, &x, &e))).abs();
    let mut attained = vec![(vector, third.vector), (value, third.value)];

    let x = vec![0.0; x.len()];
    let bounds = model.bounds(&x, &q, error, &mut scratch);
    let m = model.products(&e, &q, &mut scratch);
    for (product, bound) in [m.alpha, m.nu, m.xi].iter().zip(&bounds) {
        attained.push((product.abs(), bound.change));
    }
    for (norm, bound) in mixed_norms(model, &e).iter().zip(&bounds) {
        attained.push((*norm, bound.norm));
    }
    for (truth, bound) in attained {
        let ratio = bound / truth;
        assert!(
            (0.999..1.02).contains(&ratio),
            "{truth:e} {bound:e} {ratio}"
        );
    }
}

#[test]
fn bounds_are_attained() {
    for is_fourier in [false, true] {
        let mut case = Case::new(&mut Source::new(1), is_fourier);
        case.num_samples = 400;
        case.fourier =
            is_fourier.then(|| Fourier::new(Grid::line(400).complex()).expect("not empty"));
        let parts = if is_fourier { 2 } else { 1 };
        case.weights = vec![1.0; 400];
        case.data = vec![0.0; 400 * parts];
        case.x = case.data.clone();
        case.parameters = TvParameters {
            alpha: 0.1,
            nu: 0.05,
            xi: 0.01,
        };
        if is_fourier {
            check_sharp(&case.sampling(&case.weights, case.parameters), &case);
        } else {
            check_sharp(&case.denoising(case.parameters), &case);
        }
    }
}
