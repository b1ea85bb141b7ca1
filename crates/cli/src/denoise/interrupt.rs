//! Interruption by Ctrl-C and other signals: the program ends at once, but not while it writes a
//! file.

use std::io::{self, IsTerminal, Write};
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use crate::session::EXIT_CODE;

/// Read by all threads that write a file. A handler of signals writes it before the end of the
/// program, so that no file is left half written.
static WRITING: RwLock<()> = RwLock::new(());

/// Delays the end of an interrupted program until the value is dropped.
pub(super) fn hold() -> RwLockReadGuard<'static, ()> {
    WRITING.read().unwrap_or_else(PoisonError::into_inner)
}

/// Installs a handler: from now on Ctrl-C, termination and hang-up end the program with exit code
/// 130, after the files that are being written.
///
/// # Errors
/// When there is a handler already, or the system refuses.
pub fn install() -> Result<(), ctrlc::Error> {
    ctrlc::set_handler(|| {
        let _done = WRITING.write().unwrap_or_else(PoisonError::into_inner);
        let mut err = io::stderr().lock();
        let gap = if err.is_terminal() { "\n" } else { "" };
        // a closed standard error is no error
        let _ = writeln!(
            err,
            "{gap}interrupted: finished files are complete, and no other file was changed"
        );
        std::process::exit(EXIT_CODE);
    })
}
