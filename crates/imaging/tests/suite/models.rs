//! Gradients of models compared with differences of their value, and fused kernels compared with
//! composed models.

pub(crate) mod cases;
mod certificates;
mod condition;
mod pictures;
mod second_order;
mod volumes;

use imaging::{
    Boundary, Convolution, Denoising, Differences, Direction, Fourier, FourierSampling, Grid,
    Identity, LinearOperator, Mask, TvParameters, Variational, Weights,
};
use lowlevel::testing::gradient_deviation;
use lowlevel::{StronglyConvex, Update};
use proptest::prelude::*;

fn vector(len: usize) -> impl Strategy<Value = Vec<f64>> {
    proptest::collection::vec(-1.0..1.0_f64, len)
}

fn parameters() -> impl Strategy<Value = TvParameters> {
    (0.0..2.0_f64, 0.1..1.0_f64, 0.01..1.0_f64).prop_map(|(alpha, nu, xi)| TvParameters {
        alpha,
        nu,
        xi,
    })
}

fn weights(len: usize) -> impl Strategy<Value = Vec<f64>> {
    proptest::collection::vec(prop_oneof![Just(0.0), 0.0..3.0_f64], len)
}

fn grids() -> impl Strategy<Value = Grid> {
    let line = (1_usize..80).prop_map(Grid::line);
    let image = (1_usize..9, 1_usize..30).prop_map(|(rows, cols)| Grid::image(rows, cols));
    // Wider than the strips in which a kernel works.
    let wide = (1_usize..3, 120_usize..140).prop_map(|(rows, cols)| Grid::image(rows, cols));
    prop_oneof![4 => line, 4 => image, 1 => wide]
}

pub(crate) fn differences() -> impl Strategy<Value = Differences> {
    let direction = prop_oneof![Just(Direction::Backward), Just(Direction::Forward)];
    let boundary = prop_oneof![
        Just(Boundary::Zero),
        Just(Boundary::Symmetric),
        Just(Boundary::Periodic)
    ];
    (direction, boundary).prop_map(|(direction, boundary)| Differences {
        direction,
        boundary,
    })
}

