//! The table of how many times fewer lower-level iterations dynamic accuracy takes.

use ::page::number::{number, significant};
use ::page::table;
use maud::{Markup, html};

use crate::reproduce::claims::headline::{self, Speedup, SpeedupRow};
use crate::reproduce::record::PaperMethod;
use crate::reproduce::results::Results;

/// Table and explanation; nothing if there is nothing to compare.
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
            "How many times fewer lower-level iterations (all images, all evaluations) the dynamic variant makes than the variant \
             with high accuracy and the same method, until its curve in the figures is 10\u{a0}%, 1\u{a0}% or 0.1\u{a0}% above the \
             best objective that any of the authors' variants ends at. Below 1 it is slower. First the authors' algorithm run here, \
             then the archived runs (digitised for photographs), then our own algorithm against the authors' with high accuracy, all \
             with the same target. "
            i { "dyn. only" } ": only the dynamic variant gets there; " i { "high only" } ": only high accuracy does; "
            i { "neither" } "; an empty cell: not known."
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
