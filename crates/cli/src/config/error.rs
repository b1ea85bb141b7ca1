//! Errors in settings.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::TaskKind;
use super::table::{ALL, FIX, LEARN, Setting, shown};
use crate::file::FileError;

/// An error in the settings. Nothing has been read or computed yet.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The file of settings cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// A file of settings is wrong. The fields are the file, the line, the key if it is known, and
    /// the reason.
    #[error("{}, line {}{}: {}", .0.display(), .1, at(.2), .3)]
    Toml(PathBuf, usize, String, String),
    /// A file of settings names no task.
    #[error("{} does not name the task: add a line such as task = \"denoise\"", .0.display())]
    NoTask(PathBuf),
    /// Neither the command line nor a file names a task.
    #[error(
        "the task is missing: name denoise, sampling, deblur or inpaint, as in \
         `bilevel learn denoise`"
    )]
    NoTaskGiven,
    /// A file is for another task than the command line. The fields are the file, its task, and
    /// that of the command line.
    #[error(
        "{} has the task {}, but the command line has {}: leave {} out, or use another file",
        .0.display(), .1, .2, .2
    )]
    OtherTask(PathBuf, TaskKind, TaskKind),
    /// A setting names a parameter that the task does not have; the last field lists those it has.
    #[error("{0} names {2:?}, but {1} has no such parameter: choose from {3}")]
    UnknownParameter(&'static Setting, TaskKind, String, String),
    /// A parameter cannot be learned; the last field lists those that can.
    #[error("{LEARN} names {1}, but {0} can learn only {2}: set {1} with --fix")]
    NotLearnable(TaskKind, String, String),
    /// A parameter cannot be fixed.
    #[error("{FIX} names {1}, which {0} always learns: leave it out")]
    NotFixable(TaskKind, String),
    /// No parameter is learned; the field lists those that can be.
    #[error("no parameter is left to learn: name one of {0} with --learn, or fix fewer with --fix")]
    NothingLearned(String),
    /// A parameter is learned twice.
    #[error("{LEARN} names {0} twice: name it once")]
    Repeated(String),
    /// A parameter is both learned and fixed.
    #[error("{0} is both learned and fixed: remove it from {LEARN} or from {FIX}")]
    LearnedAndFixed(String),
    /// A start or a bound of a parameter that is not learned.
    #[error("{0} names {1}, which is not learned: add it to --learn, or leave it out")]
    NotLearned(&'static Setting, String),
    /// A setting, or one of its parameters, has an impossible value. The fields are its name, the
    /// value, and the possible values.
    #[error("{0} is {1}, but must be {2}")]
    OutOfRange(String, String, String),
    /// The lower bound of a parameter is above its upper bound.
    #[error(
        "the lower bound {} of {} is above its upper bound {}: change --lower or --upper",
        short(*.1), .0, short(*.2)
    )]
    CrossedBounds(String, f64, f64),
    /// The start of a parameter is not between its bounds.
    #[error(
        "{} starts at {}, which is not between {} and {}: change --start, --lower or --upper",
        .0, short(*.1), short(*.2), short(*.3)
    )]
    StartOutside(String, f64, f64, f64),
    /// The width of a kernel is learned that has none.
    #[error(
        "the width of the kernel {0} cannot be learned: give its shape, such as --kernel gaussian:2 \
         or --kernel disc:5, or leave width out of --learn"
    )]
    NoWidth(String),
    /// Two settings exclude each other. The last field is advice.
    #[error("{0} and {1} cannot be used together: {2}")]
    Together(&'static Setting, &'static Setting, &'static str),
    /// The command line asks for total variation and for filters.
    #[error("--model tv and --filters cannot be used together: leave one of them out")]
    TvWithFilters,
    /// A task or flag needs a setting that is missing. The last two fields describe its value, and
    /// are an example of it.
    #[error("{0} needs {1}: name {2}, as in --{flag} {3}", flag = .1.flag)]
    Missing(&'static str, &'static Setting, &'static str, &'static str),
    /// A setting is for other tasks.
    #[error("{} is for {}, not for {}: leave it out", .0, .0.tasks.1, .1)]
    Refused(&'static Setting, TaskKind),
    /// A flag is for other tasks than that of a run.
    #[error("--{flag} is for {tasks}, but {} is a run of {task}: leave --{flag} out", .run.display())]
    NotOfRun {
        /// The flag.
        flag: &'static str,
        /// The tasks that it is for.
        tasks: &'static str,
        /// The directory of the run.
        run: PathBuf,
        /// The task of the run.
        task: String,
    },
    /// A path cannot be written to the settings of a run.
    #[error("{}: {} is not valid Unicode: rename it", .0, .1.display())]
    NotUnicode(&'static Setting, PathBuf),
    /// A path cannot be made absolute.
    #[error("{0}: the path cannot be made absolute: give the full path")]
    Path(&'static Setting, #[source] io::Error),
    /// A value has no form in a file of settings.
    #[error("the settings cannot be written to a file")]
    Unprintable(#[from] toml::ser::Error),
}

/// Writes a number in its shorter form.
fn short(number: f64) -> String {
    shown(&number.into())
}

/// Returns the key as a part of a message.
fn at(key: &str) -> String {
    match key {
        "" => String::new(),
        key => format!(", {key}"),
    }
}

impl ConfigError {
    /// Returns the error about a flag for other tasks than that of a run.
    pub(crate) fn not_of_run(
        flag: &'static str,
        tasks: &'static str,
        run: &Path,
        task: impl fmt::Display,
    ) -> Self {
        Self::NotOfRun {
            flag,
            tasks,
            run: run.into(),
            task: task.to_string(),
        }
    }

    /// Returns the error at the byte `at` of a text.
    pub(super) fn toml(text: &str, path: &Path, at: usize, message: &str) -> Self {
        let before = text.get(..at).unwrap_or("");
        let line = before.matches('\n').count();
        let message = message.trim_end().replace('\n', "; ");
        Self::Toml(path.into(), line + 1, key_in(text, line), message)
    }
}

/// Returns the key on a line of a TOML text, with its section.
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

/// Returns the sections to which a key in a wrong place belongs, as advice; `None` for a key that
/// is in no section.
pub(super) fn home(key: &str) -> Option<String> {
    let settings = ALL.iter().map(|setting| setting.section_and_key());
    let sections: Vec<&str> = (settings.filter(|(_, known)| *known == key))
        .map(|(section, _)| section)
        .collect();
    let (first, named) = (sections.first()?, sections.join("] or ["));
    Some(format!(
        "`{key}` belongs to the section [{named}]: write it below the line [{first}], or write \
         {first}.{key}"
    ))
}

/// Returns the position and the message of a syntax error at the byte `at` of a TOML text if a key
/// there has no value.
pub(super) fn missing_value(text: &str, at: usize, task: TaskKind) -> Option<(usize, String)> {
    let start = text.get(..at)?.rfind('\n').map_or(0, |end| end + 1);
    let line = text.get(start..)?.lines().next()?;
    let (key, value) = line.split_once('=')?;
    let value = value.trim_start();
    if !(value.is_empty() || value.starts_with('#')) {
        return None;
    }
    let last = key.trim().rsplit('.').next()?;
    let mut known = ALL.iter();
    let known = known.find(|setting| setting.section_and_key().1 == last);
    let example = known.map(|setting| format!(", such as {last} = {}", setting.example(task)));
    let example = example.unwrap_or_default();
    let message = format!("the value is missing: write one after the ={example}");
    Some((start, message))
}

/// What to do about mistakes in the syntax of TOML, by the beginnings of the parser's messages.
const SYNTAX: [(&str, &str); 10] = [
    (
        "string values must be quoted",
        "a text must be in quotes, such as \"denoise\"",
    ),
    (
        "invalid basic string",
        "the quotation mark at the end of the text is missing",
    ),
    (
        "invalid literal string",
        "the quotation mark at the end of the text is missing",
    ),
    ("key with no value", "the = is missing: write name = value"),
    (
        "unclosed table",
        "the ] at the end of the section's name is missing",
    ),
    (
        "unexpected key or value",
        "there is something after the end of the value: remove it, or write it on a line of its \
         own; numbers have decimal points, not commas",
    ),
    (
        "missing escaped value",
        "a \\ in double quotes has a special meaning: write the text in single quotes, as in \
         'C:\\photos'",
    ),
    ("invalid float", "write the number as 0.1 or 1e-3"),
    ("invalid mantissa", "write the number as 0.1 or 1e-3"),
    (
        "wanted string or table",
        "the value must be a text in quotes",
    ),
];

/// Rewrites a message of the TOML parser in the words of a user.
pub(super) fn plain(message: &str) -> String {
    if let Some((_, advice)) = SYNTAX.iter().find(|(start, _)| message.starts_with(start)) {
        return (*advice).to_owned();
    }
    if message.starts_with("missing ") || message.starts_with("unclosed ") {
        // the rest repeats which sign is missing
        return message
            .split(", expected")
            .next()
            .unwrap_or(message)
            .to_owned();
    }
    let words = [
        ("unknown variant", "unknown word"),
        ("expected f64", "expected a number, such as 0.1"),
        (
            "expected u64",
            "expected a whole number that is not negative",
        ),
        (
            "expected a map",
            "expected names with values, such as { alpha = 0.1 }",
        ),
        (
            "expected a sequence",
            "expected a list, such as [\"alpha\"]",
        ),
        ("expected a string", "expected a text in quotes"),
        ("invalid type: string", "the value is the text"),
        ("invalid type: floating point", "the value is the number"),
        ("invalid type: integer", "the value is the number"),
        ("invalid type: boolean", "the value is the word"),
        ("invalid value: integer", "the value is the number"),
        ("invalid type: ", "the value is a "),
        (", expected", ", but must be"),
    ];
    let replace = |text: String, (from, to): &(&str, &str)| text.replace(from, to);
    words.iter().fold(message.to_owned(), replace)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Settings;

    fn check(text: &str, parts: &[&str]) {
        let error = Settings::from_toml(text, Path::new("some.toml"), None).unwrap_err();
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
                "there is no key `noize`",
                "`noise`",
            ],
        );
        check(
            "task = \"denoise\"\n[data]\nnoise = \"much\"\n",
            &[
                "line 3, data.noise: ",
                "the value is the text \"much\", but must be a number, such as 0.1",
            ],
        );
        check(
            "task = \"paint\"",
            &["line 1, task: ", "unknown word `paint`", "denoise"],
        );
        check(
            "task = \"denoise\"\ndata.seed = -1",
            &["line 2, data.seed: ", "a whole number"],
        );
        check(
            "task = \"denoise\"\n[model.fixed]\nnu = \"x\"",
            &["line 3, model.fixed.nu: ", "but must be a number"],
        );
        check(
            "task = \"denoise\"\nmodel.fixed = 1",
            &["line 2, model.fixed: ", "such as { alpha = 0.1 }"],
        );
        check(
            "task = \"denoise\"\nmodel.learn = \"alpha\"",
            &["line 2, model.learn: ", "but must be a list"],
        );
        check(
            "task = \"denoise\"\nsolver.evaluations = 10",
            &["there is no key `evaluations`", "`max_points`"],
        );
        check(
            "task = \"denoise\"\ntask = \"deblur\"\n",
            &["line 2, task: ", "duplicate"],
        );
        check("[dada]\nnoise = 1", &["line 1: ", "there is no key `dada`"]);
    }

    #[test]
    fn mistakes_in_syntax_say_what_to_do() {
        let mistakes = [
            ("nonsense", "line 2: the = is missing: write name = value"),
            ("[data", "line 2: the ] at the end of the section's name is"),
            (
                "data.images = photos",
                "line 2, data.images: a text must be in quotes, such as",
            ),
            (
                "data.images = \"photos",
                "the quotation mark at the end of the text is missing",
            ),
            (
                "data.images = 'photos",
                "the quotation mark at the end of the text is missing",
            ),
            (
                "data.images = \"C:\\photos\"",
                "write the text in single quotes, as in 'C:\\photos'",
            ),
            (
                "data.noise = 0,1",
                "there is something after the end of the value",
            ),
            (
                "data.noise = .5",
                "data.noise: write the number as 0.1 or 1e-3",
            ),
            (
                "data.noise = 0.1.2",
                "data.noise: write the number as 0.1 or 1e-3",
            ),
            (
                "model.learn = [\"nu\" \"xi\"]",
                "model.learn: missing comma between array elements",
            ),
            (
                "model.fixed = { nu = 0.1",
                "model.fixed: unclosed inline table",
            ),
        ];
        for (line, part) in mistakes {
            let text = format!("task = \"denoise\"\n{line}\n");
            check(&text, &["some.toml, line 2", part]);
            let error = Settings::from_toml(&text, Path::new("some.toml"), None).unwrap_err();
            assert!(!error.to_string().contains("must be `"), "{error}");
        }
        check(
            "task = 3\n",
            &["line 1, task: the value must be a text in quotes"],
        );
    }

    #[test]
    fn a_missing_value_is_named() {
        for end in [
            "",
            "\n",
            " \n",
            " # later\n",
            "\nseed = 1\n",
            "\n\n[solver]\n",
        ] {
            let text = format!("task = \"denoise\"\n[data]\nnoise ={end}");
            let parts = [
                "some.toml, line 3, data.noise: the value is missing",
                "such as noise = 0.1",
            ];
            check(&text, &parts);
        }
        check(
            "task =\n",
            &["some.toml, line 1, task: the value is missing: write one"],
        );
    }

    /// Every setting outside its section is sent there.
    #[test]
    fn a_setting_in_a_wrong_place_is_sent_to_its_section() {
        for setting in ALL {
            let (section, key) = setting.section_and_key();
            let top = format!("task = \"denoise\"\n{key} = 0.1\n");
            let parts = ["some.toml, line 2, ", "belongs to the section [", section];
            check(&top, &parts);
            let own = format!("{section}.{key}");
            let is_elsewhere =
                |other: &&&str| !ALL.iter().any(|s| s.key == format!("{other}.{key}"));
            for other in ["data", "model", "solver"].iter().filter(is_elsewhere) {
                let text = format!("task = \"denoise\"\n[{other}]\n{key} = 0.1\n");
                check(&text, &["line 3, ", "belongs to the section [", section]);
            }
            assert_eq!(own, setting.key);
        }
        let text = "task = \"denoise\"\nnoise = 0.1\n";
        check(
            text,
            &[
                "`noise` belongs to the section [data]: write it below the line [data], or write data.noise",
            ],
        );
        check("seed = 1\n", &["the section [data] or [solver]"]);
    }
}
