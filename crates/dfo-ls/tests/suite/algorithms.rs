//! The algorithms and their options: convergence, and the rules that recorded iterations must obey.

use crate::valley::{check, exact, inexact};
use dfo_ls::{
    Accuracy, AccuracyControl, Directions, Engine, Evaluated, FnOracle, InexactFn, Known, Model,
    Options, Problem, Purpose, Request, ResidualOracle, Start, StepKind, WarmStart, minimize,
};

/// Residuals of five parameters with the minimiser (1, 2, 3, 4, 5).
fn chain(theta: &[f64], r: &mut [f64]) {
    for j in 0..5 {
        let target = [1.0, 2.0, 3.0, 4.0, 5.0][j];
        let next = theta[(j + 1) % 5] - [2.0, 3.0, 4.0, 5.0, 1.0][j];
        r[j] = theta[j] - target + 0.1 * next * next;
        r[j + 5] = next;
    }
}

const CHAIN: [f64; 5] = [1.0, 2.0, 3.0, 4.0, 5.0];

#[test]
fn the_paper_converges() {
    let report = check(&mut exact(), Options::paper(), &[1.0, 1.0], 1e-4);
    assert!(report.termination.is_success(), "{:?}", report.termination);
    let report = check(&mut inexact(), Options::paper(), &[1.0, 1.0], 1e-3);
    assert!(report.interval.lower <= 0.25 && 0.25 <= report.interval.upper);
    let _ = check(
        &mut FnOracle::new(10, chain),
        Options::paper(),
        &CHAIN,
        1e-4,
    );
}

/// Algorithm 1 has one radius, which is doubled only after very good steps and never more than
/// halved at once. The ratio decides about every step.
#[test]
fn the_paper_keeps_its_rules() {
    let runs = [
        check(&mut exact(), Options::paper(), &[1.0, 1.0], 1e-3),
        check(&mut inexact(), Options::paper(), &[1.0, 1.0], 1e-3),
    ];
    for report in runs {
        let rules = &report.options.trust_region;
        let mut kinds = Vec::new();
        for pair in report.iterations.windows(2) {
            let (before, now) = (&pair[0], &pair[1]);
            kinds.push(now.kind);
            assert!(now.certified && (now.delta - now.rho).abs() <= 0.0);
            assert!(now.delta <= rules.gamma_inc * before.delta * (1.0 + 1e-12));
            match now.kind {
                StepKind::Accepted => {
                    let ratio = now.ratio.expect("a step that was tried");
                    assert!(ratio >= rules.eta1);
                    assert_ne!(now.theta, before.theta);
                    assert!(now.delta <= before.delta || ratio >= rules.eta2);
                }
                StepKind::Rejected => {
                    assert!(now.ratio.expect("a step that was tried") < rules.eta2);
                    assert_eq!(now.theta, before.theta);
                    assert!(now.delta <= before.delta);
                }
                StepKind::Criticality => {
                    assert!(now.gradient <= 1e-5 && now.delta < before.delta);
                }
                _ => assert!(now.delta <= before.delta),
            }
        }
        assert!(
            kinds.contains(&StepKind::Accepted) && kinds.contains(&StepKind::Criticality),
            "{kinds:?}"
        );
    }
}

/// The practical algorithm has two radii. Neither the lower radius nor the objective of an exact
/// run ever grows.
#[test]
fn the_practical_algorithm_keeps_its_rules() {
    for model in [Model::Automatic, Model::Linear] {
        let mut options = Options::default();
        options.model = model;
        let report = check(&mut exact(), options, &[1.0, 1.0], 1e-5);
        let rules = &report.options.trust_region;
        for pair in report.iterations.windows(2) {
            let (before, now) = (&pair[0], &pair[1]);
            assert!(now.certified && now.objective <= before.objective && now.rho <= before.rho);
            assert!(now.delta >= now.rho);
            if now.delta > before.delta {
                assert!(now.ratio.is_some_and(|ratio| ratio > rules.eta2), "{now:?}");
            }
            if now.kind == StepKind::Accepted {
                assert!(
                    now.ratio.is_some_and(|ratio| ratio > 0.0) && now.objective < before.objective
                );
            }
        }
        assert!(
            (report.iterations[report.iterations.len() - 1].rho - rules.final_radius).abs() <= 0.0
        );
    }
}

#[test]
fn the_experiments_converge() {
    for warm_start in [
        WarmStart::Cold,
        WarmStart::Last,
        WarmStart::Nearest,
        WarmStart::Extrapolated,
    ] {
        let mut options = Options::experiments();
        let mut rules = dfo_ls::ExperimentRules::default();
        rules.warm_start = warm_start;
        options.accuracy = AccuracyControl::Experiments(rules);
        let _ = check(&mut inexact(), options, &[1.0, 1.0], 1e-2);
    }
    let report = check(&mut exact(), Options::experiments(), &[1.0, 1.0], 1e-3);
    assert!(
        report
            .evaluations
            .iter()
            .any(|record| record.purpose == Purpose::Sharpen)
    );
}

