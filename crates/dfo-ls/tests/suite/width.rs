//! Batches: companions of trial points, budgets, failures, and rounds on the problems of Moré and
//! Wild.

use crate::valley::{check, inexact};
use dfo_ls::testing::MoreWild;
use dfo_ls::{
    Accuracy, Engine, EvalError, Evaluated, FnOracle, Job, Limit, Model, Options, Problem, Purpose,
    ResidualOracle, Samples, Termination, minimize,
};

const DIM: usize = 6;

/// Coupled exponentials with their minimum 0 at `theta_j = 0.1 j`.
fn smooth(theta: &[f64], r: &mut [f64]) {
    for j in 0..DIM {
        let target = |j: usize| 0.1 * j as f64;
        let next = (j + 1) % DIM;
        r[j] = theta[j].exp() - target(j).exp();
        r[DIM + j] = theta[j] * theta[next] - target(j) * target(next);
    }
}

fn wide(batch: usize) -> Options {
    let mut options = Options::default();
    options.batch = batch;
    options
}

fn engine(options: Options) -> Engine<()> {
    Engine::new(Problem::new([1.0; DIM]), 2 * DIM, options).expect("a valid problem")
}

/// Runs to the end and returns the purposes of the jobs of every ask. Jobs for which `fails` holds
/// are rejected.
fn asks(engine: &mut Engine<()>, fails: impl Fn(&Job<()>) -> bool) -> Vec<Vec<Purpose>> {
    let mut asks = Vec::new();
    loop {
        let jobs = engine.ask();
        if jobs.is_empty() {
            return asks;
        }
        asks.push(jobs.iter().map(Job::purpose).collect());
        for job in jobs.iter_mut() {
            if fails(job) {
                job.fail(EvalError::reject("no"));
            } else {
                FnOracle::new(2 * DIM, smooth).evaluate(std::slice::from_mut(job));
            }
        }
        engine.tell();
    }
}

#[test]
fn trial_points_fill_the_batch() {
    for batch in [2, 5, 16] {
        let mut engine = engine(wide(batch));
        let asks = asks(&mut engine, |_| false);
        assert_eq!(asks[0].len(), 1 + DIM, "the start and the points around it");
        let trials = asks[1..].iter().filter(|jobs| jobs[0] == Purpose::Trial);
        let mut full = 0;
        for jobs in trials {
            assert!(jobs.len() <= batch);
            full += usize::from(jobs.len() == batch);
        }
        assert!(full >= 3, "{asks:?}");
        assert!(engine.into_report().objective < 1e-12);
    }
}

/// A quadratic model needs no more than 27 points around a trial point, and there are three
/// alternatives.
#[test]
fn a_huge_batch_stores_and_asks_for_no_more_than_it_can_use() {
    let mut engine = engine(wide(usize::MAX));
    let asks = asks(&mut engine, |_| false);
    assert!(asks.iter().all(|jobs| jobs.len() <= 1 + 3 + 27));
    assert!(engine.into_report().objective < 1e-12);
}

#[test]
fn one_by_one_and_in_algorithm_1_trial_points_are_alone() {
    let mut paper = Options::paper();
    paper.batch = 16;
    for options in [wide(1), paper] {
        for jobs in asks(&mut engine(options), |_| false) {
            assert!(jobs.len() == 1 || !jobs.contains(&Purpose::Trial));
        }
    }
}

#[test]
fn budgets_are_spent_exactly() {
    for most in 3..70 {
        let mut options = wide(16);
        options.budget.max_points = Some(most);
        let mut run = engine(options);
        asks(&mut run, |_| false);
        let report = run.into_report();
        let points = Termination::Exhausted(Limit::Points);
        assert_eq!((report.num_points, report.termination), (most, points));
        let mut options = wide(16);
        options.noise.samples = Samples::Fixed(3);
        options.budget.max_evaluations = Some(most);
        let mut run = engine(options);
        asks(&mut run, |_| false);
        let spent = run.into_report().evaluations.len() as u64;
        assert_eq!(spent, most / 3 * 3);
    }
    let report = |batch| engine(wide(batch)).into_report().options.budget.max_points;
    assert_eq!((report(1), report(16)), (Some(700), Some(16 * 700)));
}

