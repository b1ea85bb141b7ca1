//! The results that figures and claims use.

use std::collections::BTreeMap;

use anyhow::{Context, Result};

use super::data::DataSource;
use super::record::{Mode, RunId, RunRecord, Variant};
use super::setting::Setting;

/// The size of a reproduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReproductionSize {
    /// All figures with reduced budgets, in less than a minute.
    Quick,
    /// The paper's budgets, without the slowest runs on photographs.
    Plain,
    /// The paper's budgets and all runs.
    Full,
}

/// The experiments with their runs and data.
#[derive(Clone, Debug)]
pub struct Results {
    /// The size of the reproduction.
    pub size: ReproductionSize,
    /// The experiments with the budgets that were used, in the order of the paper.
    pub settings: Vec<Setting>,
    /// The finished runs of the selected experiments.
    pub records: BTreeMap<RunId, RunRecord>,
    /// The source of the training data.
    pub source: DataSource,
}

impl Results {
    /// Returns the experiment with this name.
    ///
    /// # Errors
    /// When there is no such experiment.
    pub fn setting(&self, name: &str) -> Result<&Setting> {
        let mut all = self.settings.iter();
        all.find(|setting| setting.name == name)
            .with_context(|| format!("no experiment is called {name}"))
    }

    /// Returns a run, if it was made.
    #[must_use]
    pub fn record(&self, setting: &str, variant: Variant, mode: Mode) -> Option<&RunRecord> {
        self.records.get(&RunId {
            setting: setting.to_owned(),
            variant,
            mode,
        })
    }
}
