//! Complex pictures from some of their frequencies: derivatives, coils, and the error bound from a
//! Newton step.

use imaging::testing::{adjoint_deviation, spectrum_violation};
use imaging::{
    CoilFourier, FilterBank, FilterRegularizer, FourierMeasurement, FourierPicture, LinearOperator,
    ModelError, Regularizer, Seed, SmoothedTv, TvParameters, TwoRoots, Variational, Weights, noise,
    phantom,
};
use lowlevel::testing::{hessian_deviation, mixed_deviation, third_order_violation};
use lowlevel::{
    ErrorBound, Method, NewtonPoint, NewtonSteps, SecondOrder, Solver, State, Stop, StronglyConvex,
    norm,
};

pub(crate) use crate::random::PseudoRandom;

/// A measurement with everything that a model borrows.
struct Case {
    fourier: CoilFourier,
    data: Vec<f64>,
    weights: Vec<f64>,
    parameters: TvParameters,
    /// The relative weights of filters; without any, the regulariser is total variation.
    filters: Vec<f64>,
}

impl Case {
    fn random(random: &mut PseudoRandom, index: usize) -> Self {
        let rows = random.choose(&[4, 5, 8, 12, 16]);
        let cols = random.choose(&[4, 6, 8, 9, 16]);
        let coils = random.choose(&[0, 0, 1, 3]);
        let fourier = if coils == 0 {
            CoilFourier::single(rows, cols).expect("valid")
        } else {
            CoilFourier::new(rows, cols, &random.take(2 * coils * rows * cols)).expect("valid")
        };
        let truth = phantom::head(rows, cols, Seed::new(5), index).expect("valid");
        let mut data = vec![0.0; fourier.codomain().len()];
        fourier.apply(&truth, &mut data, &mut fourier.scratch());
        let sigma = random.choose(&[0.0, 0.02, 0.2]);
        let data = noise::complex_gaussian(&data, sigma, Seed::new(5), index).expect("valid");
        let share = random.choose(&[-0.5, 0.0, 0.5]);
        let by_line = random.next() > 0.0;
        let lines: Vec<f64> = random.take(cols);
        let weights = (0..rows * cols).map(|index| {
            let draw = if by_line {
                lines[index % cols]
            } else {
                random.next()
            };
            if index == 0 || draw > share { 1.0 } else { 0.0 }
        });
        let weights = weights.collect();
        let parameters = TvParameters {
            alpha: random.exponent(-4.0, -0.5),
            nu: random.exponent(-3.0, -0.5),
            xi: random.exponent(-4.0, -1.0),
        };
        let num_filters = random.choose(&[0, 8, 8, 24]);
        let filters = (0..num_filters).map(|_| match random.choose(&[true, true, false]) {
            true => random.exponent(-1.0, 1.0),
            false => 0.0,
        });
        Self {
            fourier,
            data,
            weights,
            parameters,
            filters: filters.collect(),
        }
    }

    /// The model with other weights, parameters and filters.
    fn with(
        &self,
        weights: &[f64],
        parameters: TvParameters,
        filters: &[f64],
    ) -> FourierPicture<'_> {
        let model = FourierPicture::new(&self.fourier, &self.data, weights, parameters);
        let model = model.expect("valid");
        match filters {
            [] => model,
            filters => model.with_filters(filters).expect("valid"),
        }
    }

    fn objective(&self) -> FourierPicture<'_> {
        self.with(&self.weights, self.parameters, &self.filters)
    }

    fn general<'a, R: Regularizer>(
        &'a self,
        regularizer: R,
        all: &'a [f64],
    ) -> Variational<'a, &'a CoilFourier, R> {
        let TvParameters { alpha, xi, .. } = self.parameters;
        let (data, weights) = (&self.data[..], Weights::Diagonal(all));
        Variational::new(&self.fourier, data, weights, regularizer, alpha, xi).expect("valid")
    }
}

fn gradient_of<O: StronglyConvex>(objective: &O, x: &[f64]) -> Vec<f64> {
    let mut gradient = vec![0.0; x.len()];
    objective.gradient(x, &mut gradient, &mut objective.scratch());
    gradient
}

