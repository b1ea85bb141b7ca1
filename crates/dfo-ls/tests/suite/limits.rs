//! Noise, restarts, and early ends of a run.

use std::ops::ControlFlow;
use std::time::Duration;

use crate::valley::{check, exact, inexact, valley};
use dfo_ls::{
    Accuracy, Evaluated, FnOracle, InexactFn, Iteration, Limit, Model, NoiseLevel, Options,
    Problem, Report, Request, ResidualOracle, Restarts, Samples, SlowProgress, StepKind,
    Termination, minimize_observed,
};

/// Options for noise in which every point is sampled four times.
fn noisy_options() -> Options {
    let mut options = Options::noisy();
    options.noise.samples = Samples::Fixed(4);
    options.budget.max_points = Some(150);
    options
}

/// Residuals with noise that depends on the point and the sample.
fn noisy() -> impl ResidualOracle<Resume = ()> {
    InexactFn::new(3, |request: Request<'_, ()>, r: &mut [f64]| {
        valley(request.theta, r);
        let phase =
            1e4 * (request.theta[0] + 1.7 * request.theta[1]) + 2.3 * f64::from(request.sample);
        r[0] += 1e-2 * phase.sin();
        r[1] += 1e-2 * (1.3 * phase).cos();
        Ok(Evaluated {
            achieved: Accuracy::EXACT,
            work: 1,
            resume: (),
        })
    })
}

#[test]
fn averages_of_samples() {
    let report = check(&mut noisy(), noisy_options(), &[1.0, 1.0], 0.1);
    assert_eq!(report.evaluations.len() as u64, 4 * report.num_points);
    let mut growing = noisy_options();
    growing.noise.samples = Samples::Growing { max: 5 };
    let report = check(&mut noisy(), growing, &[1.0, 1.0], 0.1);
    let samples = |point| {
        report
            .evaluations
            .iter()
            .filter(|record| record.point == point)
            .count()
    };
    assert_eq!(samples(0), 1);
    assert!((0..report.num_points).all(|point| samples(point) <= 5));
}

#[test]
fn restarts() {
    let report = check(&mut noisy(), noisy_options(), &[1.0, 1.0], 0.1);
    let restarted = |report: &Report| {
        report
            .iterations
            .iter()
            .filter(|i| i.kind == StepKind::Restarted)
            .count()
    };
    assert!(restarted(&report) > 0, "{:?}", report.termination);
    let mut few = Restarts::default();
    few.max_unsuccessful = 1;
    let mut options = Options::default();
    options.restarts = Some(few);
    let report = check(&mut exact(), options, &[1.0, 1.0], 1e-5);
    assert_eq!(report.termination, Termination::RestartsExhausted);
    assert!(restarted(&report) >= 1);
}

#[test]
fn noise_level() {
    for level in [NoiseLevel::Additive(1e-2), NoiseLevel::Multiplicative(0.04)] {
        let mut options = Options::default();
        options.model = Model::Linear;
        options.noise.level = Some(level);
        let report = check(&mut exact(), options, &[1.0, 1.0], 0.3);
        assert_eq!(report.termination, Termination::NoiseReached);
    }
}

#[test]
fn slow_progress() {
    let mut slow = SlowProgress::default();
    slow.rate = 10.0;
    slow.patience = 1;
    let mut options = Options::default();
    options.slow = Some(slow);
    let report = check(&mut exact(), options, &[1.0, 1.0], 10.0);
    assert_eq!(report.termination, Termination::Slow);
    assert!(report.termination.is_success());
}

#[test]
fn target() {
    let mut options = Options::default();
    options.target = Some(0.3);
    for report in [
        check(&mut exact(), options.clone(), &[1.0, 1.0], 1.0),
        check(&mut inexact(), options, &[1.0, 1.0], 1.0),
    ] {
        assert_eq!(report.termination, Termination::TargetReached);
        assert!(report.interval.upper <= 0.3 && report.objective >= 0.2);
        let last = report.evaluations.last().expect("evaluations");
        assert_eq!(last.theta, report.theta);
    }
}

