//! Why the program fails, and the number with which it ends.

use std::error::Error;
use std::io;
use std::path::PathBuf;

use bilevel::{ProblemError, ReconstructionError};
use thiserror::Error;

use crate::apply::{Applied, ApplyFailure};
use crate::config::ConfigError;
use crate::file::FileError;
use crate::session::SessionError;
use crate::store::StoreError;
use crate::task::DataError;

/// Whatever can go wrong in the program. Print [`chain`](Self::chain).
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CliError {
    /// The settings do not make sense.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A file cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// Files are sound, but do not fit together.
    #[error(transparent)]
    Data(#[from] DataError),
    /// The directory of a run cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The learning problem does not make sense.
    #[error(transparent)]
    Problem(#[from] ProblemError),
    /// A run could not begin or go on.
    #[error(transparent)]
    Session(Box<SessionError>),
    /// There is no place for the run.
    #[error("say where the run goes: --out DIR")]
    NoOut,
    /// Something has no form in JSON.
    #[error("the answer cannot be written as JSON")]
    Json(#[source] serde_json::Error),
    /// Standard output leads to where nothing can be written.
    #[error("cannot write to standard output: make room, or send it elsewhere")]
    Output(#[source] io::Error),
    /// The system does not let the program watch for Ctrl-C.
    #[error("Ctrl-C cannot be caught")]
    Interrupt(#[source] ctrlc::Error),
    /// There is nothing to apply yet.
    #[error("the run has not finished: `bilevel resume {}`", run.display())]
    NotFinished {
        /// The directory of the run.
        run: PathBuf,
    },
    /// The result of a run cannot be understood.
    #[error("{} is damaged: make it again with `bilevel resume {}`", path.display(), run.display())]
    Result {
        /// The file.
        path: PathBuf,
        /// The directory of the run.
        run: PathBuf,
        /// What is wrong.
        source: serde_json::Error,
    },
    /// Result and settings of a run are of different runs.
    #[error(
        "{} does not fit the settings beside it: it has the parameters {found}, but {expected} are learned; restore both from a backup",
        path.display()
    )]
    OtherResult {
        /// The result.
        path: PathBuf,
        /// Its parameters.
        found: String,
        /// Those of the settings.
        expected: String,
    },
    /// What is read would be overwritten.
    #[error("{} would be overwritten: choose another name for the output", path.display())]
    SameFile {
        /// The file or folder.
        path: PathBuf,
    },
    /// The requested accuracy is no distance.
    #[error("--accuracy is {found}, but must be positive, such as 1e-3")]
    Accuracy {
        /// The number.
        found: f64,
    },
    /// A picture cannot be reconstructed.
    #[error("{} cannot be reconstructed", path.display())]
    Reconstruction {
        /// The file.
        path: PathBuf,
        /// Why.
        source: ReconstructionError,
    },
    /// Some files of a folder could not be used; the others are done.
    #[error("{} of {} files failed:{}", failures.len(), failures.len() + applied.len(), list(failures))]
    SomeFailed {
        /// What was done.
        applied: Vec<Applied>,
        /// What was not, at least one.
        failures: Vec<ApplyFailure>,
    },
}

/// Failures, one on each line.
fn list(failures: &[ApplyFailure]) -> String {
    let line = |failure: &ApplyFailure| format!("\n  {}", failure.error.chain());
    failures.iter().map(line).collect()
}

impl From<SessionError> for CliError {
    fn from(error: SessionError) -> Self {
        Self::Session(Box::new(error))
    }
}

impl CliError {
    /// The number with which the program ends: 2 for wrong usage or settings, 3 for input data, 4
    /// for the directory of a run, 1 for the rest.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Config(_) | Self::SameFile { .. } | Self::Accuracy { .. } | Self::NoOut => 2,
            Self::File(FileError::Extension { .. } | FileError::OnePage { .. }) => 2,
            // not the fault of what was read
            Self::File(FileError::Write { .. }) | Self::Output(_) => 1,
            Self::File(_) | Self::Data(_) => 3,
            Self::Store(_)
            | Self::NotFinished { .. }
            | Self::Result { .. }
            | Self::OtherResult { .. } => 4,
            Self::Problem(error) => of_problem(error),
            Self::Session(error) => of_session(error),
            Self::Reconstruction { .. } | Self::Json(_) | Self::Interrupt(_) => 1,
            Self::SomeFailed { failures, .. } => {
                (failures.first()).map_or(1, |failure| failure.error.exit_code())
            }
        }
    }

    /// The message and those of its causes.
    #[must_use]
    pub fn chain(&self) -> String {
        chain(self)
    }
}

/// Images are at fault, or the directory of the run.
fn of_session(error: &SessionError) -> u8 {
    match error {
        SessionError::Problem(error) => of_problem(error),
        SessionError::ImagesChanged { .. } | SessionError::NothingEvaluated { .. } => 3,
        SessionError::Encode(_) => 1,
        _ => 4,
    }
}

/// Data are at fault, or settings.
fn of_problem(error: &ProblemError) -> u8 {
    match error {
        ProblemError::NoPairs
        | ProblemError::TruthLength { .. }
        | ProblemError::NonFinite { .. }
        | ProblemError::Model { .. }
        | ProblemError::Dimension { .. } => 3,
        ProblemError::Validation(source) => of_problem(source),
        ProblemError::Parameter { .. }
        | ProblemError::CrossedBounds { .. }
        | ProblemError::NoParameters
        | ProblemError::Solver(_) => 2,
        _ => 1,
    }
}

/// The message of an error and those of its causes, unless they are part of it already.
#[must_use]
pub fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let message = cause.to_string();
        if !text.ends_with(&message) {
            text = format!("{text}: {message}");
        }
        next = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_are_said_once() {
        let error = CliError::from(FileError::Read("a.png".into(), io::Error::other("no disk")));
        assert_eq!(error.chain(), "cannot read a.png: no disk");
        let model = ProblemError::Model {
            index: 3,
            source: "too dark".into(),
        };
        let error = CliError::from(ProblemError::Validation(Box::new(model)));
        let expected = "held-out pairs: the model of pair 3 cannot be built at the start: too dark";
        assert_eq!(error.chain(), expected);
        assert_eq!(error.exit_code(), 3);
    }

    #[test]
    fn the_last_number_says_whose_fault_it_is() {
        let run = PathBuf::from("run");
        let failures = vec![ApplyFailure {
            input: "a.png".into(),
            error: CliError::NotFinished { run: run.clone() },
        }];
        for (error, code) in [
            (CliError::from(ConfigError::NoTaskGiven), 2),
            (CliError::from(ProblemError::NoParameters), 2),
            (CliError::from(ProblemError::NoPairs), 3),
            (CliError::from(StoreError::NotARun { dir: run.clone() }), 4),
            (CliError::NotFinished { run }, 4),
            (
                CliError::SomeFailed {
                    applied: Vec::new(),
                    failures,
                },
                4,
            ),
        ] {
            assert_eq!(error.exit_code(), code, "{error}");
        }
    }
}