/// Evaluations start from combinations of earlier points that lie near the new point, the nearest
/// first.
#[test]
fn evaluations_begin_at_combinations() {
    let mut options = Options::default();
    let mut rules = dfo_ls::Dynamic::default();
    rules.warm_start = WarmStart::Extrapolated;
    options.accuracy = AccuracyControl::Dynamic(rules);
    let mut closer = (0, 0);
    let mut oracle = InexactFn::new(3, |request: Request<'_, [f64; 2]>, r: &mut [f64]| {
        let theta = [request.theta[0], request.theta[1]];
        let distance = |at: [f64; 2]| (at[0] - theta[0]).hypot(at[1] - theta[1]);
        if let Start::Blend(shares) = &request.start {
            let sum: f64 = shares.iter().map(|share| share.weight).sum();
            assert!((sum - 1.0).abs() < 1e-9 && shares.len() <= 3);
            let at = [0, 1].map(|j| shares.iter().map(|s| s.weight * s.resume[j]).sum());
            let nearest = request.start.into_resume().expect("there are shares");
            closer.0 += usize::from(distance(at) <= 0.5 * distance(nearest));
            closer.1 += 1;
        }
        r[0] = 10.0 * (theta[1] - theta[0] * theta[0]);
        r[1] = 1.0 - theta[0];
        r[2] = 0.3;
        Ok(Evaluated {
            achieved: Accuracy::EXACT,
            work: 1,
            resume: theta,
        })
    });
    let problem = Problem::new(vec![-0.6, 0.4]).with_bounds(vec![-2.0; 2], vec![2.0; 2]);
    let report = minimize(&mut oracle, problem.expect("in order"), options).expect("valid");
    assert!((report.theta[0] - 1.0).abs() < 1e-3);
    assert!(closer.1 > 5 && 2 * closer.0 > closer.1, "{closer:?}");
}

/// No point is evaluated twice, and every evaluation is asked for the fixed accuracy.
#[test]
fn fixed_accuracy() {
    let fixed = Accuracy::new(1e-6).expect("positive");
    let mut options = Options::default();
    options.accuracy = AccuracyControl::Fixed(fixed);
    let report = check(&mut inexact(), options, &[1.0, 1.0], 1e-2);
    assert!(
        report
            .evaluations
            .iter()
            .all(|record| record.target == fixed && record.purpose != Purpose::Sharpen)
    );
    assert_eq!(report.num_points, report.evaluations.len() as u64);
}

#[test]
fn models() {
    for model in [
        Model::Linear,
        Model::Regression {
            points_per_param: 1.0,
        },
        Model::Regression {
            points_per_param: 1.6,
        },
        Model::Regression {
            points_per_param: 4.0,
        },
        Model::Composite {
            points_per_param: 1.0,
        },
        Model::Composite {
            points_per_param: 5.0,
        },
    ] {
        let mut options = Options::default();
        options.model = model;
        let report = check(&mut FnOracle::new(10, chain), options, &CHAIN, 1e-5);
        assert!(
            report.termination.is_success(),
            "{model:?}: {:?}",
            report.termination
        );
    }
}

#[test]
fn growing_sets() {
    for directions in [1, 3] {
        let mut options = Options::default();
        options.initial.num_directions = Some(directions);
        let report = check(&mut FnOracle::new(10, chain), options, &CHAIN, 1e-5);
        let initial = report
            .evaluations
            .iter()
            .filter(|record| record.purpose == Purpose::Initial);
        assert_eq!(initial.count(), directions + 1);
    }
}

#[test]
fn directions_with_a_seed() {
    let run = |seed| {
        let mut options = Options::default();
        options.initial.directions = Directions::Orthogonal { seed };
        check(&mut FnOracle::new(10, chain), options, &CHAIN, 1e-5)
    };
    let (one, same, other) = (run(1), run(1), run(2));
    assert_eq!(one.evaluations, same.evaluations);
    assert_ne!(one.evaluations[1].theta, other.evaluations[1].theta);
    let steps: Vec<Vec<f64>> = one.evaluations[1..6]
        .iter()
        .map(|record| record.theta.iter().map(|x| (x - 0.5) / 0.5).collect())
        .collect();
    for (i, a) in steps.iter().enumerate() {
        for (j, b) in steps.iter().enumerate() {
            let product: f64 = a.iter().zip(b).map(|(a, b)| a * b).sum();
            let expected = if i == j { 0.01 } else { 0.0 };
            assert!((product - expected).abs() < 1e-12, "{i} {j}: {product}");
        }
    }
}

#[test]
fn known_evaluations_spare_new_ones() {
    let first = check(
        &mut FnOracle::new(10, chain),
        Options::default(),
        &CHAIN,
        1e-5,
    );
    let known = first.evaluations[..6].iter().map(|record| {
        let mut residuals = vec![0.0; 10];
        chain(&record.theta, &mut residuals);
        Known {
            theta: record.theta.clone(),
            residuals,
            accuracy: Accuracy::EXACT,
        }
    });
    let problem = Problem::new(vec![0.5; 5]).with_known(known);
    let second = minimize(&mut FnOracle::new(10, chain), problem, Options::default())
        .expect("a valid problem");
    assert_eq!(second.evaluations[0].purpose, Purpose::Trial);
    assert!(
        second.evaluations.len() + 6 <= first.evaluations.len() + 3,
        "{}",
        second.evaluations.len()
    );
    assert!(second.objective < 1e-10);
}

#[test]
fn batches() {
    for batch in [2, 8] {
        let mut options = Options::noisy();
        options.batch = batch;
        options.budget.max_evaluations = Some(3000);
        let mut engine =
            Engine::new(Problem::new(vec![0.5; 5]), 10, options).expect("a valid problem");
        let mut widest = 0;
        loop {
            let jobs = engine.ask();
            if jobs.is_empty() {
                break;
            }
            let geometry = jobs
                .iter()
                .filter(|job| job.purpose() == Purpose::Geometry)
                .count();
            widest = widest.max(geometry);
            FnOracle::new(10, chain).evaluate(jobs);
            engine.tell();
        }
        let report = engine.into_report();
        assert!(
            report.objective < 1e-8,
            "{} after {:?}",
            report.objective,
            report.termination
        );
        assert!(widest >= 2, "{widest}");
    }
}