#[test]
fn each_limit() {
    for limit in [1, 2, 3, 7, 20] {
        let mut options = Options::default();
        options.budget.max_points = Some(limit);
        let report = check(&mut inexact(), options, &[1.0, 1.0], 10.0);
        assert_eq!(report.termination, Termination::Exhausted(Limit::Points));
        assert_eq!(report.num_points, limit);
        let mut options = Options::default();
        options.budget.max_evaluations = Some(limit);
        let report = check(&mut inexact(), options, &[1.0, 1.0], 10.0);
        assert_eq!(
            report.termination,
            Termination::Exhausted(Limit::Evaluations)
        );
        assert_eq!(report.evaluations.len() as u64, limit);
        let mut options = Options::default();
        options.budget.max_work = Some(limit);
        let report = check(&mut inexact(), options, &[1.0, 1.0], 10.0);
        assert_eq!(report.termination, Termination::Exhausted(Limit::Work));
        // the batch that crosses the limit is completed
        assert!(
            limit <= report.work && report.work <= limit + 1,
            "{limit}: {}",
            report.work
        );
    }
    let mut options = Options::default();
    options.budget.max_time = Some(Duration::from_millis(20));
    let mut slow = FnOracle::new(3, |theta: &[f64], r: &mut [f64]| {
        std::thread::sleep(Duration::from_millis(3));
        valley(theta, r);
    });
    let report = check(&mut slow, options, &[1.0, 1.0], 10.0);
    assert_eq!(report.termination, Termination::Exhausted(Limit::Time));
    assert!(report.evaluations.len() <= 10);
}

#[test]
fn the_observer_stops() {
    let mut seen: Vec<Iteration> = Vec::new();
    let report = minimize_observed(
        &mut exact(),
        Problem::new([-1.2, 1.0]),
        Options::default(),
        |iteration| {
            seen.push(iteration.clone());
            if seen.len() == 5 {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        },
    )
    .expect("a valid problem");
    assert_eq!(report.termination, Termination::Stopped);
    assert_eq!(seen[..], report.iterations[..seen.len()]);
    assert!(seen.len() == 5 && report.evaluations.len() < 20);
}

/// Rosenbrock's residuals with errors of the requested size, but not below `floor`.
fn with_floor(floor: f64, offset: f64) -> impl dfo_ls::ResidualOracle<Resume = ()> {
    dfo_ls::InexactFn::new(3, move |request: dfo_ls::Request<'_, ()>, r: &mut [f64]| {
        let t = request.theta;
        let size = request.target.value().min(0.1).max(floor);
        let angle = 1e3 * (t[0] + 0.7 * t[1]);
        r[0] = 10.0 * (t[1] - t[0] * t[0]) + 0.7 * size * angle.sin();
        r[1] = 1.0 - t[0] + 0.7 * size * angle.cos();
        r[2] = offset;
        Ok(dfo_ls::Evaluated {
            achieved: dfo_ls::Accuracy::new(size).expect("not negative"),
            work: 1,
            resume: (),
        })
    })
}

/// Once the oracle's floor is known, no point is asked again for an accuracy that it has just
/// missed.
#[test]
fn an_accuracy_that_was_missed_is_not_asked_for_again() {
    for floor in [1e-16, 1e-12, 1e-8] {
        let problem = Problem::new([-1.2, 1.0]);
        let report = dfo_ls::minimize(&mut with_floor(floor, 0.0), problem, Options::default());
        let report = report.expect("valid");
        let repeated = report.evaluations.windows(2).filter(|pair| {
            let missed = pair[0].achieved > pair[0].target;
            pair[0].point == pair[1].point && missed && pair[1].target >= pair[0].target
        });
        assert!(repeated.count() <= 1, "{floor}");
    }
}

/// An oracle that reports errors below rounding level is not evaluated thousands of times.
#[test]
fn rounding_level_costs_no_evaluations() {
    for offset in [0.0, 0.3, 5.0] {
        let problem = Problem::new([-1.2, 1.0]);
        let report = dfo_ls::minimize(&mut with_floor(0.0, offset), problem, Options::default());
        let report = report.expect("valid");
        assert!(report.termination.is_success(), "{offset}");
        let most = 5 * usize::try_from(report.num_points).expect("few");
        assert!(report.num_evaluations() <= most, "{offset}: {report:?}");
    }
}
