//! What can be wrong with settings.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::TaskKind;

/// A setting, by its flag and its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// On the command line.
    pub flag: &'static str,
    /// In a file.
    pub key: &'static str,
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "--{} ({} in a file)", self.flag, self.key)
    }
}

/// Settings by name.
macro_rules! settings {
    ($($name:ident = $flag:literal, $key:literal;)*) => {
        impl Setting {
            $(
                #[doc = concat!("`--", $flag, "`, or `", $key, "` in a file.")]
                pub const $name: Self = Self { flag: $flag, key: $key };
            )*
        }
    };
}

settings! {
    IMAGES = "images", "data.images";
    NOISY = "noisy", "data.noisy";
    NOISE = "noise", "data.noise";
    SEED = "seed", "data.seed";
    COLOUR = "colour", "data.colour";
    CROP = "crop", "data.crop";
    COUNT = "count", "data.count";
    SIZE = "size", "data.size";
    HOLD_OUT = "hold-out", "data.hold_out";
    VALIDATION = "validation", "data.validation";
    KERNEL = "kernel", "data.kernel";
    MASK = "mask", "data.mask";
    LEARN = "learn", "model.learn";
    FIX = "fix", "model.fixed";
    START = "start", "model.start";
    LOWER = "lower", "model.lower";
    UPPER = "upper", "model.upper";
    CONDITION = "penalty-condition", "objective.condition";
    L1 = "penalty-l1", "objective.l1";
    EVALUATIONS = "evaluations", "solver.evaluations";
    ITERATIONS = "iterations", "solver.iterations";
    MAX_ITERATIONS = "max-iterations", "solver.max_iterations";
    FINAL_RADIUS = "final-radius", "solver.final_radius";
    THREADS = "threads", "solver.threads";
}

/// Settings that do not make sense. Nothing has been read or computed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The file of settings cannot be read.
    #[error("cannot read the settings in {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The file of settings is wrong.
    #[error("{}, line {line}{}: {message}", path.display(), at(key))]
    Toml {
        /// The file.
        path: PathBuf,
        /// The line, from one.
        line: usize,
        /// The key with its section; empty if it cannot be told.
        key: String,
        /// What is wrong.
        message: String,
    },
    /// Nobody has said what to learn.
    #[error("{} does not say the task: add a line such as task = \"denoise\"", path.display())]
    NoTask {
        /// The file.
        path: PathBuf,
    },
    /// Nobody has said what to learn, and there is no file.
    #[error(
        "say what to learn: denoise, sampling, deblur or inpaint, as in `bilevel learn denoise`"
    )]
    NoTaskGiven,
    /// The file is for another task than the command line.
    #[error(
        "{} has the task {found}, but the command line says {asked}: leave {asked} out, or use another file",
        path.display()
    )]
    OtherTask {
        /// The file.
        path: PathBuf,
        /// Its task.
        found: TaskKind,
        /// That of the command line.
        asked: TaskKind,
    },
    /// A parameter has an unknown name.
    #[error("{setting}: {task} has no parameter {name:?}; it has {known}")]
    UnknownParameter {
        /// Where.
        setting: Setting,
        /// The task.
        task: TaskKind,
        /// The name.
        name: String,
        /// All names.
        known: String,
    },
    /// A parameter cannot be learned.
    #[error(
        "{setting}: {task} cannot learn {name}, only {learnable}; give {name} a value with --fix"
    )]
    NotLearnable {
        /// Where.
        setting: Setting,
        /// The task.
        task: TaskKind,
        /// The parameter.
        name: String,
        /// What can be learned.
        learnable: String,
    },
    /// A parameter cannot be fixed.
    #[error("{setting}: {task} learns {name}, it cannot be fixed")]
    NotFixable {
        /// Where.
        setting: Setting,
        /// The task.
        task: TaskKind,
        /// The parameter.
        name: String,
    },
    /// No parameter is learned.
    #[error(
        "{}: nothing is learned, name at least one of {learnable}",
        Setting::LEARN
    )]
    NothingLearned {
        /// What can be learned.
        learnable: String,
    },
    /// A parameter is learned twice.
    #[error("{}: {name} is named twice", Setting::LEARN)]
    Repeated {
        /// The parameter.
        name: String,
    },
    /// A parameter is both.
    #[error(
        "{name} is both learned and fixed: remove it from {} or from {}",
        Setting::LEARN,
        Setting::FIX
    )]
    LearnedAndFixed {
        /// The parameter.
        name: String,
    },
    /// A start or a bound of a parameter that is not learned.
    #[error("{setting} names {name}, which is not learned: add it to --learn, or leave it out")]
    NotLearned {
        /// Where.
        setting: Setting,
        /// The parameter.
        name: String,
    },
    /// A number is out of range.
    #[error("{setting} is {found}, but must be {needed}")]
    OutOfRange {
        /// Which.
        setting: Setting,
        /// The number.
        found: f64,
        /// What is possible.
        needed: &'static str,
    },
    /// The value of a parameter is out of range.
    #[error("{setting}: {name} is {found}, but must be {needed}")]
    Value {
        /// Where.
        setting: Setting,
        /// The parameter.
        name: String,
        /// Its value.
        found: f64,
        /// What is possible.
        needed: &'static str,
    },
    /// The bounds of a parameter are crossed.
    #[error(
        "the lower bound {lower:?} of {name} is above its upper bound {upper:?}: change --lower or --upper"
    )]
    CrossedBounds {
        /// The parameter.
        name: String,
        /// Its lower bound.
        lower: f64,
        /// Its upper bound.
        upper: f64,
    },
    /// The start of a parameter is beyond its bounds.
    #[error(
        "{name} starts at {start:?}, which is not between {lower:?} and {upper:?}: change --start, --lower or --upper"
    )]
    StartOutside {
        /// The parameter.
        name: String,
        /// Its start.
        start: f64,
        /// Its lower bound.
        lower: f64,
        /// Its upper bound.
        upper: f64,
    },
    /// Two settings exclude each other.
    #[error("{first} and {second} cannot be used together: {why}")]
    Together {
        /// One.
        first: Setting,
        /// The other.
        second: Setting,
        /// Why.
        why: &'static str,
    },
    /// Something is missing.
    #[error("{what} needs {setting}: {why}")]
    Missing {
        /// What needs it.
        what: &'static str,
        /// What is missing.
        setting: Setting,
        /// What it is.
        why: &'static str,
    },
    /// A setting is for other tasks.
    #[error("{setting} is for {wanted}, not for {task}: leave it out")]
    Refused {
        /// Which.
        setting: Setting,
        /// The task.
        task: TaskKind,
        /// What it is for.
        wanted: &'static str,
    },
    /// A path cannot be written to the settings of a run.
    #[error("{setting}: {} is not valid Unicode, rename it", path.display())]
    NotUnicode {
        /// Which.
        setting: Setting,
        /// The path.
        path: PathBuf,
    },
    /// A path cannot be made absolute.
    #[error("{setting}: the path cannot be made absolute, give the full one")]
    Path {
        /// Which.
        setting: Setting,
        /// What the system says.
        source: io::Error,
    },
}

