//! Properties of every run: feasibility, correct intervals, certified decisions, consistent counts,
//! symmetries, determinism.

use std::cell::RefCell;
use std::collections::BTreeMap;

use dfo_ls::{
    Accuracy, AccuracyControl, Dynamic, Engine, Evaluated, FnOracle, InexactFn, Iteration, Job,
    Model, Options, Problem, Purpose, Report, Request, ResidualOracle, Samples, StepKind,
    Termination, minimize,
};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// `$r_i = a_i^\top (\theta - t) + c\,(b_i^\top (\theta - t))^2 + s_i$`
#[derive(Clone, Debug)]
struct Curved {
    target: Vec<f64>,
    rows: Vec<Vec<f64>>,
    curved: Vec<Vec<f64>>,
    curvature: f64,
    shift: Vec<f64>,
}

impl Curved {
    fn residuals(&self, theta: &[f64], r: &mut [f64]) {
        let along = |row: &[f64]| -> f64 {
            (row.iter().zip(theta).zip(&self.target))
                .map(|((a, x), t)| a * (x - t))
                .sum()
        };
        for (i, r) in r.iter_mut().enumerate() {
            let bend = along(&self.curved[i]);
            *r = along(&self.rows[i]) + self.curvature * bend * bend + self.shift[i];
        }
    }

    fn objective(&self, theta: &[f64]) -> f64 {
        let mut residuals = vec![0.0; self.rows.len()];
        self.residuals(theta, &mut residuals);
        residuals.iter().map(|r| r * r).sum()
    }

    fn oracle(&self) -> FnOracle<impl FnMut(&[f64], &mut [f64])> {
        FnOracle::new(self.rows.len(), |theta: &[f64], r: &mut [f64]| {
            self.residuals(theta, r)
        })
    }

    /// An oracle with errors of 0.9 times the requested bound, in a direction that depends on the
    /// point and on the accuracy. More accurate answers cost more work, which tokens count.
    fn inexact(&self) -> impl ResidualOracle<Resume = u64> {
        InexactFn::new(
            self.rows.len(),
            |request: Request<'_, u64>, r: &mut [f64]| {
                self.residuals(request.theta, r);
                let size = request.target.value().min(1.0);
                let mut phase =
                    1e3 * request.theta.iter().sum::<f64>() + 10.0 * size.max(1e-300).ln();
                let directions: Vec<f64> = r
                    .iter()
                    .map(|_| {
                        phase = 2.9 * phase + 0.7;
                        phase.sin()
                    })
                    .collect();
                let length = directions
                    .iter()
                    .map(|x| x * x)
                    .sum::<f64>()
                    .sqrt()
                    .max(1e-9);
                for (r, x) in r.iter_mut().zip(&directions) {
                    *r += 0.9 * size * x / length;
                }
                let work = 1 + if size < 1e-2 { 3 } else { 0 } + if size < 1e-5 { 9 } else { 0 };
                Ok(Evaluated {
                    achieved: Accuracy::new(size).expect("not negative"),
                    work,
                    resume: work,
                })
            },
        )
    }
}

fn numbers(count: usize) -> impl Strategy<Value = Vec<f64>> {
    proptest::collection::vec(-2.0..2.0_f64, count)
}

fn curved_of(d: usize, m: usize) -> impl Strategy<Value = Curved> {
    let rows = || proptest::collection::vec(numbers(d), m);
    (numbers(d), rows(), rows(), 0.0..0.3_f64, numbers(m)).prop_map(
        |(target, rows, curved, curvature, shift)| Curved {
            target,
            rows,
            curved,
            curvature,
            shift,
        },
    )
}

fn curved() -> impl Strategy<Value = Curved> {
    (1_usize..5, 1_usize..8).prop_flat_map(|(d, m)| curved_of(d, m))
}

/// More residuals than parameters, so that the minimum is usually one point.
fn tall() -> impl Strategy<Value = Curved> {
    (1_usize..4).prop_flat_map(|d| curved_of(d, d + 4))
}

fn preset(which: usize) -> Options {
    let mut options = match which {
        0 => Options::default(),
        1 => Options::noisy(),
        2 => Options::paper(),
        3 => Options::experiments(),
        5 => {
            let mut options = Options::default();
            options.batch = 16;
            options
        }
        6 => {
            let mut options = Options::noisy();
            options.batch = 5;
            options
        }
        _ => {
            let mut options = Options::default();
            options.model = Model::Linear;
            options.batch = 3;
            options.noise.samples = Samples::Fixed(2);
            options
        }
    };
    options.budget.max_evaluations = Some(150);
    options
}

