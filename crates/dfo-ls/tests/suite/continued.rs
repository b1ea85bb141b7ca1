//! Runs that continue after their end, and checks of the reasons for an end.

use std::ops::ControlFlow;

use dfo_ls::{
    Budget, Engine, Evaluated, FnOracle, Job, Limit, Model, NoiseLevel, Options, Problem,
    ResidualOracle, Samples, SetupError, Termination, drive, minimize,
};

fn rosenbrock() -> FnOracle<impl FnMut(&[f64], &mut [f64])> {
    FnOracle::new(2, |theta: &[f64], r: &mut [f64]| {
        r[0] = 10.0 * (theta[1] - theta[0] * theta[0]);
        r[1] = 1.0 - theta[0];
    })
}

fn run(engine: &mut Engine<()>) {
    drive(engine, &mut rosenbrock(), |_| ControlFlow::Continue(()));
}

fn budget(max_points: u64) -> Budget {
    let mut budget = Budget::default();
    budget.max_points = Some(max_points);
    budget
}

/// A run can be continued whatever its budget was, also one that ended among the first points.
#[test]
fn a_spent_budget_can_be_extended() {
    for points in [1, 2, 3, 4, 7, 12] {
        for mut options in [Options::default(), Options::paper()] {
            options.budget = budget(points);
            let problem = Problem::new([-1.2, 1.0]);
            let mut engine = Engine::new(problem, 2, options).expect("valid");
            run(&mut engine);
            let spent = Termination::Exhausted(Limit::Points);
            assert_eq!(engine.termination(), Some(&spent), "{points}");
            engine.extend(budget(1000));
            assert_eq!(engine.termination(), None);
            run(&mut engine);
            let report = engine.into_report();
            assert!(report.termination.is_success(), "{points}: {report:?}");
            assert!(report.objective < 1e-12, "{points}: {}", report.objective);
        }
    }
}

/// A run that an observer stops keeps its outstanding jobs.
#[test]
fn a_stopped_run_goes_on_as_if_it_had_not_been() {
    let uninterrupted = minimize(
        &mut rosenbrock(),
        Problem::new([-1.2, 1.0]),
        Options::default(),
    )
    .expect("valid");
    let mut engine = Engine::new(Problem::new([-1.2, 1.0]), 2, Options::default()).expect("valid");
    let mut oracle = rosenbrock();
    let mut rounds = 0;
    while engine.termination() != Some(&Termination::RadiusReached) {
        drive(&mut engine, &mut oracle, |_| ControlFlow::Break(()));
        engine.extend(Budget::default());
        rounds += 1;
        assert!(rounds < 1000, "{:?}", engine.termination());
    }
    let report = engine.into_report();
    assert_eq!(report.theta, uninterrupted.theta);
    assert_eq!(report.evaluations, uninterrupted.evaluations);
}

#[test]
fn another_number_of_residuals_is_noticed() {
    let mut engine = Engine::new(Problem::new([1.0]), 5, Options::default()).expect("valid");
    drive(
        &mut engine,
        &mut rosenbrock(),
        |_| ControlFlow::Continue(()),
    );
    let ended = engine.termination().expect("it ended");
    assert!(
        matches!(ended, Termination::OracleFailed { .. }),
        "{ended:?}"
    );
    assert_eq!(rosenbrock().num_residuals(), 2);
}

/// A run whose way to the optimum leads through points that fail is not a success.
#[test]
fn a_wall_of_failures_is_not_success() {
    let mut walled = FnOracle::new(2, |theta: &[f64], r: &mut [f64]| {
        let fails = theta[1] < 0.9;
        r[0] = if fails { f64::NAN } else { theta[0] - 1.0 };
        r[1] = theta[1];
    });
    let report = minimize(&mut walled, Problem::new([6.0, 2.0]), Options::default());
    let report = report.expect("valid");
    assert_eq!(report.termination, Termination::Blocked);
    assert!(!report.termination.is_success());
    assert!(
        report.theta[1] >= 0.9 && report.theta[1] < 0.95,
        "{:?}",
        report.theta
    );
}

