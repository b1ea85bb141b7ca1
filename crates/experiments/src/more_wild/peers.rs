//! Archived runs of other solvers.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use dfo_ls::testing::MoreWild;
use serde_json::Value;

use super::score::{ProblemScore, SolverScores, TAU_NAMES, TAUS};

/// The scores of other solvers, by variant.
#[derive(Clone, Debug, Default)]
pub(super) struct PeerArchive {
    variants: Vec<(String, Vec<SolverScores>)>,
}

impl PeerArchive {
    pub(super) fn read(path: &Path) -> Result<Self> {
        let text =
            fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        Self::parse(&text).with_context(|| format!("{} is not an archive of runs", path.display()))
    }

    /// Parses
    /// `{"peers": {variant: {solver: [{"problem": .., "evaluations_to": {tau: .. or null}}]}}}`.
    fn parse(text: &str) -> Result<Self> {
        let root: Value = serde_json::from_str(text)?;
        let peers = root["peers"]
            .as_object()
            .context("the object `peers` is missing")?;
        let mut variants = Vec::new();
        for (variant, solvers) in peers {
            let solvers = solvers
                .as_object()
                .with_context(|| format!("`{variant}` is not an object of solvers"))?;
            let scores = solvers.iter().map(|(solver, rows)| {
                scores(solver, rows).with_context(|| format!("`{variant}`, `{solver}`"))
            });
            variants.push((variant.clone(), scores.collect::<Result<_>>()?));
        }
        Ok(Self { variants })
    }

    /// Returns the names of all solvers of all variants, sorted.
    pub(super) fn solvers(&self) -> Vec<&str> {
        let scores = self.variants.iter().flat_map(|(_, scores)| scores);
        let mut solvers: Vec<&str> = scores.map(|scores| scores.solver.as_str()).collect();
        solvers.sort_unstable();
        solvers.dedup();
        solvers
    }

    /// Returns the scores of all solvers of a variant, on these problems only.
    pub(super) fn scores(&self, variant: &str, problems: &[MoreWild]) -> Vec<SolverScores> {
        let known = self.variants.iter().find(|(name, _)| name == variant);
        let solvers = known.map_or(&[][..], |(_, solvers)| solvers);
        let chosen = |scores: &SolverScores| {
            let entries = scores.entries.iter();
            let entries = entries.filter(|entry| problems.contains(&entry.problem));
            SolverScores {
                solver: scores.solver.clone(),
                entries: entries.cloned().collect(),
            }
        };
        solvers.iter().map(chosen).collect()
    }
}

fn scores(solver: &str, rows: &Value) -> Result<SolverScores> {
    let rows = rows.as_array().context("the runs are not a list")?;
    let entries = rows.iter().map(entry).collect::<Result<_>>()?;
    Ok(SolverScores {
        solver: solver.to_owned(),
        entries,
    })
}

fn entry(row: &Value) -> Result<ProblemScore> {
    let number = row["problem"].as_u64().context("a run has no `problem`")?;
    let problem = usize::try_from(number).ok().and_then(MoreWild::new);
    let problem = problem.with_context(|| format!("there is no problem {number}"))?;
    let counts = row["evaluations_to"]
        .as_object()
        .with_context(|| format!("problem {number} has no `evaluations_to`"))?;
    let mut evaluations_to = [None; 4];
    for ((slot, tau), name) in evaluations_to.iter_mut().zip(TAUS).zip(TAU_NAMES) {
        // The archive may write 1e-3 as 0.001.
        let is_tau = |key: &str| {
            key.parse()
                .is_ok_and(|key: f64| (key / tau - 1.0).abs() < 1e-9)
        };
        let mut counts = counts.iter();
        let (_, count) = counts
            .find(|(key, _)| is_tau(key))
            .with_context(|| format!("problem {number} has no evaluations to {name}"))?;
        *slot = count.as_u64();
        ensure!(
            slot.is_some() || count.is_null(),
            "problem {number}: {count} is not a number of evaluations"
        );
    }
    Ok(ProblemScore {
        problem,
        evaluations_to,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archive(row: &str) -> Result<PeerArchive> {
        PeerArchive::parse(&format!(
            "{{\"peers\": {{\"smooth\": {{\"a\": [{row}]}}}}}}"
        ))
    }

    #[test]
    fn numbers_of_the_archive_are_read_in_any_spelling() {
        let row = r#"{
            "problem": 6,
            "evaluations_to": {"0.1": 3, "0.001": 14, "1e-05": null, "1e-7": null}
        }"#;
        let archive = archive(row).unwrap();
        let all: Vec<MoreWild> = MoreWild::all().collect();
        let scores = archive.scores("smooth", &all);
        assert_eq!(scores[0].solver, "a");
        assert_eq!(archive.solvers(), ["a"]);
        let expected = [Some(3), Some(14), None, None];
        assert_eq!(scores[0].entries[0].evaluations_to, expected);
        assert!(archive.scores("smooth", &all[..6])[0].entries.is_empty());
        assert!(archive.scores("other", &all).is_empty());
    }

    #[test]
    fn what_is_wrong_is_named() {
        let message = |row| format!("{:#}", archive(row).unwrap_err());
        assert!(message(r#"{"problem": 53}"#).contains("53"));
        assert!(message(r#"{"problem": 3, "evaluations_to": {}}"#).contains("1e-1"));
        let bad = r#"{"problem": 3, "evaluations_to": {"0.1": -1}}"#;
        assert!(message(bad).contains("-1"));
        assert!(
            PeerArchive::parse("{}")
                .unwrap_err()
                .to_string()
                .contains("peers")
        );
        let missing = PeerArchive::read(Path::new("not/there.json")).unwrap_err();
        assert!(missing.to_string().contains("not/there.json"));
    }
}
