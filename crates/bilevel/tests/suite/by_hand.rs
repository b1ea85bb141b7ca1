//! Learning problems of a family whose reconstructions are known in closed form.

mod misuse;

use std::ops::ControlFlow;
use std::sync::Arc;

use crate::evaluate::evaluate;
use crate::ridge::Ridge;
use bilevel::testing::on_ranks;
use bilevel::{
    ColdStart, Effort, Family, FourierWeights, LearningProblem, Loss, LowerLevel, Map, Pair,
    Parameter, Penalty, PenaltyContext, ProblemError, Quality, Ranks, Reconstructions, Residuals,
    Scale, Score, Setup, TvChoices, TvInpainting, learning_options, reconstruct, score, share_of,
};
use dfo_ls::{
    Accuracy, AccuracyControl, L1, Options, Purpose, Report, ResidualOracle, Termination,
};
use imaging::{Grid, Mask};
use lowlevel::{ErrorBound, Method, Solver, Stop};

/// Returns the solver with this method.
fn by(method: Method) -> Solver<'static> {
    Solver {
        method,
        ..Solver::default()
    }
}

/// Returns a pair of three samples and one of two.
fn pairs() -> Vec<Pair> {
    let pair = |truth: &[f64], data: &[f64]| Pair {
        grid: Grid::line(truth.len()),
        truth: truth.to_vec(),
        data: data.to_vec(),
    };
    vec![
        pair(&[0.5, 0.25, 1.0], &[0.75, 0.125, 1.5]),
        pair(&[0.0, 1.0], &[0.25, 1.5]),
    ]
}

fn problem(model: Ridge, setup: Setup) -> LearningProblem<Ridge> {
    LearningProblem::new(model, pairs(), setup).expect("a valid problem")
}

/// Returns the distances of the exact reconstructions from the truth.
fn distances(weight: f64) -> Vec<f64> {
    let distance = |pair: Pair| {
        let squares = (pair.truth.iter().zip(&pair.data)).map(|(t, y)| y / (1.0 + weight) - t);
        squares.map(|d| d * d).sum::<f64>().sqrt()
    };
    pairs().into_iter().map(distance).collect()
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-7 * b.abs()
}

/// A penalty whose terms are the fields of its context.
struct Echo;

impl Penalty for Echo {
    fn num_terms(&self) -> usize {
        3
    }
    fn terms(&self, at: &PenaltyContext<'_>, terms: &mut [f64]) {
        terms.copy_from_slice(&[at.theta[0], at.values[0], at.condition_number]);
    }
}

struct NotANumber;

impl Penalty for NotANumber {
    fn num_terms(&self) -> usize {
        1
    }
    fn terms(&self, _: &PenaltyContext<'_>, terms: &mut [f64]) {
        terms[0] = f64::NAN;
    }
}

#[test]
fn residuals_are_distances_and_then_penalties() {
    for (scale, factor) in [(Scale::Sum, 1.0), (Scale::Mean, 0.5_f64.sqrt())] {
        let setup = Setup {
            loss: Loss {
                scale,
                residuals: Residuals::Image,
            },
            penalties: vec![Box::new(Echo)],
            regularizer: Some(Arc::new(L1 { weight: 2.0 })),
            ..Setup::derivative_free()
        };
        let mut problem = problem(Ridge::simple(), setup);
        let theta = -0.5;
        let report = evaluate(&mut problem, &[theta], 1e-9);
        let distance = distances(10_f64.powf(theta));
        let expected = [
            factor * distance[0],
            factor * distance[1],
            theta,
            10_f64.powf(theta),
            30.0,
        ];
        for (found, expected) in report.residuals.iter().zip(expected) {
            assert!(close(*found, expected), "{found} {expected}");
        }
        let squares: f64 = expected.iter().map(|r| r * r).sum();
        assert!(close(report.objective, squares + 2.0 * theta.abs()));
        let square = report.residuals[..2].iter().map(|r| r * r).sum();
        let square = problem.layout().squared_distance(square);
        let expected = distance[0].powi(2) + distance[1].powi(2);
        assert!((square / expected - 1.0).abs() < 1e-6);
    }
}

