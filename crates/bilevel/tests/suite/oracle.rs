//! Evaluations are as accurate as reported, for every family, kind of residuals and scale.

use crate::evaluate::evaluate;
use crate::families::{Visitor, for_each_family};
use bilevel::{
    CheckpointPolicy, ConditionNumber, Effort, LearningProblem, Loss, LowerLevel, Map, Pair,
    Parameter, Penalty, Residuals, RootL1, Scale, Setup,
};
use dfo_ls::{BlockVector, Options, Report, ResidualOracle};
use lowlevel::Method;
use proptest::prelude::*;

fn setup(scale: Scale, residuals: Residuals, method: Method) -> Setup {
    let penalties: Vec<Box<dyn Penalty>> = vec![
        Box::new(ConditionNumber { weight: 1e-6 }),
        Box::new(RootL1 { weight: 0.1 }),
    ];
    Setup {
        loss: Loss { scale, residuals },
        penalties,
        method,
        ..Setup::derivative_free()
    }
}

/// One evaluation at a point given by numbers between 0 and 1. Weights are between 0.01 and 0.1, so
/// that gradient descent ends.
fn evaluate_at<M: LowerLevel>(
    problem: &mut LearningProblem<M>,
    shares: &[f64],
    accuracy: f64,
) -> Report {
    let blocks = problem.parameters();
    let theta: Vec<f64> = (Parameter::of_entries(blocks).zip(Parameter::starts_of(blocks)))
        .zip(shares.iter().cycle())
        .map(|((p, start), share)| match p.map {
            Map::Log10 => start.min(-1.0) - share,
            _ => p.lower + share * (p.upper - p.lower),
        })
        .collect();
    evaluate(problem, &theta, accuracy)
}

/// The residuals of the only evaluation, which the problem keeps if there is one per pixel.
fn residuals<M: LowerLevel>(problem: &LearningProblem<M>, report: &Report) -> Vec<f64> {
    let kept = problem.vectors().iter().filter_map(|block| block.get(0));
    let all = kept
        .flat_map(BlockVector::to_vec)
        .chain(report.residuals.iter().copied());
    all.collect()
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter()
        .zip(b)
        .map(|(a, b)| (a - b).powi(2))
        .sum::<f64>()
        .sqrt()
}

struct Check<'a> {
    scale: Scale,
    residuals: Residuals,
    method: Method,
    accuracy: f64,
    shares: &'a [f64],
}

impl Visitor for Check<'_> {
    fn visit<M: LowerLevel>(&self, name: &str, model: M, pairs: Vec<Pair>) {
        let setup = setup(self.scale, self.residuals, self.method);
        let mut problem = LearningProblem::new(&model, pairs, setup).expect("a valid problem");
        let rough = evaluate_at(&mut problem, self.shares, self.accuracy);
        let rough_residuals = residuals(&problem, &rough);
        let sharp = evaluate_at(&mut problem, self.shares, 1e-3 * self.accuracy);
        let sharp_residuals = residuals(&problem, &sharp);
        assert!(
            !rough_residuals.is_empty(),
            "{name}: {:?}",
            rough.termination
        );
        let (achieved, sharper) = (rough.accuracy.value(), sharp.accuracy.value());
        assert!(
            achieved <= self.accuracy,
            "{name}: {achieved:e} of {:e}",
            self.accuracy
        );
        let apart = distance(&rough_residuals, &sharp_residuals);
        assert!(
            apart <= achieved + sharper,
            "{name}: {apart:e} > {achieved:e} + {sharper:e}"
        );
        let (low, high) = (rough.interval, sharp.interval);
        assert!(low.lower <= high.upper && high.lower <= low.upper, "{name}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn requested_accuracy_is_delivered_and_true(
        sum in any::<bool>(),
        per_pixel in any::<bool>(),
        descent in any::<bool>(),
        log_accuracy in -4.0..0.5_f64,
        shares in proptest::collection::vec(0.0..1.0_f64, 3),
    ) {
        let scale = if sum { Scale::Sum } else { Scale::Mean };
        let residuals = if per_pixel { Residuals::Pixel } else { Residuals::Image };
        let method = if descent { Method::GRADIENT_DESCENT } else { Method::FISTA };
        let accuracy = 10_f64.powf(log_accuracy);
        for_each_family(&Check { scale, residuals, method, accuracy, shares: &shares });
    }
}

/// The objective does not depend on the kind of residuals, and the mean is the sum divided by the
/// number of images.
struct SameObjective;

