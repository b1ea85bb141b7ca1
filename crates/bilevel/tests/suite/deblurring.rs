//! Deblurring and inpainting: convex filter banks, kernels whose width is learned, missing pixels,
//! and pictures in colour. Certified errors of these families and of denoising with slanted filters
//! and in colour.

use bilevel::testing::derivatives_deviation;
use bilevel::{
    Choice, ColourFamily, Deblurring, Family, FamilyInput, FamilyKind, FilterChoices,
    FilterDenoising, FilterSet, Inpainting, LearningProblem, LowerLevel, Pair, Parameter, Setup,
    Spec, TvChoices, TvDeblurring, reconstruct,
};
use imaging::{
    BlurBoundary, Grid, Kernel, KernelShape, Mask, Seed, blurred, noise, phantom, quality,
};
use lowlevel::{ErrorBound, Solver, Stop};

const DCT3: FilterSet = FilterSet {
    size: 3,
    is_learned: false,
};

/// A picture that was blurred by a camera, with noise.
fn pair(size: usize, kernel: &Kernel, index: usize) -> Pair {
    let seed = Seed::new(5);
    let (rows, cols) = kernel.grid().rows_and_cols();
    let scene = Grid::image(size + rows - 1, size + cols - 1);
    let truth = phantom::dead_leaves(size + rows - 1, size + cols - 1, seed, index).expect("valid");
    let (data, window) = blurred(&truth, scene, kernel).expect("valid");
    let mut inside = vec![0.0; data.len()];
    window.crop(&truth, &mut inside);
    Pair {
        grid: window.inner(),
        truth: inside,
        data: noise::gaussian(&data, 0.01, seed, index).expect("valid"),
    }
}

fn learned(start: f64, lower: f64, upper: f64) -> Choice {
    let [start, lower, upper] = [start, lower, upper].map(f64::log10);
    Choice::Learned {
        start,
        lower,
        upper,
    }
}

fn filters() -> FilterChoices {
    FilterChoices::new(DCT3, 1e-3).expect("valid")
}

/// Total variation with fixed nu and xi, good for noise 0.01.
fn tv() -> TvChoices {
    TvChoices {
        alpha: learned(1e-3, 1e-6, 1.0),
        nu: Choice::Fixed(0.01),
        xi: Choice::Fixed(1e-3),
    }
}

/// A blur by a fixed kernel.
fn blur<C>(choices: C) -> Deblurring<C> {
    let kernel = KernelShape::Disc { radius: 1.2 }.kernel();
    Deblurring::new(choices, kernel, BlurBoundary::Unknown)
}

/// A blur by a Gaussian whose width is learned.
fn wide<C>(choices: C) -> Deblurring<C> {
    let shape = KernelShape::Gaussian { deviation: 0.6 };
    let width = learned(0.6, 0.4, 0.65);
    Deblurring::with_width(choices, shape, width, BlurBoundary::Unknown).expect("valid")
}

fn inpainting<C>(choices: C, grid: Grid) -> Inpainting<C> {
    let measured = (0..42).map(|k| k % 3 != 1).collect();
    let mask = Mask::new(grid, measured).expect("valid");
    Inpainting { choices, mask }
}

/// Denoising with filter banks that are not convex, and in colour.
fn denoising() -> Vec<(&'static str, Family)> {
    let filters = |name: &str| FilterDenoising::new(name.parse().expect("a set")).expect("valid");
    let in_colour =
        |name: &str| ColourFamily::filters(name.parse().expect("a set")).expect("valid");
    let TvChoices { alpha, nu, xi } = TvChoices::default();
    vec![
        ("learned3", Family::Filters(filters("learned3"))),
        ("learned5", Family::Filters(filters("learned5"))),
        (
            "colour TV",
            Family::Colour(ColourFamily::tv([alpha; 2], nu, xi)),
        ),
        ("colour dct3", Family::ColourFilters(in_colour("dct3"))),
        (
            "colour learned3",
            Family::ColourFilters(in_colour("learned3")),
        ),
    ]
}

/// Every family of deblurring and inpainting, for pictures of 7 x 6 pixels.
fn families() -> Vec<(&'static str, Family)> {
    let gaussian = KernelShape::Gaussian { deviation: 0.6 }.kernel();
    let grid = Grid::image(7, 6);
    let tvs = TvChoices::default;
    vec![
        ("total variation", Family::Deblurring(blur(tvs()))),
        ("filters", Family::FilterDeblurring(blur(filters()))),
        ("width", Family::Deblurring(wide(tvs()))),
        (
            "periodic",
            Family::FilterDeblurring(Deblurring::new(filters(), gaussian, BlurBoundary::Periodic)),
        ),
        (
            "filters and width",
            Family::FilterDeblurring(wide(filters())),
        ),
        (
            "inpainting",
            Family::FilterInpainting(inpainting(filters(), grid)),
        ),
        (
            "colour",
            Family::ColourDeblurring(ColourFamily::new(wide(tvs()), wide(tvs()), &["width"])),
        ),
        (
            "colour filters",
            Family::ColourFilterDeblurring(ColourFamily::new(
                blur(filters()),
                blur(filters()),
                &[],
            )),
        ),
        (
            "colour inpainting",
            Family::ColourInpainting(ColourFamily::new(
                inpainting(tvs(), grid),
                inpainting(tvs(), grid.complex()),
                &["nu"],
            )),
        ),
        (
            "colour filters inpainting",
            Family::ColourFilterInpainting(ColourFamily::new(
                inpainting(filters(), grid),
                inpainting(filters(), grid.complex()),
                &[],
            )),
        ),
    ]
}

