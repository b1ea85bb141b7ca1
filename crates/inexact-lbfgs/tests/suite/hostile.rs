//! Oracles that lie, fail or contradict themselves: a run is slow or ends with a clear reason, but
//! no step is accepted that does not decrease the exact objective.

use inexact_lbfgs::{
    Answer, EvalError, FnOracle, InexactFn, Interval, Job, Options, Oracle, Problem, Report,
    Request, Termination, minimize,
};

use proptest::prelude::*;

use crate::functions::{Quadratic, rosenbrock, solve, wild};
use crate::to_order::{Simulation, Token, audited};

fn function(theta: &[f64], gradient: &mut [f64]) -> f64 {
    rosenbrock(theta, gradient) + 1.0
}

fn run(
    spoil: impl FnMut(u64, Answer<Token>) -> Result<Answer<Token>, EvalError> + 'static,
) -> Report {
    let mut options = Options::default();
    options.budget.max_points = Some(3000);
    options.budget.max_evaluations = Some(9000);
    let problem = Problem::new([-1.2, 1.0, -0.5, 0.7]);
    audited(Simulation::spoilt(function, spoil), problem, options)
}

/// A number from 0 to 1 that depends on the count only.
fn chance(count: u64) -> f64 {
    wild(1, count.wrapping_mul(7919))[0].abs()
}

#[test]
fn estimates_of_the_gradient_error_may_lie() {
    for factor in [0.0, 0.01, 100.0, 1e6, f64::INFINITY, f64::NAN, -1.0] {
        let report = run(move |_, mut answer| {
            answer.gradient_error *= factor;
            Ok(answer)
        });
        let ends_well = report.termination.is_success();
        // Without any usable estimate no curvature is learned: steepest descent is slow.
        let may_be_slow = !(0.0..=1e3).contains(&factor);
        assert!(
            ends_well || may_be_slow,
            "{factor}: {:?}",
            report.termination
        );
        assert!(report.value < 10.0, "{factor}: {}", report.value);
        if (0.01..=100.0).contains(&factor) {
            assert!(report.value < 1.0 + 1e-5, "{factor}: {}", report.value);
        }
    }
}

#[test]
fn wrong_gradients_end_the_run_or_slow_it_down() {
    // Every third gradient has the wrong sign.
    let report = run(|count, mut answer| {
        if count % 3 == 2 {
            answer.gradient.iter_mut().for_each(|g| *g = -*g);
        }
        Ok(answer)
    });
    assert!(!matches!(
        report.termination,
        Termination::OracleFailed { .. }
    ));
    // All gradients point uphill.
    let report = run(|_, mut answer| {
        answer.gradient.iter_mut().for_each(|g| *g = -*g);
        Ok(answer)
    });
    let is_clear = matches!(
        report.termination,
        Termination::NoDescent { .. } | Termination::AccuracyFloor { .. }
    );
    assert!(is_clear, "{:?}", report.termination);
    assert_eq!(report.iterations.last().map(|last| last.step), Some(None));
    // Gradients that have nothing to do with the function.
    let report = run(|count, mut answer| {
        answer.gradient = wild(4, count);
        Ok(answer)
    });
    assert!(report.value.is_finite());
}

#[test]
fn exact_values_with_a_wrong_gradient_are_no_descent() {
    let wrong = |theta: &[f64], gradient: &mut [f64]| {
        gradient[0] = -2.0 * theta[0];
        theta[0] * theta[0] + 1.0
    };
    let report = solve(wrong, Problem::new([3.0]));
    assert!(matches!(report.termination, Termination::NoDescent { predicted } if predicted > 0.0));
    assert!(report.num_points < 200);
}

#[test]
fn intervals_that_never_narrow_end_at_the_floor() {
    for radius in [1e-6, 1e-3, 1.0, 1e3, f64::INFINITY] {
        let report = run(move |_, mut answer| {
            let exact = function(&answer.resume.theta, &mut [0.0; 4]);
            answer.value = exact;
            answer.interval = Interval::new(exact - radius, exact + radius);
            Ok(answer)
        });
        match report.termination {
            Termination::AccuracyFloor { achieved, wanted } => {
                assert!(
                    achieved >= 1.9 * radius && wanted < achieved,
                    "{achieved} {wanted}"
                );
            }
            Termination::Converged => assert!(radius <= 1e-6),
            other => panic!("{other:?}"),
        }
        assert!(report.num_evaluations() < 500);
    }
}