/// The key as a part of a message.
fn at(key: &str) -> String {
    match key {
        "" => String::new(),
        key => format!(", {key}"),
    }
}

impl ConfigError {
    /// An error of the TOML reader, with its place in `text`.
    pub(super) fn toml(text: &str, path: &Path, error: &toml::de::Error) -> Self {
        let span = error.span().unwrap_or(0..0);
        let at = span.start.min(text.len());
        let before = text.get(..at).unwrap_or("");
        let line = before.matches('\n').count();
        Self::Toml {
            path: path.into(),
            line: line + 1,
            key: key_in(text, line),
            message: error.message().trim_end().replace('\n', "; "),
        }
    }
}

/// The key on a line of a TOML text, with its section.
fn key_in(text: &str, line: usize) -> String {
    let lines: Vec<&str> = text.lines().take(line + 1).map(str::trim).collect();
    let Some((key, _)) = lines.last().and_then(|line| line.split_once('=')) else {
        return String::new();
    };
    let section = lines.iter().rev().find_map(|line| {
        let line = line.strip_prefix('[')?;
        Some(line.split_once(']')?.0.trim())
    });
    match section {
        Some(section) => format!("{section}.{}", key.trim()),
        None => key.trim().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    fn refusal(text: &str, task: Option<TaskKind>) -> ConfigError {
        Config::from_toml_for(text, Path::new("some.toml"), task).unwrap_err()
    }

    fn check(text: &str, parts: &[&str]) {
        let error = refusal(text, None);
        assert!(matches!(error, ConfigError::Toml { .. }), "{error}");
        let message = error.to_string();
        for part in parts {
            assert!(message.contains(part), "{part:?} is not in {message:?}");
        }
        assert!(!message.contains('\n'), "{message}");
    }

    #[test]
    fn errors_of_files_name_line_and_key() {
        check(
            "task = \"denoise\"\n\n[data]\nnoize = 0.1\n",
            &[
                "some.toml, line 4, data.noize: ",
                "unknown field `noize`",
                "`noise`",
            ],
        );
        check(
            "task = \"denoise\"\n[data]\nnoise = \"much\"\n",
            &["line 3, data.noise: ", "invalid type"],
        );
        check(
            "task = \"paint\"",
            &["line 1, task: ", "unknown variant", "denoise"],
        );
        check(
            "task = \"denoise\"\ndata.seed = -1",
            &["line 2, data.seed: "],
        );
        check(
            "task = \"denoise\"\n[model.fixed]\nnu = \"x\"",
            &["line 3, model.fixed.nu: ", "invalid type"],
        );
        check("task = \"denoise\"\nnonsense\n", &["some.toml, line 2: "]);
        check("task = \"denoise\"\n[data\n", &["some.toml, line 2: "]);
        check(
            "task = \"denoise\"\ntask = \"deblur\"\n",
            &["line 2, task: ", "duplicate"],
        );
        check("[dada]\nnoise = 1", &["line 1: ", "unknown field `dada`"]);
    }

    #[test]
    fn the_task_is_said_once() {
        let message = refusal("[data]\nseed = 1\n", None).to_string();
        assert!(
            message.contains("some.toml does not say the task"),
            "{message}"
        );
        let message = refusal("task = \"deblur\"", Some(TaskKind::Denoise)).to_string();
        assert!(
            message.contains("some.toml has the task deblur"),
            "{message}"
        );
    }
}
