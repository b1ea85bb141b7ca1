//! Numbers of runs, and numbers as text.

use ::page::number;

use crate::reproduce::archive::ArchivedRun;
use crate::reproduce::figures::curves;
use crate::reproduce::record::RunRecord;

/// Objective against lower-level iterations, as the figures show it.
pub(super) fn objective(record: &RunRecord) -> Vec<[f64; 2]> {
    let points = curves::objective(record).into_iter();
    points.map(|[work, f, _]| [work, f]).collect()
}

/// Lower-level iterations until the objective is at most this; `None` if it never is.
pub(super) fn work(objective: &[[f64; 2]], target: f64) -> Option<f64> {
    let reached = objective.iter().find(|[_, f]| *f <= target);
    reached.map(|[work, _]| *work)
}

/// The least of the exact objectives where runs ended; digitised runs only have what the figures
/// show.
pub(super) fn best_archived<'a>(runs: impl IntoIterator<Item = &'a ArchivedRun>) -> f64 {
    let one = |run: &ArchivedRun| match run.f_exact.is_finite() {
        true => run.f_exact,
        false => run.f,
    };
    runs.into_iter().map(one).fold(f64::INFINITY, f64::min)
}

/// The least of the exact objectives where runs ended.
pub(super) fn best<'a>(runs: impl IntoIterator<Item = &'a RunRecord>) -> f64 {
    let exact = runs.into_iter().map(|run| run.outcome.f_exact);
    exact.fold(f64::INFINITY, f64::min)
}

/// The least and the largest; NaN if one is NaN or there are none.
pub(super) fn range(values: impl IntoIterator<Item = f64>) -> [f64; 2] {
    let mut range = [f64::NAN; 2];
    for (index, value) in values.into_iter().enumerate() {
        if index == 0 {
            range = [value; 2];
        } else if value.is_nan() || range[0].is_nan() {
            range = [f64::NAN; 2];
        } else {
            range = [range[0].min(value), range[1].max(value)];
        }
    }
    range
}

/// A learned or fixed parameter; NaN if there is none of this name.
pub(super) fn parameter(record: &RunRecord, name: &str) -> f64 {
    record.outcome.params.get(name).copied().unwrap_or(f64::NAN)
}

/// Whether a value lies between two others.
pub(super) fn is_between(value: f64, [least, most]: [f64; 2]) -> bool {
    least <= value && value <= most
}

/// Relative distance.
pub(super) fn relative(value: f64, expected: f64) -> f64 {
    ((value - expected) / expected).abs()
}

/// As a number.
pub(super) const fn count(n: u64) -> f64 {
    n as f64
}

/// With so many significant digits, thousands in groups.
pub(super) fn digits(value: f64, digits: usize) -> String {
    number::significant(value, digits).replace('\u{202f}', ",")
}

/// 1,234,567.
pub(super) fn whole(n: u64) -> String {
    number::whole(n).replace('\u{202f}', ",")
}

/// "0.484 to 0.491".
pub(super) fn range_text([least, most]: [f64; 2], precision: usize) -> String {
    format!(
        "{} to {}",
        digits(least, precision),
        digits(most, precision)
    )
}

/// "12 %".
pub(super) fn percent(share: f64) -> String {
    number::percent(share).replace('\u{202f}', " ")
}

/// "121x", or "never" for a run that never got there.
pub(super) fn factor(factor: Option<f64>) -> String {
    factor.map_or_else(
        || "never".to_owned(),
        |factor| format!("{}x", digits(factor, 3)),
    )
}
