//! The authors' own runs: the curves of the paper's figures, and their ends.
//!
//! Each file in `archive/` states its source. Objectives are sums over images.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::Deserialize;

use super::record::Variant;

/// Settings with archived runs.
const FILES: [(&str, &str); 5] = [
    (
        "denoise1_start-2",
        include_str!("../../archive/denoise1_start-2.json"),
    ),
    (
        "denoise1_start0",
        include_str!("../../archive/denoise1_start0.json"),
    ),
    (
        "denoise3_beta1e-6",
        include_str!("../../archive/denoise3_beta1e-6.json"),
    ),
    (
        "kodak_sigma1e-1",
        include_str!("../../archive/kodak_sigma1e-1.json"),
    ),
    ("mri", include_str!("../../archive/mri.json")),
];

const NOISE_SWEEP: &str = include_str!("../../archive/noise_sweep.json");

/// A run of the authors. For photographs only the curves of the paper's Figure 12 are known.
///
/// Curves are polylines. Points between two points of the same value are left out.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArchivedRun {
    /// The lower-level iterations of each evaluation, of all images together. Only the first 100
    /// evaluations for MRI, and none for photographs.
    pub lower_iterations: Vec<u64>,
    /// The objective of each of these evaluations.
    pub objectives: Vec<f64>,
    /// Pairs of the number of an evaluation, from 1, and the lower-level iterations after it. Some
    /// evaluations of MRI and photographs are missing.
    pub cumulative: Vec<[f64; 2]>,
    /// Pairs of lower-level iterations and an objective: the least so far with fixed iterations,
    /// that of the incumbent at the beginning of an iteration with dynamic accuracy. For MRI,
    /// points within 0.2 % (iterations) and 0.01 % (objective) of others are left out.
    pub objective: Vec<[f64; 2]>,
    /// By the name of each learned parameter, pairs of lower-level iterations and the value at the
    /// point of least objective so far. Empty for MRI.
    pub parameters: BTreeMap<String, Vec<[f64; 2]>>,
    /// The objective at the end, as the run computed it.
    pub f: f64,
    /// The bound on the error of `f`; NaN for photographs.
    #[serde(default = "unknown")]
    pub f_error: f64,
    /// The objective at the end, computed again to nine digits; NaN for photographs.
    #[serde(default = "unknown")]
    pub f_exact: f64,
    /// The learned parameters, in the order of the authors' program. For photographs, the ends of
    /// the curves `parameters`.
    pub theta: Vec<f64>,
    /// The values of `alpha`, `nu` and `xi`, including fixed ones.
    pub params: BTreeMap<String, f64>,
    /// The lower-level iterations of all images together.
    pub total: u64,
    /// The number of calls of the residual function.
    pub evaluations: usize,
}

/// A file of runs.
#[derive(Deserialize)]
struct ArchiveFile {
    /// The runs, by the names of their variants.
    runs: BTreeMap<String, ArchivedRun>,
}

#[derive(Deserialize)]
struct SweepFile {
    points: Vec<[f64; 3]>,
}

const fn unknown() -> f64 {
    f64::NAN
}

/// Returns the authors' run of a setting and variant, if it is archived.
///
/// # Panics
/// Never: a test reads every file.
#[must_use]
pub fn run(setting: &str, variant: Variant) -> Option<&'static ArchivedRun> {
    static ALL: OnceLock<BTreeMap<&str, ArchiveFile>> = OnceLock::new();
    let all = ALL.get_or_init(|| FILES.map(|(name, text)| (name, parse(text))).into());
    all.get(setting)?.runs.get(variant.name())
}

/// Returns the points of the paper's Figure 14, from the largest noise to the smallest: sigma, the
/// learned alpha, and sigma^2/alpha.
///
/// # Panics
/// Never: a test reads the file.
#[must_use]
pub fn noise_sweep() -> &'static [[f64; 3]] {
    static POINTS: OnceLock<Vec<[f64; 3]>> = OnceLock::new();
    POINTS.get_or_init(|| parse::<SweepFile>(NOISE_SWEEP).points)
}

fn parse<T: for<'a> Deserialize<'a>>(text: &str) -> T {
    serde_json::from_str(text).expect("a bundled file is as the tests saw it")
}

#[cfg(test)]
mod tests;
