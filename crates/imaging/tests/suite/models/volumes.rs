//! Total variation of volumes: derivatives, constants, bounds in random balls and certified errors.

use imaging::{
    Boundary, Denoising, Differences, Direction, Grid, Identity, Regularizer, SmoothedTv,
    TvParameters, Variational, Weights,
};
use lowlevel::testing::gradient_deviation;
use lowlevel::{ErrorBound, Solver, State, Stop, StronglyConvex, norm};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::pictures::{
    Ball, balls, check_derivatives, combined, gradient, image, product, quotients, shaped,
};
use super::{check_twins, differences, parameters, vector, weights};

fn volumes() -> impl Strategy<Value = Grid> {
    let small = (1_usize..5, 1_usize..6, 1_usize..8);
    let wide = (1_usize..3, 1_usize..3, 120_usize..140);
    prop_oneof![6 => small, 1 => wide]
        .prop_map(|(slices, rows, cols)| Grid::volume(slices, rows, cols))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn derivatives_of_denoising_volumes(
        (grid, data, x, v, q) in volumes().prop_flat_map(|grid| {
            let len = grid.len();
            (Just(grid), vector(len), vector(len), vector(len), vector(len))
        }),
        parameters in parameters(),
    ) {
        let model = |parameters| Denoising::new(grid, &data, parameters).expect("valid");
        check_derivatives(model, parameters, [&x, &v, &q], true)?;
        let at = model(parameters);
        prop_assert!(gradient_deviation(&at, &x, 1e-5) < 1e-6);
        // The composed model has the same derivatives.
        let identity = Identity::new(grid);
        let paper = Differences::of_paper(grid);
        let twin = Variational::tv(&identity, &data, Weights::Uniform, paper, parameters).expect("valid");
        check_twins(&at, &twin, &x, &v)?;
        let (fused, composed) = (product(&at, &x, &v), product(&twin, &x, &v));
        prop_assert!(norm(&combined(&fused, -1.0, &composed)) <= 1e-13 * norm(&composed));
    }

    #[test]
    fn derivatives_of_composed_models_of_volumes(
        (grid, data, x, v, q, weights) in (volumes(), any::<bool>()).prop_flat_map(|(grid, complex)| {
            let grid = if complex { grid.complex() } else { grid };
            let len = grid.len();
            let vectors = (vector(len), vector(len), vector(len), vector(len));
            (Just(grid), vectors, weights(grid.num_samples()))
        }).prop_map(|(grid, (data, x, v, q), weights)| (grid, data, x, v, q, weights)),
        parameters in parameters(),
        differences in differences(),
    ) {
        let identity = Identity::new(grid);
        let weights = Weights::Diagonal(&weights);
        let model = |parameters| {
            Variational::tv(&identity, &data, weights, differences, parameters).expect("valid")
        };
        check_derivatives(model, parameters, [&x, &v, &q], true)?;
    }

    /// A volume of one slice is a picture, and so is each slice if nothing depends on the slices.
    #[test]
    fn equal_slices_are_pictures(
        (rows, cols, slices, x) in (1_usize..6, 1_usize..8, 1_usize..4)
            .prop_flat_map(|(rows, cols, slices)| (Just(rows), Just(cols), Just(slices), vector(rows * cols))),
        parameters in parameters(),
    ) {
        let all = x.repeat(slices);
        let zeros = vec![0.0; all.len()];
        let of_volume = Denoising::new(Grid::volume(slices, rows, cols), &zeros, parameters).expect("valid");
        let of_picture = Denoising::new(Grid::image(rows, cols), &zeros[..x.len()], parameters).expect("valid");
        let expected = gradient(&of_picture, &x).repeat(slices);
        let found = gradient(&of_volume, &all);
        prop_assert!(norm(&combined(&found, -1.0, &expected)) <= 1e-13 * (norm(&expected) + norm(&all)));
        let value = of_volume.value(&all, &mut of_volume.scratch());
        let of_slice = of_picture.value(&x, &mut of_picture.scratch());
        prop_assert!((value - slices as f64 * of_slice).abs() <= 1e-12 * value.abs());
    }
}

/// The constant `$12/\nu$` is attained by a checkerboard on a periodic volume.
#[test]
fn largest_curvature_is_attained() {
    let grid = Grid::volume(4, 2, 6);
    let periodic = Differences {
        direction: Direction::Forward,
        boundary: Boundary::Periodic,
    };
    let nu = 0.02;
    let tv = SmoothedTv::new(grid, periodic, nu).expect("valid");
    let sign = |index: usize| (index / 12 + index / 6 + index) % 2;
    let x: Vec<f64> = (0..grid.len())
        .map(|i| 1.0 - 2.0 * sign(i) as f64)
        .collect();
    let hessian = tv.hessian().expect("valid");
    let mut memory = vec![0.0; hessian.memory_len()];
    hessian.linearise(&vec![0.0; grid.len()], &mut memory);
    let mut out = vec![0.0; grid.len()];
    hessian.add_product(1.0, &memory, &x, &mut out);
    let largest = norm(&out) / norm(&x);
    assert!((largest - 12.0 / nu).abs() <= 1e-10 * largest, "{largest}");
    assert!((tv.lipschitz() - 12.0 / nu).abs() <= 1e-12 * largest);
}