/// Where no step can gain as much as a thousandth of the limit of convergence, a run ends, instead
/// of asking for intervals that rounding does not allow. After two steps, the gradient of this
/// function is only its error.
#[test]
fn gains_next_to_nothing_are_not_worth_sharpening() {
    let mut count = 0;
    let evaluate = |theta: &[f64], _: &Request<()>| {
        count += 1;
        let value = 1.0 + 0.5 * theta.iter().map(|x| x * x).sum::<f64>();
        let gradient = theta.iter().zip(wild(theta.len(), count));
        let gradient = gradient.map(|(x, wild)| x + 1e-6 * wild).collect();
        let mut answer = Answer::exact(value, gradient);
        answer.interval = Interval::new(value - 1e-11, value + 1e-11);
        Ok(answer)
    };
    let problem = Problem::new([1.0, 0.5, -0.2]);
    let report = minimize(&mut InexactFn::new(evaluate), problem, Options::default());
    let report = report.expect("valid");
    assert_eq!(report.termination, Termination::Converged);
    assert_eq!(report.num_evaluations() as u64, report.num_points);
    assert!(report.value < 1.0 + 1e-9, "{}", report.value);
}

#[test]
fn intervals_that_are_infinite_at_first() {
    let mut seen: Vec<(Vec<f64>, u32)> = Vec::new();
    let report = run(move |_, mut answer| {
        let known = seen
            .iter_mut()
            .find(|(theta, _)| *theta == answer.resume.theta);
        let times = match known {
            Some((_, times)) => {
                *times += 1;
                *times
            }
            None => {
                seen.push((answer.resume.theta.clone(), 0));
                0
            }
        };
        if times < 2 {
            answer.interval = Interval::UNKNOWN;
        }
        Ok(answer)
    });
    assert_eq!(report.termination, Termination::Converged);
    assert!(report.value < 1.0 + 1e-6);
}

