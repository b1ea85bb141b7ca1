//! Engines that are saved and loaded in the middle of a run continue it bit for bit.

use std::collections::HashMap;

use dfo_ls::{
    Accuracy, Engine, EvalError, Evaluated, InexactFn, L1, Model, Options, Problem, Report,
    Request, ResidualOracle, Samples, Start, State,
};

/// The progress of a point: the oracle's work so far, and its last correction.
type Token = (u64, f64);

/// An oracle with errors as large as allowed, whose answers depend on their start. It rejects a
/// corner.
fn oracle() -> impl ResidualOracle<Resume = Token> {
    InexactFn::new(3, |request: Request<'_, Token>, r: &mut [f64]| {
        let theta = request.theta;
        if theta[0] > 0.5 && theta[1] < -0.2 {
            return Err(EvalError::reject("the corner"));
        }
        let (before, correction) = match request.start {
            Start::Near(token) | Start::Refine(token) => token,
            _ => (0, 0.0),
        };
        let size = request.target.value().min(0.5);
        let angle =
            1e3 * (theta[0] + 0.7 * theta[1]) + 0.1 * correction + f64::from(request.sample);
        r[0] = 10.0 * (theta[1] - theta[0] * theta[0]) + 0.9 * size * angle.cos();
        r[1] = 1.0 - theta[0] + 0.9 * size * angle.sin();
        r[2] = 0.3;
        let work = 1 + before % 3;
        Ok(Evaluated {
            achieved: Accuracy::new(size).expect("not negative"),
            work,
            resume: (before + work, angle.sin()),
        })
    })
}

fn bounded(mut options: Options) -> Options {
    options.budget.max_evaluations = Some(120 * options.batch as u64);
    options
}

/// Runs to the end. After every `period` tells, the engine is saved in one piece or in parts,
/// dropped and loaded.
fn run(
    problem: &dyn Fn() -> Problem,
    options: Options,
    period: Option<usize>,
    in_parts: bool,
) -> Report {
    let mut vectors = HashMap::new();
    let mut oracle = oracle();
    let mut engine = Engine::new(problem(), 3, options).expect("a valid problem");
    for tells in 1.. {
        let jobs = engine.ask();
        if jobs.is_empty() {
            break;
        }
        oracle.evaluate(jobs);
        engine.tell();
        if period.is_some_and(|period| tells % period == 0) {
            let state = if in_parts {
                through_parts(engine.state(), &mut vectors)
            } else {
                through_text(engine.state())
            };
            drop(engine);
            engine = Engine::from_state(problem(), state).expect("the same problem");
        }
    }
    engine.into_report()
}

fn through_text(state: &State<Token>) -> State<Token> {
    let saved = serde_json::to_string(state).expect("a state is plain data");
    let state = serde_json::from_str(&saved).expect("what was saved");
    assert_eq!(serde_json::to_string(&state).expect("plain data"), saved);
    state
}

/// Saves residual vectors, tokens and history separately. Vectors of earlier saves are not saved
/// again.
fn through_parts(state: &State<Token>, vectors: &mut HashMap<u64, Vec<f64>>) -> State<Token> {
    for (number, vector) in state.vectors() {
        let saved = vectors.entry(number).or_insert_with(|| vector.to_vec());
        assert_eq!(saved, vector, "a vector never changes");
    }
    let mut tokens = Vec::new();
    let mut lean = state.lean();
    assert_eq!(lean.tokens(), state.tokens());
    lean.each_token(|token| {
        tokens.push(*token);
        *token = (tokens.len() as u64 - 1, 0.0);
    });
    assert_eq!(tokens.iter().collect::<Vec<_>>(), state.tokens());
    let mut loaded = through_text(&lean);
    assert!(
        Engine::from_state(free(), loaded.clone()).is_err(),
        "a lean state is not enough"
    );
    loaded.each_token(|token| *token = tokens[usize::try_from(token.0).expect("small")]);
    // histories that went on after the state was saved
    let (iterations, evaluations) = (state.iterations(), state.evaluations());
    loaded
        .complete(
            |number| vectors.get(&number).cloned(),
            iterations
                .iter()
                .chain(iterations.first())
                .cloned()
                .collect(),
            evaluations
                .iter()
                .chain(evaluations.first())
                .cloned()
                .collect(),
        )
        .expect("everything was saved");
    assert_eq!(
        serde_json::to_string(&loaded).expect("plain data"),
        serde_json::to_string(state).expect("plain data")
    );
    loaded
}

/// A lean state is completed only by all missing parts, and only by fitting ones.
#[test]
fn incomplete_parts_are_refused() {
    let mut oracle = oracle();
    let mut engine = Engine::new(free(), 3, bounded(Options::default())).expect("a valid problem");
    for _ in 0..5 {
        oracle.evaluate(engine.ask());
        engine.tell();
    }
    let state = engine.state();
    let (iterations, evaluations) = (state.iterations(), state.evaluations());
    let complete = |vector: Option<Vec<f64>>, evaluations: &[dfo_ls::EvalRecord]| {
        state.lean().complete(
            |_| vector.clone(),
            iterations.to_vec(),
            evaluations.to_vec(),
        )
    };
    assert!(complete(Some(vec![0.0; 3]), evaluations).is_ok());
    assert!(complete(None, evaluations).is_err());
    assert!(complete(Some(vec![0.0; 2]), evaluations).is_err());
    assert!(complete(Some(vec![0.0; 3]), &evaluations[1..]).is_err());
}

