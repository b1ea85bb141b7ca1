//! Work by phase, and the table of evaluations.

use ::page::folded;
use ::page::number::{length, number as digits, percent, whole};
use bilevel::{Learned, LearnedParameter};
use dfo_ls::{EvalRecord, Purpose};
use maud::{Markup, html};

/// Number of rows at the beginning and at the end of a long table; the rows between are left out.
const ENDS: usize = 50;
/// Largest number of parameters that have columns.
const MAX_COLUMNS: usize = 6;

/// Work by phase, as a bar and in words.
pub(super) fn work(learned: &Learned) -> Markup {
    let work = learned.work;
    let total = work.total();
    if total == 0 {
        return html! {};
    }
    let mut phases = vec![
        ("initial", "start and points around it", work.initial),
        ("trial", "steps", work.trial),
        ("geometry", "points that improve the model", work.geometry),
        ("sharpen", "known points, more accurately", work.sharpen),
    ];
    phases.retain(|(.., gradients)| *gradients > 0);
    let share = |gradients: u64| gradients as f64 / total as f64;
    html! {
        p { (whole(total)) " gradients of the reconstruction problems." }
        .phases {
            @for &(class, _, gradients) in &phases {
                i class=(class) style=(format!("width:{:.2}%", 100.0 * share(gradients))) {}
            }
        }
        ul.legend {
            @for &(class, what, gradients) in &phases {
                li { i class=(class) {} (what) ": " (whole(gradients)) " (" (percent(share(gradients))) ")" }
            }
        }
    }
}

/// The evaluations, folded; nothing if there are none.
pub(super) fn table(learned: &Learned) -> Markup {
    let all = &learned.evaluations;
    if all.is_empty() {
        return html! {};
    }
    let parameters: &[_] = match learned.parameters.len() {
        1..=MAX_COLUMNS => &learned.parameters,
        _ => &[],
    };
    let mut sum = 0_u64;
    let spent = all.iter().map(|evaluation| {
        sum = sum.saturating_add(evaluation.work);
        sum
    });
    let is_shown = |index: usize| index < ENDS || index + ENDS >= all.len();
    let body = html! {
        .scroll {
            table.history {
                thead {
                    tr {
                        @for name in ["", "point", "why"] { th scope="col" { (name) } }
                        @for p in parameters { th scope="col" { (p.parameter.name) } }
                        @for name in ["asked", "reached", "objective", "gradients", "in all"] { th scope="col" { (name) } }
                    }
                }
                tbody {
                    @for (index, (evaluation, spent)) in all.iter().zip(spent).enumerate() {
                        @if is_shown(index) {
                            (row(index + 1, evaluation, parameters, spent))
                        } @else if index == ENDS {
                            tr { td.gap colspan=(8 + parameters.len()) { (whole(length(&all[2 * ENDS..]))) " more" } }
                        }
                    }
                }
            }
        }
        p.soft { "Asked and reached: how far the residuals may be from those of exact reconstructions, as a norm." }
    };
    let summary = match all.len() {
        1 => "The evaluation".to_owned(),
        _ => format!("All {} evaluations", whole(length(all))),
    };
    folded(&summary, false, &body)
}

/// The row of one evaluation, after which `spent` gradients were computed in all.
fn row(
    number: usize,
    evaluation: &EvalRecord,
    parameters: &[LearnedParameter],
    spent: u64,
) -> Markup {
    let purpose = match evaluation.purpose {
        Purpose::Initial => "start",
        Purpose::Trial => "step",
        Purpose::Geometry => "model",
        Purpose::Sharpen => "accuracy",
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
                td { @if let Some(theta) = evaluation.theta.get(index) { (digits(p.parameter.value(*theta))) } }
            }
            td { (accuracy(evaluation.target.value(), "any")) }
            @match &evaluation.objective {
                Ok(objective) => {
                    td { (accuracy(evaluation.achieved.value(), "unknown")) }
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
