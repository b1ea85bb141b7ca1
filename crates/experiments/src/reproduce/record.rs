//! The record of a run: all evaluations, all iterations, and the outcome. Each run has one file.

use std::collections::BTreeMap;
use std::fmt;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::setting::Setting;

/// The identity of a run: an experiment, a way to reconstruct images, and an algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RunId {
    /// The name of the [`Setting`].
    pub setting: String,
    /// How images are reconstructed.
    pub variant: Variant,
    /// The algorithm that learns.
    pub mode: Mode,
}

/// One of the paper's six ways to reconstruct images.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Variant {
    /// The method of reconstruction.
    pub method: PaperMethod,
    /// The accuracy of reconstructions.
    pub effort: Effort,
}

/// A lower-level method of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PaperMethod {
    /// Gradient descent.
    Gd,
    /// FISTA.
    Fista,
}

/// The accuracy of reconstructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effort {
    /// A small, fixed number of iterations.
    Low,
    /// A large, fixed number of iterations.
    High,
    /// The accuracy that the solver asks for.
    Dynamic,
}

/// The algorithm that learns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// The authors' algorithm, counting iterations as they do.
    Faithful,
    /// Our algorithm with its defaults.
    Ours,
}

impl Variant {
    /// All variants, in the order of the paper's legends.
    pub const ALL: [Self; 6] = [
        Self::new(PaperMethod::Gd, Effort::Low),
        Self::new(PaperMethod::Gd, Effort::High),
        Self::new(PaperMethod::Gd, Effort::Dynamic),
        Self::new(PaperMethod::Fista, Effort::Low),
        Self::new(PaperMethod::Fista, Effort::High),
        Self::new(PaperMethod::Fista, Effort::Dynamic),
    ];

    /// Returns a variant.
    #[must_use]
    pub const fn new(method: PaperMethod, effort: Effort) -> Self {
        Self { method, effort }
    }

    /// Returns the number of iterations per image; `None` for dynamic accuracy.
    #[must_use]
    pub const fn iterations(self, setting: &Setting) -> Option<u64> {
        let [low, high] = match self.method {
            PaperMethod::Gd => setting.iterations.gd,
            PaperMethod::Fista => setting.iterations.fista,
        };
        match self.effort {
            Effort::Low => Some(low),
            Effort::High => Some(high),
            Effort::Dynamic => None,
        }
    }

    /// Returns the name in files: `gd_dynamic`, `fista_low`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match (self.method, self.effort) {
            (PaperMethod::Gd, Effort::Low) => "gd_low",
            (PaperMethod::Gd, Effort::High) => "gd_high",
            (PaperMethod::Gd, Effort::Dynamic) => "gd_dynamic",
            (PaperMethod::Fista, Effort::Low) => "fista_low",
            (PaperMethod::Fista, Effort::High) => "fista_high",
            (PaperMethod::Fista, Effort::Dynamic) => "fista_dynamic",
        }
    }

    /// Returns the label in the paper's legends: "GD 1,000", "Dynamic FISTA".
    #[must_use]
    pub fn label(self, setting: &Setting) -> String {
        let method = match self.method {
            PaperMethod::Gd => "GD",
            PaperMethod::Fista => "FISTA",
        };
        match self.iterations(setting) {
            None => format!("Dynamic {method}"),
            Some(k) if k >= 1000 => format!("{method} {},{:03}", k / 1000, k % 1000),
            Some(k) => format!("{method} {k}"),
        }
    }
}

impl Mode {
    /// Returns the name in files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Faithful => "faithful",
            Self::Ours => "ours",
        }
    }
}

/// Writes the name in files: `mri.gd_dynamic.ours`.
impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (variant, mode) = (self.variant.name(), self.mode.name());
        write!(f, "{}.{variant}.{mode}", self.setting)
    }
}

/// A finished run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// The identity of the run.
    pub id: RunId,
    /// The names of the learned parameters, in the order of every `theta` in the record.
    pub names: Vec<String>,
    /// All calls of the residual function, in the order in which they were made.
    pub evaluations: Vec<Evaluation>,
    /// The state of the solver at the beginning of every iteration that computes a step, and at the
    /// end of the run.
    pub iterates: Vec<Iterate>,
    /// The result of the run.
    pub outcome: RunOutcome,
}

