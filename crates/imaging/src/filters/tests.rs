//! Filter banks against dense matrices and differences.

use lowlevel::testing::{gradient_deviation, hessian_deviation, third_order_violation};
use proptest::prelude::*;

use super::*;
use crate::{Grid, Identity, Regularizer, RegularizerHessian, Variational, Weights};

/// Numbers between -1 and 1 that look random.
pub(super) fn numbers(len: usize, seed: u64) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    (0..len)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
        })
        .collect()
}

fn norm_of_difference(a: &[f64], b: &[f64]) -> f64 {
    let differences = a.iter().zip(b).map(|(a, b)| a - b);
    lowlevel::norm(&differences.collect::<Vec<_>>())
}

/// An index below `len`.
fn pick(seed: u64, len: usize) -> usize {
    usize::try_from(seed % len as u64).expect("below len")
}

fn any_potentials(size: usize, is_learned: bool, seed: u64) -> Vec<TwoRoots> {
    let count = FilterBank::num_potentials(size, is_learned).expect("a valid size");
    let random = numbers(4 * count, seed);
    random
        .chunks_exact(4)
        .map(|r| {
            let alpha = 0.05 * 10_f64.powf(r[0]);
            let nu = 0.2 * 10_f64.powf(0.7 * r[1]);
            TwoRoots {
                alpha,
                nu,
                beta: alpha * (0.5 + 0.45 * r[2]),
                omega: nu * 10_f64.powf(1.0 + 0.95 * r[3]),
            }
        })
        .collect()
}

/// The potentials of a bank, without those that belong to another filter, too.
fn distinct(bank: &FilterBank) -> Vec<TwoRoots> {
    let mut potentials = vec![];
    for (filter, potential) in bank.potentials().iter().enumerate() {
        if potential_of(&bank.basis, filter) == potentials.len() {
            potentials.push(*potential);
        }
    }
    potentials
}

/// A bank on a small grid, with cosine or learned filters.
pub(super) fn any_bank() -> impl Strategy<Value = FilterRegularizer> {
    let grids = (
        1_usize..9,
        prop_oneof![1_usize..9, 30_usize..36],
        any::<bool>(),
    );
    (
        prop_oneof![Just(3), Just(5), Just(7)],
        grids,
        any::<bool>(),
        any::<u64>(),
    )
        .prop_map(|(size, (rows, cols, is_complex), is_learned, seed)| {
            let potentials = any_potentials(size, is_learned, seed);
            let bank = if is_learned {
                let count = FilterBank::num_coefficients(size).expect("a valid size");
                FilterBank::learned(size, numbers(count, seed ^ 1), potentials)
            } else {
                FilterBank::dct(size, potentials)
            };
            let grid = Grid::image(rows, cols);
            let grid = if is_complex { grid.complex() } else { grid };
            FilterRegularizer::new(bank.expect("valid"), grid).expect("not empty")
        })
}

/// The response of a filter at a pixel by the definition, with mirrored borders.
pub(super) fn response(
    taps: &[f64],
    size: usize,
    grid: Grid,
    x: &[f64],
    part: usize,
    at: (usize, usize),
) -> f64 {
    let (rows, cols) = grid.rows_and_cols();
    let radius = size / 2;
    let mirrored = |index: usize, len: usize| {
        let at = (index + 8 * len - radius) % (2 * len);
        if at < len { at } else { 2 * len - 1 - at }
    };
    let mut sum = 0.0;
    for i in 0..size {
        for j in 0..size {
            let (row, col) = (mirrored(at.0 + i, rows), mirrored(at.1 + j, cols));
            let tap = taps[i * size + j];
            sum += tap * x[(row * cols + col) * grid.num_parts() + part];
        }
    }
    sum
}

