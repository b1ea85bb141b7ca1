//! How many times fewer lower-level iterations dynamic accuracy takes.
//!
//! A target is 10 %, 1 % or 0.1 % above the best objective that any variant of the experiment ended
//! at (computed again exactly). Work is the number of lower-level iterations, of all images
//! together, when the curve of the paper's figures is first at most the target. Section 12 of the
//! reference archive's FACTS.md counts the same way.

use serde::Serialize;

use super::measure::{best, best_archived, digits, factor, objective, work};
use super::{Claim, Topic, Verdict, full_scale, made, run};
use crate::reproduce::archive::{self, ArchivedRun};
use crate::reproduce::record::{Effort, Mode, PaperMethod, Variant};
use crate::reproduce::results::Results;

/// How far above the best.
pub const TARGETS: [f64; 3] = [0.1, 0.01, 0.001];

/// Experiments in which dynamic and high accuracy are compared.
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

/// Lower-level iterations until the target is reached; `None`: never.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Speedup {
    /// Of the variant that should be fast,
    pub fast: Option<f64>,
    /// and of the one it is compared with.
    pub slow: Option<f64>,
}

impl Speedup {
    /// How many times fewer; `None` if one of them never gets there.
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

/// One row of the table: dynamic against high accuracy, for each target.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SpeedupRow {
    /// The experiment,
    pub setting: String,
    /// and the method.
    pub method: PaperMethod,
    /// The authors' algorithm, run here; `None` if it was not.
    pub faithful: Option<[Speedup; 3]>,
    /// The archived runs, as far as they are known. Those of `beta = 1e-4` have factors only: of
    /// one iteration.
    pub archived: Option<[Option<Speedup>; 3]>,
    /// Ours, against the authors' with high accuracy; `None` if it was not run.
    pub ours: Option<[Speedup; 3]>,
}

/// The table; experiments at reduced budgets are left out.
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

/// The authors' dynamic variant against one of their fixed ones.
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

/// Section 12 of the reference archive's FACTS.md: factors at 10 % and 1 % of archived runs that
/// are not bundled.
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
            "the largest factor is at least 50: reruns of the authors' own program scatter by a factor of 2",
            "paper, abstract and Section 5; reference archive, FACTS.md section 12",
        )
        .verdict(largest(results, |row| row.faithful)),
        Claim::new(
            Topic::Headline,
            "headline/100 times, ours",
            &[8, 12, 15],
            "Our own algorithm is up to 100 times faster than the authors' with high accuracy.",
        )
        .expected("the largest factor is at least 50", "our own")
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
