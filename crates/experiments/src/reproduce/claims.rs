//! Claims: statements of the paper and facts about its archived runs, each with a verdict from the
//! runs made here.
//!
//! A claim holds, does not hold, or is not checked; a claim that is not checked states the reason.
//! The paper's own archived runs contradict some of its statements. These are checked too, but are
//! not expected to hold. Comparisons are written so that NaN fails them.

mod agreement;
mod bounds;
mod data;
pub mod headline;
mod measure;
mod one_parameter;
mod photographs;
mod sampling;
mod three_parameters;
mod truth;

#[cfg(test)]
mod tests;

use serde::Serialize;

use super::record::{Mode, RunRecord, Variant};
use super::results::Results;
use super::setting::Setting;

pub use bounds::Convergence;

/// A statement, and whether it holds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Claim {
    /// The identifier of the claim.
    pub id: String,
    /// The part of the paper that the claim belongs to.
    pub topic: Topic,
    /// The paper's figures that show it.
    pub figures: Vec<u32>,
    /// The statement.
    pub text: String,
    /// Whether the claim holds. `None` if it was not checked; `measured` states the reason.
    pub holds: Option<bool>,
    /// The measured numbers.
    pub measured: String,
    /// The expected numbers.
    pub expected: String,
    /// The source of the expected numbers.
    pub source: String,
    /// Whether the claim should hold: `false` if the archived runs contradict it or do not tell.
    pub expected_to_hold: bool,
}

/// The part of the paper that a claim belongs to, in the order of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Topic {
    /// Data, error bounds, and statements about all runs.
    Foundations,
    /// Denoising signals, one parameter.
    OneParameter,
    /// Denoising signals, three parameters.
    ThreeParameters,
    /// Denoising photographs.
    Photographs,
    /// Sampling patterns.
    Sampling,
    /// The speed-up by dynamic accuracy.
    Headline,
}

/// Whether the claim holds and the measured numbers, or the reason why it cannot be checked.
type Verdict = Result<(bool, String), String>;

/// Checks all claims, in the order of the paper. `bounds` are the four panels of Figure 3.
#[must_use]
pub fn check(results: &Results, bounds: &[Convergence]) -> Vec<Claim> {
    let mut claims = data::claims(results);
    claims.extend(bounds::claims(bounds));
    claims.extend(truth::claims(results));
    claims.extend(one_parameter::claims(results));
    claims.extend(three_parameters::claims(results));
    claims.extend(photographs::claims(results));
    claims.extend(sampling::claims(results));
    claims.extend(agreement::claims(results));
    claims.extend(headline::claims(results));
    claims.sort_by_key(|claim| claim.topic);
    claims
}

/// Returns the claims that should hold and do not.
#[must_use]
pub fn failed(claims: &[Claim]) -> Vec<&Claim> {
    let is_failed = |claim: &&Claim| claim.expected_to_hold && claim.holds == Some(false);
    claims.iter().filter(is_failed).collect()
}

impl Claim {
    fn new(topic: Topic, id: &str, figures: &[u32], text: impl Into<String>) -> Self {
        Self {
            id: id.to_owned(),
            topic,
            figures: figures.to_vec(),
            text: text.into(),
            holds: None,
            measured: String::new(),
            expected: String::new(),
            source: String::new(),
            expected_to_hold: true,
        }
    }

    fn expected(mut self, expected: impl Into<String>, source: impl Into<String>) -> Self {
        (self.expected, self.source) = (expected.into(), source.into());
        self
    }

    /// Marks a claim that the archived runs contradict or do not tell about.
    const fn doubtful(mut self) -> Self {
        self.expected_to_hold = false;
        self
    }

    fn verdict(mut self, verdict: Verdict) -> Self {
        (self.holds, self.measured) = match verdict {
            Ok((holds, measured)) => (Some(holds), measured),
            Err(reason) => (None, format!("not checked: {reason}")),
        };
        self
    }
}

/// Returns a run, or the message that it was not made.
fn run<'a>(
    results: &'a Results,
    setting: &str,
    variant: Variant,
    mode: Mode,
) -> Result<&'a RunRecord, String> {
    let missing = || {
        let (variant, mode) = (variant.name(), mode.name());
        format!("the run {setting}.{variant}.{mode} was not made")
    };
    results.record(setting, variant, mode).ok_or_else(missing)
}

/// Returns those runs of these variants that were made.
fn made<'a>(
    results: &'a Results,
    setting: &str,
    variants: &[Variant],
    mode: Mode,
) -> Vec<&'a RunRecord> {
    let one = |variant: &Variant| results.record(setting, *variant, mode);
    variants.iter().filter_map(one).collect()
}

/// Returns the experiment if it was run at the paper's scale.
fn full_scale<'a>(results: &'a Results, name: &str) -> Result<&'a Setting, String> {
    let setting = results.setting(name).map_err(|error| error.to_string())?;
    let all = Setting::all().map_err(|error| error.to_string())?;
    let paper = all.iter().find(|paper| paper.name == name);
    let is_same =
        |paper: &Setting| paper.evaluations == setting.evaluations && paper.data == setting.data;
    if paper.is_some_and(is_same) {
        Ok(setting)
    } else {
        Err(format!(
            "{name} was run with reduced budgets, which cannot decide this claim"
        ))
    }
}

/// Checks that the data are the authors'.
fn authors_data(results: &Results) -> Result<(), String> {
    match results.source.seed {
        None => Ok(()),
        Some(seed) => Err(format!(
            "the data are random, from seed {seed}, not the authors'"
        )),
    }
}

/// Checks that data and photographs are the authors'.
fn authors_photographs(results: &Results) -> Result<(), String> {
    authors_data(results)?;
    match results.source.kodak {
        Some(_) => Ok(()),
        None => Err("images of dead leaves replace the authors' photographs".to_owned()),
    }
}
