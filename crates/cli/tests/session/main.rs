//! Learning with saving gives the same numbers as without, after any number of interruptions.

mod gradients;
mod ranks;
#[path = "../session_support/mod.rs"]
mod session_support;

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bilevel::{
    CheckpointPolicy, ColdStart, Effort, Family, Learned, LearningProblem, Loss, Residuals, RootL1,
    Scale, Setup, SolverKind, TvDenoising,
};
use bilevel_cli::session::{
    Interrupt, RESULT, RunSetup, Session, SessionError, SessionOutcome, Snapshot,
};
use bilevel_cli::store::Store;
use dfo_ls::{
    AccuracyControl, Budget, Directions, Dynamic, Limit, Model, Options, Samples, Scaling,
    Termination, WarmStart,
};
use lowlevel::{Method, Step};
use session_support::*;

/// Learns at once, with saving, and in pieces; all must agree.
pub(crate) fn check(name: &str, problem: impl Fn() -> LearningProblem<Family>, options: Options) {
    let plain = problem()
        .learn_with(options.clone())
        .expect("valid options");
    assert!(
        plain.evaluations.len() > 10,
        "{name}: {}",
        plain.evaluations.len()
    );
    let (at_once, pieces) = (temp_dir("whole"), temp_dir("pieces"));
    let saved = whole(&at_once, task(problem(), options.clone()));
    let continued = in_pieces(&pieces, || task(problem(), options.clone()));
    for learned in [&saved, &continued] {
        assert_eq!(&plain, learned, "{name}");
        // the same bits, which equal numbers need not have
        assert_eq!(format!("{plain:?}"), format!("{learned:?}"), "{name}");
    }
    assert_eq!(history(&at_once), history(&pieces), "{name}");
    assert_eq!(result(&at_once), result(&pieces), "{name}");
    let read: Learned = serde_json::from_str(&result(&pieces)).expect("a result");
    assert_eq!(format!("{plain:?}"), format!("{read:?}"), "{name}");
    for dir in [at_once, pieces] {
        fs::remove_dir_all(dir).expect("it is there");
    }
}

/// Both solvers.
const BOTH: [SolverKind; 2] = [SolverKind::DerivativeFree, SolverKind::Gradient];

/// The default settings with a solver.
pub(crate) fn with(solver: SolverKind) -> Setup {
    Setup {
        solver,
        ..Setup::default()
    }
}

fn loss(residuals: Residuals, scale: Scale) -> Setup {
    Setup {
        loss: Loss { scale, residuals },
        ..Setup::derivative_free()
    }
}

#[test]
fn every_loss() {
    for residuals in [Residuals::Image, Residuals::Pixel] {
        for scale in [Scale::Mean, Scale::Sum] {
            let name = format!("{residuals:?} {scale:?}");
            check(&name, || denoise(loss(residuals, scale)), points(40));
        }
    }
}

#[test]
fn a_session_can_be_left_after_any_step() {
    for solver in BOTH {
        leave_after_every_step(solver);
    }
}

fn leave_after_every_step(solver: SolverKind) {
    let task = || task(denoise(with(solver)), points(30));
    let (at_once, dir) = (temp_dir("at-once"), temp_dir("left"));
    let plain = whole(&at_once, task());
    drop(Store::create(&dir, SETTINGS).expect("a new place"));
    let mut num_steps = 0;
    let finished = loop {
        let (store, saved) = Store::open(&dir).expect("a run");
        let opened = Session::open(store, saved, task(), &Interrupt::new());
        let mut session = opened.expect("a sound run");
        assert_eq!(session.dir(), dir);
        if !session.step().expect("it can be saved") {
            break session.finish().expect("a result");
        }
        num_steps += 1;
        let best = session.engine().best().expect("a point").objective;
        let (problem, engine) = session.into_parts();
        let left = problem.conclude(engine).0;
        assert_eq!(left.objective.to_bits(), best.to_bits());
        assert!(!dir.join(RESULT).exists());
    };
    assert!(num_steps > 10, "{num_steps}");
    assert_eq!(format!("{plain:?}"), format!("{:?}", finished.learned));
    assert_eq!(result(&at_once), result(&dir));
    // the run has ended, and its result is known
    let (store, saved) = Store::open(&dir).expect("a run");
    let session = Session::open(store, saved, task(), &Interrupt::new());
    let known = session.expect("a run").known_result();
    assert_eq!(known.expect("one rank"), Some(plain));
    for dir in [at_once, dir] {
        fs::remove_dir_all(dir).expect("it is there");
    }
}