fn value_by_definition(filters: &FilterRegularizer, x: &[f64]) -> f64 {
    let (grid, bank) = (filters.grid, filters.bank());
    let (rows, cols) = grid.rows_and_cols();
    let mut sum = 0.0;
    for (taps, potential) in bank.taps().iter().zip(bank.potentials()) {
        for row in 0..rows {
            for col in 0..cols {
                let square: f64 = (0..grid.num_parts())
                    .map(|part| response(taps, bank.size(), grid, x, part, (row, col)).powi(2))
                    .sum();
                sum += potential.value(square.sqrt());
            }
        }
    }
    sum
}

/// A model with this bank that is strongly convex, whatever the bank.
fn model<'a>(
    filters: &FilterRegularizer,
    data: &'a [f64],
) -> Variational<'a, Identity, FilterRegularizer> {
    let xi = filters.weak_convexity();
    let identity = Identity::new(filters.grid);
    Variational::new(identity, data, Weights::Uniform, filters.clone(), 1.0, xi).expect("valid")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn values_follow_the_definition(filters in any_bank(), seed: u64) {
        let x = numbers(filters.dim(), seed);
        let (value, expected) = (filters.value(&x), value_by_definition(&filters, &x));
        prop_assert!((value - expected).abs() <= 1e-11 * (1.0 + expected.abs()));
    }

    #[test]
    fn derivatives_are_slopes(filters in any_bank(), seed: u64) {
        let (x, y) = (numbers(filters.dim(), seed), numbers(filters.dim(), seed ^ 7));
        let model = model(&filters, &y);
        prop_assert!(gradient_deviation(&model, &x, 1e-5) < 1e-6);
        prop_assert!(hessian_deviation(&model, &x, 1e-5) < 1e-6);
    }

    /// The differences between both precisions, for pictures of ordinary and of large range.
    #[test]
    fn rough_gradients_are_within_their_bound(
        filters in any_bank(),
        seed: u64,
        range in prop_oneof![Just(1.0), Just(1e-3), Just(300.0)],
    ) {
        let len = filters.grid.len();
        let x: Vec<f64> = numbers(len, seed).iter().map(|x| range * x).collect();
        let [mut exact, mut rough] = [vec![0.0; len], vec![0.0; len]];
        filters.add_gradient(0.7, &x, &mut exact);
        filters.add_rough_gradient(0.7, &x, &mut rough);
        let error = norm_of_difference(&exact, &rough);
        let x_norm = lowlevel::norm(&x);
        let bound = 0.7 * filters.rough_rounding(x_norm).expect("moderate numbers");
        prop_assert!(error <= bound, "{error:e} {bound:e}");
        prop_assert!(error > 0.0 || lowlevel::norm(&exact) <= 1e-3, "not in single precision");
        prop_assert!(filters.rough_rounding(1e13).is_none());
    }

    #[test]
    fn hessians_change_no_more_than_their_bound(
        filters in any_bank(),
        seed: u64,
        error in -4.0..0.5_f64,
    ) {
        let (x, q) = (numbers(filters.dim(), seed), numbers(filters.dim(), seed ^ 3));
        let y = vec![0.0; filters.dim()];
        let ratio = third_order_violation(&model(&filters, &y), &x, &q, 10_f64.powf(error), 4, seed);
        prop_assert!(ratio <= 1.0, "{ratio}");
    }

    #[test]
    fn mixed_products_are_slopes(filters in any_bank(), seed: u64) {
        let (x, q) = (numbers(filters.dim(), seed), numbers(filters.dim(), seed ^ 5));
        let bank = filters.bank();
        let coefficients = bank.mixing.as_ref().map(|m| m.entries().to_vec());
        let potentials = distinct(bank);
        let mut by_potential = vec![[0.0; 4]; potentials.len()];
        let mut by_coefficient = vec![0.0; coefficients.as_ref().map_or(0, Vec::len)];
        filters.mixed_products(&x, &q, &mut by_potential, &mut by_coefficient);
        let product = |coefficients: Option<Vec<f64>>, potentials: Vec<TwoRoots>| {
            let bank = FilterBank::new(bank.size(), coefficients, potentials).expect("valid");
            let changed = FilterRegularizer::new(bank, filters.grid).expect("not empty");
            let mut gradient = vec![0.0; filters.dim()];
            changed.add_gradient(1.0, &x, &mut gradient);
            gradient.iter().zip(&q).map(|(g, q)| g * q).sum::<f64>()
        };
        let k = pick(seed, potentials.len());
        for (entry, slope) in entries().into_iter().zip(by_potential[k]) {
            let at = |h: f64| {
                let mut potentials = potentials.clone();
                *entry(&mut potentials[k]) += h;
                product(coefficients.clone(), potentials)
            };
            let h = 1e-5 * *entry(&mut potentials[k].clone());
            let difference = (at(h) - at(-h)) / (2.0 * h);
            prop_assert!((difference - slope).abs() <= 1e-6 * (1.0 + slope.abs()) / 0.01);
        }
        if let Some(coefficients) = coefficients {
            let j = pick(seed, coefficients.len());
            let at = |h: f64| {
                let mut coefficients = coefficients.clone();
                coefficients[j] += h;
                product(Some(coefficients), potentials.clone())
            };
            let (difference, slope) = ((at(1e-5) - at(-1e-5)) / 2e-5, by_coefficient[j]);
            prop_assert!((difference - slope).abs() <= 1e-6 * (1.0 + slope.abs()));
        }
    }

    /// No curvature of a bank exceeds its proved constants: the extreme eigenvalues of
    /// `$\sum_k w_kC_k^TC_k$` for the extreme curvatures `$w_k$` of the potentials, by power
    /// iteration.
    #[test]
    fn constants_are_never_exceeded(
        size in prop_oneof![Just(3), Just(5), Just(7)],
        (rows, cols) in (1_usize..14, 1_usize..14),
        is_learned: bool,
        seed: u64,
    ) {
        let potentials = any_potentials(size, is_learned, seed);
        let corners = numbers(2 * potentials.len(), seed ^ 9);
        let potentials: Vec<TwoRoots> = potentials
            .into_iter()
            .zip(corners.chunks_exact(2))
            .map(|(p, corner)| TwoRoots {
                beta: if corner[0] > 0.0 { p.alpha } else { p.beta },
                omega: if corner[1] > 0.5 { p.nu } else { p.omega },
                ..p
            })
            .collect();
        let coefficients = is_learned.then(|| {
            numbers(FilterBank::num_coefficients(size).expect("a valid size"), seed ^ 1)
        });
        let bank = FilterBank::new(size, coefficients, potentials).expect("valid");
        let grid = Grid::image(rows, cols);
        for (curvature, bound) in [
            (TwoRoots::weak_convexity as fn(TwoRoots) -> f64, bank.weak_convexity()),
            (TwoRoots::largest_curvature, bank.lipschitz()),
            (|_| 1.0, bank.norm_squared),
        ] {
            let weights: Vec<f64> = bank.potentials().iter().map(|p| curvature(*p)).collect();
            let filters = FilterRegularizer::new(bank.clone(), grid).expect("not empty");
            let largest = largest_eigenvalue(&filters, &weights, seed);
            prop_assert!(largest <= bound * (1.0 + 1e-12), "{largest} {bound}");
            // On large grids, nearly all frequencies occur.
            if rows.min(cols) > 11 {
                prop_assert!(largest >= 0.5 * bound, "{largest} {bound}");
            }
        }
    }

    #[test]
    fn limited_banks_keep_their_limit(
        is_learned: bool,
        seed: u64,
        strength in -2.0..3.0_f64,
        limit in 0.2..1.0_f64,
    ) {
        let (free, coefficients) = free_bank(3, is_learned, seed, 10_f64.powf(strength));
        let limited = LimitedBank::new(3, coefficients.as_deref(), free.clone(), limit).expect("valid");
        prop_assert!(limited.bank().weak_convexity() <= limit);
        // Far below the limit nothing changes.
        let expected = free[0].alpha;
        if limited.bank().weak_convexity() < 0.1 * limit {
            prop_assert!((limited.bank().potentials()[0].alpha / expected - 1.0).abs() < 1e-6);
        }
    }

    #[test]
    fn chains_are_slopes(is_learned: bool, seed: u64, strength in -1.0..1.5_f64) {
        let size = 3;
        let (free, coefficients) = free_bank(size, is_learned, seed, 10_f64.powf(strength));
        let make = |free: &[FreePotential], coefficients: Option<&[f64]>| {
            LimitedBank::new(size, coefficients, free.to_vec(), 0.9).expect("valid")
        };
        // A linear function of everything in the bank, with random slopes.
        let slopes = numbers(4 * free.len(), seed ^ 11);
        let of_coefficients = numbers(coefficients.as_ref().map_or(0, Vec::len), seed ^ 12);
        let value = |limited: &LimitedBank| {
            let bank = limited.bank();
            let potentials = distinct(bank);
            let of_potentials = potentials.iter().zip(slopes.chunks_exact(4)).map(|(p, s)| {
                p.alpha * s[0] + p.nu * s[1] + p.beta * s[2] + p.omega * s[3]
            });
            let entries = bank.mixing.as_ref().map_or(&[][..], |m| m.entries());
            of_potentials.sum::<f64>()
                + entries.iter().zip(&of_coefficients).map(|(c, s)| c * s).sum::<f64>()
        };
        let limited = make(&free, coefficients.as_deref());
        let mut by_potential: Vec<[f64; 4]> =
            slopes.chunks_exact(4).map(|s| [s[0], s[1], s[2], s[3]]).collect();
        let mut by_coefficient = of_coefficients.clone();
        limited.chain(&mut by_potential, &mut by_coefficient);
        let k = pick(seed, free.len());
        let entries: [fn(&mut FreePotential) -> &mut f64; 4] =
            [|p| &mut p.alpha, |p| &mut p.nu, |p| &mut p.share, |p| &mut p.spread];
        for (entry, slope) in entries.into_iter().zip(by_potential[k]) {
            let h = 1e-5 * *entry(&mut free[k].clone());
            let at = |h: f64| {
                let mut free = free.clone();
                *entry(&mut free[k]) += h;
                value(&make(&free, coefficients.as_deref()))
            };
            let difference = (at(h) - at(-h)) / (2.0 * h);
            prop_assert!((difference - slope).abs() <= 1e-4 * (1.0 + slope.abs()), "{difference} {slope}");
        }
        if let Some(coefficients) = coefficients {
            let j = pick(seed, coefficients.len());
            let at = |h: f64| {
                let mut coefficients = coefficients.clone();
                coefficients[j] += h;
                value(&make(&free, Some(&coefficients)))
            };
            let (difference, slope) = ((at(1e-6) - at(-1e-6)) / 2e-6, by_coefficient[j]);
            prop_assert!((difference - slope).abs() <= 1e-4 * (1.0 + slope.abs()), "{difference} {slope}");
        }
    }
}

