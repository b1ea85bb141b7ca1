//! Runs of several ranks, which are threads here: saved together, and resumed on another number of
//! ranks to the same bits.

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

use crate::session_support::*;
use bilevel::testing::on_ranks;
use bilevel::{
    Family, Learned, LearningProblem, Ranks, Residuals, SolverKind, TvDenoising, share_of,
};
use bilevel_cli::session::{
    self, Interrupt, RunSetup, SessionError, SessionOutcome, open_on_ranks,
};
use bilevel_cli::store::Store;
use dfo_ls::{Options, Termination};

const NUM_PAIRS: usize = 5;

/// The solver and, for the one without derivatives, its residuals.
type Kind = (SolverKind, Residuals);

const IMAGES: Kind = (SolverKind::DerivativeFree, Residuals::Image);
const PIXELS: Kind = (SolverKind::DerivativeFree, Residuals::Pixel);
const GRADIENTS: Kind = (SolverKind::Gradient, Residuals::Pixel);

/// The share of a rank of a learning problem with five signals, of which the last is held out.
fn share(
    (solver, residuals): Kind,
    options: &Options,
    ranks: &Ranks,
    num_ranks: usize,
) -> RunSetup {
    let own = |count| share_of(count, ranks.rank(), num_ranks);
    let mut setup = crate::with(solver);
    setup.loss.residuals = residuals;
    setup.validation = signals(1, 48, 8)[own(1)].to_vec();
    let pairs = signals(NUM_PAIRS, 48, 7)[own(NUM_PAIRS)].to_vec();
    let family = Family::Denoising(TvDenoising::default());
    let problem = LearningProblem::on_rank(family, pairs, setup, ranks.clone());
    RunSetup {
        problem: problem.expect("a valid problem"),
        options: options.clone(),
        fingerprint: 7,
    }
}

/// Resumes a run on `count` ranks until `watch` ends the session.
fn resume(
    dir: &Path,
    count: usize,
    setup: impl Fn(&Ranks) -> RunSetup + Sync,
    watch: impl Fn(&Ranks) -> ControlFlow<()> + Sync,
) -> Vec<Result<SessionOutcome, SessionError>> {
    on_ranks(count, |ranks| {
        let open = || Ok(Store::open(dir)?);
        let (store, saved) = open_on_ranks::<SessionError>(&ranks, dir, open)?;
        let watch = &mut |_: &session::Snapshot<'_>| watch(&ranks);
        session::resume(store, saved, setup(&ranks), &Interrupt::shared(), watch)
    })
}

/// Every rank ends with the result of one rank, although the number of ranks changes after every
/// save.
#[test]
fn any_number_of_ranks_at_any_time() {
    for kind in [IMAGES, PIXELS, GRADIENTS] {
        let options = points(25);
        let plain = share(kind, &options, &Ranks::default(), 1).problem;
        let plain = plain.learned_alone(&options);
        let dir = temp_dir("ranks");
        drop(Store::create(&dir, SETTINGS).expect("a new directory"));
        let mut found: Vec<Learned> = Vec::new();
        for piece in 0..2000 {
            let count = 1 + piece * 3 % 7;
            let setup = |ranks: &Ranks| share(kind, &options, ranks, count);
            for outcome in resume(&dir, count, setup, |_| ControlFlow::Break(())) {
                match outcome.expect("a sound run") {
                    SessionOutcome::Finished(finished) => found.push(finished.learned),
                    SessionOutcome::Paused => {}
                    other => panic!("{other:?}"),
                }
            }
            if !found.is_empty() {
                break;
            }
        }
        let least = match kind.0 {
            SolverKind::Gradient => 10,
            _ => 15,
        };
        assert!(plain.evaluations.len() > least, "{kind:?}");
        for learned in found {
            assert_eq!(format!("{learned:?}"), format!("{plain:?}"), "{kind:?}");
        }
        fs::remove_dir_all(dir).expect("it is there");
    }
}

/// A time limit that one rank has reached ends the run on all ranks.
#[test]
fn a_time_limit_is_reached_together() {
    for kind in [PIXELS, GRADIENTS] {
        reach_a_time_limit(kind);
    }
}

fn reach_a_time_limit(kind: Kind) {
    let dir = temp_dir("ranks-time");
    drop(Store::create(&dir, SETTINGS).expect("a new directory"));
    let mut options = points(1000);
    options.budget.max_time = Some(std::time::Duration::from_millis(30));
    let setup = |ranks: &Ranks| share(kind, &options, ranks, 3);
    let slow = |ranks: &Ranks| {
        std::thread::sleep(std::time::Duration::from_millis(20 * ranks.rank() as u64));
        ControlFlow::Continue(())
    };
    let learned: Vec<Learned> = (resume(&dir, 3, setup, slow).into_iter())
        .map(finished)
        .collect();
    assert!(matches!(learned[0].termination, Termination::Exhausted(_)));
    assert!(learned.iter().all(|other| other == &learned[0]));
    fs::remove_dir_all(dir).expect("it is there");
}

/// If one rank cannot save, all ranks end with an error that names it, and the run resumes.
#[test]
fn a_full_disk_on_one_rank_ends_all() {
    for kind in [PIXELS, GRADIENTS] {
        fill_a_disk(kind);
    }
}

fn fill_a_disk(kind: Kind) {
    let dir = temp_dir("ranks-full");
    drop(Store::create(&dir, SETTINGS).expect("a new directory"));
    let options = points(25);
    let setup = |ranks: &Ranks| share(kind, &options, ranks, 2);
    let states = dir.join("states");
    let outcomes = resume(&dir, 2, setup, |ranks| {
        // without their directory, blobs of the next save cannot be written by either rank
        if ranks.rank() == 1 && states.is_dir() {
            fs::rename(&states, dir.join("hidden")).expect("it can be moved");
        }
        ControlFlow::Continue(())
    });
    for outcome in outcomes {
        let message = outcome.expect_err("not saved").to_string();
        assert!(message.contains("could not be saved"), "{message}");
        assert!(message.contains("bilevel resume"), "{message}");
    }
    fs::rename(dir.join("hidden"), &states).expect("it can be moved back");
    let alone = |ranks: &Ranks| share(kind, &options, ranks, 1);
    let learned = resume(&dir, 1, alone, |_| ControlFlow::Continue(()));
    let plain = share(kind, &options, &Ranks::default(), 1).problem;
    let plain = plain.learned_alone(&options);
    for outcome in learned {
        assert_eq!(format!("{:?}", finished(outcome)), format!("{plain:?}"));
    }
    fs::remove_dir_all(dir).expect("it is there");
}

trait Learns {
    fn learned_alone(self, options: &Options) -> Learned;
}

impl Learns for LearningProblem<Family> {
    fn learned_alone(mut self, options: &Options) -> Learned {
        self.learn_with(options.clone()).expect("valid options")
    }
}
