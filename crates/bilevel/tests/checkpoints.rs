//! Whatever is kept of reconstructions, what is learned is as good and as certain.

mod evaluate;
mod families;

use bilevel::{
    CheckpointPolicy, Learned, LearningProblem, LowerLevel, Pair, Setup, TvDenoising,
    learning_options,
};
use dfo_ls::{Accuracy, AccuracyControl, ResidualOracle};
use evaluate::evaluate;
use families::{Visitor, for_each_family};
use imaging::Grid;
use lowlevel::Checkpoint;

fn problem<M: LowerLevel>(model: M, pairs: &[Pair], keep: CheckpointPolicy) -> LearningProblem<M> {
    let setup = Setup {
        checkpoints: keep,
        ..Setup::default()
    };
    LearningProblem::new(model, pairs.to_vec(), setup).expect("a valid problem")
}

fn learn<M: LowerLevel>(problem: &mut LearningProblem<M>) -> Learned {
    let mut options = learning_options();
    options.budget.max_points = Some(400);
    problem.learn_with(options).expect("valid options")
}

/// The same answer from both, and every evaluation on the way as accurate as it says.
struct Certain;

impl Visitor for Certain {
    fn visit<M: LowerLevel>(&self, name: &str, model: M, pairs: Vec<Pair>) {
        let whole = learn(&mut problem(&model, &pairs, CheckpointPolicy::Full));
        let mut problem = problem(&model, &pairs, CheckpointPolicy::Compact);
        let rounded = learn(&mut problem);
        let change = (rounded.objective / whole.objective - 1.0).abs();
        assert!(change < 1e-3, "{name}: {change:e}");
        for record in &rounded.evaluations {
            let Ok(square) = record.objective else {
                continue;
            };
            let achieved = record.achieved.value();
            let sharp = evaluate(&mut problem, &record.theta, 1e-3 * achieved);
            let apart = (square.sqrt() - sharp.objective.sqrt()).abs();
            let allowed = achieved + sharp.accuracy.value();
            assert!(apart <= allowed, "{name}: {apart:e} > {allowed:e}");
        }
        let exact = evaluate(&mut problem, &rounded.theta(), 1e-9).interval;
        let (lower, upper) = (rounded.interval.lower, rounded.interval.upper);
        assert!(lower <= exact.upper && exact.lower <= upper, "{name}");
    }
}

#[test]
fn rounding_changes_neither_the_answer_nor_what_is_certain() {
    for_each_family(&Certain);
}

/// Small problems are kept whole unless told otherwise, with the same numbers to the last bit.
struct Small;

impl Visitor for Small {
    fn visit<M: LowerLevel>(&self, name: &str, model: M, pairs: Vec<Pair>) {
        let whole = learn(&mut problem(&model, &pairs, CheckpointPolicy::Full));
        let auto = learn(&mut problem(&model, &pairs, CheckpointPolicy::Auto));
        assert_eq!(format!("{auto:?}"), format!("{whole:?}"), "{name}");
    }
}

#[test]
fn small_problems_are_kept_whole() {
    for_each_family(&Small);
}

/// What is kept of each pair after one evaluation: whether it is rounded.
fn are_rounded(pairs: &[Pair], keep: CheckpointPolicy) -> Vec<bool> {
    let mut problem = problem(TvDenoising::default(), pairs, keep);
    let mut options = learning_options();
    options.accuracy = AccuracyControl::Fixed(Accuracy::new(1e45).expect("positive"));
    let mut engine = problem.engine(options).expect("valid options");
    problem.evaluate(engine.ask());
    engine.tell();
    let tokens = engine.state().tokens();
    let token = tokens.first().expect("the start was evaluated");
    let rounded = |kept: &Checkpoint| matches!(kept, Checkpoint::Compact(_));
    token.checkpoints().iter().map(rounded).collect()
}

#[test]
fn numbers_beyond_single_precision_are_kept_whole() {
    let pair = |scale: f64| Pair {
        grid: Grid::image(2, 2),
        truth: vec![scale; 4],
        data: vec![scale, 0.5 * scale, 0.0, -scale],
    };
    let pairs = [pair(1.0), pair(1e40), pair(1e3)];
    assert_eq!(are_rounded(&pairs, CheckpointPolicy::Auto), [false; 3]);
    assert_eq!(are_rounded(&pairs, CheckpointPolicy::Full), [false; 3]);
    assert_eq!(
        are_rounded(&pairs, CheckpointPolicy::Compact),
        [true, false, true]
    );
}