#[test]
fn fixed_iterations_and_gradient_descent() {
    let fixed = || Setup {
        effort: Effort::Iterations(200),
        cold_start: ColdStart::Zero,
        ..Setup::derivative_free()
    };
    check("fixed", || denoise(fixed()), points(40));
    let capped = || Setup {
        effort: Effort::Requested {
            max_iterations: Some(300),
        },
        method: Method::GradientDescent {
            step: Step::InverseLipschitz,
        },
        ..loss(Residuals::Image, Scale::Sum)
    };
    check("gradient descent", || denoise(capped()), points(40));
}

/// With compact checkpoints, as for large problems.
#[test]
fn rounded_reconstructions() {
    let rounded = |residuals| Setup {
        checkpoints: CheckpointPolicy::Compact,
        ..loss(residuals, Scale::Mean)
    };
    for residuals in [Residuals::Image, Residuals::Pixel] {
        let mut options = points(40);
        let mut dynamic = Dynamic::default();
        dynamic.warm_start = WarmStart::Extrapolated;
        options.accuracy = AccuracyControl::Dynamic(dynamic);
        check("rounded", || denoise(rounded(residuals)), options);
    }
    check(
        "rounded sampling",
        || sampling(rounded(Residuals::Pixel)),
        points(40),
    );
}

#[test]
fn sampling_and_regularizer() {
    let penalised = |weight| Setup {
        penalties: vec![Box::new(RootL1 { weight })],
        ..loss(Residuals::Image, Scale::Sum)
    };
    check("sampling", || sampling(penalised(0.1)), points(40));
    let sparse = || Setup {
        regularizer: Some(Arc::new(dfo_ls::L1 { weight: 0.01 })),
        ..Setup::derivative_free()
    };
    check("regularizer", || sampling(sparse()), points(25));
}

/// All parts of a state are saved and loaded.
#[test]
fn options_of_every_kind() {
    for (name, options) in [
        ("noisy", Options::noisy()),
        ("paper", Options::paper()),
        ("experiments", Options::experiments()),
    ] {
        check(
            name,
            || denoise(Setup::derivative_free()),
            budgeted(options, 25),
        );
    }
    // samples of residuals are averaged, which needs vectors
    let mut options = Options::noisy();
    options.model = Model::Regression {
        points_per_param: 2.0,
    };
    options.noise.samples = Samples::Growing { max: 3 };
    options.initial.directions = Directions::Orthogonal { seed: 5 };
    options.initial.num_directions = Some(2);
    options.scaling = Scaling::Given(vec![1.0, 2.0, 3.0]);
    options.batch = 2;
    options.diagnostics.poisedness = true;
    options.budget.max_evaluations = Some(30);
    check(
        "many",
        || denoise(loss(Residuals::Image, Scale::Mean)),
        budgeted(options, 25),
    );
    for warm_start in [WarmStart::Cold, WarmStart::Nearest] {
        let mut dynamic = Dynamic::default();
        dynamic.warm_start = warm_start;
        let mut options = points(25);
        options.accuracy = AccuracyControl::Dynamic(dynamic);
        options.budget.max_work = Some(40_000);
        check("warm start", || denoise(Setup::derivative_free()), options);
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let learn = |solver, num_threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(num_threads);
        let dir = temp_dir("threads");
        let learned = (pool.build().expect("threads"))
            .install(|| whole(&dir, task(denoise(with(solver)), points(30))));
        let result = result(&dir);
        fs::remove_dir_all(dir).expect("it is there");
        (format!("{learned:?}"), result)
    };
    for solver in BOTH {
        assert_eq!(learn(solver, 1), learn(solver, 2));
    }
}