/// The PSNR is the mean over images, not that of the mean error, on any number of ranks.
#[test]
fn the_mean_psnr_of_images() {
    let found = |pairs: &[Pair], ranks: Ranks, num_ranks: usize| {
        let own = pairs[share_of(pairs.len(), ranks.rank(), num_ranks)].to_vec();
        let setup = Setup::derivative_free();
        let problem = LearningProblem::on_rank(Ridge::simple(), own, setup, ranks);
        let mut problem = problem.expect("a valid problem");
        let mut options = learning_options();
        options.accuracy = AccuracyControl::Fixed(Accuracy::new(1e-9).expect("not negative"));
        let mut engine = problem.start(options).expect("valid options");
        assert!(engine.step(&mut problem, 1));
        let best = engine.best().expect("the start was evaluated");
        let psnr = problem.training_psnr(best.reconstructions.expect("they are new"));
        (best.theta[0], psnr.expect("no image is exact"))
    };
    let (theta, psnr) = found(&pairs(), Ranks::default(), 1);
    let of_image = |(distance, pair): (f64, Pair)| {
        -10.0 * (distance.powi(2) / pair.truth.len() as f64).log10()
    };
    let all = distances(10_f64.powf(theta)).into_iter().zip(pairs());
    let expected = all.map(of_image).sum::<f64>() / 2.0;
    assert!(close(psnr, expected), "{psnr} {expected}");
    for num_ranks in [2, 3] {
        let all = on_ranks(num_ranks, |ranks| found(&pairs(), ranks, num_ranks));
        assert!(all.iter().all(|one| *one == (theta, psnr)), "{all:?}");
    }
}

/// Refining makes the iterations that a longer solve makes, and costs one more gradient for each
/// image; a new point begins near a known one.
#[test]
fn reconstructions_go_on_and_begin_nearby() {
    // the start is the best point, and stays
    let mut model = Ridge::simple();
    model.parameters[0].start = (-0.293_13).into();
    let mut problem = problem(model, Setup::derivative_free());
    let mut options = Options::default();
    options.target = Some(0.0); // never reached: sharpen forever
    let mut engine = problem.engine(options).expect("valid options");
    for _ in 0..40 {
        problem.evaluate(engine.ask());
        engine.tell();
    }
    let evaluations = engine.into_report().evaluations;
    let (mut refined, mut saved) = (0, 0);
    for record in &evaluations {
        let point = evaluations.iter().filter(|e| e.point == record.point);
        let up_to: Vec<_> = point
            .take_while(|e| e.achieved >= record.achieved)
            .collect();
        let cold = evaluate(&mut problem, &record.theta, record.target.value()).work;
        let total: u64 = up_to.iter().map(|e| e.work).sum();
        if record.purpose == Purpose::Sharpen {
            if record.point == 0 {
                refined += 1;
                assert_eq!(total, cold + 2 * (up_to.len() as u64 - 1));
            }
        } else if record.point > 0 {
            saved += i64::try_from(cold).expect("few") - i64::try_from(record.work).expect("few");
        }
    }
    assert!(refined > 0 && saved > 0, "{refined} {saved}");
}

