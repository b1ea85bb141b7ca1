//! The settings of a run: a TOML file, flags over it, and defaults under it.

mod error;
mod model;
mod settings;
pub mod table;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use bilevel::{Residuals, Scale};
use serde::{Deserialize, Serialize};

pub use crate::picture::Colour;
pub use error::ConfigError;
pub use settings::Settings;
pub use table::Setting;

/// Values of parameters by their names.
pub type Values = BTreeMap<String, f64>;

/// Everything that decides what a run computes: the resolved form of [`Settings`], which is made from
/// the [table of settings](table).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Config {
    /// The task.
    pub task: TaskKind,
    /// The images, and how they are measured.
    pub data: DataConfig,
    /// The parameters.
    #[serde(default)]
    pub model: ModelConfig,
    /// The objective.
    pub objective: ObjectiveConfig,
    /// The solver.
    pub solver: SolverConfig,
}

/// The task of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum TaskKind {
    /// Learn parameters that remove noise from pictures.
    #[default]
    Denoise,
    /// Learn which frequencies of signals to measure.
    Sampling,
    /// Learn parameters that undo a known blur.
    Deblur,
    /// Learn parameters that fill in missing pixels.
    Inpaint,
}

/// The section `[data]`: the images, and how they are measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataConfig {
    /// A folder of pictures, or a `.npy` file with a signal in each row; `None` for built-in images.
    pub images: Option<PathBuf>,
    /// Measured pictures or frequencies, instead of added noise.
    pub noisy: Option<PathBuf>,
    /// The standard deviation of the added noise. A resolved configuration has either this or
    /// `noisy`.
    pub noise: Option<f64>,
    /// The random seed for built-in images and added noise.
    pub seed: u64,
    /// How colour images are treated. Resolved configurations of pictures have a value.
    pub colour: Option<Colour>,
    /// The number of rows and columns that are used, from the middle of each picture.
    pub crop: Option<usize>,
    /// The largest number of images.
    pub count: Option<usize>,
    /// The number of rows and columns of built-in pictures, or of samples of built-in signals.
    pub size: usize,
    /// The number of images, the last ones, that are held out for validation.
    pub hold_out: usize,
    /// More images for validation.
    pub validation: Option<PathBuf>,
    /// The blur, a `.npy` file.
    pub kernel: Option<PathBuf>,
    /// A picture that is white where pixels were measured.
    pub mask: Option<PathBuf>,
}

/// The section `[model]`: which parameters are learned. All numbers are values, not exponents.
/// Sampling learns `theta`, which stands for one parameter per frequency.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ModelConfig {
    /// The names of the learned parameters.
    pub learn: Vec<String>,
    /// The values of the parameters that are not learned.
    pub fixed: Values,
    /// The values where learning starts.
    pub start: Values,
    /// The smallest values of the learned parameters.
    pub lower: Values,
    /// The largest values of the learned parameters.
    pub upper: Values,
}

/// The section `[objective]`: what the learned parameters minimise.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ObjectiveConfig {
    /// Whether squared distances are averaged or added over images.
    pub scale: Scale,
    /// The residuals that the solver sees.
    pub residuals: Residuals,
    /// The weight of the squared condition number.
    pub condition: f64,
    /// The weight of the sum of all `theta`, for few frequencies.
    pub l1: f64,
    /// How that sum is treated.
    pub l1_kind: L1Kind,
}

/// How the sum of all `theta` is added to the objective.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum L1Kind {
    /// As the square of one more residual, as in the paper.
    #[default]
    Root,
    /// As it is; the solver knows its kinks.
    Nonsmooth,
}

/// The section `[solver]`: how the parameters are found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SolverConfig {
    /// The largest number of different parameters that are tried.
    pub evaluations: u64,
    /// The method of reconstruction.
    pub method: MethodKind,
    /// A fixed number of iterations for each reconstruction, instead of a requested accuracy.
    pub iterations: Option<u64>,
    /// The number of iterations after which a reconstruction stops.
    pub max_iterations: Option<u64>,
    /// The trust-region radius at which the run ends, as a share of the range between bounds.
    pub final_radius: f64,
    /// The number of threads; `None` for one per processor. Results do not depend on it.
    pub threads: Option<usize>,
}

/// The method of reconstruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MethodKind {
    /// The fastest method that is known for the task.
    #[default]
    Auto,
    /// Accelerated gradient descent.
    Fista,
    /// Gradient descent.
    Gd,
}

impl TaskKind {
    /// The name on the command line and in files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Denoise => "denoise",
            Self::Sampling => "sampling",
            Self::Deblur => "deblur",
            Self::Inpaint => "inpaint",
        }
    }

    /// The names of the parameters that can be learned, in the order of the model.
    #[must_use]
    pub const fn learnable(self) -> &'static [&'static str] {
        match self {
            Self::Sampling => &["theta"],
            _ => &["alpha", "nu", "xi"],
        }
    }
}

impl fmt::Display for TaskKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Config {
    /// The defaults of a task that do not depend on other settings.
    #[must_use]
    pub fn new(task: TaskKind) -> Self {
        Settings::defaults(task)
    }

    /// Fills in what was left open, and checks everything that can be checked without reading a
    /// file. A resolved configuration resolves to itself.
    ///
    /// # Errors
    /// When settings do not make sense; see [`ConfigError`].
    pub fn resolve(&self) -> Result<Self, ConfigError> {
        Settings::of(self)?.resolve()
    }

    /// The settings as a TOML file with a comment on each. A resolved configuration can be read back
    /// as it was.
    ///
    /// # Panics
    /// When the configuration is not resolved, and a path or a number has no form in TOML.
    #[must_use]
    pub fn to_toml_with_comments(&self) -> String {
        let settings = Settings::of(self).expect("resolved settings can be written");
        settings.to_toml()
    }

    /// Makes paths absolute, so that a run can be resumed from another folder.
    ///
    /// # Errors
    /// When a path is empty, or the current folder is gone.
    pub fn absolute(&self) -> Result<Self, ConfigError> {
        Settings::of(self)?.absolute()
    }
}

#[cfg(test)]
mod tests;
