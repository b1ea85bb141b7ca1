//! Operators compared with naive dense implementations: values, adjoints and spectra.

use std::f64::consts::TAU;

use imaging::testing::{adjoint_deviation, spectrum_violation};
use imaging::{
    Blur, BlurBoundary, Boundary, Convolution, Differences, Direction, Field, Fourier, Grid,
    Identity, Kernel, LinearOperator, Mask, Regularizer, SmoothedTv, Spectrum, Weights, Window,
    blurred,
};
use proptest::prelude::*;

fn grids() -> impl Strategy<Value = Grid> {
    let line = (1_usize..20).prop_map(Grid::line);
    let image = (1_usize..7, 1_usize..7).prop_map(|(rows, cols)| Grid::image(rows, cols));
    (prop_oneof![line, image], any::<bool>())
        .prop_map(|(grid, complex)| if complex { grid.complex() } else { grid })
}

fn vector(len: usize) -> impl Strategy<Value = Vec<f64>> {
    proptest::collection::vec(-1.0..1.0_f64, len)
}

/// A grid with an unknown, data of the same number of samples (complex), and weights.
fn inputs() -> impl Strategy<Value = (Grid, Vec<f64>, Vec<f64>, Vec<f64>)> {
    grids().prop_flat_map(|grid| {
        let weights =
            proptest::collection::vec(prop_oneof![Just(0.0), 0.0..3.0_f64], grid.num_samples());
        (
            Just(grid),
            vector(grid.len()),
            vector(grid.complex().len()),
            weights,
        )
    })
}

fn sample(grid: Grid, x: &[f64], index: usize) -> (f64, f64) {
    match grid.field() {
        Field::Real => (x[index], 0.0),
        Field::Complex => (x[2 * index], x[2 * index + 1]),
        Field::Colour => unreachable!("operators are tested on numbers"),
    }
}

/// The sum `$N^{-1/2} \sum_j x_j e^{-2\pi i \langle j, k\rangle}$`.
fn naive_fourier(grid: Grid, x: &[f64]) -> Vec<f64> {
    let (rows, cols) = grid.rows_and_cols();
    let scale = 1.0 / as_f64(rows * cols).sqrt();
    let mut out = Vec::new();
    for k in 0..rows * cols {
        let (mut re, mut im) = (0.0, 0.0);
        for j in 0..rows * cols {
            let phase = as_f64(j / cols * (k / cols)) / as_f64(rows)
                + as_f64(j % cols * (k % cols)) / as_f64(cols);
            let (sin, cos) = (-TAU * phase).sin_cos();
            let (a, b) = sample(grid, x, j);
            re += a * cos - b * sin;
            im += a * sin + b * cos;
        }
        out.extend([scale * re, scale * im]);
    }
    out
}

/// The sum `$\sum_k h_k x_{j-k}$`, with indices that wrap around.
fn naive_convolution(grid: Grid, x: &[f64], kernel: &[f64], kernel_grid: Grid) -> Vec<f64> {
    let (rows, cols) = grid.rows_and_cols();
    let (kernel_rows, kernel_cols) = kernel_grid.rows_and_cols();
    let parts = grid.num_parts();
    let wrap = |at: usize, k: usize, middle: usize, len: usize| (at + middle + len * k - k) % len;
    let mut out = vec![0.0; grid.len()];
    for row in 0..rows {
        for col in 0..cols {
            for a in 0..kernel_rows {
                for b in 0..kernel_cols {
                    let from = wrap(row, a, kernel_rows / 2, rows) * cols
                        + wrap(col, b, kernel_cols / 2, cols);
                    for part in 0..parts {
                        out[parts * (row * cols + col) + part] +=
                            kernel[a * kernel_cols + b] * x[parts * from + part];
                    }
                }
            }
        }
    }
    out
}

fn as_f64(n: usize) -> f64 {
    f64::from(u32::try_from(n).expect("small"))
}

fn signed(n: usize) -> i64 {
    i64::try_from(n).expect("small")
}

fn close(a: &[f64], b: &[f64], tolerance: f64) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() <= tolerance)
}

fn apply<A: LinearOperator>(operator: &A, x: &[f64]) -> Vec<f64> {
    let mut out = vec![f64::NAN; operator.codomain().len()];
    operator.apply(x, &mut out, &mut operator.scratch());
    out
}

