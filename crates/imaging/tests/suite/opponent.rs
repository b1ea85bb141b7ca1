//! Models of pictures in colour: slow twins, derivatives, constants, and bounds in random cases.

use imaging::colour::{ColourMeasurement, from_opponent, to_opponent, to_opponent_parts};
use imaging::{Differences, FilterBank, FilterRegularizer, Grid, Identity, MixedBound, ModelError};
use imaging::{
    Opponent, OpponentTv, OpponentTvParameters, TvMixed, TwoRoots, Variational, Weights,
};
use lowlevel::testing::{gradient_deviation, hessian_deviation, third_order_violation};
use lowlevel::{StronglyConvex, norm};
use proptest::prelude::*;

use crate::models::cases::Source;
use crate::reference::Dd;

/// The rows of the opponent transform, from its definition.
fn opponent_rows() -> [[Dd; 3]; 3] {
    let whole = |rows: [f64; 3], square: f64| {
        let root = Dd::from(square).sqrt();
        rows.map(|entry| Dd::from(entry) / root)
    };
    [
        whole([1.0, 1.0, 1.0], 3.0),
        whole([1.0, -1.0, 0.0], 2.0),
        whole([1.0, 1.0, -2.0], 6.0),
    ]
}

/// The opponent transform of a colour with 32 digits.
pub(crate) fn exact_opponent(colour: &[f64]) -> [Dd; 3] {
    opponent_rows().map(|row| {
        let terms = row.iter().zip(colour);
        terms.fold(Dd::default(), |sum, (a, &x)| sum + *a * Dd::from(x))
    })
}

fn parameters(source: &mut Source) -> OpponentTvParameters {
    OpponentTvParameters {
        luminance: source.power(-3.0, 0.5),
        chroma: source.power(-3.0, 0.5),
        nu: source.power(-3.0, -0.3),
        xi: source.power(-4.0, -1.0),
    }
}

/// A case of denoising in colour.
struct Case {
    grid: Grid,
    data: ColourMeasurement,
    values: Vec<f64>,
    x: Vec<f64>,
    q: Vec<f64>,
    parameters: OpponentTvParameters,
}

impl Case {
    fn new(source: &mut Source) -> Self {
        let grid = Grid::image(1 + source.choice(6), 1 + source.choice(6)).colour();
        let values = source.image(grid.num_samples(), 3);
        let scale = source.power(-2.0, 2.0);
        let q = source.direction(grid.num_samples(), 3);
        Self {
            grid,
            data: ColourMeasurement::new(grid, &values).expect("finite"),
            values,
            x: source.image(grid.num_samples(), 3),
            q: q.iter().map(|q| scale * q).collect(),
            parameters: parameters(source),
        }
    }

    fn model(&self, parameters: OpponentTvParameters) -> OpponentTv<'_> {
        Opponent::tv(&self.data, parameters).expect("valid")
    }
}

/// The value and the gradient of denoising in colour, straight from the definition.
fn slow_twin(case: &Case) -> (f64, Vec<f64>) {
    let OpponentTvParameters {
        luminance,
        chroma,
        nu,
        xi,
    } = case.parameters;
    let rows = opponent_rows().map(|row| row.map(Dd::to_f64));
    let (height, width) = case.grid.rows_and_cols();
    let (x, mut value) = (&case.x, 0.0);
    let mut gradient = vec![0.0; x.len()];
    for (j, x) in x.iter().enumerate() {
        value += 0.5 * (x - case.values[j]).powi(2) + 0.5 * xi * x * x;
        gradient[j] += x - case.values[j] + xi * x;
    }
    for row in 0..height {
        for col in 0..width {
            let here = row * width + col;
            let left = if col > 0 { here - 1 } else { here };
            let above = if row > 0 { here - width } else { here };
            // luminance sees the first row of the transform, chroma the other two
            for (weight, seen) in [(luminance, 0..1), (chroma, 1..3)] {
                let mut differences = Vec::new();
                for k in seen {
                    for other in [left, above] {
                        let difference: f64 = (0..3)
                            .map(|part| rows[k][part] * (x[3 * here + part] - x[3 * other + part]))
                            .sum();
                        differences.push((k, other, difference));
                    }
                }
                let squares: f64 = differences.iter().map(|(.., d)| d * d).sum();
                let root = (squares + nu * nu).sqrt();
                value += weight * root;
                for (k, other, difference) in differences {
                    for part in 0..3 {
                        let slope = weight * difference / root * rows[k][part];
                        gradient[3 * here + part] += slope;
                        gradient[3 * other + part] -= slope;
                    }
                }
            }
        }
    }
    (value, gradient)
}

