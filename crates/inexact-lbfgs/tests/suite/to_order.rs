//! A simulation that is computed only as accurately as needed. Its exact function is known, so that
//! every decision of the solver can be checked.

use std::ops::ControlFlow;

use inexact_lbfgs::{
    Answer, Engine, EvalError, FnOracle, History, Interval, Job, Options, Oracle, Problem, Report,
    Request, StepKind, Termination, drive_with, minimize,
};

use crate::functions::{Quadratic, rosenbrock, wild};

/// The point of a token and the error of its evaluation.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Token {
    pub(crate) theta: Vec<f64>,
    pub(crate) error: f64,
}

/// An exact function, disturbed by an error `$e$`: the gradient by a vector of length `$e$`, and
/// the value by up to `$3 e^2$` in an interval of width `$10 e^2$`. The change between two points,
/// of which `$e$` is the share `kappa`, is a tenth of their distance. Sharper evaluations cost
/// more.
pub(crate) struct Simulation<F> {
    pub(crate) function: F,
    /// Changes answers before they are given. It gets the number of the evaluation.
    pub(crate) spoil: Box<Spoil>,
    count: u64,
}

type Spoil = dyn FnMut(u64, Answer<Token>) -> Result<Answer<Token>, EvalError>;

impl<F: Fn(&[f64], &mut [f64]) -> f64> Simulation<F> {
    pub(crate) fn new(function: F) -> Self {
        Self::spoilt(function, |_, answer| Ok(answer))
    }

    pub(crate) fn spoilt(
        function: F,
        spoil: impl FnMut(u64, Answer<Token>) -> Result<Answer<Token>, EvalError> + 'static,
    ) -> Self {
        Self {
            function,
            spoil: Box::new(spoil),
            count: 0,
        }
    }

    fn error(job: &Job<Token>) -> f64 {
        let error: f64 = match job.request() {
            Request::New { near, kappa } => {
                let moved = job
                    .theta()
                    .iter()
                    .zip(&near.theta)
                    .map(|(a, b)| (a - b).powi(2));
                0.1 * kappa * moved.sum::<f64>().sqrt()
            }
            Request::Sharpen { known, shrink } => {
                assert!(*shrink > 0.0 && *shrink < 1.0);
                assert_eq!(known.theta, job.theta());
                known.error * shrink.sqrt()
            }
            _ => 0.3,
        };
        error.max(1e-9)
    }
}

impl<F: Fn(&[f64], &mut [f64]) -> f64> Oracle for Simulation<F> {
    type Resume = Token;

    fn evaluate(&mut self, job: &mut Job<Token>) {
        self.count += 1;
        let error = Self::error(job);
        let theta = job.theta().to_vec();
        let mut gradient = vec![0.0; theta.len()];
        let exact = (self.function)(&theta, &mut gradient);
        // The disturbance depends on the bits of the point and the error only.
        let bits = theta.iter().fold(error.to_bits(), |hash, x| {
            (hash ^ x.to_bits())
                .wrapping_mul(0x0100_0000_01b3)
                .rotate_left(17)
        });
        let disturbance = wild(theta.len() + 1, bits);
        let length = disturbance.iter().map(|x| x * x).sum::<f64>().sqrt();
        for (g, x) in gradient.iter_mut().zip(&disturbance) {
            *g += error * x / length;
        }
        let value = exact + 3.0 * error * error * disturbance[theta.len()];
        let radius = 5.0 * error * error + 1e-14 * exact.abs();
        // Every factor of ten costs ten units.
        let digits = (0..10).take_while(|k| error < 0.1_f64.powi(*k)).count() as u64;
        let answer = Answer {
            value,
            interval: Interval::new(value - radius, value + radius),
            gradient,
            gradient_error: error,
            resume: Token { theta, error },
            work: 10 + 10 * digits,
        };
        match (self.spoil)(self.count, answer) {
            Ok(answer) => job.answer(answer),
            Err(error) => job.fail(error),
        }
    }
}