fn norm(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// Checks that the fused and the composed model agree up to rounding: the gradient, its norm, the
/// value, the constants, and an update.
fn check_twins<F: StronglyConvex, C: StronglyConvex>(
    fused: &F,
    composed: &C,
    x: &[f64],
    old: &[f64],
) -> Result<(), TestCaseError> {
    prop_assert_eq!(fused.dim(), composed.dim());
    prop_assert_eq!(fused.curvature(), composed.curvature());
    let (mut fast, mut slow) = (vec![f64::NAN; x.len()], vec![f64::NAN; x.len()]);
    let (mut fused_scratch, mut composed_scratch) = (fused.scratch(), composed.scratch());
    let close = |a: &[f64], b: &[f64]| {
        let difference: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
        norm(&difference) <= 1e-13 * (1.0 + norm(b))
    };
    let square = fused.gradient_with_norm(x, &mut fast, &mut fused_scratch);
    composed.gradient(x, &mut slow, &mut composed_scratch);
    prop_assert!(close(&fast, &slow), "{fast:?} {slow:?}");
    prop_assert!((square.sqrt() - norm(&slow)).abs() <= 1e-13 * (1.0 + norm(&slow)));
    let values = [
        fused.value(x, &mut fused_scratch),
        composed.value(x, &mut composed_scratch),
    ];
    prop_assert!((values[0] - values[1]).abs() <= 1e-12 * (1.0 + values[1].abs()));

    for method in 0..3 {
        let (mut iterate_fast, mut iterate_slow) = (old.to_vec(), old.to_vec());
        let (mut point_fast, mut point_slow) = (x.to_vec(), x.to_vec());
        let (mut fast, mut slow) = (old.to_vec(), old.to_vec());
        let update = |iterate| match method {
            0 => Update::Descent { step: 0.3 },
            1 => Update::Accelerated {
                step: 0.3,
                extrapolation: 0.6,
                iterate,
            },
            _ => Update::HeavyBall {
                decay: 0.6,
                ahead: 0.3,
                back: 0.1,
                impulse: iterate,
            },
        };
        let a = fused.advance(
            update(&mut iterate_fast),
            &mut point_fast,
            &mut fast,
            &mut fused_scratch,
        );
        let b = composed.advance(
            update(&mut iterate_slow),
            &mut point_slow,
            &mut slow,
            &mut composed_scratch,
        );
        // The update is the same to the last bit, and the gradient there up to rounding.
        prop_assert_eq!(&point_fast, &point_slow);
        prop_assert_eq!(&iterate_fast, &iterate_slow);
        prop_assert!(close(&fast, &slow));
        prop_assert!((a.sqrt() - b.sqrt()).abs() <= 1e-13 * (1.0 + b.sqrt()));
        // The result is the gradient at the new point.
        let c = fused.gradient_with_norm(&point_fast, &mut slow, &mut fused_scratch);
        prop_assert_eq!((&fast, a), (&slow, c));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn denoising_and_its_twin(
        (grid, data, x, old) in grids().prop_flat_map(|grid| {
            (Just(grid), vector(grid.len()), vector(grid.len()), vector(grid.len()))
        }),
        parameters in parameters(),
    ) {
        let fused = Denoising::new(grid, &data, parameters).unwrap();
        let identity = Identity::new(grid);
        let composed = Variational::tv(&identity, &data, Weights::Uniform, Differences::of_paper(grid), parameters).unwrap();
        check_twins(&fused, &composed, &x, &old)?;
        prop_assert!(gradient_deviation(&fused, &x, 1e-5) < 1e-6);
    }

    #[test]
    fn sampling_and_its_twin(
        (len, data, x, old, weights) in (1_usize..40).prop_flat_map(|len| {
            (Just(len), vector(2 * len), vector(2 * len), vector(2 * len), weights(len))
        }),
        parameters in parameters(),
    ) {
        let fourier = Fourier::new(Grid::line(len).complex()).unwrap();
        let fused = FourierSampling::new(&fourier, &data, &weights, parameters).unwrap();
        let weights = Weights::Diagonal(&weights);
        let composed = Variational::tv(&fourier, &data, weights, Differences::LINE_OF_PAPER, parameters).unwrap();
        check_twins(&fused, &composed, &x, &old)?;
        prop_assert!(gradient_deviation(&fused, &x, 1e-5) < 1e-6);
    }

    #[test]
    fn every_composed_model_has_the_gradient_of_its_value(
        (grid, data, x, weights, kernel) in (grids(), any::<bool>()).prop_flat_map(|(grid, complex)| {
            let grid = if complex { grid.complex() } else { grid };
            (Just(grid), vector(grid.complex().len()), vector(grid.len()), weights(grid.num_samples()), vector(9))
        }),
        parameters in parameters(),
        direction in prop_oneof![Just(Direction::Backward), Just(Direction::Forward)],
        boundary in prop_oneof![Just(Boundary::Zero), Just(Boundary::Symmetric), Just(Boundary::Periodic)],
    ) {
        let differences = Differences { direction, boundary };
        let kernel_grid = if grid.num_axes() == 1 { Grid::line(9) } else { Grid::image(3, 3) };
        let measured = weights.iter().map(|&w| w < 1.0).collect();
        let weights = Weights::Diagonal(&weights);
        fn check<A: LinearOperator>(
            operator: &A, data: &[f64], x: &[f64], weights: Weights<'_>, differences: Differences, parameters: TvParameters,
        ) -> Result<(), TestCaseError> {
            let data = &data[..operator.codomain().len()];
            for weights in [weights, Weights::Uniform] {
                let model = Variational::tv(operator, data, weights, differences, parameters).unwrap();
                prop_assert!(gradient_deviation(&model, x, 1e-5) < 1e-6);
            }
            Ok(())
        }
        check(&Identity::new(grid), &data, &x, weights, differences, parameters)?;
        check(&Mask::new(grid, measured).unwrap(), &data, &x, weights, differences, parameters)?;
        check(&Fourier::new(grid).unwrap(), &data, &x, weights, differences, parameters)?;
        check(&Convolution::new(grid, &kernel, kernel_grid).unwrap(), &data, &x, weights, differences, parameters)?;
    }
}

/// The paper's constants: `L = 1 + 4 alpha/nu + xi` in 1D, 8 in 2D, and for sampling `max s` and
/// `min s` instead of 1.
#[test]
fn constants_are_those_of_the_paper() {
    let parameters = TvParameters {
        alpha: 0.3,
        nu: 1e-3,
        xi: 1e-3,
    };
    let line = Denoising::new(Grid::line(9), &[0.0; 9], parameters).unwrap();
    assert!((line.curvature().lipschitz() - 1201.001).abs() < 1e-9);
    assert!((line.curvature().strong_convexity() - 1.001).abs() < 1e-15);
    let image = Denoising::new(Grid::image(3, 3), &[0.0; 9], parameters).unwrap();
    assert!((image.curvature().lipschitz() - 2401.001).abs() < 1e-9);
    let fourier = Fourier::new(Grid::line(3).complex()).unwrap();
    let weights = [0.5, 2.0, 0.25];
    let sampling = FourierSampling::new(&fourier, &[0.0; 6], &weights, parameters).unwrap();
    assert!((sampling.curvature().lipschitz() - 1202.001).abs() < 1e-9);
    assert!((sampling.curvature().strong_convexity() - 0.251).abs() < 1e-15);
}

/// Where the squares of differences overflow, the gradient is that of the data term, which is much
/// larger than the rest.
#[test]
fn huge_samples_have_a_finite_gradient() {
    for grid in [Grid::line(9), Grid::image(3, 3)] {
        let data = [0.0; 9];
        let parameters = TvParameters {
            alpha: 0.3,
            nu: 1e-3,
            xi: 1e-3,
        };
        let objective = Denoising::new(grid, &data, parameters).unwrap();
        let x: Vec<f64> = (0..9).map(|i| 1e200 * f64::from(i % 4)).collect();
        let mut gradient = [f64::NAN; 9];
        objective.gradient(&x, &mut gradient, &mut objective.scratch());
        for (gradient, x) in gradient.iter().zip(&x) {
            assert!((gradient - 1.001 * x).abs() <= 1e-15 * 1e200);
        }
        for bad in [f64::NAN, f64::INFINITY] {
            let mut x = [0.5; 9];
            x[6] = bad;
            objective.gradient(&x, &mut gradient, &mut objective.scratch());
            assert!(!gradient[6].is_finite());
        }
    }
}
