//! What the authors' own runs did: the curves of the paper's figures, and where they end.
//!
//! The files in `archive/` say where they are from. Objectives are sums over images.

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

/// A run of the authors. Of runs on photographs only what the paper's Figure 12 draws is known.
///
/// Curves are to be drawn with straight lines. Points between two of the same value are left out.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArchivedRun {
    /// Lower-level iterations of each evaluation, of all images together: those of the first 100
    /// evaluations for the MRI, none for photographs.
    pub lower_iterations: Vec<u64>,
    /// The objective of each of these evaluations.
    pub objectives: Vec<f64>,
    /// The number of an evaluation, from 1, and lower-level iterations after it. Not of all
    /// evaluations for the MRI and photographs.
    pub cumulative: Vec<[f64; 2]>,
    /// Lower-level iterations and the objective: with fixed iterations the least so far, otherwise
    /// the incumbent's at the beginning of an iteration. For the MRI without points within 0.2 %
    /// (iterations) and 0.01 % (objective) of others.
    pub objective: Vec<[f64; 2]>,
    /// Lower-level iterations and the value where the objective was least so far, by the name of
    /// the learned parameter. None for the MRI.
    pub parameters: BTreeMap<String, Vec<[f64; 2]>>,
    /// The objective at the end as the run knew it,
    pub f: f64,
    /// how far off that may be: NaN for photographs,
    #[serde(default = "unknown")]
    pub f_error: f64,
    /// and the objective computed again, all but exactly: NaN for photographs.
    #[serde(default = "unknown")]
    pub f_exact: f64,
    /// What was learned, in the order of the authors' program. For photographs the ends of the
    /// curves `parameters`.
    pub theta: Vec<f64>,
    /// `alpha`, `nu` and `xi`, fixed ones too.
    pub params: BTreeMap<String, f64>,
    /// Lower-level iterations of all images together.
    pub total: u64,
    /// Calls of the residual function.
    pub evaluations: usize,
}

/// A file of runs.
#[derive(Deserialize)]
struct ArchiveFile {
    /// By the names of their variants.
    runs: BTreeMap<String, ArchivedRun>,
}

#[derive(Deserialize)]
struct SweepFile {
    points: Vec<[f64; 3]>,
}

const fn unknown() -> f64 {
    f64::NAN
}

/// The authors' run of a setting, if it is archived.
///
/// # Panics
/// Never: a test reads every file.
#[must_use]
pub fn run(setting: &str, variant: Variant) -> Option<&'static ArchivedRun> {
    static ALL: OnceLock<BTreeMap<&str, ArchiveFile>> = OnceLock::new();
    let all = ALL.get_or_init(|| FILES.map(|(name, text)| (name, parse(text))).into());
    all.get(setting)?.runs.get(variant.name())
}

/// Figure 14 of the paper, from its largest noise to its least: sigma, the learned alpha, and
/// sigma^2/alpha.
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
