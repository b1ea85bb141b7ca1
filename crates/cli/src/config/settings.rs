//! Settings from files and flags.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use imaging::KernelShape;
use serde::Deserialize;
use toml::de::{DeTable, DeValue, Error as TomlError, ValueDeserializer};
use toml::{Table, Value};

use super::error::{home, missing_value, plain};
use super::table::{self, ALL, DefaultValue, Setting, ValueKind};
use super::truth::is_noise;
use super::{Config, ConfigError, TaskKind, Values, model};
use crate::file::FileError;
use crate::store::{SETTINGS, Store};

/// The key in the settings of a run whose model is given by functions in Python.
pub const FUNCTIONS: &str = "functions";

/// The sections of a file.
const SECTIONS: &[&str] = &["data", "model", "objective", "solver"];

/// The settings that a file, the command line or both have given. All others have defaults.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// The task.
    pub task: TaskKind,
    /// Values by the keys of their settings.
    values: BTreeMap<&'static str, Value>,
}

impl Settings {
    /// Returns settings that consist of the task only.
    #[must_use]
    pub const fn new(task: TaskKind) -> Self {
        Self {
            task,
            values: BTreeMap::new(),
        }
    }

    /// Reads a file of settings; see [`from_toml`](Self::from_toml).
    ///
    /// # Errors
    /// When the file cannot be read, and as [`from_toml`](Self::from_toml).
    pub fn read(path: &Path, asked: Option<TaskKind>) -> Result<Self, ConfigError> {
        let text = fs::read_to_string(path).map_err(|error| match error.kind() {
            io::ErrorKind::InvalidData => {
                let problem = "it is not UTF-8 text".to_owned();
                FileError::Unsupported(path.into(), problem, "a TOML file")
            }
            _ => FileError::read(path, error),
        })?;
        let mut settings = Self::from_toml(&text, path, asked)?;
        if let Some(run) = path.parent()
            && path.file_name() == Some(SETTINGS.as_ref())
            && Store::read_settings(run).is_ok()
        {
            settings.start_paths_at(run)?;
        }
        Ok(settings)
    }

    /// Reads the settings of the run in `dir`, whose relative paths start there.
    ///
    /// # Errors
    /// As [`from_toml`](Self::from_toml), and when the path of the run is not valid Unicode.
    pub fn of_run(text: &str, dir: &Path) -> Result<Self, ConfigError> {
        if let Some(at) = text.find(&format!("\n{FUNCTIONS} = ")) {
            let advice = "the model of this run is given by functions in Python, where \
                          bilevel.resume and bilevel.load work on it";
            return Err(ConfigError::toml(text, &dir.join(SETTINGS), at + 1, advice));
        }
        let mut settings = Self::from_toml(text, &dir.join(SETTINGS), None)?;
        settings.start_paths_at(dir)?;
        Ok(settings)
    }

    /// Lets relative paths start at `dir`.
    fn start_paths_at(&mut self, dir: &Path) -> Result<(), ConfigError> {
        for setting in ALL {
            if let (ValueKind::Path, Some(Value::String(path))) =
                (&setting.kind, self.values.get(setting.key))
                && !KernelShape::is_name(path)
            {
                let path = dir.join(path);
                self.set_path(setting, &path)?;
            }
        }
        Ok(())
    }

