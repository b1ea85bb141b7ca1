//! Engines that are saved and loaded in the middle of a run continue it bit for bit.

use inexact_lbfgs::{
    Engine, EvalError, Interval, Options, Oracle, Problem, Report, SlowProgress, State,
};
use proptest::prelude::*;

use crate::functions::{Quadratic, wild};
use crate::to_order::{Simulation, Token};

/// A simulation with bounds and absolute values that rejects points, and whose intervals are now
/// and then infinite.
fn simulation(seed: u64) -> Simulation<impl Fn(&[f64], &mut [f64]) -> f64> {
    let quadratic = Quadratic::new(6, 1e3, seed);
    let function = move |theta: &[f64], gradient: &mut [f64]| quadratic.value(theta, gradient);
    Simulation::spoilt(function, move |count, mut answer| {
        if count > 1 && (count + seed).is_multiple_of(7) {
            return Err(EvalError::reject("every seventh"));
        }
        if (count + seed).is_multiple_of(5) {
            answer.interval = Interval::UNKNOWN;
            answer.gradient_error = f64::NAN;
        }
        Ok(answer)
    })
}

fn problem(seed: u64) -> Problem {
    let problem = Problem::new(wild(6, seed)).with_l1(vec![0.0, 0.1, 0.2, 0.0, 0.5, 0.1]);
    let upper = [1.0, 0.5, f64::INFINITY, 2.0, 2.0, 0.0];
    let bounded = problem.expect("valid").with_bounds([-1.0; 6], upper);
    bounded.expect("valid")
}

#[derive(Clone, Copy, Debug)]
enum Save {
    Never,
    Whole,
    Lean,
}

fn run(seed: u64, save: Save) -> Report {
    let mut options = Options::default();
    options.budget.max_evaluations = Some(150);
    options.memory = 4;
    options.stop.slow = Some(SlowProgress {
        decrease: 1e-12,
        points: 60,
    });
    let mut oracle = simulation(seed);
    let mut engine = Engine::<Token>::new(problem(seed), options).expect("valid");
    let mut sharpened = false;
    while let Some(job) = engine.ask() {
        sharpened |= job
            .request()
            .token()
            .is_some_and(|token| token.theta == job.theta());
        oracle.evaluate(job);
        engine.tell();
        let state = match save {
            Save::Never => continue,
            Save::Whole => through_text(engine.state()),
            Save::Lean => {
                let mut state = through_text(&engine.state().lean());
                let short = state.clone().complete(Vec::new(), Vec::new());
                assert!(short.is_err());
                // Histories that are longer than needed are cut.
                let mut iterations = engine.state().iterations().to_vec();
                iterations.push(iterations[0].clone());
                let evaluations = engine.state().evaluations().to_vec();
                state
                    .complete(iterations, evaluations)
                    .expect("long enough");
                state
            }
        };
        engine = Engine::from_state(problem(seed), state).expect("the same problem");
    }
    assert!(sharpened, "the run has sharpened a point");
    engine.into_report()
}

fn through_text(state: &State<Token>) -> State<Token> {
    let saved = serde_json::to_string(state).expect("a state is plain data");
    let state = serde_json::from_str(&saved).expect("what was saved");
    assert_eq!(serde_json::to_string(&state).expect("plain data"), saved);
    state
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn saving_after_every_answer_changes_no_bit(seed in 0_u64..10_000) {
        let expected = run(seed, Save::Never);
        for save in [Save::Whole, Save::Lean] {
            let found = run(seed, save);
            prop_assert_eq!(&found.theta, &expected.theta);
            prop_assert_eq!(&found.iterations, &expected.iterations);
            prop_assert_eq!(&found.evaluations, &expected.evaluations);
            prop_assert_eq!(&found.termination, &expected.termination);
            prop_assert_eq!(found.work, expected.work);
        }
    }
}

#[test]
fn every_token_can_be_replaced() {
    let mut oracle = simulation(3);
    let mut engine = Engine::<Token>::new(problem(3), Options::default()).expect("valid");
    let mut most = 0;
    while let Some(job) = engine.ask() {
        oracle.evaluate(job);
        // Also while an answer is waiting.
        for _ in 0..2 {
            let mut state = engine.state().clone();
            let tokens: Vec<Token> = state.tokens().into_iter().cloned().collect();
            most = most.max(tokens.len());
            // A loaded state has tokens without data, to which the data are attached.
            let mut emptied = Vec::new();
            state.each_token(|token| emptied.push(std::mem::take(&mut token.theta)));
            let thetas: Vec<Vec<f64>> = tokens.iter().map(|token| token.theta.clone()).collect();
            assert_eq!(emptied, thetas);
            assert!(state.tokens().iter().all(|token| token.theta.is_empty()));
            engine.tell();
        }
        if engine.num_points() > 30 {
            break;
        }
    }
    assert!(most >= 3, "incumbent, trial point and job");
}

#[test]
fn a_saved_end_stays_the_end() {
    let mut oracle = simulation(4);
    let mut options = Options::default();
    options.budget.max_points = Some(4);
    let mut engine = Engine::<Token>::new(problem(4), options).expect("valid");
    while let Some(job) = engine.ask() {
        oracle.evaluate(job);
        engine.tell();
    }
    let mut loaded = Engine::from_state(problem(4), through_text(engine.state())).expect("same");
    assert!(loaded.ask().is_none());
    assert_eq!(loaded.termination(), engine.termination());
    loaded.extend(inexact_lbfgs::Budget::default());
    assert!(loaded.ask().is_some());
}