/// The entries of a potential.
fn entries() -> [fn(&mut TwoRoots) -> &mut f64; 4] {
    [
        |p| &mut p.alpha,
        |p| &mut p.nu,
        |p| &mut p.beta,
        |p| &mut p.omega,
    ]
}

fn free_bank(
    size: usize,
    is_learned: bool,
    seed: u64,
    strength: f64,
) -> (Vec<FreePotential>, Option<Vec<f64>>) {
    let free = (any_potentials(size, is_learned, seed).iter())
        .map(|p| FreePotential {
            alpha: strength * p.alpha,
            nu: p.nu,
            share: p.beta / p.alpha,
            spread: p.omega / p.nu,
        })
        .collect();
    let count = FilterBank::num_coefficients(size).expect("a valid size");
    (free, is_learned.then(|| numbers(count, seed ^ 1)))
}

#[expect(clippy::cast_possible_truncation, reason = "rounded")]
fn rounded_down(number: f64) -> f32 {
    let rounded = number as f32;
    if f64::from(rounded) > number {
        rounded.next_down()
    } else {
        rounded
    }
}

/// A lower bound on the largest eigenvalue of `$\sum_k w_kC_k^TC_k$`, by power iteration.
fn largest_eigenvalue(filters: &FilterRegularizer, weights: &[f64], seed: u64) -> f64 {
    let mut lanes = vec![0.0; filters.memory_len()];
    let stored = pulp::bytemuck::cast_slice_mut(&mut lanes[..filters.weights_len()]);
    for (index, lane) in stored.iter_mut().enumerate() {
        *lane = rounded_down(weights[index / sweep::STRIP % weights.len()]);
    }
    let mut x = numbers(filters.dim(), seed);
    let mut quotient = 0.0;
    for _ in 0..60 {
        let norm = lowlevel::norm(&x);
        if norm == 0.0 {
            return 0.0;
        }
        for entry in &mut x {
            *entry /= norm;
        }
        let mut product = vec![0.0; x.len()];
        filters.add_product(1.0, &lanes, &x, &mut product);
        quotient = product.iter().zip(&x).map(|(a, b)| a * b).sum();
        x = product;
    }
    quotient
}

