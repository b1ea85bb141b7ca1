//! Saving: the parts of a state that are on disk, and those that must be written.

use std::collections::BTreeSet;

use bilevel::Reconstructions;
use dfo_ls::State;
use lowlevel::Checkpoint;
use serde::{Deserialize, Serialize};

use super::history;
use crate::store::{Store, StoreError, checksum};

/// Version of the saved state. Raise it whenever its content, or the meaning of a number, changes.
pub(super) const FORMAT: u32 = 4;

/// The beginning of a saved state.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(super) struct SavedHeader {
    /// The format of the state, [`FORMAT`].
    pub(super) format: u32,
    /// The version of the program that saved it. Another version may compute other numbers.
    pub(super) version: String,
    /// The fingerprint of the images.
    pub(super) fingerprint: u64,
    /// The checksum of the settings.
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

/// Returns the number of the blob of a residual vector.
pub(super) const fn vector_blob(number: u64) -> u64 {
    2 * number
}

/// Returns the number of the blob of reconstructions.
pub(super) const fn states_blob(number: u64) -> u64 {
    2 * number + 1
}

/// Encodes numbers as little-endian bytes.
pub(super) fn bytes(numbers: &[f64]) -> Vec<u8> {
    let mut bytes = vec![0; 8 * numbers.len()];
    let (words, _) = bytes.as_chunks_mut::<8>();
    for (word, number) in words.iter_mut().zip(numbers) {
        *word = number.to_le_bytes();
    }
    bytes
}

/// Decodes numbers from bytes, or returns `None` if the length is not a multiple of eight.
pub(super) fn numbers(bytes: &[u8]) -> Option<Vec<f64>> {
    let (words, rest) = bytes.as_chunks::<8>();
    let numbers = words.iter().map(|word| f64::from_le_bytes(*word));
    rest.is_empty().then(|| numbers.collect())
}

impl SaveState {
    /// Returns the record of a run that has saved nothing.
    pub(super) fn new(store: &Store, fingerprint: u64) -> Self {
        Self {
            header: SavedHeader {
                format: FORMAT,
                version: env!("CARGO_PKG_VERSION").to_owned(),
                fingerprint,
                settings: checksum(0, store.settings().as_bytes()),
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

    /// Saves the new parts of `state`.
    pub(super) fn save(
        &mut self,
        store: &mut Store,
        state: &State<Reconstructions>,
        seconds: f64,
    ) -> Result<(), StoreError> {
        let mut live = BTreeSet::new();
        let mut new: Vec<(u64, Vec<u8>)> = Vec::new();
        for (number, residuals) in state.vectors() {
            let blob = vector_blob(number);
            if live.insert(blob) && !self.blobs.contains(&blob) {
                new.push((blob, bytes(residuals)));
            }
        }
        for token in state.tokens() {
            let blob = states_blob(token.number());
            if live.insert(blob) && !self.blobs.contains(&blob) {
                new.push((blob, encode_checkpoints(token.checkpoints())));
            }
        }
        let evaluations = &state.evaluations()[self.num_evaluations..];
        let iterations = &state.iterations()[self.num_iterations..];
        let evaluations = evaluations.iter().map(|e| history::evaluation(e, seconds));
        let iterations = iterations.iter().map(|i| history::iteration(i, seconds));
        let lines: Vec<String> = evaluations.chain(iterations).collect();
        let header = SavedHeader {
            seconds,
            ..self.header.clone()
        };
        let payload = encode(&(&header, state.lean()));

        let blobs: Vec<(u64, &[u8])> = new.iter().map(|(n, bytes)| (*n, &bytes[..])).collect();
        let all: Vec<u64> = live.iter().copied().collect();
        store.commit(&blobs, &lines, &payload, &all)?;
        *self = Self {
            header,
            blobs: live,
            num_evaluations: state.evaluations().len(),
            num_iterations: state.iterations().len(),
            is_new: false,
        };
        Ok(())
    }
}

/// Encodes reconstructions, with memory reserved for their known length.
fn encode_checkpoints(checkpoints: &[Checkpoint]) -> Vec<u8> {
    // two vectors of 8 bytes per entry or one of 4, and some bytes more
    let lengths = checkpoints.iter().map(|checkpoint| match checkpoint {
        Checkpoint::Full(_) => 16 * checkpoint.dim() + 256,
        Checkpoint::Compact(_) => 4 * checkpoint.dim() + 32,
    });
    let room = Vec::with_capacity(lengths.sum());
    postcard::to_extend(checkpoints, room).expect(PLAIN)
}

/// The reason that encoding cannot fail.
const PLAIN: &str = "numbers, texts and lists of known length can be written";

/// Encodes plain data.
fn encode<T: Serialize>(value: &T) -> Vec<u8> {
    postcard::to_stdvec(value).expect(PLAIN)
}
