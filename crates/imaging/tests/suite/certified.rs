//! A certified error is never below the true error: more than 10,000 random problems against an
//! independent solver with 32 digits, over the whole parameter box of the paper and its corners,
//! where `alpha/nu` is 1e14.

use crate::models::differences;
use crate::opponent::exact_opponent;
use crate::reference::{Dd, Dense, operators};
use imaging::colour::ColourMeasurement;
use imaging::{
    Boundary, Convolution, Denoising, Differences, Direction, Fourier, FourierSampling, Grid,
    Identity, Mask, TvParameters, Variational, Weights,
};
use imaging::{Opponent, OpponentTvParameters};
use lowlevel::{Certificate, ErrorBound, Method, Solved, Solver, State, Stop, StronglyConvex};
use proptest::prelude::*;

/// For every sample and every axis, the indices and signs of the numbers whose difference belongs
/// to it.
fn groups(grid: Grid, differences: Differences) -> Vec<Vec<Vec<(usize, f64)>>> {
    let (rows, cols) = grid.rows_and_cols();
    let parts = grid.num_parts();
    let along = |at: usize, len: usize| -> Vec<(usize, f64)> {
        let backward = differences.direction == Direction::Backward;
        let neighbour = match (backward, at) {
            (true, 0) => (differences.boundary == Boundary::Periodic).then(|| len - 1),
            (true, _) => Some(at - 1),
            (false, _) if at + 1 == len => {
                (differences.boundary == Boundary::Periodic).then_some(0)
            }
            (false, _) => Some(at + 1),
        };
        let own_sign = if backward { 1.0 } else { -1.0 };
        match (neighbour, differences.boundary) {
            (None, Boundary::Symmetric) => vec![],
            (None, _) => vec![(at, own_sign)],
            (Some(other), _) => vec![(at, own_sign), (other, -own_sign)],
        }
    };
    let mut groups = Vec::new();
    for row in 0..rows {
        for col in 0..cols {
            let mut group = Vec::new();
            for part in 0..parts {
                let across = along(col, cols);
                group.push(
                    across
                        .iter()
                        .map(|&(c, sign)| (parts * (row * cols + c) + part, sign))
                        .collect(),
                );
                if grid.num_axes() == 2 {
                    let down = along(row, rows);
                    group.push(
                        down.iter()
                            .map(|&(r, sign)| (parts * (r * cols + col) + part, sign))
                            .collect(),
                    );
                }
            }
            groups.push(group);
        }
    }
    groups
}

fn identity_problem(
    grid: Grid,
    differences: Differences,
    data: &[f64],
    parameters: TvParameters,
) -> Dense {
    let dim = grid.len();
    let diagonal = Dd::from(1.0) + Dd::from(parameters.xi);
    let mut matrix = vec![Dd::default(); dim * dim];
    for i in 0..dim {
        matrix[i * dim + i] = diagonal;
    }
    Dense {
        matrix,
        linear: data.iter().map(|&y| Dd::from(y)).collect(),
        groups: groups(grid, differences),
        alpha: parameters.alpha,
        nu: parameters.nu,
        strong_convexity: 1.0 + parameters.xi,
    }
}

/// The way to solve a problem: to a target with an iteration limit, or for a number of iterations.
#[derive(Clone, Copy, Debug)]
struct Attempt {
    method: Method,
    log_target: f64,
    iterations: u64,
    fixed: bool,
}

/// Checks that the certified error is not below the true error, and returns the ratio of the true
/// to the certified error.
fn check<O: StronglyConvex>(
    objective: &O,
    dense: &Dense,
    start: &[f64],
    attempt: Attempt,
) -> Result<f64, TestCaseError> {
    let (state, solved) = attempted(objective, start, attempt);
    let certified = solved.error.value();
    let reference = dense.solve(1e-3 * certified.min(1e-9));
    prop_assert!(
        reference.error <= 1e-2 * certified,
        "the reference is only known to {:e}, certified {certified:e}",
        reference.error
    );
    let error = reference.distance(state.point());
    prop_assert!(
        error <= certified + reference.error,
        "true error {error:e} above certified {certified:e}: {solved:?}"
    );
    Ok(error / certified)
}

