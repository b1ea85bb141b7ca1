//! Every misuse is a typed error that names the argument, before anything is evaluated.

use dfo_ls::{
    Accuracy, Bounds, Engine, FnOracle, Known, L1, Model, Options, Problem, Scaling, SetupError,
    minimize,
};

const NAN: f64 = f64::NAN;
const INF: f64 = f64::INFINITY;

/// The error of a problem that must not start, and its text.
fn check(problem: Problem, num_residuals: usize, options: Options) -> (SetupError, String) {
    let mut oracle = FnOracle::new(num_residuals, |_: &[f64], _: &mut [f64]| {
        panic!("nothing may be evaluated")
    });
    let error = minimize(&mut oracle, problem, options).expect_err("misuse");
    let text = error.to_string();
    assert!(text.len() > 20 && text.len() < 200, "{text}");
    assert!(
        !text.contains('{') && !text.contains("Some(") && !text.ends_with('.'),
        "{text}"
    );
    (error, text)
}

fn plain() -> Problem {
    Problem::new([1.0, 2.0])
}

#[test]
fn empty_problems() {
    let (error, text) = check(Problem::new([]), 3, Options::default());
    assert_eq!(error, SetupError::NoParameters);
    assert!(text.contains("start"));
    let (error, text) = check(plain(), 0, Options::default());
    assert_eq!(error, SetupError::NoResiduals);
    assert!(text.contains("num_residuals"));
}

#[test]
fn starts_that_are_not_finite() {
    for bad in [NAN, INF, -INF] {
        let (error, text) = check(Problem::new([1.0, bad]), 3, Options::default());
        assert!(
            matches!(error, SetupError::NotFinite { argument: "start", index: 1, found } if found.to_bits() == bad.to_bits()),
            "{error:?}"
        );
        assert!(text.contains("`start[1]`"), "{text}");
    }
}

#[test]
fn projections_to_nowhere() {
    let nowhere = |theta: &mut [f64]| theta[1] = NAN;
    let (error, _) = check(plain().within(nowhere), 3, Options::default());
    assert!(
        matches!(error, SetupError::NotFinite { index: 1, .. }),
        "{error:?}"
    );
}

#[test]
fn bounds() {
    let error = |lower: &[f64], upper: &[f64]| Bounds::new(lower, upper).expect_err("wrong bounds");
    let length = error(&[0.0], &[1.0, 2.0]);
    assert_eq!(
        length,
        SetupError::Length {
            argument: "upper",
            expected: 1,
            found: 2
        }
    );
    assert_eq!(
        length.to_string(),
        "`upper` has length 2, but must have length 1"
    );
    for (lower, upper) in [(NAN, 1.0), (0.0, NAN), (INF, INF), (-INF, -INF), (INF, 0.0)] {
        let error = error(&[0.0, lower], &[1.0, upper]);
        assert!(
            matches!(error, SetupError::InvalidBound { index: 1, .. }),
            "{error:?}"
        );
    }
    let crossed = error(&[0.0, 2.0], &[1.0, 1.0]);
    assert_eq!(
        crossed,
        SetupError::CrossedBounds {
            index: 1,
            lower: 2.0,
            upper: 1.0
        }
    );
    assert_eq!(
        crossed.to_string(),
        "the lower bound 2 of parameter 1 is above its upper bound 1"
    );
    let short = plain().with_bounds([0.0], [1.0]).expect("bounds in order");
    let (error, _) = check(short, 3, Options::default());
    assert_eq!(
        error,
        SetupError::Length {
            argument: "bounds",
            expected: 2,
            found: 1
        }
    );
    let fixed = plain()
        .with_bounds([0.0, 1.0], [0.0, 1.0])
        .expect("bounds in order");
    assert_eq!(check(fixed, 3, Options::default()).0, SetupError::AllFixed);
}

#[test]
fn known_evaluations() {
    let known = |theta: &[f64], residuals: &[f64]| Known {
        theta: theta.to_vec(),
        residuals: residuals.to_vec(),
        accuracy: Accuracy::EXACT,
    };
    let good = known(&[1.0, 2.0], &[1.0, 1.0, 1.0]);
    let error = |bad: Known| {
        check(
            plain().with_known([good.clone(), bad]),
            3,
            Options::default(),
        )
        .0
    };
    let length = |argument, expected, found| SetupError::Length {
        argument,
        expected,
        found,
    };
    assert_eq!(error(known(&[1.0], &[0.0; 3])), length("known.theta", 2, 1));
    assert_eq!(
        error(known(&[1.0, 1.0], &[0.0; 4])),
        length("known.residuals", 3, 4)
    );
    for bad in [
        known(&[1.0, NAN], &[0.0; 3]),
        known(&[1.0, 1.0], &[0.0, INF, 0.0]),
    ] {
        let error = error(bad);
        assert!(
            matches!(error, SetupError::NotFinite { argument, index: 1, .. } if argument.starts_with("known"))
        );
    }
}

#[test]
fn a_state_of_another_problem() {
    let engine = Engine::<()>::new(plain(), 3, Options::default()).expect("a valid problem");
    let state = engine.state().clone();
    let error = Engine::from_state(Problem::new([1.0]), state).expect_err("one parameter less");
    assert!(matches!(error, SetupError::StateMismatch { .. }));
    assert!(error.to_string().contains("number of parameters"));
}

#[test]
fn the_number_of_units() {
    let mut options = Options::default();
    options.scaling = Scaling::Given(vec![1.0; 3]);
    let expected = SetupError::Length {
        argument: "scaling",
        expected: 2,
        found: 3,
    };
    assert_eq!(check(plain(), 3, options).0, expected);
}

#[test]
fn conflicts() {
    let mut options = Options::paper();
    options.model = Model::Automatic;
    let (error, text) = check(plain(), 3, options);
    assert!(
        matches!(
            error,
            SetupError::Conflict {
                first: "algorithm",
                second: "model",
                ..
            }
        ),
        "{text}"
    );
    let mut options = Options::default();
    options.scaling = Scaling::Given(vec![1.0, 2.0]);
    let (error, text) = check(
        plain().with_regularizer(L1 { weight: 1.0 }),
        3,
        options.clone(),
    );
    assert!(
        matches!(
            error,
            SetupError::Conflict {
                first: "scaling",
                ..
            }
        ),
        "{text}"
    );
    let (error, text) = check(plain().within(|_: &mut [f64]| {}), 3, options);
    assert!(
        matches!(
            error,
            SetupError::Conflict {
                first: "scaling",
                ..
            }
        ),
        "{text}"
    );
}
