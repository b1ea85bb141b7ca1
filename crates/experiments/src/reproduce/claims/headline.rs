//! The speed-up by dynamic accuracy: how many times fewer lower-level iterations it needs.
//!
//! The targets are 10 %, 1 % and 0.1 % above the best exact objective at the end of any variant of
//! the experiment. Work is the number of lower-level iterations, of all images together, until the
//! curve of the paper's figures reaches the target. Section 12 of the reference archive's FACTS.md
//! counts in the same way.

use serde::Serialize;

use super::measure::{best, best_archived, digits, factor, objective, work};
use super::{Claim, Topic, Verdict, full_scale, made, run};
use crate::reproduce::archive::{self, ArchivedRun};
use crate::reproduce::record::{Effort, Mode, PaperMethod, Variant};
use crate::reproduce::results::Results;

/// The targets, relative to the best objective.
pub const TARGETS: [f64; 3] = [0.1, 0.01, 0.001];

/// The experiments in which dynamic and high accuracy are compared.
pub const SETTINGS: [&str; 10] = [
    "denoise1_start-2",
    "denoise1_start-1",
    "denoise1_start0",
    "denoise1_start1",
    "denoise1_start2",
    "denoise3_beta1e-8",
    "denoise3_beta1e-6",
    "denoise3_beta1e-4",
    "kodak_sigma1e-1",
    "mri",
];

/// The lower-level iterations of two variants until a target is reached.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Speedup {
    /// The iterations of the variant that should be fast; `None` if it never reaches the target.
    pub fast: Option<f64>,
    /// The iterations of the variant it is compared with; `None` if it never reaches the target.
    pub slow: Option<f64>,
}

impl Speedup {
    /// Returns `slow / fast`; `None` if one of them never reaches the target.
    #[must_use]
    pub fn factor(self) -> Option<f64> {
        Some(self.slow? / self.fast?)
    }

    pub(super) fn text_of_fast(self) -> String {
        iterations(self.fast)
    }

    pub(super) fn text_of_slow(self) -> String {
        iterations(self.slow)
    }
}

fn iterations(work: Option<f64>) -> String {
    work.map_or_else(|| "never".to_owned(), |work| digits(work, 4))
}

/// One row of the table of speed-ups: dynamic against high accuracy, for each target.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SpeedupRow {
    /// The name of the experiment.
    pub setting: String,
    /// The lower-level method.
    pub method: PaperMethod,
    /// The speed-ups of the authors' algorithm, run here; `None` if it was not run.
    pub faithful: Option<[Speedup; 3]>,
    /// The speed-ups of the archived runs, as far as they are known. For `beta = 1e-4` only the
    /// factors are known, and `fast` is 1.
    pub archived: Option<[Option<Speedup>; 3]>,
    /// The speed-ups of our algorithm compared with the authors' algorithm with high accuracy;
    /// `None` if it was not run.
    pub ours: Option<[Speedup; 3]>,
}

/// Returns the table of speed-ups, without experiments at reduced budgets.
#[must_use]
pub fn table(results: &Results) -> Vec<SpeedupRow> {
    let mut rows = Vec::new();
    for setting in SETTINGS {
        if full_scale(results, setting).is_err() {
            continue;
        }
        for method in [PaperMethod::Gd, PaperMethod::Fista] {
            let each = |mode: Mode| -> Option<[Speedup; 3]> {
                let mut all = [Speedup {
                    fast: None,
                    slow: None,
                }; 3];
                for (one, target) in all.iter_mut().zip(TARGETS) {
                    *one = compare(results, setting, method, mode, Effort::High, target).ok()?;
                }
                Some(all)
            };
            let row = SpeedupRow {
                setting: setting.to_owned(),
                method,
                faithful: each(Mode::Faithful),
                archived: archived(setting, method),
                ours: each(Mode::Ours),
            };
            if row.faithful.is_some() || row.ours.is_some() {
                rows.push(row);
            }
        }
    }
    rows
}

/// Compares the authors' dynamic variant with one of their fixed ones.
pub(super) fn speedup(
    results: &Results,
    setting: &str,
    method: PaperMethod,
    against: Effort,
    target: f64,
) -> Result<Speedup, String> {
    compare(results, setting, method, Mode::Faithful, against, target)
}