pub(crate) fn distance(a: &[f64], b: &[f64]) -> f64 {
    norm(&a.iter().zip(b).map(|(a, b)| a - b).collect::<Vec<_>>())
}

#[test]
fn is_the_general_model_with_newton_steps() {
    let mut random = PseudoRandom(3);
    for index in 0..40 {
        let case = Case::random(&mut random, index);
        let all = case.weights.repeat(case.fourier.num_coils());
        let (grid, nu) = (case.fourier.domain(), case.parameters.nu);
        if case.filters.is_empty() {
            let tv = SmoothedTv::new(grid, FourierPicture::DIFFERENCES, nu).expect("valid");
            check_general(&case, &case.general(tv, &all), &mut random);
        } else {
            let size = if case.filters.len() == 8 { 3 } else { 5 };
            let potentials = case.filters.iter().map(|r| TwoRoots::convex(*r, nu));
            let bank = FilterBank::dct(size, potentials.collect()).expect("valid");
            let filters = FilterRegularizer::new(bank, grid).expect("valid");
            check_general(&case, &case.general(filters, &all), &mut random);
        }
    }
}

/// Checks that a model is the same as a composed one.
fn check_general<O: StronglyConvex>(case: &Case, general: &O, random: &mut PseudoRandom) {
    let objective = case.objective();
    let x = random.take(objective.dim());
    let (own, known) = (gradient_of(&objective, &x), gradient_of(general, &x));
    assert!(distance(&own, &known) < 1e-12 * norm(&known));
    let values = [
        objective.value(&x, &mut objective.scratch()),
        general.value(&x, &mut general.scratch()),
    ];
    assert!((values[0] - values[1]).abs() < 1e-12 * values[1]);
    assert_eq!(objective.curvature(), general.curvature());
    let [mut fast, mut slow] = [0, 1].map(|_| State::new(vec![0.0; x.len()]));
    let stop = Stop::accuracy(ErrorBound::new(1e-5).expect("valid"));
    let solved = Solver::default()
        .minimize(&objective, stop, &mut fast, &mut objective.scratch())
        .expect("valid");
    assert!(solved.error.value() <= 1e-5, "{solved:?}");
    let solver = Solver {
        method: Method::HeavyBall,
        ..Solver::default()
    };
    let stop = stop.with_max_iterations(20_000);
    let slow_solved = solver
        .minimize(general, stop, &mut slow, &mut general.scratch())
        .expect("valid");
    let apart = distance(fast.point(), slow.point());
    assert!(
        apart <= solved.error.value() + slow_solved.error.value(),
        "{apart}"
    );
}

#[test]
fn derivatives_are_those_of_the_gradient() {
    let mut random = PseudoRandom(4);
    for index in 0..40 {
        let case = Case::random(&mut random, index);
        let objective = case.objective();
        let dim = objective.dim();
        let (x, q) = (random.take(dim), random.take(dim));
        let tolerance = if case.filters.is_empty() { 1e-5 } else { 1e-4 };
        assert!(hessian_deviation(&objective, &x, 1e-6) < tolerance);
        assert!(third_order_violation(&objective, &x, &q, 1e-3, 4, 1) <= 1.0);
        // all weights, the parameters of the regulariser, and the weights of filters
        let count = case.weights.len();
        let TvParameters { alpha, nu, xi } = case.parameters;
        let weights = case.weights.iter().map(|s| s + 0.5);
        let filters = case.filters.iter().map(|r| r + 0.1);
        let theta: Vec<f64> = weights.chain([alpha, nu, xi]).chain(filters).collect();
        let at = |theta: &[f64]| {
            let parameters = TvParameters {
                alpha: theta[count],
                nu: theta[count + 1],
                xi: theta[count + 2],
            };
            case.with(&theta[..count], parameters, &theta[count + 3..])
        };
        let products = |x: &[f64], q: &[f64], out: &mut [f64]| {
            let objective = at(&theta);
            let mut scratch = objective.scratch();
            let (weights, rest) = out.split_at_mut(count);
            objective.weight_products(x, q, weights, &mut scratch);
            let (tv, filters) = rest.split_at_mut(3);
            let mixed = objective.mixed_products(x, q, &mut scratch);
            tv.copy_from_slice(&[mixed.alpha, mixed.nu, mixed.xi]);
            filters.copy_from_slice(&objective.filter_products(x, q));
        };
        assert!(mixed_deviation(at, &theta, &x, &q, products, 1e-6 * nu.min(alpha)) < 1e-4);
    }
}

