//! The settings of a run: a TOML file, flags over it, and defaults under it.

mod check;
mod error;
mod print;
mod resolve;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use bilevel::{FourierWeights, Residuals, Scale};
use serde::{Deserialize, Serialize};

pub use crate::picture::Colour;
pub use error::{ConfigError, Setting};

/// Values of parameters by their names.
pub type Values = BTreeMap<String, f64>;

/// Everything that decides what a run computes, as in `bilevel.toml`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// What is learned.
    pub task: TaskKind,
    /// From what.
    pub data: DataConfig,
    /// Which parameters.
    pub model: ModelConfig,
    /// What makes them good.
    pub objective: ObjectiveConfig,
    /// How they are found.
    pub solver: SolverConfig,
}

/// What is learned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum TaskKind {
    /// Parameters that remove noise from pictures.
    #[default]
    Denoise,
    /// Which frequencies of signals to measure.
    Sampling,
    /// Parameters that undo a known blur.
    Deblur,
    /// Parameters that fill in missing pixels.
    Inpaint,
}

/// From what is learned.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DataConfig {
    /// A folder of pictures, or signals in the rows of a `.npy` file; `None`: built-in ones.
    pub images: Option<PathBuf>,
    /// What was measured, instead of noise that is added.
    pub noisy: Option<PathBuf>,
    /// Standard deviation of the noise that is added; `None` only beside `noisy`, once resolved.
    pub noise: Option<f64>,
    /// Of built-in images and of noise.
    pub seed: u64,
    /// What becomes of colours; `None`: all channels beside `noisy`, where each has noise of its own, otherwise luminance.
    pub colour: Option<Colour>,
    /// Only the middle of each picture, so many rows and columns.
    pub crop: Option<usize>,
    /// At most so many images.
    pub count: Option<usize>,
    /// Rows and columns of built-in pictures, samples of built-in signals.
    pub size: usize,
    /// The last so many images are not learned from, but judge what was learned.
    pub hold_out: usize,
    /// Other images that judge.
    pub validation: Option<PathBuf>,
    /// The blur, a `.npy` file.
    pub kernel: Option<PathBuf>,
    /// What was measured: a picture that is white there.
    pub mask: Option<PathBuf>,
}

/// Which parameters are learned; all numbers are values, not exponents. Sampling learns `theta`, one for each frequency.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ModelConfig {
    /// Their names.
    pub learn: Vec<String>,
    /// The values of the others.
    pub fixed: Values,
    /// Where the learned ones begin,
    pub start: Values,
    /// their least values,
    pub lower: Values,
    /// and their largest.
    pub upper: Values,
}

/// What makes parameters good.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ObjectiveConfig {
    /// A mean or a sum over images.
    pub scale: Scale,
    /// What the solver sees of it.
    pub residuals: Residuals,
    /// Weight of the squared condition number; zero: none.
    pub condition: f64,
    /// Weight of the sum of all `theta`, for few frequencies; zero: none.
    pub l1: f64,
    /// How that sum is treated.
    pub l1_kind: L1Kind,
}

/// How the sum of all `theta` is added to the objective.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum L1Kind {
    /// As the square of one more residual: the paper's way.
    #[default]
    Root,
    /// As it is; the solver knows its kinks.
    Nonsmooth,
}

/// How parameters are found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SolverConfig {
    /// At most so many different parameters are tried.
    pub evaluations: u64,
    /// How reconstructions are computed.
    pub method: MethodKind,
    /// So many iterations for each reconstruction, instead of the accuracy that the solver asks for.
    pub iterations: Option<u64>,
    /// A reconstruction gives up after so many.
    pub max_iterations: Option<u64>,
    /// The run ends when steps have become so small, as a share of the range between bounds.
    pub final_radius: f64,
    /// How many threads; `None`: one for each processor. Results do not depend on it.
    pub threads: Option<usize>,
}

/// How reconstructions are computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum MethodKind {
    /// The fastest that is known for the task.
    #[default]
    Auto,
    /// Accelerated gradient descent.
    Fista,
    /// Gradient descent.
    Gd,
}

