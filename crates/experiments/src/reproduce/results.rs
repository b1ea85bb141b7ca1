//! All that figures and claims are made of.

use std::collections::BTreeMap;

use anyhow::{Context, Result};

use super::data::DataSource;
use super::record::{Mode, RunId, RunRecord, Variant};
use super::setting::Setting;

/// How much is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReproductionSize {
    /// Reduced budgets, in less than a minute.
    Quick,
    /// The paper's scale, without the slowest runs on photographs.
    Plain,
    /// Everything.
    Full,
}

/// Experiments, their runs, and their data.
#[derive(Clone, Debug)]
pub struct Results {
    /// How much was run.
    pub size: ReproductionSize,
    /// Experiments as they were run, in the order of the paper.
    pub settings: Vec<Setting>,
    /// Finished runs; those that were not asked for are missing.
    pub records: BTreeMap<RunId, RunRecord>,
    /// Where data come from.
    pub source: DataSource,
}

impl Results {
    /// The experiment of this name.
    ///
    /// # Errors
    /// When there is none.
    pub fn setting(&self, name: &str) -> Result<&Setting> {
        let mut all = self.settings.iter();
        all.find(|setting| setting.name == name)
            .with_context(|| format!("no experiment is called {name}"))
    }

    /// A run, if it was made.
    #[must_use]
    pub fn record(&self, setting: &str, variant: Variant, mode: Mode) -> Option<&RunRecord> {
        self.records.get(&RunId {
            setting: setting.to_owned(),
            variant,
            mode,
        })
    }
}
