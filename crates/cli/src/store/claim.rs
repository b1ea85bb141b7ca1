//! Who may work in a directory.

use std::fs::{self, File, TryLockError};

use super::error::StoreError;
use super::layout::{Layout, cannot, names};
use crate::file::disk::Disk;

/// Takes the lock.
pub(super) fn lock(disk: &Disk, layout: &Layout) -> Result<File, StoreError> {
    let file = disk
        .open(&layout.lock)
        .map_err(cannot("write", &layout.lock))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(StoreError::Busy {
            dir: layout.dir.clone(),
        }),
        Err(TryLockError::Error(source)) => Err(cannot("lock", &layout.lock)(source)),
    }
}

/// Refuses a directory that holds more than a killed `Store::create` leaves; `start` is its
/// `engine.bin`.
pub(super) fn require_room(layout: &Layout, start: &[u8]) -> Result<(), StoreError> {
    let dir = layout.dir.clone();
    if layout.is_run() {
        return Err(StoreError::Exists { dir });
    }
    let mut room = names(&layout.states)?.is_empty();
    for name in names(&layout.dir)? {
        room &= match name.as_str() {
            "lock" | "states" | "engine.bin.tmp" | "bilevel.toml.tmp" => true,
            "engine.bin" => fs::read(&layout.engine).is_ok_and(|bytes| bytes == start),
            _ => false,
        };
    }
    if room {
        Ok(())
    } else {
        Err(StoreError::NotEmpty { dir })
    }
}
