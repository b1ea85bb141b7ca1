//! The table of speed-ups: how many times fewer lower-level iterations dynamic accuracy needs.

use ::page::number::{number, significant};
use ::page::table;
use maud::{Markup, html};

use crate::reproduce::claims::headline::{self, Speedup, SpeedupRow};
use crate::reproduce::record::PaperMethod;
use crate::reproduce::results::Results;

/// Returns the table and its explanation; nothing if there are no runs to compare.
pub(super) fn html(results: &Results) -> Markup {
    let rows: Vec<Vec<Markup>> = (headline::table(results).iter())
        .map(|row| cells(results, row))
        .collect();
    if rows.is_empty() {
        return html! {};
    }
    let mut head = vec!["experiment", "method"];
    for target in ["to 10\u{a0}%", "to 1\u{a0}%", "to 0.1\u{a0}%"] {
        head.extend([target, "archive", "ours"]);
    }
    html! {
        h3 { "Dynamic against high accuracy" }
        (table("factors", &head, &rows, &[]))
        p.soft {
            "Each number is the ratio of lower-level iterations (of all images and evaluations): \
             those of the variant with high accuracy divided by those of the dynamic variant with \
             the same method, until the objective is within 10\u{a0}%, 1\u{a0}% or 0.1\u{a0}% of \
             the best objective at the end of any of the authors' variants. Below 1 the dynamic \
             variant is slower. For each target, the first column is the authors' algorithm run \
             here, the second the archived runs (digitised for photographs), and the third our \
             algorithm compared with the authors' algorithm with high accuracy. "
            i { "dyn. only" } " means that only the dynamic variant reaches the target, "
            i { "high only" } " that only high accuracy does, and " i { "neither" }
            " that none does. An empty cell is unknown."
        }
    }
}

fn cells(results: &Results, row: &SpeedupRow) -> Vec<Markup> {
    let title = (results.setting(&row.setting))
        .map_or(row.setting.as_str(), |setting| setting.title.as_str());
    let method = match row.method {
        PaperMethod::Gd => "GD",
        PaperMethod::Fista => "FISTA",
    };
    let mut cells = vec![html! { (title) }, html! { (method) }];
    for index in 0..3 {
        let archived = row.archived.and_then(|all| all[index]);
        let of = |all: Option<[Speedup; 3]>| all.map(|all| all[index]);
        for column in [of(row.faithful), archived, of(row.ours)] {
            cells.push(html! { @if let Some(speedup) = column { (cell(speedup)) } });
        }
    }
    cells
}

fn cell(speedup: Speedup) -> Markup {
    match (speedup.factor(), speedup.fast, speedup.slow) {
        (Some(factor), ..) if factor >= 10.0 => html! { strong { (number(factor)) } },
        (Some(factor), ..) => html! { (significant(factor, 2)) },
        (None, Some(_), None) => html! { i { "dyn. only" } },
        (None, None, Some(_)) => html! { i { "high only" } },
        (None, ..) => html! { i { "neither" } },
    }
}