#[test]
fn failures_and_nan_at_random() {
    for kind in 0..4 {
        let report = run(move |count, mut answer| {
            if count > 1 && chance(count) < 0.3 {
                match kind {
                    0 => return Err(EvalError::reject("no luck")),
                    1 => answer.value = f64::NAN,
                    2 => answer.gradient[2] = f64::INFINITY,
                    _ => answer.interval.lower = f64::NAN,
                }
            }
            Ok(answer)
        });
        assert_eq!(report.termination, Termination::Converged, "{kind}");
        assert!(report.value < 1.0 + 1e-5, "{kind}: {}", report.value);
        assert!(
            report
                .evaluations
                .iter()
                .any(|evaluation| evaluation.value.is_err())
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// All kinds of trouble at once, with bounds and absolute values. The audit checks every step.
    #[test]
    fn no_mixture_of_trouble_leads_to_a_wrong_step(
        seed in 0_u64..10_000, lie in -3.0..3.0, wrong in 0.0..1.0, failing in 0.0..0.5,
        wide in 0.0..1.0,
    ) {
        let quadratic = Quadratic::new(7, 1e3, seed);
        let function = |theta: &[f64], gradient: &mut [f64]| quadratic.value(theta, gradient);
        let spoil = move |count: u64, mut answer: Answer<Token>| {
            let chances = wild(4, seed ^ count.wrapping_mul(7919));
            answer.gradient_error *= 10.0_f64.powf(lie);
            if chances[0].abs() < wrong {
                let noise = wild(7, count);
                answer.gradient.iter_mut().zip(noise).for_each(|(g, x)| *g += 0.3 * x);
            }
            if chances[1].abs() < wide {
                answer.interval.lower -= 0.1 * chances[2].abs();
                answer.interval.upper += 0.1 * chances[3].abs();
            }
            if count > 1 && chances[2].abs() < failing {
                return Err(EvalError::reject("no luck"));
            }
            Ok(answer)
        };
        let problem = Problem::new(wild(7, seed)).with_l1(0.1).expect("valid");
        let problem = problem.with_bounds([-1.0; 7], [0.6; 7]).expect("valid");
        let mut options = Options::default();
        options.budget.max_evaluations = Some(600);
        let report = audited(Simulation::spoilt(&function, spoil), problem, options);
        let is_broken = matches!(report.termination, Termination::OracleFailed { .. });
        prop_assert!(!is_broken, "{:?}", report.termination);
    }
}

fn failure(report: &Report) -> &str {
    match &report.termination {
        Termination::OracleFailed { reason } => reason,
        other => panic!("{other:?}"),
    }
}

#[test]
fn contradictions_are_clear_errors() {
    let report = run(|count, mut answer| {
        if count == 5 {
            (answer.interval.lower, answer.interval.upper) = (2.0, 1.0);
        }
        Ok(answer)
    });
    assert!(failure(&report).contains("outside its interval [2, 1]"));
    assert_eq!(report.num_points, 5);
    assert!(report.value.is_finite(), "the best point stays");

    let report = run(|count, mut answer| {
        if count == 3 {
            answer.value = answer.interval.upper + 1.0;
        }
        Ok(answer)
    });
    assert!(failure(&report).contains("outside its interval"));

    let report = run(|_, mut answer| {
        answer.gradient.truncate(3);
        Ok(answer)
    });
    assert!(failure(&report).contains("length 3, but there are 4 parameters"));

    let report = run(|count, answer| match count {
        9 => Err(EvalError::abort("the licence server is down")),
        _ => Ok(answer),
    });
    assert_eq!(failure(&report), "the licence server is down");

    let report = run(|_, _| Err(EvalError::reject("nothing works")));
    assert_eq!(failure(&report), "nothing works");
    assert!(report.gradient.is_empty());
}

/// An exact function whose intervals move when a point is sharpened.
struct Moving;

impl Oracle for Moving {
    type Resume = u32;

    fn evaluate(&mut self, job: &mut Job<u32>) {
        let x = job.theta()[0];
        let times = job.request().token().map_or(0, |times| times + 1);
        let value = x * x + 10.0 * f64::from(times);
        job.answer(Answer {
            value,
            interval: Interval::new(value - 4.0, value + 4.0),
            gradient: vec![2.0 * x],
            gradient_error: 0.0,
            resume: times,
            work: 1,
        });
    }
}

#[test]
fn intervals_of_one_point_must_meet() {
    let problem = Problem::new([1.0]);
    let report = minimize(&mut Moving, problem, Options::default()).expect("valid");
    assert!(
        failure(&report).contains("no number in common"),
        "{}",
        failure(&report)
    );
}

#[test]
fn a_region_that_cannot_be_evaluated_blocks_the_run() {
    let function = |theta: &[f64], gradient: &mut [f64]| {
        gradient[0] = 2.0 * theta[0];
        if theta[0] < 1.0 {
            f64::NAN
        } else {
            theta[0] * theta[0]
        }
    };
    let report = solve(function, Problem::new([3.0]));
    assert_eq!(report.termination, Termination::Blocked);
    assert!((report.theta[0] - 1.0).abs() < 0.1, "{:?}", report.theta);
}

#[test]
fn an_oracle_that_does_not_answer() {
    struct Silent;
    impl Oracle for Silent {
        type Resume = ();
        fn evaluate(&mut self, _: &mut Job<()>) {}
    }
    let report = minimize(&mut Silent, Problem::new([1.0]), Options::default()).expect("valid");
    assert_eq!(failure(&report), "the oracle did not answer the job");
}

#[test]
fn gradients_beyond_floating_point_numbers() {
    let function = |theta: &[f64], gradient: &mut [f64]| {
        gradient[0] = 1e300;
        1e300 * theta[0]
    };
    let report = minimize(
        &mut FnOracle::new(function),
        Problem::new([1.0]),
        Options::default(),
    );
    let report = report.expect("valid");
    assert!(failure(&report).contains("too large"));
}
