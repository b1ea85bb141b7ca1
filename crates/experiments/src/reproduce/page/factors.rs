//! The table of how many times fewer lower-level iterations dynamic accuracy takes.

use bilevel_cli::report::markup::{escaped, table};
use bilevel_cli::report::number::{number, significant};

use crate::reproduce::claims::headline::{self, Row, Speedup};
use crate::reproduce::record::Method;
use crate::reproduce::results::Results;

/// Table and explanation; nothing if there is nothing to compare.
pub(super) fn html(results: &Results) -> String {
    let rows: Vec<Vec<String>> = (headline::table(results).iter())
        .map(|row| cells(results, row))
        .collect();
    if rows.is_empty() {
        return String::new();
    }
    let head = [
        "experiment",
        "method",
        "to 10&nbsp;%",
        "archive",
        "ours",
        "to 1&nbsp;%",
        "archive",
        "ours",
        "to 0.1&nbsp;%",
        "archive",
        "ours",
    ];
    let table = table("factors", &head, &rows, &[]);
    format!(
        "<h3>Dynamic against high accuracy</h3>\n{table}\
         <p class=\"soft\">How many times fewer lower-level iterations (all images, all evaluations) the dynamic variant makes than the \
         variant with high accuracy and the same method, until its curve in the figures is 10&nbsp;%, 1&nbsp;% or 0.1&nbsp;% above the best \
         objective that any of the authors' variants ends at. Below 1 it is slower. First the authors' algorithm run here, then the \
         archived runs (digitised for photographs), then our own algorithm against the authors' with high accuracy, all with the same \
         target. <i>dyn. only</i>: only the dynamic variant gets there; <i>high only</i>: only high accuracy does; <i>neither</i>; \
         an empty cell: not known.</p>\n"
    )
}

fn cells(results: &Results, row: &Row) -> Vec<String> {
    let title = (results.setting(&row.setting))
        .map_or(row.setting.as_str(), |setting| setting.title.as_str());
    let method = match row.method {
        Method::Gd => "GD",
        Method::Fista => "FISTA",
    };
    let mut cells = vec![escaped(title), method.to_owned()];
    for index in 0..3 {
        let archived = row.archived.and_then(|all| all[index]);
        let of = |all: Option<[Speedup; 3]>| all.map(|all| all[index]);
        for column in [of(row.faithful), archived, of(row.ours)] {
            cells.push(column.map_or_else(String::new, cell));
        }
    }
    cells
}

fn cell(speedup: Speedup) -> String {
    match (speedup.factor(), speedup.fast, speedup.slow) {
        (Some(factor), ..) if factor >= 10.0 => format!("<strong>{}</strong>", number(factor)),
        (Some(factor), ..) => significant(factor, 2),
        (None, Some(_), None) => "<i>dyn. only</i>".to_owned(),
        (None, None, Some(_)) => "<i>high only</i>".to_owned(),
        (None, ..) => "<i>neither</i>".to_owned(),
    }
}
