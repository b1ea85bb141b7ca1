//! Interruption by Ctrl-C and other signals: the program ends at once, but not during a save.

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The exit code of an interrupted program.
pub const EXIT_CODE: i32 = 130;

/// The last save of a run, for the message of an interrupted program.
#[derive(Clone, Debug, Default)]
pub struct Interrupt {
    /// Locked while the run is being saved.
    saved: Arc<Mutex<Option<LastSave>>>,
    /// Whether several ranks work on the run, which end together.
    is_shared: bool,
    /// Whether a signal has come while several ranks work on the run.
    is_requested: Arc<AtomicBool>,
}

/// The last save of a run.
#[derive(Clone, Debug)]
pub(super) struct LastSave {
    pub(super) dir: PathBuf,
    pub(super) evaluations: u64,
}

impl Interrupt {
    /// Returns the value without installing a handler: the system ends an interrupted program.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the value for one of several ranks. The first signal only
    /// [requests](Self::is_requested) the end, so that all ranks end together after the next save.
    /// The second one ends the program at once.
    #[must_use]
    pub fn shared() -> Self {
        Self {
            is_shared: true,
            ..Self::default()
        }
    }

    /// Whether a signal has requested the end of a run that several ranks work on.
    #[must_use]
    pub fn is_requested(&self) -> bool {
        self.is_requested.load(Ordering::Relaxed)
    }

    /// Returns the message of a program that was interrupted.
    #[must_use]
    pub fn message(&self) -> String {
        message(self.hold().as_ref())
    }

    /// Installs a handler: from now on Ctrl-C, termination and hang-up end the program with exit
    /// code 130, after a save in progress is done. An evaluation in progress is lost, and computed
    /// again when the run is resumed.
    ///
    /// # Errors
    /// When there is a handler already, or the system refuses.
    pub fn install(&self) -> Result<(), ctrlc::Error> {
        let interrupt = self.clone();
        ctrlc::set_handler(move || {
            if interrupt.is_shared && !interrupt.is_requested.swap(true, Ordering::Relaxed) {
                return;
            }
            let saved = interrupt.hold();
            let mut err = io::stderr().lock();
            let gap = if err.is_terminal() { "\n" } else { "" };
            // a closed standard error is no error
            let _ = writeln!(err, "{gap}{}", message(saved.as_ref()));
            std::process::exit(EXIT_CODE);
        })
    }

    /// Locks the last save. An interruption waits until the lock is released.
    pub(super) fn hold(&self) -> MutexGuard<'_, Option<LastSave>> {
        self.saved.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the message of an interrupted program.
fn message(saved: Option<&LastSave>) -> String {
    match saved {
        None => "interrupted: nothing was saved".to_owned(),
        Some(LastSave { dir, evaluations }) => format!(
            "interrupted: everything up to evaluation {evaluations} is saved, continue with \
             `bilevel resume {}`",
            dir.display()
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_has_the_command_to_continue() {
        assert_eq!(message(None), "interrupted: nothing was saved");
        let saved = LastSave {
            dir: "runs".into(),
            evaluations: 7,
        };
        assert_eq!(
            message(Some(&saved)),
            "interrupted: everything up to evaluation 7 is saved, continue with `bilevel resume \
             runs`"
        );
    }
}
