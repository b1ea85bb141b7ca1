//! Learning is as good and as certain with compact checkpoints as with full ones.

use crate::evaluate::evaluate;
use crate::families::{Visitor, for_each_family};
use bilevel::{
    CheckpointPolicy, Learned, LearningProblem, LowerLevel, Pair, Setup, TvDenoising,
    learning_options,
};
use dfo_ls::{Accuracy, AccuracyControl, ResidualOracle};
use imaging::Grid;
use lowlevel::Checkpoint;

fn problem<M: LowerLevel>(
    model: M,
    pairs: &[Pair],
    policy: CheckpointPolicy,
) -> LearningProblem<M> {
    let setup = Setup {
        checkpoints: policy,
        ..Setup::derivative_free()
    };
    LearningProblem::new(model, pairs.to_vec(), setup).expect("a valid problem")
}

fn learn<M: LowerLevel>(problem: &mut LearningProblem<M>) -> Learned {
    let mut options = learning_options();
    options.budget.max_points = Some(400);
    problem.learn_with(options).expect("valid options")
}

/// Both policies learn the same, and every evaluation is as accurate as reported.
struct Certain;

impl Visitor for Certain {
    fn visit<M: LowerLevel>(&self, name: &str, model: M, pairs: Vec<Pair>) {
        let full = learn(&mut problem(&model, &pairs, CheckpointPolicy::Full));
        let mut problem = problem(&model, &pairs, CheckpointPolicy::Compact);
        let compact = learn(&mut problem);
        let change = (compact.objective / full.objective - 1.0).abs();
        assert!(change < 1e-3, "{name}: {change:e}");
        for record in &compact.evaluations {
            let Ok(square) = record.objective else {
                continue;
            };
            let achieved = record.achieved.value();
            let sharp = evaluate(&mut problem, &record.theta, 1e-3 * achieved);
            let apart = (square.sqrt() - sharp.objective.sqrt()).abs();
            let allowed = achieved + sharp.accuracy.value();
            assert!(apart <= allowed, "{name}: {apart:e} > {allowed:e}");
        }
        let exact = evaluate(&mut problem, &compact.theta(), 1e-9).interval;
        let (lower, upper) = (compact.interval.lower, compact.interval.upper);
        assert!(lower <= exact.upper && exact.lower <= upper, "{name}");
    }
}

#[test]
fn compact_checkpoints_change_neither_results_nor_certainty() {
    for_each_family(&Certain);
}

/// The default for small problems is full checkpoints, with the same numbers to the last bit.
struct Small;

impl Visitor for Small {
    fn visit<M: LowerLevel>(&self, name: &str, model: M, pairs: Vec<Pair>) {
        let full = learn(&mut problem(&model, &pairs, CheckpointPolicy::Full));
        let auto = learn(&mut problem(&model, &pairs, CheckpointPolicy::Auto));
        assert_eq!(format!("{auto:?}"), format!("{full:?}"), "{name}");
    }
}

#[test]
fn small_problems_have_full_checkpoints() {
    for_each_family(&Small);
}

/// Returns for each pair whether its checkpoint after one evaluation is compact.
fn are_compact(pairs: &[Pair], policy: CheckpointPolicy) -> Vec<bool> {
    let mut problem = problem(TvDenoising::default(), pairs, policy);
    let mut options = learning_options();
    options.accuracy = AccuracyControl::Fixed(Accuracy::new(1e45).expect("positive"));
    let mut engine = problem.engine(options).expect("valid options");
    problem.evaluate(engine.ask());
    engine.tell();
    let tokens = engine.state().tokens();
    let token = tokens.first().expect("the start was evaluated");
    let is_compact = |checkpoint: &Checkpoint| matches!(checkpoint, Checkpoint::Compact(_));
    token.checkpoints().iter().map(is_compact).collect()
}

#[test]
fn numbers_beyond_single_precision_have_full_checkpoints() {
    let pair = |scale: f64| Pair {
        grid: Grid::image(2, 2),
        truth: vec![scale; 4],
        data: vec![scale, 0.5 * scale, 0.0, -scale],
    };
    let pairs = [pair(1.0), pair(1e40), pair(1e3)];
    assert_eq!(are_compact(&pairs, CheckpointPolicy::Auto), [false; 3]);
    assert_eq!(are_compact(&pairs, CheckpointPolicy::Full), [false; 3]);
    assert_eq!(
        are_compact(&pairs, CheckpointPolicy::Compact),
        [true, false, true]
    );
}
