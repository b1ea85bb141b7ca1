//! One evaluation of a learning problem.

use bilevel::{LearningProblem, LowerLevel};
use dfo_ls::{Accuracy, AccuracyControl, Engine, Options, Report, ResidualOracle};

/// Evaluates `problem` once, at `theta`, with this accuracy.
pub(crate) fn evaluate<M: LowerLevel>(
    problem: &mut LearningProblem<M>,
    theta: &[f64],
    accuracy: f64,
) -> Report {
    let mut options = Options::default();
    options.accuracy = AccuracyControl::Fixed(Accuracy::new(accuracy).expect("not negative"));
    let mut at_theta = problem.solver_problem();
    at_theta.start = theta.to_vec();
    let num_residuals = problem.num_residuals();
    let mut engine = Engine::new(at_theta, num_residuals, options).expect("a valid problem");
    problem.evaluate(engine.ask());
    engine.tell();
    engine.into_report()
}