/// Runs to the end and checks every decision against the exact objective: intervals contain it, and
/// accepted steps decrease it.
pub(crate) fn audited<F: Fn(&[f64], &mut [f64]) -> f64 + Copy>(
    mut simulation: Simulation<F>,
    problem: Problem,
    mut options: Options,
) -> Report {
    let function = simulation.function;
    let weights: Vec<f64> = (0..problem.num_params())
        .map(|k| problem.weight(k))
        .collect();
    let exact = move |theta: &[f64]| {
        let absolute: f64 = theta.iter().zip(&weights).map(|(x, w)| w * x.abs()).sum();
        function(theta, &mut vec![0.0; theta.len()]) + absolute
    };
    options.history = History::Parameters;
    let mut engine = Engine::new(problem, options).expect("a valid problem");
    let _ = drive_with(&mut engine, &mut simulation, |_, _| {
        ControlFlow::<()>::Continue(())
    });
    let report = engine.into_report();
    let mut last = f64::INFINITY;
    for iteration in &report.iterations {
        let value = exact(iteration.theta.as_ref().expect("parameters"));
        assert!(
            iteration.interval.contains(value),
            "{value} {:?}",
            iteration.interval
        );
        if iteration.kind == StepKind::Accepted {
            assert!(value < last, "a step from {last} to {value} was accepted");
        }
        last = value;
    }
    if !report.gradient.is_empty() {
        assert!(report.interval.contains(exact(&report.theta)));
        assert!(report.interval.contains(report.value));
    }
    report
}

fn shifted_rosenbrock(theta: &[f64], gradient: &mut [f64]) -> f64 {
    rosenbrock(theta, gradient) + 1.0
}

#[test]
fn inexact_evaluations_cost_hardly_more_points_than_exact_ones() {
    for dim in [2, 10, 30] {
        let start: Vec<f64> = (0..dim)
            .map(|i| if i % 2 == 0 { -1.2 } else { 1.0 })
            .collect();
        let exact = minimize(
            &mut FnOracle::new(shifted_rosenbrock),
            Problem::new(start.clone()),
            Options::default(),
        );
        let exact = exact.expect("valid");
        let simulation = Simulation::new(shifted_rosenbrock);
        let report = audited(simulation, Problem::new(start), Options::default());
        assert_eq!(report.termination, Termination::Converged, "{dim}");
        assert!(report.value - 1.0 < 1e-6, "{dim}: {}", report.value);
        // Within a factor of two: the errors of the gradients are 0.3 of the steps.
        assert!(
            report.num_points < 2 * exact.num_points,
            "{dim}: {}",
            report.num_points
        );
        let sharpened = report.num_evaluations() as u64 - report.num_points;
        assert!(
            2 * sharpened < report.num_points,
            "{dim}: {sharpened} times"
        );
        // The first evaluations are rough, and the last ones accurate.
        assert!(report.evaluations[0].interval.width() > 0.1);
        assert!(report.interval.width() < 1e-6);
    }
}

#[test]
fn bounds_and_absolute_values_with_inexact_evaluations() {
    for seed in 1..6 {
        let quadratic = Quadratic::new(30, 1e3, seed);
        let function = |theta: &[f64], gradient: &mut [f64]| quadratic.value(theta, gradient);
        let problem = || {
            let problem = Problem::new(wild(30, seed)).with_l1(0.2).expect("valid");
            problem
                .with_bounds(vec![-1.0; 30], vec![0.8; 30])
                .expect("valid")
        };
        let exact = minimize(&mut FnOracle::new(function), problem(), Options::default());
        let exact = exact.expect("valid");
        let report = audited(Simulation::new(&function), problem(), Options::default());
        assert_eq!(report.termination, Termination::Converged);
        assert!(
            (report.value - exact.value).abs() < 2e-6 * exact.value.abs(),
            "{seed}"
        );
        assert!(
            report.num_points < 3 * exact.num_points,
            "{seed}: {}",
            report.num_points
        );
    }
}

#[test]
fn kappa_reaches_the_oracle_and_points_count_once() {
    let mut options = Options::default();
    options.kappa = 0.5;
    let mut engine = Engine::<Token>::new(Problem::new([-1.2, 1.0]), options).expect("valid");
    let mut simulation = Simulation::new(shifted_rosenbrock);
    let mut points = 0;
    while let Some(job) = engine.ask() {
        match job.request() {
            Request::First => points += 1,
            Request::New { near, kappa } => {
                assert!((*kappa - 0.5).abs() < 1e-15);
                assert!(near.theta != job.theta());
                points += 1;
            }
            _ => {}
        }
        simulation.evaluate(job);
        engine.tell();
        assert_eq!(engine.num_points(), points);
    }
    let report = engine.into_report();
    assert_eq!(report.num_points, points);
    assert!(
        report.num_evaluations() as u64 > points,
        "some points were sharpened"
    );
    assert!(report.work.sharpen > 0 && report.work.new > report.work.sharpen);
}
