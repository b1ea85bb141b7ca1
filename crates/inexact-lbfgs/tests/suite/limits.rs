//! Budgets, stopping, extending, histories and slow progress.

use std::ops::ControlFlow;
use std::time::Duration;

use inexact_lbfgs::{
    Answer, Budget, Engine, FnOracle, History, Interval, Job, Limit, Options, Oracle, Problem,
    Request, SlowProgress, StepKind, Termination, drive_with, minimize,
};

use crate::functions::rosenbrock;

fn problem() -> Problem {
    Problem::new([-1.2, 1.0, -0.5, 0.8])
}

fn limited(budget: Budget) -> Options {
    let mut options = Options::default();
    options.budget = budget;
    options
}

#[test]
fn every_limit_ends_a_run_and_extending_continues_it() {
    let unlimited = minimize(
        &mut FnOracle::new(rosenbrock),
        problem(),
        Options::default(),
    );
    let unlimited = unlimited.expect("valid");
    let none = Budget {
        max_points: None,
        ..Budget::default()
    };
    let cases = [
        (
            Budget {
                max_points: Some(5),
                ..none.clone()
            },
            Limit::Points,
            5,
        ),
        (
            Budget {
                max_evaluations: Some(7),
                ..none.clone()
            },
            Limit::Evaluations,
            7,
        ),
        (
            Budget {
                max_work: Some(9),
                ..none.clone()
            },
            Limit::Work,
            9,
        ),
        (
            Budget {
                max_points: Some(0),
                ..none.clone()
            },
            Limit::Points,
            0,
        ),
        (
            Budget {
                max_time: Some(Duration::ZERO),
                ..none.clone()
            },
            Limit::Time,
            1,
        ),
    ];
    for (budget, limit, points) in cases {
        let mut oracle = FnOracle::new(rosenbrock);
        let mut engine = Engine::new(problem(), limited(budget)).expect("valid");
        let _ = drive_with(&mut engine, &mut oracle, |_, _| {
            ControlFlow::<()>::Continue(())
        });
        assert_eq!(engine.termination(), Some(&Termination::Exhausted(limit)));
        assert_eq!(engine.num_points(), points);
        engine.extend(none.clone());
        let _ = drive_with(&mut engine, &mut oracle, |_, _| {
            ControlFlow::<()>::Continue(())
        });
        let report = engine.into_report();
        assert_eq!(report.theta, unlimited.theta);
        assert_eq!(report.iterations, unlimited.iterations);
    }
}

#[test]
fn a_stopped_run_has_a_report_and_continues() {
    let mut oracle = FnOracle::new(rosenbrock);
    let mut engine = Engine::new(problem(), Options::default()).expect("valid");
    for _ in 0..4 {
        oracle.evaluate(engine.ask().expect("a job"));
        engine.tell();
    }
    let before = engine.best().expect("a point").value;
    // The answer that no `tell` has taken counts.
    oracle.evaluate(engine.ask().expect("a job"));
    engine.stop(Termination::Stopped);
    assert!(engine.ask().is_none());
    assert_eq!(engine.num_points(), 5);
    assert!(engine.best().expect("a point").value <= before);
    engine.extend(Budget::default());
    let _ = drive_with(&mut engine, &mut oracle, |_, _| {
        ControlFlow::<()>::Continue(())
    });
    let (report, token) = engine.into_parts();
    assert_eq!(
        (report.termination, token),
        (Termination::Converged, Some(()))
    );
}

#[test]
fn an_engine_that_evaluated_nothing_has_a_report() {
    let bounded = Problem::new([5.0])
        .with_bounds([0.0], [1.0])
        .expect("valid");
    let engine = Engine::<()>::new(bounded, Options::default()).expect("valid");
    assert!(engine.best().is_none());
    let (report, token) = engine.into_parts();
    assert_eq!(report.termination, Termination::Stopped);
    assert_eq!((report.theta, token), (vec![1.0], None));
    assert!(report.value.is_nan() && report.gradient.is_empty());
}