fn relative(found: &[f64], expected: &[f64]) -> f64 {
    let difference: Vec<f64> = found.iter().zip(expected).map(|(a, b)| a - b).collect();
    norm(&difference) / norm(expected).max(1.0)
}

/// The mixed products with respect to both weights, the smoothing and the quadratic weight.
fn mixed(model: &OpponentTv<'_>, x: &[f64], q: &[f64]) -> [f64; 4] {
    let mut scratch = model.scratch();
    let parts = scratch.parts(x, q);
    let of_luminance = model
        .luminance()
        .tv_mixed_products(parts.x[0], parts.q[0], parts.luminance);
    let of_chroma = model
        .chroma()
        .tv_mixed_products(parts.x[1], parts.q[1], parts.chroma);
    let TvMixed { alpha, nu, xi } = of_luminance;
    [alpha, of_chroma.alpha, nu + of_chroma.nu, xi + of_chroma.xi]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn value_and_gradient_are_those_of_the_definition(seed in any::<u64>()) {
        let case = Case::new(&mut Source::new(seed));
        let model = case.model(case.parameters);
        let (value, gradient) = slow_twin(&case);
        let (mut found, mut scratch) = (vec![f64::NAN; case.x.len()], model.scratch());
        model.gradient(&case.x, &mut found, &mut scratch);
        let lipschitz = model.curvature().lipschitz();
        prop_assert!(relative(&found, &gradient) < 1e-14 * lipschitz);
        let found = model.value(&case.x, &mut scratch);
        prop_assert!((found - value).abs() < 1e-12 * value.abs().max(1.0));
    }

    #[test]
    fn derivatives_agree_with_differences(seed in any::<u64>()) {
        let case = Case::new(&mut Source::new(seed));
        let model = case.model(case.parameters);
        let OpponentTvParameters { nu, .. } = case.parameters;
        let lipschitz = model.curvature().lipschitz();
        prop_assert!(gradient_deviation(&model, &case.x, 1e-3 * nu) < 1e-6 * lipschitz);
        prop_assert!(hessian_deviation(&model, &case.x, 1e-3 * nu) < 1e-4);
        let at = |theta: &[f64]| {
            let [luminance, chroma, nu, xi] = [0, 1, 2, 3].map(|k| theta[k]);
            case.model(OpponentTvParameters { luminance, chroma, nu, xi })
        };
        let p = case.parameters;
        let deviation = lowlevel::testing::mixed_deviation(
            at,
            &[p.luminance, p.chroma, p.nu, p.xi],
            &case.x,
            &case.q,
            |x, q, out| out.copy_from_slice(&mixed(&model, x, q)),
            1e-4 * nu.min(p.xi),
        );
        prop_assert!(deviation < 1e-6, "{deviation}");
    }

    #[test]
    fn bounds_hold_in_random_balls(seed in any::<u64>()) {
        let source = &mut Source::new(seed);
        let case = Case::new(source);
        let model = case.model(case.parameters);
        let error = source.power(-5.0, 2.0) * case.parameters.nu;
        let violation = third_order_violation(&model, &case.x, &case.q, error, 4, seed);
        prop_assert!(violation <= 1.0, "{violation}");

        let e = source.direction(case.grid.num_samples(), 3);
        let size = error / norm(&e).max(1e-300);
        let there: Vec<f64> = case.x.iter().zip(&e).map(|(x, e)| x + size * e).collect();
        let mut scratch = model.scratch();
        let parts = scratch.parts(&case.x, &case.q);
        let bounds: [[MixedBound; 3]; 2] = [
            model.luminance().tv_mixed_bounds(parts.x[0], parts.q[0], error, parts.luminance),
            model.chroma().tv_mixed_bounds(parts.x[1], parts.q[1], error, parts.chroma),
        ];
        let (before, after) = (mixed(&model, &case.x, &case.q), mixed(&model, &there, &case.q));
        let allowed = [
            bounds[0][0].change,
            bounds[1][0].change,
            bounds[0][1].change + bounds[1][1].change,
            bounds[0][2].change + bounds[1][2].change,
        ];
        for k in 0..4 {
            let change = (after[k] - before[k]).abs();
            // the rounding of the products and of the point
            let rounding = 1e-13 * (after[k].abs() + before[k].abs() + norm(&case.q));
            prop_assert!(change <= allowed[k] * (1.0 + 1e-12) + rounding, "{k}: {change} {allowed:?}");
        }
    }

    /// `mu |v|^2 <= <v, Hv> <= L |v|^2`, and `mu` and `L` are those of the documentation.
    #[test]
    fn the_constants_hold(seed in any::<u64>()) {
        let source = &mut Source::new(seed);
        let case = Case::new(source);
        let model = case.model(case.parameters);
        let OpponentTvParameters { luminance, chroma, nu, xi } = case.parameters;
        let curvature = model.curvature();
        let expected = 1.0 + xi + 8.0 * luminance.max(chroma) / nu;
        prop_assert!((curvature.strong_convexity() - (1.0 + xi)).abs() < 1e-15);
        prop_assert!((curvature.lipschitz() - expected).abs() < 1e-14 * expected);
        let second = model.second_order().expect("second derivatives");
        let (mut scratch, mut product) = (model.scratch(), vec![0.0; case.x.len()]);
        second.linearise(&case.x, &mut scratch);
        for _ in 0..3 {
            let v = source.direction(case.grid.num_samples(), 3);
            second.hessian_product(&v, &mut product, &mut scratch);
            let square: f64 = v.iter().map(|v| v * v).sum();
            let curved: f64 = v.iter().zip(&product).map(|(v, h)| v * h).sum();
            prop_assert!(curved >= curvature.strong_convexity() * square * (1.0 - 1e-12));
            prop_assert!(curved <= curvature.lipschitz() * square * (1.0 + 1e-12));
        }
    }

    /// Both directions of the transform are accurate, and undo each other.
    #[test]
    fn the_transform_is_accurate(colour in prop::array::uniform3(-3.0..3.0_f64), scale in -6..6_i32) {
        let colour = colour.map(|c| c * 10_f64.powi(scale));
        let found = to_opponent(colour);
        let size = norm(&colour);
        let exact = exact_opponent(&colour);
        let error: Vec<f64> = (0..3).map(|k| (exact[k] - Dd::from(found[k])).to_f64()).collect();
        // 8 unit roundoffs, the bound of the model
        prop_assert!(norm(&error) <= 4.0 * f64::EPSILON * size);
        let back = from_opponent(found);
        prop_assert!(relative(&back.map(|c| c / size), &colour.map(|c| c / size)) < 1e-15);
        let rows = opponent_rows();
        let exact = [0, 1, 2].map(|part| {
            (0..3).fold(Dd::default(), |sum, k| sum + rows[k][part] * Dd::from(found[k]))
        });
        let error: Vec<f64> = (0..3).map(|k| (exact[k] - Dd::from(back[k])).to_f64()).collect();
        prop_assert!(norm(&error) <= 4.0 * f64::EPSILON * size);
    }
}