#[test]
fn cold_starts_and_methods_are_the_chosen_ones() {
    let distance = |effort: Effort, cold_start: ColdStart, method: Method| {
        let setup = Setup {
            loss: Loss {
                scale: Scale::Sum,
                residuals: Residuals::Image,
            },
            effort,
            cold_start,
            method,
            ..Setup::derivative_free()
        };
        let model = Ridge::simple();
        let problem = LearningProblem::new(&model, pairs(), setup);
        evaluate(&mut problem.expect("valid"), &[0.0], 1e-6)
    };
    let start = |cold_start| distance(Effort::Iterations(0), cold_start, Method::FISTA);
    let from_zero = start(ColdStart::Zero).residuals;
    let from_data = start(ColdStart::Model).residuals;
    assert!(close(from_zero[1], 1.0) && close(from_data[1], 0.3125_f64.sqrt()));

    let descent = distance(
        Effort::default(),
        ColdStart::Model,
        Method::GRADIENT_DESCENT,
    );
    let fista = distance(Effort::default(), ColdStart::Model, Method::FISTA);
    assert!(descent.work > 2 * fista.work);
    let limit = Some(3);
    let short = Effort::Requested {
        max_iterations: limit,
    };
    let short = distance(short, ColdStart::Model, Method::FISTA);
    assert!(short.work <= 2 * 4 && short.accuracy.value() > 1e-6);

    let (model, pair) = (Ridge::simple(), &pairs()[0]);
    let make = |method, stop| {
        reconstruct(&model, &[1.0], pair.grid, &pair.data, by(method), stop)
            .expect("a reconstruction")
    };
    assert_eq!(make(Method::FISTA, Stop::Iterations(0)).x, pair.data);
    let stop = Stop::accuracy(ErrorBound::new(1e-6).expect("positive"));
    let iterations = |method| make(method, stop).solved.iterations;
    assert!(iterations(Method::GRADIENT_DESCENT) > 2 * iterations(Method::FISTA));
    let scored = |method| score(&model, &[1.0], pair, by(method)).reconstruction;
    let iterations = |method| scored(method).expect("a reconstruction").solved.iterations;
    assert!(iterations(Method::GRADIENT_DESCENT) > iterations(Method::FISTA));
}

/// The work of a failed evaluation is counted.
#[test]
fn work_of_failures_is_counted() {
    let moody = Ridge {
        moody: Some((2, 0.5)),
        ..Ridge::simple()
    };
    let nan = Setup {
        penalties: vec![Box::new(NotANumber)],
        ..Setup::derivative_free()
    };
    for mut problem in [
        problem(moody, Setup::derivative_free()),
        problem(Ridge::simple(), nan),
    ] {
        let report = evaluate(&mut problem, &[0.0], 1e-6);
        assert!(report.evaluations[0].objective.is_err());
        assert!(report.work > 0);
    }
}

#[test]
fn reconstructions_have_numbers_of_their_own() {
    // two parameters, so that two points are asked for at once
    let model = Ridge::new(vec![
        Parameter::log10("a", -0.5, -2.0, 1.0),
        Parameter::log10("b", -0.5, -3.0, 1.0),
    ]);
    let mut problem = problem(model, Setup::derivative_free());
    let mut engine = problem.engine(learning_options()).expect("valid options");
    for _ in 0..4 {
        problem.evaluate(engine.ask());
        engine.tell();
    }
    let state = engine.state();
    let mut by_number: Vec<&Reconstructions> = state.tokens();
    by_number.sort_by_key(|token| token.number());
    by_number.dedup_by(|a, b| a.number() == b.number());
    assert!(by_number.len() > 2, "the start and one in each direction");
    for pair in by_number.windows(2) {
        assert_ne!(pair[0].checkpoints(), pair[1].checkpoints());
    }
    let known = by_number[0];
    #[cfg(feature = "serde")]
    {
        let text = serde_json::to_string(known).expect("plain data");
        let mut loaded: Reconstructions = serde_json::from_str(&text).expect("a token");
        assert!(loaded.checkpoints().is_empty());
        loaded.attach(Arc::new(known.checkpoints().to_vec()), Arc::default());
        assert_eq!(&loaded, known);
    }

    // a run that goes on elsewhere uses no number twice
    let numbers: Vec<u64> = by_number.iter().map(|token| token.number()).collect();
    let mut other = self::problem(problem.model().clone(), Setup::derivative_free());
    let mut engine = other.resume(state.clone()).expect("its own state");
    other.evaluate(engine.ask());
    engine.tell();
    let failed = engine.into_report().termination;
    let is_missing = |reason: &String| reason.contains("vectors are missing");
    assert!(matches!(failed, Termination::OracleFailed { reason } if is_missing(&reason)));
    other.vectors_mut().clone_from_slice(problem.vectors());
    let mut engine = other.resume(state.clone()).expect("its own state");
    other.evaluate(engine.ask());
    engine.tell();
    let new = engine.state().tokens().into_iter();
    let new: Vec<u64> = (new.map(Reconstructions::number))
        .filter(|number| !numbers.contains(number))
        .collect();
    assert!(
        !new.is_empty()
            && new
                .iter()
                .all(|number| *number > numbers[numbers.len() - 1])
    );
}

