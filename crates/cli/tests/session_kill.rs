//! A process that learns is killed or interrupted at random times.

#![cfg(unix)]

mod session_support;

use std::env;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use bilevel::{Family, LearningProblem, Loss, Residuals, Scale, Setup, TvDenoising};
use bilevel_cli::session::{self, Interrupt, RunSetup};
use bilevel_cli::store::{Store, StoreError};
use lowlevel::Method;
use session_support::*;

/// The environment variable with the directory of the worker.
const VARIABLE: &str = "BILEVEL_TEST_SESSION";

/// A problem that takes about a second.
fn slow() -> RunSetup {
    let setup = Setup {
        loss: Loss {
            scale: Scale::Sum,
            residuals: Residuals::Pixel,
        },
        method: Method::FISTA,
        ..Setup::derivative_free()
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
    let watch = &mut |_: &session::Snapshot<'_>| ControlFlow::Continue(());
    let _ = session::resume(store, saved, slow(), &interrupt, watch).unwrap();
}

fn start(dir: &Path) -> Child {
    Command::new(env::current_exe().expect("the test knows its own path"))
        .args(["--exact", "worker", "--ignored", "--nocapture"])
        .env(VARIABLE, dir)
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

/// Waits until the child has saved more than `before` lines; `false` if it ends first.
fn wait_beyond(before: usize, dir: &Path, child: &mut Child) -> bool {
    let begin = Instant::now();
    while num_lines(dir) <= before {
        if child.try_wait().expect("the child can be asked").is_some() {
            return false;
        }
        assert!(
            begin.elapsed() < Duration::from_secs(60),
            "the worker hangs"
        );
        sleep(Duration::from_millis(1));
    }
    true
}

#[test]
fn a_killed_run_ends_like_any_other() {
    let (undisturbed, dir) = (temp_dir("undisturbed"), temp_dir("killed"));
    let _ = whole(&undisturbed, slow());
    let mut random = 1_u64;
    let mut num_kills = 0;
    for turn in 0..200 {
        let mut child = start(&dir);
        // Some are killed while they start, most after some saves; in the end one is left alone.
        let kill = num_kills < 18;
        if kill && turn % 4 != 0 {
            wait_beyond(num_lines(&dir), &dir, &mut child);
        }
        if kill {
            random = random.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
            sleep(Duration::from_micros((random >> 33) % 30_000));
            child.kill().expect("a child");
        }
        let status = child.wait().expect("a child");
        if status.success() {
            break;
        }
        num_kills += 1;
        assert!(kill, "{status}");
    }
    assert!(num_kills >= 15, "killed {num_kills} times");
    assert_eq!(result(&undisturbed), result(&dir));
    assert_eq!(history(&undisturbed), history(&dir));
    for dir in [undisturbed, dir] {
        fs::remove_dir_all(dir).expect("it is there");
    }
}

#[test]
fn an_interrupted_run_says_how_to_go_on() {
    let (undisturbed, dir) = (temp_dir("quiet"), temp_dir("interrupted"));
    let _ = whole(&undisturbed, slow());
    for signal in ["INT", "TERM"] {
        let mut child = start(&dir);
        assert!(wait_beyond(num_lines(&dir) + 4, &dir, &mut child));
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
    assert!(start(&dir).wait().expect("a child").success());
    assert_eq!(result(&undisturbed), result(&dir));
    for dir in [undisturbed, dir] {
        fs::remove_dir_all(dir).expect("it is there");
    }
}