/// A picture with one pixel, or with fewer pixels than a filter, is mirrored often enough.
#[test]
fn tiny_pictures() {
    for (rows, cols) in [(1, 1), (1, 2), (2, 1), (2, 3)] {
        let bank = FilterBank::dct(7, any_potentials(7, false, 1)).expect("valid");
        let filters = FilterRegularizer::new(bank, Grid::image(rows, cols)).expect("not empty");
        let x = numbers(rows * cols, 3);
        let expected = value_by_definition(&filters, &x);
        assert!((filters.value(&x) - expected).abs() < 1e-12);
    }
}

/// The rounding error of products is not bounded for pixels above 1000, so there are none.
#[test]
fn no_products_at_huge_pixels() {
    let bank = FilterBank::dct(3, any_potentials(3, false, 1)).expect("valid");
    let filters = FilterRegularizer::new(bank, Grid::image(20, 1)).expect("not empty");
    let mut memory = vec![0.0; filters.memory_len()];
    for (largest, is_finite) in [(1000.0, true), (-1001.0, false), (f64::NAN, false)] {
        let mut x = numbers(20, 3);
        x[7] = largest;
        filters.linearise(&x, &mut memory);
        let (v, mut product) = (numbers(20, 4), [0.0; 20]);
        filters.add_product(1.0, &memory, &v, &mut product);
        assert!(product.iter().all(|p| p.is_finite() == is_finite));
        let bounds = filters.third_order(&v, 0.1, &mut memory);
        assert_eq!(bounds.vector.is_finite(), is_finite);
    }
}