/// A model of filter banks is one with the same banks on luminance and chroma alone.
#[test]
fn filter_banks_see_luminance_and_chroma() {
    let source = &mut Source::new(7);
    let grid = Grid::image(9, 11);
    let data = source.image(grid.num_samples(), 3);
    let [luminance, chroma] = to_opponent_parts(&data);
    let bank = |alpha| {
        let potential = TwoRoots {
            alpha,
            nu: 0.02,
            beta: 0.5 * alpha,
            omega: 0.1,
        };
        FilterBank::dct(3, vec![potential; 8]).expect("valid")
    };
    let model = |bank: FilterBank, grid: Grid, data: &'static [f64]| {
        let filters = FilterRegularizer::new(bank, grid).expect("not empty");
        Variational::new(
            Identity::new(grid),
            data,
            Weights::Uniform,
            filters,
            1.0,
            0.0,
        )
        .expect("convex")
    };
    let model = Opponent::new(
        model(bank(0.02), grid, luminance.leak()),
        model(bank(0.03), grid.complex(), chroma.leak()),
    )
    .expect("the sizes fit");
    let x = source.image(grid.num_samples(), 3);
    assert!(gradient_deviation(&model, &x, 1e-5) < 1e-7);
    assert!(hessian_deviation(&model, &x, 1e-5) < 1e-5);
    let q = source.vector(x.len());
    for (seed, error) in [(1, 1e-3), (2, 0.1), (3, 3.0)] {
        assert!(third_order_violation(&model, &x, &q, error, 8, seed) <= 1.0);
    }
    // the metric is that of luminance and of chroma
    let metric = |part: &Variational<'_, Identity, FilterRegularizer>, x: &[f64], q: &[f64]| {
        let (mut scratch, mut product) = (part.scratch(), vec![0.0; x.len()]);
        let second = part.second_order().expect("second derivatives");
        second.set_metric(x, &mut scratch);
        second.apply_metric(q, &mut product, &mut scratch);
        product
    };
    let [of_x, of_q] = [&x, &q].map(|vector| to_opponent_parts(vector));
    let expected = [
        metric(model.luminance(), &of_x[0], &of_q[0]),
        metric(model.chroma(), &of_x[1], &of_q[1]),
    ];
    let second = model.second_order().expect("second derivatives");
    assert!(second.metric().is_some());
    let (mut scratch, mut found) = (model.scratch(), vec![0.0; x.len()]);
    second.set_metric(&x, &mut scratch);
    second.apply_metric(&q, &mut found, &mut scratch);
    for (found, expected) in to_opponent_parts(&found).iter().zip(&expected) {
        assert!(relative(found, expected) < 1e-12);
    }
    // rough gradients are rough, but not more than their bound
    let [mut rough, mut gradient] = [(); 2].map(|()| vec![0.0; x.len()]);
    model.rough_gradient(&x, &mut rough, &mut scratch);
    model.gradient(&x, &mut gradient, &mut scratch);
    let error: Vec<f64> = rough.iter().zip(&gradient).map(|(a, b)| a - b).collect();
    let bound = model.rough_rounding(norm(&x), norm(&rough)).expect("rough");
    assert!(norm(&error) > 0.0 && norm(&error) <= bound && bound < norm(&gradient));
    let least = model.luminance().curvature().strong_convexity();
    let of_chroma = model.chroma().curvature().strong_convexity();
    let found = model.curvature().strong_convexity();
    assert!((found - least.min(of_chroma)).abs() < 1e-15);
}