/// With few parameters, the influence bounds the change of the objective in both directions, for
/// every value of the objective in its interval.
#[test]
fn influences_of_few_parameters_are_certain() {
    let weight = 0.02;
    let mut problem = problem(
        Ridge::simple(),
        Setup {
            regularizer: Some(Arc::new(L1 { weight })),
            ..Setup::derivative_free()
        },
    );
    let objective = |theta: f64| {
        let squares: f64 = (distances(10_f64.powf(theta)).iter().map(|d| d * d)).sum();
        squares / 2.0 + weight * theta.abs()
    };
    let mut report = after_some_steps(&mut problem);
    for theta in [-4.0, -2.0, -1.0, -0.3, 0.4, 1.0] {
        report.theta = vec![theta];
        report.objective = objective(theta);
        report.interval.lower = 0.9 * report.objective;
        report.interval.upper = 1.1 * report.objective;
        let influence = problem.learned(report.clone(), None).0.parameters[0].influences[0];
        let found = influence.expect("evaluated") * report.objective;
        let farthest = [-0.5, 0.5].map(|step| {
            let there = objective((theta + step).clamp(-4.0, 1.0));
            (there - report.interval.lower).max(report.interval.upper - there)
        });
        let expected = farthest[0].max(farthest[1]);
        let error = 5e-4 * report.objective;
        assert!(
            found >= expected && found <= expected + error,
            "{theta}: {found} {expected}"
        );
    }
}