#[test]
fn histories_add_up_and_have_parameters_only_on_request() {
    for history in [History::Values, History::Parameters] {
        let mut options = Options::default();
        options.history = history;
        let report = minimize(&mut FnOracle::new(rosenbrock), problem(), options).expect("valid");
        let wanted = history == History::Parameters;
        assert!(
            report
                .iterations
                .iter()
                .all(|i| i.theta.is_some() == wanted)
        );
        assert!(
            report
                .evaluations
                .iter()
                .all(|e| e.theta.is_some() == wanted)
        );
        let work: u64 = report.evaluations.iter().map(|e| e.work).sum();
        assert_eq!(work, report.work.total());
        assert_eq!((report.work.first, report.work.sharpen), (1, 0));
        assert_eq!(report.evaluations.len() as u64, report.num_points);
        let numbers = report.iterations.iter().map(|i| i.number);
        assert!(numbers.eq(0..report.iterations.len() as u64));
        assert_eq!(report.iterations[0].kind, StepKind::Initial);
        for pair in report.iterations.windows(2) {
            assert!(pair[1].interval.upper <= pair[0].interval.lower);
            assert!(pair[1].num_points > pair[0].num_points);
        }
    }
}

#[test]
fn slow_progress_ends_a_run() {
    let slowly = |theta: &[f64], gradient: &mut [f64]| rosenbrock(theta, gradient) + 100.0;
    let mut options = Options::default();
    options.stop.slow = Some(SlowProgress::default());
    let start: Vec<f64> = (0..30)
        .map(|i| if i % 2 == 0 { -1.2 } else { 1.0 })
        .collect();
    let run = |options| {
        minimize(
            &mut FnOracle::new(slowly),
            Problem::new(start.clone()),
            options,
        )
    };
    let slow = run(options).expect("valid");
    let full = run(Options::default()).expect("valid");
    assert_eq!(slow.termination, Termination::Slow);
    assert!(slow.termination.is_success() && slow.num_points < full.num_points);
}

#[test]
fn a_driver_can_be_left_and_entered_again() {
    let mut oracle = FnOracle::new(rosenbrock);
    let mut engine = Engine::new(problem(), Options::default()).expect("valid");
    let mut rounds = 0;
    while drive_with(&mut engine, &mut oracle, |_, _| ControlFlow::Break(())).is_break() {
        rounds += 1;
    }
    let report = engine.into_report();
    assert_eq!(rounds, report.num_evaluations());
    assert_eq!(report.termination, Termination::Converged);
}

/// An oracle whose values fall by ten at each of the first points and then stay where they are,
/// while gradients fall by a half at each. After the first points, intervals have this half width
/// until they are sharpened.
struct Levelling {
    half_width: f64,
    num_points: i32,
}

impl Oracle for Levelling {
    type Resume = ();

    fn evaluate(&mut self, job: &mut Job<()>) {
        const NUM_STEPS: i32 = 6;
        let is_new = !matches!(job.request(), Request::Sharpen { .. });
        let steps = self.num_points.min(NUM_STEPS);
        let value = -10.0 * f64::from(steps);
        let half_width = if is_new && self.num_points > NUM_STEPS {
            self.half_width
        } else {
            0.0
        };
        let gradient = -f64::powi(0.5, steps);
        self.num_points += i32::from(is_new);
        job.answer(Answer {
            interval: Interval::new(value - half_width, value + half_width),
            ..Answer::exact(value, vec![gradient])
        });
    }
}

/// The model predicts a decrease below the limit, and points went on to fall by more. The run ends
/// where the intervals allow a thousandth of the limit, and sharpens where they allow more.
#[test]
fn a_decrease_that_the_intervals_exclude_is_not_decided() {
    let run = |half_width: f64| {
        let mut options = limited(Budget {
            max_points: Some(12),
            ..Budget::default()
        });
        options.stop.absolute = 1.0;
        let mut oracle = Levelling {
            half_width,
            num_points: 0,
        };
        minimize(&mut oracle, Problem::new([0.0]), options).expect("valid")
    };
    let report = run(9e-4);
    assert_eq!(report.termination, Termination::Converged);
    assert_eq!(report.work.sharpen, 0);
    let last = report.iterations.last().and_then(|last| last.predicted);
    assert!(last.expect("a step") > 1e-3, "{last:?}");
    assert!(run(1.1e-3).work.sharpen > 0);
}
