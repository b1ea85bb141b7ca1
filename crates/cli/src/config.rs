//! The settings of a run. Flags override a TOML file, which overrides defaults.

mod error;
mod model;
mod noise;
mod settings;
pub mod table;
mod truth;
mod value_kind;

use std::path::{Path, PathBuf};

use bilevel::{ModelSpec, ObjectiveSpec, SolverSpec, Spec};
use imaging::noise::Anscombe;
use serde::{Deserialize, Serialize};

pub use crate::picture::Colour;
pub use bilevel::{FamilyKind as TaskKind, Values};
pub use error::ConfigError;
pub use noise::Noise;
pub use settings::{FUNCTIONS, Settings};
pub use table::Setting;
pub(crate) use truth::is_noise;

/// All settings that determine the result of a run: the resolved form of [`Settings`], which follow
/// the [table of settings](table).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Config {
    /// The task.
    pub task: TaskKind,
    /// The section `[data]`: the images and their measurement.
    pub data: DataConfig,
    /// The section `[model]`: the parameters.
    #[serde(default)]
    pub model: ModelSpec,
    /// The section `[objective]`: the objective that the learned parameters minimise.
    pub objective: ObjectiveSpec,
    /// The section `[solver]`: the solver and its limits.
    pub solver: SolverSpec,
}

/// The images and their measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataConfig {
    /// A folder of pictures, a picture file, or a `.npy` file with a signal in each row; `None` for
    /// built-in images.
    pub images: Option<PathBuf>,
    /// Measured pictures or frequencies, instead of added noise.
    pub noisy: Option<PathBuf>,
    /// The added noise. A resolved configuration has either this or `noisy`, unless there is no
    /// truth or the noise is that of a camera: then it is the noise of the noisy pictures.
    pub noise: Option<Noise>,
    /// Whether there are no clean pictures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truth: Option<NoTruth>,
    /// The random seed for built-in images and added noise.
    pub seed: u64,
    /// The treatment of colour pictures. Resolved configurations of pictures have a value.
    pub colour: Option<Colour>,
    /// The treatment of the slices of a file.
    #[serde(default)]
    pub slices: Slices,
    /// The number of rows and columns that are used in the middle of each picture.
    pub crop: Option<usize>,
    /// The number of patches of each picture; zero for whole pictures. Resolved
    /// configurations have a value.
    pub patches: Option<usize>,
    /// The number of rows and of columns of patches.
    pub patch_size: usize,
    /// The largest number of images.
    pub count: Option<usize>,
    /// The number of rows and columns of built-in pictures, or of samples of built-in signals.
    pub size: usize,
    /// The number of images at the end that are held out for validation; `None` for one in five.
    pub hold_out: Option<usize>,
    /// More images for validation.
    pub validation: Option<PathBuf>,
    /// The file of the blur kernel, or the name of its shape.
    pub kernel: Option<PathBuf>,
    /// What to do about the background of the kernel.
    pub kernel_background: KernelBackground,
    /// A picture that is white where pixels were measured.
    pub mask: Option<PathBuf>,
}

/// The treatment of the slices or pages of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Slices {
    /// Each is a picture of its own.
    #[default]
    Pictures,
    /// Together they are one volume.
    Volume,
}

/// What to do about the background of a kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KernelBackground {
    /// Nothing.
    #[default]
    Keep,
    /// Subtract it.
    Subtract,
}

/// The statement that there are no clean pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoTruth {
    /// There are none.
    None,
}

impl DataConfig {
    /// Returns where the pictures or signals are that are learned from: the clean ones or, without
    /// truth, the measured ones; `None` for built-in images.
    #[must_use]
    pub fn source(&self) -> Option<&Path> {
        let source = match self.truth {
            None => &self.images,
            Some(NoTruth::None) => &self.noisy,
        };
        source.as_deref()
    }

    /// Returns the standard deviation of Gaussian noise.
    #[must_use]
    pub fn sigma(&self) -> Option<f64> {
        self.noise.as_ref()?.sigma()
    }

    /// Returns the camera whose noise the pictures have, if it counts photons.
    #[must_use]
    pub fn camera(&self) -> Option<&Anscombe> {
        self.noise.as_ref()?.camera()
    }
}

impl Config {
    /// Returns the defaults of a task that do not depend on other settings.
    #[must_use]
    pub fn new(task: TaskKind) -> Self {
        Settings::defaults(task)
    }

    /// Returns the learning problem without its data.
    #[must_use]
    pub fn spec(&self) -> Spec {
        let colour = self.data.colour == Some(Colour::Opponent);
        Spec {
            task: self.task,
            model: ModelSpec {
                colour,
                ..self.model.clone()
            },
            objective: self.objective,
            solver: self.solver.clone(),
        }
    }

    /// Fills in missing settings, and checks everything that can be checked without reading a file.
    /// A resolved configuration resolves to itself.
    ///
    /// # Errors
    /// When settings are wrong; see [`ConfigError`].
    pub fn resolve(&self) -> Result<Self, ConfigError> {
        Settings::of(self)?.resolve()
    }

    /// Writes the settings as a TOML file with a comment on each. Reading the file gives a resolved
    /// configuration back.
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
