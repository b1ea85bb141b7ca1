//! Learning with gradients: derivatives against differences, certified intervals, hostile models,
//! and the same bits whatever the threads, ranks and interruptions.

mod hostile;

use crate::families::{Visitor, for_each_family};
use bilevel::testing::on_ranks;
use bilevel::{
    ConditionNumber, Learned, LearningProblem, LearningState, LowerLevel, Pair, Parameter,
    Reconstructions, Residuals, RootL1, Setup, SolverKind, learning_options, share_of,
};
use dfo_ls::{Options, Termination};
use inexact_lbfgs::{Engine, Interval, Oracle, Problem};

/// The value, its interval and the gradient at a point.
pub(crate) struct Evaluated {
    pub(crate) value: f64,
    pub(crate) interval: Interval,
    pub(crate) gradient: Vec<f64>,
}

/// Evaluates the objective at `theta`, with an accuracy that `setup.kappa` determines.
pub(crate) fn evaluate<M: LowerLevel>(
    problem: &mut LearningProblem<M>,
    theta: &[f64],
) -> Evaluated {
    let options = inexact_lbfgs::Options::default();
    let engine = Engine::<Reconstructions>::new(Problem::new(theta), options);
    let mut engine = engine.expect("valid options");
    Oracle::evaluate(problem, engine.ask().expect("the first job"));
    engine.tell();
    let reason = engine.termination().cloned();
    let best = engine
        .best()
        .unwrap_or_else(|| panic!("{theta:?}: {reason:?}"));
    Evaluated {
        value: best.value,
        interval: best.interval,
        gradient: best.gradient.to_vec(),
    }
}

/// A setup with both penalties.
fn setup(kappa: f64) -> Setup {
    Setup {
        solver: SolverKind::Gradient,
        kappa,
        penalties: vec![
            Box::new(ConditionNumber { weight: 1e-6 }),
            Box::new(RootL1 { weight: 1e-3 }),
        ],
        ..Setup::default()
    }
}

/// Numbers between 0 and 1 that look random.
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    fn next(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(0x5851_f42d_4c95_7f2d)
            .wrapping_add(0x1405_7b7e_f767_814f);
        (self.0 >> 40) as f64 / (1_u64 << 24) as f64
    }

    /// A point well inside the bounds, where reconstructions do not take forever.
    pub(crate) fn theta<M: LowerLevel>(&mut self, problem: &LearningProblem<M>) -> Vec<f64> {
        let near = |p: &Parameter, start: f64, share: f64| {
            let reach = (0.4 * (p.upper - p.lower)).min(1.0);
            (start + reach * (2.0 * share - 1.0)).clamp(p.lower + 1e-3, p.upper - 1e-3)
        };
        let blocks = problem.parameters();
        (Parameter::of_entries(blocks).zip(Parameter::starts_of(blocks)))
            .map(|(p, start)| near(p, start, self.next()))
            .collect()
    }
}

/// Compares the first `count` entries of the gradient at `theta` with central differences.
pub(crate) fn check_slopes<M: LowerLevel>(
    name: &str,
    problem: &mut LearningProblem<M>,
    theta: &[f64],
    count: usize,
) {
    let gradient = evaluate(problem, theta).gradient;
    let scale = gradient.iter().fold(0.0, |most: f64, g| most.max(g.abs()));
    for k in 0..theta.len().min(count) {
        let step = 2e-5;
        let [up, down] = [step, -step].map(|step| {
            let mut moved = theta.to_vec();
            moved[k] += step;
            evaluate(problem, &moved).value
        });
        let slope = (up - down) / (2.0 * step);
        let error = (slope - gradient[k]).abs();
        assert!(error <= 1e-6 * scale, "{name}, {k}: {slope} {gradient:?}");
    }
}

/// Gradients against central differences of the objective, for every family and parameter.
struct Differences;

impl Visitor for Differences {
    fn visit<M: LowerLevel>(&self, name: &str, model: M, pairs: Vec<Pair>) {
        let problem = LearningProblem::new(&model, pairs, setup(1e-12));
        let mut problem = problem.expect("a valid problem");
        let mut numbers = Numbers(name.len() as u64);
        for _ in 0..4 {
            let theta = numbers.theta(&problem);
            check_slopes(name, &mut problem, &theta, usize::MAX);
        }
    }
}

#[test]
fn gradients_are_slopes() {
    for_each_family(&Differences);
}