    /// Reads the text of a file of settings; `path` is for messages. If a task is `asked` for, the
    /// file may leave it out, but must not name another one.
    ///
    /// # Errors
    /// When the text is not TOML, has an unknown key or a value of another type, or the task is
    /// missing or another one.
    pub fn from_toml(
        text: &str,
        path: &Path,
        asked: Option<TaskKind>,
    ) -> Result<Self, ConfigError> {
        let refuse = |at, message: &str| ConfigError::toml(text, path, at, &plain(message));
        let position = |error: &TomlError| error.span().map_or(0, |span| span.start);
        let refuse_toml = |error: TomlError| {
            let at = position(&error);
            let missing = missing_value(text, at, asked.unwrap_or_default());
            let (at, message) = missing.unwrap_or_else(|| (at, error.message().to_owned()));
            refuse(at, &message)
        };
        let unknown = |at, name: &str, known: Vec<&str>| {
            let known = known.join("`, `");
            let message = match home(name) {
                Some(home) => home,
                None => format!("there is no key `{name}`: choose from `{known}`"),
            };
            refuse(at, &message)
        };
        let mut settings = Self::default();
        let mut task = None;
        for (name, value) in DeTable::parse(text).map_err(refuse_toml)?.into_inner() {
            let at = name.span().start;
            let section = name.into_inner();
            if section == "task" {
                let found = TaskKind::deserialize(ValueDeserializer::from(value));
                task = Some(found.map_err(refuse_toml)?);
                continue;
            }
            if !SECTIONS.contains(&&section[..]) {
                return Err(unknown(at, &section, [&["task"], SECTIONS].concat()));
            }
            let DeValue::Table(entries) = value.into_inner() else {
                return Err(refuse(at, "this must be a section, such as [data]"));
            };
            for (name, value) in entries {
                let at = name.span().start;
                let key = name.into_inner();
                let known = || {
                    ALL.iter()
                        .filter(|setting| setting.section_and_key().0 == section)
                };
                let setting = known().find(|setting| setting.section_and_key().1 == key);
                let setting = setting.ok_or_else(|| {
                    unknown(
                        at,
                        &key,
                        known().map(|setting| setting.section_and_key().1).collect(),
                    )
                })?;
                let span = value.span();
                let value = setting.kind.read(value).map_err(|error| {
                    let span = error.span().unwrap_or(span);
                    refuse(span.start, error.message())
                })?;
                settings.set(setting, value);
            }
        }
        settings.task = match (task, asked) {
            (Some(found), Some(asked)) if found != asked => {
                return Err(ConfigError::OtherTask(path.into(), found, asked));
            }
            (Some(task), _) | (None, Some(task)) => task,
            (None, None) => return Err(ConfigError::NoTask(path.into())),
        };
        Ok(settings)
    }

    /// Sets the value of a setting.
    pub(crate) fn set(&mut self, setting: &Setting, value: impl Into<Value>) {
        self.values.insert(setting.key, value.into());
    }

    /// Sets the value of a setting that is a path.
    ///
    /// # Errors
    /// When the path is not valid Unicode: settings are text.
    pub fn set_path(&mut self, setting: &'static Setting, path: &Path) -> Result<(), ConfigError> {
        let text = path.to_str();
        let refuse = || ConfigError::NotUnicode(setting, path.into());
        self.set(setting, text.ok_or_else(refuse)?);
        Ok(())
    }

    /// Returns the value of a setting, if it is given.
    pub(crate) fn get(&self, setting: &Setting) -> Option<&Value> {
        self.values.get(setting.key)
    }

    /// Whether a setting is given.
    pub(crate) fn has(&self, setting: &Setting) -> bool {
        self.values.contains_key(setting.key)
    }

    /// Whether the value of a setting is the default of the task.
    pub(super) fn is_default(&self, setting: &Setting) -> bool {
        let default = setting.default(self.task, &|_| false);
        self.values.get(setting.key) == default.ok().as_ref()
    }

    /// Removes the value of a setting.
    pub(crate) fn remove(&mut self, setting: &Setting) {
        self.values.remove(setting.key);
    }

    /// Returns the word of a setting, if it is given.
    pub(crate) fn word(&self, setting: &Setting) -> Option<&str> {
        self.values.get(setting.key)?.as_str()
    }

    /// Returns the number of a setting, if it is given.
    pub(super) fn number(&self, setting: &Setting) -> Option<f64> {
        self.values.get(setting.key)?.as_float()
    }

    /// Returns the list of names of a setting, if it is given.
    pub(super) fn names(&self, setting: &Setting) -> Option<Vec<String>> {
        let names = self.values.get(setting.key)?.as_array()?.iter();
        Some(names.filter_map(Value::as_str).map(str::to_owned).collect())
    }

    /// Returns the numbers of a setting by the names of parameters; none if it is not given.
    pub(super) fn numbers(&self, setting: &Setting) -> Values {
        let table = self.values.get(setting.key).and_then(Value::as_table);
        let entries = table.into_iter().flatten();
        entries
            .filter_map(|(name, value)| Some((name.clone(), value.as_float()?)))
            .collect()
    }