/// One call of the residual function.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    /// The parameters.
    pub theta: Vec<f64>,
    /// The objective, a sum over images plus penalties. Infinite if it cannot be computed.
    #[serde(with = "finite_or_null")]
    pub f: f64,
    /// The bound on the error of `f`, which figures show by shading. It comes from the gradients
    /// with fixed iterations; with dynamic accuracy, from the target (`faithful`) or the achieved
    /// (`ours`) accuracy.
    #[serde(with = "finite_or_null")]
    pub f_error: f64,
    /// The bound on the error of each reconstruction, from the same source as `f_error`.
    #[serde(with = "finite_or_null")]
    pub delta: f64,
    /// Whether the evaluation sharpened a known point.
    pub again: bool,
    /// The lower-level iterations of all images together.
    pub lower_iterations: u64,
    /// The gradients of all images together.
    pub gradients: u64,
}

/// The state of the solver at the beginning of an iteration, after the incumbent was sharpened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Iterate {
    /// The incumbent.
    pub theta: Vec<f64>,
    /// The objective of the incumbent.
    #[serde(with = "finite_or_null")]
    pub f: f64,
    /// The bound on the error of `f`.
    #[serde(with = "finite_or_null")]
    pub f_error: f64,
    /// The number of evaluations before the iteration.
    pub evaluations: usize,
    /// The lower-level iterations before the iteration, of all images together.
    pub lower_iterations: u64,
    /// The trust-region radius after the iteration.
    pub radius: f64,
}

/// The result of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunOutcome {
    /// The learned parameters.
    pub theta: Vec<f64>,
    /// The values of all parameters, including fixed ones.
    pub params: BTreeMap<String, f64>,
    /// The objective at `theta` as the run computed it.
    pub f: f64,
    /// The bound on the error of `f`.
    #[serde(with = "finite_or_null")]
    pub f_error: f64,
    /// The objective at `theta`, computed again to nine digits.
    pub f_exact: f64,
    /// The mean PSNR of the reconstructions at `theta`.
    pub psnr: f64,
    /// The duration of the run in seconds.
    pub seconds: f64,
    /// The reason why the run ended.
    pub termination: String,
}

impl RunRecord {
    /// Returns the lower-level iterations after each evaluation, of all images together.
    #[must_use]
    pub fn cumulative_iterations(&self) -> Vec<u64> {
        let mut sum = 0;
        let add = |evaluation: &Evaluation| {
            sum += evaluation.lower_iterations;
            sum
        };
        self.evaluations.iter().map(add).collect()
    }

    /// Returns the lower-level iterations of all images together.
    #[must_use]
    pub fn lower_iterations(&self) -> u64 {
        self.evaluations.iter().map(|e| e.lower_iterations).sum()
    }

    /// Returns the gradients of all images together.
    #[must_use]
    pub fn gradients(&self) -> u64 {
        self.evaluations.iter().map(|e| e.gradients).sum()
    }
}

/// The file of a record.
#[derive(Serialize, Deserialize)]
struct RecordFile {
    /// A hash of settings, data and code.
    key: String,
    /// The checksum of the record as JSON.
    checksum: String,
    record: RunRecord,
}

impl RunRecord {
    /// Returns the text of the record's file. The key is a hash of settings, data and code.
    ///
    /// # Panics
    /// Never: records can be written as JSON.
    #[must_use]
    pub fn to_json(&self, key: &str) -> String {
        let file = RecordFile {
            key: key.to_owned(),
            checksum: self.checksum(),
            record: self.clone(),
        };
        serde_json::to_string(&file).expect("a record is JSON") + "\n"
    }

    /// Returns the record in a file, and its key.
    ///
    /// # Errors
    /// When the text was not written by [`to_json`](Self::to_json), or was changed.
    pub fn from_json(text: &str) -> Result<(Self, String)> {
        let file: RecordFile = serde_json::from_str(text).context("it is no whole record")?;
        ensure!(
            file.record.checksum() == file.checksum,
            "the checksum differs: the record was changed"
        );
        Ok((file.record, file.key))
    }

    fn checksum(&self) -> String {
        checksum(&serde_json::to_vec(self).expect("a record is JSON"))
    }
}

/// Returns the SHA-256 in hexadecimal.
pub(crate) fn checksum(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Serialisation of infinity as null, because JSON has no infinity.
mod finite_or_null {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(value: &f64, to: S) -> Result<S::Ok, S::Error> {
        value.is_finite().then_some(*value).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
        Ok(Option::deserialize(from)?.unwrap_or(f64::INFINITY))
    }
}