impl TaskKind {
    /// Its name on the command line and in files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Denoise => "denoise",
            Self::Sampling => "sampling",
            Self::Deblur => "deblur",
            Self::Inpaint => "inpaint",
        }
    }

    /// The parameters that can be learned.
    #[must_use]
    pub const fn learnable(self) -> &'static [&'static str] {
        match self {
            Self::Sampling => &["theta"],
            _ => &["alpha", "nu", "xi"],
        }
    }

    /// The parameters that can be fixed, and their values where nothing is said: the paper's. Only for `alpha` of pictures it
    /// has none; 0.1 is what it learns for them.
    #[must_use]
    pub const fn fixed(self) -> [(&'static str, f64); 3] {
        match self {
            Self::Sampling => [
                ("alpha", FourierWeights::TV.alpha),
                ("nu", FourierWeights::TV.nu),
                ("xi", FourierWeights::TV.xi),
            ],
            _ => [("alpha", 0.1), ("nu", 1e-3), ("xi", 1e-3)],
        }
    }

    /// The standard deviation of noise where nothing is said.
    #[must_use]
    pub const fn noise(self) -> f64 {
        match self {
            Self::Denoise => 0.1,
            Self::Deblur => 0.01,
            Self::Sampling | Self::Inpaint => 0.05,
        }
    }
}

impl fmt::Display for TaskKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Default for DataConfig {
    fn default() -> Self {
        Self {
            images: None,
            noisy: None,
            noise: None,
            seed: 1,
            colour: None,
            crop: None,
            count: None,
            size: 128,
            hold_out: 0,
            validation: None,
            kernel: None,
            mask: None,
        }
    }
}

impl Default for SolverConfig {
    fn default() -> Self {
        Self {
            evaluations: 100,
            method: MethodKind::default(),
            iterations: None,
            max_iterations: None,
            final_radius: bilevel::learning_options().trust_region.final_radius,
            threads: None,
        }
    }
}

impl Config {
    /// The defaults of a task.
    #[must_use]
    pub fn new(task: TaskKind) -> Self {
        let mut config = Self {
            task,
            ..Self::default()
        };
        config.model.learn = task.learnable().iter().map(|name| (*name).into()).collect();
        if task == TaskKind::Sampling {
            config.data.size = 64;
            // 0.1 for the sum over the paper's ten signals
            config.objective.l1 = 0.01;
            config.solver.evaluations = 1000;
        }
        config
    }

    /// Reads settings; `path` is for messages. What the file does not say has its default.
    ///
    /// # Errors
    /// When it is not TOML, a key is unknown, a value has another type, or the task is missing.
    pub fn from_toml(text: &str, path: &Path) -> Result<Self, ConfigError> {
        Self::from_toml_for(text, path, None)
    }

    /// The same, for a task that the command line has said.
    ///
    /// # Errors
    /// As [`from_toml`](Self::from_toml), and when the file is for another task.
    pub fn from_toml_for(
        text: &str,
        path: &Path,
        task: Option<TaskKind>,
    ) -> Result<Self, ConfigError> {
        let refuse = |error| ConfigError::toml(text, path, &error);
        let mut config: Self = toml::from_str(text).map_err(refuse)?;
        let table: toml::Table = toml::from_str(text).map_err(refuse)?;
        config.task = match (table.contains_key("task"), task) {
            (true, Some(asked)) if asked != config.task => {
                return Err(ConfigError::OtherTask {
                    path: path.into(),
                    found: config.task,
                    asked,
                });
            }
            (true, _) => config.task,
            (false, Some(asked)) => asked,
            (false, None) => return Err(ConfigError::NoTask { path: path.into() }),
        };
        // Defaults that depend on the task.
        let defaults = Self::new(config.task);
        let says = |section: &str, key: &str| {
            let section = table.get(section).and_then(toml::Value::as_table);
            section.is_some_and(|section| section.contains_key(key))
        };
        if !says("data", "size") {
            config.data.size = defaults.data.size;
        }
        if !says("objective", "l1") {
            config.objective.l1 = defaults.objective.l1;
        }
        if !says("solver", "evaluations") {
            config.solver.evaluations = defaults.solver.evaluations;
        }
        if !says("model", "learn") {
            config.model.learn = defaults.model.learn;
            let fixed = &config.model.fixed;
            config.model.learn.retain(|name| !fixed.contains_key(name));
        }
        Ok(config)
    }

    /// Makes paths absolute, so that a run can be taken up from another folder.
    ///
    /// # Errors
    /// When a path is empty, or the current folder is gone.
    pub fn absolute(mut self) -> Result<Self, ConfigError> {
        for (setting, path) in self.paths_mut() {
            if let Some(path) = path {
                let refuse = |source| ConfigError::Path { setting, source };
                *path = std::path::absolute(&*path).map_err(refuse)?;
            }
        }
        Ok(self)
    }

    /// All paths, with the settings that give them.
    fn paths_mut(&mut self) -> [(Setting, &mut Option<PathBuf>); 5] {
        let data = &mut self.data;
        [
            (Setting::IMAGES, &mut data.images),
            (Setting::NOISY, &mut data.noisy),
            (Setting::VALIDATION, &mut data.validation),
            (Setting::KERNEL, &mut data.kernel),
            (Setting::MASK, &mut data.mask),
        ]
    }
}

#[cfg(test)]
mod tests;