fn check(name: &str, problem: &dyn Fn() -> Problem, options: Options) {
    let options = bounded(options);
    let whole = run(problem, options.clone(), None, false);
    assert!(
        whole.evaluations.len() > 10,
        "{name}: {:?}",
        whole.termination
    );
    for (period, in_parts) in [(1, false), (1, true), (2, true), (7, false)] {
        let parts = run(problem, options.clone(), Some(period), in_parts);
        assert_eq!(whole.evaluations, parts.evaluations, "{name}, {period}");
        assert_eq!(whole.iterations, parts.iterations, "{name}, {period}");
        assert_eq!(whole.termination, parts.termination, "{name}, {period}");
        let ends = |report: &Report| {
            format!(
                "{:?} {:?} {:?}",
                report.theta, report.jacobian, report.options
            )
        };
        assert_eq!(ends(&whole), ends(&parts), "{name}, {period}");
    }
}

fn free() -> Problem {
    Problem::new([-1.2, 1.0])
}

fn presets() -> [(&'static str, Options); 4] {
    [
        ("default", Options::default()),
        ("noisy", Options::noisy()),
        ("paper", Options::paper()),
        ("experiments", Options::experiments()),
    ]
}

#[test]
fn every_preset() {
    for (name, options) in presets() {
        check(name, &free, options);
    }
}

#[test]
fn with_bounds() {
    let problem = || {
        let infinite = f64::INFINITY;
        free()
            .with_bounds([-2.0, -infinite], [0.6, infinite])
            .expect("bounds in order")
    };
    for (name, options) in presets() {
        check(name, &problem, options);
    }
}

/// The companions of a trial point wait, with their tokens, until the step is decided.
#[test]
fn with_a_batch() {
    let boxed = || {
        free()
            .with_bounds([-2.0, -0.5], [0.6, 2.0])
            .expect("bounds in order")
    };
    for (name, mut options) in presets() {
        options.batch = 16;
        check(name, &free, options.clone());
        check(name, &boxed, options);
    }
}

#[test]
fn with_blocks() {
    check("blocks", &|| free().with_blocks([1, 2]), Options::default());
}

/// Projections and regulariser are code and are given with the problem.
#[test]
fn with_sets_and_regulariser() {
    let disc = || {
        let project = |theta: &mut [f64]| {
            let norm = theta.iter().map(|x| x * x).sum::<f64>().sqrt() / 1.2;
            theta.iter_mut().for_each(|x| *x /= norm.max(1.0));
        };
        free().within(project)
    };
    check("disc", &disc, Options::default());
    check(
        "sparse",
        &|| free().with_regularizer(L1 { weight: 0.1 }),
        Options::default(),
    );
}

#[test]
fn every_model_and_sampling() {
    for model in [
        Model::Linear,
        Model::Regression {
            points_per_param: 2.0,
        },
        Model::Composite {
            points_per_param: 2.0,
        },
    ] {
        let mut options = Options::noisy();
        options.model = model;
        options.batch = 2;
        options.noise.samples = Samples::Growing { max: 3 };
        options.diagnostics.poisedness = true;
        options.initial.num_directions = Some(1);
        check("model", &free, options);
    }
}

/// A state that is saved while half of the jobs are answered loses no answer.
#[test]
fn between_ask_and_tell() {
    let mut oracle = oracle();
    let mut engine = Engine::new(free(), 3, bounded(Options::default())).expect("a valid problem");
    oracle.evaluate(engine.ask());
    engine.tell();
    assert!(engine.ask().len() == 1 || engine.ask().len() == 2);
    oracle.evaluate(&mut engine.ask()[..1]);
    let saved = serde_json::to_string(engine.state()).expect("a state is plain data");
    let state: State<Token> = serde_json::from_str(&saved).expect("what was saved");
    let mut loaded = Engine::from_state(free(), state).expect("the same problem");
    assert_eq!(loaded.ask()[0].is_answered(), engine.ask()[0].is_answered());
    let mut finish = |engine: &mut Engine<Token>| {
        loop {
            engine.tell();
            let jobs = engine.ask();
            if jobs.is_empty() {
                break;
            }
            oracle.evaluate(jobs);
        }
    };
    finish(&mut engine);
    finish(&mut loaded);
    assert_eq!(
        engine.into_report().evaluations,
        loaded.into_report().evaluations
    );
}

/// The end of a run is saved too.
#[test]
fn after_the_end() {
    let mut oracle = oracle();
    let mut options = Options::default();
    options.budget.max_evaluations = Some(5);
    let mut engine = Engine::new(free(), 3, options).expect("a valid problem");
    loop {
        let jobs = engine.ask();
        if jobs.is_empty() {
            break;
        }
        oracle.evaluate(jobs);
        engine.tell();
    }
    let saved = serde_json::to_string(engine.state()).expect("a state is plain data");
    let state: State<Token> = serde_json::from_str(&saved).expect("what was saved");
    let mut loaded = Engine::from_state(free(), state).expect("the same problem");
    assert_eq!(loaded.termination(), engine.termination());
    assert!(loaded.ask().is_empty());
    assert_eq!(loaded.into_report().theta, engine.into_report().theta);
}
