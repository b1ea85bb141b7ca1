//! Solves with filter banks: certified errors against solves to nearly the last bit.

use lowlevel::{ErrorBound, Method, Solver, State, Stop, StronglyConvex, norm};
use proptest::prelude::*;

use super::tests::numbers;
use super::*;
use crate::{Grid, Identity, Variational, Weights};

/// A bank with steep potentials, scaled to this weak convexity.
fn steep_bank(size: usize, seed: u64, weak_convexity: f64) -> FilterBank {
    let bank = |scale: f64| {
        let random = numbers(3 * size * size, seed);
        let potentials = random.chunks_exact(3).take(size * size - 1).map(|r| {
            let (alpha, nu) = (scale * (1.0 + 0.5 * r[0]), 0.002 * 2_f64.powf(r[1]));
            TwoRoots {
                alpha,
                nu,
                beta: 0.9 * alpha,
                omega: nu * (45.0 + 15.0 * r[2]),
            }
        });
        FilterBank::dct(size, potentials.collect()).expect("valid")
    };
    bank(weak_convexity / bank(1.0).weak_convexity())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn certified_errors_are_never_exceeded(
        size in prop_oneof![Just(3), Just(5), Just(7)],
        (rows, cols) in (1_usize..20, 1_usize..20),
        seed: u64,
        weak_convexity in 0.3..0.95_f64,
    ) {
        let grid = Grid::image(rows, cols);
        let edges = |pixel: usize| f64::from(u8::from((pixel % cols) * 2 < cols));
        let noise = numbers(rows * cols, seed ^ 1);
        let data: Vec<f64> = (0..rows * cols).map(|i| 0.3 * edges(i) + 0.1 * noise[i]).collect();
        let filters = FilterRegularizer::new(steep_bank(size, seed, weak_convexity), grid);
        let filters = filters.expect("not empty");
        let identity = Identity::new(grid);
        let model = Variational::new(identity, &data, Weights::Uniform, filters, 1.0, 0.0);
        let model = model.expect("strongly convex");
        let mut scratch = model.scratch();
        let mut solve = |method: Method, target: f64| {
            let mut state = State::new(data.clone());
            let stop = Stop::accuracy(ErrorBound::new(target).expect("not negative"));
            let solver = Solver { method, ..Solver::default() };
            let solved = solver.minimize(&model, stop, &mut state, &mut scratch);
            (state, solved.expect("finite").error.value())
        };
        let (exact, precision) = solve(Method::HeavyBall, 1e-9);
        prop_assert!(precision <= 1e-9);
        for target in [1.0, 0.1, 1e-2, 1e-3, 1e-5, 1e-7] {
            let (state, certified) = solve(Method::Auto, target);
            let differences = state.point().iter().zip(exact.point()).map(|(a, b)| a - b);
            let error = norm(&differences.collect::<Vec<_>>());
            prop_assert!(certified <= target);
            prop_assert!(error <= certified + precision, "{error:e} {certified:e}");
        }
    }
}