#[test]
fn mixed_bounds_hold_in_the_ball() {
    let mut random = PseudoRandom(8);
    for index in 0..40 {
        let case = Case::random(&mut random, index);
        let objective = case.objective();
        let mut scratch = objective.scratch();
        let dim = objective.dim();
        let (x, q) = (random.take(dim), random.take(dim));
        let error = random.exponent(-6.0, 0.0);
        let count = case.weights.len();
        let mut bounds = vec![imaging::MixedBound::UNKNOWN; count];
        objective.weight_bounds(&x, &q, error, &mut bounds, &mut scratch);
        let direction = random.take(dim);
        let step = error / norm(&direction);
        let moved: Vec<f64> = x
            .iter()
            .zip(&direction)
            .map(|(x, d)| x + step * d)
            .collect();
        let [mut here, mut there] = [vec![0.0; count], vec![0.0; count]];
        objective.weight_products(&x, &q, &mut here, &mut scratch);
        objective.weight_products(&moved, &q, &mut there, &mut scratch);
        for ((bound, here), there) in bounds.iter().zip(&here).zip(&there) {
            assert!((here - there).abs() <= bound.change);
            assert!(there.abs() <= bound.norm * norm(&q) * (1.0 + 1e-12));
        }
    }
}

#[test]
fn solves_systems_with_the_hessian() {
    let mut random = PseudoRandom(5);
    for index in 0..40 {
        let case = Case::random(&mut random, index);
        let objective = case.objective();
        let mut scratch = objective.scratch();
        let dim = objective.dim();
        let (x, rhs) = (random.take(dim), random.take(dim));
        for mut q in [vec![0.0; dim], random.take(dim)] {
            objective.linearise(&x, &mut scratch);
            let cost = objective.solve(&rhs, &mut q, 1e-8, &mut scratch);
            assert!(cost.is_some_and(|cost| cost > 0.0));
            let mut product = vec![0.0; dim];
            objective.hessian_product(&q, &mut product, &mut scratch);
            // products of filters are less accurate than the system
            let rounding = objective.product_rounding(norm(&q));
            assert!(
                distance(&product, &rhs) < 1e-7 + rounding,
                "{}",
                distance(&product, &rhs)
            );
        }
    }
}