#[test]
fn bad_banks_are_refused() {
    let potential = TwoRoots::convex(0.1, 0.01);
    let error = |size, count, potential| {
        FilterBank::dct(size, vec![potential; count])
            .unwrap_err()
            .to_string()
    };
    assert!(error(4, 15, potential).contains("3, 5 or 7"));
    assert!(error(3, 7, potential).contains("potentials has length 7"));
    for (wrong, message) in [
        (
            TwoRoots {
                beta: 0.2,
                ..potential
            },
            "beta",
        ),
        (
            TwoRoots {
                omega: 0.001,
                ..potential
            },
            "omega",
        ),
        (
            TwoRoots {
                nu: f64::NAN,
                ..potential
            },
            "nu",
        ),
        (
            TwoRoots {
                alpha: -1.0,
                ..potential
            },
            "alpha",
        ),
    ] {
        assert!(error(3, 8, wrong).contains(message));
    }
    // This bank is not even weakly convex enough for denoising.
    let strong = TwoRoots {
        alpha: 1.0,
        nu: 0.01,
        beta: 1.0,
        omega: 0.1,
    };
    let bank = FilterBank::dct(3, vec![strong; 8]).expect("valid");
    let grid = Grid::image(4, 4);
    let filters = FilterRegularizer::new(bank, grid).expect("not empty");
    let data = [0.0; 16];
    let model = Variational::new(
        Identity::new(grid),
        &data,
        Weights::Uniform,
        filters,
        1.0,
        0.0,
    );
    assert!(model.unwrap_err().to_string().contains("strong"));
}