/// A small volume with random vectors, and small parameters.
fn bound_cases() -> impl Strategy<Value = (Grid, [Vec<f64>; 4], TvParameters, Ball, Differences)> {
    let grid = (1_usize..4, 1_usize..5, 1_usize..5)
        .prop_map(|(slices, rows, cols)| Grid::volume(slices, rows, cols));
    let parameters = (0.01..1.0_f64, -4.0..0.0_f64, 1e-3..1.0_f64);
    let choices = (parameters, balls(), differences(), any::<bool>());
    (grid, choices).prop_flat_map(|(grid, (parameters, ball, differences, complex))| {
        let grid = if complex { grid.complex() } else { grid };
        let (alpha, digits, xi) = parameters;
        let nu = 10_f64.powf(digits);
        let parameters = TvParameters { alpha, nu, xi };
        let vectors = [(); 4].map(|()| vector(grid.len()));
        (
            Just(grid),
            vectors,
            Just(parameters),
            Just(ball),
            Just(differences),
        )
    })
}

fn check_bounds(num_cases: u32) {
    let mut runner = TestRunner::new(Config::with_cases(num_cases));
    let check = |(grid, vectors, parameters, ball, differences): (
        Grid,
        [Vec<f64>; 4],
        TvParameters,
        Ball,
        Differences,
    )| {
        let [x, e, q, data] = vectors;
        let x = image(&ball, &x, grid, parameters.nu);
        let e = shaped(ball.e_kind, &e, grid);
        let q = shaped(ball.q_kind, &q, grid);
        let length = parameters.nu * 10_f64.powf(ball.digits) / norm(&e).max(1e-3);
        let e: Vec<f64> = e.iter().map(|e| e * length).collect();
        let at = [&x[..], &e[..], &q[..]];
        let identity = Identity::new(grid);
        let composed = Variational::tv(&identity, &data, Weights::Uniform, differences, parameters)
            .expect("valid");
        let mut found = vec![quotients(&composed, at)];
        if grid.num_parts() == 1 {
            let denoising = Denoising::new(grid, &data, parameters).expect("valid");
            found.push(quotients(&denoising, at));
        }
        for quotients in found {
            prop_assert!(
                quotients.iter().all(|quotient| *quotient <= 1.0),
                "{quotients:?}"
            );
        }
        Ok(())
    };
    runner.run(&bound_cases(), check).expect("valid");
}

#[test]
fn bounds_in_a_ball_hold_for_volumes() {
    check_bounds(300);
}

#[test]
#[ignore = "takes minutes"]
fn bounds_in_ten_thousand_balls_hold_for_volumes() {
    check_bounds(10_000);
}

/// Certified errors are not smaller than true ones, which follow from a long reference.
fn check_certificates(num_cases: u32) {
    let mut runner = TestRunner::new(Config::with_cases(num_cases));
    let data = (1_usize..5, 1_usize..6, 1_usize..6).prop_flat_map(|(slices, rows, cols)| {
        let grid = Grid::volume(slices, rows, cols);
        (Just(grid), vector(grid.len()))
    });
    let parameters = (-2.0..0.5_f64, -3.0..0.0_f64, -3.0..0.0_f64).prop_map(|(alpha, nu, xi)| {
        let [alpha, nu, xi] = [alpha, nu, xi].map(|digits| 10_f64.powf(digits));
        TvParameters { alpha, nu, xi }
    });
    let cases = (data, parameters, -4.0..0.0_f64);
    let check = |((grid, data), parameters, target): ((Grid, Vec<f64>), TvParameters, f64)| {
        let model = Denoising::new(grid, &data, parameters).expect("valid");
        let mut scratch = model.scratch();
        let mut solve = |target: f64| {
            let mut state = State::new(data.clone());
            let stop = Stop::accuracy(ErrorBound::new(target).expect("valid"));
            let solved = Solver::default().minimize(&model, stop, &mut state, &mut scratch);
            (state.point().to_vec(), solved.expect("valid").error.value())
        };
        let (reference, known) = solve(1e-10);
        let (found, error) = solve(10_f64.powf(target));
        let distance = norm(&combined(&found, -1.0, &reference));
        prop_assert!(distance <= error + known, "{distance} {error} {known}");
        prop_assert!(error <= 10_f64.powf(target), "{error}");
        Ok(())
    };
    runner.run(&cases, check).expect("valid");
}

#[test]
fn certified_errors_of_volumes_hold() {
    check_certificates(100);
}

#[test]
#[ignore = "takes minutes"]
fn certified_errors_of_ten_thousand_volumes_hold() {
    check_certificates(10_000);
}
