//! The tables of all runs: the authors' algorithm, ours, and the archived run of each variant next to each other.

use bilevel_cli::report::markup::{folded, table};
use bilevel_cli::report::number::{duration, length, number, significant, whole};

use crate::reproduce::archive::{self, Archived};
use crate::reproduce::record::{Mode, Record, Variant};
use crate::reproduce::results::Results;
use crate::reproduce::setting::Setting;

/// One table for each experiment with runs.
pub(super) fn html(results: &Results) -> String {
    (results.settings.iter())
        .map(|setting| experiment(results, setting))
        .collect()
}

fn experiment(results: &Results, setting: &Setting) -> String {
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
        return String::new();
    }
    let learned = if setting.sampling.is_some() {
        "sampled"
    } else {
        "&alpha;, &nu;, &xi;"
    };
    let head = [
        "variant",
        "run",
        "f",
        "&plusmn;",
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

/// What was learned: three values, or how many frequencies.
fn learned(
    setting: &Setting,
    theta: &[f64],
    params: &std::collections::BTreeMap<String, f64>,
) -> String {
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

fn of_record(label: &str, run: &str, record: &Record, setting: &Setting) -> Vec<String> {
    let outcome = &record.outcome;
    vec![
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
        bilevel_cli::report::markup::escaped(&outcome.termination),
    ]
}

fn of_archived(label: &str, run: &Archived, setting: &Setting) -> Vec<String> {
    let known = |value: f64, digits: usize| match value.is_finite() {
        true => significant(value, digits),
        false => String::new(),
    };
    vec![
        label.to_owned(),
        "<i>archive</i>".to_owned(),
        known(run.f, 6),
        known(run.f_error, 2),
        known(run.f_exact, 6),
        learned(setting, &run.theta, &run.params),
        String::new(),
        whole(u64::try_from(run.evaluations).unwrap_or(u64::MAX)),
        whole(run.total),
        String::new(),
        String::new(),
        String::new(),
    ]
}
