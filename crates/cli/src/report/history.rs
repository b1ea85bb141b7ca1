//! The work by purpose, and the table of evaluations.

use ::page::folded;
use ::page::number::{length, number as digits, percent, whole};
use bilevel::{Learned, LearnedEntry};
use dfo_ls::{EvalRecord, Purpose};
use maud::{Markup, html};

/// Number of rows at the beginning and at the end of a long table. The rows between are left out.
const ENDS: usize = 50;
/// Largest number of parameters that get columns.
const MAX_COLUMNS: usize = 6;
/// Headings of the columns about errors, with and without gradients.
const ERROR_COLUMNS: [&[&str]; 2] = [
    &["error of the objective"],
    &["target error", "achieved error"],
];
/// Headings of the columns after those about errors.
const LAST_COLUMNS: [&str; 3] = ["objective", "gradients", "total gradients"];

/// Returns the work by purpose, as a bar and in words.
pub(super) fn work(learned: &Learned) -> Markup {
    let work = learned.work;
    let total = work.total();
    if total == 0 {
        return html! {};
    }
    let first = match learned.gradient {
        Some(_) => "start",
        None => "start and points around it",
    };
    let mut phases = vec![
        ("initial", first, work.initial),
        ("trial", "trial points", work.trial),
        ("geometry", "points that improve the model", work.geometry),
        ("sharpen", "sharpening of known points", work.sharpen),
    ];
    phases.retain(|(.., gradients)| *gradients > 0);
    let share = |gradients: u64| gradients as f64 / total as f64;
    html! {
        p { (whole(total)) " gradients of reconstruction problems." }
        .phases {
            @for &(class, _, gradients) in &phases {
                i class=(class) style=(format!("width:{:.2}%", 100.0 * share(gradients))) {}
            }
        }
        ul.legend {
            @for &(class, what, gradients) in &phases {
                @let share = percent(share(gradients));
                li { i class=(class) {} (what) ": " (whole(gradients)) " (" (share) ")" }
            }
        }
    }
}

/// Returns the table of evaluations, folded, or nothing if there are none.
pub(super) fn table(learned: &Learned) -> Markup {
    let all = &learned.evaluations;
    if all.is_empty() {
        return html! {};
    }
    let parameters: Vec<LearnedEntry<'_>> = match learned.entries().count() {
        1..=MAX_COLUMNS => learned.entries().collect(),
        _ => Vec::new(),
    };
    let mut sum = 0_u64;
    let spent = all.iter().map(|evaluation| {
        sum = sum.saturating_add(evaluation.work);
        sum
    });
    let is_gradient = learned.gradient.is_some();
    let error_columns = ERROR_COLUMNS[usize::from(!is_gradient)];
    let num_columns = 6 + error_columns.len() + parameters.len();
    let is_shown = |index: usize| index < ENDS || index + ENDS >= all.len();
    let body = html! {
        .scroll {
            table.history {
                thead {
                    tr {
                        @for name in ["", "point", "purpose"] { th scope="col" { (name) } }
                        @for p in &parameters { th scope="col" { (p.name()) } }
                        @for name in error_columns { th scope="col" { (name) } }
                        @for name in LAST_COLUMNS { th scope="col" { (name) } }
                    }
                }
                tbody {
                    @for (index, (evaluation, spent)) in all.iter().zip(spent).enumerate() {
                        @if is_shown(index) {
                            (row(index + 1, evaluation, &parameters, spent, is_gradient))
                        } @else if index == ENDS {
                            @let num_more = whole(length(&all[2 * ENDS..]));
                            tr { td.gap colspan=(num_columns) { (num_more) " more" } }
                        }
                    }
                }
            }
        }
        p.soft {
            @if is_gradient {
                "Error of the objective: its distance from the objective with exact \
                 reconstructions, at most."
            } @else {
                "Target and achieved error: the distance of the residuals from those of exact \
                 reconstructions, as a norm, at most."
            }
        }
    };
    let summary = match all.len() {
        1 => "The evaluation".to_owned(),
        _ => format!("All {} evaluations", whole(length(all))),
    };
    folded(&summary, false, &body)
}

/// Returns the certified error of the objective of an evaluation; `None` if it is not known.
pub(super) fn certified_error(evaluation: &EvalRecord) -> Option<f64> {
    let objective = *evaluation.objective.as_ref().ok()?;
    let error = evaluation.achieved.objective_error(objective.max(0.0));
    error.is_finite().then_some(error)
}

/// Returns the row of one evaluation. `spent` gradients were computed up to its end.
fn row(
    number: usize,
    evaluation: &EvalRecord,
    parameters: &[LearnedEntry<'_>],
    spent: u64,
    is_gradient: bool,
) -> Markup {
    let purpose = match evaluation.purpose {
        Purpose::Initial => "start",
        Purpose::Trial => "trial",
        Purpose::Geometry => "model",
        Purpose::Sharpen => "sharpening",
        _ => "other",
    };
    let accuracy = |value: f64, otherwise: &str| match value.is_finite() {
        true => digits(value),
        false => otherwise.to_owned(),
    };
    html! {
        tr {
            th scope="row" { (number) }
            td { (evaluation.point) }
            td { (purpose) }
            @for (index, p) in parameters.iter().enumerate() {
                @let theta = evaluation.theta.get(index);
                td { @if let Some(theta) = theta { (digits(p.parameter.value(*theta))) } }
            }
            @if !is_gradient { td { (accuracy(evaluation.target.value(), "any")) } }
            @match &evaluation.objective {
                Ok(objective) => {
                    @let achieved = match is_gradient {
                        true => certified_error(evaluation).unwrap_or(f64::INFINITY),
                        false => evaluation.achieved.value(),
                    };
                    td { (accuracy(achieved, "unknown")) }
                    td { (digits(*objective)) }
                }
                Err(reason) => {
                    td { "–" }
                    td.reason { (reason) }
                }
            }
            td { (whole(evaluation.work)) }
            td { (whole(spent)) }
        }
    }
}
