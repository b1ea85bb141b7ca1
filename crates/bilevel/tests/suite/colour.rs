//! Families for pictures in colour.

use bilevel::testing::derivatives_deviation;
use bilevel::{
    Choice, ColourFamily, Family, FamilyInput, FamilyKind, FilterDenoising, FilterSet,
    LearningProblem, LowerLevel, Pair, Parameter, ReconstructionError, Setup, Spec, TvChoices,
    reconstruct,
};
use imaging::colour::to_opponent_parts;
use imaging::{Grid, Seed, noise, phantom};
use lowlevel::{ErrorBound, Solver, Stop, norm};

use crate::families::colours;

fn names(family: &impl LowerLevel) -> Vec<String> {
    family.parameters().into_iter().map(|p| p.name).collect()
}

fn learned() -> [Choice; 3] {
    let TvChoices { alpha, nu, xi } = TvChoices::default();
    [alpha, nu, xi]
}

#[test]
fn parameters_are_named_and_placed() {
    let [alpha, nu, xi] = learned();
    let fixed = Choice::Fixed(0.5);
    let all = ColourFamily::tv([alpha; 2], nu, xi);
    assert_eq!(names(&all), ["alpha_luminance", "alpha_chroma", "nu", "xi"]);
    assert_eq!(
        all.parts(&[1.0, 2.0, 3.0, 4.0]),
        [[1.0, 3.0, 4.0], [2.0, 3.0, 4.0]]
    );
    let chroma = ColourFamily::tv([fixed, alpha], nu, fixed);
    assert_eq!(names(&chroma), ["alpha_chroma", "nu"]);
    assert_eq!(chroma.parts(&[1.0, 2.0]), [vec![2.0], vec![1.0, 2.0]]);
    let luminance = ColourFamily::tv([alpha, fixed], fixed, xi);
    assert_eq!(names(&luminance), ["alpha_luminance", "xi"]);
    assert_eq!(luminance.parts(&[1.0, 2.0]), [vec![1.0, 2.0], vec![2.0]]);

    let filters = ColourFamily::filters("learned3".parse().unwrap()).unwrap();
    let of_filters = names(&filters);
    assert_eq!(of_filters.len(), 10);
    assert_eq!(of_filters[..2], ["alpha_luminance", "alpha_chroma"]);
    assert_eq!(of_filters[8..], ["filters_luminance", "filters_chroma"]);
    // four numbers for each of eleven potentials, 18 coefficients of filters with symmetries, and
    // 12 of three pairs of slanted filters
    let num_values = 2 * (4 * 11 + 30);
    let values: Vec<f64> = (0..num_values).map(f64::from).collect();
    let [of_luminance, of_chroma] = filters.parts(&values);
    assert_eq!((of_luminance.len(), of_chroma[0]), (74, 11.0));
}

#[test]
fn derivatives_of_filter_banks_agree_with_differences() {
    let family = ColourFamily::filters("learned3".parse().unwrap()).unwrap();
    let pair = &colours()[0];
    let values: Vec<f64> = family
        .parameters()
        .iter()
        .flat_map(|p| {
            bilevel::Parameter::starts_of(std::slice::from_ref(p))
                .into_iter()
                .map(|t| p.map.value(t))
        })
        .enumerate()
        .map(|(k, value)| value * (1.0 + 0.02 * (k % 5) as f64))
        .collect();
    let Pair { grid, truth, data } = pair;
    let deviation = derivatives_deviation(&family, &values, *grid, data, truth, data, 1e-5);
    assert!(deviation.unwrap() < 1e-6);
}

/// A reconstruction in colour is one of the luminance and one of the chroma, and its certified
/// error covers both.
#[test]
fn luminance_and_chroma_are_separate_problems() {
    let set = FilterSet {
        size: 3,
        is_learned: false,
    };
    let family = ColourFamily::filters(set).unwrap();
    let alone = FilterDenoising::new(set).unwrap();
    let (rows, cols) = (12, 14);
    let truth = phantom::dead_leaves_in_colour(rows, cols, Seed::new(5), 0).unwrap();
    let data = noise::gaussian(&truth, 0.1, Seed::new(5), 0).unwrap();
    let grid = Grid::image(rows, cols);
    let parameters = family.parameters();
    let values = Parameter::values_of(&parameters, &Parameter::starts_of(&parameters));
    let [of_luminance, of_chroma] = family.parts(&values);
    let stop = |error| Stop::accuracy(ErrorBound::new(error).unwrap());
    let solver = Solver::default();
    let whole = reconstruct(&family, &values, grid.colour(), &data, solver, stop(1e-3)).unwrap();
    let [luminance, chroma] = to_opponent_parts(&data);
    let exact = [
        reconstruct(&alone, &of_luminance, grid, &luminance, solver, stop(1e-8)).unwrap(),
        reconstruct(
            &alone,
            &of_chroma,
            grid.complex(),
            &chroma,
            solver,
            stop(1e-8),
        )
        .unwrap(),
    ];
    let found = to_opponent_parts(&whole.x);
    let errors = [0, 1].map(|part| {
        let difference = found[part].iter().zip(&exact[part].x).map(|(a, b)| a - b);
        norm(&difference.collect::<Vec<_>>())
    });
    let error = norm(&errors);
    assert!(error <= whole.solved.error.value() + 2e-8, "{errors:?}");
    assert!(whole.solved.error.value() <= 1e-3);
}

