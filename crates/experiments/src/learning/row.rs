//! The results of `learning` as rows of a table and of a file.

use std::io::Write;

use anyhow::Result;
use serde_json::{Value, json};

use super::reach::{Reached, SHARES};

/// The result of one run.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) problem: String,
    pub(super) solver: String,
    pub(super) seed: u32,
    pub(super) points: u64,
    pub(super) evaluations: usize,
    /// The work in gradients.
    pub(super) work: u64,
    pub(super) seconds: f64,
    /// The objective at the learned parameters, computed again to nine digits.
    pub(super) f: f64,
    /// The interval that the run reported; infinite if it reports none.
    pub(super) interval: [f64; 2],
    pub(super) optimum: f64,
    pub(super) reached: Reached,
    pub(super) termination: String,
}

impl Row {
    pub(super) fn gap(&self) -> f64 {
        self.f / self.optimum - 1.0
    }

    /// Whether the interval contains the exact objective, up to nine digits.
    fn is_true(&self) -> bool {
        let [lower, upper] = self.interval;
        let slack = 1e-9 * self.f.abs();
        lower - slack <= self.f && self.f <= upper + slack
    }

    pub(super) fn header(out: &mut dyn Write) -> Result<()> {
        write!(
            out,
            "{:24} {:17} {:>4} {:>14} {:>9} {:>6} {:>9} {:>8}",
            "problem", "solver", "seed", "f", "gap", "evals", "work", "seconds"
        )?;
        for (name, _) in SHARES {
            write!(out, " {:>9}", format!("to {name}"))?;
        }
        writeln!(out, "  end")?;
        Ok(())
    }

    pub(super) fn print(&self, out: &mut dyn Write) -> Result<()> {
        write!(
            out,
            "{:24} {:17} {:>4} {:>14.9} {:>9.1e} {:>6} {:>9} {:>8.3}",
            self.problem,
            self.solver,
            self.seed,
            self.f,
            self.gap(),
            self.evaluations,
            self.work,
            self.seconds,
        )?;
        for reached in self.reached {
            match reached {
                Some((work, _)) => write!(out, " {work:>9}")?,
                None => write!(out, " {:>9}", "-")?,
            }
        }
        let outside = if self.is_true() {
            ""
        } else {
            "  FALSE INTERVAL"
        };
        writeln!(out, "  {}{outside}", self.termination)?;
        Ok(())
    }

    pub(super) fn to_json(&self) -> Value {
        let each = |of: fn((u64, f64)) -> Value| -> Value {
            let map = SHARES.iter().zip(self.reached);
            map.map(|((name, _), reached)| ((*name).to_owned(), reached.map_or(Value::Null, of)))
                .collect::<serde_json::Map<_, _>>()
                .into()
        };
        json!({
            "problem": self.problem,
            "solver": self.solver,
            "seed": self.seed,
            "points": self.points,
            "evaluations": self.evaluations,
            "work": self.work,
            "seconds": self.seconds,
            "f": self.f,
            "interval": self.interval,
            "optimum": self.optimum,
            "gap": self.gap(),
            "work_to": each(|(work, _)| json!(work)),
            "seconds_to": each(|(_, seconds)| json!(seconds)),
            "termination": self.termination,
        })
    }
}

/// Prints a table in Markdown with one line for each problem and solver: the median work until the
/// exact objective was within each share of the optimum, the worst, and how many runs got there.
pub(super) fn summarise(rows: &[Row], out: &mut dyn Write) -> Result<()> {
    let mut groups: Vec<(&str, &str)> = Vec::new();
    for row in rows {
        let group = (row.problem.as_str(), row.solver.as_str());
        if !groups.contains(&group) {
            groups.push(group);
        }
    }
    write!(out, "\n| problem | solver |")?;
    for (name, _) in SHARES {
        write!(out, " to {name} |")?;
    }
    writeln!(out, " total | worst gap | seconds, median (worst) |")?;
    writeln!(out, "|{}", "---|".repeat(SHARES.len() + 5))?;
    for (problem, solver) in groups {
        let of = |row: &&Row| row.problem == problem && row.solver == solver;
        let own: Vec<&Row> = rows.iter().filter(of).collect();
        write!(out, "| {problem} | {solver} |")?;
        for index in 0..SHARES.len() {
            let reached = own.iter().filter_map(|row| row.reached[index]);
            let work = reached.map(|(work, _)| work as f64).collect();
            write!(out, " {} |", spread(work, own.len()))?;
        }
        let total = own.iter().map(|row| row.work as f64).collect();
        let gap = own.iter().map(|row| row.gap()).fold(0.0, f64::max);
        let mut seconds: Vec<f64> = own.iter().map(|row| row.seconds).collect();
        seconds.sort_by(f64::total_cmp);
        let (median, worst) = (seconds[seconds.len() / 2], seconds[seconds.len() - 1]);
        let total = spread(total, own.len());
        writeln!(out, " {total} | {gap:.0e} | {median:.3} ({worst:.3}) |")?;
    }
    Ok(())
}

/// Returns the median and the largest number in thousands, and their count if some are missing.
fn spread(mut work: Vec<f64>, all: usize) -> String {
    work.sort_by(f64::total_cmp);
    let [.., worst] = work[..] else {
        return "never".to_owned();
    };
    let (count, median) = (work.len(), work[work.len() / 2] / 1e3);
    let missing = if count < all {
        format!("; {count} of {all}")
    } else {
        String::new()
    };
    format!("{median:.1} k ({:.1} k{missing})", worst / 1e3)
}
