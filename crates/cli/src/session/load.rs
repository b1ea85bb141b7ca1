//! Loading: the engine of a saved run.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use bilevel::{Family, LearningEngine, LearningProblem, LearningState, StoredAdjoint};
use lowlevel::Checkpoint;

use super::changes::settings_checksum;
use super::error::SessionError;
use super::history;
use super::parts::Reader;
use super::save_state::{FORMAT, SaveState, SavedHeader};
use crate::store::{SavedRun, Store};

/// Returns the engine of a saved run, and the record of its saved parts.
pub(super) fn load(
    store: &Store,
    saved: &SavedRun,
    problem: &mut LearningProblem<Family>,
    fingerprint: u64,
) -> Result<(LearningEngine, SaveState), SessionError> {
    let dir = || store.dir().to_path_buf();
    let damaged = |problem: String| SessionError::Damaged {
        dir: dir(),
        problem,
    };
    let (header, rest) = header(store.dir(), saved, store.settings(), fingerprint)?;
    let mut state: LearningState = postcard::from_bytes(rest)
        .map_err(|_| damaged("engine.bin holds no state of the solver".to_owned()))?;
    let reader = Reader::new(store, &saved.blobs, problem);
    attach(&reader, &mut state)?;

    let history = history::parse(&saved.history)
        .map_err(|error| damaged(format!("history.jsonl: {error}")))?;
    let (evaluations, iterations) = (history.evaluations, history.iterations);
    let counts = (evaluations.len(), iterations.len());
    let mut failure = None;
    let vector = |number| {
        let vector = reader.whole_vector(number);
        vector
            .map_err(|error| failure.get_or_insert(error))
            .ok()
            .flatten()
    };
    let completed = state.complete(vector, iterations, evaluations);
    if let Some(error) = failure {
        return Err(error);
    }
    let mut vectors = Vec::new();
    for number in state.vectors_elsewhere() {
        vectors.extend(reader.vector(number)?.map(|part| (number, part)));
    }
    for (number, (images, terms)) in vectors {
        let blocks = problem.vectors_mut().iter_mut();
        for (block, vector) in blocks.zip(images.into_iter().chain([terms])) {
            block.insert(number, vector);
        }
    }
    completed.map_err(|error| damaged(error.to_string()))?;
    let whole = state.history_lengths() == (counts.1, counts.0);
    if !whole || !state.has_residuals(problem.num_residuals()) {
        return Err(damaged("its files belong to different saves".to_owned()));
    }
    let engine = problem
        .continue_from(state)
        .map_err(|error| damaged(error.to_string()))?;
    let save_state = SaveState::loaded(header, &saved.blobs, counts.0, counts.1);
    Ok((engine, save_state))
}

/// Checks that a run was started with these settings and images, by this version.
///
/// # Errors
/// When it was not.
pub fn check(
    dir: &Path,
    saved: &SavedRun,
    settings: &str,
    fingerprint: u64,
) -> Result<(), SessionError> {
    header(dir, saved, settings, fingerprint).map(|_| ())
}

/// Splits a saved state into its header and the rest, and checks the header.
fn header<'a>(
    dir: &Path,
    saved: &'a SavedRun,
    settings: &str,
    fingerprint: u64,
) -> Result<(SavedHeader, &'a [u8]), SessionError> {
    let dir = dir.to_path_buf();
    let Ok((header, rest)) = postcard::take_from_bytes::<SavedHeader>(&saved.payload) else {
        let problem = "engine.bin has no header of a run".to_owned();
        return Err(SessionError::Damaged { dir, problem });
    };
    if header.format != FORMAT || header.version != env!("CARGO_PKG_VERSION") {
        let found = header.version;
        return Err(SessionError::OtherVersion { dir, found });
    }
    if header.settings != settings_checksum(settings) {
        return Err(SessionError::SettingsChanged { dir });
    }
    if header.fingerprint != fingerprint {
        return Err(SessionError::ImagesChanged { dir });
    }
    Ok((header, rest))
}

/// Reads the reconstructions of all tokens. Equal tokens share them.
fn attach(reader: &Reader<'_>, state: &mut LearningState) -> Result<(), SessionError> {
    type Parts = (Arc<Vec<Checkpoint>>, Arc<Vec<StoredAdjoint>>);
    let mut known: HashMap<u64, Parts> = HashMap::new();
    let mut failure = None;
    state.each_token(|token| {
        if failure.is_some() {
            return;
        }
        let number = token.number();
        let read = || -> Result<Parts, SessionError> {
            let has_adjoints = token.has_adjoints();
            let adjoints = has_adjoints.then(|| reader.adjoints(number)).transpose()?;
            Ok((reader.checkpoints(number)?, adjoints.unwrap_or_default()))
        };
        let (checkpoints, adjoints) = match known.get(&number) {
            Some(parts) => parts.clone(),
            None => match read() {
                Ok(parts) => known.entry(number).or_insert(parts).clone(),
                Err(error) => {
                    failure = Some(error);
                    return;
                }
            },
        };
        token.attach(checkpoints, adjoints);
    });
    failure.map_or(Ok(()), Err)
}
