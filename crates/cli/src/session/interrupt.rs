//! Interruption by Ctrl-C and other signals: the program ends at once, but not during a save.

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The exit code of an interrupted program.
pub const EXIT_CODE: i32 = 130;

/// The last save of a run, for the message of an interrupted program.
#[derive(Clone, Debug, Default)]
pub struct Interrupt {
    /// Locked while the run is being saved.
    saved: Arc<Mutex<Option<LastSave>>>,
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

    /// Installs a handler: from now on Ctrl-C, termination and hang-up end the program with exit
    /// code 130, after a save in progress is done. An evaluation in progress is lost, and computed
    /// again when the run is resumed.
    ///
    /// # Errors
    /// When there is a handler already, or the system refuses.
    pub fn install(&self) -> Result<(), ctrlc::Error> {
        let interrupt = self.clone();
        ctrlc::set_handler(move || {
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
