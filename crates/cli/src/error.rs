//! Errors of the program and their exit codes.

use std::error::Error;
use std::io;
use std::path::PathBuf;

use bilevel::{MaskError, ProblemError, ReconstructionError};
use imaging::TilesError;
use page::number::counted;
use thiserror::Error;

use crate::apply::{Applied, ApplyFailure};
use crate::config::ConfigError;
use crate::denoise::{DenoisedFile, NoisyPictureError};
use crate::file::FileError;
use crate::memory::MemoryError;
use crate::session::SessionError;
use crate::store::{SETTINGS, StoreError};
use crate::task::DataError;

/// An error of the program. Print it with [`chain`](Self::chain). A field without a name is the
/// cause, or what the message is about: a run, a file or a number.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CliError {
    /// The settings are wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A file cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// Files are intact, but do not fit together.
    #[error(transparent)]
    Data(#[from] DataError),
    /// The directory of a run cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The learning problem is wrong.
    #[error(transparent)]
    Problem(#[from] ProblemError),
    /// A run could not start or continue.
    #[error(transparent)]
    Session(Box<SessionError>),
    /// A signal has interrupted one of several ranks, and all have ended.
    #[error("{0}")]
    Interrupted(String),
    /// The directory of the run is missing.
    #[error("the directory of the run is missing: name it with --out RUN")]
    NoOut,
    /// A run has parameters for each picture, and cannot be resumed or shown as one.
    #[error(
        "{run} has learned parameters for each picture: `bilevel apply {run} PICTURES OUT` uses them, \
         and {run}/pictures.json lists them",
        run = .0.display()
    )]
    PerPicture(PathBuf),
    /// Some pictures would have no parameters of their own.
    #[error(
        "--per-picture learns from every picture as a whole: leave --hold-out, --validation and \
         --patches out"
    )]
    PerPictureHeldOut,
    /// Ranks cannot learn parameters for each picture.
    #[error("--per-picture does not work with several ranks: run it without mpirun")]
    PerPictureRanks,
    /// A picture is not one of those that parameters were learned for.
    #[error(
        "{} has no parameters for {name}, because it has learned them for each of {known}: learn \
         again with this picture, or apply a run without --per-picture",
        run.display()
    )]
    UnknownPicture {
        /// The run.
        run: PathBuf,
        /// The name of the picture.
        name: String,
        /// Names of pictures that the run knows.
        known: String,
    },
    /// The output cannot be written as JSON.
    #[error("the output cannot be written as JSON")]
    Json(#[source] serde_json::Error),
    /// Standard output cannot be written.
    #[error("cannot write to standard output: free some space, or redirect it elsewhere")]
    Output(#[source] io::Error),
    /// The handler for Ctrl-C cannot be installed.
    #[error("the handler for Ctrl-C cannot be installed")]
    Interrupt(#[source] ctrlc::Error),
    /// The run has no result yet.
    #[error("the run has not finished: continue it with `bilevel resume {}`", .0.display())]
    NotFinished(PathBuf),
    /// Images, a kernel or a mask of a run are no longer where they were.
    #[error(
        "{} is no longer there, but the run in {} needs it: move it back, or write its new path \
         in {}",
        path.display(), run.display(), run.join(SETTINGS).display()
    )]
    Moved {
        /// The missing file or folder.
        path: PathBuf,
        /// The directory of the run.
        run: PathBuf,
    },
    /// The result of a run cannot be parsed.
    #[error(
        "{} is damaged ({source}): write it again with `bilevel resume {}`",
        path.display(), run.display()
    )]
    Result {
        /// The file.
        path: PathBuf,
        /// The directory of the run.
        run: PathBuf,
        /// The error of the parser.
        source: serde_json::Error,
    },
    /// The result and the settings in a directory belong to different runs.
    #[error(
        "{} does not fit the settings next to it: it has the parameters {found}, but {expected} \
         are learned. Restore both from a backup",
        path.display()
    )]
    OtherResult {
        /// The result.
        path: PathBuf,
        /// The parameters of the result.
        found: String,
        /// The parameters of the settings.
        expected: String,
    },
    /// A run has learned the width of its kernel, so no other kernel fits its parameters.
    #[error(
        "{} has learned the width of its kernel, so its parameters do not fit another one: leave \
         --kernel out",
        .0.display()
    )]
    LearnedWidth(PathBuf),
    /// The input would be overwritten.
    #[error("{} would be overwritten: choose another name for the output", .0.display())]
    SameFile(PathBuf),
    /// The results of a folder cannot be written to one file.
    #[error(
        "{} is a folder, but {} has the name of a file: name a folder for the results, such as {}",
        input.display(), output.display(), output.with_extension("").display()
    )]
    NotFolder {
        /// The folder with the input files.
        input: PathBuf,
        /// The output.
        output: PathBuf,
    },
    /// The requested accuracy is not a positive number.
    #[error("--accuracy is {0}, but must be positive, such as 1e-3")]
    Accuracy(f64),
    /// A picture cannot be reconstructed.
    #[error("{} cannot be reconstructed", path.display())]
    Reconstruction {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: ReconstructionError,
    },
    /// A large picture cannot be reconstructed by tiles.
    #[error("{} cannot be reconstructed", path.display())]
    Large {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: TilesError<ReconstructionError>,
    },
    /// The limit of memory is invalid, or a picture takes more.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// A picture cannot be denoised, or an option of denoising is invalid.
    #[error(transparent)]
    NoisyPicture(#[from] NoisyPictureError),
    /// A mask cannot be learned with these settings.
    #[error(transparent)]
    Mask(#[from] MaskError),
    /// The frequencies in a file cannot be used.
    #[error("{}: {source}", path.display())]
    Frequencies {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: Box<MaskError>,
    },
    /// Some files of a folder could not be denoised. The others were.
    #[error(
        "{} of {} failed:{}",
        failures.len(), counted((failures.len() + denoised.len()) as u64, "file", "files"),
        list(failures)
    )]
    SomeNotDenoised {
        /// The files that were denoised.
        denoised: Vec<DenoisedFile>,
        /// The files that were not, at least one.
        failures: Vec<ApplyFailure>,
    },
    /// Some files of a folder could not be used. The others were reconstructed.
    #[error(
        "{} of {} failed:{}",
        failures.len(), counted((failures.len() + applied.len()) as u64, "file", "files"),
        list(failures)
    )]
    SomeFailed {
        /// The files that were reconstructed.
        applied: Vec<Applied>,
        /// The files that were not, at least one.
        failures: Vec<ApplyFailure>,
    },
}