/// Returns a watcher that ends a session after this many saves.
fn leave_after(saves: usize) -> impl FnMut(&Snapshot<'_>) -> ControlFlow<()> {
    let mut count = 0;
    move |_| {
        count += 1;
        if count < saves {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    }
}

/// A run of 30 points that was left after `saves` saves.
fn left(solver: SolverKind, saves: usize) -> (PathBuf, impl Fn() -> RunSetup) {
    let dir = temp_dir("left");
    drop(Store::create(&dir, SETTINGS).expect("a new directory"));
    let task = move || task(denoise(with(solver)), points(30));
    let outcome = go_on(&dir, task(), &mut leave_after(saves));
    assert!(matches!(outcome, Ok(SessionOutcome::Paused)));
    (dir, task)
}

fn refused(dir: &Path, task: RunSetup) -> String {
    let before = fs::read(dir.join("engine.bin")).expect("a commit");
    let error = go_on(dir, task, &mut |_| ControlFlow::Break(())).expect_err("refused");
    assert_eq!(fs::read(dir.join("engine.bin")).expect("a commit"), before);
    error.to_string()
}

#[test]
fn other_images_and_settings_are_refused() {
    for solver in BOTH {
        refuse_others(solver);
    }
}

fn refuse_others(solver: SolverKind) {
    let (dir, task) = left(solver, 5);
    let mut pairs = signals(4, 64, 7);
    pairs[3].data[63] += 1e-12;
    let model = || Family::Denoising(TvDenoising::default());
    let changed = LearningProblem::new(model(), pairs, with(solver)).expect("it fits");
    let message = refused(&dir, session_support::task(changed, points(30)));
    assert!(message.contains("the images have changed"), "{message}");
    // a wrong fingerprint causes no panic either
    let mut short = session_support::task(
        LearningProblem::new(model(), signals(4, 63, 7), with(solver)).expect("it fits"),
        points(30),
    );
    short.fingerprint = task().fingerprint;
    let message = refused(&dir, short);
    assert!(message.contains("do not fit the images"), "{message}");
    let settings = dir.join("bilevel.toml");
    fs::write(&settings, "# others\n").expect("it is there");
    let message = refused(&dir, task());
    assert!(message.contains("bilevel.toml has changed"), "{message}");
    fs::write(&settings, SETTINGS).expect("it is there");
    assert!(go_on(&dir, task(), &mut |_| ControlFlow::Break(())).is_ok());
    fs::remove_dir_all(dir).expect("it is there");
}

#[test]
fn damage_is_noticed() {
    notice_damage(SolverKind::DerivativeFree, 5);
    // the reconstructions and the adjoints of the best point
    notice_damage(SolverKind::Gradient, 2);
}

fn notice_damage(solver: SolverKind, least: usize) {
    let (dir, task) = left(solver, 8);
    let states = fs::read_dir(dir.join("states")).expect("states");
    let mut files: Vec<_> = states.map(|entry| entry.expect("a file").path()).collect();
    assert!(files.len() >= least, "{files:?}");
    files.extend(["engine.bin", "history.jsonl"].map(|name| dir.join(name)));
    for path in files {
        let sound = fs::read(&path).expect("a file");
        for at in [0, sound.len() / 2, sound.len() - 1] {
            let mut broken = sound.clone();
            broken[at] ^= 0x10;
            fs::write(&path, &broken).expect("a file");
            let error = go_on(&dir, task(), &mut |_| ControlFlow::Break(()));
            let error = error.expect_err("damaged").to_string();
            assert!(error.contains("damaged"), "{}: {error}", path.display());
            fs::write(&path, &sound[..at]).expect("a file");
            assert!(go_on(&dir, task(), &mut |_| ControlFlow::Break(())).is_err());
        }
        fs::write(&path, &sound).expect("a file");
    }
    let learned = go_on(&dir, task(), &mut |_| ControlFlow::Continue(()));
    let plain = denoise(with(solver)).learn_with(points(30));
    assert_eq!(finished(learned), plain.expect("valid options"));
    fs::remove_dir_all(dir).expect("it is there");
}

#[test]
fn a_finished_run_goes_on_with_more_budget() {
    go_on_with_more(SolverKind::DerivativeFree, 12, 22);
    go_on_with_more(SolverKind::Gradient, 4, 8);
}

fn go_on_with_more(solver: SolverKind, few: u64, many: u64) {
    let dir = temp_dir("more");
    let task = || task(denoise(with(solver)), points(few));
    let longer = || self::task(denoise(with(solver)), points(many));
    let first = whole(&dir, task());
    assert_eq!(first.termination, Termination::Exhausted(Limit::Points));
    let again = go_on(&dir, task(), &mut |_| panic!("nothing to do"));
    assert!(matches!(again, Ok(SessionOutcome::WasFinished(known)) if *known == first));
    // a missing result, which a kill may have prevented, is written again
    fs::remove_file(dir.join("result.json")).expect("it is there");
    let again = go_on(&dir, task(), &mut |_| panic!("nothing to do"));
    assert_eq!(finished(again), first);

    let more = go_on(&dir, longer(), &mut |_| ControlFlow::Break(()));
    assert!(matches!(more, Ok(SessionOutcome::Paused)));
    let more = go_on(&dir, longer(), &mut |_| ControlFlow::Continue(()));
    let second = finished(more);
    assert_eq!(second.num_points, many);
    assert_eq!(
        second.evaluations[..first.evaluations.len()],
        first.evaluations
    );
    assert!(second.interval.upper <= first.interval.upper);
    // the same in pieces
    let other = temp_dir("more");
    let _ = whole(&other, task());
    let learned = loop {
        match go_on(&other, longer(), &mut |_| ControlFlow::Break(())) {
            Ok(SessionOutcome::Finished(finished)) => break finished.learned,
            Ok(SessionOutcome::Paused) => {}
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(learned, second);
    assert_eq!(result(&dir), result(&other));
    for dir in [dir, other] {
        fs::remove_dir_all(dir).expect("it is there");
    }
}

/// A budget that was spent during evaluations can be extended, too.
#[test]
fn more_budget_in_the_middle() {
    // with this many pairs, one point is evaluated at a time
    let problem = || {
        let pairs = signals(40, 16, 7);
        LearningProblem::new(
            Family::Denoising(TvDenoising::default()),
            pairs,
            Setup::derivative_free(),
        )
        .expect("it fits")
    };
    let plain = problem().learn_with(points(10)).expect("valid options");
    let mut records = plain.evaluations.iter();
    let first = records
        .position(|record| record.point > 0)
        .expect("ten points");
    let before: u64 = plain.evaluations[..first]
        .iter()
        .map(|record| record.work)
        .sum();
    let mut options = points(100);
    // the first of several points asked for together is beyond it
    options.budget.max_work = Some(before + 1);
    for saves in first..first + 5 {
        let dir = temp_dir("middle");
        drop(Store::create(&dir, SETTINGS).expect("a new directory"));
        let task = || task(problem(), options.clone());
        let outcome = go_on(&dir, task(), &mut leave_after(saves));
        assert!(saves > first + 1 || matches!(outcome, Ok(SessionOutcome::Paused)));
        let more = self::task(problem(), points(10));
        let outcome = go_on(&dir, more, &mut |_| ControlFlow::Continue(()));
        let learned = finished(outcome);
        let spent = Termination::Exhausted(Limit::Points);
        assert_eq!(learned.termination, spent, "{saves}");
        fs::remove_dir_all(dir).expect("it is there");
    }
}

/// A save that fails is reported, and nothing that was saved before is lost.
#[test]
fn a_failed_save_loses_nothing() {
    for solver in BOTH {
        fail_to_save(solver);
    }
}

fn fail_to_save(solver: SolverKind) {
    let (dir, task) = left(solver, 5);
    let obstacle = dir.join("engine.bin.tmp");
    let mut count = 0;
    let error = go_on(&dir, task(), &mut |_| {
        count += 1;
        if count == 3 {
            fs::create_dir(&obstacle).expect("room for it");
        }
        ControlFlow::Continue(())
    });
    let error = error.expect_err("it cannot be saved");
    assert!(matches!(error, SessionError::NotSaved { .. }), "{error}");
    let message = error.to_string();
    let advice = format!("then continue with `bilevel resume {}`", dir.display());
    assert!(message.contains(&advice), "{message}");
    assert_eq!(count, 3);
    fs::remove_dir(&obstacle).expect("it is there");
    let learned = go_on(&dir, task(), &mut |_| ControlFlow::Continue(()));
    let plain = denoise(with(solver)).learn_with(points(30));
    assert_eq!(finished(learned), plain.expect("valid options"));
    fs::remove_dir_all(dir).expect("it is there");
}

#[test]
fn a_run_without_any_answer_says_so() {
    for solver in BOTH {
        let dir = temp_dir("nothing");
        let mut options = points(5);
        options.budget = Budget::default();
        options.budget.max_points = Some(0);
        drop(Store::create(&dir, SETTINGS).expect("a new directory"));
        let task = task(denoise(with(solver)), options);
        let error = go_on(&dir, task, &mut |_| ControlFlow::Continue(())).expect_err("nothing");
        assert!(
            matches!(
                error,
                SessionError::NothingEvaluated { .. } | SessionError::Problem(_)
            ),
            "{error}"
        );
        fs::remove_dir_all(dir).expect("it is there");
    }
}
