//! What is learned from which data: one TOML file for each experiment of the paper, in `settings/`.

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

/// A file and its name.
macro_rules! file {
    ($name:literal) => {
        (
            $name,
            include_str!(concat!("../../settings/", $name, ".toml")),
        )
    };
}

/// In the order of the paper.
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

/// An experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setting {
    /// The name of its file.
    #[serde(skip_deserializing)]
    pub name: String,
    /// What people call it.
    pub title: String,
    /// Calls of the residual function.
    pub evaluations: u64,
    /// Of the trust region, in units of the bounds.
    pub final_radius: f64,
    /// Where a known point is evaluated more accurately from.
    pub resume: ResumeFrom,
    /// Residuals that are always zero.
    pub zero_residuals: usize,
    /// With dynamic accuracy, points where `$L/\mu$` is larger count as points that cannot be
    /// evaluated: a long step to the corner of the bounds can lead to `$10^{15}$`, where FISTA
    /// would need years. Archived runs of which every point is known stay below.
    pub max_condition_number: f64,
    /// What is learned from.
    pub data: DataSpec,
    /// Parameters of the total variation, in the order of the authors' program.
    #[serde(default)]
    pub parameters: Vec<TvParameter>,
    /// Sampling weights.
    pub sampling: Option<SamplingSetting>,
    /// What is added to the objective.
    pub penalty: PenaltySetting,
    /// Of the variants with low and with high accuracy.
    pub iterations: PerMethod<[u64; 2]>,
    /// Iterations of the dynamic variants, about.
    pub expected: PerMethod<u64>,
    /// What `--quick` changes.
    pub quick: QuickBudget,
}

/// Where a known point is evaluated more accurately from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResumeFrom {
    /// The last reconstructions, of whatever point.
    Last,
    /// Its own reconstructions.
    Own,
}

/// What is learned from.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataSpec {
    /// Of what kind.
    pub kind: DataKind,
    /// How many.
    pub images: usize,
    /// In a row.
    pub pixels: usize,
    /// The standard deviation of the noise.
    pub sigma: f64,
}

/// What images are.
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

/// `$\alpha$`, `$\nu$` or `$\xi$`: learned, from the start and within the bounds of its logarithm,
/// or fixed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TvParameter {
    /// Which.
    pub name: String,
    /// Its value, unless it is learned.
    pub fixed: Option<f64>,
    /// Where its logarithm begins,
    #[serde(default)]
    pub start: f64,
    /// the least,
    #[serde(default)]
    pub lower: f64,
    /// and the largest.
    #[serde(default)]
    pub upper: f64,
}

/// Sampling weights: all begin alike, within the same bounds, and the total variation is fixed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SamplingSetting {
    /// Where each `$\theta_j$` begins,
    pub start: f64,
    /// the least,
    pub lower: f64,
    /// and the largest.
    pub upper: f64,
    /// `$\alpha$`
    pub alpha: f64,
    /// `$\nu$`
    pub nu: f64,
    /// `$\xi$`
    pub xi: f64,
}

/// What is added to the objective.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum PenaltySetting {
    /// Nothing.
    None,
    /// `$\beta (L/\mu)^2$`.
    ConditionNumber {
        /// `$\beta$`
        weight: f64,
    },
    /// `$\beta \|\theta\|_1$`.
    RootL1 {
        /// `$\beta$`
        weight: f64,
    },
}

/// One for each method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PerMethod<T> {
    /// Of gradient descent.
    pub gd: T,
    /// Of FISTA.
    pub fista: T,
}

/// What `--quick` changes; nothing where nothing is given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QuickBudget {
    evaluations: Option<u64>,
    images: Option<usize>,
    pixels: Option<usize>,
}

impl Setting {
    /// All experiments, in the order of the paper.
    ///
    /// # Errors
    /// When a file is wrong.
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

    /// The same with less of everything.
    #[must_use]
    pub fn quick(mut self) -> Self {
        let quick = self.quick;
        self.evaluations = quick.evaluations.unwrap_or(self.evaluations);
        self.data.images = quick.images.unwrap_or(self.data.images);
        self.data.pixels = quick.pixels.unwrap_or(self.data.pixels);
        self
    }

    /// Names of what is learned, in the order of the authors' program.
    #[must_use]
    pub fn learned(&self) -> Vec<String> {
        if self.sampling.is_some() {
            return (0..self.data.pixels).map(|j| format!("s{j}")).collect();
        }
        let learned = self.parameters.iter().filter(|p| p.fixed.is_none());
        learned.map(|p| p.name.clone()).collect()
    }
}