/// Solves a problem in the way of `attempt`.
fn attempted<O: StronglyConvex>(objective: &O, start: &[f64], attempt: Attempt) -> (State, Solved) {
    let mut state = State::new(start.to_vec());
    let solver = Solver {
        method: attempt.method,
        ..Solver::default()
    };
    let stop = if attempt.fixed {
        Stop::Iterations(attempt.iterations)
    } else {
        Stop::Accuracy {
            target: ErrorBound::new(10_f64.powf(attempt.log_target)).expect("positive"),
            certificate: Certificate::Gradient,
            max_iterations: Some(attempt.iterations),
        }
    };
    let solved = solver
        .minimize(objective, stop, &mut state, &mut objective.scratch())
        .expect("the problem is sound");
    (state, solved)
}

/// `(alpha, nu, xi)` in the paper's box `[-7,7] x [-7,0] x [-7,0]`, one time in four at a corner.
fn parameters() -> impl Strategy<Value = TvParameters> {
    let inside = (-7.0..7.0_f64, -7.0..0.0_f64, -7.0..0.0_f64);
    let corner = (
        prop_oneof![Just(-7.0), Just(7.0)],
        prop_oneof![Just(-7.0), Just(0.0)],
        prop_oneof![Just(-7.0), Just(0.0)],
    );
    prop_oneof![3 => inside, 1 => corner].prop_map(|(alpha, nu, xi)| TvParameters {
        alpha: 10_f64.powf(alpha),
        nu: 10_f64.powf(nu),
        xi: 10_f64.powf(xi),
    })
}

fn attempts() -> impl Strategy<Value = Attempt> {
    let method = prop_oneof![
        Just(Method::GRADIENT_DESCENT),
        Just(Method::FISTA),
        Just(Method::FISTA_TWO_GRADIENTS)
    ];
    // Some runs are long enough for rounding to dominate.
    let iterations = prop_oneof![9 => 0_u64..400, 1 => 2000_u64..4000];
    (method, -14.0..0.0_f64, iterations, any::<bool>()).prop_map(
        |(method, log_target, iterations, fixed)| Attempt {
            method,
            log_target,
            iterations,
            fixed,
        },
    )
}

/// Data of a size up to 1e6, and a start that is the data, zero, or near the data.
fn data(len: usize) -> impl Strategy<Value = (Vec<f64>, Vec<f64>)> {
    let entries = proptest::collection::vec(-2.0..2.0_f64, len);
    let size = prop_oneof![4 => Just(1.0), 1 => Just(1e-6), 1 => Just(1e6)];
    (entries, size, 0_usize..3).prop_map(|(entries, size, start)| {
        let data: Vec<f64> = entries.iter().map(|x| x * size).collect();
        let start = match start {
            0 => vec![0.0; data.len()],
            1 => data.clone(),
            _ => data.iter().map(|y| 0.5 * y + 0.1 * size).collect(),
        };
        (data, start)
    })
}

