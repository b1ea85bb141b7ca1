//! Small problems, and sessions that are interrupted.

#![allow(dead_code, reason = "every suite uses a part of it")]

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use bilevel::{Family, FourierWeights, Learned, LearningProblem, Pair, Setup, TvDenoising};
use bilevel_cli::session::{self, Interrupt, RESULT, RunSetup, SessionError, SessionOutcome};
use bilevel_cli::store::Store;
use bilevel_cli::task::fingerprint;
use dfo_ls::Options;
use imaging::{Grid, Seed, noise, phantom};

/// The settings of tests.
pub(crate) const SETTINGS: &str = "# settings of a test\n";

/// Returns a new empty directory for one run.
pub(crate) fn temp_dir(name: &str) -> PathBuf {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let id = std::process::id();
    let dir = std::env::temp_dir().join(format!("bilevel-session-{name}-{id}-{count}"));
    let _ = fs::remove_dir_all(&dir);
    dir
}

/// Box functions with noise.
pub(crate) fn signals(num_pairs: usize, len: usize, seed: u64) -> Vec<Pair> {
    let seed = Seed::new(seed);
    let pair = |index| {
        let truth = phantom::box_function(len, seed, index).expect("long enough");
        let data = noise::gaussian(&truth, 0.1, seed, index).expect("finite");
        let grid = Grid::line(len);
        Pair { grid, truth, data }
    };
    (0..num_pairs).map(pair).collect()
}

/// Denoising of four signals with three parameters.
pub(crate) fn denoise(setup: Setup) -> LearningProblem<Family> {
    let setup = Setup {
        validation: signals(2, 64, 8),
        ..setup
    };
    LearningProblem::new(
        Family::Denoising(TvDenoising::default()),
        signals(4, 64, 7),
        setup,
    )
    .expect("it fits")
}

/// Sampling with 16 modes.
pub(crate) fn sampling(setup: Setup) -> LearningProblem<Family> {
    use imaging::{Fourier, LinearOperator};
    let grid = Grid::line(16).complex();
    let fourier = Fourier::new(grid).expect("not empty");
    let pair = |(index, real): (usize, Pair)| {
        let truth: Vec<f64> = real.truth.iter().flat_map(|x| [*x, 0.0]).collect();
        let mut data = vec![0.0; truth.len()];
        fourier.apply(&truth, &mut data, &mut fourier.scratch());
        let data = noise::complex_gaussian(&data, 0.05, Seed::new(7), index).expect("finite");
        Pair { grid, truth, data }
    };
    let pairs = signals(4, 16, 7)
        .into_iter()
        .enumerate()
        .map(pair)
        .collect();
    let model = FourierWeights::new(16, FourierWeights::TV, 0.5).expect("not empty");
    LearningProblem::new(Family::Sampling(model), pairs, setup).expect("it fits")
}

/// Options with a budget.
pub(crate) fn points(max: u64) -> Options {
    budgeted(Options::default(), max)
}

/// These options with a budget.
pub(crate) fn budgeted(mut options: Options, max: u64) -> Options {
    options.budget.max_points = Some(max);
    options
}

/// Returns a setup whose fingerprint is that of the images of the problem.
pub(crate) fn task(problem: LearningProblem<Family>, options: Options) -> RunSetup {
    RunSetup {
        fingerprint: fingerprint::of(problem.pairs(), &[], &[]),
        problem,
        options,
    }
}

/// Learns without a break.
pub(crate) fn whole(dir: &Path, task: RunSetup) -> Learned {
    let store = Store::create(dir, SETTINGS).expect("a new directory");
    let outcome = session::resume(store, None, task, &Interrupt::new(), &mut |_| {
        ControlFlow::Continue(())
    });
    match outcome.expect("a sound problem") {
        SessionOutcome::Finished(finished) => finished.learned,
        other => panic!("{other:?}"),
    }
}

/// Resumes a run until `watch` ends the session.
pub(crate) fn go_on(
    dir: &Path,
    task: RunSetup,
    watch: &mut session::Watch<'_>,
) -> Result<SessionOutcome, SessionError> {
    let (store, saved) = Store::open(dir)?;
    session::resume(store, saved, task, &Interrupt::new(), watch)
}

/// Learns, and starts afresh from the files after every save.
pub(crate) fn in_pieces(dir: &Path, mut task: impl FnMut() -> RunSetup) -> Learned {
    drop(Store::create(dir, SETTINGS).expect("a new directory"));
    for _ in 0..2000 {
        let outcome = go_on(dir, task(), &mut |_| ControlFlow::Break(()));
        match outcome.expect("a sound run") {
            SessionOutcome::Finished(finished) => return finished.learned,
            SessionOutcome::Paused => {}
            other => panic!("it has not finished: {other:?}"),
        }
    }
    panic!("it does not end")
}

/// Returns the result of a session that finished the run.
pub(crate) fn finished(outcome: Result<SessionOutcome, SessionError>) -> Learned {
    match outcome.expect("a sound run") {
        SessionOutcome::Finished(finished) => finished.learned,
        other => panic!("{other:?}"),
    }
}

/// The history of a run without its seconds.
pub(crate) fn history(dir: &Path) -> Vec<String> {
    let saved = Store::read(dir).expect("a run").expect("a commit");
    let cut = |line: String| {
        let (record, _) = line.split_once(",\"seconds\"").expect("seconds");
        record.to_owned()
    };
    saved.history.into_iter().map(cut).collect()
}

/// Returns the text of the file with the result.
pub(crate) fn result(dir: &Path) -> String {
    fs::read_to_string(dir.join(RESULT)).expect("a result")
}
