//! The settings of the paper's experiments: one TOML file for each in `settings/`.

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

/// The name and the text of a file.
macro_rules! file {
    ($name:literal) => {
        (
            $name,
            include_str!(concat!("../../settings/", $name, ".toml")),
        )
    };
}

/// All files, in the order of the paper.
const FILES: [(&str, &str); 17] = [
    file!("denoise1_start-2"),
    file!("denoise1_start-1"),
    file!("denoise1_start0"),
    file!("denoise1_start1"),
    file!("denoise1_start2"),
    file!("denoise3_beta1e-8"),
    file!("denoise3_beta1e-6"),
    file!("denoise3_beta1e-4"),
    file!("kodak_sigma1e-1"),
    file!("kodak_sigma1e-2"),
    file!("kodak_sigma1e-3"),
    file!("kodak_sigma1e-4"),
    file!("kodak_sigma1e-5"),
    file!("kodak_sigma1e-6"),
    file!("kodak_sigma1e-7"),
    file!("kodak_sigma1e-8"),
    file!("mri"),
];

/// The settings of an experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setting {
    /// The name of the file, without its ending.
    #[serde(skip_deserializing)]
    pub name: String,
    /// The title for readers.
    pub title: String,
    /// The budget: the number of calls of the residual function.
    pub evaluations: u64,
    /// The final trust-region radius, in units of the bounds.
    pub final_radius: f64,
    /// The reconstructions from which a point is sharpened.
    pub resume: ResumeFrom,
    /// The number of residuals that are always zero.
    pub zero_residuals: usize,
    /// With dynamic accuracy, points with a larger `$L/\mu$` count as points that cannot be
    /// evaluated. A long step to the corner of the bounds can lead to `$10^{15}$`, where FISTA
    /// would need years. All known points of archived runs are below this limit.
    pub max_condition_number: f64,
    /// The training data.
    pub data: DataSpec,
    /// The parameters of the total variation, in the order of the authors' program.
    #[serde(default)]
    pub parameters: Vec<TvParameter>,
    /// The sampling weights.
    pub sampling: Option<SamplingSetting>,
    /// The penalty that is added to the objective.
    pub penalty: PenaltySetting,
    /// The numbers of iterations of the variants with low and with high accuracy.
    pub iterations: PerMethod<[u64; 2]>,
    /// The expected iterations of the dynamic variants, from which the duration is estimated.
    pub expected: PerMethod<u64>,
    /// The budget of `--quick`.
    pub quick: QuickBudget,
}

/// The reconstructions from which a point is sharpened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResumeFrom {
    /// The last reconstructions, of any point.
    Last,
    /// The reconstructions of the same point.
    Own,
}

/// The training data of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataSpec {
    /// The kind of images.
    pub kind: DataKind,
    /// The number of images.
    pub images: usize,
    /// The number of pixels in a row.
    pub pixels: usize,
    /// The standard deviation of the noise.
    pub sigma: f64,
}

/// The kind of images.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DataKind {
    /// Box functions.
    Signals,
    /// Centres of photographs.
    Photographs,
    /// Fourier coefficients of box functions.
    Frequencies,
}

/// The parameter `$\alpha$`, `$\nu$` or `$\xi$`, which is learned or fixed. The start and the
/// bounds of a learned parameter are those of its decimal logarithm.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TvParameter {
    /// The name: `alpha`, `nu` or `xi`.
    pub name: String,
    /// The value of a fixed parameter; `None` if it is learned.
    pub fixed: Option<f64>,
    /// The start of the logarithm.
    #[serde(default)]
    pub start: f64,
    /// The lower bound of the logarithm.
    #[serde(default)]
    pub lower: f64,
    /// The upper bound of the logarithm.
    #[serde(default)]
    pub upper: f64,
}

/// Sampling weights with the same start and bounds, and a fixed total variation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SamplingSetting {
    /// The start of each `$\theta_j$`.
    pub start: f64,
    /// The lower bound of each `$\theta_j$`.
    pub lower: f64,
    /// The upper bound of each `$\theta_j$`.
    pub upper: f64,
    /// The regularisation weight `$\alpha$`.
    pub alpha: f64,
    /// The smoothing `$\nu$`.
    pub nu: f64,
    /// The quadratic weight `$\xi$`.
    pub xi: f64,
}

/// The penalty that is added to the objective.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum PenaltySetting {
    /// No penalty.
    None,
    /// The penalty `$\beta (L/\mu)^2$`.
    ConditionNumber {
        /// The weight `$\beta$`.
        weight: f64,
    },
    /// The penalty `$\beta \|\theta\|_1$`.
    RootL1 {
        /// The weight `$\beta$`.
        weight: f64,
    },
}

/// One value for each lower-level method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PerMethod<T> {
    /// The value for gradient descent.
    pub gd: T,
    /// The value for FISTA.
    pub fista: T,
}

/// The settings that `--quick` changes; `None` leaves a setting unchanged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QuickBudget {
    evaluations: Option<u64>,
    images: Option<usize>,
    pixels: Option<usize>,
}

impl Setting {
    /// Returns the settings of all experiments, in the order of the paper.
    ///
    /// # Errors
    /// When a file cannot be parsed.
    pub fn all() -> Result<Vec<Self>> {
        let read = |(name, text): &(&str, &str)| -> Result<Self> {
            let setting: Self =
                toml::from_str(text).with_context(|| format!("settings/{name}.toml"))?;
            Ok(Self {
                name: (*name).to_owned(),
                ..setting
            })
        };
        FILES.iter().map(read).collect()
    }

    /// Returns the settings with the budget of `--quick`.
    #[must_use]
    pub fn quick(mut self) -> Self {
        let quick = self.quick;
        self.evaluations = quick.evaluations.unwrap_or(self.evaluations);
        self.data.images = quick.images.unwrap_or(self.data.images);
        self.data.pixels = quick.pixels.unwrap_or(self.data.pixels);
        self
    }

    /// Returns the names of the learned parameters, in the order of the authors' program.
    #[must_use]
    pub fn learned(&self) -> Vec<String> {
        if self.sampling.is_some() {
            return (0..self.data.pixels)
                .map(|j| format!("theta[{j}]"))
                .collect();
        }
        let learned = self.parameters.iter().filter(|p| p.fixed.is_none());
        learned.map(|p| p.name.clone()).collect()
    }
}
