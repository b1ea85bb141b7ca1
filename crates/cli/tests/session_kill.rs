//! A process that learns is killed or interrupted at random times.
//!
//! This is a program of its own: a process that a test starts holds the locks of all other tests of
//! its program for a moment, and these tests would find their runs in use.

#![cfg(unix)]

mod session_support;

use std::env;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use bilevel::{Family, LearningProblem, Loss, Residuals, Scale, Setup, SolverKind, TvDenoising};
use bilevel_cli::session::{self, Interrupt, RunSetup};
use bilevel_cli::store::{Store, StoreError};
use lowlevel::Method;
use session_support::*;

/// The environment variables with the directory of the worker, and with the number of steps after
/// which it waits for a signal. Without the second one, it runs to the end. The third variable is
/// set for the solver without derivatives.
const VARIABLE: &str = "BILEVEL_TEST_SESSION";
const PAUSE: &str = "BILEVEL_TEST_PAUSE";
const SOLVER: &str = "BILEVEL_TEST_SOLVER";

/// A problem that takes about a second.
fn slow(solver: SolverKind) -> RunSetup {
    let setup = Setup {
        loss: Loss {
            scale: Scale::Sum,
            residuals: Residuals::Pixel,
        },
        // gradients need accurate reconstructions, which take FISTA long
        method: match solver {
            SolverKind::DerivativeFree => Method::FISTA,
            _ => Method::Auto,
        },
        solver,
        ..Setup::default()
    };
    let pairs = signals(12, 512, 3);
    let problem = LearningProblem::new(Family::Denoising(TvDenoising::default()), pairs, setup)
        .expect("it fits");
    task(problem, points(45))
}

#[test]
#[ignore = "the process that the other tests kill"]
fn worker() {
    let Some(dir) = env::var_os(VARIABLE).map(PathBuf::from) else {
        return;
    };
    let (store, saved) = match Store::open(&dir) {
        Err(StoreError::NotARun { .. }) => (Store::create(&dir, SETTINGS).unwrap(), None),
        other => other.unwrap(),
    };
    let interrupt = Interrupt::new();
    interrupt.install().unwrap();
    let solver = match env::var_os(SOLVER) {
        Some(_) => SolverKind::DerivativeFree,
        None => SolverKind::Auto,
    };
    let pause = env::var(PAUSE).map_or(u64::MAX, |text| text.parse().unwrap());
    let mut num_steps = 0;
    let watch = &mut |_: &session::Snapshot<'_>| {
        num_steps += 1;
        if num_steps >= pause {
            // However late the signal comes, it finds an unfinished run.
            sleep(Duration::from_secs(600));
        }
        ControlFlow::Continue(())
    };
    let _ = session::resume(store, saved, slow(solver), &interrupt, watch).unwrap();
}

/// Starts a worker that waits for a signal after `pause` steps.
fn start(solver: SolverKind, dir: &Path, pause: Option<u64>) -> Child {
    let without = solver == SolverKind::DerivativeFree;
    Command::new(env::current_exe().expect("the test knows its own path"))
        .args(["--exact", "worker", "--ignored", "--nocapture"])
        .env(VARIABLE, dir)
        .envs(without.then_some((SOLVER, "derivative-free")))
        .envs(pause.map(|pause| (PAUSE, pause.to_string())))
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the test can run itself")
}

/// Returns the number of lines in the history.
fn num_lines(dir: &Path) -> usize {
    match Store::read(dir) {
        Ok(saved) => saved.map_or(0, |saved| saved.history.len()),
        Err(StoreError::NotARun { .. }) => 0,
        Err(error) => panic!("{error}"),
    }
}

/// Waits until the child has saved more than `before` lines.
fn wait_beyond(before: usize, dir: &Path, child: &mut Child) {
    let begin = Instant::now();
    while num_lines(dir) <= before {
        let ended = child.try_wait().expect("the child can be asked");
        assert!(ended.is_none(), "the worker has ended");
        assert!(
            begin.elapsed() < Duration::from_secs(300),
            "the worker hangs"
        );
        sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_killed_run_ends_like_any_other() {
    // Two steps of each worker are too few to finish.
    kill(SolverKind::DerivativeFree, 16);
    kill(SolverKind::Gradient, 8);
}

fn kill(solver: SolverKind, num_kills: usize) {
    let (undisturbed, dir) = (temp_dir("undisturbed"), temp_dir("killed"));
    let learned = whole(&undisturbed, slow(solver));
    assert!(
        learned.evaluations.len() > 2 * num_kills,
        "{}",
        learned.evaluations.len()
    );
    let mut random = 1_u64;
    for turn in 0..num_kills {
        let mut child = start(solver, &dir, Some(2));
        // Some are killed while they start, most after a save.
        if turn % 4 != 0 {
            wait_beyond(num_lines(&dir), &dir, &mut child);
            let error = Store::open(&dir).expect_err("another process works on it");
            assert!(matches!(error, StoreError::Busy { .. }), "{error}");
            let error = Store::create(&dir, "").expect_err("there is a run");
            assert!(matches!(error, StoreError::Exists { .. }), "{error}");
        }
        random = random.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
        sleep(Duration::from_micros((random >> 33) % 30_000));
        child.kill().expect("a child");
        let status = child.wait().expect("a child");
        assert!(!status.success(), "{status}");
    }
    assert!(start(solver, &dir, None).wait().expect("a child").success());
    assert_eq!(result(&undisturbed), result(&dir));
    assert_eq!(history(&undisturbed), history(&dir));
    for dir in [undisturbed, dir] {
        fs::remove_dir_all(dir).expect("it is there");
    }
}

#[test]
fn an_interrupted_run_says_how_to_go_on() {
    for solver in [SolverKind::DerivativeFree, SolverKind::Gradient] {
        interrupt(solver);
    }
}

fn interrupt(solver: SolverKind) {
    let (undisturbed, dir) = (temp_dir("quiet"), temp_dir("interrupted"));
    let _ = whole(&undisturbed, slow(solver));
    for signal in ["INT", "TERM"] {
        let mut child = start(solver, &dir, Some(8));
        wait_beyond(num_lines(&dir) + 4, &dir, &mut child);
        let id = child.id().to_string();
        let sent = Command::new("kill").args(["-s", signal, &id]).status();
        assert!(sent.expect("kill").success());
        let output = child.wait_with_output().expect("a child");
        assert_eq!(output.status.code(), Some(130), "{signal}");
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        let saved = Store::read(&dir).expect("a run").expect("a commit");
        let evaluations = saved
            .history
            .iter()
            .filter(|line| line.starts_with("{\"evaluation\""));
        let expected = format!(
            "interrupted: everything up to evaluation {} is saved, continue with `bilevel resume \
             {}`\n",
            evaluations.count(),
            dir.display()
        );
        assert_eq!(text, expected);
    }
    assert!(start(solver, &dir, None).wait().expect("a child").success());
    assert_eq!(result(&undisturbed), result(&dir));
    for dir in [undisturbed, dir] {
        fs::remove_dir_all(dir).expect("it is there");
    }
}
