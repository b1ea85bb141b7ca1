//! The tables of all runs: for each variant the authors' algorithm, ours, and the archived run.

use std::collections::BTreeMap;

use ::page::number::{duration, length, number, significant, whole};
use ::page::{folded, table};
use maud::{Markup, html};

use crate::reproduce::archive::{self, ArchivedRun};
use crate::reproduce::record::{Mode, RunRecord, Variant};
use crate::reproduce::results::Results;
use crate::reproduce::setting::Setting;

/// Returns one table for each experiment with runs.
pub(super) fn html(results: &Results) -> Markup {
    html! { @for setting in &results.settings { (experiment(results, setting)) } }
}

fn experiment(results: &Results, setting: &Setting) -> Markup {
    let mut rows = Vec::new();
    for variant in Variant::ALL {
        let label = variant.label(setting);
        let made = |mode| results.record(&setting.name, variant, mode);
        let (faithful, ours) = (made(Mode::Faithful), made(Mode::Ours));
        if faithful.is_none() && ours.is_none() {
            continue;
        }
        rows.extend(faithful.map(|run| of_record(&label, "faithful", run, setting)));
        rows.extend(ours.map(|run| of_record(&label, "ours", run, setting)));
        let archived = archive::run(&setting.name, variant);
        rows.extend(archived.map(|run| of_archived(&label, run, setting)));
    }
    if rows.is_empty() {
        return html! {};
    }
    let learned = if setting.sampling.is_some() {
        "sampled"
    } else {
        "α, ν, ξ"
    };
    let head = [
        "variant",
        "run",
        "f",
        "±",
        "exact f",
        learned,
        "PSNR",
        "evaluations",
        "lower-level iterations",
        "gradients",
        "time",
        "ended by",
    ];
    let is_open = setting.name == "denoise1_start0" || !setting.name.contains("start");
    folded(&setting.title, is_open, &table("runs", &head, &rows, &[]))
}

/// Returns the learned values: three parameters, or the number of sampled frequencies.
fn learned(setting: &Setting, theta: &[f64], params: &BTreeMap<String, f64>) -> String {
    if let Some(sampling) = setting.sampling {
        let off = sampling.lower * (1.0 + 1e-9);
        let num = theta.iter().filter(|theta| **theta > off).count();
        return format!("{num} of {}", theta.len());
    }
    let of = |name: &str| {
        params
            .get(name)
            .map_or_else(|| "–".to_owned(), |value| number(*value))
    };
    ["alpha", "nu", "xi"].map(of).join(", ")
}

fn of_record(label: &str, run: &str, record: &RunRecord, setting: &Setting) -> Vec<Markup> {
    let outcome = &record.outcome;
    cells([
        label.to_owned(),
        run.to_owned(),
        significant(outcome.f, 6),
        significant(outcome.f_error, 2),
        significant(outcome.f_exact, 6),
        learned(setting, &outcome.theta, &outcome.params),
        format!("{:.2}", outcome.psnr),
        whole(length(&record.evaluations)),
        whole(record.lower_iterations()),
        whole(record.gradients()),
        duration(outcome.seconds),
        outcome.termination.clone(),
    ])
}

fn of_archived(label: &str, run: &ArchivedRun, setting: &Setting) -> Vec<Markup> {
    let known = |value: f64, digits: usize| match value.is_finite() {
        true => significant(value, digits),
        false => String::new(),
    };
    let mut cells = cells([
        label.to_owned(),
        String::new(),
        known(run.f, 6),
        known(run.f_error, 2),
        known(run.f_exact, 6),
        learned(setting, &run.theta, &run.params),
        String::new(),
        whole(run.evaluations as u64),
        whole(run.total),
        String::new(),
        String::new(),
        String::new(),
    ]);
    cells[1] = html! { i { "archive" } };
    cells
}

fn cells(texts: [String; 12]) -> Vec<Markup> {
    texts.map(|text| html! { (text) }).into()
}