fn small_images() -> impl Strategy<Value = Grid> {
    (1_usize..4, 1_usize..5).prop_map(|(rows, cols)| Grid::image(rows, cols))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6000))]

    #[test]
    fn line_denoising((grid, (data, start)) in (1_usize..13).prop_flat_map(|len| (Just(Grid::line(len)), data(len))),
                      parameters in parameters(), attempt in attempts()) {
        let objective = Denoising::new(grid, &data, parameters).unwrap();
        let dense = identity_problem(grid, Differences::LINE_OF_PAPER, &data, parameters);
        check(&objective, &dense, &start, attempt)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    /// The reference solves for luminance and chroma, transformed with 32 digits.
    #[test]
    fn denoising_in_colour((grid, (data, start)) in small_images().prop_flat_map(|grid| (Just(grid), data(3 * grid.len()))),
                           parameters in parameters(), chroma in -7.0..7.0_f64, attempt in attempts()) {
        let TvParameters { alpha, nu, xi } = parameters;
        let weights = [alpha, 10_f64.powf(chroma)];
        let measured = ColourMeasurement::new(grid.colour(), &data).unwrap();
        let [luminance, chroma] = weights;
        let objective = Opponent::tv(&measured, OpponentTvParameters { luminance, chroma, nu, xi }).unwrap();
        let parts = |picture: &[f64]| {
            let colours: Vec<[Dd; 3]> = picture.chunks_exact(3).map(exact_opponent).collect();
            [colours.iter().map(|z| z[0]).collect::<Vec<Dd>>(),
             colours.iter().flat_map(|z| [z[1], z[2]]).collect()]
        };
        let linear = parts(&data);
        let dense = [(grid, 0), (grid.complex(), 1)].map(|(grid, part)| Dense {
            linear: linear[part].clone(),
            ..identity_problem(grid, Differences::IMAGE_OF_PAPER, &vec![0.0; grid.len()],
                               TvParameters { alpha: weights[part], nu, xi })
        });
        let (state, solved) = attempted(&objective, &start, attempt);
        let certified = solved.error.value();
        let x = parts(state.point());
        let (mut square, mut slack) = (0.0, 0.0);
        for (dense, x) in dense.iter().zip(&x) {
            let reference = dense.solve(1e-3 * certified.min(1e-9));
            prop_assert!(reference.error <= 1e-2 * certified);
            square += reference.distance_to(x).powi(2);
            slack += reference.error;
        }
        let error = square.sqrt();
        prop_assert!(error <= certified + slack, "true error {error:e} above certified {certified:e}: {solved:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn image_denoising((grid, (data, start)) in small_images().prop_flat_map(|grid| (Just(grid), data(grid.len()))),
                       parameters in parameters(), attempt in attempts()) {
        let objective = Denoising::new(grid, &data, parameters).unwrap();
        let dense = identity_problem(grid, Differences::IMAGE_OF_PAPER, &data, parameters);
        check(&objective, &dense, &start, attempt)?;
    }

    #[test]
    fn every_boundary_real_and_complex(
        (grid, (data, start)) in (small_images(), any::<bool>(), any::<bool>()).prop_flat_map(|(grid, line, complex)| {
            let (_, cols) = grid.rows_and_cols();
            let grid = if line { Grid::line(cols) } else { grid };
            let grid = if complex { grid.complex() } else { grid };
            (Just(grid), data(grid.len()))
        }),
        differences in differences(), parameters in parameters(), attempt in attempts()
    ) {
        let identity = Identity::new(grid);
        let objective = Variational::tv(&identity, &data, Weights::Uniform, differences, parameters).unwrap();
        let dense = identity_problem(grid, differences, &data, parameters);
        check(&objective, &dense, &start, attempt)?;
    }

    #[test]
    fn sampling_blur_and_inpainting(
        (len, (data, start), weights, kernel) in prop_oneof![1_usize..5, Just(6)].prop_flat_map(|len| {
            // Large weights test their part of the rounding error.
            let weight = prop_oneof![Just(0.0), 0.001..2.0_f64, 1e3..1e4_f64];
            let kernel = proptest::collection::vec(0.0..1.0_f64, 3);
            (Just(len), data(2 * len), proptest::collection::vec(weight, len), kernel)
        }),
        parameters in parameters(), attempt in attempts(), choice in 0_usize..4
    ) {
        let grid = Grid::line(len).complex();
        let fourier = Fourier::new(grid).unwrap();
        let measured: Vec<bool> = weights.iter().map(|&w| w > 0.5).collect();
        let matrix = match choice {
            0 | 1 => operators::fourier(len),
            2 => operators::mask(&measured),
            _ => operators::convolution(len, &kernel),
        };
        let (gram, linear) = operators::normal_equations(&matrix, &weights, &data, parameters.xi);
        let dense = |strong_convexity: f64| Dense {
            matrix: gram.clone(),
            linear: linear.clone(),
            groups: groups(grid, Differences::LINE_OF_PAPER),
            alpha: parameters.alpha,
            nu: parameters.nu,
            strong_convexity,
        };
        let (paper, diagonal) = (Differences::LINE_OF_PAPER, Weights::Diagonal(&weights));
        if choice == 0 {
            let objective = FourierSampling::new(&fourier, &data, &weights, parameters).unwrap();
            check_operator(&objective, dense, &start, attempt)?;
        } else if choice == 1 {
            let objective = Variational::tv(&fourier, &data, diagonal, paper, parameters).unwrap();
            check_operator(&objective, dense, &start, attempt)?;
        } else if choice == 2 {
            let mask = Mask::new(grid, measured).unwrap();
            let objective = Variational::tv(&mask, &data, diagonal, paper, parameters).unwrap();
            check_operator(&objective, dense, &start, attempt)?;
        } else {
            let blur = Convolution::new(grid, &kernel, Grid::line(3)).unwrap();
            let objective = Variational::tv(&blur, &data, diagonal, paper, parameters).unwrap();
            check_operator(&objective, dense, &start, attempt)?;
        }
    }
}

/// Checks the certified error and the rounding bound of a model whose data term is not the
/// identity.
fn check_operator<O: StronglyConvex>(
    objective: &O,
    dense: impl Fn(f64) -> Dense,
    start: &[f64],
    attempt: Attempt,
) -> Result<(), TestCaseError> {
    let dense = dense(objective.curvature().strong_convexity());
    check_rounding(objective, &dense, start)?;
    check(objective, &dense, start, attempt)?;
    Ok(())
}

/// Checks the bound on the rounding error of the gradient. Every part of the bound is needed: where
/// `alpha` is 1e7, one wrong digit of the regulariser's gradient is as large as the gradient of the
/// data term.
fn check_rounding<O: StronglyConvex>(
    objective: &O,
    dense: &Dense,
    x: &[f64],
) -> Result<(), TestCaseError> {
    let mut gradient = vec![0.0; x.len()];
    objective.gradient(x, &mut gradient, &mut objective.scratch());
    let norm = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>().sqrt();
    let bound = objective.gradient_rounding(norm(x), norm(&gradient));
    let error = dense.gradient_error(x, &gradient);
    prop_assert!(
        error <= bound,
        "rounding error {error:e} above its bound {bound:e}"
    );
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn computed_gradients_are_within_their_rounding_bound(
        (grid, (data, start)) in (small_images(), 1_usize..13, any::<bool>()).prop_flat_map(|(image, len, line)| {
            let grid = if line { Grid::line(len) } else { image };
            (Just(grid), data(grid.len()))
        }),
        parameters in parameters(), differences in differences()
    ) {
        let dense = identity_problem(grid, Differences::of_paper(grid), &data, parameters);
        check_rounding(&Denoising::new(grid, &data, parameters).unwrap(), &dense, &start)?;
        let identity = Identity::new(grid);
        let composed = Variational::tv(&identity, &data, Weights::Uniform, differences, parameters).unwrap();
        let dense = identity_problem(grid, differences, &data, parameters);
        check_rounding(&composed, &dense, &start)?;
    }
}

/// The bounds are not too pessimistic: on long lines, where rounding errors add up, a third of them
/// are less than twice the error.
#[test]
fn bounds_are_sharp_on_long_lines() {
    let mut sharp = 0;
    for (case, alpha) in [1e-2, 1e-1, 1.0, 1e4, 1e7].into_iter().enumerate() {
        for nu in [1e-1, 1e-3, 1e-7] {
            let parameters = TvParameters {
                alpha,
                nu,
                xi: 1e-3,
            };
            let grid = Grid::line(48);
            let seed = imaging::Seed::new(7);
            let truth = imaging::phantom::box_function(48, seed, case).unwrap();
            let data = imaging::noise::gaussian(&truth, 0.1, seed, case).unwrap();
            let objective = Denoising::new(grid, &data, parameters).unwrap();
            let dense = identity_problem(grid, Differences::LINE_OF_PAPER, &data, parameters);
            let attempt = Attempt {
                method: Method::FISTA,
                log_target: -12.0,
                iterations: 3000,
                fixed: false,
            };
            let ratio = check(&objective, &dense, &data, attempt).unwrap();
            sharp += usize::from(ratio > 0.5);
        }
    }
    assert!(sharp >= 5, "{sharp} of 15");
}