fn run(oracle: &mut impl ResidualOracle, start: &[f64], options: Options) -> Report {
    minimize(oracle, Problem::new(start), options).expect("a valid problem")
}

/// Checks that counts and work add up, and that all evaluations of a point have the same
/// parameters.
fn check_counts(report: &Report) {
    assert_eq!(
        report.work,
        report
            .evaluations
            .iter()
            .map(|record| record.work)
            .sum::<u64>()
    );
    let mut points: BTreeMap<u64, &[f64]> = BTreeMap::new();
    for record in &report.evaluations {
        assert_eq!(
            *points.entry(record.point).or_insert(&record.theta),
            record.theta
        );
    }
    assert_eq!(report.num_points, points.len() as u64);
    assert_eq!(report.num_evaluations(), report.evaluations.len());
    assert!(points.values().any(|theta| *theta == report.theta));
    let mut before = (0, 0, 0);
    for iteration in &report.iterations {
        let now = (
            iteration.num_points,
            iteration.num_evaluations,
            iteration.work,
        );
        assert!(before.0 <= now.0 && before.1 <= now.1 && before.2 <= now.2);
        let billed: u64 = report
            .evaluations
            .iter()
            .map(|record| record.work)
            .take(usize::try_from(now.1).expect("small"))
            .sum();
        assert_eq!(billed, now.2);
        before = now;
    }
}

fn close(a: f64, b: f64, tolerance: f64) -> bool {
    (a - b).abs() <= tolerance * (1.0 + a.abs().max(b.abs()))
}