impl Visitor for SameObjective {
    fn visit<M: LowerLevel>(&self, name: &str, model: M, pairs: Vec<Pair>) {
        let objective = |scale, residuals| {
            let setup = Setup {
                loss: Loss { scale, residuals },
                ..Setup::derivative_free()
            };
            let mut problem =
                LearningProblem::new(&model, pairs.clone(), setup).expect("a valid problem");
            evaluate_at(&mut problem, &[0.5], 1e-6).objective
        };
        let sum = objective(Scale::Sum, Residuals::Image);
        let count = pairs.len() as f64;
        for (scale, residuals, factor) in [
            (Scale::Sum, Residuals::Pixel, 1.0),
            (Scale::Mean, Residuals::Image, count),
            (Scale::Mean, Residuals::Pixel, count),
        ] {
            let other = factor * objective(scale, residuals);
            assert!((other / sum - 1.0).abs() < 1e-4, "{name}: {other} {sum}");
        }
    }
}

#[test]
fn the_objective_does_not_depend_on_the_residuals() {
    for_each_family(&SameObjective);
}

/// Refining a point never makes it less accurate, and the work of all evaluations adds up.
struct Refine(CheckpointPolicy);

impl Visitor for Refine {
    fn visit<M: LowerLevel>(&self, name: &str, model: M, pairs: Vec<Pair>) {
        let setup = Setup {
            checkpoints: self.0,
            ..Setup::derivative_free()
        };
        let mut problem = LearningProblem::new(model, pairs, setup).expect("a valid problem");
        let mut options = Options::default();
        options.target = Some(0.0); // never reached: sharpen forever
        let mut engine = problem.engine(options).expect("valid options");
        for _ in 0..30 {
            let jobs = engine.ask();
            if jobs.is_empty() {
                break;
            }
            problem.evaluate(jobs);
            engine.tell();
        }
        let report = engine.into_report();
        for (index, record) in report.evaluations.iter().enumerate() {
            let earlier = report.evaluations[..index].iter().rev();
            let Some(before) = earlier.into_iter().find(|e| e.point == record.point) else {
                continue;
            };
            assert!(
                record.achieved <= before.achieved,
                "{name}: refining loosened"
            );
        }
        let total: u64 = report.evaluations.iter().map(|e| e.work).sum();
        assert_eq!(total, report.work, "{name}: work adds up");
    }
}

#[test]
fn refining_never_loosens() {
    for_each_family(&Refine(CheckpointPolicy::Full));
    for_each_family(&Refine(CheckpointPolicy::Compact));
}

/// The same numbers on one thread and on several, to the last bit.
#[cfg(feature = "rayon")]
#[test]
fn threads_do_not_matter() {
    struct Threads;
    impl Visitor for Threads {
        fn visit<M: LowerLevel>(&self, name: &str, model: M, pairs: Vec<Pair>) {
            let run = |threads: usize| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
                let setup = setup(Scale::Mean, Residuals::Pixel, Method::FISTA);
                let mut problem =
                    LearningProblem::new(&model, pairs.clone(), setup).expect("a valid problem");
                let mut options = bilevel::learning_options();
                options.budget.max_evaluations = Some(25);
                let learn = || problem.learn_with(options).expect("valid options");
                pool.expect("threads").install(learn)
            };
            assert_eq!(run(1), run(3), "{name}");
        }
    }
    for_each_family(&Threads);
}

/// A fixed number of iterations: every reconstruction makes them, and its error is reported.
#[test]
fn fixed_iterations() {
    struct Fixed;
    impl Visitor for Fixed {
        fn visit<M: LowerLevel>(&self, name: &str, model: M, pairs: Vec<Pair>) {
            let setup = Setup {
                effort: Effort::Iterations(7),
                ..Setup::derivative_free()
            };
            let count = pairs.len() as u64;
            let mut problem = LearningProblem::new(model, pairs, setup).expect("a valid problem");
            let report = evaluate_at(&mut problem, &[0.5], 1e9);
            assert_eq!(
                report.work,
                8 * count,
                "{name}: seven iterations and the start"
            );
            assert!(report.accuracy.value().is_finite(), "{name}");
        }
    }
    for_each_family(&Fixed);
}

/// Jobs may be answered in any order and any number at a time.
#[test]
fn jobs_are_independent() {
    struct Order;
    impl Visitor for Order {
        fn visit<M: LowerLevel>(&self, name: &str, model: M, pairs: Vec<Pair>) {
            let run = |together: bool| {
                let mut problem =
                    LearningProblem::new(&model, pairs.clone(), Setup::derivative_free())
                        .expect("valid");
                let mut options = bilevel::learning_options();
                options.budget.max_evaluations = Some(20);
                let mut engine = problem.engine(options).expect("valid options");
                loop {
                    let jobs = engine.ask();
                    let Some(last) = jobs.len().checked_sub(1) else {
                        break;
                    };
                    let first = if together { 0 } else { last };
                    problem.evaluate(&mut jobs[first..]);
                    engine.tell();
                }
                let mut records = engine.into_report().evaluations;
                records.sort_by_key(|record| record.point);
                records
            };
            assert_eq!(run(true), run(false), "{name}");
        }
    }
    for_each_family(&Order);
}
