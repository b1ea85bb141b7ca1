//! What was spent on what, and every evaluation.

use bilevel::Learned;
use dfo_ls::{EvalRecord, Purpose};

use super::markup::{escaped, folded};
use super::number::{length, number, percent, whole};

/// So many rows at the beginning and at the end; those between are left out.
const ENDS: usize = 50;
/// With more parameters, they are left out.
const MAX_COLUMNS: usize = 6;

/// Work by phase, as a bar and in words.
pub(super) fn work(learned: &Learned) -> String {
    let work = learned.work;
    let total = work.total();
    if total == 0 {
        return String::new();
    }
    let phases = [
        ("initial", "start and points around it", work.initial),
        ("trial", "steps", work.trial),
        ("geometry", "points that improve the model", work.geometry),
        ("sharpen", "known points, more accurately", work.sharpen),
    ];
    let spent = phases.iter().filter(|(.., gradients)| *gradients > 0);
    let (mut bar, mut legend) = (String::new(), String::new());
    for (class, what, gradients) in spent {
        let share = *gradients as f64 / total as f64;
        let width = 100.0 * share;
        bar.push_str(&format!(
            "<i class=\"{class}\" style=\"width:{width:.2}%\"></i>"
        ));
        legend.push_str(&format!(
            "<li><i class=\"{class}\"></i>{what}: {} ({})</li>\n",
            whole(*gradients),
            percent(share)
        ));
    }
    format!(
        "<p>{} gradients of the reconstruction problems.</p>\n<div class=\"phases\">{bar}</div>\n<ul class=\"legend\">\n{legend}</ul>\n",
        whole(total)
    )
}

/// Every evaluation, folded.
pub(super) fn table(learned: &Learned) -> String {
    let all = &learned.evaluations;
    if all.is_empty() {
        return String::new();
    }
    let parameters: &[_] = match learned.parameters.len() {
        1..=MAX_COLUMNS => &learned.parameters,
        _ => &[],
    };
    let mut head = String::new();
    for name in ["", "point", "why"] {
        head.push_str(&format!("<th scope=\"col\">{name}</th>"));
    }
    for p in parameters {
        head.push_str(&format!(
            "<th scope=\"col\">{}</th>",
            escaped(&p.parameter.name)
        ));
    }
    for name in ["asked", "reached", "objective", "gradients", "in all"] {
        head.push_str(&format!("<th scope=\"col\">{name}</th>"));
    }
    let num_columns = 8 + parameters.len();
    let mut rows = String::new();
    let mut spent = 0_u64;
    for (index, evaluation) in all.iter().enumerate() {
        spent = spent.saturating_add(evaluation.work);
        let is_between = index >= ENDS && index + ENDS < all.len();
        if is_between {
            if index == ENDS {
                let left_out = whole(length(all) - 2 * length(&[(); ENDS]));
                rows.push_str(&format!(
                    "<tr><td class=\"gap\" colspan=\"{num_columns}\">{left_out} more</td></tr>\n"
                ));
            }
            continue;
        }
        let values = parameters.iter().enumerate().map(|(j, p)| {
            let theta = evaluation.theta.get(j);
            theta.map_or_else(String::new, |theta| number(p.parameter.value(*theta)))
        });
        rows.push_str(&row(index + 1, evaluation, values.collect(), spent));
    }
    let body = format!(
        "<div class=\"scroll\"><table class=\"history\">\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table></div>\n\
         <p class=\"soft\">Asked and reached: how far the residuals may be from those of exact reconstructions, as a norm.</p>\n"
    );
    let summary = match all.len() {
        1 => "The evaluation".to_owned(),
        _ => format!("All {} evaluations", whole(length(all))),
    };
    folded(&summary, false, &body)
}

/// One evaluation.
fn row(index: usize, evaluation: &EvalRecord, values: Vec<String>, spent: u64) -> String {
    let why = match evaluation.purpose {
        Purpose::Initial => "start",
        Purpose::Trial => "step",
        Purpose::Geometry => "model",
        Purpose::Sharpen => "accuracy",
        _ => "other",
    };
    let mut cells: Vec<String> = vec![evaluation.point.to_string(), why.to_owned()];
    cells.extend(values);
    let asked = evaluation.target.value();
    cells.push(if asked.is_finite() {
        number(asked)
    } else {
        "any".to_owned()
    });
    let (objective, class) = match &evaluation.objective {
        Ok(objective) => {
            let reached = evaluation.achieved.value();
            cells.push(if reached.is_finite() {
                number(reached)
            } else {
                "unknown".to_owned()
            });
            (number(*objective), "")
        }
        Err(reason) => {
            cells.push("–".to_owned());
            (escaped(reason), " class=\"reason\"")
        }
    };
    let cells: String = cells
        .iter()
        .map(|cell| format!("<td>{cell}</td>"))
        .collect();
    format!(
        "<tr><th scope=\"row\">{index}</th>{cells}<td{class}>{objective}</td><td>{}</td><td>{}</td></tr>\n",
        whole(evaluation.work),
        whole(spent)
    )
}