/// With many parameters, influences come from the solver's Jacobian.
#[test]
fn influences_of_many_parameters_are_those_of_the_model() {
    let range = |j: usize| if j == 0 { 3.0 } else { 6.0 };
    let parameter = |j| Parameter::log10(format!("p{j}"), -0.05, 1.0 - range(j), 1.0);
    let mut setup = Setup::derivative_free();
    setup.loss.residuals = Residuals::Image; // so that there are columns to compare with
    let mut problem = problem(Ridge::new((0..11).map(parameter).collect()), setup);
    let report = after_some_steps(&mut problem);
    let jacobian = report.jacobian.clone().expect("a model");
    let (learned, _) = problem.learned(report.clone(), None);
    for j in 0..11 {
        let h = 0.1 * range(j);
        let column = jacobian.column(j);
        let change = 2.0 * jacobian.slope(j).abs() * h + dot(column, column) * h * h;
        let influence = learned.parameters[j].influences[0].expect("a model");
        assert!(close(influence, change / report.objective), "{influence}");
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn after_some_steps(problem: &mut LearningProblem<Ridge>) -> Report {
    let mut engine = problem.engine(learning_options()).expect("valid options");
    for _ in 0..14 {
        problem.evaluate(engine.ask());
        engine.tell();
    }
    engine.into_report()
}

/// The product of two parameters with different ranges: the flat direction, and the work of each
/// phase.
#[test]
fn a_product_has_a_flat_direction() {
    let model = Ridge::new(vec![
        Parameter::log10("a", -0.5, -2.0, 1.0),
        Parameter::log10("b", -0.5, -5.0, 1.0),
    ]);
    let mut problem = problem(model, Setup::derivative_free());
    let report = after_some_steps(&mut problem);
    let (learned, _) = problem.learned(report.clone(), None);
    let steps = [0.3, 0.6];
    assert_eq!(learned.flat.len(), 1, "{:?}", learned.flat);
    let direction = &learned.flat[0].direction;
    assert!(close(dot(direction, direction), 1.0));
    let across = direction[0] * steps[0] + direction[1] * steps[1];
    assert!(across.abs() < 0.02, "{direction:?}");

    let of = |purpose| {
        let evaluations = report.evaluations.iter().filter(|e| e.purpose == purpose);
        evaluations.map(|e| e.work).sum::<u64>()
    };
    let work = learned.work;
    assert_eq!(work.initial, of(Purpose::Initial));
    assert_eq!(work.trial, of(Purpose::Trial));
    assert_eq!(work.geometry, of(Purpose::Geometry));
    assert_eq!(work.sharpen, of(Purpose::Sharpen));
    assert!(work.initial > 0 && work.initial != work.trial);
}

/// If the objective is zero, relative changes are unknown.
#[test]
fn influences_on_a_zero_objective_are_unknown() {
    let mut problem = problem(Ridge::simple(), Setup::derivative_free());
    let mut engine = problem.engine(learning_options()).expect("valid options");
    for _ in 0..6 {
        problem.evaluate(engine.ask());
        engine.tell();
    }
    let mut report = engine.into_report();
    report.objective = 0.0;
    assert_eq!(
        problem.learned(report, None).0.parameters[0].influences[0],
        None
    );
}

#[test]
fn a_family_of_your_own_needs_no_type() {
    let mut typed = problem(Ridge::simple(), Setup::derivative_free());
    let (own, setup) = (Family::own(Ridge::simple()), Setup::derivative_free());
    let mut untyped = LearningProblem::new(own, pairs(), setup).expect("a valid problem");
    let [typed, untyped] = [typed.learn(), untyped.learn()].map(|made| made.expect("valid"));
    assert_eq!(typed.values(), untyped.values());
    assert_eq!(typed.evaluations, untyped.evaluations);
}

#[test]
fn scores_are_those_of_their_pairs() {
    let setup = Setup {
        validation: vec![pairs().remove(1)],
        ..Setup::derivative_free()
    };
    let mut problem = problem(Ridge::simple(), setup);
    let learned = problem.learn().expect("valid options");
    // the same pair, reconstructed from the solver's best point and from the beginning
    let (held_out, trained) = (learned.validation[0], learned.training[1]);
    assert_eq!(held_out.before, trained.before);
    let rms = |score: Score| score.after.expect("an image").mse.sqrt();
    let errors = held_out.error.expect("known") + trained.error.expect("known");
    assert!((rms(held_out) - rms(trained)).abs() <= errors);
    assert_ne!(learned.training[0], learned.training[1]);

    let setup = Setup {
        method: Method::GRADIENT_DESCENT,
        ..Setup::derivative_free()
    };
    let mut descent = LearningProblem::new(Ridge::simple(), pairs(), setup).expect("valid");
    let report = evaluate(&mut descent, &[0.0], 1e-6);
    let scored = |method| score(descent.model(), &[1.0], &pairs()[0], by(method)).score;
    let (learned, _) = descent.learned(report, None);
    assert_eq!(learned.training[0], scored(Method::GRADIENT_DESCENT));
    assert_ne!(learned.training[0], scored(Method::FISTA));

    let line = Grid::line(2);
    let quality = Quality::of(&[0.1, 0.2], &[0.0, 0.1], line).expect("finite");
    assert!(close(quality.mse, 0.01) && close(quality.psnr.expect("not equal"), 20.0));
    assert_eq!(quality.ssim, None);
    let complex = Quality::of(&[0.3, 0.4, 0.0, 0.0], &[0.0; 4], line.complex());
    assert!(close(complex.expect("finite").mse, 0.125));
    assert!(Quality::of(&[0.1], &[0.0, 0.1], line).is_none());
    assert!(Quality::of(&[0.1], &[0.0], line).is_none());
    let equal = Quality::of(&[0.5, 1.0], &[0.5, 1.0], line).expect("finite");
    assert_eq!(equal.psnr, None);

    let grid = line.complex();
    let pair = Pair {
        grid,
        truth: vec![0.5; 4],
        data: vec![0.5; 4],
    };
    let score = score(&Ridge::simple(), &[0.1], &pair, by(Method::FISTA)).score;
    assert!(score.before.is_none() && score.after.is_some());
}

#[test]
fn options_and_observers_are_heeded() {
    let setup = Setup {
        effort: Effort::Iterations(5),
        ..Setup::derivative_free()
    };
    let mut fixed = problem(Ridge::simple(), setup);
    let options = fixed.options(learning_options());
    assert!(
        matches!(options.accuracy, AccuracyControl::Fixed(accuracy) if accuracy == Accuracy::ANY)
    );
    let learned = fixed.learn_observed(learning_options(), |_| ControlFlow::Break(()));
    let learned = learned.expect("valid options");
    assert_eq!(learned.termination, Termination::Stopped);
    assert_eq!(learned.iterations.len(), 1);
}
