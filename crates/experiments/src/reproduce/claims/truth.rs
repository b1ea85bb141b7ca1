//! Whether runs tell the truth about what they found.

use super::measure::digits;
use super::{Claim, Topic, Verdict};
use crate::reproduce::record::{Effort, Mode, RunRecord};
use crate::reproduce::results::Results;

pub(super) fn claims(results: &Results) -> Vec<Claim> {
    let claim = |id: &str, text: &str, is_meant: fn(&RunRecord) -> bool| {
        Claim::new(Topic::Foundations, &format!("truth/{id}"), &[], text)
            .expected(
                "every |f - exact f| at most the error given with f, plus 1e-9 (1 + f)",
                "paper, Section 3.3; reference archive, FACTS.md section 10",
            )
            .verdict(verdict(results, is_meant))
    };
    vec![
        claim(
            "ours",
            "Our own algorithm knows the objective where it ends as well as it says.",
            |run| run.id.mode == Mode::Ours,
        ),
        claim(
            "dynamic",
            "The authors' algorithm with dynamic accuracy knows the objective where it ends as well as it says.",
            |run| run.id.mode == Mode::Faithful && run.id.variant.effort == Effort::Dynamic,
        ),
        claim(
            "fixed",
            "With fixed iterations, too, the objective is as far off as they say at most, which may be far.",
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
                "{}: off by {}, error {}",
                run.id,
                digits(distance, 2),
                digits(outcome.f_error, 2)
            );
            wrong.push(text);
        }
        largest = largest.max(distance / allowed);
    }
    if runs.is_empty() {
        return Err("there are no such runs".to_owned());
    }
    let mut text = format!("{} of {} runs", runs.len() - wrong.len(), runs.len());
    if wrong.is_empty() {
        text += &format!(
            "; at most {} of what is allowed",
            super::measure::percent(largest)
        );
    } else {
        text += &format!("; {}", wrong.join("; "));
    }
    Ok((wrong.is_empty(), text))
}
