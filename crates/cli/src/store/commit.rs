//! The state of a run that `engine.bin` describes.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};

use super::container::{self, Encoded, Magic, checksum};
use super::error::StoreError;
use super::run_files::{RunFiles, cannot};

const MAGIC: Magic = *b"BILVENG\n";

/// A saved state of the run. The default is its beginning.
#[derive(Clone, Debug, Default)]
pub(super) struct Commit {
    /// The number of commits up to this one.
    pub(super) number: u64,
    /// The part of the history that belongs to the state.
    pub(super) history: Extent,
    /// The checksums of the blobs by their numbers.
    pub(super) blobs: BTreeMap<u64, u64>,
}

/// The length and the checksum of the first part of a history.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) bytes: u64,
    pub(super) lines: u64,
    pub(super) sum: u64,
}

impl Extent {
    /// Adds one line.
    pub(super) fn push(&mut self, line: &str) {
        self.bytes += line.len() as u64 + 1;
        self.lines += 1;
        self.sum = checksum(self.sum, line.as_bytes());
    }
}

impl Commit {
    /// Encodes the content of `engine.bin` before the payload.
    pub(super) fn encode(&self, payload: &[u8]) -> Encoded {
        let Extent { bytes, lines, sum } = self.history;
        let mut fields = vec![self.number, bytes, lines, sum];
        fields.extend(self.blobs.iter().flat_map(|(number, sum)| [*number, *sum]));
        container::encode(MAGIC, &fields, payload)
    }

    /// Reads the commit and its payload from `engine.bin`.
    pub(super) fn read(files: &RunFiles) -> Result<(Self, Vec<u8>), StoreError> {
        let container = files.read_container(&files.engine, MAGIC)?;
        let [number, bytes, lines, sum, ref blobs @ ..] = container.fields[..] else {
            return Err(files.damaged(&files.engine, "it is too short"));
        };
        let (pairs, _) = blobs.as_chunks::<2>();
        let commit = Self {
            number,
            history: Extent { bytes, lines, sum },
            blobs: pairs.iter().map(|[number, sum]| (*number, *sum)).collect(),
        };
        Ok((commit, container.payload))
    }

    /// Reads the lines of the history that belong to this commit.
    pub(super) fn read_history(&self, files: &RunFiles) -> Result<Vec<String>, StoreError> {
        let path = &files.history;
        if self.history.bytes == 0 {
            return Ok(Vec::new());
        }
        let mut text = Vec::new();
        File::open(path)
            .and_then(|file| file.take(self.history.bytes).read_to_end(&mut text))
            .map_err(|error| match error.kind() {
                io::ErrorKind::NotFound => files.damaged(path, "it is missing"),
                _ => cannot("read", path)(error),
            })?;
        if (text.len() as u64) < self.history.bytes {
            return Err(files.damaged(path, "its end is missing"));
        }
        let changed = || files.damaged(path, "its lines have changed");
        let text = String::from_utf8(text).map_err(|_| changed())?;
        let lines: Vec<String> = text.split_terminator('\n').map(str::to_owned).collect();
        let mut found = Extent::default();
        lines.iter().for_each(|line| found.push(line));
        if found == self.history {
            Ok(lines)
        } else {
            Err(changed())
        }
    }
}
