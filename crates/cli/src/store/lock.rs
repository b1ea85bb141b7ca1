//! Who may work in a directory.

use std::fs::{self, File, TryLockError};

use super::error::StoreError;
use super::run_files::{RunFiles, cannot, names};
use crate::file::disk::Disk;

/// Takes the lock.
pub(super) fn lock(disk: &Disk, files: &RunFiles) -> Result<File, StoreError> {
    let file = disk
        .open(&files.lock)
        .map_err(cannot("write", &files.lock))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(StoreError::Busy {
            dir: files.dir.clone(),
        }),
        Err(TryLockError::Error(source)) => Err(cannot("lock", &files.lock)(source)),
    }
}

/// Refuses a directory that holds more than a killed `Store::create` leaves; `start` is its
/// `engine.bin`.
pub(super) fn require_room(files: &RunFiles, start: &[u8]) -> Result<(), StoreError> {
    let dir = files.dir.clone();
    if files.is_run() {
        return Err(StoreError::Exists { dir });
    }
    let mut room = names(&files.states)?.is_empty();
    for name in names(&files.dir)? {
        room &= match name.as_str() {
            "lock" | "states" | "engine.bin.tmp" | "bilevel.toml.tmp" => true,
            "engine.bin" => fs::read(&files.engine).is_ok_and(|bytes| bytes == start),
            _ => false,
        };
    }
    if room {
        Ok(())
    } else {
        Err(StoreError::NotEmpty { dir })
    }
}
