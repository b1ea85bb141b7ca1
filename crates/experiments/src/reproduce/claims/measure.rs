//! Numbers computed from runs, and numbers as text.

use ::page::number;

use crate::reproduce::archive::ArchivedRun;
use crate::reproduce::figures::curves;
use crate::reproduce::record::RunRecord;

/// Returns pairs of lower-level iterations and the objective, as the figures show them.
pub(super) fn objective(record: &RunRecord) -> Vec<[f64; 2]> {
    let points = curves::objective(record).into_iter();
    points.map(|[work, f, _]| [work, f]).collect()
}

/// Returns the lower-level iterations until the objective is at most `target`; `None` if it never
/// is.
pub(super) fn work(objective: &[[f64; 2]], target: f64) -> Option<f64> {
    let reached = objective.iter().find(|[_, f]| *f <= target);
    reached.map(|[work, _]| *work)
}

/// Returns the least exact objective at the end of archived runs. For digitised runs it is the
/// objective in the figures.
pub(super) fn best_archived<'a>(runs: impl IntoIterator<Item = &'a ArchivedRun>) -> f64 {
    let one = |run: &ArchivedRun| match run.f_exact.is_finite() {
        true => run.f_exact,
        false => run.f,
    };
    runs.into_iter().map(one).fold(f64::INFINITY, f64::min)
}

/// Returns the least exact objective at the end of runs.
pub(super) fn best<'a>(runs: impl IntoIterator<Item = &'a RunRecord>) -> f64 {
    let exact = runs.into_iter().map(|run| run.outcome.f_exact);
    exact.fold(f64::INFINITY, f64::min)
}

/// Returns the least and the largest value; NaN if one is NaN or there are none.
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

/// Returns the value of a learned or fixed parameter; NaN if there is none with this name.
pub(super) fn parameter(record: &RunRecord, name: &str) -> f64 {
    record.outcome.params.get(name).copied().unwrap_or(f64::NAN)
}

/// Whether a value lies between two others.
pub(super) fn is_between(value: f64, [least, most]: [f64; 2]) -> bool {
    least <= value && value <= most
}

/// Returns the relative difference.
pub(super) fn relative(value: f64, expected: f64) -> f64 {
    ((value - expected) / expected).abs()
}

/// Writes a number with this many significant digits, and a comma between thousands.
pub(super) fn digits(value: f64, digits: usize) -> String {
    number::significant(value, digits).replace('\u{202f}', ",")
}

/// Writes a whole number: "1,234,567".
pub(super) fn whole(n: u64) -> String {
    number::whole(n).replace('\u{202f}', ",")
}

/// Writes a range: "0.484 to 0.491".
pub(super) fn range_text([least, most]: [f64; 2], precision: usize) -> String {
    format!(
        "{} to {}",
        digits(least, precision),
        digits(most, precision)
    )
}

/// Writes a share: "12 %".
pub(super) fn percent(share: f64) -> String {
    number::percent(share).replace('\u{202f}', " ")
}

/// Writes a factor: "121x", or "never" if a run never reached its target.
pub(super) fn factor(factor: Option<f64>) -> String {
    factor.map_or_else(
        || "never".to_owned(),
        |factor| format!("{}x", digits(factor, 3)),
    )
}