/// Intervals from rough reconstructions contain the objective, and are of second order.
struct Certified {
    /// The number of random parameters for each family.
    cases: usize,
}

impl Visitor for Certified {
    fn visit<M: LowerLevel>(&self, name: &str, model: M, pairs: Vec<Pair>) {
        let exact = LearningProblem::new(&model, pairs.clone(), setup(1e-12));
        let mut exact = exact.expect("a valid problem");
        let mut numbers = Numbers(7 + name.len() as u64);
        let mut widths = Vec::new();
        for _ in 0..self.cases {
            let theta = numbers.theta(&exact);
            let truth = evaluate(&mut exact, &theta);
            let kappa = 10_f64.powf(-4.0 * numbers.next());
            let rough = LearningProblem::new(&model, pairs.clone(), setup(kappa));
            let rough = evaluate(&mut rough.expect("a valid problem"), &theta);
            let Interval { lower, upper } = rough.interval;
            let meets = lower <= truth.interval.upper && upper >= truth.interval.lower;
            assert!(
                meets,
                "{name}, {kappa}: {:?} {:?}",
                rough.interval, truth.interval
            );
            assert!(rough.interval.contains(rough.value));
            widths.push((kappa, (upper - lower) / truth.value));
        }
        let median = |fine: bool| {
            let chosen = widths.iter().filter(|(kappa, _)| (*kappa < 1e-2) == fine);
            let mut chosen: Vec<f64> = chosen.map(|(_, width)| *width).collect();
            chosen.sort_by(f64::total_cmp);
            chosen[chosen.len() / 2]
        };
        // the medians of kappa are a hundred times apart, so errors of second order fall by 10^4
        assert!(median(true) < 0.02 * median(false), "{name}");
    }
}

#[test]
fn intervals_contain_the_objective() {
    for_each_family(&Certified { cases: 200 });
}

/// `cargo test --release -p bilevel --all-features --test suite many_intervals -- --ignored`
#[test]
#[ignore = "takes minutes"]
fn many_intervals_contain_the_objective() {
    for_each_family(&Certified { cases: 10_000 });
}

fn options(points: u64) -> Options {
    let mut options = learning_options();
    options.budget.max_points = Some(points);
    options
}

/// The certified error of the gradient of a run is at least its true error.
struct CertifiedGradients;

impl Visitor for CertifiedGradients {
    fn visit<M: LowerLevel>(&self, name: &str, model: M, pairs: Vec<Pair>) {
        for (points, kappa) in [(1, 0.3), (3, 0.1), (6, 0.3)] {
            let problem = LearningProblem::new(&model, pairs.clone(), setup(kappa));
            let mut problem = problem.expect("a valid problem");
            let learned = problem.learn_with(options(points)).expect("differentiable");
            let gradient = learned.gradient.expect("it uses gradients");
            let error = gradient.error.expect("all families have bounds");
            let exact = LearningProblem::new(&model, pairs.clone(), setup(1e-12));
            let exact = evaluate(&mut exact.expect("valid"), &learned.theta());
            let free = learned.entries().zip(&exact.gradient).filter(|(p, slope)| {
                let held_below = p.theta <= p.parameter.lower && **slope > 0.0;
                let held_above = p.theta >= p.parameter.upper && **slope < 0.0;
                !(held_below || held_above)
            });
            let norm = free.map(|(_, slope)| slope * slope).sum::<f64>().sqrt();
            let wrong = (norm - gradient.norm).abs();
            assert!(
                wrong <= error * (1.0 + 1e-9) + 1e-9 * norm,
                "{name}: {wrong} {error}"
            );
        }
    }
}

#[test]
fn errors_of_gradients_are_certified() {
    for_each_family(&CertifiedGradients);
}

/// Both solvers find the same objective, and the layout of residuals does not matter to gradients.
struct SameOptimum;

impl Visitor for SameOptimum {
    fn visit<M: LowerLevel>(&self, name: &str, model: M, pairs: Vec<Pair>) {
        let learn = |solver: SolverKind, residuals: Residuals, points: u64| {
            let mut setup = setup(0.1);
            setup.solver = solver;
            setup.loss.residuals = residuals;
            let problem = LearningProblem::new(&model, pairs.clone(), setup);
            let mut problem = problem.expect("a valid problem");
            problem.learn_with(options(points)).expect("valid options")
        };
        let gradient = learn(SolverKind::Auto, Residuals::Pixel, 300);
        assert_eq!(gradient.solver, SolverKind::Gradient, "{name}");
        assert!(
            gradient.termination.is_success(),
            "{name}: {:?}",
            gradient.termination
        );
        let image = learn(SolverKind::Gradient, Residuals::Image, 300);
        assert_eq!(image.iterations, gradient.iterations, "{name}");
        let free = learn(SolverKind::DerivativeFree, Residuals::Pixel, 400);
        assert_eq!(free.solver, SolverKind::DerivativeFree);
        // both are local solvers, but on these problems they agree
        let gap = gradient.objective / free.objective - 1.0;
        assert!(
            gap < 1e-4,
            "{name}: {} {}",
            gradient.objective,
            free.objective
        );
    }
}