#[test]
fn failing_companions_do_no_harm() {
    let is_geometry = |job: &Job<()>| job.purpose() == Purpose::Geometry;
    let mut run = engine(wide(16));
    asks(&mut run, is_geometry);
    assert!(run.into_report().objective < 1e-12);
    // Points with a large first parameter fail, trial points and companions alike.
    let mut run = engine(wide(16));
    asks(&mut run, |job| job.theta()[0] > 1.05);
    assert!(run.into_report().objective < 1e-12);
}

/// The residuals are linear and the solution is far away, so the longest step is the best.
#[test]
fn the_best_step_sets_the_radius() {
    let mut options = wide(4);
    options.model = Model::Linear;
    let mut engine = Engine::new(Problem::new([1.0, 1.0]), 2, options).expect("a valid problem");
    let answer = |engine: &mut Engine<()>| {
        let oracle = |theta: &[f64], r: &mut [f64]| {
            r[0] = theta[0] - 100.0;
            r[1] = theta[1] - 70.0;
        };
        FnOracle::new(2, oracle).evaluate(engine.ask());
        engine.tell();
    };
    answer(&mut engine);
    let (delta, _) = engine.radii();
    answer(&mut engine);
    // four times the radius, and again four times that after a very good step
    let ratio = engine.radii().0 / delta;
    assert!((ratio - 16.0).abs() < 1e-9, "{ratio}");
    let step = engine.state().iterations().last().expect("one step").step;
    assert!((step.expect("a step") / delta - 4.0).abs() < 1e-9);
}

#[test]
fn inexact_residuals_in_batches() {
    for batch in [2, 16] {
        let _ = check(&mut inexact(), wide(batch), &[1.0, 1.0], 1e-4);
    }
}

/// Counts rounds until a problem is solved to 1e-5, as `cargo xtask more-wild --batch` does.
struct Rounds {
    problem: MoreWild,
    batch: usize,
    threshold: f64,
    rounds: u64,
    solved: Option<u64>,
}

impl ResidualOracle for Rounds {
    type Resume = ();

    fn num_residuals(&self) -> usize {
        self.problem.num_residuals()
    }

    fn evaluate(&mut self, jobs: &mut [Job<()>]) {
        for round in jobs.chunks_mut(self.batch) {
            self.rounds += 1;
            for job in round {
                job.run(|request, residuals| {
                    self.problem.residuals(request.theta, residuals);
                    if residuals.iter().map(|r| r * r).sum::<f64>() <= self.threshold {
                        self.solved.get_or_insert(self.rounds);
                    }
                    Ok(Evaluated {
                        achieved: Accuracy::EXACT,
                        work: 1,
                        resume: (),
                    })
                });
            }
        }
    }
}

fn rounds(problem: MoreWild, batch: usize) -> f64 {
    let mut residuals = vec![0.0; problem.num_residuals()];
    problem.residuals(&problem.start(), &mut residuals);
    let first: f64 = residuals.iter().map(|r| r * r).sum();
    let best = problem.best_known();
    let threshold = best + 1e-5 * (first - best);
    let mut options = wide(batch);
    options.target = Some(threshold);
    let mut oracle = Rounds {
        problem,
        batch,
        threshold,
        rounds: 0,
        solved: None,
    };
    let problem = Problem::new(problem.start());
    let _ = minimize(&mut oracle, problem, options).expect("a valid problem");
    oracle.solved.map_or(f64::INFINITY, |rounds| rounds as f64)
}

/// The goal of decision record 18.
#[test]
fn sixteen_at_once_take_less_than_half_of_the_rounds() {
    let mut large = Vec::new();
    for problem in MoreWild::all() {
        let ratio = rounds(problem, 16) / rounds(problem, 1);
        assert!(ratio <= 1.1, "problem {}: {ratio}", problem.number());
        if problem.num_params() >= 6 {
            large.push(ratio);
        }
    }
    large.sort_by(f64::total_cmp);
    let median = large[large.len() / 2];
    assert!(median <= 0.45, "{median}");
}
