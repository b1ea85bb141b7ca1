//! Ctrl-C and its relatives: the program ends at once, but never in the middle of a save.

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The code with which an interrupted program ends.
pub const EXIT_CODE: i32 = 130;

/// Knows what to say when the program is interrupted.
#[derive(Clone, Debug, Default)]
pub struct Interrupt {
    /// Locked while the run is being saved.
    saved: Arc<Mutex<Option<LastSave>>>,
}

/// What is saved of a run.
#[derive(Clone, Debug)]
pub(super) struct LastSave {
    pub(super) dir: PathBuf,
    pub(super) evaluations: u64,
}

impl Interrupt {
    /// Without a handler: interrupted, the program ends as the system does it.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// From now on Ctrl-C, termination and hang-up end the program with exit code 130, as soon as a
    /// save under way is done. An evaluation under way is given up; it will be computed again.
    ///
    /// # Errors
    /// When there is a handler already, or the system refuses.
    pub fn install(&self) -> Result<(), ctrlc::Error> {
        let interrupt = self.clone();
        ctrlc::set_handler(move || {
            let saved = interrupt.hold();
            let mut err = io::stderr().lock();
            let gap = if err.is_terminal() { "\n" } else { "" };
            // nobody may be left to read it
            let _ = writeln!(err, "{gap}{}", message(saved.as_ref()));
            std::process::exit(EXIT_CODE);
        })
    }

    /// While this is held, an interruption waits; then it says what is in it.
    pub(super) fn hold(&self) -> MutexGuard<'_, Option<LastSave>> {
        self.saved.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What an interrupted user is told.
fn message(saved: Option<&LastSave>) -> String {
    match saved {
        None => "interrupted; nothing was saved".to_owned(),
        Some(LastSave { dir, evaluations }) => format!(
            "interrupted; everything up to evaluation {evaluations} is saved: bilevel resume {}",
            dir.display()
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_says_how_to_go_on() {
        assert_eq!(message(None), "interrupted; nothing was saved");
        let saved = LastSave {
            dir: "runs".into(),
            evaluations: 7,
        };
        assert_eq!(
            message(Some(&saved)),
            "interrupted; everything up to evaluation 7 is saved: bilevel resume runs"
        );
    }
}