fn compare(
    results: &Results,
    setting: &str,
    method: PaperMethod,
    mode: Mode,
    against: Effort,
    target: f64,
) -> Result<Speedup, String> {
    let fast = run(
        results,
        setting,
        Variant::new(method, Effort::Dynamic),
        mode,
    )?;
    let slow = run(
        results,
        setting,
        Variant::new(method, against),
        Mode::Faithful,
    )?;
    let best = best(made(results, setting, &Variant::ALL, Mode::Faithful));
    let target = best * (1.0 + target);
    Ok(Speedup {
        fast: work(&objective(fast), target),
        slow: work(&objective(slow), target),
    })
}

/// The factors at 10 % and 1 % of archived runs that are not bundled. Source: section 12 of the
/// reference archive's FACTS.md.
const BETA_1E_4: [(PaperMethod, [f64; 2]); 2] = [
    (PaperMethod::Gd, [87.0, 105.0]),
    (PaperMethod::Fista, [102.0, 23.0]),
];

fn archived(setting: &str, method: PaperMethod) -> Option<[Option<Speedup>; 3]> {
    if setting == "denoise3_beta1e-4" {
        let (_, [ten, one]) = BETA_1E_4.iter().find(|(of, _)| *of == method)?;
        let known = |factor: &f64| {
            Some(Speedup {
                fast: Some(1.0),
                slow: Some(*factor),
            })
        };
        return Some([known(ten), known(one), None]);
    }
    let runs: Vec<&ArchivedRun> = (Variant::ALL.iter())
        .filter_map(|variant| archive::run(setting, *variant))
        .collect();
    let of = |effort| archive::run(setting, Variant::new(method, effort));
    let (fast, slow) = (of(Effort::Dynamic)?, of(Effort::High)?);
    let best = best_archived(runs);
    Some(TARGETS.map(|target| {
        Some(Speedup {
            fast: work(&fast.objective, best * (1.0 + target)),
            slow: work(&slow.objective, best * (1.0 + target)),
        })
    }))
}

pub(super) fn claims(results: &Results) -> Vec<Claim> {
    vec![
        Claim::new(
            Topic::Headline,
            "headline/100 times",
            &[8, 12, 15],
            "Dynamic accuracy is up to 100 times faster than high accuracy.",
        )
        .expected(
            "the largest factor is at least 50, because reruns of the authors' own program scatter \
             by a factor of 2",
            "paper, abstract and Section 5; reference archive, FACTS.md section 12",
        )
        .verdict(largest(results, |row| row.faithful)),
        Claim::new(
            Topic::Headline,
            "headline/100 times, ours",
            &[8, 12, 15],
            "Our algorithm is up to 100 times faster than the authors' with high accuracy.",
        )
        .expected(
            "the largest factor is at least 50",
            "no source: this claim is ours",
        )
        .verdict(largest(results, |row| row.ours)),
    ]
}

fn largest(results: &Results, column: impl Fn(&SpeedupRow) -> Option<[Speedup; 3]>) -> Verdict {
    full_scale(results, "mri")?;
    let rows = table(results);
    let mut found: Vec<(f64, String)> = Vec::new();
    for row in &rows {
        let name = match row.method {
            PaperMethod::Gd => "GD",
            PaperMethod::Fista => "FISTA",
        };
        let Some(all) = column(row) else { continue };
        for (speedup, target) in all.iter().zip(["10 %", "1 %", "0.1 %"]) {
            if let Some(times) = speedup.factor() {
                let text = format!(
                    "{} {name} at {target}: {}",
                    row.setting,
                    factor(Some(times))
                );
                found.push((times, text));
            }
        }
    }
    if !rows
        .iter()
        .any(|row| row.setting == "mri" && column(row).is_some())
    {
        return Err("the runs of mri were not made".to_owned());
    }
    found.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    let most = found.first().map_or(f64::NAN, |(most, _)| *most);
    let best: Vec<String> = found.into_iter().take(4).map(|(_, text)| text).collect();
    let text = if best.is_empty() {
        "none".to_owned()
    } else {
        best.join("; ")
    };
    Ok((most >= 50.0, text))
}
