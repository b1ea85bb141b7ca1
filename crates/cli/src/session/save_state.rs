//! Saving: the parts of a state that are on disk, and those that must be written.

use std::collections::BTreeSet;

use bilevel::{Family, LearningEngine, LearningProblem, Ranks};
use serde::{Deserialize, Serialize};

use super::changes::settings_checksum;
use super::history;
use super::parts::{PLAIN, Parts};
use crate::error::chain;
use crate::store::{Store, StoreError};

/// Version of the saved state. Raise it whenever its content, or the meaning of a number, changes.
pub(super) const FORMAT: u32 = 9;

/// The beginning of a saved state.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(super) struct SavedHeader {
    /// The format of the state, [`FORMAT`].
    pub(super) format: u32,
    /// The version of the program that saved it. Another version may compute other numbers.
    pub(super) version: String,
    /// The fingerprint of the images.
    pub(super) fingerprint: u64,
    /// The checksum of the settings that must not change.
    pub(super) settings: u64,
    /// The seconds spent so far.
    pub(super) seconds: f64,
}

/// A record of the parts of a run that are on disk.
#[derive(Clone, Debug)]
pub(super) struct SaveState {
    header: SavedHeader,
    blobs: BTreeSet<u64>,
    num_evaluations: usize,
    num_iterations: usize,
    is_new: bool,
}

impl SaveState {
    /// Returns the record of a run that has saved nothing.
    pub(super) fn new(store: &Store, fingerprint: u64) -> Self {
        Self {
            header: SavedHeader {
                format: FORMAT,
                version: env!("CARGO_PKG_VERSION").to_owned(),
                fingerprint,
                settings: settings_checksum(store.settings()),
                seconds: 0.0,
            },
            blobs: BTreeSet::new(),
            num_evaluations: 0,
            num_iterations: 0,
            is_new: true,
        }
    }

    /// Returns the record of a run that was loaded.
    pub(super) fn loaded(
        header: SavedHeader,
        blobs: &[u64],
        num_evaluations: usize,
        num_iterations: usize,
    ) -> Self {
        Self {
            header,
            blobs: blobs.iter().copied().collect(),
            num_evaluations,
            num_iterations,
            is_new: false,
        }
    }

    /// Whether nothing has been saved.
    pub(super) const fn is_new(&self) -> bool {
        self.is_new
    }

    /// Returns the number of saved evaluations.
    pub(super) const fn num_evaluations(&self) -> u64 {
        self.num_evaluations as u64
    }

    /// Returns the seconds spent until the last save.
    pub(super) const fn seconds(&self) -> f64 {
        self.header.seconds
    }

    /// Saves the new parts of the state. Every rank writes those of its own images, and rank 0
    /// commits them.
    pub(super) fn save(
        &mut self,
        store: &mut Store,
        problem: &LearningProblem<Family>,
        engine: &LearningEngine,
        seconds: f64,
    ) -> Result<(), SaveFailure> {
        let parts = Parts::of(problem, engine);
        let new = parts.encode_new(problem, engine, &self.blobs);
        let written = agree_on_written(store, problem.ranks(), &new)?;
        let known = self.blobs.iter().chain(written.iter().map(|(id, _)| id));
        let live: BTreeSet<u64> = known.copied().filter(|id| parts.contain(*id)).collect();
        let evaluations = &engine.evaluations()[self.num_evaluations..];
        let iterations = &engine.iterations()[self.num_iterations..];
        let evaluations = evaluations.iter().map(|e| history::evaluation(e, seconds));
        let iterations = iterations.iter().map(|i| history::iteration(i, seconds));
        let lines: Vec<String> = evaluations.chain(iterations).collect();
        let header = SavedHeader {
            seconds,
            ..self.header.clone()
        };
        let payload = encode(&(&header, engine.lean_state()));

        let all: Vec<u64> = live.iter().copied().collect();
        let mut commit = || store.commit_written(&written, &lines, &payload, &all);
        let is_first = problem.ranks().rank() == 0;
        let committed = if is_first { commit() } else { Ok(()) };
        agree(problem.ranks(), committed)?;
        if !is_first {
            commit()?;
        }
        *self = Self {
            header,
            blobs: live,
            num_evaluations: engine.evaluations().len(),
            num_iterations: engine.iterations().len(),
            is_new: false,
        };
        Ok(())
    }
}

/// Writes the blobs of this rank, and returns the numbers and checksums of those of all ranks.
fn agree_on_written(
    store: &Store,
    ranks: &Ranks,
    new: &[(u64, Vec<u8>)],
) -> Result<Vec<(u64, u64)>, SaveFailure> {
    let blobs: Vec<(u64, &[u8])> = new.iter().map(|(id, bytes)| (*id, &bytes[..])).collect();
    let written = store.write_blobs(&blobs);
    let own: Vec<u64> = (written.iter().flatten())
        .flat_map(|(id, sum)| [*id, *sum])
        .collect();
    let undo = || store.remove_blobs(new.iter().map(|(id, _)| *id));
    agree(ranks, written).inspect_err(|_| undo())?;
    let words = ranks.gather_words(&own).inspect_err(|_| undo())?;
    let (pairs, _) = words.as_chunks::<2>();
    Ok(pairs.iter().map(|[id, sum]| (*id, *sum)).collect())
}

/// Returns the failure of this rank, or that of another one.
fn agree<T>(ranks: &Ranks, own: Result<T, StoreError>) -> Result<T, SaveFailure> {
    let reason = own.as_ref().err().map(|error| chain(error));
    match (own, ranks.first_failure(reason.as_deref())?) {
        (Ok(value), None) => Ok(value),
        (Err(error), _) => Err(SaveFailure::Own(error)),
        (Ok(_), Some((rank, reason))) => Err(SaveFailure::OtherRank { rank, reason }),
    }
}

/// The failure of a save, on this rank or on another one.
#[derive(Debug)]
pub(super) enum SaveFailure {
    Own(StoreError),
    OtherRank { rank: usize, reason: String },
    Exchange(String),
}

impl From<StoreError> for SaveFailure {
    fn from(error: StoreError) -> Self {
        Self::Own(error)
    }
}

impl From<String> for SaveFailure {
    fn from(reason: String) -> Self {
        Self::Exchange(reason)
    }
}

/// Encodes plain data.
fn encode<T: Serialize>(value: &T) -> Vec<u8> {
    postcard::to_stdvec(value).expect(PLAIN)
}