/// Random numbers, some of them missing.
fn picture(seed: u64, grid: Grid, with_missing: bool) -> Vec<f64> {
    let values = noise::gaussian(&vec![0.5; grid.len()], 0.3, Seed::new(seed), 0).expect("valid");
    let is_missing = |k: usize| with_missing && (k as u64 * 7 + seed).is_multiple_of(11);
    let values = values.into_iter().enumerate();
    values
        .map(|(k, value)| if is_missing(k) { f64::NAN } else { value })
        .collect()
}

/// Values of the parameters at random shares of the distance between their bounds, in the inner
/// part of which reconstructions do not take forever.
fn values(family: &Family, shares: &mut impl Iterator<Item = f64>) -> Vec<f64> {
    let parameters = family.parameters();
    let entries = Parameter::of_entries(&parameters).zip(Parameter::starts_of(&parameters));
    entries
        .map(|(parameter, start)| {
            let reach = (0.5 * (parameter.upper - parameter.lower)).min(1.0);
            let theta = start + reach * (2.0 * shares.next().unwrap_or(0.5) - 1.0);
            let theta = theta.clamp(parameter.lower + 1e-3, parameter.upper - 1e-3);
            parameter.map.value(theta)
        })
        .collect()
}

/// Numbers between 0 and 1, without the ends, because a filter whose only coefficient is zero is
/// refused.
fn shares(seed: u64) -> impl Iterator<Item = f64> {
    let grid = Grid::line(200);
    let numbers = noise::gaussian(&vec![0.0; grid.len()], 1.0, Seed::new(seed), 1).expect("valid");
    numbers
        .into_iter()
        .map(|x| (0.5 + 0.3 * x).clamp(1e-3, 0.999))
}

fn grid_of(name: &str) -> Grid {
    let grid = Grid::image(7, 6);
    match name.starts_with("colour") {
        true => grid.colour(),
        false => grid,
    }
}

/// The derivatives with respect to all parameters, against central differences of the gradient.
#[test]
fn derivatives_are_slopes() {
    for (name, family) in families() {
        let grid = grid_of(name);
        for seed in 0..4 {
            let data = picture(seed, grid, seed > 1);
            let values = values(&family, &mut shares(seed));
            let unknown = family.window(grid).outer();
            let [x, q] = [10, 20].map(|more| picture(more + seed, unknown, false));
            let deviation =
                derivatives_deviation(&family, &values, grid, &data, &x, &q, 1e-5).expect("valid");
            assert!(deviation < 1e-6, "{name}: {deviation}");
        }
    }
}

/// The solves of each random problem, besides a long one.
const NUM_SOLVES: u64 = 5;

/// Certified errors of rough reconstructions are true: `cases` solves of random problems of every
/// family.
fn check_certified(cases: u64) {
    for (name, family) in families().into_iter().chain(denoising()) {
        let grid = grid_of(name);
        for seed in 0..cases / NUM_SOLVES {
            let data = picture(seed, grid, family.takes_missing() && seed % 2 == 1);
            let mut shares = shares(1000 + seed);
            let values = values(&family, &mut shares);
            let solve = |target: f64| {
                let stop = Stop::accuracy(ErrorBound::new(target).expect("valid"));
                let made = reconstruct(&family, &values, grid, &data, Solver::default(), stop);
                let made = made.expect("valid");
                (made.x, made.solved.error.value())
            };
            let (exact, rest) = solve(1e-8);
            assert!(rest < 1e-5, "{name}, {seed}: {rest}");
            for _ in 0..NUM_SOLVES {
                let (rough, error) = solve(10_f64.powf(-3.0 * shares.next().unwrap_or(0.5)));
                let apart = exact.iter().zip(&rough).map(|(a, b)| (a - b).powi(2));
                let apart = apart.sum::<f64>().sqrt();
                assert!(
                    apart <= error + rest,
                    "{name}, {seed}: {apart} {error} {rest}"
                );
            }
        }
    }
}

#[test]
fn certified_errors_are_true() {
    check_certified(40);
}

/// `cargo test --release -p bilevel --all-features --test suite many_certified -- --ignored`
#[test]
#[ignore = "takes minutes"]
fn many_certified_errors_are_true() {
    check_certified(10_000);
}