/// Lists failures, one on each line.
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
    /// Returns the exit code: 2 for wrong usage or settings, 3 for input data, 4 for the directory
    /// of a run, 1 for the rest.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Config(_) | Self::Accuracy { .. } | Self::NoOut => 2,
            Self::PerPictureHeldOut | Self::PerPictureRanks => 2,
            Self::UnknownPicture { .. } => 3,
            Self::SameFile { .. } | Self::NotFolder { .. } => 2,
            Self::File(FileError::Extension { .. } | FileError::OnePage { .. }) => 2,
            // the input is not at fault
            Self::File(FileError::Write { .. }) | Self::Output(_) => 1,
            Self::File(_) | Self::Data(_) | Self::Moved { .. } => 3,
            Self::Store(_)
            | Self::NotFinished { .. }
            | Self::PerPicture { .. }
            | Self::Result { .. }
            | Self::OtherResult { .. } => 4,
            Self::Problem(error) => of_problem(error),
            Self::Session(error) => of_session(error),
            // the parameters of a run suit its model, so the data are at fault
            Self::Reconstruction {
                source: ReconstructionError::Model(_),
                ..
            } => 3,
            Self::Reconstruction { .. }
            | Self::Large { .. }
            | Self::Json(_)
            | Self::Interrupt(_) => 1,
            Self::Memory(_) | Self::LearnedWidth { .. } => 2,
            Self::Mask(MaskError::Failed(_)) => 1,
            Self::Mask(error) if error.is_of_data() => 3,
            Self::Mask(_) => 2,
            Self::Frequencies { .. } => 3,
            Self::Interrupted(_) => 130,
            Self::NoisyPicture(error) => error.exit_code(),
            Self::SomeFailed { failures, .. } | Self::SomeNotDenoised { failures, .. } => {
                (failures.first()).map_or(1, |failure| failure.error.exit_code())
            }
        }
    }

    /// Returns the message followed by those of its causes.
    #[must_use]
    pub fn chain(&self) -> String {
        chain(self)
    }
}

/// Returns the exit code of an error of a session.
fn of_session(error: &SessionError) -> u8 {
    match error {
        SessionError::Problem(error) => of_problem(error),
        SessionError::TooFewPoints { .. } => 2,
        SessionError::ImagesChanged { .. } | SessionError::NothingEvaluated { .. } => 3,
        SessionError::Encode(_) => 1,
        _ => 4,
    }
}

/// Returns the exit code of an error of a learning problem.
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
        | ProblemError::Solver(_)
        | ProblemError::GradientSolver(_)
        | ProblemError::NoGradients { .. } => 2,
        _ => 1,
    }
}

/// Returns the message of an error, followed by those of its causes that it does not contain yet.
/// Errors of the operating system are in brackets.
#[must_use]
pub fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let message = cause.to_string();
        if !text.contains(&message) {
            text = match cause.is::<io::Error>() {
                true => format!("{text} ({message})"),
                false => format!("{text}: {message}"),
            };
        }
        next = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_are_listed_once() {
        let error = CliError::from(FileError::Read("a.png".into(), io::Error::other("no disk")));
        assert_eq!(error.chain(), "cannot read a.png (no disk)");
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
    fn exit_codes_tell_the_kind_of_error() {
        let run = PathBuf::from("run");
        let failures = vec![ApplyFailure {
            input: "a.png".into(),
            error: CliError::NotFinished(run.clone()),
        }];
        for (error, code) in [
            (CliError::from(ConfigError::NoTaskGiven), 2),
            (CliError::from(ProblemError::NoParameters), 2),
            (CliError::from(ProblemError::NoPairs), 3),
            (
                CliError::Reconstruction {
                    path: "a.npy".into(),
                    source: ReconstructionError::Model("all samples are missing".into()),
                },
                3,
            ),
            (CliError::from(StoreError::NotARun(run.clone())), 4),
            (CliError::NotFinished(run), 4),
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
