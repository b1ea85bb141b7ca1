//! Claims that the error bounds of the runs are true.

use super::measure::digits;
use super::{Claim, Topic, Verdict};
use crate::reproduce::record::{Effort, Mode, RunRecord};
use crate::reproduce::results::Results;

pub(super) fn claims(results: &Results) -> Vec<Claim> {
    let claim = |id: &str, text: &str, is_meant: fn(&RunRecord) -> bool| {
        Claim::new(Topic::Foundations, &format!("truth/{id}"), &[], text)
            .expected(
                "|f - exact f| at most the run's bound on the error of f, plus 1e-9 (1 + f)",
                "paper, Section 3.3; reference archive, FACTS.md section 10",
            )
            .verdict(verdict(results, is_meant))
    };
    vec![
        claim(
            "ours",
            "The error bound of the objective at the end of our runs is true.",
            |run| run.id.mode == Mode::Ours,
        ),
        claim(
            "dynamic",
            "The error bound of the objective at the end of the authors' dynamic runs is true.",
            |run| run.id.mode == Mode::Faithful && run.id.variant.effort == Effort::Dynamic,
        ),
        claim(
            "fixed",
            "The error bound of the objective at the end of runs with fixed iterations is true, \
             although it can be large.",
            |run| run.id.mode == Mode::Faithful && run.id.variant.effort != Effort::Dynamic,
        ),
    ]
}

fn verdict(results: &Results, is_meant: fn(&RunRecord) -> bool) -> Verdict {
    let runs: Vec<&RunRecord> = (results.records.values())
        .filter(|run| is_meant(run))
        .collect();
    let mut wrong = Vec::new();
    let mut largest = 0_f64;
    for run in &runs {
        let outcome = &run.outcome;
        let distance = (outcome.f - outcome.f_exact).abs();
        let allowed = outcome.f_error + 1e-9 * (1.0 + outcome.f.abs());
        if !(distance <= allowed) {
            let text = format!(
                "{}: error {}, bound {}",
                run.id,
                digits(distance, 2),
                digits(outcome.f_error, 2)
            );
            wrong.push(text);
        }
        largest = largest.max(distance / allowed);
    }
    if runs.is_empty() {
        return Err("no such run was made".to_owned());
    }
    let mut text = format!("{} of {} runs", runs.len() - wrong.len(), runs.len());
    if wrong.is_empty() {
        text += &format!(
            "; the largest error is {} of its bound",
            super::measure::percent(largest)
        );
    } else {
        text += &format!("; {}", wrong.join("; "));
    }
    Ok((wrong.is_empty(), text))
}