/// The width of a blur is found from pairs.
#[test]
fn widths_are_learned() {
    for (true_shape, start) in [
        (KernelShape::Gaussian { deviation: 1.0 }, 0.7),
        (KernelShape::Disc { radius: 2.0 }, 1.5),
    ] {
        let kernel = true_shape.kernel();
        let pairs: Vec<Pair> = (0..2).map(|index| pair(24, &kernel, index)).collect();
        let width = true_shape.width().expect("valid");
        let mut spec = Spec::new(FamilyKind::Deblur);
        spec.model.learn = ["alpha", "width"].map(Into::into).to_vec();
        spec.model.start.insert("width".into(), start);
        let family = spec.family(FamilyInput::Shape(true_shape)).expect("valid");
        let mut problem =
            LearningProblem::new(family, pairs, spec.setup(Vec::new())).expect("valid");
        let learned = problem.learn_with(spec.options()).expect("valid");
        assert!(learned.gradient.is_some());
        let found = learned.value("width").expect("valid");
        assert!((found - width).abs() < 0.1 * width, "{true_shape}: {found}");
    }
}

/// A bank learns more than total variation can on the same pictures.
#[test]
fn filter_banks_deblur() {
    let kernel = Kernel::named("disc:1.5").expect("valid");
    let pairs: Vec<Pair> = (0..2).map(|index| pair(24, &kernel, index)).collect();
    let grid = kernel.grid();
    let mut spec = Spec::filters(FamilyKind::Deblur, DCT3);
    spec.solver.max_points = 15;
    let values = kernel.values().to_vec();
    let family = spec
        .family(FamilyInput::Kernel { values, grid })
        .expect("valid");
    let setup = spec.setup(Vec::new());
    let mut problem = LearningProblem::new(family, pairs.clone(), setup).expect("valid");
    let learned = problem.learn_with(spec.options()).expect("valid");
    assert!(learned.gradient.is_some());
    let before: f64 = pairs
        .iter()
        .map(|pair| quality::mse(&pair.data, &pair.truth).expect("valid"))
        .sum();
    let after: f64 = (learned.training.iter())
        .map(|score| score.after.expect("valid").mse)
        .sum();
    assert!(after < 0.6 * before, "{before} {after}");
}

/// Dead pixels are ignored: their values do not matter, and the picture is hardly worse.
#[test]
fn missing_pixels_are_ignored() {
    let kernel = Kernel::named("gaussian:0.8").expect("valid");
    let Pair { grid, truth, data } = pair(24, &kernel, 0);
    let family = TvDeblurring::new(tv(), kernel, BlurBoundary::Unknown);
    let mse = |data: &[f64]| {
        let stop = Stop::accuracy(ErrorBound::new(1e-4).expect("valid"));
        let made =
            reconstruct(&family, &[3e-4], grid, data, Solver::default(), stop).expect("valid");
        quality::mse(&made.x, &truth).expect("valid")
    };
    let dead = |value: f64| -> Vec<f64> {
        let numbered = data.iter().enumerate();
        let data = numbered.map(|(k, data)| if k % 29 == 3 { value } else { *data });
        data.collect()
    };
    let (whole, bad, missing) = (mse(&data), mse(&dead(1.0)), mse(&dead(f64::NAN)));
    assert!(
        missing < 1.3 * whole && missing < 0.2 * bad,
        "{whole} {bad} {missing}"
    );
}

#[test]
fn bad_input_is_refused() {
    let shape = KernelShape::Gaussian { deviation: 2.0 };
    let mut spec = Spec::new(FamilyKind::Deblur);
    spec.model.learn = vec!["width".into()];
    let refuse = |spec: &Spec, input: FamilyInput| spec.family(input).unwrap_err().to_string();
    let kernel = shape.kernel();
    let given = FamilyInput::Kernel {
        values: kernel.values().to_vec(),
        grid: kernel.grid(),
    };
    assert!(refuse(&spec, given).contains("gaussian:2"));
    let motion = KernelShape::Motion {
        length: 5.0,
        angle: 0.0,
    };
    assert!(refuse(&spec, FamilyInput::Shape(motion)).contains("motion"));
    assert!(refuse(&spec, FamilyInput::None).contains("needs a kernel"));
    spec.model.upper.insert("width".into(), 1e9);
    assert!(refuse(&spec, FamilyInput::Shape(shape)).contains("width"));

    let family = TvDeblurring::new(tv(), shape.kernel(), BlurBoundary::Unknown);
    let setup = Setup::default;
    let small = Grid::image(8, 8);
    let problem = |truth: f64, data: f64, grid: Grid| {
        let [truth, data] = [truth, data].map(|value| vec![value; grid.len()]);
        let pairs = vec![Pair { grid, truth, data }];
        LearningProblem::new(&family, pairs, setup())
            .err()
            .map(|error| format!("{error:?}"))
    };
    assert!(
        problem(0.0, 0.0, small)
            .expect("valid")
            .contains("LargeKernel")
    );
    let large = Grid::image(16, 16);
    assert!(problem(0.0, 0.0, large).is_none());
    assert!(
        problem(0.0, f64::NAN, large)
            .expect("valid")
            .contains("NothingMeasured")
    );
    assert!(
        problem(f64::NAN, 0.0, large)
            .expect("valid")
            .contains("NonFinite")
    );
    assert!(
        problem(0.0, f64::INFINITY, large)
            .expect("valid")
            .contains("NonFinite")
    );
}
