//! Invalid problems, options and states.

use inexact_lbfgs::{Engine, Options, Problem, SetupError, SlowProgress};

const NAN: f64 = f64::NAN;
const INFINITY: f64 = f64::INFINITY;

#[test]
fn invalid_problems_are_refused() {
    let new = |problem| Engine::<()>::new(problem, Options::default()).map(drop);
    assert_eq!(new(Problem::new([])), Err(SetupError::NoParameters));
    let error = new(Problem::new([1.0, NAN])).expect_err("NaN");
    assert!(matches!(error, SetupError::NotFinite { index: 1, .. }));
    let bounded =
        |lower: Vec<f64>, upper: Vec<f64>| Problem::new([0.0, 0.0]).with_bounds(lower, upper);
    let length = bounded(vec![0.0], vec![1.0, 1.0]);
    let expected = SetupError::Length {
        argument: "lower",
        expected: 2,
        found: 1,
    };
    assert_eq!(length, Err(expected));
    assert!(matches!(
        bounded(vec![0.0, 2.0], vec![1.0, 1.0]),
        Err(SetupError::CrossedBounds { index: 1, .. })
    ));
    for (lower, upper) in [
        (NAN, 1.0),
        (0.0, NAN),
        (INFINITY, INFINITY),
        (-INFINITY, -INFINITY),
    ] {
        assert!(matches!(
            bounded(vec![lower, 0.0], vec![upper, 1.0]),
            Err(SetupError::InvalidBound { index: 0, .. })
        ));
    }
    for weight in [-1.0, NAN, INFINITY] {
        assert!(matches!(
            Problem::new([0.0]).with_l1(weight),
            Err(SetupError::InvalidWeight { index: 0, .. })
        ));
    }
    assert!(Problem::new([0.0]).with_l1(vec![1.0, 2.0]).is_err());
}

#[test]
fn invalid_options_are_refused() {
    let change = |change: fn(&mut Options)| {
        let mut options = Options::default();
        change(&mut options);
        let error = Engine::<()>::new(Problem::new([0.0]), options).map(drop);
        let error = error.expect_err("an invalid option");
        error.to_string()
    };
    assert!(change(|options| options.kappa = 0.0).contains("`kappa` is 0"));
    assert!(change(|options| options.kappa = NAN).contains("kappa"));
    assert!(change(|options| options.memory = 0).contains("memory"));
    assert!(change(|options| options.stop.predicted = -1.0).contains("stop.predicted"));
    assert!(change(|options| options.stop.absolute = NAN).contains("stop.absolute"));
    let slow = |options: &mut Options| {
        options.stop.slow = Some(SlowProgress {
            decrease: 0.1,
            points: 0,
        });
    };
    assert!(change(slow).contains("stop.slow.points"));
}

#[test]
fn a_state_belongs_to_its_problem() {
    let bounded = |upper| {
        Problem::new([0.0])
            .with_bounds([-1.0], [upper])
            .expect("valid")
    };
    let engine = Engine::<()>::new(bounded(1.0), Options::default()).expect("valid");
    let state = engine.state().clone();
    assert!(Engine::from_state(bounded(1.0), state.clone()).is_ok());
    for other in [
        bounded(2.0),
        Problem::new([0.0]),
        bounded(1.0).with_l1(0.1).expect("valid"),
    ] {
        let error = Engine::from_state(other, state.clone()).map(drop);
        assert!(matches!(error, Err(SetupError::StateMismatch { .. })));
    }
    let lean = engine.state().lean();
    let error = Engine::from_state(bounded(1.0), lean).map(drop);
    assert_eq!(error, Err(SetupError::IncompleteState));
}
