//! What a run did: every evaluation, every iteration, and how it ended. One JSON lines file for
//! each run.

use std::collections::BTreeMap;
use std::fmt;

use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::setting::Setting;

/// Which run: an experiment, a way to reconstruct, and an algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RunId {
    /// The name of the [`Setting`].
    pub setting: String,
    /// How reconstructions are computed.
    pub variant: Variant,
    /// Whose algorithm learns.
    pub mode: Mode,
}

/// How reconstructions are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Variant {
    /// By which method.
    pub method: PaperMethod,
    /// How accurately.
    pub effort: Effort,
}

/// Gradient descent or FISTA.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PaperMethod {
    /// Gradient descent.
    Gd,
    /// FISTA.
    Fista,
}

/// How accurately images are reconstructed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effort {
    /// Few iterations.
    Low,
    /// Many iterations.
    High,
    /// As accurately as the solver asks for.
    Dynamic,
}

/// Whose algorithm learns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// The authors', counted as they count.
    Faithful,
    /// Ours, with its defaults.
    Ours,
}

impl Variant {
    /// In the order of the paper's legends.
    pub const ALL: [Self; 6] = [
        Self::new(PaperMethod::Gd, Effort::Low),
        Self::new(PaperMethod::Gd, Effort::High),
        Self::new(PaperMethod::Gd, Effort::Dynamic),
        Self::new(PaperMethod::Fista, Effort::Low),
        Self::new(PaperMethod::Fista, Effort::High),
        Self::new(PaperMethod::Fista, Effort::Dynamic),
    ];

    /// A variant.
    #[must_use]
    pub const fn new(method: PaperMethod, effort: Effort) -> Self {
        Self { method, effort }
    }

    /// Iterations for each image, unless they depend on the accuracy asked for.
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

    /// As in the names of files: `gd_dynamic`, `fista_low`.
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

    /// As in the paper's legends: "GD 1,000", "Dynamic FISTA".
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
    /// As in the names of files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Faithful => "faithful",
            Self::Ours => "ours",
        }
    }
}

/// As in the names of files: `mri.gd_dynamic.ours`.
impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (variant, mode) = (self.variant.name(), self.mode.name());
        write!(f, "{}.{variant}.{mode}", self.setting)
    }
}

/// A finished run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunRecord {
    /// Which.
    pub id: RunId,
    /// Names of the learned parameters, in the order of `theta` everywhere in the record.
    pub names: Vec<String>,
    /// Every call of the residual function, in their order.
    pub evaluations: Vec<Evaluation>,
    /// Every iteration of the solver that was not spent on re-evaluating its incumbent.
    pub iterates: Vec<Iterate>,
    /// How it ended.
    pub outcome: RunOutcome,
}

/// One call of the residual function.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    /// Where.
    pub theta: Vec<f64>,
    /// The objective, a sum over images plus penalties. Infinite where it could not be computed.
    #[serde(with = "finite_or_null")]
    pub f: f64,
    /// How far from the exact objective it may be, as the figures shade it: with fixed iterations
    /// from the gradients, otherwise from the accuracy asked for (`faithful`) or achieved (`ours`).
    #[serde(with = "finite_or_null")]
    pub f_error: f64,
    /// How far from the exact one the reconstruction of each image may be: as above.
    #[serde(with = "finite_or_null")]
    pub delta: f64,
    /// Whether a known point was made more accurate.
    pub again: bool,
    /// Iterations of all images together.
    pub lower_iterations: u64,
    /// Gradients of all images together.
    pub gradients: u64,
}

/// The solver when an iteration begins, its incumbent as accurate as the iteration needs it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Iterate {
    /// The incumbent.
    pub theta: Vec<f64>,
    /// Its objective,
    #[serde(with = "finite_or_null")]
    pub f: f64,
    /// and how far off that may be.
    #[serde(with = "finite_or_null")]
    pub f_error: f64,
    /// Evaluations made before.
    pub evaluations: usize,
    /// Lower-level iterations made before, of all images together.
    pub lower_iterations: u64,
    /// The trust region's radius after the iteration.
    pub radius: f64,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunOutcome {
    /// What was learned,
    pub theta: Vec<f64>,
    /// and the values of the parameters, fixed ones too.
    pub params: BTreeMap<String, f64>,
    /// The objective there as the run knows it,
    pub f: f64,
    /// how far off that may be,
    #[serde(with = "finite_or_null")]
    pub f_error: f64,
    /// and the objective computed again, to nine digits.
    pub f_exact: f64,
    /// Mean PSNR of the reconstructions there.
    pub psnr: f64,
    /// How long it took.
    pub seconds: f64,
    /// Why it ended.
    pub termination: String,
}