/// Checks `num_cases` random points: none may be farther from the minimiser than the bound says.
fn check_bound(num_cases: usize) {
    let mut random = PseudoRandom(6);
    let (mut sharper, mut checked, mut index) = (0, 0, 0);
    while checked < num_cases {
        let case = Case::random(&mut random, index);
        index += 1;
        let objective = case.objective();
        let mut scratch = objective.scratch();
        let mut state = State::new(vec![0.0; objective.dim()]);
        let stop = Stop::accuracy(ErrorBound::new(1e-10).expect("valid")).with_max_iterations(200);
        let solved = Solver::default()
            .minimize(&objective, stop, &mut state, &mut scratch)
            .expect("valid");
        // Newton's method ends at the floor of rounding, where the gradient's bound is certain.
        let gradient = gradient_of(&objective, state.point());
        let mu = objective.curvature().strong_convexity();
        let rounding = objective.gradient_rounding(norm(state.point()), norm(&gradient));
        let known = (norm(&gradient) + rounding) / mu;
        assert!(known < 1e-4, "{solved:?} {known:e}");
        for kind in 0..10 {
            let direction = match kind % 3 {
                0 => random.take(objective.dim()),
                1 => {
                    let mut spike = vec![0.0; objective.dim()];
                    let at = random.choose(&(0..spike.len()).collect::<Vec<_>>());
                    spike[at] = 1.0;
                    spike
                }
                _ => {
                    let gradient = gradient_of(&objective, &random.take(objective.dim()));
                    let mut step = vec![0.0; gradient.len()];
                    objective.linearise(state.point(), &mut scratch);
                    objective.solve(&gradient, &mut step, 1e-6, &mut scratch);
                    step
                }
            };
            let size = random.exponent(-7.0, 0.5) / norm(&direction);
            let entries = state.point().iter().zip(&direction);
            let x: Vec<f64> = entries.map(|(x, d)| x + size * d).collect();
            let true_error = distance(&x, state.point());
            let gradient = gradient_of(&objective, &x);
            let at = NewtonPoint {
                x: &x,
                gradient: &gradient,
                gradient_norm: norm(&gradient),
                dual: &vec![0.0; NewtonSteps::num_duals(&objective)],
                target_norm: 0.0,
            };
            let (bound, cost) = objective.sharper_bound(&at, &mut scratch).expect("valid");
            assert!(cost > 1.0);
            let bound = bound.value();
            assert!(
                bound + known >= true_error,
                "case {index}: {bound:e} < {true_error:e}"
            );
            let plain =
                (norm(&gradient) + objective.gradient_rounding(norm(&x), norm(&gradient))) / mu;
            assert!(bound <= plain * (1.0 + 1e-12));
            checked += 1;
            sharper += usize::from(bound < 0.9 * plain);
        }
    }
    assert!(
        2 * sharper > num_cases,
        "sharper in {sharper} of {num_cases}"
    );
}

#[test]
fn no_point_violates_the_bound() {
    check_bound(400);
}

#[test]
#[ignore = "takes minutes"]
fn no_point_of_ten_thousand_violates_the_bound() {
    check_bound(10_000);
}

/// On a head with a quarter of its lines, certified errors are at most five times the true ones,
/// and those from gradients alone many times. With a small nu, Newton systems need more than a
/// hundred iterations.
#[test]
fn certified_errors_are_close_to_true_ones() {
    const SIZE: usize = 64;
    let fourier = CoilFourier::single(SIZE, SIZE).expect("valid");
    let truth = phantom::head(SIZE, SIZE, Seed::new(1), 0).expect("valid");
    let mut data = vec![0.0; truth.len()];
    fourier.apply(&truth, &mut data, &mut fourier.scratch());
    let data = noise::complex_gaussian(&data, 0.02, Seed::new(1), 0).expect("valid");
    let is_measured = |line: usize| line.min(SIZE - line) <= 4 || line % 7 == 3;
    let weights: Vec<f64> = (0..SIZE * SIZE)
        .map(|index| if is_measured(index % SIZE) { 1.0 } else { 0.0 })
        .collect();
    let data = FourierMeasurement::of_picture(&fourier, &data).expect("valid");
    let filters = [0.5, 0.7, 0.4, 0.2, 0.7, 0.6, 0.6, 1.4];
    let cases = [(0.003, 0.01), (0.008, 3e-4)]
        .into_iter()
        .flat_map(|(alpha, nu)| [(alpha, nu, &[][..]), (alpha, nu, &filters[..])]);
    for (alpha, nu, filters) in cases {
        let xi = 1e-3;
        let parameters = TvParameters { alpha, nu, xi };
        let objective = FourierPicture::of_measurement(&fourier, &data, &weights, parameters);
        let objective = match filters {
            [] => objective.expect("valid"),
            filters => (objective.expect("valid").with_filters(filters)).expect("valid"),
        };
        let mut scratch = objective.scratch();
        let mut solve = |target: f64| {
            let mut state = State::new(vec![0.0; truth.len()]);
            let stop = Stop::accuracy(ErrorBound::new(target).expect("valid"));
            let solved = Solver::default()
                .minimize(&objective, stop, &mut state, &mut scratch)
                .expect("valid");
            (state.point().to_vec(), solved)
        };
        let (exact, _) = solve(1e-9);
        for target in [1e-2, 1e-3, 1e-4] {
            let (x, solved) = solve(target);
            let certified = solved.error.value();
            let true_error = distance(&x, &exact);
            assert!(
                true_error <= certified && certified <= target,
                "{certified:e}"
            );
            assert!(
                certified <= 5.0 * true_error,
                "{certified:e} for {true_error:e}"
            );
            let plain = norm(&gradient_of(&objective, &x)) / parameters.xi;
            assert!(plain > 15.0 * true_error, "{plain:e} for {true_error:e}");
        }
    }
}