/// Everything that makes two runs the same, to the last bit.
fn fingerprint(report: &Report) -> String {
    format!(
        "{:?} {:?} {:?} {:?} {:?}",
        report.theta, report.termination, report.iterations, report.evaluations, report.jacobian
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]

    #[test]
    fn bounds_are_never_crossed(
        problem in curved(), start in numbers(5), box_of in proptest::collection::vec((-2.0..2.0_f64, 0.0..2.0_f64), 5), which in 0_usize..7,
    ) {
        let d = problem.target.len();
        let width = |w: f64| if w < 0.3 { 0.0 } else { w - 0.3 };
        let lower: Vec<f64> = box_of[..d].iter().map(|b| b.0).collect();
        let upper: Vec<f64> = box_of[..d].iter().map(|b| b.0 + width(b.1)).collect();
        prop_assume!(lower != upper);
        let asked = RefCell::new(Vec::new());
        let mut oracle = FnOracle::new(problem.rows.len(), |theta: &[f64], r: &mut [f64]| {
            asked.borrow_mut().push(theta.to_vec());
            problem.residuals(theta, r);
        });
        let bounded = Problem::new(&start[..d]).with_bounds(lower.clone(), upper.clone()).expect("bounds in order");
        let report = minimize(&mut oracle, bounded, preset(which)).expect("a valid problem");
        for theta in asked.borrow().iter().chain([&report.theta]) {
            for j in 0..d {
                prop_assert!(lower[j] <= theta[j] && theta[j] <= upper[j], "{theta:?}");
            }
        }
        prop_assert_eq!(asked.borrow().len(), report.evaluations.len());
        check_counts(&report);
    }

    #[test]
    fn intervals_are_honest(problem in curved(), start in numbers(5), which in prop::sample::select(vec![0_usize, 1, 2, 5])) {
        let report = run(&mut problem.inexact(), &start[..problem.target.len()], preset(which));
        check_counts(&report);
        let slack = |f: f64| 1e-12 * (1.0 + f);
        let exact = problem.objective(&report.theta);
        prop_assert!(report.interval.lower <= exact + slack(exact) && exact <= report.interval.upper + slack(exact));
        for iteration in &report.iterations {
            let exact = problem.objective(&iteration.theta);
            let interval = iteration.interval;
            prop_assert!(interval.lower <= exact + slack(exact) && exact <= interval.upper + slack(exact), "{iteration:?} {exact}");
            prop_assert!(interval.lower <= iteration.objective && iteration.objective <= interval.upper);
        }
        for record in &report.evaluations {
            prop_assert!(record.achieved <= record.target || record.achieved.value() <= 1.0);
        }
    }

    /// The ratio of every certified step is right to `$2\eta_1'$`, or on the same side of both
    /// limits.
    #[test]
    fn decisions_are_certified(problem in curved(), start in numbers(5), paper in any::<bool>()) {
        let report = run(&mut problem.inexact(), &start[..problem.target.len()], preset(if paper { 2 } else { 0 }));
        let rules = &report.options.trust_region;
        let AccuracyControl::Dynamic(Dynamic { eta1_prime, .. }) = report.options.accuracy else { unreachable!("the default") };
        let class = |ratio: f64| u8::from(ratio >= rules.eta1) + u8::from(ratio >= rules.eta2);
        for pair in report.iterations.windows(2) {
            let (before, now) = (&pair[0], &pair[1]);
            let (Some(ratio), Some(predicted), true) = (now.ratio, now.predicted, now.certified) else {
                continue;
            };
            let count = |iteration: &Iteration| usize::try_from(iteration.num_evaluations).expect("small");
            let since = &report.evaluations[count(before)..count(now)];
            let tried = since.iter().rfind(|record| record.purpose == Purpose::Trial).expect("a trial");
            let incumbent = match now.kind {
                StepKind::Rejected => &now.theta,
                // a geometry point may have become the incumbent
                StepKind::Accepted if since.iter().all(|record| record.purpose != Purpose::Geometry) => &before.theta,
                _ => continue,
            };
            let (old, new) = (problem.objective(incumbent), problem.objective(&tried.theta));
            let exact = (old - new) / predicted;
            let rounding = 1e-13 * (1.0 + old) / predicted;
            prop_assert!((ratio - exact).abs() <= 2.0 * eta1_prime + rounding || class(ratio) == class(exact),
                "{ratio} {exact} {predicted}");
        }
    }

    /// With a batch, one of the trial points has the ratio of a certified step. The incumbent may
    /// move on to another point of the batch.
    #[test]
    fn decisions_about_batches_are_certified(problem in curved(), start in numbers(5)) {
        let report = run(&mut problem.inexact(), &start[..problem.target.len()], preset(5));
        let rules = &report.options.trust_region;
        let AccuracyControl::Dynamic(Dynamic { eta1_prime, .. }) = report.options.accuracy else { unreachable!("the default") };
        let class = |ratio: f64| u8::from(ratio >= rules.eta1) + u8::from(ratio >= rules.eta2);
        for pair in report.iterations.windows(2) {
            let (before, now) = (&pair[0], &pair[1]);
            let (Some(ratio), Some(predicted), true) = (now.ratio, now.predicted, now.certified) else {
                continue;
            };
            let count = |iteration: &Iteration| usize::try_from(iteration.num_evaluations).expect("small");
            let since = &report.evaluations[count(before)..count(now)];
            let alone = |purpose: Purpose| since.iter().all(|record| record.purpose != purpose);
            if !alone(Purpose::Sharpen) {
                continue;
            }
            let old = problem.objective(&before.theta);
            let mut tried = since.iter().filter(|record| record.purpose == Purpose::Trial);
            let agrees = tried.any(|record| {
                let exact = (old - problem.objective(&record.theta)) / predicted;
                let rounding = 1e-13 * (1.0 + old) / predicted;
                (ratio - exact).abs() <= 2.0 * eta1_prime + rounding || class(ratio) == class(exact)
            });
            let exact = problem.objective(&now.theta);
            prop_assert!(agrees, "{ratio} {predicted}");
            prop_assert!(exact <= old * (1.0 + 1e-12), "{exact} {old}");
        }
    }

    #[test]
    fn the_order_of_residuals_does_not_matter(problem in tall(), start in numbers(5)) {
        let start = &start[..problem.target.len()];
        let mut turned = problem.clone();
        turned.rows.rotate_left(2);
        turned.curved.rotate_left(2);
        turned.shift.rotate_left(2);
        let (one, two) = (run(&mut problem.oracle(), start, preset(0)), run(&mut turned.oracle(), start, preset(0)));
        prop_assert!(close(one.objective, two.objective, 1e-6), "{} {}", one.objective, two.objective);
    }

    /// Every residual is repeated and divided by the square root of two.
    #[test]
    fn doubled_residuals_change_nothing(problem in tall(), start in numbers(5)) {
        let start = &start[..problem.target.len()];
        let m = problem.rows.len();
        let mut doubled = FnOracle::new(2 * m, |theta: &[f64], r: &mut [f64]| {
            let (first, second) = r.split_at_mut(m);
            problem.residuals(theta, first);
            first.iter_mut().for_each(|r| *r *= std::f64::consts::FRAC_1_SQRT_2);
            second.copy_from_slice(first);
        });
        let (one, two) = (run(&mut problem.oracle(), start, preset(0)), run(&mut doubled, start, preset(0)));
        prop_assert!(close(one.objective, two.objective, 1e-6), "{} {}", one.objective, two.objective);
    }

    /// A power of two as the unit of residuals gives the same run bit for bit, a million the same
    /// run up to rounding.
    #[test]
    fn the_unit_of_residuals_does_not_matter(problem in tall(), start in numbers(5)) {
        let start = &start[..problem.target.len()];
        let scaled = |size: f64| {
            let mut oracle = FnOracle::new(problem.rows.len(), |theta: &[f64], r: &mut [f64]| {
                problem.residuals(theta, r);
                r.iter_mut().for_each(|r| *r *= size);
            });
            run(&mut oracle, start, preset(0))
        };
        let path = |report: &Report| report.evaluations.iter().map(|record| record.theta.clone()).collect::<Vec<_>>();
        let (one, binary, million) = (scaled(1.0), scaled(1_048_576.0), scaled(1e6));
        prop_assert_eq!(path(&one), path(&binary));
        prop_assert!(close(one.objective, million.objective / 1e12, 1e-6));
    }

    #[test]
    fn runs_repeat_to_the_last_bit(problem in curved(), start in numbers(5), which in 0_usize..7) {
        let start = &start[..problem.target.len()];
        let again = || fingerprint(&run(&mut problem.inexact(), start, preset(which)));
        prop_assert_eq!(again(), again());
    }

    /// Jobs are answered backwards, or one at a time beginning with the last.
    #[test]
    fn the_order_of_answers_does_not_matter(problem in curved(), start in numbers(5), which in prop::sample::select(vec![0_usize, 1, 2, 3, 5, 6]), single in any::<bool>()) {
        let start = &start[..problem.target.len()];
        let usual = run(&mut problem.inexact(), start, preset(which));
        let mut oracle = Backwards { oracle: problem.inexact(), single };
        let other = run(&mut oracle, start, preset(which));
        prop_assert_eq!(&usual.theta, &other.theta);
        prop_assert_eq!(&usual.iterations, &other.iterations);
        prop_assert_eq!(usual.evaluations.len(), other.evaluations.len());
    }

    /// Stopped at any moment, the engine has a consistent report.
    #[test]
    fn stopped_at_any_moment(problem in curved(), start in numbers(5), which in 0_usize..7, tells in 1_usize..40) {
        let start = &start[..problem.target.len()];
        let mut oracle = problem.inexact();
        let mut engine = Engine::new(Problem::new(start), problem.rows.len(), preset(which)).expect("a valid problem");
        for _ in 0..tells {
            let jobs = engine.ask();
            if jobs.is_empty() {
                break;
            }
            oracle.evaluate(jobs);
            engine.tell();
        }
        engine.stop(Termination::Stopped);
        prop_assert!(engine.ask().is_empty() && engine.tell().is_empty());
        check_counts(&engine.into_report());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]

    /// The sets are a ball of radius 1 and a half-space below 0.3.
    #[test]
    fn sets_are_never_left(problem in curved(), start in numbers(5), which in 0_usize..7) {
        let d = problem.target.len();
        let ball = |theta: &mut [f64]| {
            let norm = theta.iter().map(|x| x * x).sum::<f64>().sqrt().max(1.0);
            theta.iter_mut().for_each(|x| *x /= norm);
        };
        let half = |theta: &mut [f64]| theta[0] = theta[0].min(0.3);
        let report = minimize(&mut problem.oracle(), Problem::new(&start[..d]).within(ball).within(half), preset(which)).expect("a valid problem");
        for record in &report.evaluations {
            let norm = record.theta.iter().map(|x| x * x).sum::<f64>().sqrt();
            prop_assert!(norm <= 1.0 + 1e-8 && record.theta[0] <= 0.3 + 1e-8, "{:?}", record.theta);
        }
        check_counts(&report);
    }
}

struct Backwards<O> {
    oracle: O,
    single: bool,
}

impl<O: ResidualOracle> ResidualOracle for Backwards<O> {
    type Resume = O::Resume;

    fn num_residuals(&self) -> usize {
        self.oracle.num_residuals()
    }

    fn evaluate(&mut self, jobs: &mut [Job<O::Resume>]) {
        for job in jobs.iter_mut().rev() {
            self.oracle.evaluate(std::slice::from_mut(job));
            if self.single {
                break;
            }
        }
    }
}