/// Eigenvalues of the dense `$A^*SA$` by Jacobi rotations.
fn gram_eigenvalues<A: LinearOperator>(operator: &A, weights: &[f64]) -> Vec<f64> {
    let dim = operator.domain().len();
    let parts = operator.codomain().num_parts();
    let columns: Vec<Vec<f64>> = (0..dim)
        .map(|j| {
            let mut unit = vec![0.0; dim];
            unit[j] = 1.0;
            apply(operator, &unit)
        })
        .collect();
    let mut gram = vec![vec![0.0; dim]; dim];
    for i in 0..dim {
        for j in 0..dim {
            let products = columns[i].iter().zip(&columns[j]).enumerate();
            gram[i][j] = products.map(|(k, (a, b))| weights[k / parts] * a * b).sum();
        }
    }
    for _ in 0..60 {
        for p in 0..dim {
            for q in 0..p {
                if gram[p][q].abs() < 1e-300 {
                    continue;
                }
                let angle = 0.5 * (2.0 * gram[p][q]).atan2(gram[q][q] - gram[p][p]);
                let (s, c) = angle.sin_cos();
                for row in &mut gram {
                    (row[p], row[q]) = (c * row[p] - s * row[q], s * row[p] + c * row[q]);
                }
                let (row_p, row_q) = (gram[p].clone(), gram[q].clone());
                gram[p] = row_p
                    .iter()
                    .zip(&row_q)
                    .map(|(a, b)| c * a - s * b)
                    .collect();
                gram[q] = row_p
                    .iter()
                    .zip(&row_q)
                    .map(|(a, b)| s * a + c * b)
                    .collect();
            }
        }
    }
    (0..dim).map(|i| gram[i][i]).collect()
}