#[test]
fn coils_are_an_operator_with_adjoint_and_spectrum() {
    let mut random = PseudoRandom(7);
    for index in 0..20 {
        let case = Case::random(&mut random, index);
        let fourier = &case.fourier;
        let (x, y) = (
            random.take(fourier.domain().len()),
            random.take(fourier.codomain().len()),
        );
        assert!(adjoint_deviation(fourier, &x, &y) < 1e-13);
        let weights = case.weights.repeat(fourier.num_coils());
        assert!(spectrum_violation(fourier, Weights::Diagonal(&weights), &x) < 1e-12);
        assert!(spectrum_violation(fourier, Weights::Uniform, &x) < 1e-12);
    }
}

#[test]
fn misuse_is_reported() {
    let wrong = |rows, cols, maps: &[f64]| CoilFourier::new(rows, cols, maps).expect_err("invalid");
    assert_eq!(wrong(0, 3, &[]), ModelError::EmptyGrid);
    let length = |expected, found| ModelError::WrongLength {
        name: "maps",
        expected,
        found,
    };
    assert_eq!(wrong(2, 2, &[1.0; 12]), length(16, 12));
    assert_eq!(wrong(2, 2, &[]), length(8, 0));
    assert!(matches!(
        wrong(2, 2, &[f64::NAN; 8]),
        ModelError::NonFinite {
            name: "maps",
            index: 0
        }
    ));
    assert!(matches!(
        wrong(2, 2, &[0.0; 8]),
        ModelError::OutOfRange { .. }
    ));
    let fourier = CoilFourier::single(2, 2).expect("valid");
    let parameters = TvParameters {
        alpha: 0.1,
        nu: 0.1,
        xi: 0.1,
    };
    let model = |data: &[f64], weights: &[f64], xi| {
        let parameters = TvParameters { xi, ..parameters };
        FourierPicture::new(&fourier, data, weights, parameters)
            .map(|_| ())
            .expect_err("invalid")
    };
    let (data, weights) = ([1.0; 8], [1.0; 4]);
    assert!(matches!(
        model(&[1.0; 4], &weights, 0.1),
        ModelError::WrongLength { name: "data", .. }
    ));
    assert!(matches!(
        model(&[f64::NAN; 8], &weights, 0.1),
        ModelError::NonFinite { .. }
    ));
    assert!(matches!(
        model(&data, &[1.0; 8], 0.1),
        ModelError::WrongLength {
            name: "weights",
            ..
        }
    ));
    assert!(matches!(
        model(&data, &[-1.0; 4], 0.1),
        ModelError::NegativeWeight { index: 0 }
    ));
    // A mask of zeros needs a positive xi.
    assert!(matches!(
        model(&data, &[0.0; 4], 0.0),
        ModelError::Curvature(_)
    ));
    let model = FourierPicture::new(&fourier, &data, &[0.0; 4], parameters).expect("valid");
    let filters = |relative: &[f64]| model.clone().with_filters(relative).map(|_| ());
    assert_eq!(filters(&[0.0; 8]), Ok(()));
    assert!(matches!(
        filters(&[1.0; 9]),
        Err(ModelError::OutOfRange {
            name: "the number of filters",
            ..
        })
    ));
    for wrong in [-1.0, f64::NAN, f64::INFINITY] {
        assert!(filters(&[wrong; 8]).is_err(), "{wrong}");
    }
}
