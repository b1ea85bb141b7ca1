//! Second derivatives of pictures and of composed models: products compared with differences of
//! gradients, and bounds compared with the changes in random balls.

use imaging::{
    Convolution, Denoising, Differences, Fourier, FourierSampling, Grid, Identity, LinearOperator,
    Mask, MixedBound, Regularizer, SmoothedTv, TvMixed, TvParameters, Variational, Weights,
};
use lowlevel::{SecondOrder, StronglyConvex, norm};
use proptest::prelude::*;

use super::{differences, grids, parameters, vector, weights};

/// A model with mixed derivatives.
pub(super) trait Mixed: StronglyConvex {
    fn products(&self, x: &[f64], q: &[f64], scratch: &mut Self::Scratch) -> TvMixed;
    fn bounds(&self, x: &[f64], q: &[f64], error: f64, s: &mut Self::Scratch) -> [MixedBound; 3];
}

macro_rules! mixed {
    ([$($generics:tt)*] $model:ty) => {
        impl<$($generics)*> Mixed for $model {
            fn products(&self, x: &[f64], q: &[f64], scratch: &mut Self::Scratch) -> TvMixed {
                self.tv_mixed_products(x, q, scratch)
            }

            fn bounds(
                &self,
                x: &[f64],
                q: &[f64],
                error: f64,
                scratch: &mut Self::Scratch,
            ) -> [MixedBound; 3] {
                self.tv_mixed_bounds(x, q, error, scratch)
            }
        }
    };
}
mixed!([] Denoising<'_>);
mixed!([] FourierSampling<'_>);
mixed!([A: LinearOperator] Variational<'_, A, SmoothedTv>);

pub(super) fn inner(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

pub(super) fn combined(x: &[f64], factor: f64, y: &[f64]) -> Vec<f64> {
    x.iter().zip(y).map(|(x, y)| x + factor * y).collect()
}

pub(super) fn gradient<O: StronglyConvex>(model: &O, x: &[f64]) -> Vec<f64> {
    let mut gradient = vec![f64::NAN; x.len()];
    model.gradient(x, &mut gradient, &mut model.scratch());
    gradient
}

pub(super) fn second_order<O: StronglyConvex>(model: &O) -> &dyn SecondOrder<O::Scratch> {
    model.second_order().expect("offers second derivatives")
}

pub(super) fn product<O: StronglyConvex>(model: &O, x: &[f64], v: &[f64]) -> Vec<f64> {
    let mut scratch = model.scratch();
    let mut out = vec![f64::NAN; v.len()];
    second_order(model).linearise(x, &mut scratch);
    second_order(model).hessian_product(v, &mut out, &mut scratch);
    out
}

/// Checks the Hessian products, the preconditioner and the mixed products of the models that
/// `model` creates, at `x`.
pub(super) fn check_derivatives<M: Mixed>(
    model: impl Fn(TvParameters) -> M,
    parameters: TvParameters,
    [x, v, q]: [&[f64]; 3],
    is_diagonal_exact: bool,
) -> Result<(), TestCaseError> {
    let at = model(parameters);
    let products = [product(&at, x, v), product(&at, x, q)];
    // The differences of gradients.
    let spacing = 1e-6;
    let moved = [spacing, -spacing].map(|h| gradient(&at, &combined(x, h, v)));
    let slope: Vec<f64> = combined(&moved[0], -1.0, &moved[1])
        .iter()
        .map(|change| change / (2.0 * spacing))
        .collect();
    let deviation = norm(&combined(&slope, -1.0, &products[0]));
    prop_assert!(
        deviation <= 1e-6 * (1.0 + norm(&products[0])),
        "{deviation}"
    );
    // Symmetry, up to the certified rounding error.
    let rounding = second_order(&at).product_rounding(1.0);
    let asymmetry = (inner(&products[0], q) - inner(&products[1], v)).abs();
    let allowed = 2.0 * rounding * norm(v) * norm(q) + 1e-15 * norm(&products[0]) * norm(q);
    prop_assert!(asymmetry <= allowed, "{asymmetry} {allowed}");
    check_preconditioner(&at, x, q, is_diagonal_exact)?;

    let mixed = at.products(x, q, &mut at.scratch());
    let derivative = |at: fn(&mut TvParameters) -> &mut f64| {
        let mut ends = [parameters; 2];
        let step = 1e-5 * *at(&mut ends[0]);
        *at(&mut ends[0]) += step;
        *at(&mut ends[1]) -= step;
        let [plus, minus] = ends.map(|end| gradient(&model(end), x));
        inner(q, &combined(&plus, -1.0, &minus)) / (2.0 * step)
    };
    for (found, expected) in [
        (mixed.alpha, derivative(|p| &mut p.alpha)),
        (mixed.nu, derivative(|p| &mut p.nu)),
        (mixed.xi, derivative(|p| &mut p.xi)),
    ] {
        prop_assert!(
            (found - expected).abs() <= 1e-6 * (1.0 + expected.abs()),
            "{found} {expected}"
        );
    }
    Ok(())
}

/// The preconditioner divides by the diagonal of the Hessian, or by positive numbers.
fn check_preconditioner<M: Mixed>(
    model: &M,
    x: &[f64],
    r: &[f64],
    is_exact: bool,
) -> Result<(), TestCaseError> {
    let mut scratch = model.scratch();
    let mut out = vec![f64::NAN; r.len()];
    second_order(model).linearise(x, &mut scratch);
    second_order(model).precondition(r, &mut out, &mut scratch);
    for (j, (out, r)) in out.iter().zip(r).enumerate().step_by(1 + x.len() / 20) {
        prop_assert!(out * r >= 0.0);
        if is_exact {
            let mut unit = vec![0.0; x.len()];
            unit[j] = 1.0;
            let entry = product(model, x, &unit)[j];
            prop_assert!(
                (out * entry - r).abs() <= 1e-11 * r.abs(),
                "{} {}",
                out * entry,
                r
            );
        }
    }
    Ok(())
}

fn images() -> impl Strategy<Value = Grid> {
    let small = (1_usize..9, 1_usize..30).prop_map(|(rows, cols)| Grid::image(rows, cols));
    let wide = (1_usize..4, 120_usize..140).prop_map(|(rows, cols)| Grid::image(rows, cols));
    prop_oneof![6 => small, 1 => wide]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn derivatives_of_denoising_pictures(
        (grid, data, x, v, q) in images().prop_flat_map(|grid| {
            (Just(grid), vector(grid.len()), vector(grid.len()), vector(grid.len()), vector(grid.len()))
        }),
        parameters in parameters(),
    ) {
        let model = |parameters| Denoising::new(grid, &data, parameters).unwrap();
        check_derivatives(model, parameters, [&x, &v, &q], true)?;
        // The composed model has the same derivatives, by other code.
        let identity = Identity::new(grid);
        let paper = Differences::of_paper(grid);
        let twin = Variational::tv(&identity, &data, Weights::Uniform, paper, parameters).unwrap();
        let (fused, composed) = (product(&model(parameters), &x, &v), product(&twin, &x, &v));
        prop_assert!(norm(&combined(&fused, -1.0, &composed)) <= 1e-13 * norm(&composed));
    }

    #[test]
    fn derivatives_of_every_composed_model(
        (grid, data, x, v, q, weights, kernel) in (grids(), any::<bool>()).prop_flat_map(|(grid, complex)| {
            let grid = if complex { grid.complex() } else { grid };
            let len = grid.len();
            let vectors = (vector(len), vector(len), vector(len));
            (Just(grid), vector(grid.complex().len()), vectors, weights(grid.num_samples()), vector(9))
        }).prop_map(|(grid, data, (x, v, q), weights, kernel)| (grid, data, x, v, q, weights, kernel)),
        parameters in parameters(),
        differences in differences(),
    ) {
        let kernel_grid = if grid.num_axes() == 1 { Grid::line(9) } else { Grid::image(3, 3) };
        let measured = weights.iter().map(|&w| w < 1.0).collect();
        let identity = Identity::new(grid);
        let mask = Mask::new(grid, measured).unwrap();
        let fourier = Fourier::new(grid).unwrap();
        let blur = Convolution::new(grid, &kernel, kernel_grid).unwrap();
        let weights = Weights::Diagonal(&weights);
        let vectors = [&x[..], &v[..], &q[..]];
        fn check<A: LinearOperator>(
            operator: &A, data: &[f64], weights: Weights<'_>, differences: Differences,
            parameters: TvParameters, vectors: [&[f64]; 3], is_exact: bool,
        ) -> Result<(), TestCaseError> {
            let data = &data[..operator.codomain().len()];
            let model = |parameters| Variational::tv(operator, data, weights, differences, parameters).unwrap();
            check_derivatives(model, parameters, vectors, is_exact)
        }
        check(&identity, &data, weights, differences, parameters, vectors, true)?;
        check(&mask, &data, weights, differences, parameters, vectors, true)?;
        check(&fourier, &data, weights, differences, parameters, vectors, true)?;
        check(&blur, &data, Weights::Uniform, differences, parameters, vectors, true)?;
        check(&blur, &data, weights, differences, parameters, vectors, false)?;
    }
}

/// The ingredients of a test of the bounds. Vectors have entries of size 1.
#[derive(Clone, Debug)]
pub(super) struct Ball {
    /// The logarithm of the radius divided by `$\nu$`.
    pub(super) digits: f64,
    /// The length of differences in units of `$\nu$`, as a logarithm.
    roughness: f64,
    x_kind: u8,
    pub(super) e_kind: u8,
    pub(super) q_kind: u8,
}

pub(super) fn balls() -> impl Strategy<Value = Ball> {
    (-5.0..2.0_f64, -2.0..2.0_f64, 0_u8..4, 0_u8..4, 0_u8..4).prop_map(
        |(digits, roughness, x_kind, e_kind, q_kind)| Ball {
            digits,
            roughness,
            x_kind,
            e_kind,
            q_kind,
        },
    )
}

/// Shapes a random vector: 0 leaves it, 1 makes it slow, 2 makes it rough, 3 concentrates it in one
/// sample.
pub(super) fn shaped(kind: u8, random: &[f64], grid: Grid) -> Vec<f64> {
    let (_, cols) = grid.rows_and_cols();
    let parts = grid.num_parts();
    let chosen = random.len() / 2;
    let at = |entry: usize| ((entry / parts) / cols, (entry / parts) % cols);
    let shaped = random.iter().enumerate().map(|(entry, random)| {
        let (row, col) = at(entry);
        match kind {
            0 => *random,
            1 => (0.3 * row as f64 + 0.2 * col as f64).cos() + 0.01 * random,
            2 => (if (row + col) % 2 == 0 { 1.0 } else { -1.0 }) + 0.1 * random,
            _ => f64::from(entry == chosen) + 1e-3 * random,
        }
    });
    shaped.collect()
}

/// The image: random, a ramp on which third derivatives are largest, boxes, or one edge.
pub(super) fn image(ball: &Ball, random: &[f64], grid: Grid, nu: f64) -> Vec<f64> {
    let (_, cols) = grid.rows_and_cols();
    let parts = grid.num_parts();
    let size = nu * 10_f64.powf(ball.roughness);
    let image = random.iter().enumerate().map(|(entry, random)| {
        let (row, col) = ((entry / parts) / cols, (entry / parts) % cols);
        match ball.x_kind {
            0 => size * random,
            1 => 0.5 * nu * (col as f64 + 1e-3 * random),
            2 => f64::from((row / 3 + col / 3) % 2 == 0) + 0.1 * size * random,
            _ => f64::from(col > cols / 2) + 0.01 * nu * random,
        }
    });
    image.collect()
}

/// The quotients of what was observed and its bound: the change of the Hessian as `vector` and
/// `value`, of the three mixed products, and the three norms. Rounding errors of the observation
/// are subtracted.
pub(super) fn quotients<M: Mixed>(model: &M, [x, e, q]: [&[f64]; 3]) -> [f64; 8] {
    let error = norm(e);
    let y = combined(x, 1.0, e);
    let mut scratch = model.scratch();
    let hessian = second_order(model);
    hessian.linearise(x, &mut scratch);
    let third = hessian.third_order(q, error, &mut scratch);

    let (h_x, h_y) = (product(model, x, q), product(model, &y, q));
    let vector = norm(&combined(&h_y, -1.0, &h_x)) - 2.0 * hessian.product_rounding(norm(q));
    let (g_x, g_y) = (gradient(model, x), gradient(model, &y));
    let rounding = model.gradient_rounding(norm(x), norm(&g_x))
        + model.gradient_rounding(norm(&y), norm(&g_y))
        + hessian.product_rounding(error)
        // The point x + e is rounded.
        + model.curvature().lipschitz() * f64::EPSILON * norm(&y);
    let mean = combined(&combined(&g_y, -1.0, &g_x), -1.0, &product(model, x, e));
    let value = inner(q, &mean).abs() - norm(q) * rounding;

    let bounds = model.bounds(x, q, error, &mut scratch);
    let rounding = model.bounds(&y, q, f64::EPSILON * norm(&y), &mut scratch);
    let products = [x, &y].map(|x| {
        let TvMixed { alpha, nu, xi } = model.products(x, q, &mut model.scratch());
        [alpha, nu, xi]
    });
    let mut columns = vec![[0.0; 3]; x.len()];
    for (j, column) in columns.iter_mut().enumerate() {
        let mut unit = vec![0.0; x.len()];
        unit[j] = 1.0;
        let TvMixed { alpha, nu, xi } = model.products(&y, &unit, &mut scratch);
        *column = [alpha, nu, xi];
    }
    let mut quotients = [0.0; 8];
    let quotient = |found: f64, bound: f64| found / bound.max(f64::MIN_POSITIVE);
    quotients[0] = quotient(vector, third.vector);
    quotients[1] = quotient(value, third.value);
    for i in 0..3 {
        let change = (products[0][i] - products[1][i]).abs() - rounding[i].change;
        quotients[2 + i] = quotient(change, bounds[i].change);
        let column: Vec<f64> = columns.iter().map(|column| column[i]).collect();
        quotients[5 + i] = quotient(norm(&column) * (1.0 - 1e-13), bounds[i].norm);
    }
    quotients
}

/// A grid with random vectors for `image` and `shaped`, and small parameters.
fn bound_cases() -> impl Strategy<Value = (Grid, [Vec<f64>; 4], Vec<f64>, TvParameters, Ball)> {
    let grid = prop_oneof![
        1 => (1_usize..30).prop_map(Grid::line),
        3 => (1_usize..9, 1_usize..9).prop_map(|(rows, cols)| Grid::image(rows, cols)),
    ];
    let parameters = (0.01..1.0_f64, -4.0..0.0_f64, 1e-3..1.0_f64);
    (grid, any::<bool>(), parameters, balls()).prop_flat_map(|(grid, complex, parameters, ball)| {
        let grid = if complex { grid.complex() } else { grid };
        let len = grid.len();
        let vectors = [vector(len), vector(len), vector(len), vector(2 * len)];
        let (alpha, digits, xi) = parameters;
        let nu = 10_f64.powf(digits);
        let parameters = TvParameters { alpha, nu, xi };
        let fixed = (Just(grid), Just(parameters), Just(ball));
        (vectors, weights(grid.num_samples()), fixed)
            .prop_map(|(vectors, weights, (grid, p, ball))| (grid, vectors, weights, p, ball))
    })
}

/// All quotients of the models of a case: denoising of real pictures, and each operator.
fn all_quotients(
    (grid, vectors, weights, parameters, ball): (Grid, [Vec<f64>; 4], Vec<f64>, TvParameters, Ball),
    differences: Differences,
) -> Vec<[f64; 8]> {
    let [x, e, q, data] = vectors;
    let x = image(&ball, &x, grid, parameters.nu);
    let e = shaped(ball.e_kind, &e, grid);
    let q = shaped(ball.q_kind, &q, grid);
    let length = parameters.nu * 10_f64.powf(ball.digits) / norm(&e).max(1e-3);
    let e: Vec<f64> = e.iter().map(|e| e * length).collect();
    let at = [&x[..], &e[..], &q[..]];
    let mut found = Vec::new();
    if grid.num_axes() == 2 && grid.num_parts() == 1 {
        let model =
            Denoising::new(grid, &data[..grid.len()], parameters).expect("the arguments fit");
        found.push(quotients(&model, at));
    }
    let kernel_grid = if grid.num_axes() == 1 {
        Grid::line(9)
    } else {
        Grid::image(3, 3)
    };
    let measured = weights.iter().map(|&w| w < 1.0).collect();
    let mask = Mask::new(grid, measured).expect("the arguments fit");
    let blur = Convolution::new(grid, &[0.1; 9], kernel_grid).expect("the arguments fit");
    let data = &data[..grid.len()];
    let (uniform, diagonal) = (Weights::Uniform, Weights::Diagonal(&weights));
    let model =
        Variational::tv(&mask, data, diagonal, differences, parameters).expect("the arguments fit");
    found.push(quotients(&model, at));
    let model =
        Variational::tv(&blur, data, uniform, differences, parameters).expect("the arguments fit");
    found.push(quotients(&model, at));
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn bounds_in_a_ball_hold(case in bound_cases(), differences in differences()) {
        for quotients in all_quotients(case.clone(), differences) {
            for quotient in quotients {
                prop_assert!(quotient <= 1.0, "{quotients:?}");
            }
        }
    }
}

/// A regulariser without second derivatives: models with it offer none.
#[test]
fn models_without_second_derivatives_say_so() {
    struct Plain(SmoothedTv);
    impl Regularizer for Plain {
        fn dim(&self) -> usize {
            self.0.dim()
        }
        fn value(&self, x: &[f64]) -> f64 {
            self.0.value(x)
        }
        fn add_gradient(&self, weight: f64, x: &[f64], gradient: &mut [f64]) {
            self.0.add_gradient(weight, x, gradient);
        }
        fn lipschitz(&self) -> f64 {
            self.0.lipschitz()
        }
    }
    let grid = Grid::image(2, 2);
    let tv = SmoothedTv::new(grid, Differences::IMAGE_OF_PAPER, 0.1).unwrap();
    let identity = Identity::new(grid);
    let plain = Variational::new(&identity, &[0.0; 4], Weights::Uniform, Plain(tv), 0.1, 0.1);
    assert!(plain.unwrap().second_order().is_none());
    let smooth = Variational::new(&identity, &[0.0; 4], Weights::Uniform, tv, 0.1, 0.1);
    assert!(smooth.unwrap().second_order().is_some());
}

/// Numbers that are not finite, and differences whose squares overflow, make bounds infinite.
#[test]
fn bad_numbers_make_bounds_infinite() {
    let data = [0.0; 9];
    let parameters = TvParameters {
        alpha: 0.3,
        nu: 1e-3,
        xi: 1e-3,
    };
    let model = Denoising::new(Grid::image(3, 3), &data, parameters).unwrap();
    let mut scratch = model.scratch();
    for (bad, error) in [
        (f64::NAN, 0.1),
        (f64::INFINITY, 0.1),
        (1e200, 0.1),
        (0.0, f64::NAN),
        (0.0, -1.0),
    ] {
        let mut x = [0.5; 9];
        x[4] = bad;
        second_order(&model).linearise(&x, &mut scratch);
        let third = second_order(&model).third_order(
            &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.5],
            error,
            &mut scratch,
        );
        assert!(
            third.vector >= f64::INFINITY && third.value >= f64::INFINITY,
            "{bad} {error} {third:?}"
        );
        let bounds = model.tv_mixed_bounds(&x, &[1.0; 9], error, &mut scratch);
        assert!(
            bounds[0].norm >= f64::INFINITY && bounds[1].change >= f64::INFINITY,
            "{bad} {error} {bounds:?}"
        );
    }
}