/// The spectrum contains all eigenvalues; if `tight`, its ends are eigenvalues.
fn check_spectrum<A: LinearOperator>(
    operator: &A,
    weights: &[f64],
    tight: bool,
) -> Result<(), TestCaseError> {
    let spectrum = operator.gram_spectrum(Weights::Diagonal(weights));
    let eigenvalues = gram_eigenvalues(operator, weights);
    let smallest = eigenvalues.iter().copied().fold(f64::INFINITY, f64::min);
    let largest = eigenvalues
        .iter()
        .copied()
        .fold(f64::NEG_INFINITY, f64::max);
    prop_assert!(spectrum.min <= smallest + 1e-12 && spectrum.max >= largest - 1e-12);
    let spread: Vec<f64> = (0..operator.domain().len())
        .map(|i| (as_f64(i) * 0.7).sin() + 0.1)
        .collect();
    prop_assert!(spectrum_violation(operator, Weights::Diagonal(weights), &spread) < 1e-12);
    if tight {
        prop_assert!(
            (spectrum.min - smallest).abs() < 1e-9 && (spectrum.max - largest).abs() < 1e-9,
            "{spectrum:?} against [{smallest}, {largest}]"
        );
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn fourier((grid, x, y, weights) in inputs()) {
        let fourier = Fourier::new(grid).unwrap();
        prop_assert!(close(&apply(&fourier, &x), &naive_fourier(grid, &x), 1e-12));
        prop_assert!(adjoint_deviation(&fourier, &x, &y) < 1e-14);
        check_spectrum(&fourier, &weights, true)?;
        // Unitary: the adjoint undoes the transform.
        let mut back = vec![0.0; x.len()];
        fourier.apply_adjoint(&apply(&fourier, &x), &mut back, &mut fourier.scratch());
        prop_assert!(close(&back, &x, 1e-13));
    }

    #[test]
    fn identity_and_mask((grid, x, y, weights) in inputs()) {
        let y = &y[..grid.len()];
        let identity = Identity::new(grid);
        prop_assert!(close(&apply(&identity, &x), &x, 0.0));
        prop_assert!(adjoint_deviation(&identity, &x, y) < 1e-15);
        check_spectrum(&identity, &weights, true)?;

        let measured: Vec<bool> = weights.iter().map(|&w| w < 1.5).collect();
        let mask = Mask::new(grid, measured.clone()).unwrap();
        let parts = grid.num_parts();
        let masked: Vec<f64> = x.iter().enumerate().map(|(i, x)| if measured[i / parts] { *x } else { 0.0 }).collect();
        prop_assert!(close(&apply(&mask, &x), &masked, 0.0));
        prop_assert!(adjoint_deviation(&mask, &x, y) < 1e-15);
        check_spectrum(&mask, &weights, true)?;
    }

    #[test]
    fn convolution(
        (grid, x, y, weights) in inputs(),
        (kernel_rows, kernel_cols) in (1_usize..5, 1_usize..9),
        values in vector(32),
    ) {
        let y = &y[..grid.len()];
        let kernel_grid = if grid.num_axes() == 1 { Grid::line(kernel_cols) } else { Grid::image(kernel_rows, kernel_cols) };
        let kernel = &values[..kernel_grid.len()];
        let blur = Convolution::new(grid, kernel, kernel_grid).unwrap();
        let naive = naive_convolution(grid, &x, kernel, kernel_grid);
        prop_assert!(close(&apply(&blur, &x), &naive, 1e-12));
        prop_assert!(adjoint_deviation(&blur, &x, y) < 1e-14);
        check_spectrum(&blur, &weights, false)?;
        check_spectrum(&blur, &vec![1.0; weights.len()], true)?;
    }

    #[test]
    fn blur(
        (rows, cols) in (1_usize..9, 1_usize..12),
        (kernel_rows, kernel_cols) in (1_usize..6, 1_usize..6),
        values in vector(36),
        x in vector(400),
        y in vector(100),
        terms in (0.1..1.0_f64, 0.0..1.0_f64),
    ) {
        let (kernel_rows, kernel_cols) = (kernel_rows.min(rows), kernel_cols.min(cols));
        let (grid, kernel_grid) = (Grid::image(rows, cols), Grid::image(kernel_rows, kernel_cols));
        let kernel = Kernel::new(values[..kernel_grid.len()].to_vec(), kernel_grid).unwrap();
        let blur = Blur::new(grid, &kernel, BlurBoundary::Unknown).unwrap();
        let (x, y) = (&x[..blur.domain().len()], &y[..grid.len()]);
        // Each measured pixel is a weighted sum that does not wrap around.
        let (_, width) = blur.domain().rows_and_cols();
        let naive: Vec<f64> = (0..grid.len()).map(|j| {
            let mut sum = 0.0;
            for (k, value) in kernel.values().iter().enumerate() {
                let row = j / cols + kernel_rows - 1 - k / kernel_cols;
                let col = j % cols + kernel_cols - 1 - k % kernel_cols;
                sum += value * x[row * width + col];
            }
            sum
        }).collect();
        prop_assert!(close(&apply(&blur, x), &naive, 1e-12));
        prop_assert!(adjoint_deviation(&blur, x, y) < 1e-14);
        let weights: Vec<f64> = y.iter().map(|y| y.abs()).collect();
        prop_assert!(spectrum_violation(&blur, Weights::Diagonal(&weights), x) < 1e-12);
        prop_assert!(spectrum_violation(&blur, Weights::Uniform, x) < 1e-12);
        // The photograph that was blurred as a whole has the same pixels.
        let photograph = Grid::image(rows + kernel_rows - 1, cols + kernel_cols - 1);
        let window = Window::new(blur.domain(), photograph, 0, 0).unwrap();
        let mut memory = Vec::new();
        let (data, valid) = blurred(window.cropped(x, &mut memory), photograph, &kernel).unwrap();
        prop_assert!(close(&data, &naive, 1e-12));
        prop_assert_eq!(valid.origin(), blur.window().origin());
        // The preconditioner is symmetric and positive.
        let precondition = |r: &[f64]| {
            let mut out = vec![0.0; r.len()];
            let terms = [terms.0, terms.1];
            blur.precondition(Weights::Uniform, terms, r, &mut out, &mut blur.scratch());
            out
        };
        let inner = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let other: Vec<f64> = x.iter().rev().map(|x| x * x).collect();
        let (here, there) = (precondition(x), precondition(&other));
        prop_assert!((inner(&here, &other) - inner(&there, x)).abs() < 1e-10);
        prop_assert!(inner(&here, x) > 0.0 || inner(x, x) == 0.0);
        let periodic = Blur::new(grid, &kernel, BlurBoundary::Periodic).unwrap();
        let convolution = Convolution::new(grid, kernel.values(), kernel_grid).unwrap();
        prop_assert_eq!(apply(&periodic, y), apply(&convolution, y));
    }

    #[test]
    fn smoothed_tv(
        (grid, x, _, _) in inputs(),
        direction in prop_oneof![Just(Direction::Backward), Just(Direction::Forward)],
        boundary in prop_oneof![Just(Boundary::Zero), Just(Boundary::Symmetric), Just(Boundary::Periodic)],
        nu in 0.05..1.0_f64,
    ) {
        let differences = Differences { direction, boundary };
        let tv = SmoothedTv::new(grid, differences, nu).unwrap();
        let naive = naive_tv(grid, differences, nu, &x);
        prop_assert!((tv.value(&x) - naive).abs() <= 1e-12 * naive);
        // Its gradient against central differences of the naive value.
        let mut gradient = vec![0.0; x.len()];
        tv.add_gradient(1.0, &x, &mut gradient);
        for j in 0..x.len() {
            let shifted = |by: f64| {
                let mut x = x.clone();
                x[j] += by;
                naive_tv(grid, differences, nu, &x)
            };
            let slope = (shifted(1e-5) - shifted(-1e-5)) / 2e-5;
            prop_assert!((slope - gradient[j]).abs() < 1e-6, "{slope} {}", gradient[j]);
        }
    }
}

/// The sum in the definition, with the picture padded according to the boundary.
fn naive_tv(grid: Grid, differences: Differences, nu: f64, x: &[f64]) -> f64 {
    let (rows, cols) = grid.rows_and_cols();
    let at = |row: i64, col: i64| -> (f64, f64) {
        let (height, width) = (signed(rows), signed(cols));
        let (row, col) = match differences.boundary {
            Boundary::Zero if !(0..height).contains(&row) || !(0..width).contains(&col) => {
                return (0.0, 0.0);
            }
            Boundary::Zero => (row, col),
            Boundary::Symmetric => (row.clamp(0, height - 1), col.clamp(0, width - 1)),
            Boundary::Periodic => (row.rem_euclid(height), col.rem_euclid(width)),
        };
        sample(grid, x, usize::try_from(row * width + col).expect("inside"))
    };
    let toward = match differences.direction {
        Direction::Backward => -1,
        Direction::Forward => 1,
    };
    let mut sum = 0.0;
    for row in 0..signed(rows) {
        for col in 0..signed(cols) {
            let mut squares = nu * nu;
            let (a, b) = at(row, col);
            let mut neighbours = vec![at(row, col + toward)];
            if grid.num_axes() == 2 {
                neighbours.push(at(row + toward, col));
            }
            for (c, d) in neighbours {
                squares += (a - c).powi(2) + (b - d).powi(2);
            }
            sum += squares.sqrt();
        }
    }
    sum
}

/// `|d|^2` never exceeds the constants of the paper, and is close to them on long axes.
#[test]
fn the_constants_4_and_8_are_sharp() {
    for (grid, constant) in [(Grid::line(400), 4.0), (Grid::image(60, 60), 8.0)] {
        for boundary in [Boundary::Zero, Boundary::Symmetric, Boundary::Periodic] {
            for direction in [Direction::Backward, Direction::Forward] {
                let differences = Differences {
                    direction,
                    boundary,
                };
                assert!((Differences::norm_squared(grid) - constant).abs() < 1e-15);
                // With a huge nu the gradient of nu TV_nu is the linear map D^T D: the Rayleigh
                // quotient of the most oscillating vector, tapered at the border, comes close to
                // the norm.
                let nu = 1e9;
                let tv = SmoothedTv::new(grid, differences, nu).unwrap();
                assert!((tv.lipschitz() * nu - constant).abs() < 1e-9);
                let (rows, cols) = grid.rows_and_cols();
                let x: Vec<f64> = (0..rows * cols)
                    .map(|i| {
                        let sign = if (i / cols + i % cols) % 2 == 0 {
                            1.0
                        } else {
                            -1.0
                        };
                        let taper = |at: usize, len: usize| {
                            if len == 1 {
                                1.0
                            } else {
                                (TAU / 2.0 * (as_f64(at) + 0.5) / as_f64(len)).sin()
                            }
                        };
                        sign * taper(i / cols, rows) * taper(i % cols, cols)
                    })
                    .collect();
                let mut image = vec![0.0; x.len()];
                tv.add_gradient(nu, &x, &mut image);
                let dot: f64 = x.iter().zip(&image).map(|(a, b)| a * b).sum();
                let quotient = dot / x.iter().map(|x| x * x).sum::<f64>();
                assert!(
                    quotient <= constant && quotient > 0.99 * constant,
                    "{grid:?} {differences:?}: {quotient}"
                );
            }
        }
    }
}

/// An operator with a wrong spectrum is noticed.
#[test]
fn wrong_spectra_are_noticed() {
    struct Liar(Convolution, Spectrum);
    impl LinearOperator for Liar {
        type Scratch = <Convolution as LinearOperator>::Scratch;
        fn domain(&self) -> Grid {
            self.0.domain()
        }
        fn codomain(&self) -> Grid {
            self.0.codomain()
        }
        fn scratch(&self) -> Self::Scratch {
            self.0.scratch()
        }
        fn apply(&self, x: &[f64], out: &mut [f64], scratch: &mut Self::Scratch) {
            self.0.apply(x, out, scratch);
        }
        fn apply_adjoint(&self, y: &[f64], out: &mut [f64], scratch: &mut Self::Scratch) {
            self.0.apply_adjoint(y, out, scratch);
        }
        fn gram_spectrum(&self, _: Weights<'_>) -> Spectrum {
            self.1
        }
    }
    let blur = Convolution::new(Grid::line(8), &[0.25, 0.5, 0.25], Grid::line(3)).unwrap();
    let truth = blur.gram_spectrum(Weights::Uniform);
    let x: Vec<f64> = (0..8).map(|i| (as_f64(i) * 0.7).sin() + 0.1).collect();
    for (min, max, wrong) in [
        (0.1, 1.0, true),
        (0.0, 0.9, true),
        (truth.min, truth.max, false),
    ] {
        let liar = Liar(blur.clone(), Spectrum { min, max });
        let violation = spectrum_violation(&liar, Weights::Uniform, &x);
        assert_eq!(violation > 0.05, wrong, "{violation}");
    }
}

/// The rounding error of a blur is below its bound, and the bound is not much larger, for lengths
/// with all small factors and for a prime. The reference adds exact products, with twice the
/// precision.
#[test]
fn the_rounding_of_blurs_is_bounded() {
    for (rows, cols) in [(32, 64), (45, 60), (54, 50), (31, 37), (81, 125)] {
        let kernel = Kernel::named("gaussian:1.3").unwrap();
        let (kernel_rows, kernel_cols) = kernel.grid().rows_and_cols();
        let grid = Grid::image(rows, cols);
        let blur = Blur::new(grid, &kernel, BlurBoundary::Periodic).unwrap();
        let mut state = 7_u64;
        let x: Vec<f64> = (0..grid.len())
            .map(|_| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                as_f64(usize::try_from(state >> 40).unwrap()) / 16_777_216.0
            })
            .collect();
        let mut square = 0.0;
        for (j, blurred) in apply(&blur, &x).iter().enumerate() {
            // the sum minus the computed value, with its rounding errors collected
            let (mut sum, mut lost) = (-blurred, 0.0);
            for (k, value) in kernel.values().iter().enumerate() {
                let row = (j / cols + rows + kernel_rows / 2 - k / kernel_cols) % rows;
                let col = (j % cols + cols + kernel_cols / 2 - k % kernel_cols) % cols;
                let pixel = x[row * cols + col];
                let product = value * pixel;
                lost += value.mul_add(pixel, -product);
                let next = sum + product;
                let part = next - sum;
                lost += (sum - (next - part)) + (product - part);
                sum = next;
            }
            square += (sum + lost).powi(2);
        }
        let error: f64 = square.sqrt();
        let norm = x.iter().map(|x| x * x).sum::<f64>().sqrt();
        let bound = blur.roundings() * 0.5 * f64::EPSILON * norm;
        assert!(error <= bound, "{error} {bound}");
        let is_prime = (rows, cols) == (31, 37);
        assert!(
            bound <= 2000.0 * error || is_prime,
            "{error} {bound} {rows} {cols}"
        );
    }
}
