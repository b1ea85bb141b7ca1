//! Blobs: large parts of a state, each written once.

use super::container::{self, Magic};
use super::error::StoreError;
use super::{Store, replace};

const BLOB: Magic = *b"BILVBLB\n";

impl Store {
    /// Reads one of the blobs of the last commit.
    ///
    /// # Errors
    /// When its content is not what was written.
    pub fn blob(&self, number: u64) -> Result<Vec<u8>, StoreError> {
        let path = self.files.blob(number);
        let damaged = |problem| Err(self.files.damaged(&path, problem));
        let Some(sum) = self.commit.blobs.get(&number) else {
            return damaged("it is not part of the last commit");
        };
        let container = self.files.read_container(&path, BLOB)?;
        if container.checksum != *sum || container.fields != [number] {
            return damaged("it belongs to another commit");
        }
        Ok(container.payload)
    }

    /// Writes blobs for the next commit, and returns their numbers and checksums. After an error
    /// none of them is there.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn write_blobs(&self, blobs: &[(u64, &[u8])]) -> Result<Vec<(u64, u64)>, StoreError> {
        let write = |(number, bytes): &(u64, &[u8])| {
            let path = self.files.blob(*number);
            let encoded = container::encode(BLOB, &[*number], bytes);
            replace(&self.disk, &path, &[&encoded.head, bytes])?;
            Ok((*number, encoded.checksum))
        };
        let written: Result<Vec<(u64, u64)>, StoreError> = blobs.iter().map(write).collect();
        written.inspect_err(|_| self.remove_blobs(blobs.iter().map(|(number, _)| *number)))
    }

    /// Removes blobs that were written and not committed. A file that cannot be removed does no
    /// harm, and a later commit removes it.
    pub fn remove_blobs(&self, numbers: impl IntoIterator<Item = u64>) {
        for number in numbers {
            let _ = self.disk.remove(&self.files.blob(number));
        }
    }

    /// Deletes blobs that do not belong to the last commit, as far as possible.
    pub(super) fn delete_garbage(&mut self) {
        let Self {
            files,
            disk,
            commit,
            garbage,
            ..
        } = self;
        garbage.retain(|number| {
            !commit.blobs.contains_key(number) && disk.remove(&files.blob(*number)).is_err()
        });
    }
}