    /// Returns these settings, which come from a file, overridden by flags.
    #[must_use]
    pub fn overridden_by(mut self, flags: &Self) -> Self {
        for setting in ALL {
            let is_apart = self.has_measured_noise() || flags.has_measured_noise();
            if setting.alternative.is_some_and(|other| flags.has(other))
                && !(is_apart && is_noise(setting))
            {
                self.values.remove(setting.key);
            }
        }
        model::prepare_override(&mut self, flags);
        for (key, value) in &flags.values {
            match (self.values.get_mut(key), value) {
                (Some(Value::Table(old)), Value::Table(new)) => old.extend(new.clone()),
                (_, value) => drop(self.values.insert(key, value.clone())),
            }
        }
        self
    }

    /// Fills in example values for required settings that are missing.
    pub(crate) fn fill_in_required(&mut self) {
        for setting in ALL {
            if let Some((_, example)) = setting.required(self.task)
                && !self.has(setting)
            {
                self.set(setting, example);
            }
        }
    }

    /// Fills in all defaults, and checks everything that can be checked without reading a file.
    ///
    /// # Errors
    /// When settings are wrong; see [`ConfigError`].
    pub fn resolve(mut self) -> Result<Config, ConfigError> {
        let task = self.task;
        model::resolve(&mut self)?;
        for setting in ALL {
            self.check(task, setting)?;
        }
        if self.has(&table::NOISY) {
            if self.has(&table::VALIDATION) {
                let advice = "use --hold-out, because the noise of other images is not known";
                return Err(ConfigError::Together(
                    &table::NOISY,
                    &table::VALIDATION,
                    advice,
                ));
            }
            if !self.has(&table::IMAGES) && !self.has(&table::TRUTH) {
                let what = "the clean pictures that belong to the noisy ones";
                let example = match table::TRUTH.is_for(task) {
                    true => "clean, or learn from the noisy ones alone with --truth none",
                    false => "clean.npy",
                };
                let needed = &table::IMAGES;
                return Err(ConfigError::Missing("--noisy", needed, what, example));
            }
        }
        self.check_truth()?;
        self.check_camera()?;
        self.check_slices()?;
        self.check_gradients()?;
        self.fill_in_defaults(|_| true);
        let config = self.config();
        if let (Some(lower), Some(upper)) = (config.model.image_min, config.model.image_max)
            && lower > upper
        {
            let needed = format!("at most {upper}, the value of --image-max");
            let what = table::IMAGE_MIN.to_string();
            return Err(ConfigError::OutOfRange(what, lower.to_string(), needed));
        }
        Ok(config)
    }

    /// Refuses settings with which the objective is not differentiable, if gradients are asked for.
    fn check_gradients(&self) -> Result<(), ConfigError> {
        if self.word(&table::SOLVER) != Some("gradient") {
            return Ok(());
        }
        let others = [&table::ITERATIONS, &table::IMAGE_MIN, &table::IMAGE_MAX];
        match others.into_iter().find(|setting| self.has(setting)) {
            Some(other) => Err(ConfigError::Together(
                &table::SOLVER,
                other,
                "leave one of them out, or use --solver derivative-free",
            )),
            None => Ok(()),
        }
    }

    /// Writes these settings and the defaults of the others as a file to edit. A default that
    /// depends on another setting is written as a comment, because it may change with the edits.
    ///
    /// # Errors
    /// As [`resolve`](Self::resolve).
    pub fn template(self) -> Result<String, ConfigError> {
        let given = self.clone();
        let mut settings = Self::of(&self.resolve()?)?;
        for setting in ALL.iter().filter(|setting| !given.has(setting)) {
            if setting.depends_on_another() {
                settings.values.remove(setting.key);
            }
        }
        Ok(settings.to_toml())
    }