#[test]
fn both_solvers_agree() {
    for_each_family(&SameOptimum);
}

/// Results on 1 to 4 ranks and on 1 and 2 threads.
struct SameBits;

impl Visitor for SameBits {
    fn visit<M: LowerLevel>(&self, name: &str, model: M, pairs: Vec<Pair>) {
        let learn = |pairs: &[Pair], ranks: bilevel::Ranks| -> Learned {
            let problem = LearningProblem::on_rank(&model, pairs.to_vec(), setup(0.1), ranks);
            let mut problem = problem.expect("a valid problem");
            problem.learn_with(options(12)).expect("differentiable")
        };
        let alone = learn(&pairs, bilevel::Ranks::default());
        assert!(alone.num_points > 5, "{name}");
        for count in 1..=4 {
            let all = on_ranks(count, |ranks| {
                let own = share_of(pairs.len(), ranks.rank(), count);
                learn(&pairs[own], ranks)
            });
            for learned in all {
                assert_eq!(learned, alone, "{name}, {count} ranks");
            }
        }
        for threads in [1, 2] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            let pool = pool.expect("threads");
            let learned = pool.install(|| learn(&pairs, bilevel::Ranks::default()));
            assert_eq!(learned, alone, "{name}, {threads} threads");
        }
    }
}

#[test]
fn same_bits_on_any_number_of_ranks_and_threads() {
    for_each_family(&SameBits);
}

/// A run that is saved and loaded after every evaluation, as text, ends with the same bits.
struct Resumed;

impl Visitor for Resumed {
    fn visit<M: LowerLevel>(&self, name: &str, model: M, pairs: Vec<Pair>) {
        let create = || {
            let problem = LearningProblem::new(&model, pairs.clone(), setup(0.3));
            problem.expect("a valid problem")
        };
        let plain = create().learn_with(options(12)).expect("differentiable");
        let mut problem = create();
        let mut engine = problem.start(options(12)).expect("differentiable");
        while engine.step(&mut problem, 1) {
            let text = serde_json::to_string(&engine.lean_state()).expect("plain data");
            let mut state: LearningState = serde_json::from_str(&text).expect("the same data");
            let known = engine.tokens();
            state.each_token(|token| {
                let saved = known.iter().find(|known| known.number() == token.number());
                let saved = saved.expect("a token in use");
                let parts = (saved.checkpoints().to_vec(), saved.adjoints().to_vec());
                token.attach(parts.0.into(), parts.1.into());
            });
            let (iterations, evaluations) = (engine.iterations(), engine.evaluations());
            state
                .complete(|_| None, iterations.to_vec(), evaluations.to_vec())
                .expect("complete");
            problem = create();
            engine = problem.continue_from(state).expect("the same problem");
        }
        assert_eq!(problem.conclude(engine).0, plain, "{name}");
    }
}

#[test]
fn saved_runs_continue_with_the_same_bits() {
    for_each_family(&Resumed);
}

/// A budget that is spent can be extended, and the run ends as if it had had it from the start.
#[test]
fn budgets_can_be_extended() {
    let problem = |points| {
        let problem = bilevel::testing::three_parameters(0, Default::default(), Setup::default());
        let problem = problem.expect("a valid problem");
        let engine = problem.start(options(points)).expect("differentiable");
        (problem, engine)
    };
    let (mut long, mut engine) = problem(15);
    while engine.step(&mut long, 1) {}
    let expected = long.conclude(engine).0;
    let (mut short, mut engine) = problem(4);
    while engine.step(&mut short, 1) {}
    let spent = Some(Termination::Exhausted(dfo_ls::Limit::Points));
    assert_eq!(engine.termination(), spent);
    assert_eq!(engine.num_points(), 4);
    engine.extend(options(15).budget);
    while engine.step(&mut short, 1) {}
    assert_eq!(short.conclude(engine).0, expected);
}