#[test]
fn grids_that_do_not_fit_are_refused() {
    let grid = Grid::image(2, 2);
    let needs = |error: Result<ColourMeasurement, ModelError>, text: &str| {
        let message = error.expect_err("refused").to_string();
        assert!(message.contains(text), "{message}");
    };
    needs(
        ColourMeasurement::new(grid, &[0.0; 4]),
        "Grid::image(rows, cols).colour()",
    );
    needs(
        ColourMeasurement::new(Grid::image(0, 2).colour(), &[]),
        "no samples",
    );
    needs(ColourMeasurement::new(grid.colour(), &[0.0; 4]), "12");
    needs(
        ColourMeasurement::new(grid.colour(), &[f64::NAN; 12]),
        "data",
    );
    let colour = grid.colour();
    let tv = imaging::SmoothedTv::new(colour, Differences::IMAGE_OF_PAPER, 0.1);
    assert!(tv.expect_err("refused").to_string().contains("Opponent"));
    let bank = FilterBank::dct(3, vec![TwoRoots::convex(0.1, 0.1); 8]).expect("valid");
    let filters = FilterRegularizer::new(bank, colour);
    assert!(
        filters
            .expect_err("refused")
            .to_string()
            .contains("Opponent")
    );
    assert!(imaging::Fourier::new(colour).is_err());
    let real = Variational::tv(
        Identity::new(grid),
        &[0.0; 4],
        Weights::Uniform,
        Differences::IMAGE_OF_PAPER,
        imaging::TvParameters {
            alpha: 0.1,
            nu: 0.1,
            xi: 0.1,
        },
    )
    .expect("valid");
    assert!(Opponent::new(real, real).is_err());
}
