//! Why learning ended, and whether going on would help.

use bilevel::Learned;
use dfo_ls::{Limit, Termination};

use super::{Finding, uncertainty};
use ::page::number::{counted, length, number, percent, whole};

/// A smaller share of the objective is not worth going on for.
const WORTH: f64 = 1e-3;

/// An objective known to this share is not known better because of rounding, not for want of
/// iterations.
const ROUNDING: f64 = 1e-6;

/// An objective that is known to no better than this share decides nothing.
const UNRELIABLE: f64 = 0.5;

/// Why learning ended.
pub(super) fn finding(learned: &Learned) -> Finding {
    let because = |text: &str| format!("Learning ended because {text}");
    let done = |text: &str| Finding::good(because(&format!("{text}: done.")));
    match &learned.termination {
        Termination::RadiusReached | Termination::Slow if uncertainty(learned) > UNRELIABLE => {
            Finding::warning(because(
                "nothing better was found, but reconstructions were too inaccurate to tell good parameters from bad ones. \
             Allow more iterations for each of them, or leave their number to the solver.",
            ))
        }
        Termination::RadiusReached => done("steps became as small as was asked for"),
        Termination::TargetReached => done("the objective is certainly not larger than the target"),
        Termination::NoiseReached => {
            done("all points around the best one are equal up to the noise level")
        }
        Termination::RestartsExhausted => {
            done("starting again around the best point found nothing better")
        }
        Termination::Slow => done("the objective had all but stopped falling"),
        Termination::Exhausted(limit) => exhausted(learned, *limit),
        Termination::Blocked => Finding::warning(because(
            "steps to better parameters could not be evaluated. Bounds that keep out what cannot be evaluated would help.",
        )),
        Termination::AccuracyFloor { .. } if uncertainty(learned) < ROUNDING => {
            done("a decision needs reconstructions that are more accurate than rounding allows")
        }
        Termination::AccuracyFloor { wanted, achieved } => Finding::warning(because(&format!(
            "a decision needs residuals accurate to {}, and reconstructions reached only {}: more are limited by --max-iterations, if \
             that is set, or by rounding.",
            number(wanted.value()),
            number(achieved.value())
        ))),
        Termination::Stopped => undone(
            learned,
            &because("it was interrupted"),
            " (`bilevel resume RUN`)",
        ),
        Termination::OracleFailed { reason } => {
            Finding::warning(because(&format!("an evaluation failed: {reason}")))
        }
        other => Finding::note(because(&format!("of this: {other:?}."))),
    }
}

/// A budget was spent.
fn exhausted(learned: &Learned, limit: Limit) -> Finding {
    let made = length(&learned.evaluations);
    let points = |used: u64| {
        let command = format!(" (`bilevel resume RUN --evaluations {}`)", used.max(1));
        (counted(used, "point", "points"), command)
    };
    let resume = " (`bilevel resume RUN` with a larger one)".to_owned();
    let (what, command) = match limit {
        Limit::Evaluations => (counted(made, "evaluation", "evaluations"), resume),
        Limit::Points => points(learned.num_points),
        Limit::Work => {
            let work = learned.work.total();
            (counted(work, "gradient", "gradients"), resume)
        }
        Limit::Time => ("time".to_owned(), resume),
        _ => ("another kind".to_owned(), resume),
    };
    let text = format!("Learning ended because the budget of {what} was spent");
    undone(learned, &text, &command)
}

/// It ended before its time: would more have helped?
fn undone(learned: &Learned, text: &str, command: &str) -> Finding {
    if learned.iterations.is_empty() {
        return Finding::warning(format!(
            "{text} before the first model was complete: nothing was learned yet. More is needed{command}."
        ));
    }
    match recent(learned) {
        None => Finding::note(format!("{text}; more may help{command}.")),
        Some((last, gain)) if gain >= WORTH => Finding::warning(format!(
            "{text}; the last {} still improved the objective by {}: more may help{command}.",
            counted(last, "evaluation", "evaluations"),
            percent(gain)
        )),
        Some((last, _)) => Finding::note(format!(
            "{text}, but the last {} evaluations improved the objective by less than {}: more would hardly help.",
            whole(last),
            percent(WORTH)
        )),
    }
}

/// How many evaluations the last fifth are, and by what share of the objective they improved it.
fn recent(learned: &Learned) -> Option<(u64, f64)> {
    let made = length(&learned.evaluations);
    let last = (made / 5).max(5);
    let mut earlier = learned.iterations.iter().rev();
    let then = earlier.find(|iteration| iteration.num_evaluations + last <= made)?;
    let gain = (then.objective - learned.objective) / then.objective.abs();
    gain.is_finite()
        .then_some((made - then.num_evaluations, gain))
}