impl RunRecord {
    /// Lower-level iterations after each evaluation, of all images together.
    #[must_use]
    pub fn cumulative_iterations(&self) -> Vec<u64> {
        let mut sum = 0;
        let add = |evaluation: &Evaluation| {
            sum += evaluation.lower_iterations;
            sum
        };
        self.evaluations.iter().map(add).collect()
    }

    /// Lower-level iterations of all images together.
    #[must_use]
    pub fn lower_iterations(&self) -> u64 {
        self.evaluations.iter().map(|e| e.lower_iterations).sum()
    }

    /// Gradients of all images together.
    #[must_use]
    pub fn gradients(&self) -> u64 {
        self.evaluations.iter().map(|e| e.gradients).sum()
    }
}

/// A line of a file.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RecordLine {
    Run {
        id: RunId,
        /// Identifies settings, data and code.
        key: String,
        names: Vec<String>,
    },
    Evaluation(Evaluation),
    Iterate(Iterate),
    Outcome(RunOutcome),
    /// The checksum of all lines before.
    End(String),
}

impl RunRecord {
    /// The text of a file, under a key that identifies settings, data and code.
    ///
    /// # Panics
    /// Never: records can be written as JSON.
    #[must_use]
    pub fn to_lines(&self, key: &str) -> String {
        let json = |line: &RecordLine| serde_json::to_string(line).expect("a line is JSON") + "\n";
        let header = RecordLine::Run {
            id: self.id.clone(),
            key: key.to_owned(),
            names: self.names.clone(),
        };
        let evaluations = self.evaluations.iter().cloned().map(RecordLine::Evaluation);
        let iterates = self.iterates.iter().cloned().map(RecordLine::Iterate);
        let outcome = RecordLine::Outcome(self.outcome.clone());
        let mut text = String::new();
        for line in [header]
            .into_iter()
            .chain(evaluations)
            .chain(iterates)
            .chain([outcome])
        {
            text.push_str(&json(&line));
        }
        let end = json(&RecordLine::End(checksum(text.as_bytes())));
        text + &end
    }

    /// The record in a file, and its key.
    ///
    /// # Errors
    /// When the text is not what [`to_lines`](Self::to_lines) made.
    pub fn from_lines(text: &str) -> Result<(Self, String)> {
        let mut lines = text.lines().enumerate().map(|(number, line)| {
            let parsed = serde_json::from_str(line);
            parsed.with_context(|| format!("line {} is no part of a record", number + 1))
        });
        let Some(RecordLine::Run { id, key, names }) = lines.next().transpose()? else {
            bail!("the first line is not the header of a record");
        };
        let (mut evaluations, mut iterates) = (Vec::new(), Vec::new());
        let outcome = loop {
            match lines.next().transpose()? {
                Some(RecordLine::Evaluation(evaluation)) => evaluations.push(evaluation),
                Some(RecordLine::Iterate(iterate)) => iterates.push(iterate),
                Some(RecordLine::Outcome(outcome)) => break outcome,
                _ => bail!("the record has no end"),
            }
        };
        let Some(RecordLine::End(expected)) = lines.next().transpose()? else {
            bail!("the record has no checksum");
        };
        let body = text
            .trim_end()
            .rsplit_once('\n')
            .map_or(0, |(body, _)| body.len() + 1);
        ensure!(
            checksum(&text.as_bytes()[..body]) == expected && lines.next().is_none(),
            "the record was changed"
        );
        let record = Self {
            id,
            names,
            evaluations,
            iterates,
            outcome,
        };
        Ok((record, key))
    }
}

/// SHA-256, in hexadecimal.
pub(crate) fn checksum(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// JSON has no infinity.
mod finite_or_null {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(value: &f64, to: S) -> Result<S::Ok, S::Error> {
        value.is_finite().then_some(*value).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
        Ok(Option::deserialize(from)?.unwrap_or(f64::INFINITY))
    }
}