/// A parameter that the residuals do not depend on has no standard error, and stays where it is.
#[test]
fn undetermined_parameters_have_no_errors() {
    let mut unused = FnOracle::new(5, |theta: &[f64], r: &mut [f64]| {
        let mut y = 0.0;
        for r in r {
            *r = theta[0] - y;
            y += 1.0;
        }
    });
    let report = minimize(&mut unused, Problem::new([1.0, 1.0]), Options::default());
    let report = report.expect("valid");
    assert!((report.theta[0] - 2.0).abs() < 1e-6);
    assert!(report.theta[1].abs() < 1e3, "{:?}", report.theta);
    assert_eq!(report.standard_errors(), None);

    let mut sum = FnOracle::new(5, |theta: &[f64], r: &mut [f64]| {
        let mut y = 0.0;
        for r in r {
            *r = theta[0] + theta[1] - y;
            y += 1.0;
        }
    });
    let report = minimize(&mut sum, Problem::new([1.0, 1.0]), Options::default());
    assert_eq!(report.expect("valid").standard_errors(), None);
}

#[test]
fn sets_without_a_common_point() {
    let problem = Problem::new([0.0])
        .within(|theta: &mut [f64]| theta[0] = theta[0].max(10.0))
        .within(|theta: &mut [f64]| theta[0] = theta[0].min(-10.0));
    let error = Engine::<()>::new(problem, 1, Options::default()).expect_err("no common point");
    assert_eq!(error, SetupError::NoCommonPoint);
}

#[test]
fn a_state_belongs_to_its_bounds() {
    let bounded = |upper: f64| {
        Problem::new([0.5, 0.5])
            .with_bounds([0.0, f64::NEG_INFINITY], [upper, 3.0])
            .expect("in order")
    };
    let engine = Engine::<()>::new(bounded(1.0), 2, Options::default()).expect("valid");
    let state = || engine.state().clone();
    assert!(Engine::from_state(bounded(1.0), state()).is_ok());
    for other in [bounded(2.0), Problem::new([0.5, 0.5])] {
        let error = Engine::from_state(other, state()).expect_err("other bounds");
        assert_eq!(error, SetupError::StateMismatch { what: "a bound" });
    }
}

/// Answers count for the best point even if the run is stopped before all points around the start
/// are answered.
#[test]
fn answers_count_before_they_are_told() {
    let problem = || Problem::new([0.0, 0.0, 0.0]);
    let distance = |theta: &[f64]| [theta[0] - 1.0, theta[1] - 1.0, theta[2] - 1.0];
    let answer = |job: &mut Job<()>| job.answer(&distance(job.theta()), Evaluated::exact());
    let mut engine = Engine::new(problem(), 3, Options::default()).expect("a valid problem");
    engine.ask().iter_mut().for_each(answer);
    engine.tell();
    engine.ask().iter_mut().take(2).for_each(answer);
    let asked = engine.ask()[1].theta().to_vec();
    engine.stop(Termination::Stopped);
    let best = engine.best().expect("answers").objective;
    let at = distance(&asked).iter().map(|r| r * r).sum::<f64>();
    assert!(best <= at && at < 3.0);

    // the run continues as if it had not been stopped
    engine.extend(engine.options().budget.clone());
    let mut straight = Engine::new(problem(), 3, Options::default()).expect("a valid problem");
    for engine in [&mut engine, &mut straight] {
        while !engine.ask().is_empty() {
            engine.ask().iter_mut().for_each(answer);
            engine.tell();
        }
    }
    let (one, other) = (engine.into_report(), straight.into_report());
    assert_eq!(one.theta, other.theta);
    assert_eq!(one.evaluations, other.evaluations);
}

/// A mean of four evaluations is as good as four samples of a point.
#[test]
fn means_count_as_samples() {
    let mut options = Options::default();
    options.model = Model::Linear;
    options.noise.level = Some(NoiseLevel::Additive(0.1));
    options.trust_region.max_radius = 0.1;
    let run = |options: Options, mean: u32| {
        let mut engine = Engine::new(Problem::new([1.0]), 1, options).expect("a valid problem");
        while !engine.ask().is_empty() {
            for job in engine.ask() {
                let residuals = [job.theta()[0]];
                job.answer_mean(&residuals, mean, Evaluated::exact());
            }
            engine.tell();
            assert!(engine.radii().0 >= engine.radii().1);
        }
        let (set, last) = (
            engine.set_points(),
            engine.state().evaluations().last().map(|e| e.point),
        );
        assert!(set.len() == 2 && set.iter().all(|&point| Some(point) <= last));
        engine.into_report()
    };
    let mut sampled = options.clone();
    sampled.noise.samples = Samples::Fixed(4);
    let (mean, samples, single) = (run(options.clone(), 4), run(sampled, 1), run(options, 1));
    assert_eq!(mean.theta, samples.theta);
    assert_eq!(mean.num_points, samples.num_points);
    // with half the noise the run ends later
    assert!(mean.num_points > single.num_points);
    assert_eq!(mean.termination, Termination::NoiseReached);
}