    /// Fills in the defaults of the settings that are not given and satisfy a condition.
    fn fill_in_defaults(&mut self, is_wanted: impl Fn(&Setting) -> bool) {
        let given = self.clone();
        let missing = ALL.iter().filter(|setting| !given.has(setting));
        for setting in missing.filter(|setting| is_wanted(setting)) {
            if let Ok(value) = setting.default(self.task, &|other| given.has(other)) {
                self.set(setting, value);
            }
        }
    }

    /// Returns the defaults of a task that do not depend on other settings.
    pub(super) fn defaults(task: TaskKind) -> Config {
        let mut settings = Self::new(task);
        settings.fill_in_defaults(|setting| {
            !matches!(setting.kind, ValueKind::Values)
                && !matches!(setting.default, DefaultValue::With(..))
        });
        settings.config()
    }

    /// Checks one setting, given or not.
    fn check(&self, task: TaskKind, setting: &'static Setting) -> Result<(), ConfigError> {
        let Some(value) = self.values.get(setting.key) else {
            return match setting.required(task) {
                Some((what, example)) => {
                    Err(ConfigError::Missing(task.name(), setting, what, example))
                }
                None => Ok(()),
            };
        };
        if !setting.is_for(task) && !self.is_default(setting) {
            return Err(ConfigError::Refused(setting, task));
        }
        if let Some(other) = setting.alternative
            && self.has(other)
            && !(is_noise(setting) && self.has_measured_noise())
        {
            return Err(ConfigError::Together(
                setting,
                other,
                "leave one of them out",
            ));
        }
        setting.kind.check(task, value).map_err(|needed| {
            ConfigError::OutOfRange(setting.to_string(), table::shown(value), needed)
        })
    }

    /// Returns the typed form of complete settings.
    fn config(self) -> Config {
        let mut root = Table::new();
        for setting in ALL {
            if let Some(value) = self.values.get(setting.key) {
                let (section, key) = setting.section_and_key();
                let section = root.entry(section).or_insert_with(|| Table::new().into());
                let section = section.as_table_mut().expect("sections are tables");
                section.insert(key.into(), value.clone());
            }
        }
        root.insert("task".into(), self.task.name().into());
        let config = root.try_into();
        config.expect("the kinds of the table are those of the fields")
    }

    /// Returns the settings of a configuration, resolved or not.
    pub(super) fn of(config: &Config) -> Result<Self, toml::ser::Error> {
        let mut settings = Self::new(config.task);
        let root = Table::try_from(config)?;
        for setting in ALL {
            let (section, key) = setting.section_and_key();
            if let Some(value) = root.get(section).and_then(|section| section.get(key)) {
                settings.set(setting, value.clone());
            }
        }
        Ok(settings)
    }

    /// Returns the typed form of resolved settings with absolute paths.
    pub(super) fn absolute(mut self) -> Result<Config, ConfigError> {
        for setting in ALL {
            if let (ValueKind::Path, Some(Value::String(path))) =
                (&setting.kind, self.values.get(setting.key))
                && !KernelShape::is_name(path)
            {
                let refuse = |source| ConfigError::Path(setting, source);
                let path = std::path::absolute(path).map_err(refuse)?;
                self.set_path(setting, &path)?;
            }
        }
        Ok(self.config())
    }

    /// Writes the settings as a TOML file with a comment on each.
    pub(super) fn to_toml(&self) -> String {
        let task = self.task;
        let mut text = format!(
            "# Settings of `bilevel learn {task}`. Flags of the command override this file.\n\
             # Lines that begin with # are comments, or examples of settings that are not set.\n\
             # Paths are relative to the current folder or, in a run, to its directory.\n\n\
             # The task: denoise, sampling, deblur or inpaint.\ntask = \"{task}\"\n"
        );
        let mut last = "";
        let is_shown = |setting: &Setting| setting.is_for(task) && !model::is_unused(self, setting);
        for setting in ALL.iter().filter(|setting| is_shown(setting)) {
            let (section, key) = setting.section_and_key();
            if section != last {
                text += &format!("\n[{section}]\n");
                last = section;
            }
            text += &table::comment(&setting.help(&[task]));
            text += &match self.values.get(setting.key) {
                Some(value) => format!("{key} = {}\n", table::literal(value)),
                None => format!("# {key} = {}\n", setting.example(task)),
            };
        }
        text
    }
}
