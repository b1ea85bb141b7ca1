//! The finding about the end of learning, and whether more points would help.

use bilevel::Learned;
use dfo_ls::{Accuracy, Limit, Termination};

use super::{Finding, uncertainty};
use ::page::number::{counted, length, number, percent, whole};

/// Relative improvement of the objective below which more points are not worth while.
const WORTH: f64 = 1e-3;

/// Relative uncertainty of the objective below which rounding errors, not missing iterations, limit
/// the accuracy.
const ROUNDING: f64 = 1e-6;

/// Relative uncertainty of the objective above which comparisons of parameters mean nothing.
const UNRELIABLE: f64 = 0.5;

/// Returns the finding about the end of learning.
pub(super) fn finding(learned: &Learned) -> Finding {
    let because = |text: &str| format!("Learning ended because {text}");
    let done = |text: &str| Finding::good(format!("Learning is complete: {text}."));
    match &learned.termination {
        Termination::RadiusReached | Termination::Slow | Termination::Converged
            if uncertainty(learned) > UNRELIABLE =>
        {
            unreliable(&because("nothing better was found"))
        }
        Termination::RadiusReached => done("the steps became as small as requested"),
        Termination::TargetReached => done("the objective has certainly reached its target"),
        Termination::NoiseReached => {
            done("all points around the best one are equal up to the noise level")
        }
        Termination::RestartsExhausted => {
            done("restarts around the best point found nothing better")
        }
        Termination::Slow => done("the objective had almost stopped falling"),
        Termination::Converged => done("no further step promised a lower objective"),
        Termination::Exhausted(limit) => exhausted(learned, *limit),
        Termination::Blocked => Finding::warning(because(
            "the objective could not be evaluated at better parameters. Tighten the bounds so \
             that they exclude such parameters.",
        )),
        Termination::AccuracyFloor { .. } if uncertainty(learned) < ROUNDING => {
            done("the next step needs reconstructions that are more accurate than rounding allows")
        }
        Termination::AccuracyFloor { wanted, achieved } if learned.gradient.is_some() => {
            let error = |of: &Accuracy| number(of.objective_error(learned.objective.max(0.0)));
            Finding::warning(because(&format!(
                "the next step needs the objective to within {}, but the reconstructions determine \
                 it only to within {}. They are limited by --max-iterations, if that is set, or by \
                 rounding.",
                error(wanted),
                error(achieved)
            )))
        }
        Termination::AccuracyFloor { wanted, achieved } => Finding::warning(because(&format!(
            "the next step needs the residuals to within {}, but the reconstructions determine \
             them only to within {}. They are limited by --max-iterations, if that is set, or by \
             rounding.",
            number(wanted.value()),
            number(achieved.value())
        ))),
        Termination::Stopped => unfinished(
            learned,
            &because("it was interrupted"),
            "continue with `bilevel resume RUN`",
        ),
        Termination::OracleFailed { reason } => {
            Finding::warning(because(&format!("an evaluation failed: {reason}")))
        }
        other => Finding::note(because(&format!("of {other:?}."))),
    }
}

/// Returns the finding about a run that ended with rough reconstructions.
fn unreliable(text: &str) -> Finding {
    Finding::warning(format!(
        "{text}, but the reconstructions were too inaccurate to tell good parameters from bad \
         ones. Allow more iterations for each reconstruction, or leave --iterations and \
         --max-iterations out."
    ))
}

/// Returns the finding about a budget that was spent.
fn exhausted(learned: &Learned, limit: Limit) -> Finding {
    let budget = match limit {
        Limit::Evaluations => {
            let made = length(&learned.evaluations);
            format!("of {} ", counted(made, "evaluation", "evaluations"))
        }
        Limit::Points => format!("of {} ", counted(learned.num_points, "point", "points")),
        Limit::Work => {
            let work = learned.work.total();
            format!("of {} ", counted(work, "gradient", "gradients"))
        }
        Limit::Time => "of time ".to_owned(),
        _ => String::new(),
    };
    // without gradients, the first model needs one point more than there are parameters
    let needed = match learned.gradient {
        Some(_) => 1,
        None => learned.entries().count() as u64 + 1,
    };
    let twice = learned.num_points.max(needed).saturating_mul(2);
    unfinished(
        learned,
        &format!("Learning ended because its budget {budget}was spent"),
        &format!("continue with `bilevel resume RUN --max-points {twice}`"),
    )
}

/// Returns the finding about a run that ended early, with the advice to go on if that would help.
fn unfinished(learned: &Learned, text: &str, advice: &str) -> Finding {
    // with gradients, the first iteration is the evaluation of the start
    let nothing_before = match learned.gradient {
        Some(_) if learned.iterations.len() <= 1 => Some("the first step"),
        None if learned.iterations.is_empty() => Some("the first model was complete"),
        _ => None,
    };
    if let Some(event) = nothing_before {
        return Finding::warning(format!(
            "{text} before {event}, so nothing was learned yet: {advice}."
        ));
    }
    if uncertainty(learned) > UNRELIABLE {
        return unreliable(text);
    }
    match recent(learned) {
        None => Finding::note(format!("{text}. More points may help: {advice}.")),
        Some((last, gain)) if gain >= WORTH => Finding::warning(format!(
            "{text}. The last {} still improved the objective by {}: {advice}.",
            counted(last, "point", "points"),
            percent(gain)
        )),
        Some((last, _)) => Finding::note(format!(
            "{text}. The last {} points improved the objective by less than {}, so more would hardly \
             help.",
            whole(last),
            percent(WORTH)
        )),
    }
}

/// Returns the number of the last points, a fifth of all or at least five, and the share by which
/// they improved the objective.
fn recent(learned: &Learned) -> Option<(u64, f64)> {
    let all = learned.num_points;
    let last = (all / 5).max(5);
    let mut earlier = learned.iterations.iter().rev();
    let then = earlier.find(|iteration| iteration.num_points + last <= all)?;
    let gain = (then.objective - learned.objective) / then.objective.abs();
    gain.is_finite().then_some((all - then.num_points, gain))
}