#[test]
fn settings_name_both_weights_or_one() {
    let mut spec = Spec::new(FamilyKind::Denoise);
    spec.model.colour = true;
    let model = spec.model.completed(spec.task);
    assert_eq!(model.learn, ["alpha_luminance", "alpha_chroma", "nu", "xi"]);
    assert_eq!(model.completed(spec.task), model);

    spec.model.fixed.insert("alpha_chroma".into(), 0.2);
    spec.model.start.insert("alpha".into(), 0.3);
    let model = spec.model.completed(spec.task);
    assert_eq!(model.learn, ["alpha_luminance", "nu", "xi"]);
    assert_eq!(
        (model.start["alpha_luminance"], model.fixed["alpha_chroma"]),
        (0.3, 0.2)
    );
    assert!(!model.start.contains_key("alpha_chroma"));

    spec.model.learn = vec!["nu".into()];
    spec.model.start.clear();
    spec.model.fixed.insert("alpha".into(), 0.1);
    let Family::Colour(family) = spec.family(FamilyInput::None).unwrap() else {
        panic!("a family in colour");
    };
    assert_eq!(names(&family), ["nu"]);
    spec.model.learn = vec!["alpha".into()];
    spec.model.fixed = [("alpha_luminance".to_owned(), 0.1)].into();
    let family = spec.family(FamilyInput::None).unwrap();
    assert_eq!(names(&family), ["alpha_chroma"]);

    spec.model.learn = vec!["beta".into()];
    let message = spec.family(FamilyInput::None).unwrap_err().to_string();
    assert!(
        message.contains("alpha_luminance, alpha_chroma, nu, xi"),
        "{message}"
    );
    let mut other = Spec::new(FamilyKind::Sampling);
    other.model.colour = true;
    let message = other.family(FamilyInput::None).unwrap_err().to_string();
    assert!(
        message.contains("sampling has no model of pictures in colour"),
        "{message}"
    );
    let mut filters = Spec::filters(FamilyKind::Denoise, FilterSet::DCT5);
    filters.model.colour = true;
    assert!(matches!(
        filters.family(FamilyInput::None),
        Ok(Family::ColourFilters(_))
    ));
}

#[test]
fn grey_pictures_and_bad_numbers_are_refused() {
    let [alpha, nu, xi] = learned();
    let family = ColourFamily::tv([alpha; 2], nu, xi);
    let stop = Stop::Iterations(1);
    let message = |grid: Grid, data: &[f64]| {
        let values = [0.1, 0.1, 0.01, 0.01];
        let error = reconstruct(&family, &values, grid, data, Solver::default(), stop);
        let Err(ReconstructionError::Model(error)) = error else {
            panic!("refused by the model");
        };
        error.to_string()
    };
    assert!(message(Grid::image(2, 2), &[0.0; 4]).contains("in colour"));
    assert!(message(Grid::image(2, 2).colour(), &[0.0; 4]).contains("12"));
    let mut data = [0.0; 12];
    data[7] = f64::NAN;
    assert!(message(Grid::image(2, 2).colour(), &data).contains('7'));
}

/// The quality in colour is that of all channels together.
#[test]
fn scores_count_all_channels() {
    let [alpha, nu, xi] = learned();
    let truth = vec![0.5; 3 * 64];
    let data: Vec<f64> = (0..3 * 64)
        .map(|k| if k % 3 == 0 { 0.8 } else { 0.5 })
        .collect();
    let pair = Pair {
        grid: Grid::image(8, 8).colour(),
        truth,
        data,
    };
    let scored = bilevel::score(
        &ColourFamily::tv([alpha; 2], nu, xi),
        &[0.0, 0.0, 1.0, 0.0],
        &pair,
        Setup::default().lower_solver(),
    );
    let before = scored.score.before.unwrap();
    // one channel in three is off by 0.3
    assert!((before.mse - 0.03).abs() < 1e-15);
    assert!((scored.score.after.unwrap().mse - 0.03).abs() < 1e-6);
    assert!(scored.score.error.unwrap() <= 1e-3);
    assert!(
        LearningProblem::new(
            ColourFamily::tv([alpha; 2], nu, xi),
            vec![pair],
            Setup::default()
        )
        .is_ok()
    );
}
