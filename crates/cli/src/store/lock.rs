//! The lock of a run, and the check that a directory is free for a new one.

use std::fs::{self, File, TryLockError};

use super::ARRAYS;
use super::error::StoreError;
use super::run_files::{RunFiles, cannot, names};
use crate::file::disk::Disk;

/// Locks a run.
pub(super) fn lock(disk: &Disk, files: &RunFiles) -> Result<File, StoreError> {
    let file = disk
        .open(&files.lock)
        .map_err(cannot("write", &files.lock))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(StoreError::Busy(files.dir.clone())),
        Err(TryLockError::Error(source)) => Err(cannot("lock", &files.lock)(source)),
    }
}

/// Refuses a directory that holds anything but leftovers of a killed `Store::create`. `start` is
/// the content of its `engine.bin`.
pub(super) fn require_free(files: &RunFiles, start: &[u8]) -> Result<(), StoreError> {
    let dir = files.dir.clone();
    if files.is_run() {
        return Err(StoreError::Exists(dir));
    }
    let is_start = || fs::read(&files.engine).is_ok_and(|bytes| bytes == start);
    let mut is_free = names(&files.states)?.is_empty();
    for name in names(&files.dir)? {
        is_free &= match name.as_str() {
            "lock" | "states" | "engine.bin.tmp" | "bilevel.toml.tmp" => true,
            "engine.bin" => is_start(),
            ARRAYS => is_start(),
            _ => false,
        };
    }
    if is_free {
        Ok(())
    } else {
        Err(StoreError::NotEmpty(dir))
    }
}
